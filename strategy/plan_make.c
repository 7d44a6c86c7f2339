/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an implementation and a config to a whole plan and its modules' source: the row's own part,
 * what closes it behind fused operators, and the judgement of all of it.
 */
#include <assert.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

/* ---- judging ----------------------------------------------------------------------------- */

static const char *check_pixels(const optune_tensor_map *map)
{
    if (map->rank != 4)
        return "a tensor map of pixels is of rank 4";
    if (map->pixels < 0 || map->pixels > 1024)
        return "a tensor map has 1 to 1024 pixels";
    for (int d = 0; d < 2; d++) {
        if (map->low[d] < -128 || map->low[d] > 127 || map->high[d] < -128 ||
            map->high[d] > 127)
            return "a tensor map's pixels begin and end within 128 of an image's";
        if (map->step[d] < 1 || map->step[d] > 8)
            return "a tensor map's pixels are 1 to 8 apart";
        if (map->dim[d + 1] + map->high[d] <= map->low[d])
            return "a tensor map has no pixels";
    }
    return NULL;
}

/* The limits of compute capability 9.0's copy engine. */
static const char *check_map(const optune_tensor_map *map)
{
    const int64_t element = map->dtype.bits / 8;
    if (map->rank < 1 || map->rank > OPTUNE_TENSOR_MAP_RANK)
        return "a tensor map is of rank 1 to 5";
    if (map->dtype.code == OPTUNE_DTYPE_UNKNOWN || map->dtype.lanes != 1 || element < 1)
        return "a tensor map has no element type";
    if (map->tf32 && (map->dtype.code != OPTUNE_DTYPE_FLOAT || element != 4))
        return "a tensor map rounds what is not float32";
    if (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
        return "a tensor map swizzles 32, 64 or 128 bytes";
    for (int d = 0; d < map->rank; d++) {
        if ((d == 0 || !map->pixels) && (map->box[d] < 1 || map->box[d] > 256))
            return "a tensor map's box has 1 to 256 of a dim";
        if (map->dim[d] < 1 || map->dim[d] > (int64_t)1 << 32)
            return "a tensor map's dim is 1 to 2^32";
        if (d > 0 && (map->stride[d] < 16 || map->stride[d] % 16 != 0 ||
                      map->stride[d] >= (int64_t)1 << 40))
            return "a tensor map's stride is a multiple of 16 bytes below 2^40";
    }
    if (map->box[0] * element % 16 != 0)
        return "a tensor map's box has rows of a multiple of 16 bytes";
    if (map->swizzle && map->box[0] * element > map->swizzle)
        return "a tensor map's box is wider than its swizzle";
    return map->pixels ? check_pixels(map) : NULL;
}

static const char *check_arg(const optune_task *task, const optune_plan *plan,
                             const optune_stage *stage, const optune_arg *arg)
{
    const bool prepack = stage->phase == OPTUNE_PREPACK;
    switch (arg->kind) {
    case OPTUNE_ARG_INPUT:
        if (arg->index < 0 || arg->index >= optune_call_inputs(task->call))
            return "an argument is no input of the call";
        return prepack && !task->call->input[arg->index].is_const
                   ? "a prepack stage reads an input that is not const"
                   : NULL;
    case OPTUNE_ARG_OUTPUT:
        if (arg->index < 0 || arg->index >= task->call->n_outputs)
            return "an argument is no output of the call";
        return stage->phase == OPTUNE_TIMED || stage->phase == OPTUNE_RESTORE
                   ? NULL
                   : "an untimed stage uses an output";
    case OPTUNE_ARG_SCRATCH:
        if (arg->index < 0 || arg->index >= plan->n_scratch)
            return "an argument is no scratch buffer of the plan";
        return prepack && !plan->scratch[arg->index].constant
                   ? "a prepack stage uses scratch that is not constant"
                   : NULL;
    case OPTUNE_ARG_SYMBOL:
        if (!plan->impl->library)
            return "a library's function is used, but no library is named";
        return ot_is_identifier(arg->symbol) ? NULL : "a library's function has no name";
    case OPTUNE_ARG_INT:
    case OPTUNE_ARG_FLOAT:
        return NULL;
    case OPTUNE_ARG_DIM:
        if (!ot_call_arg_dim(task->call, arg))
            return "an argument is no dim of an input or an output";
        return prepack ? "a prepack stage uses a dim's run-time value" : NULL;
    case OPTUNE_ARG_DIMS:
        if (arg->index < 0 || arg->index >= plan->n_lists ||
            arg->value != plan->list[arg->index].n)
            return "an argument is no list of dims of the plan";
        for (int k = 0; k < arg->value; k++) {
            const optune_arg dim = ot_plan_dim(plan, arg, k);
            const char *what = check_arg(task, plan, stage, &dim);
            if (what)
                return what;
        }
        return NULL;
    case OPTUNE_ARG_FUNCTION:
        if (arg->index < 0 || arg->index >= plan->n_modules)
            return "an argument is a function of no module";
        if (task->device->warp > 0)
            return "functions are handed over on CPUs only";
        return ot_is_identifier(arg->symbol) ? NULL : "a module's function has no name";
    case OPTUNE_ARG_TENSOR_MAP: {
        if (arg->index < 0 || arg->index >= plan->n_maps)
            return "an argument is no tensor map of the plan";
        const optune_tensor_map *map = &plan->map[arg->index];
        if (map->tensor.kind != OPTUNE_ARG_INPUT && map->tensor.kind != OPTUNE_ARG_OUTPUT &&
            map->tensor.kind != OPTUNE_ARG_SCRATCH)
            return "a tensor map is of no tensor";
        const char *what = check_map(map);
        return what ? what : check_arg(task, plan, stage, &map->tensor);
    }
    }
    return "an argument is of no kind";
}

static const char *check_stage(const optune_task *task, const optune_plan *plan,
                               const optune_stage *stage)
{
    if (stage->module < 0 || stage->module >= plan->n_modules)
        return "it has no such module";
    if (stage->n_args < 0 || stage->n_args > OPTUNE_MAX_ARGS)
        return "it has too many arguments";
    if (stage->phase != OPTUNE_PREPACK && stage->phase != OPTUNE_TIMED &&
        stage->phase != OPTUNE_TEARDOWN && stage->phase != OPTUNE_RESTORE)
        return "it is of no phase";
    const char *what = NULL;
    for (int i = 0; i < stage->n_args && !what; i++)
        what = check_arg(task, plan, stage, &stage->arg[i]);
    return what;
}

static bool writes_output(const optune_plan *plan, int output)
{
    for (int i = 0; i < plan->n_stages; i++)
        for (int j = 0; j < plan->stage[i].n_args && plan->stage[i].phase == OPTUNE_TIMED;
             j++) {
            const optune_arg *arg = &plan->stage[i].arg[j];
            if (arg->kind == OPTUNE_ARG_TENSOR_MAP)
                arg = &plan->map[arg->index].tensor;
            if (arg->kind == OPTUNE_ARG_OUTPUT && arg->index == output)
                return true;
        }
    return false;
}

static int check(const optune_task *task, const optune_plan *plan, optune_err *err)
{
    const char *name = plan->impl->name;
    if (plan->problem.status < 0)
        return optune_fail(err, plan->problem.status, "bad plan of '%s': %s", name,
                           plan->problem.text);
    bool timed = false;
    for (int i = 0; i < plan->n_stages; i++) {
        const optune_stage *stage = &plan->stage[i];
        if (!ot_is_identifier(stage->function))
            return optune_fail(err, OPTUNE_EUSAGE, "bad plan of '%s': stage %d has no function",
                               name, i);
        const char *what = check_stage(task, plan, stage);
        if (what)
            return optune_fail(err, OPTUNE_EUSAGE, "bad plan of '%s': stage '%s': %s", name,
                               stage->function, what);
        timed = timed || stage->phase == OPTUNE_TIMED;
    }
    if (!timed)
        return optune_fail(err, OPTUNE_EUSAGE, "bad plan of '%s': no stage is timed", name);
    for (int i = 0; i < task->call->n_outputs; i++)
        if (!writes_output(plan, i))
            return optune_fail(err, OPTUNE_EUSAGE, "bad plan of '%s': nothing writes output %d",
                               name, i);
    return OPTUNE_OK;
}

/* A row reads the knobs that it declared, and divides by them: a config of anybody else's making (a
 * record's, a log's) is first looked up in its space. */
static int check_config(const optune_task *task, const optune_impl *impl,
                        const optune_config *config, bool *alone, optune_err *err)
{
    char why[OPTUNE_WHY_SIZE] = "";
    optune_space *space = NULL;
    optune_config found;
    ot_config_copy(&found, config);
    int status = ot_space_open(task, impl, &space, err);
    if (status >= 0 && ot_space_index_of(space, &found, err) < 0)
        status = OPTUNE_ENOENT;
    if (status >= 0 && !ot_space_valid(space, &found, why))
        status = optune_fail(err, OPTUNE_EUSAGE, "%s refuses this config: %s", impl->name, why);
    *alone = status >= 0 && ot_team_alone(space, &found);
    ot_space_close(space);
    return status;
}

int ot_plan_make(const optune_task *task, const optune_impl *impl, const optune_config *config,
                 optune_plan *plan, optune_err *err)
{
    bool alone = false;
    memset(plan, 0, offsetof(optune_plan, text)); /* the text is as long as it says */
    plan->impl = impl;
    const int status = check_config(task, impl, config, &alone, err);
    if (status < 0)
        return status;
    optune_device device = *task->device;
    device.threads = alone ? 1 : device.threads;
    plan->threads = device.threads;
    const optune_task on = {.call = task->call, .target = task->target, .device = &device};
    const ot_locale before = ot_locale_enter(); /* rows print numbers into source */
    char slip[OPTUNE_WHY_SIZE];
    ot_widened wide;
    plan->wide = ot_widens(impl, &on, &wide);
    const optune_task *const by = plan->wide ? &wide.task : &on;
    ot_slip_taken(NULL);
    impl->plan(by, config, plan);
    ot_locale_leave(before);
    if (ot_slip_taken(slip))
        return optune_fail(err, OPTUNE_EUSAGE, "bad plan of '%s': %s", impl->name, slip);
    if (plan->wide && ot_stored_close(task, plan))
        plan->wide = false;
    ot_repeat_close(plan->wide ? by : task, plan);
    ot_epilogue_close(plan->wide ? by : task, plan);
    if (plan->wide)
        ot_widen_close(task, plan, 0);
    return check(task, plan, err);
}

/* ---- source ------------------------------------------------------------------------------ */

static int64_t known(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

/* What bodies may rely on, see kernels/common. Unknown sizes get values of a modest machine. */
static void target_defines(const optune_device *device, int threads, ot_text *to)
{
    if (device->warp > 0) {
        ot_text_printf(to, "#define OT_WARP %d\n#define OT_CC %d\n", device->warp,
                       10 * device->cc_major + device->cc_minor);
        return;
    }
    ot_text_printf(to, "#define OT_THREADS %lld\n",
                   (long long)known(threads, known(device->threads, 1)));
    ot_text_printf(to, "#define OT_VEC_BYTES %lld\n",
                   (long long)known(device->vector_bytes, 16));
    ot_text_printf(to, "#define OT_L1 %lld\n", (long long)known(device->l1, 32 << 10));
    ot_text_printf(to, "#define OT_L2 %lld\n", (long long)known(device->l2, 512 << 10));
    ot_text_printf(to, "#define OT_L3 %lld\n", (long long)known(device->l3, 4 << 20));
}

static const char *body_of(const optune_task *task, const optune_plan *plan, const ot_module *m)
{
    if (m->widens)
        return ot_body_widen->source;
    if (m->closing && plan->impl->generic)
        return ot_impl_source(ot_generic_of(task->call->epilogue[m->first_extra].op));
    return m->closing ? ot_epilogue_source(task) : ot_impl_source(plan->impl);
}

static void source(const optune_task *task, const optune_plan *plan, int module, bool loaded,
                   ot_text *to)
{
    assert(module >= 0 && module < plan->n_modules);
    const ot_module *m = &plan->module[module];
    const char *body = body_of(task, plan, m);
    target_defines(task->device, plan->threads, to);
    if (loaded && ot_loads_as_cpu(task->target))
        ot_text_add(to, ot_team_calls(body));
    for (int i = 0; i < m->n_defines; i++)
        ot_text_printf(to, "#define %s %s\n", ot_plan_text(plan, m->define[i].name),
                       ot_plan_text(plan, m->define[i].value));
    if (m->fused && (plan->wide || (m->closing && ot_epilogue_is_half(task)))) {
        ot_widened wide;
        ot_widen(task, &wide);
        ot_epilogue_defines(&wide.task, m->first_extra, to);
    } else if (m->fused) {
        ot_epilogue_defines(task, m->first_extra, to);
    }
    ot_text_add(to, body);
    ot_repeat_source(plan, module, to);
}

void ot_plan_source(const optune_task *task, const optune_plan *plan, int module, ot_text *to)
{
    source(task, plan, module, false, to);
}

void ot_plan_module_source(const optune_task *task, const optune_plan *plan, int module,
                           ot_text *to)
{
    source(task, plan, module, true, to);
}
