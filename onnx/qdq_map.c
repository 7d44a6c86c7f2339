/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one 8-bit integer, between DequantizeLinear and QuantizeLinear or by operators that
 * say their scales: tables of 256 bytes.
 *
 * The one idea: a node is computed on a constant of all 256 numbers, as it is on any constant, so
 * that a table has what floats would give.
 */
#include <string.h>

#include "onnx/qdq.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

enum { ENTRIES = 256, MOST_NODES = 16 };

value *ot_qdq_made_with(ot_onnx_node *n, value *x)
{
    if (!x)
        return NULL;
    ot_onnx_proto proto = *n->proto;
    ot_onnx_node own = *n;
    char *in = ot_arena_printf(&n->m->arena, "%s\n%d", n->proto->input[0], n->index);
    char *out = ot_arena_printf(&n->m->arena, "%s\n%d", n->proto->output[0], n->index);
    char **inputs = ot_arena_alloc(&n->m->arena, (proto.n_input + 1) * sizeof *inputs);
    for (size_t i = 1; i < proto.n_input; i++)
        inputs[i] = n->proto->input[i];
    inputs[0] = in;
    proto.input = inputs;
    proto.output = &out;
    own.proto = &proto;
    ot_onnx_name(n->m, in, x);
    return n->op->make(&own) < 0 ? NULL : ot_onnx_named(n->m, out);
}

/* All integers of 8 bits, from the least on. */
static value *all_integers(ot_onnx_node *n, optune_dtype dtype)
{
    const optune_tensor type = {.dtype = dtype, .rank = 1, .dim = {optune_dim_of(ENTRIES)}};
    const int least = dtype.code == OPTUNE_DTYPE_INT ? -128 : 0;
    value *all = NULL;
    if (ot_onnx_room(n->m, &type, &all, n->err) < 0)
        return NULL;
    for (int i = 0; i < ENTRIES; i++)
        ot_elements_set(dtype, all->data, i, 1, &(double){least + i});
    return all;
}

static bool is_table(const value *all, int bits)
{
    return all && all->data && all->type.rank == 1 && all->type.dim[0].min == ENTRIES &&
           all->type.dtype.bits == bits;
}

/* What each of the integers stands for. */
static value *table_of(ot_onnx_node *n, const integers *of)
{
    if (of->table)
        return of->table;
    ot_onnx_node own = {
        .m = n->m, .proto = of->proto, .op = of->op, .index = of->index, .err = n->err};
    value *all = all_integers(n, ot_onnx_type(n->m, of->x)->dtype);
    return all ? ot_onnx_real_of(&own, all, of->scale, of->zero) : NULL;
}

static bool can_look_up(const ot_onnx_node *n, const value *x)
{
    const optune_tensor *type = x->data ? NULL : ot_onnx_type(n->m, x);
    return type && ot_qdq_is_integer(type->dtype, 8) && optune_tensor_known(type) &&
           optune_tensor_elements(type);
}

static value *looked_up(ot_onnx_node *n, value *x, value *table)
{
    if (!is_table(table, 8) || (!x->last && ot_onnx_settle(n->m, x, n->err) < 0))
        return NULL;
    value *const in[] = {x->last ? x->last : x, table};
    value *all = ot_onnx_call(n, "quantized_map", 2, in, NULL);
    return x->last ? ot_onnx_from_last(n, all) : all;
}

/* ---- between DequantizeLinear and QuantizeLinear --------------------------------------------- */

/* Inputs but the first are constants of one number. */
static bool is_pointwise(const ot_onnx_node *n)
{
    static const char *const ops[] = {
        "Abs",         "Add",       "Ceil",     "Celu",
        "Clip",        "Cos",       "Div",      "Elu",
        "Erf",         "Exp",       "Floor",    "Gelu",
        "HardSigmoid", "HardSwish", "Identity", "LeakyRelu",
        "Mish",        "Mul",       "Neg",      "PRelu",
        "Pow",         "Relu",      "Round",    "Selu",
        "Sigmoid",     "Sign",      "Sin",      "Softplus",
        "Softsign",    "Sub",       "Tanh",     "ThresholdedRelu"};
    const ot_onnx_proto *p = n->proto;
    bool some = false;
    for (int i = 0; i < OT_COUNT(ops) && !some; i++)
        some = ot_qdq_is(p, ops[i]);
    some = some && p->n_input && p->n_output == 1;
    for (int i = 1; i < (int)p->n_input && some; i++) {
        const value *by = *p->input[i] ? ot_onnx_in(n, i) : NULL;
        some = !*p->input[i] || (by && !by->failed && ot_qdq_listed(by) == 1);
    }
    return some;
}

/* Only such nodes lie between this one and a QuantizeLinear. */
static bool ends(const ot_onnx_node *n)
{
    ot_onnx_node at = *n, next;
    ot_qdq_end e;
    for (int i = 0; i < MOST_NODES; i++) {
        if (!ot_onnx_reader(&at, &next) || !next.proto->n_input ||
            strcmp(next.proto->input[0], at.proto->output[0]) != 0)
            return false;
        if (ot_qdq_quantiser(&next, &e))
            return true;
        if (!is_pointwise(&next))
            return false;
        at = next;
    }
    return false;
}

bool ot_qdq_mapped(ot_onnx_node *n)
{
    const integers *of = ot_onnx_in(n, 0)->integers;
    if (!of || !can_look_up(n, of->x) || !ot_onnx_type(n->m, of->x)->rank || !is_pointwise(n) ||
        !ends(n))
        return false;
    value *table = ot_qdq_made_with(n, table_of(n, of));
    if (!is_table(table, 32) || !optune_dtype_equal(table->type.dtype, f32))
        return false;
    integers *after = ot_arena_alloc(&n->m->arena, sizeof *after);
    *after = *of;
    after->table = table;
    return ot_onnx_give(n, 0, ot_qdq_later(n, after)) >= 0;
}

static bool same_constant(ot_onnx_node *n, value *a, value *b)
{
    double x = 0, y = 0;
    return (!a || ot_qdq_number(n, a, &x)) && (!b || ot_qdq_number(n, b, &y)) && x == y;
}

/* The integers as another scale and zero have them; themselves where these are theirs. */
static value *quantised(ot_onnx_node *n, const integers *of, value *scale, value *zero,
                        optune_dtype dtype)
{
    if (!of->table && same_constant(n, of->scale, scale) && same_constant(n, of->zero, zero) &&
        optune_dtype_equal(dtype, ot_onnx_type(n->m, of->x)->dtype))
        return of->x;
    value *table = can_look_up(n, of->x) ? table_of(n, of) : NULL;
    if (!table)
        return NULL;
    scale = ot_onnx_along(n, table, scale, 0);
    zero = zero ? ot_onnx_along(n, table, ot_onnx_as(n, zero, f32), 0) : NULL;
    return looked_up(n, of->x, ot_onnx_quantised(n, table, scale, zero, dtype));
}

bool ot_qdq_back(ot_onnx_node *n)
{
    const integers *of = ot_onnx_in(n, 0)->integers;
    ot_qdq_end e = {0};
    if (!of || of->x->data || ot_qdq_listed(of->scale) != 1 || !ot_qdq_quantiser(n, &e))
        return false;
    value *all = quantised(n, of, e.scale, e.zero, e.dtype);
    return all && ot_onnx_give(n, 0, all) >= 0;
}

/* ---- several, joined ------------------------------------------------------------------------- */

static value *joined(ot_onnx_node *n, int parts, value **part, int64_t axis)
{
    static const int at[] = {0, 3, 1, 2}; /* of an image whose channels come last */
    const int rank = ot_onnx_rank(n, part[0]),
              along = rank < 0 ? -1 : ot_onnx_axis(n, axis, rank);
    bool last = rank == 4;
    for (int i = 0; i < parts && last; i++)
        last = part[i]->last;
    for (int i = 0; i < parts && along >= 0; i++) {
        if (!last && ot_onnx_settle(n->m, part[i], n->err) < 0)
            return NULL;
        part[i] = last ? part[i]->last : part[i];
    }
    if (along < 0)
        return NULL;
    value *all = ot_onnx_join(n, last ? at[along] : along, parts, part);
    return last ? ot_onnx_from_last(n, all) : all;
}

bool ot_qdq_concat(ot_onnx_node *n)
{
    const int parts = (int)n->proto->n_input;
    value **part = ot_arena_alloc(&n->m->arena, (size_t)parts * sizeof *part);
    ot_qdq_end e;
    if (!ot_qdq_end_of(n, &e) || e.n_over)
        return false;
    for (int i = 0; i < parts; i++) {
        const integers *of = ot_qdq_taken(n, i, false);
        if (!of || !(part[i] = quantised(n, of, e.scale, e.zero, e.dtype)))
            return false;
    }
    value *all = joined(n, parts, part, ot_onnx_int(n, "axis", 0));
    return all && ot_qdq_give_end(n, &e, all);
}

bool ot_qdq_said_concat(ot_onnx_node *n)
{
    const int parts = ((int)n->proto->n_input - 2) / 3;
    if (parts < 1 || (int)n->proto->n_input != 2 + 3 * parts)
        return false;
    value **part = ot_arena_alloc(&n->m->arena, (size_t)parts * sizeof *part);
    value *scale = ot_onnx_in(n, 0), *zero = ot_onnx_in(n, 1);
    if (!scale || !zero || ot_qdq_listed(scale) != 1 || ot_qdq_listed(zero) != 1)
        return false;
    for (int i = 0; i < parts; i++) {
        const integers of = {.x = ot_onnx_in(n, 2 + 3 * i),
                             .scale = ot_onnx_in(n, 3 + 3 * i),
                             .zero = ot_onnx_in(n, 4 + 3 * i),
                             .proto = n->proto,
                             .op = n->op,
                             .index = n->index};
        if (!of.x || of.x->failed || !can_look_up(n, of.x) || !of.scale ||
            ot_qdq_listed(of.scale) != 1 || (of.zero && ot_qdq_listed(of.zero) != 1) ||
            !(part[i] = quantised(n, &of, scale, zero, zero->type.dtype)))
            return false;
    }
    value *all = joined(n, parts, part, ot_onnx_int(n, "axis", 1));
    return all && ot_onnx_give(n, 0, all) >= 0;
}

/* ---- operators that say their scales --------------------------------------------------------- */

bool ot_qdq_said_map(ot_onnx_node *n)
{
    value *x = ot_onnx_in(n, 0);
    bool constant = can_look_up(n, x);
    for (int i = 1; i < (int)n->proto->n_input && constant; i++) {
        const value *by = ot_onnx_in(n, i);
        constant = !*n->proto->input[i] || (by && !by->failed && ot_qdq_listed(by) == 1);
    }
    value *all = constant ? all_integers(n, ot_onnx_type(n->m, x)->dtype) : NULL;
    all = all ? looked_up(n, x, ot_qdq_made_with(n, all)) : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}
