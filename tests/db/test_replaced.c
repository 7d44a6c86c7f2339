/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a store open whose place another one took hears of it with the first commit to that one,
 * whatever became of who put it there and whatever rights he has himself. No time passes here: that
 * the file is looked at now and then is no help.
 */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/kv.h"
#include "support/store.h"

enum { NOBODY = 65534, RECORDS = 3 };

static bool no_time;         /* passes, of the clock by which files are looked at */
static const char *stops_at; /* the process stops when this end of a name is taken */

static bool fixed;    /* as in some overlays: a store's folder can only be emptied */
static bool no_links; /* as on some file systems */

static bool ends(const char *name, const char *end)
{
    const size_t n = strlen(end), all = strlen(name);
    return all > n && !strcmp(name + all - n, end);
}

static int refused(int number)
{
    errno = number;
    return -1;
}

/* In front of the system's, all of them. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static struct timespec then;
    if (no_time && clock == CLOCK_MONOTONIC_COARSE && then.tv_sec) {
        *now = then;
        return 0;
    }
    const int told = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_MONOTONIC_COARSE)
        then = *now;
    return told;
}

static int taken(int done, const char *to)
{
    if (done == 0 && stops_at && ends(to, stops_at))
        raise(SIGSTOP);
    return done;
}

int renameat2(int from_in, const char *from, int to_in, const char *to, unsigned flags)
{
    if (fixed && ends(to, "/store"))
        return refused(EXDEV);
    return taken((int)syscall(SYS_renameat2, from_in, from, to_in, to, flags), to);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int remove(const char *path)
{
    if (fixed && ends(path, "/store") && !ends(path, "/swap/store"))
        return refused(EBUSY);
    return unlink(path) < 0 && errno == EISDIR ? rmdir(path) : 0;
}

int link(const char *from, const char *to)
{
    return no_links ? refused(EPERM)
                    : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static ot_store *open_store(int mode)
{
    optune_err err;
    ot_store *store;
    check_ok(ot_store_open(store_dir, mode, &store, &err));
    return store;
}

static void compact(void)
{
    optune_err err;
    int64_t before, after;
    ot_store *store = open_store(OT_STORE_WRITE);
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
}

static int put(ot_store *store, optune_err *err)
{
    const optune_record record = some_record(RECORDS);
    return ot_store_put(store, &record, 1, NULL, err);
}

/* ---- who replaces it is stopped, then killed ----------------------------------------------- */

static pid_t stopped(const char *at, int mode)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        optune_err err = {0};
        ot_store *store;
        int64_t before, after;
        stops_at = at;
        if (ot_store_open(store_dir, mode, &store, &err) >= 0)
            (void)ot_store_compact(store, &before, &after, &err);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

static void killed(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void replacer_is_stopped_and_killed(void)
{
    optune_err err;
    store_fill(RECORDS);
    ot_store *reader = open_store(OT_STORE_READ);
    no_time = true;
    assert_false(ot_store_gone(reader));
    const pid_t child = stopped("/store", OT_STORE_WRITE);
    ot_store *writer = open_store(OT_STORE_WRITE);
    /* As long as it lives nobody writes to the new one, so nothing is missed in the old one. */
    ot_write_patience_s = 0.05;
    assert_int_equal(put(writer, &err), OPTUNE_ETIMEOUT);
    ot_write_patience_s = 30;
    killed(child);
    check_ok(put(writer, &err));
    assert_true(ot_store_gone(reader));
    no_time = false;
    ot_store_close(writer);
    ot_store_close(reader);
}

static void killed_behind_the_exchange(void **state)
{
    (void)state;
    replacer_is_stopped_and_killed();
}

static void killed_behind_both_steps(void **state)
{
    (void)state;
    ot_swap_in_two_steps = true;
    replacer_is_stopped_and_killed();
    ot_swap_in_two_steps = false;
}

/* ---- who may not count ----------------------------------------------------------------------- */

static const char *counter(void)
{
    static char path[4300];
    snprintf(path, sizeof path, "%s/store/" OT_COUNTER, store_dir);
    return path;
}

static const char *lock_file(void)
{
    static char path[4300];
    snprintf(path, sizeof path, "%s/store/lock.mdb", store_dir);
    return path;
}

/* He opens the store before anybody who may write does. */
static int read_without_rights(int ready, int go)
{
    optune_err err = {0};
    ot_store *store;
    int n = 0;
    char byte;
    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 ||
        ot_store_open(store_dir, OT_STORE_READ, &store, &err) < 0)
        return 2;
    no_time = true;
    if (ot_store_gone(store) || write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
        return 3;
    if (ot_store_gone(store))
        return 0;
    if (ot_store_walk(store, store_count, &n, &err) < 0)
        return 4;
    print_error("%d of %d records\n", n, RECORDS + 1);
    return 1;
}

static void reader_without_rights_is_told(void)
{
    optune_err err;
    int ready[2], go[2], status;
    char byte;
    assert_int_equal(chmod(store_dir, 0755), 0);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(read_without_rights(ready[1], go[0]));
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        compact();
        ot_store *store = open_store(OT_STORE_WRITE);
        check_ok(put(store, &err));
        ot_store_close(store);
        assert_int_equal(write(go[1], "", 1), 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void opened_right_behind_a_compaction(void **state)
{
    (void)state;
    need_root();
    store_fill(RECORDS);
    compact();
    reader_without_rights_is_told();
}

static void opened_where_an_older_version_made_it(void **state)
{
    (void)state;
    need_root();
    store_fill(RECORDS);
    assert_int_equal(unlink(counter()), 0);
    reader_without_rights_is_told();
}

static void made_with_a_counter(void **state)
{
    (void)state;
    killed(stopped("/data.mdb", OT_STORE_WRITE));
    assert_true(ot_exists(store_data));
    assert_true(ot_exists(counter()));
}

/* There is one of its own then, with the rights of the other; who has the old store open is told by
 * who replaces it. */
static void replaced_where_there_are_no_links(void **state)
{
    (void)state;
    struct stat was, is;
    store_fill(RECORDS);
    ot_store *reader = open_store(OT_STORE_READ);
    assert_int_equal(chmod(counter(), 0640), 0);
    assert_int_equal(stat(counter(), &was), 0);
    no_time = no_links = true;
    const mode_t mask = umask(077);
    compact();
    umask(mask);
    assert_int_equal(stat(counter(), &is), 0);
    assert_true(is.st_ino != was.st_ino && is.st_size == was.st_size);
    assert_int_equal(is.st_mode, was.st_mode);
    assert_true(ot_store_gone(reader));
    no_time = no_links = false;
    ot_store_close(reader);
}

/* Its files take the place of the others. */
static void replaced_where_the_folder_stays(void **state)
{
    (void)state;
    optune_err err;
    struct stat was, is;
    int n = 0;
    store_fill(RECORDS);
    ot_store *reader = open_store(OT_STORE_READ);
    assert_int_equal(stat(counter(), &was), 0);
    no_time = fixed = true;
    compact();
    fixed = false;
    assert_int_equal(stat(counter(), &is), 0);
    assert_true(is.st_ino == was.st_ino && is.st_nlink == 1);
    assert_true(ot_store_gone(reader));
    no_time = false;
    ot_store_close(reader);
    reader = open_store(OT_STORE_READ);
    check_ok(ot_store_walk(reader, store_count, &n, &err));
    assert_int_equal(n, RECORDS);
    ot_store_close(reader);
}

/* Who goes on has a umask of his own, and moves what is left. */
static void killed_between_two_files(const char *at)
{
    optune_err err;
    struct stat was[2], is;
    store_fill(RECORDS);
    ot_store *reader = open_store(OT_STORE_READ);
    assert_int_equal(chmod(counter(), 0666), 0);
    assert_int_equal(chmod(lock_file(), 0666), 0);
    assert_int_equal(stat(counter(), &was[0]), 0);
    assert_int_equal(stat(lock_file(), &was[1]), 0);
    no_time = fixed = true;
    assert_false(ot_store_gone(reader));
    killed(stopped(at, OT_STORE_WRITE));
    const mode_t mask = umask(077);
    ot_store *writer = open_store(OT_STORE_WRITE);
    umask(mask);
    check_ok(put(writer, &err));
    fixed = false;
    assert_int_equal(stat(counter(), &is), 0);
    assert_int_equal(is.st_ino, was[0].st_ino);
    assert_int_equal(is.st_mode, was[0].st_mode);
    assert_int_equal(stat(lock_file(), &is), 0);
    assert_true(is.st_ino != was[1].st_ino);
    assert_int_equal(is.st_mode, was[1].st_mode);
    assert_true(ot_store_gone(reader));
    no_time = false;
    ot_store_close(writer);
    ot_store_close(reader);
}

static void killed_behind_the_counter(void **state)
{
    (void)state;
    killed_between_two_files("/store/" OT_COUNTER);
}

static void killed_behind_the_lock_file(void **state)
{
    (void)state;
    killed_between_two_files("/store/lock.mdb");
}

static void killed_behind_the_data_file(void **state)
{
    (void)state;
    killed_between_two_files("/store/data.mdb");
}

/* A link in the store's place leads to what is not this database's. */
static void no_link_is_followed(void **state)
{
    (void)state;
    char store[4200], other[4200], path[4300];
    snprintf(store, sizeof store, "%s/store", store_dir);
    snprintf(other, sizeof other, "%s/other", store_dir);
    store_fill(RECORDS);
    fixed = true;
    killed(stopped("/store/" OT_COUNTER, OT_STORE_WRITE));
    fixed = false;
    ot_remove_tree(store);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(symlink(other, store), 0);
    ot_swap_finish(store_dir);
    snprintf(path, sizeof path, "%s/data.mdb", other);
    assert_false(ot_exists(path));
    snprintf(path, sizeof path, "%s/lock.mdb", other);
    assert_false(ot_exists(path));
    assert_int_equal(unlink(store), 0);
    ot_swap_finish(store_dir);
    assert_true(ot_exists(store_data));
}

/* Not what it would be given there: the other one's. */
static void rights_are_kept_in_a_shared_folder(void **state)
{
    (void)state;
    struct stat is;
    ot_text store = {0};
    ot_text_printf(&store, "%s/store", store_dir);
    store_fill(RECORDS);
    assert_int_equal(chmod(store_dir, 02775), 0);
    assert_int_equal(chmod(store.s, 02775), 0);
    assert_int_equal(chmod(counter(), 0640), 0);
    assert_int_equal(chmod(lock_file(), 0640), 0);
    no_links = true;
    compact();
    no_links = false;
    ot_store_close(open_store(OT_STORE_WRITE));
    assert_int_equal(stat(counter(), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0640);
    assert_int_equal(stat(lock_file(), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0640);
    ot_text_release(&store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(killed_behind_the_exchange),
        each(killed_behind_both_steps),
        each(opened_right_behind_a_compaction),
        each(opened_where_an_older_version_made_it),
        each(made_with_a_counter),
        each(replaced_where_there_are_no_links),
        each(replaced_where_the_folder_stays),
        each(killed_behind_the_counter),
        each(killed_behind_the_lock_file),
        each(killed_behind_the_data_file),
        each(no_link_is_followed),
        each(rights_are_kept_in_a_shared_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
