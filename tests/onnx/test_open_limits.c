/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that are left open and what a model can do with so many only: sizes that it has no answer
 * for are refused by a run, in words, all others give what they give as numbers.
 */
#include "support/onnx_open.h"

#include <stdlib.h>

#include "answer/graph.h"

enum { ONNX_INT32 = 6 };
static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* One dim of a value, as a list of one. */
static void length(ot_text *g, const char *value, int axis, const char *to)
{
    ot_text shape = {0}, at = {0}, in = {0};
    ot_text_printf(&shape, "%s_shape", to);
    ot_text_printf(&at, "%s_axis", to);
    ot_text_printf(&in, "%s_shape %s_axis", to, to);
    onnx_node(g, "Shape", "", value, ot_text_str(&shape), NULL);
    onnx_ints(g, ot_text_str(&at), 1, (const int64_t[]){axis});
    onnx_node(g, "Gather", "", ot_text_str(&in), to, NULL);
    ot_text_release(&shape);
    ot_text_release(&at);
    ot_text_release(&in);
}

static void joined(ot_text *g, const char *in, const char *to)
{
    ot_text attrs = {0};
    attr_int(&attrs, "axis", 0);
    onnx_node(g, "Concat", "", in, to, &attrs);
}

/* Fails the test unless inputs [rows[i],cols] are refused with these words; without words: unless
 * they are taken. */
static void says_at(const char *path, int n, const int64_t *rows, int64_t cols,
                    const char *words)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    optune_values *values = NULL;
    optune_tensor type[4];
    void *in[4];
    assert_true(n <= OT_COUNT(in));
    for (int i = 0; i < n; i++) {
        type[i] = (optune_tensor){
            .dtype = f32, .rank = 2, .dim = {optune_dim_of(rows[i]), optune_dim_of(cols)}};
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&type[i]) + 1);
    }
    check_ok(optune_graph_read(path, &g, &err));
    const int status = optune_graph_evaluate(g, (const void *const *)in, type, &values, &err);
    if (words) {
        assert_int_equal(status, OPTUNE_ETYPE);
        check_contains(err.text, words);
    } else
        check_ok(status);
    optune_values_free(values);
    optune_graph_close(g);
    for (int i = 0; i < n; i++)
        free(in[i]);
}

enum { NOT, FIRST, LATER, UNUSED, JOINS };

/* past [p,4], x [t,4] and what a decoder has of both; `where` it joins them. */
static void decoder(ot_text *g, int where)
{
    onnx_input(g, "past", ONNX_FLOAT, "p,4");
    onnx_input(g, "x", ONNX_FLOAT, "t,4");
    onnx_floats(g, "table", "8,4", 32);
    onnx_ints(g, "zero", 1, (const int64_t[]){0});
    length(g, "past", 0, "p0");
    length(g, "x", 0, "t0");
    if (where == FIRST || where == UNUSED)
        joined(g, "past x", "all");
    if (where == UNUSED)
        length(g, "all", 0, "both");
    else
        onnx_node(g, "Add", "", "p0 t0", "both", NULL);
}

static void decoder_ends(ot_text *g, int where)
{
    if (where == LATER)
        joined(g, "past x", "all");
    if (where == FIRST || where == LATER)
        onnx_output(g, "all");
}

/* A table's rows from p to p+t, and from its front on, wherever a value is as long as both: more
 * than there are rows is refused, and said to be so. */
static void tables_end_with_both(void **state)
{
    (void)state;
    static const int64_t size[][2] = {{1, 1}, {2, 3}, {7, 1}, {1, 7}, {4, 4}};
    static const int64_t wrong[][2] = {{5, 5}, {8, 1}, {1, 8}};
    for (int where = 0; where < JOINS; where++)
        for (int front = 0; front < 2; front++) {
            ot_text g = {0};
            decoder(&g, where);
            onnx_node(&g, "Slice", "", front ? "table zero both" : "table p0 both", "rows",
                      NULL);
            if (!front)
                onnx_node(&g, "Add", "", "x rows", "y", NULL);
            decoder_ends(&g, where);
            onnx_output(&g, front ? "rows" : "y");
            const char *path = onnx_saved(&g);
            for (int k = 0; k < OT_COUNT(size); k++)
                onnx_same_at(path,
                             (const optune_binding[]){{"p", size[k][0]}, {"t", size[k][1]}}, 2);
            says_at(path, 2, (const int64_t[]){8, 0}, 4, NULL);
            for (int k = 0; k < OT_COUNT(wrong); k++)
                says_at(path, 2, wrong[k], 4,
                        "not 0 to 8: give inputs sizes, or dims ranges with --bind, that fit "
                        "(?p, ?t)");
        }
}

/* Sizes that are chosen in ranges are such as the model can have. */
static void chosen_sizes_fit(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = NULL;
    optune_tensor given[2];
    bool sized = false;
    ot_text model = {0};
    decoder(&model, FIRST);
    onnx_node(&model, "Slice", "", "table p0 both", "y", NULL);
    decoder_ends(&model, FIRST);
    onnx_output(&model, "y");
    check_ok(optune_graph_read(onnx_saved(&model), &g, &err));
    check_ok(optune_graph_infer(g, &err));
    check_ok(ot_graph_choose_sizes(g, given, &sized, &err));
    assert_true(sized);
    assert_in_range(given[0].dim[0].min, 1, 7);
    assert_in_range(given[0].dim[0].min + given[1].dim[0].min, 2, 8);
    optune_graph_close(g);
}

static void slice(ot_text *g, const char *in)
{
    onnx_input(g, "x", ONNX_FLOAT, "n,3");
    onnx_node(g, "Slice", "", in, "y", NULL);
}

/* What lists of 32 bits have for an axis's end, and those of 64 that were made of them. */
static void ends_of_32_bits(void **state)
{
    (void)state;
    static const int64_t part[][3] = {{1, INT32_MAX, 1},          {0, INT32_MAX, 2},
                                      {-3, INT32_MAX, 1},         {INT32_MIN, -1, 1},
                                      {INT32_MIN, INT32_MAX, 1},  {-1, INT32_MIN, -1},
                                      {INT32_MAX, -INT32_MAX, -1}};
    static const int64_t size[] = {3, 4, 5, 17, 64};
    for (int wide = 0; wide < 2; wide++)
        for (int i = 0; i < OT_COUNT(part); i++) {
            static const char *const name[] = {"from", "to", "step", "axis"};
            ot_text g = {0};
            for (int k = 0; k < OT_COUNT(name); k++) {
                const int64_t is = k < 3 ? part[i][k] : 0;
                const int32_t narrow = (int32_t)is;
                onnx_initializer(&g, name[k], wide ? ONNX_INT64 : ONNX_INT32, "1",
                                 wide ? (const void *)&is : &narrow,
                                 wide ? sizeof is : sizeof narrow);
            }
            slice(&g, "x from to axis step");
            onnx_output(&g, "y");
            const char *path = onnx_saved(&g);
            for (int k = 0; k < OT_COUNT(size); k++)
                onnx_same_at(path, (const optune_binding[]){{"n", size[k]}}, 1);
        }
}

/* An end that is a number, behind which an axis may end or not: no size is taken for granted. */
static void ends_within_reach(void **state)
{
    (void)state;
    static const int64_t end[] = {64, 70, 1000};
    for (int i = 0; i < OT_COUNT(end); i++) {
        ot_text g = {0};
        onnx_ints(&g, "from", 1, (const int64_t[]){1});
        onnx_ints(&g, "to", 1, &end[i]);
        slice(&g, "x from to");
        onnx_refused(&g, "it needs the value of dim 'n': --bind n=");
    }
}

/* A shape of what dims are, less a number, and nothing else that says how many there are. */
static void sizes_less_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *op, *in;
        int64_t less;
    } shape[] = {
        {"Identity", "h0", 3}, {"Add", "h0 w0", 1}, {"Mul", "h0 two", 1}, {"Mul", "h0 w0", 3}};
    static const int64_t size[][2] = {{3, 1}, {5, 2}, {4, 64}};
    for (int i = 0; i < OT_COUNT(shape); i++) {
        ot_text g = {0};
        onnx_input(&g, "x", ONNX_FLOAT, "h,w");
        onnx_ints(&g, "two", 1, (const int64_t[]){2});
        onnx_ints(&g, "less", 1, &shape[i].less);
        length(&g, "x", 0, "h0");
        length(&g, "x", 1, "w0");
        onnx_node(&g, shape[i].op, "", shape[i].in, "many", NULL);
        onnx_node(&g, "Sub", "", "many less", "sizes", NULL);
        onnx_node(&g, "ConstantOfShape", "", "sizes", "y", NULL);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        for (int k = 0; k < OT_COUNT(size); k++)
            onnx_same_at(path, (const optune_binding[]){{"h", size[k][0]}, {"w", size[k][1]}},
                         2);
        says_at(path, 1, (const int64_t[]){0}, 0, "is 0, not");
    }
}

/* A dim that is told by a value which has nothing beside it. */
static void lengths_beside_nothing(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *read = NULL;
    optune_values *values = NULL;
    ot_text g = {0};
    const float nothing = 0, *one;
    const void *const in[] = {&nothing};
    const optune_tensor type = {
        .dtype = f32,
        .rank = 4,
        .dim = {optune_dim_of(0), optune_dim_of(5), optune_dim_of(2), optune_dim_of(0)}};
    onnx_input(&g, "x", ONNX_FLOAT, "b,h,2,w");
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    length(&g, "x", 1, "h0");
    onnx_node(&g, "Mul", "", "h0 two", "sizes", NULL);
    onnx_node(&g, "ConstantOfShape", "", "sizes", "y", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    check_ok(optune_graph_read(path, &read, &err));
    check_ok(optune_graph_evaluate(read, in, &type, &values, &err));
    assert_int_equal(optune_values_type(values, 0)->dim[0].min, 10);
    one = optune_values_data(values, 0);
    assert_float_equal(one[9], 0, 0);
    optune_values_free(values);
    optune_graph_close(read);
    onnx_same_at(path, (const optune_binding[]){{"b", 2}, {"h", 5}, {"w", 3}}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_end_with_both), cmocka_unit_test(chosen_sizes_fit),
        cmocka_unit_test(ends_of_32_bits),      cmocka_unit_test(ends_within_reach),
        cmocka_unit_test(sizes_less_a_number),  cmocka_unit_test(lengths_beside_nothing),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
