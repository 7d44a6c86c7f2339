/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategies, implementations and searches there are: those in tree, then those added
 * by plugins. Rows in tree are judged by the contract tests; rows
 * added here are checked at once, since nobody tested them with us. Rows are added before the
 * first query, never during one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/embedded.h"
#include "strategy/inside.h"

static ot_rows strategies;
static ot_rows impls = {.kind = "implementation", .name = offsetof(optune_impl, name)};
static ot_rows searches = {.kind = "search", .name = offsetof(optune_search, name)};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void load(void);

/* A strategy by the name "op key", as it is asked for. */
typedef struct named_strategy {
    const char *name;
    const optune_strategy *strategy;
    const char *plugin; /* whose it is; NULL: in tree, or the program's own */
} named_strategy;
static ot_rows by_key = {.kind = "strategy", .name = offsetof(named_strategy, name)};
/* The generic implementations by their operators. */
static ot_rows generics = {.kind = "generic implementation", .name = offsetof(optune_impl, op)};

/* What would take a walk through tables or a body to find out of an implementation: found when
 * first asked for and kept. */
typedef struct impl_facts {
    const char *name;
    const optune_impl *impl;
    _Atomic(const optune_impl *)
        row;                /* the pattern's, or itself; NULL: the next is not known */
    const ot_body *body;    /* what the build wrote about the row; NULL: a plugin's */
    atomic_uint asked, has; /* of its body, a bit for each of ot_body_fact */
} impl_facts;
static ot_rows facts = {.kind = "implementation", .name = offsetof(impl_facts, name)};

/* The same by addresses, of a row and of its name, as each answer asks for those of all candidates.
 * One is there or another, so who is not found here is looked for by name. */
enum { ADDRESSES = 4096 }; /* a power of two */
static impl_facts *by_row[ADDRESSES], *by_text[ADDRESSES];
static bool same_names; /* of two of one name the last is found, by whatever text */

static size_t slot_of(const void *address)
{
    return (size_t)((uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 52) % ADDRESSES;
}

static void forget_addresses(void)
{
    memset(by_row, 0, sizeof by_row);
    memset(by_text, 0, sizeof by_text);
}

static _Atomic unsigned changes;

unsigned ot_registry_changes(void)
{
    pthread_once(&once, load);
    return atomic_load(&changes);
}

static const char *adding; /* whose rows are added; NULL: nobody's */

static void push_strategy(const optune_strategy *strategy)
{
    named_strategy *named = ot_alloc(sizeof *named);
    atomic_fetch_add(&changes, 1);
    ot_text name = {0};
    ot_text_printf(&name, "%s %s", strategy->op, strategy->key);
    *named = (named_strategy){name.s, strategy, adding};
    ot_rows_push(&strategies, strategy);
    ot_rows_push(&by_key, named);
}

static const named_strategy *named_of(const char *op, const char *key)
{
    char name[2 * OPTUNE_NAME_SIZE];
    const size_t n = strlen(op), n_key = strlen(key);
    if (n + 1 + n_key >= sizeof name) /* no row's names are that long */
        return NULL;
    memcpy(name, op, n);
    name[n] = ' ';
    memcpy(name + n + 1, key, n_key + 1);
    return ot_rows_find(&by_key, name);
}

static const optune_strategy *strategy_of(const char *op, const char *key)
{
    const named_strategy *named = named_of(op, key);
    return named ? named->strategy : NULL;
}

static void push_impl(const optune_impl *impl)
{
    impl_facts *known = ot_alloc(sizeof *known);
    atomic_fetch_add(&changes, 1);
    known->name = impl->name;
    known->impl = impl;
    same_names = same_names || ot_rows_find(&impls, impl->name);
    by_row[slot_of(impl)] = by_text[slot_of(impl->name)] = known;
    ot_rows_push(&impls, impl);
    ot_rows_push(&facts, known);
    if (impl->generic)
        ot_rows_push(&generics, impl);
}

static int in_tree_impls;

/* Rows of patterns and of families, which stand for one row of every op that is of it. */
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

/* One for each of a row's keys, unless what there is goes before it. */
static void push_keys(const optune_strategy *row, const optune_op *op)
{
    const char *key;
    for (int k = 0; (key = ot_strategy_key(row, k)); k++) {
        const optune_strategy *known = strategy_of(op->name, key);
        if (!known || ot_strategy_rank(known) <= ot_strategy_rank(row))
            push_strategy(row->op && !row->keys ? row : ot_pattern_strategy(row, op, key));
    }
}

/* All that patterns and families give to an op. */
static void expand_op(const optune_op *op)
{
    for (int i = 0; i < n_pattern_impls; i++)
        if (ot_row_serves(pattern_impl[i]->family, pattern_impl[i]->pattern, op))
            push_impl(ot_pattern_impl(pattern_impl[i], op));
    for (int i = 0; i < n_pattern_strategies; i++)
        if (ot_row_serves(pattern_strategy[i]->family, pattern_strategy[i]->pattern, op))
            push_keys(pattern_strategy[i], op);
}

/* All rows in tree of one kind, from files of one and from lists: those of patterns are kept. */
static void load_impls(void)
{
    for (const optune_impl *const *row = ot_impl_table; *row; row++)
        if ((*row)->op)
            push_impl(*row);
        else
            keep_pattern_impl(*row);
    for (const optune_impl *const *list = ot_impls_table; *list; list++)
        for (const optune_impl *row = *list; row->name; row++)
            if (row->op)
                push_impl(row);
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

/* Where a file lies decides nothing: implementations are ordered by name. Of strategies, what
 * patterns and families give comes first: a later one, the op's own, wins. */
static void load(void)
{
    for (const optune_search *const *row = ot_search_table; *row; row++)
        ot_rows_push(&searches, *row);
    ot_rows own = {0};
    load_impls();
    load_strategies(&own);
    int n;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++)
        expand_op(op[i]);
    for (int i = 0; i < own.n; i++) {
        const optune_strategy *row = own.row[i];
        push_keys(row, ot_op_find(row->op));
    }
    free(own.row);
    ot_rows_sort(&impls);
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

const optune_impl *ot_impl_find(const char *name)
{
    pthread_once(&once, load);
    const impl_facts *known = by_text[slot_of(name)];
    return known && known->name == name && !same_names ? known->impl
                                                       : ot_rows_find(&impls, name);
}

const optune_search *ot_search_find(const char *name)
{
    pthread_once(&once, load);
    return ot_rows_find(&searches, name);
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
    return *impl ? OPTUNE_OK : ot_rows_absent(&impls, name, NULL, err);
}

int ot_search_get(const char *name, const optune_search **search, optune_err *err)
{
    *search = ot_search_find(name);
    return *search ? OPTUNE_OK : ot_rows_absent(&searches, name, NULL, err);
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

/* Families are what operators say: a word that none says is a slip. */
static int check_family(const char *of, const char *family, optune_err *err)
{
    int n, n_known = 0;
    const optune_op *const *op = ot_ops(&n);
    const char **known = ot_alloc((size_t)(n + 1) * sizeof *known);
    bool found = false;
    for (int i = 0; i < n; i++)
        if (op[i]->family) {
            found = found || strcmp(op[i]->family, family) == 0;
            known[n_known++] = op[i]->family;
        }
    const char *nearest = found ? NULL : ot_nearest(family, known, n_known);
    free(known);
    return found ? OPTUNE_OK
                 : optune_fail(err, OPTUNE_ENOENT, "%s: no operator is of family '%s'%s%s%s",
                               of, family, nearest ? "; did you mean '" : "",
                               nearest ? nearest : "", nearest ? "'?" : "");
}

static bool same_row(const optune_impl *a, const optune_impl *b)
{
    const bool same = a->family && b->family
                          ? strcmp(a->family, b->family) == 0
                          : a->family == b->family && a->pattern == b->pattern;
    return same && strcmp(a->name, b->name) == 0;
}

/* What says of which op a row is: one of the three. NULL: it is one, or elementwise's. */
static const char *twofold(const char *op, const char *family, optune_pattern pattern)
{
    return op && family        ? "`op` and `family`"
           : op && pattern     ? "`op` and `pattern`"
           : family && pattern ? "`family` and `pattern`"
                               : NULL;
}

/* An implementation of a pattern or a family: one for every op there is, and for those to come. */
static int add_pattern_impl(const optune_impl *impl, optune_err *err)
{
    if (!impl->plan)
        return optune_fail(err, OPTUNE_EUSAGE, "implementation '%s' lacks `plan`", impl->name);
    if (n_pattern_impls == OT_MAX_PATTERN_ROWS)
        return optune_fail(err, OPTUNE_ELIMIT, "too many implementations of patterns, at '%s'",
                           impl->name);
    if (impl->family) {
        char of[2 * OPTUNE_NAME_SIZE];
        snprintf(of, sizeof of, "implementation '%s'", impl->name);
        const int status = check_family(of, impl->family, err);
        if (status < 0)
            return status;
    }
    for (int i = 0; i < n_pattern_impls; i++)
        if (same_row(pattern_impl[i], impl))
            return ot_row_taken(err, "implementation", impl->name);
    int n;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++) {
        const optune_impl *made = ot_row_serves(impl->family, impl->pattern, op[i])
                                      ? ot_pattern_impl(impl, op[i])
                                      : NULL;
        if (made && ot_impl_find(made->name))
            return ot_row_taken(err, "implementation", made->name);
        if (made)
            push_impl(made);
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
    const char *two = twofold(impl->op, impl->family, impl->pattern);
    if (two)
        return optune_fail(err, OPTUNE_EUSAGE, "implementation '%s' has %s", impl->name, two);
    OT_RETURN_UNLESS_OK(ot_body_check(impl, err));
    if (!impl->op)
        return add_pattern_impl(impl, err);
    if (ot_impl_find(impl->name))
        return ot_row_taken(err, "implementation", impl->name);
    status = ot_op_get(impl->op, &op, err);
    if (status < 0)
        return status;
    if (!impl->plan)
        return optune_fail(err, OPTUNE_EUSAGE, "implementation '%s' lacks `plan`", impl->name);
    push_impl(impl);
    return OPTUNE_OK;
}

static int check_when(const optune_strategy_row *row, optune_err *err)
{
    ot_condition *condition = NULL;
    const int status = row->when ? ot_condition_parse(row->when, &condition, err) : OPTUNE_OK;
    ot_condition_free(condition);
    return status;
}

/* "strategy of family 'scan' for 'cpu'", by its first key. */
typedef struct row_text {
    char text[4 * OPTUNE_NAME_SIZE];
} row_text;

static row_text row_name(const optune_strategy *strategy)
{
    const char *key = ot_strategy_key(strategy, 0);
    row_text t;
    snprintf(t.text, sizeof t.text, "strategy of %s%s%s for '%s'",
             strategy->op       ? "'"
             : strategy->family ? "family '"
                                : "a pattern",
             strategy->op       ? strategy->op
             : strategy->family ? strategy->family
                                : "",
             strategy->op || strategy->family ? "'" : "", key ? key : "");
    return t;
}

static int check_keys(const optune_strategy *strategy, optune_err *err)
{
    const char *key;
    int n = 0;
    if (strategy->key && strategy->keys)
        return optune_fail(err, OPTUNE_EUSAGE, "%s has `key` and `keys`",
                           row_name(strategy).text);
    const char *two = twofold(strategy->op, strategy->family, strategy->pattern);
    if (two)
        return optune_fail(err, OPTUNE_EUSAGE, "%s has %s", row_name(strategy).text, two);
    for (; (key = ot_strategy_key(strategy, n)); n++) {
        const int status = ot_row_check_name("strategy key", key, err);
        if (status < 0)
            return status;
        for (int i = 0; i < n; i++)
            if (strcmp(ot_strategy_key(strategy, i), key) == 0)
                return optune_fail(err, OPTUNE_ECONFLICT, "%s says key '%s' twice",
                                   row_name(strategy).text, key);
    }
    return n ? OPTUNE_OK : ot_row_check_name("strategy key", NULL, err);
}

/* That each row is an implementation of this op, and that its conditions can be read. */
static int check_rows(const optune_strategy *strategy, const optune_op *op, optune_err *err)
{
    for (const optune_strategy_row *row = strategy->rows; row->impl; row++) {
        char *made = strategy->op ? NULL : ot_pattern_name(op->name, row->impl);
        const optune_impl *impl = ot_impl_find(made ? made : row->impl);
        const bool fits = impl && strcmp(impl->op, op->name) == 0;
        const int status =
            fits           ? check_when(row, err)
            : strategy->op ? optune_fail(err, OPTUNE_ENOENT,
                                         "%s names '%s', which is no implementation of it",
                                         row_name(strategy).text, row->impl)
            : strategy->family
                ? optune_fail(err, OPTUNE_ENOENT,
                              "%s names '%s', but there is no implementation '%s'",
                              row_name(strategy).text, row->impl, made)
                : optune_fail(err, OPTUNE_ENOENT,
                              "%s names '%s', which is no implementation of that pattern%s",
                              row_name(strategy).text, row->impl,
                              strategy->pattern ? "" : " (or is `op` left out?)");
        free(made);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

/* That its conditions name dims of this op. */
static int check_names(const optune_strategy *strategy, const optune_op *op, optune_err *err)
{
    optune_strategy one = *strategy;
    one.op = op->name;
    one.key = ot_strategy_key(strategy, 0);
    return ot_strategy_names(&one, (const optune_strategy *const *)strategies.row, strategies.n,
                             err);
}

static int check_strategy(const optune_strategy *strategy, const optune_op *op, optune_err *err)
{
    const int status = check_rows(strategy, op, err);
    return status < 0 ? status : check_names(strategy, op, err);
}

/* A strategy of a pattern or a family: for ops that have none that goes before it for a key. All
 * are asked before the first is added. */
static int add_pattern_strategy(const optune_strategy *strategy, optune_err *err)
{
    if (n_pattern_strategies == OT_MAX_PATTERN_ROWS)
        return optune_fail(err, OPTUNE_ELIMIT, "%s: there are too many of patterns",
                           row_name(strategy).text);
    int n, status = OPTUNE_OK;
    const optune_op *const *op = ot_ops(&n);
    if (strategy->family)
        status = check_family(row_name(strategy).text, strategy->family, err);
    int served = 0;
    for (int i = 0; i < n && status >= 0; i++)
        if (ot_row_serves(strategy->family, strategy->pattern, op[i])) {
            status = check_strategy(strategy, op[i], err);
            served++;
        }
    if (status >= 0 && served == 0)
        status = optune_fail(err, OPTUNE_ENOENT, "%s: no operator declares the pattern",
                             row_name(strategy).text);
    if (status < 0)
        return status;
    for (int i = 0; i < n; i++)
        if (ot_row_serves(strategy->family, strategy->pattern, op[i]))
            push_keys(strategy, op[i]);
    keep_pattern_strategy(strategy);
    return OPTUNE_OK;
}

int ot_strategy_add(const optune_strategy *strategy, optune_err *err)
{
    pthread_once(&once, load);
    const optune_op *op = NULL;
    int n = 0, status = check_keys(strategy, err);
    if (status >= 0 && strategy->op)
        status = ot_op_get(strategy->op, &op, err);
    if (status < 0)
        return status;
    while (strategy->rows && strategy->rows[n].impl)
        n++;
    if (n == 0 || n > OT_MAX_CANDIDATES)
        return optune_fail(err, n ? OPTUNE_ELIMIT : OPTUNE_EUSAGE, "%s has %s rows",
                           row_name(strategy).text, n ? "too many" : "no");
    if (!op)
        return add_pattern_strategy(strategy, err);
    status = check_strategy(strategy, op, err);
    if (status >= 0)
        push_keys(strategy, op);
    return status;
}

void ot_registry_of_plugin(const char *name)
{
    adding = name;
}

void ot_strategy_origin(const optune_strategy *strategy, ot_text *to)
{
    static const char *const pattern[] = {"elementwise", "broadcast", "injective", "reduction"};
    const optune_strategy *row = ot_strategy_row(strategy);
    const named_strategy *named = named_of(strategy->op, strategy->key);
    ot_text_printf(to, "%s%s for '%s', ",
                   row->op       ? ""
                   : row->family ? "family "
                                 : "pattern ",
                   row->op                                      ? row->op
                   : row->family                                ? row->family
                   : (unsigned)row->pattern < OT_COUNT(pattern) ? pattern[row->pattern]
                                                                : "?",
                   strategy->key);
    if (named && named->strategy == strategy && named->plugin)
        ot_text_printf(to, "plugin '%s'", named->plugin);
    else
        ot_text_add(to, "in tree");
}

int ot_search_add(const optune_search *search, optune_err *err)
{
    pthread_once(&once, load);
    const int status = ot_rows_admit(&searches, search->name, err);
    if (status < 0)
        return status;
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
                              .generic = generics.n,
                              .search = searches.n,
                              .pattern_impl = n_pattern_impls,
                              .pattern_strategy = n_pattern_strategies,
                              .made = ot_pattern_now()};
}

/* Digests that were made when first asked for. */
typedef struct digest_row {
    const optune_impl *impl; /* NULL: it is gone, and another may be at its address */
    char hex[33];
    struct digest_row *next;
} digest_row;
static pthread_mutex_t digest_lock = PTHREAD_MUTEX_INITIALIZER;
static digest_row *digests;

static void forget_digests(int from)
{
    pthread_mutex_lock(&digest_lock);
    for (digest_row *row = digests; row; row = row->next)
        for (int i = from; i < impls.n; i++)
            if (row->impl == impls.row[i])
                row->impl = NULL;
    pthread_mutex_unlock(&digest_lock);
}

/* In tree the contract tests see to it; an operator that is added brings what its family names. */
int ot_registry_whole(ot_registry_mark mark, optune_err *err)
{
    for (int i = mark.strategy; i < by_key.n; i++) {
        const named_strategy *named = by_key.row[i];
        const optune_strategy *strategy = named->strategy;
        if (strategy_of(strategy->op, strategy->key) != strategy)
            continue; /* another goes before it */
        for (const optune_strategy_row *row = strategy->rows; row->impl; row++)
            if (!ot_impl_find(row->impl))
                return optune_fail(
                    err, OPTUNE_ENOENT,
                    "operator '%s' has no implementation '%s', which the strategy "
                    "of its %s for '%s' names: it needs one, or a strategy of its "
                    "own for '%s'",
                    strategy->op, row->impl,
                    ot_strategy_row(strategy)->family ? "family" : "pattern", strategy->key,
                    strategy->key);
    }
    return OPTUNE_OK;
}

/* What is kept of rows is released before the rows are: they are a plugin's. */
void ot_registry_rewind(ot_registry_mark mark)
{
    assert(mark.impl >= in_tree_impls);
    forget_digests(mark.impl);
    atomic_fetch_add(&changes, 1);
    for (int i = mark.strategy; i < by_key.n; i++) {
        const named_strategy *named = by_key.row[i];
        free((char *)named->name);
        free((named_strategy *)named);
    }
    for (int i = mark.impl; i < facts.n; i++)
        free((impl_facts *)facts.row[i]);
    ot_ops_rewind(mark.op);
    ot_rows_rewind(&strategies, mark.strategy);
    ot_rows_rewind(&by_key, mark.strategy);
    ot_rows_rewind(&impls, mark.impl);
    ot_rows_rewind(&facts, mark.impl);
    forget_addresses();
    ot_rows_rewind(&generics, mark.generic);
    ot_rows_rewind(&searches, mark.search);
    n_pattern_impls = mark.pattern_impl;
    n_pattern_strategies = mark.pattern_strategy;
    ot_pattern_rewind(mark.made);
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

/* Of an implementation that is in no table, which tests make, in `own`. Whoever finds what another
 * finds at the same time finds the same. */
static const impl_facts *facts_of(const optune_impl *impl, impl_facts *own)
{
    pthread_once(&once, load);
    impl_facts *known = by_row[slot_of(impl)];
    if (!known || known->impl != impl)
        known = (impl_facts *)ot_rows_find(&facts, impl->name);
    if (!known || known->impl != impl) {
        known = own;
        *own = (impl_facts){.impl = impl};
    }
    if (!atomic_load_explicit(&known->row, memory_order_acquire)) {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        const optune_impl *row = ot_pattern_row(impl);
        pthread_mutex_lock(&lock);
        known->body = body_of(row);
        atomic_store_explicit(&known->row, row, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    return known;
}

const optune_impl *ot_generic_of(const optune_op *op)
{
    pthread_once(&once, load);
    return ot_rows_find(&generics, op->name);
}

bool ot_impl_in_tree(const optune_impl *impl)
{
    impl_facts own;
    return facts_of(impl, &own)->body != NULL;
}

const char *ot_impl_source(const optune_impl *impl)
{
    impl_facts own;
    const impl_facts *known = facts_of(impl, &own);
    const optune_impl *row = known->row;
    const ot_body *body = row->source ? NULL : known->body;
    return row->source ? ot_body_text(row) : body && body->source ? body->source : "";
}

static bool source_has(const char *source, ot_body_fact fact)
{
    static const char *const words[] = {[OT_BODY_STORES] = "#define STORED_TENSORS",
                                        [OT_BODY_STORES_SOME] = "#define STORED_SOME",
                                        [OT_BODY_BRAIN] = "EPILOGUE_BRAIN"};
    return fact == OT_BODY_TEAM ? ot_team_runs(source) : strstr(source, words[fact]) != NULL;
}

bool ot_impl_has(const optune_impl *impl, ot_body_fact fact)
{
    impl_facts own;
    impl_facts *known = (impl_facts *)facts_of(impl, &own);
    const unsigned bit = 1u << fact;
    if (!(atomic_load(&known->asked) & bit)) {
        if (source_has(ot_impl_source(impl), fact))
            atomic_fetch_or(&known->has, bit);
        atomic_fetch_or(&known->asked, bit); /* behind what it says */
    }
    return atomic_load(&known->has) & bit;
}

/* Of rows that the build wrote none for: made when first asked for and kept. A plugin's covers the
 * code of all of it. */
static const char *made_digest(const optune_impl *impl)
{
    pthread_mutex_lock(&digest_lock);
    digest_row *found = digests;
    while (found && found->impl != impl)
        found = found->next;
    if (!found) {
        const optune_impl *row = ot_pattern_row(impl);
        const ot_body *body = body_of(row);
        ot_text declared = {0};
        ot_digest plugin;
        char code[33] = "";
        ot_pattern_declaration(impl, &declared);
        if (ot_object_digest(row, &plugin))
            ot_digest_hex(plugin, code);
        const char *const text[] = {impl->op,
                                    impl->name,
                                    ot_body_text(row),
                                    body ? body->digest : NULL,
                                    row == impl ? NULL : ot_text_str(&declared),
                                    *code ? code : NULL};
        found = ot_alloc(sizeof(*found));
        *found = (digest_row){.impl = impl, .next = digests};
        ot_digest_hex(ot_digest_texts(text, OT_COUNT(text)), found->hex);
        digests = found;
        ot_text_release(&declared);
    }
    pthread_mutex_unlock(&digest_lock);
    return found->hex;
}

bool ot_impl_runs_on(const optune_impl *impl, const optune_device *device, char *why)
{
    impl_facts own;
    const impl_facts *known = facts_of(impl, &own);
    const optune_impl *row = known->row;
    if ((!known->body && !row->source) || impl->library)
        return true;
    const int serves = row->source ? ot_body_serves(row) : known->body->serves;
    if (!(serves & OT_FOR_CPUS) && device->warp == 0)
        return optune_refuse(why, "its body is for GPUs");
    if (!(serves & OT_FOR_GPUS) && device->warp > 0)
        return optune_refuse(why, "its body is C for CPUs");
    return true;
}

const char *ot_impl_digest(const optune_impl *impl)
{
    impl_facts own;
    const impl_facts *known = facts_of(impl, &own);
    return known->body && known->row == impl ? known->body->digest : made_digest(impl);
}

void ot_sources_digest(char hex[33])
{
    int n = 0;
    while (ot_body_table[n].file)
        n++;
    const char **digest = ot_alloc((size_t)(n ? n : 1) * sizeof *digest);
    for (int i = 0; i < n; i++)
        digest[i] = ot_body_table[i].digest;
    ot_digest_hex(ot_digest_texts(digest, n), hex);
    free(digest);
}
