/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of several speeds: costs are told as at one of them, by measuring a known config again
 * where another speed is met, and only there. The machine is made up: which speed it has at which
 * measurement is written down, and no test looks at a clock.
 */
#include "support/check.h"

#include <math.h>

#include "tuner/speed.h"

static const double KNOWN_S = 2e-3; /* of the known config, at full speed */

/* Kernels take `kernel` times as long, the loop `pace` seconds. */
typedef struct machine {
    double kernel[16], pace[16]; /* by measurement */
    int at;                      /* measurements so far */
    int asked;                   /* of them, of the known config */
    bool fails;
} machine;

static bool measure_known(void *arg, double *cost, double *pace)
{
    machine *m = arg;
    m->asked++;
    if (m->fails)
        return false;
    *cost = KNOWN_S * m->kernel[m->at];
    *pace = m->pace[m->at++];
    return true;
}

/* What a trial of a config of `seconds` is told as; 0: it is to be measured again. */
static double told(ot_speeds *s, machine *m, double seconds, double known)
{
    const double cost = seconds * m->kernel[m->at], pace = m->pace[m->at];
    m->at++;
    const double times = ot_speeds_at(s, pace, known, measure_known, m);
    return times > 0 ? cost / times : 0;
}

static void test_one_speed(void **state)
{
    (void)state;
    ot_speeds s = {0};
    /* Clocks and the loop's own noise are no other speed. */
    machine m = {.kernel = {1, 1.02, 0.99, 1, 1},
                 .pace = {3e-6, 3.1e-6, 2.9e-6, 3.25e-6, 2.8e-6}};
    for (int i = 0; i < 5; i++)
        assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1e-3 * m.kernel[i], 1e-12);
    assert_int_equal(m.asked, 0);
    /* A machine that does not tell its pace is believed as it is. */
    assert_float_equal(ot_speeds_at(&s, 0, KNOWN_S, measure_known, &m), 1, 0);
    assert_int_equal(m.asked, 0);
}

static void test_two_speeds(void **state)
{
    (void)state;
    ot_speeds s = {0};
    /* The loop is slowed less than kernels are. The third measurement is the known config's. */
    machine m = {.kernel = {1, 1.5, 1.5, 1.5, 1, 1.5},
                 .pace = {3e-6, 3.9e-6, 3.8e-6, 4e-6, 3e-6, 3.9e-6}};
    assert_float_equal(told(&s, &m, 1e-3, INFINITY), 1e-3, 1e-12);
    for (int i = 0; i < 4; i++)
        assert_float_equal(told(&s, &m, 4e-3 - i * 1e-3, KNOWN_S), 4e-3 - i * 1e-3, 1e-12);
    assert_int_equal(m.asked, 1); /* once for a speed that was met */
    assert_int_equal(m.at, 6);

    /* A run that begins while the machine is slow: all are told as then. */
    s = (ot_speeds){0};
    m = (machine){.kernel = {1.5, 1, 1, 1.5}, .pace = {4e-6, 3e-6, 3e-6, 4e-6}};
    assert_float_equal(told(&s, &m, 1e-3, INFINITY), 1.5e-3, 1e-12);
    assert_float_equal(told(&s, &m, 1e-3, 1.5 * KNOWN_S), 1.5e-3, 1e-12);
    assert_float_equal(told(&s, &m, 1e-3, 1.5 * KNOWN_S), 1.5e-3, 1e-12);
    assert_int_equal(m.asked, 1);
}

/* Between the trial and the known config the machine changed: which of the two speeds the trial had
 * is not known, and it is measured again. */
static void test_changes_meanwhile(void **state)
{
    (void)state;
    ot_speeds s = {0};
    machine m = {.kernel = {1, 1.5, 1.2, 1.2}, .pace = {3e-6, 5e-6, 4e-6, 4e-6}};
    assert_float_equal(told(&s, &m, 1e-3, INFINITY), 1e-3, 1e-12);
    assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 0, 0);
    assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1e-3, 1e-12);
    assert_int_equal(m.asked, 1);
}

static void test_nobody_to_ask(void **state)
{
    (void)state;
    ot_speeds s = {0};
    machine m = {
        .kernel = {1, 1.5, 1.5, 1, 1.5}, .pace = {3e-6, 4e-6, 4e-6, 3e-6, 5e-6}, .fails = true};
    assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1e-3, 1e-12);
    assert_float_equal(told(&s, &m, 1e-3, INFINITY), 1.5e-3, 1e-12); /* nothing is known yet */
    assert_int_equal(m.asked, 0);
    assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1.5e-3, 1e-12); /* it cannot be measured */
    assert_int_equal(m.asked, 1);
}

/* However many there are, they are few, and the first one stays what all are told by. */
static void test_many_speeds(void **state)
{
    (void)state;
    ot_speeds s = {0};
    for (int i = 0; i < 60; i++) {
        const double slow = pow(1.3, i % 20);
        machine m = {.kernel = {slow, slow}, .pace = {3e-6 * slow, 3e-6 * slow}};
        assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1e-3, 1e-12);
        assert_true(s.n <= OT_MOST_SPEEDS);
        m = (machine){.kernel = {1}, .pace = {3e-6}};
        assert_float_equal(told(&s, &m, 1e-3, KNOWN_S), 1e-3, 1e-12);
        assert_int_equal(m.asked, 0);
    }
}

static void test_lines(void **state)
{
    (void)state;
    ot_arena arena = {0};
    ot_trial_result r = {.outcome = OPTUNE_OUTCOME_OK,
                         .counters = "pace=3.5e-06\nmachine_waited=0.31\n"};
    assert_float_equal(ot_speed_take(&arena, &r), 3.5e-6, 1e-12);
    assert_string_equal(r.counters, "machine_waited=0.31\n");
    assert_float_equal(ot_speed_take(&arena, &r), 0, 0);
    ot_speed_note(1.01, &arena, &r); /* nothing to speak of */
    assert_string_equal(r.counters, "machine_waited=0.31\n");
    ot_speed_note(1.5, &arena, &r);
    assert_string_equal(r.counters, "machine_waited=0.31\nmachine_times=1.50\n");
    optune_record record = {.cost = 3e-3, .counters = r.counters};
    assert_float_equal(ot_speed_even(&record), 2e-3, 1e-12);
    record.counters = "machine_times=0\n"; /* nobody wrote that */
    assert_float_equal(ot_speed_even(&record), 3e-3, 1e-12);
    record.counters = NULL;
    assert_float_equal(ot_speed_even(&record), 3e-3, 1e-12);
    r = (ot_trial_result){.outcome = OPTUNE_OUTCOME_OK, .counters = "pace=3.5e-06\n"};
    ot_speed_take(&arena, &r);
    assert_null(r.counters);
    ot_speed_note(0.667, &arena, &r);
    assert_string_equal(r.counters, "machine_times=0.67\n");
    r = (ot_trial_result){.outcome = OPTUNE_OUTCOME_CRASH};
    ot_speed_note(1.5, &arena, &r);
    assert_null(r.counters);
    ot_arena_release(&arena);
}

/* ---- searches ---------------------------------------------------------------------------- */

static void wide(const optune_task *task, optune_space *space)
{
    (void)task;
    static const int64_t values[] = {1, 2, 4, 8, 16, 32};
    for (int k = 0; k < 5; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 6, values);
    }
}

static const optune_impl impl = {.op = "test", .name = "speed.test", .space = wide};

static double seconds_of(const optune_config *config)
{
    static const double at[] = {3.2, 1.1, 4.3, 2.2, 0.4};
    double cost = 1;
    for (int k = 0; k < config->n; k++)
        cost += 0.1 * pow(log2((double)config->entity[k].v[0]) - at[k], 2);
    return cost * 1e-3;
}

typedef struct twice { /* measures the best one known, on a machine of this speed */
    double known, slow;
} twice;

static bool known_again(void *arg, double *cost, double *pace)
{
    const twice *t = arg;
    *cost = t->known * t->slow;
    *pace = 3e-6 * (1 + 0.6 * (t->slow - 1));
    return true;
}

/* The best of so many trials, by what they really take, of a machine that is 1.5 times as slow for
 * runs of trials at a time; `told`: they are told as at one speed. */
static double best_of(int trials, uint64_t seed, bool two_speeds, bool evenly)
{
    static const optune_call call;
    static const optune_target target;
    static const optune_device device;
    const optune_task task = {&call, &target, &device};
    const ot_candidate candidate = {.impl = &impl};
    ot_speeds speeds = {0};
    ot_arm arm;
    optune_err err = {0};
    optune_config config;
    uint64_t rng = seed;
    double chosen = INFINITY, least = INFINITY, slow = 1;
    check_ok(ot_arm_open(&arm, &task, &candidate, ot_search_find("forest"), seed, &err));
    arm.n_queue = 0;
    for (int i = 0; i < trials && ot_arm_next(&arm, &config); i++) {
        if (two_speeds && optune_random_below(&rng, 6) == 0)
            slow = slow > 1 ? 1 : 1.5;
        twice again = {least, slow};
        const double own = seconds_of(&config);
        const double times = evenly ? ot_speeds_at(&speeds, 3e-6 * (1 + 0.6 * (slow - 1)),
                                                   least, known_again, &again)
                                    : 1;
        const double cost = own * slow / times;
        if (cost < least) {
            least = cost;
            chosen = own;
        }
        ot_arm_tell(&arm, &config, &(optune_told){.cost = cost});
    }
    ot_arm_close(&arm);
    return chosen;
}

static void test_search(void **state)
{
    (void)state;
    double as_one = 0, as_measured = 0, told_evenly = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        as_one += log(best_of(25, seed, false, false));
        as_measured += log(best_of(25, seed, true, false));
        told_evenly += log(best_of(25, seed, true, true));
    }
    print_message("logs of what is found: %.3f at one speed, %.3f as measured, %.3f told evenly\n",
                  as_one, as_measured, told_evenly);
    assert_true(told_evenly < as_measured);
    assert_true(fabs(told_evenly - as_one) < 0.5 * (as_measured - as_one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_speed),
        cmocka_unit_test(test_two_speeds),
        cmocka_unit_test(test_changes_meanwhile),
        cmocka_unit_test(test_nobody_to_ask),
        cmocka_unit_test(test_many_speeds),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
