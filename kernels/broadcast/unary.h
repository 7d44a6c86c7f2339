/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of ops of one operand, and the relation of those that are for floats only. */
#ifndef OPTUNE_KERNELS_UNARY_H
#define OPTUNE_KERNELS_UNARY_H

#include "optune/define.h"

/* `status` when the dtype is a floating one, or not known yet. */
static inline int unary_floats(const optune_call *call, int status, optune_err *err)
{
    const optune_dtype dtype = call->output[0].dtype;
    if (dtype.code == OPTUNE_DTYPE_UNKNOWN || dtype.code == OPTUNE_DTYPE_FLOAT ||
        dtype.code == OPTUNE_DTYPE_BFLOAT)
        return status;
    return optune_fail(err, OPTUNE_ETYPE, "'%s' is for floating dtypes", call->op->name);
}

#endif
