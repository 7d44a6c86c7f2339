/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What op rows need of tensors and define.h does not give: the one message of a type relation,
 * layouts in blocks of channels, and elements of any dtype as doubles for references. Host code
 * only; owns nothing, allocates nothing.
 */
#ifndef OPTUNE_KERNELS_HOST_TENSOR_H
#define OPTUNE_KERNELS_HOST_TENSOR_H

#include "kernels/host/host.h"

/* "softmax: output f32[3,5] does not fit data f32[4,5]: <what>" */
int tensor_misfit(optune_err *err, const char *op, const char *a_name, const optune_tensor *a,
                  const char *b_name, const optune_tensor *b, const char *what);

/* Element `i` of a buffer; exact for every dtype up to 53 bits. */
static inline double tensor_element(const void *data, optune_dtype dtype, int64_t i)
{
    switch (dtype.code) {
    case OPTUNE_DTYPE_FLOAT:
        if (dtype.bits == 64)
            return ((const double *)data)[i];
        if (dtype.bits == 32)
            return ((const float *)data)[i];
        return (double)((const _Float16 *)data)[i];
    case OPTUNE_DTYPE_BFLOAT: {
        const uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    case OPTUNE_DTYPE_INT:
        return dtype.bits == 8    ? (double)((const int8_t *)data)[i]
               : dtype.bits == 16 ? (double)((const int16_t *)data)[i]
               : dtype.bits == 32 ? (double)((const int32_t *)data)[i]
                                  : (double)((const int64_t *)data)[i];
    default:
        return dtype.bits == 16   ? (double)((const uint16_t *)data)[i]
               : dtype.bits == 32 ? (double)((const uint32_t *)data)[i]
               : dtype.bits == 64 ? (double)((const uint64_t *)data)[i]
                                  : (double)((const uint8_t *)data)[i];
    }
}

/* Whether sums of products of `in` fit `out`: those of 8-bit integers need 32 bits, those of floats
 * a floating type. Unknown types do. */
bool tensor_sums_fit(optune_dtype in, optune_dtype out);

#define TENSOR_SUMS_NEED                                                                       \
    "sums of 8-bit products need out_dtype=i32, those of floats a floating type"

/* float32 or float64, one lane: what generated code on vectors asks for. */
static inline bool tensor_is_float(const optune_tensor *t)
{
    return t->dtype.code == OPTUNE_DTYPE_FLOAT && t->dtype.lanes == 1 &&
           (t->dtype.bits == 32 || t->dtype.bits == 64);
}

/* Whether exponentials, means and gradients have a meaning in it. Unknown types do. */
static inline bool tensor_is_real(const optune_tensor *t)
{
    return t->dtype.code == OPTUNE_DTYPE_UNKNOWN || host_is_real(t->dtype);
}

/* The c of "NCHW<c>c", 0 for "NCHW", -1 for anything else. */
int tensor_layout_block(const char *layout);

/* Both become the same type, as far as either is known. */
bool tensor_unify(optune_tensor *a, optune_tensor *b);

#endif
