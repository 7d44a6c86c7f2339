/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models whose dims are left open: what they compute of their inputs' shapes holds for every size,
 * and is what the same model says where the dims are numbers; what needs a number says which dim to
 * bind.
 */
#include <math.h>
#include <stdlib.h>

#include "answer/answer.h"
#include "support/onnx_file.h"

enum { SIZES = 3, ONNX_UINT8 = 2 };

static const char *path_of(ot_text *graph)
{
    static char path[512];
    ot_text model = {0};
    optune_err err = {0};
    onnx_model(graph, 13, &model);
    snprintf(path, sizeof path, "%s/sizes.onnx", onnx_folder);
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return path;
}

static optune_values *evaluate(const optune_graph *g, const optune_tensor *type)
{
    optune_err err = {0};
    optune_values *values = NULL;
    float *x = ot_alloc((size_t)optune_tensor_bytes(type) + 1);
    for (int64_t i = 0; i < optune_tensor_elements(type); i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    check_ok(optune_graph_evaluate(g, (const void *const[]){x}, type, &values, &err));
    free(x);
    return values;
}

/* The model left open against itself with these dims as numbers. */
static void same_at(const char *path, const optune_binding *dims, int n)
{
    optune_err err = {0};
    optune_graph *open = NULL, *bound = NULL;
    check_ok(optune_graph_read(path, &open, &err));
    check_ok(optune_graph_read_bound(path, dims, n, &bound, &err));
    for (int i = 0; i < n; i++)
        check_ok(optune_graph_bound(open, dims[i].dim, 1, 64, &err));
    check_ok(optune_graph_infer(open, &err));
    const optune_tensor *type = optune_graph_input_type(bound, 0);
    optune_values *a = evaluate(open, type), *b = evaluate(bound, type);
    assert_int_equal(optune_graph_outputs(open), optune_graph_outputs(bound));
    for (int k = 0; k < optune_graph_outputs(bound); k++) {
        const optune_tensor *want = optune_values_type(b, k), *is = optune_values_type(a, k);
        assert_int_equal(is->rank, want->rank);
        for (int d = 0; d < want->rank; d++)
            assert_int_equal(is->dim[d].min, want->dim[d].min);
        const float *x = optune_values_data(a, k), *y = optune_values_data(b, k);
        for (int64_t i = 0; i < optune_tensor_elements(want); i++)
            assert_true(fabs((double)x[i] - (double)y[i]) <= 1e-5);
    }
    optune_values_free(a);
    optune_values_free(b);
    optune_graph_close(open);
    optune_graph_close(bound);
}

static void ints(ot_text *g, const char *name, int n, const int64_t *value)
{
    char dims[16] = "";
    if (n)
        snprintf(dims, sizeof dims, "%d", n);
    onnx_initializer(g, name, ONNX_INT64, dims, value, (size_t)(n ? n : 1) * sizeof *value);
}

static void floats(ot_text *g, const char *name, const char *dims, int n)
{
    float value[256];
    for (int i = 0; i < n; i++)
        value[i] = (float)(i % 7) - 3;
    onnx_initializer(g, name, ONNX_FLOAT, dims, value, (size_t)n * sizeof *value);
}

/* [n,c,h,w] to [n,h w,2,c/2] and back, as exporters write it: parts of a shape, picked, cut,
 * multiplied and joined. */
static void shapes_are_computed(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,6,h,w");
    ints(&g, "zero", 0, (const int64_t[]){0});
    ints(&g, "two", 0, (const int64_t[]){2});
    ints(&g, "axis", 1, (const int64_t[]){0});
    ints(&g, "front", 1, (const int64_t[]){1});
    ints(&g, "last", 1, (const int64_t[]){1 << 20});
    ints(&g, "rest", 1, (const int64_t[]){2});
    ints(&g, "halves", 2, (const int64_t[]){2, 3});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Cast", "", "s", "narrow", (attr_int(&attrs, "to", 6), &attrs));
    onnx_node(&g, "Cast", "", "narrow", "wide", (attr_int(&attrs, "to", 7), &attrs));
    onnx_node(&g, "Gather", "", "wide zero", "n_", NULL);
    onnx_node(&g, "Unsqueeze", "", "n_ axis", "n1", NULL);
    onnx_node(&g, "Slice", "", "s rest last", "hw", NULL);
    onnx_node(&g, "Gather", "", "hw zero", "h_", NULL);
    onnx_node(&g, "Unsqueeze", "", "h_ axis", "h1", NULL);
    onnx_node(&g, "Slice", "", "hw front last", "w1", NULL);
    onnx_node(&g, "Mul", "", "h1 w1", "area", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "n1 halves area", "to", &attrs);
    onnx_node(&g, "Reshape", "", "x to", "flat", NULL);
    const int64_t perm[] = {0, 3, 1, 2};
    attr_ints(&attrs, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "flat", "turned", &attrs);
    onnx_node(&g, "Relu", "", "turned", "y", NULL);
    onnx_node(&g, "Mul", "", "h_ two", "twice", NULL);
    onnx_node(&g, "Div", "", "twice two", "once", NULL);
    onnx_node(&g, "Unsqueeze", "", "once axis", "once1", NULL);
    attr_int(&attrs, "axis", 0);
    ints(&g, "six", 1, (const int64_t[]){6});
    ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_node(&g, "Concat", "", "n1 six once1 left", "back", &attrs);
    onnx_node(&g, "Reshape", "", "flat back", "z", NULL);
    onnx_output(&g, "y");
    const char *path = path_of(&g);
    static const int64_t size[SIZES][3] = {{1, 1, 1}, {2, 3, 5}, {4, 8, 2}};
    for (int i = 0; i < SIZES; i++)
        same_at(
            path,
            (const optune_binding[]){{"n", size[i][0]}, {"h", size[i][1]}, {"w", size[i][2]}},
            3);
}

/* One batch that is open in front of a product of matrices, two of a constant one; heads. */
static void products_of_open_batches(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,8");
    floats(&g, "w", "8,4", 32);
    onnx_node(&g, "MatMul", "", "x w", "y", NULL);
    onnx_output(&g, "y");
    const char *path = path_of(&g);
    same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, 2);
    same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, 2);
    ot_text_clear(&g);
    onnx_input(&g, "x", ONNX_FLOAT, "n,2,5,4");
    floats(&g, "w", "4,3", 12);
    const int64_t perm[] = {0, 1, 3, 2};
    attr_ints(&attrs, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "x", "xt", &attrs);
    onnx_node(&g, "MatMul", "", "x xt", "xx", NULL);
    onnx_node(&g, "MatMul", "", "xx x", "xxx", NULL);
    onnx_node(&g, "MatMul", "", "xxx w", "y", NULL);
    onnx_output(&g, "y");
    path = path_of(&g);
    same_at(path, (const optune_binding[]){{"n", 3}}, 1);
    same_at(path, (const optune_binding[]){{"n", 1}}, 1);
    ot_text_clear(&g);
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,t,4");
    attr_ints(&attrs, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "x", "xt", &attrs);
    onnx_node(&g, "MatMul", "", "x xt", "xx", NULL);
    onnx_node(&g, "MatMul", "", "xx x", "y", NULL);
    onnx_output(&g, "y");
    path = path_of(&g);
    same_at(path, (const optune_binding[]){{"t", 7}}, 1);
    same_at(path, (const optune_binding[]){{"t", 1}}, 1);
}

static void images_of_any_size(void **state)
{
    (void)state;
    static const float scales[] = {1, 1, 3, 2};
    static const char *const how[][2] = {{"asymmetric", "floor"},
                                         {"half_pixel", "round_prefer_floor"}};
    for (int i = 0; i < OT_COUNT(how); i++) {
        ot_text g = {0}, attrs = {0};
        const int64_t pads[] = {0, 1, 0, 0, 0, 1, 0, 0};
        onnx_input(&g, "x", ONNX_FLOAT, "n,3,h,w");
        onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
        ints(&g, "pads", 8, pads);
        attr_text(&attrs, "mode", "nearest");
        attr_text(&attrs, "coordinate_transformation_mode", how[i][0]);
        attr_text(&attrs, "nearest_mode", how[i][1]);
        onnx_node(&g, "Resize", "", "x - scales", "r", &attrs);
        attr_text(&attrs, "mode", "reflect");
        onnx_node(&g, "Pad", "", "r pads", "y", &attrs);
        onnx_output(&g, "y");
        const char *path = path_of(&g);
        same_at(path, (const optune_binding[]){{"n", 2}, {"h", 3}, {"w", 5}}, 3);
        same_at(path, (const optune_binding[]){{"n", 1}, {"h", 1}, {"w", 1}}, 3);
    }
}

/* A tensor of one element as an attribute. */
static void attr_one(ot_text *attrs, const char *name, int type, const void *value, size_t n)
{
    ot_text attr = {0}, tensor = {0};
    wire_text(&attr, 1, name);
    wire_int(&attr, 20, 4);
    wire_int(&tensor, 1, 1);
    wire_int(&tensor, 2, type);
    wire_bytes(&tensor, 9, value, n);
    wire_part(&attr, 5, &tensor);
    wire_part(attrs, 5, &attr);
}

/* Constants, rows and places in as many as the input has: ConstantOfShape, Expand as exporters
 * write
 * it, where a size of -1 would stand for 1, Range and Size. */
static void values_of_open_shapes(void **state)
{
    (void)state;
    static const float fill = 2.5f;
    static const int64_t one = 1;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    ints(&g, "zero", 0, (const int64_t[]){0});
    ints(&g, "one", 0, &one);
    ints(&g, "minus", 0, (const int64_t[]){-1});
    ints(&g, "axis", 1, (const int64_t[]){0});
    ints(&g, "three", 1, (const int64_t[]){3});
    floats(&g, "row", "4", 4);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    attr_one(&attrs, "value", ONNX_FLOAT, &fill, sizeof fill);
    onnx_node(&g, "ConstantOfShape", "", "s", "filled", &attrs);
    attr_one(&attrs, "value", ONNX_INT64, &one, sizeof one);
    onnx_node(&g, "ConstantOfShape", "", "three", "ones", &attrs);
    onnx_node(&g, "Mul", "", "ones minus", "left", NULL);
    onnx_node(&g, "Equal", "", "s left", "is_left", NULL);
    onnx_node(&g, "Where", "", "is_left ones s", "to", NULL);
    onnx_node(&g, "Expand", "", "row to", "rows", NULL);
    onnx_node(&g, "Gather", "", "s one", "h_", NULL);
    onnx_node(&g, "Range", "", "zero h_ one", "places", NULL);
    onnx_node(&g, "Cast", "", "places", "from_0", (attr_int(&attrs, "to", ONNX_FLOAT), &attrs));
    onnx_node(&g, "Range", "", "one h_ one", "rest", NULL);
    onnx_node(&g, "Cast", "", "rest", "from_1", (attr_int(&attrs, "to", ONNX_FLOAT), &attrs));
    onnx_node(&g, "Size", "", "x", "all", NULL);
    onnx_node(&g, "Unsqueeze", "", "all axis", "all_", NULL);
    onnx_node(&g, "Reshape", "", "x all_", "flat", NULL);
    onnx_node(&g, "Add", "", "filled x", "y", NULL);
    onnx_output(&g, "y");
    onnx_output(&g, "filled");
    onnx_output(&g, "rows");
    onnx_output(&g, "from_0");
    onnx_output(&g, "from_1");
    onnx_output(&g, "flat");
    const char *path = path_of(&g);
    for (int i = 0; i < SIZES; i++)
        same_at(path, (const optune_binding[]){{"n", i + 1}, {"h", 2 * i + 2}}, 2);
    ot_text_release(&attrs);
}

static void refused(ot_text *g, const char *why)
{
    optune_err err = {0};
    optune_graph *graph = NULL;
    onnx_output(g, "y");
    assert_true(onnx_read(g, 13, &graph, &err) < 0);
    check_contains(err.text, why);
}

static void numbers_are_asked_for(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Range", "", "s s s", "y", NULL);
    refused(&g, "it needs the value of dim 'n': --bind n=1, say");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Reshape", "", "s s", "y", NULL);
    refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4"); /* whether it is 2 only a run knows */
    ints(&g, "pair", 3, (const int64_t[]){2, 2, 4});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Equal", "", "s pair", "y", NULL);
    refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4"); /* likewise */
    floats(&g, "rows", "2,1,4", 8);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Expand", "", "rows s", "y", NULL);
    refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    ints(&g, "pair", 0, (const int64_t[]){2});
    ints(&g, "zero", 0, (const int64_t[]){0});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
    onnx_node(&g, "Range", "", "zero n_ pair", "y", NULL); /* steps of 2 */
    refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "y", NULL);
    refused(&g, "sizes that only a run knows are no tensor here");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    ints(&g, "zero", 1, (const int64_t[]){0});
    ints(&g, "one", 1, (const int64_t[]){1});
    ints(&g, "two", 1, (const int64_t[]){2});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
    onnx_node(&g, "Gather", "", "s one", "h_", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "h_ n_ two two", "to", &attrs);
    onnx_node(&g, "Reshape", "", "x to", "y", NULL);
    refused(&g, "it needs the value of dim 'n'");
}

/* Sizes that say where to cut or what to take are no elements that an operator moves, whatever
 * it cuts or takes from: a constant, a variable, other sizes. */
static void sizes_that_say_where_are_asked_for(void **state)
{
    (void)state;
    static const char *const node[][2] = {
        {"Slice", "table zero t axis"}, /* an end */
        {"Slice", "z zero t zero"},
        {"Slice", "z t two zero"}, /* a start */
        {"Slice", "s zero t zero"},
        {"Gather", "z t"},
        {"Gather", "bytes t"},
        {"Gather", "s t"},
        {"Split", "z t"},
        {"Unsqueeze", "z t"},
        {"Squeeze", "z t"},
    };
    for (int i = 0; i < OT_COUNT(node); i++) {
        ot_text g = {0};
        uint8_t bytes[5] = {1, 2, 3, 4, 5};
        onnx_input(&g, "x", ONNX_FLOAT, "n,t,4");
        onnx_input(&g, "z", ONNX_FLOAT, "16,4");
        floats(&g, "table", "1,8,4", 32);
        onnx_initializer(&g, "bytes", ONNX_UINT8, "5", bytes, sizeof bytes);
        ints(&g, "zero", 1, (const int64_t[]){0});
        ints(&g, "axis", 1, (const int64_t[]){1});
        ints(&g, "two", 1, (const int64_t[]){2});
        onnx_node(&g, "Shape", "", "x", "s", NULL);
        onnx_node(&g, "Gather", "", "s axis", "t", NULL);
        onnx_node(&g, node[i][0], "", node[i][1], "y", NULL);
        refused(&g, "it needs the value of dim 't': --bind t=1, say");
    }
}

/* What a run decides beside sizes, and numbers that leave 64 bits. */
static void what_is_no_list_of_sizes_asks(void **state)
{
    (void)state;
    static const char *const calculation[] = {"Mul", "Add", "Sub"};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,4");
    onnx_input(&g, "v", ONNX_INT64, "2");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Concat", "", "s v", "y", (attr_int(&attrs, "axis", 0), &attrs));
    refused(&g, "sizes that only a run knows are no tensor here: bind");
    onnx_input(&g, "x", ONNX_FLOAT, "n,4");
    onnx_input(&g, "v", ONNX_INT64, "2");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s v", "y", NULL);
    refused(&g, "sizes that only a run knows are no tensor here: bind");
    for (int i = 0; i < OT_COUNT(calculation); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "n,4");
        ints(&g, "zero", 1, (const int64_t[]){0});
        ints(&g, "large", 1, (const int64_t[]){i == 2 ? -INT64_MAX : INT64_MAX});
        onnx_node(&g, "Shape", "", "x", "s", NULL);
        onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
        attr_int(&attrs, "axis", 0);
        onnx_node(&g, "Concat", "", "n_ large", "big", &attrs);
        onnx_node(&g, calculation[i], "", i == 2 ? "s big" : "big s", "to", NULL);
        onnx_node(&g, "Reshape", "", "x to", "y", NULL);
        refused(&g, "it needs the value of dim 'n'");
    }
}

/* Batches that a run may find to be 1, equal, or neither. */
static void batches_that_may_differ_are_asked_for(void **state)
{
    (void)state;
    static const char *const side[][3] = {
        {"n,1,4", "7,4,5", "'n'"},     {"n,t,4", "1,4,5", "'n'"},
        {"n,2,3,4", "2,4,3", "'n'"},   {"2,3,4", "n,2,4,3", "'n'"},
        {"n,3,4", "m,4,3", "'n'"},     {"n,m,3,4", "n,m,4,3", "'n'"},
        {"2,t,4", "m,4,u", "'m'"},     {"2,2,t,4", "2,2,4,u", "'t'"},
        {"n,2,3,4", "n,1,4,3", "'n'"},
    };
    for (int i = 0; i < OT_COUNT(side); i++) {
        ot_text g = {0}, want = {0};
        onnx_input(&g, "x", ONNX_FLOAT, side[i][0]);
        onnx_input(&g, "z", ONNX_FLOAT, side[i][1]);
        onnx_node(&g, "MatMul", "", "x z", "y", NULL);
        ot_text_printf(&want, "it needs the value of dim %s: --bind", side[i][2]);
        refused(&g, ot_text_str(&want));
        ot_text_release(&want);
    }
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,3,4");
    onnx_input(&g, "z", ONNX_FLOAT, "7,4,3");
    onnx_node(&g, "MatMul", "", "x z", "y", NULL);
    refused(&g, "batches of 2 and 7 do not fit");
}

/* No number of times that an integer holds. */
static void scales_beyond_integers_are_asked_for(void **state)
{
    (void)state;
    static const float scales[] = {1, 1, 1e30f, 1};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,h,4");
    onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
    attr_text(&attrs, "coordinate_transformation_mode", "asymmetric");
    attr_text(&attrs, "nearest_mode", "floor");
    onnx_node(&g, "Resize", "", "x - scales", "y", &attrs);
    refused(&g, "it needs the value of dim 'h'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_computed),
        cmocka_unit_test(products_of_open_batches),
        cmocka_unit_test(images_of_any_size),
        cmocka_unit_test(values_of_open_shapes),
        cmocka_unit_test(numbers_are_asked_for),
        cmocka_unit_test(sizes_that_say_where_are_asked_for),
        cmocka_unit_test(what_is_no_list_of_sizes_asks),
        cmocka_unit_test(batches_that_may_differ_are_asked_for),
        cmocka_unit_test(scales_beyond_integers_are_asked_for),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
