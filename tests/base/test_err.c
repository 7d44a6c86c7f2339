/* SPDX-License-Identifier: Apache-2.0 */
/* One-line messages, statuses and outcomes by name. */
#include "support/check.h"

static void one_line(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_int_equal(optune_fail(&err, OPTUNE_EIO, "cannot read '%s'\nat\t%d", "x", 3),
                     OPTUNE_EIO);
    assert_int_equal(err.status, OPTUNE_EIO);
    assert_string_equal(err.text, "cannot read 'x' at 3");
    assert_int_equal(optune_fail(NULL, OPTUNE_EUSAGE, "nobody listens"), OPTUNE_EUSAGE);
}

static void wraps_itself(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_fail(&err, OPTUNE_EIO, "inner");
    optune_fail(&err, OPTUNE_ESTORE, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    optune_err err = {0};
    char word[3000], why[OPTUNE_WHY_SIZE];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = 0;
    optune_fail(&err, OPTUNE_EIO, "%s", word);
    assert_int_equal(strlen(err.text), OPTUNE_ERR_SIZE - 1);
    assert_false(optune_refuse(why, "%s", word));
    assert_int_equal(strlen(why), OPTUNE_WHY_SIZE - 1);
    assert_false(optune_refuse(NULL, "nobody listens"));
}

/* Whoever cuts a text by bytes may do so within a character. */
static void is_utf8(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_fail(&err, OPTUNE_EIO, "'%.3s' \xe9t\xe9 '%s'", "\u00e9\u00e9", "\u20ac");
    assert_string_equal(err.text, "'\u00e9?' ?t? '\u20ac'");
    char word[OPTUNE_WHY_SIZE + 2], why[OPTUNE_WHY_SIZE];
    for (int i = 0; i < OPTUNE_WHY_SIZE; i += 2)
        memcpy(word + i, "\u00e9", 3);
    assert_false(optune_refuse(why, "%s", word));
    assert_true(ot_text_is_utf8(why));
    assert_int_equal(strlen(why), OPTUNE_WHY_SIZE - 1);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ot_status_sentence(OPTUNE_ETIMEOUT), "time limit reached");
    assert_string_equal(ot_status_sentence(-999), "unknown status");
    for (int i = OPTUNE_OUTCOME_OK; i <= OPTUNE_OUTCOME_CRASH; i++)
        assert_int_equal(ot_outcome_named(ot_outcome_name(i)), i);
    assert_string_equal(ot_outcome_name(OPTUNE_OUTCOME_WRONG), "wrong");
    assert_string_equal(ot_outcome_name(99), "unknown");
    assert_string_equal(ot_outcome_name(-1), "unknown");
    assert_int_equal(ot_outcome_named("none such"), -1);
    assert_int_equal(ot_outcome_named(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line),
        cmocka_unit_test(wraps_itself),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(is_utf8),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
