/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines whose workload, target or policy nobody could ask for are bad lines, told and counted; what
 * only is not here (an operator, a kind of target, an option of a newer version) is taken.
 */
#include "support/tuning.h"

#include "support/check.h"
#include "support/records.h"

#define CALL "dense(f32[16,64], const f32[32,64])"

static const struct said {
    const char *call, *target, *policy;
    const char *problem; /* NULL: it is taken; "+": and this is told */
} said[] = {
    {CALL, "cpu -threads=1", "warm", NULL},
    {"", "cpu -threads=1", "warm", "its call '' cannot be read"},
    {"dense(f32[16,64]", "cpu -threads=1", "warm",
     "its call 'dense(f32[16,64]' cannot be read"},
    {CALL, "cpu -threads=-1", "warm", "'-threads=-1' is not a number"},
    {CALL, "", "warm", "its target '' cannot be read"},
    {CALL, "cpu -threads=1", "hot", "no measuring policy 'hot'"},
    {CALL, "cpu -threads=1", "", "no measuring policy ''"},
    {CALL, "cpu -threads=1", "warm m=128", NULL},
    {CALL, "cpu -threads=1", "model-64M", NULL},
    {CALL, "cpu -threads=1", "model-65M", "no measuring policy 'model-65M'"},
    {"of_tomorrow(f32[16,64], banana)", "cpu -threads=1", "warm", NULL},
    {CALL, "npu -tiles=4", "warm", NULL},
    {CALL, "cpu -of-tomorrow=1", "warm", NULL},
    {"", "cpu -threads=1", "warm",
     "its call '' cannot be read"}, /* and of what is remembered */
    {"dense(f32[16,64], const f32[32,64], of_tomorrow=[1,2])", "cpu -threads=1", "warm",
     "+operator 'dense' has no attribute 'of_tomorrow' here"},
    {"relu(f32[8]) -> relu(of_tomorrow=a, b=2)", "cpu -threads=1", "warm",
     "+operator 'relu' has no attribute 'of_tomorrow' here"},
    {"dense(f32[16,64], const f32[32,64], of_tomorrow=1", "cpu -threads=1", "warm",
     "its call 'dense(f32[16,64], const f32[32,64], of_tomorrow=1' cannot be read"},
    {"dense(f32[16,64], of_tomorrow=1)", "cpu -threads=1", "warm",
     "its call 'dense(f32[16,64], of_tomorrow=1)' cannot be read"},
};

static void words_that_nobody_asks_for(void **state)
{
    (void)state;
    static const ot_log_lines forms[] = {OT_LOG_FULL, OT_LOG_SHORT};
    for (int k = 0; k < OT_COUNT(forms); k++) {
        optune_err err = {0};
        ot_log *log;
        char path[4096];
        int good = 0;
        snprintf(path, sizeof path, "%s", tuning_path(k ? "short.log" : "full.log"));
        check_ok(ot_log_open(path, forms[k], &log, &err));
        for (int i = 0; i < OT_COUNT(said); i++) {
            optune_record r = some_record(i);
            r.call = said[i].call;
            r.target = said[i].target;
            r.policy = said[i].policy;
            good += !said[i].problem || *said[i].problem == '+';
            check_ok(ot_log_append(log, &r, &err));
        }
        ot_log_close(log);
        optune *o = tuning_open(k ? "short" : "full");
        optune_result *result = NULL;
        check_ok(optune_import(o, path, &result, &err));
        json_t *json = tuning_parse(optune_result_json(result));
        assert_int_equal(tuning_int(json, "taken"), good);
        assert_int_equal(tuning_int(json, "new"), good);
        assert_int_equal(tuning_int(json, "refused"), OT_COUNT(said) - good);
        const json_t *problems = json_object_get(json, "problems");
        for (int i = 0, n = 0; i < OT_COUNT(said); i++)
            if (said[i].problem)
                check_contains(tuning_text(json_array_get(problems, (size_t)n++), "problem"),
                               said[i].problem + (*said[i].problem == '+'));
        json_decref(json);
        optune_result_free(result);
        optune_close(o);
        /* The log that the database keeps has none of it. */
        ot_store_stats stats;
        int64_t refused;
        check_ok(
            ot_store_rebuild(tuning_path(k ? "short" : "full"), NULL, &stats, &refused, &err));
        assert_int_equal(stats.records, good);
        assert_int_equal(refused, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_that_nobody_asks_for)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
