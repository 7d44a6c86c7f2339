/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several append to one log of short lines, and some are killed inside a line, find the disk full,
 * or empty it: no trial is lost with what somebody else did to a head.
 */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "db/head.h"
#include "db/kv.h"
#include "support/records.h"

static char dir[4096], path[4200];
static optune_err err;

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

typedef struct seen {
    int good, bad;
} seen;

static int note(void *arg, const ot_log_line *line)
{
    seen *s = arg;
    s->bad += line->problem != NULL;
    s->good += line->ours && !line->problem;
    return 0;
}

static seen read_log(void)
{
    seen s = {0};
    check_ok(ot_log_read(path, note, &s, &err));
    return s;
}

static ot_log *open_log(void)
{
    ot_log *log;
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    return log;
}

static void append(ot_log *log, int n)
{
    for (int i = 0; i < n; i++) {
        const optune_record record = plain_record(1);
        check_ok(ot_log_append(log, &record, &err));
    }
}

/* As who is killed inside a write(2) leaves it, or finds no more room. */
static void append_half(const char *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* A head, a trial, a device, a full line: each cut off at every byte by one writer, and the next
 * one is in the middle of its life. */
static void behind_half_a_line(void **state)
{
    enum { N = 5 };
    (void)state;
    static const char device[] = "# optune device {\"key\":\"cpu:x\"}\n";
    optune_record other = plain_record(2);
    ot_headings *headings = ot_headings_new();
    ot_text line[4] = {0};
    ot_said said = {0};
    const ot_heading heading = ot_heading_of(headings, &other);
    ot_said_say(&said, &heading, &line[0]);
    ot_line_add_short(&other, heading.name, &line[1]);
    ot_text_add(&line[2], device);
    ot_record_line(&other, &line[3]);
    for (int k = 0; k < OT_COUNT(line); k++)
        for (size_t n = 1; n < line[k].n; n++) {
            unlink(path);
            ot_log *log = open_log();
            append_half(line[k].s, n);
            append(log, N);
            ot_log_close(log);
            const seen s = read_log();
            if (s.good != N || s.bad > 1)
                fail_msg("%d of %d are read behind %zu bytes of line %d, %d are told", s.good, N,
                         n, k, s.bad);
        }
    for (int k = 0; k < OT_COUNT(line); k++)
        ot_text_release(&line[k]);
    ot_headings_free(headings);
    ot_said_release(&said);
}

/* cat a.log b.log, where the first one ends inside a line: what one lacks the other has. */
static void copies_put_together(void **state)
{
    enum { N = 3 };
    (void)state;
    ot_text text = {0};
    unlink(path);
    ot_log *log = open_log();
    append(log, N);
    ot_log_close(log);
    check_ok(ot_read_file(path, &text, 1 << 20, &err));
    for (size_t n = 1; n < text.n; n++) {
        unlink(path);
        append_half(text.s, n);
        append_half(text.s, text.n);
        int whole = 0;
        for (size_t i = 0; i < n; i++)
            whole += text.s[i] == '\n';
        assert_int_equal(read_log().good, N + (whole ? whole - 1 : 0)); /* one is the head */
    }
    ot_text_release(&text);
}

/* One rotates the log by emptying it (logrotate's copytruncate), and another writer was quicker:
 * the log is longer than this one left it. */
static void emptied_and_filled_by_another(void **state)
{
    (void)state;
    unlink(path);
    const optune_record other = plain_record(2);
    ot_log *one = open_log(), *two = open_log();
    check_ok(ot_log_append(one, &other, &err));
    assert_int_equal(truncate(path, 0), 0);
    append(two, 40);
    check_ok(ot_log_append(one, &other, &err)); /* its head is not there any more */
    append(two, 1);
    ot_log_close(one);
    ot_log_close(two);
    const seen s = read_log();
    assert_int_equal(s.bad, 0);
    assert_int_equal(s.good, 42);
}

/* What others append is no reason to say heads again. */
static void others_append(void **state)
{
    enum { N = 50 };
    (void)state;
    unlink(path);
    ot_text text = {0};
    ot_log *one = open_log(), *two = open_log();
    for (int i = 0; i < N; i++) {
        append(one, 1);
        append(two, 1);
    }
    ot_log_close(one);
    ot_log_close(two);
    check_ok(ot_read_file(path, &text, 1 << 20, &err));
    int heads = 0;
    for (size_t i = 0; i < text.n; i++)
        heads += (!i || text.s[i - 1] == '\n') && ot_line_is_head(text.s + i, text.n - i);
    assert_int_equal(heads, 2);
    assert_int_equal(read_log().good, 2 * N);
    ot_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_half_a_line),
        cmocka_unit_test(copies_put_together),
        cmocka_unit_test(emptied_and_filled_by_another),
        cmocka_unit_test(others_append),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
