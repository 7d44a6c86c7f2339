/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy that a target would use says which libraries are its. */
#include "support/belongs.h"

#include <string.h>

#include "strategy/strategy.h"

bool impl_belongs(const optune_impl *impl, const optune_target *target)
{
    if (!impl->library)
        return true;
    const optune_strategy *s = ot_strategy_find(ot_op_find(impl->op), target);
    for (const optune_strategy_row *row = s ? s->rows : NULL; row && row->impl; row++)
        if (!strcmp(row->impl, impl->name))
            return true;
    return false;
}
