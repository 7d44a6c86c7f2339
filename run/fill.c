/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs from a seed: element by element, so that every process makes the same with any number of
 * threads, within what an operator says that an input may hold.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/worker.h"

enum {
    SOME = 1024,
    PART = 1 << 18
}; /* elements: of numbers on their way, of a thread's piece */

static const double KEPT_SHARE = 1.0 / 16; /* of the machine's memory */

typedef struct filling {
    optune_dtype dtype;
    uint64_t start; /* of the numbers */
    double scale;   /* of floats */
    double low, high;
    bool real; /* between low and high: any number, or whole ones */
    void *to;
} filling;

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static inline uint64_t number(uint64_t start, int64_t i)
{
    return mix(start + 0x9e3779b97f4a7c15 * (uint64_t)i);
}

static uint64_t start_of(uint64_t seed, int index)
{
    return mix(seed + 0x9e3779b97f4a7c15 * (uint64_t)(index + 1));
}

/* Floats are uniform in [-1, 1) with 24 significant bits, which every step here keeps. */
static inline float real_of(uint64_t r)
{
    return (float)(int32_t)(r >> 40) * 0x1p-23f - 1;
}

/* Wide integers stay small, so that sums of products do not overflow. */
static inline int64_t whole_of(uint64_t r)
{
    return (int64_t)(r >> 40) % 2001 - 1000;
}

static void fill_floats(void *arg, int64_t from, int64_t to)
{
    const filling *f = arg;
    float *out = f->to;
    const uint64_t start = f->start;
    const float factor = (float)f->scale;
    for (int64_t i = from; i < to; i++)
        out[i] = real_of(number(start, i)) * factor;
}

/* Through doubles, a few at a time. */
static void fill_reals(void *arg, int64_t from, int64_t to)
{
    const filling *f = arg;
    double piece[SOME];
    for (int64_t at = from; at < to; at += SOME) {
        const int64_t some = to - at < SOME ? to - at : SOME;
        for (int64_t i = 0; i < some; i++)
            piece[i] = (double)real_of(number(f->start, at + i)) * f->scale;
        ot_elements_set(f->dtype, f->to, at, some, piece);
    }
}

static void fill_wholes(void *arg, int64_t from, int64_t to)
{
    const filling *f = arg;
    const optune_dtype dtype = f->dtype;
    const bool positive = dtype.code == OPTUNE_DTYPE_UINT;
    for (int64_t i = from; i < to; i++) {
        const uint64_t r = number(f->start, i);
        const int64_t whole = positive ? labs(whole_of(r)) : whole_of(r);
        if (dtype.code == OPTUNE_DTYPE_BOOL || dtype.bits == 1)
            ((uint8_t *)f->to)[i] = r >> 63;
        else if (dtype.bits <= 8)
            ((uint8_t *)f->to)[i] = (uint8_t)((r >> 40 & 255) - 128);
        else if (dtype.bits == 16)
            ((int16_t *)f->to)[i] = (int16_t)whole;
        else if (dtype.bits == 32)
            ((int32_t *)f->to)[i] = (int32_t)whole;
        else
            ((int64_t *)f->to)[i] = whole;
    }
}

/* Words of any size, where they are compared in integers. */
static void fill_words(void *arg, int64_t from, int64_t to)
{
    const filling *f = arg;
    for (int64_t i = from; i < to; i++) {
        const uint64_t r = number(f->start, i);
        const uint64_t size = mix(r) >> (r & 63), word = r >> 63 ? -size : size;
        memcpy((char *)f->to + i * (int64_t)sizeof word, &word, sizeof word);
    }
}

static void fill_range(void *arg, int64_t from, int64_t to)
{
    const filling *f = arg;
    const double low = f->low, high = f->high;
    double piece[SOME];
    for (int64_t at = from; at < to; at += SOME) {
        const int64_t some = to - at < SOME ? to - at : SOME;
        for (int64_t i = 0; i < some; i++) {
            const double u = (double)(number(f->start, at + i) >> 11) * 0x1p-53;
            piece[i] = f->real ? low + u * (high - low)
                               : fmin(high, floor(low + u * (high - low + 1)));
        }
        ot_elements_set(f->dtype, f->to, at, some, piece);
    }
}

static void fill_any(filling *f, const optune_tensor *type, int threads)
{
    const optune_dtype dtype = f->dtype;
    const int64_t n = optune_tensor_elements(type) * (dtype.lanes ? dtype.lanes : 1);
    ot_parallel(n, PART, threads,
                !ot_dtype_is_float(dtype)                              ? fill_wholes
                : dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32 ? fill_floats
                                                                       : fill_reals,
                f);
}

void ot_fill_input(const optune_tensor *type, uint64_t seed, int index, void *to)
{
    filling f = {.dtype = type->dtype, .start = start_of(seed, index), .scale = 1, .to = to};
    fill_any(&f, type, 1);
}

bool ot_input_range(const optune_call *call, int index, double *low, double *high)
{
    return index < call->n_inputs && call->op->range &&
           call->op->range(call, index, low, high) && *low <= *high;
}

void ot_fill_scaled(const optune_call *call, uint64_t seed, int index, double scale,
                    int threads, void *to)
{
    const optune_tensor *type = &call->input[index].type;
    const int64_t n = optune_tensor_elements(type);
    filling f = {.dtype = type->dtype,
                 .start = start_of(seed, index),
                 .scale = scale,
                 /* Where a shape follows from values, some of them are equal. */
                 .real = ot_dtype_is_float(type->dtype) && !call->op->shape,
                 .to = to};
    if (ot_input_range(call, index, &f.low, &f.high))
        ot_parallel(n, PART, threads, fill_range, &f);
    else if (ot_dtype_is_long(type->dtype) && !call->op->shape && ot_is_whole(call, 0))
        ot_parallel(n, PART, threads, fill_words, &f);
    else
        fill_any(&f, type, threads);
}

void ot_fill_call_input(const optune_call *call, uint64_t seed, int index, void *to)
{
    ot_fill_scaled(call, seed, index, 1, 1, to);
}

double ot_inputs_most_kept(void)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return fmax(OT_ALWAYS_KEPT, memory * KEPT_SHARE);
}
