/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live progress line: what it says, and that it never outgrows a terminal. The file under
 * test is compiled in, since the program exports nothing.
 */
#include "support/check.h"

#include <math.h>

#include "cli/print.c"

static const optune_progress searching = {
    .phase = "searching",
    .workload = 3,
    .workloads = 23,
    .call = "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1,1,1,1])",
    .impl = "conv2d_NCHWc.x86",
    .trial = 17,
    .trials = 64,
    .best = 412.3e-6,
    .best_impl = "conv2d_winograd.x86",
    .flops = 231e6,
    .failures = 2,
    .left = 65,
};

static const char *line(const optune_progress *progress, int width)
{
    static char text[512];
    ot_progress_line(progress, width, text, sizeof text);
    return text;
}

static void a_wide_line_says_everything(void **state)
{
    (void)state;
    const char *text = line(&searching, 300);
    static const char *const parts[] = {
        "3/23 searching", "trial 17/64", "best 412.3 us 560 GFLOP/s", "conv2d_winograd.x86",
        "2 failed",       "1:05 left",   "padding=[1,1,1,1])"};
    for (int i = 0; i < OT_COUNT(parts); i++)
        check_contains(text, parts[i]);
}

static void a_line_never_outgrows_its_width(void **state)
{
    (void)state;
    for (int width = 1; width < 200; width++)
        assert_in_range(strlen(line(&searching, width)), 1, (size_t)width);
}

static void what_matters_most_stays_longest(void **state)
{
    (void)state;
    const char *text = line(&searching, 79);
    check_contains(text, "3/23 searching  trial 17/64  best 412.3 us");
    assert_null(strstr(text, "padding"));
    text = line(&searching, 30);
    check_contains(text, "3/23 searching  trial 17/64");
    assert_null(strstr(text, "best"));
}

static void what_is_unknown_is_left_out(void **state)
{
    (void)state;
    optune_progress none = searching;
    none.best = INFINITY;
    none.best_impl = NULL;
    none.failures = 0;
    none.left = -1;
    const char *text = line(&none, 300);
    assert_null(strstr(text, "best"));
    assert_null(strstr(text, "failed"));
    assert_null(strstr(text, "left"));
    none.best = 2.5;
    none.flops = 0;
    none.left = 7325;
    text = line(&none, 300);
    check_contains(text, "best 2.5 s  2:02:05 left");
}

static void failures_have_the_exit_codes_of_the_contract(void **state)
{
    (void)state;
    static const struct {
        int status, code;
    } row[] = {
        {OPTUNE_EUSAGE, 2}, {OPTUNE_ESYNTAX, 2},        {OPTUNE_ETYPE, 2},  {OPTUNE_ENOENT, 3},
        {OPTUNE_ENODEV, 4}, {OPTUNE_EINTERRUPTED, 130}, {OPTUNE_ESTORE, 1}, {OPTUNE_EIO, 1},
        {OPTUNE_ETOOL, 1},  {OPTUNE_EDAMAGED, 1},       {OPTUNE_ENET, 1},   {OPTUNE_EWORKER, 1},
    };
    for (int i = 0; i < OT_COUNT(row); i++) {
        const optune_err err = {.status = row[i].status, .text = "expected by a test"};
        assert_int_equal(ot_say_failure(&err), row[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_line_says_everything),
        cmocka_unit_test(a_line_never_outgrows_its_width),
        cmocka_unit_test(what_matters_most_stays_longest),
        cmocka_unit_test(what_is_unknown_is_left_out),
        cmocka_unit_test(failures_have_the_exit_codes_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
