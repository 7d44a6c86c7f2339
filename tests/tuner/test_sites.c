/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs that say something else of a graph's sites than a handle that knows none would do have the
 * last word only where turns of the whole graph agree. Costs are made up; turns are real, and which
 * way is the faster one nobody expects.
 */
#include "support/check.h"

#include "support/divided.h"

static const char text[] = "x = var f32[1,8,20,20]\n"
                           "e = conv2d(x, const f32[24,8,1,1])\n"
                           "y = conv2d(relu(e), const f32[24,1,3,3], groups=24)\n"
                           "z = conv2d(y, const f32[8,24,1,1])\n"
                           "output z\n";
static const char one[] =
    "pointwise_depthwise_conv2d(f32[1,8,20,20], const f32[24,8,1,1], const f32[24,1,3,3], "
    "strides=[1,1], padding=[0,0,0,0], between=relu)";
static const char last[] = "conv2d(f32[1,24,18,18], const f32[8,24,1,1], strides=[1,1], "
                           "padding=[0,0,0,0], dilation=[1,1], groups=1)";

static int measure(void **state)
{
    tuning_setup(state);
    divided_measure("tuned", text);
    return 0;
}

static json_t *run(const divided *at)
{
    return tuning_run(
        at->o,
        (optune_run_options){
            .graph = at->p, .workloads = at->p->workloads, .trials = 1, .seconds = 4},
        OPTUNE_OK);
}

static void costs_alone_are_not_followed(void **state)
{
    (void)state;
    const divided_price price[] = {{one, 1e-7}, {last, -1}};
    divided at = divided_open("hasty", text);
    assert_false(
        divided_has(&at, one)); /* untuned: a core's cache holds what is between them */
    divided_close(&at);
    divided_plant("hasty", price, OT_COUNT(price), 1e-3);
    at = divided_open("hasty", text);
    assert_true(divided_has(&at, one));
    json_t *json = run(&at);
    const json_t *sites = json_object_get(json, "sites");
    assert_true(json_is_object(sites));
    const bool kept = json_is_true(json_object_get(sites, "kept"));
    assert_int_equal(kept, json_real_value(json_object_get(sites, "measured")) <
                               json_real_value(json_object_get(sites, "untuned")));
    json_decref(json);
    divided_close(&at);
    at = divided_open("hasty", text);
    assert_int_equal(divided_has(&at, one), kept);
    assert_true(at.p->chaining.turned);
    divided_execute(&at);
    divided_close(&at);
}

static void where_both_say_the_same_there_are_no_turns(void **state)
{
    (void)state;
    const divided_price price[] = {{one, 1e-3}, {last, -1}};
    divided_plant("agreed", price, OT_COUNT(price), 1e-7);
    divided at = divided_open("agreed", text);
    assert_false(divided_has(&at, one));
    json_t *json = run(&at);
    assert_true(json_is_null(json_object_get(json, "sites")));
    json_decref(json);
    assert_false(at.p->chaining.turned);
    divided_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_alone_are_not_followed),
        cmocka_unit_test(where_both_say_the_same_there_are_no_turns),
    };
    return cmocka_run_group_tests(tests, measure, tuning_teardown);
}
