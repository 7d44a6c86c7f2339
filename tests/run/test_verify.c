/* SPDX-License-Identifier: Apache-2.0 */
/* What verification is made of: inputs from seeds, dtypes, bounds, reference files,
 * comparison. */
#include <float.h>
#include <math.h>
#include <unistd.h>

#include "run/worker.h"
#include "tests/tuner/planted.h"

static optune_tensor tensor(const char *dtype, int64_t n)
{
    optune_tensor t = {.rank = 1, .dim = {optune_dim_of(n)}};
    assert_true(ot_parse_dtype(dtype, &t.dtype));
    return t;
}

static void test_inputs(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64"};
    for (int d = 0; d < OT_COUNT(dtypes); d++) {
        const optune_tensor t = tensor(dtypes[d], 4001);
        char a[8 * 4001], b[8 * 4001];
        double x[4001], sum = 0;
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        ot_fill_input(&t, 42, 1, a);
        ot_fill_input(&t, 42, 1, b);
        assert_memory_equal(a, b, sizeof a); /* the same from the same seed */
        ot_fill_input(&t, 43, 1, b);
        assert_memory_not_equal(a, b, sizeof a);
        ot_fill_input(&t, 42, 0, b);
        assert_memory_not_equal(a, b, sizeof a);
        ot_elements(t.dtype, a, 0, 4001, x);
        const bool real = d < 4;
        for (int i = 0; i < 4001; i++) {
            assert_true(isfinite(x[i]));
            assert_true(real ? x[i] >= -1 && x[i] <= 1 : fabs(x[i]) <= 1000);
            sum += x[i];
        }
        if (real)
            assert_true(fabs(sum / 4001) < 0.05); /* centred */
    }
}

static void test_elements(void **state)
{
    (void)state;
    const uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x7e00};
    const uint16_t bfloat[] = {0x3f80, 0xc000, 0x7f80};
    const int8_t bytes[] = {-128, 127, -1};
    double x[6];
    ot_elements(tensor("f16", 6).dtype, half, 0, 6, x);
    assert_true(x[0] == 1 && x[1] == -2 && x[2] == 65504 && x[3] == 0x1p-24);
    assert_true(isinf(x[4]) && isnan(x[5]));
    ot_elements(tensor("bf16", 3).dtype, bfloat, 0, 3, x);
    assert_true(x[0] == 1 && x[1] == -2 && isinf(x[2]));
    ot_elements(tensor("i8", 3).dtype, bytes, 1, 2, x);
    assert_true(x[0] == 127 && x[1] == -1);
    ot_elements(tensor("u8", 3).dtype, bytes, 0, 1, x);
    assert_true(x[0] == 128);
}

static double many_terms(const optune_call *call)
{
    (void)call;
    return 4096;
}

static void test_bound(void **state)
{
    (void)state;
    optune_impl impl = {.name = "x"};
    const double terms = 64; /* of planted_text */
    const double plain = ot_error_bound(&planted_call, &impl, 0);
    assert_true(fabs(plain - (2 * sqrt(terms) + 4) * FLT_EPSILON) < 1e-12);
    /* Of 4096 equal numbers each rounding may go one way; of 64 the walk is as wide. */
    assert_true(ot_error_bound_at_worst(&planted_call, &impl, 0) >= plain);
    optune_call long_call = planted_call;
    optune_op long_op = *planted_call.op;
    long_op.terms = many_terms;
    long_call.op = &long_op;
    assert_true(ot_error_bound(&long_call, &impl, 0) < 200 * FLT_EPSILON);
    assert_true(fabs(ot_error_bound_at_worst(&long_call, &impl, 0) - 2048 * FLT_EPSILON) <
                1e-9);
    impl.error_scale = 8;
    assert_true(fabs(ot_error_bound(&planted_call, &impl, 0) - 8 * plain) < 1e-12);
    optune_call exact = planted_call;
    exact.output[0].dtype = tensor("i32", 1).dtype;
    assert_true(ot_error_bound(&exact, &impl, 0) == 0);
    assert_true(ot_error_bound_at_worst(&exact, &impl, 0) == 0);
    /* Of 16 bits: sums in float32 are rounded once, others at every addition. */
    optune_op op = *planted_call.op;
    optune_call half = planted_call;
    impl.error_scale = 0;
    half.op = &op;
    half.output[0].dtype = tensor("f16", 1).dtype;
    op.float32_sums = true;
    assert_true(fabs(ot_error_bound(&half, &impl, 0) - plain - 0x1p-10) < 1e-12);
    op.float32_sums = false;
    assert_true(ot_error_bound(&half, &impl, 0) > 10 * 0x1p-10);
}

static ot_session session;
static char reference_path[1100];

static int setup(void **state)
{
    optune_err err = {0};
    planted_setup(state);
    snprintf(reference_path, sizeof reference_path, "%s/reference", planted_dir);
    check_ok(ot_session_open(&session, &planted_target, &planted_device, &err));
    check_ok(ot_session_workload(&session, planted_text, 7, reference_path, &err));
    return 0;
}

static int teardown(void **state)
{
    ot_session_close(&session);
    return planted_teardown(state);
}

static void *output(void)
{
    return session.row->address(session.state, session.out[OT_ALIGNED][0]);
}

/* Puts the right answer, rounded to the output's dtype, where a candidate would. */
static void put_right(void)
{
    float *out = output();
    for (int64_t i = 0; i < session.reference.n_blocks; i++) {
        const ot_block *b = &session.reference.block[i];
        const double *value = (const double *)(session.reference.map + b->value);
        for (int64_t k = 0; k < b->count; k++)
            out[b->offset + k] = (float)value[k];
    }
}

static bool judge(double *error, char *message, size_t size)
{
    const optune_impl impl = {.name = "x"};
    *error = 0;
    return ot_verify_outputs(&session, OT_ALIGNED, &impl, error, message, size);
}

static void test_comparison(void **state)
{
    (void)state;
    char message[256] = "";
    double error;
    float *out = output();
    put_right();
    assert_true(judge(&error, message, sizeof message));
    assert_true(error > 0 && error < 0.5); /* the rounding to float */

    out[5 * 48 + 7] += 1e-3f;
    assert_false(judge(&error, message, sizeof message));
    check_contains(message, "output 0[5,7]: got ");
    check_contains(message, "(1 of 1584 wrong)");
    assert_true(error > 1);

    put_right();
    out[32 * 48 + 47] = NAN;
    assert_false(judge(&error, message, sizeof message));
    check_contains(message, "output 0[32,47]: got nan");
    put_right();
    out[0] = INFINITY;
    assert_false(judge(&error, message, sizeof message));
    check_contains(message, "output 0[0,0]: got inf");
}

/* Outside a domain the answer is known, also behind a fused step: it is no number. */
static void test_no_number_is_an_answer(void **state)
{
    (void)state;
    static const char *const text[] = {"abs(f32[64]) -> negative() -> sqrt()",
                                       "abs(f32[64]) -> negative() -> log() -> abs()"};
    for (int i = 0; i < OT_COUNT(text); i++) {
        optune_err err = {0};
        char path[1200], message[256] = "";
        double error = 0;
        const optune_impl impl = {.name = "x"};
        ot_session s;
        snprintf(path, sizeof path, "%s/domain%d", planted_dir, i);
        check_ok(ot_session_open(&s, &planted_target, &planted_device, &err));
        check_ok(ot_session_workload(&s, text[i], 7, path, &err));
        float *out = s.row->address(s.state, s.out[OT_ALIGNED][0]);
        for (int k = 0; k < 64; k++)
            out[k] = NAN;
        assert_true(ot_verify_outputs(&s, OT_ALIGNED, &impl, &error, message, sizeof message));
        out[63] = 0;
        assert_false(ot_verify_outputs(&s, OT_ALIGNED, &impl, &error, message, sizeof message));
        check_contains(message, "output 0[63]: got 0, want ");
        ot_session_close(&s);
    }
}

static void test_poison_is_wrong(void **state)
{
    (void)state;
    optune_err err = {0};
    char message[256];
    double error;
    check_ok(ot_session_poison(&session, OT_ALIGNED, &err));
    assert_false(judge(&error, message, sizeof message));
    check_contains(message, "output 0[0,0]: got ");
    check_contains(message, "nan");
    check_contains(message, "(1584 of 1584 wrong)");
}

static void make_partial(const char *text, const ot_reference_limits *limits, ot_reference *r,
                         optune_call *call)
{
    char path[1200];
    optune_err err = {0};
    const void *in[OPTUNE_MAX_INPUTS] = {0};
    check_ok(ot_call_parse(text, call, &err));
    for (int i = 0; i < call->n_inputs; i++) {
        void *data = ot_alloc((size_t)optune_tensor_bytes(&call->input[i].type));
        ot_fill_input(&call->input[i].type, 3, i, data);
        in[i] = data;
    }
    snprintf(path, sizeof path, "%s/partial", planted_dir);
    check_ok(ot_reference_make(call, in, 2, 3, limits, path, &err));
    check_ok(ot_reference_open(path, r, &err));
    for (int i = 0; i < call->n_inputs; i++)
        free((void *)in[i]);
    unlink(path);
}

/* What threads compute of a block piece by piece is the block, each number in its place. */
static void check_block(const optune_call *call, const ot_reference *r, const ot_block *b)
{
    const int64_t cols = call->output[0].dim[1].min;
    const void *in[OPTUNE_MAX_INPUTS] = {0};
    double *value = ot_alloc((size_t)b->count * sizeof *value);
    double *magnitude = ot_alloc((size_t)b->count * sizeof *magnitude);
    for (int i = 0; i < call->n_inputs; i++) {
        void *data = ot_alloc((size_t)optune_tensor_bytes(&call->input[i].type));
        ot_fill_input(&call->input[i].type, 3, i, data);
        in[i] = data;
    }
    const optune_region region = {
        .rank = 2,
        .lo = {b->offset / cols, 0},
        .hi = {(b->offset + b->count) / cols, cols},
    };
    call->op->reference(call, in, 0, &region, value, magnitude);
    for (int64_t i = 0; i < b->count; i++) {
        const double got = ((const double *)(r->map + b->value))[i];
        const double size = (double)((const float *)(r->map + b->magnitude))[i];
        assert_true(fabs(got - value[i]) <= 1e-14 * magnitude[i]);
        assert_true(size >= magnitude[i] && size <= 1.000001 * magnitude[i]);
    }
    free(value);
    free(magnitude);
    for (int i = 0; i < call->n_inputs; i++)
        free((void *)in[i]);
}

static void test_pieces_of_blocks(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "dense(f32[40,70], f32[1300,70])",
        "dense(f32[3,130], f32[2000,130], f32[2000])",
        "dense(f32[1,100], f32[1024,100])",
    };
    for (int t = 0; t < OT_COUNT(texts); t++) {
        optune_call call;
        ot_reference r;
        make_partial(texts[t], &(ot_reference_limits){.seconds = 1000}, &r, &call);
        assert_true(r.n_blocks > 0);
        for (int64_t i = 0; i < r.n_blocks; i++)
            check_block(&call, &r, &r.block[i]);
        ot_reference_close(&r);
    }
}

/* Of a product that is known as a whole no single element may be wrong, wherever its tile is. */
static void test_one_element_of_one_tile(void **state)
{
    (void)state;
    optune_call call;
    ot_reference r;
    char message[256];
    uint64_t rng = 5;
    const optune_impl impl = {.name = "an implementation"};
    make_partial("dense(bf16[300,256], bf16[1100,256])",
                 &(ot_reference_limits){.seconds = 1000}, &r, &call);
    assert_true(r.whole);
    const int64_t n = optune_tensor_elements(&call.output[0]);
    uint16_t *out = ot_alloc((size_t)n * sizeof *out);
    const void *outputs[] = {out};
    for (int64_t i = 0; i < r.n_blocks; i++)
        ot_elements_set(call.output[0].dtype, out, r.block[i].offset, r.block[i].count,
                        (const double *)(r.map + r.block[i].value));
    double error = 0;
    assert_true(ot_judge(&call, &impl, &r, outputs, 0, 0, &error, message, sizeof message));
    for (int k = 0; k < 40; k++) {
        const int64_t at = k ? optune_random_below(&rng, n) : n - 1;
        const uint16_t was = out[at];
        ot_elements_set(call.output[0].dtype, out, at, 1, &(double){100});
        error = 0;
        assert_false(
            ot_judge(&call, &impl, &r, outputs, 0, 0, &error, message, sizeof message));
        check_contains(message, "(1 of 330000 wrong)");
        out[at] = was;
    }
    free(out);
    ot_reference_close(&r);
}

/* Every element once, whatever the shape. */
static void test_reference_is_whole(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "dense(f32[1,3], f32[1,3])",
        "dense(f32[1,8], f32[70001,8])",
        "dense(f32[5003,2], f32[3,2])",
        "dense(f32[300,4], f32[301,4])",
        "dense(f32[40,70], f32[1300,70])",
        "dense(f32[3,130], f32[2000,130], f32[2000])",
        "conv2d(f32[2,3,17,19], f32[5,3,3,3])",
    };
    for (int t = 0; t < OT_COUNT(texts); t++) {
        optune_call call;
        ot_reference r;
        make_partial(texts[t], &(ot_reference_limits){.seconds = 1000, .elements = 1 << 30}, &r,
                     &call);
        const int64_t n = optune_tensor_elements(&call.output[0]);
        char *seen = ot_alloc((size_t)n);
        memset(seen, 0, (size_t)n);
        for (int64_t i = 0; i < r.n_blocks; i++)
            for (int64_t k = 0; k < r.block[i].count; k++)
                seen[r.block[i].offset + k]++;
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(seen[i], 1);
        assert_true(r.whole);
        free(seen);
        ot_reference_close(&r);
    }
}

/* A block's values are those of its own place, in whichever dim it was cut. */
static void test_reference_values(void **state)
{
    (void)state;
    optune_call call;
    ot_reference r;
    make_partial("conv2d(f32[1,8,40,40], f32[16,8,3,3])", NULL, &r, &call);
    assert_true(r.n_blocks > 1);
    const int64_t n = optune_tensor_elements(&call.output[0]);
    double *value = ot_alloc((size_t)n * sizeof *value), *magnitude = ot_alloc((size_t)n * 8);
    float *in[2];
    for (int i = 0; i < 2; i++) {
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&call.input[i].type));
        ot_fill_input(&call.input[i].type, 3, i, in[i]);
    }
    optune_region whole;
    call.op->reference(&call, (const void *const[]){in[0], in[1]}, 0,
                       ot_region_whole(&call.output[0], &whole), value, magnitude);
    for (int64_t i = 0; i < r.n_blocks; i++) {
        const ot_block *b = &r.block[i];
        const double *got = (const double *)(r.map + b->value);
        const float *bound = (const float *)(r.map + b->magnitude);
        for (int64_t k = 0; k < b->count; k++) {
            assert_true(fabs(got[k] - value[b->offset + k]) <= 1e-12);
            assert_true((double)bound[k] >= magnitude[b->offset + k] * (1 - 1e-12));
        }
    }
    free(value);
    free(magnitude);
    free(in[0]);
    free(in[1]);
    ot_reference_close(&r);
}

enum { WORDS = 60 };
static void sum_of_products(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = -(x[0][i] * x[1][i] + x[2][i]);
}
static void larger_of_a_difference(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++) {
        const uint64_t y = (x[0][i] - x[1][i]) * x[2][i];
        out[i] = y > x[3][0] ? y : x[3][0];
    }
}
static void larger_with_sign(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = (int64_t)x[0][i] > (int64_t)x[1][0] ? x[0][i] : x[1][0];
}
static void running_products(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = (i ? out[i - 1] : 1) * x[0][i];
}
static void running_sums(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = (i ? out[i - 1] : 0) + x[0][i];
}
static void sums(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = (x[0][2 * i] + x[0][2 * i + 1]) * x[1][i];
}
static void back(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = x[0][WORDS - 1 - i];
}
static void powers(uint64_t *const *x, uint64_t *out)
{
    for (int i = 0; i < WORDS; i++)
        out[i] = x[0][i] * x[1][0] * x[2][i] * x[3][i] * x[4][i] * x[5][i];
}

/* Integers of 64 bits are held to their last bit, modulo 2^64, whatever is fused behind them. */
static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        void (*right)(uint64_t *const *x, uint64_t *out);
    } cases[] = {
        {"multiply(i64[60], i64[60]) -> add(i64[60]) -> negative()", sum_of_products},
        {"subtract(u64[60], u64[60]) -> multiply(u64[60]) -> maximum(u64[1])",
         larger_of_a_difference},
        {"maximum(i64[60], i64[1])", larger_with_sign},
        {"cumprod(u64[60])", running_products},
        {"cumsum(i64[60])", running_sums},
        {"sum(u64[60,2], axis=[1]) -> multiply(u64[60])", sums},
        {"reverse(i64[60], axis=0)", back},
        {"dense(i64[60,1], i64[1,1]) -> multiply(i64[60,1]) -> multiply(i64[60,1]) -> "
         "multiply(i64[60,1]) -> multiply(i64[60,1])",
         powers},
    };
    for (int t = 0; t < OT_COUNT(cases); t++) {
        optune_call call;
        ot_reference r;
        uint64_t *x[OPTUNE_MAX_INPUTS] = {NULL}, out[WORDS];
        char path[1200], message[256];
        double error = 0;
        bool beyond = false;
        optune_err err = {0};
        const optune_impl any = {.name = "any"};
        check_ok(ot_call_parse(cases[t].call, &call, &err));
        for (int i = 0; i < optune_call_inputs(&call); i++) {
            x[i] = ot_alloc((size_t)optune_tensor_bytes(&call.input[i].type));
            ot_fill_call_input(&call, 3, i, x[i]);
        }
        cases[t].right(x, out);
        snprintf(path, sizeof path, "%s/words", planted_dir);
        check_ok(ot_reference_make(&call, (const void *const *)x, 2, 3, NULL, path, &err));
        check_ok(ot_reference_open(path, &r, &err));
        if (!ot_judge(&call, &any, &r, (const void *const[]){out}, 0, 0, &error, message,
                      sizeof message))
            fail_msg("%s: %s", cases[t].call, message);
        for (int i = 0; i < WORDS; i++)
            beyond = beyond || (out[i] + (1ull << 53) > 1ull << 54);
        assert_true(beyond); /* doubles do not tell these apart */
        out[WORDS - 1] ^= 1;
        assert_false(ot_judge(&call, &any, &r, (const void *const[]){out}, 0, 0, &error,
                              message, sizeof message));
        check_contains(message, "(1 of 60 wrong)");
        ot_reference_close(&r);
        for (int i = 0; x[i]; i++)
            free(x[i]);
        unlink(path);
    }
}

/* Comparing them gives no words, but is as exact. */
static void test_words_are_compared(void **state)
{
    (void)state;
    optune_call call;
    optune_err err = {0};
    optune_region all;
    uint64_t left[] = {1ull << 60, (1ull << 60) + 1, UINT64_MAX, 5},
             right[] = {(1ull << 60) + 1, 1ull << 60, 5, 5}, got[4];
    check_ok(ot_call_parse("greater(u64[4], u64[4])", &call, &err));
    assert_true(ot_whole_reference(&call, (const void *const[]){left, right}, 0,
                                   ot_region_whole(&call.output[0], &all), got));
    assert_true(!got[0] && got[1] && got[2] && !got[3]);
    check_ok(ot_call_parse("greater(i64[4], i64[4])", &call, &err));
    assert_true(ot_whole_reference(&call, (const void *const[]){left, right}, 0,
                                   ot_region_whole(&call.output[0], &all), got));
    assert_true(!got[0] && got[1] && !got[2] && !got[3]);
    check_ok(ot_call_parse("cast(i32[4], dtype=u64)", &call, &err));
    assert_true(ot_whole_reference(&call, (const void *const[]){(int32_t[]){-186, 5, -1, 0}}, 0,
                                   ot_region_whole(&call.output[0], &all), got));
    assert_true(got[0] == (uint64_t)-186 && got[1] == 5 && got[2] == UINT64_MAX && !got[3]);
    check_ok(ot_call_parse("greater(f64[4], f64[4])", &call, &err));
    assert_false(ot_is_whole(&call, 0));
}

/* When time or memory is up the first and the last elements are in it all the same. */
static void test_reference_is_cut_short(void **state)
{
    (void)state;
    const ot_reference_limits limits = {.seconds = 1000, .elements = 9000};
    optune_call call;
    ot_reference r;
    make_partial("dense(f32[400,4], f32[401,4])", &limits, &r, &call);
    const int64_t n = optune_tensor_elements(&call.output[0]);
    bool first = false, last = false;
    int64_t seen = 0;
    for (int64_t i = 0; i < r.n_blocks; i++) {
        first = first || r.block[i].offset == 0;
        last = last || r.block[i].offset + r.block[i].count == n;
        seen += r.block[i].count;
    }
    assert_false(r.whole);
    assert_true(first && last);
    assert_true(seen >= 9000 && seen < n);
    ot_reference_close(&r);
}

static void test_unwritten_is_found_in_a_partial_reference(void **state)
{
    (void)state;
    optune_err err = {0};
    char message[256];
    double error;
    ot_reference kept = session.reference;
    session.reference.n_blocks = 0; /* nothing is known */
    session.reference.whole = false;
    memset(output(), 0, (size_t)session.out_bytes[0]);
    assert_true(judge(&error, message, sizeof message));
    check_ok(ot_session_poison(&session, OT_ALIGNED, &err));
    memset(output(), 0, 48 * 4 * 2);
    assert_false(judge(&error, message, sizeof message));
    check_contains(message, "output 0[2,0] was never written");
    session.reference = kept;
}

/* Inputs are the same however many threads make them, and far ones are as large as was asked. */
static void test_inputs_by_threads(void **state)
{
    (void)state;
    static const char *const calls[] = {"relu(f32[700001])", "relu(bf16[300001])",
                                        "relu(f64[300001])", "add(i64[300001],i64[300001])",
                                        "sqrt(f16[300001])", "relu(i8[300001])"};
    for (int k = 0; k < OT_COUNT(calls); k++) {
        optune_call call;
        optune_err err = {0};
        check_ok(ot_call_parse(calls[k], &call, &err));
        const size_t bytes = (size_t)optune_tensor_bytes(&call.input[0].type);
        char *one = ot_alloc(bytes), *many = ot_alloc(bytes);
        double a[64], b[64], low, high;
        ot_fill_call_input(&call, 5, 0, one);
        ot_fill_scaled(&call, 5, 0, 1, 3, many);
        assert_memory_equal(one, many, bytes);
        ot_fill_scaled(&call, 5, 0, 2, 3, many);
        const optune_dtype dtype = call.input[0].type.dtype;
        const bool scaled = ot_dtype_is_float(dtype) && !ot_input_range(&call, 0, &low, &high);
        ot_elements(dtype, one, 300001 - 64, 64, a);
        ot_elements(dtype, many, 300001 - 64, 64, b);
        for (int i = 0; i < 64; i++)
            assert_true(b[i] == (scaled ? 2 * a[i] : a[i]));
        free(one);
        free(many);
    }
}

/* Of a large output, the first wrong element and how many there are, by any number of threads; what
 * is not in the reference is looked at for poison, to the last element. */
static void test_large_by_threads(void **state)
{
    (void)state;
    const optune_impl impl = {.name = "x"};
    const ot_reference_limits limits = {.elements = 200000};
    char path[1100], message[256];
    optune_call call;
    optune_err err = {0};
    ot_reference r;
    double error = 0;
    enum { N = 1000000 };
    float *in = ot_alloc(N * sizeof *in), *out = ot_alloc(N * sizeof *out);
    check_ok(ot_call_parse("relu(f32[1000,1000])", &call, &err));
    snprintf(path, sizeof path, "%s/large", planted_dir);
    ot_fill_call_input(&call, 3, 0, in);
    check_ok(ot_reference_make(&call, (const void *const[]){in}, 2, 3, &limits, path, &err));
    check_ok(ot_reference_open(path, &r, &err));
    assert_false(r.whole);
    const void *const outs[] = {out};
    for (r.threads = 0; r.threads < 4; r.threads += 3) {
        for (int i = 0; i < N; i++)
            out[i] = in[i] > 0 ? in[i] : 0;
        assert_true(ot_judge(&call, &impl, &r, outs, 0, 0, &error, message, sizeof message));
        memset(&out[N - 1 - 2000], 0xff, 4); /* the last blocks but one are chosen by lot */
        out[0] = out[999] = out[N - 1] = 7;
        assert_false(ot_judge(&call, &impl, &r, outs, 0, 0, &error, message, sizeof message));
        check_contains(message, "output 0[0,0]: got 7");
        assert_true(strstr(message, "(3 of ") || strstr(message, "(4 of "));
        for (int i = 0; i < N; i++)
            out[i] = in[i] > 0 ? in[i] : 0;
        bool known[1000] = {0};
        int row = 0;
        for (int64_t k = 0; k < r.n_blocks; k++)
            for (int64_t i = r.block[k].offset; i < r.block[k].offset + r.block[k].count;
                 i += 1000)
                known[i / 1000] = true;
        while (known[row])
            row++;
        memset(&out[row * 1000 + 999], 0xff, 4);
        char place[64];
        snprintf(place, sizeof place, "output 0[%d,999] was never written", row);
        assert_false(ot_judge(&call, &impl, &r, outs, 0, 0, &error, message, sizeof message));
        check_contains(message, place);
    }
    ot_reference_close(&r);
    free(in);
    free(out);
}

/* The pages of large guarded buffers of whole pages are moved to the aligned ones' addresses, with
 * what is in them; those of small ones, and of ones that end within a page, are not. */
static void test_promoted(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool promoted;
    } cases[] = {{"relu(f32[1024,1024])", true},
                 {"relu(f32[1024])", false},
                 {"relu(f32[1025,1023])", false}};
    const optune_device device = {.threads = 1};
    for (int k = 0; k < OT_COUNT(cases); k++) {
        static ot_session s;
        optune_err err = {0};
        optune_target target;
        check_ok(ot_target_parse("cpu -threads=1", &target, &err));
        check_ok(ot_session_open(&s, &target, &device, &err));
        check_ok(ot_session_shape(&s, cases[k].call, &err));
        check_ok(ot_session_buffers(&s, OT_GUARDED, &err));
        check_ok(ot_session_buffers(&s, OT_ALIGNED, &err));
        static const char what[] = "it was guarded";
        char *guarded[2], *aligned[2];
        for (int i = 0; i < 2; i++) {
            guarded[i] =
                s.row->address(s.state, i ? s.out[OT_GUARDED][0] : s.in[OT_GUARDED][0]);
            aligned[i] =
                s.row->address(s.state, i ? s.out[OT_ALIGNED][0] : s.in[OT_ALIGNED][0]);
            memcpy(guarded[i], what, sizeof what);
        }
        ot_session_promote(&s);
        ot_session_drop(&s, OT_GUARDED);
        assert_ptr_equal(aligned[0], s.row->address(s.state, s.in[OT_ALIGNED][0]));
        assert_ptr_equal(aligned[1], s.row->address(s.state, s.out[OT_ALIGNED][0]));
        for (int i = 0; i < 2; i++) {
            assert_ptr_not_equal(aligned[i], guarded[i]);
            assert_int_equal(memcmp(aligned[i], what, sizeof what) == 0, cases[k].promoted);
            assert_int_equal((uintptr_t)aligned[i] % (cases[k].promoted ? 2 << 20 : 64), 0);
        }
        check_ok(ot_session_fill(&s, OT_ALIGNED, &err));
        char message[256];
        assert_true(ot_session_intact(&s, OT_ALIGNED, message, sizeof message));
        ot_session_close(&s);
    }
}

static void test_bad_reference_file(void **state)
{
    (void)state;
    char path[1100];
    optune_err err = {0};
    ot_reference r;
    snprintf(path, sizeof path, "%s/garbage", planted_dir);
    assert_int_equal(ot_reference_open(path, &r, &err), OPTUNE_ENOENT);
    check_ok(ot_write_file(path, "garbage", 7, &err));
    assert_int_equal(ot_reference_open(path, &r, &err), OPTUNE_EDAMAGED);
}

/* What a fused operator is known to is said by its own reference, where things cancel in it: gelu
 * of -5 to a part of 5, not of a millionth of that; another's to a part of what it gives. */
static void test_what_cancels_behind(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        double least, most;
    } all[] = {{"dense(f32[1,1], const f32[1,1]) -> gelu()", 50, 500},
               {"dense(f32[1,1], const f32[1,1]) -> silu()", 0, 1}};
    const float x = 1;
    const void *const in[] = {&x, &x};
    for (int i = 0; i < OT_COUNT(all); i++) {
        optune_call call;
        optune_err err = {0};
        const optune_region one = {.rank = 2, .hi = {1, 1}};
        double value = -5, magnitude = 0;
        check_ok(ot_call_parse(all[i].call, &call, &err));
        ot_reference_fused(&call, in, &one, &value, &magnitude);
        assert_true(value > -0.04 && value < 0);
        if (magnitude < all[i].least || magnitude > all[i].most)
            fail_msg("%s: %g", all[i].call, magnitude);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_what_cancels_behind),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_no_number_is_an_answer),
        cmocka_unit_test(test_poison_is_wrong),
        cmocka_unit_test(test_pieces_of_blocks),
        cmocka_unit_test(test_one_element_of_one_tile),
        cmocka_unit_test(test_reference_is_whole),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_words_are_compared),
        cmocka_unit_test(test_reference_values),
        cmocka_unit_test(test_reference_is_cut_short),
        cmocka_unit_test(test_unwritten_is_found_in_a_partial_reference),
        cmocka_unit_test(test_inputs_by_threads),
        cmocka_unit_test(test_large_by_threads),
        cmocka_unit_test(test_promoted),
        cmocka_unit_test(test_bad_reference_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
