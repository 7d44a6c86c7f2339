/* SPDX-License-Identifier: Apache-2.0 */
/* What graph/attend_side.h declares. */
#include <math.h>

#include "graph/attend_side.h"
#include "graph/look.h"

int64_t ot_attend_back(const optune_tensor *type, int d)
{
    return d <= type->rank ? type->dim[type->rank - d].min : 1;
}

int64_t ot_attend_in_front(const optune_tensor *type)
{
    int64_t n = 1;
    for (int d = 0; d < type->rank - 2; d++)
        n *= type->dim[d].min;
    return n;
}

bool ot_attend_same_type(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank && optune_dtype_equal(a->dtype, b->dtype);
    for (int d = 0; same && d < a->rank; d++)
        same = a->dim[d].min == b->dim[d].min;
    return same;
}

bool ot_attend_is_view(const optune_graph *g, const ot_node *node)
{
    if (!ot_node_is(node, "reshape") && !ot_node_is(node, "expand_dims") &&
        !ot_node_is(node, "squeeze"))
        return false;
    const optune_tensor *in = ot_graph_type_of(g, node->in[0]), *out = &node->out[0];
    return in->rank >= 2 && out->rank >= 2 && ot_attend_back(in, 1) == ot_attend_back(out, 1) &&
           ot_attend_back(in, 2) == ot_attend_back(out, 2);
}

static bool holds(optune_dtype wide, optune_dtype dtype)
{
    return optune_dtype_equal(wide, dtype) ||
           (wide.code == OPTUNE_DTYPE_FLOAT && wide.lanes == 1 && wide.bits > dtype.bits);
}

bool ot_attend_is_recast(const optune_graph *g, const ot_node *node, optune_dtype dtype)
{
    return ot_node_is(node, "cast") && holds(ot_graph_type_of(g, node->in[0])->dtype, dtype) &&
           holds(node->out[0].dtype, dtype);
}

bool ot_attend_is_scaled(const optune_graph *g, const ot_node *node, ot_value *value,
                         double *factor)
{
    const bool quotient = ot_node_is(node, "divide");
    double number = 0;
    if (!quotient && !ot_node_is(node, "multiply"))
        return false;
    for (int i = quotient; i < 2; i++)
        if (ot_graph_number(g, node->in[i], &number) &&
            ot_attend_same_type(ot_graph_type_of(g, node->in[1 - i]), &node->out[0])) {
            *value = node->in[1 - i];
            *factor = quotient ? 1 / number : number;
            return isfinite(*factor) && *factor != 0;
        }
    return false;
}

/* A broadcast, or a tensor joined to itself: how often each matrix follows itself, the last dims in
 * front being what repeats; 1: never. */
static int64_t stretched(const optune_tensor *in, const optune_tensor *out)
{
    bool behind = false; /* a dim that does not repeat, or more of one that does */
    int64_t n = 1;
    for (int d = in->rank - 1; d >= 0; d--) {
        const int64_t from = in->dim[d].min, to = out->dim[d].min;
        if (from == to) {
            behind = behind || (d < in->rank - 2 && to != 1);
            continue;
        }
        if (from != 1 || behind || d >= in->rank - 2)
            return 1;
        n = to;
        behind = true;
    }
    return n;
}

/* What `value` is a part of along the axis, and where it begins; itself and 0. */
static ot_value part_of(const optune_graph *g, ot_value value, int axis, int64_t *begin)
{
    const ot_node *node = &g->node[value.node];
    *begin = 0;
    if (!ot_node_is(node, "strided_slice"))
        return value;
    const optune_tensor *in = ot_graph_type_of(g, node->in[0]), *out = &node->out[0];
    const optune_attr *from = optune_call_attr(node->call, "begin");
    const optune_attr *step = optune_call_attr(node->call, "strides");
    bool only = from->n > axis && from->i[axis] >= 0;
    for (int d = 0; d < in->rank && only; d++)
        only = d == axis || in->dim[d].min == out->dim[d].min;
    for (int d = 0; d < step->n && only; d++)
        only = step->i[d] == 1;
    *begin = only ? from->i[axis] : 0;
    return only ? node->in[0] : value;
}

/* Lookups of each head several times, as slices that are joined. */
static int64_t picked(const optune_graph *g, const ot_node *node, ot_value *value)
{
    const optune_tensor *out = &node->out[0];
    const int axis = out->rank - 3;
    int64_t begin, at = 0;
    const ot_value from = part_of(g, node->in[0], axis, &begin);
    const optune_tensor *in = ot_graph_type_of(g, from);
    const int64_t heads = in->dim[axis].min, n = heads ? out->dim[axis].min / heads : 0;
    if (n < 2 || n * heads != out->dim[axis].min)
        return 1;
    for (int i = 0; i < node->n_in; i++) {
        const ot_value one = part_of(g, node->in[i], axis, &begin);
        const int64_t count = ot_graph_type_of(g, node->in[i])->dim[axis].min;
        if (one.node != from.node || one.output != from.output)
            return 1;
        for (int64_t k = 0; k < count; k++)
            if ((at++) / n != begin + k)
                return 1;
    }
    *value = from;
    return n;
}

/* How often each head of `value`, which is found, follows itself in what the node gives. */
static int64_t repeats(const optune_graph *g, const ot_node *node, ot_value *value)
{
    const bool joined = ot_node_is(node, "concatenate");
    if (!joined && !ot_node_is(node, "broadcast_to") && !ot_node_is(node, "broadcast_to_like"))
        return 1;
    const optune_tensor *in = ot_graph_type_of(g, node->in[0]), *out = &node->out[0];
    if (in->rank != out->rank || in->rank < 3)
        return 1;
    *value = node->in[0];
    for (int i = 1; i < node->n_in && joined; i++)
        if (node->in[i].node != value->node || node->in[i].output != value->output)
            return picked(g, node, value);
    return stretched(in, out);
}

void ot_attend_peel(const optune_graph *g, ot_value value, bool flip, optune_dtype dtype,
                    double *scale, ot_attend_side *side)
{
    const optune_tensor *type = ot_graph_type_of(g, value);
    *side = (ot_attend_side){.heads = ot_attend_in_front(type),
                             .rows = ot_attend_back(type, flip ? 1 : 2),
                             .columns = ot_attend_back(type, flip ? 2 : 1),
                             .shared = 1};
    bool turned = false;
    for (int i = 0; i < OT_ATTEND_STEPS; i++) {
        const ot_node *node = &g->node[value.node];
        const int rank = node->kind == OT_NODE_CALL ? node->out[0].rank : 0;
        double factor = 1;
        ot_value inner;
        const int64_t n = turned ? 1 : repeats(g, node, &inner);
        if (n > 1) {
            value = inner;
            side->shared *= n;
            side->heads /= n;
        } else if ((!turned && ot_attend_is_view(g, node)) ||
                   ot_attend_is_recast(g, node, dtype)) {
            value = node->in[0];
        } else if (scale && ot_attend_is_scaled(g, node, &inner, &factor)) {
            *scale *= factor;
            value = inner;
        } else if (flip && !turned && ot_node_is(node, "transpose")) {
            const optune_attr *axes = optune_call_attr(node->call, "axes");
            for (int d = 0; d < rank; d++)
                side->axes[d] = axes->n ? (int)axes->i[d] : rank - 1 - d;
            side->n_axes = rank;
            value = node->in[0];
            turned = true;
            bool front = rank >= 2;
            for (int d = 0; d < rank - 2; d++)
                front = front && side->axes[d] == d;
            if (front && side->axes[rank - 1] == rank - 2) { /* as the call wants it */
                flip = turned = false;
                side->n_axes = 0;
            }
        } else {
            break;
        }
    }
    side->from = value;
    if (!flip)
        return;
    const int rank = ot_graph_type_of(g, value)->rank;
    for (int d = 0; !side->n_axes && d < rank; d++)
        side->axes[d] = d;
    side->n_axes = 0;
    const int last = side->axes[rank - 1];
    side->axes[rank - 1] = side->axes[rank - 2];
    side->axes[rank - 2] = last;
    for (int d = 0; d < rank; d++)
        if (side->axes[d] != d)
            side->n_axes = rank;
}
