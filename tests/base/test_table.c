/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: columns as wide as what is in them, lines that fit, columns that go by importance, and
 * the same as CSV and Markdown with every column. */
#include "support/check.h"
#include "base/table.h"

#define LONG "[1,64,56,56] [64,64,3,3] padding=1"

static ot_table sample(void)
{
    ot_table t = {0};
    ot_table_column(&t, &(ot_column){.name = "workload", .left = true});
    ot_table_column(&t, &(ot_column){.name = "time us"});
    ot_table_column(&t, &(ot_column){.name = "peak", .least = 2});
    ot_table_column(&t, &(ot_column){.name = "aside", .left = true, .aside = true, .least = 3});
    ot_table_column(&t, &(ot_column){.name = "failed", .left = true, .least = 1});
    ot_table_row(&t);
    ot_table_cell(&t, 0, LONG);
    ot_table_cell(&t, 1, "151.76");
    ot_table_cell(&t, 2, "90%");
    ot_table_cell(&t, 3, "a \"quoted\", thing|bar");
    ot_table_cell(&t, 4, "2 wrong");
    ot_table_below(&t, "tied with another one, 151.80 us");
    ot_table_row(&t);
    ot_table_cell(&t, 0, "[8,8]");
    ot_table_rest(&t, "nothing was measured, and this sentence says at some length why not");
    return t;
}

/* Of all lines the longest. */
static size_t widest(const char *text)
{
    size_t most = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        most = strcspn(p, "\n") > most ? strcspn(p, "\n") : most;
    return most;
}

static void test_wide(void **state)
{
    (void)state;
    ot_table t = sample();
    ot_text text = {0};
    ot_table_print(&t, OT_TABLE_TEXT, 0, &text);
    assert_string_equal(
        text.s,
        "workload                           time us peak failed\n" LONG
        "  151.76  90% 2 wrong\n  tied with another one, 151.80 us\n"
        "[8,8]                              nothing was measured, and this sentence says "
        "at some length why not\n");
    ot_text_release(&text);
    ot_table_release(&t);
}

static void test_narrow(void **state)
{
    (void)state;
    for (int width = 100; width >= 40; width--) {
        ot_table t = sample();
        ot_text text = {0};
        ot_table_print(&t, OT_TABLE_TEXT, width, &text);
        if (widest(text.s) > (size_t)width)
            print_error("%d columns: %s\n", width, text.s);
        assert_true(widest(text.s) <= (size_t)width);
        check_contains(text.s, "151.76"); /* what matters most is always there */
        check_contains(text.s, "[1,64,56,56]");
        check_contains(text.s, "151.80 us");
        ot_text words = {0};
        for (const char *p = text.s; *p; p++) /* a sentence is wrapped, never cut */
            if (*p != ' ' && *p != '\n')
                ot_text_add_n(&words, p, 1);
        check_contains(words.s, "nothingwasmeasured,andthissentencesaysatsomelengthwhynot");
        ot_text_release(&words);
        ot_text_release(&text);
        ot_table_release(&t);
    }
    ot_table t = sample();
    ot_text text = {0};
    ot_table_print(&t, OT_TABLE_TEXT, 40, &text);
    assert_null(strstr(text.s, "failed")); /* the least important went first */
    ot_text_release(&text);
    ot_table_release(&t);
}

static void test_csv(void **state)
{
    (void)state;
    ot_table t = sample();
    ot_text text = {0};
    ot_table_print(&t, OT_TABLE_CSV, 40, &text);
    assert_string_equal(text.s,
                        "workload,time us,peak,aside,failed,note\n"
                        "\"" LONG "\",151.76,90%,\"a \"\"quoted\"\", thing|bar\",2 wrong,"
                        "\"tied with another one, 151.80 us\"\n"
                        "\"[8,8]\",,,,,\"nothing was measured, and this sentence says at some "
                        "length why not\"\n");
    ot_text_release(&text);
    ot_table_release(&t);
}

static void test_markdown(void **state)
{
    (void)state;
    ot_table t = sample();
    ot_text text = {0};
    ot_table_print(&t, OT_TABLE_MARKDOWN, 0, &text);
    check_contains(text.s, "| workload | time us | peak | aside | failed | note |\n"
                           "| --- | ---: | ---: | --- | --- | --- |\n");
    check_contains(text.s, "thing\\|bar | 2 wrong |");
    ot_text_release(&text);
    ot_table_release(&t);
}

static void test_forms(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_table_form form;
    check_ok(ot_table_form_named(NULL, &form, &err));
    assert_int_equal(form, OT_TABLE_TEXT);
    check_ok(ot_table_form_named("csv", &form, &err));
    assert_int_equal(form, OT_TABLE_CSV);
    assert_int_equal(ot_table_form_named("html", &form, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "'html'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),  cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_csv),   cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
