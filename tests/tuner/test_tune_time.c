/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a trial or finals still end in time, of workloads whose trials took what is made up here:
 * what is left of the time is minutes, so that no machine is too slow for the answer.
 */
#include <limits.h>
#include <math.h>

#include "support/check.h"
#include "tuner/tuning.h"

static ot_tuning *t;

/* A workload with `left` seconds of its 1000, of so many arms; and none was tried. */
static void begin_arms(double left, int n_arms)
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
    t->n_arms = n_arms;
    for (int i = 0; i < n_arms; i++)
        t->arm[i].best = INFINITY;
    run.end = run.last = run.first_last = t->end;
    run.progress.best = INFINITY;
}

static void begin(double left)
{
    begin_arms(left, 1);
}

static void tried_arm(int arm, int outcome, double seconds, double cost)
{
    const ot_trial_result result = {
        .outcome = outcome, .cost = cost, .seconds = seconds, .inner = 1, .n_samples = 9};
    ot_tuning_note(t, arm, &result);
    t->tuned->trials++;
    if (outcome != OPTUNE_OUTCOME_OK)
        return;
    t->arm[arm].best = fmin(t->arm[arm].best, cost);
    t->run->progress.best = fmin(t->run->progress.best, cost);
}

static void tried(int outcome, double seconds, double cost)
{
    tried_arm(0, outcome, seconds, cost);
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
    t->load_s[0] = 0;
    assert_false(ot_tuning_is_over(t));
    t->load_s[0] = 90; /* but with finals there is no time for it */
    assert_true(ot_tuning_is_over(t));
    t->load_s[0] = 100; /* for finals neither, and nothing is kept for them */
    assert_false(ot_tuning_is_over(t));
    begin(-1);
    tried(OPTUNE_OUTCOME_OK, 0.1, 1e-3);
    assert_true(ot_tuning_is_over(t));
}

static void test_finals(void **state)
{
    (void)state;
    begin(100);
    assert_int_equal(ot_tuning_finalists(t), 0); /* of nothing */
    tried(OPTUNE_OUTCOME_OK, 10, 1e-3);
    tried(OPTUNE_OUTCOME_OK, 10, 1e-3);
    assert_int_equal(ot_tuning_finalists(t), INT_MAX);
    t->told_s = 190; /* with 2 times 10 s and 3 s: 113 s late */
    assert_int_equal(ot_tuning_finalists(t), 0);
    t->told_s = 170; /* 93 s late, of 1000 */
    assert_int_equal(ot_tuning_finalists(t), INT_MAX);
    t->run->end = t->end + 500; /* other workloads' time counts, too */
    t->told_s = 500;
    assert_int_equal(ot_tuning_finalists(t), INT_MAX);
    begin(100);
    tried(OPTUNE_OUTCOME_OK, 60, 1e-3);
    tried(OPTUNE_OUTCOME_OK, 70, 6); /* 60 s of its 70 were samples */
    assert_true(fabs(t->load_s[0] - 10) < 0.1);
    t->arm[0].best = 60; /* who takes a minute takes twelve in turns */
    assert_int_equal(ot_tuning_finalists(t), 0);
}

/* A library's first trial loads the library, which none in the finals does. */
static void test_outlier(void **state)
{
    (void)state;
    begin_arms(300, 7);
    t->finals_s = 100;
    tried_arm(0, OPTUNE_OUTCOME_OK, 267, 1e-3);
    for (int i = 1; i < 7; i++)
        tried_arm(i, OPTUNE_OUTCOME_OK, 10, 1e-3);
    assert_false(ot_tuning_is_over(t)); /* finals take 170 s of these 300 */
    assert_int_equal(ot_tuning_finalists(t), INT_MAX);
    t->end -= 140;
    t->run->end = t->end;
    assert_true(ot_tuning_is_over(t));
    assert_int_equal(ot_tuning_finalists(t), INT_MAX);
    t->end -= 105; /* 55 s, and 100 more */
    t->run->end = t->end;
    assert_int_equal(ot_tuning_finalists(t), 5);
    tried_arm(0, OPTUNE_OUTCOME_OK, 1, 1e-4); /* of two it is the second that counts */
    assert_true(fabs(t->load_s[0] - 1) < 0.1);
    assert_int_equal(ot_tuning_finalists(t), 6);
}

/* Of slow ones as many as there is time for are compared, the fastest. */
static void test_as_many_as_fit(void **state)
{
    (void)state;
    begin_arms(450, 7);
    for (int i = 0; i < 7; i++)
        tried_arm(i, OPTUNE_OUTCOME_OK, 100, 1e-3);
    assert_int_equal(ot_tuning_finalists(t), 5); /* 503 s of 450, and 100 more */
    t->arm[6].best = 100;                        /* takes 1200 s, and is left out */
    assert_int_equal(ot_tuning_finalists(t), 5);
    t->end = t->run->end = ot_now() + 1000;
    assert_int_equal(ot_tuning_finalists(t), 6);
    t->end = t->run->end = ot_now() + 90; /* one alone is no comparison */
    assert_int_equal(ot_tuning_finalists(t), 0);
}

/* Where there will be no finals trials go on for as long as they end in time. */
static void test_no_finals(void **state)
{
    (void)state;
    begin_arms(350, 7);
    for (int i = 0; i < 7; i++)
        tried_arm(i, OPTUNE_OUTCOME_OK, 400, 1e-3);
    assert_int_equal(ot_tuning_finalists(t), 0);
    assert_false(ot_tuning_is_over(t));
    t->end -= 60;
    assert_true(ot_tuning_is_over(t));
}

/* What was begun is ended by the time that was given, and a tenth of it and half a second. */
static void test_limit(void **state)
{
    (void)state;
    begin(300);
    t->run->first_last = t->end + 1000;
    t->run->last = t->end + 200;
    ot_tuning_limit(t);
    assert_true(t->run->until == t->run->first_last); /* nothing is known yet */
    t->run->new_trials = 1;
    ot_tuning_limit(t);
    assert_true(t->run->until == t->run->last); /* of other workloads */
    tried(OPTUNE_OUTCOME_OK, 60, 1e-3);
    ot_tuning_limit(t);
    assert_true(t->run->until == t->end + 100.5);
    t->run->end = t->end + 500; /* what it takes of others' shares is not its run's overtime */
    ot_tuning_limit(t);
    assert_true(t->run->until == t->end + 600.5);
    t->run->end = INFINITY;
    ot_tuning_limit(t);
    assert_true(t->run->until == t->end + 100.5);
}

/* What `--time` would do is said after a run of `all` seconds in which so many of its workloads had
 * a trial, of one that was begun `spent` seconds ago and has none. */
static double enough(int n, int begun, double all, double spent)
{
    const double now = 5000;
    begin(0);
    t->run->n_workloads = n;
    t->run->begun = begun;
    t->run->started = now - all;
    t->start = now - spent;
    return ot_tuning_enough(t, now);
}

static void test_enough(void **state)
{
    (void)state;
    assert_true(enough(1, 0, 60, 39) == 92);   /* 21 s of getting started, and 40 */
    assert_true(enough(4, 0, 60, 39) == 272);  /* none had one: each may take as long */
    assert_true(enough(10, 9, 90, 89) == 270); /* one was slow; the others took 10 s each */
    assert_true(enough(10, 9, 90, 0) == 150);  /* its turn did not come */
    assert_true(enough(2, 1, 100, 0) == 300);
    /* Never what was not enough. */
    for (int begun = 0; begun < 8; begun++)
        for (double spent = 0; spent <= 100; spent += 50)
            assert_true(enough(8, begun, 100, spent) >= 150);
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
        cmocka_unit_test(test_trials),    cmocka_unit_test(test_finals),
        cmocka_unit_test(test_outlier),   cmocka_unit_test(test_as_many_as_fit),
        cmocka_unit_test(test_no_finals), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_enough),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
