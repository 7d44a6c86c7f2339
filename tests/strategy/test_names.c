/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in conditions: every row in tree uses names that are dims, a misspelt one is refused with
 * those that are known, and what a row says of its level is what it gets, 0 among it.
 */
#include "support/check.h"

#include "strategy/strategy.h"

static void test_rows_in_tree(void **state)
{
    (void)state;
    int n, conditions = 0;
    const optune_strategy *const *all = ot_strategies(&n);
    for (int i = 0; i < n; i++) {
        optune_err err = {0};
        check_ok(ot_strategy_names(all[i], all, n, &err));
        for (const optune_strategy_row *row = all[i]->rows; row->impl; row++) {
            conditions += row->when != NULL;
            assert_true(!row->when || all[i]->dim); /* none in tree is for named dims only */
        }
    }
    assert_true(conditions > 20);
}

static const optune_strategy_row *row_of(optune_strategy_row rows[2], const char *when)
{
    rows[0] = (optune_strategy_row){.impl = "dense_pack.x86", .when = when};
    rows[1] = (optune_strategy_row){0};
    return rows;
}

static int add(const char *when, optune_err *err)
{
    const optune_strategy *own = optune_strategy_of("dense", "cpu");
    optune_strategy_row rows[2];
    assert_non_null(own);
    const optune_strategy misspelt = {
        .op = "dense", .key = "misspelt", .rows = row_of(rows, when), .dim = own->dim};
    const int status = ot_strategy_add(&misspelt, err);
    assert_int_equal(status < 0, optune_strategy_of("dense", "misspelt") == NULL);
    return status;
}

/* What holds for no size is a slip, too; what may hold for some is none. */
static void test_impossible(void **state)
{
    (void)state;
    static const char *const bad[] = {"k < 0", "m > 3 && k < 0", "k >= 0 && !(m >= 0)",
                                      "1 > 2 || k == -1"};
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        assert_int_equal(add(bad[i], &err), OPTUNE_EUSAGE);
        check_contains(err.text, bad[i]);
        check_contains(err.text, "never holds: clause '");
    }
    /* Names of symbolic dims alone: those of a strategy that knows none. */
    optune_err err = {0};
    optune_strategy_row rows[2];
    const optune_strategy open = {
        .op = "dense", .key = "open", .rows = row_of(rows, "anything < 0")};
    assert_int_equal(ot_strategy_add(&open, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "clause 'anything < 0' is false of every size");
}

static void test_misspelt(void **state)
{
    (void)state;
    static const char *const bad[] = {"kk > 16", "m <= 8 || (n > 4 && nn % 2 == 0)", "M > 1",
                                      "m > 1 && batch == 1"};
    static const char *const strangers[] = {"'kk'", "'nn'", "'M'", "'batch'"};
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        assert_int_equal(add(bad[i], &err), OPTUNE_ENOENT);
        check_contains(err.text, bad[i]);
        check_contains(err.text, strangers[i]);
        check_contains(err.text, "known are ");
        check_contains(strstr(err.text, "known are "), "k");
    }
}

static void test_at_run_time(void **state)
{
    (void)state;
    optune_err err = {0};
    static optune_impl impl = {.op = "dense", .name = "dense_lowest.test"};
    impl.plan = ot_impl_find("dense_pack.x86")->plan;
    impl.applies = ot_impl_find("dense_pack.x86")->applies;
    impl.space = ot_impl_find("dense_pack.x86")->space;
    impl.fallback = ot_impl_find("dense_pack.x86")->fallback;
    check_ok(optune_strategy_add(optune_strategy_of("dense", "cpu"), &impl, OPTUNE_PLEVEL_ZERO,
                                 &err));
    optune_call call;
    const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}, .threads = 1};
    const optune_device device = {.cores = 1, .threads = 1, .vector_bytes = 32};
    const optune_task task = {&call, &target, &device};
    check_ok(ot_call_parse("dense(f32[8,8], const f32[8,8])", &call, &err));
    ot_candidate *candidate = ot_alloc(OT_MAX_CANDIDATES * sizeof *candidate);
    int n;
    check_ok(ot_candidates(&task, candidate, &n, &err));
    assert_true(candidate[n - 1].impl->generic); /* behind all rows */
    assert_string_equal(candidate[n - 2].impl->name, "dense_lowest.test");
    assert_int_equal(candidate[n - 2].plevel, 0);
    free(candidate);
    const optune_strategy_row left_out = {.impl = "x"}, below = {.impl = "x", .plevel = -3};
    assert_int_equal(ot_row_plevel(&left_out), OPTUNE_PLEVEL);
    assert_int_equal(ot_row_plevel(&below), -3);
}

/* A condition of a million words is refused, not followed. */
static void test_endless(void **state)
{
    (void)state;
    ot_text text = {0};
    optune_err err = {0};
    for (int i = 0; i < 1000000; i++)
        ot_text_add(&text, i ? "+m" : "m");
    assert_int_equal(add(text.s, &err), OPTUNE_ESYNTAX);
    check_contains(err.text, "too long");
    ot_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_in_tree), cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_misspelt),     cmocka_unit_test(test_endless),
        cmocka_unit_test(test_at_run_time),
    };
    return cmocka_run_group_tests_name("strategy/names", tests, NULL, NULL);
}
