/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of float32 in 16 bits, where that is faster and does little harm. Products whose sums are
 * kept in float32 (convolutions, dense and batched products, attention) take and give 16 bits; what
 * only maps or moves their results stays so; everything else is computed in float32: sums and
 * means, norms, softmax, positions and angles. Where both meet a value is cast, once for all its
 * readers. A call that has a constant or an attribute that 16 bits cannot hold (a mask's -FLT_MAX,
 * a guard of 1e-9 in float16) is computed in float32, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/rebuild.h"

/* Inputs of these say where something is, or are angles: 16 bits tell few of them apart. */
static const char *const of_places[] = {"grid_sample", "roi_align", "sin", "cos", "tan"};
/* What these give is soon beyond the largest float16. */
static const char *const growing[] = {"exp", "power"};

typedef struct narrowing {
    ot_rebuild make; /* home: in float32, or as it is */
    optune_dtype to;
    int *narrow;  /* by node of one output: in 16 bits; -1: not there yet */
    bool *born16; /* by node: computed in 16 bits */
} narrowing;

static bool is_wide(const optune_tensor *type)
{
    return type->dtype.code == OPTUNE_DTYPE_FLOAT && type->dtype.bits == 32 &&
           type->dtype.lanes == 1;
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof *(list))

static double largest_of(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1.FEp127 : 65504;
}

/* ---- constants ----------------------------------------------------------------------------- */

typedef struct
    narrowed { /* elements of another constant that can be had again, in fewer bits */
    ot_backing *of;
    optune_dtype from, to;
} narrowed;

static void convert(optune_dtype from, const void *data, optune_dtype to, size_t bytes,
                    void *made)
{
    enum { PIECE = 1024 };
    const int64_t n = (int64_t)(bytes * 8 / to.bits);
    const double most = largest_of(to);
    double piece[PIECE];
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t some = n - first < PIECE ? n - first : PIECE;
        ot_elements(from, data, first, some, piece);
        for (int64_t i = 0; i < some; i++)
            if (isfinite(piece[i]))
                piece[i] = fmin(fmax(piece[i], -most), most);
        ot_elements_set(to, made, first, some, piece);
    }
}

static int read_narrowed(void *from, void *to, size_t bytes, optune_err *err)
{
    const narrowed *n = from;
    OT_RETURN_UNLESS_OK(ot_backing_hold(n->of, err));
    convert(n->from, n->of->data, n->to, bytes, to);
    ot_backing_let_go(n->of);
    return OPTUNE_OK;
}

static void close_narrowed(void *from)
{
    ot_backing_close(((narrowed *)from)->of);
    free(from);
}

/* What can be had again is converted whenever it is, the rest at once. */
static int give_narrowed(const ot_node *origin, ot_node *node, optune_err *err)
{
    const optune_dtype from = origin->out[0].dtype, to = node->out[0].dtype;
    const size_t bytes = (size_t)optune_tensor_bytes(&node->out[0]);
    if (!origin->backing) {
        node->data = ot_alloc(bytes + 1);
        convert(from, origin->data, to, bytes, node->data);
        return OPTUNE_OK;
    }
    narrowed *n = ot_alloc(sizeof *n);
    *n = (narrowed){.of = ot_backing_share(origin->backing), .from = from, .to = to};
    node->backing = ot_backing_new(bytes, read_narrowed, close_narrowed, n, err);
    if (!node->backing) {
        close_narrowed(n);
        return OPTUNE_ENOMEM;
    }
    node->data = node->backing->data;
    return OPTUNE_OK;
}

/* The new graph's own: the other one may be closed. */
static int give_elements(const optune_graph *g, const ot_relaid *made, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int id = 0; id < made->graph->n && status >= 0; id++) {
        ot_node *node = &made->graph->node[id];
        const ot_node *origin = made->origin[id] < 0 ? NULL : &g->node[made->origin[id]];
        if (node->kind != OT_NODE_CONST || !origin || !origin->data)
            continue;
        if (!optune_dtype_equal(node->out[0].dtype, origin->out[0].dtype)) {
            status = give_narrowed(origin, node, err);
        } else if (origin->backing) {
            node->backing = ot_backing_share(origin->backing);
            node->data = origin->data;
        } else {
            const size_t bytes = (size_t)optune_tensor_bytes(&origin->out[0]);
            node->data = ot_alloc(bytes + 1);
            memcpy(node->data, origin->data, bytes);
        }
    }
    return status;
}

/* ---- values -------------------------------------------------------------------------------- */

/* Both forms of a value, each made where it is wanted first. */
static int cast(narrowing *n, int of, optune_dtype to, const char *stem)
{
    char attrs[32], dtype[16], name[OPTUNE_NAME_SIZE];
    ot_print_dtype(to, dtype, sizeof dtype);
    snprintf(attrs, sizeof attrs, "dtype=%s", dtype);
    return ot_rebuild_note(&n->make,
                           optune_graph_call(n->make.to->graph,
                                             ot_rebuild_name(&n->make, stem, dtype, name),
                                             "cast", &of, 1, attrs, n->make.err),
                           -1);
}

static int in_float32(narrowing *n, ot_value value)
{
    if (!n->born16[value.node] || n->make.home[value.node] >= 0)
        return ot_rebuild_home(&n->make, value);
    return n->make.home[value.node] =
               cast(n, n->narrow[value.node], ot_graph_type_of(n->make.g, value)->dtype,
                    n->make.g->node[value.node].name);
}

static int in_16_bits(narrowing *n, ot_value value)
{
    const ot_node *node = &n->make.g->node[value.node];
    const bool kept = node->n_out == 1;
    if (kept && n->narrow[value.node] >= 0)
        return n->narrow[value.node];
    int made;
    if (node->kind == OT_NODE_CONST) {
        optune_tensor type = node->out[0];
        type.dtype = n->to;
        char dtype[16], name[OPTUNE_NAME_SIZE];
        ot_print_dtype(n->to, dtype, sizeof dtype);
        made = ot_rebuild_leaf(&n->make, value.node,
                               ot_rebuild_name(&n->make, node->name, dtype, name), &type);
    } else {
        made = ot_rebuild_home(&n->make, value);
        made = made < 0 ? made : cast(n, made, n->to, node->name);
    }
    if (kept)
        n->narrow[value.node] = made;
    return made;
}

/* ---- which calls --------------------------------------------------------------------------- */

/* As a number that is more than rounded: it becomes another largest one, or zero. */
static bool is_lost(const narrowing *n, double value)
{
    const double least = n->to.code == OPTUNE_DTYPE_BFLOAT ? 0x1p-133 : 0x1p-24;
    const double size = fabs(value);
    return isfinite(value) && (size > largest_of(n->to) || (size > 0 && size <= least / 2));
}

/* Of a constant beside the values that a call computes with; weights of products may have some. */
static int has_lost(const narrowing *n, int id, bool *lost)
{
    enum { PIECE = 1024 };
    const ot_node *node = &n->make.g->node[id];
    const void *data;
    *lost = false;
    if (node->kind != OT_NODE_CONST || !node->data || !is_wide(&node->out[0]))
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_graph_hold(n->make.g, id, &data, n->make.err));
    const int64_t all = optune_tensor_elements(&node->out[0]);
    double piece[PIECE];
    for (int64_t first = 0; first < all && !*lost; first += PIECE) {
        const int64_t some = all - first < PIECE ? all - first : PIECE;
        ot_elements(node->out[0].dtype, data, first, some, piece);
        for (int64_t i = 0; i < some; i++)
            *lost = *lost || is_lost(n, piece[i]);
    }
    ot_graph_let_go(n->make.g, id);
    return OPTUNE_OK;
}

static bool attributes_hold(const narrowing *n, const optune_call *call)
{
    for (int i = 0; i < call->n_attrs; i++)
        if (call->attr[i].kind == OPTUNE_ATTR_FLOAT && is_lost(n, call->attr[i].f))
            return false;
    return true;
}

/* Products of a depth of 1 sum nothing: they spell out positions times frequencies. */
static bool sums(const narrowing *n, const ot_node *node)
{
    const optune_tensor *data = ot_graph_type_of(n->make.g, node->in[0]);
    const bool batched = strcmp(node->call->op->name, "batch_matmul") == 0;
    if ((!batched && strcmp(node->call->op->name, "dense") != 0) || data->rank < 1)
        return true;
    const bool turned = batched && optune_call_int(node->call, "transpose_a");
    const optune_dim *depth = &data->dim[data->rank - (turned ? 2 : 1)];
    return depth->max > 1;
}

/* Attention adds its mask before a maximum is known: a computed one may hold the lowest float. */
static bool masked(const narrowing *n, const ot_node *node)
{
    return strcmp(node->call->op->name, "attention") == 0 && node->n_in > 3 &&
           is_wide(ot_graph_type_of(n->make.g, node->in[3]));
}

static bool grows(const narrowing *n, const ot_node *node)
{
    const char *op = node->call->op->name;
    const bool square = strcmp(op, "multiply") == 0 && node->in[0].node == node->in[1].node;
    return n->to.code == OPTUNE_DTYPE_FLOAT && (square || IS_ONE_OF(op, growing));
}

/* What only maps or moves elements; poolings that sum are none. */
static bool maps(const optune_op *op)
{
    return op->pattern <= OPTUNE_INJECTIVE || (op->pattern == OPTUNE_OUT_FUSABLE && !op->terms);
}

/* Whether a call is to read 16 bits: a product, or what maps or moves what is in them already. 1:
 * it is. */
static int wants_narrow(const narrowing *n, const ot_node *node)
{
    const optune_op *op = node->call->op;
    int floats = 0, narrow = 0, computed = 0;
    for (int i = 0; i < node->n_in; i++) {
        const ot_value in = node->in[i];
        if (!is_wide(ot_graph_type_of(n->make.g, in)))
            continue;
        floats++;
        computed += !ot_value_constant(n->make.g, in);
        narrow += n->born16[in.node];
    }
    if (node->n_out != 1 || IS_ONE_OF(op->name, of_places) || !attributes_hold(n, node->call))
        return 0;
    if (op->float32_sums)
        return floats > 1 && sums(n, node) && !masked(n, node);
    if (!maps(op) || computed == 0 || narrow < computed || grows(n, node))
        return 0;
    bool lost = false;
    for (int i = 0; i < node->n_in && !lost; i++)
        OT_RETURN_UNLESS_OK(has_lost(n, node->in[i].node, &lost));
    return !lost;
}

/* ---- rewriting ----------------------------------------------------------------------------- */

/* A call's outputs when its inputs of float32 have 16 bits; false: it does not take them. */
static bool types_in_16_bits(const narrowing *n, int id, optune_call *call)
{
    const ot_node *node = &n->make.g->node[id];
    optune_err none = {0};
    optune_call *known = ot_alloc(sizeof *known);
    ot_graph_call_of(n->make.g, id, known);
    bool fits = ot_call_start(known->op, call, &none) >= 0;
    if (fits) {
        memcpy(call->attr, known->attr, (size_t)known->n_attrs * sizeof *call->attr);
        call->n_inputs = known->n_inputs;
        call->n_outputs = known->n_outputs;
        for (int i = 0; i < node->n_in; i++) {
            call->input[i] = known->input[i];
            if (is_wide(&call->input[i].type))
                call->input[i].type.dtype = n->to;
        }
        fits = ot_call_infer_dims(call, &none) >= 0;
    }
    for (int i = 0; i < node->n_out && fits; i++)
        fits = call->output[i].dtype.code != OPTUNE_DTYPE_UNKNOWN;
    free(known);
    return fits;
}

static int narrow_call(narrowing *n, int id, const optune_call *call)
{
    const ot_node *node = &n->make.g->node[id];
    int in[OPTUNE_MAX_INPUTS];
    for (int i = 0; i < node->n_in; i++) {
        in[i] = is_wide(ot_graph_type_of(n->make.g, node->in[i])) ? in_16_bits(n, node->in[i])
                                                                  : in_float32(n, node->in[i]);
        if (in[i] < 0)
            return in[i];
    }
    const int made = optune_graph_call_like(n->make.to->graph, node->name, node->call, in,
                                            node->n_in, n->make.err);
    if (made < 0)
        return made;
    for (int i = 0; i < node->n_out; i++) {
        optune_tensor *out = &n->make.to->graph->node[made].out[i];
        *out = node->out[i];
        out->dtype = call->output[i].dtype;
    }
    const bool born16 =
        is_wide(&node->out[0]) && optune_dtype_equal(call->output[0].dtype, n->to);
    *(born16 ? &n->narrow[id] : &n->make.home[id]) = made;
    n->born16[id] = born16;
    return ot_rebuild_note(&n->make, made, id);
}

static int wide_call(narrowing *n, int id)
{
    const ot_node *node = &n->make.g->node[id];
    int in[OPTUNE_MAX_INPUTS];
    for (int i = 0; i < node->n_in; i++) {
        in[i] = in_float32(n, node->in[i]);
        if (in[i] < 0)
            return in[i];
    }
    return ot_rebuild_same(&n->make, id, in);
}

static int rewrite_call(narrowing *n, int id)
{
    const int wants = wants_narrow(n, &n->make.g->node[id]);
    if (wants <= 0)
        return wants < 0 ? wants : wide_call(n, id);
    optune_call *call = ot_alloc(sizeof *call);
    const bool fits = types_in_16_bits(n, id, call);
    const int status = fits ? narrow_call(n, id, call) : wide_call(n, id);
    free(call);
    return status;
}

static int rewrite(narrowing *n)
{
    const optune_graph *g = n->make.g;
    int status = OPTUNE_OK;
    for (int id = 0; id < g->n && status >= 0; id++) {
        if (g->node[id].kind == OT_NODE_VAR)
            status = n->make.home[id] =
                ot_rebuild_leaf(&n->make, id, g->node[id].name, &g->node[id].out[0]);
        else if (g->node[id].kind == OT_NODE_CALL)
            status = rewrite_call(n, id);
    }
    const int n_outputs = ot_graph_output_values(g, NULL, 0);
    ot_value *value = ot_alloc((size_t)(n_outputs + 1) * sizeof *value);
    ot_graph_output_values(g, value, n_outputs);
    for (int i = 0; i < n_outputs && status >= 0; i++) {
        const int id = in_float32(n, value[i]);
        status = id < 0 ? id : optune_graph_output(n->make.to->graph, id, n->make.err);
    }
    free(value);
    if (status >= 0)
        status = optune_graph_infer(n->make.to->graph, n->make.err);
    return status;
}

/* Every node beside itself twice, and what takes one of several outputs wherever it is read. */
static size_t most_nodes(const optune_graph *g)
{
    size_t n = (size_t)ot_graph_output_values(g, NULL, 0);
    for (int id = 0; id < g->n; id++)
        n += 3 + (size_t)g->node[id].n_in;
    return 2 * n;
}

int optune_graph_narrow(const optune_graph *graph, const char *dtype, optune_graph **narrow,
                        optune_err *err)
{
    OT_ENTER(err, {"graph", graph}, {"dtype", dtype}, {"narrow", narrow});
    *narrow = NULL;
    narrowing n = {0};
    if (!ot_parse_dtype(dtype, &n.to) || n.to.bits != 16 || n.to.lanes != 1 ||
        (n.to.code != OPTUNE_DTYPE_FLOAT && n.to.code != OPTUNE_DTYPE_BFLOAT))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "a graph is computed in bfloat16 or float16, not '%.40s'", dtype);
    optune_graph *g;
    OT_RETURN_UNLESS_OK(optune_graph_copy(graph, false, &g, err));
    int status = optune_graph_infer(g, err);
    ot_relaid made;
    if (status >= 0) {
        const size_t nodes = (size_t)g->n + 1;
        n.narrow = ot_alloc(nodes * sizeof *n.narrow);
        n.born16 = ot_alloc(nodes * sizeof *n.born16);
        for (size_t i = 0; i < nodes; i++) {
            n.narrow[i] = -1;
            n.born16[i] = false;
        }
        ot_rebuild_start(&n.make, g, most_nodes(g), &made, err);
        status = rewrite(&n);
        ot_rebuild_end(&n.make, status);
        free(n.narrow);
        free(n.born16);
    }
    if (status >= 0) {
        const int given = give_elements(g, &made, err);
        if (given >= 0)
            *narrow = made.graph;
        else
            optune_graph_close(made.graph);
        free(made.origin);
        status = given < 0 ? given : status;
    }
    optune_graph_close(g);
    return status < 0 ? status : OPTUNE_OK;
}
