/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sort, argsort and topk share as operators: the order itself, the type relation, the
 * reference. Rows only; how things are ordered is in kernels/order/order_rows.h and the bodies.
 *
 * The order, ascending or descending along the axis:
 * - NaN is last in both directions, and among the best k only where there are fewer numbers.
 * - argsort and topk are stable: elements that are equal come in the order of their indices, in
 *   both directions. Zeros of either sign are equal; NaNs are equal, whatever their bits.
 * - topk's values are data[indices], bit by bit. With ret_type=values alone, and in sort, there
 *   is no index to tell equal elements apart: -0.0 is below 0.0, and a NaN comes out as a NaN,
 *   its bits are not kept.
 *
 * `valid_count`, which Relay's argsort may be given, is not an input here.
 */
#ifndef OPTUNE_KERNELS_ORDER_H
#define OPTUNE_KERNELS_ORDER_H

#include <assert.h>
#include <stdlib.h>

#include "kernels/host/lead.h"
#include "kernels/host/region_lines.h"
#include "kernels/host/tensor.h"

/* clang-format off */
#define ORDER_INPUTS                                                                           \
    (const optune_op_input[]){{.name = "data", .type = "tensor [...]",                         \
                               .description = "what is ordered"}, {0}}
#define ORDER_AXIS                                                                             \
    {.name = "axis", .kind = OPTUNE_ATTR_INT, .value = "-1",                                   \
     .min = -OPTUNE_MAX_RANK, .max = OPTUNE_MAX_RANK - 1,                                      \
     .description = "what is ordered runs along this axis; negative: from the end"}
#define ORDER_ASCEND(left_out)                                                                 \
    {.name = "is_ascend", .kind = OPTUNE_ATTR_BOOL, .value = left_out,                         \
     .description = "smallest first; else largest first"}
#define ORDER_DTYPE                                                                            \
    {.name = "dtype", .kind = OPTUNE_ATTR_DTYPE, .value = "i32",                               \
     .description = "type of the indices, i32 or i64"}
/* What all operators of the order say beside their names, attributes and workloads. */
#define ORDER_OP                                                                               \
    .inputs = ORDER_INPUTS, .pattern = OPTUNE_OPAQUE, .support_level = 6,                      \
    .flops = order_flops, .reference = order_reference
/* clang-format on */

typedef struct order_shape {
    host_axis at;
    int64_t k; /* of each line; a line's n for sort and argsort */
    optune_dtype data, index;
    bool ascend;
    int values, indices; /* which output; -1: neither */
} order_shape;

/* ---- what an operator asks for, which its attributes tell ------------------------------- */

bool order_has(const optune_call *call, const char *attr);

/* Which output has the values, and which the indices; -1: neither. An operator that has ret_type
 * says so in the call. Others give indices where they have the dtype of indices, else values. */
int order_values(const optune_call *call);
int order_indices(const optune_call *call);

/* How many are asked for; 0: all, as without an attribute k. */
static inline int64_t order_k(const optune_call *call)
{
    const int64_t k = order_has(call, "k") ? optune_call_int(call, "k") : 0;
    return k < 1 ? 0 : k;
}

bool order_known(const optune_call *call);

/* How many dims stand in front of the axis; they may be known at run time, and count as the most
 * they can be. */
int order_lead(const optune_call *call);

/* Whether all behind them is known. */
bool order_lines_known(const optune_call *call);

order_shape order_shape_of(const optune_call *call);

int order_types(optune_call *call, optune_err *err);

/* ---- cost -------------------------------------------------------------------------------- */

/* Comparisons that any algorithm needs: log2 of how many results there can be for a line. */
double order_flops(const optune_call *call);

void order_reference(const optune_call *call, const void *const *in, int out_index,
                     const optune_region *region, double *out, double *magnitude);

#endif
