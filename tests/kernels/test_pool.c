/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling by rows, by arithmetic alone: how many lines threads have untuned, and what is refused.
 */
#include "bench/made_up_cpu.h"
#include "support/check.h"
#include "support/untuned.h"

static const char rows_impl[] = "max_pool2d_rows.cpu";

static void call_of(int width, size_t size, char *text)
{
    snprintf(text, size, "max_pool2d(f32[1,1,8,%d], pool_size=[3,3], padding=[1,1])", width);
}

/* Several lines where they stay in half of the first cache, else fewer. */
static void test_untuned_lines(void **state)
{
    (void)state;
    static const struct {
        int threads, width, rows; /* 0: refused */
    } table[] = {{2, 56, 4},   {2, 1450, 4},      {2, 1600, 2},      {2, 3000, 2},
                 {2, 3840, 1}, {192, 1000000, 1}, {192, 1500000, 0}, {2, 1500000, 1}};
    static optune_plan plan;
    optune_config config;
    for (int i = 0; i < OT_COUNT(table); i++) {
        const optune_device device = made_up_cpu(table[i].threads);
        char text[96];
        call_of(table[i].width, sizeof text, text);
        const bool takes = untuned_plan(rows_impl, text, &device, &config, &plan);
        assert_int_equal(takes ? optune_config_int(&config, "tile_oh") : 0, table[i].rows);
        for (int k = 0; takes && k < plan.n_scratch; k++)
            assert_true(plan.scratch[k].bytes <= INT64_C(1) << 30);
    }
}

/* All threads' lines are 1 GiB at most, tuned too. */
static void test_refused_lines(void **state)
{
    (void)state;
    static const struct {
        int threads, rows;
        bool fits;
    } table[] = {{192, 1, true}, {192, 2, false}, {64, 4, true}, {96, 4, false}, {96, 2, true}};
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_call call;
    char text[96], why[OPTUNE_WHY_SIZE];
    optune_err err = {0};
    call_of(1000000, sizeof text, text);
    check_ok(ot_call_parse(text, &call, &err));
    for (int i = 0; i < OT_COUNT(table); i++) {
        const optune_device device = made_up_cpu(table[i].threads);
        const optune_task task = {&call, &target, &device};
        optune_space *space;
        optune_config config;
        check_ok(ot_space_open(&task, ot_impl_find(rows_impl), &space, &err));
        ot_space_nth(space, 0, &config);
        optune_config_choose_int(&config, space, "tile_oh", table[i].rows);
        assert_int_equal(optune_config_int(&config, "tile_oh"), table[i].rows);
        assert_int_equal(ot_space_valid(space, &config, why), table[i].fits);
        if (!table[i].fits)
            check_contains(why, "1 GiB of scratch");
        ot_space_close(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_untuned_lines),
                                       cmocka_unit_test(test_refused_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
