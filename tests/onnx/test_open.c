/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is computed over dims that are left open: products, images and volumes, tables of positions.
 * It is what the same model says where the dims are numbers; what needs a number says which dim to
 * bind.
 */
#include "support/onnx_open.h"

/* One batch that is open in front of a product of matrices, two of a constant one; heads. */
static void products_of_open_batches(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,8");
    onnx_floats(&g, "w", "8,4", 32);
    onnx_node(&g, "MatMul", "", "x w", "y", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, 2);
    ot_text_clear(&g);
    onnx_input(&g, "x", ONNX_FLOAT, "n,2,5,4");
    onnx_floats(&g, "w", "4,3", 12);
    const int64_t perm[] = {0, 1, 3, 2};
    attr_ints(&attrs, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "x", "xt", &attrs);
    onnx_node(&g, "MatMul", "", "x xt", "xx", NULL);
    onnx_node(&g, "MatMul", "", "xx x", "xxx", NULL);
    onnx_node(&g, "MatMul", "", "xxx w", "y", NULL);
    onnx_output(&g, "y");
    path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}}, 1);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}}, 1);
    ot_text_clear(&g);
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,t,4");
    attr_ints(&attrs, "perm", 4, perm);
    onnx_node(&g, "Transpose", "", "x", "xt", &attrs);
    onnx_node(&g, "MatMul", "", "x xt", "xx", NULL);
    onnx_node(&g, "MatMul", "", "xx x", "y", NULL);
    onnx_output(&g, "y");
    path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"t", 7}}, 1);
    onnx_same_at(path, (const optune_binding[]){{"t", 1}}, 1);
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
        onnx_ints(&g, "pads", 8, pads);
        attr_text(&attrs, "mode", "nearest");
        attr_text(&attrs, "coordinate_transformation_mode", how[i][0]);
        attr_text(&attrs, "nearest_mode", how[i][1]);
        onnx_node(&g, "Resize", "", "x - scales", "r", &attrs);
        attr_text(&attrs, "mode", "reflect");
        onnx_node(&g, "Pad", "", "r pads", "y", &attrs);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        onnx_same_at(path, (const optune_binding[]){{"n", 2}, {"h", 3}, {"w", 5}}, 3);
        onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"h", 1}, {"w", 1}}, 3);
    }
}

/* Sequences of any number and length, in heads. */
static void attention_of_open_sequences(void **state)
{
    (void)state;
    static const int64_t perm[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,6");
    onnx_floats(&g, "w", "6,6", 36);
    onnx_ints(&g, "heads", 4, (const int64_t[]){0, 0, 2, 3});
    onnx_ints(&g, "rows", 3, (const int64_t[]){0, 0, 6});
    onnx_node(&g, "MatMul", "", "x w", "q", NULL);
    onnx_node(&g, "Reshape", "", "q heads", "qh", NULL);
    attr_ints(&attrs, "perm", 4, perm[0]);
    onnx_node(&g, "Transpose", "", "qh", "qt", &attrs);
    attr_ints(&attrs, "perm", 4, perm[1]);
    onnx_node(&g, "Transpose", "", "qh", "kt", &attrs);
    onnx_node(&g, "MatMul", "", "qt kt", "scores", NULL);
    onnx_node(&g, "Softmax", "", "scores", "p", NULL);
    onnx_node(&g, "MatMul", "", "p qt", "heads_", NULL);
    onnx_floats(&g, "w4", "3,3", 9);
    onnx_node(&g, "MatMul", "", "heads_ w4", "y4", NULL); /* two open dims before one matrix */
    attr_ints(&attrs, "perm", 4, perm[0]);
    onnx_node(&g, "Transpose", "", "y4", "yt", &attrs);
    onnx_node(&g, "Reshape", "", "yt rows", "y", NULL);
    onnx_output(&g, "y");
    onnx_output(&g, "scores");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, 2);
}

/* Keys as PyTorch's exporter by torch.export turns them: as matrices, and as heads again. */
static void matrices_of_open_heads(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,2,t,3");
    onnx_ints(&g, "left", 1, (const int64_t[]){-1});
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    onnx_ints(&g, "end", 1, (const int64_t[]){4});
    onnx_ints(&g, "many", 1, (const int64_t[]){1 << 20});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "CastLike", "", "end s", "last", NULL);
    onnx_node(&g, "CastLike", "", "s last", "s_", NULL);
    onnx_node(&g, "Slice", "", "s_ two last", "rows", NULL);
    onnx_node(&g, "Slice", "", "s zero two", "heads", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "left rows", "flat", &attrs);
    onnx_node(&g, "Reshape", "", "x flat", "m", NULL);
    attr_ints(&attrs, "perm", 3, (const int64_t[]){0, 2, 1});
    onnx_node(&g, "Transpose", "", "m", "mt", &attrs);
    onnx_node(&g, "Shape", "", "mt", "ms", NULL);
    onnx_ints(&g, "one", 1, (const int64_t[]){1});
    onnx_node(&g, "Slice", "", "ms one many", "columns", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "heads columns", "back", &attrs);
    onnx_node(&g, "Reshape", "", "mt back", "k", NULL);
    onnx_node(&g, "MatMul", "", "x k", "y", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, 2);
}

/* Learned positions, of which a run takes as many as it has, and its causal mask. */
static void tables_of_positions(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *read = NULL;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,t");
    onnx_floats(&g, "table", "1,8,4", 32);
    onnx_floats(&g, "kernel", "4,3,2", 24);
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    onnx_ints(&g, "axis", 1, (const int64_t[]){1});
    onnx_ints(&g, "two", 1, (const int64_t[]){2});
    attr_ints(&attrs, "strides", 1, (const int64_t[]){2});
    attr_ints(&attrs, "pads", 2, (const int64_t[]){0, 1});
    onnx_node(&g, "Conv", "", "x kernel", "h", &attrs); /* (t + 1) / 2 of them */
    attr_ints(&attrs, "perm", 3, (const int64_t[]){0, 2, 1});
    onnx_node(&g, "Transpose", "", "h", "rows", &attrs);
    onnx_node(&g, "Shape", "", "rows", "s", NULL);
    onnx_node(&g, "Slice", "", "s axis two", "m", NULL);
    onnx_node(&g, "Slice", "", "table zero m axis", "places", NULL);
    onnx_node(&g, "Add", "", "rows places", "y", NULL);
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 16}}, 2);
    check_ok(optune_graph_read(path, &read, &err));
    assert_int_equal(optune_graph_input_type(read, 0)->dim[2].max, 16); /* of 17 there are 9 */
    optune_graph_close(read);
}

/* What a cache holds stands in front: places from its length on, and what is behind it. */
static void positions_behind_a_cache(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,4");
    onnx_input(&g, "past", ONNX_FLOAT, "n,p,4");
    onnx_ints(&g, "one", 0, (const int64_t[]){1});
    onnx_ints(&g, "axis", 1, (const int64_t[]){1});
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    attr_int(&attrs, "axis", 1);
    onnx_node(&g, "Concat", "", "past x", "all", &attrs);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Shape", "", "past", "ps", NULL);
    onnx_node(&g, "Shape", "", "all", "as", NULL);
    onnx_node(&g, "Gather", "", "s one", "t_", NULL);
    onnx_node(&g, "Gather", "", "ps one", "p_", NULL);
    onnx_node(&g, "Gather", "", "as one", "a_", NULL);
    onnx_node(&g, "Add", "", "p_ t_", "sum", NULL);
    onnx_node(&g, "Range", "", "p_ sum one", "places", NULL);
    onnx_node(&g, "Cast", "", "places", "y", (attr_int(&attrs, "to", ONNX_FLOAT), &attrs));
    onnx_node(&g, "Sub", "", "a_ t_", "from", NULL);
    onnx_node(&g, "Unsqueeze", "", "from zero", "from1", NULL);
    onnx_node(&g, "Unsqueeze", "", "a_ zero", "to1", NULL);
    onnx_node(&g, "Slice", "", "all from1 to1 axis", "again", NULL);
    onnx_output(&g, "y");
    onnx_output(&g, "again");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 2}, {"t", 3}, {"p", 5}}, 3);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}, {"p", 11}}, 3);
}

/* As many places as a cache and what is behind it have together, though nothing is as long yet. */
static void places_of_sums(void **state)
{
    (void)state;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,4");
    onnx_input(&g, "past", ONNX_FLOAT, "n,p,4");
    onnx_ints(&g, "one", 0, (const int64_t[]){1});
    onnx_ints(&g, "none", 0, (const int64_t[]){0});
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Shape", "", "past", "ps", NULL);
    onnx_node(&g, "Gather", "", "s one", "t_", NULL);
    onnx_node(&g, "Gather", "", "ps one", "p_", NULL);
    onnx_node(&g, "Add", "", "p_ t_", "sum", NULL);
    onnx_node(&g, "Add", "", "sum one", "more", NULL);
    onnx_node(&g, "Range", "", "none sum one", "places", NULL);
    onnx_node(&g, "Cast", "", "places", "y", (attr_int(&attrs, "to", ONNX_FLOAT), &attrs));
    onnx_node(&g, "Range", "", "none more one", "places_more", NULL);
    onnx_node(&g, "Cast", "", "places_more", "z", (attr_int(&attrs, "to", ONNX_FLOAT), &attrs));
    onnx_output(&g, "y");
    onnx_output(&g, "z");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 2}, {"t", 3}, {"p", 5}}, 3);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}, {"p", 11}}, 3);
}

/* The first or the last element of a sequence, and it without one of these. */
static void ends_of_open_axes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t from, to;
    } part[] = {
        {"first", 0, 1}, {"last", -1, INT64_MAX}, {"rest", 1, INT64_MAX}, {"front", 0, -1}};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,t,4");
    onnx_ints(&g, "axis", 1, (const int64_t[]){1});
    onnx_ints(&g, "at_0", 0, (const int64_t[]){0});
    onnx_ints(&g, "at_end", 0, (const int64_t[]){-1});
    for (int i = 0; i < 2; i++) {
        attr_int(&attrs, "axis", 1);
        onnx_node(&g, "Gather", "", i ? "x at_end" : "x at_0", i ? "one_end" : "one_0", &attrs);
        onnx_output(&g, i ? "one_end" : "one_0");
    }
    for (int i = 0; i < OT_COUNT(part); i++) {
        char from[16], to[16], in[64];
        snprintf(from, sizeof from, "from%d", i);
        snprintf(to, sizeof to, "to%d", i);
        snprintf(in, sizeof in, "x %s %s axis", from, to);
        onnx_ints(&g, from, 1, &part[i].from);
        onnx_ints(&g, to, 1, &part[i].to);
        onnx_node(&g, "Slice", "", in, part[i].name, NULL);
        onnx_output(&g, part[i].name);
    }
    onnx_node(&g, "Add", "", "rest front", "y", NULL); /* both are t - 1 */
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 2}, {"t", 6}}, 2);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, 2);
}

/* Convolutions there and back, and pooling. */
static void batches_of_volumes(void **state)
{
    (void)state;
    static const int64_t two[] = {2, 2, 2}, pads[] = {1, 0, 1, 1, 0, 1};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,2,5,4,6");
    onnx_floats(&g, "w", "3,2,2,3,1", 36);
    onnx_floats(&g, "back", "3,2,2,2,2", 48);
    attr_ints(&attrs, "pads", 6, pads);
    onnx_node(&g, "Conv", "", "x w", "c", &attrs);
    attr_ints(&attrs, "strides", 3, two);
    onnx_node(&g, "ConvTranspose", "", "c back", "y", &attrs);
    for (int i = 0; i < 3; i++) {
        static const char *const op[] = {"MaxPool", "AveragePool", "LpPool"};
        attr_ints(&attrs, "kernel_shape", 3, two);
        onnx_node(&g, op[i], "", "x", op[i], &attrs);
        onnx_output(&g, op[i]);
    }
    onnx_output(&g, "c");
    onnx_output(&g, "y");
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}}, 1);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}}, 1);
}

static void einstein_sums_of_open_batches(void **state)
{
    (void)state;
    static const char *const how[][2] = {
        {"bij,kj->bik", "x w"}, {"bij,bkj->bik", "x x"}, {"bij->ib", "x"},
        {"bij,bij->b", "x x"},  {"bij,kj->kb", "x one"}, {"...j,kj->...k", "x w"},
    };
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,4");
    onnx_floats(&g, "w", "5,4", 20);
    onnx_floats(&g, "one", "5,1", 5); /* which fits any extent */
    for (int i = 0; i < OT_COUNT(how); i++) {
        char name[16];
        snprintf(name, sizeof name, "y%d", i);
        attr_text(&attrs, "equation", how[i][0]);
        onnx_node(&g, "Einsum", "", how[i][1], name, &attrs);
        onnx_output(&g, name);
    }
    const char *path = onnx_saved(&g);
    onnx_same_at(path, (const optune_binding[]){{"n", 3}}, 1);
    onnx_same_at(path, (const optune_binding[]){{"n", 1}}, 1);
}

/* Batches that a run may find to be 1, equal, or neither. */
static void batches_that_may_differ_are_asked_for(void **state)
{
    (void)state;
    static const char *const side[][3] = {
        {"n,1,4", "7,4,5", "'n'"},   {"n,t,4", "1,4,5", "'n'"},
        {"n,2,3,4", "2,4,3", "'n'"}, {"2,3,4", "n,2,4,3", "'n'"},
        {"n,3,4", "m,4,3", "'n'"},   {"n,m,3,4", "n,m,4,3", "'n'"},
        {"2,t,4", "m,4,u", "'m'"},   {"n,2,3,4", "n,1,4,3", "'n'"},
    };
    for (int i = 0; i < OT_COUNT(side); i++) {
        ot_text g = {0}, want = {0};
        onnx_input(&g, "x", ONNX_FLOAT, side[i][0]);
        onnx_input(&g, "z", ONNX_FLOAT, side[i][1]);
        onnx_node(&g, "MatMul", "", "x z", "y", NULL);
        ot_text_printf(&want, "it needs the value of dim %s: --bind", side[i][2]);
        onnx_refused(&g, ot_text_str(&want));
        ot_text_release(&want);
    }
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,3,4");
    onnx_input(&g, "z", ONNX_FLOAT, "7,4,3");
    onnx_node(&g, "MatMul", "", "x z", "y", NULL);
    onnx_refused(&g, "batches of 2 and 7 do not fit");
}

static void einsum(ot_text *g, const char *equation, const char *x, const char *z)
{
    ot_text attrs = {0};
    onnx_input(g, "x", ONNX_FLOAT, x);
    onnx_input(g, "z", ONNX_FLOAT, z);
    attr_text(&attrs, "equation", equation);
    onnx_node(g, "Einsum", "", "x z", "y", &attrs);
}

/* Of each side of a product, and of what it gives, one label that is alone may be open, and one dim
 * of those that become one. */
static void einstein_sums_of_several_open_dims(void **state)
{
    (void)state;
    static const char *const how[][3] = {
        {"bij,bjk->bik", "n,3,t", "n,t,5"},
        {"bqhd,bkhd->bhqk", "n,t,2,4", "n,s,2,4"},
        {"bhqk,bkhd->bqhd", "n,2,t,s", "n,s,2,4"},
        {"bi,bij->bj", "n,t", "n,t,3"},
        {"ij,jk->ki", "n,t", "t,s"},
        {"btij,j->bti", "n,t,3,2", "2"},
        {"btii,b->bti", "n,t,3,3", "n"},
        {"bt,hd->bthd", "n,t", "2,4"},
        {"bti,io->bto", "n,t,3", "3,4"},
        {"...qd,...kd->...qk", "n,2,t,4", "n,2,s,4"},
    };
    static const optune_binding sizes[2][3] = {{{"n", 3}, {"t", 5}, {"s", 7}},
                                               {{"n", 1}, {"t", 1}, {"s", 1}}};
    for (int i = 0; i < OT_COUNT(how); i++) {
        ot_text g = {0};
        const bool three = strchr(how[i][1], 's') || strchr(how[i][2], 's');
        einsum(&g, how[i][0], how[i][1], how[i][2]);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        for (int k = 0; k < 2; k++)
            onnx_same_at(path, sizes[k], three ? 3 : 2);
    }
}

/* Places along an axis that is open or not; beside it the same dims, or fewer of known ones. */
static void elements_at_open_places(void **state)
{
    (void)state;
    static const struct {
        const char *x, *at;
        int64_t axis;
    } how[] = {{"n,4,t", "n,4,t", 1}, {"n,4,t", "n,7,t", -2}, {"n,6,5", "n,6,3", 2},
               {"n,6,5", "n,2,3", 2}, {"4,n,t", "2,n,t", 0},  {"9,4", "n,4", 0}};
    for (int i = 0; i < OT_COUNT(how); i++) {
        ot_text g = {0}, attrs = {0};
        static const float two[] = {2.5f};
        onnx_input(&g, "x", ONNX_FLOAT, how[i].x);
        onnx_input(&g, "z", ONNX_FLOAT, how[i].at);
        onnx_initializer(&g, "two", ONNX_FLOAT, "", two, sizeof two);
        onnx_node(&g, "Mul", "", "z two", "far", NULL);
        attr_int(&attrs, "to", ONNX_INT64);
        onnx_node(&g, "Cast", "", "far", "at", &attrs);
        attr_int(&attrs, "axis", how[i].axis);
        onnx_node(&g, "GatherElements", "", "x at", "y", &attrs);
        onnx_output(&g, "y");
        const char *path = onnx_saved(&g);
        const int n = strchr(how[i].x, 't') ? 2 : 1;
        onnx_same_at(path, (const optune_binding[]){{"n", 3}, {"t", 5}}, n);
        onnx_same_at(path, (const optune_binding[]){{"n", 1}, {"t", 1}}, n);
    }
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "5,n");
    onnx_input(&g, "z", ONNX_INT64, "3,m");
    onnx_node(&g, "GatherElements", "", "x z", "y", NULL);
    onnx_refused(&g, "it needs the value of dim 'm': --bind");
}

/* Of no elements an open dim does not follow; of two neither does. */
static void what_does_not_follow_is_asked_for(void **state)
{
    (void)state;
    ot_text g = {0};
    einsum(&g, "pqi,k->pqik", "n,3,0", "5");
    onnx_refused(&g, "of no elements no dim follows");
    einsum(&g, "abij,abjk->abik", "n,m,3,2", "n,m,2,5");
    onnx_refused(&g, "it has several dims that are open");
    einsum(&g, "bij,bjk->bik", "n,3,t", "n,s,5");
    onnx_refused(&g, "it needs the value of dim 't': --bind");
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,0,4");
    onnx_input(&g, "z", ONNX_FLOAT, "4,5");
    onnx_node(&g, "MatMul", "", "x z", "y", NULL);
    onnx_refused(&g, "of no elements no dim follows");
}

/* Limits of Slice that are sizes, but no list of them. */
static void limits_of_another_rank(void **state)
{
    (void)state;
    static const int64_t zero[] = {0}, one[] = {1}, square[] = {1, 1};
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,8");
    onnx_input(&g, "v", ONNX_FLOAT, "6");
    onnx_initializer(&g, "zero", ONNX_INT64, "1", zero, sizeof zero);
    onnx_initializer(&g, "one", ONNX_INT64, "1", one, sizeof one);
    onnx_initializer(&g, "square", ONNX_INT64, "2", square, sizeof square);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Slice", "", "s zero one", "first", NULL);
    onnx_node(&g, "Reshape", "", "first square", "end", NULL);
    onnx_node(&g, "Slice", "", "v zero end", "y", NULL);
    onnx_refused(&g, "'ends' is no list of integers");
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
    onnx_refused(&g, "it needs the value of dim 'h'");
}

/* Not a dim that is kept, whatever reshape takes it for. */
static void dims_below_minus_one(void **state)
{
    (void)state;
    static const int64_t shape[] = {-1, -2};
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,4");
    onnx_ints(&g, "shape", 2, shape);
    onnx_node(&g, "Reshape", "", "x shape", "y", NULL);
    onnx_refused(&g, "Reshape 'y': a dim of -2");
    onnx_input(&g, "x", ONNX_FLOAT, "n,3,4");
    onnx_ints(&g, "zero", 1, (const int64_t[]){0});
    onnx_ints(&g, "shape", 2, shape);
    onnx_node(&g, "Shape", "", "x", "s", NULL);
    onnx_node(&g, "Gather", "", "s zero", "n_", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "", "n_ shape", "to", &attrs);
    onnx_node(&g, "Reshape", "", "x to", "y", NULL);
    onnx_refused(&g, "Reshape 'y': a dim of -2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_open_batches),
        cmocka_unit_test(attention_of_open_sequences),
        cmocka_unit_test(matrices_of_open_heads),
        cmocka_unit_test(tables_of_positions),
        cmocka_unit_test(positions_behind_a_cache),
        cmocka_unit_test(places_of_sums),
        cmocka_unit_test(ends_of_open_axes),
        cmocka_unit_test(images_of_any_size),
        cmocka_unit_test(batches_of_volumes),
        cmocka_unit_test(einstein_sums_of_open_batches),
        cmocka_unit_test(einstein_sums_of_several_open_dims),
        cmocka_unit_test(elements_at_open_places),
        cmocka_unit_test(batches_that_may_differ_are_asked_for),
        cmocka_unit_test(what_does_not_follow_is_asked_for),
        cmocka_unit_test(limits_of_another_rank),
        cmocka_unit_test(dims_below_minus_one),
        cmocka_unit_test(scales_beyond_integers_are_asked_for),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
