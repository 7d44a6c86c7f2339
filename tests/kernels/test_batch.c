/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness of the random contracts tells whose fault it was: a call that does not end, one that
 * ends the process, one that writes where it must not, one that is wrong and one that no compiler
 * takes, each among good ones, which all are computed.
 */
#include "support/batch.h"

#include "strategy/inside.h"
#include "support/check.h"
#include "support/workbench.h"

/* relu of five kinds that are not, and of one that is; `start` is what the body does first. */
#define BODY(start)                                                                            \
    "void body(void *const *arg)\n{\n    const float *x = arg[0];\n    float *y = arg[1];\n"   \
    "    " start "\n    for (int i = 0; i < N; i++)\n        y[i] = x[i] > 0 ? x[i] : 0;\n}\n"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = optune_plan_module(plan);
    optune_plan_define(plan, m, "N", optune_tensor_elements(&task->call->output[0]));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = m,
                                      .function = "body",
                                      .n_args = 2,
                                      .arg = {optune_input_arg(0), optune_output_arg(0)}});
}

#define ROW(name_, start)                                                                      \
    {                                                                                          \
        .op = "relu", .name = name_, .summary = name_, .plan = plan, .source = BODY(start)     \
    }

static const optune_impl rows[] = {
    ROW("good", ";"),
    ROW("endless", "for (volatile int i = 0;; i++) {}"),
    ROW("abrupt", "__builtin_trap();"),
    ROW("outside", "y[N] = 1;"),
    ROW("wrong", "y[0] = 3; if (N > 2) return;"),
    ROW("unknown", "no_such_type z;"),
};

static void add_all(batch *b, const char *name, int n)
{
    optune_err err = {0};
    static optune_call call;
    const optune_config none = {0};
    for (int i = 0; i < n; i++) {
        char text[64];
        const char *at = text;
        snprintf(text, sizeof text, "relu(f32[%d])", 1024 * (i + 1));
        check_ok(ot_call_parse(text, &call, &err));
        batch_add(b, &call, ot_impl_find(name), &none, &at, 1);
    }
}

/* One bad call among good ones is one failure, told with its text; `what` says of what kind. */
static void blames(const char *name, const char *what)
{
    batch b;
    assert_true(batch_open(&b, "cpu -threads=1"));
    b.limit_s = 2;
    add_all(&b, "good", 2);
    add_all(&b, name, 1);
    add_all(&b, "good", 30);
    batch_finish(&b);
    assert_int_equal(b.computed, 32);
    assert_int_equal(b.failed, 1);
    check_contains(ot_text_str(&b.said), what);
    check_contains(ot_text_str(&b.said), "'relu(f32[1024])'");
    check_contains(ot_text_str(&b.said), name);
    batch_close(&b);
}

static void endless(void **state)
{
    (void)state;
    blames("endless", "does not end at relu(f32[1024])");
}

static void abrupt(void **state)
{
    (void)state;
    blames("abrupt", "the process that computed it ended");
}

static void outside(void **state)
{
    (void)state;
    blames("outside", "the process that computed it ended");
}

static void wrong(void **state)
{
    (void)state;
    blames("wrong", "output 0[0]: got 3");
}

static void unknown(void **state)
{
    (void)state;
    blames("unknown", "no_such_type");
}

/* The words that repeat a failure have the target's flags to the last. */
static void long_flags(void **state)
{
    (void)state;
    static const char target[] = "cpu -threads=1 -cflags='-O2 -march=native "
                                 "-DONE_THAT_IS_LONG=1234567890 -DTWO_THAT_IS_LONG=1234567890 "
                                 "-DTHREE_THAT_IS_LONG=1234567890 -DLAST=1'";
    batch b;
    assert_true(batch_open(&b, target));
    add_all(&b, "wrong", 1);
    add_all(&b, "unknown", 1);
    batch_finish(&b);
    assert_int_equal(b.failed, 2);
    char quoted[sizeof target + 2];
    snprintf(quoted, sizeof quoted, "\"%s\"", target);
    const char *first = strstr(ot_text_str(&b.said), quoted);
    assert_non_null(first);
    check_contains(first + 1, quoted);
    batch_close(&b);
}

/* What selection says of these lies in few modules, two of one body with macros and functions that
 * have one name among them. */
static void join(const char *target)
{
    static const char *const texts[] = {
        "dense(f32[33,48], const f32[64,48]) -> add(f32[64]) -> relu()",
        "dense(f32[20,40], const f32[64,40]) -> add(f32[64]) -> sigmoid()",
        "dense(f32[33,48], const f32[64,48])",
        "softmax(f32[9,70])",
        "softmax(f16[9,70])",
        "cumsum(f32[7,30])",
        "conv2d(f32[1,8,9,9], const f32[8,8,3,3]) -> relu()",
        "conv2d(f32[1,8,9,9], const f32[16,8,3,3]) -> add(f32[16,1,1])",
        /* Rows that end amid a vector, of the residual, too. */
        "conv2d(f32[1,8,9,9], const f32[24,8,1,1]) -> add(f32[1,24,9,9]) -> relu()",
        "conv2d(f32[1,8,14,14], const f32[20,8,1,1]) -> add(f32[1,20,14,14]) -> relu()",
    };
    batch b;
    optune_err err = {0};
    static optune_call call;
    if (!batch_open(&b, target))
        skip();
    b.usual = true;
    for (int i = 0; i < OT_COUNT(texts); i++) {
        ot_choice *choice = ot_alloc(sizeof *choice);
        const optune_task task = {&call, &b.target, &b.device};
        check_ok(ot_call_parse(texts[i], &call, &err));
        check_ok(ot_select(&task, NULL, 0, choice, &err));
        batch_add(&b, &call, choice->row[choice->winner].candidate.impl, choice->config,
                  &texts[i], 1);
        ot_choice_free(choice);
    }
    batch_finish(&b);
    assert_int_equal(b.alone, 0);
    assert_int_equal(b.computed, OT_COUNT(texts));
    batch_judge(&b);
}

static void joined_on_cpu(void **state)
{
    (void)state;
    join("cpu -threads=2");
}

static void joined_on_opencl(void **state)
{
    (void)state;
    join("opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'");
}

/* Three turns of good ones: what comes in compiles while what compiled is computed. */
static void many(void **state)
{
    (void)state;
    batch b;
    assert_true(batch_open(&b, "cpu -threads=1"));
    add_all(&b, "good", 300);
    batch_judge(&b);
    assert_int_equal(b.computed, 300);
}

/* ---- what OPTUNE_TEST_THIN asks less of -------------------------------------------------- */

/* Of what a pattern's row makes, each is asked all with one of as many seeds; others with any. */
static void test_brief(void **state)
{
    (void)state;
    enum { THIN = 4 };
    int n, made = 0;
    const optune_impl *const *impl = ot_impls(&n);
    const char *names[] = {"OPTUNE_TEST_THIN", "OPTUNE_TEST_SEED", "OPTUNE_TEST_IMPL"};
    char *kept[OT_COUNT(names)];
    for (int i = 0; i < OT_COUNT(names); i++) {
        kept[i] = getenv(names[i]) ? ot_strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    for (int i = 0; i < n; i++) {
        int whole = 0;
        const bool shares = ot_pattern_row(impl[i]) != impl[i];
        made += shares;
        assert_false(workbench_brief(impl, i));
        assert_false(workbench_shares());
        setenv(names[0], "4", 1);
        assert_true(workbench_shares());
        for (int seed = 0; seed < THIN; seed++) {
            char text[16];
            snprintf(text, sizeof text, "%d", 12345 + seed);
            setenv(names[1], text, 1);
            assert_int_equal(workbench_seed(7), 12345 + seed);
            whole += !workbench_brief(impl, i);
        }
        assert_int_equal(whole, shares ? 1 : THIN);
        setenv(names[2], impl[i]->name, 1);
        assert_false(workbench_brief(impl, i));
        assert_false(workbench_shares());
        unsetenv(names[2]);
        unsetenv(names[0]);
    }
    assert_true(made > 50);
    for (int i = 0; i < OT_COUNT(names); i++) {
        if (kept[i])
            setenv(names[i], kept[i], 1);
        else
            unsetenv(names[i]);
        free(kept[i]);
    }
}

/* The cheaper flags of OpenCL, as a failure names them; who brings flags is asked with those. */
static void test_cheap_opencl(void **state)
{
    (void)state;
    batch b;
    if (!batch_open(&b, "opencl"))
        skip();
    assert_non_null(b.builder[1]);
    assert_string_equal(b.cheap.cflags, "-cl-std=CL1.2 -cl-opt-disable");
    assert_non_null(strstr(ot_text_str(&b.cheaply), "-cl-opt-disable"));
    batch_close(&b);
    assert_true(batch_open(&b, "opencl -cflags='-cl-std=CL1.2'"));
    assert_null(b.builder[1]);
    batch_close(&b);
}

int main(int argc, char **argv)
{
    optune_err err = {0};
    for (int i = 0; i < OT_COUNT(rows); i++)
        check_ok(ot_impl_add(&rows[i], &err));
    batch_inside(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless),
        cmocka_unit_test(abrupt),
        cmocka_unit_test(outside),
        cmocka_unit_test(wrong),
        cmocka_unit_test(unknown),
        cmocka_unit_test(long_flags),
        cmocka_unit_test(many),
        cmocka_unit_test(joined_on_cpu),
        cmocka_unit_test(joined_on_opencl),
        cmocka_unit_test(test_brief),
        cmocka_unit_test(test_cheap_opencl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
