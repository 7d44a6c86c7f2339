/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose dims are named ranges: which symbols there are, the same call over a part of their
 * ranges, and whether an implementation takes them at run time. A symbol is known by its name;
 * outputs are always inferred anew, since a relation may compute them from the inputs.
 */
#include <string.h>

#include "call/dim_expr.h"
#include "call/inside.h"

static const optune_dim *find(const ot_symbols *symbols, const char *name)
{
    for (int i = 0; i < symbols->n; i++)
        if (strcmp(symbols->dim[i].name, name) == 0)
            return &symbols->dim[i];
    return NULL;
}

static bool of_symbols(const void *arg, const char *name, optune_dim *is)
{
    const optune_dim *dim = find(arg, name);
    if (dim)
        *is = *dim;
    return dim != NULL;
}

/* A dim of the call's inputs that has this very name. */
static bool of_inputs(const void *arg, const char *name, optune_dim *is)
{
    const optune_call *call = arg;
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++)
            if (strcmp(call->input[i].type.dim[d].name, name) == 0) {
                *is = call->input[i].type.dim[d];
                return true;
            }
    return false;
}

static int add(ot_symbols *symbols, int most, const char *input, int at, const optune_dim *dim,
               optune_err *err)
{
    if (!dim->name[0])
        return optune_fail(err, OPTUNE_EUSAGE,
                           "dim %d of '%s' has no name: write ?m:1..4096, with a name of yours",
                           at, input);
    if (dim->max == OPTUNE_DIM_MAX)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "dim '%s' has no upper bound: write ?%s:%lld..4096, with a bound of "
                           "yours",
                           dim->name, dim->name, (long long)(dim->min > 1 ? dim->min : 1));
    if (find(symbols, dim->name))
        return OPTUNE_OK;
    if (symbols->n == most)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "more than %d symbolic dims: write a number in place of '?%s'", most,
                           dim->name);
    symbols->dim[symbols->n++] = *dim;
    return OPTUNE_OK;
}

static int find_all(const optune_call *call, int most, ot_symbols *symbols, optune_err *err)
{
    *symbols = (ot_symbols){0};
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const optune_tensor *type = &call->input[i].type;
        const char *name = ot_call_input_name(call, i);
        if (type->rank < 0 || type->dtype.code == OPTUNE_DTYPE_UNKNOWN)
            return optune_fail(err, OPTUNE_EUSAGE, "the type of '%s' is unknown", name);
        for (int d = 0; d < type->rank; d++) {
            if (optune_dim_known(&type->dim[d]) ||
                ot_dim_follows(&type->dim[d], of_inputs, call))
                continue;
            if (ot_dim_computed(&type->dim[d]))
                return optune_fail(err, OPTUNE_EUSAGE,
                                   "dim %d of '%s', '%s', is computed of dims that no input "
                                   "has: give it a name, ?m",
                                   d, name, optune_dim_text(&type->dim[d]));
            const int status = add(symbols, most, name, d, &type->dim[d], err);
            if (status < 0)
                return status;
        }
    }
    if (!symbols->n)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "no dim is symbolic: write ?m:1..4096 for one that varies");
    return OPTUNE_OK;
}

int ot_symbols_of(const optune_call *call, ot_symbols *symbols, optune_err *err)
{
    return find_all(call, OT_MAX_SYMBOLS, symbols, err);
}

int ot_symbols_all(const optune_call *call, ot_symbols *symbols, optune_err *err)
{
    return find_all(call, OT_MOST_SYMBOLS, symbols, err);
}

int ot_call_narrow(const optune_call *call, const ot_symbols *to, optune_call *narrowed,
                   optune_err *err)
{
    if (narrowed != call)
        *narrowed = *call;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        optune_tensor *type = &narrowed->input[i].type;
        for (int d = 0; d < type->rank; d++) {
            const optune_dim *dim = find(to, type->dim[d].name);
            if (dim && type->dim[d].name[0])
                type->dim[d] = dim->min == dim->max ? optune_dim_of(dim->min) : *dim;
            else if (!ot_dim_settle(&type->dim[d], of_symbols, to))
                return optune_fail(err, OPTUNE_ETYPE, "dim '%s' cannot be %lld..%lld",
                                   optune_dim_text(&type->dim[d]), (long long)type->dim[d].min,
                                   (long long)type->dim[d].max);
        }
    }
    for (int i = 0; i < narrowed->n_outputs; i++)
        narrowed->output[i] = (optune_tensor){.rank = -1};
    const int status = ot_call_infer(narrowed, err);
    return status < 0 ? status : OPTUNE_OK;
}

static void name_of(int i, char name[OPTUNE_DIM_NAME_SIZE])
{
    snprintf(name, OPTUNE_DIM_NAME_SIZE, "d%d", i);
}

/* Whether some dim of the inputs is called so, or computed of one that is. */
static bool is_taken(const optune_call *call, const char *name)
{
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++)
            if (ot_dim_mentions(&call->input[i].type.dim[d], name))
                return true;
    return false;
}

static void rename_dim(const optune_call *call, optune_dim *dim, ot_renamed *renamed)
{
    int i = 0;
    while (i < renamed->n && strcmp(renamed->was[i].name, dim->name))
        i++;
    if (i == renamed->n) {
        int number = i;
        renamed->was[renamed->n++] = *dim;
        name_of(number, renamed->name[i]);
        while (is_taken(call, renamed->name[i])) /* somebody's own */
            name_of(number += OT_MOST_SYMBOLS, renamed->name[i]);
    }
    memcpy(dim->name, renamed->name[i], sizeof dim->name);
}

int ot_call_rename(const optune_call *call, optune_call *to, ot_renamed *renamed,
                   optune_err *err)
{
    static const ot_symbols nothing;
    *renamed = (ot_renamed){0};
    *to = *call;
    for (int i = 0; i < optune_call_inputs(call); i++)
        for (int d = 0; d < call->input[i].type.rank; d++) {
            optune_dim *dim = &to->input[i].type.dim[d];
            if (!optune_dim_known(dim) && ot_dim_computed(dim) &&
                !ot_dim_follows(dim, of_inputs, call))
                rename_dim(call, dim, renamed);
        }
    return renamed->n ? ot_call_narrow(to, &nothing, to, err) : OPTUNE_OK;
}

int ot_call_widen(optune_call *call, optune_err *err)
{
    for (int i = 0; i < optune_call_inputs(call); i++) {
        optune_tensor *type = &call->input[i].type;
        for (int d = 0; d < type->rank; d++) {
            if (type->dim[d].max == OPTUNE_DIM_MAX)
                return optune_fail(err, OPTUNE_ETYPE, "dim %d of '%s' has no upper bound", d,
                                   ot_call_input_name(call, i));
            type->dim[d] = optune_dim_of(type->dim[d].max);
        }
    }
    for (int o = 0; o < call->n_outputs; o++)
        call->output[o] = (optune_tensor){.rank = -1};
    const int status = ot_call_infer(call, err);
    if (status < 0 || ot_call_static(call))
        return status < 0 ? status : OPTUNE_OK;
    return optune_fail(err, OPTUNE_ETYPE, "its types are not known");
}

/* "data.0" in "x.1 data.0"; anything in "*" */
static bool listed(const char *list, const char *input, int dim)
{
    if (list && strcmp(list, "*") == 0)
        return true;
    char word[OPTUNE_NAME_SIZE];
    const int n = snprintf(word, sizeof word, "%s.%d", input, dim);
    for (const char *p = list; p && *p; p += strspn(p, " ")) {
        const size_t length = strcspn(p, " ");
        if ((int)length == n && strncmp(p, word, length) == 0)
            return true;
        p += length;
    }
    return false;
}

bool ot_impl_takes(const optune_impl *impl, const optune_call *call, char *why)
{
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const optune_tensor *type = &call->input[i].type;
        const char *input = ot_call_input_name(call, i);
        if (type->rank < 0 || type->dtype.code == OPTUNE_DTYPE_UNKNOWN)
            return optune_refuse(why, "the type of '%s' is unknown", input);
        for (int d = 0; d < type->rank; d++) {
            const optune_dim *dim = &type->dim[d];
            if (optune_dim_known(dim))
                continue;
            /* Who computes what is fused says what it takes. */
            if (i < call->n_inputs && !listed(impl->symbolic, input, d))
                return optune_refuse(why, "needs dim %d of '%s' to be a constant", d, input);
            if (dim->max == OPTUNE_DIM_MAX)
                return optune_refuse(why, "needs an upper bound of dim %d of '%s'", d, input);
        }
    }
    return true;
}
