/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a call, as part of a plan: in the registers of a body that offers it
 * (optune_plan_fuse), else as a timed stage of its own behind the implementation's, so that
 * every implementation computes every fused call, on GPUs too. Writes macros; the code is
 * kernels/common/epilogue.*.
 *
 * The one idea: an extra input's index is a function of the output's linear index alone, so a
 * body needs to know where it stores and nothing of broadcasting.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

enum {
    CHUNK = 1 << 14, /* elements of one task of the stage on CPUs; whole vectors of any type */
    THREADS = 256,   /* of a block of the stage on GPUs, where it has as many */
    EACH = 4,        /* elements of a thread, where blocks are left for all cores */
    UNITS = 16,      /* cores of a device that does not tell */
};

static bool on_gpu(const optune_task *task)
{
    return task->device->warp > 0;
}

/* Expressions are loops over the lanes of a vector that the compiler turns back into vector code:
 * also where the body asks for -O1; and redundancy elimination would turn their comparisons with
 * constants into branches, which forbids it. */
static void keep_loops(optune_plan *plan, int module)
{
    static const char *const flags[] = {"-ftree-loop-vectorize", "-fno-tree-pre"};
    const ot_module *m = &plan->module[module];
    if (m->n_flags < OT_COUNT(flags) ||
        strcmp(m->flag[m->n_flags - OT_COUNT(flags)], flags[0]) != 0)
        for (int i = 0; i < OT_COUNT(flags); i++)
            optune_plan_flag(plan, module, flags[i]);
}

/* How an element of the output lies in memory, and what expressions are computed in: 16-bit floats
 * in float. */
typedef struct element {
    const char *computed, *stored, *read, *write;
    int bits; /* of what is computed */
} element;

/* False: nothing is fused in this type. */
static bool element_of(optune_dtype dtype, element *e)
{
    const bool real = dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
    if (!real || dtype.lanes != 1)
        return false;
    if (dtype.bits == 64)
        *e = (element){"double", "double", "", "", 64};
    else if (dtype.bits == 32)
        *e = (element){"float", "float", "", "", 32};
    else if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        *e = (element){"float", "u16", "float_of_bfloat", "bfloat_of_float", 32};
    else
        *e = (element){"float", "u16", "float_of_half", "half_of_float", 32};
    return true;
}

bool ot_epilogue_is_half(const optune_task *task)
{
    element e;
    const optune_dtype dtype = task->call->output[0].dtype;
    return dtype.bits == 16 && !on_gpu(task) && element_of(dtype, &e);
}

/* Whether expressions of 16-bit floats can be in the registers of the row's body: of those for CPUs
 * one must know them. */
static bool body_takes(const optune_task *task, const optune_impl *impl)
{
    return !ot_epilogue_is_half(task) || ot_impl_has(impl, OT_BODY_BRAIN);
}

static bool one(const optune_dim *dim)
{
    return dim->min == 1 && dim->max == 1;
}

/* Whether dim d of the output is one that this operand is repeated over. */
static bool repeated(const optune_tensor *out, const optune_tensor *in, int d)
{
    const int k = d - (out->rank - in->rank);
    return !one(&out->dim[d]) && (k < 0 || one(&in->dim[k]));
}

/* The first dim of the output, not before `from`, from which on the operand has one rule: it is the
 * same for all elements, or runs along. */
static int uniform_from(const optune_tensor *out, const optune_tensor *in, int from)
{
    int rule = -1, first = out->rank;
    for (int d = out->rank - 1; d >= from; d--) {
        const int here = one(&out->dim[d]) ? rule : repeated(out, in, d);
        if (rule >= 0 && here != rule)
            break;
        rule = here;
        first = d;
    }
    return first;
}

/* 0 when the operand does not change along the last dims, 1 when it runs along. */
static int lane_step(const optune_tensor *out, const optune_tensor *in)
{
    for (int d = out->rank - 1; d >= 0; d--)
        if (!one(&out->dim[d]))
            return !repeated(out, in, d);
    return 0;
}

/* The integer that numbers elements: 32 bits divide much faster on GPUs. */
static const char *index_type(const optune_task *task)
{
    return on_gpu(task) && optune_tensor_elements(&task->call->output[0]) <= INT32_MAX / 2
               ? "u32"
               : "u64";
}

/* Elements of some dims of the output: a constant, times the dims that are known at run time. */
typedef struct extent {
    int64_t constant;
    unsigned open; /* a bit for each such dim */
} extent;

static void times_dim(extent *e, const optune_tensor *out, int d)
{
    if (optune_dim_known(&out->dim[d]))
        e->constant *= out->dim[d].min;
    else
        e->open |= 1u << d;
}

static extent times(extent a, extent b)
{
    return (extent){a.constant * b.constant, a.open | b.open};
}

/* `first` is the stage's argument that is the first dim known at run time. */
static void print_extent(const optune_tensor *out, extent e, int first, ot_text *to)
{
    if (!e.open) {
        ot_text_printf(to, "%lld", (long long)e.constant);
        return;
    }
    ot_text_printf(to, "((i64)%lld", (long long)e.constant);
    for (int d = 0; d < out->rank; d++) {
        if (e.open >> d & 1)
            ot_text_printf(to, " * *(const i64 *)arg[%d]", first);
        first += !optune_dim_known(&out->dim[d]);
    }
    ot_text_add(to, ")");
}

static void print_factor(const char *operation, const char *index, const optune_tensor *out,
                         extent e, int first, ot_text *to)
{
    if (e.constant == 1 && !e.open && operation[0] != '%')
        return;
    ot_text_printf(to, e.open ? " %s (%s)" : " %s ", operation, index);
    print_extent(out, e, first, to);
}

static void print_index(const optune_tensor *out, const optune_tensor *in, const char *index,
                        int first, ot_text *to)
{
    extent below = {1, 0}, stride = {1, 0}; /* of the output and of the operand further in */
    ot_text_add(to, "(0");
    for (int d = out->rank - 1; d >= 0;) {
        const bool over = repeated(out, in, d);
        extent here = {1, 0};
        bool counts = false;
        for (; d >= 0 && (one(&out->dim[d]) || repeated(out, in, d) == over); d--) {
            times_dim(&here, out, d);
            counts = counts || !one(&out->dim[d]);
        }
        if (!over && counts) {
            ot_text_printf(to, " + (%s)(o)", index);
            print_factor("/", index, out, below, first, to);
            if (d >= 0)
                print_factor("%", index, out, here, first, to);
            print_factor("*", index, out, stride, first, to);
            stride = times(stride, here);
        }
        below = times(below, here);
    }
    ot_text_add(to, ")");
}

static void print_number(double value, bool gpu, ot_text *to)
{
    if (isnan(value))
        ot_text_add(to, gpu ? "(S_INFINITY - S_INFINITY)" : "__builtin_nan(\"\")");
    else if (isinf(value))
        ot_text_printf(to, "%s%s", value < 0 ? "-" : "",
                       gpu ? "S_INFINITY" : "__builtin_inf()");
    else
        ot_text_printf(to, "%.17g", value);
}

/* { const SCALAR x0 = v, x1 = E(0); const SCALAR a0 = 2; v = (SCALAR)(x0 + a0 * x1); } */
static void print_step(const optune_task *task, int i, ot_text *to)
{
    const optune_call *call = task->call;
    const optune_epilogue *e = &call->epilogue[i];
    double number[OPTUNE_MAX_NUMBERS];
    optune_call step;
    optune_call_step(call, i, &step);
    optune_call_numbers(&step, number);
    ot_text_add(to, " {");
    for (int k = 0, extra = e->extra - call->n_inputs; k <= e->n_extra; k++)
        if (k == e->chain)
            ot_text_printf(to, " const SCALAR x%d = (v);", k);
        else
            ot_text_printf(to, " const SCALAR x%d = E(%d);", k, extra++);
    for (int k = 0; k < e->n_attrs && k < OPTUNE_MAX_NUMBERS; k++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", k);
        if (!strstr(e->op->scalar->text, name))
            continue;
        ot_text_printf(to, " const SCALAR %s = (SCALAR)", name);
        print_number(optune_number_in(call->output[0].dtype, number[k]), on_gpu(task), to);
        ot_text_add(to, ";");
    }
    ot_text_printf(to, " (v) = (SCALAR)(%s); }", e->op->scalar->text);
}

const char *ot_epilogue_source(const optune_task *task)
{
    return ot_body_epilogue[on_gpu(task)].source;
}

void ot_epilogue_defines(const optune_task *task, int first, ot_text *to)
{
    const optune_call *call = task->call;
    element e = {0};
    element_of(call->output[0].dtype, &e);
    ot_text_printf(to, "#define SCALAR %s\n#define SCALAR_REAL 1\n#define SCALAR_BITS %d\n",
                   e.computed, e.bits);
    if (on_gpu(task))
        ot_text_printf(to,
                       "#define EPILOGUE_T %s\n#define EPILOGUE_READ(x) %s(x)\n"
                       "#define EPILOGUE_WRITE(x) %s(x)\n",
                       e.stored, e.read, e.write);
    else if (ot_epilogue_is_half(task))
        ot_text_printf(to, "#define EPILOGUE_BRAIN %d\n",
                       call->output[0].dtype.code == OPTUNE_DTYPE_BFLOAT);
    ot_text_add(to, "#define EPILOGUE_OPERANDS(X, o)");
    for (int k = 0; k < call->n_extra; k++) {
        const optune_tensor *in = &call->input[call->n_inputs + k].type;
        ot_text_printf(to, " X(%d, %d, ", k, first + k);
        print_index(&call->output[0], in, index_type(task), first + call->n_extra, to);
        ot_text_printf(to, ", %d)", lane_step(&call->output[0], in));
    }
    ot_text_add(to, "\n#define EPILOGUE_CHAIN(v, E) {");
    for (int i = 0; i < call->n_epilogues; i++)
        print_step(task, i, to);
    ot_text_add(to, " }\n");
}

/* ---- plans ------------------------------------------------------------------------------- */

/* Whether each operand's dims are its own for all sizes: one that may be 1 beside an output that
 * may be more is repeated or not. */
static bool operands_told(const optune_call *call, char *why)
{
    const optune_tensor *out = &call->output[0];
    for (int k = 0; k < call->n_extra; k++) {
        const optune_tensor *in = &call->input[call->n_inputs + k].type;
        for (int i = 0; i < in->rank; i++) {
            const optune_dim *dim = &in->dim[i], *of = &out->dim[i + out->rank - in->rank];
            const bool same = dim->name[0] && strcmp(dim->name, of->name) == 0;
            if (!optune_dim_known(dim) && dim->min < 2 && !same)
                return optune_refuse(why, "an operand that is fused may be broadcast or not");
        }
    }
    return true;
}

static int open_dims(const optune_tensor *type)
{
    int n = 0;
    for (int d = 0; d < type->rank; d++)
        n += !optune_dim_known(&type->dim[d]);
    return n;
}

bool ot_epilogue_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    element e;
    if (call->n_epilogues == 0)
        return true;
    if (!element_of(call->output[0].dtype, &e))
        return optune_refuse(why, "operators are fused in floating types only");
    if (on_gpu(task) && !ot_call_static(call))
        return optune_refuse(why, "fuses operators for constant shapes only");
    if (ot_epilogue_is_half(task) && !ot_may_widen(task))
        return optune_refuse(why, "fuses 16-bit floats of fewer tensors and open dims, or of "
                                  "smaller ranges, only");
    return operands_told(call, why);
}

/* The extra inputs, and the dims that their places in memory follow from. */
static void add_extras(const optune_call *call, optune_stage *stage)
{
    for (int k = 0; k < call->n_extra; k++)
        stage->arg[stage->n_args++] = optune_input_arg(call->n_inputs + k);
    for (int d = 0; d < call->output[0].rank; d++)
        if (!optune_dim_known(&call->output[0].dim[d]))
            stage->arg[stage->n_args++] = ot_output_dim_arg(call, d);
}

bool optune_plan_fuse(const optune_task *task, optune_plan *plan, optune_stage *stage,
                      int lanes_from)
{
    const optune_call *call = task->call;
    const optune_tensor *out = &call->output[0];
    if (call->n_epilogues == 0 ||
        stage->n_args + call->n_extra + open_dims(out) > OPTUNE_MAX_ARGS || stage->module < 0 ||
        stage->module >= plan->n_modules || !body_takes(task, plan->impl))
        return false;
    for (int k = 0; k < call->n_extra && !on_gpu(task); k++)
        if (uniform_from(out, &call->input[call->n_inputs + k].type, lanes_from) > lanes_from)
            return false;
    ot_module *m = &plan->module[stage->module];
    if (m->fused && m->first_extra != stage->n_args)
        optune_fail(&plan->problem, OPTUNE_EUSAGE,
                    "stages of one module that fuse must have as many arguments: '%s'",
                    stage->function);
    /* All of them, as modules of equal flags fit one file where they are emitted. */
    for (int i = 0; i < plan->n_modules && !on_gpu(task); i++)
        keep_loops(plan, i);
    m->fused = plan->fused = true;
    m->first_extra = stage->n_args;
    add_extras(call, stage);
    return true;
}

void optune_plan_in_place(optune_plan *plan)
{
    plan->in_place = plan->fused;
}

static void close_on_cpu(const optune_call *call, optune_plan *plan, int m)
{
    const optune_tensor *out = &call->output[0];
    int from = 0;
    for (int k = 0; k < call->n_extra; k++) {
        const int one = uniform_from(out, &call->input[call->n_inputs + k].type, 0);
        from = one > from ? one : from;
    }
    extent all = {1, 0}, run = {1, 0};
    for (int d = 0; d < out->rank; d++) {
        times_dim(&all, out, d);
        if (d >= from)
            times_dim(&run, out, d);
    }
    run.constant = run.constant > 0 ? run.constant : 1;
    ot_text text = {0};
    print_extent(out, all, 1 + call->n_extra, &text);
    optune_plan_define_text(plan, m, "ELEMENTS", ot_text_str(&text));
    ot_text_release(&text);
    if (run.open)
        ot_text_add(&text, "MAX((i64)1, ");
    print_extent(out, run, 1 + call->n_extra, &text);
    ot_text_add(&text, run.open ? ")" : "");
    optune_plan_define_text(plan, m, "RUN", ot_text_str(&text));
    ot_text_release(&text);
    optune_plan_define(plan, m, "CHUNK", CHUNK);
    keep_loops(plan, m);
}

static void close_on_gpu(const optune_task *task, optune_plan *plan, optune_stage *stage)
{
    const optune_device *device = task->device;
    const int64_t n = optune_tensor_elements(&task->call->output[0]);
    const int64_t units = device->cores > 0 ? device->cores : UNITS;
    int64_t threads = THREADS, each = EACH;
    while (threads > 1 &&
           ((device->max_threads_per_block > 0 && threads > device->max_threads_per_block) ||
            (device->max_block[0] > 0 && threads > device->max_block[0])))
        threads /= 2;
    while (each > 1 && n < threads * each * units)
        each /= 2;
    optune_plan_define_text(plan, stage->module, "INDEX", index_type(task));
    optune_plan_define(plan, stage->module, "THREADS", threads);
    optune_plan_define(plan, stage->module, "EACH", each);
    const int64_t blocks = (n + threads * each - 1) / (threads * each);
    stage->grid[0] = blocks > 0 ? blocks : 1;
    stage->grid[1] = stage->grid[2] = 1;
    stage->block[0] = threads;
    stage->block[1] = stage->block[2] = 1;
}

void ot_epilogue_close(const optune_task *task, optune_plan *plan)
{
    const optune_call *call = task->call;
    const optune_tensor *out = &call->output[0];
    if (call->n_epilogues == 0 || plan->fused)
        return;
    if (plan->impl->generic) {
        ot_generic_epilogue_close(task, plan);
        return;
    }
    const int m = optune_plan_module(plan);
    element e = {0};
    element_of(out->dtype, &e);
    optune_plan_define_text(plan, m, "DTYPE", e.computed);
    plan->module[m].fused = plan->module[m].closing = true;
    plan->module[m].first_extra = 1;
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "epilogue_stage",
                          .n_args = 1,
                          .arg = {optune_output_arg(0)}};
    if (on_gpu(task)) {
        optune_plan_define(plan, m, "ELEMENTS", optune_tensor_elements(out));
        close_on_gpu(task, plan, &stage);
    } else {
        close_on_cpu(call, plan, m);
    }
    add_extras(call, &stage);
    optune_plan_stage(plan, &stage);
    if (ot_epilogue_is_half(task))
        ot_widen_close(task, plan, plan->n_stages - 1);
}

void ot_call_digest(const optune_task *task, const optune_impl *impl, char hex[33])
{
    const optune_call *call = task->call;
    ot_copy(hex, 33, ot_impl_digest(impl));
    ot_widened to;
    const bool wide = !impl->generic && ot_may_widen(task) &&
                      (call->n_epilogues > 0 || ot_widens(impl, task, &to));
    if (call->n_epilogues == 0 && !wide)
        return;
    const char *text[3 + OPTUNE_MAX_EPILOGUES] = {ot_impl_digest(impl),
                                                  ot_body_epilogue[on_gpu(task)].digest};
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_op *op = call->epilogue[i].op;
        const optune_impl *generic = impl->generic ? ot_generic_of(op) : NULL;
        text[2 + i] = generic ? ot_impl_digest(generic) : op->scalar->text;
    }
    int n = 2 + call->n_epilogues;
    if (wide)
        text[n++] = ot_body_widen->digest;
    ot_digest_hex(ot_digest_texts(text, n), hex);
}
