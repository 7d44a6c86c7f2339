/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add_atomic.cuda: data is copied, then all updates are added at once, in any order. What
 * is added here and there to more than the cache holds moves a sector of memory each time, so
 * that is done in slabs: one is copied while updates are added to the one before, which the cache
 * still has.
 */
#include "kernels/host/pattern_gpu.h"
#include "kernels/move/take/take.h"

/* What memory can add to. */
static const char *type_of(optune_dtype dtype)
{
    if (gpu_is_half(dtype))
        return dtype.code == OPTUNE_DTYPE_BFLOAT ? "bf16" : "f16";
    if (dtype.lanes > 1 || (dtype.bits != 32 && dtype.bits != 64))
        return NULL;
    if (pattern_is_real(dtype))
        return dtype.bits == 32 ? "f32" : "f64";
    return dtype.code == OPTUNE_DTYPE_INT ? dtype.bits == 32 ? "i32" : "i64" : NULL;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return optune_refuse(why, "needs constant shapes");
    if (optune_tensor_elements(&call->output[0]) < 1)
        return optune_refuse(why, "there is nothing to add to");
    return gpu_is_cuda(task, 60, why) &&
           (type_of(call->output[0].dtype) || optune_refuse(why, "memory adds no such type"));
}

enum { MOST_SLABS = 12, SECTOR = 32 };

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "slabs", 5, (const int64_t[]){1, 2, 4, 8, MOST_SLABS});
}

static int64_t bytes_of(const optune_task *task)
{
    return task->call->output[0].dtype.bits / 8;
}

static int64_t updates_of(const optune_task *task)
{
    return optune_tensor_elements(&task->call->input[2].type);
}

/* A slab has `outers` of what is in front of the axis and `width` of what is behind it, of which
 * there are `across`; the last of either may be cut. Each begins at a vector of 16 bytes. */
typedef struct slabs {
    int64_t count, outers, width, across;
    int64_t copying, adding; /* blocks of a slab */
} slabs;

static slabs slabs_of(const optune_task *task, const optune_config *config)
{
    const host_axis at = host_around(&task->call->input[0].type, take_axis(task->call));
    const int64_t v = 16 / bytes_of(task), n = optune_config_int(config, "slabs");
    const int64_t block =
        optune_config_int(config, "threads") * optune_config_int(config, "each");
    slabs s = {.outers = host_ceil(at.outer, n), .width = at.inner, .across = 1};
    if (at.n * at.inner % v)
        s.outers = host_min(host_ceil(s.outers, v) * v, at.outer);
    const int64_t along = host_ceil(at.outer, s.outers);
    if (along < n && at.inner % v == 0) {
        s.width = host_ceil(host_ceil(at.inner, n / along), v) * v;
        s.across = host_ceil(at.inner, s.width);
    }
    s.count = along * s.across;
    s.copying = host_ceil(s.outers * at.n * s.width, v * block);
    s.adding =
        host_ceil(host_ceil(updates_of(task), at.outer * at.inner) * s.outers * s.width, block);
    return s;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t n = optune_config_int(config, "slabs");
    const slabs s = slabs_of(task, config);
    if (n > 1 && s.adding == 0)
        return optune_refuse(why, "there are no updates");
    if (s.count <= n / 2)
        return optune_refuse(why, "lines come in %" PRId64 " slabs at most", s.count);
    return gpu_grid_fits(s.copying + s.adding, why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0,
                    24 + 4 * optune_config_int(config, "each"), why);
}

/* Bytes of the cache that all cores share. */
static int64_t cache_of(const optune_task *task)
{
    return task->device->l2 > 0 ? task->device->l2 : 4 << 20;
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const optune_call *call = task->call;
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const double index = call->input[1].type.dtype.bits / 8;
    const slabs s = slabs_of(task, config);
    const int64_t elem = bytes_of(task);
    /* One slab is copied while the one before is added to. */
    const int64_t held =
        optune_tensor_elements(&call->output[0]) * elem / s.count * (s.count > 1 ? 2 : 1);
    const double moved = held > cache_of(task) ? 2 * SECTOR : 0;
    const gpu_work copy = {.blocks = host_max(s.copying, 1),
                           .threads = threads,
                           .registers = 16 + 4 * each,
                           .instructions = 20 + 6 * (double)each,
                           .bytes = 32 * (double)(threads * each),
                           .waits = 1};
    const gpu_work add = {.blocks = host_max(s.adding, 1),
                          .threads = threads,
                          .registers = 20 + 4 * each,
                          .instructions = 20 + 24 * (double)each,
                          .bytes = (double)(threads * each) * (index + (double)elem + moved),
                          .cached = (double)(threads * each) *
                                    (index + (double)elem + host_max(moved, SECTOR)),
                          .waits = 2};
    return (double)s.count * (gpu_cost(task, &copy) + gpu_cost(task, &add));
}

/* Slabs of a quarter of the cache, or of three eighths at most, so that two fit beside what passes
 * through it, if what is added would move more than an eighth of what is copied. */
static int64_t untuned_slabs(const optune_task *task)
{
    const int64_t bytes = optune_tensor_elements(&task->call->output[0]) * bytes_of(task);
    const int64_t most = cache_of(task) / 8 * 3, good = cache_of(task) / 4;
    if (bytes <= cache_of(task) / 2 || bytes > most * MOST_SLABS ||
        updates_of(task) * 2 * SECTOR < bytes / 4)
        return 1;
    int64_t n = 2;
    while (n < 8 && bytes > n * good)
        n *= 2;
    return bytes > n * good ? MOST_SLABS : n;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "each",
                             updates_of(task) > (int64_t)8192 * gpu_cores(task) ? 4 : 1);
    optune_config_choose_int(config, space, "slabs", untuned_slabs(task));
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t threads = optune_config_int(config, "threads");
    const int axis = take_axis(call);
    const host_axis at = host_around(&call->input[0].type, axis);
    const slabs s = slabs_of(task, config);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "TYPE", type_of(call->output[0].dtype));
    optune_plan_define_text(plan, m, "STORED", gpu_stored_type(call->output[0].dtype));
    optune_plan_define_text(plan, m, "SCALAR", gpu_scalar_type(call->output[0].dtype));
    optune_plan_define_text(plan, m, "VALUE_OF", gpu_scalar_of(call->output[0].dtype));
    optune_plan_define_text(plan, m, "PLACE",
                            call->input[1].type.dtype.bits == 32 ? "i32" : "i64");
    gpu_define_index(plan, m, call);
    optune_plan_define(plan, m, "ELEMENTS", optune_tensor_elements(&call->output[0]));
    optune_plan_define(plan, m, "OUTER", at.outer);
    optune_plan_define(plan, m, "N", at.n);
    optune_plan_define(plan, m, "INNER", at.inner);
    optune_plan_define(plan, m, "COUNT", host_max(call->input[1].type.dim[axis].min, 1));
    optune_plan_define(plan, m, "OUTERS", s.outers);
    optune_plan_define(plan, m, "WIDTH", s.width);
    optune_plan_define(plan, m, "ACROSS", s.across);
    optune_plan_define(plan, m, "COPYING", s.copying);
    optune_plan_define(plan, m, "ADDING", s.adding);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    for (int64_t i = 0; i < s.count + (s.adding > 0); i++) {
        const bool first = i == 0, last = i == s.count;
        const optune_stage stage = {.phase = OPTUNE_TIMED,
                                    .module = m,
                                    .function = first  ? "copy"
                                                : last ? "add"
                                                       : "step",
                                    .n_args = 5,
                                    .arg = {optune_input_arg(0), optune_input_arg(1),
                                            optune_input_arg(2), optune_output_arg(0),
                                            optune_int_arg(i)},
                                    .grid = {(last ? 0 : s.copying) + (first ? 0 : s.adding)},
                                    .block = {threads}};
        optune_plan_stage(plan, &stage);
    }
}

OPTUNE_IMPL(move_take, scatter_add_cuda) = {
    .op = "scatter_add",
    .name = "scatter_add_atomic.cuda",
    .summary = "data is copied, then memory adds all updates at once",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
