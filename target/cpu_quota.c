/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much processor time a control group allows: a container may see 64 cores and be stopped
 * after two cores' worth of each period, and a kernel with 64 threads then spends its time
 * waiting. Both versions of the interface are read; the smallest limit of a group and its
 * parents counts. Nothing is cached and nothing is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

/* A file of one or two words, e.g. "200000 100000" or "max 100000"; the number of words read. */
static int read_words(const char *path, char first[32], char second[32])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const int n = fscanf(file, "%31s %31s", first, second);
    fclose(file);
    return n < 0 ? 0 : n;
}

static double share(const char *quota, const char *period)
{
    const double q = atof(quota), p = atof(period);
    return q > 0 && p > 0 ? q / p : 0; /* "max" and -1: no limit */
}

/* The limit of one group, 0: none. */
static double limit_of(const char *folder, bool unified)
{
    char quota[32] = "", period[32] = "", unused[32];
    ot_text path = {0};
    ot_text_printf(&path, "%s/%s", folder, unified ? "cpu.max" : "cpu.cfs_quota_us");
    const int n = read_words(ot_text_str(&path), quota, period);
    if (!unified && n) {
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/cpu.cfs_period_us", folder);
        if (!read_words(ot_text_str(&path), period, unused))
            quota[0] = '\0';
    }
    ot_text_release(&path);
    return share(quota, period);
}

/* The smallest limit from this group up to the root of its hierarchy; 0: none. */
static double limit_up(const char *base, const char *group, bool unified)
{
    char *at = ot_strdup(group);
    double least = 0;
    for (;;) {
        ot_text folder = {0};
        ot_text_printf(&folder, "%s%s", base, at);
        const double limit = limit_of(ot_text_str(&folder), unified);
        ot_text_release(&folder);
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        char *slash = strrchr(at, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    free(at);
    return least;
}

static bool names_cpu(const char *controllers)
{
    for (const char *p = controllers; *p; p += *p == ',') {
        const size_t n = strcspn(p, ",");
        if (n == 3 && strncmp(p, "cpu", 3) == 0)
            return true;
        p += n;
    }
    return false;
}

double ot_cpu_quota(const char *groups, const char *mount)
{
    FILE *file = fopen(groups, "re");
    char *line = NULL;
    size_t room = 0;
    double least = 0;
    while (file && getline(&line, &room, file) > 0) {
        /* "0::/path" or "4:cpu,cpuacct:/path" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        const bool unified = !*controllers;
        if (!unified && !names_cpu(controllers))
            continue;
        ot_text base = {0};
        ot_text_printf(&base, "%s%s%s", mount, unified ? "" : "/", controllers);
        const double limit =
            limit_up(ot_text_str(&base), strcmp(group, "/") == 0 ? "" : group, unified);
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        ot_text_release(&base);
    }
    free(line);
    if (file)
        fclose(file);
    return least;
}
