/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may only read: another user, a read-only mount. Nothing is made there, nothing is missed
 * while somebody writes, and what happens to the file is never a signal.
 */
#include "support/check.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "support/store.h"

enum { NOBODY = 65534 };

static int pieces; /* 0: what is asked for comes at once; else the next one's number */

/* In front of the system's: a third, or a signal. */
ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    if (pieces && ++pieces % 5 == 0) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, pieces ? (n + 2) / 3 : n, at);
}

/* In a child that is nobody; returns its exit code. */
static int as_nobody(int (*use)(void))
{
    int status;
    assert_int_equal(chmod(store_dir, 0755), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(setgid(NOBODY) < 0 || setuid(NOBODY) < 0 ? 99 : use());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* no signal */
    return WEXITSTATUS(status);
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

/* All of `n` records, by question and by walk. */
static int read_all(int n)
{
    optune_err err = {0};
    ot_store *store;
    optune_record record = some_record(1), *found;
    ot_question question = {.device = record.device,
                            .target = record.target,
                            .call = record.call,
                            .policy = record.policy};
    int seen = 0, walked = 0;
    ot_arena arena = {0};
    ot_store_stats stats = {0};
    const bool good =
        ot_store_open(store_dir, OT_STORE_READ, &store, &err) == OPTUNE_OK &&
        ot_store_find(store, &question, 0, &arena, &found, &seen, &err) == OPTUNE_OK &&
        ot_store_walk(store, store_count, &walked, &err) == OPTUNE_OK &&
        ot_store_stats_get(store, &stats, &err) == OPTUNE_OK && seen == n && walked == n &&
        stats.records == n && stats.damaged == 0 && stats.bytes > 0;
    if (!good)
        print_error("%d found, %d walked, %s\n", seen, walked, err.text);
    for (int i = 1; good && i < seen; i++)
        if (found[i].cost < found[i - 1].cost)
            return 3;
    ot_arena_release(&arena);
    ot_store_close(store);
    return good ? 0 : 2;
}

static int read_300(void)
{
    return read_all(300);
}

static int write_one(void)
{
    optune_err err = {0};
    ot_store *store;
    const int status = ot_store_open(store_dir, OT_STORE_WRITE, &store, &err);
    return status == OPTUNE_ESTORE && strstr(err.text, store_dir) ? 0 : 2;
}

static void another_user_reads_all(void **state)
{
    (void)state;
    need_root();
    store_fill(300);
    assert_int_equal(as_nobody(read_300), 0);
    pieces = 1;
    assert_int_equal(as_nobody(read_300), 0);
    pieces = 0;
    assert_int_equal(as_nobody(write_one), 0);
}

static void without_a_lock_file(void **state)
{
    (void)state;
    need_root();
    char lock[4200];
    snprintf(lock, sizeof lock, "%s/store/lock.mdb", store_dir);
    store_fill(300);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(as_nobody(read_300), 0);
    assert_false(ot_exists(lock));
}

static int read_mounted(void)
{
    char there[8300];
    snprintf(there, sizeof there, "%s/store/new", store_dir);
    return mkdir(there, 0777) == 0 ? 4 : read_all(300);
}

static void read_only_mount(void **state)
{
    (void)state;
    need_root();
    store_fill(300);
    int status;
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount(store_dir, store_dir, NULL, MS_BIND, NULL) < 0 ||
            mount(NULL, store_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
            _exit(77); /* not allowed here */
        _exit(read_mounted());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The number of records grows while this reads, and never falls. */
static int read_on(void)
{
    optune_err err = {0};
    ot_store *store;
    optune_record record = some_record(1), *found;
    ot_question question = {.device = record.device,
                            .target = record.target,
                            .call = record.call,
                            .policy = record.policy};
    int least = 50, rounds = 0, n;
    if (ot_store_open(store_dir, OT_STORE_READ, &store, &err) < 0)
        return 2;
    while (least < 450 && rounds++ < 200000) {
        ot_arena arena = {0};
        int64_t before = ot_store_last(store);
        if (ot_store_find(store, &question, 0, &arena, &found, &n, &err) < 0 || n < least) {
            print_error("%d after %d: %s\n", n, least, err.text);
            return 3;
        }
        if (ot_store_last(store) < before)
            return 5;
        least = n;
        ot_arena_release(&arena);
    }
    ot_store_close(store);
    return least == 450 ? 0 : 4;
}

static void nothing_is_missed_beside_a_writer(void **state)
{
    (void)state;
    need_root();
    optune_err err;
    int status;
    store_fill(50);
    const pid_t child = fork();
    if (child == 0) {
        ot_store *store;
        if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
            _exit(1);
        for (int i = 50; i < 450; i++) {
            optune_record record = some_record(i);
            if (ot_store_put(store, &record, 1, NULL, &err) < 0)
                _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(as_nobody(read_on), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Whatever is in the file: an answer or a refusal. Ends with 0: all there, 1: refused, 2: some
 * missing. */
static int read_spoilt(void)
{
    optune_err err = {0};
    ot_store *store;
    int n = 0;
    int status = ot_store_open(store_dir, OT_STORE_READ, &store, &err);
    if (status >= 0)
        status = ot_store_walk(store, store_count, &n, &err);
    if (status < 0)
        return status == OPTUNE_EDAMAGED || status == OPTUNE_EVERSION ? 1 : 3;
    return n == 20 ? 0 : 2;
}

static void damage_is_no_signal(void **state)
{
    (void)state;
    need_root();
    optune_err err;
    ot_text sound = {0};
    uint64_t seed = 5;
    int told = 0;
    store_fill(20);
    check_ok(ot_read_file(store_data, &sound, 64 << 20, &err));
    for (int i = 0; i < 200; i++) {
        const size_t at = (size_t)optune_random_below(&seed, (int64_t)sound.n);
        const char was = sound.s[at];
        sound.s[at] = (char)~was;
        check_ok(ot_write_file(store_data, sound.s, sound.n, &err));
        assert_int_equal(chmod(store_data, 0644), 0);
        const int code = as_nobody(read_spoilt);
        sound.s[at] = was;
        if (code > 2)
            print_error("byte %zu: %d\n", at, code);
        assert_in_range(code, 0, 2);
        told += code == 1;
    }
    assert_in_range(told, 1, 199);
    ot_text_release(&sound);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(another_user_reads_all), each(without_a_lock_file),
        each(read_only_mount),        each(nothing_is_missed_beside_a_writer),
        each(damage_is_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
