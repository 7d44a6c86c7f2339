/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets the next trial: first the plevel default among what may be selected, then the
 * libraries, then the others, all before any gets a second one; then in proportion to promise.
 * And who gets how much of a time that several share. */
#include <math.h>

#include "support/check.h"
#include "tuner/tune.h"

static const optune_impl plain, better, library = {.library = "blas"};
static const ot_candidate low = {.impl = &plain, .plevel = 5, .refusal = OT_VALID},
                          high = {.impl = &better, .plevel = 10, .refusal = OT_VALID},
                          baseline = {.impl = &library,
                                      .plevel = 13,
                                      .refusal = OT_REFUSED_LIBRARY},
                          chosen = {.impl = &library, .plevel = 13, .refusal = OT_VALID};

static void order(const ot_candidate *const *candidate, int n, const int *want, int trials)
{
    ot_arm arm[8] = {0};
    for (int i = 0; i < n; i++)
        arm[i] =
            (ot_arm){.candidate = candidate[i], .impl = candidate[i]->impl, .best = INFINITY};
    for (int k = 0; k < trials; k++) {
        const int next = ot_budget_next(arm, n, false);
        assert_int_equal(next, want[k]);
        arm[next].pending++;
    }
}

static void test_first_trials(void **state)
{
    (void)state;
    order((const ot_candidate *const[]){&low, &baseline, &high}, 3,
          (const int[]){2, 1, 0, 2, 1, 0}, 6);
    /* A library that may be selected is the default itself. */
    order((const ot_candidate *const[]){&low, &high, &chosen}, 3,
          (const int[]){2, 1, 0, 2, 1, 0}, 6);
    /* Of equal plevels the first one is. */
    order((const ot_candidate *const[]){&baseline, &high, &high}, 3, (const int[]){1, 0, 2}, 3);
}

/* In a graph, what cannot be chosen waits for the first of all others, and has one trial: it gets
 * no share however fast it is, unless nobody else is left. */
static void test_waiting(void **state)
{
    (void)state;
    const ot_candidate *const candidate[] = {&low, &baseline, &high};
    static const int want[] = {2, 0, 1, 2, 0};
    ot_arm arm[3] = {0};
    for (int i = 0; i < 3; i++)
        arm[i] = (ot_arm){.candidate = candidate[i],
                          .impl = candidate[i]->impl,
                          .waits = i == 1,
                          .best = INFINITY};
    for (size_t k = 0; k < OT_COUNT(want); k++) {
        const int next = ot_budget_next(arm, 3, false);
        assert_int_equal(next, want[k]);
        arm[next].pending++;
    }
    arm[0].best = arm[2].best = 10;
    arm[1].best = 1;
    for (int k = 0; k < 100; k++) {
        const int next = ot_budget_next(arm, 3, false);
        assert_true(next == 0 || next == 2);
        arm[next].pending++;
    }
    arm[0].exhausted = arm[2].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 3, false), 1);
}

static void test_shares(void **state)
{
    (void)state;
    static const double weight[] = {1, 6, 0, 3};
    /* All use what they get: 30 % alike, the rest by weight, and nothing is left. */
    ot_shares shares = {.n = 4, .weights = 10};
    double left = 100;
    for (int i = 0; i < 4; i++) {
        const double own = ot_shares_next(&shares, weight[i], left);
        assert_float_equal(own, 7.5 + 7 * weight[i], 1e-9);
        left -= own;
    }
    assert_float_equal(left, 0, 1e-9);
    /* What one leaves goes to those behind it, the last of whom gets all there is. */
    shares = (ot_shares){.n = 4, .weights = 10};
    ot_shares_next(&shares, weight[0], 100);
    assert_float_equal(ot_shares_next(&shares, weight[1], 100), 49.5 / 0.855, 1e-9);
    ot_shares_next(&shares, weight[2], 50);
    assert_float_equal(ot_shares_next(&shares, weight[3], 40), 40, 1e-9);
    /* Nothing is known: all alike. */
    shares = (ot_shares){.n = 3};
    left = 3;
    for (int i = 0; i < 3; i++)
        assert_float_equal(ot_shares_next(&shares, 0, left--), 1, 1e-9);
    /* No time is left. */
    assert_float_equal(ot_shares_next(&shares, 1, -2), 0, 1e-9);
}

static void test_promise(void **state)
{
    (void)state;
    ot_arm arm[2] = {{.candidate = &low, .best = 1, .trials = 10},
                     {.candidate = &high, .best = 4, .trials = 3}};
    assert_int_equal(ot_budget_next(arm, 2, false), 0);
    arm[0].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 2, false), 1);
    arm[1].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 2, false), -1);
    /* What its search hopes for counts like what it found. */
    int trials[2];
    for (int hopes = 0; hopes < 2; hopes++) {
        ot_arm two[2] = {
            {.candidate = &low, .best = 1, .trials = 2},
            {.candidate = &high, .best = 4, .trials = 2, .hoped = hopes ? 1.1 : 0}};
        for (int i = 0; i < 100; i++)
            two[ot_budget_next(two, 2, false)].pending++;
        trials[hopes] = two[1].pending;
    }
    assert_true(trials[0] < 5 && trials[1] > 30 && trials[1] < 50);
}

/* ---- searches that learn, on the implementations of one made-up workload ------------------ */

static void five_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    for (int k = 0; k < 5; k++) {
        char name[8];
        static const int64_t values[] = {1, 2, 4, 8, 16, 32, 64, 128};
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 8, values);
    }
}

static const optune_impl made_up[] = {
    {.op = "test", .name = "one.test", .space = five_knobs},
    {.op = "test", .name = "two.test", .space = five_knobs},
    {.op = "test", .name = "three.test", .space = five_knobs},
    {.op = "test", .name = "four.test", .space = five_knobs},
};

static double level(const optune_config *config, int knob)
{
    return log2((double)config->entity[knob].v[0]);
}

static double bowl(const optune_config *config, double bottom)
{
    double sum = 0;
    for (int k = 0; k < config->n; k++)
        sum += (level(config, k) - bottom) * (level(config, k) - bottom) / 10;
    return 1 + sum;
}

/* Good at once, and never much better. */
static double flat(const optune_config *config)
{
    return 1 + 0.02 * bowl(config, 3);
}

/* Its first ten are far more than ten times as slow as that, its best is twice as fast. */
static double late(const optune_config *config)
{
    double apart = 0;
    for (int k = 0; k < config->n; k++)
        apart += k % 2 ? level(config, k) : 7 - level(config, k);
    return 0.4 * pow(1.6, apart);
}

static double slower(const optune_config *config)
{
    return 3 * bowl(config, 2);
}

static double near_best(const optune_config *config)
{
    return 0.9 * bowl(config, 5);
}

typedef double cost_fn(const optune_config *config);

/* The best of so many trials that the implementations share; taken[i]: those of each. */
static double shared(cost_fn *const *cost, const double *seconds, int n, int trials,
                     uint64_t seed, int *taken)
{
    static const optune_call call;
    static const optune_target target;
    static const optune_device device;
    const optune_task task = {&call, &target, &device};
    ot_candidate candidate[4];
    ot_arm arm[4];
    optune_err err = {0};
    double best = INFINITY;
    for (int i = 0; i < n; i++) {
        candidate[i] = (ot_candidate){.impl = &made_up[i]};
        check_ok(
            ot_arm_open(&arm[i], &task, &candidate[i], ot_search_find("forest"), seed, &err));
    }
    for (int t = 0; t < trials; t++) {
        optune_config config;
        const int i = ot_budget_next(arm, n, seconds != NULL);
        assert_true(ot_arm_next(&arm[i], &config));
        const double c = cost[i](&config);
        best = fmin(best, c);
        ot_arm_tell(&arm[i], &config,
                    &(optune_told){.cost = c, .seconds = seconds ? seconds[i] : 1});
    }
    for (int i = 0; i < n; i++) {
        taken[i] = arm[i].trials;
        ot_arm_close(&arm[i]);
    }
    return best;
}

/* Whose first configs are bad still gets to its best, once the leader finds nothing better; and
 * that takes little from a leader that does. */
static void test_late(void **state)
{
    (void)state;
    enum { SEEDS = 4 };
    static cost_fn *const one_late[] = {flat, late}, *const usual[] = {near_best, slower, flat,
                                                                       slower};
    int found = 0, taken[4], late_ones = 0;
    double few = 0, many = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        found += shared(one_late, NULL, 2, 250, seed, taken) < 0.9;
        late_ones += taken[1];
        few += log(shared(usual, NULL, 4, 40, seed, taken)) / SEEDS;
        many += log(shared(usual, NULL, 4, 100, seed, taken)) / SEEDS;
    }
    print_message("%d of %d found the late one, of %d trials; best of 40 %.3f, of 100 %.3f\n",
                  found, SEEDS, late_ones / SEEDS, exp(few), exp(many));
    assert_true(found > SEEDS / 2);
}

/* Of two that promise as much, who takes four times as long has fewer trials where time ends. */
static void test_time(void **state)
{
    (void)state;
    static cost_fn *const alike[] = {flat, flat};
    static const double seconds[] = {1, 4};
    int by_time[4], by_trials[4];
    shared(alike, seconds, 2, 100, 1, by_time);
    shared(alike, NULL, 2, 100, 1, by_trials);
    assert_in_range(by_time[0], 70, 88);
    assert_in_range(by_trials[0], 40, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_trials), cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_shares),       cmocka_unit_test(test_promise),
        cmocka_unit_test(test_late),         cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
