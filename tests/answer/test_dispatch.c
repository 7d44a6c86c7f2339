/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolic shapes from end to end: a table is tuned, found again, asked, and refused once it is
 * stale; its C source compiles with nothing at hand and computes every size right; an interrupted
 * run goes on where it stopped; what cannot be done is said.
 */
#include "support/tuning.h"

#include "support/check.h"

#include <math.h>
#include <unistd.h>

#define ONE "dense(f32[?m:1..90,24], const f32[20,24], f32[20])"
#define TWO "batch_matmul(f32[?b:1..5,?m:1..40,16], f32[?b:1..5,18,16])"

static optune_dispatch_options small(const char *workload, const char *output)
{
    return (optune_dispatch_options){.size = sizeof(optune_dispatch_options),
                                     .workload = workload,
                                     .output = output,
                                     .search = "random",
                                     .trials = 6,
                                     .seconds = 120,
                                     .points = 3,
                                     .regret = 2};
}

static json_t *tune(optune *o, const optune_dispatch_options *options, int status)
{
    optune_err err = {0};
    optune_result *result = NULL;
    const int ended = optune_dispatch_tune(o, options, &result, &err);
    if (ended != status)
        print_error("ended with %d: %s\n", ended, err.text);
    assert_int_equal(ended, status);
    json_t *json = tuning_parse(optune_result_json(result));
    assert_true(optune_result_text(result)[0] != 0);
    optune_result_free(result);
    return json;
}

static int setup(void **state)
{
    tuning_setup(state);
    optune *o = tuning_open("tables");
    const optune_dispatch_options one = small(ONE, tuning_path("one_dim.c"));
    json_decref(tune(o, &one, OPTUNE_OK));
    const optune_dispatch_options two = small(TWO, tuning_path("two_dims.c"));
    json_decref(tune(o, &two, OPTUNE_OK));
    optune_close(o);
    return 0;
}

/* ---- in process -------------------------------------------------------------------------- */

static void check_table(const char *what, int dims)
{
    optune_err err = {0};
    optune_dispatch *d = NULL;
    optune *o = tuning_open("tables");
    check_ok(optune_dispatch_open(o, what, &d, &err));
    optune_close(o); /* it is not needed any more */
    assert_int_equal(optune_dispatch_dims(d), dims);
    assert_string_equal(optune_dispatch_dim(d, dims - 1), "m");
    assert_null(optune_dispatch_dim(d, dims));
    const int rows = optune_dispatch_rows(d);
    assert_true(rows >= 1);
    for (int64_t m = 1; m <= 40; m++) {
        const int64_t size[] = {dims == 1 ? m : 1 + m % 5, m};
        const int row = optune_dispatch_select(d, size);
        assert_in_range(row, 0, rows - 1);
        assert_non_null(optune_dispatch_impl(d, row));
        assert_int_equal(optune_dispatch_config(d, row)[0], '[');
    }
    assert_int_equal(optune_dispatch_select(d, (const int64_t[]){0, 1}), -1);
    assert_int_equal(optune_dispatch_select(d, (const int64_t[]){91, 1}), -1);
    assert_null(optune_dispatch_impl(d, rows));
    json_t *json = tuning_parse(optune_dispatch_json(d));
    const json_t *regret = json_object_get(json_object_get(json, "measured"), "regret");
    assert_true(json_is_real(json_object_get(regret, "geomean")));
    assert_true(json_array_size(json_object_get(regret, "shapes")) >= 1);
    json_decref(json);
    check_contains(optune_dispatch_text(d), what[0] == 'd' ? "dense(" : "m");
    optune_dispatch_close(d);
}

static void test_open(void **state)
{
    (void)state;
    check_table(ONE, 1);
    check_table("dense(f32[ ?m:1..90, 24 ],const f32[20,24],f32[20])", 1);
    check_table(tuning_path("one_dim.json"), 1);
    check_table(TWO, 2);
    check_table(tuning_path("two_dims.json"), 2);
}

static void check_refused(const char *target, const char *what, int status, const char *words)
{
    optune_err err = {0};
    optune_dispatch *d = NULL;
    optune *o = tuning_open_with("tables", (optune_options){.target = target});
    assert_int_equal(optune_dispatch_open(o, what, &d, &err), status);
    assert_null(d);
    check_contains(err.text, words);
    optune_close(o);
}

static void test_stale_and_foreign_tables(void **state)
{
    (void)state;
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("one_dim.json"), &text, 1 << 20, &err));
    char *digest = strstr(text.s, "\"digest\": \"");
    digest[11] = digest[11] == '0' ? '1' : '0';
    check_ok(ot_write_file(tuning_path("stale.json"), text.s, text.n, &err));
    check_refused("cpu -threads=1", tuning_path("stale.json"), OPTUNE_EVERSION, "has changed");
    digest[11] = 0;
    check_ok(ot_write_file(tuning_path("half.json"), text.s, strlen(text.s), &err));
    check_refused("cpu -threads=1", tuning_path("half.json"), OPTUNE_ESYNTAX, "table");
    ot_text_release(&text);
    check_refused("cpu -threads=1", "dense(f32[?m:1..91,24], const f32[20,24])", OPTUNE_ENOENT,
                  "no dispatch table");
    check_refused("cpu -threads=2", tuning_path("one_dim.json"), OPTUNE_ENOENT, "target");
    check_refused("cpu -threads=1", tuning_path("none.json"), OPTUNE_ENOENT, "none.json");
}

/* More dims than shapes are tuned of: what is not cut is left whole. */
static void test_many_dims(void **state)
{
    (void)state;
#define DIMS "?a:1..5,?b:1..4,?c:2..9,?d:1..3,?e:1..6,?f:3..7"
    static const int64_t low[] = {1, 1, 2, 1, 1, 3}, high[] = {5, 4, 9, 3, 6, 7};
    optune_err err = {0};
    optune_dispatch *d = NULL;
    optune *o = tuning_open("many");
    const optune_dispatch_options options =
        small("add(f32[" DIMS "], f32[?f:3..7]) -> relu()", tuning_path("many.c"));
    json_decref(tune(o, &options, OPTUNE_OK));
    check_ok(optune_dispatch_open(o, options.workload, &d, &err));
    assert_int_equal(optune_dispatch_dims(d), 6);
    for (int corner = 0; corner < 1 << 6; corner++) {
        int64_t size[6];
        for (int i = 0; i < 6; i++)
            size[i] = corner >> i & 1 ? high[i] : low[i];
        assert_in_range(optune_dispatch_select(d, size), 0, optune_dispatch_rows(d) - 1);
        size[corner % 6] = high[corner % 6] + 1;
        assert_int_equal(optune_dispatch_select(d, size), -1);
    }
    optune_dispatch_close(d);
    optune_close(o);
#undef DIMS
}

/* ---- errors ------------------------------------------------------------------------------ */

static void no_tuning(const char *workload, const char *output, int status, const char *words)
{
    optune *o = tuning_open("errors");
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_dispatch_options options = small(workload, output);
    assert_int_equal(optune_dispatch_tune(o, &options, &result, &err), status);
    assert_null(result);
    check_contains(err.text, words);
    optune_close(o);
}

static void test_refused(void **state)
{
    (void)state;
    no_tuning("dense(f32[8,24], const f32[20,24])", NULL, OPTUNE_EUSAGE, "no dim is symbolic");
    no_tuning("dense(f32[?m,24], const f32[20,24])", NULL, OPTUNE_EUSAGE, "no upper bound");
    no_tuning("dense(f32[?:1..8,24], const f32[20,24])", NULL, OPTUNE_EUSAGE, "has no name");
    no_tuning("dense(f32[?m:0..8,24], const f32[20,24])", NULL, OPTUNE_EUSAGE, "starts at 0");
    no_tuning("dense(f32[?m:1..8,24]", NULL, OPTUNE_ESYNTAX, "^");
    no_tuning(NULL, NULL, OPTUNE_EUSAGE, "no workload");
}

/* ---- GPUs -------------------------------------------------------------------------------- */

/* A table is tuned, found again and asked as on CPUs; only as C it cannot be written. */
static void test_opencl(void **state)
{
    (void)state;
    static const char workload[] = "dense(f32[?m:1..40,24], f32[20,24], f32[20])";
    optune_err err = {0};
    optune_target target;
    optune_device device;
    check_ok(ot_target_parse("opencl", &target, &err));
    const int status = ot_target_probe(&target, &device, &err);
    if (status == OPTUNE_ENODEV) {
        print_message("%s\n", err.text);
        skip();
    }
    check_ok(status);
    optune *o = tuning_open_with("tables", (optune_options){.target = "opencl"});
    optune_dispatch_options options = small(workload, tuning_path("gpu.c"));
    options.trials = 3;
    options.regret = -1;
    optune_result *result = NULL;
    assert_int_equal(optune_dispatch_tune(o, &options, &result, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "CPUs only");
    options.output = NULL;
    json_decref(tune(o, &options, OPTUNE_OK));
    optune_dispatch *d = NULL;
    check_ok(optune_dispatch_open(o, workload, &d, &err));
    for (int64_t m = 1; m <= 40; m++) {
        const int row = optune_dispatch_select(d, &m);
        assert_in_range(row, 0, optune_dispatch_rows(d) - 1);
        check_contains(optune_dispatch_impl(d, row), ".gpu");
    }
    optune_dispatch_close(d);
    optune_close(o);
    /* It was measured warm: what flushes caches is nothing to it, whoever asks. */
    o = tuning_open_with("tables", (optune_options){.target = "opencl", .policy = "cold"});
    check_ok(optune_dispatch_open(o, workload, &d, &err));
    optune_dispatch_close(d);
    optune_close(o);
}

/* ---- interrupted ------------------------------------------------------------------------- */

typedef struct stopping {
    optune *o;
    int after, seen;
} stopping;

static void stop_soon(void *arg, const optune_progress *p)
{
    stopping *s = arg;
    s->seen += p->impl != NULL;
    if (s->after && s->seen >= s->after)
        optune_interrupt(s->o);
}

static void test_interrupted(void **state)
{
    (void)state;
    optune *o = tuning_open("interrupted");
    stopping s = {.o = o, .after = 8};
    optune_dispatch_options options = small(ONE, NULL);
    options.regret = -1;
    options.progress = stop_soon;
    options.progress_arg = &s;
    json_t *first = tune(o, &options, OPTUNE_EINTERRUPTED);
    assert_true(json_is_true(json_object_get(first, "interrupted")));
    const json_int_t done = tuning_int(first, "new_trials");
    assert_true(done >= 1);
    optune_dispatch *d = NULL;
    assert_int_equal(optune_dispatch_open(o, ONE, &d, NULL), OPTUNE_ENOENT);
    s = (stopping){.o = o};
    json_t *second = tune(o, &options, OPTUNE_OK);
    assert_true(tuning_int(second, "new_trials") < 18); /* 3 shapes of 6, less what was known */
    json_t *third = tune(o, &options, OPTUNE_OK);
    assert_int_equal(tuning_int(third, "new_trials"), 0);
    json_t *rows = json_object_get(second, "rows");
    assert_true(json_equal(rows, json_object_get(third, "rows")));
    json_decref(first);
    json_decref(second);
    json_decref(third);
    optune_close(o);
}

/* ---- as C -------------------------------------------------------------------------------- */

static const char one_main[] =
    "#include \"one_dim.h\"\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include <math.h>\n"
    "enum { MOST = 90, N = 20, K = 24, PAD = 64 };\n"
    "static float data[MOST * K], weight[N * K], bias[N];\n"
    "static int check(void *ws, int64_t m)\n{\n"
    "    float *x = malloc(sizeof(float) * (size_t)m * K);\n"
    "    float *out = malloc(sizeof(float) * ((size_t)m * N + PAD));\n"
    "    memcpy(x, data, sizeof(float) * (size_t)m * K);\n"
    "    memset(out, 0xff, sizeof(float) * ((size_t)m * N + PAD));\n"
    "    const void *in[] = {x, weight, bias};\n    void *to[] = {out};\n"
    "    int bad = one_dim_run(ws, in, to, m) != 0;\n"
    "    for (int64_t i = 0; i < m; i++)\n        for (int j = 0; j < N; j++) {\n"
    "            double want = bias[j], size = fabs(want);\n"
    "            for (int k = 0; k < K; k++) {\n"
    "                want += (double)x[i * K + k] * weight[j * K + k];\n"
    "                size += fabs((double)x[i * K + k] * weight[j * K + k]);\n            }\n"
    "            bad |= !(fabs(out[i * N + j] - want) <= 1e-5 * size);\n        }\n"
    "    for (int p = 0; p < PAD; p++) {\n        unsigned bits;\n"
    "        memcpy(&bits, &out[m * N + p], 4);\n        bad |= bits != 0xffffffffu;\n    }\n"
    "    if (bad)\n        printf(\"wrong at m=%ld, row %d\\n\", (long)m, one_dim_row(m));\n"
    "    free(x);\n    free(out);\n    return bad;\n}\n"
    "int main(void)\n{\n    int bad = 0;\n"
    "    void *ws = aligned_alloc(64, (one_dim_workspace() + 127) / 64 * 64);\n"
    "    memset(ws, 0, one_dim_workspace());\n"
    "    for (int i = 0; i < MOST * K; i++)\n        data[i] = (float)(rand() % 200 - 100) / "
    "64;\n"
    "    for (int i = 0; i < N * K; i++)\n        weight[i] = (float)(rand() % 200 - 100) / "
    "64;\n"
    "    for (int i = 0; i < N; i++)\n        bias[i] = (float)i;\n"
    "    const void *constant[] = {NULL, weight, NULL};\n"
    "    one_dim_init(ws, constant);\n"
    "    for (int64_t m = 1; m <= MOST; m++) /* every boundary is among them */\n"
    "        bad |= check(ws, m);\n"
    "    for (int i = 0; i < 100; i++)\n        bad |= check(ws, 1 + rand() % MOST);\n"
    "    bad |= one_dim_run(ws, constant, NULL, 0) != -1;\n"
    "    bad |= one_dim_run(ws, constant, NULL, MOST + 1) != -1;\n"
    "    one_dim_close(ws);\n    free(ws);\n    return bad;\n}\n";

static const char two_main[] =
    "#include \"two_dims.h\"\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include <math.h>\n"
    "enum { MOST_B = 5, MOST_M = 40, N = 18, K = 16 };\n"
    "static float x[MOST_B * MOST_M * K], y[MOST_B * N * K], out[MOST_B * MOST_M * N + 64];\n"
    "int main(void)\n{\n    int bad = 0;\n"
    "    void *ws = aligned_alloc(64, (two_dims_workspace() + 127) / 64 * 64);\n"
    "    memset(ws, 0, two_dims_workspace());\n"
    "    for (int i = 0; i < MOST_B * MOST_M * K; i++)\n        x[i] = (float)(rand() % 200 - "
    "100) / 64;\n"
    "    for (int i = 0; i < MOST_B * N * K; i++)\n        y[i] = (float)(rand() % 200 - 100) "
    "/ 64;\n"
    "    const void *in[] = {x, y};\n    void *to[] = {out};\n"
    "    two_dims_init(ws, in);\n"
    "    for (int64_t b = 1; b <= MOST_B; b++)\n        for (int64_t m = 1; m <= MOST_M; m++) "
    "{\n"
    "            memset(out, 0xff, sizeof out);\n"
    "            bad |= two_dims_run(ws, in, to, b, m) != 0;\n"
    "            for (int64_t r = 0; r < b * m; r++)\n                for (int j = 0; j < N; "
    "j++) {\n"
    "                    double want = 0, size = 0;\n"
    "                    for (int k = 0; k < K; k++) {\n"
    "                        const double p = (double)x[r * K + k] * y[(r / m * N + j) * K + "
    "k];\n"
    "                        want += p;\n                        size += fabs(p);\n            "
    "        }\n"
    "                    bad |= !(fabs(out[r * N + j] - want) <= 1e-5 * size);\n               "
    " }\n"
    "            bad |= !isnan(out[b * m * N]);\n        }\n"
    "    bad |= two_dims_run(ws, in, to, 1, 41) != -1;\n"
    "    bad |= two_dims_run(ws, in, to, 6, 1) != -1;\n"
    "    two_dims_close(ws);\n    free(ws);\n    return bad;\n}\n";

static void build_and_run(const char *compiler, const char *name, const char *main_text)
{
    char cc[4096], dir[2048], source[2048], main_c[2048], program[2048];
    ot_text said = {0};
    optune_err err = {0};
    if (!ot_find_program(compiler, cc, sizeof cc)) {
        print_message("no %s here\n", compiler);
        return;
    }
    snprintf(dir, sizeof dir, "%s", tuning_dir);
    snprintf(source, sizeof source, "%s/%s.c", tuning_dir, name);
    snprintf(main_c, sizeof main_c, "%s/%s_main.c", tuning_dir, name);
    snprintf(program, sizeof program, "%s/%s_%s", tuning_dir, name, compiler);
    check_ok(ot_write_file(main_c, main_text, strlen(main_text), &err));
    char std[] = "-std=gnu11", all[] = "-Wall", extra[] = "-Wextra", error[] = "-Werror",
         opt[] = "-O2", native[] = "-march=native", o[] = "-o", m[] = "-lm";
    char *argv[] = {cc, std,     all,    extra,  error, opt, native,
                    o,  program, source, main_c, m,     NULL};
    const int status = ot_run_program(argv, 120, &said, &err);
    if (status < 0)
        fail_msg("%s: %s\n%s", compiler, err.text, ot_text_str(&said));
    ot_text_clear(&said);
    char *run[] = {program, NULL};
    if (ot_run_program(run, 120, &said, &err) < 0)
        fail_msg("%s by %s: %s\n%s", name, compiler, err.text, ot_text_str(&said));
    ot_text_release(&said);
}

static void test_source(void **state)
{
    (void)state;
    build_and_run("gcc", "one_dim", one_main);
    build_and_run("clang", "one_dim", one_main);
    build_and_run("gcc", "two_dims", two_main);
    build_and_run("clang", "two_dims", two_main);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),    cmocka_unit_test(test_stale_and_foreign_tables),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_source),  cmocka_unit_test(test_opencl),
        cmocka_unit_test(test_many_dims),
    };
    return cmocka_run_group_tests_name("tuner/dispatch", tests, setup, tuning_teardown);
}
