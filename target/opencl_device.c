/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which OpenCL devices there are, and what one is. Devices of every type count, in the order
 * of their platforms; a target's -device names one by that number or by a part of its name or
 * its platform's, and without it a GPU is preferred.
 *
 * The one idea: what was chosen once is known by what it is. Another process may see other
 * platforms, so that a number is another device there, and so may be what is preferred.
 */
#include <stdlib.h>
#include <string.h>

#include "target/driver.h"
#include "target/opencl.h"

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };
#define ALL_TYPES 0xFFFFFFFFu

typedef struct found {
    cl_platform_id platform[MOST_DEVICES];
    cl_device_id device[MOST_DEVICES];
    int n;
} found;

static void platform_text(const ot_opencl *cl, cl_platform_id platform, cl_uint what, char *to,
                          size_t size)
{
    to[0] = '\0';
    if (cl->clGetPlatformInfo(platform, what, size, to, NULL) != CL_SUCCESS)
        ot_copy(to, size, "unknown");
}

static void device_text(const ot_opencl *cl, cl_device_id device, cl_uint what, char *to,
                        size_t size)
{
    to[0] = '\0';
    if (cl->clGetDeviceInfo(device, what, size, to, NULL) != CL_SUCCESS)
        ot_copy(to, size, "unknown");
}

/* 0 where the device does not tell. */
static int64_t number_of(const ot_opencl *cl, cl_device_id device, cl_uint what, size_t size)
{
    cl_ulong value = 0;
    return cl->clGetDeviceInfo(device, what, size, &value, NULL) == CL_SUCCESS ? (int64_t)value
                                                                               : 0;
}

/* What the loader was told of drivers, and that none of it could be used. */
static void say_registered(ot_text *text)
{
    const char *place;
    char name[256] = "";
    glob_t file = {0};
    ot_driver_registered(&place, &file);
    ot_text_printf(text, "the loader found no driver in %s", place);
    for (size_t i = 0; i < file.gl_pathc; i++) {
        FILE *f = fopen(file.gl_pathv[i], "r");
        if (f && fgets(name, sizeof name, f))
            name[strcspn(name, "\r\n")] = '\0';
        ot_text_printf(text, "%s%s names '%s'", i ? ", " : ": ",
                       strrchr(file.gl_pathv[i], '/') + 1, name);
        if (f)
            fclose(f);
    }
    if (file.gl_pathc)
        ot_text_add(text, file.gl_pathc > 1 ? ", which give no platform"
                                            : ", which gives no platform");
    globfree(&file);
}

/* Khronos' loader cuts lists in the environment at their first colon as it reads them: processes
 * that are started later would inherit less, and find fewer platforms. */
static cl_int platforms(const ot_opencl *cl, cl_platform_id *platform, cl_uint *n)
{
    static const char *const list[] = {"OCL_ICD_FILENAMES", "OPENCL_LAYERS"};
    char *was[OT_COUNT(list)];
    for (int i = 0; i < OT_COUNT(list); i++)
        was[i] = getenv(list[i]) ? ot_strdup(getenv(list[i])) : NULL;
    const cl_int rc = cl->clGetPlatformIDs(MOST_PLATFORMS, platform, n);
    for (int i = 0; i < OT_COUNT(list); i++) {
        const char *is = getenv(list[i]);
        if (was[i] && is && strcmp(is, was[i]) != 0)
            setenv(list[i], was[i], 1);
        free(was[i]);
    }
    return rc;
}

static int find_all(const ot_opencl *cl, found *all, optune_err *err)
{
    cl_platform_id platform[MOST_PLATFORMS];
    cl_uint n = 0;
    all->n = 0;
    const cl_int rc = platforms(cl, platform, &n);
    ot_text names = {0};
    if (rc != CL_SUCCESS || n == 0) {
        say_registered(&names);
        optune_fail(err, OPTUNE_ENODEV,
                    "no OpenCL platform (%s): %s; install a GPU's driver, or "
                    "pocl-opencl-icd for this CPU",
                    rc == CL_SUCCESS ? "none is registered" : ot_opencl_error(rc),
                    ot_text_str(&names));
        ot_text_release(&names);
        return OPTUNE_ENODEV;
    }
    for (cl_uint i = 0; i < n && i < MOST_PLATFORMS; i++) {
        cl_uint more = 0;
        const cl_uint room = (cl_uint)(MOST_DEVICES - all->n);
        char name[OPTUNE_NAME_SIZE * 2];
        platform_text(cl, platform[i], CL_PLATFORM_NAME, name, sizeof name);
        ot_text_printf(&names, "%s'%s'", i ? ", " : "", name);
        if (room == 0 || cl->clGetDeviceIDs(platform[i], ALL_TYPES, room, &all->device[all->n],
                                            &more) != CL_SUCCESS)
            continue;
        for (cl_uint k = 0; k < more && k < room; k++)
            all->platform[all->n++] = platform[i];
    }
    const int status =
        all->n ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ENODEV, "no OpenCL device on any platform (%s)",
                             ot_text_str(&names));
    ot_text_release(&names);
    return status;
}

static bool same_names(const ot_opencl *cl, const found *all, int i, int k)
{
    char a[256], b[256];
    device_text(cl, all->device[i], CL_DEVICE_NAME, a, sizeof a);
    device_text(cl, all->device[k], CL_DEVICE_NAME, b, sizeof b);
    if (strcmp(a, b) != 0)
        return false;
    platform_text(cl, all->platform[i], CL_PLATFORM_NAME, a, sizeof a);
    platform_text(cl, all->platform[k], CL_PLATFORM_NAME, b, sizeof b);
    return strcmp(a, b) == 0;
}

/* "NVIDIA CUDA: NVIDIA H100", and behind it which one of several such. */
static void add_identity(const ot_opencl *cl, const found *all, int i, ot_text *to)
{
    char platform[256], name[256];
    int before = 0;
    for (int k = 0; k < i; k++)
        before += same_names(cl, all, i, k);
    platform_text(cl, all->platform[i], CL_PLATFORM_NAME, platform, sizeof platform);
    device_text(cl, all->device[i], CL_DEVICE_NAME, name, sizeof name);
    ot_text_printf(to, "%s: %s", platform, name);
    if (before)
        ot_text_printf(to, " (%d)", before + 1);
}

/* How well a device is what is asked for; 0: it is not. A part of a name is less than the whole. */
static int named(const ot_opencl *cl, const found *all, int i, const char *wanted)
{
    int64_t number;
    if (ot_parse_int(wanted, &number))
        return number == i;
    ot_text identity = {0};
    add_identity(cl, all, i, &identity);
    const char *is = ot_text_str(&identity);
    const int how = strcmp(is, wanted) == 0 ? 2 : strcasestr(is, wanted) != NULL;
    ot_text_release(&identity);
    return how;
}

static int choose(const ot_opencl *cl, const found *all, const char *wanted)
{
    static const cl_uint order[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, ALL_TYPES};
    if (*wanted) {
        int best = -1, most = 0;
        for (int i = 0; i < all->n; i++) {
            const int how = named(cl, all, i, wanted);
            if (how > most) {
                best = i;
                most = how;
            }
        }
        return best;
    }
    for (int t = 0; t < OT_COUNT(order); t++)
        for (int i = 0; i < all->n; i++)
            if ((cl_uint)number_of(cl, all->device[i], CL_DEVICE_TYPE, sizeof(cl_ulong)) &
                order[t])
                return i;
    return 0;
}

static void describe(const ot_opencl *cl, cl_platform_id platform, cl_device_id id,
                     optune_device *device);

/* Whether a device is the one that was probed: its key says so, and where a target that is `like`
 * this one made a key of its own, its name. */
static bool is_probed(const ot_opencl *cl, const found *all, int i, const optune_device *probed)
{
    optune_device device;
    describe(cl, all->platform[i], all->device[i], &device);
    return strncmp(probed->key, "opencl-", 7) == 0 ? strcmp(device.key, probed->key) == 0
                                                   : strcmp(device.name, probed->name) == 0;
}

/* The first of those alike, which is what the device is called by without a number behind it. */
static int like_probed(const ot_opencl *cl, const found *all, const optune_device *probed)
{
    for (int i = 0; i < all->n; i++)
        if (is_probed(cl, all, i, probed))
            return i;
    return -1;
}

static int find(const ot_opencl *cl, const char *wanted, const optune_device *probed,
                found *all, int *number, optune_err *err)
{
    const int status = find_all(cl, all, err);
    if (status < 0)
        return status;
    *number = choose(cl, all, wanted);
    if (probed && (*number < 0 || !is_probed(cl, all, *number, probed)))
        *number = like_probed(cl, all, probed);
    if (*number >= 0)
        return OPTUNE_OK;
    ot_text names = {0};
    for (int i = 0; i < all->n; i++) {
        ot_text_printf(&names, "%s%d: '", i ? ", " : "", i);
        add_identity(cl, all, i, &names);
        ot_text_add(&names, "'");
    }
    optune_fail(err, OPTUNE_ENODEV, "no OpenCL device '%s' %s; there is %s",
                probed ? probed->name : wanted,
                probed ? "in this process, where it was before" : "here", ot_text_str(&names));
    ot_text_release(&names);
    return OPTUNE_ENODEV;
}

int ot_opencl_find(const char *wanted, const optune_device *probed, cl_device_id *device,
                   ot_text *identity, optune_err *err)
{
    const ot_opencl *cl;
    found *all = ot_alloc(sizeof *all);
    int number, status = ot_opencl_open(&cl, err);
    if (status >= 0)
        status = find(cl, wanted, probed, all, &number, err);
    if (status >= 0) {
        *device = all->device[number];
        if (identity)
            add_identity(cl, all, number, identity);
    }
    free(all);
    return status;
}

/* ---- what one is ------------------------------------------------------------------------- */

static int warp_of(const ot_opencl *cl, cl_device_id id, bool cpu)
{
    const int64_t nvidia = number_of(cl, id, CL_DEVICE_WARP_SIZE_NV, sizeof(cl_uint));
    const int64_t amd = number_of(cl, id, CL_DEVICE_WAVEFRONT_WIDTH_AMD, sizeof(cl_uint));
    return cpu ? 1 : nvidia > 0 ? (int)nvidia : amd > 0 ? (int)amd : 32;
}

/* Memory is left out of a CPU's key: such a driver offers what happens to be free. */
static void make_key(const char *platform, bool cpu, optune_device *device)
{
    ot_text key = {0};
    ot_text_add(&key, "opencl-");
    ot_gpu_key_word(&key, platform);
    ot_text_add(&key, "-");
    ot_gpu_key_word(&key, device->name);
    ot_text_printf(&key, "-u%d", device->cores);
    if (!cpu)
        ot_text_printf(&key, "-%lldm", (long long)(device->memory >> 20));
    snprintf(device->key, sizeof device->key, "%s", ot_text_str(&key));
    ot_text_release(&key);
}

static void describe(const ot_opencl *cl, cl_platform_id platform, cl_device_id id,
                     optune_device *device)
{
    const bool cpu = number_of(cl, id, CL_DEVICE_TYPE, sizeof(cl_ulong)) & CL_DEVICE_TYPE_CPU;
    char name[OPTUNE_NAME_SIZE * 2];
    size_t sizes[3] = {0};
    *device = (optune_device){0};
    platform_text(cl, platform, CL_PLATFORM_NAME, name, sizeof name);
    device_text(cl, id, CL_DEVICE_NAME, device->name, sizeof device->name);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    for (int i = 0; i < 3; i++)
        device->max_block[i] = (int)sizes[i];
    device->cores = (int)number_of(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    device->threads = cpu ? device->cores : 0; /* a CPU's units are all taken; a GPU has none */
    device->memory = number_of(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    device->l2 = number_of(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong));
    device->max_shared = number_of(cl, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    device->max_threads_per_block =
        (int)number_of(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    device->warp = warp_of(cl, id, cpu);
    device->no_float64 = !number_of(cl, id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_ulong));
    make_key(name, cpu, device);
}

int ot_opencl_probe(const optune_target *target, optune_device *device, optune_err *err)
{
    const ot_opencl *cl;
    found *all = ot_alloc(sizeof *all);
    int number = 0;
    int status = ot_opencl_open(&cl, err);
    if (status >= 0)
        status = find(cl, target->device, NULL, all, &number, err);
    if (status < 0) {
        free(all);
        return status;
    }
    const cl_device_id id = all->device[number];
    describe(cl, all->platform[number], id, device);
    if (!number_of(cl, id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_uint)))
        status =
            optune_fail(err, OPTUNE_ENODEV, "OpenCL device '%s' has no compiler", device->name);
    else if (target->threads && target->threads != device->threads)
        status = optune_fail(err, OPTUNE_ENODEV,
                             "-threads=%d: OpenCL uses all %d units of '%s', never a part",
                             target->threads, device->cores, device->name);
    free(all);
    return status;
}

int ot_opencl_dependencies(const optune_target *target, const optune_impl *impl, char *text,
                           size_t size, optune_err *err)
{
    if (impl && impl->library)
        return optune_fail(err, OPTUNE_ENODEV, "opencl calls no library such as '%s'",
                           impl->library);
    const ot_opencl *cl;
    cl_device_id device;
    int status = ot_opencl_open(&cl, err);
    if (status >= 0)
        status = ot_opencl_find(target->device, NULL, &device, NULL, err);
    if (status < 0)
        return status;
    char driver[256];
    device_text(cl, device, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(text, size, "driver=%s\n", driver);
    return OPTUNE_OK;
}
