/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much processor time a control group allows: a container may see 64 cores and be stopped
 * after two cores' worth of each period, and a kernel with 64 threads then spends its time
 * waiting. Both versions of the interface are read; the smallest limit of a group and its
 * parents counts. Nothing is cached and nothing is written.
 */
#include <stdio.h>
#include <stdlib.h>

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
    double q = 0, p = 0;
    ot_parse_real(quota, &q);
    ot_parse_real(period, &p);
    return q > 0 && p > 0 ? q / p : 0; /* "max" and -1: no limit */
}

static void look(void *arg, const char *folder, bool unified)
{
    double *least = arg;
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
    const double limit = share(quota, period);
    if (limit > 0 && (*least == 0 || limit < *least))
        *least = limit;
}

double ot_cpu_quota(const char *groups, const char *mount)
{
    double least = 0;
    ot_cpu_groups(groups, mount, "cpu", look, &least);
    return least;
}
