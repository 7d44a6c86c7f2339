/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random models found: attributes that a file leaves out because they are 0, integers that are
 * averaged and divided, pads that follow from an output's shape, lookups by batch, shapes of
 * nothing. What each small model gives is worked out by hand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { INT32 = 6 };

/* `n` elements, computed from these inputs. */
static optune_values *given(ot_text *graph, int64_t opset, const void *const *in, int n,
                            optune_graph **g)
{
    optune_values *values = NULL;
    optune_err err = {0};
    if (onnx_read(graph, opset, g, &err) < 0)
        fail_msg("%s", err.text);
    check_ok(optune_graph_evaluate(*g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    return values;
}

static void counts(ot_text *graph, const void *const *in, int n, const int32_t *want)
{
    optune_graph *g;
    optune_values *values = given(graph, 17, in, n, &g);
    const int32_t *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

/* An attribute of a name and a type alone, as a writer of proto3 leaves 0 out. */
static void attr_zero(ot_text *attrs, const char *name, int type)
{
    ot_text one = {0};
    wire_text(&one, 1, name);
    wire_int(&one, 20, type);
    wire_part(attrs, 5, &one);
}

static void zeros_that_are_left_out(void **state)
{
    static const float x[] = {-2, -1, 1, 2}, none[] = {0, 0, 1, 2}, sum[] = {-3, 3};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4");
    attr_zero(&attrs, "alpha", 1);
    onnx_node(&g, "LeakyRelu", "only", "x", "y", &attrs);
    onnx_gives(&g, 17, x, 4, none, 1e-5f);
    static const int64_t axis = 1;
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "axes", ONNX_INT64, "1", &axis, sizeof axis);
    attr_zero(&attrs, "keepdims", 2);
    onnx_node(&g, "ReduceSum", "sum", "x axes", "s", &attrs);
    onnx_node(&g, "Identity", "only", "s", "y", NULL);
    onnx_gives(&g, 17, x, 2, sum, 1e-5f);
    optune_graph *read = NULL;
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "axes", ONNX_INT64, "1", &axis, sizeof axis);
    attr_zero(&attrs, "keepdims", 2);
    onnx_node(&g, "ReduceSum", "only", "x axes", "y", &attrs);
    check_ok(onnx_read(&g, 17, &read, &err));
    assert_int_equal(optune_graph_output_type(read, 0)->rank, 1);
    optune_graph_close(read);
}

/* max(0, x) + min(0, alpha (exp(x / alpha) - 1)), alpha below 0, too. */
static void celu_of_either_sign(void **state)
{
    static const float x[] = {-1, 0, 2}, want[] = {-1.7182818f, 0, 2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "3");
    attr_real(&attrs, "alpha", -1);
    onnx_node(&g, "Celu", "only", "x", "y", &attrs);
    onnx_gives(&g, 17, x, 3, want, 1e-5f);
}

/* Means, roots and quotients of integers are cut off towards 0. */
static void integers(void **state)
{
    static const int32_t x[] = {-3, -4, 5, 6}, by[] = {2, -3, 2, 7};
    static const int32_t mean[] = {-3, 5}, size[] = {5, 7}, over[] = {-1, 1, 2, 0},
                         rest[] = {1, -1, 1, 6}, both[] = {0, -4, 0, 6},
                         either[] = {-1, -3, 7, 7}, one_of[] = {-1, 1, 7, 1};
    static const int64_t axes[] = {1};
    static const struct {
        const char *op;
        const int32_t *want;
    } folds[] = {{"ReduceMean", mean}, {"ReduceL2", size}}, pairs[] = {{"Div", over},
                                                                       {"Mod", rest},
                                                                       {"BitwiseAnd", both},
                                                                       {"BitwiseOr", either},
                                                                       {"BitwiseXor", one_of}};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(folds); i++) {
        onnx_input(&g, "x", INT32, "2,2");
        attr_ints(&attrs, "axes", 1, axes);
        onnx_node(&g, folds[i].op, "only", "x", "y", &attrs);
        counts(&g, (const void *const[]){x}, 2, folds[i].want);
    }
    for (int i = 0; i < OT_COUNT(pairs); i++) {
        onnx_input(&g, "x", INT32, "4");
        onnx_input(&g, "by", INT32, "4");
        onnx_node(&g, pairs[i].op, "only", "x by", "y", NULL);
        counts(&g, (const void *const[]){x, by}, 4, pairs[i].want);
    }
}

/* A row of two, stride 2, a kernel of 1 2 3: 1 2 4 4 6 before anything is cut off. */
static void transposed_to_a_shape(void **state)
{
    static const float x[] = {1, 2}, w[] = {1, 2, 3};
    static const float upper[] = {1, 2, 5, 4}, lower[] = {2, 5, 4, 6},
                       six[] = {1, 2, 5, 4, 6, 0};
    static const int64_t stride[] = {2, 1, 1}, shape[] = {6, 1, 1};
    static const struct {
        const char *pad;
        int n;
        const float *want;
    } all[] = {{"SAME_UPPER", 4, upper}, {"SAME_LOWER", 4, lower}, {NULL, 6, six}};
    (void)state;
    for (int k = 0; k < 2 * OT_COUNT(all); k++) {
        const int i = k / 2, dims = k % 2 ? 3 : 1; /* as a volume, too */
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, dims == 3 ? "1,1,2,1,1" : "1,1,2");
        onnx_initializer(&g, "w", ONNX_FLOAT, dims == 3 ? "1,1,3,1,1" : "1,1,3", w, sizeof w);
        attr_ints(&attrs, "strides", dims, stride);
        if (all[i].pad)
            attr_text(&attrs, "auto_pad", all[i].pad);
        else
            attr_ints(&attrs, "output_shape", dims, shape);
        onnx_node(&g, "ConvTranspose", "only", "x w", "y", &attrs);
        onnx_gives(&g, 17, x, all[i].n, all[i].want, 1e-5f);
    }
}

/* Two images of a row of two pairs: of each batch the places are its own. */
static void places_by_batch(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, want[] = {3, 4, 5, 6};
    static const int64_t at[] = {1, -2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "2,2,2");
    onnx_initializer(&g, "at", ONNX_INT64, "2,1", at, sizeof at);
    attr_int(&attrs, "batch_dims", 1);
    onnx_node(&g, "GatherND", "only", "x at", "y", &attrs);
    onnx_gives(&g, 17, x, 4, want, 1e-5f);
}

/* [2,0,3] as [0,6] and laid flat. */
static void shapes_of_nothing(void **state)
{
    static const int64_t shape[] = {0, 6};
    for (int flat = 0; flat < 2; flat++) {
        ot_text g = {0}, attrs = {0};
        optune_graph *read = NULL;
        optune_err err = {0};
        (void)state;
        onnx_input(&g, "x", ONNX_FLOAT, "2,0,3");
        onnx_initializer(&g, "shape", ONNX_INT64, "2", shape, sizeof shape);
        attr_int(&attrs, flat ? "axis" : "allowzero", flat ? 2 : 1);
        onnx_node(&g, flat ? "Flatten" : "Reshape", "only", flat ? "x" : "x shape", "y",
                  &attrs);
        if (onnx_read(&g, 17, &read, &err) < 0)
            fail_msg("%s", err.text);
        const optune_tensor *type = optune_graph_output_type(read, 0);
        assert_int_equal(type->rank, 2);
        assert_int_equal(type->dim[0].min, 0);
        assert_int_equal(type->dim[1].min, flat ? 3 : 6);
        optune_graph_close(read);
    }
}

/* What is read with open dims and bound behind is what is read with bound ones. */
static void open_images(void **state)
{
    static const int64_t three[] = {3, 3}, two[] = {2, 2}, ones[] = {1, 1, 1, 1};
    enum { PLANE = 4 * 6 * 5 };
    float x[PLANE];
    (void)state;
    for (int i = 0; i < PLANE; i++)
        x[i] = (float)(i * 37 % 101);
    for (int which = 0; which < 3; which++) {
        const void *in = x;
        optune_values *values[2] = {NULL};
        optune_graph *g[2] = {NULL};
        optune_err err = {0};
        for (int open = 0; open < 2; open++) {
            ot_text graph = {0}, attrs = {0};
            onnx_input(&graph, "x", ONNX_FLOAT, open ? "1,4,h,w" : "1,4,6,5");
            if (which < 2) {
                attr_int(&attrs, "blocksize", 2);
                attr_text(&attrs, "mode", which ? "CRD" : "DCR");
                onnx_node(&graph, "DepthToSpace", "only", "x", "y", &attrs);
            } else {
                attr_ints(&attrs, "kernel_shape", 2, three);
                attr_ints(&attrs, "strides", 2, two);
                attr_ints(&attrs, "pads", 4, ones);
                attr_int(&attrs, "ceil_mode", 1);
                onnx_node(&graph, "MaxPool", "only", "x", "y", &attrs);
            }
            if (onnx_read(&graph, 17, &g[open], &err) < 0)
                fail_msg("%s", err.text);
            if (open) {
                check_ok(optune_graph_bind(g[open], "h", 6, &err));
                check_ok(optune_graph_bind(g[open], "w", 5, &err));
                check_ok(optune_graph_infer(g[open], &err));
            }
            check_ok(optune_graph_evaluate(g[open], &in, NULL, &values[open], &err));
        }
        const optune_tensor *type = optune_values_type(values[0], 0);
        assert_true(optune_tensor_elements(type) > 0);
        assert_int_equal(optune_tensor_bytes(type),
                         optune_tensor_bytes(optune_values_type(values[1], 0)));
        assert_memory_equal(optune_values_data(values[0], 0), optune_values_data(values[1], 0),
                            (size_t)optune_tensor_bytes(type));
        for (int open = 0; open < 2; open++) {
            optune_values_free(values[open]);
            optune_graph_close(g[open]);
        }
    }
}

/* A vector, and a matrix, against one batch of one matrix. */
static void one_batch(void **state)
{
    static const float x[] = {1, 2, 3, -1}, w[] = {1, 0, 2, 3, 1, -1},
                       row[] = {7, 2, 0, 0, -1, 7};
    (void)state;
    for (int rows = 1; rows <= 2; rows++) {
        ot_text g = {0};
        onnx_input(&g, "x", ONNX_FLOAT, rows == 1 ? "2" : "2,2");
        onnx_initializer(&g, "w", ONNX_FLOAT, "1,2,3", w, sizeof w);
        onnx_node(&g, "MatMul", "only", "x w", "y", NULL);
        onnx_gives(&g, 17, x, 3 * rows, row, 1e-5f);
    }
}

/* Of [2,3] two elements are told, by one number or by one along each dim; others are 0. */
static void mostly_zeros(void **state)
{
    static const float x[] = {1, 2}, few[] = {5, -3}, want[] = {0, 5, -6};
    static const int64_t flat[] = {1, 5}, each[] = {0, 1, 1, 2}, outside[] = {1, 6},
                         below[] = {0, 1, -1, 2};
    static const struct {
        const int64_t *place;
        int each;
        bool fits;
    } all[] = {{flat, 1, true}, {each, 2, true}, {outside, 1, false}, {below, 2, false}};
    (void)state;
    for (int i = 0; i < 2 * OT_COUNT(all); i++) {
        const int64_t *place = all[i / 2].place;
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2");
        if (i % 2) {
            attr_sparse(&attrs, "sparse_value", "2,3", 2, few, all[i / 2].each, place);
            onnx_node(&g, "Constant", "known", "", "w", &attrs);
        } else {
            onnx_sparse(&g, "w", "2,3", 2, few, all[i / 2].each, place);
        }
        onnx_node(&g, "MatMul", "only", "x w", "y", NULL);
        if (all[i / 2].fits) {
            onnx_gives(&g, 17, x, 3, want, 1e-5f);
            continue;
        }
        optune_graph *read = NULL;
        optune_err err = {0};
        assert_int_equal(onnx_read(&g, 17, &read, &err), OPTUNE_EDAMAGED);
        assert_non_null(strstr(err.text, i % 2 ? "'known'" : "initializer 'w'"));
        assert_non_null(strstr(err.text, "element 1 of its 2 lies outside its dims"));
    }
}

/* A scalar has no dims to tell a place along. */
static void a_scalar_of_few(void **state)
{
    (void)state;
    static const float few[] = {5, -3};
    ot_text g = {0};
    optune_graph *read = NULL;
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2");
    onnx_sparse(&g, "w", "", 2, few, 0, (const int64_t[]){0});
    onnx_node(&g, "Mul", "only", "x w", "y", NULL);
    assert_int_equal(onnx_read(&g, 17, &read, &err), OPTUNE_EDAMAGED);
}

/* Places of two channels of [2,3], counted along rows and along columns; of bytes of 0 beside a
 * pad. */
static void places_of_the_largest(void **state)
{
    static const float x[] = {1, 5, 2, 4, 0, 6, 9, 9, 1, 0, 3, 3};
    static const float rows[] = {1, 5, 5, 6, 7, 11}, columns[] = {2, 5, 5, 6, 8, 11},
                       none[] = {0, 0};
    static const uint8_t zeros[] = {0, 0};
    static const int64_t two[] = {2, 2}, right[] = {0, 0, 0, 1}, left[] = {1, 0};
    (void)state;
    for (int which = 0; which < 4; which++) {
        const bool bytes = which == 2, deep = which == 3; /* the rows as planes of a volume */
        const float *want = bytes ? none : which == 1 ? columns : rows;
        static const int64_t three[] = {1, 2, 2}, ends[] = {0, 0, 0, 0, 0, 1};
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", bytes ? 2 : ONNX_FLOAT,
                   bytes  ? "1,1,2"
                   : deep ? "1,2,1,2,3"
                          : "1,2,2,3");
        attr_ints(&attrs, "kernel_shape", bytes ? 1 : deep ? 3 : 2, deep ? three : two);
        attr_ints(&attrs, "pads", bytes ? 2 : deep ? 6 : 4, bytes ? left : deep ? ends : right);
        attr_int(&attrs, "storage_order", which == 1);
        onnx_node(&g, "MaxPool", "only", "x", "largest at", &attrs);
        attr_int(&attrs, "to", ONNX_FLOAT);
        onnx_node(&g, "Cast", "last", "at", "y", &attrs);
        onnx_gives(&g, 17, bytes ? (const void *)zeros : x, bytes ? 2 : 6, want, 0);
    }
}

/* Every other element, with a step between windows, the last of which reaches beyond the end. */
static void places_of_steps(void **state)
{
    static const float x[] = {3, 1, 7, 2, 5, 9, 5, 4}, want[] = {2, 5, 6};
    static const int64_t kernel[] = {1, 2}, steps[] = {1, 3}, apart[] = {1, 2};
    (void)state;
    for (int mean = 0; mean < 2; mean++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,8");
        attr_ints(&attrs, "kernel_shape", 2, kernel);
        attr_ints(&attrs, "strides", 2, steps);
        if (!mean)
            attr_ints(&attrs, "dilations", 2, apart);
        attr_int(&attrs, "ceil_mode", 1);
        onnx_node(&g, mean ? "AveragePool" : "MaxPool", "only", "x", "of at", &attrs);
        attr_int(&attrs, "to", ONNX_FLOAT);
        onnx_node(&g, "Cast", "last", "at", "y", &attrs);
        if (!mean) {
            onnx_gives(&g, 17, x, 3, want, 0);
            continue;
        }
        optune_graph *read = NULL;
        optune_err err = {0};
        assert_true(onnx_read(&g, 17, &read, &err) < 0);
        assert_non_null(strstr(err.text, "'only'"));
    }
}

/* Two windows of [2,2] side by side, one element apart; an infinite element is one of its place. */
static void windows_put_back(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, want[] = {1, 5, 4, 5, 13, 8},
                       far[] = {INFINITY, 2, 3, 4, 5, 6, 7, 8}, cut[] = {99, 5, 4, 5, 13, 8},
                       limit = 99;
    static const int64_t image[] = {2, 3}, block[] = {2, 2}, odd[] = {2, 4};
    (void)state;
    for (int fits = 1; fits >= 0; fits--) {
        ot_text g = {0};
        optune_graph *read = NULL;
        optune_err err = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,4,2");
        onnx_initializer(&g, "image", ONNX_INT64, "2", fits ? image : odd, sizeof image);
        onnx_initializer(&g, "block", ONNX_INT64, "2", block, sizeof block);
        onnx_node(&g, "Col2Im", "only", "x image block", "y", NULL);
        if (fits) {
            onnx_gives(&g, 18, x, 6, want, 1e-5f);
            continue;
        }
        assert_int_equal(onnx_read(&g, 18, &read, &err), OPTUNE_EUNSUPPORTED);
        check_contains(err.text,
                       "'only': its input has 2 windows of 4, not 1 by 3 of a multiple");
    }
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,4,2");
    onnx_initializer(&g, "image", ONNX_INT64, "2", image, sizeof image);
    onnx_initializer(&g, "block", ONNX_INT64, "2", block, sizeof block);
    onnx_initializer(&g, "limit", ONNX_FLOAT, "", &limit, sizeof limit);
    onnx_node(&g, "Col2Im", "fold", "x image block", "all", NULL);
    onnx_node(&g, "Min", "cut", "all limit", "y", NULL);
    onnx_gives(&g, 18, far, 6, cut, 1e-5f);
}

/* Of an odd number the end has more, cut off or added. */
static void around_the_middle(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5}, few[] = {2, 3}, many[] = {0, 1, 2, 3, 4, 5, 0, 0};
    static const int64_t to[] = {2, 8}, last[] = {-1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,5");
        onnx_initializer(&g, "to", ONNX_INT64, "1", &to[i], sizeof to[i]);
        attr_ints(&attrs, "axes", 1, last);
        onnx_node(&g, "CenterCropPad", "only", "x to", "y", &attrs);
        onnx_gives(&g, 18, x, (int)to[i], i ? many : few, 0);
    }
}

/* Two planes of one element, spread by a kernel of two planes of [1,2]. */
static void transposed_volume(void **state)
{
    static const float x[] = {1, 2}, w[] = {1, 2, 3, 4}, bias[] = {0.5f},
                       want[] = {1.5f, 2.5f, 5.5f, 8.5f, 6.5f, 8.5f};
    (void)state;
    for (int fits = 1; fits >= 0; fits--) {
        ot_text g = {0};
        optune_graph *read = NULL;
        optune_err err = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,1,1");
        onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,2,1,2", w, sizeof w);
        onnx_initializer(&g, "b", ONNX_FLOAT, fits ? "1" : "2", fits ? bias : x,
                         fits ? sizeof bias : sizeof x);
        onnx_node(&g, "ConvTranspose", "only", "x w b", "y", NULL);
        if (fits) {
            onnx_gives(&g, 17, x, 6, want, 1e-5f);
            continue;
        }
        assert_int_equal(onnx_read(&g, 17, &read, &err), OPTUNE_EUNSUPPORTED);
        check_contains(err.text, "its bias is no list of a number for each of its channels");
    }
}

/* Rows of each sequence from its own place on, past the end at the start again. */
static void written_into_a_cache(void **state)
{
    static const float update[] = {7, 8, 9, 10}, past[] = {1, 2, 3, 4, 5, 6},
                       linear[] = {1, 7, 8, 9, 10, 6}, around[] = {8, 2, 7, 9, 10, 6};
    static const int64_t from[2][2] = {{1, 0}, {2, 0}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2,1,2,1");
        onnx_initializer(&g, "past", ONNX_FLOAT, "2,1,3,1", past, sizeof past);
        onnx_initializer(&g, "from", ONNX_INT64, "2", from[i], sizeof from[i]);
        if (i)
            attr_text(&attrs, "mode", "circular");
        onnx_node(&g, "TensorScatter", "only", "past x from", "y", &attrs);
        onnx_gives(&g, 24, update, 6, i ? around : linear, 0);
    }
}

/* A hundred parts of one element; the last one is given. */
static void many_parts(void **state)
{
    enum { PARTS = 100 };
    float x[PARTS];
    ot_text g = {0}, names = {0};
    (void)state;
    for (int i = 0; i < PARTS; i++) {
        x[i] = (float)i;
        ot_text_add(&names, i ? i == PARTS - 1 ? " y" : " p" : "p");
        if (i < PARTS - 1)
            ot_text_printf(&names, "%d", i);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "100");
    onnx_node(&g, "Split", "only", "x", ot_text_str(&names), NULL);
    onnx_gives(&g, 13, x, 1, (const float[]){PARTS - 1}, 0);
    ot_text_release(&names);
}

/* Products, shapes and repeats of tensors that have no elements. */
static void nothing(void **state)
{
    static const int64_t none[] = {2, 0}, twice = 2;
    static const struct {
        const char *op, *x, *with, *attr;
        int rank;
        int64_t dim[4];
    } all[] = {
        {"MatMul", "0,1,0,3", "1,1,3,3", NULL, 4, {0, 1, 0, 3}},
        {"MatMul", "0,0,3", "3,4", NULL, 3, {0, 0, 4}},
        {"Flatten", "3,0,0", NULL, "axis", 2, {0, 0}},
        {"Tile", "1,2", NULL, NULL, 2, {2, 0}},
        {"Gather", "0,3", NULL, NULL, 3, {0, 2, 3}},
    };
    ot_text g = {0}, attrs = {0};
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        const char *with = "x";
        optune_graph *graph = NULL;
        onnx_input(&g, "x", ONNX_FLOAT, all[i].x);
        if (all[i].with) {
            onnx_input(&g, "w", ONNX_FLOAT, all[i].with);
            with = "x w";
        } else if (!strcmp(all[i].op, "Tile")) {
            onnx_initializer(&g, "r", ONNX_INT64, "2", none, sizeof none);
            with = "x r";
        } else if (!strcmp(all[i].op, "Gather")) {
            onnx_initializer(&g, "r", ONNX_INT64, "0,2", none, 0);
            with = "x r";
        }
        if (all[i].attr)
            attr_int(&attrs, all[i].attr, twice);
        onnx_node(&g, all[i].op, "n", with, "y", &attrs);
        check_ok(onnx_read(&g, 17, &graph, &err));
        const optune_tensor *type = optune_graph_output_type(graph, 0);
        assert_int_equal(type->rank, all[i].rank);
        for (int d = 0; d < type->rank; d++)
            assert_int_equal(type->dim[d].min, all[i].dim[d]);
        optune_graph_close(graph);
    }
    ot_text_release(&attrs);
}

/* Counts of a file whose products and sums 64 bits do not hold. */
static void counts_out_of_range(void **state)
{
    enum { BYTES = 2 };
    static const int64_t odd = ((int64_t)1 << 62) + 1, many = (int64_t)1 << 40;
    static const struct {
        const char *op, *x;
        int64_t counts[2];
        const char *why;
    } all[] = {
        {"Tile", "2,2", {0, odd}, "4611686018427387905 repeats"},
        {"Tile", "2,1099511627776", {0, many}, "1099511627776 repeats of axis 1"},
        {"Tile", "0,1073741824", {1, many}, "too large"},
        {"Split", "4,2", {1, INT64_MAX}, "parts do not fit into 4"},
    };
    static const uint8_t bytes[4] = {0};
    static const float one[2] = {1, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(all) + 2; i++) {
        const bool blocks = i >= OT_COUNT(all), gather = i > OT_COUNT(all);
        optune_graph *graph = NULL;
        optune_err err = {0};
        onnx_input(&g, "x", gather ? ONNX_INT64 : ONNX_FLOAT,
                   gather   ? "1"
                   : blocks ? "1,3"
                            : all[i].x);
        if (blocks) {
            onnx_initializer(&g, "w", BYTES, gather ? "1,4" : "2", bytes, gather ? 4 : 2);
            onnx_initializer(&g, "s", ONNX_FLOAT, gather ? "1,1" : "1", one, 4);
            attr_int(&attrs, "block_size", INT64_MAX - 1);
            attr_int(&attrs, gather ? "bits" : "K", gather ? 8 : 3);
            attr_int(&attrs, gather ? "quantize_axis" : "N", 1);
            attr_int(&attrs, gather ? "gather_axis" : "quant_type", 0);
            onnx_contrib(&g, gather ? "GatherBlockQuantized" : "MatMulBnb4",
                         gather ? "w x s" : "x w s", &attrs);
        } else {
            onnx_initializer(&g, "n", ONNX_INT64, "2", all[i].counts, sizeof all[i].counts);
            onnx_node(&g, all[i].op, "n", "x n", *all[i].op == 'S' ? "y y2" : "y", NULL);
        }
        assert_true(onnx_read(&g, 17, &graph, &err) < 0);
        assert_null(graph);
        check_contains(err.text, blocks ? "locks of 9223372036854775806" : all[i].why);
    }
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(counts_out_of_range),
        cmocka_unit_test(zeros_that_are_left_out),
        cmocka_unit_test(celu_of_either_sign),
        cmocka_unit_test(integers),
        cmocka_unit_test(transposed_to_a_shape),
        cmocka_unit_test(places_by_batch),
        cmocka_unit_test(shapes_of_nothing),
        cmocka_unit_test(open_images),
        cmocka_unit_test(one_batch),
        cmocka_unit_test(mostly_zeros),
        cmocka_unit_test(a_scalar_of_few),
        cmocka_unit_test(places_of_the_largest),
        cmocka_unit_test(places_of_steps),
        cmocka_unit_test(windows_put_back),
        cmocka_unit_test(around_the_middle),
        cmocka_unit_test(transposed_volume),
        cmocka_unit_test(written_into_a_cache),
        cmocka_unit_test(many_parts),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
