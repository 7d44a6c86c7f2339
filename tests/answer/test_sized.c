/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs whose variables are ranges, as programs: one program computes every size of its inputs,
 * downsampling, joining and adding what was downsampled, and is what the references give at that
 * size; sizes that do not fit are refused, and the program goes on.
 */
#include "support/tuning.h"

#include <pthread.h>

#include "support/check.h"
#include "support/sized.h"

static const char residual[] =
    "x = var f32[?b:1..2,3,?height:1..40,?w:5..33]\n"
    "s = relu(conv2d(x, const f32[8,3,3,3], strides=[2,2], padding=[1,1,1,1]))\n"
    "p = max_pool2d(s, pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])\n"
    "a = conv2d(p, const f32[8,8,3,3], strides=[2,2], padding=[1,1,1,1])\n"
    "c = conv2d(p, const f32[8,8,1,1], strides=[2,2])\n"
    "d = relu(add(a, c))\n"
    "f = reshape(d, newshape=[0,8,-1])\n"
    "output f, p\n";

static void test_one_program_for_all_sizes(void **state)
{
    (void)state;
    sized of = sized_open(NULL, residual);
    ot_text type = {0};
    ot_tensor_print(optune_graph_output_type(of.g, 0), &type);
    assert_string_equal(ot_text_str(&type), "f32[?b:1..2,8,?((height+7)/8)*((w+7)/8):1..25]");
    ot_text_release(&type);
    static const char *const sizes[] = {"f32[2,3,40,33]", "f32[1,3,1,5]",   "f32[2,3,32,32]",
                                        "f32[1,3,33,8]",  "f32[2,3,17,31]", "f32[1,3,2,33]"};
    for (int i = 0; i < OT_COUNT(sizes); i++)
        sized_run(of.g, of.program, sizes[i]);
    sized_close(&of);
}

static void test_equal_by_expression(void **state)
{
    (void)state;
    sized of = sized_open(NULL, "x = var f32[?n:1..5,4]\n"
                                "y = var f32[?n:1..5,4]\n"
                                "z = var f32[?2*n,3]\n"
                                "s = add(concatenate(x, x), concatenate(y, y))\n"
                                "d = add(dense(s, const f32[3,4]), z)\n"
                                "output d, s\n");
    sized_run(of.g, of.program, "f32[5,4] f32[5,4] f32[10,3]");
    sized_run(of.g, of.program, "f32[1,4] f32[1,4] f32[2,3]");
    optune_err err = {0};
    optune_tensor type[SIZED_MOST];
    static const char *const wrong[] = {
        "f32[6,4] f32[6,4] f32[12,3]", "f32[2,4] f32[3,4] f32[4,3]",
        "f32[2,4] f32[2,4] f32[5,3]",  "f32[2,4] f32[2,4] f32[4,4]",
        "f32[2,4] f32[2] f32[4,3]",    "f32[2,4] i8[2,4] f32[4,3]",
        "f32[?,4] f32[2,4] f32[4,3]",  "f32[2,4] f32[2,5] f32[4,3]",
    };
    static const char *const why[] = {
        ": 'n' (dim 0) is 6, not 1 to 5",
        ": 'n' is 2 in an input before",
        ": '2*n' is 4 with the sizes of the other inputs, not 5",
        "",
        "",
        "",
        "",
        ": dim 1 is 5, not 4",
    };
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        sized_types(wrong[i], type);
        assert_int_equal(optune_program_resize(of.program, type, &err), OPTUNE_ETYPE);
        check_contains(err.text, "with one size for each name");
        check_contains(err.text, why[i]);
    }
    sized_run(of.g, of.program, "f32[3,4] f32[3,4] f32[6,3]");
    sized_close(&of);
}

/* More tensors than one call has, each with a size of its own, one of them of a tuple. */
static void join_many(const char *target, int n)
{
    ot_text text = {0}, sizes = {0}, type = {0};
    for (int i = 0; i < n; i++)
        ot_text_printf(&text, "x%d = var f32[?n%d:0..%d,3]\n", i, i, 2 + i % 4);
    ot_text_add(&text, "v = topk(x0, k=3)\nt = tuple(v.0, x1)\nc = concatenate(t");
    for (int i = 2; i < n; i++)
        ot_text_printf(&text, ", x%d", i);
    ot_text_add(&text, ")\nd = relu(c)\noutput c, d\n");
    sized of = sized_open(target, ot_text_str(&text));
    int most = 0;
    for (int i = 0; i < n; i++)
        most += 2 + i % 4;
    char bound[32];
    ot_tensor_print(optune_graph_output_type(of.g, 0), &type);
    snprintf(bound, sizeof bound, ":0..%d,3]", most);
    check_contains(ot_text_str(&type), bound);
    for (int turn = 0; turn < 4; turn++) {
        ot_text_clear(&sizes);
        for (int i = 0; i < n; i++)
            ot_text_printf(&sizes, "%sf32[%d,3]", i ? " " : "",
                           turn == 0   ? 2 + i % 4
                           : turn == 1 ? i == n - 1
                                       : (i * turn) % (3 + i % 4));
        sized_run(of.g, of.program, ot_text_str(&sizes));
    }
    sized_close(&of);
    ot_text_release(&text);
    ot_text_release(&sizes);
    ot_text_release(&type);
}

static void test_more_inputs_than_a_call_has(void **state)
{
    (void)state;
    static const char *const targets[] = {"cpu -threads=2", "opencl"};
    for (int i = 0; i < OT_COUNT(targets); i++) {
        optune_target target;
        optune_device device;
        optune_err err = {0};
        check_ok(ot_target_parse(targets[i], &target, &err));
        if (ot_target_probe(&target, &device, &err) == OPTUNE_ENODEV)
            continue;
        join_many(targets[i], 25);
        join_many(targets[i], 40);
        join_many(targets[i], 100);
    }
}

/* What only the sizes at hand contradict is refused where it is computed. */
static void test_sizes_that_a_node_refuses(void **state)
{
    (void)state;
    sized of =
        sized_open(NULL, "x = var f32[1,2,?h:2..12,6]\n"
                         "d = conv2d(x, const f32[4,2,3,3], strides=[2,2], padding=[1,1,1,1])\n"
                         "u = conv2d_transpose(d, const f32[4,3,2,2], strides=[2,2])\n"
                         "j = concatenate(u, x, axis=1)\n"
                         "output j\n");
    optune_err err = {0};
    optune_tensor type;
    static float in[2 * 12 * 6], out[5 * 12 * 6];
    sized_run(of.g, of.program, "f32[1,2,8,6]");
    sized_types("f32[1,2,7,6]", &type);
    check_ok(optune_program_resize(of.program, &type, &err));
    assert_int_equal(
        optune_program_run(of.program, (const void *const[]){in}, (void *const[]){out}, &err),
        OPTUNE_ETYPE);
    check_contains(err.text, "'j'");
    sized_run(of.g, of.program, "f32[1,2,12,6]");
    sized_close(&of);
}

/* What a group computes may lack dims of 1 in front that its operands and its value have. */
static void test_ones_in_front(void **state)
{
    (void)state;
    sized of =
        sized_open(NULL, "x = var f32[2,?n:1..5,4]\n"
                         "z = var f32[1,?n,4]\n"
                         "s = strided_slice(x, begin=[1,0,0], end=[2,5,4], strides=[1,1,1])\n"
                         "a = add(z, squeeze(s, axis=[0]))\n"
                         "t = transpose(a, axes=[1,0,2])\n"
                         "output t\n");
    sized_run(of.g, of.program, "f32[2,5,4] f32[1,5,4]");
    sized_run(of.g, of.program, "f32[2,1,4] f32[1,1,4]");
    sized_run(of.g, of.program, "f32[2,3,4] f32[1,3,4]");
    sized_close(&of);
}

static void test_bounds_are_given_later(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = sized_parse("x = var f32[?n,3]\nc = concatenate(x, x)\noutput c\n");
    optune *o = tuning_open("sized");
    optune_partition *partition = NULL;
    optune_result *result = NULL;
    check_ok(optune_partition_open(o, g, &partition, &err));
    assert_int_equal(optune_partition_execute(partition, 1, &result, &err), OPTUNE_ETYPE);
    check_contains(err.text, "has unknown dims: give them values or ranges with --bind (?n)");
    optune_partition_close(partition);
    check_ok(optune_graph_bound(g, "n", 2, 9, &err));
    assert_int_equal(optune_graph_bound(g, "m", 2, 9, &err), OPTUNE_ENOENT);
    assert_int_equal(optune_graph_bound(g, "n", 12, 19, &err), OPTUNE_ETYPE);
    check_ok(optune_graph_infer(g, &err));
    assert_non_null(strstr(optune_graph_text(g, true), "c : f32[?2*n:4..18,3]"));
    check_ok(optune_partition_open(o, g, &partition, &err));
    assert_int_equal(optune_partition_execute(partition, 1, &result, &err), OPTUNE_OK);
    assert_non_null(strstr(optune_result_text(result), "of f32[?n:2..9,3]"));
    optune_result_free(result);
    optune_partition_close(partition);
    optune_graph_close(g);
    optune_close(o);
}

/* What is asked for is what is not there yet. */
static void test_why_there_is_no_memory(void **state)
{
    (void)state;
    static const char *const graph[] = {
        "x = var f32[?n,?m:1..4,?n]\ny = var f32[?2*n,?h]\noutput relu(x), y\n",
        "x = var f32[?n:1..1099511627776,?m:1..1099511627776]\noutput relu(x)\n",
        "x = var f32[?n:1..1099511627776]\n"
        "output add(reshape(x, newshape=[-1,1]), reshape(x, newshape=[1,-1]))\n",
    };
    static const char *const why[] = {
        "has unknown dims: give them values or ranges with --bind (?n, ?h)",
        "too large at the upper ends of its ranges, f32[?n:1..1099511627776,",
        "too large at the upper ends of its ranges, f32[?n:1..1099511627776,",
    };
    for (int i = 0; i < OT_COUNT(graph); i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        const char *const *workloads;
        sized of = {.o = tuning_open("why"), .g = sized_parse(graph[i])};
        check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
        assert_int_equal(optune_program_open(of.partition, &of.program, &err), OPTUNE_ETYPE);
        check_contains(err.text, why[i]);
        assert_int_equal(
            optune_partition_emit(of.partition, tuning_path("no"), NULL, false, &result, &err),
            OPTUNE_ETYPE);
        check_contains(err.text, why[i]);
        if (i < 2) {
            assert_int_equal(optune_partition_execute(of.partition, 1, &result, &err),
                             OPTUNE_ETYPE);
            check_contains(err.text, why[i]);
            assert_int_equal(optune_partition_workloads(of.partition, &workloads, &err),
                             OPTUNE_ETYPE);
            check_contains(err.text, why[i]);
        }
        sized_close(&of);
    }
}

/* ---- clones ------------------------------------------------------------------------------- */

enum { CLONES = 3, ROUNDS = 40, MOST_OUT = 4096 };

typedef struct turn {
    optune_program *program;
    int from, status, differ;
    float (*want)[2][MOST_OUT]; /* by size, then by output */
} turn;

static const char *const turn_sizes[] = {"f32[2,3,40,33]", "f32[1,3,1,5]", "f32[2,3,17,31]"};

static int run_into(optune_program *p, const char *sizes, float out[2][MOST_OUT])
{
    optune_tensor type[SIZED_MOST];
    void *in[SIZED_MOST];
    const int n = sized_types(sizes, type);
    for (int i = 0; i < n; i++) {
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&type[i]) + 1);
        ot_fill_input(&type[i], 5, i, in[i]);
    }
    memset(out, 0, 2 * sizeof *out);
    int status = optune_program_resize(p, type, NULL);
    if (status >= 0)
        status = optune_program_run(p, (const void *const *)in, (void *const[]){out[0], out[1]},
                                    NULL);
    for (int i = 0; i < n; i++)
        free(in[i]);
    return status;
}

static void *take_turns(void *arg)
{
    turn *t = arg;
    float(*out)[MOST_OUT] = ot_alloc(2 * sizeof *out);
    for (int i = 0; i < ROUNDS && t->status >= 0; i++) {
        const int size = (t->from + i) % OT_COUNT(turn_sizes);
        t->status = run_into(t->program, turn_sizes[size], out);
        t->differ += memcmp(out, t->want[size], 2 * sizeof *out) != 0;
    }
    free(out);
    return NULL;
}

/* Each has sizes of its own; what they share outlives the first. */
static void test_clones_have_sizes_of_their_own(void **state)
{
    (void)state;
    optune_err err = {0};
    sized of = sized_open(NULL, residual);
    turn turns[CLONES];
    optune_tensor large, small;
    int64_t dims[OPTUNE_MAX_RANK];
    float(*want)[2][MOST_OUT] = ot_alloc(OT_COUNT(turn_sizes) * sizeof *want);
    for (int i = 0; i < OT_COUNT(turn_sizes); i++)
        check_ok(run_into(of.program, turn_sizes[i], want[i]));
    for (int i = 0; i < CLONES; i++) {
        turns[i] = (turn){.from = i, .want = want};
        check_ok(optune_program_clone(i ? turns[i - 1].program : of.program, &turns[i].program,
                                      &err));
    }
    sized_types(turn_sizes[0], &large);
    sized_types(turn_sizes[1], &small);
    check_ok(optune_program_resize(turns[0].program, &small, &err));
    check_ok(optune_program_resize(turns[1].program, &large, &err));
    optune_program_shape(turns[0].program, 1, dims, &err);
    assert_int_equal(dims[0], 1);
    optune_program_shape(turns[1].program, 1, dims, &err);
    assert_int_equal(dims[0], 2);
    for (int i = 0; i < CLONES; i++)
        for (int k = 0; k < OT_COUNT(turn_sizes); k++)
            sized_run(of.g, turns[i].program, turn_sizes[(i + k) % OT_COUNT(turn_sizes)]);
    optune_program_close(of.program);
    of.program = NULL;
    pthread_t thread[CLONES];
    for (int i = 0; i < CLONES; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_turns, &turns[i]), 0);
    for (int i = 0; i < CLONES; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(turns[i].status, OPTUNE_OK);
        assert_int_equal(turns[i].differ, 0);
    }
    for (int i = 0; i < CLONES; i++)
        optune_program_close(turns[i].program);
    free(want);
    sized_close(&of);
}

/* Sizes of a run are in the plan of what runs, and a clone may be opened meanwhile: it takes
 * everything but them. */
static void test_a_clone_reads_no_sizes(void **state)
{
    (void)state;
    sized of = sized_open(NULL, residual);
    int n_dims = 0;
    optune_err err = {0};
    float(*out)[MOST_OUT] = ot_alloc(2 * sizeof *out);
    check_ok(run_into(of.program, turn_sizes[0], out));
    free(out);
    for (int g = 0; g < of.partition->groups.n; g++) {
        const ot_kernel *k = &of.program->kernel[g];
        if (!k->bound)
            continue;
        const optune_plan *plan = &k->bound->loaded->plan;
        ot_loaded *like = ot_loaded_like(k->bound->loaded);
        assert_int_equal(like->plan.n_stages, plan->n_stages);
        assert_ptr_equal(like->module[0], k->bound->loaded->module[0]);
        assert_string_equal(ot_plan_text(&like->plan, 0), ot_plan_text(plan, 0));
        for (int i = 0; i < plan->n_stages; i++)
            for (int a = 0; a < plan->stage[i].n_args; a++) {
                optune_arg want = plan->stage[i].arg[a];
                const optune_arg *is = &like->plan.stage[i].arg[a];
                n_dims += want.kind == OPTUNE_ARG_DIM && want.value;
                want.value = want.kind == OPTUNE_ARG_DIM ? 0 : want.value;
                assert_memory_equal(is, &want, sizeof want);
            }
        free(like);
    }
    assert_true(n_dims > 0);
    sized_close(&of);
}

typedef struct runner {
    optune_program *program;
    atomic_bool stop;
    int status;
} runner;

static void *run_on(void *arg)
{
    runner *r = arg;
    float(*out)[MOST_OUT] = ot_alloc(2 * sizeof *out);
    for (int i = 0; !atomic_load(&r->stop) && r->status >= 0; i++)
        r->status = run_into(r->program, turn_sizes[i % OT_COUNT(turn_sizes)], out);
    free(out);
    return NULL;
}

/* For what finds races. */
static void test_clones_of_what_runs(void **state)
{
    (void)state;
    optune_err err = {0};
    sized of = sized_open(NULL, residual);
    runner r = {.program = of.program};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_on, &r), 0);
    for (int i = 0; i < 8; i++) {
        optune_program *clone = NULL;
        check_ok(optune_program_clone(of.program, &clone, &err));
        sized_run(of.g, clone, turn_sizes[i % OT_COUNT(turn_sizes)]);
        optune_program_close(clone);
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(r.status, OPTUNE_OK);
    sized_close(&of);
}

/* ---- profiles ----------------------------------------------------------------------------- */

static void test_profiles(void **state)
{
    (void)state;
    static const char *const graph[] = {
        "x = var f32[?n:1..20,24]\ny = var f32[?2*n,24]\n"
        "output softmax(add(concatenate(x, x), y))\n",
        "x = var f32[?n:0..1,24]\noutput relu(x)\n",
        "x = var f32[24]\na = argwhere(x)\noutput relu(a)\n",
    };
    static const char *const said[] = {"f32[16,24]                   of f32[?n:1..20,24]",
                                       "f32[1,24]", "in model us"};
    static const int inputs[] = {2, 1, 0};
    for (int i = 0; i < OT_COUNT(graph); i++) {
        optune_err err = {0};
        optune_result *result = NULL;
        sized of = {.o = tuning_open("profiles"), .g = sized_parse(graph[i])};
        check_ok(optune_partition_open(of.o, of.g, &of.partition, &err));
        check_ok(optune_partition_profile(of.partition, 1, &result, &err));
        check_contains(optune_result_text(result), said[i]);
        json_t *json = tuning_parse(optune_result_json(result));
        assert_int_equal(json_array_size(json_object_get(json, "inputs")), inputs[i]);
        const json_t *groups = json_object_get(json, "groups");
        assert_true(json_array_size(groups) >= 1);
        for (size_t k = 0; k < json_array_size(groups); k++)
            assert_non_null(json_object_get(json_array_get(groups, k), "alone"));
        json_decref(json);
        optune_result_free(result);
        sized_close(&of);
    }
}

static optune_op counted; /* reverse, which counts how often its type relation is asked */
static int n_asked;

static int counted_types(optune_call *call, optune_err *err)
{
    n_asked++;
    return ot_op_find("reverse")->types(call, err);
}

/* What follows from sizes is found once for them; what follows from values for each run, and as
 * large as it can be before it. */
static void test_the_same_size_again(void **state)
{
    (void)state;
    optune_err err = {0};
    counted = *ot_op_find("reverse");
    counted.name = "counted";
    counted.types = counted_types;
    check_ok(ot_op_add(&counted, &err));
    sized of = sized_open(NULL, "x = var f32[?n:1..6]\n"
                                "r = add(counted(x, axis=0), x)\n"
                                "w = argwhere(x)\n"
                                "output r, w\n");
    static const float few[4] = {0, 3, 0, 0}, many[4] = {1, 2, 0, 5};
    float sum[6];
    int64_t places[8], dims[OPTUNE_MAX_RANK];
    int once = 0;
    optune_tensor type;
    sized_types("f32[4]", &type);
    for (int i = 0; i < 4; i++) {
        const float *x = i % 2 ? many : few;
        check_ok(optune_program_resize(of.program, &type, &err));
        optune_program_shape(of.program, 1, dims, &err);
        assert_int_equal(dims[0], 6);
        check_ok(optune_program_run(of.program, (const void *const[]){x},
                                    (void *const[]){sum, places}, &err));
        optune_program_shape(of.program, 1, dims, &err);
        assert_int_equal(dims[0], i % 2 ? 3 : 1);
        assert_true(sum[1] == x[1] + x[2] && places[0] == (i % 2 ? 0 : 1));
        once = i ? once : n_asked;
        assert_int_equal(n_asked, once);
    }
    sized_types("f32[3]", &type);
    check_ok(optune_program_resize(of.program, &type, &err));
    assert_true(n_asked > once);
    sized_close(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_program_for_all_sizes),
        cmocka_unit_test(test_equal_by_expression),
        cmocka_unit_test(test_more_inputs_than_a_call_has),
        cmocka_unit_test(test_sizes_that_a_node_refuses),
        cmocka_unit_test(test_ones_in_front),
        cmocka_unit_test(test_the_same_size_again),
        cmocka_unit_test(test_bounds_are_given_later),
        cmocka_unit_test(test_why_there_is_no_memory),
        cmocka_unit_test(test_clones_have_sizes_of_their_own),
        cmocka_unit_test(test_a_clone_reads_no_sizes),
        cmocka_unit_test(test_clones_of_what_runs),
        cmocka_unit_test(test_profiles),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
