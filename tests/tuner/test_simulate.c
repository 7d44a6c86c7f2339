/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole replays on a small space of our own: what is told, that a search that learns is told apart
 * from one that does not, and what is said about files and names that do not serve.
 */
#include "support/check.h"
#include "support/records.h"

#include <jansson.h>
#include <math.h>

#include <sys/stat.h>

#include "tuner/simulate/curve.h"
#include "tuner/simulate/simulate.h"

static char dir[4096], path[8192], other[8192];

/* 1,536 configs of a kernel that likes blocks of 128 threads and tiles of 4 and fails where both
 * are large; every trial takes about a second. */
static void write_space(const char *to, double cost_of_y)
{
    static const int x[] = {8, 16, 32, 64, 128, 256}, y[] = {1, 2, 4, 8}, tile[] = {1, 2, 3, 4};
    ot_text text = {0};
    optune_err err = {0};
    ot_text_add(&text,
                "{\"tune_params_keys\": [\"x\", \"y\", \"tile_x\", \"tile_y\", \"flag\"],"
                "\"tune_params\": {\"x\": [8, 16, 32, 64, 128, 256], \"y\": [1, 2, 4, 8],"
                "\"tile_x\": [1, 2, 3, 4], \"tile_y\": [1, 2, 3, 4],"
                "\"flag\": [\"a\", \"b\", \"c\", \"d\"]}, \"cache\": {");
    for (int i = 0; i < 6 * 4 * 4 * 4 * 4; i++) {
        const int a = x[i % 6], b = y[i / 6 % 4], t = tile[i / 24 % 4], u = tile[i / 96 % 4];
        const int flag = i / 384;
        if (a * b < 16 || a * b > 1024)
            continue;
        const double threads = log2(a * b / 128.0) + cost_of_y * b, work = log2(t * u / 4.0);
        const double cost = (1 + threads * threads / 4 + work * work / 3) *
                            (flag == 2 ? 0.8 : 1 + 0.1 * flag) * (1 + (i * 7919 % 97) / 2000.0);
        ot_text_printf(
            &text,
            "%s\"%d\": {\"x\": %d, \"y\": %d, \"tile_x\": %d, \"tile_y\": %d, "
            "\"flag\": \"%c\", \"compile_time\": 900, \"benchmark_time\": %.3f, \"time\": ",
            text.s[text.n - 1] == '{' ? "" : ",\n", i, a, b, t, u, 'a' + flag, 32 * cost);
        if (a * b * t * u > 8192)
            ot_text_add(&text, "\"RuntimeFailedConfig\"}");
        else
            ot_text_printf(&text, "%.6f}", cost);
    }
    ot_text_add(&text, "}}");
    check_ok(ot_write_file(to, text.s, text.n, &err));
    ot_text_release(&text);
}

static optune *handle;

static double number(json_t *json, int space, int search, const char *name)
{
    json_t *s = json_array_get(json_object_get(json, "spaces"), (size_t)space);
    return json_number_value(
        json_object_get(json_array_get(json_object_get(s, "searches"), (size_t)search), name));
}

static void searches_are_told_apart(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    const optune_simulate_options options = {
        .size = sizeof options,
        .files = (const char *const[]){path, NULL},
        .searches = (const char *const[]){"random", "forest", NULL},
        .repeats = 30,
    };
    check_ok(optune_simulate(handle, &options, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    json_t *space = json_array_get(json_object_get(json, "spaces"), 0);
    assert_int_equal(json_integer_value(json_object_get(json, "repeats")), 30);
    assert_int_equal(json_integer_value(json_object_get(json, "pending")), ot_queue_depth(0));
    assert_true(json_integer_value(json_object_get(space, "failing")) > 0);
    assert_true(fabs(number(json, 0, 0, "score")) < 0.6);
    assert_true(number(json, 0, 1, "score") > number(json, 0, 0, "score") + 0.1);
    assert_true(number(json, 0, 1, "best_ratio") >= 1);
    assert_true(number(json, 0, 1, "error") > 0);
    check_contains(optune_result_text(result), "forest");
    check_contains(optune_result_text(result), "mean");
    json_decref(json);
    optune_result_free(result);
}

static void a_space_learns_from_its_like(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    optune_simulate_options options = {
        .size = sizeof options,
        .files = (const char *const[]){path, other, NULL},
        .searches = (const char *const[]){"forest", "random", NULL},
        .repeats = 10,
    };
    check_ok(optune_simulate(handle, &options, &result, &err));
    json_t *alone = json_loads(optune_result_json(result), 0, NULL);
    optune_result_free(result);
    options.transfer = true;
    check_ok(optune_simulate(handle, &options, &result, &err));
    json_t *taught = json_loads(optune_result_json(result), 0, NULL);
    optune_result_free(result);
    for (int i = 0; i < 2; i++) {
        assert_true(number(taught, i, 0, "score") > number(alone, i, 0, "score"));
        assert_true(number(taught, i, 0, "score") > 0.9);
        /* One that does not look is as it was. */
        assert_true(number(taught, i, 1, "score") < 0.6);
    }
    json_decref(alone);
    json_decref(taught);
}

/* 200 configs of 10^12: draws and steps would meet none of them. */
static void a_record_of_few_of_very_many(void **state)
{
    (void)state;
    static const char *const searches[] = {"forest", "genetic", "random", "grid", NULL};
    optune_err err = {0};
    optune_result *result;
    uint64_t rng = 1;
    ot_text text = {0};
    char rare[8300];
    ot_text_add(&text, "{\"results\": [");
    for (int i = 0; i < 200; i++) {
        double cost = 1;
        ot_text_printf(&text, "%s{\"configuration\": {", i ? ", " : "");
        for (int k = 0; k < 6; k++) {
            /* every value is in some config, so that all of them are in the lists */
            const int64_t value = i < 100 ? (i + 17 * k) % 100 : optune_random_below(&rng, 100);
            ot_text_printf(&text, "%s\"k%d\": %d", k ? ", " : "", k, (int)value);
            cost += (double)value;
        }
        ot_text_printf(&text,
                       "}, \"times\": {\"compilation\": 100, \"runtimes\": [%f]}, "
                       "\"invalidity\": \"correct\", \"measurements\": [{\"name\": "
                       "\"time\", \"value\": %f}]}",
                       cost, cost);
    }
    ot_text_add(&text, "]}");
    snprintf(rare, sizeof rare, "%s/rare.json", dir);
    check_ok(ot_write_file(rare, text.s, text.n, &err));
    ot_text_release(&text);
    const optune_simulate_options options = {.size = sizeof options,
                                             .files = (const char *const[]){rare, NULL},
                                             .searches = searches,
                                             .repeats = 2,
                                             .trials = 200};
    check_ok(optune_simulate(handle, &options, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    optune_result_free(result);
    for (int k = 0; searches[k]; k++) {
        assert_true(number(json, 0, k, "trials") == 200);
        assert_true(number(json, 0, k, "share") == 1);
    }
    json_decref(json);
}

/* Runs of so many trials: what counts is the best of them, not the score. */
static void runs_of_so_many_trials(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    double share[3], least = 1;
    optune_simulate_options options = {
        .size = sizeof options,
        .files = (const char *const[]){path, other, NULL},
        .searches = (const char *const[]){"forest", NULL},
        .repeats = 8,
    };
    static const char *const grid[] = {"grid", NULL};
    static const int trials[] = {1, 40, 5000}; /* the last: all that there are */
    for (int i = 0; i < 3; i++) {
        options.trials = trials[i];
        if (i == 2) { /* one that takes no time to think */
            options.searches = grid;
            options.repeats = 1;
        }
        check_ok(optune_simulate(handle, &options, &result, &err));
        json_t *json = json_loads(optune_result_json(result), 0, NULL);
        json_t *mean = json_array_get(json_object_get(json, "mean"), 0);
        const double a = number(json, 0, 0, "share"), b = number(json, 1, 0, "share");
        assert_int_equal(json_integer_value(json_object_get(json, "trials")), trials[i]);
        assert_null(json_object_get(mean, "score"));
        share[i] = json_number_value(json_object_get(mean, "share"));
        assert_true(fabs(share[i] - sqrt(a * b)) < 1e-6);
        if (i < 2)
            assert_true(number(json, 0, 0, "trials") == trials[i]);
        least = fmin(least, fmin(a, b));
        check_contains(optune_result_text(result), "the best there is over the best of");
        json_decref(json);
        optune_result_free(result);
    }
    assert_true(least >= 0 && share[0] < 0.7 && share[1] > 0.85 && share[1] <= 1);
    assert_true(share[2] == 1);
    options.trials = -1;
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "-1 trials");
}

static double at(const json_t *curve, const char *name, int moment)
{
    const json_t *list = json_object_get(curve, name);
    assert_int_equal(json_array_size(list), OT_CURVE_MOMENTS);
    return json_number_value(json_array_get(list, (size_t)moment));
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* What a chart is drawn from is in the document, of each search on each space. */
static void curves(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    char svg[8192 + 32], program[4096];
    snprintf(svg, sizeof svg, "%s/it's 100%% <&> drawn.svg", dir);
    const bool draws = ot_find_program("gnuplot", program, sizeof program);
    const optune_simulate_options options = {
        .size = sizeof options,
        .files = (const char *const[]){path, other, NULL},
        .searches = (const char *const[]){"random", "grid", NULL},
        .repeats = 6,
        .plot = draws ? svg : NULL,
    };
    check_ok(optune_simulate(handle, &options, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    for (int i = 0; i < 4; i++) {
        json_t *space = json_array_get(json_object_get(json, "spaces"), (size_t)i / 2);
        json_t *search = json_array_get(json_object_get(space, "searches"), (size_t)i % 2);
        const json_t *curve = json_object_get(search, "curve");
        const double best = json_number_value(json_object_get(space, "best"));
        for (int k = 0; k < OT_CURVE_MOMENTS; k++) {
            const double mean = at(curve, "mean", k), low = at(curve, "low", k);
            assert_true(best <= low && low <= at(curve, "high", k) && mean >= best);
            assert_true(at(space, "random", k) >= best && at(curve, "scored", k) >= best);
            if (i % 2) /* no draw decides what grid finds, but where the clock lets a run end */
                assert_true(fabs(at(curve, "high", k) / low - 1) < 0.5);
            if (k) {
                assert_true(at(space, "time", k) > at(space, "time", k - 1));
                assert_true(mean <= at(curve, "mean", k - 1));
            }
        }
    }
    json_decref(json);
    optune_result_free(result);
    if (!draws) {
        print_message("gnuplot is not installed: nothing is drawn\n");
        return;
    }
    ot_text text = {0};
    check_ok(ot_read_file(svg, &text, 16 << 20, &err));
    /* Of each of two spaces: a band and a curve for each of two searches, and random search's. */
    assert_int_equal(count(text.s, "<g id=\"gnuplot_plot_"), 2 * (2 * 2 + 1));
    assert_int_equal(count(text.s, ">random</tspan>") + count(text.s, ">random</text>"), 2);
    check_contains(text.s, "</svg>");
    ot_text_release(&text);
}

/* By hand: three runs, at the moments that matter. */
static void a_curve_by_hand(void **state)
{
    (void)state;
    double cost[] = {10, 8, 4, 2};
    static const ot_score_point points[] = {{2, 8, 0}, {2, 4, 1}, {30, 2, 0}, {60, 8, 2}};
    ot_yardstick *y = ot_alloc(sizeof *y);
    ot_curve *curve = ot_alloc(sizeof *curve);
    *y = (ot_yardstick){.n = 4, .value = cost, .best = 2, .median = 6};
    for (int i = 0; i < OT_SCORE_STEPS; i++) {
        y->time[i] = 1 + i / 9.99; /* to 101 */
        y->random[i] = 9;
    }
    ot_curve_of(y, points, 4, 3, curve);
    assert_true(curve->mean[0] == 10 && curve->low[0] == 10 && curve->high[0] == 10);
    assert_true(fabs(curve->mean[10] - 22. / 3) < 1e-12); /* 8, 4, nothing yet */
    assert_true(fabs(curve->low[10] - 4.8) < 1e-12 && fabs(curve->high[10] - 9.6) < 1e-12);
    assert_true(fabs(curve->mean[50] - 16. / 3) < 1e-12);  /* 2, 4, nothing yet */
    assert_true(fabs(curve->mean[100] - 14. / 3) < 1e-12); /* 2, 4, 8 */
    assert_true(fabs(curve->low[100] - 2.4) < 1e-12 && fabs(curve->high[100] - 7.2) < 1e-12);
    free(curve);
    free(y);
}

static void what_cannot_be_drawn_is_said(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    optune_simulate_options options = {.size = sizeof options,
                                       .files = (const char *const[]){path, NULL},
                                       .searches = (const char *const[]){"grid", NULL},
                                       .repeats = 2,
                                       .plot = "/no/such/folder/x.svg"};
    char program[4096], *was = ot_strdup(getenv("PATH"));
    if (ot_find_program("gnuplot", program, sizeof program)) {
        assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_EIO);
        check_contains(err.text, "/no/such/folder/x.svg");
    }
    setenv("PATH", dir, 1);
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "apt-get install gnuplot-nox");
    /* One that draws nothing: what it says is said, and the scores are there. */
    char fake[8192], svg[8192];
    static const char script[] = "#!/bin/sh\necho no such terminal; exit 3\n";
    snprintf(fake, sizeof fake, "%s/gnuplot", dir);
    snprintf(svg, sizeof svg, "%s/none.svg", dir);
    check_ok(ot_write_file(fake, script, sizeof script - 1, &err));
    assert_int_equal(chmod(fake, 0755), 0);
    options.plot = svg;
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_EIO);
    check_contains(err.text, "no such terminal");
    assert_false(ot_exists(svg));
    check_contains(optune_result_text(result), "grid");
    optune_result_free(result);
    setenv("PATH", was, 1);
    free(was);
}

static void what_cannot_be_replayed_is_said(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result;
    optune_simulate_options options = {
        .size = sizeof options,
        .files = (const char *const[]){"/no/such.json", NULL},
        .repeats = 2,
    };
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "/no/such.json");
    options.files = (const char *const[]){path, NULL};
    options.searches = (const char *const[]){"forrest", NULL};
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'forest'");
    options.files = NULL;
    options.searches = NULL;
    assert_int_equal(optune_simulate(handle, &options, &result, &err), OPTUNE_EUSAGE);
}

#define CALL "dense(f32[16,64], const f32[32,64])"

/* 8 x 8 configs of one implementation, one in nine failing; the best is tile 8, unroll 3. */
static optune_record own_record(const char *impl, int i)
{
    static char digest[33] = "00112233445566778899aabbccddeeff";
    const int tile = i % 8, unroll = i / 8;
    optune_err err = {0};
    optune_record r = {.call = CALL,
                       .op = "dense",
                       .target = "cpu -threads=1",
                       .device = "cpu:own",
                       .policy = "warm",
                       .impl = impl,
                       .digest = digest,
                       .depends = "compiler=gcc\n",
                       .cost = INFINITY,
                       .low = INFINITY,
                       .high = INFINITY,
                       .inner = 1,
                       .all_cost = 0.9,
                       .time = 1000 + i,
                       .tool = "optune",
                       .source = "run"};
    char text[160];
    snprintf(text, sizeof text,
             "[[\"tile\",\"sp\",[-1,%d]],[\"unroll\",\"ot\",%d],[\"order\",\"re\",[1,0]]]",
             1 << tile, unroll);
    check_ok(ot_config_parse(text, &r.config, NULL));
    if (i % 9 == 5)
        r.outcome = OPTUNE_OUTCOME_COMPILE;
    else
        record_cost(&r, 1e-3 * (1 + (tile - 3) * (tile - 3) + 0.3 * abs(unroll - 3)));
    return r;
}

static void put(const char *db, const optune_record *record, int n)
{
    optune_err err = {0};
    ot_store *store;
    check_ok(ot_store_open(db, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, n, NULL, &err));
    ot_store_close(store);
}

static json_t *replay(optune *o, const optune_simulate_options *options, optune_result **result)
{
    optune_err err = {0};
    check_ok(optune_simulate(o, options, result, &err));
    json_t *json = json_loads(optune_result_json(*result), 0, NULL);
    assert_non_null(json);
    return json;
}

static void our_own_records(void **state)
{
    (void)state;
    char db[8192], log[8192 + 16], few[8192];
    optune_err err = {0};
    optune *o = NULL;
    optune_result *result;
    optune_record all[64 + 5 + 64 + 1];
    int n = 0;
    snprintf(db, sizeof db, "%s/db", dir);
    snprintf(few, sizeof few, "%s/few", dir);
    for (int i = 0; i < 64; i++)
        all[n++] = own_record("dense_pack.x86", i);
    for (int i = 0; i < 5; i++)
        all[n++] = own_record("dense_nopack.x86", i);
    put(few, &all[64], 5);
    for (int i = 0; i < 64; i++, n++) { /* another call's are none of this one's */
        all[n] = own_record("dense_pack.x86", i);
        all[n].call = "dense(f32[16,64], const f32[64,64])";
    }
    all[n] = all[0]; /* measured among finalists, at another cost; finals took long */
    all[n].final = true;
    record_cost(&all[n], 0.25e-3);
    all[n].all_cost = 100;
    all[n++].time = 900;
    put(db, all, n);
    const optune_options at = {.size = sizeof at, .db = db};
    check_ok(optune_open(&at, &o, &err));
    optune_simulate_options options = {.size = sizeof options,
                                       .searches = (const char *const[]){"random", NULL},
                                       .repeats = 4,
                                       .workload = CALL};
    json_t *json = replay(o, &options, &result);
    const json_t *spaces = json_object_get(json, "spaces");
    const json_t *space = json_array_get(spaces, 0);
    assert_int_equal(json_array_size(spaces), 1);
    assert_int_equal(json_integer_value(json_object_get(space, "configs")), 64);
    assert_int_equal(json_integer_value(json_object_get(space, "failing")), 7);
    assert_true(json_number_value(json_object_get(space, "best")) == 0.25e-3);
    assert_true(json_number_value(json_object_get(space, "budget_seconds")) < 64);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(space, "origin"), "call")), CALL);
    check_contains(optune_result_text(result),
                   "dense_pack.x86: 64 configs are measured, 7 failed, of " CALL);
    check_contains(optune_result_text(result), "left out: dense_nopack.x86: 5 configs ran");
    json_decref(json);
    optune_result_free(result);
    /* The same from a log, which has both calls: two spaces, and a file's beside them. */
    snprintf(log, sizeof log, "%s/own.log", dir);
    const optune_export_options to = {.size = sizeof to, .op = "dense", .path = log};
    check_ok(optune_export_records(o, &to, &result, &err));
    optune_result_free(result);
    options.workload = NULL;
    options.log = log;
    options.files = (const char *const[]){path, NULL};
    json = replay(o, &options, &result);
    spaces = json_object_get(json, "spaces");
    assert_int_equal(json_array_size(spaces), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(spaces, 1), "configs")),
                     64);
    check_contains(optune_result_text(result), "dense_pack.x86 #2: 64 configs are measured");
    json_decref(json);
    optune_result_free(result);
    /* Too few, none, and what is no call. */
    options.files = NULL;
    options.log = NULL;
    options.workload = "dense(f32[1,64], const f32[32,64])";
    assert_int_equal(optune_simulate(o, &options, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "there are no records to replay a search on");
    options.workload = "dense(f32[1,64]";
    assert_int_equal(optune_simulate(o, &options, &result, &err), OPTUNE_ESYNTAX);
    options.workload = NULL;
    options.log = "/no/such.log";
    assert_int_equal(optune_simulate(o, &options, &result, &err), OPTUNE_ENOENT);
    optune_close(o);
    const optune_options there = {.size = sizeof there, .db = few};
    check_ok(optune_open(&there, &o, &err));
    options.log = NULL;
    options.workload = CALL;
    assert_int_equal(optune_simulate(o, &options, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "too few configs are measured to replay a search on: "
                             "dense_nopack.x86: 5 configs ran; 20 of one");
    optune_close(o);
}

static int open_all(void **state)
{
    (void)state;
    optune_err err = {0};
    const optune_options options = {.size = sizeof options};
    if (ot_temp_dir(dir, sizeof dir, &err) < 0 || optune_open(&options, &handle, &err) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/own.json", dir);
    snprintf(other, sizeof other, "%s/other.json", dir);
    write_space(path, 0);
    write_space(other, 0.05); /* the same kernel on a device that is somewhat different */
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    optune_close(handle);
    ot_remove_tree(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_are_told_apart),
        cmocka_unit_test(a_space_learns_from_its_like),
        cmocka_unit_test(a_record_of_few_of_very_many),
        cmocka_unit_test(runs_of_so_many_trials),
        cmocka_unit_test(our_own_records),
        cmocka_unit_test(curves),
        cmocka_unit_test(a_curve_by_hand),
        cmocka_unit_test(what_cannot_be_drawn_is_said),
        cmocka_unit_test(what_cannot_be_replayed_is_said),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
