/* SPDX-License-Identifier: Apache-2.0 */
/* Warm and cold: each policy has records of its own, and a cold run flushes before every sample. */
#include "support/check.h"
#include "support/tuning.h"

static const char workload[] = "dense(f32[16,64],f32[32,64])";

static void run_as(const char *policy, json_int_t new_trials)
{
    optune *o = tuning_open_with("policy", (optune_options){.policy = policy});
    json_t *run = tuning_run_one(o, "dense", workload, "dense_nopack.x86", 2);
    assert_int_equal(tuning_int(run, "new_trials"), new_trials);
    json_decref(run);
    optune_close(o);
}

static void test_policies(void **state)
{
    (void)state;
    run_as("warm", 2);
    run_as(NULL, 0); /* warm is the default: nothing is left to measure */
    run_as("cold", 2);
    run_as("cold", 0);
    tuning_records all;
    tuning_read("policy", &all);
    int cold = 0;
    for (int i = 0; i < all.n; i++) {
        const optune_record *r = &all.record[i];
        const bool is_cold = strcmp(r->policy, "cold") == 0;
        cold += is_cold;
        if (is_cold && r->outcome == OPTUNE_OUTCOME_OK)
            assert_int_equal(r->inner, 1); /* no run finds what one before it left */
    }
    assert_true(cold >= 2 && cold < all.n);
    ot_arena_release(&all.arena);
}

static void test_unknown(void **state)
{
    (void)state;
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {.size = sizeof options, .policy = "hot"};
    assert_int_equal(optune_open(&options, &o, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "there are warm, cold and model-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
