/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: what Python says of each, and that everything else is refused at its place. */
#include "base/expr.h"
#include "support/check.h"

/* With a = 7, b = -3, r = 2.5, w = 'two', l = [4, 8, 16]; what has another name has no value. */
static int evaluate(const char *text, ot_text *to, optune_err *err)
{
    static const ot_expr_value items[] = {{.kind = OT_VALUE_INT, .i = 4},
                                          {.kind = OT_VALUE_INT, .i = 8},
                                          {.kind = OT_VALUE_INT, .i = 16}};
    ot_expr *expr;
    int status = ot_expr_parse(text, NULL, &expr, err);
    if (status < 0)
        return status;
    const char *const *name;
    const int n = ot_expr_names(expr, &name);
    ot_expr_value value[OT_EXPR_MOST_NAMES] = {0}, result;
    ot_arena arena = {0};
    for (int i = 0; i < n; i++) {
        if (strcmp(name[i], "a") == 0)
            value[i] = ot_int_value(7);
        else if (strcmp(name[i], "b") == 0)
            value[i] = ot_int_value(-3);
        else if (strcmp(name[i], "r") == 0)
            value[i] = (ot_expr_value){.kind = OT_VALUE_REAL, .f = 2.5};
        else if (strcmp(name[i], "w") == 0)
            value[i] = (ot_expr_value){.kind = OT_VALUE_WORD, .s = "two"};
        else if (strcmp(name[i], "l") == 0)
            value[i] = (ot_expr_value){.kind = OT_VALUE_LIST, .n = 3, .item = items};
    }
    status = ot_expr_eval(expr, value, &arena, &result, err);
    if (status >= 0)
        ot_value_print(&result, to);
    ot_arena_release(&arena);
    ot_expr_free(expr);
    return status;
}

static void values(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"1 + 2 * 3", "7"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"[1, -9223372036854775808 + 1]", "[1, -9223372036854775807]"},
        {"(1 + 2) * 3", "9"},
        {"7 // 2", "3"},
        {"-7 // 2", "-4"},
        {"7 // -2", "-4"},
        {"-7 % 3", "2"},
        {"7 % -3", "-2"},
        {"-8 % 4", "0"},
        {"7 / 2", "3.5"},
        {"8 / 2", "4.0"},
        {"7.5 // 2", "3.0"},
        {"-7.5 % 2", "0.5"},
        {"2 ** 10", "1024"},
        {"-2 ** 2", "-4"},
        {"2 ** -1", "0.5"},
        {"2 ** 3 ** 2", "512"},
        {"(-2) ** 3", "-8"},
        {"2 ** 62", "4611686018427387904"},
        {"--a", "7"},
        {"-(-(a))", "7"},
        {"+True", "1"},
        {"True + True", "2"},
        {"1 < a < 10", "True"},
        {"1 < a > 10", "False"},
        {"1 == 1.0", "True"},
        {"32 <= 4 * 8 <= 1024", "True"},
        {"a == 7 and b", "-3"},
        {"0 or w", "'two'"},
        {"0 and 1 // 0", "0"},
        {"not a", "False"},
        {"not a == 3", "True"},
        {"a in [1, 7]", "True"},
        {"a not in (1, 7)", "False"},
        {"w in ['one', \"two\"]", "True"},
        {"w != 'one'", "True"},
        {"min(a, b, r)", "-3"},
        {"max([1, 5, 3])", "5"},
        {"max(l) - 1", "15"},
        {"l[0] + l[-1]", "20"},
        {"[1] + list(range(32, 129, 32))", "[1, 32, 64, 96, 128]"},
        {"[2**i for i in range(6)]", "[1, 2, 4, 8, 16, 32]"},
        {"[2**i for i in range(0, 6) if i % 2 == 0]", "[1, 4, 16]"},
        {"[i + a for i in l]", "[11, 15, 23]"},
        {"[max([i * j for j in l]) for i in [1, 2]]", "[16, 32]"},
        {"list(range(5, 0, -2))", "[5, 3, 1]"},
        {"range(3, 3)", "[]"},
        {"[]", "[]"},
        {"(1,)", "[1]"},
        {"[1, 2] == [1, 2.0]", "True"},
        {"use == 0 or 1", NULL},
        {"1e3", "1000.0"},
        {".5 + 1.", "1.5"},
        {"a\n  + 1", "8"},
    };
    for (int i = 0; i < OT_COUNT(known); i++) {
        ot_text text = {0};
        optune_err err = {0};
        const int status = evaluate(known[i][0], &text, &err);
        if (known[i][1])
            check_ok(status);
        else
            check_contains(err.text, "'use' has no value");
        if (known[i][1] && strcmp(ot_text_str(&text), known[i][1]) != 0)
            fail_msg("%s gives %s, not %s", known[i][0], ot_text_str(&text), known[i][1]);
        ot_text_release(&text);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"", "column 1: a value is expected, and the text ends"},
        {"1 +", "column 4: a value is expected"},
        {"1 2", "column 3: what follows"},
        {"a = 3", "'==' is meant"},
        {"a & b", "column 3: '&' is not understood"},
        {"1 << 3", "shifts are not understood"},
        {"a if b else 1", "column 3: what follows"},
        {"lambda x: x", "'lambda' is not understood"},
        {"__import__('os')", "'__import__(...)' is not called here"},
        {"open('x')", "'open(...)' is not called here: there are min, max, range and list"},
        {"a.real", "'.' is not understood"},
        {"'abc", "the word has no end"},
        {"'a\\n'", "backslashes"},
        {"[1, 2", "',' or ']' is expected"},
        {"(1", "',' or ')' is expected"},
        {"(x for x in l)", "stands in brackets"},
        {"[x for x in l for y in l]", "one 'for' is understood"},
        {"[x for in l]", "'in' is expected behind 'for in'"},
        {"[x for 3 in l]", "a name is expected behind 'for'"},
        {"[y for x in l]", "'y' has no value"},
        {"[x for x in a]", "'for' goes through a list only"},
        {"1 // 0", "column 3: division by zero"},
        {"1 % (a - 7)", "division by zero"},
        {"1 / 0.0", "division by zero"},
        {"0 ** -1", "division by zero"},
        {"2 ** 63", "does not fit into 64 bits"},
        {"9223372036854775807 + 1", "does not fit into 64 bits"},
        {"9223372036854775808", "is no number"},
        {"10.0 ** 400", "no finite number"},
        {"list(range(10 ** 9))", "more than 65536 items"},
        {"[[j for j in range(60000)] for i in range(60000)]", "takes too long"},
        {"[list(range(60000)) for i in range(60000)]", "takes too long"},
        {"range(1, 5, 0)", "has no end"},
        {"range(1.5)", "takes integers"},
        {"a < w", "an integer and a word have no order"},
        {"w + 1", "nothing is computed from a word and an integer"},
        {"l * 2", "nothing is computed from a list and an integer"},
        {"3 in 5", "looks into a list only"},
        {"l[3]", "there is no item 3 in a list of 3"},
        {"a[0]", "only lists have items"},
        {"-w", "only numbers have a sign"},
        {"max()", "'max' takes 1 to 64"},
        {"max([])", "an empty list"},
        {"max(3)", "a list is expected"},
        {"range(-9223372036854775808)", "does not fit into 64 bits"},
        {"-92233720368547758080", "is no number"},
        {"range(-9223372036854775808, 9223372036854775807)", "does not fit into 64 bits"},
        {"- -9223372036854775808", "does not fit into 64 bits"},
        {"-9223372036854775808 // -1", "does not fit into 64 bits"},
        {"1 - not 2", "'not' is not understood"},
        {"in", "'in' is not understood"},
        {"1 + list", "'list' is not understood"},
        {"1\xff", "what follows here"},
    };
    for (int i = 0; i < OT_COUNT(known); i++) {
        ot_text text = {0};
        optune_err err = {0};
        if (evaluate(known[i][0], &text, &err) >= 0)
            fail_msg("%s gives %s", known[i][0], ot_text_str(&text));
        check_contains(err.text, known[i][1]);
        ot_text_release(&text);
    }
}

/* Whatever is nested without end is refused, and does not take the stack. */
static void depth(void **state)
{
    (void)state;
    static const char *const piece[] = {"(",   "[",  "-",  "not ",         "min(",
                                        "2**", "1+", "1<", "[[x for x in "};
    for (int i = 0; i < OT_COUNT(piece); i++) {
        ot_text text = {0}, to = {0};
        optune_err err = {0};
        while (text.n < 60000)
            ot_text_add(&text, piece[i]);
        assert_true(evaluate(ot_text_str(&text), &to, &err) < 0);
        assert_true(strlen(err.text) > 0);
        ot_text_release(&text);
        ot_text_release(&to);
    }
}

static void places(void **state)
{
    (void)state;
    ot_expr *expr;
    optune_err err = {0};
    const ot_spot place = {.file = "k.c", .line = 12, .column = 10};
    assert_int_equal(ot_expr_parse("1 + $", &place, &expr, &err), OPTUNE_ESYNTAX);
    assert_string_equal(err.text, "k.c:12:14: a value is expected");
    assert_int_equal(ot_expr_parse("8 % n", &place, &expr, &err), OPTUNE_OK);
    ot_expr_value zero = ot_int_value(0), result;
    ot_arena arena = {0};
    assert_int_equal(ot_expr_eval(expr, &zero, &arena, &result, &err), OPTUNE_EUSAGE);
    assert_string_equal(err.text, "k.c:12:12: division by zero");
    ot_arena_release(&arena);
    ot_expr_free(expr);
}

static bool is_n(const void *arg, const char *name, ot_expr_value *value)
{
    *value = *(const ot_expr_value *)arg;
    return strcmp(name, "n") == 0;
}

static void what_names_mean(void **state)
{
    (void)state;
    ot_expr *expr;
    optune_err err = {0};
    double number;
    const ot_spot place = {.file = "a figure", .column = 1};
    const ot_expr_value three = ot_int_value(3), none = {0};
    check_ok(ot_expr_parse("n + [1, n * m][0]", &place, &expr, &err));
    assert_int_equal(ot_expr_check_names(expr, is_n, &three, "n alone", &err), OPTUNE_EUSAGE);
    assert_string_equal(err.text,
                        "a figure, column 13: nothing is called 'm' here; there are n alone");
    ot_expr_free(expr);
    check_ok(ot_expr_parse("n / 2", &place, &expr, &err));
    check_ok(ot_expr_check_names(expr, is_n, &three, "n alone", &err));
    check_ok(ot_expr_number(expr, is_n, &three, &number, &err));
    assert_true(number == 1.5);
    assert_int_equal(ot_expr_number(expr, is_n, &none, &number, &err), OPTUNE_EUSAGE);
    ot_expr_free(expr);
    check_ok(ot_expr_parse("[n, 2]", &place, &expr, &err));
    assert_int_equal(ot_expr_number(expr, is_n, &three, &number, &err), OPTUNE_ETYPE);
    assert_string_equal(err.text, "a figure, column 1: '[n, 2]' is a list, no number");
    ot_expr_free(expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values), cmocka_unit_test(refusals),        cmocka_unit_test(depth),
        cmocka_unit_test(places), cmocka_unit_test(what_names_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
