/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of matrix products on GPUs, for dense and batch_matmul alike: one struct that
 * says what is multiplied, and what the plans of all templates share. Host code only; the bodies
 * are impls_*.kernel.cu. A template `kind` has five functions, of which
 * MATMUL_GPU_ROW makes a row of either operator:
 *
 *   tile    large products: a block of the output in registers (matmul_gpu_tile.h)
 *   ring    large float32 products from compute capability 8.0 on (matmul_gpu_ring.h)
 *   skinny  few rows: all of them in one block, whose threads also share the depth of a tile
 *   skinny_ring  the same in float32 from compute capability 8.0 on (matmul_gpu_ring.h)
 *   mma     large products by tensor cores (matmul_gpu_mma.h)
 *   gemv    very few rows: nothing is staged, teams walk along the depth (matmul_gpu_gemv.h)
 *
 * Macros of all bodies: DTYPE ELEM (bytes) INDEX, B M N K (B and M the most, where B_VARIES or
 * M_VARIES says that they come at run time), X_ALONG Y_ALONG (the operand lies depth by depth,
 * not row by row), X_SHARED Y_SHARED (one matrix for all batches), BIAS, VX VY VN (elements
 * loaded or stored at once), SPLITS SUM_THREADS.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_H

#include "kernels/host/gpu_cost.h"
#include "kernels/matmul/gpu/product_tile.h"
#include "kernels/matmul/matmul.h"

typedef struct matmul_gpu {
    int64_t b, m, n, k; /* b and m: the most, where they vary */
    int64_t line;       /* outputs that lie side by side along n; 0: all */
    /* The template wgmma: cycles that a warpgroup takes to write a step's rows of y, and beside
     * that each row of 128 bytes, of which it reads y_bytes. 0: y is copied. */
    double y_step, y_cycles, y_bytes;
    double byte_instructions; /* where to_bytes: of a sum on its way to a byte */
    bool to_bytes;            /* the body makes bytes of sums, whatever the product's type */
    bool b_varies, m_varies, x_along, y_along, x_shared, y_shared, f64, has_bias;
    optune_arg bias, batches, rows; /* those that there are */
} matmul_gpu;

static inline int64_t matmul_gpu_elem(const matmul_gpu *p)
{
    return p->f64 ? 8 : 4;
}

/* The largest power of two up to 16 bytes that divides both. */
int64_t matmul_gpu_vector(const matmul_gpu *p, int64_t line, int64_t part);

static inline bool matmul_gpu_applies(const matmul_gpu *p, char *why)
{
    const int64_t most = INT32_MAX / 2;
    return (p->k <= most && p->n <= most && p->m <= most && p->b <= 65535) ||
           optune_refuse(why, "more than 65535 batches, or a dimension of more than 2^30");
}

/* ---- depth shared by blocks -------------------------------------------------------------- */

static inline int64_t matmul_gpu_outputs(const matmul_gpu *p)
{
    return p->b * p->m * p->n;
}

/* `step` of depth is what a block takes at once. */
bool matmul_gpu_splits_fit(const matmul_gpu *p, int64_t splits, int64_t step, char *why);

/* What it costs to add up what blocks leave that share the depth, as gpu_cost counts. */
double matmul_gpu_sharing(const optune_task *task, const matmul_gpu *p, int64_t splits);

void matmul_gpu_define(const optune_task *task, optune_plan *plan, int m, const matmul_gpu *p,
                       int64_t splits);

void matmul_gpu_dims(optune_stage *stage, const matmul_gpu *p, bool bias);

/* Adds the product's stage, whose grid and block are set, and what follows it: `vn` neighbours
 * of the output are stored at once. */
void matmul_gpu_stages(const optune_task *task, optune_plan *plan, const matmul_gpu *p,
                       optune_stage stage, int64_t splits, int64_t vn);

/* The hooks that only ask a template, under the prefix `as`: its space, the config that `choose`
 * falls back to and what `cost` estimates, for the struct that product_of makes of a call. */
#define MATMUL_GPU_ASK(as, space_of, choose, cost, product_of)                                 \
    static void as##_space(const optune_task *task, optune_space *space)                       \
    {                                                                                          \
        (void)task;                                                                            \
        space_of(space);                                                                       \
    }                                                                                          \
    static void as##_fallback(const optune_task *task, const optune_space *space,              \
                              optune_config *config)                                           \
    {                                                                                          \
        const matmul_gpu p = product_of(task->call);                                           \
        choose(task, &p, space, config);                                                       \
    }                                                                                          \
    static double as##_estimate(const optune_task *task, const optune_config *config)          \
    {                                                                                          \
        const matmul_gpu p = product_of(task->call);                                           \
        return cost(task, &p, config);                                                         \
    }

/* What a row of template `kind` calls, under the prefix `as`: product_of makes the struct of a
 * known or bounded call, applies_to says whether the operator's own conditions hold. */
#define MATMUL_GPU_HOOKS(as, kind, product_of, applies_to)                                     \
    static bool as##_applies(const optune_task *task, char *why)                               \
    {                                                                                          \
        if (!applies_to(task, why))                                                            \
            return false;                                                                      \
        const matmul_gpu p = product_of(task->call);                                           \
        return matmul_gpu_applies(&p, why);                                                    \
    }                                                                                          \
    MATMUL_GPU_ASK(as, matmul_gpu_##kind##_space, matmul_gpu_##kind##_fallback,                \
                   matmul_gpu_##kind##_estimate, product_of)                                   \
    static bool as##_valid(const optune_task *task, const optune_config *config, char *why)    \
    {                                                                                          \
        const matmul_gpu p = product_of(task->call);                                           \
        return matmul_gpu_##kind##_valid(task, &p, config, why);                               \
    }                                                                                          \
    static void as##_plan(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        const matmul_gpu p = product_of(task->call);                                           \
        matmul_gpu_##kind##_plan(task, &p, config, plan);                                      \
    }

/* The row of an operator, behind its hooks; last the dims that may be ranges, and other fields. */
#define MATMUL_GPU_ROW(as, op_, name_, text, ...)                                              \
    {                                                                                          \
        .op = op_, .name = name_, .summary = text, .applies = as##_applies,                    \
        .space = as##_space, .fallback = as##_fallback, .valid = as##_valid,                   \
        .plan = as##_plan, .estimate = as##_estimate, .symbolic = __VA_ARGS__                  \
    }

#endif
