/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring decisions, driven by times that a test makes up: no clock is read. */
#include <math.h>

#include "run/worker.h"
#include "support/check.h"

/* Something that takes `once` seconds and a little more now and then. */
typedef struct fake {
    double once, noise;
    int64_t calls, runs;
    int64_t fail_at; /* the call that fails; 0: none */
    int64_t late_at; /* the call in which another process has the core for 20 ms; 0: none */
    double spent, last;
    uint64_t rng;
    int *order, *n_order, name; /* who was called, in turns */
    struct machine *on;         /* a machine of two speeds; NULL: of one */
    double late;                /* in so many calls of all another process has the core */
    double moody;               /* by itself half of its samples take so many times as long */
} fake;

/* Slow for `slow_s` at the end of each `period_s`, whoever computes. */
typedef struct machine {
    double now, period_s, slow_s, slower;
} machine;

static double run(void *arg, int64_t count)
{
    fake *f = arg;
    f->calls++;
    f->runs += count;
    if (f->order)
        f->order[(*f->n_order)++] = f->name;
    if (f->fail_at && f->calls >= f->fail_at)
        return -1;
    double t = (double)count * f->once * (1 + f->noise * optune_random_unit(&f->rng)) +
               (f->calls == f->late_at ? 20e-3 : 0);
    if (f->late > 0 && optune_random_unit(&f->rng) < f->late)
        t += 4e-3;
    if (f->moody > 0 && optune_random_unit(&f->rng) < 0.5)
        t *= f->moody;
    if (f->on) {
        t *= fmod(f->on->now, f->on->period_s) > f->on->period_s - f->on->slow_s ? f->on->slower
                                                                                 : 1;
        f->on->now += t;
    }
    f->spent += t;
    f->last = t;
    return t;
}

static void test_steady(void **state)
{
    (void)state;
    fake f = {.once = 1e-6};
    ot_measured m;
    ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
    assert_false(m.failed || m.gave_up);
    assert_int_equal(m.n, ot_policy_warm.min_samples); /* nothing to wait for */
    assert_true((double)m.inner * f.once >= ot_policy_warm.sample_s);
    assert_true((double)m.inner * f.once < 3 * ot_policy_warm.sample_s);
    assert_true(fabs(m.interval.median - 1e-6) < 1e-12);
}

static double lasted(void *arg)
{
    (void)arg;
    return 1;
}

/* Nine digits of what a clock said; of what a program tells, all. */
static void test_no_more_digits_than_known(void **state)
{
    (void)state;
    const double third = 1.0 / 3;
    fake f = {.once = third};
    ot_measured m;
    ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
    assert_true(m.inner == 1 && m.sample[0] == 0.333333333);
    ot_measure_policy told = ot_policy_warm;
    told.costs = true;
    told.lasted = lasted;
    ot_measure(&told, INFINITY, run, &f, &m);
    assert_true(m.inner == 1 && m.sample[0] == third);
}

/* Seconds with what is done in front of each run, a thousand times as long as it. */
static double lasted_in_front(void *arg)
{
    const fake *f = arg;
    return 1000 * f->last;
}

/* What is none of a run's time takes time all the same: samples are as long as all of it. */
static void test_work_in_front_counts_for_the_budget(void **state)
{
    (void)state;
    fake f = {.once = 1e-6}, *both[] = {&f, &f};
    ot_measured m[2];
    ot_measure_policy front = ot_policy_warm;
    front.lasted = lasted_in_front;
    ot_measure(&front, INFINITY, run, &f, m);
    assert_int_equal(m->inner, 1);
    assert_true(fabs(m->interval.median - 1e-6) < 1e-12);
    f.runs = 0;
    ot_measure_together(&front, run, (void *const *)both, 2, 0.05, 1, m);
    assert_true(f.runs < 300); /* ten rounds */
}

static void test_noisy_takes_more_samples(void **state)
{
    (void)state;
    fake f = {.once = 1e-4, .noise = 0.5, .rng = 3};
    ot_measured m;
    ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
    assert_true(m.n > ot_policy_warm.min_samples);
    assert_true(m.n <= ot_policy_warm.max_samples);
    assert_true(m.interval.low <= m.interval.median && m.interval.median <= m.interval.high);
}

static void test_slow_ends_with_its_budget(void **state)
{
    (void)state;
    fake f = {.once = 0.5, .noise = 0.3, .rng = 5};
    ot_measured m;
    ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
    assert_int_equal(m.inner, 1);
    assert_int_equal(m.n, 3);
    assert_int_equal(f.calls, 4); /* once for warmth */
}

static void test_hopeless_is_left(void **state)
{
    (void)state;
    fake far = {.once = 1e-2}, near = {.once = 1.5e-2}, close = {.once = 1.1e-2};
    ot_measured m;
    ot_measure(&ot_policy_warm, 1e-3, run, &far, &m);
    assert_true(m.gave_up);
    assert_int_equal(m.n, 1);
    ot_measure(&ot_policy_warm, 1e-2, run, &near, &m);
    assert_true(m.gave_up);
    assert_int_equal(m.n, 3); /* no less, so near */
    ot_measure(&ot_policy_warm, 1e-2, run, &close, &m);
    assert_false(m.gave_up);
    assert_int_equal(m.n, 6);
}

/* What more samples would tell of one that is not the best is worth nothing; of one that may be, it
 * is. */
static void test_beaten_is_not_told_to_a_percent(void **state)
{
    (void)state;
    ot_measured m;
    fake worse = {.once = 1.15e-2, .noise = 0.06, .rng = 7}, level = worse;
    ot_measure(&ot_policy_warm, 1e-2, run, &worse, &m);
    assert_true(m.beaten && !m.gave_up);
    assert_true(m.n >= ot_policy_warm.min_samples && m.n < 12);
    assert_true(m.interval.low > 1e-2);
    ot_measure(&ot_policy_warm, 1.18e-2, run, &level, &m);
    assert_false(m.beaten || m.gave_up);
    assert_true(m.n > 12);
}

/* The first samples in another process's turn: such a candidate is not given up. */
static void test_late_once_is_not_hopeless(void **state)
{
    (void)state;
    int left = 0;
    for (int call = 1; call < 8; call++) {
        fake f = {.once = 2e-5, .late_at = call};
        ot_measured m;
        ot_measure(&ot_policy_warm, 1.9e-5, run, &f, &m);
        assert_false(m.failed || m.gave_up);
        assert_true(m.n >= ot_policy_warm.min_samples);
        assert_true(fabs(m.interval.median - 2e-5) < 1e-12);
    }
    /* Nor on a machine where every other run meets one. */
    for (uint64_t seed = 1; seed <= 50; seed++) {
        fake f = {.once = 2.8e-5, .late = 0.5, .rng = seed};
        ot_measured m;
        ot_measure(&ot_policy_warm, 2.5e-5, run, &f, &m);
        left += m.gave_up && m.n < 3;
    }
    assert_true(left <= 5);
    /* Nothing else is excused: a kernel that is slow in truth costs some runs more. */
    fake slow = {.once = 1e-3};
    ot_measured m;
    ot_measure(&ot_policy_warm, 1.9e-5, run, &slow, &m);
    assert_true(m.gave_up);
    assert_int_equal(m.n, 1);
    assert_int_equal(slow.calls, 8);
    /* And a failure in that run is one. */
    fake broken = {.once = 1e-3, .fail_at = 3};
    ot_measure(&ot_policy_warm, 1.9e-5, run, &broken, &m);
    assert_true(m.failed);
}

/* Another process's turn while a sample grows does not make samples of single runs. */
static void test_late_once_is_no_long_sample(void **state)
{
    (void)state;
    for (int call = 1; call < 8; call++) {
        fake f = {.once = 2e-7, .late_at = call};
        ot_measured m;
        ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
        assert_false(m.failed || m.gave_up);
        assert_true((double)m.inner * f.once >= 0.9 * ot_policy_warm.sample_s);
        assert_true(fabs(m.interval.median - 2e-7) < 1e-12);
    }
}

static void test_failure(void **state)
{
    (void)state;
    ot_measured m;
    for (int call = 1; call < 8; call++) {
        fake f = {.once = 1e-3, .noise = 0.5, .fail_at = call};
        ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
        assert_true(m.failed);
        assert_int_equal(f.calls, call);
    }
}

/* A clock too coarse for one run must not divide by zero or run for ever. */
static void test_takes_no_time(void **state)
{
    (void)state;
    fake f = {.once = 0};
    ot_measured m;
    ot_measure(&ot_policy_warm, INFINITY, run, &f, &m);
    assert_false(m.failed);
    assert_true(m.n > 0);
    assert_true(f.calls < 100);
}

static void test_together(void **state)
{
    (void)state;
    static int order[1 << 14];
    static ot_measured m[3];
    int n_order = 0;
    fake f[3] = {
        {.once = 1e-5, .noise = 0.1, .rng = 1, .order = order, .n_order = &n_order, .name = 0},
        {.once = 2e-3, .noise = 0.1, .rng = 2, .order = order, .n_order = &n_order, .name = 1},
        {.once = 3e-4, .noise = 0.1, .rng = 3, .order = order, .n_order = &n_order, .name = 2},
    };
    void *arg[3] = {&f[0], &f[1], &f[2]};
    ot_measure_together(&ot_policy_warm, run, arg, 3, 0.5, 9, m);
    for (int i = 0; i < 3; i++) {
        assert_false(m[i].failed);
        assert_true(m[i].n >= 10);
        assert_int_equal(m[i].n, m[0].n);
        assert_true(m[i].interval.median >= f[i].once &&
                    m[i].interval.median <= 1.1 * f[i].once);
    }
    /* Every turn is one run for warmth and one sample; rounds are not all in the same order. */
    const int turns = 3 * m[0].n;
    const int *turn = order + n_order - 2 * turns;
    bool mixed = false;
    for (int i = 0; i < turns; i++)
        assert_int_equal(turn[2 * i], turn[2 * i + 1]);
    for (int i = 3; i < turns; i++)
        mixed = mixed || turn[2 * i] != turn[2 * (i - 3)];
    assert_true(mixed);
}

static void test_together_with_a_failure(void **state)
{
    (void)state;
    static ot_measured m[2];
    fake f[2] = {{.once = 1e-3}, {.once = 1e-3, .fail_at = 9}};
    void *arg[2] = {&f[0], &f[1]};
    ot_measure_together(&ot_policy_warm, run, arg, 2, 0.1, 1, m);
    assert_false(m[0].failed);
    assert_true(m[0].n >= 10);
    assert_true(m[1].failed);
    assert_int_equal(f[1].calls, 9); /* never again */
}

static void test_together_slow(void **state)
{
    (void)state;
    static ot_measured m[1];
    fake f = {.once = 2, .noise = 0.5};
    void *arg[1] = {&f};
    ot_measure_together(&ot_policy_warm, run, arg, 1, 1, 1, m);
    assert_int_equal(m[0].n, 3);
    ot_measure_together(&ot_policy_warm, run, arg, 0, 1, 1, m); /* nobody: ends */
}

/* Half of the time the machine is slow, more or less: who is faster does not depend on whose median
 * fell on which side, and costs are those at full speed while there is enough of it, all of one
 * speed in any case. */
static void test_together_at_two_speeds(void **state)
{
    (void)state;
    static ot_measured m[3];
    for (int percent = 5; percent < 100; percent += 5) {
        machine on = {.period_s = 0.05, .slow_s = 0.0005 * percent, .slower = 1.5};
        fake f[3] = {{.once = 1.0e-3, .noise = 0.02, .rng = 1, .on = &on},
                     {.once = 1.1e-3, .noise = 0.02, .rng = 2, .on = &on},
                     {.once = 1.4e-3, .noise = 0.02, .rng = 3, .on = &on}};
        void *arg[3] = {&f[0], &f[1], &f[2]};
        ot_measure_together(&ot_policy_warm, run, arg, 3, 1, (uint64_t)percent, m);
        const double speed = m[0].interval.median / f[0].once;
        assert_true(percent > 60 || speed < 1.05);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(m[i].n, m[0].n);
            assert_true(fabs(m[i].interval.median / f[i].once / speed - 1) < 0.03);
            assert_true(percent < 40 || percent > 80 || m[i].left_out > 0);
        }
    }
}

/* One that is slow in half of its samples by itself is not excused for them. */
static void test_together_one_is_moody(void **state)
{
    (void)state;
    static ot_measured m[2];
    int left_out = 0;
    for (uint64_t seed = 1; seed < 9; seed++) {
        fake f[2] = {{.once = 1e-3, .noise = 0.02, .rng = seed, .moody = 1.6},
                     {.once = 1e-3, .noise = 0.02, .rng = seed + 100}};
        void *arg[2] = {&f[0], &f[1]};
        ot_measure_together(&ot_policy_warm, run, arg, 2, 0.3, seed, m);
        assert_int_equal(m[0].left_out + m[1].left_out, 0);
        assert_true(m[0].interval.high > 1.5 * m[1].interval.median);
        fake alike[2] = {{.once = 1e-3, .noise = 0.02, .rng = seed, .moody = 1.6},
                         {.once = 1e-3, .noise = 0.02, .rng = seed + 100, .moody = 1.6}};
        void *both[2] = {&alike[0], &alike[1]};
        ot_measure_together(&ot_policy_warm, run, both, 2, 0.3, seed, m);
        left_out += m[0].left_out > 0;
    }
    assert_true(left_out <= 2); /* of eight: they are slow together by chance */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_late_once_is_no_long_sample),
        cmocka_unit_test(test_no_more_digits_than_known),
        cmocka_unit_test(test_work_in_front_counts_for_the_budget),
        cmocka_unit_test(test_noisy_takes_more_samples),
        cmocka_unit_test(test_slow_ends_with_its_budget),
        cmocka_unit_test(test_hopeless_is_left),
        cmocka_unit_test(test_beaten_is_not_told_to_a_percent),
        cmocka_unit_test(test_late_once_is_not_hopeless),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_takes_no_time),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_together_with_a_failure),
        cmocka_unit_test(test_together_slow),
        cmocka_unit_test(test_together_at_two_speeds),
        cmocka_unit_test(test_together_one_is_moody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
