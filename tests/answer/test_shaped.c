/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators whose output dims follow from values, as programs use them: what comes out and how
 * large it is, in functions and in graphs, on cpu and, where there is one, on opencl; and what is
 * refused.
 */
#include "support/tuning.h"

#include "answer/graph.h"
#include "graph/graph.h"
#include "support/check.h"

#include <math.h>

/* ---- functions --------------------------------------------------------------------------- */

enum { ROOM = 512 };

typedef struct outputs {
    int rank[4];
    int64_t dims[4][OPTUNE_MAX_RANK];
    double value[4][ROOM]; /* of the true shape */
} outputs;

static int64_t elements_of(const outputs *out, int o)
{
    int64_t n = 1;
    for (int d = 0; d < out->rank[o]; d++)
        n *= out->dims[o][d];
    return n;
}

/* Behind the true shape are zeros as far as the bound goes, and nothing behind that is touched. */
static int run(optune *o, const char *text, const void *const *in, outputs *out,
               optune_err *told)
{
    optune_err err = {0};
    static char data[4][ROOM * 8 + 8];
    static optune_call call;
    optune_function *f = NULL;
    void *to[4];
    for (int i = 0; i < 4; i++)
        to[i] = memset(data[i], 0x5A, sizeof data[i]);
    check_ok(ot_call_parse(text, &call, &err));
    check_ok(optune_function_open(o, &call, NULL, &f, &err));
    const int status = optune_function_run(f, in, to, told);
    for (int i = 0; i < call.n_outputs; i++) {
        const int64_t room = optune_tensor_elements(&call.output[i]);
        const int64_t bytes = optune_tensor_bytes(&call.output[i]);
        assert_true(room <= ROOM);
        for (int64_t k = status < 0 ? 0 : bytes; k < bytes + 8; k++)
            assert_int_equal(data[i][k], 0x5A);
        if (status < 0)
            continue;
        out->rank[i] = optune_function_shape(f, i, out->dims[i], &err);
        assert_int_equal(out->rank[i], call.output[i].rank);
        ot_elements(call.output[i].dtype, data[i], 0, room, out->value[i]);
        for (int64_t k = elements_of(out, i); k < room; k++)
            assert_true(out->value[i][k] == 0);
    }
    optune_function_close(f);
    return status;
}

static void check_output(const outputs *out, int o, int64_t first, int64_t second,
                         const double *value)
{
    assert_int_equal(out->dims[o][0], first);
    if (out->rank[o] > 1)
        assert_int_equal(out->dims[o][1], second);
    for (int64_t i = 0; i < elements_of(out, o); i++)
        if (out->value[o][i] != value[i])
            fail_msg("output %d[%lld] is %g, not %g", o, (long long)i, out->value[o][i],
                     value[i]);
}

#define IN(...) ((const void *const[]){__VA_ARGS__})
#define OUT(...) ((const double[]){__VA_ARGS__})
#define RUNS(o, text, in, out) check_ok(run(o, text, in, out, &err))

/* `few`: one call of each, where compiling takes long. */
static void argwhere_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    RUNS(o, "argwhere(f32[2,3])", IN(((float[]){0, NAN, -0.0f, 1, 0, -INFINITY})), &out);
    check_output(&out, 0, 3, 2, OUT(0, 1, 1, 0, 1, 2));
    if (few)
        return;
    RUNS(o, "argwhere(f32[2,3])", IN(((float[6]){0})), &out);
    check_output(&out, 0, 0, 2, NULL);
    RUNS(o, "argwhere(i64[2])", IN(((int64_t[]){INT64_MIN, 1})), &out);
    check_output(&out, 0, 2, 1, OUT(0, 1));
    RUNS(o, "argwhere(f32[])", IN(((float[]){2})), &out);
    check_output(&out, 0, 1, 0, NULL);
    RUNS(o, "argwhere(f32[])", IN(((float[]){0})), &out);
    check_output(&out, 0, 0, 0, NULL);
}

static void unique_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    const float data[] = {3, NAN, 1, 3, -0.0f, NAN, 0};
    RUNS(o, "unique(f32[7], return_counts=true)", IN(data), &out);
    assert_true(isnan(out.value[0][3]));
    out.value[0][3] = 9;
    check_output(&out, 0, 4, 0, OUT(0, 1, 3, 9));
    check_output(&out, 1, 4, 0, OUT(4, 2, 0, 1));
    check_output(&out, 2, 7, 0, OUT(2, 3, 1, 2, 0, 3, 0));
    check_output(&out, 3, 4, 0, OUT(2, 1, 2, 2));
    if (few)
        return;
    RUNS(o, "unique(f32[7], is_sorted=false)", IN(data), &out);
    assert_true(isnan(out.value[0][1]));
    out.value[0][1] = 9;
    check_output(&out, 0, 4, 0, OUT(3, 9, 1, 0));
    check_output(&out, 1, 4, 0, OUT(0, 1, 2, 4));
    check_output(&out, 2, 7, 0, OUT(0, 1, 2, 0, 3, 1, 3));
    /* neighbours that are one in double precision */
    const int64_t wide[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX};
    RUNS(o, "unique(i64[3])", IN(wide), &out);
    check_output(&out, 2, 3, 0, OUT(1, 0, 1));
    assert_int_equal(out.dims[0][0], 2);
    RUNS(o, "unique(u8[1])", IN(((uint8_t[]){255})), &out);
    check_output(&out, 0, 1, 0, OUT(255));
}

static void arange_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    const float from = 1, to = 0, down = -0.25f, up = 0.25f, none = 0, nan = NAN;
    RUNS(o, "arange(f32[], f32[], f32[], limit=8)", IN(&from, &to, &down), &out);
    check_output(&out, 0, 4, 0, OUT(1, 0.75, 0.5, 0.25));
    if (few)
        return;
    RUNS(o, "arange(f32[], f32[], f32[], limit=8)", IN(&from, &to, &up), &out);
    check_output(&out, 0, 0, 0, NULL);
    RUNS(o, "arange(f32[], f32[], f32[], limit=8)", IN(&from, &nan, &up), &out);
    check_output(&out, 0, 0, 0, NULL);
    RUNS(o, "arange(f32[], f32[], f32[], limit=4)", IN(&to, &from, &up), &out);
    check_output(&out, 0, 4, 0, OUT(0, 0.25, 0.5, 0.75));
    assert_int_equal(
        run(o, "arange(f32[], f32[], f32[], limit=3)", IN(&to, &from, &up), &out, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "more numbers than limit=3");
    assert_int_equal(
        run(o, "arange(f32[], f32[], f32[], limit=3)", IN(&to, &from, &none), &out, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "the step is 0");
    const int64_t low = INT64_MIN, high = INT64_MAX, half = INT64_MAX, back = INT64_MIN;
    RUNS(o, "arange(i64[], i64[], i64[], limit=5)", IN(&low, &high, &half), &out);
    check_output(&out, 0, 3, 0, OUT(0x1p63 * -1, -1, 0x1p63));
    RUNS(o, "arange(i64[], i64[], i64[], limit=5)", IN(&high, &low, &back), &out);
    check_output(&out, 0, 2, 0, OUT(0x1p63, -1));
    const int64_t one = 1;
    assert_int_equal(
        run(o, "arange(i64[], i64[], i64[], limit=3)", IN(&low, &high, &one), &out, &err),
        OPTUNE_EUSAGE);
    const uint64_t start = 1, stop = UINT64_MAX, stride = (uint64_t)1 << 63;
    RUNS(o, "arange(u64[], u64[], u64[], limit=5)", IN(&start, &stop, &stride), &out);
    check_output(&out, 0, 2, 0, OUT(1, 0x1p63));
}

static void slices_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    int8_t data[12];
    for (int i = 0; i < 12; i++)
        data[i] = (int8_t)(i + 1);
    const char text[] = "dyn_strided_slice(i8[3,4], i64[2], i64[2], i64[2])";
    RUNS(o, text,
         IN(data, ((int64_t[]){-1, 1}), ((int64_t[]){-4, INT64_MAX}), ((int64_t[]){-2, 2})),
         &out);
    check_output(&out, 0, 2, 2, OUT(10, 12, 2, 4));
    if (few)
        return;
    RUNS(o, text, IN(data, ((int64_t[]){0, 3}), ((int64_t[]){3, 3}), ((int64_t[]){1, 1})),
         &out);
    check_output(&out, 0, 3, 0, NULL);
    RUNS(o, text,
         IN(data, ((int64_t[]){INT64_MIN, INT64_MAX}), ((int64_t[]){INT64_MAX, INT64_MIN}),
            ((int64_t[]){INT64_MAX, INT64_MIN})),
         &out);
    check_output(&out, 0, 1, 1, OUT(4));
    assert_int_equal(
        run(o, text, IN(data, ((int64_t[]){0, 0}), ((int64_t[]){3, 3}), ((int64_t[]){1, 0})),
            &out, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "stride 2 is 0");
    RUNS(o, "dyn_strided_slice(i8[3,4], i32[1], i32[1], i32[1])",
         IN(data, ((int32_t[]){1}), ((int32_t[]){2}), ((int32_t[]){1})), &out);
    check_output(&out, 0, 1, 4, OUT(5, 6, 7, 8));
}

static void compress_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    const float data[] = {1, 2, 3, 4, 5, 6};
    RUNS(o, "compress(f32[2,3], bool[3], axis=1)", IN(data, ((uint8_t[]){1, 0, 1})), &out);
    check_output(&out, 0, 2, 2, OUT(1, 3, 4, 6));
    if (few)
        return;
    RUNS(o, "compress(f32[2,3], bool[2], axis=-1)", IN(data, ((uint8_t[]){0, 1})), &out);
    check_output(&out, 0, 2, 1, OUT(2, 5));
    RUNS(o, "compress(f32[2,3], bool[6])", IN(data, ((uint8_t[6]){0})), &out);
    check_output(&out, 0, 0, 0, NULL);
    RUNS(o, "compress(f32[2,3], bool[6])", IN(data, ((uint8_t[]){1, 1, 1, 1, 1, 1})), &out);
    check_output(&out, 0, 6, 0, OUT(1, 2, 3, 4, 5, 6));
}

static void boxes_on(optune *o, bool few)
{
    optune_err err = {0};
    static outputs out;
    /* the second overlaps the first by 9/11 of their union, the third touches it, corners turned;
     * the fourth has no number for a score */
    const float box[] = {0, 0, 10, 10, 0, 1, 10, 11, 20, 20, 10, 10, 0, 0, 1, 1};
    const float score[] = {5, 6, 5, NAN, 1, 2, 3, 4};
    RUNS(o, "non_max_suppression(f32[1,4,4], f32[1,2,4])", IN(box, score), &out);
    check_output(&out, 0, 5, 3, OUT(0, 0, 1, 0, 0, 2, 0, 1, 3, 0, 1, 2, 0, 1, 1));
    if (few)
        return;
    RUNS(o, "non_max_suppression(f32[1,4,4], f32[1,2,4], iou_threshold=1)", IN(box, score),
         &out);
    assert_int_equal(out.dims[0][0], 7);
    RUNS(o, "non_max_suppression(f32[1,4,4], f32[1,2,4], max_output_size=1)", IN(box, score),
         &out);
    check_output(&out, 0, 2, 3, OUT(0, 0, 1, 0, 1, 3));
    RUNS(o, "non_max_suppression(f32[1,4,4], f32[1,2,4], score_threshold=100)", IN(box, score),
         &out);
    check_output(&out, 0, 0, 3, NULL);
    /* by centre and size: the first two are one box */
    const float centred[] = {5, 5, 10, 10, 5, 5, 10, 10, 15, 5, 10, 10, 5, 5, 2, 2};
    RUNS(o, "non_max_suppression(f32[1,4,4], f32[1,1,4], center_point_box=true)",
         IN(centred, ((float[]){1, 1, 1, 1})), &out);
    check_output(&out, 0, 3, 3, OUT(0, 0, 0, 0, 0, 2, 0, 0, 3));
}

static optune *on_opencl(void)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {
        .size = sizeof options, .target = "opencl", .db = tuning_path("shaped_opencl")};
    if (optune_open(&options, &o, &err) < 0 || ot_context_device(o, &err) < 0) {
        optune_close(o);
        return NULL;
    }
    return o;
}

static void test_functions(void **state)
{
    (void)state;
    optune *target[] = {tuning_open("shaped"), on_opencl()};
    for (int i = 0; i < 2 && target[i]; i++) {
        argwhere_on(target[i], i > 0);
        unique_on(target[i], i > 0);
        arange_on(target[i], i > 0);
        slices_on(target[i], i > 0);
        compress_on(target[i], i > 0);
        boxes_on(target[i], i > 0);
        optune_close(target[i]);
    }
}

static void test_shape_of_a_function(void **state)
{
    (void)state;
    optune *o = tuning_open("shaped");
    optune_err err = {0};
    optune_function *f = NULL;
    int64_t dims[OPTUNE_MAX_RANK];
    const uint8_t chosen[4] = {0, 1, 0, 1};
    const float data[4] = {1, 2, 3, 4};
    float out[4];
    check_ok(optune_function_open_text(o, "compress(f32[4], const bool[4])", IN(NULL, chosen),
                                       &f, &err));
    assert_int_equal(optune_function_shape(f, 0, dims, &err), 1);
    assert_int_equal(dims[0], 4);
    check_ok(optune_function_run(f, IN(data, NULL), (void *const[]){out}, &err));
    assert_int_equal(optune_function_shape(f, 0, dims, &err), 1);
    assert_int_equal(dims[0], 2);
    assert_true(out[0] == 2 && out[1] == 4);
    assert_int_equal(optune_function_shape(f, 1, dims, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "there is no output 1");
    optune_function_close(f);
    check_ok(optune_function_open_text(o, "relu(f32[2,3])", NULL, &f, &err));
    assert_int_equal(optune_function_shape(f, 0, dims, &err), 2);
    assert_true(dims[0] == 2 && dims[1] == 3);
    optune_function_close(f);
    optune_close(o);
}

/* ---- graphs ------------------------------------------------------------------------------ */

static optune_graph *parse(const char *text)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    check_ok(optune_graph_parse(text, "test", &g, &err));
    assert_true(optune_graph_infer(g, &err) >= 0);
    return g;
}

/* What follows is computed at the true shape, another one in each run. */
static void a_graph_on(optune *o)
{
    optune_err err = {0};
    optune_graph *g = parse("x = var f32[6]\n"
                            "i = argwhere(x)\n"
                            "d = add(i, i)\n"
                            "s = sum(d, axis=[1])\n"
                            "t = sum(s)\n"
                            "u = unique(s)\n"
                            "output d, t, u.0\n");
    optune_partition *p = NULL;
    optune_program *program = NULL;
    int64_t d[6], t, u[6], dims[OPTUNE_MAX_RANK];
    void *const out[] = {d, &t, u};
    check_ok(optune_partition_open(o, g, &p, &err));
    check_ok(optune_program_open(p, &program, &err));
    assert_int_equal(optune_program_shape(program, 0, dims, &err), 2);
    assert_int_equal(dims[0], 6);
    const float some[6] = {0, 1, 0, 0, 3, 4}, none[6] = {0}, all[6] = {1, 1, 1, 1, 1, 1};
    check_ok(optune_program_run(program, IN(some), out, &err));
    assert_int_equal(optune_program_shape(program, 0, dims, &err), 2);
    assert_true(dims[0] == 3 && dims[1] == 1);
    assert_true(d[0] == 2 && d[1] == 8 && d[2] == 10 && t == 20);
    assert_int_equal(optune_program_shape(program, 2, dims, &err), 1);
    assert_true(dims[0] == 3 && u[0] == 2 && u[2] == 10);
    check_ok(optune_program_run(program, IN(none), out, &err));
    assert_int_equal(optune_program_shape(program, 0, dims, &err), 2);
    assert_true(dims[0] == 0 && t == 0);
    check_ok(optune_program_run(program, IN(all), out, &err));
    assert_int_equal(optune_program_shape(program, 2, dims, &err), 1);
    assert_true(dims[0] == 6 && t == 30 && u[5] == 10);
    assert_int_equal(optune_program_shape(program, 3, dims, &err), OPTUNE_EUSAGE);
    optune_program *clone = NULL;
    if (strcmp(o->target.kind, "cpu") != 0) {
        assert_int_equal(optune_program_clone(program, &clone, &err), OPTUNE_EUNSUPPORTED);
    } else {
        check_ok(optune_program_clone(program, &clone, &err));
        check_ok(optune_program_run(clone, IN(some), out, &err));
        assert_int_equal(optune_program_shape(clone, 0, dims, &err), 2);
        assert_true(dims[0] == 3 && t == 20);
        assert_int_equal(optune_program_shape(program, 0, dims, &err), 2);
        assert_int_equal(dims[0], 6); /* of its own last run */
    }
    optune_program_close(clone);
    optune_program_close(program);
    optune_partition_close(p);
    optune_graph_close(g);
}

/* Sums, parts and products of dims that follow from values have bounds of their own. */
static void bounds_on(optune *o)
{
    optune_err err = {0};
    optune_graph *g = parse("x = var f32[2,3]\n"
                            "i = argwhere(x)\n"
                            "c = concatenate(i, i, axis=0)\n"
                            "f = reshape(c, newshape=[-1])\n"
                            "p = pad(f, before=[1], after=[2])\n"
                            "s = strided_slice(p, begin=[0], end=[-2], strides=[1])\n"
                            "h = reshape(i, newshape=[-1,1,2])\n"
                            "j = add(reshape(h, newshape=[-1,2]), i)\n"
                            "output c, f, p, s, j\n");
    optune_partition *p = NULL;
    optune_program *program = NULL;
    int64_t c[24], f[24], padded[27], s[25], j[12], dims[OPTUNE_MAX_RANK];
    void *const out[] = {c, f, padded, s, j};
    const float some[6] = {0, 1, 0, 0, 0, 2}, none[6] = {0}, all[6] = {1, 1, 1, 1, 1, 1};
    const float *const in[] = {some, none, all};
    static const int64_t places[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}};
    check_ok(optune_partition_open(o, g, &p, &err));
    check_ok(optune_program_open(p, &program, &err));
    for (int k = 0; k < 3; k++) {
        int n = 0;
        int64_t want[27] = {0}; /* the first place is behind the pad's 0 */
        for (int e = 0; e < 6; e++)
            if (in[k][e] != 0)
                memcpy(want + 1 + 2 * n++, places[e], sizeof places[e]);
        memcpy(want + 1 + 2 * n, want + 1, sizeof(int64_t[2]) * (size_t)n);
        const int64_t length[] = {2 * n, 4 * n, 4 * n + 3, 4 * n + 1, n};
        check_ok(optune_program_run(program, IN(in[k]), out, &err));
        for (int v = 0; v < 5; v++) {
            assert_int_equal(optune_program_shape(program, v, dims, &err), v % 4 ? 1 : 2);
            assert_int_equal(dims[0], length[v]);
        }
        assert_memory_equal(c, want + 1, sizeof(int64_t[4]) * (size_t)n);
        assert_memory_equal(f, want + 1, sizeof(int64_t[4]) * (size_t)n);
        assert_memory_equal(padded, want, sizeof(int64_t) * (size_t)(4 * n + 3));
        assert_memory_equal(s, want, sizeof(int64_t) * (size_t)(4 * n + 1));
        for (int e = 0; e < 2 * n; e++)
            assert_int_equal(j[e], 2 * want[1 + e]);
    }
    optune_program_close(program);
    optune_partition_close(p);
    optune_graph_close(g);
}

static void test_graphs(void **state)
{
    (void)state;
    optune *target[] = {tuning_open("shaped"), on_opencl()};
    for (int i = 0; i < 2 && target[i]; i++) {
        a_graph_on(target[i]);
        bounds_on(target[i]);
        optune_close(target[i]);
    }
}

/* Every output is as large as the references say. */
static void test_execution(void **state)
{
    (void)state;
    optune *o = tuning_open("shaped");
    optune_err err = {0};
    static const char *const text[] = {
        "x = var f32[9,7]\nc = var bool[9]\ny = compress(x, c, axis=0)\n"
        "z = relu(y)\nm = dense(z, const f32[5,7])\noutput z, m\n",
        "x = var f32[9,7]\nb = var i64[1]\ne = var i64[1]\ns = var i64[1]\n"
        "y = dyn_strided_slice(x, b, e, s)\nz = softmax(y)\noutput z\n",
        "a = var f32[]\nb = var f32[]\nc = var f32[]\nr = arange(a, b, c, limit=50)\n"
        "q = multiply(r, r)\noutput q\n",
        "b = var f32[1,12,4]\ns = var f32[1,2,12]\nn = non_max_suppression(b, s)\n"
        "c = cast(n, dtype=i32)\noutput c\n",
    };
    for (int i = 0; i < OT_COUNT(text); i++) {
        optune_graph *g = parse(text[i]);
        optune_partition *p = NULL;
        optune_result *result = NULL;
        check_ok(optune_partition_open(o, g, &p, &err));
        assert_int_equal(optune_partition_execute(p, 1, &result, &err), OPTUNE_OK);
        assert_null(strstr(optune_result_text(result), "wrong"));
        assert_null(strstr(optune_result_text(result), "?"));
        optune_result_free(result);
        optune_partition_close(p);
        optune_graph_close(g);
    }
    optune_close(o);
}

static void test_refused(void **state)
{
    (void)state;
    optune *o = tuning_open("shaped");
    optune_err err = {0};
    optune_graph *g = parse("x = var f32[6]\ni = argwhere(x)\nd = add(i, i)\noutput d\n");
    optune_partition *p = NULL;
    optune_result *result = NULL;
    check_ok(optune_partition_open(o, g, &p, &err));
    const char *const *workloads = NULL;
    check_ok(optune_partition_workloads(p, &workloads, &err));
    assert_string_equal(workloads[0], "argwhere(f32[6])");
    assert_null(workloads[1]);
    assert_int_equal(
        optune_partition_emit(p, tuning_path("emitted"), NULL, false, &result, &err),
        OPTUNE_EUNSUPPORTED);
    check_contains(err.text,
                   "node 'i': its dims follow from values, which emitted C cannot tell");
    optune_partition_close(p);
    optune_graph_close(g);
    /* what somebody wrote is still to be bound */
    g = parse("x = var f32[?m]\ni = argwhere(x)\noutput i\n");
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_true(optune_partition_workloads(p, &workloads, &err) < 0);
    check_contains(err.text, "--bind");
    optune_partition_close(p);
    optune_graph_close(g);
    /* a relation that loses the bound */
    g = parse("x = var f32[6]\ni = argwhere(x)\nt = transpose(i, axes=[1,0])\n"
              "d = layout_transform(t, src_layout=NC, dst_layout=NC2c)\nr = relu(d)\n"
              "output r\n");
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_true(optune_partition_workloads(p, &workloads, &err) < 0);
    check_contains(err.text,
                   "node 'r': relu(i64[1,?,2]) has dims that follow from values, or from sizes "
                   "in a way that no bound is known of");
    check_contains(err.text, "or end the graph in front of it");
    optune_program *program = NULL;
    assert_true(optune_program_open(p, &program, &err) < 0);
    check_contains(err.text,
                   "node 'd': it has dims that follow from values, or from sizes in a "
                   "way that no bound is known of");
    optune_partition_close(p);
    optune_graph_close(g);
    /* what a run refuses is the node's */
    g = parse("a = var f32[]\nb = var f32[]\nc = var f32[]\nr = arange(a, b, c, "
              "limit=5)\noutput r\n");
    const float start = 0, stop = 9, step = 1;
    float out[5];
    assert_int_equal(
        optune_graph_execute(o, g, IN(&start, &stop, &step), (void *const[]){out}, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "node 'r': arange: there are more numbers than limit=5");
    optune_graph_close(g);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions), cmocka_unit_test(test_shape_of_a_function),
        cmocka_unit_test(test_graphs),    cmocka_unit_test(test_execution),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
