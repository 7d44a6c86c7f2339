/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of ours have a reader of their own. Whatever it takes, the reader of any JSON takes for the
 * same record; what the writer writes without an escape, it takes; and what is spoilt is never
 * believed by one of both alone.
 */
#include "support/check.h"

#include <math.h>

#include "db/line.h"
#include "support/records.h"

static uint64_t rng = 20261124;

static int64_t below(int64_t n)
{
    return optune_random_below(&rng, n);
}

/* The same line for the reader of any JSON: a space behind it is none of ours. */
static void check_as_any(const char *text, size_t n, const ot_log_line *own)
{
    ot_arena arena = {0};
    json_t *root = NULL;
    ot_text spaced = {0}, config = {0};
    ot_log_line *any = ot_alloc(sizeof *any);
    ot_text_add_n(&spaced, text, n);
    ot_text_add(&spaced, " ");
    assert_true(ot_line_parse(spaced.s, spaced.n, "x", NULL, &arena, any, &root));
    if (any->problem || !any->ours)
        fail_msg("only one reader takes it: %s\n%.*s", any->problem ? any->problem : "not ours",
                 (int)n, text);
    assert_null(any->text);
    check_same_record(&own->record, &any->record);
    assert_int_equal(own->record.config.index, any->record.config.index);
    ot_config_print(&any->record.config, &config);
    assert_int_equal(config.n, own->n_entities);
    assert_memory_equal(config.s, own->entities, config.n);
    const ot_digest one = ot_record_digest(&any->record),
                    two = ot_record_digest_at(&own->record, config.s);
    assert_memory_equal(one.byte, two.byte, sizeof one.byte);
    json_decref(root);
    free(any);
    ot_text_release(&config);
    ot_text_release(&spaced);
    ot_arena_release(&arena);
}

/* In memory of exactly its size. */
static bool taken(const char *text, size_t n)
{
    ot_arena arena = {0};
    ot_log_line *line = ot_alloc(sizeof *line);
    char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    const bool own = ot_line_own(exact, n, &arena, line);
    if (own) {
        assert_true(line->ours);
        assert_int_equal(line->n_text, n);
        check_as_any(text, n, line);
    }
    free(exact);
    free(line);
    ot_arena_release(&arena);
    return own;
}

static void written_lines_are_taken(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        const optune_record record = plain_record(i);
        ot_text line = {0};
        ot_record_line(&record, &line);
        if (!taken(line.s, line.n - 1))
            fail_msg("not taken: %s", line.s);
        ot_text_release(&line);
    }
}

/* What is escaped, or a real among the knobs, is another reader's. */
static void others_are_left(void **state)
{
    (void)state;
    const optune_record record = some_record(1);
    ot_text line = {0};
    ot_record_line(&record, &line);
    assert_false(taken(line.s, line.n - 1));
    ot_text_release(&line);
    assert_false(taken("", 0));
    assert_false(taken("}", 1));
    assert_false(taken("{\"input\":}", 10));
}

static void spoil(ot_text *line)
{
    static const char *const tokens[] = {
        "\"", "\\",  "{",   "}",    "[",     "]",  ",",    ":",    "null", "true", "-",
        "0",  "1.",  "e5",  "1e999", "00",   " ",  "\x7f", "\xc3", "=",    "0x1",
        "99999999999999999999",
        ".5", "+1",  "NaN", "{}",    "[]",   "\n", "\"a\":\"b\",", "-0",   "1e-400", "0.0",
    };
    const size_t at = (size_t)below((int64_t)line->n);
    const size_t cut = (size_t)below(3) * (size_t)below(4);
    const char *token = below(4) ? tokens[below(OT_COUNT(tokens))] : "";
    ot_text made = {0};
    ot_text_add_n(&made, line->s, at);
    ot_text_add(&made, token);
    if (at + cut < line->n)
        ot_text_add_n(&made, line->s + at + cut, line->n - at - cut);
    ot_text_release(line);
    *line = made;
}

static void spoilt_lines_agree(void **state)
{
    (void)state;
    int own = 0;
    for (int i = 0; i < 6000; i++) {
        const optune_record record = plain_record((int)below(60));
        ot_text line = {0};
        ot_record_line(&record, &line);
        line.s[--line.n] = 0;
        for (int k = (int)below(3); k >= 0 && line.n; k--)
            spoil(&line);
        own += taken(ot_text_str(&line), line.n);
        ot_text_release(&line);
    }
    assert_true(own > 0); /* a digit that became another is still a line */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_lines_are_taken),
        cmocka_unit_test(others_are_left),
        cmocka_unit_test(spoilt_lines_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
