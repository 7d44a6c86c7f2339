/* SPDX-License-Identifier: Apache-2.0 */
/* `optune tune FILE`: what is told of the best config, as figures of one's own, a header, JSON,
 * CSV. */
#include <math.h>
#include <string.h>

#include "support/brought.h"

/* The row's figure of that name; null where it could not be told. */
static const json_t *metric(json_t *json, const char *name)
{
    const json_t *figures = json_object_get(first_workload(json), "metrics");
    const json_t *value = json_object_get(figures, name);
    assert_non_null(value);
    return value;
}

static void metrics(void **state)
{
    (void)state;
    outcome o =
        optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", ONE, "--json",
               "--metric", "GFLOP/s=2*M*N*K/time/1e9", "--metric", "same=flops/cost/1e9",
               "--metric", "tile=TILE_M*TILE_N", "--metric", "rows=A[0] + B[1]", "--metric",
               "none=1/(M-192)", "--metric", "a word=ORDER", "--metric", "whole=M == 192");
    json_t *json = json_of(&o);
    const json_t *winner = json_object_get(first_workload(json), "winner");
    const double cost = json_number_value(json_object_get(winner, "cost"));
    const double rate = json_number_value(metric(json, "GFLOP/s"));
    assert_true(fabs(rate * cost * 1e9 / (2. * 192 * 192 * 192) - 1) <
                1e-7); /* JSON has nine digits */
    assert_true(json_number_value(metric(json, "same")) == rate);
    const json_t *config = json_object_get(winner, "config");
    const json_t *m = json_array_get(json_array_get(config, 0), 2);
    const json_t *n = json_array_get(json_array_get(config, 1), 2);
    assert_true(json_number_value(metric(json, "tile")) ==
                (double)(json_integer_value(m) * json_integer_value(n)));
    assert_true(json_number_value(metric(json, "rows")) == 2 * 192);
    assert_true(json_number_value(metric(json, "whole")) == 1);
    assert_true(json_is_null(metric(json, "none")) && json_is_null(metric(json, "a word")));
    json_decref(json);
    /* A column each, in every form of the table; a name may hold what separates columns there. */
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", ONE, "--metric", "x=M", "--metric",
               "none=1/0");
    check_contains(ot_text_str(&o.out), "failed   x none\n");
    check_contains(ot_text_str(&o.out), " 192    -\n");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", ONE, "--metric", "a,b=M", "--csv");
    check_contains(ot_text_str(&o.out), ",failed,\"a,b\",note\n");
    release(&o);
    o = optune("run", "dense", "dense(f32[4,8], f32[16,8])", "--trials", "1", ONE, "--metric",
               "k=data[1] * weight[0]", "--impl", "dense_nopack.x86", "--json");
    json = json_of(&o);
    assert_true(json_number_value(metric(json, "k")) == 8 * 16);
    json_decref(json);
}

static void metrics_that_are_wrong(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"x", "the metric 'x' is no NAME=EXPR"},
        {"=M", "is no NAME=EXPR"},
        {"x=", "the metric 'x', column 1: a value is expected"},
        {"x=2 * ", "the metric 'x', column 5: a value is expected"},
        {"x=2 * foo",
         "the metric 'x', column 5: nothing is called 'foo' here; there are M, N, K, "
         "TILE_M, TILE_N, TILE_K, UNROLL, ORDER, time, cost, flops, bytes, A, B, "},
        {"x=abs(M)", "the metric 'x', column 1: 'abs(...)' is not called here"},
        {"a=b=M", "the metric 'a', column 2"},
        {"a name of more than thirty-one bytes=1", "has more than 31 bytes"},
        {"x\ty=1", "a character that cannot be printed"},
    };
    for (int i = 0; i < OT_COUNT(wrong); i++)
        refused(2, wrong[i][1], "tune", EXAMPLE("matmul.c"), "--metric", wrong[i][0]);
    /* Nothing is told in front of what is refused. */
    outcome o = optune("tune", EXAMPLE("matmul.c"), "--metric", "x=1/nobody");
    assert_null(strstr(ot_text_str(&o.err), "configs are valid"));
    release(&o);
    refused(2, "there are two metrics 'x'", "tune", EXAMPLE("matmul.c"), "--metric", "x=1",
            "--metric", "x=M");
    refused(2, "nothing is called 'groups' here", "run", "dense", "dense(f32[4,8], f32[16,8])",
            "--metric", "x=groups");
    refused(2, "measures nothing", "tune", EXAMPLE("matmul.c"), "--compile-only", "--metric",
            "x=M");
}

static void formats(void **state)
{
    (void)state;
    outcome o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "header", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "#define TILE_M ");
    check_contains(ot_text_str(&o.out), "#define ORDER ");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "csv", ONE);
    check_contains(ot_text_str(&o.out), "TILE_M,TILE_N,TILE_K,UNROLL,ORDER,seconds\n");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "json", ONE);
    json_t *json = json_of(&o);
    assert_true(json_is_integer(json_object_get(json, "TILE_M")));
    assert_true(json_is_string(json_object_get(json, "ORDER")));
    json_decref(json);
    /* Real numbers are numbers, words that look so are not; a comma in a word ends no cell. */
    command_write("odd.c",
                  "// optune: kernel odd(x: f32[N], out y: f32[N])\n// optune: size N = 8\n"
                  "// optune: knob R = [0.5], V = ['1.10'], W = ['a,b']\n"
                  "void odd(const float *x, float *y) { for (int i = 0; i < N; i++) "
                  "y[i] = x[i]; }\n");
    o = optune("tune", command_path("odd.c"), "--trials", "1", "--format", "json", ONE);
    json = json_of(&o);
    assert_true(json_real_value(json_object_get(json, "R")) == 0.5);
    assert_string_equal(text_at(json, "V"), "1.10");
    json_decref(json);
    o = optune("tune", command_path("odd.c"), "--trials", "1", "--format", "csv", ONE);
    check_contains(ot_text_str(&o.out), "R,V,W,seconds\n0.5,1.10,\"a,b\",");
    release(&o);
    /* What is emitted of two sizes goes into one program: its functions are no names of it. */
    o = optune("emit", "odd(f32[8])", "-o", command_path("emitted"), ONE);
    char *written = ot_strdup(ot_text_str(&o.out));
    assert_int_equal(o.code, 0);
    release(&o);
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(strtok(written, "\n"), &text, 1 << 20, &err));
    check_contains(ot_text_str(&text), "#undef odd\n#define odd odd_");
    ot_text_release(&text);
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics),
        cmocka_unit_test(metrics_that_are_wrong),
        cmocka_unit_test(formats),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
