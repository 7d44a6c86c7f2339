/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person is told when nothing takes a dim that is known only at run time: who would take
 * a constant there, that it is this dim which is refused, and what can be asked instead; nobody
 * who would refuse the constant, too. What is answered all the same says who refused.
 */
#include "support/tuning.h"

#include "support/check.h"

static void check_said(optune *o, const char *workload, const char *const *said,
                       const char *const *unsaid)
{
    optune_err err = {0};
    optune_selection *selection = NULL;
    assert_int_equal(optune_select(o, workload, &selection, &err), OPTUNE_ENOENT);
    for (; *said; said++)
        check_contains(err.text, *said);
    for (; *unsaid; unsaid++)
        if (strstr(err.text, *unsaid))
            fail_msg("'%s' in: %s", *unsaid, err.text);
}

static void true_reasons(void **state)
{
    (void)state;
    optune *o = tuning_open("refusals");
    optune_err err = {0};
    optune_selection *answered = NULL;
    check_ok(
        optune_select(o, "max_pool2d(f32[1,3,?h:9..20,16], pool_size=[3,3]) -> add(f32[3,1,1])",
                      &answered, &err));
    assert_string_equal(optune_selection_impl(answered), "max_pool2d_loops.generic");
    check_contains(optune_selection_text(answered, true),
                   "fuses operators for constant shapes only");
    optune_selection_free(answered);
    check_said(o, "dense(f32[?m,64], const f32[64,64])",
               (const char *const[]){"?m known only at run time", "write an upper bound", NULL},
               (const char *const[]){"clause", NULL});
    assert_int_equal(optune_select(o, "relu(f32[...])", &answered, &err), OPTUNE_ETYPE);
    check_contains(err.text, "how many dims output 0 of 'relu' has does not follow");
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(true_reasons)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
