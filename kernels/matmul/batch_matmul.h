/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all batch_matmul rows share: the call's numbers in one struct, the checks every
 * generated implementation makes, and the macros that bake a shape into a body. It decides
 * nothing about speed and is included by rows only.
 */
#ifndef OPTUNE_KERNELS_BATCH_MATMUL_H
#define OPTUNE_KERNELS_BATCH_MATMUL_H

#include "kernels/matmul/matmul.h"

enum { BATCH_MATMUL_X, BATCH_MATMUL_Y }; /* indices of the inputs */

typedef struct batch_matmul_shape {
    int64_t b, m, n, k; /* the most, where they vary */
    bool b_varies, m_varies, n_varies, k_varies;
    bool batch_of_y;         /* the number of batches is y's first dim, not x's */
    bool x_shared, y_shared; /* one matrix for all batches */
    bool transpose_a, transpose_b, f64;
    bool y_const; /* and of one size, so that it is packed once */
} batch_matmul_shape;

/* The dims that a strategy's `when` may name: b m n k. */
bool batch_matmul_dim(const optune_call *call, const char *name, optune_dim *value);

static inline bool batch_matmul_known(const optune_call *call)
{
    return optune_tensor_known(&call->input[BATCH_MATMUL_X].type) &&
           optune_tensor_known(&call->input[BATCH_MATMUL_Y].type) &&
           optune_tensor_known(&call->output[0]);
}

/* The same, but for dims that may be ranges. Batches of both operands must then be one dim, or one
 * of them 1. */
bool batch_matmul_bounded(const optune_call *call);

/* The numbers of a known or bounded call. */
batch_matmul_shape batch_matmul_shape_of(const optune_call *call);

/* What every implementation asks for: a solved call of float32 or float64 throughout. */
bool batch_matmul_applies(const optune_task *task, char *why);

static inline int64_t batch_matmul_elem(const batch_matmul_shape *s)
{
    return s->f64 ? 8 : 4;
}

/* B M N K (the most) and what of them varies (B_VARIES ...); where nothing does, X_BATCH and
 * Y_BATCH (elements from one batch to the next; 0, always, for a shared matrix). */
void batch_matmul_define(optune_plan *plan, int module, const batch_matmul_shape *s);

/* The timed stage of x, y and the output: a module's function `matmul`. */
optune_stage batch_matmul_stage(int module);

/* Batches, columns, depth and rows at run time, those that vary, in this order. */
void batch_matmul_dims(optune_stage *stage, const batch_matmul_shape *s, bool rows);

#endif
