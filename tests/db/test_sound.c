/* SPDX-License-Identifier: Apache-2.0 */
/* Which figures a record may have: seconds are what a clock can tell, costs of another kind any. */
#include "support/check.h"

#include <string.h>

#include "base/record.h"
#include "db/db.h"
#include "target/target.h"

/* A good record of one tiny sample. */
static bool sound(const char *target, double sample, char *why)
{
    optune_record r;
    memset(&r, 0, sizeof r);
    r.target = target;
    r.sample = &sample;
    r.n_samples = 1;
    r.inner = 1;
    r.cost = sample;
    return ot_record_figures(&r, why);
}

static void by_the_kind_of_cost(void **state)
{
    (void)state;
    static const char *const keys[] = {"ledger", "program", NULL};
    static const optune_target_row ledger = {.name = "ledger", .keys = keys, .like = "program"};
    optune_err err = {0};
    int n;
    ot_targets(&n); /* takes in what there is */
    char why[OPTUNE_WHY_SIZE] = "";
    assert_true(sound("cpu -threads=1", 1e-3, why));
    assert_false(sound("cpu -threads=1", 1e-15, why));
    check_contains(why, "shorter than a clock tells");
    assert_true(sound("program", 1e-15, why));
    assert_true(sound("program -threads=1", 1e-15, why));
    assert_false(sound("programs", 1e-15, why));
    assert_false(sound(NULL, 1e-15, why));
    assert_false(sound("program", -1, why)); /* of any kind */
    assert_false(sound("ledger", 1e-15, why));
    check_ok(ot_target_add(&ledger, &err));
    assert_true(sound("ledger", 1e-15, why)); /* what it is like says so */
}

/* As long as the text of a call can be, and not longer. */
static void by_the_length_of_a_text(void **state)
{
    (void)state;
    static char call[OPTUNE_CALL_TEXT_SIZE + 2];
    const double sample = 1e-3;
    char why[OPTUNE_WHY_SIZE] = "";
    optune_record r = {.call = call,
                       .op = "o",
                       .target = "cpu",
                       .device = "d",
                       .policy = "warm",
                       .impl = "i",
                       .digest = "0",
                       .n_samples = 1,
                       .sample = (double *)&sample,
                       .inner = 1,
                       .cost = sample};
    memset(call, 'c', OPTUNE_CALL_TEXT_SIZE - 1);
    if (!ot_record_sound(&r, why))
        fail_msg("%s", why);
    memset(call, 'c', OPTUNE_CALL_TEXT_SIZE);
    assert_false(ot_record_sound(&r, why));
    check_contains(why, "call");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_the_kind_of_cost),
                                       cmocka_unit_test(by_the_length_of_a_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
