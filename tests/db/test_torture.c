/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes write and read one database, and one of them is killed every 50 ms; sometimes the
 * store is compacted meanwhile. In the end nothing that was logged is lost or doubled, no reader
 * saw an error or less than was committed, and index and records agree both ways.
 * OPTUNE_TORTURE_SECONDS (default 4) says for how long, OPTUNE_TEST_SEED which kills:
 * scripts/torture.
 */
#include "support/check.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/kv.h"
#include "support/store.h"

enum { WRITERS = 16, READERS = 16, MOST = 1 << 16, KILL_MS = 50, NOBODY = 65534 };

typedef struct board {
    atomic_int next;      /* number of the next record */
    atomic_int committed; /* records that a writer was told are stored */
    atomic_int wrong;     /* of readers and writers that were not killed */
    atomic_long finds, swaps;
    char why[OPTUNE_ERR_SIZE];
    atomic_char logged[MOST]; /* by number */
} board;

static board *all;

static void complain(const char *who, const optune_err *err)
{
    if (atomic_fetch_add(&all->wrong, 1) == 0)
        snprintf(all->why, sizeof all->why, "%s: %.400s", who, err->text);
    _exit(1);
}

static void reopen(ot_store **store, int mode, const char *who)
{
    optune_err err = {0};
    ot_store_close(*store);
    *store = NULL;
    if (ot_store_open(store_dir, mode, store, &err) < 0)
        complain(who, &err);
}

static void put(ot_store **store, const optune_record *record)
{
    optune_err err = {0};
    int status = ot_store_put(*store, record, 1, NULL, &err);
    for (int i = 0; status == OPTUNE_ESTORE && ot_store_gone(*store) && i < 10; i++) {
        reopen(store, OT_STORE_WRITE, "writer opening again");
        status = ot_store_put(*store, record, 1, NULL, &err);
    }
    if (status < 0)
        complain("writer", &err);
}

static void write_on(int seat)
{
    optune_err err = {0};
    ot_store *store = NULL;
    ot_log *log;
    char path[4300];
    int64_t recovered;
    reopen(&store, OT_STORE_WRITE, "writer opening");
    if (ot_store_recover(store, false, &recovered, &err) < 0 &&
        !(err.status == OPTUNE_ESTORE && ot_store_gone(store)))
        complain("writer recovering", &err);
    snprintf(path, sizeof path, "%s/logs/%d-%d.log", store_dir, (int)getpid(), seat);
    if (ot_log_open(path, seat % 4 ? OT_LOG_SHORT : OT_LOG_FULL, &log, &err) < 0)
        complain("writer's log", &err);
    int own = 0;
    for (int i; (i = atomic_fetch_add(&all->next, 1)) < MOST;) {
        const optune_record record = some_record(i);
        if (seat == 0 && own++ % 4 == 0) { /* at once, as nobody lives long */
            int64_t before, after;
            const int status = ot_store_compact(store, &before, &after, &err);
            if (status < 0 && !ot_store_gone(store))
                complain("compacting", &err);
            atomic_fetch_add(&all->swaps, status >= 0);
        }
        if (ot_log_append(log, &record, &err) < 0)
            complain("logging", &err);
        atomic_store(&all->logged[i], 1);
        put(&store, &record);
        atomic_fetch_add(&all->committed, 1);
    }
    _exit(0);
}

static void read_on(int seat)
{
    optune_err err = {0};
    ot_store *store = NULL;
    const optune_record record = some_record(0);
    const ot_question question = {.device = record.device,
                                  .target = record.target,
                                  .call = record.call,
                                  .policy = record.policy};
    if (seat % 2 && geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        _exit(1);
    reopen(&store, OT_STORE_READ, "reader opening");
    for (;;) {
        ot_arena arena = {0};
        optune_record *found;
        int n = 0;
        if (ot_store_gone(store))
            reopen(&store, OT_STORE_READ, "reader opening again");
        const int least = atomic_load(&all->committed);
        const int status = ot_store_find(store, &question, 0, &arena, &found, &n, &err);
        if (!ot_store_gone(store) && (status < 0 || n < least)) {
            if (status >= 0)
                snprintf(err.text, sizeof err.text, "%d of %d records", n, least);
            complain(seat % 2 ? "reader without rights" : "reader", &err);
        }
        atomic_fetch_add(&all->finds, 1);
        ot_arena_release(&arena);
    }
}

static pid_t start(int seat)
{
    const pid_t child = fork();
    if (child)
        return child;
    if (seat < WRITERS)
        write_on(seat);
    read_on(seat);
    return 0;
}

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int64_t value;
    return text && ot_parse_int(text, &value) && value > 0 && value < INT32_MAX ? (int)value
                                                                                : otherwise;
}

static int note(void *arg, const optune_record *record)
{
    char *seen = arg;
    const int64_t i = record->config.index - 1000;
    assert_in_range(i, 0, MOST - 1);
    assert_false(seen[i]); /* doubled */
    seen[i] = 1;
    return 0;
}

static int check_end(void)
{
    optune_err err;
    ot_store *store;
    ot_care care;
    int64_t recovered;
    char *seen = ot_alloc(MOST);
    int n = 0;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_recover(store, false, &recovered, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(ot_care_faults(&care), 0);
    assert_int_equal(care.records, care.entries);
    check_ok(ot_store_walk(store, note, seen, &err));
    for (int i = 0; i < MOST; i++) {
        if (atomic_load(&all->logged[i]) > seen[i])
            print_error("record %d is lost\n", i);
        assert_true(seen[i] >= atomic_load(&all->logged[i]));
        n += seen[i];
    }
    ot_store_close(store);
    free(seen);
    return n;
}

static void killed_every_50_ms(void **state)
{
    (void)state;
    const int seconds = number("OPTUNE_TORTURE_SECONDS", 4);
    uint64_t seed = (uint64_t)number("OPTUNE_TEST_SEED", 1);
    pid_t child[WRITERS + READERS];
    char logs[4200];
    int kills = 0;
    assert_int_equal(chmod(store_dir, 0755), 0);
    snprintf(logs, sizeof logs, "%s/logs", store_dir);
    assert_true(ot_make_dirs(logs, NULL) >= 0);
    store_fill(1);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    atomic_store(&all->next, 1);
    for (int i = 0; i < WRITERS + READERS; i++)
        child[i] = start(i);
    const double end = ot_now() + seconds;
    bool late = false; /* then only a compaction is waited for, and who makes it is let alone */
    while ((!(late = ot_now() >= end) || !atomic_load(&all->swaps)) &&
           atomic_load(&all->next) < MOST && !atomic_load(&all->wrong)) {
        usleep(1000 * KILL_MS);
        const int seat = (int)optune_random_below(&seed, WRITERS + READERS);
        /* A compaction waits for its turn to write twice, among all writers: where the machine is
         * busy that takes longer than others live. */
        if (seat == 0 && (late || optune_random_below(&seed, 8)))
            continue;
        kill(child[seat], SIGKILL);
        waitpid(child[seat], NULL, 0);
        child[seat] = start(seat);
        kills++;
    }
    for (int i = 0; i < WRITERS + READERS; i++)
        kill(child[i], SIGKILL);
    for (int i = 0; i < WRITERS + READERS; i++)
        waitpid(child[i], NULL, 0);
    if (atomic_load(&all->wrong))
        print_error("%s\n", all->why);
    assert_int_equal(atomic_load(&all->wrong), 0);
    const int n = check_end();
    print_message("seed %d, %d s: %d kills, %d records, %ld finds, %ld compactions\n",
                  number("OPTUNE_TEST_SEED", 1), seconds, kills, n, (long)all->finds,
                  (long)all->swaps);
    assert_true(atomic_load(&all->swaps) > 0);
    munmap(all, sizeof *all);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    /* How long somebody waits for his turn is the machine's affair. */
    ot_write_patience_s = ot_log_patience_s = 1e6;
    const struct CMUnitTest tests[] = {each(killed_every_50_ms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
