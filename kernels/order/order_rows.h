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

static inline bool order_applies(const optune_task *task, char *why)
{
    if (!order_known(task->call))
        return optune_refuse(why, "needs constant shapes");
    const order_shape s = order_shape_of(task->call);
    if (s.at.n < 1 || s.at.outer < 1 || s.at.inner < 1)
        return optune_refuse(why, "there is nothing to order");
    if (!host_computes(s.data))
        return optune_refuse(why, "orders f32, f64, i32 and i64 only");
    if (s.at.n > INT32_MAX)
        return optune_refuse(why, "counts in 31 bits along the axis");
    return true;
}

/* Items of two words have no vector form. */
static inline bool order_narrow(const optune_task *task, char *why)
{
    if (!order_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    return s.indices < 0 || s.data.bits == 32 ||
           optune_refuse(why, "an index beside 64 bits is more than a lane");
}

static inline int64_t order_item_bytes(const order_shape *s)
{
    return s->data.bits / 8 * (s->indices >= 0 ? 2 : 1);
}

static inline int64_t order_lines(const order_shape *s)
{
    return s->at.outer * s->at.inner;
}

/* Neighbouring lines of a strided axis that are taken together. */
static inline void order_block_knob(const optune_task *task, optune_space *space)
{
    static const int64_t blocks[] = {1, 2, 4, 8, 16};
    const order_shape s = order_shape_of(task->call);
    int n = 0;
    while (n < 5 && blocks[n] <= s.at.inner)
        n++;
    optune_space_ints(space, "block", n, blocks);
}

/* A cache line's worth, as far as they stay in the second cache. */
static inline void order_block_fallback(const optune_task *task, const optune_space *space,
                                        optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    int64_t block = 64 / (s.data.bits / 8);
    while (block > 1 && block * s.at.n * order_item_bytes(&s) > host_l2(task))
        block /= 2;
    optune_config_choose_int(config, space, "block", block);
    optune_config_nearest(config, space);
}

static inline int order_module(const optune_task *task, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "SRC", host_c_type(s.data));
    optune_plan_define_text(plan, m, "INDEX", host_c_type(s.index));
    optune_plan_define(plan, m, "BITS", s.data.bits);
    optune_plan_define(plan, m, "FLOATING", host_is_float(s.data));
    optune_plan_define(plan, m, "DESCEND", !s.ascend);
    optune_plan_define(plan, m, "VALUES", s.values >= 0);
    optune_plan_define(plan, m, "INDICES", s.indices >= 0);
    optune_plan_define(plan, m, "OUTER", s.at.outer);
    optune_plan_define(plan, m, "N", s.at.n);
    optune_plan_define(plan, m, "INNER", s.at.inner);
    optune_plan_define(plan, m, "K", s.k);
    return m;
}

/* `bytes` of scratch in all; 0: none. */
static inline void order_stage(const optune_task *task, optune_plan *plan, int module,
                               int64_t bytes)
{
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "order",
        .n_args = 1,
        .arg = {optune_input_arg(0)},
    };
    for (int i = 0; i < task->call->n_outputs; i++)
        stage.arg[stage.n_args++] = optune_output_arg(i);
    if (bytes)
        stage.arg[stage.n_args++] =
            optune_scratch_arg(optune_plan_scratch(plan, "work", bytes, false));
    optune_plan_stage(plan, &stage);
}

enum { ORDER_SCRATCH_GB = 4 };

static inline bool order_scratch_fits(int64_t bytes, char *why)
{
    return bytes <= (int64_t)ORDER_SCRATCH_GB << 30 ||
           optune_refuse(why, "needs %" PRId64 " bytes of scratch, more than %d GiB", bytes,
                         (int)ORDER_SCRATCH_GB);
}

/* ---- one line after another -------------------------------------------------------------- */

/* What kernels/order/lines.kernel.h lays out, in all. */
static inline int64_t order_lines_bytes(const optune_task *task, int64_t block, int64_t more,
                                        bool share)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t line = host_ceil(s.at.n * order_item_bytes(&s) + 64, 64) * 64;
    return (share ? 1 : host_threads(task)) * ((block + 1) * line + more);
}

/* Something must sort what is that long: line after line is never refused. */
static inline bool order_lines_fit(const optune_task *task, const optune_config *config,
                                   int64_t more, bool share, char *why)
{
    const int64_t block = optune_config_int(config, "block");
    return block == 1 || order_scratch_fits(order_lines_bytes(task, block, more, share), why);
}

static inline void order_lines_plan(const optune_task *task, const optune_config *config,
                                    optune_plan *plan, int module, int64_t more, bool share)
{
    const int64_t block = optune_config_int(config, "block");
    optune_plan_define(plan, module, "BLOCK", block);
    optune_plan_define(plan, module, "MORE", more);
    optune_plan_define(plan, module, "SHARE", share);
    order_stage(task, plan, module, order_lines_bytes(task, block, more, share));
}

/* radix: digits, the least significant first */

static inline void order_radix_space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "digit", 4, (int64_t[]){6, 8, 11, 16});
    order_block_knob(task, space);
    /* Whether threads take lines of their own, or share each. */
    optune_space_words(space, "threads", 2, (const char *const[]){"lines", "share"});
}

static inline bool order_share(const optune_config *config)
{
    return strcmp(optune_config_word(config, "threads"), "share") == 0;
}

static inline int64_t order_radix_more(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t digit = optune_config_int(config, "digit");
    const int64_t tables =
        order_share(config) ? host_threads(task) : host_ceil(s.data.bits, digit);
    return (tables << digit) * 4;
}

static inline bool order_radix_valid(const optune_task *task, const optune_config *config,
                                     char *why)
{
    const order_shape s = order_shape_of(task->call);
    if (order_share(config) && host_threads(task) == 1)
        return optune_refuse(why, "one thread has nobody to share a line with");
    if (optune_config_int(config, "digit") > 11 && s.at.n < 1 << 16)
        return optune_refuse(why, "counting 65536 digits takes longer than sorting");
    return order_lines_fit(task, config, order_radix_more(task, config), order_share(config),
                           why);
}

static inline void order_radix_fallback(const optune_task *task, const optune_space *space,
                                        optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = host_threads(task);
    const bool share = threads > 1 && order_lines(&s) < threads && s.at.n >= 1 << 14;
    optune_config_choose_int(config, space, "digit", s.at.n < 4096 ? 8 : 11);
    order_block_fallback(task, space, config);
    optune_config_choose_word(config, space, "threads", share ? "share" : "lines");
}

static inline void order_radix_plan(const optune_task *task, const optune_config *config,
                                    optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "DIGIT", optune_config_int(config, "digit"));
    order_lines_plan(task, config, plan, m, order_radix_more(task, config),
                     order_share(config));
}

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

static inline void order_quick_plan(const optune_task *task, const optune_config *config,
                                    optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "BASE", optune_config_int(config, "base"));
    optune_plan_define(plan, m, "RUN", 8);
    order_lines_plan(task, config, plan, m, 0, false);
}

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

static inline void order_merge_plan(const optune_task *task, const optune_config *config,
                                    optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "BASE", 8);
    optune_plan_define(plan, m, "RUN", optune_config_int(config, "run"));
    order_lines_plan(task, config, plan, m, 0, false);
}

/* ---- many short lines at once ------------------------------------------------------------ */

enum { ORDER_NETWORK_MOST = 512 };

static inline bool order_network_applies(const optune_task *task, char *why)
{
    if (!order_narrow(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    return s.at.n <= ORDER_NETWORK_MOST ||
           optune_refuse(why, "a network of %" PRId64 " is larger than one of %d", s.at.n,
                         (int)ORDER_NETWORK_MOST);
}

static inline void order_network_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 3, (int64_t[]){1, 2, 4});
}

static inline void order_network_plan(const optune_task *task, const optune_config *config,
                                      optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int m = order_module(task, plan);
    const int64_t vectors = optune_config_int(config, "vectors");
    optune_plan_define(plan, m, "VECTORS", vectors);
    order_stage(task, plan, m, host_threads(task) * s.at.n * vectors * host_vector_bytes(task));
}

/* ---- strategies -------------------------------------------------------------------------- */

/* n: elements along the axis; lines: how many of those; width: lines beside each other; k: how
 * many of each are wanted. */
static inline bool order_dim(const optune_call *call, const char *name, optune_dim *value)
{
    const optune_tensor *data = &call->input[0].type;
    const bool n = strcmp(name, "n") == 0, k = strcmp(name, "k") == 0;
    const bool width = strcmp(name, "width") == 0;
    if (!n && !k && !width && strcmp(name, "lines") != 0)
        return false;
    *value = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    const bool last = optune_call_int(call, "axis") == -1 && data->rank > 0;
    if (order_known(call)) {
        const order_shape s = order_shape_of(call);
        *value = optune_dim_of(n ? s.at.n : k ? s.k : width ? s.at.inner : order_lines(&s));
    } else if (k && order_k(call)) {
        *value = optune_dim_of(order_k(call));
    } else if ((n || k) && last) {
        *value = data->dim[data->rank - 1];
    } else if (width && last) {
        *value = optune_dim_of(1);
    }
    return true;
}

#endif
