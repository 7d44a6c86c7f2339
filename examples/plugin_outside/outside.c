/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that is built far from the tree, with what is installed alone, and uses of the tree what
 * rows and bodies in it use: an operator with a body for CPUs and one for GPUs, behind which others
 * are fused, and one for every call that these do not take; and a schedule for all poolings on
 * CPUs, made of the tree's own with another choice where nothing is known.
 *
 *   cc -shared -fPIC $(pkg-config --cflags optune-plugin) -I examples/plugin_outside \
 *      -o outside.so examples/plugin_outside/outside.c $(pkg-config --libs optune-plugin)
 *   optune --plugin ./outside.so run unit_rows 'unit_rows(f32[64,1000]) -> relu()'
 *   optune --plugin ./outside.so select 'max_pool2d(f32[1,8,30,45], pool_size=[3,3])' --explain
 */
#include "kernels/host/generic.h"
#include "kernels/host/lead.h"
#include "kernels/host/region_lines.h"
#include "kernels/host/tensor.h"
#include "kernels/pool/schedules.h"

/* ---- the operator: each row over the sum of its absolute values --------------------------- */

static const optune_op_input inputs[] = {
    {.name = "data", .type = "tensor [...,N]", .description = "Rows; any rank of at least 1."},
    {0},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[0].type, *out = &call->output[0];
    if (!tensor_unify(data, out))
        return tensor_misfit(err, "unit_rows", "output", out, "argument 1 (data)", data,
                             "both have the same type");
    if (data->rank == 0 || !tensor_is_real(data))
        return tensor_misfit(err, "unit_rows", "output", out, "argument 1 (data)", data,
                             "rows are of a floating type");
    return optune_tensor_known(data) ? OPTUNE_OK : 1;
}

static double flops(const optune_call *call)
{
    return 3 * (double)optune_tensor_elements(&call->output[0]);
}

static int64_t row_of(const optune_call *call)
{
    const optune_tensor *type = &call->output[0];
    return type->dim[type->rank - 1].min;
}

static double terms(const optune_call *call)
{
    return (double)row_of(call) + 2;
}

static void reference(const optune_call *call, const void *const *in, int out_index,
                      const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    const optune_tensor *type = &call->output[0];
    const int last = type->rank - 1;
    const int64_t n = row_of(call), lo = region->lo[last], hi = region->hi[last];
    region_lines l = region_lines_of(region, type, last, 1);
    do {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += fabs(tensor_element(in[0], type->dtype, l.first + i));
        for (int64_t i = lo; i < hi; i++) {
            const double value = tensor_element(in[0], type->dtype, l.first + i) / sum;
            out[l.to + (i - lo) * l.step] = value;
            magnitude[l.to + (i - lo) * l.step] = fabs(value);
        }
    } while (region_lines_next(&l));
}

static const optune_op unit_rows = {
    .name = "unit_rows",
    .summary = "rows over the sum of their absolute values",
    .inputs = inputs,
    .support_level = 10,
    .presets =
        (const optune_preset[]){
            {.name = "scores",
             .description = "1000 scores of 64 images",
             .workloads = (const char *const[]){"unit_rows(f32[64,1000])", NULL}},
            {0}},
    .samples = (const char *const[]){"unit_rows(f32[7])", "unit_rows(f32[3,5,67])",
                                     "unit_rows(f64[4,130])", NULL},
    .float32_sums = true,
    OPTUNE_OUT_FUSABLE_OP(types, flops, terms, reference),
};

/* ---- its implementations ------------------------------------------------------------------ */

OPTUNE_TEXT(outside_cpu, "unit_rows.kernel.c");
OPTUNE_TEXT(outside_gpu, "unit_rows.kernel.cu");
OPTUNE_TEXT(outside_loops, "unit_rows.kernel.h");

/* On CPUs how many rows there are may be known at run time only. */
static bool cpu_applies(const optune_task *task, char *why)
{
    const optune_tensor *type = &task->call->output[0];
    return (host_lead_known(type, type->rank - 1) && tensor_is_float(type)) ||
           optune_refuse(why, "is for constant rows of float32 or float64");
}

static void cpu_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 4, (const int64_t[]){4, 1, 2, 8});
}

static void cpu_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int last = call->output[0].rank - 1, m = optune_plan_module(plan);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "unit_rows",
                          .n_args = 2,
                          .arg = {optune_input_arg(0), optune_output_arg(0)}};
    optune_plan_define_text(plan, m, "DTYPE", host_c_type(call->output[0].dtype));
    optune_plan_define(plan, m, "N", row_of(call));
    optune_plan_define(plan, m, "VECTORS", optune_config_int(config, "vectors"));
    host_lead_define(plan, m, "ROWS", call, 0, last, stage.n_args);
    host_lead_args(call, 0, last, &stage);
    if (optune_tensor_known(&call->output[0]))
        optune_plan_fuse(task, plan, &stage, last);
    optune_plan_stage(plan, &stage);
}

static const optune_impl on_cpu = {
    .op = "unit_rows",
    .name = "unit_rows.cpu",
    .summary = "rows by vectors, shared by threads",
    .applies = cpu_applies,
    .space = cpu_space,
    .plan = cpu_plan,
    .symbolic = "*",
    .source = outside_cpu,
};

static bool gpu_takes(const optune_task *task, char *why)
{
    const optune_tensor *type = &task->call->output[0];
    return (optune_tensor_known(type) && tensor_is_float(type)) ||
           optune_refuse(why, "is for constant dims, float32 and float64");
}

static void gpu_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "threads", 4, (const int64_t[]){64, 32, 128, 256});
}

static bool gpu_valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t threads = optune_config_int(config, "threads");
    return gpu_fits(task, (const int64_t[]){threads, 1, 1}, threads * 8, 24, why);
}

static void gpu_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t threads = optune_config_int(config, "threads");
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "SCALAR", host_c_type(call->output[0].dtype));
    optune_plan_define(plan, m, "N", row_of(call));
    optune_plan_define(plan, m, "THREADS", threads);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "unit_rows",
                          .n_args = 2,
                          .arg = {optune_input_arg(0), optune_output_arg(0)},
                          .grid = {optune_tensor_elements(&call->output[0]) / row_of(call)},
                          .block = {threads},
                          .shared = threads * call->output[0].dtype.bits / 8};
    optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

static const optune_impl on_gpu = {
    .op = "unit_rows",
    .name = "unit_rows.gpu",
    .summary = "a block of threads for a row",
    .applies = gpu_takes,
    .space = gpu_space,
    .valid = gpu_valid,
    .plan = gpu_plan,
    .source = outside_gpu,
};

/* Any floating dtype and any dim at run time, on every target: right before fast. */
static void loops_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    optune_plan_define(plan, m, "AXIS", call->output[0].rank - 1);
    generic_stage(task, plan, m);
}

static const optune_impl loops = {
    .op = "unit_rows",
    .name = "unit_rows_loops.generic",
    .summary = "one row after the other",
    .applies = generic_applies,
    .plan = loops_plan,
    .symbolic = "*",
    .generic = true,
    .source = outside_loops,
};

static const optune_strategy cpu_rows = {
    .op = "unit_rows",
    .key = "cpu",
    .rows = (const optune_strategy_row[]){{.impl = "unit_rows.cpu"}, {0}},
};

static const optune_strategy gpu_rows = {
    .op = "unit_rows",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "unit_rows.gpu"}, {0}},
};

/* ---- a schedule of a family ---------------------------------------------------------------- */

/* The tree's schedule `rows`, knobs and body, which begins with the narrowest tiles. */
static void narrow(const optune_task *task, const optune_space *space, optune_config *config)
{
    (void)task;
    optune_config_nearest(config, space);
}

static const optune_impl narrow_rows = {
    .family = "pool",
    .name = "narrow.cpu", /* max_pool2d_narrow.cpu, avg_pool2d_narrow.cpu ... */
    .summary = "the schedule `rows`, narrow where nothing is known",
    .applies = pool_rows_applies,
    .space = pool_rows_space,
    .fallback = narrow,
    .valid = pool_rows_valid,
    .plan = pool_rows_plan,
    .source = "#include \"kernels/pool/impls_rows.kernel.c\"\n",
};

/* Every pooling on CPUs, and what computes all of them where that does not apply. */
static const optune_strategy pools = {
    .family = "pool",
    .key = "cpu",
    .rows = (const optune_strategy_row[]){{.impl = "narrow.cpu"},
                                          {.impl = ".generic", .plevel = 1},
                                          {0}},
};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "outside",
    .ops = (const optune_op *const[]){&unit_rows, NULL},
    .impls = (const optune_impl *const[]){&on_cpu, &on_gpu, &loops, &narrow_rows, NULL},
    .strategies = (const optune_strategy *const[]){&cpu_rows, &gpu_rows, &pools, NULL},
};
