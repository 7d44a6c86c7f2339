/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models whose dims are left open: what they compute of their inputs' shapes holds for every size,
 * and is what the same model says where the dims are numbers; what needs a number says which dim to
 * bind.
 */
#include "support/onnx_open.h"

enum { SIZES = 3, ONNX_UINT8 = 2 };

static void shapes_are_computed(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,6,h,w");
    onnx_ints(&g, "zero", 0, (const int64_t[]){0});
    onnx_ints(&g, "two", 0, (const int64_t[]){2});
    onnx_ints(&g, "axis", 1, (const int64_t[]){0});
    onnx_ints(&g, "front", 1, (const int64_t[]){1});
    onnx_ints(&g, "last", 1, (const int64_t[]){1 << 20});
    onnx_ints(&g, "rest", 1, (const int64_t[]){2});
    onnx_ints(&g, "halves", 2, (const int64_t[]){2, 3});
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
    onnx_ints(&g, "six", 1, (const int64_t[]){6});
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_node(&g, "Concat", "", "n1 six once1 left", "back", &attrs);
    onnx_node(&g, "Reshape", "", "flat back", "z", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    static const int64_t size[SIZES][3] = {{1, 1, 1}, {2, 3, 5}, {4, 8, 2}};
    for (int i = 0; i < SIZES; i++)
        onnx_same_at(
            path,
            (const optune_binding[]){{"n", size[i][0]}, {"h", size[i][1]}, {"w", size[i][2]}},
            3);
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
    onnx_ints(&g, "zero", 0, (const int64_t[]){0});
    onnx_ints(&g, "one", 0, &one);
    onnx_ints(&g, "minus", 0, (const int64_t[]){-1});
    onnx_ints(&g, "axis", 1, (const int64_t[]){0});
    onnx_ints(&g, "three", 1, (const int64_t[]){3});
    onnx_floats(&g, "row", "4", 4);
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
    const char *path = onnx_saved(&g);
    for (int i = 0; i < SIZES; i++)
        onnx_same_at(path, (const optune_binding[]){{"n", i + 1}, {"h", 2 * i + 2}}, 2);
    ot_text_release(&attrs);
}

static void numbers_are_asked_for(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Range", "", "s s s", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'n': --bind n=1, say");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Reshape", "", "s s", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4"); /* whether it is 2 only a run knows */
    onnx_ints(&g, "pair", 3, (const int64_t[]){2, 2, 4});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Equal", "", "s pair", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4"); /* likewise */
    onnx_floats(&g, "rows", "2,1,4", 8);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Expand", "", "rows s", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_ints(&g, "pair", 0, (const int64_t[]){2});
    onnx_ints(&g, "zero", 0, (const int64_t[]){0});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
    onnx_node(&g, "Range", "", "zero n_ pair", "y", NULL); /* steps of 2 */
    onnx_refused(&g, "it needs the value of dim 'n'");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_node(&g, "Shape", "", "x", "y", NULL);
    onnx_refused(&g, "sizes that only a run knows are no tensor here");
    onnx_input(&g, "x", ONNX_FLOAT, "n,h,4");
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    onnx_ints(&g, "one", 1, (const int64_t[]){1});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
    onnx_node(&g, "Gather", "", "s one", "h_", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "h_ h_ n_", "to", &attrs);
    onnx_node(&g, "Reshape", "", "x to", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'h'");
}

/* Sizes that say where to begin or what to take are no elements that an operator moves, whatever
 * it cuts or takes from: a constant, a variable, other sizes. */
static void sizes_that_say_where_are_asked_for(void **state)
{
    (void)state;
    static const char *const node[][2] = {
        {"Slice", "z t two zero"}, {"Slice", "s zero t zero"}, {"Gather", "z t"},
        {"Gather", "bytes t"},     {"Gather", "s t"},          {"Split", "z t"},
        {"Unsqueeze", "z t"},      {"Squeeze", "z t"},
    };
    for (int i = 0; i < OT_COUNT(node); i++) {
        ot_text g = {0};
        uint8_t bytes[5] = {1, 2, 3, 4, 5};
        onnx_input(&g, "x", ONNX_FLOAT, "n,t,4");
        onnx_input(&g, "z", ONNX_FLOAT, "16,4");
        onnx_initializer(&g, "bytes", ONNX_UINT8, "5", bytes, sizeof bytes);
        onnx_ints(&g, "zero", 1, (const int64_t[]){0});
        onnx_ints(&g, "axis", 1, (const int64_t[]){1});
        onnx_ints(&g, "two", 1, (const int64_t[]){2});
        onnx_node(&g, "Shape", "", "x", "s", NULL);
        onnx_node(&g, "Gather", "", "s axis", "t", NULL);
        onnx_node(&g, node[i][0], "", node[i][1], "y", NULL);
        onnx_refused(&g, "it needs the value of dim 't': --bind t=1, say");
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
    onnx_refused(&g, "sizes that only a run knows are no tensor here: bind");
    onnx_input(&g, "x", ONNX_FLOAT, "n,4");
    onnx_input(&g, "v", ONNX_INT64, "2");
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s v", "y", NULL);
    onnx_refused(&g, "sizes that only a run knows are no tensor here: bind");
    for (int i = 0; i < OT_COUNT(calculation); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "n,4");
        onnx_ints(&g, "zero", 1, (const int64_t[]){0});
        onnx_ints(&g, "large", 1, (const int64_t[]){i == 2 ? -INT64_MAX : INT64_MAX});
        onnx_node(&g, "Shape", "", "x", "s", NULL);
        onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
        attr_int(&attrs, "axis", 0);
        onnx_node(&g, "Concat", "", "n_ large", "big", &attrs);
        onnx_node(&g, calculation[i], "", i == 2 ? "s big" : "big s", "to", NULL);
        onnx_node(&g, "Reshape", "", "x to", "y", NULL);
        onnx_refused(&g, "it needs the value of dim 'n'");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_computed),
        cmocka_unit_test(values_of_open_shapes),
        cmocka_unit_test(numbers_are_asked_for),
        cmocka_unit_test(sizes_that_say_where_are_asked_for),
        cmocka_unit_test(what_is_no_list_of_sizes_asks),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
