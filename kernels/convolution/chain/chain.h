/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of pointwise_depthwise_conv2d share: the call as numbers, and what may stand
 * between its two convolutions. The shape is that of the depthwise one with the data's channels:
 * `ci` in front of the 1x1 convolution, `co` behind it. Host code only; says nothing about speed.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_CHAIN_H
#define OPTUNE_KERNELS_CONVOLUTION_CHAIN_H

#include "kernels/convolution/conv2d.h"

enum { CHAIN_DATA, CHAIN_POINTWISE, CHAIN_DEPTHWISE, CHAIN_BIAS }; /* indices of the inputs */

/* In the order of the attribute's words; bodies know them by these numbers. */
typedef enum chain_between {
    CHAIN_NONE,
    CHAIN_RELU,
    CHAIN_RELU6,
    CHAIN_HARD_SWISH,
    CHAIN_SILU,
} chain_between;

#define CHAIN_WORDS "none relu relu6 hard_swish silu"

chain_between chain_between_of(const optune_call *call);
/* In double precision. */
double chain_between_value(chain_between kind, double x);

/* False while anything but the batch is unknown, which then counts as 1. */
bool chain_shape_of(const optune_call *call, conv2d_shape *s);

/* Adds the stage pack_weights(pointwise, depthwise, packed, bias if there is one), in front of all
 * runs where these are constants; returns what it fills, `bytes` of scratch. */
optune_arg chain_pack(const optune_task *task, optune_plan *plan, int module, int64_t bytes);

/* d data, d weights and d bias, by way of the separate convolutions. */
int chain_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

#endif
