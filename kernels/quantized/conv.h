/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_conv2d's inputs and numbers, for its rows. Host code only. */
#ifndef OPTUNE_KERNELS_QUANTIZED_CONV_H
#define OPTUNE_KERNELS_QUANTIZED_CONV_H

#include "kernels/convolution/shape.h"
#include "kernels/quantized/quantized.h"

enum { QCONV_DATA, QCONV_WEIGHT, QCONV_BIAS, QCONV_SCALE };

/* Terms of a sum. */
static inline int64_t qconv_terms(const conv2d_shape *s)
{
    return s->ci_g * s->kh * s->kw;
}

static inline bool qconv_signed(const optune_call *call) /* the data */
{
    return call->input[QCONV_DATA].type.dtype.code == OPTUNE_DTYPE_INT;
}

static inline bool qconv_wide(const optune_call *call) /* a weight of 16 bits */
{
    return call->input[QCONV_WEIGHT].type.dtype.bits == 16;
}

/* False while a dim is unknown. */
bool qconv_shape_of(const optune_call *call, conv2d_shape *s);
/* What rows with vectors ask for: constant shapes, scales of float32. */
bool qconv_applies(const optune_task *task, conv2d_shape *s, char *why);

/* Everything of the shape as macros, X_T X_ZERO X_SIGNED, and those of quantized_define. */
void qconv_define(optune_plan *plan, int module, const optune_task *task,
                  const conv2d_shape *s);

/* Whether what is packed is known before the model runs. */
static inline bool qconv_once(const optune_call *call)
{
    return call->input[QCONV_WEIGHT].is_const && call->input[QCONV_BIAS].is_const &&
           call->input[QCONV_SCALE].is_const;
}

/* Adds the stage `pack` of the weight, the bias and the scales, which fills the words, of so many
 * bytes, and behind them a list of `channels` sums and one of as many scales. */
optune_arg qconv_pack(const optune_task *task, optune_plan *plan, int module,
                      int64_t words_bytes, int64_t channels);

#endif
