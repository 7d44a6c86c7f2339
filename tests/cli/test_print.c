/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live progress line: what it says, and that it never outgrows a terminal. The file under
 * test is compiled in, since the program exports nothing.
 */
#include "support/check.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "cli/lines.c"
#include "cli/out.c"
#include "cli/print.c"
#include "cli/spark.c"
#include "cli/board.c"

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
    ot_progress_line(progress, "", width, text, sizeof text);
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

/* The picture falls from its tallest to its lowest letter, and takes a column a letter. */
static void the_best_so_far_is_a_picture(void **state)
{
    (void)state;
    ot_spark spark = {0};
    char picture[OT_SPARK_SIZE], text[512];
    ot_spark_add(&spark, 1, INFINITY);
    ot_spark_add(&spark, 2, 8e-3);
    ot_spark_print(&spark, picture);
    assert_string_equal(picture, "");
    ot_spark_add(&spark, 3, 9e-3); /* no better */
    for (int i = 4; i <= 24; i++)
        ot_spark_add(&spark, i, i < 13 ? 4e-3 : i < 24 ? 2e-3 : 1e-3);
    ot_spark_print(&spark, picture);
    assert_string_equal(picture, "█▆▆▆▆▆▃▃▃▃▃▁");
    for (int i = 25; i < 2000; i++) /* more than fit */
        ot_spark_add(&spark, i, 1e-3 / i);
    ot_spark_print(&spark, picture);
    assert_int_equal(strlen(picture), 3 * OT_SPARK_COLUMNS);
    for (int width = 20; width < 200; width++) {
        ot_progress_line(&searching, picture, width, text, sizeof text);
        assert_in_range(columns(text), 1, width);
    }
    ot_progress_line(&searching, picture, 120, text, sizeof text);
    check_contains(text, picture);
    ot_progress_line(&searching, picture, 60, text, sizeof text);
    assert_null(strstr(text, "█"));
    static const char *const locale[][2] = {
        {"de_DE.UTF-8", "yes"}, {"C.utf8", "yes"}, {"C", NULL}, {"en_US.ISO-8859-1", NULL}};
    for (int i = 0; i < OT_COUNT(locale); i++) {
        setenv("LC_ALL", locale[i][0], 1);
        assert_int_equal(ot_spark_fits(), locale[i][1] != NULL);
    }
    unsetenv("LC_ALL");
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

/* As while a whole graph is measured: what the last workload had says nothing of it. */
static void what_is_of_no_workload_has_no_figures_of_one(void **state)
{
    (void)state;
    optune_progress graph = searching;
    graph.phase = "in the graph";
    graph.call = graph.impl = graph.best_impl = NULL;
    graph.failures = 0;
    assert_string_equal(line(&graph, 300), "in the graph  1:05 left");
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

/* What a failure looks like on a terminal, with these in the environment. */
static void on_terminal(const char *term, const char *no_color, char *to, size_t size)
{
    const int pty = posix_openpt(O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO);
    assert_true(pty >= 0 && before >= 0);
    assert_int_equal(grantpt(pty) | unlockpt(pty), 0);
    const int end = open(ptsname(pty), O_RDWR | O_NOCTTY);
    assert_true(end >= 0);
    setenv("TERM", term, 1);
    if (no_color)
        setenv("NO_COLOR", no_color, 1);
    else
        unsetenv("NO_COLOR");
    fflush(stderr);
    assert_true(dup2(end, STDERR_FILENO) >= 0);
    ot_say_failure(&(optune_err){.status = OPTUNE_ENOENT, .text = "it is not there"});
    fflush(stderr);
    size_t n = 0; /* stderr has no buffer: it comes in pieces */
    for (ssize_t got = 1; got > 0 && n < size - 1 && !memchr(to, '\n', n); n += (size_t)got)
        got = read(pty, to + n, size - 1 - n);
    dup2(before, STDERR_FILENO);
    close(before);
    close(end);
    close(pty);
    to[n] = '\0';
}

static void colours_are_for_terminals_that_want_them(void **state)
{
    (void)state;
    char text[256];
    on_terminal("xterm", NULL, text, sizeof text);
    assert_string_equal(text, "\033[1;31moptune:\033[0m it is not there\r\n");
    on_terminal("xterm", "", text, sizeof text);
    assert_non_null(strchr(text, '\033'));
    on_terminal("xterm", "1", text, sizeof text);
    assert_string_equal(text, "optune: it is not there\r\n");
    on_terminal("dumb", NULL, text, sizeof text);
    assert_string_equal(text, "optune: it is not there\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_line_says_everything),
        cmocka_unit_test(a_line_never_outgrows_its_width),
        cmocka_unit_test(the_best_so_far_is_a_picture),
        cmocka_unit_test(what_matters_most_stays_longest),
        cmocka_unit_test(what_is_unknown_is_left_out),
        cmocka_unit_test(what_is_of_no_workload_has_no_figures_of_one),
        cmocka_unit_test(failures_have_the_exit_codes_of_the_contract),
        cmocka_unit_test(colours_are_for_terminals_that_want_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
