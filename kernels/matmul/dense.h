/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all dense rows share: the call's numbers in one struct, the checks every generated
 * implementation makes, and the macros that bake a shape into a body. It decides nothing about
 * speed and is included by rows only.
 */
#ifndef OPTUNE_KERNELS_DENSE_H
#define OPTUNE_KERNELS_DENSE_H

#include "kernels/matmul/matmul.h"

enum { DENSE_DATA, DENSE_WEIGHT, DENSE_BIAS }; /* indices of the inputs */
enum { DENSE_FEW_ROWS = 4 }; /* so many, or fewer, take the time of reading a narrow weight */

typedef struct dense_shape {
    int64_t m, n, k; /* m: the most, where it varies */
    bool m_varies;   /* bodies read it at run time: dims as "data.0" in `symbolic` */
    bool bias, f64;
    optune_phase weight_phase; /* PREPACK when the weight may be packed once, else TIMED */
} dense_shape;

/* The dims that a strategy's `when` may name: m n k. */
bool dense_dim(const optune_call *call, const char *name, optune_dim *value);

static inline bool dense_known(const optune_call *call)
{
    return optune_tensor_known(&call->input[DENSE_DATA].type) &&
           optune_tensor_known(&call->input[DENSE_WEIGHT].type) &&
           optune_tensor_known(&call->output[0]);
}

/* The same, but for a number of rows that may be a range. */
bool dense_bounded(const optune_call *call);

/* The numbers of a known or bounded call. */
dense_shape dense_shape_of(const optune_call *call);

/* What every implementation asks for: a solved call of float32 or float64 throughout. Whether
 * the rows may be a range is told by its `symbolic`. */
bool dense_applies(const optune_task *task, char *why);

/* What implementations of narrow numbers ask for: a solved call of constant shapes, of types that
 * dot_types takes, its bias of the output's. */
bool dense_narrow(const optune_task *task, char *why);

static inline int64_t dense_elem(const dense_shape *s)
{
    return s->f64 ? 8 : 4;
}

void dense_define(optune_plan *plan, int module, const dense_shape *s);

/* The rows at run time, when they vary. */
static inline void dense_rows(optune_stage *stage, const dense_shape *s)
{
    if (s->m_varies)
        stage->arg[stage->n_args++] = optune_dim_arg(DENSE_DATA, 0);
}

/* Ends a stage that computes the output: after its own arguments come out, bias (if any) and the
 * rows (where they vary). */
void dense_finish(optune_stage *stage, const dense_shape *s);

/* Adds the stage `pack_weight`; returns the scratch of `bytes` that it fills. */
optune_arg dense_pack(optune_plan *plan, int module, const dense_shape *s, int64_t bytes);

/* Adds the stage `pack_data`, timed; returns the scratch of `bytes` that it fills. */
optune_arg dense_pack_data(optune_plan *plan, int module, const dense_shape *s, int64_t bytes);

/* Adds the stage that computes the output from `data` and `weight`, and offers to fuse in it. */
void dense_compute(const optune_task *task, optune_plan *plan, int module, const char *function,
                   const dense_shape *s, optune_arg data, optune_arg weight);

#endif
