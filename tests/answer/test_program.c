/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that are computed: what selected implementations give, fused or not, tuned or not, is
 * what the references give when composed in double precision, value by value and as a whole.
 */
#include "support/tuning.h"

#include "answer/graph.h"
#include "graph/graph.h"
#include "support/check.h"

#include <math.h>
#include <pthread.h>

enum { MOST = 32 };

static const char network[] = "x = var f32[1,8,14,14]\n"
                              "c = conv2d(x, const f32[16,8,3,3], padding=[1])\n"
                              "b = add(c, const f32[16,1,1])\n"
                              "r = relu(b)\n"
                              "s = conv2d(r, const f32[16,16,3,3], padding=[1])\n"
                              "t = add(s, r)\n"
                              "p = max_pool2d(t, pool_size=[2,2], strides=[2,2])\n"
                              "v = var f32[4,64]\n"
                              "d = relu(dense(v, const f32[32,64], const f32[32]))\n"
                              "e = softmax(dense(d, const f32[10,32]))\n"
                              "pair = tuple(p, e)\n"
                              "output pair, r\n";

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    check_ok(optune_graph_parse(text, "test", &graph, &err));
    assert_int_equal(optune_graph_infer(graph, &err), OPTUNE_OK);
    check_ok(optune_graph_fill(graph, 7, &err));
    return graph;
}

typedef struct tensors {
    int n;
    void *data[MOST];
    int64_t elements[MOST];
    optune_dtype dtype[MOST];
} tensors;

static void make(tensors *t, const optune_tensor *type, bool fill)
{
    assert_true(t->n < MOST);
    t->dtype[t->n] = type->dtype;
    t->elements[t->n] = optune_tensor_elements(type);
    t->data[t->n] = ot_alloc((size_t)optune_tensor_bytes(type) + 1);
    if (fill)
        ot_fill_input(type, 3, t->n, t->data[t->n]);
    t->n++;
}

static void release(tensors *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->data[i]);
}

static tensors inputs_of(const optune_graph *g)
{
    tensors t = {0};
    for (int i = 0; i < optune_graph_inputs(g); i++)
        make(&t, optune_graph_input_type(g, i), true);
    return t;
}

static tensors outputs_of(const optune_graph *g)
{
    tensors t = {0};
    for (int i = 0; i < optune_graph_outputs(g); i++)
        make(&t, optune_graph_output_type(g, i), false);
    return t;
}

/* The outputs of a graph by its references, all in double precision. */
static optune_values *exact(const optune_graph *g, const tensors *in, optune_graph **wide)
{
    optune_err err = {0};
    const void *data[MOST];
    check_ok(optune_graph_copy(g, true, wide, &err));
    for (int i = 0; i < in->n; i++) {
        double *as_double = ot_alloc((size_t)in->elements[i] * sizeof(double) + 1);
        ot_elements(in->dtype[i], in->data[i], 0, in->elements[i], as_double);
        data[i] = as_double;
    }
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(*wide, data, NULL, &values, &err));
    for (int i = 0; i < in->n; i++)
        free((void *)(uintptr_t)data[i]);
    return values;
}

/* Largest difference from the exact outputs, in units of each output's largest value. */
static double farthest(const optune_graph *g, const tensors *in, const tensors *out)
{
    optune_graph *wide = NULL;
    optune_values *values = exact(g, in, &wide);
    double worst = 0;
    for (int i = 0; i < out->n; i++) {
        const double *want = optune_values_data(values, i);
        double *got = ot_alloc((size_t)out->elements[i] * sizeof *got + 1);
        double largest = 0, off = 0;
        ot_elements(out->dtype[i], out->data[i], 0, out->elements[i], got);
        for (int64_t k = 0; k < out->elements[i]; k++) {
            largest = fmax(largest, fabs(want[k]));
            off = isnan(got[k]) ? INFINITY : fmax(off, fabs(got[k] - want[k]));
        }
        assert_true(largest > 0);
        worst = fmax(worst, off / largest);
        free(got);
    }
    optune_values_free(values);
    optune_graph_close(wide);
    return worst;
}

static void execute(optune *o, optune_graph *g, const tensors *in, tensors *out)
{
    optune_err err = {0};
    check_ok(optune_graph_execute(o, g, (const void *const *)in->data, out->data, &err));
}

static void test_execution(void **state)
{
    (void)state;
    optune *o = tuning_open("execution");
    optune_graph *g = parse(network);
    tensors in = inputs_of(g), out = outputs_of(g);
    assert_int_equal(in.n, 2);
    assert_int_equal(out.n, 3);
    optune_err err = {0};
    optune_partition *p = NULL;
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_int_equal(optune_partition_size(p), 6);
    assert_string_equal(optune_partition_nodes(p, 0), "c b r");
    check_contains(optune_partition_workload(p, 0), " -> add(const f32[16,1,1]) -> relu()");
    assert_string_equal(optune_partition_nodes(p, 1), "s t");
    assert_string_equal(optune_partition_nodes(p, 2), "p");
    assert_string_equal(optune_partition_nodes(p, 3), "dense d");
    optune_result *result = NULL;
    check_ok(optune_partition_execute(p, 1, &result, &err));
    check_contains(optune_result_text(result), "6 groups in ");
    check_contains(optune_result_text(result), "memory in MB: ");
    optune_result_free(result);
    optune_partition_close(p);
    execute(o, g, &in, &out);
    const double error = farthest(g, &in, &out);
    if (error > 1e-5)
        print_error("error %g\n", error);
    assert_true(error < 1e-5);
    /* The check can fail. */
    ((float *)out.data[0])[3] += 0.1f;
    assert_true(farthest(g, &in, &out) > 1e-5);
    release(&in);
    release(&out);
    optune_graph_close(g);
    optune_close(o);
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void test_profile(void **state)
{
    (void)state;
    static const char *const column[] = {"in_model", "alone"};
    optune_err err = {0};
    optune *o = tuning_open("profile");
    optune_graph *g = parse(network);
    optune_partition *p = NULL;
    optune_result *result = NULL;
    check_ok(optune_partition_open(o, g, &p, &err));
    check_ok(optune_partition_profile(p, 1, &result, &err));
    check_contains(optune_result_text(result), "  c b r: conv2d");
    check_contains(optune_result_text(result), "the whole takes ");
    json_t *json = tuning_parse(optune_result_json(result));
    const json_t *groups = json_object_get(json, "groups");
    const json_t *whole = json_object_get(json, "whole");
    assert_int_equal(json_array_size(groups), 6);
    assert_true(number(json, "turns") >= 5);
    assert_true(number(whole, "fastest") > 0);
    assert_true(number(whole, "fastest") <= number(whole, "median"));
    assert_true(json_is_null(json_object_get(json, "measured")));
    for (int c = 0; c < OT_COUNT(column); c++) {
        double sum = 0;
        for (size_t i = 0; i < json_array_size(groups); i++) {
            const json_t *group = json_array_get(groups, i);
            const json_t *times = json_object_get(group, column[c]);
            assert_string_equal(tuning_text(group, "nodes"),
                                optune_partition_nodes(p, (int)i));
            assert_true(number(times, "fastest") > 0);
            assert_true(number(times, "fastest") <= number(times, "low"));
            assert_true(number(times, "low") <= number(times, "median"));
            sum += number(times, "fastest");
        }
        assert_true(fabs(sum - number(json, column[c])) <= 1e-6 * sum);
    }
    json_decref(json);
    optune_result_free(result);
    optune_partition_close(p);
    optune_graph_close(g);

    check_ok(optune_graph_parse("x = var f32[?n,4]\noutput relu(x)\n", "test", &g, &err));
    check_ok(optune_graph_infer(g, &err));
    check_ok(optune_partition_open(o, g, &p, &err));
    result = NULL;
    assert_int_equal(optune_partition_profile(p, 1, &result, &err), OPTUNE_ETYPE);
    assert_null(result);
    check_contains(err.text, "give them values or ranges with --bind (?n)");
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
}

/* Values in one another's memory: a concatenation of concatenations that is read in parts, an
 * output that is a part, one that is an input's or a constant's, one that is copied together. */
static const char parts[] =
    "x = var f32[1,16,4,4]\n"
    "w = const f32[1,16,3,3]\n"
    "a = relu(x)\n"
    "b = conv2d(x, const f32[16,16,3,3], padding=[1])\n"
    "n = concatenate(a, b, axis=1)\n"
    "c = conv2d(n, const f32[4,32,1,1])\n"
    "m = concatenate(n, c, axis=1)\n"
    "f = reshape(m, newshape=[1,-1])\n"
    "s = strided_slice(m, begin=[0,16], end=[1,32])\n"
    "t = max_pool2d(s, pool_size=[2,2])\n"
    "u = concatenate(x, c, axis=1)\n"
    "k = softmax(f)\n"
    "output b, t, u, reshape(w, newshape=[-1]), k, reshape(x, newshape=[16,16])\n";

static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *nodes, *place;
    } expected[] = {{"a", NULL},       {"b", NULL},   {"n", "in place"}, {"c", NULL},
                    {"m", "in place"}, {"f", "view"}, {"s", "view"},     {"t", NULL},
                    {"u", NULL},       {"k", NULL}};
    optune_err err = {0};
    optune *o = tuning_open("places");
    optune_graph *g = parse(parts);
    tensors in = inputs_of(g), out = outputs_of(g);
    optune_partition *p = NULL;
    optune_result *result = NULL;
    const char *const *workloads;
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_int_equal(optune_partition_size(p), OT_COUNT(expected) + 2);
    for (int i = 0; i < optune_partition_size(p); i++) {
        const char *place = optune_partition_place(p, i), *want = "view";
        for (int k = 0; k < OT_COUNT(expected); k++)
            if (!strcmp(expected[k].nodes, optune_partition_nodes(p, i)))
                want = expected[k].place;
        assert_string_equal(place ? place : "runs", want ? want : "runs");
    }
    check_ok(optune_partition_workloads(p, &workloads, &err));
    for (int i = 0; workloads[i]; i++)
        assert_int_not_equal(strncmp(workloads[i], "reshape", 7), 0);
    check_ok(optune_partition_select(p, &err));
    check_contains(optune_partition_text(p, false), "\nm  ");
    check_contains(optune_partition_text(p, false), "  in place\n");
    check_contains(
        optune_partition_text(p, false),
        "in 12 groups, 6 distinct workloads; 6 in place or views; 0 of 6 measured\n");
    check_contains(optune_partition_json(p), "\"place\": \"in place\"");
    const int wrong = optune_partition_execute(p, 1, &result, &err);
    check_ok(wrong);
    assert_int_equal(wrong, 0);
    check_contains(optune_result_text(result), "12 groups in ");
    check_contains(optune_result_text(result), ", 6 of them in place or views\n");
    optune_result_free(result);
    optune_partition_close(p);
    execute(o, g, &in, &out);
    assert_true(farthest(g, &in, &out) < 1e-5);
    release(&in);
    release(&out);
    optune_graph_close(g);
    optune_close(o);
}

/* What stands between an operator and those behind it may change dims of 1 in front, no others. */
static void test_fused_behind_views(void **state)
{
    (void)state;
    static const struct {
        const char *text, *nodes, *workload;
    } table[] = {
        {"x = var f32[6,16]\ny = var f32[1,6,8]\nd = dense(x, const f32[8,16])\n"
         "e = reshape(d, newshape=[1,6,8])\na = add(e, const f32[8])\n"
         "s = subtract(const f32[1,6,1], a)\nt = multiply(s, y)\noutput t\n",
         "d e a s t",
         "dense(f32[6,16], const f32[8,16]) -> add(const f32[8]) -> "
         "subtract(const f32[6,1], _) -> multiply(f32[6,8])"},
        {"x = var f32[2,6,16]\ny = var f32[2,16,8]\nd = batch_matmul(x, y, transpose_b=false)\n"
         "e = expand_dims(d, axis=0)\na = add(e, const f32[1,2,1,1])\n"
         "s = squeeze(a)\nf = copy(s)\nt = relu(f)\noutput t\n",
         "d e a s f t",
         "batch_matmul(f32[2,6,16], f32[2,16,8], transpose_b=false) -> add(const f32[2,1,1]) "
         "-> relu()"},
        {"x = var f32[1,6,16]\ny = var f32[1,16,8]\n"
         "d = batch_matmul(x, y, transpose_b=false)\ne = reshape(d, newshape=[6,8])\n"
         "a = add(e, const f32[6,1])\noutput a\n",
         "d e a",
         "batch_matmul(f32[1,6,16], f32[1,16,8], transpose_b=false) -> add(const f32[6,1])"},
        {"x = var f32[6,16]\nd = dense(x, const f32[8,16])\n"
         "e = reshape(d, newshape=[6,2,4])\na = add(e, const f32[4])\noutput a\n",
         "d", "dense(f32[6,16], const f32[8,16])"},
        {"x = var f32[6,16]\nd = dense(x, const f32[8,16])\n"
         "e = reshape(d, newshape=[1,6,8])\na = add(e, const f32[8])\noutput a, e\n",
         "d", "dense(f32[6,16], const f32[8,16])"},
        {"x = var f32[6,16]\nd = dense(x, const f32[8,16])\n"
         "e = reshape(d, newshape=[1,6,8])\na = add(e, const f32[3,1,1])\noutput a\n",
         "d", "dense(f32[6,16], const f32[8,16])"},
    };
    optune *o = tuning_open("behind-views");
    for (int i = 0; i < OT_COUNT(table); i++) {
        optune_err err = {0};
        optune_graph *g = parse(table[i].text);
        tensors in = inputs_of(g), out = outputs_of(g);
        optune_partition *p = NULL;
        check_ok(optune_partition_open(o, g, &p, &err));
        assert_string_equal(optune_partition_nodes(p, 0), table[i].nodes);
        assert_string_equal(optune_partition_workload(p, 0), table[i].workload);
        optune_partition_close(p);
        execute(o, g, &in, &out);
        assert_true(farthest(g, &in, &out) < 1e-5);
        release(&in);
        release(&out);
        optune_graph_close(g);
    }
    optune_close(o);
}

/* Kernels that need scratch in a run: two sorts, larger and smaller, and gathered pixels. */
static const char chain[] = "x = var f32[1,16,40,40]\n"
                            "a = sort(x, axis=3)\n"
                            "b = conv2d(a, const f32[24,16,1,1], strides=[2,2])\n"
                            "c = sort(b, axis=2)\n"
                            "d = conv2d(c, const f32[16,24,1,1], strides=[2,2])\n"
                            "output d\n";

/* Kernels that take turns have one another's scratch, but for what is packed; within one, no two
 * are the same memory. */
static void test_shared_scratch(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("scratch");
    optune_graph *g = parse(chain);
    tensors in = inputs_of(g), out = outputs_of(g);
    optune_partition *partition = NULL;
    optune_program *p = NULL;
    check_ok(optune_partition_open(o, g, &partition, &err));
    check_ok(optune_program_open(partition, &p, &err));
    const ot_shared *shared = &p->machine.scratch;
    const char *kept = p->machine.row->address(p->machine.state, shared->kept);
    int wanted = 0, most = 0;
    int64_t behind = 0; /* of what is kept, one behind the other */
    for (int i = 0; i < optune_partition_size(partition); i++) {
        const ot_bound *b = p->kernel[i].bound;
        int own = 0;
        for (int k = 0; k < b->loaded->plan.n_scratch; k++)
            if (b->loaded->plan.scratch[k].constant) {
                assert_ptr_equal(p->machine.row->address(p->machine.state, b->scratch[k]),
                                 kept + behind);
                behind += ot_scratch_bytes(&b->loaded->plan, k);
            }
        for (int k = 0; k < b->loaded->plan.n_scratch; k++) {
            int found = 0;
            for (int n = 0; n < shared->n; n++)
                found += b->scratch[k] == shared->buffer[n];
            assert_int_equal(found, b->loaded->plan.scratch[k].constant ? 0 : 1);
            own += found;
            for (int n = 0; n < k; n++)
                assert_ptr_not_equal(b->scratch[k], b->scratch[n]);
        }
        wanted += own;
        most = own > most ? own : most;
    }
    assert_true(wanted >= 2 && behind > 0); /* or this shows nothing */
    assert_true(behind == shared->kept_used && behind == shared->kept_bytes);
    assert_true(shared->n < wanted && shared->n >= most);
    for (int turn = 0; turn < 2; turn++) {
        check_ok(optune_program_run(p, (const void *const *)in.data, out.data, &err));
        assert_true(farthest(g, &in, &out) < 1e-5);
    }
    optune_program_close(p);
    optune_partition_close(partition);
    release(&in);
    release(&out);
    optune_graph_close(g);
    optune_close(o);
}

/* Every value by itself: from what its inputs were computed to, within its implementation's
 * bound. */
static void test_each_value(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("execution");
    optune_graph *g = parse(network);
    ot_value value[MOST];
    int n = 0;
    g->n_outputs = 0;
    for (int id = 0; id < g->n; id++)
        if (g->node[id].n_out == 1) {
            value[n++] = (ot_value){id, 0};
            check_ok(optune_graph_output(g, id, &err));
        }
    tensors in = inputs_of(g), out = outputs_of(g);
    assert_int_equal(out.n, n);
    execute(o, g, &in, &out);
    int checked = 0;
    for (int i = 0; i < n; i++) {
        const ot_node *node = &g->node[value[i].node];
        if (node->kind != OT_NODE_CALL)
            continue;
        optune_call call;
        const void *from[OPTUNE_MAX_INPUTS];
        ot_graph_call_of(g, value[i].node, &call);
        for (int k = 0; k < node->n_in; k++)
            for (int j = 0; j < n; j++)
                if (value[j].node == node->in[k].node)
                    from[k] = out.data[j];
        double *want = ot_alloc((size_t)out.elements[i] * sizeof *want);
        double *magnitude = ot_alloc((size_t)out.elements[i] * sizeof *want);
        optune_region whole;
        call.op->reference(&call, from, 0, ot_region_whole(&call.output[0], &whole), want,
                           magnitude);
        optune_selection *selection = NULL;
        check_ok(optune_select_call(o, &call, &selection, &err));
        const double bound =
            ot_error_bound(&call, ot_impl_find(optune_selection_impl(selection)), 0);
        for (int64_t k = 0; k < out.elements[i]; k++) {
            const double got = ((const float *)out.data[i])[k];
            assert_true(fabs(got - want[k]) <= bound * magnitude[k] + 1e-37);
        }
        optune_selection_free(selection);
        free(want);
        free(magnitude);
        checked++;
    }
    assert_int_equal(checked, 10);
    release(&in);
    release(&out);
    optune_graph_close(g);
    optune_close(o);
}

static void test_tuned(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("tuned");
    optune_graph *g = parse("v = var f32[16,64]\n"
                            "d = dense(v, const f32[32,64], const f32[32])\n"
                            "e = dense(d, const f32[16,32])\n"
                            "output d, e\n");
    optune_partition *p = NULL;
    check_ok(optune_partition_open(o, g, &p, &err));
    check_ok(optune_partition_select(p, &err));
    tensors in = inputs_of(g), out = outputs_of(g);
    execute(o, g, &in, &out);
    assert_true(farthest(g, &in, &out) < 1e-5);
    const char *before = optune_selection_impl(optune_partition_selection(p, 0));

    /* Only another implementation is measured: then it is selected, and the result stays right. */
    const char *other =
        strcmp(before, "dense_nopack.x86") ? "dense_nopack.x86" : "dense_pack.x86";
    const char *const *workloads;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    json_decref(tuning_run(o,
                           (optune_run_options){.workloads = workloads,
                                                .impls = (const char *const[]){other, NULL},
                                                .trials = 2},
                           0));
    check_ok(optune_partition_select(p, &err));
    for (int i = 0; i < 2; i++) {
        optune_selection *selection = optune_partition_selection(p, i);
        assert_string_equal(optune_selection_impl(selection), other);
        assert_string_equal(optune_selection_tier(selection), "tuned");
    }
    optune_program *program = NULL;
    check_ok(optune_program_open(p, &program, &err));
    for (int round = 0; round < 2; round++) {
        memset(out.data[1], 0, 16 * 16 * sizeof(float));
        check_ok(optune_program_run(program, (const void *const *)in.data, out.data, &err));
        assert_true(farthest(g, &in, &out) < 1e-5);
        /* New inputs, the same packed constants. */
        ot_fill_input(optune_graph_input_type(g, 0), 99, 0, in.data[0]);
    }
    double median, low, high;
    check_ok(optune_program_time(program, &median, &low, &high, &err));
    assert_true(low > 0 && low <= median && median <= high);
    optune_program_close(program);
    optune_partition_close(p);
    release(&in);
    release(&out);
    optune_graph_close(g);
    optune_close(o);
}

/* ---- several threads --------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 8 };

typedef struct turn {
    const optune_graph *g;
    optune_program *program;
    tensors in, out;
    int status, differ;
} turn;

/* What this program alone gave, again and again, while the others run. */
static void *take_turns(void *arg)
{
    turn *t = arg;
    tensors again = outputs_of(t->g);
    for (int i = 0; i < ROUNDS && t->status >= 0; i++) {
        t->status =
            optune_program_run(t->program, (const void *const *)t->in.data, again.data, NULL);
        for (int k = 0; k < again.n; k++)
            t->differ += memcmp(again.data[k], t->out.data[k],
                                (size_t)again.elements[k] * sizeof(float)) != 0;
    }
    release(&again);
    return NULL;
}

/* Each thread has inputs of its own. What is shared outlives the program that it was made for. */
/* Two blocks whose sums lie over what is added, an end that is not, as it is the input's, and one
 * whose sum is read beside what is added. */
static const char residuals[] =
    "x = var f32[1,16,12,12]\n"
    "a = relu(conv2d(x, const f32[32,16,1,1]))\n"
    "b = conv2d(relu(conv2d(a, const f32[16,32,1,1])), const f32[32,16,1,1])\n"
    "c = relu(add(b, a))\n"
    "d = conv2d(relu(conv2d(c, const f32[16,32,1,1])), const f32[32,16,1,1])\n"
    "e = relu(add(c, add(d, const f32[32,1,1])))\n"
    "f = conv2d(e, const f32[32,32,1,1])\n"
    "g = add(f, e)\n"
    "h = add(conv2d(g, const f32[16,32,1,1]), x)\n"
    "output h\n";

static void test_over(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("over");
    optune_graph *g = parse(residuals);
    optune_partition *p = NULL;
    optune_result *result = NULL;
    check_ok(optune_partition_open(o, g, &p, &err));
    check_ok(optune_partition_execute(p, 1, &result, &err));
    check_contains(optune_result_text(result), ", 2 written over an operand");
    check_contains(optune_result_json(result), "\"over\": 2");
    check_contains(optune_result_json(result), "\"wrong\": []");
    optune_result_free(result);
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
}

static void test_clones(void **state)
{
    (void)state;
    static const char *const text[] = {network, chain, parts, residuals};
    for (int which = 0; which < OT_COUNT(text); which++) {
        optune_err err = {0};
        optune *o = tuning_open("clones");
        optune_graph *g = parse(text[which]);
        optune_partition *partition = NULL;
        turn turns[THREADS] = {{.g = g}};
        check_ok(optune_partition_open(o, g, &partition, &err));
        check_ok(optune_program_open(partition, &turns[0].program, &err));
        for (int i = 0; i < THREADS; i++) {
            turn *t = &turns[i];
            if (i)
                check_ok(optune_program_clone(turns[i - 1].program, &t->program, &err));
            t->g = g;
            t->in = inputs_of(g);
            t->out = outputs_of(g);
            for (int k = 0; k < t->in.n; k++)
                ot_fill_input(optune_graph_input_type(g, k), (uint64_t)i + 50, k,
                              t->in.data[k]);
            check_ok(optune_program_run(t->program, (const void *const *)t->in.data,
                                        t->out.data, &err));
            assert_true(farthest(g, &t->in, &t->out) < 1e-5);
        }
        assert_memory_not_equal(turns[0].out.data[0], turns[1].out.data[0], 64);
        for (int i = 0; i < optune_partition_size(partition); i++)
            for (int k = 0; !optune_partition_place(partition, i) &&
                            k < turns[0].program->kernel[i].bound->loaded->plan.n_scratch;
                 k++) {
                const ot_bound *a = turns[0].program->kernel[i].bound;
                const ot_bound *b = turns[3].program->kernel[i].bound;
                assert_int_equal(a->scratch[k] == b->scratch[k],
                                 a->loaded->plan.scratch[k].constant);
            }
        optune_program_close(turns[0].program);
        turns[0].program = NULL;
        pthread_t thread[THREADS];
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, take_turns, &turns[i]), 0);
        for (int i = 1; i < THREADS; i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(turns[i].status, OPTUNE_OK);
            assert_int_equal(turns[i].differ, 0);
        }
        for (int i = 0; i < THREADS; i++) {
            optune_program_close(turns[i].program);
            release(&turns[i].in);
            release(&turns[i].out);
        }
        optune_partition_close(partition);
        optune_graph_close(g);
        optune_close(o);
    }
}

static void test_gradients(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("gradients");
    optune_graph *g = parse("x = var f32[2,4,8,8]\n"
                            "c = conv2d(x, const f32[8,4,3,3], padding=[1])\n"
                            "r = relu(add(c, const f32[8,1,1]))\n"
                            "p = max_pool2d(r, pool_size=[2,2], strides=[2,2])\n"
                            "m = mean(p, axis=[2,3])\n"
                            "d = dense(m, const f32[5,8], const f32[5])\n"
                            "s = softmax(d)\n"
                            "l = multiply(s, const f32[2,5])\n"
                            "output l\n");
    optune_graph *with = NULL;
    check_ok(optune_graph_gradient(g, NULL, 0, &with, &err));
    tensors in = inputs_of(with), out = outputs_of(with);
    assert_int_equal(out.n, 1 + 6);
    execute(o, with, &in, &out);
    assert_true(farthest(with, &in, &out) < 2e-5);
    release(&in);
    release(&out);
    optune_graph_close(with);
    optune_graph_close(g);
    optune_close(o);
}

static void test_refused(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("refused");
    optune_graph *g = NULL;
    check_ok(optune_graph_parse(
        "v = var f32[16,64]\nd = dense(v, const f32[32,64])\noutput d\n", "test", &g, &err));
    assert_int_equal(optune_graph_execute(o, g, NULL, NULL, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "test:2:14: node 'c': the constant has no elements");
    optune_graph_close(g);
    optune_close(o);
}

static void test_function(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("function");
    optune_call call;
    check_ok(optune_call_read(&call, "dense(f32[3,5], const f32[2,5], const f32[2])", &err));
    float data[15], weight[10], bias[2] = {1, -1}, out[6];
    for (int i = 0; i < 15; i++)
        data[i] = (float)i;
    for (int i = 0; i < 10; i++)
        weight[i] = (float)(i % 3);
    optune_function *f = NULL;
    assert_int_equal(optune_function_open(o, &call, NULL, &f, &err), OPTUNE_EUSAGE);
    check_ok(
        optune_function_open(o, &call, (const void *const[]){NULL, weight, bias}, &f, &err));
    assert_non_null(strstr(optune_function_impl(f), "dense"));
    for (int shift = 0; shift < 2; shift++) {
        data[0] = (float)shift;
        check_ok(optune_function_run(f, (const void *const[]){data, NULL, NULL},
                                     (void *const[]){out}, &err));
        for (int m = 0; m < 3; m++)
            for (int n = 0; n < 2; n++) {
                float want = bias[n];
                for (int k = 0; k < 5; k++)
                    want += data[5 * m + k] * weight[5 * n + k];
                assert_float_equal(out[2 * m + n], want, 1e-4);
            }
    }
    optune_function_close(f);
    optune_function_close(NULL);
    optune_close(o);
}

/* Memory of nothing is nowhere, and of nothing but that there need be no list. */
static void test_nothing(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("nothing");
    optune_function *f = NULL;
    float data[3] = {1, 2, 3}, sum = 7;
    check_ok(optune_function_open_text(o, "dense(f32[1,3], const f32[0,3])", NULL, &f, &err));
    check_ok(optune_function_run(f, (const void *const[]){data, NULL}, NULL, &err));
    optune_function_close(f);
    check_ok(optune_function_open_text(o, "sum(f32[0])", NULL, &f, &err));
    check_ok(optune_function_run(f, NULL, (void *const[]){&sum}, &err));
    assert_float_equal(sum, 0, 0);
    optune_function_close(f);
    check_ok(optune_function_open_text(o, "compress(const f32[0], bool[0])", NULL, &f, &err));
    check_ok(optune_function_run(f, NULL, NULL, &err));
    optune_function_close(f);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution),      cmocka_unit_test(test_each_value),
        cmocka_unit_test(test_tuned),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gradients),      cmocka_unit_test(test_function),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_fused_behind_views),
        cmocka_unit_test(test_shared_scratch), cmocka_unit_test(test_clones),
        cmocka_unit_test(test_profile),        cmocka_unit_test(test_over),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
