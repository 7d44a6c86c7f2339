/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/generic.h declares. */
#include "kernels/host/generic.h"

/* How an element is stored; NULL: it has no C type. */
static const char *generic_type(optune_dtype dtype)
{
    return gpu_is_half(dtype) ? "unsigned short" : gpu_c_type(dtype);
}

/* What many of them are accumulated in: integers modulo 2^64. */
static const char *generic_sum(optune_dtype dtype)
{
    if (pattern_is_real(dtype))
        return gpu_scalar_type(dtype);
    return dtype.code == OPTUNE_DTYPE_UINT && dtype.bits == 64 ? "u64" : "i64";
}

/* Adds the symbol of this dim where it is new. */
static void generic_symbol(generic_symbols *s, const optune_dim *dim, int input, int d)
{
    for (int i = 0; i < s->n; i++)
        if (dim->name[0] && strcmp(s->at[i].name, dim->name) == 0)
            return;
    s->at[s->n].name = dim->name;
    s->at[s->n].input = input;
    s->at[s->n++].dim = d;
}

int generic_symbol_at(const generic_symbols *s, const optune_dim *dim)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i].name == dim->name || (dim->name[0] && !strcmp(s->at[i].name, dim->name)))
            return i;
    return -1;
}

generic_symbols generic_symbols_of(const optune_call *call)
{
    generic_symbols s = {0};
    for (int i = 0; i < call->n_inputs; i++)
        for (int d = 0; d < call->input[i].type.rank; d++)
            if (!optune_dim_known(&call->input[i].type.dim[d]))
                generic_symbol(&s, &call->input[i].type.dim[d], i, d);
    return s;
}

bool generic_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    bool types = true;
    for (int i = 0; i < call->n_inputs; i++)
        types = types && generic_type(call->input[i].type.dtype);
    for (int i = 0; i < call->n_outputs; i++)
        types = types && call->output[i].rank >= 0 && generic_type(call->output[i].dtype);
    if (!types)
        return optune_refuse(why, "has no C type for a dtype of the call");
    return call->n_inputs + call->n_outputs < OPTUNE_MAX_ARGS ||
           optune_refuse(why, "has more tensors than a stage has arguments");
}

void generic_define_dims(optune_plan *plan, int m, const optune_call *call, const char *macro,
                         const optune_tensor *type)
{
    const generic_symbols s = generic_symbols_of(call);
    char text[24 * OPTUNE_MAX_RANK + 8] = "";
    int n = 0;
    for (int d = 0; d < type->rank; d++) {
        const optune_dim *dim = &type->dim[d];
        const char *comma = d ? ", " : "";
        int symbol = 0;
        while (symbol < s.n && (!dim->name[0] || strcmp(s.at[symbol].name, dim->name) != 0) &&
               s.at[symbol].name != dim->name)
            symbol++;
        if (optune_dim_known(dim))
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64, comma, dim->min);
        else if (symbol < s.n)
            n += snprintf(text + n, sizeof text - (size_t)n, "%sc->s[%d]", comma, symbol);
        else
            n += snprintf(text + n, sizeof text - (size_t)n, "%s-1", comma);
    }
    optune_plan_define_text(plan, m, macro, type->rank ? text : "1");
}

void generic_define_tensor(optune_plan *plan, int m, const optune_call *call, char letter,
                           int i, const optune_tensor *type)
{
    char name[24];
    const bool half = gpu_is_half(type->dtype), brain = type->dtype.code == OPTUNE_DTYPE_BFLOAT;
    snprintf(name, sizeof name, "%c%d_T", letter, i);
    optune_plan_define_text(plan, m, name, generic_type(type->dtype));
    snprintf(name, sizeof name, "%c%d_OF", letter, i);
    optune_plan_define_text(plan, m, name, gpu_scalar_of(type->dtype));
    if (letter == 'O') {
        snprintf(name, sizeof name, "%c%d_TO", letter, i);
        optune_plan_define_text(plan, m, name,
                                type->dtype.code == OPTUNE_DTYPE_BOOL ? "0 !="
                                : !half                               ? ""
                                : brain                               ? "bfloat_of_float"
                                                                      : "half_of_float");
    }
    snprintf(name, sizeof name, "%c%d_RANK", letter, i);
    optune_plan_define(plan, m, name, type->rank);
    snprintf(name, sizeof name, "%c%d_DIMS", letter, i);
    generic_define_dims(plan, m, call, name, type);
}

int generic_module(const optune_task *task, optune_plan *plan, optune_dtype sum)
{
    const optune_call *call = task->call;
    const int m = optune_plan_module(plan);
    optune_plan_define(plan, m, "INPUTS", call->n_inputs);
    optune_plan_define(plan, m, "OUTPUTS", call->n_outputs);
    optune_plan_define(plan, m, "SYMBOLS", generic_symbols_of(call).n);
    for (int i = 0; i < call->n_inputs; i++)
        generic_define_tensor(plan, m, call, 'X', i, &call->input[i].type);
    for (int i = 0; i < call->n_outputs; i++)
        generic_define_tensor(plan, m, call, 'O', i, &call->output[i]);
    optune_plan_define_text(plan, m, "ACC", generic_sum(sum));
    if (task->device->warp == 0)
        optune_plan_flag(plan, m, "-fwrapv");
    return m;
}

void generic_define_scalar(optune_plan *plan, int m, const optune_call *call)
{
    const optune_dtype dtype = call->input[call->n_inputs - 1].type.dtype;
    pattern_define_scalar_as(plan, m, call, gpu_scalar_type(dtype));
    for (int i = 0; i < call->n_attrs; i++) {
        char name[24], number[PATTERN_NUMBER_TEXT], text[PATTERN_NUMBER_TEXT + 16];
        if (!pattern_number(call, i, number))
            continue;
        snprintf(name, sizeof name, "a%d", i);
        snprintf(text, sizeof text, "((SCALAR)%s)", number);
        optune_plan_define_text(plan, m, name, text);
    }
    pattern_define_output_as(plan, m, call, gpu_scalar_type(call->output[0].dtype));
}

void generic_stage(const optune_task *task, optune_plan *plan, int m)
{
    optune_arg tensor[OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS];
    int n = 0;
    for (int i = 0; i < task->call->n_inputs; i++)
        tensor[n++] = optune_input_arg(i);
    for (int i = 0; i < task->call->n_outputs; i++)
        tensor[n++] = optune_output_arg(i);
    generic_stage_over(task, plan, m, tensor);
}

void generic_stage_over(const optune_task *task, optune_plan *plan, int m,
                        const optune_arg *tensor)
{
    const optune_call *call = task->call;
    const generic_symbols s = generic_symbols_of(call);
    optune_stage stage = {.phase = OPTUNE_TIMED, .module = m, .function = "loops"};
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++)
        stage.arg[stage.n_args++] = tensor[i];
    if (s.n) {
        optune_arg dim[GENERIC_SYMBOLS];
        for (int i = 0; i < s.n; i++)
            dim[i] = optune_dim_arg(s.at[i].input, s.at[i].dim);
        stage.arg[stage.n_args++] = optune_dims_arg(optune_plan_dims(plan, dim, s.n), s.n);
    }
    if (task->device->warp > 0) {
        int64_t threads = GENERIC_THREADS;
        while (threads > 1 &&
               (threads > gpu_max_threads(task) ||
                (task->device->max_block[0] > 0 && threads > task->device->max_block[0])))
            threads /= 2;
        stage.grid[0] = 16 * gpu_cores(task);
        stage.block[0] = threads;
        optune_plan_define(plan, m, "THREADS", threads);
        optune_plan_define(plan, m, "BLOCKS", stage.grid[0]);
    }
    optune_plan_stage(plan, &stage);
}
