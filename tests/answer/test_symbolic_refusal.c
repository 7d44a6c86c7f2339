/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person is told when nothing takes a dim that is known only at run time: who would take
 * a constant there, that it is this dim which is refused, and what can be asked instead; nobody
 * who would refuse the constant, too.
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
    /* What is fused behind dims that no row takes is computed, and says who refused; rows that
     * take them refuse an operand of which nobody can tell how it lies in memory. */
    optune_err err = {0};
    optune_selection *s = NULL;
    check_ok(optune_select(
        o, "max_pool2d(f32[1,?c:2..5,12,16], pool_size=[3,3]) -> add(f32[1,1,1])", &s, &err));
    assert_string_equal(optune_selection_impl(s), "max_pool2d_loops.generic");
    check_contains(optune_selection_text(s, true), "needs dim 1 of 'data' to be a constant");
    assert_null(strstr(optune_selection_text(s, true), "has no C type"));
    optune_selection_free(s);
    check_ok(
        optune_select(o, "dense(f32[?m:2..9,64], f32[8,64]) -> add(f32[?k:1..9,8])", &s, &err));
    assert_string_equal(optune_selection_impl(s), "dense_loops.generic");
    check_contains(optune_selection_text(s, true), "may be broadcast or not");
    optune_selection_free(s);
    check_said(o, "dense(f32[?m,64], const f32[64,64])",
               (const char *const[]){"?m known only at run time", "write an upper bound", NULL},
               (const char *const[]){"clause", NULL});
    check_said(o, "relu(f32[...])",
               (const char *const[]){"the type of 'data' is unknown", NULL},
               (const char *const[]){"known only at run time", NULL});
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(true_reasons)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
