/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: grammar, conjunctive normal form, and three-valued answers over ranges. */
#include "strategy/fake.h"

/* m is 8, k is 96, s is 1..64, t is 64..95, u is unbounded */
static bool lookup(const void *arg, const char *name, optune_dim *value)
{
    (void)arg;
    static const struct {
        const char *name;
        optune_dim dim;
    } known[] = {
        {"m", {.min = 8, .max = 8}},
        {"k", {.min = 96, .max = 96}},
        {"s", {.min = 1, .max = 64}},
        {"t", {.min = 64, .max = 95}},
        {"u", {.min = 0, .max = OPTUNE_DIM_MAX}},
    };
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0) {
            *value = known[i].dim;
            return true;
        }
    return false;
}

static char clause[256];

static int judge(const char *text)
{
    optune_err err = {0};
    ot_condition *condition;
    check_ok(ot_condition_parse(text, &condition, &err));
    const int truth = ot_condition_test(condition, lookup, NULL, clause, sizeof(clause));
    ot_condition_free(condition);
    return truth;
}

static void test_constants_fold(void **state)
{
    (void)state;
    assert_int_equal(judge("m > 4"), OT_TRUE);
    assert_int_equal(judge("m > 8"), OT_FALSE);
    assert_int_equal(judge("m >= 8 && k % 32 == 0"), OT_TRUE);
    assert_int_equal(judge("m * 12 == k"), OT_TRUE);
    assert_int_equal(judge("2 + 3 * 4 == 14 && (2 + 3) * 4 == 20"), OT_TRUE);
    assert_int_equal(judge("k / 10 == 9 && k % 10 == 6 && -k / 10 == -10 && -k % 10 == 4"),
                     OT_TRUE);
    assert_int_equal(judge("10 - 4 - 3 == 3 && k / 4 / 2 == 12"), OT_TRUE);
    assert_int_equal(judge("m"), OT_TRUE); /* not zero */
    assert_int_equal(judge("m - 8 || !m"), OT_FALSE);
    assert_int_equal(judge("m != 8"), OT_FALSE);
    assert_int_equal(judge("m<=8&&m<9"), OT_TRUE);
}

static void test_normal_form(void **state)
{
    (void)state;
    assert_int_equal(judge("m > 16 && (k % 32 == 0 || m % 32 == 0)"), OT_FALSE);
    assert_string_equal(clause, "m > 16");
    assert_int_equal(judge("!(m > 4 || k < 3)"), OT_FALSE);
    assert_string_equal(clause, "m <= 4");
    assert_int_equal(judge("!(m > 4 && !(k != 96))"), OT_FALSE);
    assert_string_equal(clause, "m <= 4 || k != 96");
    assert_int_equal(judge("(m == 1 && k == 2) || (m == 8 && k == 97)"), OT_FALSE);
    assert_string_equal(clause, "m == 1 || k == 97"); /* of the four clauses, the first false */
    assert_int_equal(judge("(k - 1) * (2 + m) - -3 == 0"), OT_FALSE);
    assert_string_equal(clause, "(k - 1) * (2 + m) - -3 == 0");
    assert_int_equal(judge("k - (2 - m) == 3"), OT_FALSE);
    assert_string_equal(clause, "k - (2 - m) == 3");
}

static void test_ranges(void **state)
{
    (void)state;
    assert_int_equal(judge("s > 0"), OT_TRUE);
    assert_int_equal(judge("s > 64"), OT_FALSE);
    assert_int_equal(judge("s > 16"), OT_UNKNOWN);
    assert_string_equal(clause, "s > 16");
    assert_int_equal(judge("s > 16 || m == 8"), OT_TRUE);
    assert_int_equal(judge("s > 16 && m == 7"), OT_FALSE); /* false beats unknown */
    assert_string_equal(clause, "m == 7");
    assert_int_equal(judge("s + 2 * t >= 129"), OT_TRUE);
    assert_int_equal(judge("t - s < 0"), OT_FALSE);
    assert_int_equal(judge("t / 32 == 2"), OT_TRUE);
    assert_int_equal(judge("t % 32 < 32"), OT_TRUE);
    assert_int_equal(judge("t % 32 == 0"), OT_UNKNOWN);
    assert_int_equal(judge("t % 128 >= 64"), OT_TRUE); /* within one residue */
    assert_int_equal(judge("t % 100 == t"), OT_UNKNOWN);
    assert_int_equal(judge("s % s == 0"), OT_UNKNOWN); /* never wrong, not always sharp */
    assert_int_equal(judge("u >= 0"), OT_TRUE);
    assert_int_equal(judge("u + 5 > 4"), OT_TRUE);
    assert_int_equal(judge("u < 1000000"), OT_UNKNOWN);
    assert_int_equal(judge("u * u >= u - u"), OT_UNKNOWN);
    assert_int_equal(judge("m / (s - 3) == 1"), OT_UNKNOWN);         /* may divide by zero */
    assert_int_equal(judge("9223372036854775807 + m > 0"), OT_TRUE); /* saturates */
}

/* Every answer over ranges agrees with all values in them. */
static bool one_value(const void *arg, const char *name, optune_dim *value)
{
    const int64_t *of = arg;
    *value = optune_dim_of(name[0] == 's' ? of[0] : of[1]);
    return true;
}

static void test_ranges_agree_with_values(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "s % 8 == 0",
        "(s + t) / 7 > 3",
        "s * t % 13 != 5",
        "t - 2 * s > 10",
        "s < 100 && t >= 64",
        "t / s > 0",
        "!(s > t)",
        "t % 16 - s < 16",
        "(s - 70) * t < 0",
        "s % 65 == s",
        "-t / 10 <= -6",
        "(s - t) / 4 < 8",
        "t % s < 64 || s > 3",
        "(t - 64) % 32 < 32",
        "s / t == 0 || s == t",
    };
    for (int i = 0; i < OT_COUNT(texts); i++) {
        optune_err err = {0};
        ot_condition *condition;
        check_ok(ot_condition_parse(texts[i], &condition, &err));
        const int truth = ot_condition_test(condition, lookup, NULL, NULL, 0);
        for (int64_t s = 1; s <= 64; s++)
            for (int64_t t = 64; t <= 95 && truth != OT_UNKNOWN; t++) {
                const int64_t values[] = {s, t};
                assert_int_equal(ot_condition_test(condition, one_value, values, NULL, 0),
                                 truth);
            }
        ot_condition_free(condition);
    }
}

static void test_unknown_names_are_told(void **state)
{
    (void)state;
    assert_int_equal(judge("m == 8 && q > 3"), OT_UNKNOWN);
    check_contains(clause, "there is no dim 'q'");
}

static void check_error(const char *text, int status, const char *reason)
{
    optune_err err = {0};
    ot_condition *condition = NULL;
    assert_int_equal(ot_condition_parse(text, &condition, &err), status);
    assert_null(condition);
    check_contains(err.text, reason);
}

static void test_errors(void **state)
{
    (void)state;
    check_error("", OPTUNE_ESYNTAX, "ends too early");
    check_error("m >", OPTUNE_ESYNTAX, "ends too early");
    check_error("m > 4)", OPTUNE_ESYNTAX, "an operator is expected");
    check_error("(m > 4", OPTUNE_ESYNTAX, "')' is expected");
    check_error("m = 4", OPTUNE_ESYNTAX, "column 3");
    check_error("(m > 4) + 1", OPTUNE_ESYNTAX, "used as a number");
    check_error("1 < m < 4", OPTUNE_ESYNTAX, "used as a number");
    check_error("-(m > 4) == 1", OPTUNE_ESYNTAX, "no sign");
    check_error("m % 0 == 1", OPTUNE_ESYNTAX, "divides by zero");
    check_error("m > 99999999999999999999", OPTUNE_ESYNTAX, "too large");
    check_error("m > 4 # x", OPTUNE_ESYNTAX, "an operator");
    ot_text big = {0};
    for (int i = 0; i < 12; i++)
        ot_text_printf(&big, "%s(m == %d && k == %d)", i ? " || " : "", i, i);
    check_error(ot_text_str(&big), OPTUNE_ELIMIT, "too many clauses");
    ot_text_clear(&big);
    for (int i = 0; i < 100; i++)
        ot_text_add(&big, "(");
    check_error(ot_text_str(&big), OPTUNE_ESYNTAX, "nests too deeply");
    ot_text_release(&big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_fold),
        cmocka_unit_test(test_normal_form),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ranges_agree_with_values),
        cmocka_unit_test(test_unknown_names_are_told),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
