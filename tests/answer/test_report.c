/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of a history: order, time spent, what knobs explain, what is left out. */
#include "answer/report.h"
#include "support/records.h"
#include "support/tuning.h"

#include "support/check.h"

#include <math.h>

enum { TRIALS = 400 };
static const ot_report_limits ample = {5000, 100};

/* The time is said by `tile`, and not by `u`. */
static ot_fact *some_history(int n)
{
    ot_fact *fact = ot_alloc((size_t)n * sizeof *fact);
    uint64_t rng = 7;
    for (int i = 0; i < n; i++) {
        char config[128];
        const int slow = (int)optune_random_below(&rng, 4);
        snprintf(config, sizeof config, "[[\"tile\",\"sp\",[-1,%d]],[\"u\",\"ot\",%s]]",
                 1 << slow, optune_random_below(&rng, 2) ? "true" : "false");
        fact[i].record = some_record(i);
        record_cost(&fact[i].record, 1e-5 * (1 + slow) * (1 + 1e-3 * (double)(i % 5)));
        assert_int_equal(ot_config_parse(config, &fact[i].record.config, NULL), OPTUNE_OK);
        fact[i].record.final = false;
        fact[i].record.all_cost = 0.5;
        fact[i].currency = OT_CURRENT;
    }
    return fact;
}

static json_t *told(const ot_fact *fact, int n, const ot_report_limits *limits)
{
    json_t *json = json_object();
    ot_report_trials(fact, n, limits, json);
    return json;
}

static double share_of(const json_t *told, const char *knob)
{
    size_t i;
    json_t *effect, *impl = json_array_get(json_object_get(told, "impls"), 0);
    json_array_foreach(json_object_get(impl, "effects"), i, effect)
    {
        if (!strcmp(tuning_text(effect, "knob"), knob))
            return json_number_value(json_object_get(effect, "share"));
    }
    fail_msg("no effect of '%s'", knob);
    return 0;
}

static void knobs_explain_what_they_decide(void **state)
{
    (void)state;
    ot_fact *fact = some_history(TRIALS);
    json_t *json = told(fact, TRIALS, &ample);
    assert_true(share_of(json, "tile") > 0.95);
    assert_true(share_of(json, "u") < 0.05);
    json_decref(json);
    free(fact);
}

/* Where every trial has a value of its own, values explain everything and nothing. */
static void as_many_values_as_trials_explain_nothing(void **state)
{
    (void)state;
    enum { N = 20 };
    ot_fact *fact = some_history(N);
    for (int i = 0; i < N; i++)
        fact[i].record.config.entity[0].v[1] = 100 + i;
    json_t *json = told(fact, N, &ample);
    json_t *impl = json_array_get(json_object_get(json, "impls"), 0);
    json_t *effect = json_array_get(json_object_get(impl, "effects"), 0);
    assert_string_equal(tuning_text(effect, "knob"), "tile");
    assert_true(json_is_null(json_object_get(effect, "share")));
    json_decref(json);
    free(fact);
}

/* A night between two trials was not spent on them, and trials that overlapped count once. */
static void time_is_what_was_spent(void **state)
{
    (void)state;
    enum { N = 4 };
    static const double when[N] = {1000, 1000.25, 90000, 90001};
    static const double at[N] = {0.5, 0.75, 1.25, 1.75};
    ot_fact *fact = some_history(N);
    for (int i = 0; i < N; i++)
        fact[N - 1 - i].record.time = when[i];
    json_t *json = told(fact, N, &ample);
    for (size_t i = 0; i < N; i++) {
        const json_t *trial = json_array_get(json_object_get(json, "trials"), i);
        assert_true(fabs(json_number_value(json_object_get(trial, "at")) - at[i]) < 1e-9);
    }
    json_decref(json);
    free(fact);
}

static void failures_and_what_is_stale_are_told(void **state)
{
    (void)state;
    enum { N = 10 };
    ot_fact *fact = some_history(N);
    for (int i = 0; i < 3; i++) {
        fact[i].record.outcome = OPTUNE_OUTCOME_WRONG;
        fact[i].record.message = i ? "another" : "element 3 is off";
        fact[i].record.cost = INFINITY;
    }
    char flood[2000]; /* a compiler's; it is cut, and between two letters */
    for (int i = 0; i + 2 < OT_COUNT(flood); i += 2)
        memcpy(flood + i, "\xc3\xa9", 3);
    fact[3].record.outcome = OPTUNE_OUTCOME_COMPILE;
    fact[3].record.message = flood;
    fact[3].record.cost = INFINITY;
    fact[9].currency = OT_STALE;
    snprintf(fact[9].why, sizeof fact[9].why, "compiler was 1, is 2");
    json_t *json = told(fact, N, &ample);
    const json_t *wrong = json_object_get(json_object_get(json, "failed"), "wrong");
    assert_int_equal(tuning_int(wrong, "n"), 3);
    assert_string_equal(tuning_text(wrong, "example"), "element 3 is off");
    const char *cut =
        tuning_text(json_object_get(json_object_get(json, "failed"), "compile"), "example");
    assert_in_range(strlen(cut), 200, 300);
    assert_memory_equal(cut, flood, strlen(cut));
    assert_true(ot_text_is_utf8(cut));
    assert_int_equal(tuning_int(json, "stale"), 1);
    assert_string_equal(tuning_text(json, "stale_why"), "compiler was 1, is 2");
    assert_int_equal(json_array_size(json_object_get(json, "trials")), N - 1);
    json_decref(json);
    free(fact);
}

/* Of a long history the steps of the best and the finalists stay, whatever is drawn. */
static void a_long_history_keeps_its_best(void **state)
{
    (void)state;
    static const ot_report_limits few = {20, 2};
    ot_fact *fact = some_history(TRIALS);
    for (int i = 0; i < TRIALS; i++)
        if (i % 37 == 0)
            record_cost(&fact[i].record, 1e-6 / (1 + i));
    fact[101].record.final = true;
    json_t *json = told(fact, TRIALS, &few), *trials = json_object_get(json, "trials"), *trial;
    size_t i;
    int steps = 0, finals = 0;
    json_array_foreach(trials, i, trial)
    {
        steps += json_number_value(json_object_get(trial, "cost")) < 2e-6;
        if (json_is_true(json_object_get(trial, "final"))) {
            assert_int_equal(json_array_size(json_object_get(trial, "samples")), 2);
            finals++;
        }
    }
    assert_int_equal(steps, (TRIALS + 36) / 37);
    assert_int_equal(finals, 1);
    assert_true(json_array_size(trials) <= 20 + (size_t)steps + 1);
    assert_int_equal((int)json_array_size(trials) + tuning_int(json, "left_out"), TRIALS);
    json_decref(json);
    free(fact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knobs_explain_what_they_decide),
        cmocka_unit_test(as_many_values_as_trials_explain_nothing),
        cmocka_unit_test(time_is_what_was_spent),
        cmocka_unit_test(failures_and_what_is_stale_are_told),
        cmocka_unit_test(a_long_history_keeps_its_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
