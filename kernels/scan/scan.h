/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cumsum and cumprod share as operators: attributes, the type relation, the reference. Rows
 * only; how a scan is computed is in kernels/scan/scan_rows.h and the bodies.
 *
 * output[i] along the axis is the sum (product) of data[0 .. i], or of data[0 .. i) when
 * exclusive, in the output's type: every element is converted first.
 *
 * - `axis=none` scans all elements in row-major order; the output has one dim.
 * - The neutral element stands before the first: cumsum of -0.0 is 0.0.
 * - Integers wrap around modulo 2^bits.
 * - Floats: runs of consecutive elements may be combined before they meet what is before them.
 *   The result is within the bound of a sequential sum, but it may differ in its last bits
 *   between implementations, and where a run by itself exceeds the range (1e30 * 1e30) it is
 *   infinite even if the elements before would have brought it back. A NaN reaches everything
 *   from its place on and nothing before.
 */
#ifndef OPTUNE_KERNELS_SCAN_H
#define OPTUNE_KERNELS_SCAN_H

#include "kernels/host/lead.h"
#include "kernels/host/region_lines.h"
#include "kernels/host/tensor.h"

/* clang-format off */
#define SCAN_INPUTS                                                                            \
    (const optune_op_input[]){{.name = "data", .type = "tensor [...]",                         \
                               .description = "what is accumulated"}, {0}}
#define SCAN_ATTRS(what)                                                                       \
    (const optune_op_attr[]){                                                                  \
        {.name = "axis", .kind = OPTUNE_ATTR_INT, .value = "none", .none = true,               \
         .min = -OPTUNE_MAX_RANK, .max = OPTUNE_MAX_RANK - 1,                                  \
         .description = "where " what " runs along, negative from the end; "                   \
                        "none: over all elements, flattened"},                                 \
        {.name = "dtype", .kind = OPTUNE_ATTR_DTYPE, .value = "?",                             \
         .description = "type of the output; unknown: that of data"},                          \
        {.name = "exclusive", .kind = OPTUNE_ATTR_BOOL, .value = "false",                      \
         .description = "whether an element is left out of " what                              \
                        " at its own place"},                                                  \
        {0}}
/* clang-format on */

typedef struct scan_shape {
    host_axis at;
    optune_dtype in, out;
    bool exclusive, product;
    bool words; /* the reference gives integers modulo 2^64 */
} scan_shape;

static inline bool scan_known(const optune_call *call)
{
    return optune_tensor_known(&call->input[0].type) && optune_tensor_known(&call->output[0]);
}

/* How many dims stand in front of the axis; they may be known at run time, and count as the most
 * they can be. 0 without an axis, or while the rank is unknown. */
int scan_lead(const optune_call *call);

/* Whether all behind them is known. */
bool scan_rows_known(const optune_call *call);

scan_shape scan_shape_of(const optune_call *call);

int scan_types(optune_call *call, optune_err *err);

/* ---- cost -------------------------------------------------------------------------------- */

static inline double scan_flops(const optune_call *call)
{
    return optune_tensor_known(&call->input[0].type)
               ? (double)optune_tensor_elements(&call->input[0].type)
               : 0;
}

double scan_terms(const optune_call *call);

/* What an operator of this family computes is its reference: one of these. */
void scan_sums(const optune_call *call, const void *const *in, int out_index,
               const optune_region *region, double *out, double *magnitude);
void scan_products(const optune_call *call, const void *const *in, int out_index,
                   const optune_region *region, double *out, double *magnitude);
void scan_sums_whole(const optune_call *call, const void *const *in, int out_index,
                     const optune_region *region, uint64_t *out);
void scan_products_whole(const optune_call *call, const void *const *in, int out_index,
                         const optune_region *region, uint64_t *out);

static inline bool scan_is_product(const optune_call *call)
{
    return call->op->reference == scan_products;
}

#endif
