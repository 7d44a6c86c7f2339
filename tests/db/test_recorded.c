/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded spaces as others write them, whole and damaged: what is read, and what the message
 * about the rest says.
 */
#include "support/check.h"

#include <math.h>
#include <zlib.h>

#include "db/recorded.h"

static char dir[4096], path[8192];

static const char head[] =
    "{\"device_name\": \"a GPU\", \"kernel_name\": \"sum\", \"problem_size\": [8],"
    "\"tune_params_keys\": [\"block\", \"flag\", \"wide\", \"scale\"],"
    "\"tune_params\": {\"block\": [32, 64, 96], \"flag\": [\"-O2\", \"-O3\"],"
    "\"wide\": [false, true], \"scale\": [0.5, 1]},"
    "\"objective\": \"time\", \"cache\": {\n";
static const char first[] =
    "\"64,-O3,true,1\": {\"block\": 64, \"flag\": \"-O3\", \"wide\": true, \"scale\": 1,"
    "\"time\": 2.5, \"times\": [2.4, 2.6], \"compile_time\": 100, \"verification_time\": 1,"
    "\"benchmark_time\": 8, \"strategy_time\": 0, \"framework_time\": 2}";
static const char second[] = ",\n\"32,-O2,false,0.5\": {\"block\": 32, \"flag\": \"-O2\", "
                             "\"wide\": false, \"scale\": 0.5,"
                             "\"time\": 5, \"times\": [4, 6], \"compile_time\": 90}";
static const char third[] =
    ",\n\"96,-O2,true,1\": {\"block\": 96, \"flag\": \"-O2\", \"wide\": true, \"scale\": 1,"
    "\"time\": \"CompilationFailedConfig\", \"times\": [], \"compile_time\": 40}";

static void put(const char *name, const char *text)
{
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    check_ok(ot_write_file(path, text, strlen(text), &err));
}

static char *join(const char *const *part)
{
    ot_text text = {0};
    for (; *part; part++)
        ot_text_add(&text, *part);
    return text.s;
}

#define CACHE(...) join((const char *const[]){head, __VA_ARGS__, NULL})

static void check_cache(const char *file)
{
    optune_err err = {0};
    ot_recorded *r;
    check_ok(ot_recorded_read(file, &r, &err));
    assert_string_equal(r->kernel, "sum");
    assert_string_equal(r->device, "a GPU");
    assert_int_equal(r->n_knobs, 4);
    assert_int_equal(r->knob[0].kind, OT_RECORDED_INTS);
    assert_int_equal(r->knob[1].kind, OT_RECORDED_WORDS);
    assert_int_equal(r->knob[2].kind, OT_RECORDED_BOOLS);
    assert_int_equal(r->knob[3].kind, OT_RECORDED_WORDS);
    assert_int_equal(r->size, 24);
    assert_int_equal(r->n_trials, 3);
    assert_int_equal(r->n_good, 2);
    const ot_recorded_trial *t = ot_recorded_find(r, 1 + 3 * (1 + 2 * (1 + 2 * 1)));
    assert_non_null(t);
    assert_true(fabs(t->cost - 2.5e-3) < 1e-12 && fabs(t->seconds - 0.111) < 1e-12);
    t = ot_recorded_find(r, 0); /* without benchmark_time its runs count */
    assert_true(fabs(t->seconds - 0.1) < 1e-12);
    t = ot_recorded_find(r, 2 + 3 * (0 + 2 * (1 + 2 * 1)));
    assert_true(isinf(t->cost));
    assert_int_equal(t->outcome, OPTUNE_OUTCOME_COMPILE);
    assert_null(ot_recorded_find(r, 1));
    ot_recorded_free(r);
}

static void a_cache_is_read(void **state)
{
    (void)state;
    char *text = CACHE(first, second, third, "}}\n");
    put("a.json", text);
    check_cache(path);
    free(text);
    /* While a tuner still writes, the end is missing. */
    text = CACHE(first, second, third, ",\n");
    put("open.json", text);
    check_cache(path);
    free(text);
}

/* As Kernel Tuner writes them: numbers that are none, and since 1.4 failures beside the objective,
 * which may be the first of several. A text that looks like one stays. */
static void what_python_writes_is_read(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_recorded *r;
    put("python.json",
        "{\"device_name\": \"NaN, -Infinity \\\" NaN\", \"kernel_name\": \"sum\","
        "\"tune_params_keys\": [\"b\"], \"tune_params\": {\"b\": [1, 2, 3, 4, 5, 6]},"
        "\"objective\": [\"power\", \"time\"], \"cache\": {"
        "\"1\": {\"b\": 1, \"power\": 2, \"time\": 9, \"times\": [NaN, 3, Infinity],"
        "\"GFLOP/s\": -Infinity}, \"2\": {\"b\": 2, \"power\": NaN, \"compile_time\": NaN},"
        "\"3\": {\"b\": 3, \"power\": Infinity}, \"4\": {\"b\": 4, \"power\": 4, "
        "\"times\": []}, \"5\": {\"b\": 5, \"__error__\": \"CompilationFailedConfig\"},"
        "\"6\": {\"b\": 6, \"power\": \"InvalidConfig\", \"__error__\": \"InvalidConfig\"}");
    check_ok(ot_recorded_read(path, &r, &err));
    assert_string_equal(r->device, "NaN, -Infinity \" NaN");
    assert_int_equal(r->n_trials, 6);
    assert_int_equal(r->n_good, 2);
    assert_true(fabs(ot_recorded_find(r, 0)->cost - 2e-3) < 1e-12);
    assert_true(fabs(ot_recorded_find(r, 0)->seconds - 3e-3) < 1e-12);
    assert_int_equal(ot_recorded_find(r, 1)->outcome, OPTUNE_OUTCOME_RUNTIME);
    assert_true(ot_recorded_find(r, 1)->seconds == 0);
    assert_int_equal(ot_recorded_find(r, 2)->outcome, OPTUNE_OUTCOME_RUNTIME);
    assert_int_equal(ot_recorded_find(r, 4)->outcome, OPTUNE_OUTCOME_COMPILE);
    assert_int_equal(ot_recorded_find(r, 5)->outcome, OPTUNE_OUTCOME_INSTANTIATION);
    ot_recorded_free(r);
    put("python.json", /* behind a byte order mark */
        "\xef\xbb\xbf{\"results\": [{\"configuration\": {\"b\": 1}, \"times\": {\"runtimes\": "
        "[NaN]}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": 1}]},"
        "{\"configuration\": {\"b\": 2}, \"times\": {}, \"measurements\": [{\"name\": "
        "\"time\", \"value\": 2}]}, {\"configuration\": {\"b\": 3}, \"times\": {}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": NaN}]}]}");
    assert_true(ot_recorded_begins(path));
    check_ok(ot_recorded_read(path, &r, &err));
    assert_int_equal(r->n_good, 2);
    assert_int_equal(ot_recorded_find(r, 2)->outcome, OPTUNE_OUTCOME_RUNTIME);
    ot_recorded_free(r);
}

/* No file says whether the most or the least of its objective is wanted: a rate's name does. */
static void of_a_rate_the_most_is_the_best(void **state)
{
    (void)state;
    static const struct {
        const char *objective;
        bool rate;
    } known[] = {{"GFLOP/s", true},  {"gflops", true},  {"GB/s", true},  {"fitness", true},
                 {"GFLOPS/W", true}, {"energy", false}, {"loss", false}, {"time/call", false}};
    optune_err err = {0};
    ot_recorded *r;
    char text[512];
    for (int i = 0; i < 2 * OT_COUNT(known); i++) {
        const char *objective = known[i / 2].objective;
        snprintf(text, sizeof text,
                 i % 2 ? "{\"results\": [{\"configuration\": {\"b\": 1}, \"objectives\": "
                         "[\"%s\"], \"times\": {}, \"measurements\": [{\"name\": \"%s\", "
                         "\"value\": 4}]}, {\"configuration\": {\"b\": 2}, \"objectives\": "
                         "[\"%s\"], \"times\": {}, \"measurements\": [{\"name\": \"%s\", "
                         "\"value\": 100}]}]}"
                       : "{\"tune_params_keys\": [\"b\"], \"tune_params\": {\"b\": [1, 2]}, "
                         "\"objective\": \"%s\", \"cache\": {\"1\": {\"b\": 1, \"%s\": 4}, "
                         "\"2\": {\"b\": 2, \"%s\": 100}}}",
                 objective, objective, objective, objective);
        put("rate.json", text);
        check_ok(ot_recorded_read(path, &r, &err));
        const double one = ot_recorded_find(r, 0)->cost, two = ot_recorded_find(r, 1)->cost;
        assert_true(known[i / 2].rate ? fabs(one / two - 25) < 1e-9 : one < two);
        ot_recorded_free(r);
    }
}

static void a_gzipped_cache_is_read_and_a_torn_one_named(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_recorded *r;
    char *text = CACHE(first, second, third, "}}");
    snprintf(path, sizeof path, "%s/b.json.gz", dir);
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    gzclose(file);
    free(text);
    check_cache(path);
    ot_text packed = {0};
    check_ok(ot_read_file(path, &packed, 1 << 20, &err));
    check_ok(ot_write_file(path, packed.s, packed.n / 2, &err));
    ot_text_release(&packed);
    assert_true(ot_recorded_read(path, &r, &err) < 0);
    check_contains(err.text, "b.json.gz");
    check_contains(err.text, "truncated: its compressed text has no end (unexpected end of");
}

static void t4_results_are_read(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_recorded *r;
    put("t4.json",
        "{\"results\": ["
        "{\"timestamp\": \"x\", \"configuration\": {\"b\": 64, \"a\": 1}, \"objectives\": "
        "[\"time\"],"
        "\"times\": {\"compilation\": 10, \"framework\": 1, \"search_algorithm\": 0,"
        "\"validation\": 2, \"runtimes\": [3, 4]}, \"invalidity\": \"correct\", "
        "\"correctness\": 1,"
        "\"measurements\": [{\"name\": \"time\", \"value\": 3.5, \"unit\": \"\"}]},"
        "{\"configuration\": {\"b\": 32, \"a\": 1}, \"objectives\": [\"time\"],"
        "\"times\": {\"compilation_time\": 10, \"benchmark\": 7, \"runtimes\": [1]},"
        "\"invalidity\": \"correct\", \"measurements\": [{\"name\": \"time\", \"value\": 1}]},"
        "{\"configuration\": {\"b\": 128, \"a\": 1}, \"objectives\": [\"time\"], \"times\": {},"
        "\"invalidity\": \"runtime\", \"measurements\": [{\"name\": \"time\", \"value\": "
        "\"RuntimeFailedConfig\"}]}], \"schema_version\": \"1.0.0\","
        "\"metadata\": {\"timeunit\": \"microseconds\"}}");
    check_ok(ot_recorded_read(path, &r, &err));
    assert_int_equal(r->n_trials, 3);
    assert_int_equal(r->size, 3);
    assert_string_equal(r->knob[0].word[2], "128"); /* by value, not by when they came */
    const ot_recorded_trial *t = ot_recorded_find(r, 1);
    assert_true(fabs(t->cost - 3.5e-6) < 1e-15 && fabs(t->seconds - 20e-6) < 1e-15);
    t = ot_recorded_find(r, 0);
    assert_true(fabs(t->seconds - 17e-6) < 1e-15);
    assert_int_equal(ot_recorded_find(r, 2)->outcome, OPTUNE_OUTCOME_RUNTIME);
    ot_recorded_free(r);
}

static void refused(const char *text, const char *part)
{
    optune_err err = {0};
    ot_recorded *r = NULL;
    put("bad.json", text);
    assert_true(ot_recorded_read(path, &r, &err) < 0);
    assert_null(r);
    check_contains(err.text, "bad.json");
    check_contains(err.text, part);
}

static void damage_is_named_with_its_place(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_recorded *r;
    char *text = CACHE(first, second);
    text[strlen(text) - 20] = 0;
    refused(text, "truncated: it ends within entry 2");
    free(text);
    text = CACHE(first, ", \"x\": 7");
    refused(text, "entry 2: no object");
    free(text);
    text = CACHE(first, ", \"x\": {\"block\": 64}");
    refused(text, "entry 2: it has no value of the objective");
    free(text);
    text = CACHE(first, ", \"x\": {\"block\": 64, \"time\": 1}");
    refused(text, "entry 2: parameter 'flag' has no value");
    free(text);
    text = CACHE(first, "}}"); /* one config is a record, and no space to search */
    put("one.json", text);
    check_ok(ot_recorded_read(path, &r, &err));
    assert_int_equal(r->n_good, 1);
    assert_true(ot_recorded_searchable(r, path, &err) < 0);
    check_contains(err.text, "has 1 configs that ran");
    ot_recorded_free(r);
    free(text);
    refused("", "is empty");
    refused("[1, 2]", "neither a Kernel Tuner cache nor T4 results");
    refused("{\"log\": []}", "neither a Kernel Tuner cache");
    refused("{\"tune_params_keys\": [\"b\"], \"tune_params\": {}, \"cache\": {}}",
            "parameter 1, 'b', has no list of values in \"tune_params\"");
    refused("{\"cache\": {}}", "before \"cache\" come \"tune_params_keys\"");
    refused("{\"results\": [{\"configuration\": 1}]}", "entry 1: a T4 result has");
    refused("{\"results\": [", "truncated");
    assert_int_equal(ot_recorded_read("/no/such/file.json", &r, &err), OPTUNE_ENOENT);
    check_contains(err.text, "/no/such/file.json");
}

static int open_dir(void **state)
{
    (void)state;
    optune_err err = {0};
    return ot_temp_dir(dir, sizeof dir, &err);
}

static int close_dir(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_is_read),
        cmocka_unit_test(what_python_writes_is_read),
        cmocka_unit_test(of_a_rate_the_most_is_the_best),
        cmocka_unit_test(a_gzipped_cache_is_read_and_a_torn_one_named),
        cmocka_unit_test(t4_results_are_read),
        cmocka_unit_test(damage_is_named_with_its_place),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
