/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow that is over before anything runs. Of a choice whose condition is known the one
 * branch is read; of any other both are, and each element is one's or the other's: nodes have no
 * effects. Loops are written out, turn by turn, so how many there are must be known.
 */
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { MOST_VALUES = 64 }; /* that a body is given or gives */

static const ot_onnx_graph *body_of(ot_onnx_node *n, const char *name)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    if (attr && attr->g)
        return attr->g;
    optune_fail(n->err, OPTUNE_EDAMAGED, "attribute '%s' is missing", name);
    return NULL;
}

/* A bool that is known: 0 or 1; -1: only a run knows it; -2: the node has failed. */
static int known_bool(ot_onnx_node *n, value *at)
{
    double is;
    if (optune_tensor_elements(ot_onnx_type(n->m, at)) != 1) {
        ot_onnx_refuse(n, "its condition is not one element");
        return -2;
    }
    if (!at->data)
        return -1;
    const void *data = ot_onnx_look(n, at);
    if (!data)
        return -2;
    ot_elements(at->type.dtype, data, 0, 1, &is);
    return is != 0;
}

/* ---- If ----------------------------------------------------------------------------------- */

static bool same_type(const ot_onnx_node *n, const value *a, const value *b)
{
    ot_text text = {0};
    const char *first =
        ot_arena_copy(&n->m->arena, ot_onnx_type_text(ot_onnx_type(n->m, a), &text));
    const bool same = !strcmp(first, ot_onnx_type_text(ot_onnx_type(n->m, b), &text));
    ot_text_release(&text);
    return same;
}

static int either(ot_onnx_node *n, value *condition, value *const *then,
                  value *const *otherwise)
{
    int status = OPTUNE_OK;
    value *one = ot_onnx_reshape(n, condition, 0, NULL);
    for (int i = 0; i < (int)n->proto->n_output && status >= 0; i++) {
        if (!ot_onnx_wants(n, i))
            continue;
        if (!same_type(n, then[i], otherwise[i]))
            return ot_onnx_refuse(n,
                                  "its branches give output %d in different types, and its "
                                  "condition is not known before it runs",
                                  i + 1);
        value *const in[] = {one, then[i], otherwise[i]};
        status = ot_onnx_give(n, i, ot_onnx_call(n, "where", 3, in, NULL));
    }
    return status;
}

static int choose(ot_onnx_node *n)
{
    const int n_out = (int)n->proto->n_output;
    const ot_onnx_graph *const branch[2] = {body_of(n, "else_branch"),
                                            body_of(n, "then_branch")};
    value *condition = ot_onnx_need(n, 0), *out[2][MOST_VALUES];
    if (!branch[0] || !branch[1] || !condition)
        return n->err->status;
    if (n_out > MOST_VALUES)
        return ot_onnx_refuse(n, "it has more than %d outputs", (int)MOST_VALUES);
    const int known = known_bool(n, condition);
    if (known == -2)
        return n->err->status;
    for (int side = 0; side < 2; side++) {
        if (known == !side)
            continue;
        const int status = ot_onnx_body(n, branch[side], 0, NULL, n_out, out[side]);
        if (status != OPTUNE_OK)
            return status;
    }
    if (known == -1)
        return either(n, condition, out[1], out[0]);
    int status = OPTUNE_OK;
    for (int i = 0; i < n_out && status >= 0; i++)
        status = ot_onnx_give(n, i, out[known][i]);
    return status;
}

/* ---- Loop --------------------------------------------------------------------------------- */

/* Elements of outputs that a loop gathers, turn by turn. */
typedef struct gathered {
    int n, capacity;
    value **part;
} gathered;

static void gather(ot_onnx_node *n, gathered *all, value *part)
{
    if (all->n == all->capacity) {
        const int capacity = all->capacity ? 2 * all->capacity : 16;
        value **more = ot_arena_alloc(&n->m->arena, (size_t)capacity * sizeof(value *));
        for (int i = 0; i < all->n; i++)
            more[i] = all->part[i];
        all->part = more;
        all->capacity = capacity;
    }
    all->part[all->n++] = part;
}

/* Number i of a list that may be left out, or 0; false: the node has failed. */
static bool axis_of(ot_onnx_node *n, const char *name, int i, int rank, int *axis)
{
    ot_onnx_list list;
    if (ot_onnx_ints(n, name, &list) < 0)
        return false;
    *axis = i < list.n ? ot_onnx_axis(n, list.i[i], rank) : 0;
    return *axis >= 0;
}

/* What no turn gave: nothing, of the type that the body tells of its output, which is number `scan`
 * of what a Scan gathers (a Loop's: -1); dims without a number are 0. NULL: the body tells none, or
 * the node has failed. */
static value *no_turns(ot_onnx_node *n, const ot_onnx_graph *body, int out, int scan)
{
    const ot_onnx_info *told = out < (int)body->n_output ? body->output[out] : NULL;
    const Onnx__TypeProto *type = told ? told->type : NULL;
    int64_t dim[OPTUNE_MAX_RANK] = {0};
    optune_dtype dtype;
    int axis = 0;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !type->tensor_type->shape || type->tensor_type->shape->n_dim >= OPTUNE_MAX_RANK) {
        ot_onnx_refuse(n, "it has no turn, and its body tells no shape of what it gathers");
        return NULL;
    }
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    if (ot_onnx_dtype(type->tensor_type->elem_type, &dtype, n->err) < 0 ||
        (scan >= 0 && !axis_of(n, "scan_output_axes", scan, (int)shape->n_dim + 1, &axis)))
        return NULL;
    for (int d = 0; d < (int)shape->n_dim; d++)
        if (shape->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            dim[d + (d >= axis)] = shape->dim[d]->dim_value > 0 ? shape->dim[d]->dim_value : 0;
    return ot_onnx_nothing(n, dtype, (int)shape->n_dim + 1, dim);
}

/* All parts one behind the other along a new axis; `back`: the last first. */
static value *stacked(ot_onnx_node *n, const gathered *all, int axis, bool back)
{
    value **part = ot_arena_alloc(&n->m->arena, (size_t)(all->n + 1) * sizeof(value *));
    for (int i = 0; i < all->n; i++)
        part[back ? all->n - 1 - i : i] =
            ot_onnx_call(n, "expand_dims", 1, &all->part[i], "axis=%d", axis);
    return ot_onnx_join(n, axis, all->n, part);
}

static value *scalar(ot_onnx_node *n, int code, int bits, double number)
{
    value *made = NULL;
    const optune_tensor type = {
        .dtype = {.code = (uint8_t)code, .bits = (uint8_t)bits, .lanes = 1}};
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    ot_elements_set(type.dtype, made->data, 0, 1, &number);
    return made;
}

/* How many turns at most: -1: no bound; -2: it has failed. */
static int64_t turns_of(ot_onnx_node *n)
{
    ot_onnx_list list;
    value *most = ot_onnx_in(n, 0);
    if (!most)
        return -1;
    if (ot_onnx_list_of(n, most, "trip count", &list) < 0)
        return -2;
    if (list.n == 1)
        return list.i[0] < 0 ? 0 : list.i[0];
    ot_onnx_refuse(n, "its trip count is no number");
    return -2;
}

/* One more turn: `state` is the condition, then what is carried; -1: failed as `*status` says. */
static int turn(ot_onnx_node *n, const ot_onnx_graph *body, int64_t i, int n_carried, int n_out,
                value **state, value **out)
{
    value *in[MOST_VALUES];
    in[0] = scalar(n, OPTUNE_DTYPE_INT, 64, (double)i);
    for (int k = 0; k <= n_carried; k++)
        in[k + 1] = state[k];
    return in[0] ? ot_onnx_body(n, body, n_carried + 2, in, n_out, out) : n->err->status;
}

static int loop(ot_onnx_node *n)
{
    const ot_onnx_graph *body = body_of(n, "body");
    const int n_carried = (int)n->proto->n_input - 2, n_given = (int)n->proto->n_output;
    value *state[MOST_VALUES], *out[MOST_VALUES];
    gathered scans[MOST_VALUES] = {0};
    const int64_t most = body ? turns_of(n) : -2;
    if (most == -2)
        return n->err->status;
    if (n_carried < 0 || n_carried + 2 > MOST_VALUES || n_given + 1 > MOST_VALUES ||
        n_given < n_carried)
        return ot_onnx_refuse(n, "it carries %d values and has %d outputs", n_carried, n_given);
    state[0] = ot_onnx_in(n, 1);
    if (!state[0])
        state[0] = scalar(n, OPTUNE_DTYPE_BOOL, 1, 1);
    for (int k = 0; k < n_carried; k++)
        state[k + 1] = ot_onnx_need(n, k + 2);
    for (int k = 0; k <= n_carried; k++)
        if (!state[k])
            return n->err->status;
    for (int64_t i = 0; most < 0 || i < most; i++) {
        const int goes_on = known_bool(n, state[0]);
        if (goes_on == -2)
            return n->err->status;
        if (goes_on == -1)
            return ot_onnx_refuse(n, "only a run knows how many turns it has");
        if (!goes_on)
            break;
        const int status = turn(n, body, i, n_carried, n_given + 1, state, out);
        if (status != OPTUNE_OK)
            return status;
        for (int k = 0; k <= n_carried; k++)
            state[k] = out[k];
        for (int k = n_carried; k < n_given; k++)
            gather(n, &scans[k], out[k + 1]);
    }
    int status = OPTUNE_OK;
    for (int k = 0; k < n_carried && status >= 0; k++)
        status = ot_onnx_give(n, k, state[k + 1]);
    for (int k = n_carried; k < n_given && status >= 0; k++)
        if (ot_onnx_wants(n, k))
            status = ot_onnx_give(n, k,
                                  scans[k].n ? stacked(n, &scans[k], 0, false)
                                             : no_turns(n, body, k + 1, -1));
    return status;
}

/* ---- Scan --------------------------------------------------------------------------------- */

static bool goes_back(ot_onnx_node *n, const char *name, int i)
{
    ot_onnx_list list;
    return ot_onnx_ints(n, name, &list) > 0 && i < list.n && list.i[i];
}

typedef struct scanned {
    value *data;
    int axis;
    bool back;
} scanned;

/* What is gone through, and how many turns that makes; or -1 and a failure. */
static int64_t take_scanned(ot_onnx_node *n, int n_state, int n_scanned, scanned *all)
{
    int64_t turns = -1, dim[OPTUNE_MAX_RANK];
    for (int i = 0; i < n_scanned; i++) {
        scanned *s = &all[i];
        s->data = ot_onnx_need(n, n_state + i);
        const int rank = s->data ? ot_onnx_rank(n, s->data) : -1;
        if (rank < 0 || !axis_of(n, "scan_input_axes", i, rank, &s->axis) ||
            !ot_onnx_dims_at(n, s->data, 1u << s->axis, dim))
            return -1;
        s->back = goes_back(n, "scan_input_directions", i);
        if (rank == 0 || (i && dim[s->axis] != turns)) {
            ot_onnx_refuse(n, "its inputs are not equally long");
            return -1;
        }
        turns = dim[s->axis];
    }
    return turns;
}

static value *slice(ot_onnx_node *n, const scanned *s, int64_t turns, int64_t i)
{
    const int64_t at = s->back ? turns - 1 - i : i;
    value *part = ot_onnx_part(n, s->data, s->axis, at, at + 1);
    return ot_onnx_call(n, "squeeze", 1, &part, "axis=[%d]", s->axis);
}

static int scan(ot_onnx_node *n)
{
    const ot_onnx_graph *body = body_of(n, "body");
    const int n_in = (int)n->proto->n_input, n_out = (int)n->proto->n_output;
    const int n_scanned = (int)ot_onnx_int(n, "num_scan_inputs", 0), n_state = n_in - n_scanned;
    value *in[MOST_VALUES], *out[MOST_VALUES];
    scanned all[MOST_VALUES];
    gathered scans[MOST_VALUES] = {0};
    if (!body)
        return n->err->status;
    if (n->m->opset < 9)
        return ot_onnx_refuse(n, "that of opset 8 is not supported: export the model for 9");
    if (n_scanned < 1 || n_state < 0 || n_in > MOST_VALUES || n_out > MOST_VALUES ||
        n_out < n_state)
        return ot_onnx_refuse(n, "it has %d inputs, %d of them to go through, and %d outputs",
                              n_in, n_scanned, n_out);
    const int64_t turns = take_scanned(n, n_state, n_scanned, all);
    for (int k = 0; k < n_state && turns >= 0; k++)
        if (!(in[k] = ot_onnx_need(n, k)))
            return n->err->status;
    if (turns < 0)
        return n->err->status;
    for (int64_t i = 0; i < turns; i++) {
        for (int k = 0; k < n_scanned; k++)
            if (!(in[n_state + k] = slice(n, &all[k], turns, i)))
                return n->err->status;
        const int status = ot_onnx_body(n, body, n_in, in, n_out, out);
        if (status != OPTUNE_OK)
            return status;
        for (int k = 0; k < n_state; k++)
            in[k] = out[k];
        for (int k = n_state; k < n_out; k++)
            gather(n, &scans[k], out[k]);
    }
    int status = OPTUNE_OK;
    for (int k = 0; k < n_out && status >= 0; k++) {
        int axis = 0;
        if (!ot_onnx_wants(n, k))
            continue;
        if (k >= n_state && scans[k].n) {
            const int rank = ot_onnx_rank(n, scans[k].part[0]) + 1;
            if (!axis_of(n, "scan_output_axes", k - n_state, rank, &axis))
                return n->err->status;
        }
        status = ot_onnx_give(
            n, k,
            k < n_state   ? in[k]
            : !scans[k].n ? no_turns(n, body, k, k - n_state)
                          : stacked(n, &scans[k], axis,
                                    goes_back(n, "scan_output_directions", k - n_state)));
    }
    return status;
}

static const ot_onnx_op ops[] = {
    {"If", choose, NULL},
    {"Loop", loop, NULL},
    {"Scan", scan, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(control) = {ops};
