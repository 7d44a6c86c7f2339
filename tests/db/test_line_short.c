/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short lines: what is read of one is what the full line says, to the byte; what a log lost, cut
 * off, changed or put in another order is told, and nothing is believed that was not written.
 */
#include "support/check.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "db/head.h"
#include "db/kv.h"
#include "support/records.h"

enum { SEEN = 4096 };

static char dir[4096], path[4200];
static optune_err err;
static uint64_t rng = 20261125;

static int setup(void **state)
{
    (void)state;
    if (ot_temp_dir(dir, sizeof dir, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/a.log", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct seen {
    int good, bad, heads;
    uint64_t is[SEEN]; /* hash of the bytes that a store would have of each */
    ot_index_entry entry[SEEN];
    char problem[256]; /* the last one */
} seen;

static seen *of_log;

static int note(void *arg, const ot_log_line *line)
{
    seen *s = arg;
    if (line->problem) {
        s->bad++;
        snprintf(s->problem, sizeof s->problem, "%s", line->problem);
        return 0;
    }
    assert_true(line->ours && s->good < SEEN);
    ot_text bytes = {0}, config = {0};
    check_ok(ot_record_encode(&line->record, &bytes, &err));
    ot_config_print(&line->record.config, &config);
    if (line->text) {
        assert_int_equal(line->n_entities, config.n);
        assert_memory_equal(line->entities, config.s, config.n);
    }
    const ot_digest digest = ot_record_digest(&line->record);
    ot_index_entry_make(&line->record, &digest, config.s, &s->entry[s->good]);
    s->is[s->good++] = ot_hash64(bytes.s, bytes.n);
    ot_text_release(&bytes);
    ot_text_release(&config);
    return 0;
}

static void read_log(seen *s)
{
    *s = (seen){0};
    check_ok(ot_log_read(path, note, s, &err));
}

static void read_bytes(const char *bytes, size_t n, seen *s)
{
    unlink(path); /* to cut one off may wait for the disk, and this is one of thousands */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    read_log(s);
}

static bool same(const seen *a, int i, const seen *b, int k)
{
    return a->is[i] == b->is[k] && !memcmp(&a->entry[i], &b->entry[k], sizeof a->entry[i]);
}

static bool among(const seen *one, int i, const seen *all)
{
    for (int k = 0; k < all->good; k++)
        if (same(one, i, all, k))
            return true;
    return false;
}

/* ---- writing ----------------------------------------------------------------------------- */

static optune_record strange_record(int number)
{
    static const double few[] = {0.5, 0.25, 0.125}, wide[] = {1e-9, 1e6},
                        whole[] = {3, 5, 1e15}, one[] = {0.00153201642};
    static const struct {
        const double *sample;
        int n;
    } samples[] = {{few, 3}, {wide, 2}, {whole, 3}, {one, 1}};
    optune_record r = number % 3 ? plain_record(number) : some_record(number);
    if (number % 3 == 1 && r.outcome == OPTUNE_OUTCOME_OK) {
        r.sample = samples[number / 3 % 4].sample;
        r.n_samples = samples[number / 3 % 4].n;
        const ot_interval interval = ot_median_interval(r.sample, r.n_samples);
        r.cost = interval.median;
        r.low = number % 5 ? interval.low : 0;
        r.high = number % 5 ? interval.high : 0;
        r.error = number % 2 ? 0 : 1.0 / 3;
        r.seed = number % 4 ? r.seed : 0;
        r.inner = number % 7;
        r.inner += !r.inner;
    }
    if (number % 11 == 5) {
        r.outcome = OPTUNE_OUTCOME_COMPILE;
        r.message = "a \"quoted\"\nline, \xc3\xa9\t\\ and } ] \x01";
        r.n_samples = 0;
        r.cost = r.low = r.high = INFINITY;
    }
    r.policy = number % 13 ? r.policy : NULL;
    r.config.index = number % 4 ? r.config.index : INT64_MAX - number;
    return r;
}

static ot_log *open_log(ot_log_lines lines)
{
    ot_log *log;
    check_ok(ot_log_open(path, lines, &log, &err));
    return log;
}

static void write_records(ot_log_lines lines, int from, int to)
{
    ot_log *log = open_log(lines);
    for (int i = from; i < to; i++) {
        const optune_record record = strange_record(i);
        check_ok(ot_log_append(log, &record, &err));
    }
    ot_log_close(log);
}

/* What full lines of those records are read as. */
static void read_full(int from, int to, seen *s)
{
    unlink(path);
    write_records(OT_LOG_FULL, from, to);
    read_log(s);
    assert_int_equal(s->good, to - from);
    assert_int_equal(s->bad, 0);
    unlink(path);
}

static ot_text text_of(int from, int to)
{
    ot_text text = {0};
    unlink(path);
    write_records(OT_LOG_SHORT, from, to);
    check_ok(ot_read_file(path, &text, 1 << 27, &err));
    return text;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void says_what_the_full_line_says(void **state)
{
    enum { N = 300 };
    (void)state;
    seen *full = ot_alloc(sizeof *full), *brief = of_log;
    read_full(0, N, full);
    ot_text text = text_of(0, N);
    read_log(brief);
    assert_string_equal(brief->problem, "");
    assert_int_equal(brief->good, N);
    for (int i = 0; i < N; i++)
        if (!same(full, i, brief, i))
            fail_msg("record %d is another", i);
    ot_text_release(&text);
    free(full);
}

/* Ten samples of a run of nine digits each, as they are measured. */
static void is_short(void **state)
{
    enum { N = 500, SAMPLES = 10 };
    (void)state;
    double sample[SAMPLES];
    ot_text full = {0}, brief = {0};
    unlink(path);
    ot_log *log = open_log(OT_LOG_SHORT);
    for (int i = 0; i < N; i++) {
        char digits[40];
        optune_record r = plain_record(7 * i);
        for (int k = 0; k < SAMPLES; k++) {
            const double cost = 1e-3 * (1 + 1e-2 * optune_random_unit(&rng));
            snprintf(digits, sizeof digits, "%.9g", cost);
            sample[k] = strtod(digits, NULL);
        }
        const ot_interval interval = ot_median_interval(sample, SAMPLES);
        r.sample = sample;
        r.n_samples = SAMPLES;
        r.cost = interval.median;
        r.low = interval.low;
        r.high = interval.high;
        check_ok(ot_log_append(log, &r, &err));
        ot_record_line(&r, &full);
    }
    ot_log_close(log);
    check_ok(ot_read_file(path, &brief, 1 << 26, &err));
    assert_in_range(brief.n, 1, N * 350);
    assert_in_range(brief.n, 1, full.n / 2);
    ot_text_release(&full);
    ot_text_release(&brief);
}

static void every_prefix_is_told(void **state)
{
    enum { N = 8 };
    (void)state;
    seen *full = ot_alloc(sizeof *full), *cut = of_log;
    read_full(0, N, full);
    ot_text text = text_of(0, N);
    for (size_t n = 0; n <= text.n; n++) {
        int lines = 0; /* whole ones that say a trial; the last may lack its newline */
        for (size_t i = 0; i < n; i++)
            lines += text.s[i] == '[' && (!i || text.s[i - 1] == '\n') &&
                     memchr(text.s + i, '\n', n + (n < text.n && text.s[n] == '\n') - i);
        read_bytes(text.s, n, cut);
        assert_int_equal(cut->good, lines);
        for (int i = 0; i < lines; i++)
            assert_true(same(cut, i, full, i));
        assert_in_range(cut->bad, 0, 1);
    }
    ot_text_release(&text);
    free(full);
}

/* Nothing is believed that was not written; what is not taken is told. */
static void every_byte_changed_is_told(void **state)
{
    enum { N = 6 };
    (void)state;
    static const unsigned char changes[] = {0x01, 0x04, 0x10, 0x80, 0xff};
    seen *full = ot_alloc(sizeof *full), *other = of_log;
    read_full(0, N, full);
    ot_text text = text_of(0, N);
    for (size_t at = 0; at < text.n; at++)
        for (int i = 0; i < OT_COUNT(changes); i++) {
            const char was = text.s[at];
            text.s[at] = (char)(was ^ changes[i]);
            read_bytes(text.s, text.n, other);
            text.s[at] = was;
            for (int k = 0; k < other->good; k++)
                if (!among(other, k, full))
                    fail_msg("byte %zu ^ %02x: a record that nobody wrote", at, changes[i]);
            assert_true(other->good == N || other->bad);
        }
    ot_text_release(&text);
    free(full);
}

static void writers_interleave(void **state)
{
    enum { N = 200 };
    (void)state;
    seen *full = ot_alloc(sizeof *full), *mixed = of_log;
    read_full(0, N, full);
    ot_log *log[2] = {open_log(OT_LOG_SHORT), open_log(OT_LOG_SHORT)}, *third = NULL;
    for (int i = 0; i < N; i++) {
        const optune_record record = strange_record(i);
        if (i == N / 2)
            third = open_log(OT_LOG_FULL);
        ot_log *to = third && i % 5 == 0 ? third : log[optune_random_below(&rng, 2)];
        check_ok(ot_log_append(to, &record, &err));
    }
    ot_log_close(log[0]);
    ot_log_close(log[1]);
    ot_log_close(third);
    read_log(mixed);
    assert_int_equal(mixed->bad, 0);
    assert_int_equal(mixed->good, N);
    for (int i = 0; i < N; i++)
        assert_true(same(mixed, i, full, i));
    free(full);
}

static void logs_put_together(void **state)
{
    enum { N = 60 };
    (void)state;
    seen *full = ot_alloc(sizeof *full), *both = of_log;
    read_full(0, 2 * N, full);
    ot_text a = text_of(0, N), b = text_of(N, 2 * N), ab = {0}, ba = {0};
    ot_text_add_n(&ab, a.s, a.n);
    ot_text_add_n(&ab, b.s, b.n);
    ot_text_add_n(&ba, b.s, b.n);
    ot_text_add_n(&ba, a.s, a.n);
    read_bytes(ab.s, ab.n, both);
    assert_int_equal(both->good, 2 * N);
    for (int i = 0; i < 2 * N; i++)
        assert_true(same(both, i, full, i));
    read_bytes(ba.s, ba.n, both);
    assert_int_equal(both->bad, 0);
    assert_int_equal(both->good, 2 * N);
    for (int i = 0; i < 2 * N; i++)
        assert_true(same(both, i, full, (i + N) % (2 * N)));
    ot_text_release(&a);
    ot_text_release(&b);
    ot_text_release(&ab);
    ot_text_release(&ba);
    free(full);
}

/* The heads are gone, or come too late. */
static void a_head_that_is_missing_is_named(void **state)
{
    enum { N = 40 };
    (void)state;
    seen *s = of_log;
    ot_text text = text_of(0, N), trials = {0}, heads = {0};
    for (size_t i = 0; i < text.n;) {
        const size_t n =
            (size_t)((char *)memchr(text.s + i, '\n', text.n - i) - text.s) + 1 - i;
        ot_text_add_n(ot_line_is_head(text.s + i, n) ? &heads : &trials, text.s + i, n);
        i += n;
    }
    ot_text late = {0};
    ot_text_add_n(&late, trials.s, trials.n);
    ot_text_add_n(&late, heads.s, heads.n);
    read_bytes(late.s, late.n, s);
    assert_int_equal(s->good, 0);
    assert_int_equal(s->bad, N);
    char name[17];
    const char *last = strrchr(trials.s, '['); /* of the last line, or in it */
    while (last > trials.s && last[-1] != '\n')
        last--;
    snprintf(name, sizeof name, "%.16s", last + 2);
    check_contains(s->problem, name);
    check_contains(s->problem, "which nothing in front of it in this log declares");
    ot_text_release(&text);
    ot_text_release(&trials);
    ot_text_release(&heads);
    ot_text_release(&late);
}

static int heads_of(void)
{
    ot_text text = {0};
    int heads = 0;
    check_ok(ot_read_file(path, &text, 1 << 27, &err));
    for (size_t i = 0; i < text.n; i++)
        heads += (!i || text.s[i - 1] == '\n') && ot_line_is_head(text.s + i, text.n - i);
    ot_text_release(&text);
    return heads;
}

/* As many lines as lean on one declaration at most are lost with it. */
static void heads_are_said_again(void **state)
{
    enum { N = 3 * OT_HEAD_USES + 1 };
    (void)state;
    const optune_record record = plain_record(1);
    unlink(path);
    ot_log *log = open_log(OT_LOG_SHORT);
    for (int i = 0; i < N; i++)
        check_ok(ot_log_append(log, &record, &err));
    assert_int_equal(heads_of(), 4);
    read_log(of_log);
    assert_int_equal(of_log->good, N);
    /* Somebody empties it while it is open. */
    assert_int_equal(truncate(path, 0), 0);
    for (int i = 0; i < 2; i++)
        check_ok(ot_log_append(log, &record, &err));
    ot_log_close(log);
    read_log(of_log);
    assert_int_equal(of_log->good, 2);
    assert_int_equal(of_log->bad, 0);
}

/* More of them than a reader remembers, in turns. */
static void many_heads_are_bounded(void **state)
{
    enum { HEADS = 500, TEXT = 4000, TURNS = 5 };
    (void)state;
    char device[TEXT + 1], host[OT_LONG_TEXT];
    unlink(path);
    ot_log *log = open_log(OT_LOG_SHORT);
    memset(device, 'd', TEXT);
    memset(host, 'h', sizeof host);
    device[TEXT] = 0;
    memcpy(host, "k=", 2);
    host[20000] = 0;
    for (int i = 0; i < TURNS * HEADS; i++) {
        optune_record record = plain_record(1);
        char number[16];
        snprintf(number, sizeof number, "%08d", i % HEADS);
        memcpy(device, number, 8);
        record.device = device;
        record.host = host;
        check_ok(ot_log_append(log, &record, &err));
    }
    ot_log_close(log);
    assert_int_equal(heads_of(), TURNS * HEADS); /* too many others in between */
    *of_log = (seen){0};
    check_ok(ot_log_read(path, note, of_log, &err));
    assert_string_equal(of_log->problem, "");
}

/* Whatever a line holds that is rightly sealed: no crash, and what is taken is sound. */
static void sealed_lines_are_read_with_care(void **state)
{
    (void)state;
    static const char *const tokens[] = {
        "\"",       "[",   "]",    "{",    "}",          ",",  "1",
        "-1",       "0.5", "null", "1e9",  "1e999",      "\\", "99999999999999999999",
        "\"x\":1,", "[]",  "\xff", "true", "\"inner\":7"};
    int taken = 0;
    for (int i = 0; i < 20000; i++) {
        ot_text text = {0}, line = {0};
        ot_headings *headings = ot_headings_new();
        const optune_record record = strange_record((int)optune_random_below(&rng, 60));
        const ot_heading heading = ot_heading_of(headings, &record);
        ot_said said = {0};
        ot_said_say(&said, &heading, &text);
        const size_t start = sizeof OT_HEAD_PREFIX - 1;
        ot_heads *heads = ot_heads_new();
        ot_arena arena = {0};
        assert_null(ot_heads_take(heads, text.s + start, text.n - start - 1, &arena));
        ot_text_clear(&text);
        ot_line_add_short(&record, heading.name, &text);
        const size_t n = text.n - 1 - 11; /* in front of the checksum */
        const size_t at = 20 + (size_t)optune_random_below(&rng, (int64_t)n - 20);
        const size_t gone = (size_t)optune_random_below(&rng, 4);
        ot_text_add_n(&line, text.s, at);
        ot_text_add(&line, tokens[optune_random_below(&rng, OT_COUNT(tokens))]);
        if (at + gone < n)
            ot_text_add_n(&line, text.s + at + gone, n - at - gone);
        ot_text_printf(&line, "\"%08x\"]", (unsigned)ot_hash64(line.s, line.n));
        char *exact = malloc(line.n);
        memcpy(exact, line.s, line.n);
        ot_log_line *read = ot_alloc(sizeof *read);
        if (!ot_line_short(exact, line.n, heads, &arena, read)) {
            char why[OPTUNE_WHY_SIZE];
            if (!ot_record_sound(&read->record, why))
                fail_msg("%s: %.*s", why, (int)line.n, line.s);
            taken++;
        }
        free(exact);
        free(read);
        ot_heads_free(heads);
        ot_headings_free(headings);
        ot_said_release(&said);
        ot_arena_release(&arena);
        ot_text_release(&text);
        ot_text_release(&line);
    }
    assert_in_range(taken, 1, 20000);
}

static const char *head_problem(const char *json, bool right)
{
    static ot_arena arena;
    ot_heads *heads = ot_heads_new();
    ot_text text = {0};
    ot_text_printf(&text, "%016llx %s",
                   (unsigned long long)(ot_hash64(json, strlen(json)) + !right), json);
    const char *problem = ot_heads_take(heads, text.s, text.n, &arena);
    ot_text_release(&text);
    ot_heads_free(heads);
    return problem ? problem : "";
}

static void bad_heads_are_refused(void **state)
{
    (void)state;
#define HEAD                                                                                   \
    "{\"input\":[\"llvm\",\"d\",[],{}],\"v\":1,\"call\":\"dense()\",\"op\":\"dense\","         \
    "\"target\":\"cpu\",\"device\":\"x\",\"impl\":\"d\""
    assert_string_equal(head_problem(HEAD ",\"knobs\":[[\"a\",\"sp\"]]}", true), "");
    assert_string_equal(head_problem(HEAD ",\"knobs\":[],\"later\":{\"a\":1}}", true), "");
    check_contains(head_problem(HEAD ",\"knobs\":[]}", false), "is not what its name says");
    check_contains(head_problem(HEAD ",\"knobs\":[[\"a\",\"sp\"],[\"a\",\"ot\"]]}", true),
                   "twice");
    check_contains(head_problem(HEAD ",\"knobs\":[[\"a\",\"xx\"]]}", true), "knob 1");
    check_contains(head_problem(HEAD ",\"knobs\":{}}", true), "no list");
    check_contains(head_problem(HEAD "}", true), "no list");
    check_contains(head_problem("[]", true), "no JSON object");
    check_contains(head_problem("{\"v\":2}", true), "its format 2 is not understood");
    check_contains(head_problem("{\"v\":1}", true), "begin with its input");
    check_contains(head_problem("{\"input\":[1],\"v\":1,\"knobs\":[]}", true), "is missing");
    check_contains(head_problem("{\"input\":[1],\"v\":1,\"call\":\"c\",\"target\":\"t\","
                                "\"device\":\"d\",\"impl\":\"i\",\"knobs\":[]}",
                                true),
                   "not [target, task, args, kwargs]");
    check_contains(head_problem(HEAD ",\"tool\":\"a\\u0001\",\"knobs\":[]}", true), "control");
}

/* All entries of a table, one behind the other. */
static ot_text entries_of(ot_store *store, ot_kv_table table)
{
    ot_text all = {0};
    ot_snapshot reader;
    ot_bytes key = {0}, value;
    check_ok(ot_snapshot_begin(store, &reader, &err));
    int status = ot_snapshot_seek(&reader, table, &key, &value, &err);
    while (status == OPTUNE_OK) {
        ot_text_printf(&all, "\n%zu %zu ", key.n, value.n);
        ot_text_add_n(&all, key.data, key.n);
        ot_text_add_n(&all, value.data, value.n);
        status = ot_snapshot_next(&reader, table, &key, &value, &err);
    }
    assert_int_equal(status, 1);
    ot_snapshot_end(&reader);
    return all;
}

static ot_store *store_of(ot_log_lines lines, int n)
{
    char place[4200];
    ot_store *store;
    int64_t added = 0, refused = 0;
    snprintf(place, sizeof place, "%s/%s", dir, lines == OT_LOG_FULL ? "full" : "short");
    check_ok(ot_store_open(place, OT_STORE_WRITE, &store, &err));
    unlink(path);
    write_records(lines, 0, n);
    check_ok(ot_store_read_log(store, path, false, &added, &refused, &err));
    assert_int_equal(added, n);
    assert_int_equal(refused, 0);
    return store;
}

static void stores_are_equal(void **state)
{
    enum { N = 200 };
    (void)state;
    ot_store *full = store_of(OT_LOG_FULL, N), *brief = store_of(OT_LOG_SHORT, N);
    static const ot_kv_table tables[] = {OT_TABLE_RECORD, OT_TABLE_BEST, OT_TABLE_HINT,
                                         OT_TABLE_SHARED, OT_TABLE_SUMMARY};
    for (int i = 0; i < OT_COUNT(tables); i++) {
        ot_text a = entries_of(full, tables[i]), b = entries_of(brief, tables[i]);
        assert_true(i > 1 || a.n > 0);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(ot_text_str(&a), ot_text_str(&b), a.n);
        ot_text_release(&a);
        ot_text_release(&b);
    }
    ot_care care;
    check_ok(ot_store_check(brief, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    ot_store_close(full);
    ot_store_close(brief);
}

int main(void)
{
    of_log = ot_alloc(sizeof *of_log);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_full_line_says),
        cmocka_unit_test(is_short),
        cmocka_unit_test(every_prefix_is_told),
        cmocka_unit_test(every_byte_changed_is_told),
        cmocka_unit_test(writers_interleave),
        cmocka_unit_test(logs_put_together),
        cmocka_unit_test(a_head_that_is_missing_is_named),
        cmocka_unit_test(heads_are_said_again),
        cmocka_unit_test(many_heads_are_bounded),
        cmocka_unit_test(sealed_lines_are_read_with_care),
        cmocka_unit_test(bad_heads_are_refused),
        cmocka_unit_test(stores_are_equal),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
