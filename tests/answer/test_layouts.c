/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run found out about a graph's layouts is read back from its records and followed by
 * whoever selects, executes and emits; what is slower, old, stale or nonsense is not. The records
 * are of one short real run; what they say of the whole is made up, as only that is looked at.
 */
#include "support/check.h"

#include <unistd.h>

#include "optune/graph.h"
#include "support/divided.h"

static const char text[] = "x = var f32[1,16,9,9]\n"
                           "a = conv2d(x, const f32[16,16,3,3], padding=[1,1])\n"
                           "s = relu(add(a, const f32[16,1,1]))\n"
                           "b = conv2d(s, const f32[16,1,3,3], padding=[1,1], groups=16)\n"
                           "y = add(b, x)\n"
                           "output y\n";

enum { GROUPS = 2 };
static const ot_blocks blocked[GROUPS] = {{0, 8}, {8, 8}};

/* Both graphs' workloads, one trial each; they are in tuning_dir/tuned. */
static int measure(void **state)
{
    optune_err err = {0};
    tuning_setup(state);
    optune *o = tuning_open("tuned");
    optune_graph *g = divided_parse(text);
    optune_partition *plain = NULL, *other = NULL;
    check_ok(ot_partition_open_plain(o, g, &plain, &err));
    assert_int_equal(plain->groups.n, GROUPS);
    check_ok(ot_partition_open_relaid(plain, blocked, &other, &err));
    const char *const *names[2], *all[16] = {NULL};
    int n = 0;
    check_ok(optune_partition_workloads(plain, &names[0], &err));
    check_ok(optune_partition_workloads(other, &names[1], &err));
    for (int side = 0; side < 2; side++)
        for (int i = 0; names[side][i]; i++)
            all[n++] = names[side][i];
    json_decref(tuning_run(o, (optune_run_options){.workloads = all, .trials = 1}, OPTUNE_OK));
    optune_partition_close(other);
    optune_partition_close(plain);
    optune_graph_close(g);
    optune_close(o);
    return 0;
}

/* A database with that run and a record of the first group, `age` seconds old, that says so. */
static void plant(const char *db, const char *lines, double age, const char *digest)
{
    divided_plant(db, NULL, 0, 1e-3);
    divided_say(db, text, OT_SITES_USED, lines, age, digest);
}

static const char good[] = "layouts=0>8,8\nlayouts_plain=0.003\nlayouts_blocked=0.002\n"
                           "layouts_transforms=1\nlayouts_transforms_s=0.0001\n";

static void what_was_faster_is_used(void **state)
{
    (void)state;
    optune_err err = {0};
    plant("good", good, 0, NULL);
    divided at = divided_open("good", text);
    assert_non_null(at.p->relaid.graph);
    check_ok(optune_partition_select(at.p, &err));
    check_contains(optune_partition_text(at.p, false),
                   "layouts: 2 of 2 groups in NCHW8c, 1 transform (0.1 ms), saves 1 of 3 ms\n");
    json_t *json = tuning_parse(optune_partition_json(at.p));
    const json_t *layouts = json_object_get(json, "layouts");
    assert_true(json_is_true(json_object_get(layouts, "kept")));
    assert_string_equal(tuning_text(layouts, "layout"), "NCHW8c");
    assert_int_equal(tuning_int(layouts, "in_blocks"), 2);
    json_decref(json);

    /* It computes what the caller's graph means, inputs and outputs as in that. */
    optune_result *result = NULL;
    assert_int_equal(optune_partition_execute(at.p, 1, &result, &err), OPTUNE_OK);
    optune_result_free(result);
    divided_close(&at);
}

/* Constants that are given anew are those of the next program, here and in blocks. */
static void constants_are_the_callers(void **state)
{
    (void)state;
    optune_err err = {0};
    plant("constants", good, 0, NULL);
    divided at = divided_open("constants", text);
    float x[16 * 81], y[2][16 * 81], zero[16 * 16 * 9] = {0};
    void *out[1];
    for (int i = 0; i < OT_COUNT(x); i++)
        x[i] = (float)(i % 7);
    for (int round = 0; round < 2; round++) {
        optune_program *program = NULL;
        const void *in[] = {x};
        for (int id = 0; id < at.g->n && round; id++)
            if (at.g->node[id].kind == OT_NODE_CONST)
                check_ok(optune_graph_set_data(at.g, id, zero, &err));
        check_ok(optune_graph_fill(at.g, 1, &err));
        check_ok(optune_program_open(at.p, &program, &err));
        out[0] = y[round];
        check_ok(optune_program_run(program, in, out, &err));
        optune_program_close(program);
    }
    assert_memory_not_equal(y[0], x, sizeof x);
    assert_memory_equal(y[1], x, sizeof x); /* nothing but the residual is left */
    divided_close(&at);
}

static void it_is_emitted(void **state)
{
    (void)state;
    optune_err err = {0};
    plant("emitted", good, 0, NULL);
    divided at = divided_open("emitted", text);
    optune_result *result = NULL;
    check_ok(optune_graph_fill(at.g, 1, &err));
    check_ok(optune_partition_emit(at.p, tuning_path("out"), NULL, false, &result, &err));
    check_contains(optune_result_text(result), "model.c");
    optune_result_free(result);
    divided_close(&at);
}

static void nothing_else_is(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "layouts=0>8,8\nlayouts_plain=0.002\nlayouts_blocked=0.003\n", /* slower */
        "layouts=0>8,8\nlayouts_plain=0.003\n",
        "layouts=0>8\nlayouts_plain=0.003\nlayouts_blocked=0.002\n",   /* another graph's */
        "layouts=0>8,4\nlayouts_plain=0.003\nlayouts_blocked=0.002\n", /* of two sizes */
        "layouts=0>8,8>0\nlayouts_plain=0.003\nlayouts_blocked=0.002\n",
        "layouts=0>32,32\nlayouts_plain=0.003\nlayouts_blocked=0.002\n", /* more than there are */
        "layouts=0*2\nlayouts_plain=0.003\nlayouts_blocked=0.002\n",
        "layouts=nonsense\nlayouts_plain=1e999\nlayouts_blocked=-2\n",
        "layouts=0>8,8\nlayouts_plain=inf\nlayouts_blocked=nan\n",
    };
    for (int i = 0; i < OT_COUNT(lines); i++) {
        char db[32];
        snprintf(db, sizeof db, "not%d", i);
        plant(db, lines[i], 0, NULL);
        divided at = divided_open(db, text);
        assert_null(at.p->relaid.graph);
        assert_ptr_equal(at.p->graph, at.g);
        assert_false(at.p->layouts.kept);
        divided_close(&at);
    }
}

static void a_later_word_and_a_changed_kernel_count(void **state)
{
    (void)state;
    plant("later", good, 60, NULL);
    plant("later", "layouts=0>8,8\nlayouts_plain=0.002\nlayouts_blocked=0.003\n", 0, NULL);
    divided at = divided_open("later", text);
    optune_err err = {0};
    assert_null(at.p->relaid.graph);
    check_ok(optune_partition_select(at.p, &err));
    check_contains(optune_partition_text(at.p, false),
                   "is 1 ms slower than plain (2 ms): not used");
    divided_close(&at);
    plant("back", "layouts=0>8,8\nlayouts_plain=0.002\nlayouts_blocked=0.003\n", 60, NULL);
    plant("back", good, 0, NULL);
    at = divided_open("back", text);
    assert_non_null(at.p->relaid.graph);
    divided_close(&at);
    plant("changed", good, 0, "00000000000000000000000000000000");
    at = divided_open("changed", text);
    assert_null(at.p->relaid.graph);
    divided_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_faster_is_used),
        cmocka_unit_test(constants_are_the_callers),
        cmocka_unit_test(it_is_emitted),
        cmocka_unit_test(nothing_else_is),
        cmocka_unit_test(a_later_word_and_a_changed_kernel_count),
    };
    return cmocka_run_group_tests(tests, measure, tuning_teardown);
}
