/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine is, from a note of an earlier process where nothing that it depends on is
 * another: to look at the machine takes 350 system calls (cpu_topology.c), to see that it is the
 * same one a dozen.
 *
 * The one idea: what may change is asked of the kernel each time and is part of the note's
 * circumstances: which boot of which kernel, which processors and memory this process may use (so
 * does a control group, or taskset, or a processor that was switched off), which processor this is
 * by its own word, how much memory there is; and which files of ours and of hwloc found it out.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/device.h"
#include "base/note.h"
#include "target/target.h"

extern char **environ;

enum { MOST_PROCESSORS = 8192, MOST_NODES = 1024 };
static const char note_name[] = "cpu";

/* ---- circumstances ----------------------------------------------------------------------- */

/* What stands in for this machine, or changes how it is looked at. */
static bool hwloc_is_told(void)
{
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, "HWLOC_", 6) == 0)
            return true;
    return false;
}

static void add_bits(ot_text *to, const char *name, const unsigned long *bits, size_t n)
{
    while (n > 1 && !bits[n - 1])
        n--;
    ot_text_printf(to, "\n%s=", name);
    while (n--)
        ot_text_printf(to, "%lx.", bits[n]);
}

/* hwloc asks all threads, and does without what is not the same for all. */
static bool add_processors(ot_text *to)
{
    unsigned long all[MOST_PROCESSORS / 8 / sizeof(long)] = {0}, one[OT_COUNT(all)];
    DIR *threads = opendir("/proc/self/task");
    int n = 0;
    bool same = threads != NULL;
    for (const struct dirent *entry; same && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.')
            continue;
        memset(one, 0, sizeof one);
        same = syscall(SYS_sched_getaffinity, atoi(entry->d_name), sizeof one, one) > 0 &&
               (n == 0 || memcmp(all, one, sizeof one) == 0);
        memcpy(all, one, sizeof all);
        n++;
    }
    if (threads)
        closedir(threads);
    if (same && n)
        add_bits(to, "processors", all, OT_COUNT(all));
    return same && n;
}

/* Containers often may not ask for it; then the kernel tells it as text. */
static bool add_nodes(ot_text *to)
{
    enum { MEMS_ALLOWED = 1 << 2 }; /* MPOL_F_MEMS_ALLOWED of <numaif.h>, which is libnuma's */
    unsigned long node[MOST_NODES / 8 / sizeof(long)] = {0};
    ot_text status = {0};
    if (syscall(SYS_get_mempolicy, NULL, node, (unsigned long)MOST_NODES, NULL,
                (unsigned long)MEMS_ALLOWED) == 0) {
        add_bits(to, "nodes", node, OT_COUNT(node));
        return true;
    }
    const bool told =
        errno == ENOSYS || ot_read_file("/proc/self/status", &status, 64 << 10, NULL) >= 0;
    const char *line = told ? strstr(ot_text_str(&status), "\nMems_allowed:") : NULL;
    const int n = line ? (int)strcspn(line + 1, "\n") : 0;
    ot_text_printf(to, "\nnodes=%.*s", n, line ? line + 1 : "");
    ot_text_release(&status);
    return told;
}

/* As itself says it: a virtual machine may be moved to another one without a new boot. */
static void add_processor(ot_text *to)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0, &a, &b, &c, &d))
        ot_text_printf(to, "\nprocessor=%x.%x.%x.%x", a, b, c, d);
    if (__get_cpuid(1, &a, &b, &c, &d)) /* b has the number of the one that was asked */
        ot_text_printf(to, ".%x.%x.%x", a, c, d);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        ot_text_printf(to, ".%x.%x", b, c);
#else
    ot_text_add(to, "\nprocessor=");
#endif
}

/* The file that a function is in, and which it is. */
static void add_code(ot_text *to, const char *name, const void *function)
{
    Dl_info in;
    ot_text_printf(to, "\n%s=", name);
    if (dladdr(function, &in) && in.dli_fname && ot_file_identity(in.dli_fname, to))
        ot_text_printf(to, " %s", in.dli_fname);
}

bool ot_cpu_machine(ot_text *to)
{
    struct utsname system;
    struct sysinfo info;
    ot_text boot = {0};
    const bool told = uname(&system) == 0 && sysinfo(&info) == 0 &&
                      ot_read_file("/proc/sys/kernel/random/boot_id", &boot, 256, NULL) >= 0;
    if (told) {
        ot_text_printf(to, "boot=%.*s\nkernel=%s %s %s %s", (int)strcspn(boot.s, "\n"), boot.s,
                       system.sysname, system.release, system.version, system.machine);
        ot_text_printf(to, "\nmemory=%llu*%u", (unsigned long long)info.totalram,
                       info.mem_unit);
        add_processor(to);
    }
    ot_text_release(&boot);
    return told;
}

static bool circumstances(ot_text *to)
{
    if (hwloc_is_told() || !ot_cpu_machine(to))
        return false;
    add_code(to, "library", (const void *)(uintptr_t)ot_cpu_known);
    add_code(to, "hwloc", ot_cpu_looker());
    return add_processors(to) && add_nodes(to);
}

/* ---- the device as lines ----------------------------------------------------------------- */

static void print(const optune_device *device, ot_text *to)
{
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        if (f->kind == OT_FIELD_TEXT)
            ot_text_printf(to, "%s=%s\n", f->name, ot_device_text(device, f));
        else
            ot_text_printf(to, "%s=%lld\n", f->name, (long long)ot_device_number(device, f));
    }
}

/* Every field is there, and is one. */
static bool read_lines(const char *lines, optune_device *device)
{
    char value[OPTUNE_TEXT_SIZE];
    bool good = true;
    *device = (optune_device){0};
    for (int i = 0; i < OT_DEVICE_FIELDS && good; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        int64_t number;
        good = ot_lines_get(lines, f->name, value, sizeof value);
        if (good && f->kind == OT_FIELD_TEXT)
            good = ot_device_set_text(device, f, value);
        else if (good)
            good = ot_parse_int(value, &number) && ot_device_set_number(device, f, number);
    }
    return good && *device->key && device->cores > 0;
}

/* hwloc goes on without what it did not get. */
static bool memory_is_short(void)
{
    void *room = ot_try_alloc(64 << 20, "a look at the machine", NULL);
    free(room);
    return !room;
}

int ot_cpu_known(optune_device *device, optune_err *err)
{
    ot_text as = {0}, lines = {0};
    optune_device found;
    int status = OPTUNE_OK;
    const bool told = circumstances(&as);
    if (told && ot_note_read(note_name, ot_text_str(&as), &lines) &&
        read_lines(lines.s, &found)) {
        *device = found;
    } else {
        found = (optune_device){0};
        status = ot_cpu_topology(&found, err);
        if (status >= 0)
            *device = found;
        ot_text_clear(&lines);
        print(&found, &lines);
        if (status >= 0 && told && !memory_is_short())
            ot_note_write(note_name, ot_text_str(&as), ot_text_str(&lines));
    }
    ot_text_release(&as);
    ot_text_release(&lines);
    return status;
}
