/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims of outputs that a relation computes, as expressions over dims of inputs: (n+1)/2 of a pooled
 * row, 2*n, n+m of two that are joined. A relation is asked and never read: what fits a few
 * sizes is held against it at many others, and what does not hold has no expression.
 */
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "call/inside.h"

enum { SIZES = 512, MOST_STEP = 64 };

typedef struct asking {
    const optune_call *call;
    optune_call *narrowed;
    ot_symbols all;
    int o, d;
} asking;

/* The dim where the symbols have these sizes; negative: the types do not allow them. */
static int64_t dim_where(asking *a, const int64_t *size)
{
    ot_symbols at = a->all;
    for (int i = 0; i < at.n; i++)
        at.dim[i].min = at.dim[i].max = size[i];
    if (ot_call_narrow(a->call, &at, a->narrowed, NULL) != OPTUNE_OK)
        return -1;
    const optune_tensor *out = &a->narrowed->output[a->o];
    return a->d < out->rank && optune_dim_known(&out->dim[a->d]) ? out->dim[a->d].min : -1;
}

static int64_t random_size(const optune_dim *dim, uint64_t *rng)
{
    const int64_t lo = dim->min > 1 ? dim->min : 1;
    return dim->max <= lo ? lo : lo + optune_random_below(rng, dim->max - lo + 1);
}

/* Of one symbol: floor((slope * n + shift) / step), as strides, windows and blocks make it. */
static bool one_symbol(asking *a, int k, int64_t *size, ot_text *to)
{
    const optune_dim *dim = &a->all.dim[k];
    const int64_t lo = dim->min > 1 ? dim->min : 1, hi = dim->max;
    uint64_t rng = 1;
    for (int64_t step = 1; step <= MOST_STEP && lo + step <= hi; step++) {
        size[k] = lo;
        const int64_t first = dim_where(a, size);
        size[k] = lo + step;
        const int64_t slope = dim_where(a, size) - first;
        int64_t least = INT64_MIN, most = INT64_MAX;
        for (int t = 0; t < SIZES && least <= most; t++) {
            const int64_t n = t < 2 * step && lo + t <= hi ? lo + t
                              : t == SIZES - 1             ? hi
                                                           : random_size(dim, &rng);
            size[k] = n;
            const int64_t value = dim_where(a, size);
            if (value < 0)
                return false;
            const int64_t shift = value * step - slope * n;
            least = shift > least ? shift : least;
            most = shift + step - 1 < most ? shift + step - 1 : most;
        }
        if (least > most || slope < 0 || slope * lo + least < 0)
            continue;
        ot_text_printf(to, "((%lld*%s%+lld)/%lld)", (long long)slope, dim->name,
                       (long long)least, (long long)step);
        return true;
    }
    return false;
}

/* Of several: a sum of multiples, or their product over a constant. */
static bool holds(asking *a, const int64_t *factor, int64_t constant, int64_t by, bool sum)
{
    int64_t size[OT_MAX_SYMBOLS];
    uint64_t rng = 2;
    int met = 0;
    for (int t = 0; t < SIZES; t++) {
        int64_t value = constant;
        for (int i = 0; i < a->all.n; i++) {
            size[i] = random_size(&a->all.dim[i], &rng);
            if (sum)
                value += factor[i] * size[i];
            else if (factor[i] && __builtin_mul_overflow(value, size[i], &value))
                return false;
        }
        const int64_t is = dim_where(a, size);
        met += is >= 0;
        if (is >= 0 && is * by != value)
            return false;
    }
    return met > SIZES / 8;
}

static bool several(asking *a, const int64_t *base, const bool *matters, ot_text *to)
{
    int64_t size[OT_MAX_SYMBOLS], factor[OT_MAX_SYMBOLS] = {0};
    memcpy(size, base, sizeof size);
    int64_t product = 1, constant = dim_where(a, size);
    const int64_t whole = constant;
    for (int i = 0; i < a->all.n; i++) {
        if (!matters[i])
            continue;
        size[i] = base[i] - 1;
        factor[i] = whole - dim_where(a, size);
        size[i] = base[i];
        constant -= factor[i] * base[i];
        if (__builtin_mul_overflow(product, base[i], &product))
            return false;
    }
    if (holds(a, factor, constant, 1, true)) {
        ot_text_printf(to, "(%lld", (long long)constant);
        for (int i = 0; i < a->all.n; i++)
            if (factor[i])
                ot_text_printf(to, "%+lld*%s", (long long)factor[i], a->all.dim[i].name);
        ot_text_add(to, ")");
        return true;
    }
    const int64_t times = whole >= product && product ? whole / product : 1;
    const int64_t by = whole && whole < product ? product / whole : 1;
    for (int i = 0; i < a->all.n; i++)
        factor[i] = matters[i];
    if (!holds(a, factor, times, by, false))
        return false;
    ot_text_printf(to, "(%lld", (long long)times);
    for (int i = 0; i < a->all.n; i++)
        if (matters[i])
            ot_text_printf(to, "*%s", a->all.dim[i].name);
    ot_text_printf(to, "/%lld)", (long long)by);
    return true;
}

static bool find(asking *a, ot_text *to)
{
    int64_t base[OT_MAX_SYMBOLS], size[OT_MAX_SYMBOLS];
    bool matters[OT_MAX_SYMBOLS];
    int n = 0, last = 0;
    for (int i = 0; i < a->all.n; i++)
        base[i] = size[i] = a->all.dim[i].max;
    const int64_t most = dim_where(a, size);
    if (most < 0)
        return false;
    for (int i = 0; i < a->all.n; i++) {
        size[i] = a->all.dim[i].min > 1 ? a->all.dim[i].min : 1;
        matters[i] = dim_where(a, size) != most;
        size[i] = base[i];
        n += matters[i];
        last = matters[i] ? i : last;
    }
    if (!n)
        ot_text_printf(to, "%lld", (long long)most);
    return !n || (n == 1 ? one_symbol(a, last, base, to) : several(a, base, matters, to));
}

static bool of_symbols(const void *arg, const char *name, optune_dim *is)
{
    const ot_symbols *all = arg;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->dim[i].name, name) == 0) {
            *is = all->dim[i];
            return true;
        }
    return false;
}

int ot_dim_formula_over(const optune_call *call, const ot_symbols *over, int o, int d,
                        ot_text *to, optune_err *err)
{
    asking a = {
        .call = call, .o = o, .d = d, .all = *over, .narrowed = ot_alloc(sizeof *a.narrowed)};
    const optune_dim *dim = &call->output[o].dim[d];
    int status = OPTUNE_OK;
    if (over->n > OT_MAX_SYMBOLS)
        status = optune_fail(err, OPTUNE_ELIMIT, "more than %d symbolic dims: bind some to numbers",
                             OT_MAX_SYMBOLS);
    for (int i = 0; i < a.all.n && status >= 0; i++)
        if (dim->name[0] && !strcmp(dim->name, a.all.dim[i].name)) {
            ot_text_add(to, dim->name);
            status = 1;
            break;
        }
    if (status == OPTUNE_OK && optune_dim_known(dim))
        ot_text_printf(to, "%lld", (long long)dim->min);
    else if (status == OPTUNE_OK && !find(&a, to)) {
        if (ot_dim_follows(dim, of_symbols, &a.all))
            ot_text_printf(to, "(%s)", optune_dim_text(dim));
        else
            status = optune_fail(
                err, OPTUNE_EUNSUPPORTED,
                "dim %d of output %d has no expression over the dims of inputs", d, o);
    }
    free(a.narrowed);
    return status < 0 ? status : OPTUNE_OK;
}

int ot_dim_formula(const optune_call *call, int o, int d, ot_text *to, optune_err *err)
{
    ot_symbols *all = ot_alloc(sizeof *all);
    int status = ot_symbols_of(call, all, err);
    if (status >= 0)
        status = ot_dim_formula_over(call, all, o, d, to, err);
    free(all);
    return status;
}

const optune_dim *ot_call_arg_dim(const optune_call *call, const optune_arg *arg)
{
    const int tensor = arg->index / OPTUNE_MAX_RANK, d = arg->index % OPTUNE_MAX_RANK;
    const optune_tensor *type = NULL;
    if (arg->index >= 0 && tensor < optune_call_inputs(call))
        type = &call->input[tensor].type;
    else if (tensor >= OPTUNE_MAX_INPUTS && tensor - OPTUNE_MAX_INPUTS < call->n_outputs)
        type = &call->output[tensor - OPTUNE_MAX_INPUTS];
    return type && d < type->rank ? &type->dim[d] : NULL;
}
