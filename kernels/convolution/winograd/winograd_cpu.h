/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plans of winograd convolutions on CPUs share: transformed weights, then one stage that
 * transforms, multiplies and transforms back in scratch of each thread's own. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_CPU_H
#define OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_CPU_H

#include "kernels/convolution/winograd/winograd_error.h"

typedef struct winograd_knob { /* a macro that is a knob's value */
    const char *macro, *knob;
} winograd_knob;

/* A module with the call and `n` knobs as macros; returns its index. */
int winograd_module(optune_plan *plan, const conv2d_shape *s, const optune_config *config,
                    const winograd_knob *knob, size_t n);

typedef struct winograd_scratch { /* elements, of all threads together */
    int64_t weights, inputs, products, bands;
} winograd_scratch;

/* Loops that are a module apart from the products, as transforms are, and what they are told at run
 * time. */
typedef struct winograd_apart {
    int module, transforms;
    int64_t rows;           /* of tiles, of a block */
    int64_t vectors, chunk; /* of a panel; panels of a chunk */
    int64_t ahead;          /* channels that weights are asked for ahead */
    bool split_blocks;      /* threads take blocks, else channels of each */
    int64_t points, depth;  /* weights kept as taps: elements of the points, for all threads
                               together, of so many input channels at a time; 0: kept as points */
} winograd_apart;

/* The stages: transform_weight, then `function`. With `apart` they are of that module, and the
 * second is told the numbers, the functions `point` of `module` and `transforms` of the other one
 * and, of taps, room for points; NULL: everything is in `module`. */
void winograd_stages(const optune_task *task, optune_plan *plan, int module,
                     const conv2d_shape *s, const char *function, const winograd_scratch *z,
                     const winograd_apart *apart);

#endif
