/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers, written out step by step. What all steps take of the input is one product; a
 * step is a product with the state before it and functions of that. Where sequences of a batch have
 * lengths of their own, a step behind the end of one leaves its state as it is and gives 0.
 *
 *   H  units;  I  elements of an input;  T  steps;  B  sequences;  D  directions
 *   X [T,B,I], W [D,gates H,I], R [D,gates H,H], bias [D,2 gates H], states [D,B,H]
 *
 * Weights of 8 bits, [D,I,gates H] and [D,H,gates H], become floats; what they are multiplied with
 * stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { MOST_STEPS = 8192, IN_W = 1, IN_R, IN_BIAS, IN_LENGTHS, IN_H, IN_C, IN_PEEPHOLES };
enum { IN_SCALES = 8 }; /* of W, zero points of W, and those of R */

/* A layer in one direction, without its dim in all of them. */
typedef struct layer {
    ot_onnx_node *n;
    int gates, direction;
    bool backward;
    int64_t steps, batch, units; /* batch: -1 where only a run knows it */
    double clip;                 /* 0: none */
    bool together;               /* LSTM: the forget gate is what the input gate leaves */
    bool before;                 /* GRU: the reset gate comes behind the product */
    bool bytes;                  /* weights of 8 bits */
    value *x;        /* X W + both biases where they may be added so, [T,B,gates H] */
    value *r[2];     /* of all gates [gates H,H]; GRU: of update and reset, of hidden */
    value *bias;     /* GRU: of the hidden gate behind the product, [H]; or NULL */
    value *peephole; /* LSTM: [3 H] of input, output, forget; or NULL */
    value *lengths;  /* [B,1]; or NULL */
    value *h, *c;    /* [B,H]; or NULL: all 0, in front of the first step */
    const char *function[3];
    double alpha[3], beta[3];
} layer;

/* ---- small words ---------------------------------------------------------------------------- */

static value *add(layer *l, value *a, value *b)
{
    return ot_onnx_2(l->n, "add", a, b);
}

static value *multiply(layer *l, value *a, value *b)
{
    return ot_onnx_2(l->n, "multiply", a, b);
}

static value *number(layer *l, value *like, double x)
{
    return like ? ot_onnx_number(l->n, like, x) : NULL;
}

/* Columns [i H, (i+1) H) of what has `axis` in front of them; of all: itself. */
static value *columns(layer *l, value *of, int axis, int64_t first, int64_t count, int64_t all)
{
    return count == all
               ? of
               : ot_onnx_part(l->n, of, axis, first * l->units, (first + count) * l->units);
}

static value *gate_of(layer *l, value *all, int i)
{
    return columns(l, all, 1, i, 1, l->gates);
}

static value *affine(layer *l, value *x, double factor, double more)
{
    return add(l, multiply(l, x, number(l, x, factor)), number(l, x, more));
}

/* ---- functions of gates --------------------------------------------------------------------- */

static value *clipped(layer *l, value *x, double low, double high)
{
    return ot_onnx_call(l->n, "clip", 1, &x, "a_min=%.17g, a_max=%.17g", low, high);
}

/* log(1 + e^x), of what is far above 0 x itself */
static value *softplus(layer *l, value *x)
{
    ot_onnx_node *n = l->n;
    value *size = ot_onnx_1(n, "negative", ot_onnx_1(n, "abs", x));
    value *rest = ot_onnx_1(n, "log", add(l, ot_onnx_1(n, "exp", size), number(l, x, 1)));
    return add(l, ot_onnx_1(n, "relu", x), rest);
}

static value *choose(layer *l, value *x, double above, value *yes, value *no)
{
    value *const in[] = {ot_onnx_2(l->n, "greater", x, number(l, x, above)), yes, no};
    return ot_onnx_call(l->n, "where", 3, in, NULL);
}

/* Function i of those that the node names, of what is within the clip. */
static value *function(layer *l, int i, value *x)
{
    const char *name = l->function[i];
    const double a = l->alpha[i], b = l->beta[i];
    ot_onnx_node *n = l->n;
    if (l->clip > 0)
        x = clipped(l, x, -l->clip, l->clip);
    if (!strcmp(name, "Sigmoid") || !strcmp(name, "Tanh") || !strcmp(name, "Relu"))
        return ot_onnx_1(n, *name == 'S' ? "sigmoid" : *name == 'T' ? "tanh" : "relu", x);
    if (!strcmp(name, "Affine"))
        return affine(l, x, a, b);
    if (!strcmp(name, "HardSigmoid"))
        return clipped(l, affine(l, x, a, b), 0, 1);
    if (!strcmp(name, "LeakyRelu"))
        return choose(l, x, 0, x, multiply(l, x, number(l, x, a)));
    if (!strcmp(name, "ThresholdedRelu"))
        return choose(l, x, a, x, number(l, x, 0));
    if (!strcmp(name, "ScaledTanh"))
        return multiply(l, ot_onnx_1(n, "tanh", multiply(l, x, number(l, x, b))),
                        number(l, x, a));
    if (!strcmp(name, "Elu")) {
        value *low = add(l, ot_onnx_1(n, "exp", x), number(l, x, -1));
        return choose(l, x, 0, x, multiply(l, low, number(l, x, a)));
    }
    if (!strcmp(name, "Softsign"))
        return ot_onnx_2(n, "divide", x, add(l, ot_onnx_1(n, "abs", x), number(l, x, 1)));
    if (!strcmp(name, "Softplus"))
        return softplus(l, x);
    ot_onnx_refuse(n, "activation '%.40s' is not supported", name);
    return NULL;
}

/* What a function's alpha and beta are where the node does not say. */
static void default_numbers(const char *name, double *alpha, double *beta)
{
    static const struct {
        const char *name;
        double alpha, beta;
    } table[] = {{"Affine", 1, 0},     {"HardSigmoid", 0.2, 0.5}, {"LeakyRelu", 0.01, 0},
                 {"ScaledTanh", 1, 1}, {"ThresholdedRelu", 1, 0}, {"Elu", 1, 0}};
    for (size_t i = 0; i < OT_COUNT(table); i++)
        if (!strcmp(name, table[i].name)) {
            *alpha = table[i].alpha;
            *beta = table[i].beta;
        }
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* x + h R' of some gates, [B,their number H]. */
static value *with_state(layer *l, value *x, value *h, int part)
{
    return h ? add(l, x, ot_onnx_2(l->n, "dense", h, l->r[part])) : x;
}

static value *peeped(layer *l, value *gate, value *c, int i)
{
    return l->peephole && c ? add(l, gate, multiply(l, c, columns(l, l->peephole, 0, i, 1, 3)))
                            : gate;
}

/* What is left of the cell's state, and i of the new one. */
static value *lstm_cell(layer *l, value *all, value *i)
{
    value *fresh = multiply(l, i, function(l, 1, gate_of(l, all, 3)));
    if (!l->c)
        return fresh;
    value *f = l->together && i ? ot_onnx_2(l->n, "subtract", number(l, i, 1), i)
                                : function(l, 0, peeped(l, gate_of(l, all, 2), l->c, 2));
    return add(l, multiply(l, f, l->c), fresh);
}

/* Gates are input, output, forget, cell. */
static value *lstm_step(layer *l, value *x)
{
    value *all = with_state(l, x, l->h, 0);
    l->c = lstm_cell(l, all, function(l, 0, peeped(l, gate_of(l, all, 0), l->c, 0)));
    value *o = function(l, 0, peeped(l, gate_of(l, all, 1), l->c, 1));
    const double clip = l->clip; /* the cell's own state is not clipped */
    l->clip = 0;
    value *bent = function(l, 2, l->c);
    l->clip = clip;
    return multiply(l, o, bent);
}

/* The hidden gate before its function, of what the reset gate r leaves of the state. */
static value *gru_hidden(layer *l, value *of_x, value *r)
{
    if (!l->before)
        return with_state(l, of_x, l->h ? multiply(l, r, l->h) : NULL, 1);
    value *of_h = l->h ? ot_onnx_2(l->n, "dense", l->h, l->r[1]) : l->bias;
    if (!of_h)
        return l->h ? NULL : of_x;
    return add(l, of_x, multiply(l, r, l->h && l->bias ? add(l, of_h, l->bias) : of_h));
}

/* Gates are update, reset, hidden: h' = (1 - z) hidden + z h. */
static value *gru_step(layer *l, value *x)
{
    value *z_r = with_state(l, columns(l, x, 1, 0, 2, 3), l->h, 0);
    value *z = function(l, 0, columns(l, z_r, 1, 0, 1, 2));
    value *r = function(l, 0, columns(l, z_r, 1, 1, 1, 2));
    value *hidden = function(l, 1, gru_hidden(l, columns(l, x, 1, 2, 1, 3), r));
    value *rest = z ? ot_onnx_2(l->n, "subtract", number(l, z, 1), z) : NULL;
    value *fresh = multiply(l, rest, hidden);
    return l->h ? add(l, fresh, multiply(l, z, l->h)) : fresh;
}

static value *rnn_step(layer *l, value *x)
{
    return function(l, 0, with_state(l, x, l->h, 0));
}

static value *step(layer *l, value *x)
{
    return l->gates == 4 ? lstm_step(l, x) : l->gates == 3 ? gru_step(l, x) : rnn_step(l, x);
}

/* Where a sequence lasts, `y`; where it does not, `old`, or 0. */
static value *while_it_lasts(layer *l, value *lasts, value *y, value *old)
{
    return ot_onnx_call(l->n, "where", 3,
                        (value *const[]){lasts, y, old ? old : number(l, y, 0)}, NULL);
}

/* What is given at step t, [B,H]; the states behind it. */
static value *masked_step(layer *l, value *x, int64_t t)
{
    value *h = l->h, *c = l->c, *y = step(l, x);
    if (!l->lengths) {
        l->h = y;
        return y;
    }
    value *lasts = ot_onnx_2(l->n, "greater", l->lengths, number(l, l->lengths, (double)t));
    l->h = while_it_lasts(l, lasts, y, h);
    if (l->gates == 4)
        l->c = while_it_lasts(l, lasts, l->c, c);
    return h ? while_it_lasts(l, lasts, y, NULL) : l->h;
}

/* All steps, [T,B,H]. */
static value *run(layer *l)
{
    ot_onnx_node *n = l->n;
    value **y = ot_arena_alloc(&n->m->arena, (size_t)l->steps * sizeof(value *));
    for (int64_t i = 0; i < l->steps; i++) {
        const int64_t t = l->backward ? l->steps - 1 - i : i;
        value *x = ot_onnx_part(n, l->x, 0, t, t + 1);
        x = ot_onnx_call(n, "squeeze", 1, &x, "axis=[0]");
        y[t] = x ? masked_step(l, x, t) : NULL;
        if (!y[t] || !l->h || (l->gates == 4 && !l->c))
            return NULL;
        y[t] = y[t] && ot_onnx_wants(n, 0) ? ot_onnx_call(n, "expand_dims", 1, &y[t], "axis=0")
                                           : y[t];
        if (!y[t])
            return NULL;
    }
    if (n->err->status < 0)
        return NULL;
    return ot_onnx_wants(n, 0) ? ot_onnx_join(n, 0, (int)l->steps, y) : y[0];
}

/* ---- what a node says ----------------------------------------------------------------------- */

/* A list of floats that may be left out; how many. */
static size_t floats(const ot_onnx_node *n, const char *name, const float **list)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    *list = attr ? attr->floats : NULL;
    return attr ? attr->n_floats : 0;
}

/* The functions of a direction, and their numbers, which stand one behind the other for those
 * functions alone that have some. */
static int take_functions(layer *l, int per, const char *const *otherwise)
{
    const ot_onnx_node *n = l->n;
    const ot_onnx_attr *names = ot_onnx_attr_of(n, "activations");
    const float *alpha, *beta;
    const size_t n_alpha = floats(n, "activation_alpha", &alpha);
    const size_t n_beta = floats(n, "activation_beta", &beta);
    size_t a = 0, b = 0;
    for (int k = 0; k < (l->direction + 1) * per; k++) {
        const int i = k % per;
        const bool told = names && (size_t)k < names->n_strings;
        char *name = (char *)(uintptr_t)otherwise[i];
        if (told) {
            name = ot_arena_alloc(&n->m->arena, names->strings[k].len + 1);
            memcpy(name, names->strings[k].data, names->strings[k].len);
        }
        l->function[i] = name;
        l->alpha[i] = l->beta[i] = 0;
        default_numbers(name, &l->alpha[i], &l->beta[i]);
        const bool plain =
            !strcmp(name, "Sigmoid") || !strcmp(name, "Tanh") || !strcmp(name, "Relu");
        const bool second = !strcmp(name, "Affine") || !strcmp(name, "HardSigmoid") ||
                            !strcmp(name, "ScaledTanh");
        if (!plain && a < n_alpha)
            l->alpha[i] = (double)alpha[a++];
        if (second && b < n_beta)
            l->beta[i] = (double)beta[b++];
    }
    return OPTUNE_OK;
}

/* Input i without its dim of directions; NULL: it is left out, or has failed. */
static value *of_direction(layer *l, int i)
{
    value *all = ot_onnx_in(l->n, i);
    if (!all)
        return NULL;
    value *part = ot_onnx_part(l->n, all, 0, l->direction, l->direction + 1);
    return ot_onnx_call(l->n, "squeeze", 1, &part, "axis=[0]");
}

/* W or R as floats, its columns the elements of what it is multiplied with. */
static value *weights_of(layer *l, int i)
{
    ot_onnx_node *n = l->n;
    value *w = of_direction(l, i);
    if (!l->bytes || !w)
        return w;
    const int at = IN_SCALES + 2 * (i - IN_W);
    value *scale = ot_onnx_need(n, at), *zero = ot_onnx_in(n, at + 1);
    if (!scale)
        return NULL;
    const optune_dtype dtype = ot_onnx_type(n->m, scale)->dtype;
    scale = of_direction(l, at); /* a number, or one for each column */
    w = ot_onnx_as(n, w, dtype);
    if (zero)
        w = ot_onnx_2(n, "subtract", w, ot_onnx_as(n, of_direction(l, at + 1), dtype));
    return ot_onnx_transpose(n, multiply(l, w, scale), 2, (const int[]){1, 0});
}

/* A state that is given; NULL: it is left out, or has failed. */
static value *state_of(layer *l, int i, bool batch_first)
{
    ot_onnx_node *n = l->n;
    value *all = ot_onnx_in(n, i);
    value *part = ot_onnx_part(n, all, batch_first, l->direction, l->direction + 1);
    return ot_onnx_call(n, "squeeze", 1, &part, "axis=[%d]", batch_first);
}

/* X W' and what is added to it once and for all. */
static value *taken(layer *l, value *x)
{
    ot_onnx_node *n = l->n;
    int64_t dim[OPTUNE_MAX_RANK];
    if (!ot_onnx_dims_at(n, x, 1U << 0 | 1U << 2, dim))
        return NULL;
    const int64_t g = l->gates, width = g * l->units;
    const int64_t rows = l->batch < 0 ? -1 : l->steps * l->batch;
    value *flat = ot_onnx_reshape(n, x, 2, (const int64_t[]){rows, dim[2]});
    value *w = weights_of(l, IN_W), *y = ot_onnx_2(n, "dense", flat, w);
    if (ot_onnx_in(n, IN_BIAS)) {
        value *both = of_direction(l, IN_BIAS);
        value *of_x = columns(l, both, 0, 0, g, 2 * g);
        value *of_h = columns(l, both, 0, g, g, 2 * g);
        if (l->before) { /* that of the hidden gate is scaled by the reset gate */
            l->bias = columns(l, of_h, 0, 2, 1, 3);
            y = add(l, y, of_x);
            of_h = ot_onnx_join(n, 0, 2,
                                (value *const[]){columns(l, of_h, 0, 0, 2, 3),
                                                 multiply(l, l->bias, number(l, l->bias, 0))});
            y = add(l, y, of_h);
        } else {
            y = add(l, y, add(l, of_x, of_h));
        }
    }
    return ot_onnx_reshape(n, y, 3, (const int64_t[]){l->steps, l->batch, width});
}

/* ---- the whole ------------------------------------------------------------------------------ */

typedef struct recurrent {
    int gates, functions;
    const char *function[3];
} recurrent;

static const recurrent kinds[] = {
    {4, 3, {"Sigmoid", "Tanh", "Tanh"}}, {3, 2, {"Sigmoid", "Tanh"}}, {1, 1, {"Tanh"}}};

/* One direction: what it gives at each step, and its last states. */
static int one_way(layer *l, const recurrent *kind, value *x, bool batch_first, value **y)
{
    ot_onnx_node *n = l->n;
    take_functions(l, kind->functions, kind->function);
    l->x = taken(l, x);
    l->r[0] = weights_of(l, IN_R);
    if (!l->x || !l->r[0])
        return n->err->status;
    if (l->gates == 3) {
        l->r[1] = columns(l, l->r[0], 0, 2, 1, 3);
        l->r[0] = columns(l, l->r[0], 0, 0, 2, 3);
    }
    l->h = state_of(l, IN_H, batch_first);
    l->c = l->gates == 4 ? state_of(l, IN_C, batch_first) : NULL;
    l->peephole = l->gates == 4 ? of_direction(l, IN_PEEPHOLES) : NULL;
    if (n->err->status < 0)
        return n->err->status;
    *y = run(l);
    return *y                   ? OPTUNE_OK
           : n->err->status < 0 ? n->err->status
                                : ot_onnx_refuse(n, "it cannot be computed");
}

/* All directions as one value with a dim for them: in front, or behind the batch. */
static value *ways(ot_onnx_node *n, int axis, int directions, value **part)
{
    value *with[2];
    for (int d = 0; d < directions; d++)
        with[d] = ot_onnx_call(n, "expand_dims", 1, &part[d], "axis=%d", axis);
    return ot_onnx_join(n, axis, directions, with);
}

static int layer_of(ot_onnx_node *n)
{
    const recurrent *kind = &kinds[*n->op->arg - '0'];
    const char *way = ot_onnx_word(n, "direction", "forward");
    const bool both = !strcmp(way, "bidirectional"), batch_first = ot_onnx_int(n, "layout", 0);
    const int directions = both ? 2 : 1;
    value *x = ot_onnx_need(n, 0), *y[2], *h[2], *c[2];
    int64_t dim[OPTUNE_MAX_RANK], of_r[OPTUNE_MAX_RANK];
    if (!x || !ot_onnx_need(n, IN_W) || !ot_onnx_need(n, IN_R))
        return n->err->status;
    if (ot_onnx_rank(n, x) != 3 || ot_onnx_rank(n, ot_onnx_in(n, IN_R)) != 3)
        return n->err->status < 0 ? n->err->status
                                  : ot_onnx_refuse(n, "its input and weights have 3 dims each");
    if (!both && strcmp(way, "forward") && strcmp(way, "reverse"))
        return ot_onnx_refuse(n, "direction '%.40s' is none", way);
    x = batch_first ? ot_onnx_transpose(n, x, 3, (const int[]){1, 0, 2}) : x;
    if (!x || !ot_onnx_dims_at(n, x, 1U << 0 | 1U << 2, dim) ||
        !ot_onnx_dims(n, ot_onnx_in(n, IN_R), of_r))
        return n->err->status;
    if (dim[0] < 1 || dim[0] > MOST_STEPS)
        return ot_onnx_refuse(n,
                              "it has %lld steps, and is written out step by step: 1 to %d "
                              "are supported",
                              (long long)dim[0], (int)MOST_STEPS);
    const bool bytes = n->op->arg[1] == 'b';
    const int64_t units = of_r[bytes ? 1 : 2], width = of_r[bytes ? 2 : 1];
    if (of_r[0] != directions || width != kind->gates * units)
        return optune_fail(n->err, OPTUNE_ETYPE, "its weights [%lld,%lld,%lld] do not fit %s",
                           (long long)of_r[0], (long long)of_r[1], (long long)of_r[2], way);
    value *lengths = ot_onnx_in(n, IN_LENGTHS);
    if (lengths)
        lengths = ot_onnx_reshape(n, lengths, 2, (const int64_t[]){dim[1], 1});
    for (int d = 0; d < directions; d++) {
        layer l = {.n = n,
                   .gates = kind->gates,
                   .direction = d,
                   .backward = d || *way == 'r',
                   .steps = dim[0],
                   .batch = dim[1],
                   .units = units,
                   .bytes = bytes,
                   .clip = ot_onnx_real(n, "clip", 0),
                   .together = ot_onnx_int(n, "input_forget", 0),
                   .before = ot_onnx_int(n, "linear_before_reset", 0),
                   .lengths = lengths};
        const int status = one_way(&l, kind, x, batch_first, &y[d]);
        if (status < 0)
            return status;
        h[d] = l.h;
        c[d] = l.c;
    }
    int status = OPTUNE_OK;
    if (ot_onnx_wants(n, 0)) {
        value *all = ways(n, 1, directions, y); /* [T,D,B,H] */
        all =
            batch_first && all ? ot_onnx_transpose(n, all, 4, (const int[]){2, 0, 1, 3}) : all;
        status = ot_onnx_give(n, 0, all);
    }
    if (status >= 0 && ot_onnx_wants(n, 1))
        status = ot_onnx_give(n, 1, ways(n, batch_first, directions, h));
    if (status >= 0 && ot_onnx_wants(n, 2) && kind->gates == 4)
        status = ot_onnx_give(n, 2, ways(n, batch_first, directions, c));
    return status;
}

static const ot_onnx_op ops[] = {
    {"LSTM", layer_of, "0"}, {"GRU", layer_of, "1"},
    {"RNN", layer_of, "2"},  {"com.microsoft::DynamicQuantizeLSTM", layer_of, "0b"},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(recurrent) = {ops};
