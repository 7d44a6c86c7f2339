/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einstein sums. Operands are joined one by one: labels that both sides and somebody further on
 * have are batches, those that only both have are summed over, so each step is a batch of matrix
 * products. The dims that "..." stands for get labels of their own, counted from the last.
 */
#include <ctype.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;

enum { LABELS = OPTUNE_MAX_RANK, DOTS = 200 }; /* DOTS + i: the i-th last dim of "..." */

typedef struct term {
    int n;
    unsigned char label[LABELS];
    int64_t dim[LABELS]; /* -1: open */
    value *x;
} term;

static int find(const term *t, unsigned char label)
{
    for (int i = 0; i < t->n; i++)
        if (t->label[i] == label)
            return i;
    return -1;
}

/* Reads "ij", "...ij" up to a comma, an arrow or the end. `rank` -1: of the output, whose dots are
 * `dots` dims. Returns how many dims the dots stand for; negative: it cannot be read. */
static int read_term(ot_onnx_node *n, const char **at, int rank, int dots, term *t)
{
    int letters = 0, stands = 0;
    for (const char *c = *at; *c && *c != ',' && *c != '-'; c++)
        letters += isalpha((unsigned char)*c) != 0;
    stands = rank < 0 ? dots : rank - letters;
    bool seen = false;
    for (t->n = 0; **at && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ')
            continue;
        if (!strncmp(*at, "...", 3) && !seen && stands >= 0) {
            for (int d = stands; d-- > 0 && t->n < LABELS;)
                t->label[t->n++] = (unsigned char)(DOTS + d);
            seen = true;
            *at += 2;
        } else if (isalpha((unsigned char)**at) && t->n < LABELS) {
            t->label[t->n++] = (unsigned char)**at;
        } else {
            return ot_onnx_refuse(n, "equation '%.80s' is not supported",
                                  ot_onnx_word(n, "equation", ""));
        }
    }
    if (rank >= 0 && (t->n != rank || (!seen && stands != 0)))
        return ot_onnx_refuse(n, "its equation does not fit an input of %d dims", rank);
    for (int i = 0; i < t->n && rank < 0; i++)
        if (find(t, t->label[i]) != i)
            return ot_onnx_refuse(n, "its result has a label twice");
    return seen ? stands : 0;
}

static bool ordered(ot_onnx_node *n, term *t, const unsigned char *label)
{
    int axes[LABELS];
    term to = *t;
    for (int i = 0; i < t->n; i++) {
        axes[i] = find(t, label[i]);
        to.label[i] = label[i];
        to.dim[i] = t->dim[axes[i]];
    }
    to.x = t->x ? ot_onnx_transpose(n, t->x, t->n, axes) : NULL;
    *t = to;
    return to.x;
}

/* Sums over what nobody needs. */
static bool summed(ot_onnx_node *n, term *t, const bool *needed)
{
    int64_t axes[LABELS];
    int n_axes = 0, left = 0;
    for (int i = 0; i < t->n; i++) {
        if (!needed[t->label[i]]) {
            axes[n_axes++] = i;
            continue;
        }
        t->label[left] = t->label[i];
        t->dim[left++] = t->dim[i];
    }
    t->n = left;
    if (n_axes)
        t->x = ot_onnx_call(n, "sum", 1, &t->x, "axis=[%s], keepdims=false",
                            ot_onnx_text(n->m, n_axes, axes));
    return t->x;
}

/* A dim of 1 fits any of the other's: it goes, and the label is the other's alone. */
static bool widened(ot_onnx_node *n, term *t, const term *other)
{
    bool keep[256];
    memset(keep, true, sizeof keep);
    for (int i = 0; i < t->n; i++) {
        const int at = find(other, t->label[i]);
        keep[t->label[i]] = at < 0 || t->dim[i] != 1 || other->dim[at] == 1;
    }
    return summed(n, t, keep);
}

/* Whether a label that both have is of one extent. */
static bool same_extent(ot_onnx_node *n, const term *a, int i, const term *b, int k)
{
    const optune_dim *l = &ot_onnx_type(n->m, a->x)->dim[i],
                     *r = &ot_onnx_type(n->m, b->x)->dim[k];
    if (a->dim[i] >= 0 && b->dim[k] >= 0 && a->dim[i] != b->dim[k])
        ot_onnx_refuse(n, "dims of one label differ: %lld and %lld", (long long)a->dim[i],
                       (long long)b->dim[k]);
    else if (a->dim[i] != b->dim[k] || (a->dim[i] < 0 && strcmp(l->name, r->name) != 0))
        ot_onnx_ask(n, a->dim[i] < 0 ? l : r, a->dim[i] < 0 ? i : k);
    return n->err->status >= 0;
}

/* In another shape, which has as many dims in front, and behind, as they are; of the others one may
 * be open. */
static value *reshaped(ot_onnx_node *n, value *x, int rank, const int64_t *dim, int front,
                       int behind)
{
    int64_t to[LABELS];
    int open = 0;
    bool none = false, keeps = false;
    for (int d = 0; d < rank; d++)
        none = none || dim[d] == 0;
    for (int d = 0; d < rank; d++) {
        const bool last = d >= rank - behind, kept = !none && (d < front || last);
        to[d] = dim[d] >= 0 || !kept ? dim[d] : last ? OT_ONNX_FROM_LAST : 0;
        keeps = keeps || (dim[d] < 0 && kept && !last);
        open += to[d] == -1;
    }
    if (open > 1) {
        ot_onnx_refuse(n, "it has several dims that are open: bind all but one with "
                          "--bind DIM=N");
        return NULL;
    }
    return keeps ? ot_onnx_reshape_keeping(n, x, rank, to) : ot_onnx_reshape(n, x, rank, to);
}

/* The dims that a side of a product has: of how many labels each is, and their product. */
typedef struct groups {
    int n, count[LABELS];
    int64_t dim[LABELS];
} groups;

static void add_group(groups *g, int64_t dim, int count)
{
    g->count[g->n] = count;
    g->dim[g->n++] = dim;
}

/* How many are of one label before another one is there, from the first on or the last. */
static int ones(const groups *g, bool backwards)
{
    int i = 0;
    while (i < g->n && g->count[backwards ? g->n - 1 - i : i] == 1)
        i++;
    return i;
}

/* Of each label that an input has twice, its diagonal: both dims become one, of which every
 * (extent + 1)-th element is on it. */
static bool diagonals(ot_onnx_node *n, term *t)
{
    for (int k = 1; k < t->n && t->x; k++) {
        const int i = find(t, t->label[k]), last = t->n - 2;
        if (i == k)
            continue;
        const int64_t extent = t->dim[i];
        if (extent < 0 || !same_extent(n, t, i, t, k)) {
            if (n->err->status >= 0)
                ot_onnx_ask(n, &ot_onnx_type(n->m, t->x)->dim[i], i);
            return false;
        }
        term to = {.n = last + 1};
        int axes[LABELS], left = 0;
        for (int d = 0; d < t->n; d++)
            if (d != i && d != k) {
                to.label[left] = t->label[d];
                to.dim[left] = t->dim[d];
                axes[left++] = d;
            }
        axes[last] = i;
        axes[last + 1] = k;
        to.label[last] = t->label[i];
        to.dim[last] = extent * extent;
        value *x = ot_onnx_transpose(n, t->x, t->n, axes);
        x = reshaped(n, x, to.n, to.dim, last, 0);
        int64_t begin[LABELS] = {0}, end[LABELS], step[LABELS];
        for (int d = 0; d <= last; d++) {
            end[d] = OPTUNE_MAX_DIM;
            step[d] = d < last ? 1 : extent + 1;
        }
        to.x = ot_onnx_call(n, "strided_slice", 1, &x, "begin=[%s], end=[%s], strides=[%s]",
                            ot_onnx_text(n->m, to.n, begin), ot_onnx_text(n->m, to.n, end),
                            ot_onnx_text(n->m, to.n, step));
        to.dim[last] = extent;
        *t = to;
        k = 0;
    }
    return t->x;
}

static int64_t extent(const term *t, int from, int to)
{
    int64_t all = 1;
    for (int i = from; i < to; i++)
        all = ot_onnx_times(all, t->dim[i]);
    return all;
}

/* How many of the first `rows` labels end with an open one where another one follows; 0: none does.
 * They are batches that meet one matrix. */
static int apart(const term *t, int rows)
{
    int first = 0;
    while (first < rows && t->dim[first] >= 0)
        first++;
    return first < rows && extent(t, first + 1, rows) < 0 ? first + 1 : 0;
}

static bool joined(ot_onnx_node *n, term *a, term *b, const bool *later)
{
    unsigned char left[LABELS], right[LABELS];
    int64_t product[4] = {1, 1, 1, 1};
    int count[4] = {0}; /* of labels, likewise */
    term to = {0};
    bool keep[256];
    if (!widened(n, a, b) || !widened(n, b, a))
        return false;
    for (int l = 0; l < 256; l++)
        keep[l] =
            later[l] || (find(a, (unsigned char)l) >= 0 && find(b, (unsigned char)l) >= 0);
    if (!summed(n, a, keep) || !summed(n, b, keep))
        return false;
    int n_left = 0, n_right = 0;
    /* What both have comes first: batches, then in the order a has only, what is summed over. */
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < a->n; i++) {
            const int at = find(b, a->label[i]);
            const int part = at < 0 ? 1 : later[a->label[i]] ? 0 : 2;
            if (part != pass)
                continue;
            if (at >= 0 && !same_extent(n, a, i, b, at))
                return false;
            left[n_left++] = a->label[i];
            product[part] = ot_onnx_times(product[part], a->dim[i]);
            count[part]++;
            if (part != 1)
                right[n_right++] = a->label[i];
            if (part != 2) {
                to.label[to.n] = a->label[i];
                to.dim[to.n++] = a->dim[i];
            }
        }
    for (int i = 0; i < b->n; i++)
        if (find(a, b->label[i]) < 0) {
            right[n_right++] = b->label[i];
            product[3] = ot_onnx_times(product[3], b->dim[i]);
            count[3]++;
            if (to.n == LABELS) {
                ot_onnx_refuse(n, "it has more than %d dims on the way", (int)LABELS);
                return false;
            }
            to.label[to.n] = b->label[i];
            to.dim[to.n++] = b->dim[i];
        }
    if (!ordered(n, a, left) || !ordered(n, b, right))
        return false;
    const bool skip = product[0] == 1; /* one product, as MatMul has it */
    const int split = count[0] ? 0 : apart(a, count[1]);
    value *x[3] = {a->x, b->x}; /* and both */
    for (int i = 0; i < 3; i++) {
        groups g = {0};
        if (!skip)
            add_group(&g, product[0], count[0]);
        if (i != 1 && split)
            add_group(&g, extent(a, 0, split), split);
        if (i != 1)
            add_group(&g, split ? extent(a, split, count[1]) : product[1], count[1] - split);
        if (i != 2)
            add_group(&g, product[2], count[2]);
        if (i != 0)
            add_group(&g, product[3], count[3]);
        const int front = skip && count[0] ? 0 : ones(&g, false), behind = ones(&g, true);
        if (i == 2)
            x[i] = ot_onnx_product(n, x[0], x[1]);
        x[i] = i == 2 ? reshaped(n, x[i], to.n, to.dim, front, behind)
                      : reshaped(n, x[i], g.n, g.dim, front, behind);
        if (!x[i])
            return false;
    }
    to.x = x[2];
    *a = to;
    return true;
}

/* Without an arrow: dots, then in alphabetical order what is there once. */
static void imply(const term *in, int n_in, int dots, term *out)
{
    out->n = 0;
    for (int d = dots; d-- > 0 && out->n < LABELS;)
        out->label[out->n++] = (unsigned char)(DOTS + d);
    for (int l = 'A'; l <= 'z'; l++) {
        int count = 0;
        for (int i = 0; i < n_in; i++)
            for (int k = 0; k < in[i].n; k++)
                count += in[i].label[k] == l;
        if (count == 1 && out->n < LABELS)
            out->label[out->n++] = (unsigned char)l;
    }
}

static int einsum(ot_onnx_node *n)
{
    const char *at = ot_onnx_word(n, "equation", "");
    const int n_in = (int)n->proto->n_input;
    term *in, out = {0};
    int dots = 0;
    if (n_in < 1 || n_in > 26)
        return ot_onnx_refuse(n, "%d inputs", n_in);
    in = ot_arena_alloc(&n->m->arena, (size_t)n_in * sizeof *in);
    for (int i = 0; i < n_in; i++) {
        in[i].x = ot_onnx_need(n, i);
        if (!in[i].x || ot_onnx_rank(n, in[i].x) < 0 ||
            !ot_onnx_dims_at(n, in[i].x, 0, in[i].dim))
            return n->err->status;
        const int stands = read_term(n, &at, ot_onnx_rank(n, in[i].x), 0, &in[i]);
        if (stands < 0)
            return stands;
        dots = stands > dots ? stands : dots;
        if ((*at == ',') != (i < n_in - 1))
            return ot_onnx_refuse(n, "its equation is not of %d inputs", n_in);
        at += *at == ',';
    }
    if (!strncmp(at, "->", 2)) {
        at += 2;
        if (read_term(n, &at, -1, dots, &out) < 0)
            return n->err->status;
    } else if (!*at) {
        imply(in, n_in, dots, &out);
    }
    if (*at)
        return ot_onnx_refuse(n, "equation '%.80s' is not supported",
                              ot_onnx_word(n, "equation", ""));
    for (int i = 0; i < out.n; i++) {
        bool there = false;
        for (int k = 0; k < n_in; k++)
            there = there || find(&in[k], out.label[i]) >= 0;
        if (!there)
            return ot_onnx_refuse(n, "its result has a label that no input has");
    }
    for (int i = 0; i < n_in; i++)
        if (!diagonals(n, &in[i]))
            return n->err->status;
    for (int i = 1; i <= n_in; i++) {
        bool later[256] = {false};
        for (int k = 0; k < out.n; k++)
            later[out.label[k]] = true;
        for (int k = i + 1; k < n_in; k++)
            for (int l = 0; l < in[k].n; l++)
                later[in[k].label[l]] = true;
        if (i < n_in ? !joined(n, &in[0], &in[i], later) : !summed(n, &in[0], later))
            return n->err->status < 0 ? n->err->status
                                      : ot_onnx_refuse(n, "it cannot be computed");
    }
    return ot_onnx_give(n, 0, ordered(n, &in[0], out.label) ? in[0].x : NULL);
}

static const ot_onnx_op ops[] = {
    {"Einsum", einsum, NULL},
    {NULL, NULL, NULL},
};

OT_ONNX_FAMILY(einsum) = {ops};
