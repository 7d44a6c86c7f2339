/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets in one arena: nothing that is alive at the same time overlaps, and little is wasted. And
 * which values of a graph lie in one another's memory: random graphs, computed with the references
 * in an arena so planned, where all that nobody needs any more is spoilt before each group, give
 * what they give with memory of its own for every value.
 */
#include "answer/program/lifetimes.h"

#include "answer/program/places.h"
#include "run/run.h"
#include "support/check.h"

enum { MOST = 200 };

/* The bytes that are alive in the busiest step: no arena is smaller. */
static int64_t least(const ot_lifetime *item, int n, int steps)
{
    int64_t most = 0;
    for (int s = 0; s < steps; s++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++)
            if (item[i].first <= s && s <= item[i].last)
                sum += (item[i].bytes + 63) / 64 * 64;
        most = sum > most ? sum : most;
    }
    return most;
}

static void check_apart(const ot_lifetime *item, int n, int64_t bytes)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(item[i].offset % 64, 0);
        assert_true(item[i].offset >= 0 && item[i].offset + item[i].bytes <= bytes);
        for (int k = 0; k < i; k++)
            if (item[i].first <= item[k].last && item[k].first <= item[i].last)
                assert_true(item[i].offset + item[i].bytes <= item[k].offset ||
                            item[k].offset + item[k].bytes <= item[i].offset);
    }
}

static void test_chain(void **state)
{
    (void)state;
    /* Each value is read by the next step only: two places are enough for all. */
    ot_lifetime item[10];
    for (int i = 0; i < 10; i++)
        item[i] = (ot_lifetime){.bytes = 1000, .first = i, .last = i + 1};
    assert_int_equal(ot_lifetimes_place(item, 10), 2 * 1024);
    check_apart(item, 10, 2 * 1024);
    assert_int_equal(ot_lifetimes_place(item, 0), 0);
    ot_lifetime nothing[2] = {{.bytes = 0, .first = 0, .last = 3},
                              {.bytes = 64, .first = 0, .last = 3}};
    assert_int_equal(ot_lifetimes_place(nothing, 2), 64);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t rng = 11;
    double worst = 1;
    for (int round = 0; round < 300; round++) {
        ot_lifetime item[MOST], again[MOST];
        const int n = 1 + (int)optune_random_below(&rng, MOST), steps = 1 + n / 2;
        for (int i = 0; i < n; i++) {
            const int first = (int)optune_random_below(&rng, (uint64_t)steps);
            const int length = (int)optune_random_below(&rng, round % 2 ? 3 : 30);
            item[i] = (ot_lifetime){
                .bytes = (int64_t)optune_random_below(&rng, round % 3 ? 100000 : 300),
                .first = first,
                .last = first + length < steps ? first + length : steps - 1};
        }
        memcpy(again, item, sizeof again);
        const int64_t bytes = ot_lifetimes_place(item, n);
        check_apart(item, n, bytes);
        assert_true(bytes >= least(item, n, steps));
        if (bytes > 0)
            worst = (double)bytes / (double)least(item, n, steps) > worst
                        ? (double)bytes / (double)least(item, n, steps)
                        : worst;
        assert_int_equal(ot_lifetimes_place(again, n), bytes);
        for (int i = 0; i < n; i++)
            assert_int_equal(again[i].offset, item[i].offset);
    }
    print_message("at worst %.2f times the least there can be\n", worst);
    assert_true(worst < 1.6);
}

/* ---- graphs ------------------------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t dim[4];
} shape;

typedef struct writing { /* a random graph as text: values v0, v1 ... */
    uint64_t rng;
    ot_text text;
    int n;
    shape of[60];
} writing;

static int below(writing *w, int n)
{
    return (int)optune_random_below(&w->rng, n);
}

static void add_list(ot_text *to, const int64_t *value, int n)
{
    for (int i = 0; i < n; i++)
        ot_text_printf(to, "%s%lld", i ? "," : "", (long long)value[i]);
}

static int64_t elements(const shape *of)
{
    int64_t n = 1;
    for (int d = 0; d < of->rank; d++)
        n *= of->dim[d];
    return n;
}

/* Most are whole cache lines, few are not. */
static void add_leaf(writing *w)
{
    static const int64_t some[] = {1, 1, 1, 2, 3, 4};
    shape *of = &w->of[w->n];
    of->rank = 1 + below(w, 4);
    for (int d = 0; d < of->rank; d++)
        of->dim[d] = some[below(w, 6)];
    of->dim[of->rank - 1] = below(w, 4) ? 16 : 5;
    if (w->n && below(w, 4))
        *of = w->of[0];
    ot_text_printf(&w->text, "v%d = %s f32[", w->n, below(w, 3) ? "var" : "const");
    add_list(&w->text, of->dim, of->rank);
    ot_text_add(&w->text, "]\n");
    w->n++;
}

static void add_flat(writing *w, int from)
{
    shape *of = &w->of[w->n];
    const int64_t n = elements(&w->of[from]);
    *of = (shape){.rank = 2, .dim = {1, n}};
    for (int64_t k = 2; k <= 16; k *= 2)
        if (n % k == 0 && below(w, 2))
            *of = (shape){.rank = 2, .dim = {k, n / k}};
    ot_text_printf(&w->text, "v%d = reshape(v%d, newshape=[%lld,%lld])\n", w->n++, from,
                   (long long)of->dim[0], (long long)of->dim[1]);
}

/* With a dim of 1 in front, or without one. */
static void add_one(writing *w, int from)
{
    shape *of = &w->of[w->n];
    *of = w->of[from];
    if (of->rank == 4 && of->dim[0] != 1)
        return;
    const bool less = of->rank > 1 && of->dim[0] == 1;
    memmove(of->dim + !less, w->of[from].dim + less, 3 * sizeof *of->dim);
    of->rank += less ? -1 : 1;
    of->dim[0] = less ? of->dim[0] : 1;
    ot_text_printf(&w->text, "v%d = %s(v%d, axis=%s)\n", w->n, less ? "squeeze" : "expand_dims",
                   from, less ? "[0]" : "0");
    w->n++;
}

static void add_turned(writing *w, int from)
{
    shape *of = &w->of[w->n];
    int64_t axes[4] = {0, 1, 2, 3};
    *of = w->of[from];
    for (int d = of->rank - 1; d > 0; d--) {
        const int k = below(w, d + 1);
        const int64_t axis = axes[d];
        axes[d] = axes[k];
        axes[k] = axis;
    }
    for (int d = 0; d < of->rank; d++)
        of->dim[d] = w->of[from].dim[axes[d]];
    ot_text_printf(&w->text, "v%d = transpose(v%d, axes=[", w->n++, from);
    add_list(&w->text, axes, of->rank);
    ot_text_add(&w->text, "])\n");
}

static void add_slice(writing *w, int from)
{
    shape *of = &w->of[w->n];
    int64_t begin[4] = {0}, end[4];
    *of = w->of[from];
    for (int d = 0; d < of->rank; d++) {
        end[d] = of->dim[d];
        if (of->dim[d] < 2 || below(w, 2))
            continue;
        begin[d] = below(w, (int)of->dim[d]);
        end[d] = begin[d] + 1 + below(w, (int)(of->dim[d] - begin[d]));
        of->dim[d] = end[d] - begin[d];
    }
    ot_text_printf(&w->text, "v%d = strided_slice(v%d, begin=[", w->n++, from);
    add_list(&w->text, begin, of->rank);
    ot_text_add(&w->text, "], end=[");
    add_list(&w->text, end, of->rank);
    ot_text_add(&w->text, "])\n");
}

/* Whatever fits, the same one again among it. */
static void add_joined(writing *w, int from)
{
    shape *of = &w->of[w->n];
    *of = w->of[from];
    int axis = 0;
    while (axis < of->rank - 1 && (of->dim[axis] == 1 || !below(w, 8)))
        axis++;
    ot_text_printf(&w->text, "v%d = concatenate(v%d", w->n, from);
    for (int i = 0, parts = 1; i < 40 && parts < 3; i++) {
        const int other = w->n - 1 - below(w, i < 20 && w->n > 6 ? 6 : w->n);
        bool fits = w->of[other].rank == of->rank && elements(of) < 10000;
        for (int d = 0; d < of->rank && fits; d++)
            fits = d == axis || w->of[other].dim[d] == of->dim[d];
        if (!fits)
            continue;
        of->dim[axis] += w->of[other].dim[axis];
        ot_text_printf(&w->text, ", v%d", other);
        parts++;
    }
    ot_text_printf(&w->text, ", axis=%d)\n", axis);
    w->n++;
}

static bool same_shape(const shape *a, const shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static void add_computed(writing *w, int from)
{
    static const char *const unary[] = {"relu", "negative", "copy", "sigmoid"};
    shape *of = &w->of[w->n];
    int other = below(w, w->n);
    *of = w->of[from];
    for (int i = 0; i < 8 && !same_shape(&w->of[other], of); i++)
        other = below(w, w->n);
    if (below(w, 3) == 0 || !same_shape(&w->of[other], of))
        ot_text_printf(&w->text, "v%d = %s(v%d)\n", w->n, unary[below(w, 4)], from);
    else
        ot_text_printf(&w->text, "v%d = add(v%d, v%d)\n", w->n, from, other);
    w->n++;
}

static void write_graph(writing *w)
{
    const int leaves = 1 + below(w, 3), n = leaves + 2 + below(w, 40);
    while (w->n < leaves)
        add_leaf(w);
    while (w->n < n) {
        const int from = w->n < 8 ? below(w, w->n) : w->n - 1 - below(w, 8);
        switch (below(w, 9)) {
        case 8:
            add_one(w, from);
            break;
        case 0:
            add_flat(w, from);
            break;
        case 1:
            add_turned(w, from);
            break;
        case 2:
            add_slice(w, from);
            break;
        case 3:
        case 4:
            add_joined(w, from);
            break;
        default:
            add_computed(w, from);
        }
    }
    ot_text_printf(&w->text, "output v%d", w->n - 1);
    for (int i = below(w, 4); i > 0; i--)
        ot_text_printf(&w->text, ", v%d", below(w, w->n));
    ot_text_add(&w->text, "\n");
}

/* ---- computing as planned ----------------------------------------------------------------- */

typedef struct computing {
    optune_graph *g;
    ot_groups groups;
    ot_places places;
    char **home;
    char *arena;
    int64_t bytes;
    int n_over; /* homes that lie over an operand */
} computing;

static char *address(const computing *c, ot_value value)
{
    const ot_located at = ot_places_at(&c->places, value);
    assert_int_equal(at.offset % OT_HOME_ALIGNMENT, 0);
    assert_true(at.home >= 0 && at.offset >= 0 &&
                at.offset + optune_tensor_bytes(ot_graph_type_of(c->g, value)) <=
                    c->places.home[at.home].bytes);
    return c->home[at.home] + at.offset;
}

/* Every group computes as if it read all before it writes. */
static const optune_plan *plan_in_place(void *plan, int group)
{
    (void)group;
    return plan;
}

static void place_homes(computing *c, const void *const *inputs, bool in_place)
{
    ot_lifetime *item = ot_alloc((size_t)(c->places.n + 1) * sizeof *item);
    int *over = ot_alloc((size_t)(c->places.n + 1) * sizeof *over);
    int *lasts = ot_alloc((size_t)(c->places.n + 1) * sizeof *lasts);
    optune_plan *plan = ot_alloc(sizeof *plan);
    int n_in = 0;
    plan->in_place = in_place;
    c->n_over = ot_places_over(c->g, &c->groups, &c->places, plan_in_place, plan, over, lasts);
    assert_true(in_place || c->n_over == 0);
    for (int h = 0; h < c->places.n; h++) {
        const ot_home *home = &c->places.home[h];
        item[h] = (ot_lifetime){.bytes = home->leaf < 0 && over[h] == h ? home->bytes : 0,
                                .first = home->first,
                                .last = lasts[h]};
    }
    c->bytes = ot_lifetimes_place(item, c->places.n);
    c->arena = ot_alloc((size_t)c->bytes + 1);
    c->home = ot_alloc((size_t)(c->places.n + 1) * sizeof *c->home);
    for (int h = 0; h < c->places.n; h++) {
        const int leaf = c->places.home[h].leaf;
        c->home[h] = c->arena + item[over[h]].offset;
        if (leaf >= 0 && c->g->node[leaf].kind == OT_NODE_CONST)
            c->home[h] = c->g->node[leaf].data;
    }
    for (int id = 0; id < c->g->n; id++)
        if (c->g->node[id].kind == OT_NODE_VAR)
            c->home[ot_places_at(&c->places, (ot_value){id, 0}).home] =
                (char *)(uintptr_t)inputs[n_in++];
    free(plan);
    free(over);
    free(lasts);
    free(item);
}

/* What no home has that is in use. */
static void spoil(const computing *c, int group)
{
    char *used = ot_alloc((size_t)c->bytes + 1);
    for (int h = 0; h < c->places.n; h++) {
        const ot_home *home = &c->places.home[h];
        if (home->leaf < 0 && home->first <= group && group <= home->last)
            memset(used + (c->home[h] - c->arena), 1, (size_t)home->bytes);
    }
    for (int64_t i = 0; i < c->bytes; i++)
        if (!used[i])
            c->arena[i] = -1; /* four of them are no number */
    free(used);
}

static void compute_node(const computing *c, int id, const void *const *in, void *out)
{
    optune_call *call = ot_alloc(sizeof *call);
    optune_region whole;
    ot_graph_call_of(c->g, id, call);
    const int64_t n = optune_tensor_elements(&call->output[0]);
    double *value = ot_alloc((size_t)(2 * n + 1) * sizeof *value);
    call->op->reference(call, in, 0, ot_region_whole(&call->output[0], &whole), value,
                        value + n);
    ot_elements_set(call->output[0].dtype, out, 0, n, value);
    free(value);
    free(call);
}

/* A group's nodes one behind the other; only the last one's output is in planned memory. */
static void compute_group(const computing *c, const ot_group *group)
{
    void *inner[OT_GROUP_NODES] = {NULL};
    for (int i = 0; i < group->n_nodes; i++) {
        const ot_node *node = &c->g->node[group->node[i]];
        const void *in[OPTUNE_MAX_INPUTS] = {NULL};
        for (int k = 0; k < node->n_in; k++)
            in[k] = i && node->in[k].node == group->node[i - 1] ? inner[i - 1]
                                                                : address(c, node->in[k]);
        const size_t bytes = (size_t)optune_tensor_bytes(&node->out[0]);
        inner[i] = ot_alloc(bytes + 1);
        compute_node(c, group->node[i], in, inner[i]);
        if (i == group->n_nodes - 1)
            memcpy(address(c, (ot_value){group->node[i], 0}), inner[i], bytes);
    }
    for (int i = 0; i < group->n_nodes; i++)
        free(inner[i]);
}

static bool fuse_all(void *arg, const optune_call *call)
{
    (void)arg;
    (void)call;
    return true;
}

/* Returns how many values are written over an operand. */
static int check_graph(const char *text, bool fuse, bool parts, int idle[3])
{
    optune_err err = {0};
    computing c = {0};
    optune_values *values = NULL;
    void *input[8] = {NULL};
    check_ok(optune_graph_parse(text, "random", &c.g, &err));
    check_ok(optune_graph_infer(c.g, &err));
    check_ok(optune_graph_fill(c.g, 7, &err));
    const int n_in = optune_graph_inputs(c.g), n_out = optune_graph_outputs(c.g);
    for (int i = 0; i < n_in; i++) {
        const optune_tensor *type = optune_graph_input_type(c.g, i);
        input[i] = ot_alloc((size_t)optune_tensor_bytes(type) + 1);
        ot_fill_input(type, 3, i, input[i]);
    }
    const void *const *in = (const void *const *)input;
    check_ok(optune_graph_evaluate(c.g, in, NULL, &values, &err));
    check_ok(ot_graph_partition(c.g, fuse ? fuse_all : NULL, NULL, &c.groups, &err));
    ot_places_find(c.g, &c.groups, parts, &c.places);
    place_homes(&c, in, fuse);
    int run = 0;
    for (int i = 0; i < c.groups.n; i++) {
        idle[c.places.idle[i]]++;
        if (c.places.idle[i] != OT_RUNS)
            continue;
        run++;
        spoil(&c, i);
        compute_group(&c, &c.groups.group[i]);
    }
    spoil(&c, c.groups.n);
    assert_int_equal(run, c.places.n_run);
    ot_value output[8];
    assert_int_equal(ot_graph_output_values(c.g, output, 8), n_out);
    for (int i = 0; i < n_out; i++) {
        if (!parts)
            assert_int_equal(ot_places_at(&c.places, output[i]).offset, 0);
        if (memcmp(address(&c, output[i]), optune_values_data(values, i),
                   (size_t)optune_tensor_bytes(optune_graph_output_type(c.g, i))) != 0)
            fail_msg("output %d of\n%s", i, text);
    }
    optune_values_free(values);
    ot_places_release(&c.places);
    ot_groups_release(&c.groups);
    optune_graph_close(c.g);
    for (int i = 0; i < n_in; i++)
        free(input[i]);
    free(c.home);
    free(c.arena);
    return c.n_over;
}

static void test_random_graphs(void **state)
{
    (void)state;
    int idle[3] = {0}, whole[3] = {0}, over = 0;
    for (int round = 0; round < 600; round++) {
        writing w = {.rng = 1000 + (uint64_t)round};
        write_graph(&w);
        over += check_graph(ot_text_str(&w.text), round % 2, true, idle);
        check_graph(ot_text_str(&w.text), round % 2, false, whole);
        ot_text_release(&w.text);
    }
    print_message(
        "%d run, %d over an operand, %d views, %d in place; where nothing begins inside "
        "another's memory %d, %d, %d\n",
        idle[OT_RUNS], over, idle[OT_VIEW], idle[OT_IN_PLACE], whole[OT_RUNS], whole[OT_VIEW],
        whole[OT_IN_PLACE]);
    assert_true(over > 20);
    assert_true(idle[OT_VIEW] > 500 && idle[OT_IN_PLACE] > 50);
    assert_true(whole[OT_VIEW] > 300 && whole[OT_VIEW] < idle[OT_VIEW]);
    assert_int_equal(whole[OT_IN_PLACE], 0);
}

/* Which groups of a graph are idle, a letter each. */
static void check_idle(const char *text, const char *expected)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    ot_groups groups;
    ot_places places;
    char found[64] = "";
    int n[3] = {0};
    check_graph(text, false, true, n);
    check_ok(optune_graph_parse(text, "test", &g, &err));
    check_ok(optune_graph_infer(g, &err));
    check_ok(ot_graph_partition(g, NULL, NULL, &groups, &err));
    ot_places_find(g, &groups, true, &places);
    for (int i = 0; i < groups.n; i++)
        found[i] = "rvp"[places.idle[i]];
    assert_string_equal(found, expected);
    ot_places_release(&places);
    ot_groups_release(&groups);
    optune_graph_close(g);
}

static void test_which(void **state)
{
    (void)state;
    /* by what they do to bytes, not by name: dims of 1 may move, whole rows may be taken */
    check_idle("x = var f32[1,16,4,1]\na = transpose(x, axes=[0,3,1,2])\n"
               "b = transpose(x, axes=[0,2,1,3])\nc = squeeze(a)\nd = strided_slice(c, "
               "begin=[4], end=[8])\ne = strided_slice(c, begin=[3], end=[8])\nf = copy(e)\n"
               "g = cast(f, dtype=f32)\nh = cast(f, dtype=i32)\noutput b, d, g, h\n",
               "vrvvrvvr");
    /* nested, with what reads a part on its own, and an output that is a part */
    check_idle("x = var f32[1,4,4,4]\na = relu(x)\nb = exp(x)\nc = concatenate(a, b, axis=1)\n"
               "d = negative(c)\ne = concatenate(c, d, axis=1)\nf = reshape(e, newshape=[-1])\n"
               "g = relu(f)\noutput g, b\n",
               "rrprpvr");
    /* each one longer than the one before */
    check_idle("x = var f32[1,4,4,4]\na = relu(x)\nb = exp(x)\nc = concatenate(a, b, axis=1)\n"
               "d = negative(x)\ne = concatenate(a, b, d, axis=1)\noutput c, e\n",
               "rrprp");
    /* the end of one and the beginning of another */
    check_idle(
        "x = var f32[16]\na = relu(x)\nb = exp(x)\nc = concatenate(a, b)\n"
        "d = negative(x)\ne = concatenate(b, d)\nf = concatenate(d, a)\noutput c, e, f\n",
        "rrprpr");
    /* what must be elsewhere, too: inputs, constants, one twice, one in two places */
    check_idle("x = var f32[1,4,4,4]\na = relu(x)\nb = concatenate(a, x, axis=1)\n"
               "c = concatenate(const f32[1,4,4,4], a, axis=1)\nd = concatenate(a, a, axis=1)\n"
               "e = exp(x)\nf = concatenate(a, e, axis=1)\ng = concatenate(e, a, axis=1)\n"
               "output b, c, d, f, g\n",
               "rrrrrpr");
    /* not dense, and not where lines begin */
    check_idle("x = var f32[2,4,16]\na = relu(x)\nb = exp(x)\nc = concatenate(a, b, axis=1)\n"
               "y = var f32[5]\nd = relu(y)\ne = exp(y)\nf = concatenate(d, e)\noutput c, f\n",
               "rrrrrr");
    /* parts of one thing in their order are that thing again */
    check_idle("x = var f32[32]\na = strided_slice(x, begin=[0], end=[16])\n"
               "b = strided_slice(x, begin=[16], end=[32])\nc = concatenate(a, b)\n"
               "d = concatenate(b, a)\noutput c, d\n",
               "vvvr");
}

/* Which residuals are added in their own memory: those that somebody wrote and nobody reads again,
 * as large as the sum, once. */
static void test_over(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int over;
    } table[] = {
        {"a = relu(x)\nb = conv2d(a, W)\ns = add(b, a)\noutput s\n", 0}, /* read as data, too */
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\noutput s\n", 1},
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(a, b)\nr = relu(s)\noutput r\n", 1},
        {"b = conv2d(x, W)\ns = add(b, x)\noutput s\n", 0}, /* the model's input */
        {"b = conv2d(x, W)\ns = add(b, const f32[1,16,4,4])\noutput s\n", 0},
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\noutput s, a\n", 0},
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\nt = exp(a)\noutput s, t\n", 0},
        {"a = relu(x)\nb = conv2d(x, W)\nt = exp(a)\ns = add(b, a)\noutput s, t\n", 1},
        {"a = relu(x)\nv = reshape(a, newshape=[16,16])\nb = conv2d(x, W)\ns = add(b, a)\n"
         "t = exp(v)\noutput s, t\n",
         0}, /* seen as another shape */
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\nt = multiply(s, a)\noutput t\n", 0},
        {"a = relu(y)\nb = conv2d(x, W)\ns = add(b, a)\noutput s\n", 0}, /* repeated */
        {"a = relu(x)\nb = exp(x)\nc = concatenate(a, b, axis=1)\nd = conv2d(x, W)\n"
         "s = add(d, a)\nt = negative(c)\noutput s, t\n",
         0}, /* a part of what is read later */
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\ne = exp(s)\nc = conv2d(e, W)\n"
         "t = add(c, s)\noutput t\n",
         2}, /* a chain */
        {"a = relu(x)\nb = conv2d(x, W)\ns = add(b, a)\ne = concatenate(s, x, axis=1)\n"
         "c = exp(x)\nf = concatenate(s, c, axis=1)\noutput f, e\n",
         0}, /* the sum is a part itself */
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        ot_text text = {0};
        int idle[3] = {0};
        ot_text_add(&text, "x = var f32[1,16,4,4]\ny = var f32[1,16,1,1]\n");
        for (const char *c = table[i].text; *c; c++)
            if (*c == 'W')
                ot_text_add(&text, "const f32[16,16,1,1]");
            else
                ot_text_printf(&text, "%c", *c);
        const int over = check_graph(ot_text_str(&text), true, true, idle);
        if (over != table[i].over)
            fail_msg("%d over an operand, not %d:\n%s", over, table[i].over,
                     ot_text_str(&text));
        ot_text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
