/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of tensors as numbers, for references and for comparing with them. Every dtype that
 * a call can name, except lanes: the caller multiplies.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"

double ot_usual_tolerance(optune_dtype dtype)
{
    if (dtype.code != OPTUNE_DTYPE_FLOAT && dtype.code != OPTUNE_DTYPE_BFLOAT)
        return 0;
    return dtype.bits == 64 ? 1e-10 : dtype.bits == 32 ? 1e-4 : 2e-2;
}

static double from_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -value : value;
}

static double from_bfloat(uint16_t b)
{
    const uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define COPY_AS(type)                                                                          \
    do {                                                                                       \
        const type *from = data;                                                               \
        for (int64_t i = 0; i < n; i++)                                                        \
            to[i] = (double)from[first + i];                                                   \
    } while (0)

void ot_elements(optune_dtype dtype, const void *data, int64_t first, int64_t n, double *to)
{
    const uint16_t *half = data;
    const bool sign = dtype.code == OPTUNE_DTYPE_INT;
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        COPY_AS(float);
    else if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64)
        COPY_AS(double);
    else if (dtype.code == OPTUNE_DTYPE_FLOAT)
        for (int64_t i = 0; i < n; i++)
            to[i] = from_half(half[first + i]);
    else if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        for (int64_t i = 0; i < n; i++)
            to[i] = from_bfloat(half[first + i]);
    else if (dtype.bits <= 8 && sign)
        COPY_AS(int8_t);
    else if (dtype.bits <= 8)
        COPY_AS(uint8_t);
    else if (dtype.bits == 16 && sign)
        COPY_AS(int16_t);
    else if (dtype.bits == 16)
        COPY_AS(uint16_t);
    else if (dtype.bits == 32 && sign)
        COPY_AS(int32_t);
    else if (dtype.bits == 32)
        COPY_AS(uint32_t);
    else if (sign)
        COPY_AS(int64_t);
    else
        COPY_AS(uint64_t);
}

static uint16_t to_half(double x)
{
    if (isnan(x))
        return 0x7e00;
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);
    if (size >= 65520) /* halfway between the largest and the next power of two */
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(size, 24)));
    int exponent;
    const double fraction = frexp(size, &exponent);
    const int mantissa = (int)nearbyint(fraction * 2048);
    return (uint16_t)(sign | (uint16_t)(((exponent + 14) << 10) + mantissa - 1024));
}

static uint16_t to_bfloat(double x)
{
    const float value = (float)x;
    uint32_t bits;
    if (isnan(x))
        return 0x7fc0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define STORE_AS(type, round)                                                                  \
    do {                                                                                       \
        type *out = data;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                        \
            out[first + i] = (type)round(from[i]);                                             \
    } while (0)

/* The nearest that there is: INT64_MAX is no double, and what it became must become it again. */
static int64_t to_int64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : llrint(x);
}

static uint64_t to_uint64(double x)
{
    if (x < 0x1p63) /* what is negative wraps, as in the narrower ones */
        return (uint64_t)to_int64(x);
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

void ot_elements_set(optune_dtype dtype, void *data, int64_t first, int64_t n,
                     const double *from)
{
    uint16_t *half = data;
    const bool sign = dtype.code == OPTUNE_DTYPE_INT;
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        STORE_AS(float, );
    else if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64)
        STORE_AS(double, );
    else if (dtype.code == OPTUNE_DTYPE_FLOAT)
        for (int64_t i = 0; i < n; i++)
            half[first + i] = to_half(from[i]);
    else if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        for (int64_t i = 0; i < n; i++)
            half[first + i] = to_bfloat(from[i]);
    else if (dtype.bits <= 8 && sign)
        STORE_AS(int8_t, llrint);
    else if (dtype.bits <= 8)
        STORE_AS(uint8_t, llrint);
    else if (dtype.bits == 16 && sign)
        STORE_AS(int16_t, llrint);
    else if (dtype.bits == 16)
        STORE_AS(uint16_t, llrint);
    else if (dtype.bits == 32 && sign)
        STORE_AS(int32_t, llrint);
    else if (dtype.bits == 32)
        STORE_AS(uint32_t, llrint);
    else if (sign)
        STORE_AS(int64_t, to_int64);
    else
        STORE_AS(uint64_t, to_uint64);
}
