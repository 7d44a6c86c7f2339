/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of impls_gemm.kernel.cu: knobs, limits, the untuned tile and the plan of a
 * convolution as a product over pixels, for conv2d and its two gradients, and the rows that
 * have them. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_IMPLICIT_ROWS_H
#define OPTUNE_KERNELS_CONV2D_IMPLICIT_ROWS_H

#include "kernels/convolution/shape.h"
#include "kernels/matmul/gpu/product_tile.h"

/* Which convolution it is, of kernels/convolution/implicit/pixels_gpu.kernel.h. */
typedef enum implicit_kind {
    IMPLICIT_PLAIN,
    IMPLICIT_TRANSPOSED,
    IMPLICIT_WEIGHT_GRADIENT,
} implicit_kind;

bool implicit_applies(const conv2d_shape *s, char *why);

static inline void implicit_space(optune_space *space)
{
    gpu_tile_knobs(space);
    optune_space_ints(space, "split_k", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
}

bool implicit_valid(const optune_task *task, const conv2d_shape *s, const optune_config *config,
                    char *why);

void implicit_fallback(const optune_task *task, const conv2d_shape *s,
                       const optune_space *space, optune_config *config);

double implicit_estimate(const optune_task *task, const conv2d_shape *s,
                         const optune_config *config);

/* `data` and `weight` are the inputs that are read as such. */
void implicit_plan(const optune_task *task, const conv2d_shape *s, int data, int weight,
                   implicit_kind kind, const optune_config *config, optune_plan *plan);

/* What a row calls, under the prefix `as`. `takes(task, &shape, why)` says whether it computes
 * the call and gives its shape. */
#define IMPLICIT_HOOKS(as, takes, data, weight, kind)                                          \
    static bool as##_applies(const optune_task *task, char *why)                               \
    {                                                                                          \
        conv2d_shape s = {0};                                                                  \
        return takes(task, &s, why) && implicit_applies(&s, why);                              \
    }                                                                                          \
    static void as##_space(const optune_task *task, optune_space *space)                       \
    {                                                                                          \
        (void)task;                                                                            \
        implicit_space(space);                                                                 \
    }                                                                                          \
    static bool as##_valid(const optune_task *task, const optune_config *config, char *why)    \
    {                                                                                          \
        conv2d_shape s = {0};                                                                  \
        return takes(task, &s, why) && implicit_valid(task, &s, config, why);                  \
    }                                                                                          \
    static void as##_fallback(const optune_task *task, const optune_space *space,              \
                              optune_config *config)                                           \
    {                                                                                          \
        conv2d_shape s = {0};                                                                  \
        takes(task, &s, NULL);                                                                 \
        implicit_fallback(task, &s, space, config);                                            \
    }                                                                                          \
    static double as##_estimate(const optune_task *task, const optune_config *config)          \
    {                                                                                          \
        conv2d_shape s = {0};                                                                  \
        takes(task, &s, NULL);                                                                 \
        return implicit_estimate(task, &s, config);                                            \
    }                                                                                          \
    static void as##_plan(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        conv2d_shape s = {0};                                                                  \
        takes(task, &s, NULL);                                                                 \
        implicit_plan(task, &s, data, weight, kind, config, plan);                             \
    }

#define IMPLICIT_ROW(as, op_, name_, text)                                                     \
    {                                                                                          \
        .op = op_, .name = name_, .summary = text, .applies = as##_applies,                    \
        .space = as##_space, .fallback = as##_fallback, .valid = as##_valid,                   \
        .plan = as##_plan, .estimate = as##_estimate                                           \
    }

#endif
