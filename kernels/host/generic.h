/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of generic implementations share: one body for CPUs and GPUs, any dtype, any dim
 * known at run time. Host code only; what it defines is read by
 * kernels/common/generic_body.kernel.h.
 *
 * A generic implementation says which numbers of the call its body needs and nothing else: how
 * elements are stored, which dims are arguments and how large a launch is, is the same for all.
 */
#ifndef OPTUNE_KERNELS_HOST_GENERIC_H
#define OPTUNE_KERNELS_HOST_GENERIC_H

#include "kernels/host/pattern_gpu.h"

/* A call can have no more of them. */
enum { GENERIC_SYMBOLS = OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK, GENERIC_THREADS = 64 };

/* Dims known at run time: one for each name, and where it is found. */
typedef struct generic_symbols {
    int n;
    struct {
        const char *name;
        int input, dim;
    } at[GENERIC_SYMBOLS];
} generic_symbols;

generic_symbols generic_symbols_of(const optune_call *call);
/* Which of them a dim is; -1: none. */
int generic_symbol_at(const generic_symbols *s, const optune_dim *dim);

bool generic_applies(const optune_task *task, char *why);

/* "3, c->s[0], 5": constants, symbols, and -1 for what only the body can tell. */
void generic_define_dims(optune_plan *plan, int m, const optune_call *call, const char *macro,
                         const optune_tensor *type);

/* X_T or O_T and its like: type, conversion, rank, dims. */
void generic_define_tensor(optune_plan *plan, int m, const optune_call *call, char letter,
                           int i, const optune_tensor *type);

/* The module with everything about the call's tensors; ACC is what `sum` accumulates in. */
int generic_module(const optune_task *task, optune_plan *plan, optune_dtype sum);

/* The expression's type and numbers, as pattern_define_scalar has them, on any target. */
void generic_define_scalar(optune_plan *plan, int m, const optune_call *call);

/* The one stage: inputs, outputs, dims. Threads of a GPU take items in turn, so that the grid
 * need not know how many there are. */
void generic_stage(const optune_task *task, optune_plan *plan, int m);
/* One of several: `task` is of a call of its own, whose inputs and then outputs are these. Its dims
 * known at run time are named and found in inputs that the whole call has at the same place. */
void generic_stage_over(const optune_task *task, optune_plan *plan, int m,
                        const optune_arg *tensor);

/* The row of an op's generic implementation. */
#define GENERIC_ROW(op_, text, plan_function)                                                  \
    {                                                                                          \
        .op = op_, .name = op_ "_loops.generic", .summary = text, .applies = generic_applies,  \
        .plan = plan_function, .symbolic = "*", .generic = true                                \
    }

#endif
