/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a trial or finals still end in time, of workloads whose trials took what is made up here:
 * what is left of the time is minutes, so that no machine is too slow for the answer.
 */
#include <math.h>

#include "support/check.h"
#include "tuner/tuning.h"

static ot_tuning *t;

/* A workload with `left` seconds of its 1000, and an arm whose best takes a millisecond. */
static void begin(double left)
{
    static ot_run run;
    static ot_tuned tuned;
    memset(t, 0, sizeof *t);
    memset(&run, 0, sizeof run);
    memset(&tuned, 0, sizeof tuned);
    t->run = &run;
    t->tuned = &tuned;
    t->seconds = 1000;
    t->end = ot_now() + left;
    t->start = t->end - t->seconds;
    t->finals_s = 3;
    t->n_arms = 1;
    t->arm[0].best = INFINITY;
    run.end = run.last = run.first_last = t->end;
    run.progress.best = INFINITY;
}

static void tried(int outcome, double seconds, double cost)
{
    const ot_trial_result result = {
        .outcome = outcome, .cost = cost, .seconds = seconds, .inner = 1, .n_samples = 9};
    ot_tuning_note(t, &result);
    t->tuned->trials++;
    if (outcome == OPTUNE_OUTCOME_OK)
        t->arm[0].best = t->run->progress.best = fmin(t->arm[0].best, cost);
}

static void test_trials(void **state)
{
    (void)state;
    begin(500);
    assert_false(ot_tuning_is_over(t)); /* the first one is tried anyway */
    tried(OPTUNE_OUTCOME_COMPILE, 700, INFINITY);
    assert_false(ot_tuning_is_over(t)); /* says nothing of what a trial takes */
    tried(OPTUNE_OUTCOME_OK, 300, 1e-3);
    t->tuned->trials = 1;
    assert_false(ot_tuning_is_over(t));
    begin(100);
    tried(OPTUNE_OUTCOME_OK, 900, 1e-3); /* another one would end 800 s late */
    assert_true(ot_tuning_is_over(t));
    begin(100);
    tried(OPTUNE_OUTCOME_OK, 50, 1e-3);
    assert_false(ot_tuning_is_over(t));
    tried(OPTUNE_OUTCOME_OK, 190, 1e-3); /* in the middle, 120 s: 20 s late is still in time */
    t->load_s = 0;
    assert_false(ot_tuning_is_over(t));
    t->load_s = 100; /* but with finals there is no time for it */
    assert_true(ot_tuning_is_over(t));
    begin(-1);
    tried(OPTUNE_OUTCOME_OK, 0.1, 1e-3);
    assert_true(ot_tuning_is_over(t));
}

static void test_finals(void **state)
{
    (void)state;
    begin(100);
    assert_false(ot_tuning_has_finals(t)); /* of nothing */
    tried(OPTUNE_OUTCOME_OK, 10, 1e-3);
    tried(OPTUNE_OUTCOME_OK, 10, 1e-3);
    assert_true(ot_tuning_has_finals(t));
    t->told_s = 190; /* with 2 times 10 s and 3 s: 113 s late */
    assert_false(ot_tuning_has_finals(t));
    t->told_s = 170; /* 93 s late, of 1000 */
    assert_true(ot_tuning_has_finals(t));
    t->run->end = t->end + 500; /* other workloads' time counts, too */
    t->told_s = 500;
    assert_true(ot_tuning_has_finals(t));
    begin(100);
    tried(OPTUNE_OUTCOME_OK, 60, 1e-3);
    tried(OPTUNE_OUTCOME_OK, 70, 6); /* 60 s of its 70 were samples */
    assert_true(fabs(t->load_s - 60) < 0.1);
    t->arm[0].best = 60; /* who takes a minute takes twelve in turns */
    assert_false(ot_tuning_has_finals(t));
}

static int setup(void **state)
{
    (void)state;
    t = ot_alloc(sizeof *t);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(t);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials),
        cmocka_unit_test(test_finals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
