/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs from a seed: element by element, so that every process makes the same, within what an
 * operator says that an input may hold.
 */
#include <math.h>
#include <string.h>

#include "run/worker.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Floats are uniform in [-1, 1) with 24 significant bits; wide integers stay small, so that
 * sums of products do not overflow. */
void ot_fill_input(const optune_tensor *type, uint64_t seed, int index, void *to)
{
    const optune_dtype dtype = type->dtype;
    const int64_t n = optune_tensor_elements(type) * (dtype.lanes ? dtype.lanes : 1);
    const uint64_t start = mix(seed + 0x9e3779b97f4a7c15 * (uint64_t)(index + 1));
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = mix(start + 0x9e3779b97f4a7c15 * (uint64_t)i);
        const double x = (double)(int64_t)(r >> 40) * 0x1p-23 - 1;
        const int64_t whole =
            dtype.bits <= 8 ? (int64_t)(r >> 40 & 255) - 128 : (int64_t)(r >> 40) % 2001 - 1000;
        if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
            ((float *)to)[i] = (float)x;
        else if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64)
            ((double *)to)[i] = x;
        else if (ot_dtype_is_float(dtype))
            ot_elements_set(dtype, to, i, 1, &x);
        else if (dtype.code == OPTUNE_DTYPE_BOOL || dtype.bits == 1)
            ((uint8_t *)to)[i] = r >> 63;
        else if (dtype.bits <= 8)
            ((uint8_t *)to)[i] = (uint8_t)whole;
        else if (dtype.bits == 16)
            ((int16_t *)to)[i] =
                (int16_t)(dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole);
        else if (dtype.bits == 32)
            ((int32_t *)to)[i] =
                (int32_t)(dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole);
        else
            ((int64_t *)to)[i] = dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole;
    }
}

bool ot_input_range(const optune_call *call, int index, double *low, double *high)
{
    return index < call->n_inputs && call->op->range &&
           call->op->range(call, index, low, high) && *low <= *high;
}

/* Words of any size, where they are compared in integers. */
static bool fill_words(const optune_call *call, uint64_t start, int index, void *to)
{
    const optune_tensor *type = &call->input[index].type;
    if (!ot_dtype_is_long(type->dtype) || call->op->shape || !ot_is_whole(call, 0))
        return false;
    const int64_t n = optune_tensor_elements(type);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = mix(start + 0x9e3779b97f4a7c15 * (uint64_t)i);
        const uint64_t size = mix(r) >> (r & 63), word = r >> 63 ? -size : size;
        memcpy((char *)to + i * (int64_t)sizeof word, &word, sizeof word);
    }
    return true;
}

void ot_fill_call_input(const optune_call *call, uint64_t seed, int index, void *to)
{
    enum { SOME = 1024 };
    const optune_tensor *type = &call->input[index].type;
    const uint64_t start = mix(seed + 0x9e3779b97f4a7c15 * (uint64_t)(index + 1));
    const int64_t n = optune_tensor_elements(type);
    /* Where a shape follows from values, some of them are equal. */
    const bool real = ot_dtype_is_float(type->dtype) && !call->op->shape;
    double low, high, piece[SOME];
    if (!ot_input_range(call, index, &low, &high)) {
        if (!fill_words(call, start, index, to))
            ot_fill_input(type, seed, index, to);
        return;
    }
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t some = n - at < SOME ? n - at : SOME;
        for (int64_t i = 0; i < some; i++) {
            const uint64_t r = mix(start + 0x9e3779b97f4a7c15 * (uint64_t)(at + i));
            const double u = (double)(r >> 11) * 0x1p-53;
            piece[i] = real ? low + u * (high - low)
                            : fmin(high, floor(low + u * (high - low + 1)));
        }
        ot_elements_set(type->dtype, to, at, some, piece);
    }
}
