/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sort, argsort, topk, cumsum and cumprod say of NaN, zeros, ties, infinities and extreme
 * integers, for every implementation and its reference, against a plain oracle of the test's
 * own.
 */
#include <math.h>

#include "support/check.h"
#include "support/direct.h"

enum { MOST = 4096, CONFIGS = 2 };

/* ---- the oracle: comparing two elements as the specification says -------------------------- */

typedef struct ordering {
    const double *x; /* of any type; integers are below 2^53 in these tests, or handled apart */
    bool ascend;
} ordering;

static const ordering *oracle;

static int compare(const void *a, const void *b)
{
    const int i = *(const int *)a, j = *(const int *)b;
    const double x = oracle->x[i], y = oracle->x[j];
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? (i > j) - (i < j) : isnan(x) ? 1 : -1;
    if (x != y)
        return (x < y) == oracle->ascend ? -1 : 1;
    return (i > j) - (i < j);
}

static void oracle_order(const double *x, int n, bool ascend, int *index)
{
    const ordering l = {x, ascend};
    oracle = &l;
    for (int i = 0; i < n; i++)
        index[i] = i;
    qsort(index, (size_t)n, sizeof *index, compare);
}

/* ---- data that is hard to order ------------------------------------------------------------- */

static const double special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0,    -0.0,    1e-40, -1e-40,
                                 1.0, -1.0, 1.0,      2.0,       3.0e38, -3.0e38, 0.0,   -0.0};
enum { PATTERNS = 7 };

static double pattern(int which, int64_t i, int64_t n, uint64_t *rng)
{
    switch (which) {
    case 0:
        return special[optune_random_below(rng, 16)];
    case 1: /* numbers among few NaNs */
        return optune_random_below(rng, 20) ? optune_random_unit(rng) - 0.5 : NAN;
    case 2:
        return (double)i;
    case 3:
        return (double)(n - i);
    case 4: /* many ties */
        return (double)optune_random_below(rng, 3);
    case 5:
        return NAN;
    default: /* few numbers among NaNs, and equal ones */
        return i % 37 == 5 ? -1.0 : i % 2 ? NAN : -NAN;
    }
}

static double whole_pattern(int which, int64_t i, int64_t n, uint64_t *rng, bool wide)
{
    static const double extreme[] = {-2147483648.0, 2147483647.0, 0, -1, 1, -2147483647.0};
    static const double wider[] = {-0x1p63, 0x1p52, 0, -1, 1, -0x1p52};
    switch (which) {
    case 0:
        return (wide ? wider : extreme)[optune_random_below(rng, 6)];
    case 2:
    case 3:
    case 4:
        return pattern(which, i, n, rng);
    case 5:
        return wide ? -0x1p63 : -2147483648.0;
    default:
        return (double)optune_random_below(rng, 2001) - 1000;
    }
}

static void put(optune_dtype dtype, void *to, int64_t i, double x)
{
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        ((float *)to)[i] = (float)x;
    else if (dtype.bits == 16)
        ot_elements_set(dtype, to, i, 1, &x);
    else if (dtype.code == OPTUNE_DTYPE_FLOAT)
        ((double *)to)[i] = x;
    else if (dtype.bits == 32)
        ((int32_t *)to)[i] = (int32_t)x;
    else
        ((int64_t *)to)[i] = (int64_t)x;
}

static double get(optune_dtype dtype, const void *from, int64_t i)
{
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        return (double)((const float *)from)[i];
    if (dtype.bits == 16) {
        double x;
        ot_elements(dtype, from, i, 1, &x);
        return x;
    }
    if (dtype.code == OPTUNE_DTYPE_FLOAT)
        return ((const double *)from)[i];
    return dtype.bits == 32 ? (double)((const int32_t *)from)[i]
                            : (double)((const int64_t *)from)[i];
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- sort, argsort, topk -------------------------------------------------------------------- */

typedef struct order_case {
    const optune_call *call;
    const char *what;
    int values, indices; /* which output; -1: none */
    int64_t outer, n, inner, k;
    bool ascend;
    void *data, *out[2];
} order_case;

static void wrong(const order_case *c, const char *which, int64_t line, int64_t i, double got,
                  double want)
{
    fail_msg("%s: %s of line %lld, place %lld: got %g, want %g", c->what, which,
             (long long)line, (long long)i, got, want);
}

static void check_line(const order_case *c, int64_t o, int64_t w)
{
    static double x[MOST];
    static int index[MOST];
    const optune_dtype dtype = c->call->input[0].type.dtype;
    for (int64_t i = 0; i < c->n; i++)
        x[i] = get(dtype, c->data, (o * c->n + i) * c->inner + w);
    oracle_order(x, (int)c->n, c->ascend, index);
    for (int64_t i = 0; i < c->k; i++) {
        const int64_t at = (o * c->k + i) * c->inner + w;
        const double want = x[index[i]];
        if (c->indices >= 0) {
            const double got = get(c->call->output[c->indices].dtype, c->out[c->indices], at);
            if (got != index[i])
                wrong(c, "index", o * c->inner + w, i, got, index[i]);
        }
        if (c->values < 0)
            continue;
        const double got = get(dtype, c->out[c->values], at);
        const bool tied = isnan(want) || want == 0; /* no index, no telling apart */
        if (c->indices < 0 && tied ? isnan(got) != isnan(want) || (want == 0 && got != 0)
                                   : !same_bits(got, want) && !(isnan(got) && isnan(want)))
            wrong(c, "value", o * c->inner + w, i, got, want);
        /* without an index -0.0 is below 0.0 */
        if (c->indices < 0 && got == 0 && i > 0) {
            const double before = get(dtype, c->out[c->values], at - c->inner);
            if (before == 0 && signbit(before) != signbit(got) &&
                (bool)signbit(before) != c->ascend)
                wrong(c, "zero", o * c->inner + w, i, got, before);
        }
    }
}

static void check_order(const order_case *c)
{
    for (int64_t o = 0; o < c->outer; o++)
        for (int64_t w = 0; w < c->inner; w++)
            check_line(c, o, w);
}

static void fill(const order_case *c, int which)
{
    const optune_tensor *type = &c->call->input[0].type;
    const int64_t all = optune_tensor_elements(type);
    uint64_t rng = 7 + (uint64_t)which;
    for (int64_t i = 0; i < all; i++) {
        const int64_t at = i / c->inner % c->n;
        put(type->dtype, c->data, i,
            type->dtype.code == OPTUNE_DTYPE_FLOAT || type->dtype.code == OPTUNE_DTYPE_BFLOAT
                ? pattern(which, at, c->n, &rng)
                : whole_pattern(which, at, c->n, &rng, type->dtype.bits == 64));
    }
}

/* The operator's own reference says the same. */
static void reference_outputs(order_case *c)
{
    const void *in[] = {c->data};
    for (int o = 0; o < c->call->n_outputs; o++) {
        const optune_tensor *type = &c->call->output[o];
        const int64_t n = optune_tensor_elements(type);
        double *value = ot_alloc((size_t)n * sizeof *value);
        double *magnitude = ot_alloc((size_t)n * sizeof *value);
        optune_region region;
        c->call->op->reference(c->call, in, o, ot_region_whole(type, &region), value,
                               magnitude);
        for (int64_t i = 0; i < n; i++)
            put(type->dtype, c->out[o], i, value[i]);
        free(value);
        free(magnitude);
    }
}

static order_case order_case_of(const optune_call *call)
{
    order_case c = {.call = call, .values = -1, .indices = -1, .outer = 1, .n = 1, .inner = 1};
    const optune_tensor *data = &call->input[0].type;
    int64_t axis = optune_call_int(call, "axis");
    axis += axis < 0 ? data->rank : 0;
    for (int d = 0; d < data->rank; d++)
        *(d < axis ? &c.outer : d == axis ? &c.n : &c.inner) *= data->dim[d].min;
    c.k = call->output[0].dim[axis].min;
    c.ascend = optune_call_int(call, "is_ascend");
    const bool sort = strcmp(call->op->name, "sort") == 0;
    const char *type = strcmp(call->op->name, "topk") == 0 ? optune_call_word(call, "ret_type")
                       : sort                              ? "values"
                                                           : "indices";
    if (strcmp(type, "indices") != 0)
        c.values = 0;
    if (strcmp(type, "values") != 0)
        c.indices = c.values + 1;
    c.data = ot_alloc((size_t)optune_tensor_bytes(data) + 64);
    for (int i = 0; i < call->n_outputs; i++)
        c.out[i] = ot_alloc((size_t)optune_tensor_bytes(&call->output[i]) + 64);
    return c;
}

static void release(order_case *c)
{
    free(c->data);
    for (int i = 0; i < c->call->n_outputs; i++)
        free(c->out[i]);
}

static void order_by_reference(const char *text)
{
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    order_case c = order_case_of(&call);
    c.what = text;
    for (int p = 0; p < PATTERNS; p++) {
        fill(&c, p);
        reference_outputs(&c);
        check_order(&c);
    }
    release(&c);
}

static void order_by_impls(const char *op, const char *text)
{
    int n, seen = 0;
    const optune_impl *const *impl = ot_impls(&n);
    char what[256];
    for (int i = 0; i < n * CONFIGS; i++) {
        if (strcmp(impl[i / CONFIGS]->op, op) != 0)
            continue;
        direct *d = direct_open(impl[i / CONFIGS], text, i % CONFIGS);
        if (!d)
            continue;
        order_case c = order_case_of(direct_call(d));
        snprintf(what, sizeof what, "%s (config %d) of %s", impl[i / CONFIGS]->name,
                 i % CONFIGS, text);
        c.what = what;
        for (int p = 0; p < PATTERNS; p++) {
            fill(&c, p);
            direct_run(d, (const void *const[]){c.data}, c.out);
            check_order(&c);
        }
        release(&c);
        direct_close(d);
        seen++;
    }
    assert_true(seen > 0);
}

static const char *const orders[][2] = {
    {"sort", "sort(f32[19,67])"},
    {"sort", "sort(f32[2,2003], is_ascend=false)"},
    {"sort", "sort(f64[3,130,3], axis=1, is_ascend=false)"},
    {"sort", "sort(bf16[19,67])"},
    {"sort", "sort(i32[5,301])"},
    {"sort", "sort(i64[3,90], is_ascend=false)"},
    {"argsort", "argsort(f32[19,67])"},
    {"argsort", "argsort(f32[2,2003], is_ascend=false)"},
    {"argsort", "argsort(f64[2,130,3], axis=1, is_ascend=false, dtype=i64)"},
    {"argsort", "argsort(f16[2,2003], is_ascend=false)"},
    {"argsort", "argsort(i32[5,301], is_ascend=false)"},
    {"topk", "topk(f32[19,67], k=3)"},
    {"topk", "topk(f32[2,2003], k=30, is_ascend=true)"},
    {"topk", "topk(f32[3,150,17], k=5, axis=1)"},
    {"topk", "topk(f32[21,80], k=4, ret_type=values)"},
    {"topk", "topk(bf16[2,2003], k=30, is_ascend=true)"},
    {"topk", "topk(f16[21,80], k=4, ret_type=values)"},
    {"topk", "topk(f64[3,700], k=7)"},
    {"topk", "topk(i32[5,301], k=8, ret_type=indices)"},
    {"topk", "topk(i64[3,90], k=0, is_ascend=true)"},
};

static void test_order_reference(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(orders); i++)
        order_by_reference(orders[i][1]);
}

static void test_order_impls(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(orders); i++)
        order_by_impls(orders[i][0], orders[i][1]);
}

/* ---- cumsum, cumprod ------------------------------------------------------------------------- */

typedef void (*scan_check)(const char *what, const void *in, const void *out, int n);

static void scan_by_impls(const char *op, const char *text, const void *in, int n,
                          size_t out_bytes, scan_check check)
{
    int count, seen = 0;
    const optune_impl *const *impl = ot_impls(&count);
    for (int i = 0; i < count * CONFIGS; i++) {
        if (strcmp(impl[i / CONFIGS]->op, op) != 0)
            continue;
        direct *d = direct_open(impl[i / CONFIGS], text, i % CONFIGS);
        if (!d)
            continue;
        void *out = aligned_alloc(64, (out_bytes + 63) / 64 * 64);
        assert_non_null(out);
        direct_run(d, &in, &out);
        check(impl[i / CONFIGS]->name, in, out, n);
        free(out);
        direct_close(d);
        seen++;
    }
    assert_true(seen > 0);
}

enum { LINE = 301, NAN_AT = 150, WIDTH = 37 };

static void check_nan_line(const char *what, const void *in, const void *out, int n)
{
    (void)in;
    const float *y = out;
    for (int i = 0; i < n; i++)
        if (isnan(y[i]) != (i >= NAN_AT))
            fail_msg("%s: element %d is %g", what, i, (double)y[i]);
    assert_false(signbit(y[0])); /* -0.0 after nothing is 0.0 */
}

static void check_nan_columns(const char *what, const void *in, const void *out, int n)
{
    (void)in;
    const float *y = out;
    for (int i = 0; i < n; i++)
        if (isnan(y[i]) != (i % WIDTH == 5 && i / WIDTH > 3)) /* exclusive */
            fail_msg("%s: element %d is %g", what, i, (double)y[i]);
}

static void check_infinity(const char *what, const void *in, const void *out, int n)
{
    (void)in;
    const double *y = out;
    for (int i = 0; i < n; i++) /* inf from 10 on; inf - inf from 200 on */
        if ((i >= 10) != !isfinite(y[i]) || (i >= 200) != isnan(y[i]))
            fail_msg("%s: element %d is %g", what, i, y[i]);
}

static void check_wrap(const char *what, const void *in, const void *out, int n)
{
    const int32_t *x = in, *y = out;
    uint32_t sum = 0;
    for (int i = 0; i < n; i++)
        if (y[i] != (int32_t)(sum += (uint32_t)x[i]))
            fail_msg("%s: element %d is %d", what, i, y[i]);
}

static void check_wrap_product(const char *what, const void *in, const void *out, int n)
{
    const int32_t *x = in;
    const int64_t *y = out;
    uint64_t product = 1;
    for (int i = 0; i < n; i++) { /* exclusive */
        if (y[i] != (int64_t)product)
            fail_msg("%s: element %d is %lld", what, i, (long long)y[i]);
        product *= (uint64_t)(int64_t)x[i];
    }
}

static void test_scans(void **state)
{
    (void)state;
    static float x[LINE];
    static double wide[LINE];
    static int32_t whole[LINE];
    for (int i = 0; i < LINE; i++) {
        x[i] = i == 0 ? -0.0f : i == NAN_AT ? NAN : 1;
        wide[i] = i == 10 ? INFINITY : i == 200 ? -INFINITY : 0.5;
        whole[i] = i % 3 ? INT32_MAX - i : INT32_MIN + i;
    }
    scan_by_impls("cumsum", "cumsum(f32[301])", x, LINE, sizeof x, check_nan_line);
    scan_by_impls("cumsum", "cumsum(f64[301])", wide, LINE, sizeof wide, check_infinity);
    scan_by_impls("cumsum", "cumsum(i32[301])", whole, LINE, sizeof whole, check_wrap);
    scan_by_impls("cumprod", "cumprod(i32[301], dtype=i64, exclusive=true)", whole, LINE,
                  2 * sizeof whole, check_wrap_product);
    static float columns[8 * WIDTH];
    columns[3 * WIDTH + 5] = NAN;
    scan_by_impls("cumsum", "cumsum(f32[8,37], axis=0, exclusive=true)", columns, 8 * WIDTH,
                  sizeof columns, check_nan_columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_reference),
        cmocka_unit_test(test_order_impls),
        cmocka_unit_test(test_scans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
