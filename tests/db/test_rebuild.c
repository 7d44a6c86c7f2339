/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store from its logs, where these are not there or cannot be read, where it is told to stop, and
 * where a later version made what is there: what there is stays as it is.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/kv.h"
#include "support/check.h"
#include "support/store.h"

enum { RECORDS = 20 };

static int records(void)
{
    optune_err err = {0};
    ot_store *store;
    int n = 0;
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
    check_ok(ot_store_walk(store, store_count, &n, &err));
    ot_store_close(store);
    return n;
}

static void refused(const ot_rebuilding *how, int status, const char *part)
{
    optune_err err = {0};
    ot_store_stats stats;
    int64_t lines;
    assert_int_equal(ot_store_rebuild(store_dir, how, &stats, &lines, &err), status);
    check_contains(err.text, part);
    assert_int_equal(records(), RECORDS);
    char swap[4200];
    snprintf(swap, sizeof swap, "%s/swap", store_dir);
    assert_false(ot_exists(swap));
}

static void without_logs(void **state)
{
    (void)state;
    optune_err err = {0};
    char logs[4200];
    snprintf(logs, sizeof logs, "%s/logs", store_dir);
    store_fill(RECORDS);
    refused(NULL, OPTUNE_ENOENT, "there is no log in '");
    check_ok(ot_make_dirs(logs, &err));
    refused(NULL, OPTUNE_ENOENT, "name the logs");
    assert_int_equal(rmdir(logs), 0);
    check_ok(ot_write_file(logs, "", 0, &err)); /* a folder that cannot be read */
    refused(NULL, OPTUNE_ESTORE, "Not a directory");
    ot_store *store;
    int64_t added;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    assert_int_equal(ot_store_recover(store, false, &added, &err), OPTUNE_ESTORE);
    check_contains(err.text, "cannot read the logs of database");
    ot_store_close(store);
    static const char *const gone[] = {"/not/there.log", NULL};
    refused(&(ot_rebuilding){.logs = gone}, OPTUNE_ENOENT, "/not/there.log");
}

/* Whether this process has the file open. */
static bool is_open(const char *path)
{
    struct stat named, opened;
    bool found = false;
    for (int fd = 3; fd < 64 && !found && stat(path, &named) == 0; fd++)
        found = fstat(fd, &opened) == 0 && opened.st_ino == named.st_ino &&
                opened.st_dev == named.st_dev;
    return found;
}

static atomic_bool rebuilt;

/* While the first log is read the other one becomes a third. */
static void *replace_last(void *arg)
{
    char *const *path = arg;
    while (!is_open(path[0]) && !atomic_load(&rebuilt))
        usleep(50);
    rename(path[1], path[2]);
    return NULL;
}

static void a_log_is_removed_meanwhile(void **state)
{
    (void)state;
    enum { MANY = 3000, TRIES = 20 };
    optune_err err = {0};
    ot_log *log;
    ot_store_stats stats;
    char path[3][4300];
    int64_t refused, gone = 0;
    static const char *const name[] = {"logs/a.log", "logs/b.log", "logs/c.log"};
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", store_dir, name[i]);
    char logs[4200];
    snprintf(logs, sizeof logs, "%s/logs", store_dir);
    check_ok(ot_make_dirs(logs, &err));
    for (int k = 0; k < 2; k++) {
        check_ok(ot_log_open(path[k], OT_LOG_SHORT, &log, &err));
        for (int i = k ? MANY : 0; i < (k ? MANY + 1 : MANY); i++) {
            const optune_record record = some_record(i);
            check_ok(ot_log_append(log, &record, &err));
        }
        ot_log_close(log);
    }
    char *const of[] = {path[0], path[1], path[2]};
    for (int i = 0; i < TRIES && !gone; i++) {
        pthread_t thread;
        atomic_store(&rebuilt, false);
        assert_int_equal(pthread_create(&thread, NULL, replace_last, (void *)(uintptr_t)of), 0);
        check_ok(ot_store_rebuild(store_dir, &(ot_rebuilding){.gone = &gone}, &stats, &refused,
                                  &err));
        atomic_store(&rebuilt, true);
        pthread_join(thread, NULL);
        assert_int_equal(stats.records, MANY + 1);
        assert_int_equal(refused, 0);
        rename(path[2], path[1]);
    }
    assert_int_equal(gone, 1);
}

/* A log without an end, whose writer says when to stop. */
static void told_to_stop(void **state)
{
    (void)state;
    char pipe[4200];
    optune_err err = {0};
    atomic_bool *stop =
        mmap(NULL, sizeof *stop, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stop != MAP_FAILED);
    store_fill(RECORDS);
    snprintf(pipe, sizeof pipe, "%s/endless", store_dir);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        ot_log *log;
        signal(SIGPIPE, SIG_DFL);
        if (ot_log_open(pipe, OT_LOG_FULL, &log, &err) < 0)
            _exit(1);
        for (int i = 0;; i++) {
            const optune_record record = some_record(i);
            if (ot_log_append(log, &record, &err) < 0)
                _exit(0);
            if (i == 1000)
                atomic_store(stop, true);
        }
    }
    const char *const logs[] = {pipe, NULL};
    refused(&(ot_rebuilding){.logs = logs, .stop = stop}, OPTUNE_EINTERRUPTED, "interrupted");
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    munmap(stop, sizeof *stop);
}

/* ---- when it is opened to be written ----------------------------------------------------- */

static int recovered(int64_t *added, optune_err *to)
{
    optune_err err = {0};
    ot_store *store;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    const int status = ot_store_recover(store, false, added, to);
    ot_store_close(store);
    return status;
}

/* One file that is no log keeps nobody from the others. */
static void a_log_that_is_none(void **state)
{
    (void)state;
    optune_err err = {0};
    char logs[4200], path[4300];
    ot_log *log;
    int64_t added;
    store_fill(RECORDS);
    snprintf(logs, sizeof logs, "%s/logs", store_dir);
    check_ok(ot_make_dirs(logs, &err));
    snprintf(path, sizeof path, "%s/a.log", logs);
    check_ok(ot_write_file(path, "\xff\xfe{\0", 5, &err));
    snprintf(path, sizeof path, "%s/b.log", logs);
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    const optune_record record = some_record(RECORDS);
    check_ok(ot_log_append(log, &record, &err));
    ot_log_close(log);
    assert_int_equal(recovered(&added, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "/logs/a.log' is UTF-16");
    assert_int_equal(added, 1);
    assert_int_equal(records(), RECORDS + 1);
}

/* Of a process that was killed while it made a store; not of one that is at work. */
static void what_a_killed_one_left(void **state)
{
    (void)state;
    optune_err err = {0};
    char swap[4200], file[4300];
    ot_write_lock *turn;
    int64_t added;
    store_fill(RECORDS);
    snprintf(swap, sizeof swap, "%s/swap", store_dir);
    snprintf(file, sizeof file, "%s/data.mdb", swap);
    check_ok(ot_make_dirs(swap, &err));
    check_ok(ot_write_file(file, "half", 4, &err));
    check_ok(ot_write_lock_open(store_dir, OT_SWAP_LOCK, &turn, &err));
    check_ok(ot_write_lock_take(turn, NULL, &err));
    check_ok(recovered(&added, &err));
    assert_true(ot_exists(file));
    ot_write_lock_give(turn);
    check_ok(recovered(&added, &err));
    assert_false(ot_exists(swap));
    assert_int_equal(records(), RECORDS);
    ot_write_lock_close(turn);
}

/* ---- folders that cannot change their names ---------------------------------------------- */

static void compact_and_count(int expected)
{
    optune_err err = {0};
    ot_store *store;
    int64_t before, after;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_compact(store, &before, &after, &err));
    ot_store_close(store);
    assert_int_equal(records(), expected);
}

/* The store is in a lower layer of an overlay, as what comes with a container's image is. */
static void in_an_image(void **state)
{
    (void)state;
    char options[3 * 4300], image[4200], layers[4200], upper[4300], work[4300];
    snprintf(image, sizeof image, "%s-image", store_dir);
    snprintf(layers, sizeof layers, "%s-layers", store_dir);
    snprintf(upper, sizeof upper, "%s/upper", layers);
    snprintf(work, sizeof work, "%s/work", layers);
    store_fill(RECORDS);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", image, upper,
                 work);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            rename(store_dir, image) < 0 || mkdir(store_dir, 0700) < 0 ||
            mkdir(layers, 0700) < 0 || mount("none", layers, "tmpfs", 0, NULL) < 0 ||
            mkdir(upper, 0700) < 0 || mkdir(work, 0700) < 0 ||
            mount("overlay", store_dir, "overlay", 0, options) < 0)
            _exit(77);
        compact_and_count(RECORDS);
        compact_and_count(RECORDS);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    ot_remove_tree(image);
    ot_remove_tree(layers);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* no right to mount here */
    assert_int_equal(status, 0);
}

/* Killed while the old one was being removed: whoever may write goes on from there. */
static void killed_while_it_gives_way(void **state)
{
    (void)state;
    optune_err err = {0};
    char swap[4200], made[4300], store[4200], path[4400];
    store_fill(RECORDS);
    snprintf(store, sizeof store, "%s/store", store_dir);
    snprintf(swap, sizeof swap, "%s/swap", store_dir);
    snprintf(made, sizeof made, "%s/store", swap);
    check_ok(ot_make_dirs(swap, &err));
    assert_int_equal(rename(store, made), 0);
    assert_int_equal(mkdir(store, 0700), 0);
    snprintf(path, sizeof path, "%s/lock.mdb", store);
    check_ok(ot_write_file(path, "old", 3, &err));
    snprintf(path, sizeof path, "%s/gives-way", swap);
    check_ok(ot_write_file(path, "", 0, &err));
    assert_int_equal(records(), RECORDS);
    compact_and_count(RECORDS);
    assert_false(ot_exists(swap));
}

/* Killed before anything was removed: the old one stays, with what is written to it since. */
static void killed_before_it_gives_way(void **state)
{
    (void)state;
    optune_err err = {0};
    char made[4300], path[4400];
    ot_text data = {0};
    ot_store *store;
    store_fill(RECORDS);
    snprintf(made, sizeof made, "%s/swap/store", store_dir);
    check_ok(ot_make_dirs(made, &err));
    check_ok(ot_read_file(store_data, &data, 64 << 20, &err));
    snprintf(path, sizeof path, "%s/data.mdb", made);
    check_ok(ot_write_file(path, data.s, data.n, &err));
    snprintf(path, sizeof path, "%s/swap/gives-way", store_dir);
    check_ok(ot_write_file(path, "", 0, &err));
    const optune_record record = some_record(RECORDS);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, &record, 1, NULL, &err));
    ot_store_close(store);
    compact_and_count(RECORDS + 1);
    ot_text_release(&data);
}

/* Killed once the new one was in its place: there it stays. */
static void killed_when_it_had_its_place(void **state)
{
    (void)state;
    optune_err err = {0};
    char made[4300], path[4400];
    store_fill(RECORDS);
    snprintf(made, sizeof made, "%s/swap/store", store_dir);
    check_ok(ot_make_dirs(made, &err)); /* of which the file was taken */
    snprintf(path, sizeof path, "%s/swap/gives-way", store_dir);
    check_ok(ot_write_file(path, "", 0, &err));
    assert_int_equal(records(), RECORDS);
    compact_and_count(RECORDS);
}

/* Of one config, or of the question. */
static void the_newest(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_store *store;
    optune_record record[] = {some_record(0), some_record(1000)};
    check_ok(ot_config_parse("[[\"tile\",\"ot\",8]]", &record[1].config, &err));
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    assert_true(ot_store_newest(store, &record[0], true) == -INFINITY);
    check_ok(ot_store_put(store, record, 2, NULL, &err));
    assert_true(ot_store_newest(store, &record[0], false) == record[0].time);
    assert_true(ot_store_newest(store, &record[0], true) == record[1].time);
    ot_store_close(store);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(without_logs),
        each(told_to_stop),
        each(a_log_that_is_none),
        each(a_log_is_removed_meanwhile),
        each(what_a_killed_one_left),
        each(in_an_image),
        each(killed_before_it_gives_way),
        each(killed_while_it_gives_way),
        each(killed_when_it_had_its_place),
        each(the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
