/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that bodies call: OpenCL's own under the names that clang gives them (each type of
 * argument has its own, hence the names in quotes), and words.h's of a warp.
 */
#include "races.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AS(name) __asm__(name)

size_t local_id(uint32_t d) AS("_Z12get_local_idj");
size_t group_id(uint32_t d) AS("_Z12get_group_idj");
size_t local_size(uint32_t d) AS("_Z14get_local_sizej");
size_t num_groups(uint32_t d) AS("_Z14get_num_groupsj");
void block_barrier(uint32_t flags) AS("_Z7barrierj");

size_t local_id(uint32_t d)
{
    const size_t *n = races_now.block, t = (size_t)(races_thread % races_now.threads);
    return d == 0 ? t % n[0] : d == 1 ? t / n[0] % n[1] : t / (n[0] * n[1]);
}

size_t group_id(uint32_t d)
{
    return races_now.at[d] + (d == 0 ? (size_t)races_rank() : 0);
}

size_t local_size(uint32_t d)
{
    return races_now.block[d];
}

size_t num_groups(uint32_t d)
{
    return races_now.grid[d];
}

/* ---- waiting ----------------------------------------------------------------------------- */

void races_warp_barrier(void);
void races_cluster_barrier(void);
void races_swap(void *y, const void *x, int bytes, int reach);

void block_barrier(uint32_t flags)
{
    (void)flags;
    races_pause(RACES_BARRIER, RACES_HERE);
}

void races_cluster_barrier(void)
{
    races_pause(RACES_ALL, RACES_HERE);
}

void races_warp_barrier(void)
{
    races_pause(RACES_WARPS, RACES_HERE);
}

/* *y = what the thread `reach` away in the warp has in *x. */
void races_swap(void *y, const void *x, int bytes, int reach)
{
    static unsigned char of[RACES_THREADS][16];
    const int me = races_thread;
    if (races_now.threads % RACES_WARP)
        races_report("a shuffle in a part of a warp", RACES_HERE, 0, -1);
    memcpy(of[me], x, (size_t)bytes);
    races_pause(RACES_WARPS, RACES_HERE);
    memcpy(y, of[me ^ reach], (size_t)bytes);
    races_pause(RACES_WARPS, RACES_HERE);
}

uint32_t races_vote(int c);

uint32_t races_vote(int c)
{
    static bool of[RACES_THREADS];
    const int first = races_thread / RACES_WARP * RACES_WARP;
    uint32_t bits = 0;
    if (races_now.threads % RACES_WARP)
        races_report("a vote in a part of a warp", RACES_HERE, 0, -1);
    of[races_thread] = c != 0;
    races_pause(RACES_WARPS, RACES_HERE);
    for (int i = 0; i < RACES_WARP; i++)
        bits |= (uint32_t)of[first + i] << i;
    races_pause(RACES_WARPS, RACES_HERE);
    return bits;
}

/* ---- blocks in turns --------------------------------------------------------------------- */

int32_t races_add(int32_t *p, int32_t n);
int64_t races_turn_of(void *counter);
uint64_t races_word_load(const void *from);
void races_word_store(void *to, uint64_t word);

int32_t races_add(int32_t *p, int32_t n)
{
    const int32_t was = *p;
    *p += n;
    return was;
}

int64_t races_turn_of(void *counter)
{
    uint32_t turn, next;
    races_atomic(counter, sizeof turn, true, RACES_HERE);
    memcpy(&turn, counter, sizeof turn);
    next = turn + 1;
    memcpy(counter, &next, sizeof next);
    return turn;
}

/* Others go on first: what is asked for may not be there yet, and is asked for again. */
uint64_t races_word_load(const void *from)
{
    uint64_t word;
    races_pause(RACES_WAITS, RACES_HERE);
    races_atomic(from, sizeof word, false, RACES_HERE);
    memcpy(&word, from, sizeof word);
    return word;
}

void races_word_store(void *to, uint64_t word)
{
    races_atomic(to, sizeof word, true, RACES_HERE);
    memcpy(to, &word, sizeof word);
}

/* ---- 16-bit floats ----------------------------------------------------------------------- */

static float float_of_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float f = exponent == 31  ? fraction ? NAN : INFINITY
                    : exponent == 0 ? ldexpf((float)fraction, -24)
                                    : ldexpf((float)(fraction + 1024), exponent - 25);
    return bits >> 15 ? -f : f;
}

float races_float_of_half(uint16_t bits)
{
    static float of[65536];
    if (of[1] == 0)
        for (int i = 0; i < 65536; i++)
            of[i] = float_of_half((uint16_t)i);
    return of[bits];
}

/* To the nearest, ties away from zero. */
uint32_t races_tf32(uint32_t bits)
{
    return (bits & 0x7F800000) == 0x7F800000 ? bits : (bits + 0x1000) & 0xFFFFE000;
}

/* To nearest, ties to even: scaled so that a unit is the last place. */
uint16_t races_half_of_float(float f)
{
    const int sign = signbit(f) ? 0x8000 : 0;
    int exponent;
    if (isnan(f))
        return 0x7E00;
    if (f == 0)
        return (uint16_t)sign;
    frexpf(f, &exponent);
    const int place = exponent - 11 < -24 ? -24 : exponent - 11;
    const float whole = isinf(f) ? 1e9f : rintf(ldexpf(fabsf(f), -place));
    if (isinf(f) || ldexpf(whole, place) >= 65536)
        return (uint16_t)(sign | 0x7C00);
    return (uint16_t)(sign | ((int)whole + ((place + 24) << 10)));
}

/* ---- arithmetic -------------------------------------------------------------------------- */

#define UNARY(name, length)                                                                    \
    float races_##name##_f(float x) AS("_Z" length #name "f");                                 \
    double races_##name##_d(double x) AS("_Z" length #name "d");                               \
    float races_##name##_f(float x)                                                            \
    {                                                                                          \
        return name##f(x);                                                                     \
    }                                                                                          \
    double races_##name##_d(double x)                                                          \
    {                                                                                          \
        return name(x);                                                                        \
    }
#define BINARY(name, length)                                                                   \
    float races_##name##_ff(float x, float y) AS("_Z" length #name "ff");                      \
    double races_##name##_dd(double x, double y) AS("_Z" length #name "dd");                   \
    float races_##name##_ff(float x, float y)                                                  \
    {                                                                                          \
        return name##f(x, y);                                                                  \
    }                                                                                          \
    double races_##name##_dd(double x, double y)                                               \
    {                                                                                          \
        return name(x, y);                                                                     \
    }
UNARY(exp, "3")
UNARY(exp2, "4")
UNARY(log, "3")
UNARY(sqrt, "4")
UNARY(tanh, "4")
UNARY(fabs, "4")
UNARY(ceil, "4")
UNARY(floor, "5")
UNARY(rint, "4")
UNARY(erf, "3")
UNARY(sin, "3")
UNARY(cos, "3")
UNARY(tan, "3")
UNARY(asin, "4")
UNARY(acos, "4")
UNARY(atan, "4")
BINARY(pow, "3")
BINARY(fmax, "4")
BINARY(fmin, "4")

float fma_f(float x, float y, float z) AS("_Z3fmafff");
double fma_d(double x, double y, double z) AS("_Z3fmaddd");

float fma_f(float x, float y, float z)
{
    return fmaf(x, y, z);
}

double fma_d(double x, double y, double z)
{
    return fma(x, y, z);
}

/* ---- sums in memory ---------------------------------------------------------------------- */

void races_global_add(int type, void *p, const void *v);

static float bfloat_sum(uint16_t bits, float v)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f + v;
}

static uint16_t bfloat_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return isnan(f) ? (uint16_t)(bits >> 16 | 64)
                    : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#define ADD(number, stored, value, sum)                                                        \
    case number: {                                                                             \
        stored x;                                                                              \
        value y;                                                                               \
        races_atomic(p, sizeof x, true, RACES_HERE);                                           \
        memcpy(&x, p, sizeof x);                                                               \
        memcpy(&y, v, sizeof y);                                                               \
        x = (stored)(sum);                                                                     \
        memcpy(p, &x, sizeof x);                                                               \
        break;                                                                                 \
    }

/* Numbers of words.h. */
void races_global_add(int type, void *p, const void *v)
{
    switch (type) {
        ADD(0, float, float, x + y)
        ADD(1, double, double, x + y)
        ADD(2, int32_t, int32_t, (uint32_t)x + (uint32_t)y)
        ADD(3, int64_t, int64_t, (uint64_t)x + (uint64_t)y)
        ADD(4, uint16_t, float, races_half_of_float(races_float_of_half(x) + y))
        ADD(5, uint16_t, float, bfloat_of_float(bfloat_sum(x, y)))
    default:
        abort();
    }
}
