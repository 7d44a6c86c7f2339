/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding an implementation to a strategy at run time: the strategy of an op and key is replaced by
 * one with a row more, as a plugin's replaces it whole. Never touches a table in tree. What is
 * made lives for ever.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

const optune_strategy *optune_strategy_of(const char *op, const char *key)
{
    int n;
    const optune_strategy *const *all = ot_strategies(&n);
    for (int i = n - 1; i >= 0; i--)
        if (all[i]->op && strcmp(all[i]->op, op) == 0 && strcmp(all[i]->key, key) == 0)
            return all[i];
    return NULL;
}

int optune_strategy_add(const optune_strategy *strategy, const optune_impl *impl, int plevel,
                        optune_err *err)
{
    const optune_strategy *now = optune_strategy_of(strategy->op, strategy->key);
    const optune_impl *known = ot_impl_find(impl->name);
    int n = 0, status = OPTUNE_OK;
    for (; now && now->rows[n].impl; n++)
        if (strcmp(now->rows[n].impl, impl->name) == 0)
            return optune_fail(err, OPTUNE_ECONFLICT,
                               "strategy of '%s' for '%s' has '%s' already", now->op, now->key,
                               impl->name);
    if (known && known != impl)
        return optune_fail(err, OPTUNE_ECONFLICT, "there is another implementation '%s'",
                           impl->name);
    const ot_registry_mark mark = ot_registry_now();
    if (!known && (status = ot_impl_add(impl, err)) < 0)
        return status;
    optune_strategy *more = ot_alloc(sizeof *more);
    optune_strategy_row *rows = ot_alloc((size_t)(n + 2) * sizeof *rows);
    for (int i = 0; i < n; i++)
        rows[i] = now->rows[i];
    rows[n] = (optune_strategy_row){.impl = impl->name, .plevel = plevel};
    *more = now ? *now : *strategy;
    more->rows = rows;
    status = ot_strategy_add(more, err);
    if (status < 0) {
        ot_registry_rewind(mark);
        free(rows);
        free(more);
    }
    return status;
}
