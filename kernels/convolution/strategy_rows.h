/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions and names that conv2d's strategies share. A condition says when an implementation is
 * worth considering; whether it can compute a call at all stays with the implementation.
 */
#ifndef OPTUNE_KERNELS_CONV2D_STRATEGY_ROWS_H
#define OPTUNE_KERNELS_CONV2D_STRATEGY_ROWS_H

#include "kernels/convolution/conv2d.h"

/* The dims a `when` may name: n ci h w co kh kw oh ow. */
static inline bool conv2d_dim(const optune_call *call, const char *name, optune_dim *value)
{
    const optune_tensor *data = &call->input[CONV2D_DATA].type;
    const optune_tensor *weight = &call->input[CONV2D_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    const struct {
        const char *name;
        const optune_tensor *type;
        int dim;
    } table[] = {
        {"n", data, 0},    {"h", data, 2},    {"w", data, 3}, {"co", weight, 0},
        {"kh", weight, 2}, {"kw", weight, 3}, {"oh", out, 2}, {"ow", out, 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(name, table[i].name) == 0 && table[i].type->rank > table[i].dim) {
            *value = table[i].type->dim[table[i].dim];
            return true;
        }
    if (strcmp(name, "ci") != 0 || weight->rank < 2)
        return false;
    const int64_t groups = optune_call_int(call, "groups");
    *value = weight->dim[1];
    value->min *= groups;
    value->max = value->max > OPTUNE_DIM_MAX / groups ? OPTUNE_DIM_MAX : value->max * groups;
    if (groups > 1)
        value->name[0] = '\0';
    return true;
}

#endif
