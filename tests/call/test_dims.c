/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that are computed of named ones: their normal form, as text both ways, what is learned of
 * their names, and that what relations name them is what they are at every size. Random expressions
 * are held against an evaluation of their own text, those of relations against the relation.
 */
#include "strategy/fake.h"

#include "call/dim_expr.h"
#include "support/random_call.h"

enum { EXPRESSIONS = 400, SIZES = 12, CALLS = 400 };

static void check_form(const char *text, const char *expected)
{
    optune_err err = {0};
    const char *end;
    optune_tensor type;
    ot_text printed = {0};
    for (int turn = 0; turn < 2; turn++) {
        check_ok(ot_tensor_parse(turn ? ot_text_str(&printed) : text, &type, &end, &err));
        assert_string_equal(end, "");
        ot_text_clear(&printed);
        ot_tensor_print(&type, &printed);
        assert_string_equal(ot_text_str(&printed), expected);
    }
    ot_text_release(&printed);
}

static void test_normal_forms(void **state)
{
    (void)state;
    check_form("f32[?2*n]", "f32[?2*n]");
    check_form("f32[2*?n:4..8, ?n/2]", "f32[?2*n:4..8,?n/2]");
    check_form("f32[?n+n, ?m+n, ?n+m]", "f32[?2*n,?m+n,?m+n]");
    check_form("f32[?(n+1)/2/2, ?((n+1)/2+1)/2]", "f32[?(n+1)/4,?(n+3)/4]");
    check_form("f32[?(3*n+5)/2, ?(2*n+5)/4, ?(n-1)/2]", "f32[?(n+1)/2+n+2,?n/2+1,?(n+1)/2-1]");
    check_form("f32[(?h/32)*(?w/32), ?h/32*w/32]", "f32[?(h/32)*(w/32),?((h/32)*w)/32]");
    check_form("f32[?10-n, ?-n+10, ?2*(n-m)]", "f32[?10-n,?10-n,?2*n-2*m]");
    check_form("f32[?(n), ?((m)), ?1*n, ?n+0, ?4*n/4]", "f32[?n,?m,?n,?n,?n]");
    check_form("f32[?(2*(n/2)+1)/2, ?2*((n+1)/2)]", "f32[?n/2,?2*((n+1)/2)]");
    check_form("f32[?(image_height+31)/32:1..64, ?(image_height+31)/32]",
               "f32[?(image_height+31)/32:1..64,?(image_height+31)/32]");
}

static void check_wrong(const char *text, int wanted, const char *why)
{
    optune_err err = {0};
    const char *end;
    optune_tensor type;
    assert_int_equal(ot_tensor_parse(text, &type, &end, &err), wanted);
    assert_non_null(strstr(err.text, why));
}

static void test_wrong_ones(void **state)
{
    (void)state;
    check_wrong("f32[?n/0]", OPTUNE_ESYNTAX, "a number other than 0");
    check_wrong("f32[?n/m]", OPTUNE_ESYNTAX, "a number other than 0");
    check_wrong("f32[?2*3]", OPTUNE_ESYNTAX, "no named dim");
    check_wrong("f32[?n-n]", OPTUNE_ESYNTAX, "no named dim");
    check_wrong("f32[?(n+1]", OPTUNE_ESYNTAX, "')' is expected");
    check_wrong("f32[?n*]", OPTUNE_ESYNTAX, "a dim's name or a number");
    check_wrong("f32[?n+1:4..3]", OPTUNE_ESYNTAX, "this range is empty");
    check_wrong("f32[?n*n*n*n*n]", OPTUNE_ESYNTAX, "too long");
    check_wrong("f32[?n*99999999999999]", OPTUNE_ESYNTAX, "too large");
    check_wrong("f32[?((((((((((n))))))))))]", OPTUNE_ESYNTAX, "too many brackets");
    /* Each quotient would hold those before it several times: gigabytes of text. */
    ot_text nested = {0};
    ot_text_add(&nested, "f32[?229320+Z");
    for (int i = 0; i < 8; i++)
        ot_text_add(&nested, "/4/66*333/6/33*336/38*3*33/333*3*333/64");
    ot_text_add(&nested, "]");
    check_wrong(ot_text_str(&nested), OPTUNE_ESYNTAX, "too long");
    ot_text_release(&nested);
}

/* Names are what an expression is made of: many of them, longer than a name is. */
static void test_long_ones_are_told_apart(void **state)
{
    (void)state;
    optune_tensor type[2][64];
    optune_err err = {0};
    const char *end;
    char text[128];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 64; i++) {
            snprintf(text, sizeof text, "f32[?(a_long_name+%d)/97]", i + 1);
            check_ok(ot_tensor_parse(text, &type[turn][i], &end, &err));
        }
    for (int i = 0; i < 64; i++) {
        assert_string_equal(type[0][i].dim[0].name, type[1][i].dim[0].name);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(type[0][i].dim[0].name, type[0][k].dim[0].name);
    }
}

static void check_output(const char *text, const char *expected)
{
    optune_err err = {0};
    optune_call call;
    ot_text type = {0};
    check_ok(ot_call_parse(text, &call, &err));
    ot_tensor_print(&call.output[0], &type);
    assert_string_equal(ot_text_str(&type), expected);
    ot_text_release(&type);
}

static void test_relations_name_what_they_compute(void **state)
{
    (void)state;
    check_output("concatenate(f32[?n,4], f32[?n,4])", "f32[?2*n,4]");
    check_output("concatenate(f32[?n:0..4], f32[?m:1..2], f32[3], f32[?n:0..4])",
                 "f32[?m+2*n+3:4..13]");
    check_output("conv2d(f32[?b:1..8,3,?h:32..64,?w], f32[8,3,7,7], strides=[2,2], "
                 "padding=[3,3,3,3])",
                 "f32[?b:1..8,8,?(h+1)/2:16..32,?(w+1)/2]");
    check_output("conv2d(f32[1,3,?h:32..64,?h], f32[8,3,3,3], padding=[1,1,1,1])",
                 "f32[1,8,?h:32..64,?h:32..64]");
    check_output("max_pool2d(f32[1,3,?h,?h], pool_size=[3,2], strides=[2,2], ceil_mode=true)",
                 "f32[1,3,?h/2:1..,?(h+1)/2:1..]");
    check_output("conv2d_transpose(f32[1,3,?h:2..9,?w:2..9], f32[3,8,4,2], strides=[2,2], "
                 "padding=[1,0,1,0])",
                 "f32[1,8,?2*h:4..18,?2*w:4..18]");
    check_output("pad(f32[?n:3..4,?m], before=[1,0], after=[2,-1])", "f32[?n+3:6..7,?m-1]");
    check_output("strided_slice(f32[?n:5..9], begin=[1], end=[-1], strides=[2])",
                 "f32[?(n+1)/2-1:2..4]");
    check_output("strided_slice(f32[?n:5..9], begin=[-1], end=[-99], strides=[-2])",
                 "f32[?(n+1)/2:3..5]");
    check_output("reshape(f32[?b:1..4,64,?h:2..8,?w:2..8], newshape=[0,0,-1])",
                 "f32[?b:1..4,64,?h*w:4..64]");
    /* One with a place that a size may reach and another not is no one formula. */
    check_output("strided_slice(f32[?n:0..9], begin=[1], end=[99])", "f32[?:0..8]");
    check_output("concatenate(f32[?:1..4], f32[?n:1..4])", "f32[?:2..8]");
}

static void test_equal_ones_are_joined(void **state)
{
    (void)state;
    check_output("add(f32[?(n+1)/2], f32[?(n+1)/2])", "f32[?(n+1)/2]");
    check_output("add(f32[?2*n,4], f32[?n+n,4])", "f32[?2*n,4]");
}

static void check_narrowed(const char *text, const char *name, int64_t size, const char *want)
{
    optune_err err = {0};
    optune_call call;
    ot_symbols to = {.n = 1, .dim = {optune_dim_of(size)}};
    ot_text is = {0};
    ot_copy(to.dim[0].name, sizeof to.dim[0].name, name);
    check_ok(ot_call_parse(text, &call, &err));
    check_ok(ot_call_narrow(&call, &to, &call, &err));
    ot_tensor_print(&call.input[0].type, &is);
    assert_string_equal(ot_text_str(&is), want);
    ot_text_release(&is);
}

static void test_what_is_learned_goes_in(void **state)
{
    (void)state;
    check_narrowed("relu(f32[?n:1..9,?(n+m)/2:1..40])", "n", 4, "f32[4,?m/2+2:2..40]");
    check_narrowed("relu(f32[?n:1..9,?(n+1)/2:1..40])", "n", 4, "f32[4,2]");
    optune_err err = {0};
    optune_call call;
    ot_symbols symbols;
    assert_int_equal(ot_call_parse("relu(f32[?n:4..9,?2*n:2..7])", &call, &err), OPTUNE_ETYPE);
    check_ok(ot_call_parse("relu(f32[?n:4..9,?2*n,?m:1..2,?m*n-1])", &call, &err));
    check_ok(ot_symbols_of(&call, &symbols, &err));
    assert_int_equal(symbols.n, 2); /* the others follow */
    assert_int_equal(call.input[0].type.dim[3].min, 3);
    assert_int_equal(call.input[0].type.dim[3].max, 17);
    check_ok(ot_call_parse("relu(f32[?2*n:4..8])", &call, &err));
    assert_int_equal(ot_symbols_of(&call, &symbols, &err), OPTUNE_EUSAGE);
}

/* ---- random ones ------------------------------------------------------------------------- */

enum { NAMES = 3 };
static const char *const names[NAMES] = {"n", "m", "some_more_h"};

static int64_t floored(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Writes an expression and says what it is at each of the sizes. */
static void draw(uint64_t *rng, int depth, const int64_t size[SIZES][NAMES], ot_text *to,
                 int64_t value[SIZES])
{
    const int kind = depth ? (int)optune_random_below(rng, 6) : 5;
    int64_t other[SIZES];
    if (kind == 5) {
        const int which = (int)optune_random_below(rng, NAMES + 1);
        const int64_t number = optune_random_below(rng, 9);
        for (int i = 0; i < SIZES; i++)
            value[i] = which < NAMES ? size[i][which] : number;
        if (which < NAMES)
            ot_text_add(to, names[which]);
        else
            ot_text_add_int(to, number);
        return;
    }
    ot_text_add(to, "(");
    draw(rng, depth - 1, size, to, value);
    ot_text_add(to, ")");
    if (kind == 4) {
        const int64_t by = 1 + optune_random_below(rng, 7);
        ot_text_printf(to, "/%d", (int)by);
        for (int i = 0; i < SIZES; i++)
            value[i] = floored(value[i], by);
        return;
    }
    ot_text_add(to, kind < 2 ? "+(" : kind == 2 ? "-(" : "*(");
    draw(rng, depth - 1, size, to, other);
    ot_text_add(to, ")");
    for (int i = 0; i < SIZES; i++)
        value[i] = kind < 2    ? value[i] + other[i]
                   : kind == 2 ? value[i] - other[i]
                               : value[i] * other[i];
}

typedef struct told {
    const int64_t *size;
} told;

static bool of_told(const void *arg, const char *name, optune_dim *is)
{
    for (int k = 0; k < NAMES; k++)
        if (strcmp(name, names[k]) == 0) {
            *is = optune_dim_of(((const told *)arg)->size[k]);
            return true;
        }
    return false;
}

static void test_random_ones_keep_their_value(void **state)
{
    (void)state;
    uint64_t rng = random_seed();
    int met = 0;
    for (int t = 0; t < EXPRESSIONS; t++) {
        int64_t size[SIZES][NAMES], value[SIZES];
        for (int i = 0; i < SIZES; i++)
            for (int k = 0; k < NAMES; k++)
                size[i][k] = i < 2 ? i : optune_random_below(&rng, 70);
        ot_text text = {0}, printed = {0};
        optune_dim dim = {.min = 0, .max = OPTUNE_DIM_MAX}, again = dim;
        const char *end, *why;
        draw(&rng, 4, size, &text, value);
        if (ot_dim_read(ot_text_str(&text), &end, &dim, &why) == OPTUNE_OK) {
            ot_text_add(&printed, optune_dim_text(&dim));
            assert_int_equal(ot_dim_read(ot_text_str(&printed), &end, &again, &why), 0);
            assert_string_equal(optune_dim_text(&again), ot_text_str(&printed));
            for (int i = 0; i < SIZES; i++) {
                optune_dim at = dim, range = dim;
                if (value[i] < 0) /* no dim is */
                    continue;
                /* a name alone is no expression: there is nothing to be learned */
                if (ot_dim_computed(&dim)) {
                    assert_true(ot_dim_settle(&at, of_told, &(told){size[i]}));
                    if (!optune_dim_known(&at) || at.min != value[i])
                        fail_msg("%s, which is %s: not %lld", ot_text_str(&text),
                                 ot_text_str(&printed), (long long)value[i]);
                    range.min = range.max = value[i];
                    assert_true(ot_dim_settle(&range, of_told, &(told){size[i]}));
                    met++;
                }
            }
        }
        ot_text_release(&text);
        ot_text_release(&printed);
    }
    assert_true(met > EXPRESSIONS);
}

/* Dims as they stand in a tensor's type. */
static optune_tensor dims_of(const char *text)
{
    optune_err err = {0};
    const char *end;
    optune_tensor type;
    check_ok(ot_tensor_parse(text, &type, &end, &err));
    return type;
}

static void test_terms(void **state)
{
    (void)state;
    ot_dim_term term[OT_DIM_TERMS];
    const optune_tensor type = dims_of("f32[?3*n*((h+1)/4)+n-2,?n,7]");
    assert_int_equal(ot_dim_terms(&type.dim[0], term), 3);
    for (int i = 0; i < 3; i++) {
        const int quotient = term[i].n == 2 && term[i].by[1] == 4;
        assert_int_equal(term[i].times, term[i].n == 2 ? 3 : term[i].n == 1 ? 1 : -2);
        assert_int_equal(term[i].n == 0, i == 2); /* the number is the last */
        if (term[i].n == 1)
            assert_string_equal(term[i].factor[0].name, "n");
        if (term[i].n == 2) {
            assert_string_equal(term[i].factor[quotient].name, "h+1");
            assert_int_equal(term[i].by[quotient], 4);
            assert_string_equal(term[i].factor[!quotient].name, "n");
            assert_int_equal(term[i].by[!quotient], 1);
        }
    }
    assert_int_equal(ot_dim_terms(&type.dim[1], term), 1);
    assert_string_equal(term[0].factor[0].name, "n");
    assert_int_equal(ot_dim_terms(&type.dim[2], term), 1);
    assert_int_equal(term[0].n, 0);
    assert_int_equal(term[0].times, 7);
    assert_int_equal(ot_dim_terms(&(optune_dim){.min = 0, .max = 9}, term), 0);
}

static bool by_four(const void *name, const optune_dim *dim, int64_t by)
{
    return !strcmp(dim->name, name) && 4 % by == 0;
}

/* Whether dims of both are the same product if no quotient has a remainder, if 4 divides h, and if
 * nothing is known to be divided. */
static void check_agree(const char *a, const char *b, bool all, bool some, bool none)
{
    const optune_tensor x = dims_of(a), y = dims_of(b);
    assert_int_equal(ot_dims_agree(x.rank, x.dim, y.rank, y.dim, NULL, NULL), all);
    assert_int_equal(ot_dims_agree(y.rank, y.dim, x.rank, x.dim, NULL, NULL), all);
    assert_int_equal(ot_dims_agree(x.rank, x.dim, y.rank, y.dim, by_four, "h"), some);
    assert_int_equal(ot_dims_agree(x.rank, x.dim, y.rank, y.dim, by_four, "-"), none);
}

static void test_products_agree(void **state)
{
    (void)state;
    check_agree("f32[?h,?w]", "f32[?h*w]", true, true, true);
    check_agree("f32[]", "f32[1]", true, true, true);
    check_agree("f32[?h,6]", "f32[2,?h,3]", true, true, true);
    check_agree("f32[?h]", "f32[?w]", false, false, false);
    check_agree("f32[?h+w]", "f32[?h*w]", false, false, false);
    check_agree("f32[?h/4,4]", "f32[?h]", true, true, false);
    check_agree("f32[?h/2,2]", "f32[?h]", true, true, false);
    check_agree("f32[?h/8,8]", "f32[?h]", true, false, false);
    check_agree("f32[?h/4,?w/4,16]", "f32[?h,?w]", true, false, false);
    check_agree("f32[?h/4,?w/4,4]", "f32[?h,?w/4]", true, true, false);
    check_agree("f32[?h/4,?w/4]", "f32[?(h/4)*(w/4)]", true, true, true);
    check_agree("f32[?b,?h]", "f32[?b*(h/2),2]", true, true, false);
    check_agree("f32[?(b*h)/2,2]", "f32[?b,?h]", true, false, false);
    check_agree("f32[?h/4+1,4]", "f32[?h+4]", true, true, false);
    check_agree("f32[?h/4+1,4]", "f32[?h]", false, false, false);
    check_agree("f32[?:0..9]", "f32[?:0..9]", false, false, false);
}

static bool of_symbols(const void *arg, const char *name, optune_dim *is)
{
    const ot_symbols *s = arg;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->dim[i].name, name) == 0) {
            *is = s->dim[i];
            return true;
        }
    return false;
}

/* Every computed dim of an output of the range is what the relation says at the sizes. */
static int hold(const optune_call *range, const ot_symbols *at)
{
    optune_err err = {0};
    optune_call call;
    int met = 0;
    if (ot_call_narrow(range, at, &call, &err) < 0)
        return 0;
    for (int o = 0; o < range->n_outputs; o++)
        for (int d = 0; d < range->output[o].rank; d++) {
            optune_dim dim = range->output[o].dim[d];
            const optune_dim *is = &call.output[o].dim[d];
            if (!ot_dim_computed(&dim) || !optune_dim_known(is))
                continue;
            if (!ot_dim_settle(&dim, of_symbols, at) || dim.min != is->min ||
                dim.max != is->max) {
                ot_text text = {0};
                ot_call_print(range, &text);
                fail_msg("%s: dim %d is not %s", ot_text_str(&text), d,
                         optune_dim_text(&range->output[o].dim[d]));
            }
            met++;
        }
    return met;
}

static void test_relations_keep_their_word(void **state)
{
    (void)state;
    uint64_t rng = random_seed();
    const random_limits limits = {.elements = 1e5, .flops = 1e8};
    static const char *const ops[] = {
        "conv2d",        "max_pool2d", "avg_pool2d",       "concatenate",           "pad",
        "strided_slice", "reshape",    "conv2d_transpose", "conv2d_backward_weight"};
    int met = 0, calls = random_asked("OPTUNE_TEST_CALLS", CALLS);
    for (int t = 0; t < calls; t++) {
        optune_err err = {0};
        optune_call call, range;
        ot_symbols symbols;
        ot_text text = {0};
        const optune_op *op =
            t % 3 ? ot_op_find(ops[optune_random_below(&rng, OT_COUNT(ops))]) : random_op(&rng);
        assert_non_null(op);
        if (random_call(&rng, op, &limits, &call, &text) && random_range(&rng, &call, &range) &&
            ot_symbols_all(&range, &symbols, &err) >= 0)
            for (int i = 0; i < SIZES; i++) {
                ot_symbols at = symbols;
                for (int k = 0; k < at.n; k++) {
                    optune_dim *dim = &at.dim[k];
                    dim->min =
                        i == 0 ? dim->min
                        : i == 1
                            ? dim->max
                            : dim->min + optune_random_below(&rng, dim->max - dim->min + 1);
                    dim->max = dim->min;
                }
                met += hold(&range, &at);
            }
        ot_text_release(&text);
    }
    assert_true(met > calls / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_wrong_ones),
        cmocka_unit_test(test_long_ones_are_told_apart),
        cmocka_unit_test(test_relations_name_what_they_compute),
        cmocka_unit_test(test_equal_ones_are_joined),
        cmocka_unit_test(test_what_is_learned_goes_in),
        cmocka_unit_test(test_random_ones_keep_their_value),
        cmocka_unit_test(test_relations_keep_their_word),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_products_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
