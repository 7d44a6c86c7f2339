/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph with some groups in blocks of channels: [N,C/c,H,W,c] instead of [N,C,H,W].
 *
 * The one idea: what a node reads is asked value by value (`wants`), and each value is made once in
 * the layout of its maker and, where somebody reads it in the other one, once more through a
 * transform. No operator is known here: one says in its row which attributes name its layouts
 * (optune_op.blocks), elementwise ones follow by their pattern, everything else stays plain. A
 * form that the operator's own type relation does not confirm is none.
 *
 * Constants along the channels, [C,1,1], lie in memory as they do in blocks, so their elements are
 * shared; other constants that would have to be in blocks keep their reader plain.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/layout.h"

/* What only turns values round. */
#define TRANSFORM "layout_transform"

enum { PLAIN = 0, RESHAPED = -1, NONE = -2 }; /* beside the size of a block */
enum { N, C, H, W, RANK };

/* ---- types ------------------------------------------------------------------------------- */

/* [N,C,H,W] of any tensor of at most four dims, with dims of 1 in front; false: it has more. */
static bool dims_of(const optune_tensor *type, int64_t dim[RANK])
{
    if (type->rank < 0 || type->rank > RANK || !optune_tensor_known(type))
        return false;
    for (int d = 0; d < RANK; d++) {
        const int at = d - (RANK - type->rank);
        dim[d] = at < 0 ? 1 : type->dim[at].min;
    }
    return true;
}

/* The same elements with the channels in blocks; one channel is in a block of one. */
static bool block(const optune_tensor *plain, int size, optune_tensor *blocked)
{
    int64_t dim[RANK];
    if (!dims_of(plain, dim))
        return false;
    const int64_t own = dim[C] == 1 ? 1 : size;
    if (dim[C] % own)
        return false;
    *blocked = (optune_tensor){.dtype = plain->dtype, .rank = RANK + 1};
    for (int d = 0; d < RANK; d++)
        blocked->dim[d] = optune_dim_of(d == C ? dim[d] / own : dim[d]);
    blocked->dim[RANK] = optune_dim_of(own);
    return true;
}

static bool is_flat(const optune_tensor *type)
{
    int64_t dim[RANK];
    return dims_of(type, dim) && dim[H] * dim[W] == 1;
}

static bool is_activation(const optune_tensor *type, int size)
{
    return type->rank == RANK && optune_tensor_known(type) && type->dim[C].min > 1 &&
           type->dim[C].min % size == 0;
}

static bool same_type(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank && optune_dtype_equal(a->dtype, b->dtype);
    for (int d = 0; same && d < a->rank; d++)
        same = optune_dim_known(&a->dim[d]) && optune_dim_known(&b->dim[d]) &&
               a->dim[d].min == b->dim[d].min;
    return same;
}

/* ---- what a node reads ------------------------------------------------------------------- */

static bool is_elementwise(const optune_op *op)
{
    return op->pattern <= OPTUNE_BROADCAST && op->scalar;
}

/* An operand of an elementwise node whose output has so many channels. */
static int operand(const optune_graph *g, ot_value value, int64_t channels, int size)
{
    const optune_tensor *type = ot_graph_type_of(g, value);
    int64_t dim[RANK];
    if (!dims_of(type, dim))
        return NONE;
    if (dim[N] * dim[C] * dim[H] * dim[W] == 1)
        return PLAIN; /* a scalar fits any layout, of any rank */
    if (dim[C] == 1)
        return RESHAPED;
    if (dim[C] != channels)
        return NONE;
    if (ot_value_constant(g, value))
        return is_flat(type) ? RESHAPED : NONE;
    return type->rank == RANK ? size : NONE;
}

static int wants(const optune_graph *g, const ot_node *node, int arg, ot_blocks form)
{
    const optune_op_blocks *blocks = node->call->op->blocks;
    if (!form.in && !form.out)
        return PLAIN;
    if (!blocks)
        return operand(g, node->in[arg], node->out[0].dim[C].min, form.out);
    if (blocks->inputs && arg >= blocks->inputs)
        return PLAIN;
    const optune_tensor *type = ot_graph_type_of(g, node->in[arg]);
    if (ot_value_constant(g, node->in[arg]) || type->rank != RANK)
        return NONE;
    return !form.in || is_activation(type, form.in) ? form.in : NONE;
}

/* ---- calls in blocks --------------------------------------------------------------------- */

static optune_attr *attribute(optune_call *call, const char *name)
{
    for (int i = 0; name && i < call->n_attrs; i++)
        if (!strcmp(call->attr[i].name, name))
            return &call->attr[i];
    return NULL;
}

static const char *layout_name(int size, char to[OPTUNE_WORD_SIZE])
{
    snprintf(to, OPTUNE_WORD_SIZE, size ? "NCHW%dc" : "NCHW", size);
    return to;
}

/* Plain before; an empty word is said by the input's. */
static bool set_layout(optune_call *call, const char *name, int size)
{
    optune_attr *attr = attribute(call, name);
    if (!attr || attr->kind != OPTUNE_ATTR_WORD || (*attr->word && strcmp(attr->word, "NCHW")))
        return false;
    layout_name(size, attr->word);
    return true;
}

static bool set_attributes(optune_call *call, ot_blocks form)
{
    const optune_op_blocks *blocks = call->op->blocks;
    if (!blocks)
        return is_elementwise(call->op) && form.in == form.out;
    const optune_attr *axis = attribute(call, blocks->axis);
    if (blocks->axis &&
        (!axis || axis->kind != OPTUNE_ATTR_INT || (axis->i[0] != C && axis->i[0] != C - RANK)))
        return false;
    if (axis)
        attribute(call, blocks->axis)->i[0] = C;
    if (blocks->in && !set_layout(call, blocks->in, form.in))
        return false;
    if (blocks->out && !set_layout(call, blocks->out, form.out))
        return false;
    return blocks->out || form.in == form.out;
}

/* A node's call in a form, its types inferred; false: there is none. */
static bool call_in(const optune_graph *g, int id, ot_blocks form, optune_call *call)
{
    const ot_node *node = &g->node[id];
    if (node->kind != OT_NODE_CALL || node->n_out != 1 || node->out[0].rank != RANK ||
        !optune_tensor_known(&node->out[0]))
        return false;
    ot_graph_call_of(g, id, call);
    optune_tensor out = node->out[0];
    if (!set_attributes(call, form) || (form.out && !(is_activation(&node->out[0], form.out) &&
                                                      block(&node->out[0], form.out, &out))))
        return false;
    for (int i = 0; i < node->n_in; i++) {
        const optune_tensor *type = ot_graph_type_of(g, node->in[i]);
        const int as = wants(g, node, i, form);
        if (as == NONE || !optune_tensor_known(type) ||
            (as != PLAIN && !block(type, as == RESHAPED ? form.out : as, &call->input[i].type)))
            return false;
    }
    call->output[0] = (optune_tensor){.dtype = out.dtype, .rank = -1};
    return ot_call_infer(call, NULL) >= 0 && same_type(&call->output[0], &out);
}

/* Of the nth node of a group in a form. */
static ot_blocks form_of(int nth, ot_blocks form)
{
    return nth ? (ot_blocks){form.out, form.out} : form;
}

bool ot_group_takes(const optune_graph *g, const ot_group *group, ot_blocks form)
{
    optune_call *call = ot_alloc(sizeof *call);
    bool takes = true;
    for (int i = 0; i < group->n_nodes && takes && (form.in || form.out); i++) {
        const ot_blocks own = form_of(i, form);
        takes = (!own.in && !own.out) || call_in(g, group->node[i], own, call);
    }
    free(call);
    return takes;
}

static bool goes_on(const ot_group *group, int nth, ot_value value)
{
    for (int i = 0; i < nth; i++)
        if (group->node[i] == value.node)
            return true;
    return false;
}

/* Operands of a group are those of its nodes, in order, but what these go on with. */
int ot_group_wants(const optune_graph *g, const ot_group *group, int k, ot_blocks form)
{
    for (int i = 0; i < group->n_nodes; i++) {
        const ot_node *node = &g->node[group->node[i]];
        for (int arg = 0; arg < node->n_in; arg++)
            if (!goes_on(group, i, node->in[arg]) && k-- == 0) {
                const int as = wants(g, node, arg, form_of(i, form));
                return as > 0 && !ot_value_flat(g, node->in[arg]) ? as : PLAIN;
            }
    }
    return PLAIN;
}

bool ot_value_flat(const optune_graph *g, ot_value value)
{
    return is_flat(ot_graph_type_of(g, value));
}

bool ot_value_turned(const optune_graph *g, ot_value value, int from, int to, optune_call *call)
{
    const optune_tensor *plain = ot_graph_type_of(g, value);
    char name[OPTUNE_WORD_SIZE];
    optune_tensor type = *plain;
    if (from == to || is_flat(plain) || !is_activation(plain, from ? from : to) ||
        (from && !block(plain, from, &type)))
        return false;
    ot_text input = {0};
    ot_tensor_print(&type, &input);
    const bool made = optune_call_start(call, TRANSFORM, NULL) >= 0 &&
                      optune_call_add_input(call, ot_text_str(&input), NULL) >= 0 &&
                      optune_call_set(call, "src_layout", layout_name(from, name), NULL) >= 0 &&
                      optune_call_set(call, "dst_layout", layout_name(to, name), NULL) >= 0 &&
                      optune_call_settle(call, NULL) >= 0;
    ot_text_release(&input);
    return made;
}

/* ---- the rewriting ----------------------------------------------------------------------- */

typedef struct relaying {
    ot_rebuild make;
    ot_blocks *form;        /* by node */
    int *turned, *reshaped; /* by node of the original, in the new one; -1: not there yet */
    int size;               /* of a block */
} relaying;

/* From blocks to plain, or back. */
static int turn(relaying *r, ot_value value, int from, int to)
{
    const optune_tensor *plain = ot_graph_type_of(r->make.g, value);
    const int of = ot_rebuild_home(&r->make, value);
    char name[OPTUNE_NAME_SIZE], a[OPTUNE_WORD_SIZE], b[OPTUNE_WORD_SIZE], attrs[128];
    optune_tensor blocked;
    if (of < 0 || !block(plain, from ? from : to, &blocked))
        return of < 0 ? of : optune_fail(r->make.err, OPTUNE_ETYPE, "a value has no blocks");
    ot_rebuild_name(&r->make, r->make.g->node[value.node].name, layout_name(to, b), name);
    if (is_flat(plain))
        return ot_rebuild_view(&r->make, of, to ? &blocked : plain, name);
    snprintf(attrs, sizeof attrs, "src_layout=%s, dst_layout=%s", layout_name(from, a), b);
    r->make.to->transforms++;
    return ot_rebuild_note(
        &r->make,
        optune_graph_call(r->make.to->graph, name, TRANSFORM, &of, 1, attrs, r->make.err), -1);
}

/* Its elements as they lie in plain memory, under dims that fit blocks. */
static int reshape(relaying *r, ot_value value)
{
    const ot_node *node = &r->make.g->node[value.node];
    char name[OPTUNE_NAME_SIZE];
    optune_tensor type;
    if (!block(ot_graph_type_of(r->make.g, value), r->size, &type))
        return optune_fail(r->make.err, OPTUNE_ETYPE, "a value has no blocks");
    if (node->kind == OT_NODE_CONST)
        return ot_rebuild_leaf(&r->make, value.node,
                               ot_rebuild_name(&r->make, node->name, "blocks", name), &type);
    const int of = ot_rebuild_home(&r->make, value);
    return of < 0 ? of
                  : ot_rebuild_view(&r->make, of, &type,
                                    ot_rebuild_name(&r->make, node->name, "blocks", name));
}

/* The node that has the value as it is wanted. */
static int as(relaying *r, ot_value value, int want)
{
    const int is = r->form[value.node].out;
    int *made = want == RESHAPED ? &r->reshaped[value.node] : &r->turned[value.node];
    if (want == is)
        return ot_rebuild_home(&r->make, value);
    const bool kept = r->make.g->node[value.node].n_out == 1;
    if (kept && *made >= 0)
        return *made;
    const int id = want == RESHAPED ? reshape(r, value) : turn(r, value, is, want);
    if (kept)
        *made = id;
    return id;
}

static int relay_call(relaying *r, int id)
{
    const ot_node *node = &r->make.g->node[id];
    const ot_blocks form = r->form[id];
    int in[OPTUNE_MAX_INPUTS];
    for (int i = 0; i < node->n_in; i++) {
        in[i] = as(r, node->in[i], wants(r->make.g, node, i, form));
        if (in[i] < 0)
            return in[i];
    }
    optune_call *call = ot_alloc(sizeof *call);
    *call = *node->call;
    const bool blocked = form.in || form.out;
    int made = OPTUNE_ETYPE;
    if (!blocked || set_attributes(call, form))
        made = optune_graph_call_like(r->make.to->graph, node->name, call, in, node->n_in,
                                      r->make.err);
    else
        optune_fail(r->make.err, OPTUNE_ETYPE, "'%s' has no such form", node->name);
    free(call);
    if (made < 0)
        return made;
    for (int i = 0; i < node->n_out && !blocked; i++)
        r->make.to->graph->node[made].out[i] = node->out[i];
    r->make.home[id] = ot_rebuild_note(&r->make, made, id);
    return OPTUNE_OK;
}

static int relay_outputs(relaying *r)
{
    const int n = ot_graph_output_values(r->make.g, NULL, 0);
    ot_value *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    ot_graph_output_values(r->make.g, value, n);
    int status = OPTUNE_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        const int id = as(r, value[i], PLAIN);
        status = id < 0 ? id : optune_graph_output(r->make.to->graph, id, r->make.err);
    }
    free(value);
    return status;
}

static int relay(relaying *r)
{
    const optune_graph *g = r->make.g;
    int status = OPTUNE_OK;
    for (int id = 0; id < g->n && status >= 0; id++) {
        if (g->node[id].kind == OT_NODE_VAR)
            status = r->make.home[id] =
                ot_rebuild_leaf(&r->make, id, g->node[id].name, &g->node[id].out[0]);
        else if (g->node[id].kind == OT_NODE_CALL)
            status = relay_call(r, id);
    }
    if (status >= 0)
        status = relay_outputs(r);
    if (status >= 0)
        status = optune_graph_infer(r->make.to->graph, r->make.err);
    if (status > 0)
        status = optune_fail(r->make.err, OPTUNE_ETYPE, "its types do not follow");
    return status;
}

/* Every node beside itself three times at most, and what takes one of several outputs. */
static size_t most_nodes(const optune_graph *g)
{
    size_t n = 1;
    for (int id = 0; id < g->n; id++)
        n += 3 + (size_t)g->node[id].n_in;
    return n + (size_t)ot_graph_output_values(g, NULL, 0);
}

int ot_graph_relayout(const optune_graph *g, const ot_groups *groups, const ot_blocks *form,
                      ot_relaid *to, optune_err *err)
{
    const size_t n = (size_t)g->n + 1;
    relaying r = {.form = ot_alloc(n * sizeof *r.form),
                  .turned = ot_alloc(n * sizeof *r.turned),
                  .reshaped = ot_alloc(n * sizeof *r.reshaped)};
    ot_rebuild_start(&r.make, g, 2 * most_nodes(g), to, err);
    for (size_t i = 0; i < n; i++)
        r.turned[i] = r.reshaped[i] = -1;
    for (int i = 0; i < groups->n; i++)
        for (int k = 0; k < groups->group[i].n_nodes; k++) {
            const ot_blocks own = form_of(k, form[i]);
            r.form[groups->group[i].node[k]] = own;
            r.size = own.in ? own.in : own.out ? own.out : r.size;
        }
    const int status = relay(&r);
    free(r.form);
    free(r.turned);
    free(r.reshaped);
    ot_rebuild_end(&r.make, status);
    return status;
}
