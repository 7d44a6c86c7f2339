/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer to one question: select, query, the table of a run, list and export --best agree about
 * random stores full of finals, stale records, libraries, other devices, hints, failures, forged
 * older records and ties. Every run another seed, printed; OPTUNE_TEST_SEED repeats one.
 */
#include "support/forged.h"
#include "support/records.h"

#include "support/check.h"

#include <math.h>
#include <time.h>

enum { STORES = 24, RECORDS = 40 };

static uint64_t rng;

static bool chance(int percent)
{
    return optune_random_below(&rng, 100) < percent;
}

/* Five figures, so that equal costs are frequent; wide and narrow intervals. */
static void some_cost(optune_record *r)
{
    static double pool[STORES * RECORDS * 4][7];
    static int used;
    double *sample = pool[used++ % OT_COUNT(pool)];
    const double cost = (double)(10 + optune_random_below(&rng, 5)) * 1e-7;
    const double width = chance(50) ? 0.01 : 0.4;
    for (int i = 0; i < 7; i++)
        sample[i] = cost * (1 + width * (i - 3) / 3);
    const ot_interval interval = ot_median_interval(sample, 7);
    r->sample = sample;
    r->n_samples = 7;
    r->cost = interval.median;
    r->low = interval.low;
    r->high = interval.high;
}

static void some(optune_record *r, int number)
{
    *r = forged_run.record[optune_random_below(&rng, forged_run.n)];
    r->outcome = OPTUNE_OUTCOME_OK;
    r->error = 0.1;
    r->inner = 100;
    r->final = chance(40);
    r->time = 1.7e9 + (double)(chance(20) ? 0 : number);
    some_cost(r);
    if (chance(15)) {
        r->outcome = OPTUNE_OUTCOME_WRONG;
        r->message = "planted";
        r->cost = INFINITY;
    }
    if (chance(20))
        r->digest = "00000000000000000000000000000000";
    if (chance(15))
        r->depends = "compiler=gcc 1.2.3\n";
    if (chance(10)) {
        r->device = "autotvm:llvm";
        r->digest = "";
    }
    if (chance(10))
        r->device = "elsewhere-1";
    if (chance(10))
        r->policy = "cold";
    if (chance(10))
        snprintf(r->config.entity[0].name, sizeof r->config.entity[0].name, "gone");
}

/* "impl config cost" of the exported record of this question; "" when there is none. */
static char *exported(const char *db, const char *target, const char *device)
{
    optune_options options = {.target = target};
    if (strcmp(device, "elsewhere-1") == 0)
        options.device = device;
    optune *o = tuning_open_with(db, options);
    optune_result *result = NULL;
    optune_err err = {0};
    const optune_export_options best = {.size = sizeof best, .best = true, .policy = "warm"};
    check_ok(optune_export_records(o, &best, &result, &err));
    ot_text found = {0};
    char *text = ot_strdup(optune_result_text(result)), *rest = NULL;
    ot_text_add(&found, "");
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#')
            continue;
        json_t *json = tuning_parse(line);
        const json_t *ours = json_object_get(json, "optune");
        if (!strcmp(tuning_text(ours, "device"), device)) {
            assert_int_equal(found.n, 0); /* one answer */
            ot_text_printf(&found, "%s %.8g", tuning_text(ours, "impl"),
                           json_number_value(json_object_get(ours, "cost")));
        }
        json_decref(json);
    }
    free(text);
    optune_result_free(result);
    optune_close(o);
    return found.s;
}

/* The same of the row that the list has of it. */
static char *listed(const char *db, const char *target, const char *device)
{
    optune_options options = {.target = target};
    if (strcmp(device, "elsewhere-1") == 0)
        options.device = device;
    optune *o = tuning_open_with(db, options);
    optune_result *result = NULL;
    optune_err err = {0};
    const optune_export_options warm = {.size = sizeof warm, .policy = "warm"};
    ot_text found = {0};
    ot_text_add(&found, "");
    check_ok(optune_list_tuned(o, &warm, 0, &result, &err));
    json_t *json = tuning_parse(optune_result_json(result)), *row;
    size_t i;
    json_array_foreach(json_object_get(json, "workloads"), i, row)
    {
        const char *state = tuning_text(row, "state");
        if (strcmp(tuning_text(row, "device"), device) != 0 ||
            (strcmp(state, "tuned") != 0 && strcmp(state, "unverified") != 0))
            continue;
        assert_int_equal(found.n, 0); /* one answer */
        ot_text_printf(&found, "%s %.8g", tuning_text(row, "impl"),
                       json_number_value(json_object_get(row, "cost")));
    }
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    return found.s;
}

static char *selected(const char *db, const char *target, const char *device)
{
    optune_options options = {.target = target};
    if (strcmp(device, "elsewhere-1") == 0)
        options.device = device;
    optune *o = tuning_open_with(db, options);
    optune_selection *s = NULL;
    optune_found *found = NULL;
    optune_err err = {0};
    ot_text text = {0}, asked = {0};
    ot_text_add(&text, "");
    ot_text_add(&asked, "");
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    if (isfinite(optune_selection_cost(s)))
        ot_text_printf(&text, "%s %.8g", optune_selection_impl(s), optune_selection_cost(s));
    if (optune_query(o, FORGED_WORKLOAD, &found, &err) >= 0) {
        ot_text_printf(&asked, "%s %.8g", found->record.impl, found->record.cost);
    } else {
        assert_int_equal(err.status, OPTUNE_ENOENT);
    }
    assert_string_equal(text.s, asked.s);
    ot_text_release(&asked);
    optune_found_free(found);
    optune_selection_free(s);
    optune_close(o);
    return text.s;
}

static void test_all_agree(void **state)
{
    (void)state;
    static const char *const targets[] = {"cpu -threads=1", "cpu -threads=1 -libs=cblas",
                                          "cpu -threads=1 -libs=cblas,dnnl"};
    optune_device far = some_device("elsewhere-1");
    far.threads = far.cores = 1;
    int answered = 0;
    for (int i = 0; i < STORES; i++) {
        char db[32];
        optune_record *record = ot_alloc(RECORDS * sizeof *record);
        snprintf(db, sizeof db, "random-%d", i);
        const int n = 1 + (int)optune_random_below(&rng, RECORDS);
        for (int k = 0; k < n; k++)
            some(&record[k], k);
        forged_put(db, record, n, &far);
        for (int t = 0; t < OT_COUNT(targets); t++)
            for (int d = 0; d < 2; d++) {
                const char *device = d ? "elsewhere-1" : forged_run.record[0].device;
                char *a = selected(db, targets[t], device),
                     *b = exported(db, targets[t], device), *c = listed(db, targets[t], device);
                if (strcmp(a, b) != 0 || strcmp(a, c) != 0)
                    print_error("store %d, target '%s', device '%s'\n", i, targets[t], device);
                assert_string_equal(a, b);
                assert_string_equal(a, c);
                free(c);
                answered += *a != 0;
                free(a);
                free(b);
            }
        free(record);
    }
    assert_true(answered > STORES / 2);
}

/* The table of a run that measures nothing new says what a selection says. */
static void test_table_agrees(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        char db[32];
        optune_record *record = ot_alloc(RECORDS * sizeof *record);
        snprintf(db, sizeof db, "table-%d", i);
        for (int k = 0; k < RECORDS; k++)
            some(&record[k], k);
        forged_put(db, record, RECORDS, NULL);
        free(record);
        optune *o = tuning_open(db);
        json_t *run = tuning_run_one(o, "dense", FORGED_WORKLOAD, NULL, 1);
        const json_t *winner = json_object_get(tuning_workload(run, 0), "winner");
        optune_selection *s = NULL;
        optune_err err = {0};
        check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
        assert_string_equal(tuning_text(winner, "impl"), optune_selection_impl(s));
        assert_true(
            fabs(json_number_value(json_object_get(winner, "cost")) / optune_selection_cost(s) -
                 1) < 1e-8);
        optune_selection_free(s);
        json_decref(run);
        optune_close(o);
    }
}

/* ---- one thing at a time ----------------------------------------------------------------- */

static optune_record good_of(const char *impl, double cost, double time)
{
    for (int i = 0; i < forged_run.n; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(forged_run.record[i].impl, impl)) {
            optune_record r = forged_run.record[i];
            record_cost(&r, cost);
            r.time = time;
            r.final = false;
            return r;
        }
    fail_msg("no record of %s", impl);
    return (optune_record){0};
}

static void expect(const char *db, const char *impl, double cost)
{
    char want[128];
    snprintf(want, sizeof want, "%s %.8g", impl, cost);
    char *a = selected(db, "cpu -threads=1", forged_run.record[0].device);
    char *b = exported(db, "cpu -threads=1", forged_run.record[0].device);
    assert_string_equal(a, want);
    assert_string_equal(b, want);
    free(a);
    free(b);
}

/* A forged older record of sound figures, final or not, yields to what was measured since. */
static void test_the_newest_counts(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        char db[32];
        snprintf(db, sizeof db, "newest-%d", kind);
        optune_record r[] = {good_of("dense_pack.x86", 1e-9, 1e9),
                             good_of("dense_pack.x86", 5e-6, 2e9)};
        r[0].final = kind & 1;
        r[1].final = kind & 2;
        forged_put(db, r, 1, NULL);
        expect(db, "dense_pack.x86", 1e-9);
        forged_put(db, r + 1, 1, NULL);
        expect(db, "dense_pack.x86", 5e-6);
    }
}

/* Noise makes no tie: 12.4 ms with an interval down to 9 is not 9.2 ms, whatever its plevel. */
static void test_noise_is_no_tie(void **state)
{
    (void)state;
    static const double wide[] = {9e-3, 9.1e-3, 12.4e-3, 13e-3, 14e-3};
    static const double equal[] = {9.1e-3, 9.2e-3, 9.25e-3, 9.3e-3, 9.4e-3};
    optune_record r[] = {good_of("dense_nopack.x86", 9.2e-3, 1e9),
                         good_of("dense_pack.x86", 9.2e-3, 1e9)};
    r[1].sample = wide;
    r[1].cost = 12.4e-3;
    r[1].low = 9e-3;
    r[1].high = 14e-3;
    forged_put("noise", r, 2, NULL);
    expect("noise", "dense_nopack.x86", 9.2e-3);
    /* True equals are still one, and plevel decides. */
    r[1].sample = equal;
    r[1].cost = 9.25e-3;
    r[1].low = 9.1e-3;
    r[1].high = 9.4e-3;
    forged_put("equals", r, 2, NULL);
    expect("equals", "dense_pack.x86", 9.25e-3);
}

static int setup(void **state)
{
    const char *seed = getenv("OPTUNE_TEST_SEED");
    rng = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("OPTUNE_TEST_SEED=%llu\n", (unsigned long long)rng);
    return forged_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_agree),
        cmocka_unit_test(test_table_agrees),
        cmocka_unit_test(test_the_newest_counts),
        cmocka_unit_test(test_noise_is_no_tie),
    };
    return cmocka_run_group_tests_name("tuner/best", tests, setup, forged_teardown);
}
