/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/scan/scan_rows.h declares. */
#include "kernels/scan/scan_rows.h"

bool scan_fits(const optune_task *task, char *why)
{
    return scan_rows_known(task->call) ||
           optune_refuse(why, "needs constant shapes behind the lines");
}

bool scan_applies(const optune_task *task, char *why)
{
    if (!scan_fits(task, why))
        return false;
    const scan_shape s = scan_shape_of(task->call);
    if (!host_computes(s.out))
        return optune_refuse(why, "accumulates in f32, f64, i32 or i64 only");
    if (!host_c_type(s.in))
        return optune_refuse(why, "has no C type for what it reads");
    return true;
}

static int64_t scan_lanes(const optune_task *task, const scan_shape *s)
{
    return host_vector_bytes(task) / scan_elem(s);
}

static int64_t scan_bytes(const optune_task *task)
{
    const scan_shape s = scan_shape_of(task->call);
    return s.at.outer * s.at.n * s.at.inner * (s.in.bits + s.out.bits) / 8;
}

static void scan_store_knob(optune_space *space)
{
    optune_space_words(space, "store", 2, (const char *const[]){"plain", "stream"});
}

static bool scan_streams(const optune_config *config)
{
    return strcmp(optune_config_word(config, "store"), "stream") == 0;
}

/* What does not fit the caches is written past them. */
static void scan_store_fallback(const optune_task *task, const optune_space *space,
                                optune_config *config)
{
    optune_config_choose_word(config, space, "store",
                              scan_bytes(task) > host_far(task) ? "stream" : "plain");
}

int scan_module_of_lines(const optune_task *task, optune_plan *plan, const char *in)
{
    const scan_shape s = scan_shape_of(task->call);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "IN", in);
    optune_plan_define_text(plan, m, "DTYPE",
                            host_is_real(s.out) ? s.out.bits == 64 ? "double" : "float"
                            : s.out.bits == 32  ? "u32"
                                                : "u64");
    optune_plan_define(plan, m, "N", s.at.n);
    optune_plan_define(plan, m, "INNER", s.at.inner);
    optune_plan_define(plan, m, "PRODUCT", s.product);
    optune_plan_define(plan, m, "EXCLUSIVE", s.exclusive);
    return m;
}

int scan_module(const optune_task *task, optune_plan *plan, bool stream)
{
    const scan_shape s = scan_shape_of(task->call);
    const int m = scan_module_of_lines(task, plan, host_c_type(s.in));
    host_lead_define(plan, m, "OUTER", task->call, 0, scan_lead(task->call), 3);
    optune_plan_define(plan, m, "STREAM", stream);
    return m;
}

/* arg: data, out, scratch or nothing, dims in front of the axis */
static void scan_stage(const optune_task *task, optune_plan *plan, int module, int scratch)
{
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "scan",
        .n_args = 2,
        .arg = {optune_input_arg(0), optune_output_arg(0)},
    };
    stage.arg[stage.n_args++] = scratch >= 0 ? optune_scratch_arg(scratch) : optune_int_arg(0);
    host_lead_args(task->call, 0, scan_lead(task->call), &stage);
    optune_plan_stage(plan, &stage);
}

bool scan_row_applies(const optune_task *task, char *why)
{
    if (!scan_applies(task, why))
        return false;
    if (scan_shape_of(task->call).at.inner != 1)
        return optune_refuse(why, "needs the last axis");
    return true;
}

void scan_row_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 4, (int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "prefetch", 4, (int64_t[]){0, 512, 1024, 2048});
    scan_store_knob(space);
    /* Elements of one thread's piece; 0: threads share no row. */
    optune_space_ints(space, "chunk", 5, (int64_t[]){0, 4096, 16384, 65536, 262144});
}

bool scan_row_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t chunk = optune_config_int(config, "chunk");
    const int64_t step = optune_config_int(config, "vectors") * scan_lanes(task, &s);
    if (chunk && host_threads(task) == 1)
        return optune_refuse(why, "one thread has nobody to share a row with");
    if (chunk && chunk * 2 > s.at.n)
        return optune_refuse(why, "a row is shorter than two chunks");
    if (step > s.at.n && optune_config_int(config, "vectors") > 1)
        return optune_refuse(why, "a step is longer than a row");
    return true;
}

void scan_row_fallback(const optune_task *task, const optune_space *space,
                       optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t threads = host_threads(task), lanes = scan_lanes(task, &s);
    const bool far = scan_bytes(task) > host_far(task);
    optune_config_choose_int(config, space, "vectors", host_min(far ? 8 : 4, s.at.n / lanes));
    optune_config_choose_int(config, space, "prefetch", far ? 512 : 0);
    scan_store_fallback(task, space, config);
    const bool share = threads > 1 && s.at.outer < threads && s.at.n >= 1 << 17;
    optune_config_choose_int(config, space, "chunk", share ? 16384 : 0);
}

void scan_row_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = scan_module(task, plan, scan_streams(config));
    optune_plan_define(plan, m, "VECTORS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "prefetch"));
    optune_plan_define(plan, m, "CHUNK", optune_config_int(config, "chunk"));
    scan_stage(task, plan, m, -1);
}

bool scan_columns_applies(const optune_task *task, char *why)
{
    if (!scan_applies(task, why))
        return false;
    if (scan_shape_of(task->call).at.inner == 1)
        return optune_refuse(why, "the last axis has no neighbouring lines");
    return true;
}

void scan_columns_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "vectors", 5, (int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "rows", 3, (int64_t[]){1, 2, 4});
    scan_store_knob(space);
}

static bool scan_rows_alike(const optune_task *task, const scan_shape *s)
{
    return s->at.inner % scan_lanes(task, s) == 0;
}

bool scan_columns_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t vectors = optune_config_int(config, "vectors");
    if (vectors > 1 && vectors * scan_lanes(task, &s) > s.at.inner)
        return optune_refuse(why, "a step is wider than the lines beside each other");
    if (scan_streams(config) && !scan_rows_alike(task, &s))
        return optune_refuse(why, "streaming needs rows of whole vectors");
    return true;
}

void scan_columns_fallback(const optune_task *task, const optune_space *space,
                           optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t most = s.at.inner / scan_lanes(task, &s);
    optune_config_choose_int(config, space, "vectors", host_min(4, most));
    optune_config_choose_int(config, space, "rows", 2);
    if (scan_rows_alike(task, &s))
        scan_store_fallback(task, space, config);
}

void scan_columns_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = scan_module(task, plan, scan_streams(config));
    optune_plan_define(plan, m, "VECTORS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "ROWS", optune_config_int(config, "rows"));
    scan_stage(task, plan, m, -1);
}

void scan_sweep_space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "width", 7, (int64_t[]){256, 512, 1024, 2048, 4096, 8192, 16384});
    optune_space_ints(space, "prefetch", 3, (int64_t[]){0, 512, 2048});
    scan_store_knob(space);
}

bool scan_sweep_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t width = optune_config_int(config, "width");
    if (width > 256 && width / 2 >= s.at.inner)
        return optune_refuse(why, "half the width holds all lines");
    return true;
}

void scan_sweep_fallback(const optune_task *task, const optune_space *space,
                         optune_config *config)
{
    const scan_shape s = scan_shape_of(task->call);
    const bool far = scan_bytes(task) > host_far(task);
    const int64_t share = host_ceil(s.at.inner * s.at.outer, host_threads(task));
    int64_t width = 256;
    while (width < (far ? 8192 : 2048) && width < s.at.inner && width < share)
        width *= 2;
    optune_config_choose_int(config, space, "width", width);
    optune_config_choose_int(config, space, "prefetch", far ? 2048 : 0);
    scan_store_fallback(task, space, config);
}

void scan_sweep_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const scan_shape s = scan_shape_of(task->call);
    const int64_t width = optune_config_int(config, "width"), lanes = scan_lanes(task, &s);
    const int m = scan_module(task, plan, scan_streams(config));
    optune_plan_define(plan, m, "WIDTH", width);
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "prefetch"));
    const int64_t bytes = (host_ceil(width, lanes) + 1) * lanes * scan_elem(&s);
    scan_stage(task, plan, m,
               optune_plan_scratch(plan, "carries", host_threads(task) * bytes, false));
}

bool scan_loop_valid(const optune_task *task, const optune_config *config, char *why)
{
    const scan_shape s = scan_shape_of(task->call);
    if (optune_config_int(config, "lines") > s.at.outer * s.at.inner)
        return optune_refuse(why, "there are fewer lines");
    return true;
}

void scan_loop_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const int m = scan_module(task, plan, false);
    optune_plan_define(plan, m, "LINES", optune_config_int(config, "lines"));
    scan_stage(task, plan, m, -1);
}

bool scan_dim(const optune_call *call, const char *name, optune_dim *value)
{
    const bool n = strcmp(name, "n") == 0, width = strcmp(name, "width") == 0;
    if (!n && !width && strcmp(name, "lines") != 0)
        return false;
    *value = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    const host_axis at = scan_rows_known(call) ? scan_shape_of(call).at : (host_axis){0};
    if (scan_known(call)) {
        *value = optune_dim_of(n ? at.n : width ? at.inner : at.outer * at.inner);
    } else if (scan_rows_known(call)) {
        *value = n || width ? optune_dim_of(n ? at.n : at.inner)
                            : (optune_dim){.min = 0, .max = at.outer * at.inner};
    } else if (optune_call_none(call, "axis")) {
        *value = n ? call->output[0].dim[0] : optune_dim_of(1);
    } else if (call->input[0].type.rank > 0 && optune_call_int(call, "axis") == -1) {
        const optune_tensor *data = &call->input[0].type;
        if (n)
            *value = data->dim[data->rank - 1];
        else if (width)
            *value = optune_dim_of(1);
    }
    return true;
}
