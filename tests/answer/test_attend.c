/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's attention as one call or as products: untuned it is one call, a run measures both ways,
 * and what was measured decides, equal sites together. Records are of one short real run; what they
 * cost is made up.
 */
#include "support/check.h"

#include <math.h>

#include "answer/graph.h"
#include "optune/graph.h"
#include "support/divided.h"

static const char text[] = "q = var f32[4,9,8]\n"
                           "k = var f32[4,11,8]\n"
                           "v = var f32[4,11,8]\n"
                           "m = var f32[1,1,11]\n"
                           "s = add(multiply(batch_matmul(q, k), const f32[] {0.5}), m)\n"
                           "y = batch_matmul(softmax(s), v, transpose_b=false)\n"
                           "t = softmax(batch_matmul(y, const f32[4,11,8]))\n"
                           "z = relu(batch_matmul(t, v, transpose_b=false))\n"
                           "output z\n";

static const char masked[] = "attention(f32[1,4,9,8], f32[1,4,11,8], f32[1,4,11,8], "
                             "f32[1,1,1,11], causal=false, scale=0.5, nan=true)";
static const char bare[] = "attention(f32[1,4,9,8], f32[1,4,11,8], f32[1,4,11,8], "
                           "causal=false, scale=1.0)";

/* A trial of each workload of both ways; they are in tuning_dir/tuned. */
static int measure(void **state)
{
    tuning_setup(state);
    divided_measure("tuned", text);
    return 0;
}

/* Those records, so many seconds each; negative: left out. */
static void plant(const char *db, double with_mask, double without, double others)
{
    const divided_price price[] = {{masked, with_mask}, {bare, without}};
    divided_plant(db, price, OT_COUNT(price), others);
}

static void untuned_it_is_one_call(void **state)
{
    (void)state;
    optune_err err = {0};
    divided at = divided_open("empty", text);
    assert_true(divided_has(&at, masked));
    assert_true(divided_has(&at, bare));
    const char *const *workloads;
    int products = 0;
    check_ok(optune_partition_workloads(at.p, &workloads, &err));
    for (int i = 0; workloads[i]; i++)
        products += strstr(workloads[i], "batch_matmul(") == workloads[i];
    assert_true(products >= 2); /* a run measures these, too */
    check_ok(optune_partition_select(at.p, &err));
    check_contains(optune_partition_text(at.p, false),
                   "attention: 2 of 2 as one call, not measured both ways\n");
    divided_execute(&at);
    divided_close(&at);
}

static void what_is_faster_is_used(void **state)
{
    (void)state;
    static const struct {
        const char *db;
        double with_mask, without, others;
        bool masked, bare;
    } tries[] = {
        {"one", 1e-4, 1e-4, 1e-3, true, true},
        {"products", 1e-2, 1e-2, 1e-3, false, false},
        {"first", 1e-4, 1e-2, 1e-3, true, false},
        {"second", 1e-2, 1e-4, 1e-3, false, true},
        {"only products", -1, -1, 1e-3, false, false},
        {"only one", 1e-4, 1e-4, -1, true, true},
        {"only first", 1e-4, -1, 1e-3, true, false},
    };
    optune_err err = {0};
    for (int i = 0; i < OT_COUNT(tries); i++) {
        plant(tries[i].db, tries[i].with_mask, tries[i].without, tries[i].others);
        divided at = divided_open(tries[i].db, text);
        if (divided_has(&at, masked) != tries[i].masked ||
            divided_has(&at, bare) != tries[i].bare)
            print_error("%s\n", tries[i].db);
        assert_int_equal(divided_has(&at, masked), tries[i].masked);
        assert_int_equal(divided_has(&at, bare), tries[i].bare);
        assert_int_equal(at.p->attending.fused, tries[i].masked + tries[i].bare);
        check_ok(optune_partition_select(at.p, &err));
        json_t *json = tuning_parse(optune_partition_json(at.p));
        const json_t *told = json_object_get(json, "attention");
        assert_int_equal(tuning_int(told, "found"), 2);
        assert_int_equal(tuning_int(told, "as_one"), tries[i].masked + tries[i].bare);
        json_decref(json);
        if (tries[i].masked != tries[i].bare)
            divided_execute(&at);
        divided_close(&at);
    }
}

/* What a handle learns while a partition is open is seen. */
static void it_is_looked_at_again(void **state)
{
    (void)state;
    divided at = divided_open("again", text);
    assert_false(ot_partition_outdated(at.p));
    plant("again", 1e-2, 1e-2, 1e-3);
    assert_true(ot_partition_outdated(at.p));
    divided_close(&at);
}

/* Elements that are given anew are those of the next program. */
static void constants_are_the_callers(void **state)
{
    (void)state;
    optune_err err = {0};
    divided at = divided_open("constants", text);
    float q[4 * 9 * 8], k[4 * 11 * 8], m[11], z[2][4 * 9 * 8], given[4 * 11 * 8];
    for (int i = 0; i < OT_COUNT(q); i++)
        q[i] = (float)(i % 5) / 4;
    for (int i = 0; i < OT_COUNT(k); i++) {
        k[i] = (float)(i % 7) / 8;
        given[i] = (float)(i % 13);
    }
    for (int i = 0; i < OT_COUNT(m); i++)
        m[i] = i == 3 ? -INFINITY : 0;
    for (int round = 0; round < 2; round++) {
        const void *in[] = {q, k, k, m};
        void *out[] = {z[round]};
        optune_program *program = NULL;
        for (int id = 0; id < at.g->n; id++)
            if (at.g->node[id].kind == OT_NODE_CONST && at.g->node[id].out[0].rank == 3) {
                memset(given, 0, round ? sizeof given : 0);
                check_ok(optune_graph_set_data(at.g, id, given, &err));
            }
        check_ok(optune_program_open(at.p, &program, &err));
        check_ok(optune_program_run(program, in, out, &err));
        optune_program_close(program);
    }
    assert_memory_not_equal(z[0], z[1], sizeof z[0]);
    /* Scores of nothing but 0: the mean of the values. */
    float mean = 0;
    for (int j = 0; j < 11; j++)
        mean += k[j * 8] / 11;
    assert_true(fabsf(z[1][0] - mean) < 1e-5F);
    divided_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untuned_it_is_one_call),
        cmocka_unit_test(what_is_faster_is_used),
        cmocka_unit_test(it_is_looked_at_again),
        cmocka_unit_test(constants_are_the_callers),
    };
    return cmocka_run_group_tests(tests, measure, tuning_teardown);
}
