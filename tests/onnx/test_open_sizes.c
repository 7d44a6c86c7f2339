/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that take sizes which the model computes of dims that are left open: to a shape of
 * several, to another tensor's size, to a part. They give what the same model gives where the dims
 * are numbers.
 */
#include "support/onnx_open.h"

#include <math.h>
#include <stdlib.h>

#include "answer/answer.h"

/* The dims of a value, lists of one each, called after it: x0, x1 ... */
static void dims_of(ot_text *g, const char *value, int rank)
{
    ot_text shape = {0}, in = {0}, out = {0};
    ot_text_printf(&shape, "%s_shape", value);
    onnx_node(g, "Shape", "", value, ot_text_str(&shape), NULL);
    for (int d = 0; d < rank; d++) {
        ot_text_clear(&in);
        ot_text_clear(&out);
        ot_text_printf(&in, "%s_at%d", value, d);
        onnx_ints(g, ot_text_str(&in), 1, (const int64_t[]){d});
        ot_text_clear(&in);
        ot_text_printf(&in, "%s_shape %s_at%d", value, value, d);
        ot_text_printf(&out, "%s%d", value, d);
        onnx_node(g, "Gather", "", ot_text_str(&in), ot_text_str(&out), NULL);
    }
    ot_text_release(&shape);
    ot_text_release(&in);
    ot_text_release(&out);
}

static void reshaped(ot_text *g, const char *value, const char *sizes, const char *to)
{
    ot_text attrs = {0}, list = {0}, in = {0};
    ot_text_printf(&list, "%s_to", to);
    ot_text_printf(&in, "%s %s_to", value, to);
    onnx_node(g, "Concat", "", sizes, ot_text_str(&list),
              (attr_int(&attrs, "axis", 0), &attrs));
    onnx_node(g, "Reshape", "", ot_text_str(&in), to, NULL);
    ot_text_release(&list);
    ot_text_release(&in);
}

/* Fails the test unless the model refuses an image [1,h,w,c] of zeros. */
static void refused_at(const char *path, int64_t h, int64_t w, int64_t c)
{
    optune_err err = {0};
    optune_graph *open = NULL;
    optune_values *values = NULL;
    const optune_tensor type = {
        .dtype = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1},
        .rank = 4,
        .dim = {optune_dim_of(1), optune_dim_of(h), optune_dim_of(w), optune_dim_of(c)}};
    void *zeros = ot_alloc((size_t)optune_tensor_bytes(&type));
    check_ok(optune_graph_read(path, &open, &err));
    const void *const in[] = {zeros};
    assert_true(optune_graph_evaluate(open, in, &type, &values, &err) < 0);
    optune_graph_close(open);
    free(zeros);
}

/* Batch and time joined and taken apart again, groups of channels over an image of any size. */
static void products_are_taken_apart(void **state)
{
    (void)state;
    static const int64_t size[][3] = {{1, 1, 1}, {1, 7, 5}, {4, 1, 3}, {3, 6, 2}, {5, 64, 9}};
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,8");
    onnx_input(&g, "z", ONNX_FLOAT, "n,4,t,w");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    onnx_ints(&g, "four", 1, (const int64_t[]){4});
    dims_of(&g, "x", 3);
    dims_of(&g, "z", 4);
    reshaped(&g, "x", "left x2", "joined");
    reshaped(&g, "joined", "x0 x1 two four", "apart");
    reshaped(&g, "z", "z0 two left", "grouped");
    reshaped(&g, "grouped", "z0 z1 z2 z3", "back");
    onnx_output(&g, "apart");
    onnx_output(&g, "back");
    const char *path = onnx_saved(&g);
    for (int i = 0; i < OT_COUNT(size); i++)
        onnx_same_at(
            path,
            (const optune_binding[]){{"n", size[i][0]}, {"t", size[i][1]}, {"w", size[i][2]}},
            3);
}

/* An image in windows of 4 by 4, and together again. */
static void windows_of_any_image(void **state)
{
    (void)state;
    static const int64_t size[][3] = {
        {1, 4, 4}, {1, 8, 4}, {2, 4, 12}, {3, 20, 8}, {2, 64, 16}};
    const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,w,3");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "four", 1, (const int64_t[]){4});
    onnx_ints(&g, "all", 1, (const int64_t[]){16});
    dims_of(&g, "x", 4);
    onnx_node(&g, "Div", "", "x1 four", "h4", NULL);
    onnx_node(&g, "Div", "", "x2 four", "w4", NULL);
    reshaped(&g, "x", "x0 h4 four w4 four x3", "cut");
    attr_ints(&attrs, "perm", 6, perm);
    onnx_node(&g, "Transpose", "", "cut", "turned", &attrs);
    reshaped(&g, "turned", "left all x3", "windows");
    onnx_node(&g, "Relu", "", "windows", "y", NULL);
    reshaped(&g, "y", "x0 h4 w4 four four x3", "some");
    attr_ints(&attrs, "perm", 6, perm);
    onnx_node(&g, "Transpose", "", "some", "turned_back", &attrs);
    reshaped(&g, "turned_back", "x0 x1 x2 x3", "whole");
    onnx_node(&g, "Add", "", "whole x", "z", NULL);
    onnx_output(&g, "y");
    onnx_output(&g, "z");
    const char *path = onnx_saved(&g);
    for (int i = 0; i < OT_COUNT(size); i++)
        onnx_same_at(
            path,
            (const optune_binding[]){{"n", size[i][0]}, {"h", size[i][1]}, {"w", size[i][2]}},
            3);
    refused_at(path, 6, 8, 3);
    refused_at(path, 8, 10, 3);
}

/* Divided sizes beside a -1, which would hide what is left over: there a run is refused. */
static void remainders_are_refused(void **state)
{
    (void)state;
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,b,t,4");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    dims_of(&g, "x", 3);
    onnx_node(&g, "Div", "", "x2 two", "half", NULL);
    onnx_node(&g, "Mul", "", "x1 half", "halves", NULL);
    reshaped(&g, "x", "halves two left", "y");
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"b", 3}, {"t", 6}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"b", 2}, {"t", 64}}, 2);
    refused_at(path, 2, 3, 4);
    refused_at(path, 1, 3, 4);

    onnx_input(&g, "x", ONNX_FLOAT, "1,h,w,1");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    dims_of(&g, "x", 2);
    onnx_node(&g, "Div", "", "x1 two", "half", NULL);
    onnx_node(&g, "Mul", "", "half two", "even", NULL);
    reshaped(&g, "x", "even left", "y");
    onnx_output(&g, "y");
    path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"h", 6}, {"w", 5}}, 2);
    refused_at(path, 5, 4, 1);
    refused_at(path, 5, 5, 1);
}

/* [1,h,8,3] in windows of 4 by 4 as [1,h/4,4,2,4,3], and back to [-1,h,8,3]. */
static void windows_of_any_height(void **state)
{
    (void)state;
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,h,8,3");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "four", 1, (const int64_t[]){4});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    dims_of(&g, "x", 4);
    onnx_node(&g, "Div", "", "x1 four", "h4", NULL);
    reshaped(&g, "x", "x0 h4 four two four x3", "cut");
    onnx_node(&g, "Relu", "", "cut", "windows", NULL);
    reshaped(&g, "windows", "left x1 x2 x3", "y");
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"h", 4}}, 1);
    onnx_same_at(path, (const optune_binding[]){{"h", 12}}, 1);
    refused_at(path, 6, 8, 3);
}

/* Every other row, twice, is as many as there were if these are even: nothing here asks that, as
 * what is cut beside it goes elsewhere. */
static void rows_that_were_dropped_are_asked_for(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,3");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "one", 1, (const int64_t[]){1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    onnx_ints(&g, "end", 1, (const int64_t[]){INT64_MAX});
    dims_of(&g, "x", 3);
    onnx_node(&g, "Div", "", "x1 two", "half", NULL);
    reshaped(&g, "x", "x0 half two x2", "cut");
    onnx_node(&g, "Slice", "", "x one end one two", "odd", NULL);
    onnx_node(&g, "Unsqueeze", "", "odd two", "row", NULL);
    onnx_node(&g, "Concat", "", "row row", "rows", (attr_int(&attrs, "axis", 2), &attrs));
    reshaped(&g, "rows", "x0 x1 left", "y");
    onnx_output(&g, "cut");
    onnx_output(&g, "y");
    onnx_refused(&g, "Reshape 'y': it needs the value of dim 'h'");
}

static void resize(ot_text *g, const char *mode, const char *where, const char *nearest,
                   const char *in)
{
    ot_text attrs = {0};
    attr_text(&attrs, "mode", mode);
    attr_text(&attrs, "coordinate_transformation_mode", where);
    attr_text(&attrs, "nearest_mode", nearest);
    onnx_node(g, "Resize", "", in, "y", &attrs);
    onnx_output(g, "y");
}

static const char *const how[][3] = {
    {"nearest", "asymmetric", "floor"},
    {"nearest", "asymmetric", "ceil"},
    {"nearest", "half_pixel", "round_prefer_floor"},
    {"nearest", "half_pixel", "round_prefer_ceil"},
    {"nearest", "align_corners", "round_prefer_floor"},
    {"nearest", "align_corners", "floor"},
    {"nearest", "align_corners", "ceil"},
    {"linear", "half_pixel", "floor"},
    {"linear", "align_corners", "floor"},
    {"linear", "pytorch_half_pixel", "floor"},
    {"linear", "half_pixel_symmetric", "floor"},
    {"cubic", "half_pixel", "floor"},
    {"cubic", "asymmetric", "floor"},
};

/* An image as large as another one, or of a number of rows. */
static void images_of_another_size(void **state)
{
    (void)state;
    static const int64_t size[][4] = {{1, 1, 1, 1},    {5, 1, 3, 8},    {1, 6, 7, 1},
                                      {9, 8, 4, 16},   {13, 7, 13, 7},  {4, 6, 11, 31},
                                      {13, 11, 7, 13}, {50, 11, 15, 29}};
    for (int i = 0; i < OT_COUNT(how); i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "1,2,h,w");
        onnx_input(&g, "z", ONNX_FLOAT, "1,3,u,v");
        onnx_ints(&g, "rows", 1, (const int64_t[]){6});
        dims_of(&g, "x", 2);
        dims_of(&g, "z", 4);
        attr_int(&attrs, "axis", 0);
        onnx_node(&g, "Concat", "", "x0 x1 z2 z3", "sizes", &attrs);
        attr_int(&attrs, "axis", 0);
        onnx_node(&g, "Concat", "", "x0 x1 rows z3", "others", &attrs);
        onnx_node(&g, "Resize", "", "x - - others", "w",
                  (attr_text(&attrs, "mode", "linear"), &attrs));
        onnx_output(&g, "w");
        resize(&g, how[i][0], how[i][1], how[i][2], "x - - sizes");
        const char *path = onnx_saved(&g);
        for (int k = 0; k < OT_COUNT(size); k++)
            onnx_same_at(
                path,
                (const optune_binding[]){
                    {"h", size[k][0]}, {"w", size[k][1]}, {"u", size[k][2]}, {"v", size[k][3]}},
                4);
    }
}

static void images_scaled(void **state)
{
    (void)state;
    static const float scales[][4] = {{1, 1, 2, 3}, {1, 1, 1.5f, 0.5f}, {1, 1, 0.75f, 1.25f}};
    static const int64_t size[][2] = {{2, 2}, {5, 8}, {7, 3}, {12, 31}, {64, 33}};
    for (int i = 0; i < OT_COUNT(how); i++)
        for (int s = 0; s < OT_COUNT(scales); s++) {
            ot_text g = {0};
            onnx_input(&g, "x", ONNX_FLOAT, "2,1,h,w");
            onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales[s], sizeof scales[s]);
            resize(&g, how[i][0], how[i][1], how[i][2], "x - scales");
            const char *path = onnx_saved(&g);
            for (int k = 0; k < OT_COUNT(size); k++)
                onnx_same_at(path,
                             (const optune_binding[]){{"h", size[k][0]}, {"w", size[k][1]}}, 2);
        }
}

/* Of an open axis as of any: tables are made for each, and no size is beyond what a dim can be. */
static void sizes_beyond_reason(void **state)
{
    (void)state;
    static const struct {
        int64_t size;
        const char *why;
    } all[] = {
        {1 << 26, "axis 1 would become 67108864, more than 4194304"},
        {INT64_MAX, "'sizes' has 9.2233720368547758e+18"},
        {0, "'sizes' has 0"},
        {-3, "'sizes' has -3"},
    };
    static const double none[][2] = {{1, NAN}, {1, 1e300}};
    ot_text g = {0};
    for (int i = 0; i < OT_COUNT(all); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,h");
        onnx_ints(&g, "sizes", 2, (const int64_t[]){1, all[i].size});
        resize(&g, "linear", "half_pixel", "floor", "x - - sizes");
        onnx_refused(&g, all[i].why);
    }
    for (int i = 0; i < OT_COUNT(none); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,h");
        onnx_initializer(&g, "sizes", ONNX_DOUBLE, "2", none[i], sizeof none[i]);
        resize(&g, "linear", "half_pixel", "floor", "x - - sizes");
        onnx_refused(&g, i ? "'sizes' has 1.0000000000000001e+300" : "'sizes' has nan");
    }
}

/* Parts of an open axis that begin at its front, step over places, or run backwards. */
static void parts_of_open_axes(void **state)
{
    (void)state;
    static const int64_t part[][3] = {
        {2, INT64_MAX, 1},  {0, 2, 1},         {1, 4, 2},
        {0, INT64_MAX, 2},  {1, INT64_MAX, 2}, {3, INT64_MAX, 3},
        {-3, INT64_MAX, 2}, {1, -1, 2},        {-1, -INT64_MAX, -1}};
    static const int64_t size[] = {4, 5, 8, 17, 64};
    for (int i = 0; i < OT_COUNT(part); i++) {
        ot_text g = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2,t,3");
        onnx_ints(&g, "from", 1, &part[i][0]);
        onnx_ints(&g, "to", 1, &part[i][1]);
        onnx_ints(&g, "axis", 1, (const int64_t[]){1});
        onnx_ints(&g, "step", 1, &part[i][2]);
        onnx_node(&g, "Slice", "", "x from to axis step", "y", NULL);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        for (int k = 0; k < OT_COUNT(size); k++)
            onnx_same_at(path, (const optune_binding[]){{"t", size[k]}}, 1);
    }
}

static void pads_of_open_axes(void **state)
{
    (void)state;
    static const char *const mode[] = {"reflect", "edge", "wrap"};
    static const int64_t size[] = {4, 5, 9, 30, 64};
    for (int i = 0; i < OT_COUNT(mode); i++) {
        ot_text g = {0}, attrs = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "2,t,5");
        onnx_ints(&g, "pads", 6, (const int64_t[]){0, 3, 1, 0, 2, 0});
        attr_text(&attrs, "mode", mode[i]);
        onnx_node(&g, "Pad", "", "x pads", "y", &attrs);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        for (int k = 0; k < OT_COUNT(size); k++)
            onnx_same_at(path, (const optune_binding[]){{"t", size[k]}}, 1);
    }
}

/* The front of a table, as long as an image has places and one more: more than there are rows is
 * refused, whichever of the image's sides it comes of. */
static void tables_for_images(void **state)
{
    (void)state;
    static const int64_t size[][2] = {{2, 2}, {4, 8}, {5, 9}, {2, 18}, {6, 6}};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,h,w,1");
    onnx_floats(&g, "rows", "1,10,1", 10);
    onnx_floats(&g, "first", "1,1,1", 1);
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    onnx_ints(&g, "one", 1, (const int64_t[]){1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    attr_ints(&attrs, "kernel_shape", 2, (const int64_t[]){2, 2});
    attr_ints(&attrs, "strides", 2, (const int64_t[]){2, 2});
    const int64_t perm[] = {0, 3, 1, 2};
    ot_text turn = {0};
    attr_ints(&turn, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "x", "image", &turn);
    onnx_node(&g, "MaxPool", "", "image", "pooled", &attrs);
    reshaped(&g, "pooled", "one left one", "flat");
    onnx_node(&g, "Concat", "", "first flat", "tokens", (attr_int(&attrs, "axis", 1), &attrs));
    dims_of(&g, "tokens", 2);
    onnx_node(&g, "Slice", "", "rows zero tokens1 one", "front", NULL);
    onnx_node(&g, "Add", "", "tokens front", "y", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    for (int k = 0; k < OT_COUNT(size); k++)
        onnx_same_at(path, (const optune_binding[]){{"h", size[k][0]}, {"w", size[k][1]}}, 2);
    refused_at(path, 8, 8, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_taken_apart),
        cmocka_unit_test(windows_of_any_image),
        cmocka_unit_test(remainders_are_refused),
        cmocka_unit_test(windows_of_any_height),
        cmocka_unit_test(rows_that_were_dropped_are_asked_for),
        cmocka_unit_test(images_of_another_size),
        cmocka_unit_test(sizes_beyond_reason),
        cmocka_unit_test(images_scaled),
        cmocka_unit_test(parts_of_open_axes),
        cmocka_unit_test(pads_of_open_axes),
        cmocka_unit_test(tables_for_images),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
