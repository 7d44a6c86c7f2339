/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said when nothing computes a call: who refused it and why, those of one reason
 * together. Of a call whose dims are known only at run time, most rows say something that no
 * person can act upon; so it is asked again with a size in place of each such dim, and only who
 * would take that one is named.
 */
#include <string.h>

#include "strategy/inside.h"

enum { ANY_SIZE = 64 }; /* for a dim without an upper bound */

/* "a.cpu, b.cpu: reason; c.cpu: another": of those that `only` marks; NULL: of all. */
static void add_reasons(const ot_candidate *candidate, int n, const bool *only, ot_text *to)
{
    const char *between = "";
    for (int i = 0; i < n; i++) {
        bool told = only && !only[i];
        for (int k = 0; k < i && !told; k++)
            told = (!only || only[k]) && !strcmp(candidate[k].why, candidate[i].why);
        if (told)
            continue;
        for (int k = i; k < n; k++)
            if ((!only || only[k]) && !strcmp(candidate[k].why, candidate[i].why)) {
                ot_text_printf(to, "%s%s", between, candidate[k].impl->name);
                between = ", ";
            }
        ot_text_printf(to, ": %s", candidate[i].why);
        between = "; ";
    }
}

static int first_valid(const ot_candidate *candidate, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (candidate[i].refusal == OT_VALID &&
            (best < 0 || candidate[i].plevel > candidate[best].plevel))
            best = i;
    return best;
}

/* The dims that are not constants, as they were written; false: one has no upper bound. */
static bool add_symbols(const ot_symbols *symbols, ot_text *to)
{
    bool bounded = true;
    for (int i = 0; i < symbols->n; i++) {
        ot_text_add(to, i ? ", " : "");
        ot_dim_print(&symbols->dim[i], to);
        bounded = bounded && symbols->dim[i].max != OPTUNE_DIM_MAX;
    }
    return bounded;
}

static void collect_symbols(const optune_call *call, ot_symbols *symbols)
{
    *symbols = (ot_symbols){0};
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++) {
            const optune_dim *dim = &call->input[i].type.dim[d];
            bool known = optune_dim_known(dim) || symbols->n == OT_MAX_SYMBOLS;
            for (int k = 0; k < symbols->n && dim->name[0]; k++)
                known = known || !strcmp(symbols->dim[k].name, dim->name);
            if (!known)
                symbols->dim[symbols->n++] = *dim;
        }
}

/* The same call with a size in place of every dim that is not a constant. */
static bool with_sizes(const optune_call *call, optune_call *sized, ot_text *said)
{
    *sized = *call;
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++) {
            optune_dim *dim = &sized->input[i].type.dim[d];
            if (optune_dim_known(dim))
                continue;
            const int64_t most = dim->min > ANY_SIZE ? dim->min : ANY_SIZE;
            const int64_t size = dim->max == OPTUNE_DIM_MAX ? most : dim->max;
            ot_text_printf(said, "%sdim %d of '%s' as %lld", said->n ? ", " : "", d,
                           ot_call_input_name(call, i), (long long)size);
            *dim = optune_dim_of(size);
        }
    for (int i = 0; i < sized->n_outputs; i++)
        sized->output[i] = (optune_tensor){.rank = -1};
    return ot_call_infer(sized, NULL) >= 0 && ot_call_static(sized);
}

static void say_symbolic(const optune_task *task, const ot_candidate *candidate, int n,
                         ot_text *to)
{
    optune_call *sized = ot_alloc(sizeof *sized);
    ot_candidate *then = ot_alloc(OT_MAX_CANDIDATES * sizeof *then);
    bool only[OT_MAX_CANDIDATES] = {false};
    ot_symbols symbols;
    ot_text sizes = {0};
    int n_then = 0, best = -1;
    const optune_task asked = {sized, task->target, task->device};
    collect_symbols(task->call, &symbols);
    if (with_sizes(task->call, sized, &sizes) &&
        ot_candidates(&asked, then, &n_then, NULL) >= 0 && n_then == n)
        best = first_valid(then, n);
    if (symbols.n)
        ot_text_add(to, " with ");
    const bool bounded = add_symbols(&symbols, to);
    if (symbols.n)
        ot_text_add(to, " known only at run time");
    ot_text_add(to, "; ");
    for (int i = 0; i < n; i++)
        only[i] = then[i].refusal == OT_VALID;
    add_reasons(best < 0 && n_then == n ? then : candidate, n, best < 0 ? NULL : only, to);
    if (best >= 0 && !bounded)
        ot_text_add(to, "; write an upper bound, such as ?m:1..4096");
    else if (best >= 0)
        ot_text_printf(to, "; with %s it is computed by %s", ot_text_str(&sizes),
                       then[best].impl->name);
    ot_text_release(&sizes);
    free(then);
    free(sized);
}

int ot_nothing_valid(const optune_task *task, const ot_candidate *candidate, int n,
                     optune_err *err)
{
    ot_text text = {0};
    if (ot_call_static(task->call)) {
        ot_text_add(&text, "; ");
        add_reasons(candidate, n, NULL, &text);
    } else {
        say_symbolic(task, candidate, n, &text);
    }
    const int status =
        optune_fail(err, OPTUNE_ENOENT, "no valid implementation of '%s' for target '%s'%s",
                    task->call->op->name, task->target->kind, ot_text_str(&text));
    ot_text_release(&text);
    return status;
}
