/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a kernel that was brought. Their hooks find the file's declaration behind the call's
 * operator, which is its first field.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"

static const ot_brought *brought(const optune_call *call)
{
    return (const ot_brought *)call->op;
}

/* ---- the operator ------------------------------------------------------------------------ */

/* The size that a dim is called by, and nothing more; -1: it is computed. */
static int size_of(const ot_brought *b, const ot_formula *f)
{
    const bool name = f->expr->node[f->expr->root].kind == OT_NODE_NAME;
    return name && f->slot[0] < OT_BROUGHT_SIZES && b->size[f->slot[0]].input >= 0 ? f->slot[0]
                                                                                   : -1;
}

/* A dim that is computed, where all that it is computed from is known. */
static int compute_dim(const ot_formula *f, const ot_values *values, optune_dim *dim,
                       optune_err *err)
{
    const char *const *name;
    int64_t is;
    for (int i = ot_expr_names(f->expr, &name) - 1; i >= 0; i--)
        if (values->value[f->slot[i]].kind == OT_VALUE_NONE)
            return 1;
    OT_RETURN_UNLESS_OK(ot_formula_int(f, values, &is, err));
    optune_dim wanted = optune_dim_of(is);
    if (is < 0 || is > OPTUNE_MAX_DIM)
        return ot_fail_at(f->expr->place, OPTUNE_ETYPE, err, "'%s' is %lld, no dim's size",
                          f->expr->text, (long long)is);
    if (optune_dim_unify(dim, &wanted))
        return OPTUNE_OK;
    return optune_fail(err, OPTUNE_ETYPE, "it is %lld, and '%s' is %lld", (long long)dim->min,
                       f->expr->text, (long long)is);
}

static int relate(const ot_brought *b, const ot_brought_arg *arg, optune_tensor *type,
                  optune_dim *size, const ot_values *values, optune_err *err)
{
    optune_dtype dtype = arg->dtype;
    int unknown = 0;
    if (!optune_dtype_unify(&type->dtype, &dtype) || !optune_tensor_set_rank(type, arg->rank)) {
        char wanted[OPTUNE_WORD_SIZE];
        ot_print_dtype(arg->dtype, wanted, sizeof wanted);
        return optune_fail(err, OPTUNE_ETYPE, "'%s' is %s with %d dims", arg->name, wanted,
                           arg->rank);
    }
    for (int d = 0; d < arg->rank; d++) {
        const int k = size_of(b, &arg->dim[d]);
        optune_err inner = {0};
        int status = OPTUNE_OK;
        if (k < 0)
            status = compute_dim(&arg->dim[d], values, &type->dim[d], &inner);
        else if (!optune_dim_unify(&type->dim[d], &size[k]))
            status = optune_fail(&inner, OPTUNE_ETYPE, "it is %lld, and %s is %lld",
                                 (long long)type->dim[d].min, b->size[k].name,
                                 (long long)size[k].min);
        if (status < 0)
            return optune_fail(err, OPTUNE_ETYPE, "dim %d of '%s': %s", d, arg->name,
                               inner.text);
        unknown = unknown || !optune_dim_known(&type->dim[d]);
    }
    return unknown;
}

static int bound(const ot_formula *f, const ot_values *values, double *to, optune_err *err)
{
    ot_arena arena = {0};
    ot_expr_value value;
    int status = ot_formula_value(f, values, &arena, &value, err);
    if (status >= 0 && !ot_value_number(&value))
        status =
            ot_fail_at(f->expr->place, OPTUNE_ETYPE, err, "'%s' is no number", f->expr->text);
    if (status >= 0)
        *to = ot_value_real(&value);
    ot_arena_release(&arena);
    return status;
}

/* What an input may hold, where its parameter says so. */
static int range_of(const ot_brought_arg *arg, const ot_values *values, double *low,
                    double *high, optune_err *err)
{
    OT_RETURN_UNLESS_OK(bound(&arg->low, values, low, err));
    OT_RETURN_UNLESS_OK(bound(&arg->high, values, high, err));
    if (*low <= *high)
        return OPTUNE_OK;
    return ot_fail_at(arg->low.expr->place, OPTUNE_ETYPE, err,
                      "'%s' can hold nothing from %g to %g: the least comes first", arg->name,
                      *low, *high);
}

/* Of inputs that have elements. */
static int check_ranges(const optune_call *call, optune_err *err)
{
    const ot_brought *b = brought(call);
    ot_values values = {0};
    double low, high;
    ot_values_of(b, call, NULL, &values);
    for (int i = 0; i < b->n_args; i++)
        if (b->arg[i].input >= 0 && b->arg[i].low.expr &&
            optune_tensor_elements(&call->input[b->arg[i].input].type) > 0)
            OT_RETURN_UNLESS_OK(range_of(&b->arg[i], &values, &low, &high, err));
    return OPTUNE_OK;
}

static int types(optune_call *call, optune_err *err)
{
    const ot_brought *b = brought(call);
    optune_dim size[OT_BROUGHT_SIZES];
    int unknown = 0;
    for (int k = 0; k < b->n_sizes; k++)
        size[k] = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    for (int turn = 0; turn < 3; turn++) { /* names first, then what is computed from them */
        ot_values values = {0};
        ot_values_of(b, call, NULL, &values);
        for (int k = 0; k < b->n_knobs; k++) /* a dim sees all values of a knob */
            values.value[OT_BROUGHT_SIZES + k] = b->knob[k].list;
        unknown = 0;
        for (int i = 0; i < b->n_args; i++) {
            const ot_brought_arg *arg = &b->arg[i];
            optune_tensor *const type[] = {arg->input < 0 ? NULL
                                                          : &call->input[arg->input].type,
                                           arg->output < 0 ? NULL : &call->output[arg->output]};
            for (int k = 0; k < OT_COUNT(type); k++) {
                const int status =
                    type[k] ? relate(b, arg, type[k], size, &values, err) : OPTUNE_OK;
                if (status < 0)
                    return status;
                unknown = unknown || status;
            }
        }
    }
    const int status = unknown ? OPTUNE_OK : check_ranges(call, err);
    return status < 0 ? status : unknown;
}

static double amount(const optune_call *call, const ot_formula *f)
{
    ot_values values = {0};
    ot_arena arena = {0};
    ot_expr_value value;
    ot_values_of(brought(call), call, NULL, &values);
    const int status = ot_formula_value(f, &values, &arena, &value, NULL);
    const double is = status >= 0 && ot_value_number(&value) ? ot_value_real(&value) : 0;
    ot_arena_release(&arena);
    return is > 0 ? is : 0;
}

static double flops(const optune_call *call)
{
    return amount(call, &brought(call)->flops);
}

static double bytes(const optune_call *call)
{
    return amount(call, &brought(call)->bytes);
}

static bool range(const optune_call *call, int input, double *low, double *high)
{
    const ot_brought *b = brought(call);
    for (int i = 0; i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        ot_values values = {0};
        if (arg->input != input || !arg->low.expr)
            continue;
        ot_values_of(b, call, NULL, &values);
        return range_of(arg, &values, low, high, NULL) >= 0;
    }
    return false;
}

/* ---- the implementation ------------------------------------------------------------------ */

static bool applies(const optune_task *task, char *why)
{
    return ot_call_static(task->call) || optune_refuse(why, "needs constant shapes");
}

static void space(const optune_task *task, optune_space *to)
{
    const ot_brought *b = brought(task->call);
    for (int k = 0; k < b->n_knobs; k++) {
        const ot_brought_knob *knob = &b->knob[k];
        const int n = knob->list.n;
        int64_t *ints = ot_alloc((size_t)n * sizeof *ints);
        bool *bools = ot_alloc((size_t)n * sizeof *bools);
        for (int i = 0; i < n && knob->scalar != OPTUNE_SCALAR_WORD; i++) {
            ints[i] = knob->list.item[i].i;
            bools[i] = ints[i] != 0;
        }
        if (knob->scalar == OPTUNE_SCALAR_INT)
            optune_space_ints(to, knob->name, n, ints);
        else if (knob->scalar == OPTUNE_SCALAR_BOOL)
            optune_space_bools(to, knob->name, n, bools);
        else
            optune_space_words(to, knob->name, n, knob->text);
        free(ints);
        free(bools);
    }
    if (b->n_where)
        ot_space_where(to, ot_brought_where(b, task->call));
}

static void fallback(const optune_task *task, const optune_space *from, optune_config *config)
{
    const ot_brought *b = brought(task->call);
    for (int k = 0; k < b->n_knobs; k++)
        ot_space_entity(from, k, b->knob[k].standard, &config->entity[k]);
    optune_config_nearest(config, from);
}

typedef struct shape { /* of a launch */
    int64_t grid[3], block[3], shared;
} shape;

static int shape_of(const ot_brought *b, const ot_values *values, shape *to, optune_err *err)
{
    *to = (shape){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    OT_RETURN_UNLESS_OK(ot_formula_three(&b->grid, values, to->grid, err));
    OT_RETURN_UNLESS_OK(ot_formula_three(&b->block, values, to->block, err));
    if (b->shared.expr)
        OT_RETURN_UNLESS_OK(ot_formula_int(&b->shared, values, &to->shared, err));
    if (to->shared < 0)
        return optune_fail(err, OPTUNE_EUSAGE, "the launch has %lld bytes of shared memory",
                           (long long)to->shared);
    for (int i = 0; i < 3; i++) {
        if (to->block[i] < 1 || to->grid[i] < 1 || to->block[i] > 1 << 16 ||
            to->grid[i] > INT32_MAX)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "the launch has %lld threads in %lld blocks along dim %d",
                               (long long)to->block[i], (long long)to->grid[i], i);
        if (b->grid_in_threads && to->grid[i] % to->block[i] != 0)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "%lld threads along dim %d are no blocks of %lld",
                               (long long)to->grid[i], i, (long long)to->block[i]);
        if (b->grid_in_threads)
            to->grid[i] /= to->block[i];
    }
    return OPTUNE_OK;
}

static bool launches(const optune_task *task, const ot_values *values, char *why)
{
    const optune_device *device = task->device;
    optune_err err = {0};
    shape s;
    if (shape_of(brought(task->call), values, &s, &err) < 0)
        return optune_refuse(why, "%s", err.text);
    const int64_t threads = s.block[0] * s.block[1] * s.block[2];
    if (device->max_threads_per_block && threads > device->max_threads_per_block)
        return optune_refuse(why, "%lld threads in a block, the device has %d",
                             (long long)threads, device->max_threads_per_block);
    for (int i = 0; i < 3; i++)
        if (device->max_block[i] && s.block[i] > device->max_block[i])
            return optune_refuse(why, "%lld threads along dim %d of a block, the device has %d",
                                 (long long)s.block[i], i, device->max_block[i]);
    if (device->max_shared && s.shared > device->max_shared)
        return optune_refuse(why, "%lld bytes of shared memory, the device has %lld",
                             (long long)s.shared, (long long)device->max_shared);
    return true;
}

static bool is_real(optune_dtype type)
{
    return type.code == OPTUNE_DTYPE_FLOAT || type.code == OPTUNE_DTYPE_BFLOAT;
}

/* A scalar that its type cannot hold would become another one on its way. */
static int check_scalar(const ot_brought_arg *arg, const ot_expr_value *value, optune_err *err)
{
    const double real = ot_value_real(value);
    const int width = arg->dtype.bits - (arg->dtype.code == OPTUNE_DTYPE_INT);
    const double most = ldexp(1, width),
                 least = arg->dtype.code == OPTUNE_DTYPE_INT ? -most : 0;
    if (is_real(arg->dtype))
        return OPTUNE_OK;
    if (real != floor(real))
        return ot_fail_at(arg->value.expr->place, OPTUNE_ETYPE, err,
                          "'%s' is an integer, and %g is none", arg->name, real);
    if (real >= least && (real < most || (width == 64 && value->kind != OT_VALUE_REAL)))
        return OPTUNE_OK;
    return ot_fail_at(arg->value.expr->place, OPTUNE_ETYPE, err,
                      "'%s' has %d bits, which is too few for %.17g", arg->name,
                      arg->dtype.bits, real);
}

/* What a parameter that is no tensor is called with. */
static int scalar_of(const ot_brought_arg *arg, const ot_values *values, ot_arena *arena,
                     ot_expr_value *value, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_formula_value(&arg->value, values, arena, value, err));
    if (!ot_value_number(value))
        return ot_fail_at(arg->value.expr->place, OPTUNE_ETYPE, err, "'%s' has no number: %s",
                          arg->name, ot_value_kind_name(value->kind));
    return check_scalar(arg, value, err);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const ot_brought *b = brought(task->call);
    ot_values values;
    ot_arena arena = {0};
    bool agreed = true;
    ot_values_of(b, task->call, config, &values);
    for (int i = 0; i < b->n_where && agreed; i++) {
        optune_err err = {0};
        ot_expr_value value;
        if (ot_formula_value(&b->where[i], &values, &arena, &value, &err) < 0)
            agreed = optune_refuse(why, "%s", err.text);
        else if (!ot_value_true(&value))
            agreed = optune_refuse(why, "'%s' is false", b->where[i].expr->text);
    }
    for (int i = 0; i < b->n_args && agreed; i++) {
        optune_err err = {0};
        ot_expr_value value;
        if (b->arg[i].role == OT_ROLE_SCALAR &&
            scalar_of(&b->arg[i], &values, &arena, &value, &err) < 0)
            agreed = optune_refuse(why, "%s", err.text);
    }
    ot_arena_release(&arena);
    const bool launched = b->language == OT_LANGUAGE_OPENCL || b->language == OT_LANGUAGE_CUDA;
    return agreed && (!launched || launches(task, &values, why));
}

/* ---- plans ------------------------------------------------------------------------------- */

static bool is_parameter(const ot_brought *b, const char *name)
{
    for (int i = 0; i < b->n_args; i++)
        if (strcmp(b->arg[i].name, name) == 0)
            return true;
    return false;
}

/* A size that is a parameter, too, is no macro: it would replace the parameter's name. */
static void define_sizes(const ot_brought *b, const ot_values *values, optune_plan *plan,
                         int module)
{
    char name[OPTUNE_KNOB_NAME_SIZE + 16];
    for (int k = 0; k < b->n_sizes; k++) {
        const ot_expr_value *value = &values->value[k];
        if (value->kind == OT_VALUE_INT && !is_parameter(b, b->size[k].name))
            optune_plan_define(plan, module, b->size[k].name, value->i);
        for (int i = 0; value->kind == OT_VALUE_LIST && i < value->n; i++) {
            snprintf(name, sizeof name, "%s_%d", b->size[k].name, i);
            optune_plan_define(plan, module, name, value->item[i].i);
        }
    }
}

static void define_knobs(const ot_brought *b, const ot_values *values, optune_plan *plan,
                         int module)
{
    for (int k = 0; k < b->n_knobs; k++) {
        const ot_expr_value *value = &values->value[OT_BROUGHT_SIZES + k];
        if (value->kind == OT_VALUE_INT || value->kind == OT_VALUE_BOOL)
            optune_plan_define(plan, module, b->knob[k].name, value->i);
        else if (value->kind == OT_VALUE_WORD)
            optune_plan_define_text(plan, module, b->knob[k].name, value->s);
        else {
            ot_text text = {0};
            ot_value_print(value, &text);
            optune_plan_define_text(plan, module, b->knob[k].name, ot_text_str(&text));
            ot_text_release(&text);
        }
    }
}

/* The bytes that a parameter of this type has, little end first, as an integer. */
static int64_t bits_of(optune_dtype type, const ot_expr_value *value)
{
    const double real = ot_value_real(value);
    int64_t bits = 0;
    if (!is_real(type))
        return value->kind == OT_VALUE_REAL ? (int64_t)real : value->i;
    ot_elements_set(type, &bits, 0, 1, &real);
    return bits;
}

static void add_scalar(const ot_brought *b, int i, const ot_values *values, bool called,
                       optune_plan *plan, int module, optune_stage *stage)
{
    const ot_brought_arg *arg = &b->arg[i];
    ot_arena arena = {0};
    ot_expr_value value;
    if (scalar_of(arg, values, &arena, &value, &plan->problem) < 0) {
        stage->arg[stage->n_args++] = optune_int_arg(0);
    } else if (called) {
        char name[32], text[64];
        snprintf(name, sizeof name, "OPTUNE_ARG_%d", i);
        if (arg->dtype.code == OPTUNE_DTYPE_BFLOAT) /* C has no such type: its bits */
            snprintf(text, sizeof text, "(%lldLL)", (long long)bits_of(arg->dtype, &value));
        else if (value.kind == OT_VALUE_REAL)
            ot_format(text, sizeof text, "(%.17g)", value.f);
        else if (value.i == INT64_MIN) /* C has no literal of it */
            snprintf(text, sizeof text, "(%lldLL-1)", (long long)value.i + 1);
        else
            snprintf(text, sizeof text, "(%lldLL)", (long long)value.i);
        optune_plan_define_text(plan, module, name, text);
    } else {
        stage->arg[stage->n_args++] = optune_int_arg(bits_of(arg->dtype, &value));
    }
    ot_arena_release(&arena);
}

/* In front of every run, so that none reads what the last one left. A function that is called gets
 * bytes, a kernel elements, for as many threads as copy quickly. */
static void add_restoring(const optune_task *task, const ot_brought_arg *arg, bool called,
                          optune_plan *plan, int module)
{
    enum { BLOCK = 64, MOST_BLOCKS = 4096 };
    const optune_tensor *type = &task->call->output[arg->output];
    const int64_t n = optune_tensor_elements(type), blocks = (n + BLOCK - 1) / BLOCK;
    optune_stage stage = {.phase = OPTUNE_RESTORE,
                          .module = module,
                          .function = arg->restore,
                          .n_args = 3,
                          .arg = {optune_input_arg(arg->input), optune_output_arg(arg->output),
                                  optune_int_arg(called ? optune_tensor_bytes(type) : n)}};
    if (!called) {
        stage.block[0] = BLOCK;
        stage.grid[0] = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    }
    optune_plan_stage(plan, &stage);
}

static void plan_of(const optune_task *task, const ot_values *values, bool called,
                    const char *function, optune_plan *plan)
{
    const ot_brought *b = brought(task->call);
    const int module = optune_plan_module(plan);
    optune_stage stage = {.phase = OPTUNE_TIMED, .module = module, .function = function};
    define_sizes(b, values, plan, module);
    define_knobs(b, values, plan, module);
    for (int i = 0; i < b->n_args; i++) {
        const ot_brought_arg *arg = &b->arg[i];
        if (arg->role == OT_ROLE_SCALAR)
            add_scalar(b, i, values, called, plan, module, &stage);
        else
            stage.arg[stage.n_args++] =
                arg->output < 0 ? optune_input_arg(arg->input) : optune_output_arg(arg->output);
        if (arg->role == OT_ROLE_INOUT)
            add_restoring(task, arg, called, plan, module);
    }
    shape s;
    if (!called && shape_of(b, values, &s, &plan->problem) >= 0) {
        memcpy(stage.grid, s.grid, sizeof s.grid);
        memcpy(stage.block, s.block, sizeof s.block);
        stage.shared = s.shared;
    }
    optune_plan_stage(plan, &stage);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *to)
{
    const ot_brought *b = brought(task->call);
    const bool called = b->language == OT_LANGUAGE_C;
    ot_values values;
    ot_values_of(b, task->call, config, &values);
    plan_of(task, &values, called, called ? "optune_entry" : b->function, to);
    for (int i = 0; i < b->n_flags; i++)
        optune_plan_flag(to, 0, b->flag[i]);
}

/* Whether a flag says what code means or where it is, and not how it is computed: what is right is
 * without `-ffast-math`. */
static bool is_of_meaning(const char *flag)
{
    static const char *const begin[] = {
        "-I", "-D", "-U", "-l", "-L", "-std=", "-include", "-isystem", "-fopenmp", "-pthread"};
    for (int i = 0; i < OT_COUNT(begin); i++)
        if (strncmp(flag, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

/* Those that the reference needs, too, where a C compiler is told of them: with the word behind
 * one, where that is its value. */
static void add_reference_flags(const ot_brought *b, optune_plan *to)
{
    bool taken = false;
    for (int i = 0; i < b->n_flags && b->language == OT_LANGUAGE_C; i++) {
        taken = is_of_meaning(b->flag[i]) || (taken && b->flag[i][0] != '-');
        if (taken)
            optune_plan_flag(to, 0, b->flag[i]);
    }
}

/* The reference: a C function whatever the kernel is, called with the defaults of all knobs. */
static void checker_plan(const optune_task *task, const optune_config *config, optune_plan *to)
{
    const ot_brought *b = brought(task->call);
    ot_values values;
    (void)config;
    ot_values_of(b, task->call, NULL, &values);
    plan_of(task, &values, true, "optune_entry", to);
    add_reference_flags(b, to);
}

/* ---- all --------------------------------------------------------------------------------- */

const char *ot_language_target(ot_language language)
{
    static const char *const target[] = {"cpu", "opencl", "cuda", "program"};
    return target[language];
}

void ot_brought_rows(ot_brought *b)
{
    static const char *const suffix[] = {"c", "opencl", "cuda", "program"};
    b->preset[0] = (optune_preset){.name = "file",
                                   .description = "the sizes that the file names",
                                   .workloads = b->workload};
    b->op.summary = ot_arena_printf(&b->arena, "brought from %s", b->path);
    b->op.inputs = b->input;
    b->op.attrs = b->attr;
    b->op.pattern = OPTUNE_OPAQUE;
    b->op.support_level = 10;
    b->op.types = types;
    b->op.flops = b->flops.expr ? flops : NULL;
    b->op.bytes = b->bytes.expr ? bytes : NULL;
    b->op.range = range;
    b->op.presets = b->preset;
    b->op.samples = b->workload;
    b->op.absolute = b->absolute;
    b->op.relative = b->relative;
    b->impl.op = b->checker.op = b->op.name;
    b->impl.name = ot_arena_printf(&b->arena, "%s.%s", b->op.name, suffix[b->language]);
    b->impl.summary = b->op.summary;
    b->impl.applies = applies;
    b->impl.space = b->n_knobs ? space : NULL;
    b->impl.fallback = b->n_knobs ? fallback : NULL;
    b->impl.valid = valid;
    b->impl.plan = plan;
    b->op.standard = b->impl.name;
    if (b->reference) {
        b->checker.name = ot_arena_printf(&b->arena, "%s.reference", b->op.name);
        b->checker.summary = ot_arena_printf(&b->arena, "%s, which checks it", b->reference);
        b->checker.plan = checker_plan;
        b->op.standard = b->checker.name;
        b->op.standard_target = "cpu";
    }
    b->row[0] = (optune_strategy_row){.impl = b->impl.name};
    b->strategy = (optune_strategy){
        .op = b->op.name, .key = ot_language_target(b->language), .rows = b->row};
    if (b->language == OT_LANGUAGE_PROGRAM)
        ot_program_rows(b);
}
