/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports of more than a batch, whose records are stored together at their end: killed at any
 * moment, and while another store comes into the place of theirs, all that was logged is stored.
 */
#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/db.h"
#include "optune/optune.h"
#include "support/random_call.h"
#include "support/store.h"

enum { LINES = 17000, BATCH = 16384, ROUNDS = 3 };

static optune_err err;

static void write_records(const char *path, int from, int to)
{
    ot_log *log;
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    for (int i = from; i < to; i++) {
        optune_record r = some_record(i % 100);
        r.time = 1e9 + i;
        check_ok(ot_log_append(log, &r, &err));
    }
    ot_log_close(log);
}

static optune *open_handle(void)
{
    optune *o = NULL;
    const optune_options options = {
        .size = sizeof options, .db = store_dir, .target = "cpu -threads=1"};
    check_ok(optune_open(&options, &o, &err));
    return o;
}

/* How many were new. */
static int64_t import_into(optune *o, const char *path)
{
    optune_result *result;
    check_ok(optune_import(o, path, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    const int64_t added = json_integer_value(json_object_get(json, "new"));
    json_decref(json);
    optune_result_free(result);
    return added;
}

static void check_has(int64_t n)
{
    ot_store *store;
    ot_care care;
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    assert_int_equal(care.records, n);
    ot_store_close(store);
}

static void check_left(void)
{
    static const char *const known[] = {".",          "..",        "logs", "store", "swap",
                                        "write.lock", "swap.lock", "in",   "more"};
    DIR *dir = opendir(store_dir);
    const struct dirent *entry;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        bool found = false;
        for (int i = 0; i < OT_COUNT(known); i++)
            found |= !strcmp(entry->d_name, known[i]);
        if (!found)
            fail_msg("'%s' is left", entry->d_name);
    }
    closedir(dir);
}

/* Newlines of all logs of the database that end a trial: what an import has logged, at least. */
static int64_t logged(void)
{
    char path[4300];
    int64_t n = 0;
    snprintf(path, sizeof path, "%s/logs", store_dir);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char name[4700];
        ot_text text = {0};
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || ot_read_file(name, &text, 1 << 30, &err) < 0)
            continue;
        for (const char *at = text.s, *end; at && (end = strchr(at, '\n')); at = end + 1)
            n += *at != '#';
        ot_text_release(&text);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* What the next one that writes does. */
static void recover(void)
{
    ot_store *store;
    int64_t added;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_recover(store, false, &added, &err));
    ot_store_close(store);
}

static void start_anew(void)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/store", store_dir);
    ot_remove_tree(path);
    snprintf(path, sizeof path, "%s/logs", store_dir);
    ot_remove_tree(path);
}

static void killed(void **state)
{
    (void)state;
    char path[4300];
    uint64_t rng = (uint64_t)random_seed();
    double whole = 60; /* of the first one; moments are drawn from it, and decide nothing */
    snprintf(path, sizeof path, "%s/in", store_dir);
    write_records(path, 0, LINES);
    for (int round = 0; round < ROUNDS; round++) {
        const double start = ot_now(), until = round ? whole * optune_random_unit(&rng) : whole;
        int status = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            import_into(open_handle(), path);
            _exit(0);
        }
        pid_t ended = 0;
        while (!ended && ot_now() - start < until) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            ended = waitpid(child, &status, WNOHANG);
        }
        whole = round ? whole : ot_now() - start;
        if (!ended) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        }
        assert_true(!ended || status == 0);
        const int64_t n = logged();
        recover();
        check_has(n);
        check_left();
        optune *o = open_handle();
        assert_int_equal(import_into(o, path), LINES - n);
        optune_close(o);
        check_has(LINES);
        start_anew();
    }
}

/* ---- in a log already -------------------------------------------------------------------- */

static ino_t store_file(void)
{
    struct stat info;
    assert_int_equal(stat(store_data, &info), 0);
    return info.st_ino;
}

/* Logs of killed imports are stored together, too; whoever opened the store for that has the one
 * that came of it. */
static void logged_and_not_stored(void **state)
{
    (void)state;
    char path[4300];
    ot_store *store;
    store_fill(3);
    const ino_t before = store_file();
    static const int from[] = {0, LINES, LINES + 20, 2 * LINES};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/logs", store_dir);
        check_ok(ot_make_dirs(path, &err));
        snprintf(path, sizeof path, "%s/logs/%d.log", store_dir, i);
        write_records(path, from[i], from[i + 1]);
    }
    optune *o = open_handle();
    snprintf(path, sizeof path, "%s/in", store_dir);
    write_records(path, 2 * LINES - 5, 2 * LINES + 5);
    assert_int_equal(import_into(o, path), 5);
    assert_true(store_file() != before);
    check_has(3 + 2 * LINES + 5);
    optune_close(o);
    check_left();
    /* It is known that all are stored. */
    int64_t added;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    const ino_t now = store_file();
    check_ok(ot_store_recover(store, false, &added, &err));
    assert_int_equal(added, 0);
    ot_store_close(store);
    assert_true(store_file() == now);
}

enum { FORGOTTEN = 40 };

static void forget_some(void)
{
    ot_store *store;
    ot_pruned pruned;
    ot_digest digest[FORGOTTEN];
    for (int i = 0; i < FORGOTTEN; i++) {
        optune_record r = some_record(i * 400 % 100);
        r.time = 1e9 + i * 400;
        digest[i] = ot_record_digest(&r);
    }
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_forget(store, digest, FORGOTTEN, &pruned, &err));
    ot_store_close(store);
}

/* Also where the log that says so is read before those of what it forgets, and where it comes with
 * an import of thousands, from here or from a copy. */
static void forgotten_for_good(void **state)
{
    (void)state;
    char path[4300], aside[4300];
    ot_store_stats stats;
    int64_t refused;
    optune *o = open_handle();
    snprintf(path, sizeof path, "%s/in", store_dir);
    write_records(path, 0, LINES);
    assert_int_equal(import_into(o, path), LINES);
    forget_some();
    check_has(LINES - FORGOTTEN);
    assert_int_equal(import_into(o, path), 0);
    unlink(path);
    write_records(path, 0, 2 * LINES);
    assert_int_equal(import_into(o, path), LINES); /* into another store */
    check_has(2 * LINES - FORGOTTEN);
    check_ok(ot_store_rebuild(store_dir, NULL, &stats, &refused, &err));
    assert_int_equal(stats.records, 2 * LINES - FORGOTTEN);
    check_has(2 * LINES - FORGOTTEN);
    assert_int_equal(import_into(o, path), 0);
    /* The whole log once more, of a database that never heard of it. */
    snprintf(aside, sizeof aside, "%s/logs/00000000T000000Z-1.log", store_dir);
    assert_int_equal(rename(path, aside), 0);
    check_ok(ot_store_rebuild(store_dir, NULL, &stats, &refused, &err));
    assert_int_equal(stats.records, 2 * LINES - FORGOTTEN);
    check_has(2 * LINES - FORGOTTEN);
    optune_close(o);
}

/* ---- another store in its place ---------------------------------------------------------- */

typedef struct feeding {
    char log[4300], pipe[4300];
    int lines;
    bool gone; /* the store, and a file has its name; else it is compacted */
} feeding;

static void pass_on(int to, const char *bytes, size_t n)
{
    while (n) {
        const ssize_t done = write(to, bytes, n);
        if (done < 0 && errno == EPIPE)
            return; /* the import has ended */
        assert_true(done > 0);
        bytes += done;
        n -= (size_t)done;
    }
}

static void replace(const feeding *f)
{
    optune_err why = {0};
    char path[4300];
    ot_store *store;
    int64_t before, after;
    if (f->gone) {
        snprintf(path, sizeof path, "%s/store", store_dir);
        /* The import may be making it anew in between. */
        int status = -1;
        for (int tries = 0; tries < 1000 && status < 0; tries++) {
            ot_remove_tree(path);
            status = ot_write_file(path, "", 0, &why);
        }
        check_ok(status);
        return;
    }
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &why));
    check_ok(ot_store_compact(store, &before, &after, &why));
    ot_store_close(store);
}

/* Two batches and a bit; then, once the second of them is in the log and the first one waits to be
 * stored, another store; then the rest. */
static void *feed(void *arg)
{
    const feeding *f = arg;
    optune_err why = {0};
    ot_text text = {0};
    check_ok(ot_read_file(f->log, &text, 1 << 30, &why));
    const int to = open(f->pipe, O_WRONLY | O_CLOEXEC);
    assert_true(to >= 0);
    const size_t first = text.n / (size_t)f->lines * (2 * BATCH + BATCH / 2);
    pass_on(to, text.s, first);
    while (logged() <= BATCH)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    replace(f);
    pass_on(to, text.s + first, text.n - first);
    close(to);
    ot_text_release(&text);
    return NULL;
}

static void start_feeding(feeding *f, pthread_t *thread)
{
    snprintf(f->log, sizeof f->log, "%s/in", store_dir);
    snprintf(f->pipe, sizeof f->pipe, "%s/more", store_dir);
    write_records(f->log, 0, f->lines);
    assert_int_equal(mkfifo(f->pipe, 0600), 0);
    assert_int_equal(pthread_create(thread, NULL, feed, f), 0);
}

static void replaced_meanwhile(void **state)
{
    (void)state;
    enum { FED = 3 * LINES };
    feeding f = {.lines = FED};
    pthread_t thread;
    optune *o = open_handle();
    start_feeding(&f, &thread);
    assert_int_equal(import_into(o, f.pipe), FED);
    pthread_join(thread, NULL);
    check_has(FED);
    assert_int_equal(logged(), FED);
    assert_int_equal(import_into(o, f.log), 0);
    optune_close(o);
    check_left();
}

/* It ends with a reason, with lines at hand that it had read by then; what it logged is stored once
 * there can be a store again. */
static void gone_meanwhile(void **state)
{
    (void)state;
    enum { FED = 5 * BATCH };
    feeding f = {.lines = FED, .gone = true};
    pthread_t thread;
    optune_result *result;
    char path[4300];
    signal(SIGPIPE, SIG_IGN); /* nobody may read the rest */
    optune *o = open_handle();
    start_feeding(&f, &thread);
    assert_true(optune_import(o, f.pipe, &result, &err) < 0);
    assert_null(result);
    check_contains(err.text, store_dir);
    pthread_join(thread, NULL);
    const int64_t n = logged();
    assert_in_range(n, 2 * BATCH, FED);
    snprintf(path, sizeof path, "%s/store", store_dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(import_into(o, f.log), FED - n);
    check_has(FED);
    optune_close(o);
    check_left();
}

/* ---- beside what is there ---------------------------------------------------------------- */

static void one_after_another(void **state)
{
    (void)state;
    char path[4300];
    optune *o = open_handle();
    snprintf(path, sizeof path, "%s/in", store_dir);
    static const int to[] = {3 * LINES, 3 * LINES + BATCH + 100, 3 * LINES + BATCH + 110};
    for (int i = 0, from = 0; i < OT_COUNT(to); from = to[i++] - 5) {
        write_records(path, from, to[i]);
        assert_int_equal(import_into(o, path), to[i] - (i ? to[i - 1] : 0));
        unlink(path);
        check_has(to[i]);
    }
    optune_close(o);
    recover();
    check_has(to[OT_COUNT(to) - 1]);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(killed),
        each(logged_and_not_stored),
        each(forgotten_for_good),
        each(replaced_meanwhile),
        each(gone_meanwhile),
        each(one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
