/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `--watch`: the table of a run that goes on, at any size of a terminal; and on a real one, whose
 * screen is kept here as a terminal keeps it. The layout is compiled in, since the program exports
 * nothing.
 */
#include "support/terminal.h"

#include <math.h>
#include <stdlib.h>

#include "cli/lines.c"
#include "cli/out.c"
#include "cli/print.c"
#include "cli/spark.c"
#include "cli/board.c"

enum { ROWS = 6, COLUMNS = 100 };

static ot_board *some(int n, int current)
{
    ot_board *w = ot_board_open();
    assert_non_null(w);
    for (int i = 1; i <= current; i++)
        for (int trial = 1; trial <= 8; trial++)
            ot_board_add(w, &(optune_progress){
                                .phase = "searching",
                                .workload = i,
                                .workloads = n,
                                .call = "conv2d(f32[1,64,56,56], const f32[64,64,3,3])",
                                .trial = trial,
                                .trials = 64,
                                .best = i == 2 ? INFINITY : 1e-3 / trial / i,
                                .best_impl = "a_name_that_is_longer_than_its_column.x86",
                                .flops = 231e6});
    return w;
}

static int printed(const ot_board *w, int width, int lines, bool pictures, char **text)
{
    size_t size = 0;
    FILE *to = open_memstream(text, &size);
    const int n = ot_board_print(w, width, lines, pictures, to);
    fclose(to);
    return n;
}

static void a_table_fits_where_it_is_shown(void **state)
{
    (void)state;
    for (int current = 1; current <= 30; current += 7) {
        ot_board *w = some(30, current);
        for (int width = 1; width < 200; width += 3)
            for (int lines = 0; lines < 40; lines += 3) {
                char *text = NULL;
                const int n = printed(w, width, lines, lines % 2, &text);
                int counted = 0;
                assert_true(n <= lines || !n);
                for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
                    *end = 0;
                    assert_true(columns(at) <= width);
                    counted++;
                }
                assert_int_equal(counted, n);
                free(text);
            }
        char *text = NULL, mark[16];
        snprintf(mark, sizeof mark, ">%5d", current);
        assert_int_equal(printed(w, 120, 8, true, &text), 8);
        check_contains(text, mark); /* the current one is among them */
        check_contains(text, " of 30");
        free(text);
        ot_board_close(w);
    }
    ot_board *w = ot_board_open();
    char *text = NULL;
    assert_int_equal(printed(w, 80, 20, true, &text), 0);
    free(text);
    ot_board_close(w);
    ot_board_close(NULL);
}

static void a_row_says_what_is_known(void **state)
{
    (void)state;
    ot_board *w = some(4, 3);
    char *text = NULL;
    assert_int_equal(printed(w, 150, 20, true, &text), 5);
    static const char *const parts[] = {
        "8/64", "125 us 1848 GFLOP/s", "searching", "to come", "▁", "a_name_that_is_long...",
        "conv2d(f32[1,64,56,56], const f32[64,64,3,3])"};
    for (int i = 0; i < OT_COUNT(parts); i++)
        check_contains(text, parts[i]);
    free(text);
    ot_board_close(w);
}

/* ---- a terminal -------------------------------------------------------------------------- */

typedef struct screen {
    char cell[ROWS][COLUMNS + 1];
    int row, column, most; /* headings that were on it at once */
} screen;

static void blank(screen *s, int row, int from)
{
    memset(s->cell[row] + from, ' ', (size_t)(COLUMNS - from));
}

static void down(screen *s)
{
    if (++s->row < ROWS)
        return;
    s->row = ROWS - 1;
    memmove(s->cell[0], s->cell[1], sizeof s->cell - sizeof s->cell[0]);
    blank(s, ROWS - 1, 0);
}

static void put(screen *s, char c)
{
    if (((unsigned char)c & 0xc0) == 0x80)
        return;
    if (s->column == COLUMNS) {
        s->column = 0;
        down(s);
    }
    s->cell[s->row][s->column++] = c;
}

/* Every control that the program uses; any other one fails. */
static const char *control(screen *s, const char *at)
{
    char *end;
    const long n = strtol(at + 2, &end, 10);
    assert_int_equal(at[1], '[');
    if (*end == 'A') {
        assert_true(s->row >= n); /* else lines that scrolled away would be meant */
        s->row -= (int)n;
    } else if (*end == 'K' || *end == 'J') {
        blank(s, s->row, s->column);
        for (int row = s->row + 1; row < ROWS && *end == 'J'; row++)
            blank(s, row, 0);
    } else {
        assert_int_equal(*end, 'm');
    }
    return end + 1;
}

static int headings(const screen *s)
{
    int n = 0;
    for (int row = 0; row < ROWS; row++)
        n += strstr(s->cell[row], "best so far") != NULL;
    return n;
}

static void show(screen *s, const char *text)
{
    for (const char *at = text; *at;) {
        if (*at == '\033') {
            at = control(s, at);
            continue;
        }
        if (*at == '\r')
            s->column = 0;
        else if (*at == '\n')
            down(s);
        else
            put(s, *at);
        at++;
        const int n = headings(s);
        s->most = n > s->most ? n : s->most;
    }
}

/* More workloads than the terminal has lines. */
static void a_run_is_watched_in_place(void **state)
{
    (void)state;
    static const char *const argv[] = {
        "optune",        "run",           "--watch",       "--threads",     "1",
        "--trials",      "1",             "relu(f32[64])", "relu(f32[65])", "relu(f32[66])",
        "relu(f32[67])", NULL};
    int code;
    ot_text all = terminal_start(ROWS, COLUMNS, argv, &code);
    screen *s = calloc(1, sizeof *s);
    for (int row = 0; row < ROWS; row++)
        blank(s, row, 0);
    show(s, ot_text_str(&all));
    assert_int_equal(code, 0);
    assert_int_equal(s->most, 1);
    assert_int_equal(headings(s), 0); /* it goes when the result comes */
    check_contains(ot_text_str(&all), "relu(f32[67])");
    check_contains(ot_text_str(&all), " of 4");
    free(s);
    ot_text_release(&all);
}

static void in_a_pipe_it_is_plain_lines(void **state)
{
    (void)state;
    outcome o = optune("run", "--watch", "--threads", "1", "--trials", "2", "--json",
                       "relu(f32[128])");
    assert_null(strchr(ot_text_str(&o.err), '\033'));
    check_contains(ot_text_str(&o.err), "workload 1 of 1: ");
    json_decref(json_of(&o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_fits_where_it_is_shown),
        cmocka_unit_test(a_row_says_what_is_known),
        cmocka_unit_test(a_run_is_watched_in_place),
        cmocka_unit_test(in_a_pipe_it_is_plain_lines),
    };
    return cmocka_run_group_tests_name("cli/watch", tests, command_setup, command_teardown);
}
