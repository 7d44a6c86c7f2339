/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/order/order_rows.h declares. */
#include "kernels/order/order_rows.h"

bool order_fits(const optune_task *task, char *why)
{
    if (!order_lines_known(task->call))
        return optune_refuse(why, "needs constant shapes behind the lines");
    return order_shape_of(task->call).at.n <= INT32_MAX ||
           optune_refuse(why, "counts in 31 bits along the axis");
}

bool order_applies(const optune_task *task, char *why)
{
    return order_fits(task, why) && (host_computes(task->call->input[0].type.dtype) ||
                                     optune_refuse(why, "orders f32, f64, i32 and i64 only"));
}

bool order_narrow(const optune_task *task, char *why)
{
    if (!order_applies(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    return s.indices < 0 || s.data.bits == 32 ||
           optune_refuse(why, "an index beside 64 bits is more than a lane");
}

void order_block_knob(const optune_task *task, optune_space *space)
{
    static const int64_t blocks[] = {1, 2, 4, 8, 16};
    const order_shape s = order_shape_of(task->call);
    int n = 0;
    while (n < 5 && blocks[n] <= s.at.inner)
        n++;
    optune_space_ints(space, "block", n, blocks);
}

void order_block_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    int64_t block = 64 / (s.data.bits / 8);
    while (block > 1 && block * s.at.n * order_item_bytes(&s) > host_l2(task))
        block /= 2;
    optune_config_choose_int(config, space, "block", block);
    optune_config_nearest(config, space);
}

int order_module_of_lines(const optune_task *task, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "INDEX",
                            s.indices < 0 ? "i32" : host_c_type(s.index));
    optune_plan_define(plan, m, "BITS", order_key_bits(&s));
    optune_plan_define(plan, m, "FLOATING", host_is_real(s.data));
    optune_plan_define(plan, m, "DESCEND", !s.ascend);
    optune_plan_define(plan, m, "VALUES", s.values >= 0);
    optune_plan_define(plan, m, "INDICES", s.indices >= 0);
    optune_plan_define(plan, m, "N", s.at.n);
    optune_plan_define(plan, m, "INNER", s.at.inner);
    optune_plan_define(plan, m, "K", s.k);
    return m;
}

int order_module(const optune_task *task, optune_plan *plan)
{
    const int m = order_module_of_lines(task, plan);
    optune_plan_define_text(plan, m, "SRC", host_c_type(task->call->input[0].type.dtype));
    host_lead_define(plan, m, "OUTER", task->call, 0, order_lead(task->call),
                     2 + task->call->n_outputs);
    return m;
}

void order_stage(const optune_task *task, optune_plan *plan, int module, int64_t bytes)
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
    stage.arg[stage.n_args++] =
        bytes ? optune_scratch_arg(optune_plan_scratch(plan, "work", bytes, false))
              : optune_int_arg(0);
    host_lead_args(task->call, 0, order_lead(task->call), &stage);
    optune_plan_stage(plan, &stage);
}

int64_t order_lines_bytes(const optune_task *task, int64_t block, int64_t more, bool share)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t line = host_ceil(s.at.n * order_item_bytes(&s) + 64, 64) * 64;
    return (share ? 1 : host_threads(task)) * ((block + 1) * line + more);
}

void order_lines_plan(const optune_task *task, const optune_config *config, optune_plan *plan,
                      int module, int64_t more, bool share)
{
    const int64_t block = optune_config_int(config, "block");
    optune_plan_define(plan, module, "BLOCK", block);
    optune_plan_define(plan, module, "MORE", more);
    optune_plan_define(plan, module, "SHARE", share);
    order_stage(task, plan, module, order_lines_bytes(task, block, more, share));
}

static bool order_share(const optune_config *config)
{
    return strcmp(optune_config_word(config, "threads"), "share") == 0;
}

static int64_t order_radix_more(const optune_task *task, const optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t digit = optune_config_int(config, "digit");
    const int64_t tables =
        order_share(config) ? host_threads(task) : host_ceil(s.data.bits, digit);
    return (tables << digit) * 4;
}

bool order_radix_valid(const optune_task *task, const optune_config *config, char *why)
{
    const order_shape s = order_shape_of(task->call);
    if (order_share(config) && host_threads(task) == 1)
        return optune_refuse(why, "one thread has nobody to share a line with");
    if (optune_config_int(config, "digit") > 11 && s.at.n < 1 << 16)
        return optune_refuse(why, "counting 65536 digits takes longer than sorting");
    return order_lines_fit(task, config, order_radix_more(task, config), order_share(config),
                           why);
}

void order_radix_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    const order_shape s = order_shape_of(task->call);
    const int64_t threads = host_threads(task);
    const bool share = threads > 1 && order_lines(&s) < threads && s.at.n >= 1 << 14;
    optune_config_choose_int(config, space, "digit", s.at.n < 4096 ? 8 : 11);
    order_block_fallback(task, space, config);
    optune_config_choose_word(config, space, "threads", share ? "share" : "lines");
}

void order_radix_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "DIGIT", optune_config_int(config, "digit"));
    order_lines_plan(task, config, plan, m, order_radix_more(task, config),
                     order_share(config));
}

void order_quick_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "BASE", optune_config_int(config, "base"));
    optune_plan_define(plan, m, "RUN", 8);
    order_lines_plan(task, config, plan, m, 0, false);
}

void order_merge_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = order_module(task, plan);
    optune_plan_define(plan, m, "BASE", 8);
    optune_plan_define(plan, m, "RUN", optune_config_int(config, "run"));
    order_lines_plan(task, config, plan, m, 0, false);
}

/* ---- many short lines at once ------------------------------------------------------------ */

enum { ORDER_NETWORK_MOST = 512 };

bool order_network_applies(const optune_task *task, char *why)
{
    if (!order_narrow(task, why))
        return false;
    const order_shape s = order_shape_of(task->call);
    return s.at.n <= ORDER_NETWORK_MOST ||
           optune_refuse(why, "a network of %" PRId64 " is larger than one of %d", s.at.n,
                         (int)ORDER_NETWORK_MOST);
}

void order_network_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const order_shape s = order_shape_of(task->call);
    const int m = order_module(task, plan);
    const int64_t vectors = optune_config_int(config, "vectors");
    optune_plan_define(plan, m, "VECTORS", vectors);
    order_stage(task, plan, m, host_threads(task) * s.at.n * vectors * host_vector_bytes(task));
}

bool order_dim(const optune_call *call, const char *name, optune_dim *value)
{
    const optune_tensor *data = &call->input[0].type;
    const bool n = strcmp(name, "n") == 0, k = strcmp(name, "k") == 0;
    const bool width = strcmp(name, "width") == 0;
    if (!n && !k && !width && strcmp(name, "lines") != 0)
        return false;
    *value = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    const bool last = optune_call_int(call, "axis") == -1 && data->rank > 0;
    if (order_lines_known(call)) {
        const order_shape s = order_shape_of(call);
        *value = optune_dim_of(n ? s.at.n : k ? s.k : width ? s.at.inner : order_lines(&s));
        if (!n && !k && !width && !order_known(call))
            value->min = 0;
    } else if (k && order_k(call)) {
        *value = optune_dim_of(order_k(call));
    } else if ((n || k) && last) {
        *value = data->dim[data->rank - 1];
    } else if (width && last) {
        *value = optune_dim_of(1);
    }
    return true;
}
