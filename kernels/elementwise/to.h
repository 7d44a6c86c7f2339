/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relation of ops whose output's shape is given: data has its dims, or 1 in their place, so an
 * unknown dim of data stays unknown.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_TO_H
#define OPTUNE_KERNELS_BROADCAST_TO_H

#include "optune/define.h"

int broadcast_to_output(optune_call *call, optune_err *err);

/* d data = dy, summed down. */
int broadcast_to_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

/* What such ops' rows say alike; the relation is the file's own. */
#define BROADCAST_TO_OP(expression)                                                            \
    .gradient = broadcast_to_gradient, .pattern = OPTUNE_BROADCAST, .n_outputs = 1,            \
    .scalar = &(expression), .types = types, .reference = optune_pattern_reference

#endif
