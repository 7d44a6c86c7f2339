/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed at terminals of several widths: no line is broken by the terminal but one that
 * holds a call longer than it, which stays in one piece; and all is said that a pipe gets.
 */
#include <string.h>

#include "support/terminal.h"

static const int width[] = {40, 80, 100, 132, 200};

/* Columns of `n` bytes, the control words of colours left out. */
static int columns_of(const char *line, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\033') {
            while (i < n && line[i] != 'm' && line[i] != 'K' && line[i] != 'J')
                i++;
            continue;
        }
        columns += ((unsigned char)line[i] & 0xc0) != 0x80 && line[i] != '\r';
    }
    return columns;
}

/* Whether blanks outside of parentheses let it be broken. */
static bool breakable(const char *line, size_t n)
{
    int depth = 0;
    size_t i = strspn(line, " ");
    for (; i < n; i++) {
        depth += (line[i] == '(' || line[i] == '[') - (line[i] == ')' || line[i] == ']');
        if (line[i] == ' ' && !depth)
            return true;
    }
    return false;
}

static void fits(const char *text, int columns)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n"), begin = 0;
        for (size_t i = 0; i + 1 < n; i++) /* what is written over does not count */
            if (line[i] == '\r' && line[i + 1] != '\n')
                begin = i + 1;
        if (columns_of(line + begin, n - begin) > columns && breakable(line + begin, n - begin))
            fail_msg("at %d columns: %.*s", columns, (int)(n - begin), line + begin);
        line += n + (line[n] == '\n');
    }
}

/* Blanks may be ends of lines and more blanks. */
static void says_the_same(const char *text, const char *plain)
{
    for (;; text++, plain++) {
        text += strspn(text, " \r\n");
        plain += strspn(plain, " \n");
        if (*text != *plain)
            fail_msg("'%.60s' is '%.60s'", plain, text);
        if (!*text)
            return;
    }
}

static void check(const char *const *argv)
{
    outcome plain = command_start(NULL, argv);
    assert_int_equal(plain.code, 0);
    for (size_t i = 0; i < OT_COUNT(width); i++) {
        int code;
        ot_text all = terminal_start(50, width[i], argv, &code);
        assert_int_equal(code, 0);
        fits(ot_text_str(&all), width[i]);
        says_the_same(ot_text_str(&all), ot_text_str(&plain.out));
        ot_text_release(&all);
    }
    release(&plain);
}

#define said(...) check((const char *const[]){"optune", __VA_ARGS__, NULL})

static void lists(void **state)
{
    (void)state;
    said("ops");
    said("ops", "attention");
    said("impls", "conv2d");
    said("targets");
    said("searches");
    said("targets", "--help");
}

static void answers(void **state)
{
    (void)state;
    said("select", "conv2d(f32[1,64,56,56], f32[64,64,1,1])", "--explain");
    said("select", "--graph", OT_SOURCE_DIR "/examples/mlp.graph", "--bind", "batch=64");
}

/* A cell goes on where it began, a call in one piece. */
static void further_lines(void **state)
{
    (void)state;
    int code;
    ot_text all = terminal_start(
        50, 60, (const char *const[]){"optune", "searches", NULL}, &code);
    check_contains(ot_text_str(&all), "\r\n             ");
    ot_text_release(&all);
    all = terminal_start(50, 40, (const char *const[]){"optune", "ops", "attention", NULL}, &code);
    check_contains(ot_text_str(&all), "attention(f32[1,12,128,64], f32[1,12,128,64], ");
    ot_text_release(&all);
}

/* The same of a run's table and of what is listed; the later runs measure nothing. */
static void tables(void **state)
{
    (void)state;
    static const char *const run[] = {"optune", "run", "--threads", "1", "--trials", "1",
                                      "relu(f32[64])",
                                      "dense(f32[3,5], f32[7,5]) -> add(f32[7]) -> relu()", NULL};
    outcome o = command_start(NULL, run);
    assert_int_equal(o.code, 0);
    release(&o);
    for (size_t i = 0; i < OT_COUNT(width); i++) {
        int code;
        ot_text all = terminal_start(50, width[i], run, &code);
        assert_int_equal(code, 0);
        fits(ot_text_str(&all), width[i]);
        check_contains(ot_text_str(&all), "relu");
        ot_text_release(&all);
        all = terminal_start(50, width[i], (const char *const[]){"optune", "list", NULL}, &code);
        assert_int_equal(code, 0);
        fits(ot_text_str(&all), width[i]);
        ot_text_release(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(answers),
        cmocka_unit_test(further_lines),
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
