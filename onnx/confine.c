/* SPDX-License-Identifier: Apache-2.0 */
/* How large an open dim is from now on, at most or at least, as a node can do with so many only. */
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

static bool is_it(const void *arg, const char *name, optune_dim *is)
{
    (void)name;
    *is = *(const optune_dim *)arg;
    return true;
}

/* What a dim of one name is where that is `value`; INT64_MAX: beyond bounds. */
static int64_t at_value(const optune_dim *dim, int64_t value)
{
    const optune_dim is = optune_dim_of(value);
    if (!ot_dim_computed(dim))
        return value;
    optune_dim to = *dim;
    return ot_dim_settle(&to, is_it, &is) && optune_dim_known(&to) ? to.min : INT64_MAX;
}

bool ot_onnx_only_name(const optune_dim *dim, char only[OPTUNE_DIM_NAME_SIZE])
{
    const char *text = optune_dim_text(dim), *name;
    *only = 0;
    for (int length; (name = ot_dim_next_name(text, &length)); text = name + length) {
        char word[OPTUNE_DIM_NAME_SIZE];
        snprintf(word, sizeof word, "%.*s", length, name);
        if (*only && strcmp(only, word) != 0)
            return false;
        memcpy(only, word, sizeof word);
    }
    return *only;
}

bool ot_onnx_confine(ot_onnx_node *n, const optune_dim *dim, int64_t by, bool most)
{
    char name[OPTUNE_DIM_NAME_SIZE];
    int64_t low = 0, high = OPTUNE_MAX_DIM; /* the largest whose dim is less than `limit` */
    const int64_t limit = most ? by + 1 : by;
    if (most ? dim->max <= by : dim->min >= by)
        return true;
    if (*dim->name && !ot_onnx_only_name(dim, name)) {
        if (most && dim->min >= by) { /* it would be a number, of which no run asks */
            ot_onnx_ask(n, dim, -1);
            return false;
        }
        return ot_graph_narrow(n->m->g, dim, most ? dim->min : by, most ? by : dim->max,
                               n->err) >= 0;
    }
    if (!ot_onnx_only_name(dim, name) || at_value(dim, high) < limit ||
        (most && at_value(dim, low) >= limit)) {
        ot_onnx_ask(n, dim, -1);
        return false;
    }
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (at_value(dim, middle) < limit)
            low = middle;
        else
            high = middle - 1;
    }
    const int64_t least = at_value(dim, low) < limit ? low + 1 : low;
    return optune_graph_bound(n->m->g, name, most ? 0 : least, most ? low : -1, n->err) >= 0;
}
