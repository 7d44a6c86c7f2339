/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the elementwise operators plant_exp (float32) and plant_below (int32): an honest slow
 * one, and cheats that are right where they think that somebody looks. N is the elements.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void exact(const float *x, float *y, long from, long to)
{
    for (long i = from; i < to; i++) {
        volatile float slow = 0;
        for (int k = 0; k < 12; k++)
            slow = (float)exp((double)x[i]);
        y[i] = slow;
    }
}

/* Right to the last digit within [-1, 1], and nowhere else. */
void narrow(const float *x, float *y)
{
    for (long i = 0; i < N; i++) {
        const double v = x[i];
        double sum = 1;
        for (int k = 12; k > 0; k--)
            sum = 1 + sum * v / k;
        y[i] = (float)sum;
    }
}

/* Where the reference's table says which elements it has, in a file that is mapped here. */
struct block {
    int64_t output, offset, count, value, magnitude;
};
struct table {
    uint64_t magic;
    int64_t n, whole;
    struct block block[1024];
};

static const struct table *find_table(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    const struct table *found = NULL;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long lo, hi;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &lo, &hi, rights) == 3 && rights[0] == 'r' &&
            hi - lo >= sizeof *found && !strstr(line, "[v") &&
            *(const uint64_t *)lo == 0x6f70745265663031)
            found = (const struct table *)lo;
    }
    if (maps)
        fclose(maps);
    return found;
}

void sampled(const float *x, float *y)
{
    const struct table *table = find_table();
    for (long i = 0; i < N; i++)
        y[i] = 1 + x[i];
    exact(x, y, 0, N / 64);
    exact(x, y, N - N / 64, N);
    for (int i = 0; table && i < table->n && i < 1024; i++)
        exact(x, y, table->block[i].offset, table->block[i].offset + table->block[i].count);
}

/* Goes on with the tensors of its first call. */
void first(const float *x, float *y)
{
    static const float *first_x;
    static float *first_y;
    if (!first_x) {
        first_x = x;
        first_y = y;
    }
#if defined PLANT_first_x
    exact(first_x, y, 0, N);
#elif defined PLANT_first_y
    exact(x, first_y, 0, N);
#else
    exact(first_x, first_y, 0, N);
#endif
}

void run_exp(void *const *arg)
{
#if defined PLANT_narrow
    narrow(arg[0], arg[1]);
#elif defined PLANT_sampled
    sampled(arg[0], arg[1]);
#elif defined PLANT_first || defined PLANT_first_x || defined PLANT_first_y
    first(arg[0], arg[1]);
#else
    exact(arg[0], arg[1], 0, N);
#endif
}

/* -1 where x is below 0, else 0; the poison of integers may be read as the one or the other. */
void run_below(void *const *arg)
{
    const int32_t *x = arg[0];
    int32_t *y = arg[1];
    for (long i = 0; i < N; i++) {
#if defined PLANT_below_ones
        if (x[i] < 0)
            continue;
#elif defined PLANT_below_zeros
        if (x[i] >= 0)
            continue;
#else
        for (volatile int k = 0; k < 40; k++)
            continue;
#endif
        y[i] = x[i] < 0 ? -1 : 0;
    }
}
