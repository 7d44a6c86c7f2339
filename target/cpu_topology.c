/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that includes hwloc: cores, caches and memory of this machine as far as
 * this process may use them, and binding. It never decides how many threads a plan gets.
 *
 * The one idea: a device's key starts with what hwloc says of the package (vendor, family,
 * model, stepping, not the brand string, which alone says nothing), and HWLOC_SYNTHETIC or
 * HWLOC_XMLFILE can stand in for the machine, which is how this is tested.
 */
#include <ctype.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/target.h"

enum { MOST_PLACES = 4096 };

/* Where sysfs is not mounted, as in a chroot, hwloc's part for Linux prints that it finds nothing,
 * and finds nothing. */
static bool has_sysfs(void)
{
    return access("/sys/bus/cpu/devices", X_OK) == 0 ||
           access("/sys/devices/system/cpu", X_OK) == 0;
}

static int load(hwloc_topology_t *topology, optune_err *err)
{
    if (hwloc_topology_init(topology) < 0)
        return optune_fail(err, OPTUNE_ENODEV, "hwloc cannot start");
    /* A process that was pinned to some cores has only these. */
    if (!getenv("HWLOC_SYNTHETIC") && !getenv("HWLOC_XMLFILE"))
        hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                                                HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
    if (!getenv("HWLOC_FSROOT") && !has_sysfs())
        hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      "linux");
    if (hwloc_topology_load(*topology) < 0) {
        hwloc_topology_destroy(*topology);
        return optune_fail(err, OPTUNE_ENODEV, "hwloc cannot read this machine's topology");
    }
    return OPTUNE_OK;
}

static const char *info_of(hwloc_topology_t topology, const char *name)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *value = package ? hwloc_obj_get_info_by_name(package, name) : NULL;
    if (!value)
        value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), name);
    return value ? value : "";
}

static int64_t cache_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache ? (int64_t)cache->attr->cache.size : 0;
}

static const char *vendor_word(const char *vendor)
{
    static const char *const known[][2] = {
        {"AuthenticAMD", "amd"}, {"GenuineIntel", "intel"},   {"HygonGenuine", "hygon"},
        {"CentaurHauls", "via"}, {"  Shanghai  ", "zhaoxin"},
    };
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strcmp(vendor, known[i][0]) == 0)
            return known[i][1];
    return "cpu";
}

/* 48k, 1m, 1536k: whole mebibytes or kibibytes. */
static void add_size(ot_text *key, const char *name, int64_t bytes)
{
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
        ot_text_printf(key, "-%s.%lldm", name, (long long)(bytes >> 20));
    else if (bytes)
        ot_text_printf(key, "-%s.%lldk", name, (long long)(bytes >> 10));
}

static void make_key(hwloc_topology_t topology, const ot_cpu_features *features,
                     optune_device *device)
{
    ot_text key = {0};
    const char *implementer = info_of(topology, "CPUImplementer");
    if (*implementer)
        ot_text_printf(&key, "cpu-arm-i%sp%sv%sr%s", implementer, info_of(topology, "CPUPart"),
                       info_of(topology, "CPUVariant"), info_of(topology, "CPURevision"));
    else
        ot_text_printf(&key, "cpu-%s-f%sm%ss%s", vendor_word(info_of(topology, "CPUVendor")),
                       info_of(topology, "CPUFamilyNumber"),
                       info_of(topology, "CPUModelNumber"), info_of(topology, "CPUStepping"));
    ot_text_printf(&key, "-%s", features->word);
    add_size(&key, "l1", device->l1);
    add_size(&key, "l2", device->l2);
    add_size(&key, "l3", device->l3);
    ot_text_printf(&key, "-c%d-%08x", device->cores, (unsigned)(features->digest >> 32));
    snprintf(device->key, sizeof device->key, "%s", ot_text_str(&key));
    ot_text_release(&key);
}

int ot_cpu_topology(optune_device *device, optune_err *err)
{
    hwloc_topology_t topology;
    const int status = load(&topology, err);
    if (status < 0)
        return status;
    ot_cpu_features features;
    ot_cpu_features_here(&features);
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    const int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    device->cores = cores > 0 ? cores : units > 0 ? units : 1;
    device->l1 = cache_of(topology, HWLOC_OBJ_L1CACHE);
    device->l2 = cache_of(topology, HWLOC_OBJ_L2CACHE);
    device->l3 = cache_of(topology, HWLOC_OBJ_L3CACHE);
    device->memory = (int64_t)hwloc_get_root_obj(topology)->total_memory;
    device->vector_bytes = features.vector_bytes;
    device->vector_registers = features.vector_registers;
    device->dots = features.dots;
    ot_copy(device->arch, sizeof device->arch, features.level);
    const char *model = info_of(topology, "CPUModel");
    snprintf(device->name, sizeof device->name, "%.60s, %d core%s, %s",
             *model ? model : "unknown CPU", device->cores, device->cores == 1 ? "" : "s",
             features.word);
    make_key(topology, &features, device);
    hwloc_topology_destroy(topology);
    return OPTUNE_OK;
}

const void *ot_cpu_looker(void)
{
    return (const void *)(uintptr_t)hwloc_topology_load;
}

/* ---- binding --------------------------------------------------------------------------------
 * Binding narrows what hwloc sees next, so the places are listed once, before the first: the
 * first hardware thread of every core, then the second ones. */

static hwloc_topology_t kept;
static int place[MOST_PLACES], n_places;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void list_places(void)
{
    optune_err err;
    if (load(&kept, &err) < 0)
        return;
    const int cores = hwloc_get_nbobjs_by_type(kept, HWLOC_OBJ_CORE);
    const int units = hwloc_get_nbobjs_by_type(kept, HWLOC_OBJ_PU);
    const hwloc_obj_type_t type = cores > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (int sibling = 0; sibling < 8 && n_places < units; sibling++) {
        hwloc_obj_t core = NULL;
        while ((core = hwloc_get_next_obj_by_type(kept, type, core))) {
            int unit = -1;
            for (int i = 0; i <= sibling && (i == 0 || unit >= 0); i++)
                unit = hwloc_bitmap_next(core->cpuset, unit);
            if (unit >= 0 && n_places < MOST_PLACES)
                place[n_places++] = unit;
        }
    }
}

int ot_cpu_place(int core)
{
    pthread_once(&once, list_places);
    return core >= 0 && core < n_places ? place[core] : -1;
}

static int bind(pid_t thread, int first_core, int n, optune_err *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (int i = first_core; set && i < first_core + n; i++)
        if (ot_cpu_place(i) >= 0)
            hwloc_bitmap_set(set, (unsigned)ot_cpu_place(i));
    int status = OPTUNE_OK;
    if (!set || hwloc_bitmap_iszero(set))
        status = optune_fail(err, OPTUNE_ENODEV, "there is no core %d to bind to", first_core);
    else if ((thread ? hwloc_linux_set_tid_cpubind(kept, thread, set)
                     : hwloc_set_cpubind(kept, set, HWLOC_CPUBIND_THREAD)) < 0)
        status = optune_fail(err, OPTUNE_ENODEV, "cannot bind to core %d", first_core);
    hwloc_bitmap_free(set);
    return status;
}

int ot_cpu_bind(int first_core, int n, optune_err *err)
{
    return bind(0, first_core, n, err);
}

int ot_cpu_bind_thread(pid_t thread, int core, optune_err *err)
{
    return bind(thread, core, 1, err);
}
