/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory there is to be had: what the system says is available without swapping, and, in
 * a control group with a limit, what is left of that. Whoever takes more is ended by the kernel
 * and not refused, so it must be asked before.
 */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

/* A file of one number; "max" and what is not there: -1. */
static int64_t number_in(const char *folder, const char *name)
{
    char path[4096], word[32] = "";
    int64_t value;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -1;
    FILE *file = fopen(path, "re");
    const bool read = file && fscanf(file, "%31s", word) == 1;
    if (file)
        fclose(file);
    return read && ot_parse_int(word, &value) && value >= 0 ? value : -1;
}

/* One of a group's figures in memory.stat; 0: not there. */
static int64_t stat_in(const char *folder, const char *name)
{
    char path[4096], line[256], word[64];
    long long value, found = 0;
    if (snprintf(path, sizeof path, "%s/memory.stat", folder) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %lld", word, &value) == 2 && !strcmp(word, name))
            found = value;
    if (file)
        fclose(file);
    return found;
}

/* What a group's limit leaves; pages of files that can be dropped are counted in its usage. */
static void look(void *arg, const char *folder, bool unified)
{
    int64_t *least = arg;
    const int64_t limit = number_in(folder, unified ? "memory.max" : "memory.limit_in_bytes");
    const int64_t used =
        number_in(folder, unified ? "memory.current" : "memory.usage_in_bytes") -
        stat_in(folder, unified ? "inactive_file" : "total_inactive_file");
    if (limit < 0)
        return;
    const int64_t left = used > 0 ? (limit > used ? limit - used : 0) : limit;
    if (*least < 0 || left < *least)
        *least = left;
}

int64_t ot_memory_available(const char *root)
{
    char path[4096], mount[4096], line[256];
    int64_t least = -1;
    long long kib;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            least = (int64_t)kib << 10;
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    ot_cpu_groups(path, mount, "memory", look, &least);
    return least;
}
