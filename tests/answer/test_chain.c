/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's 1x1 convolutions in front of depthwise ones, as one call or as two: untuned they are
 * one where a core's cache does not hold what is between them, a run measures both ways, and what
 * was measured decides, each kind of site by itself. Records are of one short real run; what they
 * cost is made up.
 */
#include "support/check.h"

#include "answer/graph.h"
#include "optune/graph.h"
#include "support/divided.h"

static const char text[] = "x = var f32[1,8,9,10]\n"
                           "e = conv2d(x, const f32[24,8,1,1])\n"
                           "r = clip(add(e, const f32[24,1,1]), a_min=0.0, a_max=6.0)\n"
                           "d = conv2d(r, const f32[24,1,3,3], padding=[1,1,1,1], groups=24)\n"
                           "p = conv2d(add(d, const f32[24,1,1]), const f32[8,24,1,1])\n"
                           "f = relu(conv2d(p, const f32[16,8,1,1]))\n"
                           "y = conv2d(f, const f32[16,1,3,3], strides=[2,2], groups=16)\n"
                           "z = relu(y)\n"
                           "output z\n";

static const char first[] =
    "pointwise_depthwise_conv2d(f32[1,8,9,10], const f32[24,8,1,1], const f32[24,1,3,3], const "
    "f32[24,1,1], strides=[1,1], padding=[1,1,1,1], between=relu6) -> add(const f32[24,1,1])";
static const char second[] =
    "pointwise_depthwise_conv2d(f32[1,8,9,10], const f32[16,8,1,1], const f32[16,1,3,3], "
    "strides=[2,2], padding=[0,0,0,0], between=relu) -> relu()";

static bool is_measured_too(const optune_partition *p, const char *workload)
{
    optune_err err = {0};
    const char *const *workloads;
    bool found = false;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    for (int i = 0; workloads[i]; i++)
        found = found || !strcmp(workloads[i], workload);
    return found;
}

/* A trial of each workload of both ways; they are in tuning_dir/tuned. */
static int measure(void **state)
{
    tuning_setup(state);
    divided_measure("tuned", text);
    return 0;
}

/* Those records, so many seconds each; negative: left out. */
static void plant(const char *db, double one, double other, double others)
{
    const divided_price price[] = {{first, one}, {second, other}};
    divided_plant(db, price, OT_COUNT(price), others);
}

static void untuned_the_cache_decides(void **state)
{
    (void)state;
    optune_err err = {0};
    divided at = divided_open("empty", text);
    assert_false(divided_has(&at, first)); /* 8.6 KB between the two */
    assert_false(divided_has(&at, second));
    assert_true(is_measured_too(at.p, first));
    assert_true(is_measured_too(at.p, second));
    check_ok(optune_partition_select(at.p, &err));
    check_contains(optune_partition_text(at.p, false),
                   "1x1 and depthwise convolutions: 0 of 2 as one call, not measured both "
                   "ways\n");
    divided_execute(&at);
    optune_partition_close(at.p);
    at.o->device.l2 = 4 * 8000; /* a quarter is kept */
    check_ok(optune_partition_open(at.o, at.g, &at.p, &err));
    assert_true(divided_has(&at, first));
    assert_false(divided_has(&at, second)); /* 5.8 KB */
    divided_close(&at);
}

/* A team's threads take from each other's caches what lies between two calls. */
static void of_a_team_the_first_cache_decides(void **state)
{
    (void)state;
    optune_err err = {0};
    divided at = divided_open("team", text);
    optune_partition_close(at.p);
    at.o->device.threads = 2;
    at.o->device.l1 = 8000;
    check_ok(optune_partition_open(at.o, at.g, &at.p, &err));
    assert_true(divided_has(&at, first));
    assert_false(divided_has(&at, second));
    divided_close(&at);
}

/* Two calls would turn over and round what tiles of 16-bit floats leave. */
static void where_tiles_compute_it_the_first_cache_decides(void **state)
{
    (void)state;
    static const char half[] = "x = var bf16[1,8,9,10]\n"
                               "e = conv2d(x, const bf16[24,8,1,1])\n"
                               "y = conv2d(relu(e), const bf16[24,1,3,3], groups=24)\n"
                               "output y\n";
    static const char one[] =
        "pointwise_depthwise_conv2d(bf16[1,8,9,10], const bf16[24,8,1,1], const "
        "bf16[24,1,3,3], strides=[1,1], padding=[0,0,0,0], between=relu)";
    optune_err err = {0};
    divided at = divided_open("half", half);
    for (int tiles = 0; tiles < 2; tiles++)
        for (int l1 = 4000; l1 <= 5000; l1 += 1000) { /* 4.3 KB between the two */
            optune_partition_close(at.p);
            at.o->device.l1 = l1;
            at.o->device.dots = tiles ? OPTUNE_DOT_TILE_BF16 | OPTUNE_DOT_BF16 : 0;
            check_ok(optune_partition_open(at.o, at.g, &at.p, &err));
            assert_int_equal(divided_has(&at, one), tiles && l1 == 4000);
        }
    divided_close(&at);
}

static void what_is_faster_is_used(void **state)
{
    (void)state;
    static const struct {
        const char *db;
        double one, other, others;
        bool first, second;
    } tries[] = {
        {"one", 1e-4, 1e-4, 1e-3, true, true},
        {"two", 1e-2, 1e-2, 1e-3, false, false},
        {"the first", 1e-4, 1e-2, 1e-3, true, false},
        {"the second", 1e-2, 1e-4, 1e-3, false, true},
        {"only two", -1, -1, 1e-3, false, false},
        {"only one", 1e-4, 1e-4, -1, true, true},
    };
    optune_err err = {0};
    for (int i = 0; i < OT_COUNT(tries); i++) {
        plant(tries[i].db, tries[i].one, tries[i].other, tries[i].others);
        divided at = divided_open(tries[i].db, text);
        if (divided_has(&at, first) != tries[i].first ||
            divided_has(&at, second) != tries[i].second)
            print_error("%s\n", tries[i].db);
        assert_int_equal(divided_has(&at, first), tries[i].first);
        assert_int_equal(divided_has(&at, second), tries[i].second);
        check_ok(optune_partition_select(at.p, &err));
        json_t *json = tuning_parse(optune_partition_json(at.p));
        const json_t *told = json_object_get(json, "chains");
        assert_int_equal(tuning_int(told, "found"), 2);
        assert_int_equal(tuning_int(told, "as_one"), tries[i].first + tries[i].second);
        assert_true(json_is_real(json_object_get(told, "as_two_s")) == (i < 4));
        assert_true(json_is_null(json_object_get(json, "attention")));
        json_decref(json);
        if (tries[i].first != tries[i].second)
            divided_execute(&at);
        divided_close(&at);
    }
}

/* Costs were measured in other minutes than one another: turns of the whole decide, until another
 * kernel stands where they were taken or they tell of another graph. */
static void turns_of_the_whole_decide(void **state)
{
    (void)state;
    static const struct {
        const char *db, *lines, *digest;
        bool turned, first, second;
    } tries[] = {
        {"said", "sites=01\n", NULL, true, false, true},
        {"parts", "sites=00\n", NULL, true, false, false},
        {"all", "sites=11\n", NULL, true, true, true},
        {"other graph", "sites=011\n", NULL, false, true, false},
        {"nonsense", "sites=0y\n", NULL, false, true, false},
        {"changed", "sites=01\n", "00000000000000000000000000000000", false, true, false},
    };
    for (int i = 0; i < OT_COUNT(tries); i++) {
        optune_err err = {0};
        plant(tries[i].db, 1e-4, 1e-2, 1e-3);
        divided_say(tries[i].db, text, OT_SITES_UNTUNED, tries[i].lines, 0, tries[i].digest);
        divided at = divided_open(tries[i].db, text);
        if (divided_has(&at, first) != tries[i].first ||
            divided_has(&at, second) != tries[i].second)
            print_error("%s\n", tries[i].db);
        assert_int_equal(divided_has(&at, first), tries[i].first);
        assert_int_equal(divided_has(&at, second), tries[i].second);
        check_ok(optune_partition_select(at.p, &err));
        assert_int_equal(strstr(optune_partition_text(at.p, false),
                                "; turns of the whole decided\n") != NULL,
                         tries[i].turned);
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
    plant("again", 1e-4, 1e-2, 1e-3);
    assert_true(ot_partition_outdated(at.p));
    divided_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untuned_the_cache_decides),
        cmocka_unit_test(of_a_team_the_first_cache_decides),
        cmocka_unit_test(where_tiles_compute_it_the_first_cache_decides),
        cmocka_unit_test(what_is_faster_is_used),
        cmocka_unit_test(turns_of_the_whole_decide),
        cmocka_unit_test(it_is_looked_at_again),
    };
    return cmocka_run_group_tests(tests, measure, tuning_teardown);
}
