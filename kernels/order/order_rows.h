/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the implementations of sort, argsort and topk share as rows: which calls generated
 * bodies can do, knobs that several have, and the macros and scratch of a module. Those that
 * order one line after another (radix, quick, merge) differ in a few numbers and are here
 * whole; an impl_*.c takes the functions of one.
 */
#ifndef OPTUNE_KERNELS_ORDER_ROWS_H
#define OPTUNE_KERNELS_ORDER_ROWS_H

#include "kernels/order/order.h"

/* What any body asks, and what those ask that compare what is stored. */
bool order_fits(const optune_task *task, char *why);
bool order_applies(const optune_task *task, char *why);

/* Items of two words have no vector form. */
bool order_narrow(const optune_task *task, char *why);

/* A key is of 32 bits at least. */
static inline int64_t order_key_bits(const order_shape *s)
{
    return host_max(s->data.bits, 32);
}

static inline int64_t order_item_bytes(const order_shape *s)
{
    return order_key_bits(s) / 8 * (s->indices >= 0 ? 2 : 1);
}

static inline int64_t order_lines(const order_shape *s)
{
    return s->at.outer * s->at.inner;
}

/* Neighbouring lines of a strided axis that are taken together. */
void order_block_knob(const optune_task *task, optune_space *space);

/* A cache line's worth, as far as they stay in the second cache. */
void order_block_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

/* A module with what the bodies share but OUTER, which is how many lines there are in front of the
 * axis; and one with all that those for CPUs share. Both return its index. */
int order_module_of_lines(const optune_task *task, optune_plan *plan);
int order_module(const optune_task *task, optune_plan *plan);

/* `bytes` of scratch in all; 0: none. */
void order_stage(const optune_task *task, optune_plan *plan, int module, int64_t bytes);

enum { ORDER_SCRATCH_GB = 4 };

static inline bool order_scratch_fits(int64_t bytes, char *why)
{
    return bytes <= (int64_t)ORDER_SCRATCH_GB << 30 ||
           optune_refuse(why, "needs %" PRId64 " bytes of scratch, more than %d GiB", bytes,
                         (int)ORDER_SCRATCH_GB);
}

/* ---- one line after another -------------------------------------------------------------- */

/* What kernels/order/lines.kernel.h lays out, in all. */
int64_t order_lines_bytes(const optune_task *task, int64_t block, int64_t more, bool share);

/* Something must sort what is that long: line after line is never refused. */
static inline bool order_lines_fit(const optune_task *task, const optune_config *config,
                                   int64_t more, bool share, char *why)
{
    const int64_t block = optune_config_int(config, "block");
    return block == 1 || order_scratch_fits(order_lines_bytes(task, block, more, share), why);
}

void order_lines_plan(const optune_task *task, const optune_config *config, optune_plan *plan,
                      int module, int64_t more, bool share);

/* radix: digits, the least significant first */

static inline void order_radix_space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "digit", 4, (int64_t[]){6, 8, 11, 16});
    order_block_knob(task, space);
    /* Whether threads take lines of their own, or share each. */
    optune_space_words(space, "threads", 2, (const char *const[]){"lines", "share"});
}

bool order_radix_valid(const optune_task *task, const optune_config *config, char *why);

void order_radix_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

void order_radix_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* quick: splits without branches */

static inline void order_quick_space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "base", 4, (int64_t[]){16, 32, 64, 128});
    order_block_knob(task, space);
}

static inline bool order_quick_valid(const optune_task *task, const optune_config *config,
                                     char *why)
{
    return order_lines_fit(task, config, 0, false, why);
}

/* What the widest vectors hold in registers; narrow ones count, which is for fewer. */
static inline int64_t order_base(const optune_task *task)
{
    const order_shape s = order_shape_of(task->call);
    return host_vector_bytes(task) >= 64 ? 8 * 64 / order_item_bytes(&s) : 32;
}

static inline void order_quick_fallback(const optune_task *task, const optune_space *space,
                                        optune_config *config)
{
    optune_config_choose_int(config, space, "base", order_base(task));
    order_block_fallback(task, space, config);
}

void order_quick_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* merge: for everything */

static inline void order_merge_space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "run", 4, (int64_t[]){1, 4, 8, 16});
    order_block_knob(task, space);
}

static inline void order_merge_fallback(const optune_task *task, const optune_space *space,
                                        optune_config *config)
{
    optune_config_choose_int(config, space, "run", 8);
    order_block_fallback(task, space, config);
}

void order_merge_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

bool order_network_applies(const optune_task *task, char *why);

static inline void order_network_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 3, (int64_t[]){1, 2, 4});
}

void order_network_plan(const optune_task *task, const optune_config *config,
                        optune_plan *plan);

/* ---- strategies -------------------------------------------------------------------------- */

/* n: elements along the axis; lines: how many of those; width: lines beside each other; k: how
 * many of each are wanted. */
bool order_dim(const optune_call *call, const char *name, optune_dim *value);

#endif
