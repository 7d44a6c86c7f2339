/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of models as people export them, one small model of our own each: what is computed is
 * held against numbers worked out by hand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { INT32 = 6, UINT64 = 13 };

/* The graph, emptied, as a model that is read. */
static optune_graph *read_graph(ot_text *graph, int64_t opset)
{
    ot_text model = {0};
    optune_graph *g = NULL;
    optune_err err = {0};
    onnx_output(graph, "y");
    onnx_model(graph, opset, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    const int status = optune_graph_read(onnx_path, &g, &err);
    if (status < 0)
        print_error("%s\n", err.text);
    assert_true(status >= 0);
    return g;
}

static void gives(optune_graph *g, const void *const *in, int n, const float *want)
{
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i])))) {
            print_error("element %d is %.9g, not %.9g\n", i, got[i], want[i]);
            fail();
        }
    optune_values_free(values);
    optune_graph_close(g);
}

/* A number per element: Round's halves go to the even one. */
static void one_by_one(void **state)
{
    static const float x[] = {-1.5f, -0.5f, 0.5f, 2.5f};
    static const struct {
        const char *op;
        float y[4];
    } all[] = {
        {"Floor", {-2, -1, 0, 2}},
        {"Ceil", {-1, 0, 1, 3}},
        {"Round", {-2, 0, 0, 2}},
        {"Erf", {-0.96610515f, -0.52049988f, 0.52049988f, 0.99959305f}},
        {"Gelu", {-0.10021080f, -0.15426877f, 0.34573123f, 2.48447583f}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "4");
        onnx_node(&g, all[i].op, "only", "x", "y", NULL);
        gives(read_graph(&g, 20), (const void *const[]){x}, 4, all[i].y);
    }
}

/* A table of embeddings: the indices are an input, one of them from the end; what is outside is the
 * nearest slice. */
static void embeddings(void **state)
{
    static const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const int64_t tokens[] = {2, -3, 1, 7};
    static const float rows[] = {5, 6, 1, 2, 3, 4, 5, 6};
    ot_text g = {0};
    (void)state;
    onnx_initializer(&g, "table", ONNX_FLOAT, "3,2", table, sizeof table);
    onnx_input(&g, "x", ONNX_INT64, "1,4");
    onnx_node(&g, "Gather", "embed", "table x", "y", NULL);
    gives(read_graph(&g, 17), (const void *const[]){tokens}, 8, rows);
}

/* Constant indices in no order are looked up along any axis. */
static void shuffled(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int64_t order[] = {5, 0, 3, 1, 4, 2};
    static const float want[] = {6, 1, 4, 2, 5, 3, 12, 7, 10, 8, 11, 9};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "2,6");
    onnx_initializer(&g, "order", ONNX_INT64, "6", order, sizeof order);
    attr_int(&attrs, "axis", 1);
    onnx_node(&g, "Gather", "shuffle", "x order", "y", &attrs);
    gives(read_graph(&g, 17), (const void *const[]){x}, 12, want);
}

/* Opset 10 counts from corners, opset 11 from the middle of elements. */
static void images_grow(void **state)
{
    static const float x[] = {1, 2, 3, 4}, scales[] = {1, 1, 2, 2};
    static const int64_t sizes[] = {1, 1, 1, 8};
    static const float twice[] = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
    static const float corners[] = {1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4};
    static const float middles[] = {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int opset = 9; opset <= 13; opset += 4) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2");
        onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
        onnx_node(&g, opset < 10 ? "Upsample" : "Resize", "grow",
                  opset < 10 ? "x scales" : "x - scales", "y", NULL);
        gives(read_graph(&g, opset), (const void *const[]){x}, 16, twice);
    }
    static const float row[] = {1, 1, 1, 2};
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,4");
    onnx_initializer(&g, "scales", ONNX_FLOAT, "4", row, sizeof row);
    attr_text(&attrs, "mode", "linear");
    onnx_node(&g, "Resize", "grow", "x scales", "y", &attrs);
    gives(read_graph(&g, 10), (const void *const[]){x}, 8, corners);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,4");
    onnx_initializer(&g, "sizes", ONNX_INT64, "4", sizes, sizeof sizes);
    attr_text(&attrs, "mode", "linear");
    onnx_node(&g, "Resize", "grow", "x - - sizes", "y", &attrs);
    gives(read_graph(&g, 13), (const void *const[]){x}, 8, middles);
}

/* One node of x [2,3] and a parameter p; its result by hand. */
typedef struct single {
    const char *op, *attr;
    int64_t value, p[6];
    const char *dims; /* of p */
    int n;
    float out[12];
} single;

static void chosen(void **state)
{
    static const float x[] = {-1, 2, 3, 4, -5, 6};
    static const single all[] = {
        {"TopK", "axis", 1, {2}, "1", 4, {3, 2, 6, 4}},
        {"Trilu", NULL, 0, {1}, "", 6, {0, 2, 3, 0, 0, 6}},
        {"Trilu", "upper", 0, {0}, "", 6, {-1, 0, 0, 4, -5, 0}},
        {"GatherElements", "axis", 1, {2, 0, -2, 1}, "2,2", 4, {3, -1, -5, -5}},
        {"GatherElements", "axis", 0, {1, 0, -1}, "1,3", 3, {4, 2, 6}},
        {"GatherND", NULL, 0, {0, 2, -1, 0}, "2,2", 2, {3, 4}},
        {"GatherND", NULL, 0, {1}, "1,1", 3, {4, -5, 6}},
        {"CumProd", NULL, 0, {1}, "", 6, {-1, -2, -6, 4, -20, -120}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        const single *s = &all[i];
        ot_text g = {0}, attrs = {0};
        size_t count = 1;
        for (const char *d = s->dims; *d; d += strcspn(d, ","), d += *d == ',')
            count *= (size_t)strtol(d, NULL, 10);
        onnx_input(&g, "x", ONNX_FLOAT, "2,3");
        onnx_initializer(&g, "p", ONNX_INT64, s->dims, s->p, count * sizeof(int64_t));
        if (s->attr)
            attr_int(&attrs, s->attr, s->value);
        onnx_node(&g, s->op, "only", "x p", strcmp(s->op, "TopK") ? "y" : "y at", &attrs);
        print_message("%s\n", s->op);
        gives(read_graph(&g, strcmp(s->op, "CumProd") ? 14 : 26), (const void *const[]){x},
              s->n, s->out);
    }
}

/* Padding repeats what is there: the last element, the others backwards, all from the start. */
static void padded(void **state)
{
    static const float x[] = {1, 2, 3};
    static const int64_t pads[] = {2, 2};
    static const struct {
        const char *mode;
        float y[7];
    } all[] = {
        {"edge", {1, 1, 1, 2, 3, 3, 3}},
        {"reflect", {3, 2, 1, 2, 3, 2, 1}},
        {"wrap", {2, 3, 1, 2, 3, 1, 2}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "3");
        onnx_initializer(&g, "pads", ONNX_INT64, "2", pads, sizeof pads);
        attr_text(&attrs, "mode", all[i].mode);
        onnx_node(&g, "Pad", "only", "x pads", "y", &attrs);
        gives(read_graph(&g, 19), (const void *const[]){x}, 7, all[i].y);
    }
}

/* The rest of a division has the sign of what is divided. */
static void remainders(void **state)
{
    static const float x[] = {7, -7, 5.5f, -0.5f}, by[] = {3, 3, -2, INFINITY};
    static const float want[] = {1, -1, 1.5f, -0.5f};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    onnx_initializer(&g, "by", ONNX_FLOAT, "4", by, sizeof by);
    attr_int(&attrs, "fmod", 1);
    onnx_node(&g, "Mod", "rest", "x by", "y", &attrs);
    gives(read_graph(&g, 13), (const void *const[]){x}, 4, want);
}

/* What exports write with Pow is products, not calls of a slow function. */
static void powers(void **state)
{
    static const float x[] = {3, -2.5f};
    static const struct {
        float by, want[2];
        const char *written;
    } all[] = {{2, {9, 6.25f}, "multiply(x, x)"}, {3, {27, -15.625f}, ", x)"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ot_text g = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2");
        onnx_initializer(&g, "by", ONNX_FLOAT, "", &all[i].by, sizeof all[i].by);
        onnx_node(&g, "Pow", "only", "x by", "y", NULL);
        optune_graph *graph = read_graph(&g, 13);
        const char *text = optune_graph_text(graph, true);
        assert_non_null(strstr(text, all[i].written));
        assert_null(strstr(text, "power"));
        gives(graph, (const void *const[]){x}, 2, all[i].want);
    }
}

/* An index below 0 counts from the end here, too. */
static void hot(void **state)
{
    static const int64_t x[] = {1, -1}, depth[] = {3};
    static const float two[] = {0, 1}, want[] = {0, 1, 0, 0, 0, 1};
    ot_text g = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_INT64, "2");
    onnx_initializer(&g, "depth", ONNX_INT64, "1", depth, sizeof depth);
    onnx_initializer(&g, "two", ONNX_FLOAT, "2", two, sizeof two);
    onnx_node(&g, "OneHot", "only", "x depth two", "y", NULL);
    gives(read_graph(&g, 17), (const void *const[]){x}, 6, want);
}

/* The node's only output as floats. */
static optune_graph *read_as_floats(ot_text *g, const char *op, const char *inputs,
                                    ot_text *attrs)
{
    ot_text to = {0};
    onnx_node(g, op, "only", inputs, "found", attrs);
    attr_int(&to, "to", ONNX_FLOAT);
    onnx_node(g, "Cast", "cast", "found", "y", &to);
    return read_graph(g, 17);
}

/* How much comes out is in the values, of a variable and of a constant. */
static void shaped_by_values(void **state)
{
    static const float x[] = {0, 3, 0, 1, 0, 3},
                       box[] = {0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6};
    static const float score[] = {1, 2, -3}, half[] = {0.5f};
    static const uint8_t which[] = {0, 1, 1};
    static const int64_t most[] = {9};
    (void)state;
    for (int constant = 0; constant < 2; constant++) {
        ot_text g = {0};
        if (constant)
            onnx_initializer(&g, "x", ONNX_FLOAT, "2,3", x, sizeof x);
        else
            onnx_input(&g, "x", ONNX_FLOAT, "2,3");
        gives(read_as_floats(&g, "NonZero", "x", NULL), (const void *const[]){x}, 6,
              (const float[]){0, 1, 1, 1, 0, 2});
    }
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,3");
    gives(read_as_floats(&g, "Unique", "x", NULL), (const void *const[]){x}, 3,
          (const float[]){0, 1, 3});
    g = (ot_text){0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,3");
    onnx_initializer(&g, "which", ONNX_BOOL, "3", which, sizeof which);
    attr_int(&attrs, "axis", -1);
    gives(read_as_floats(&g, "Compress", "x which", &attrs), (const void *const[]){x}, 4,
          (const float[]){3, 0, 0, 3});
    g = (ot_text){0};
    onnx_input(&g, "box", ONNX_FLOAT, "1,3,4");
    onnx_input(&g, "score", ONNX_FLOAT, "1,1,3");
    onnx_initializer(&g, "most", ONNX_INT64, "1", most, sizeof most);
    onnx_initializer(&g, "half", ONNX_FLOAT, "1", half, sizeof half);
    gives(read_as_floats(&g, "NonMaxSuppression", "box score most half", NULL),
          (const void *const[]){box, score}, 6, (const float[]){0, 0, 1, 0, 0, 2});
    g = (ot_text){0};
    onnx_input(&g, "box", ONNX_FLOAT, "1,3,4");
    onnx_input(&g, "score", ONNX_FLOAT, "1,1,3");
    gives(read_as_floats(&g, "NonMaxSuppression", "box score", NULL), /* of each class none */
          (const void *const[]){box, score}, 0, NULL);
}

/* Only the dims that a node uses need numbers: how many there are may follow from values. */
static void of_as_many_as_there_are(void **state)
{
    static const float x[] = {0, 3, 0, 1, 0, 4};
    static const int64_t last[] = {-1}, first[] = {0}, all[] = {INT64_MAX};
    static const int64_t parts[] = {1, 1}, swap[] = {1, 0};
    const void *const in[] = {x};
    (void)state;
    for (int i = 0; i < 5; i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2,3");
        onnx_initializer(&g, "last", ONNX_INT64, i ? "1" : "", last, sizeof last);
        onnx_initializer(&g, "first", ONNX_INT64, "1", first, sizeof first);
        onnx_initializer(&g, "all", ONNX_INT64, "1", all, sizeof all);
        onnx_initializer(&g, "parts", ONNX_INT64, "2", parts, sizeof parts);
        onnx_node(&g, "NonZero", "find", "x", "where", NULL);
        attr_ints(&attrs, "perm", 2, swap);
        onnx_node(&g, "Transpose", "turn", "where", "places", &attrs);
        attr_int(&attrs, "axis", 1);
        switch (i) {
        case 0: /* one of the places' numbers, as a list */
        case 1: /* as a column */
            gives(read_as_floats(&g, "Gather", "places last", &attrs), in, 3,
                  (const float[]){1, 0, 2});
            break;
        case 2: /* the columns apart */
            onnx_node(&g, "Split", "apart", "places parts", "row column", &attrs);
            gives(read_as_floats(&g, "Identity", "column", NULL), in, 3,
                  (const float[]){1, 0, 2});
            break;
        case 3: /* all of the places, and one of their numbers */
            onnx_node(&g, "Slice", "all", "places first all first", "same", NULL);
            onnx_initializer(&g, "second", ONNX_INT64, "1", parts, sizeof *parts);
            gives(read_as_floats(&g, "Slice", "same last all second", NULL), in, 3,
                  (const float[]){1, 0, 2});
            break;
        default: /* what is not 0 */
            onnx_node(&g, "GatherND", "look", "x places", "y", NULL);
            gives(read_graph(&g, 17), in, 3, (const float[]){3, 1, 4});
        }
        ot_text_release(&attrs);
    }
}

/* -inf around an image, which no attribute can say, and the largest of windows of which the last
 * reaches beyond the image along its rows only; Dropout's mask is all true. */
static void pooled_behind_nothing(void **state)
{
    static const float x[] = {1, 5, 2, 4, 3, -6, 0, 7, 9, 8, 11, 10}, none = -INFINITY;
    static const int64_t pads[] = {0, 0, 0, 1, 0, 0, 0, 0}, kernel[] = {2, 3},
                         stride[] = {3, 3};
    static const int64_t below[] = {0, 0, 1, 0};
    static const float want[] = {5, 7};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,3,4");
    onnx_initializer(&g, "pads", ONNX_INT64, "8", pads, sizeof pads);
    onnx_initializer(&g, "none", ONNX_FLOAT, "", &none, sizeof none);
    onnx_node(&g, "Pad", "around", "x pads none", "p", NULL);
    attr_ints(&attrs, "kernel_shape", 2, kernel);
    attr_ints(&attrs, "strides", 2, stride);
    attr_ints(&attrs, "pads", 4, below);
    attr_int(&attrs, "ceil_mode", 1);
    onnx_node(&g, "MaxPool", "pool", "p", "m", &attrs);
    onnx_node(&g, "Dropout", "drop", "m", "d mask", NULL);
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(&g, "Cast", "number", "mask", "one", &attrs);
    onnx_node(&g, "Mul", "times", "d one", "y", NULL);
    gives(read_graph(&g, 19), (const void *const[]){x}, 2, want);
}

/* By what is not known before it runs; all bits and more, and backwards, leave the sign. */
static void shifts_of_integers(void **state)
{
    static const int64_t wide[] = {-(1ll << 62) - 1, 5, -1, 9, -(1ll << 40) - 1};
    static const int32_t narrow[] = {-3, 5, 1, 7, -7};
    static const uint64_t plain[] = {UINT64_MAX, 1ull << 63, 3, 9, (1ull << 53) + 1};
    static const struct {
        const char *direction;
        int type;
        const void *data;
        float by[5], y[5];
    } all[] = {
        {"RIGHT", ONNX_INT64, wide, {62, 1, 70, -1, 0}, {-2, 2, -1, 0, -1099511627777.0f}},
        {"RIGHT", INT32, narrow, {1, 2, 32, -1, 31}, {-2, 1, 0, 0, -1}},
        {"LEFT", INT32, narrow, {1, 31, 32, -1, 4}, {-6, -2147483648.0f, 0, 0, -112}},
        {"RIGHT", UINT64, plain, {63, 60, 1, 64, 53}, {1, 8, 1, 0, 1}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "5");
        onnx_initializer(&g, "v", all[i].type, "5", all[i].data,
                         all[i].type == INT32 ? sizeof narrow : sizeof wide);
        attr_int(&attrs, "to", all[i].type == UINT64 ? ONNX_INT64 : all[i].type);
        onnx_node(&g, "Cast", "bits", "x", "signed", &attrs);
        attr_int(&attrs, "to", all[i].type);
        onnx_node(&g, "Cast", "bits", "signed", "by", &attrs);
        attr_text(&attrs, "direction", all[i].direction);
        onnx_node(&g, "BitShift", "shift", "v by", "z", &attrs);
        attr_int(&attrs, "to", ONNX_FLOAT);
        onnx_node(&g, "Cast", "end", "z", "y", &attrs);
        onnx_gives(&g, 28, all[i].by, 5, all[i].y, 0);
    }
}

/* Rests of floats with the divisor's sign; infinity leaves what has its own. */
static void rests_of_floats(void **state)
{
    static const float x[] = {5.5f, -5.5f, 5.5f, -5.5f, 3},
                       want[] = {1.5f, .5f, -.5f, -1.5f, 3};
    static const float by[] = {2, 2, -2, -2, INFINITY};
    ot_text g = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "5");
    onnx_initializer(&g, "by", ONNX_FLOAT, "5", by, sizeof by);
    onnx_node(&g, "Mod", "rest", "x by", "y", NULL);
    onnx_gives(&g, 28, x, 5, want, 0);
}

/* The sign is compared: numbers whose product is less than any have one, too. */
static void rests_of_small_doubles(void **state)
{
    static const double x[] = {1e-170, -1e-170, 1e-170, -0.0,  0,
                               4e300,  -2e-308, 1e-170, 1e-170},
                        by[] = {-3e-170, 3e-170, 3e-170,   3,        -3,
                                -3e300,  3e-308, INFINITY, -INFINITY};
    static const double want[] = {-2e-170, 2e-170, 1e-170, 0,        0,
                                  -2e300,  1e-308, 1e-170, -INFINITY};
    enum { N = sizeof x / sizeof *x };
    optune_err err = {0};
    optune_values *values = NULL;
    ot_text g = {0};
    char dims[8];
    (void)state;
    snprintf(dims, sizeof dims, "%d", (int)N);
    onnx_input(&g, "x", ONNX_DOUBLE, dims);
    onnx_initializer(&g, "by", ONNX_DOUBLE, dims, by, sizeof by);
    onnx_node(&g, "Mod", "rest", "x by", "y", NULL);
    optune_graph *graph = read_graph(&g, 13);
    check_ok(optune_graph_evaluate(graph, (const void *const[]){x}, NULL, &values, &err));
    const double *y = optune_values_data(values, 0);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == want[i] || fabs(y[i] / want[i] - 1) < 1e-12);
    optune_values_free(values);
    optune_graph_close(graph);
}

/* A label that an input has twice is its diagonal; without an arrow the result has not got it. */
static void diagonals_of_sums(void **state)
{
    static const float x[] = {1, 2, 3, 4, 10, 20, 30, 40}, m[] = {1, -1, 2, 5};
    static const struct {
        const char *equation, *dims;
        int n;
        float y[8];
    } all[] = {{"bii->bi", "2,2,2", 4, {1, 4, 10, 40}},
               {"ibi->ib", "2,2,2", 4, {1, 3, 20, 40}},
               {"bii", "2,2,2", 2, {5, 50}},
               {"iii->i", "2,2,2", 2, {1, 40}},
               {"bii,ij->bj", "2,2,2", 4, {9, 19, 90, 190}},
               {"ijij->j", "2,1,2,1", 1, {5}}};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        print_message("%s\n", all[i].equation);
        onnx_input(&g, "x", ONNX_FLOAT, all[i].dims);
        onnx_initializer(&g, "m", ONNX_FLOAT, "2,2", m, sizeof m);
        attr_text(&attrs, "equation", all[i].equation);
        onnx_node(&g, "Einsum", "sum", strchr(all[i].equation, ',') ? "x m" : "x", "y", &attrs);
        onnx_gives(&g, 13, x, all[i].n, all[i].y, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_of_integers),
        cmocka_unit_test(rests_of_floats),
        cmocka_unit_test(rests_of_small_doubles),
        cmocka_unit_test(diagonals_of_sums),
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(embeddings),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(images_grow),
        cmocka_unit_test(chosen),
        cmocka_unit_test(padded),
        cmocka_unit_test(of_as_many_as_there_are),
        cmocka_unit_test(pooled_behind_nothing),
        cmocka_unit_test(shaped_by_values),
        cmocka_unit_test(remainders),
        cmocka_unit_test(hot),
        cmocka_unit_test(powers),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
