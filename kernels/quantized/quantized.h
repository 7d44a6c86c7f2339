/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of quantised operators share: 8-bit integers that stand for (x - zero) * scale, and how
 * a float becomes one: round(v) + zero, halves to the even one, cut to `limits`. Host code only.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_H
#define OPTUNE_KERNELS_QUANTIZED_H

#include <math.h>

#include "kernels/host/tensor.h"

static inline bool quantized_byte(optune_dtype t)
{
    return (t.code == OPTUNE_DTYPE_INT || t.code == OPTUNE_DTYPE_UINT) && t.bits == 8 &&
           t.lanes == 1;
}

#define QUANTIZED_ZERO(id, text)                                                               \
    {                                                                                          \
        .name = id, .kind = OPTUNE_ATTR_INT, .value = "0", .description = text, .min = -128,   \
        .max = 255, .shown = true                                                              \
    }
#define QUANTIZED_LIMITS                                                                       \
    {                                                                                          \
        .name = "limits", .kind = OPTUNE_ATTR_INTS, .value = "[-128,255]", .length = 2,        \
        .min = -128, .max = 255, .shown = true,                                                \
        .description = "The least and the largest that it gives; the type has its own, too."   \
    }
#define QUANTIZED_DTYPE                                                                        \
    {                                                                                          \
        .name = "out_dtype", .kind = OPTUNE_ATTR_DTYPE, .value = "",                           \
        .description = "i8 or u8; empty: the data's."                                          \
    }

/* The output's dtype by the data's and the attribute; the limits are in order. */
static inline int quantized_out(optune_call *call, optune_tensor *data, optune_err *err)
{
    optune_tensor *out = &call->output[0];
    optune_dtype asked = optune_call_attr(call, "out_dtype")->dtype;
    const int64_t *limits = optune_call_ints(call, "limits");
    if (!optune_dtype_unify(&out->dtype, asked.code ? &asked : &data->dtype))
        return optune_types_differ(err, "the output is of out_dtype, or of the data's type",
                                   "output", out, "data", data);
    if ((data->dtype.code != OPTUNE_DTYPE_UNKNOWN && !quantized_byte(data->dtype)) ||
        (out->dtype.code != OPTUNE_DTYPE_UNKNOWN && !quantized_byte(out->dtype)))
        return optune_types_differ(err, "8-bit integers are wanted", "data", data, "output",
                                   out);
    return limits[0] <= limits[1]
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ETYPE, "limits [%d,%d]: none lies between",
                             (int)limits[0], (int)limits[1]);
}

typedef struct quantized_end {
    int zero, least, most;
} quantized_end;

static inline quantized_end quantized_end_of(const optune_call *call, const char *zero)
{
    const int64_t *limits = optune_call_ints(call, "limits");
    const bool sign = call->output[0].dtype.code == OPTUNE_DTYPE_INT;
    const int least = sign ? -128 : 0, most = sign ? 127 : 255;
    return (quantized_end){
        .zero = (int)optune_call_int(call, zero),
        .least = (int)host_min(host_max(limits[0], least), most),
        .most = (int)host_min(host_max(limits[1], least), most),
    };
}

/* The least for what is no number. */
static inline double quantized_rounded(double v, const quantized_end *e)
{
    const double whole = rint(v) + e->zero;
    return !(whole > e->least) ? e->least : whole > e->most ? e->most : whole;
}

/* BYTE_T OUT_ZERO OUT_LEAST OUT_MOST. */
void quantized_define(optune_plan *plan, int module, const optune_call *call,
                      quantized_end end);
const char *quantized_c_type(optune_dtype t);
/* Of n elements for a thread: whole cache lines, and at least one. */
int64_t quantized_share(const optune_task *task, int64_t n);

#endif
