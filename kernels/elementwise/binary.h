/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of ops of two operands, which Relay calls lhs and rhs. */
#ifndef OPTUNE_KERNELS_BINARY_H
#define OPTUNE_KERNELS_BINARY_H

#include "optune/define.h"

static const optune_op_input binary_inputs[] = {
    {"lhs", "tensor", "left operand", false, false},
    {"rhs", "tensor", "right operand; both are broadcast to one shape", false, false},
    {NULL, NULL, NULL, false, false},
};

#endif
