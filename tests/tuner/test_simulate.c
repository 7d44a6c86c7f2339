/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole replays on a small space of our own: what is told, that a search that learns is told apart
 * from one that does not, and what is said about files and names that do not serve.
 */
#include "support/check.h"

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
        cmocka_unit_test(curves),
        cmocka_unit_test(a_curve_by_hand),
        cmocka_unit_test(what_cannot_be_drawn_is_said),
        cmocka_unit_test(what_cannot_be_replayed_is_said),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
