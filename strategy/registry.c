/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategies, implementations and searches there are: those in tree, then those added
 * by plugins. Rows in tree are judged by the contract tests; rows
 * added here are checked at once, since nobody tested them with us. Rows are added before the
 * first query, never during one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

static ot_rows strategies, impls, searches;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int in_tree_impls;

/* Rows of patterns, which stand for one row of every op that declares the pattern. */
static const optune_impl *pattern_impl[OT_MAX_PATTERN_ROWS];
static const optune_strategy *pattern_strategy[OT_MAX_PATTERN_ROWS];
static int n_pattern_impls, n_pattern_strategies;

static void keep_pattern_impl(const optune_impl *row)
{
    assert(n_pattern_impls < OT_MAX_PATTERN_ROWS);
    pattern_impl[n_pattern_impls++] = row;
}

static void keep_pattern_strategy(const optune_strategy *row)
{
    assert(n_pattern_strategies < OT_MAX_PATTERN_ROWS);
    pattern_strategy[n_pattern_strategies++] = row;
}

/* All that the patterns give to an op. */
static void expand_op(const optune_op *op)
{
    for (int i = 0; i < n_pattern_impls; i++)
        if (ot_pattern_serves(pattern_impl[i]->pattern, op))
            ot_rows_push(&impls, ot_pattern_impl(pattern_impl[i], op));
    for (int i = 0; i < n_pattern_strategies; i++)
        if (ot_pattern_serves(pattern_strategy[i]->pattern, op))
            ot_rows_push(&strategies, ot_pattern_strategy(pattern_strategy[i], op));
}

/* All rows in tree of one kind, from files of one and from lists: those of patterns are kept, those
 * of operators go to `own`. */
static void load_impls(ot_rows *own)
{
    for (const optune_impl *const *row = ot_impl_table; *row; row++)
        if ((*row)->op)
            ot_rows_push(own, *row);
        else
            keep_pattern_impl(*row);
    for (const optune_impl *const *list = ot_impls_table; *list; list++)
        for (const optune_impl *row = *list; row->name; row++)
            if (row->op)
                ot_rows_push(own, row);
            else
                keep_pattern_impl(row);
}

static void load_strategies(ot_rows *own)
{
    for (const optune_strategy *const *row = ot_strategy_table; *row; row++)
        if ((*row)->op)
            ot_rows_push(own, *row);
        else
            keep_pattern_strategy(*row);
    for (const optune_strategy *const *list = ot_strategies_table; *list; list++)
        for (const optune_strategy *row = *list; row->rows; row++)
            if (row->op)
                ot_rows_push(own, row);
            else
                keep_pattern_strategy(row);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const optune_impl *const *)a)->name,
                  (*(const optune_impl *const *)b)->name);
}

/* Where a file lies decides nothing: implementations are ordered by name. Of strategies, what
 * patterns give comes first: a later one, the op's own, wins. */
static void load(void)
{
    for (const optune_search *const *row = ot_search_table; *row; row++)
        ot_rows_push(&searches, *row);
    ot_rows own = {0};
    load_impls(&impls);
    load_strategies(&own);
    int n;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++)
        expand_op(op[i]);
    for (int i = 0; i < own.n; i++)
        ot_rows_push(&strategies, own.row[i]);
    free(own.row);
    qsort(impls.row, (size_t)impls.n, sizeof *impls.row, by_name);
    in_tree_impls = impls.n;
}

#define DEFINE_ALL(function, rows, type)                                                       \
    const type *const *function(int *n)                                                        \
    {                                                                                          \
        pthread_once(&once, load);                                                             \
        *n = (rows).n;                                                                         \
        return (const type *const *)(rows).row;                                                \
    }
DEFINE_ALL(ot_impls, impls, optune_impl)
DEFINE_ALL(ot_strategies, strategies, optune_strategy)
DEFINE_ALL(ot_searches, searches, optune_search)

#define DEFINE_FIND(function, all, type)                                                       \
    const type *function(const char *name)                                                     \
    {                                                                                          \
        int n;                                                                                 \
        const type *const *row = all(&n);                                                      \
        for (int i = 0; i < n; i++)                                                            \
            if (strcmp(row[i]->name, name) == 0)                                               \
                return row[i];                                                                 \
        return NULL;                                                                           \
    }
DEFINE_FIND(ot_impl_find, ot_impls, optune_impl)
DEFINE_FIND(ot_search_find, ot_searches, optune_search)

static const optune_strategy *strategy_of(const char *op, const char *key)
{
    for (int i = strategies.n - 1; i >= 0; i--) {
        const optune_strategy *row = strategies.row[i];
        if (strcmp(row->op, op) == 0 && strcmp(row->key, key) == 0)
            return row;
    }
    return NULL;
}

const optune_strategy *ot_strategy_find(const optune_op *op, const optune_target *target)
{
    pthread_once(&once, load);
    for (int i = 0; i < target->n_keys; i++) {
        const optune_strategy *found = strategy_of(op->name, target->key[i]);
        if (found)
            return found;
    }
    return strategy_of(op->name, "generic");
}

int ot_impl_get(const char *name, const optune_impl **impl, optune_err *err)
{
    *impl = ot_impl_find(name);
    if (*impl)
        return OPTUNE_OK;
    int n;
    const optune_impl *const *row = ot_impls(&n);
    const char **names = ot_alloc((size_t)(n + 1) * sizeof(*names));
    for (int i = 0; i < n; i++)
        names[i] = row[i]->name;
    const int status = ot_no_such(err, "implementation", name, names, n);
    free(names);
    return status;
}

int ot_search_get(const char *name, const optune_search **search, optune_err *err)
{
    *search = ot_search_find(name);
    if (*search)
        return OPTUNE_OK;
    int n;
    const optune_search *const *row = ot_searches(&n);
    const char **names = ot_alloc((size_t)(n + 1) * sizeof(*names));
    for (int i = 0; i < n; i++)
        names[i] = row[i]->name;
    const int status = ot_no_such(err, "search", name, names, n);
    free(names);
    return status;
}

/* ---- rows of others ---------------------------------------------------------------------- */

int ot_op_add(const optune_op *op, optune_err *err)
{
    pthread_once(&once, load);
    const int status = ot_ops_add(op, err);
    if (status >= 0)
        expand_op(op);
    return status;
}

/* An implementation of a pattern: one for every op there is, and for those to come. */
static int add_pattern_impl(const optune_impl *impl, optune_err *err)
{
    if (!impl->plan)
        return optune_fail(err, OPTUNE_EUSAGE, "implementation '%s' lacks `plan`", impl->name);
    if (n_pattern_impls == OT_MAX_PATTERN_ROWS)
        return optune_fail(err, OPTUNE_ELIMIT, "too many implementations of patterns, at '%s'",
                           impl->name);
    for (int i = 0; i < n_pattern_impls; i++)
        if (strcmp(pattern_impl[i]->name, impl->name) == 0 &&
            pattern_impl[i]->pattern == impl->pattern)
            return ot_row_taken(err, "implementation", impl->name);
    int n;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        const optune_impl *made =
            ot_pattern_serves(impl->pattern, op[i]) ? ot_pattern_impl(impl, op[i]) : NULL;
        if (made && ot_impl_find(made->name))
            return ot_row_taken(err, "implementation", made->name);
        if (made)
            ot_rows_push(&impls, made);
    }
    keep_pattern_impl(impl);
    return OPTUNE_OK;
}

int ot_impl_add(const optune_impl *impl, optune_err *err)
{
    pthread_once(&once, load);
    const optune_op *op;
    int status = ot_row_check_name("implementation", impl->name, err);
    if (status < 0)
        return status;
    if (!impl->op)
        return add_pattern_impl(impl, err);
    if (ot_impl_find(impl->name))
        return ot_row_taken(err, "implementation", impl->name);
    status = ot_op_get(impl->op, &op, err);
    if (status < 0)
        return status;
    if (!impl->plan)
        return optune_fail(err, OPTUNE_EUSAGE, "implementation '%s' lacks `plan`", impl->name);
    ot_rows_push(&impls, impl);
    return OPTUNE_OK;
}

static int check_when(const optune_strategy_row *row, optune_err *err)
{
    ot_condition *condition = NULL;
    const int status = row->when ? ot_condition_parse(row->when, &condition, err) : OPTUNE_OK;
    ot_condition_free(condition);
    return status;
}

static int check_row(const optune_strategy *strategy, const optune_strategy_row *row,
                     optune_err *err)
{
    const optune_impl *impl = ot_impl_find(row->impl);
    if (!impl || strcmp(impl->op, strategy->op) != 0)
        return optune_fail(
            err, OPTUNE_ENOENT,
            "strategy of '%s' for '%s' names '%s', which is no implementation of it",
            strategy->op, strategy->key, row->impl);
    return check_when(row, err);
}

static int check_names(const optune_strategy *strategy, optune_err *err)
{
    return ot_strategy_names(strategy, (const optune_strategy *const *)strategies.row,
                             strategies.n, err);
}

/* A strategy of a pattern: for ops that have only a pattern's for this key. */
static int add_pattern_strategy(const optune_strategy *strategy, optune_err *err)
{
    if (n_pattern_strategies == OT_MAX_PATTERN_ROWS)
        return optune_fail(err, OPTUNE_ELIMIT, "too many strategies of patterns, at '%s'",
                           strategy->key);
    for (const optune_strategy_row *row = strategy->rows; row && row->impl; row++) {
        bool known = false;
        for (int i = 0; i < n_pattern_impls; i++)
            known = known || (pattern_impl[i]->pattern == strategy->pattern &&
                              strcmp(pattern_impl[i]->name, row->impl) == 0);
        if (!known)
            return optune_fail(err, OPTUNE_ENOENT,
                               "strategy of a pattern for '%s' names '%s', which is no "
                               "implementation of that pattern",
                               strategy->key, row->impl);
        const int status = check_when(row, err);
        if (status < 0)
            return status;
    }
    int n;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        if (!ot_pattern_serves(strategy->pattern, op[i]))
            continue;
        const optune_strategy *own = strategy_of(op[i]->name, strategy->key);
        if (own && !ot_pattern_made(own))
            continue;
        const optune_strategy *made = ot_pattern_strategy(strategy, op[i]);
        const int status = check_names(made, err);
        if (status < 0)
            return status;
        ot_rows_push(&strategies, made);
    }
    keep_pattern_strategy(strategy);
    return OPTUNE_OK;
}

int ot_strategy_add(const optune_strategy *strategy, optune_err *err)
{
    pthread_once(&once, load);
    int status = ot_row_check_name("strategy key", strategy->key, err);
    if (status < 0)
        return status;
    if (!strategy->op)
        return add_pattern_strategy(strategy, err);
    const optune_op *op;
    status = ot_op_get(strategy->op, &op, err);
    if (status < 0)
        return status;
    int n = 0;
    for (; strategy->rows && strategy->rows[n].impl; n++)
        if ((status = check_row(strategy, &strategy->rows[n], err)) < 0)
            return status;
    if (n == 0 || n > OT_MAX_CANDIDATES)
        return optune_fail(err, n ? OPTUNE_ELIMIT : OPTUNE_EUSAGE,
                           "strategy of '%s' for '%s' has %s rows", strategy->op, strategy->key,
                           n ? "too many" : "no");
    status = check_names(strategy, err);
    if (status < 0)
        return status;
    ot_rows_push(&strategies, strategy);
    return OPTUNE_OK;
}

int ot_search_add(const optune_search *search, optune_err *err)
{
    pthread_once(&once, load);
    const int status = ot_row_check_name("search", search->name, err);
    if (status < 0)
        return status;
    if (ot_search_find(search->name))
        return ot_row_taken(err, "search", search->name);
    if (!search->ask)
        return optune_fail(err, OPTUNE_EUSAGE, "search '%s' lacks `ask`", search->name);
    ot_rows_push(&searches, search);
    return OPTUNE_OK;
}

ot_registry_mark ot_registry_now(void)
{
    pthread_once(&once, load);
    int n;
    ot_ops(&n);
    return (ot_registry_mark){.op = n,
                              .strategy = strategies.n,
                              .impl = impls.n,
                              .search = searches.n,
                              .pattern_impl = n_pattern_impls,
                              .pattern_strategy = n_pattern_strategies};
}

void ot_registry_rewind(ot_registry_mark mark)
{
    assert(mark.impl >= in_tree_impls);
    ot_ops_rewind(mark.op);
    strategies.n = mark.strategy;
    impls.n = mark.impl;
    searches.n = mark.search;
    n_pattern_impls = mark.pattern_impl;
    n_pattern_strategies = mark.pattern_strategy;
}

/* ---- bodies ------------------------------------------------------------------------------ */

/* What the build wrote about a row in tree; NULL: a plugin's. Files of the tables and bodies are in
 * one order. */
static const ot_body *body_of(const optune_impl *impl)
{
    int file = 0;
    for (int i = 0; ot_impl_table[i]; i++, file++)
        if (ot_impl_table[i] == impl)
            return &ot_body_table[file];
    for (int i = 0; ot_impls_table[i]; i++, file++)
        for (const optune_impl *row = ot_impls_table[i]; row->name; row++)
            if (row == impl)
                return &ot_body_table[file];
    return NULL;
}

const char *ot_impl_source(const optune_impl *impl)
{
    const optune_impl *row = ot_pattern_row(impl);
    const ot_body *body = row->source ? NULL : body_of(row);
    return row->source ? row->source : body && body->source ? body->source : "";
}

typedef struct digest_row {
    const optune_impl *impl;
    char hex[33];
    struct digest_row *next;
} digest_row;

/* Of rows that the build wrote none for: made when first asked for and kept. */
static const char *made_digest(const optune_impl *impl)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static digest_row *known;
    pthread_mutex_lock(&lock);
    digest_row *found = known;
    while (found && found->impl != impl)
        found = found->next;
    if (!found) {
        const optune_impl *row = ot_pattern_row(impl);
        const ot_body *body = body_of(row);
        ot_text declared = {0};
        ot_pattern_declaration(impl, &declared);
        const char *const text[] = {impl->op, impl->name, row->source,
                                    body ? body->digest : NULL,
                                    row == impl ? NULL : ot_text_str(&declared)};
        found = ot_alloc(sizeof(*found));
        *found = (digest_row){.impl = impl, .next = known};
        ot_digest_hex(ot_digest_texts(text, OT_COUNT(text)), found->hex);
        known = found;
        ot_text_release(&declared);
    }
    pthread_mutex_unlock(&lock);
    return found->hex;
}

bool ot_impl_runs_on(const optune_impl *impl, const optune_device *device, char *why)
{
    const ot_body *body = body_of(ot_pattern_row(impl));
    if (!body || impl->source || impl->library)
        return true;
    if (!(body->serves & OT_FOR_CPUS) && device->warp == 0)
        return optune_refuse(why, "its body is for GPUs");
    if (!(body->serves & OT_FOR_GPUS) && device->warp > 0)
        return optune_refuse(why, "its body is C for CPUs");
    return true;
}

const char *ot_impl_digest(const optune_impl *impl)
{
    const ot_body *body = body_of(impl);
    return body ? body->digest : made_digest(impl);
}
