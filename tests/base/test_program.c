/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as words, places that are filled, and patterns that find numbers. */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"
#include "support/check.h"

static void check_words(const char *text, const char *joined)
{
    ot_arena arena = {0};
    ot_words words = {0};
    ot_text all = {0};
    optune_err err = {0};
    check_ok(ot_words_add(&words, text, &arena, &err));
    for (int i = 0; i < words.n; i++)
        ot_text_printf(&all, "%s<%s>", i ? " " : "", words.word[i]);
    assert_string_equal(ot_text_str(&all), joined);
    assert_null(words.word[words.n]);
    ot_text_release(&all);
    ot_arena_release(&arena);
}

static void words(void **state)
{
    (void)state;
    check_words("", "");
    check_words("  gcc\t-O2  app.c ", "<gcc> <-O2> <app.c>");
    check_words("a 'b c' \"d e\" '' f'g h'i", "<a> <b c> <d e> <> <fg hi>");
    check_words("'$HOME *' a\\ b \"q\\\"q\" 'back\\slash' \"x\\n\"",
                "<$HOME *> <a b> <q\"q> <back\\slash> <x\\n>");
    ot_words list = {0};
    ot_arena arena = {0};
    optune_err err = {0};
    assert_int_equal(ot_words_add(&list, "a 'b", &arena, &err), OPTUNE_ESYNTAX);
    check_contains(err.text, "a quote has no end: 'b");
    ot_arena_release(&arena);
}

static void a_quoted_word_is_read_as_itself(void **state)
{
    (void)state;
    static const char *const word[] = {"plain", "",     "two words", "it's",
                                       "\"",    "a\\b", "\t'\"\\"};
    for (int i = 0; i < OT_COUNT(word); i++) {
        ot_arena arena = {0};
        ot_words words = {0};
        ot_text text = {0};
        optune_err err = {0};
        ot_word_quote(word[i], &text);
        check_ok(ot_words_add(&words, ot_text_str(&text), &arena, &err));
        assert_int_equal(words.n, 1);
        assert_string_equal(words.word[0], word[i]);
        ot_text_release(&text);
        ot_arena_release(&arena);
    }
}

static bool value(void *arg, const char *name, ot_text *to)
{
    (void)arg;
    if (strcmp(name, "n") == 0)
        ot_text_add(to, "4");
    else if (strcmp(name, "flags") == 0)
        ot_text_add(to, "-O3 -g");
    else if (strcmp(name, "none") != 0)
        return false;
    return true;
}

static void places(void **state)
{
    (void)state;
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_fill("--n={n} {{n}} {1} {} {\"a\": {n}} {", value, NULL, &text, &err));
    assert_string_equal(ot_text_str(&text), "--n=4 {n} {1} {} {\"a\": 4} {");
    assert_int_equal(ot_fill("{threads}", value, NULL, &text, &err), OPTUNE_ENOENT);
    check_contains(err.text, "{threads} is the place of a knob or size that is not declared");
    ot_text_release(&text);
    ot_arena arena = {0};
    ot_words from = {0}, to;
    check_ok(ot_words_add(&from, "cc {flags} x{flags} {none} {n}", &arena, &err));
    check_ok(ot_words_fill(&from, value, NULL, &to, &arena, &err));
    assert_int_equal(to.n, 5); /* cc -O3 -g "x-O3 -g" 4 */
    assert_string_equal(to.word[2], "-g");
    assert_string_equal(to.word[3], "x-O3 -g");
    assert_string_equal(to.word[4], "4");
    ot_arena_release(&arena);
}

static void check_found(const char *text, const char *in, double first, const char *rest)
{
    ot_pattern pattern;
    double number[OT_PATTERN_NUMBERS] = {NAN};
    const char *end = NULL;
    optune_err err = {0};
    check_ok(ot_pattern_read(text, &pattern, &err));
    if (rest) {
        assert_non_null(ot_pattern_find(&pattern, in, number, &end));
        assert_true(number[0] == first);
        assert_string_equal(end, rest);
    } else {
        assert_null(ot_pattern_find(&pattern, in, number, &end));
    }
}

static void patterns(void **state)
{
    (void)state;
    check_found("time: {time} s", "a\ntime:   1.5e-3\ts\n", 1.5e-3, "\n");
    check_found("time: {time} s", "time: none\ntime: 2 s", 2, "");
    check_found("time: {time} s", "time: 1.5\ns", 0, NULL); /* a blank is no end of a line */
    check_found("time: {time} s", "time: nan s", 0, NULL);
    check_found("time: {time} s", "time: ", 0, NULL);
    check_found("{} GFLOP/s", "v1.2 12.5 GFLOP/s", 12.5, "");
    check_found("{}", "x86 banana inf", 0, NULL);
    check_found("{}", "cost -3 .", -3, " .");
    /* Numbers that people read: no half of one is taken for it. */
    check_found("{} ms", "took 1,234.5 ms", 0, NULL);
    check_found("{} ms", "took 1'234 ms", 0, NULL);
    check_found("took {}", "took 1,234.5 ms", 0, NULL);
    check_found("took {}", "took 0,5 s", 0, NULL);
    check_found("took {}", "took 1.2.3", 0, NULL);
    check_found("took {}", "took 1_000", 0, NULL);
    check_found("{} ms", "took 1\u00a0234 ms", 0, NULL);
    check_found("took {}", "took 1\u202f234 ms", 0, NULL);
    check_found("took {}", "took 5\u00a0ms", 5, "\u00a0ms");
    /* What the pattern has there stands between two numbers. */
    check_found("{a},{b}", "3.2,4", 3.2, "");
    check_found("{a}\u2009{b}", "3.2\u20094", 3.2, "");
    check_found("{a}\u00a0{b}\u202f{c}", "1\u00a02\u202f3 s", 1, " s");
    check_found("{a}\u2009{b}", "3\u202f200\u20094", 0, NULL);
    check_found("{a}\u2009{b}", "3\u20094\u2009000", 0, NULL);
    check_found("took {}", "took 5, then 6", 5, ", then 6");
    check_found("took {}", "took 5.", 5, "");
    check_found("n={},", "n=4,5", 4, "5");
    ot_pattern pattern;
    optune_err err = {0};
    check_ok(ot_pattern_read("{rate} GFLOP/s in {time} s", &pattern, &err));
    assert_int_equal(pattern.n, 2);
    assert_string_equal(pattern.name[1], "time");
    assert_int_equal(ot_pattern_read("time", &pattern, &err), OPTUNE_ESYNTAX);
    check_contains(err.text, "has no place for a number");
    assert_int_equal(ot_pattern_read("{a}{b}", &pattern, &err), OPTUNE_ESYNTAX);
    assert_int_equal(ot_pattern_read("{a} {a}", &pattern, &err), OPTUNE_ESYNTAX);
}

/* Bytes that this process has read from files; -1: not told here. */
static long long bytes_read(void)
{
    long long n = -1;
    FILE *io = fopen("/proc/self/io", "r");
    if (io && fscanf(io, "rchar: %lld", &n) != 1)
        n = -1;
    if (io)
        fclose(io);
    return n;
}

/* What has not changed for a while is read once; what was just written is read each time, as it may
 * change within a tick of the clock that files have. */
static void files_are_read_once(void **state)
{
    (void)state;
    char first[33], again[33], folder[2048], path[2100];
    struct stat self;
    optune_err err = {0};
    assert_int_equal(stat("/proc/self/exe", &self), 0);
    ot_file_digest("/proc/self/exe", first);
    const long long before = bytes_read();
    ot_file_digest("/proc/self/exe", again);
    const long long after = bytes_read();
    assert_string_equal(first, again);
    if (before >= 0 && time(NULL) - self.st_ctime > 10)
        assert_true(after - before < self.st_size);

    check_ok(ot_temp_dir(folder, sizeof folder, &err));
    snprintf(path, sizeof path, "%s/file", folder);
    ot_file_digest(path, first);
    assert_string_equal(first, "absent");
    for (char text[] = "0"; text[0] <= '9'; text[0]++) {
        const int fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(fd, text, 1), 1);
        close(fd);
        ot_file_digest(path, again);
        assert_string_not_equal(first, again);
        ot_copy(first, sizeof first, again);
    }
    assert_int_equal(unlink(path), 0);
    ot_file_digest(path, again);
    assert_string_equal(again, "absent");
    ot_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(a_quoted_word_is_read_as_itself),
        cmocka_unit_test(places),
        cmocka_unit_test(patterns),
        cmocka_unit_test(files_are_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
