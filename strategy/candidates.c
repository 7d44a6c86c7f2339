/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which implementations the strategy of a call's operator names, and why each that is refused
 * is. The order of the questions is the order of their cost and of what a reader wants to hear
 * first: numerics class, specialization, condition, the implementation itself, its library.
 */
#include <ctype.h>
#include <string.h>

#include "strategy/inside.h"

typedef struct names {
    const optune_strategy *strategy;
    const optune_call *call;
} names;

static bool symbolic(const optune_tensor *type, const char *name, optune_dim *value)
{
    for (int i = 0; i < type->rank; i++)
        if (strcmp(type->dim[i].name, name) == 0) {
            *value = type->dim[i];
            return true;
        }
    return false;
}

/* The strategy's names first, then the symbolic dims of the call itself. */
static bool lookup(const void *arg, const char *name, optune_dim *value)
{
    const names *of = arg;
    if (of->strategy->dim && of->strategy->dim(of->call, name, value))
        return true;
    for (int i = 0; i < optune_call_inputs(of->call); i++)
        if (symbolic(&of->call->input[i].type, name, value))
            return true;
    for (int i = 0; i < of->call->n_outputs; i++)
        if (symbolic(&of->call->output[i], name, value))
            return true;
    return false;
}

/* "m=8, k=?k:1..64" for the names that occur in a clause. */
static void add_values(const names *of, const char *clause, ot_text *to)
{
    const char *seen[OPTUNE_MAX_LIST];
    size_t length[OPTUNE_MAX_LIST];
    int n = 0;
    for (const char *p = clause; *p;) {
        size_t size = 0;
        while (isalnum((unsigned char)p[size]) || p[size] == '_')
            size++;
        bool known = size == 0 || size >= OPTUNE_NAME_SIZE || isdigit((unsigned char)*p) ||
                     n == OPTUNE_MAX_LIST;
        for (int i = 0; i < n && !known; i++)
            known = length[i] == size && strncmp(seen[i], p, size) == 0;
        char name[OPTUNE_NAME_SIZE];
        optune_dim value;
        if (!known) {
            memcpy(name, p, size);
            name[size] = '\0';
            if (lookup(of, name, &value)) {
                ot_text_printf(to, "%s%s=", n ? ", " : "", name);
                ot_dim_print(&value, to);
                seen[n] = p;
                length[n++] = size;
            }
        }
        p += size ? size : 1;
    }
}

static bool refuse_when(const optune_task *task, const optune_strategy *strategy,
                        const char *when, char *why)
{
    optune_err err;
    ot_condition *own;
    const ot_condition *condition = ot_condition_kept(when, &own, &err);
    if (!condition)
        return optune_refuse(why, "%s", err.text);
    const names of = {.strategy = strategy, .call = task->call};
    char clause[OPTUNE_WHY_SIZE];
    const bool quiet = ot_refused_quietly();
    const int truth =
        ot_condition_test(condition, lookup, &of, clause, quiet ? 0 : sizeof(clause));
    if (truth != OT_TRUE && !quiet) {
        ot_text values = {0};
        add_values(&of, clause, &values);
        optune_refuse(why, "clause '%s' %s (%s)", clause,
                      truth == OT_FALSE ? "is false" : "does not hold for every size",
                      ot_text_str(&values));
        ot_text_release(&values);
    }
    ot_condition_free(own);
    return truth == OT_TRUE;
}

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = words; *p; p += strspn(p, " ")) {
        const size_t length = strcspn(p, " ");
        if (length == n && strncmp(p, word, n) == 0)
            return true;
        p += length;
    }
    return false;
}

/* IEEE arithmetic is right for every class: the others only permit less. */
static bool right_math(const optune_call *call, const optune_impl *impl, char *why)
{
    if (!impl->math || has_word(impl->math, "ieee"))
        return true;
    const char *asked = optune_call_word(call, "math");
    return has_word(impl->math, asked) ||
           optune_refuse(why, "its arithmetic is %s, the call asks for %s", impl->math, asked);
}

static bool is_double(const optune_tensor *type)
{
    return type->dtype.code == OPTUNE_DTYPE_FLOAT && type->dtype.bits == 64;
}

/* float64 is optional in OpenCL; rows need not ask. */
static bool computes(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    bool doubles = false;
    if (!task->device->no_float64)
        return true;
    for (int i = 0; i < optune_call_inputs(call); i++)
        doubles = doubles || is_double(&call->input[i].type);
    for (int i = 0; i < call->n_outputs; i++)
        doubles = doubles || is_double(&call->output[i]);
    return !doubles || optune_refuse(why, "%s has no float64", task->device->name);
}

static bool is_empty(const optune_tensor *type)
{
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d].max == 0)
            return true;
    return false;
}

/* Of outputs without elements the generic one makes as little as there is; rows need not ask. */
static bool has_work(const optune_impl *impl, const optune_call *call, char *why)
{
    bool empty = !impl->generic && call->n_outputs > 0 && ot_generic_of(call->op);
    for (int i = 0; i < call->n_outputs && empty; i++)
        empty = is_empty(&call->output[i]);
    return !empty || optune_refuse(why, "there is nothing to compute");
}

/* `takes`: of the call's dims, see ot_impl_takes, it is known. */
static bool applies_to(const optune_impl *impl, const optune_task *task, bool takes, char *why)
{
    if (!ot_impl_runs_on(impl, task->device, why) || !computes(task, why) ||
        !has_work(impl, task->call, why) || (!takes && !ot_impl_takes(impl, task->call, why)))
        return false;
    ot_slip_taken(NULL);
    const bool applies = !impl->applies || impl->applies(task, why);
    if (!ot_slip_taken(why) && applies)
        return true;
    ot_widened wide;
    return ot_widens(impl, task, &wide);
}

bool ot_impl_applies(const optune_impl *impl, const optune_task *task, char *why)
{
    return applies_to(impl, task, false, why);
}

/* `constant`: all dims of the call are, as ot_call_static says; any implementation takes those. */
static ot_refusal refusal(const optune_task *task, const optune_strategy *strategy,
                          const optune_strategy_row *row, const optune_impl *impl,
                          bool constant, char *why)
{
    if (!right_math(task->call, impl, why))
        return OT_REFUSED_MATH;
    if (row->when && !refuse_when(task, strategy, row->when, why))
        return OT_REFUSED_WHEN;
    if (!constant && !ot_impl_takes(impl, task->call, why))
        return OT_REFUSED_APPLIES; /* a condition would only stumble over what is unknown */
    ot_slip_taken(NULL);
    const bool holds = !row->condition || row->condition(task, why);
    if (ot_slip_taken(why) || !holds)
        return OT_REFUSED_CONDITION;
    if (!applies_to(impl, task, true, why)) /* else it was refused above */
        return OT_REFUSED_APPLIES;
    if (impl->generic ? !ot_generic_epilogue_applies(task, why)
                      : !ot_epilogue_applies(task, why))
        return OT_REFUSED_FUSED;
    if (impl->library && !optune_target_has_lib(task->target, impl->library)) {
        optune_refuse(why, "library '%s' is not named in -libs", impl->library);
        return OT_REFUSED_LIBRARY;
    }
    return OT_VALID;
}

/* The first of them that computes the call; NULL: none does. */
static const optune_impl *first_valid(const ot_considered *considered, int n)
{
    for (int i = 0; i < n; i++)
        if (considered[i].refusal == OT_VALID)
            return considered[i].impl;
    return NULL;
}

static const optune_strategy_row generic_row = {.plevel = OT_GENERIC_PLEVEL};

int ot_consider_rows(const optune_task *task, const ot_ranking **ranking,
                     ot_considered *considered, int *n, optune_err *err)
{
    const optune_op *op = task->call->op;
    *n = 0;
    bool given = true; /* else each implementation says what it lacks */
    for (int i = 0; i < optune_call_inputs(task->call); i++)
        given = given && task->call->input[i].type.rank >= 0;
    for (int o = 0; o < task->call->n_outputs && given; o++)
        if (task->call->output[o].rank < 0)
            return optune_fail(
                err, OPTUNE_ETYPE,
                "how many dims output %d of '%s' has does not follow from its inputs "
                "and attributes",
                o, op->name);
    OT_RETURN_UNLESS_OK(ot_ranking_get(op, task->target, ranking, err));
    *n = (*ranking)->n;
    memcpy(considered, (*ranking)->row, (size_t)*n * sizeof *considered);
    return OPTUNE_OK;
}

/* The generic implementation serves where no row computes the call: measuring it beside those that
 * do would only take their time. A library that is no more than measured is no answer. */
static ot_refusal ask(const optune_task *task, const optune_strategy *strategy,
                      ot_considered *considered, int i, bool constant)
{
    ot_considered *c = &considered[i];
    char unsaid[OPTUNE_WHY_SIZE];
    const bool of_row = strategy->rows[i].impl; /* the generic one is behind them */
    unsaid[0] = '\0';
    if (c->refusal != OT_UNASKED)
        return c->refusal;
    for (int k = 0; k < i && !of_row; k++)
        if (ask(task, strategy, considered, k, constant) == OT_VALID)
            return c->refusal = OT_REFUSED_CONDITION;
    return c->refusal = refusal(task, strategy, of_row ? &strategy->rows[i] : &generic_row,
                                c->impl, constant, unsaid);
}

ot_refusal ot_considered_ask(const optune_task *task, const optune_strategy *strategy,
                             ot_considered *considered, int i, bool constant)
{
    if (considered[i].refusal != OT_UNASKED)
        return considered[i].refusal;
    const bool before = ot_refuse_quietly(true);
    ask(task, strategy, considered, i, constant);
    ot_refuse_quietly(before);
    return considered[i].refusal;
}

int ot_consider(const optune_task *task, const optune_strategy **strategy,
                ot_considered *considered, int *n, optune_err *err)
{
    const ot_ranking *ranking;
    OT_RETURN_UNLESS_OK(ot_consider_rows(task, &ranking, considered, n, err));
    const bool constant = ot_call_static(task->call), before = ot_refuse_quietly(true);
    *strategy = ranking->strategy;
    for (int i = 0; i < *n; i++)
        ask(task, *strategy, considered, i, constant);
    ot_refuse_quietly(before);
    return OPTUNE_OK;
}

bool ot_is_computed(const optune_task *task)
{
    const optune_strategy *strategy = ot_strategy_find(task->call->op, task->target);
    const bool constant = ot_call_static(task->call);
    char unsaid[OPTUNE_WHY_SIZE] = "";
    bool computed = false;
    for (int o = 0; o < task->call->n_outputs; o++)
        if (task->call->output[o].rank < 0)
            return false;
    const bool before = ot_refuse_quietly(true);
    for (const optune_strategy_row *row = strategy ? strategy->rows : NULL;
         row && row->impl && !computed; row++) {
        const optune_impl *impl = ot_impl_find(row->impl);
        computed = impl && !impl->generic &&
                   refusal(task, strategy, row, impl, constant, unsaid) == OT_VALID;
    }
    ot_refuse_quietly(before);
    return computed;
}

void ot_considered_why(const optune_task *task, const optune_strategy *strategy,
                       const ot_considered *considered, int i, char *why)
{
    why[0] = '\0';
    if (considered[i].refusal == OT_VALID)
        return;
    int rows = 0;
    while (strategy->rows[rows].impl)
        rows++;
    const optune_impl *answers = i < rows ? NULL : first_valid(considered, i);
    if (answers)
        optune_refuse(why, "serves calls that no other computes, as %s does", answers->name);
    else
        refusal(task, strategy, i < rows ? &strategy->rows[i] : &generic_row,
                considered[i].impl, ot_call_static(task->call), why);
}

int ot_candidates(const optune_task *task, ot_candidate *candidate, int *n, optune_err *err)
{
    ot_considered considered[OT_MAX_CANDIDATES];
    const optune_strategy *strategy = NULL;
    const int status = ot_consider(task, &strategy, considered, n, err);
    for (int i = 0; i < *n; i++) {
        ot_candidate *c = &candidate[i];
        *c = (ot_candidate){.impl = considered[i].impl,
                            .plevel = considered[i].plevel,
                            .order = considered[i].order,
                            .refusal = considered[i].refusal};
        ot_considered_why(task, strategy, considered, i, c->why);
    }
    return status;
}
