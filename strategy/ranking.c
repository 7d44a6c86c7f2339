/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates of an operator on a target, before any call is known: what its strategy names, the
 * generic one behind them, and the order in which plevel has them asked. Each answer begins with
 * them, so they are kept until rows are added or go.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

enum { PLACE_BITS = 8 };

typedef struct kept {
    struct kept *next;
    unsigned changes; /* of the rows there were, when it was made */
    const optune_op *op;
    ot_ranking ranking;
} kept;

/* As many as strategies, however targets are written. None is released: somebody may still read
 * what was kept before rows changed. */
static _Atomic(kept *) places[1 << PLACE_BITS];

static _Atomic(kept *) *place_of(const optune_op *op)
{
    return &places[(uint64_t)(uintptr_t)op * 0x9e3779b97f4a7c15u >> (64 - PLACE_BITS)];
}

int ot_row_plevel(const optune_strategy_row *row)
{
    return row->plevel == OPTUNE_PLEVEL_ZERO ? 0 : row->plevel ? row->plevel : OPTUNE_PLEVEL;
}

static void add(ot_ranking *to, const optune_impl *impl, int plevel)
{
    to->row[to->n] =
        (ot_considered){.impl = impl, .plevel = plevel, .order = to->n, .refusal = OT_UNASKED};
    to->n++;
}

static int enumerate(const optune_op *op, ot_ranking *to, optune_err *err)
{
    const optune_strategy *strategy = to->strategy;
    for (const optune_strategy_row *row = strategy->rows; row->impl; row++) {
        const optune_impl *impl = ot_impl_find(row->impl);
        if (!impl)
            return optune_fail(err, OPTUNE_ENOENT,
                               "no implementation '%s', which the strategy of "
                               "'%s' for '%s' names",
                               row->impl, op->name, strategy->key);
        if (to->n == OT_MAX_CANDIDATES)
            return optune_fail(err, OPTUNE_ELIMIT,
                               "strategy of '%s' names more than %d "
                               "implementations",
                               op->name, OT_MAX_CANDIDATES);
        add(to, impl, ot_row_plevel(row));
    }
    const optune_impl *generic = ot_generic_of(op);
    if (generic && to->n < OT_MAX_CANDIDATES)
        add(to, generic, OT_GENERIC_PLEVEL);
    return OPTUNE_OK;
}

/* The highest first, of equal ones the first named. */
static void sort(ot_ranking *r)
{
    for (int i = 0; i < r->n; i++) {
        int at = i;
        for (; at > 0 && r->row[r->by_level[at - 1]].plevel < r->row[i].plevel; at--)
            r->by_level[at] = r->by_level[at - 1];
        r->by_level[at] = (unsigned char)i;
    }
}

int ot_ranking_get(const optune_op *op, const optune_target *target, const ot_ranking **ranking,
                   optune_err *err)
{
    const unsigned changes = ot_registry_changes();
    const optune_strategy *strategy = ot_strategy_find(op, target);
    if (!strategy)
        return optune_fail(err, OPTUNE_ENOENT,
                           "operator '%s' has no strategy for target '%s' and no generic one",
                           op->name, target->kind);
    _Atomic(kept *) *const place = place_of(op);
    for (kept *k = atomic_load(place); k; k = k->next)
        if (k->op == op && k->changes == changes && k->ranking.strategy == strategy) {
            *ranking = &k->ranking;
            return OPTUNE_OK;
        }
    kept *made = ot_alloc(sizeof *made);
    made->changes = changes;
    made->op = op;
    made->ranking.strategy = strategy;
    const int status = enumerate(op, &made->ranking, err);
    if (status < 0) {
        free(made);
        return status;
    }
    sort(&made->ranking);
    made->next = atomic_load(place);
    while (!atomic_compare_exchange_weak(place, &made->next, made))
        ;
    *ranking = &made->ranking;
    return OPTUNE_OK;
}
