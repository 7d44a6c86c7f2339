/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16-bit floats on CPUs by what computes in float32: an implementation that refuses a call for its
 * types is asked about the same call in float32, and its plan gets stages in front that widen what
 * it reads, constants once, and stages behind that round what it writes, with what is fused, once.
 *
 * The one idea: hooks of a row see a call of float32 and know nothing of this; whoever runs or
 * writes the plan sees stages and scratch like any others. Bodies that load and store tensors by
 * the words of kernels/common/stored.kernel.h need no stages: one macro makes them read and write
 * 16 bits.
 */
#include <assert.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

enum { MOST_TENSORS = 8, MOST_OPEN = 3 }; /* that are widened; open dims of one */
/* Scratch for values whose sizes are ranges is as large as these can be. */
enum { MOST_OPEN_BYTES = 1 << 30 };

static bool is_half(optune_dtype dtype)
{
    return (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT) &&
           dtype.bits == 16 && dtype.lanes == 1;
}

static const optune_tensor *tensor_of(const optune_call *call, int i)
{
    const int inputs = optune_call_inputs(call);
    return i < inputs ? &call->input[i].type : &call->output[i - inputs];
}

static int tensors(const optune_call *call)
{
    return optune_call_inputs(call) + call->n_outputs;
}

/* Elements as a constant and as dims known at run time; false: it has too many of these. */
typedef struct extent {
    int64_t constant;
    int n, dim[MOST_OPEN];
} extent;

static bool extent_of(const optune_tensor *type, extent *e)
{
    *e = (extent){.constant = 1};
    for (int d = 0; d < type->rank; d++) {
        if (optune_dim_known(&type->dim[d]))
            e->constant *= type->dim[d].min;
        else if (e->n < MOST_OPEN && type->dim[d].max < OPTUNE_DIM_MAX)
            e->dim[e->n++] = d;
        else
            return false;
    }
    return true;
}

/* INT64_MAX: more than can be said. */
static int64_t most_elements(const optune_tensor *type)
{
    int64_t n = 1;
    for (int d = 0; d < type->rank; d++)
        if (__builtin_mul_overflow(n, type->dim[d].max, &n))
            return INT64_MAX;
    return n;
}

bool ot_may_widen(const optune_task *task)
{
    const optune_call *call = task->call;
    const int inputs = optune_call_inputs(call), all = inputs + call->n_outputs;
    int n = 0;
    int64_t open = 0; /* bytes */
    if (task->device->warp > 0)
        return false;
    for (int i = 0; i < all; i++) {
        const optune_tensor *type =
            i < inputs ? &call->input[i].type : &call->output[i - inputs];
        extent e;
        if (!is_half(type->dtype))
            continue;
        if (type->rank < 0 || !extent_of(type, &e))
            return false;
        n++;
        if (e.n == 0)
            continue;
        /* What is widened once has to have one size. */
        if (i < inputs && call->input[i].is_const)
            return false;
        const int64_t most = most_elements(type);
        if (most > MOST_OPEN_BYTES / 4 || (open += 4 * most) > MOST_OPEN_BYTES)
            return false;
    }
    return n > 0 && n <= MOST_TENSORS && ot_loads_as_cpu(task->target);
}

static void widen_attr(optune_attr *attr, optune_dtype of)
{
    static const optune_dtype single = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    if (attr->kind == OPTUNE_ATTR_DTYPE && is_half(attr->dtype))
        attr->dtype = single;
    else if (attr->kind == OPTUNE_ATTR_FLOAT && is_half(of))
        attr->f = optune_number_in(of, attr->f);
}

void ot_widen(const optune_task *task, ot_widened *to)
{
    static const optune_dtype single = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
    const optune_call *call = task->call;
    /* The type that numbers of attributes are in. */
    const optune_dtype in =
        call->n_inputs > 0 ? call->input[call->n_inputs - 1].type.dtype : call->output[0].dtype;
    ot_call_copy(&to->call, call);
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (is_half(call->input[i].type.dtype))
            to->call.input[i].type.dtype = single;
    for (int o = 0; o < call->n_outputs; o++)
        if (is_half(call->output[o].dtype))
            to->call.output[o].dtype = single;
    for (int a = 0; a < call->n_attrs; a++)
        widen_attr(&to->call.attr[a], in);
    for (int e = 0; e < call->n_epilogues; e++)
        for (int a = 0; a < call->epilogue[e].n_attrs; a++)
            widen_attr(&to->call.epilogue[e].attr[a], call->output[0].dtype);
    to->task = *task;
    to->task.call = &to->call;
}

static bool asked(const optune_impl *impl, const optune_task *task, char *why)
{
    ot_slip_taken(NULL);
    const bool applies = !impl->applies || impl->applies(task, why);
    return !ot_slip_taken(why) && applies;
}

bool ot_widens(const optune_impl *impl, const optune_task *task, ot_widened *to)
{
    char unsaid[OPTUNE_WHY_SIZE] = "";
    if (impl->generic || impl->library || !impl->applies || !ot_may_widen(task))
        return false;
    const bool before = ot_refuse_quietly(true);
    bool widens = !asked(impl, task, unsaid);
    if (widens) {
        ot_widen(task, to);
        widens = asked(impl, &to->task, unsaid);
    }
    ot_refuse_quietly(before);
    return widens;
}

/* ---- bodies that load and store 16 bits ------------------------------------------------------ */

/* The call's floats: the one type of those of 16 bits, a bit for each of these, and whether there
 * are others. */
typedef struct half_floats {
    optune_dtype dtype;
    int64_t mask;
    bool others;
} half_floats;

/* False: they are of both types. */
static bool half_floats_of(const optune_call *call, half_floats *h)
{
    *h = (half_floats){0};
    for (int i = 0; i < tensors(call); i++) {
        const optune_dtype of = tensor_of(call, i)->dtype;
        if (!is_half(of)) {
            h->others = h->others || of.code == OPTUNE_DTYPE_FLOAT;
            continue;
        }
        if (h->mask && !optune_dtype_equal(of, h->dtype))
            return false;
        h->dtype = of;
        h->mask |= INT64_C(1) << i;
    }
    return h->mask != 0;
}

/* Vectors of another type cannot become 16-bit floats. */
static bool in_floats(const optune_plan *plan, const ot_module *m)
{
    for (int i = 0; i < m->n_defines; i++)
        if (strcmp(ot_plan_text(plan, m->define[i].name), "DTYPE") == 0)
            return strcmp(ot_plan_text(plan, m->define[i].value), "float") == 0;
    return true;
}

bool ot_stored_close(const optune_task *task, optune_plan *plan)
{
    const optune_call *call = task->call;
    half_floats h = {0};
    bool stored = plan->problem.status >= 0 && tensors(call) < 64 && half_floats_of(call, &h) &&
                  (call->n_epilogues == 0 || plan->fused);
    stored =
        stored && ot_impl_has(plan->impl, OT_BODY_STORES) &&
        (!h.others || (call->n_epilogues == 0 && ot_impl_has(plan->impl, OT_BODY_STORES_SOME)));
    for (int m = 0; m < plan->n_modules && stored; m++)
        stored = in_floats(plan, &plan->module[m]);
    for (int m = 0; m < plan->n_modules && stored; m++) {
        optune_plan_define(plan, m, "STORED_BRAIN", h.dtype.code == OPTUNE_DTYPE_BFLOAT);
        if (h.others)
            optune_plan_define(plan, m, "STORED_MASK", h.mask);
    }
    return stored;
}

/* ---- plans ------------------------------------------------------------------------------- */

typedef struct widening {
    const optune_task *task;
    optune_plan *plan;
    int module;                                          /* of the stages; -1: none yet */
    int scratch[OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS]; /* of each tensor; -1: none */
} widening;

/* One tensor, between itself and its scratch. */
static void convert(widening *w, int i, bool widen, optune_stage *stage)
{
    const optune_call *call = w->task->call;
    const int inputs = optune_call_inputs(call);
    const optune_tensor *type = tensor_of(call, i);
    const bool brain = type->dtype.code == OPTUNE_DTYPE_BFLOAT;
    const optune_arg own = i < inputs ? optune_input_arg(i) : optune_output_arg(i - inputs);
    const optune_arg wide = optune_scratch_arg(w->scratch[i]);
    extent e;
    const bool told = extent_of(type, &e);
    assert(told); /* ot_may_widen has asked */
    (void)told;
    if (w->module < 0) {
        w->module = optune_plan_module(w->plan);
        w->plan->module[w->module].widens = true;
        /* Modules of equal flags fit one file where they are emitted. */
        const ot_module *computes = &w->plan->module[0];
        for (int f = 0; f < computes->n_flags && w->module > 0; f++)
            optune_plan_flag(w->plan, w->module, computes->flag[f]);
    }
    *stage = (optune_stage){
        .phase = i < inputs && call->input[i].is_const ? OPTUNE_PREPACK : OPTUNE_TIMED,
        .module = w->module,
        .function = widen ? (brain ? "widen_bfloat" : "widen_half")
                          : (brain ? "narrow_bfloat" : "narrow_half"),
        .n_args = 3 + MOST_OPEN,
        .arg = {widen ? own : wide, widen ? wide : own, optune_int_arg(e.constant)}};
    for (int k = 0; k < MOST_OPEN; k++)
        stage->arg[3 + k] = k >= e.n     ? optune_int_arg(1)
                            : i < inputs ? optune_dim_arg(i, e.dim[k])
                                         : optune_output_dim_arg(i - inputs, e.dim[k]);
}

/* The argument in terms of what is widened. */
static void translate(widening *w, optune_arg *arg)
{
    const optune_call *call = w->task->call;
    const int inputs = optune_call_inputs(call);
    int i = -1;
    if (arg->kind == OPTUNE_ARG_INPUT && arg->index >= 0 && arg->index < inputs)
        i = arg->index;
    else if (arg->kind == OPTUNE_ARG_OUTPUT && arg->index >= 0 && arg->index < call->n_outputs)
        i = inputs + arg->index;
    if (i < 0 || !is_half(tensor_of(call, i)->dtype))
        return;
    if (w->scratch[i] < 0) {
        char name[16];
        const int64_t n = most_elements(tensor_of(call, i));
        snprintf(name, sizeof name, "wide%d", i);
        w->scratch[i] = optune_plan_scratch(w->plan, name, (n > 0 ? n : 1) * 4,
                                            i < inputs && call->input[i].is_const);
    }
    *arg = optune_scratch_arg(w->scratch[i]);
}

void ot_widen_close(const optune_task *task, optune_plan *plan, int from)
{
    const optune_call *call = task->call;
    const int inputs = optune_call_inputs(call), own = plan->n_stages;
    widening w = {.task = task, .plan = plan, .module = -1};
    optune_stage stage[2 * MOST_TENSORS];
    int n = 0;
    for (int i = 0; i < tensors(call); i++)
        w.scratch[i] = -1;
    for (int s = from; s < own; s++)
        for (int a = 0; a < plan->stage[s].n_args; a++)
            translate(&w, &plan->stage[s].arg[a]);
    /* What stages in front of `from` wrote is read behind them. */
    for (int i = 0; i < tensors(call); i++)
        if (w.scratch[i] >= 0 && (i < inputs || from > 0) && n < 2 * MOST_TENSORS)
            convert(&w, i, true, &stage[n++]);
    const int front = n;
    for (int i = inputs; i < tensors(call); i++)
        if (w.scratch[i] >= 0 && n < 2 * MOST_TENSORS)
            convert(&w, i, false, &stage[n++]);
    if (own + n > OPTUNE_MAX_STAGES) {
        optune_fail(&plan->problem, OPTUNE_ELIMIT, "too many stages in a plan of '%s'",
                    plan->impl->name);
        return;
    }
    memmove(&plan->stage[from + front], &plan->stage[from],
            (size_t)(own - from) * sizeof *plan->stage);
    memcpy(&plan->stage[from], stage, (size_t)front * sizeof *stage);
    memcpy(&plan->stage[own + front], stage + front, (size_t)(n - front) * sizeof *stage);
    plan->n_stages = own + n;
}
