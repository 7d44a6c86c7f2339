/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine while it is measured on: what the kernel says goes into records and comes back, and a
 * process that takes the core away is told in the record, the table and the JSON. No test looks at
 * a time.
 */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tuning.h"
#include "tuner/tune.h"

#define WORKLOAD "dense(f32[16,64], const f32[32,64])"

static void test_lines(void **state)
{
    (void)state;
    ot_disturbance d = {.seconds = 1, .waited = 0.31, .stolen = 0.07}, back;
    ot_text lines = {0}, words = {0};
    ot_text_add(&lines, "cycles=12\n");
    ot_disturbance_lines(&d, &lines);
    assert_string_equal(lines.s, "cycles=12\nmachine_waited=0.31\nmachine_stolen=0.07\n");
    assert_true(ot_disturbance_of(lines.s, &back));
    assert_float_equal(back.waited, 0.31, 1e-9);
    assert_float_equal(back.stolen, 0.07, 1e-9);
    ot_disturbance_say(&back, &words);
    assert_string_equal(words.s, "the cores were shared with others for 31 % of the time, the "
                                 "host gave 7 % of the cores' time to other machines");
    assert_false(ot_disturbance_of("cycles=12\n", &back));
    assert_false(ot_disturbance_of(NULL, &back));
    ot_text_clear(&lines);
    ot_disturbance_lines(&(ot_disturbance){.seconds = 1, .waited = 0.02}, &lines);
    assert_string_equal(ot_text_str(&lines), ""); /* too little to speak of */
    ot_text_release(&lines);
    ot_text_release(&words);
}

/* What is measured again is what might have won. */
static void test_losers(void **state)
{
    (void)state;
    const ot_disturbance tenth = {.seconds = 1, .waited = 0.1}, hot = {.hot = 1}, none = {0};
    assert_true(ot_loses_anyway(2e-3, 1e-3, &tenth, 1));
    assert_true(ot_loses_anyway(2e-3, 1e-3, &tenth, 4));
    assert_false(ot_loses_anyway(2e-3, 1e-3, &tenth, 5)); /* all five waited, one by one */
    assert_false(ot_loses_anyway(1.1e-3, 1e-3, &tenth, 1));
    assert_false(ot_loses_anyway(1, 1e-3, &hot, 1)); /* how slow it was is not known */
    assert_false(ot_loses_anyway(1, INFINITY, &none, 1)); /* the first one */
    assert_true(ot_loses_anyway(2e-3, 1e-3, &none, 0));
}

/* Three processes that never sleep, on the core that kernels are measured on. */
enum { BURNERS = 3 };
static pid_t burner[BURNERS];

static void start_burners(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(ot_cpu_place(0), &set);
    for (int i = 0; i < BURNERS; i++) {
        burner[i] = fork();
        if (burner[i] == 0) {
            sched_setaffinity(0, sizeof set, &set);
            for (volatile int k = 0;; k++)
                continue;
        }
    }
}

static void stop_burners(void)
{
    for (int i = 0; i < BURNERS; i++) {
        kill(burner[i], SIGKILL);
        waitpid(burner[i], NULL, 0);
    }
}

static void test_burners(void **state)
{
    (void)state;
    if (access("/proc/self/schedstat", R_OK) < 0)
        skip();
    optune *o = tuning_open("burners");
    const char *const one[] = {WORKLOAD, NULL};
    optune_run_options options = {
        .size = sizeof options, .op = "dense", .workloads = one, .trials = 3, .seconds = 60};
    optune_result *result = NULL;
    optune_err err = {0};
    start_burners();
    const int status = optune_run(o, &options, &result, &err);
    stop_burners();
    if (status < 0)
        print_error("%s\n", err.text);
    assert_int_equal(status, OPTUNE_OK);
    check_contains(optune_result_text(result), "\"!\": the cores were shared with others for");
    json_t *json = tuning_parse(optune_result_json(result));
    check_contains(tuning_text(json, "disturbance"), "shared with others");
    const json_t *w = tuning_workload(json, 0);
    assert_true(json_number_value(json_object_get(w, "disturbed")) > 0);
    json_decref(json);
    optune_result_free(result);

    /* The record says it, in the store as in the log. */
    tuning_records all;
    int noted = 0;
    tuning_read("burners", &all);
    for (int i = 0; i < all.n; i++) {
        ot_disturbance d;
        noted += all.record[i].final && ot_disturbance_of(all.record[i].counters, &d) &&
                 d.waited > 0;
    }
    assert_true(noted > 0);
    ot_arena_release(&all.arena);

    options.table = "csv";
    check_ok(optune_run(o, &options, &result, &err));
    check_contains(optune_result_text(result), "shared with others for");
    assert_null(strstr(optune_result_text(result), "!"));
    optune_result_free(result);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_losers),
        cmocka_unit_test(test_burners),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
