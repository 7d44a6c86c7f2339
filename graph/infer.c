/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of a whole graph. Each call's relation runs over what is known around it and its results
 * go back to where the values are made, forwards and backwards, until nothing changes. Names of
 * dims belong to the graph: what one call learns of `?m` holds everywhere.
 */
#include <string.h>

#include "base/fenv.h"
#include "call/dim_expr.h"
#include "graph/graph.h"

enum { MAX_ROUNDS = 256 }; /* each round settles at least one dim of a sane graph */

typedef struct inference {
    optune_graph *g;
    bool changed;
    optune_err *err;
} inference;

/* ---- names ------------------------------------------------------------------------------- */

static void range_text(const optune_dim *dim, ot_text *to)
{
    if (optune_dim_known(dim))
        ot_text_printf(to, "%lld", (long long)dim->min);
    else if (dim->max == OPTUNE_DIM_MAX)
        ot_text_printf(to, "%lld..", (long long)dim->min);
    else
        ot_text_printf(to, "%lld..%lld", (long long)dim->min, (long long)dim->max);
}

static int name_conflict(inference *in, int node, const optune_dim *a, const optune_dim *b)
{
    ot_text text = {0};
    ot_text_printf(&text, "dim '?%s' cannot be ", optune_dim_text(a));
    range_text(a, &text);
    ot_text_add(&text, " and ");
    range_text(b, &text);
    const int status =
        ot_graph_fail(in->g, node, -1, OPTUNE_ETYPE, ot_text_str(&text), in->err);
    ot_text_release(&text);
    return status;
}

typedef struct learned_name {
    const char *name;
    const optune_dim *is;
} learned_name;

static bool is_within(const optune_dim *dim, const char *name)
{
    return ot_dim_computed(dim) && ot_dim_mentions(dim, name);
}

static bool of_learned(const void *arg, const char *name, optune_dim *is)
{
    const learned_name *l = arg;
    if (strcmp(name, l->name) != 0 || is_within(l->is, name))
        return false;
    *is = *l->is;
    return true;
}

/* What a name is goes into the dims that are computed of it. */
static int learn_in(inference *in, int id, optune_dim *dim, const char *name,
                    const optune_dim *learned)
{
    const optune_dim was = *dim;
    if (!ot_dim_computed(dim))
        return OPTUNE_OK;
    if (!ot_dim_settle(dim, of_learned, &(learned_name){name, learned})) {
        optune_dim is = was;
        memcpy(is.name, name, strlen(name) + 1);
        return name_conflict(in, id, learned->name[0] ? learned : &is, &was);
    }
    in->changed = in->changed || !ot_dim_same(dim, &was);
    return OPTUNE_OK;
}

/* Every dim called `name` becomes what was learned: a narrower range, another name, a number. */
static int learn(inference *in, const char *name, const optune_dim *learned)
{
    optune_graph *g = in->g;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++)
            for (int d = 0; d < g->node[id].out[o].rank; d++) {
                optune_dim *dim = &g->node[id].out[o].dim[d];
                if (strcmp(dim->name, name)) {
                    const int status = learn_in(in, id, dim, name, learned);
                    if (status < 0)
                        return status;
                    continue;
                }
                if (ot_dim_same(dim, learned))
                    continue;
                const optune_dim was = *dim;
                optune_dim want = *learned;
                /* what is computed of a name is no other name for it */
                if (!optune_dim_known(&want) && (!want.name[0] || is_within(&want, name)))
                    memcpy(want.name, name, sizeof want.name);
                optune_dim both = want;
                optune_dim range = {.min = was.min, .max = was.max};
                if (!optune_dim_unify(&both, &range)) {
                    memcpy(want.name, name, strlen(name) + 1);
                    return name_conflict(in, id, &want, &was);
                }
                if (optune_dim_known(&both))
                    both.name[0] = '\0';
                if (!ot_dim_same(&both, &was)) {
                    *dim = both;
                    in->changed = true;
                }
            }
    return OPTUNE_OK;
}

/* What was seen under each name. Most dims of a name agree: only one that differs is worth a walk
 * over the whole graph. */
typedef struct seen_dims {
    ot_names names;
    ot_arena arena;
    int n, capacity;
    optune_dim *dim;
} seen_dims;

static int join_one(inference *in, seen_dims *seen, const optune_dim *dim)
{
    const optune_dim is = *dim;
    const int *found = ot_names_find(&seen->names, is.name);
    if (found) {
        optune_dim *known = &seen->dim[*found], both = *known, other = is;
        if (ot_dim_same(known, &is))
            return OPTUNE_OK;
        /* What does not fit is found, with its place, by whoever learns. */
        *known = optune_dim_unify(&both, &other) ? both : *known;
        return learn(in, is.name, known);
    }
    if (seen->n == seen->capacity) {
        seen->capacity = seen->capacity ? 2 * seen->capacity : 16;
        optune_dim *more = ot_arena_alloc(&seen->arena, (size_t)seen->capacity * sizeof *more);
        for (int i = 0; i < seen->n; i++)
            more[i] = seen->dim[i];
        seen->dim = more;
    }
    seen->dim[seen->n] = is;
    ot_names_add(&seen->names, ot_arena_copy(&seen->arena, is.name), seen->n++);
    return OPTUNE_OK;
}

static bool of_seen(const void *arg, const char *name, optune_dim *is)
{
    const seen_dims *seen = arg;
    const int *found = ot_names_find(&seen->names, name);
    if (found)
        *is = seen->dim[*found];
    return found != NULL;
}

/* Dims that are computed of names are what these allow. */
static int settle_computed(inference *in, const seen_dims *seen)
{
    optune_graph *g = in->g;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++)
            for (int d = 0; d < g->node[id].out[o].rank; d++) {
                optune_dim *dim = &g->node[id].out[o].dim[d];
                const optune_dim was = *dim;
                if (!ot_dim_settle(dim, of_seen, seen)) {
                    ot_text text = {0};
                    ot_text_printf(&text, "dim '?%s', as the dims in it are, cannot be ",
                                   optune_dim_text(dim));
                    range_text(dim, &text);
                    const int status =
                        ot_graph_fail(g, id, -1, OPTUNE_ETYPE, ot_text_str(&text), in->err);
                    ot_text_release(&text);
                    return status;
                }
                in->changed = in->changed || !ot_dim_same(dim, &was);
            }
    return OPTUNE_OK;
}

/* Dims of one name, written with different ranges, are one from the start. */
static int join_names(inference *in)
{
    optune_graph *g = in->g;
    seen_dims seen = {0};
    int status = OPTUNE_OK;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++)
            for (int d = 0; d < g->node[id].out[o].rank && status >= 0; d++)
                if (g->node[id].out[o].dim[d].name[0])
                    status = join_one(in, &seen, &g->node[id].out[o].dim[d]);
    if (status >= 0)
        status = settle_computed(in, &seen);
    ot_names_release(&seen.names);
    ot_arena_release(&seen.arena);
    return status;
}

/* ---- one call ---------------------------------------------------------------------------- */

/* Relations say "argument 2", quote the argument's name or begin with it: there goes the caret. */
static int argument_of(const optune_op *op, int n, const char *message)
{
    const char *found = strstr(message, "argument ");
    const int i = found ? found[9] - '1' : -1;
    if (i >= 0 && i < n)
        return i;
    for (int k = 0; k < n; k++) {
        char quoted[OPTUNE_NAME_SIZE + 2];
        snprintf(quoted, sizeof quoted, "'%s'", op->inputs[k].name);
        if (strstr(message, quoted))
            return k;
    }
    for (int k = 0; k < n; k++) {
        const size_t length = strlen(op->inputs[k].name);
        if (!strncmp(message, op->inputs[k].name, length) && message[length] == ' ')
            return k;
    }
    return -1;
}

/* The same node may feed a call twice, so what one input learned joins what the other did. */
static int give_back(inference *in, int node, optune_tensor *to, const optune_tensor *before,
                     const optune_tensor *after)
{
    for (int d = 0; d < before->rank; d++) {
        const optune_dim *was = &before->dim[d], *is = &after->dim[d];
        if (!was->name[0] || ot_dim_same(was, is))
            continue;
        const int status = learn(in, was->name, is);
        if (status < 0)
            return status;
    }
    optune_tensor both = *to, other = *after;
    bool fits = optune_dtype_unify(&both.dtype, &other.dtype) &&
                (other.rank < 0 || optune_tensor_set_rank(&both, other.rank));
    for (int d = 0; d < other.rank && fits; d++) {
        fits = optune_dim_unify(&both.dim[d], &other.dim[d]);
        if (optune_dim_known(&both.dim[d]))
            both.dim[d].name[0] = '\0';
    }
    if (!fits) {
        ot_text text = {0};
        ot_tensor_print(after, &text);
        ot_text_add(&text, " is not ");
        ot_tensor_print(to, &text);
        const int status =
            ot_graph_fail(in->g, node, -1, OPTUNE_ETYPE, ot_text_str(&text), in->err);
        ot_text_release(&text);
        return status;
    }
    if (!ot_tensor_same(&both, to)) {
        *to = both;
        in->changed = true;
    }
    return OPTUNE_OK;
}

/* A dim that follows from values or from other dims and has a bound gets a name: whatever is
 * computed of it, wherever that is, has the same one. */
static void name_dims(optune_call *call, int id)
{
    for (int o = 0; o < call->n_outputs; o++)
        for (int d = 0; d < call->output[o].rank; d++) {
            optune_dim *dim = &call->output[o].dim[d];
            if (!optune_dim_known(dim) && !dim->name[0] && dim->max != OPTUNE_DIM_MAX)
                snprintf(dim->name, sizeof dim->name, "v%d_%d_%d", id, o, d);
        }
}

static int infer_call(inference *in, int id)
{
    optune_graph *g = in->g;
    const ot_node *node = &g->node[id];
    optune_call call;
    ot_graph_call_of(g, id, &call);
    optune_tensor *tensor[OT_MAX_TENSORS], before[OT_MAX_TENSORS];
    const int n = ot_call_tensors(&call, tensor);
    for (int i = 0; i < n; i++)
        before[i] = *tensor[i];
    optune_err inner = {0};
    const int settled = ot_call_infer_dims(&call, &inner);
    name_dims(&call, id);
    if (settled < 0)
        return ot_graph_fail(g, id, argument_of(call.op, call.n_inputs, inner.text), settled,
                             inner.text, in->err);
    for (int i = 0; i < n; i++) {
        if (ot_tensor_same(&before[i], tensor[i]))
            continue;
        optune_tensor *to =
            i < node->n_in ? ot_graph_type_of(g, node->in[i]) : &node->out[i - node->n_in];
        const int status = give_back(in, id, to, &before[i], tensor[i]);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

int ot_graph_infer_call(optune_graph *g, int node, optune_err *err)
{
    inference in = {.g = g, .err = err};
    return infer_call(&in, node);
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool all_known(const optune_graph *g)
{
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++)
            if (!optune_tensor_known(&g->node[id].out[o]))
                return false;
    return true;
}

int optune_graph_infer(optune_graph *g, optune_err *err)
{
    OT_ENTER(err, {"graph", g});
    inference in = {.g = g, .changed = true, .err = err};
    for (int round = 0; in.changed; round++) {
        if (round == MAX_ROUNDS)
            return optune_fail(err, OPTUNE_ETYPE, "the types of the graph do not settle");
        in.changed = false;
        int status = join_names(&in);
        for (int i = 0; i < g->n && status >= 0; i++) {
            const int id = round % 2 ? g->n - 1 - i : i;
            if (g->node[id].kind == OT_NODE_CALL)
                status = infer_call(&in, id);
        }
        if (status < 0)
            return status;
    }
    return all_known(g) ? OPTUNE_OK : 1;
}

/* What a dim's file calls it, where that is longer than its name here. */
static const char *called(const optune_graph *g, const char *name)
{
    for (const ot_dim_called *c = g->called; c; c = c->next)
        if (!strcmp(c->name, name))
            return c->whole;
    return name;
}

static int narrow(optune_graph *g, const char *name, optune_dim to, optune_err *err)
{
    inference in = {.g = g, .err = err};
    char own[OPTUNE_DIM_NAME_SIZE]; /* the caller's may be one of those that change */
    if (!ot_copy(own, sizeof own, ot_graph_dim_here(g, name)))
        *own = 0; /* longer than any */
    const char *names[64];
    int n = 0;
    for (int id = 0; id < g->n; id++)
        for (int o = 0; o < g->node[id].n_out; o++)
            for (int d = 0; d < g->node[id].out[o].rank; d++) {
                const optune_dim *dim = &g->node[id].out[o].dim[d];
                const char *is = dim->name;
                if (*own && ot_dim_mentions(dim, own))
                    return learn(&in, own, &to);
                int k = 0;
                while (k < n && strcmp(names[k], is) != 0)
                    k++;
                if (*is && !ot_dim_computed(dim) && k == n && n < OT_COUNT(names))
                    names[n++] = is;
            }
    OT_RETURN_UNLESS_OK(ot_graph_bound_before(g, name, err));
    for (int k = 0; k < n; k++)
        names[k] = called(g, names[k]);
    return ot_no_such(err, "symbolic dim", name, names, n);
}

static int refuse_size(const char *name, int64_t size, optune_err *err)
{
    return optune_fail(err, OPTUNE_ETYPE, "dim '?%.80s' cannot be %lld: 0 to %lld is possible",
                       name, (long long)size, (long long)OPTUNE_MAX_DIM);
}

int ot_graph_narrow(optune_graph *g, const optune_dim *dim, int64_t low, int64_t high,
                    optune_err *err)
{
    inference in = {.g = g, .err = err};
    optune_dim own = *dim; /* the graph's may be one of those that change */
    own.min = low;
    own.max = high;
    return learn(&in, own.name, &own);
}

int optune_graph_bind(optune_graph *g, const char *name, int64_t value, optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"dim", name});
    if (value < 0 || value > OPTUNE_MAX_DIM)
        return refuse_size(name, value, err);
    char own[256]; /* as in narrow */
    ot_format(own, sizeof own, "%s", name);
    const int status = narrow(g, name, optune_dim_of(value), err);
    if (status >= 0)
        ot_graph_note_bound(g, own, value);
    return status;
}

int optune_graph_bound(optune_graph *g, const char *name, int64_t low, int64_t high,
                       optune_err *err)
{
    OT_ENTER(err, {"graph", g}, {"dim", name});
    if (low < 0 || low > OPTUNE_MAX_DIM)
        return refuse_size(name, low, err);
    if (high < -1 || high > OPTUNE_MAX_DIM)
        return refuse_size(name, high, err);
    if (high >= 0 && high < low)
        return optune_fail(err, OPTUNE_ETYPE, "dim '?%.80s' cannot be %lld..%lld: it is empty",
                           name, (long long)low, (long long)high);
    const optune_dim range = {.min = low, .max = high < 0 ? OPTUNE_DIM_MAX : high};
    return narrow(g, name, range, err);
}
