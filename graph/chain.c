/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that MobileNets and EfficientNets begin with: from a depthwise convolution back, over
 * an activation in each of its spellings and a bias, to a 1x1 convolution; nobody else reads
 * anything in between. Layouts are plain here, they are chosen afterwards.
 */
#include <math.h>
#include <string.h>

#include "graph/chain.h"
#include "graph/look.h"

enum { DATA, WEIGHT }; /* inputs of conv2d */
enum { N, C, H, W, RANK };

static const ot_node *node_of(const optune_graph *g, ot_value value)
{
    return &g->node[value.node];
}

static bool same(ot_value a, ot_value b)
{
    return a.node == b.node && a.output == b.output;
}

/* ---- convolutions ------------------------------------------------------------------------ */

static bool is_word(const optune_call *call, const char *name, const char *word)
{
    const char *own = optune_call_word(call, name);
    return !*own || !strcmp(own, word);
}

/* One type throughout, plain layouts, a constant weight, computed as its type is. */
static bool is_plain(const optune_graph *g, const ot_node *node)
{
    if (!ot_node_is(node, "conv2d") || !ot_value_constant(g, node->in[WEIGHT]))
        return false;
    const optune_dtype dtype = node->out[0].dtype;
    return is_word(node->call, "data_layout", "NCHW") &&
           is_word(node->call, "out_layout", "NCHW") && is_word(node->call, "math", "ieee") &&
           (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT) &&
           optune_dtype_equal(dtype, ot_graph_type_of(g, node->in[DATA])->dtype) &&
           node->out[0].rank == RANK;
}

static bool is_depthwise(const optune_graph *g, const ot_node *node)
{
    const int64_t channels = node->out[0].dim[C].min;
    return optune_call_int(node->call, "groups") == channels &&
           ot_graph_type_of(g, node->in[DATA])->dim[C].min == channels;
}

static bool is_pointwise(const optune_graph *g, const ot_node *node)
{
    const optune_tensor *weight = ot_graph_type_of(g, node->in[WEIGHT]);
    const int64_t *stride = optune_call_ints(node->call, "strides");
    const int64_t *pad = optune_call_ints(node->call, "padding");
    return weight->dim[2].min == 1 && weight->dim[3].min == 1 && stride[0] == 1 &&
           stride[1] == 1 && !(pad[0] | pad[1] | pad[2] | pad[3]) &&
           optune_call_int(node->call, "groups") == 1;
}

/* ---- in between -------------------------------------------------------------------------- */

static bool is_number(const optune_graph *g, ot_value value, double wanted)
{
    double number;
    return ot_graph_number(g, value, &number) && fabs(number - wanted) <= fabs(wanted) * 1e-6;
}

static bool is_clip(const ot_node *node, double low, double high)
{
    return ot_node_is(node, "clip") && optune_call_attr(node->call, "a_min")->f == low &&
           optune_call_attr(node->call, "a_max")->f == high;
}

/* `other` is what `op` has beside a constant of this value, on either side. */
static bool beside(const optune_graph *g, const ot_node *node, const char *op, double number,
                   ot_value *other)
{
    if (!ot_node_is(node, op))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_number(g, node->in[i], number)) {
            *other = node->in[1 - i];
            return true;
        }
    return false;
}

static bool sixth(const optune_graph *g, const ot_node *node, ot_value *of)
{
    if (ot_node_is(node, "divide") && is_number(g, node->in[1], 6)) {
        *of = node->in[0];
        return true;
    }
    return beside(g, node, "multiply", 1.0 / 6, of);
}

/* A use by its chain alone. */
static bool once(const int *uses, ot_value value)
{
    return uses[value.node] == 1;
}

/* clip(x + 3, 0, 6) */
static bool is_ramp(const optune_graph *g, const int *uses, ot_value value, ot_value *x)
{
    const ot_node *node = node_of(g, value);
    return once(uses, value) && is_clip(node, 0, 6) && once(uses, node->in[0]) &&
           beside(g, node_of(g, node->in[0]), "add", 3, x);
}

/* clip(x / 6 + 1 / 2, 0, 1), or the ramp over 6 */
static bool is_gate(const optune_graph *g, const int *uses, ot_value value, ot_value *x)
{
    const ot_node *node = node_of(g, value);
    ot_value line;
    if (!once(uses, value))
        return false;
    if (sixth(g, node, &line))
        return is_ramp(g, uses, line, x);
    return is_clip(node, 0, 1) && once(uses, node->in[0]) &&
           beside(g, node_of(g, node->in[0]), "add", 0.5, &line) && once(uses, line) &&
           sixth(g, node_of(g, line), x);
}

static bool is_sigmoid(const optune_graph *g, const int *uses, ot_value value, ot_value *x)
{
    const ot_node *node = node_of(g, value);
    if (!once(uses, value) || !ot_node_is(node, "sigmoid"))
        return false;
    *x = node->in[0];
    return true;
}

/* x * of(x), x used there only */
static bool is_gated(const optune_graph *g, const int *uses, const ot_node *node,
                     bool (*gate)(const optune_graph *, const int *, ot_value, ot_value *),
                     ot_value *x)
{
    if (!ot_node_is(node, "multiply"))
        return false;
    for (int i = 0; i < 2; i++)
        if (gate(g, uses, node->in[i], x) && same(*x, node->in[1 - i]))
            return uses[x->node] == 2;
    return false;
}

/* What an activation is applied to; false: the value is none, or somebody reads what is in it. */
static bool activation(const optune_graph *g, const int *uses, ot_value value, ot_value *x,
                       const char **word)
{
    static const struct {
        const char *op, *word;
    } alone[] = {{"silu", "silu"}, {"hardswish", "hard_swish"}};
    const ot_node *node = node_of(g, value);
    ot_value product;
    *word = NULL;
    if (ot_node_is(node, "relu"))
        *word = "relu";
    else if (is_clip(node, 0, 6))
        *word = "relu6";
    if (*word) {
        *x = node->in[0];
        return once(uses, *x);
    }
    for (int i = 0; i < OT_COUNT(alone); i++)
        if (ot_node_is(node, alone[i].op) && once(uses, node->in[0])) {
            *x = node->in[0];
            *word = alone[i].word;
            return true;
        }
    if (is_gated(g, uses, node, is_sigmoid, x))
        *word = "silu";
    else if (is_gated(g, uses, node, is_gate, x) ||
             (sixth(g, node, &product) && once(uses, product) &&
              is_gated(g, uses, node_of(g, product), is_ramp, x)))
        *word = "hard_swish";
    return *word != NULL;
}

/* A constant along the channels. */
static bool is_bias(const optune_graph *g, ot_value value, int64_t channels)
{
    const optune_tensor *type = ot_graph_type_of(g, value);
    if (!ot_value_constant(g, value) || type->rank < 3 || type->rank > RANK)
        return false;
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d].min != (d == type->rank - 3 ? channels : 1))
            return false;
    return true;
}

static bool biased(const optune_graph *g, const int *uses, ot_value *value, ot_chain *chain)
{
    const ot_node *node = node_of(g, *value);
    if (!ot_node_is(node, "add"))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_bias(g, node->in[i], node->out[0].dim[C].min) && once(uses, node->in[1 - i])) {
            chain->has_bias = true;
            chain->bias = node->in[i];
            *value = node->in[1 - i];
            return true;
        }
    return false;
}

/* ---- the whole --------------------------------------------------------------------------- */

bool ot_is_chain(const optune_graph *g, const int *uses, int root, ot_chain *chain)
{
    const ot_node *node = &g->node[root];
    if (!is_plain(g, node) || !is_depthwise(g, node))
        return false;
    ot_value value = node->in[DATA];
    *chain = (ot_chain){.root = root, .depthwise = node->in[WEIGHT], .between = "none"};
    chain->bytes = (double)optune_tensor_bytes(ot_graph_type_of(g, value));
    ot_value inner;
    const char *word;
    if (!once(uses, value))
        return false;
    if (activation(g, uses, value, &inner, &word)) {
        chain->between = word;
        value = inner;
    }
    biased(g, uses, &value, chain);
    const ot_node *first = node_of(g, value);
    if (!is_plain(g, first) || !is_pointwise(g, first) ||
        ot_value_constant(g, first->in[DATA]) ||
        !optune_dtype_equal(first->out[0].dtype, node->out[0].dtype) ||
        (chain->has_bias &&
         !optune_dtype_equal(ot_graph_type_of(g, chain->bias)->dtype, node->out[0].dtype)))
        return false;
    chain->data = first->in[DATA];
    chain->pointwise = first->in[WEIGHT];
    return true;
}

static void attributes(const optune_graph *g, const ot_chain *chain, ot_text *to)
{
    static const char *const name[] = {"strides", "padding", "dilation"};
    const optune_call *call = g->node[chain->root].call;
    for (int i = 0; i < 3; i++) {
        const int n = i == 1 ? 4 : 2;
        for (int k = 0; k < n; k++)
            ot_text_printf(to, "%s%s%lld", k ? "," : name[i], k ? "" : "=[",
                           (long long)optune_call_ints(call, name[i])[k]);
        ot_text_add(to, "], ");
    }
    ot_text_printf(to, "between=%s", chain->between);
}

static optune_tensor bias_type(const optune_graph *g, const ot_chain *chain)
{
    const optune_tensor *out = &g->node[chain->root].out[0];
    return (optune_tensor){.dtype = out->dtype,
                           .rank = 3,
                           .dim = {out->dim[C], optune_dim_of(1), optune_dim_of(1)}};
}

int ot_chain_call(const optune_graph *g, const ot_chain *chain, optune_call *call,
                  optune_err *err)
{
    const optune_tensor bias = bias_type(g, chain);
    const optune_tensor *const type[] = {ot_graph_type_of(g, chain->data),
                                         ot_graph_type_of(g, chain->pointwise),
                                         ot_graph_type_of(g, chain->depthwise), &bias};
    ot_text text = {0};
    for (int i = 0; i < (chain->has_bias ? 4 : 3); i++) {
        ot_text_add(&text, i ? ", const " : "pointwise_depthwise_conv2d(");
        ot_tensor_print(type[i], &text);
    }
    ot_text_add(&text, ", ");
    attributes(g, chain, &text);
    ot_text_add(&text, ")");
    const int status = ot_call_parse(ot_text_str(&text), call, err);
    ot_text_release(&text);
    return status;
}

/* [M,1,1], of the same elements. */
static int write_bias(ot_rebuild *make, const ot_chain *chain)
{
    const ot_node *node = node_of(make->g, chain->bias);
    const optune_tensor type = bias_type(make->g, chain);
    char name[OPTUNE_NAME_SIZE];
    if (node->out[0].rank == type.rank)
        return ot_rebuild_home(make, chain->bias);
    return ot_rebuild_leaf(make, chain->bias.node,
                           ot_rebuild_name(make, node->name, "flat", name), &type);
}

int ot_chain_write(ot_rebuild *make, const ot_chain *chain)
{
    const ot_node *root = &make->g->node[chain->root];
    const ot_value from[] = {chain->data, chain->pointwise, chain->depthwise};
    int in[4], n = 0;
    for (; n < 3; n++)
        if ((in[n] = ot_rebuild_home(make, from[n])) < 0)
            return in[n];
    if (chain->has_bias && (in[n++] = write_bias(make, chain)) < 0)
        return in[n - 1];
    ot_text attrs = {0};
    attributes(make->g, chain, &attrs);
    const int made =
        optune_graph_call(make->to->graph, root->name, "pointwise_depthwise_conv2d", in, n,
                          ot_text_str(&attrs), make->err);
    ot_text_release(&attrs);
    return make->home[chain->root] = ot_rebuild_note(make, made, chain->root);
}
