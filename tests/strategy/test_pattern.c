/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of a pattern: relations in both directions, what NaN does, pieces that cover an output
 * once, and implementations made from a pattern's rows, whose digest follows the declaration.
 */
#include "strategy/inside.h"
#include "support/check.h"

#include <math.h>

static void parse(const char *text, optune_call *call)
{
    optune_err err = {0};
    if (ot_call_parse(text, call, &err) < 0)
        fail_msg("%s", err.text);
}

static void check_output(const char *text, const char *want)
{
    optune_call call;
    ot_text type = {0};
    parse(text, &call);
    ot_tensor_print(&call.output[0], &type);
    assert_string_equal(ot_text_str(&type), want);
    ot_text_release(&type);
}

static void check_refused(const char *text, const char *reason)
{
    optune_err err = {0};
    optune_call call;
    assert_int_equal(ot_call_parse(text, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, reason);
}

static void test_broadcasting(void **state)
{
    (void)state;
    check_output("add(f32[3,1,5], f32[4,1])", "f32[3,4,5]");
    check_output("add(f32[], f32[0])", "f32[0]");
    check_output("add(f32[?m,8], f32[8])", "f32[?m,8]");
    check_output("add(f32[?m,8], f32[?m,1])", "f32[?m,8]");
    check_output("add(f32[?m,8], f32[?n,1])", "f32[?,8]");
    check_output("add(f32[?m:2..9,8], f32[1,1])", "f32[?m:2..9,8]");
    check_output("where(bool[3,1], f32[4], f32[])", "f32[3,4]");
    check_refused("add(f32[3,4], f32[3])", "dims that are not 1 must be equal");
    check_refused("add(f32[3], f64[3])", "dtypes differ");
    check_refused("sigmoid(i32[3])", "floating dtypes");
}

/* From the output back to the inputs, and no further than it is sure. */
static void test_backwards(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    parse("add(f32[3,4], f32[1,4])", &call);
    call.input[0].type =
        (optune_tensor){.rank = 2, .dim = {{0, OPTUNE_DIM_MAX, ""}, {4, 4, ""}}};
    check_ok(ot_call_infer(&call, &err));
    assert_int_equal(call.input[0].type.dim[0].min, 3);
    assert_int_equal(call.input[0].type.dtype.bits, 32);
    parse("add(f32[3,4], f32[3,4])", &call);
    call.input[0].type.dim[0] = (optune_dim){0, OPTUNE_DIM_MAX, ""};
    call.input[1].type.dim[0] = (optune_dim){0, OPTUNE_DIM_MAX, ""};
    assert_int_equal(ot_call_infer(&call, &err), 1); /* either may be 1 */
    assert_int_equal(call.input[0].type.dim[0].max, OPTUNE_DIM_MAX);
    parse("transpose(f32[3,4,5], axes=[2,0,1])", &call);
    call.input[0].type.rank = -1;
    check_ok(ot_call_infer(&call, &err));
    assert_int_equal(call.input[0].type.dim[1].min, 4);
    parse("layout_transform(f32[1,32,7,7], src_layout=NCHW, dst_layout=NCHW8c)", &call);
    call.input[0].type.rank = -1;
    check_ok(ot_call_infer(&call, &err));
    assert_int_equal(call.input[0].type.dim[1].min, 32);
    parse("concatenate(f32[3,4], f32[2,4])", &call);
    call.input[1].type.rank = -1;
    assert_in_range(ot_call_infer(&call, &err), 0, 1);
}

static void test_reductions(void **state)
{
    (void)state;
    check_output("sum(f32[3,4,5], axis=[1])", "f32[3,5]");
    check_output("sum(f32[3,4,5], axis=[1], keepdims=true)", "f32[3,1,5]");
    check_output("sum(f32[3,4,5], axis=[1], exclude=true)", "f32[4]");
    check_output("sum(f32[3,4,5])", "f32[]");
    check_output("max(f32[?m,4], axis=[-1])", "f32[?m]");
    check_output("collapse_sum_like(f32[3,4,5], f32[4,1])", "f32[4,1]");
    check_refused("sum(f32[3,4], axis=[2])", "names dim 2");
    check_refused("sum(f32[3,4], axis=[0,-2])", "twice");
    check_refused("mean(i32[3])", "floating dtypes");
    check_refused("sum(bool[3])", "'sum' of bool has no room for a sum: cast it");
    check_refused("collapse_sum_like(bool[3,4], bool[4])", "'collapse_sum_like' of bool");
    check_output("prod(bool[3,4], axis=[0])", "u1[4]");
}

static void test_moves(void **state)
{
    (void)state;
    check_output("concatenate(f32[3,4], f32[3,?n], axis=1)", "f32[3,?n+4:4..]");
    check_output("layout_transform(f32[?n,32,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
                 "f32[?n,2,7,7,16]");
    check_output("layout_transform(f32[1,?c:14..17,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
                 "f32[1,1,7,7,16]");
    check_output("layout_transform(f32[1,?c:0..3,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
                 "f32[1,0,7,7,16]");
    check_refused("layout_transform(f32[1,?c:1..5,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
                  "axis C of 1 to 5 has no blocks of 16");
    check_output("strided_slice(f32[10], begin=[9], end=[-11], strides=[-4])", "f32[3]");
    check_output("strided_slice(f32[?n,4], begin=[0,1], end=[1099511627776,3])", "f32[?n,2]");
    check_output("strided_slice(f32[?n:2..9,4], begin=[0], end=[9])", "f32[?n:2..9,4]");
    check_output("strided_slice(f32[?n:5..8], begin=[1], end=[-1])", "f32[?n-2:3..6]");
    check_output("strided_slice(f32[?n:5..8], begin=[-2], end=[99])", "f32[2]");
    check_output("strided_slice(f32[?n:2..9], begin=[-3], end=[4])", "f32[?:0..9]");
    check_output("strided_slice(f32[?n:2..9], begin=[7], end=[1], strides=[-2])",
                 "f32[?:0..3]");
    check_output("strided_slice(f32[?n], begin=[0], end=[3])", "f32[?:0..3]");
    check_output("strided_slice(f32[3,4], begin=[1,0], end=[2])", "f32[1,4]");
    check_refused("strided_slice(f32[3,4], begin=[1], end=[2,3])", "'end' has 2 numbers");
    check_refused("strided_slice(f32[3,4], begin=[1], end=[2], strides=[1,2])",
                  "'strides' 2: no more than 'begin', which has 1");
    check_output("concatenate(f32[?n:5..8], f32[?n:5..8])", "f32[?2*n:10..16]");
    check_output("concatenate(f32[?n:0..2], f32[3], f32[?m:1..4])", "f32[?m+n+3:4..9]");
    check_output("pad(f32[?n:5..8], before=[-2], after=[4])", "f32[?n+2:7..10]");
    check_output("reshape(f32[?n:5..8,4], newshape=[-1])", "f32[?4*n:20..32]");
    check_output("reshape(f32[?n:5..8,4], newshape=[-1,2,2])", "f32[?n:5..8,2,2]");
    check_output("reshape(f32[?n:5..8,4], newshape=[-1,8])", "f32[?n/2:3..4,8]");
    check_output("reshape(f32[?n:2..3,?m:5..8,6], newshape=[0,-1,3])",
                 "f32[?n:2..3,?2*m:10..16,3]");
    check_output("reshape(f32[?n:2..3,?m:5..8], newshape=[-1])", "f32[?m*n:10..24]");
    check_refused("reshape(f32[?n:5..8,4], newshape=[40])", "'newshape' holds 40 elements");
    check_refused("reshape(f32[?n:5..8,4], newshape=[30])", "'newshape' holds 30 elements");
    optune_call call;
    parse("reshape(f32[?n:5..8,4], newshape=[28])", &call);
    assert_int_equal(call.input[0].type.dim[0].min, 7);
    assert_true(optune_dim_known(&call.input[0].type.dim[0]));
    check_refused("reshape(f32[0,6], newshape=[0,4])", "'newshape' holds 4 elements, data 6");
    check_output("reshape(f32[3,4,5], newshape=[0,-1])", "f32[3,20]");
    check_output("greater(f32[3], f32[1])", "u1[3]");
    check_refused("batch_matmul(f32[3,3,1], f32[0,1,1])", "batch");
    check_refused("attention(f32[2,1,5,2], f32[2,1,1,2], f32[2,1,1,2], f32[0,1,5,1])",
                  "a mask is broadcast");
    check_refused("layout_transform(f32[1,30,7,7], src_layout=NCHW, dst_layout=NCHW16c)",
                  "no blocks of 16");
    check_refused("transpose(f32[3,4], axes=[0,0])", "no permutation");
    check_refused("squeeze(f32[3,1], axis=[1,-1])", "'axis' names dim 1 twice");
    check_refused("reshape(f32[3,4], newshape=[5])", "holds 5 elements");
    check_refused("concatenate(f32[3,4], f32[3,5])", "along 'axis'");
}

/* ---- values ------------------------------------------------------------------------------ */

static void compute(const char *text, const void *a, const void *b, double *out)
{
    optune_call call;
    optune_region region;
    double magnitude[16];
    parse(text, &call);
    const void *const in[OPTUNE_MAX_INPUTS] = {a, b};
    call.op->reference(&call, in, 0, ot_region_whole(&call.output[0], &region), out, magnitude);
}

static void test_nan(void **state)
{
    (void)state;
    static const char *const keep[] = {"relu(f32[2])",    "exp(f32[2])",  "log(f32[2])",
                                       "sqrt(f32[2])",    "tanh(f32[2])", "sigmoid(f32[2])",
                                       "negative(f32[2])"};
    static const char *const whole[] = {"max(f32[2])", "min(f32[2])", "sum(f32[2])",
                                        "mean(f32[2])", "prod(f32[2])"};
    const float a[] = {NAN, 1}, b[] = {1, NAN};
    double out[16];
    for (int i = 0; i < OT_COUNT(keep); i++) {
        compute(keep[i], a, NULL, out);
        assert_true(isnan(out[0]) && !isnan(out[1]));
    }
    for (int i = 0; i < OT_COUNT(whole); i++) {
        compute(whole[i], a, NULL, out);
        assert_true(isnan(out[0]));
        compute(whole[i], b, NULL, out);
        assert_true(isnan(out[0]));
    }
    compute("maximum(f32[2], f32[2])", a, b, out);
    assert_true(isnan(out[0]) && isnan(out[1]));
    compute("minimum(f32[2], f32[2])", a, b, out);
    assert_true(isnan(out[0]) && isnan(out[1]));
    compute("clip(f32[2], a_min=0.0, a_max=0.5)", a, NULL, out);
    assert_true(isnan(out[0]) && out[1] == 0.5);
    compute("greater(f32[2], f32[2])", a, b, out);
    assert_true(out[0] == 0 && out[1] == 0);
    compute("equal(f32[2], f32[2])", a, a, out);
    assert_true(out[0] == 0 && out[1] == 1);
}

static void test_integers_wrap(void **state)
{
    (void)state;
    const int8_t a[] = {100, -128}, b[] = {100, -1};
    const float f[] = {-3.75f, 300.5f};
    double out[16];
    compute("add(i8[2], i8[2])", a, b, out);
    assert_true(out[0] == -56 && out[1] == 127);
    compute("negative(i8[2])", a, NULL, out);
    assert_true(out[0] == -100 && out[1] == -128);
    compute("cast(f32[2], dtype=i32)", f, NULL, out);
    assert_true(out[0] == -3 && out[1] == 300);
    compute("cast(i8[2], dtype=u8)", a, NULL, out);
    assert_true(out[0] == 100 && out[1] == 128);
}

/* Each element of the output is of exactly one piece. */
static void test_pieces_cover_once(void **state)
{
    (void)state;
    int n;
    const optune_op *const *ops = ot_ops(&n);
    for (int i = 0; i < n; i++)
        for (const char *const *text = ops[i]->samples; ops[i]->pieces && *text; text++) {
            optune_call call;
            optune_piece piece[OPTUNE_MAX_PIECES];
            parse(*text, &call);
            const int64_t elements = optune_tensor_elements(&call.output[0]);
            char *seen = ot_alloc((size_t)elements + 1);
            const int n_pieces = ops[i]->pieces(&call, piece);
            assert_in_range(n_pieces, 1, OPTUNE_MAX_PIECES);
            for (int k = 0; k < n_pieces; k++) {
                const optune_piece *p = &piece[k];
                const int64_t inside =
                    p->input < 0 ? 0 : optune_tensor_elements(&call.input[p->input].type);
                int64_t turns = 1;
                for (int d = 0; d < p->rank; d++)
                    turns *= p->extent[d];
                for (int64_t t = 0; t < turns; t++) {
                    int64_t rest = t, from = p->in_offset, to = p->out_offset;
                    for (int d = p->rank - 1; d >= 0; d--) {
                        assert_true(p->extent[d] == 1 || p->out_stride[d] > 0);
                        from += rest % p->extent[d] * p->in_stride[d];
                        to += rest % p->extent[d] * p->out_stride[d];
                        rest /= p->extent[d];
                    }
                    assert_true(to >= 0 && to < elements && !seen[to]);
                    assert_true(p->input < 0 || (from >= 0 && from < inside));
                    seen[to] = 1;
                }
            }
            for (int64_t k = 0; k < elements; k++)
                assert_true(seen[k]);
            free(seen);
        }
}

/* ---- rows -------------------------------------------------------------------------------- */

OPTUNE_SCALAR(twice, 0, x0 + x0);
OPTUNE_SCALAR(thrice, 0, 3 * x0);
static const optune_op_input one_input[] = {{.name = "data", .type = "tensor"}, {0}};
static const char *const one_sample[] = {"mine(f32[8])", NULL};
#define MINE(expression)                                                                       \
    {                                                                                          \
        .name = "mine", .inputs = one_input, .samples = one_sample,                            \
        OPTUNE_ELEMWISE_OP(expression)                                                         \
    }
static const optune_op mine_twice = MINE(twice), mine_thrice = MINE(thrice),
                       mine_again = MINE(twice);

static void digest_of(const optune_op *op, char digest[33])
{
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    check_ok(ot_op_add(op, &err));
    const optune_impl *impl = ot_impl_find("mine_vector.cpu");
    assert_non_null(impl);
    assert_string_equal(impl->op, "mine");
    assert_true(strlen(ot_impl_source(impl)) > 0);
    assert_true(ot_copy(digest, 33, ot_impl_digest(impl)));
    ot_registry_rewind(mark);
    assert_null(ot_impl_find("mine_vector.cpu"));
}

/* A record of one expression is none of another. */
static void test_digest_follows_the_expression(void **state)
{
    (void)state;
    char a[33], b[33], c[33];
    digest_of(&mine_twice, a);
    digest_of(&mine_thrice, b);
    digest_of(&mine_again, c);
    assert_string_not_equal(a, b);
    assert_string_equal(a, c);
    assert_string_not_equal(ot_impl_digest(ot_impl_find("add_vector.cpu")),
                            ot_impl_digest(ot_impl_find("multiply_vector.cpu")));
    assert_string_not_equal(ot_impl_digest(ot_impl_find("transpose_rows.cpu")),
                            ot_impl_digest(ot_impl_find("reverse_rows.cpu")));
}

static void some_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task, (void)config, (void)plan;
}

/* A plugin's rows of a pattern reach every op of it, but not past a strategy of its own. */
static void test_rows_of_others(void **state)
{
    (void)state;
    static const optune_impl impl = {.name = "theirs",
                                     .pattern = OPTUNE_REDUCTION,
                                     .summary = "s",
                                     .plan = some_plan,
                                     .source = "int theirs;"};
    static const optune_strategy_row rows[] = {{.impl = "theirs"}, {0}};
    static const optune_strategy_row own_rows[] = {{.impl = "sum_inner.cpu"}, {0}};
    static const optune_strategy own = {.op = "sum", .key = "there", .rows = own_rows};
    static const optune_strategy strategy = {
        .pattern = OPTUNE_REDUCTION, .key = "there", .rows = rows};
    static const optune_strategy lost = {
        .pattern = OPTUNE_INJECTIVE, .key = "there", .rows = rows};
    const optune_target target = {.kind = "t", .n_keys = 1, .key = {"there"}};
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    check_ok(ot_impl_add(&impl, &err));
    assert_int_equal(ot_impl_add(&impl, &err), OPTUNE_ECONFLICT);
    assert_non_null(ot_impl_find("mean_theirs"));
    assert_string_equal(ot_impl_source(ot_impl_find("mean_theirs")), "int theirs;");
    assert_null(ot_impl_find("add_theirs"));
    check_ok(ot_strategy_add(&own, &err));
    check_ok(ot_strategy_add(&strategy, &err));
    assert_int_equal(ot_strategy_add(&lost, &err), OPTUNE_ENOENT);
    check_contains(err.text, "no implementation of that pattern");
    const optune_strategy *found = ot_strategy_find(ot_op_find("mean"), &target);
    assert_string_equal(found->rows[0].impl, "mean_theirs");
    assert_ptr_equal(ot_strategy_find(ot_op_find("sum"), &target), &own);
    ot_registry_rewind(mark);
    assert_null(ot_impl_find("mean_theirs"));
}

/* What a call of the operator is computed by first, on a target with this key. */
static const char *first_of(const char *op, const char *key)
{
    optune_target target = {.kind = "t", .n_keys = 1};
    ot_copy(target.key[0], sizeof target.key[0], key);
    const optune_strategy *found = ot_strategy_find(ot_op_find(op), &target);
    return found ? found->rows[0].impl : "";
}

static void check_origin(const char *op, const char *key, const char *want)
{
    optune_target target = {.kind = "t", .n_keys = 1};
    ot_text text = {0};
    ot_copy(target.key[0], sizeof target.key[0], key);
    ot_strategy_origin(ot_strategy_find(ot_op_find(op), &target), &text);
    assert_string_equal(ot_text_str(&text), want);
    ot_text_release(&text);
}

/* One row overrides the schedule of all of a family, or of all reductions, for several keys; one of
 * an operator's own goes before it, whichever was added first. */
static void test_families(void **state)
{
    (void)state;
    static const char *const keys[] = {"there", "elsewhere", NULL};
    static const optune_strategy_row loops[] = {{.impl = "loop.cpu"}, {0}};
    static const optune_strategy_row outer[] = {{.impl = "outer.cpu"}, {0}};
    static const optune_strategy_row own[] = {{.impl = "cumsum_row.cpu"}, {0}};
    static const optune_strategy_row inner[] = {{.impl = "sum_inner.cpu"}, {0}};
    static const optune_strategy scans = {.family = "scan", .keys = keys, .rows = loops};
    static const optune_strategy again = {.family = "scan", .key = "cpu", .rows = loops};
    static const optune_strategy one = {.op = "cumsum", .keys = keys, .rows = own};
    static const optune_strategy reductions = {
        .pattern = OPTUNE_REDUCTION, .keys = keys, .rows = outer};
    static const optune_strategy sum = {.op = "sum", .key = "elsewhere", .rows = inner};
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    assert_string_equal(first_of("cumprod", "cpu"), "cumprod_loop.cpu");
    check_origin("cumprod", "cpu", "family scan for 'cpu', in tree");
    check_origin("max", "cpu", "pattern reduction for 'cpu', in tree");
    check_origin("dense", "cpu", "dense for 'cpu', in tree");
    check_origin("max_pool2d_grad", "generic", "family pool_grad for 'generic', in tree");
    check_ok(ot_strategy_add(&one, &err));
    check_ok(ot_strategy_add(&scans, &err)); /* behind the operator's own, though added later */
    check_ok(ot_strategy_add(&reductions, &err));
    check_ok(ot_strategy_add(&sum, &err));
    for (int i = 0; keys[i]; i++) {
        assert_string_equal(first_of("cumprod", keys[i]), "cumprod_loop.cpu");
        assert_string_equal(first_of("cumsum", keys[i]), "cumsum_row.cpu");
        assert_string_equal(first_of("max", keys[i]), "max_outer.cpu");
    }
    assert_string_equal(first_of("sum", "there"), "sum_outer.cpu");
    assert_string_equal(first_of("sum", "elsewhere"), "sum_inner.cpu");
    check_origin("sum", "elsewhere", "sum for 'elsewhere', in tree");
    /* A later row of the family goes before the one in tree. */
    ot_registry_of_plugin("mine");
    check_ok(ot_strategy_add(&again, &err));
    ot_registry_of_plugin(NULL);
    check_origin("cumsum", "cpu", "family scan for 'cpu', plugin 'mine'");
    /* An implementation may be added to what a family's row gave to one operator. */
    check_ok(optune_strategy_add(optune_strategy_of("cumprod", "there"),
                                 ot_impl_find("cumprod_row.cpu"), 7, &err));
    assert_string_equal(optune_strategy_of("cumprod", "there")->rows[1].impl,
                        "cumprod_row.cpu");
    ot_registry_rewind(mark);
    assert_string_equal(first_of("cumsum", "there"), "cumsum_loop.cpu"); /* the generic one */
    check_origin("cumsum", "cpu", "family scan for 'cpu', in tree");
}

/* An implementation of a family is one of each of its operators. */
static void test_family_implementations(void **state)
{
    (void)state;
    static const optune_impl impl = {.family = "scan",
                                     .name = "theirs",
                                     .summary = "s",
                                     .plan = some_plan,
                                     .source = "int s;"};
    static const optune_impl dotted = {.family = "scan",
                                       .name = ".own",
                                       .summary = "s",
                                       .plan = some_plan,
                                       .source = "int s;"};
    static const optune_impl lost = {.family = "scann",
                                     .name = "lost",
                                     .summary = "s",
                                     .plan = some_plan,
                                     .source = "int s;"};
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    check_ok(ot_impl_add(&impl, &err));
    check_ok(ot_impl_add(&dotted, &err));
    assert_non_null(ot_impl_find("cumsum_theirs"));
    assert_non_null(ot_impl_find("cumprod.own"));
    assert_null(ot_impl_find("sum_theirs"));
    assert_int_equal(ot_impl_add(&impl, &err), OPTUNE_ECONFLICT);
    assert_int_equal(ot_impl_add(&lost, &err), OPTUNE_ENOENT);
    check_contains(err.text, "implementation 'lost': no operator is of family 'scann'; did you "
                             "mean 'scan'?");
    ot_registry_rewind(mark);
    assert_null(ot_impl_find("cumsum_theirs"));
}

static void check_slip(const optune_strategy *strategy, int want, const char *reason)
{
    optune_err err = {0};
    int before, after;
    ot_strategies(&before);
    assert_int_equal(ot_strategy_add(strategy, &err), want);
    check_contains(err.text, reason);
    ot_strategies(&after);
    assert_int_equal(after, before);
}

static void test_family_slips(void **state)
{
    (void)state;
    static const char *const keys_twice[] = {"there", "here", "there", NULL};
    static const char *const none[] = {NULL};
    static const optune_strategy_row loops[] = {{.impl = "loop.cpu"}, {0}};
    static const optune_strategy_row wrong[] = {{.impl = "loopy.cpu"}, {0}};
    static const optune_strategy_row odd[] = {{.impl = "loop.cpu", .when = "widht > 1"}, {0}};
    optune_strategy s = {.family = "scna", .key = "there", .rows = loops};
    check_slip(
        &s, OPTUNE_ENOENT,
        "strategy of family 'scna' for 'there': no operator is of family 'scna'; did you "
        "mean 'scan'?");
    s = (optune_strategy){.family = "scan", .keys = keys_twice, .rows = loops};
    check_slip(&s, OPTUNE_ECONFLICT,
               "strategy of family 'scan' for 'there' says key 'there' twice");
    s = (optune_strategy){.family = "scan", .keys = none, .rows = loops};
    check_slip(&s, OPTUNE_EUSAGE, "strategy key without a name");
    s = (optune_strategy){.family = "scan", .keys = keys_twice, .key = "cpu", .rows = loops};
    check_slip(&s, OPTUNE_EUSAGE, "has `key` and `keys`");
    s = (optune_strategy){.family = "scan", .op = "cumsum", .key = "cpu", .rows = loops};
    check_slip(&s, OPTUNE_EUSAGE, "strategy of 'cumsum' for 'cpu' has `op` and `family`");
    s = (optune_strategy){
        .pattern = OPTUNE_REDUCTION, .op = "sum", .key = "cpu", .rows = loops};
    check_slip(&s, OPTUNE_EUSAGE, "strategy of 'sum' for 'cpu' has `op` and `pattern`");
    s = (optune_strategy){
        .pattern = OPTUNE_REDUCTION, .family = "scan", .key = "there", .rows = loops};
    check_slip(&s, OPTUNE_EUSAGE, "has `family` and `pattern`");
    s = (optune_strategy){.key = "there", .rows = wrong};
    check_slip(&s, OPTUNE_ENOENT,
               "names 'loopy.cpu', which is no implementation of that pattern (or is `op` left "
               "out?)");
    s = (optune_strategy){.family = "scan", .key = "there", .rows = wrong};
    check_slip(&s, OPTUNE_ENOENT,
               "strategy of family 'scan' for 'there' names 'loopy.cpu', but there is no "
               "implementation 'cum");
    const optune_target cpu = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    s = (optune_strategy){.family = "scan", .key = "there", .rows = odd};
    s.dim = ot_strategy_find(ot_op_find("cumsum"), &cpu)->dim;
    check_slip(&s, OPTUNE_ENOENT,
               "names 'widht', which is no dim of it; did you mean 'width'?");
    s = (optune_strategy){.family = "scan", .key = "there"};
    check_slip(&s, OPTUNE_EUSAGE, "strategy of family 'scan' for 'there' has no rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_family_implementations),
        cmocka_unit_test(test_family_slips),
        cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_pieces_cover_once),
        cmocka_unit_test(test_digest_follows_the_expression),
        cmocka_unit_test(test_rows_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
