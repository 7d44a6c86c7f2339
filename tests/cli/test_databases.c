/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of databases of which the first, which alone is listed, exported and looked through, is
 * not there or cannot be read: each place is named, its state, and what helps. What is done to a
 * whole database makes none, and one of a newer version is left as it is.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "support/command.h"
#include "support/records.h"

static char mine[512], shared[512], list[1100];

/* A database of three records. */
static void fill(const char *dir)
{
    optune_err err = {0};
    ot_store *store;
    optune_record record[3];
    for (int i = 0; i < OT_COUNT(record); i++)
        record[i] = some_record(i);
    check_ok(ot_store_open(dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, OT_COUNT(record), NULL, &err));
    ot_store_close(store);
}

static void the_first_is_not_there(void **state)
{
    (void)state;
    static const char *const asked[][3] = {
        {"list"},          {"export"},      {"db", "check"},           {"db", "stat"},
        {"db", "compact"}, {"db", "prune"}, {"db", "check", "--mend"},
    };
    fill(shared);
    for (int i = 0; i < OT_COUNT(asked); i++) {
        outcome o = command_start(
            NULL, (const char *const[]){"optune", asked[i][0], "--db", list, asked[i][1],
                                        asked[i][1] ? asked[i][2] : NULL, NULL});
        assert_int_equal(o.code, 3);
        check_contains(ot_text_str(&o.err), "there is no database in '");
        check_contains(ot_text_str(&o.err), mine);
        check_contains(ot_text_str(&o.err), "`optune run` and `optune import` make it");
        check_contains(ot_text_str(&o.err), "shared' has 3 records");
        check_contains(ot_text_str(&o.err), "/none'");
        check_contains(ot_text_str(&o.err), "name it by itself, as in --db '");
        release(&o);
        assert_false(ot_exists(mine));
    }
    outcome o = optune("export", "--db", shared);
    assert_int_equal(o.code, 0);
    release(&o);
}

/* Its store is derived: what was in it is in its logs. */
static void only_its_store_is_not_there(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_log *log;
    char logs[600], path[700];
    snprintf(logs, sizeof logs, "%s/logs", mine);
    snprintf(path, sizeof path, "%s/one.log", logs);
    check_ok(ot_make_dirs(logs, &err));
    check_ok(ot_log_open(path, OT_LOG_SHORT, &log, &err));
    const optune_record record = some_record(0);
    check_ok(ot_log_append(log, &record, &err));
    ot_log_close(log);
    outcome o = optune("export", "--db", list);
    assert_int_equal(o.code, 3);
    check_contains(ot_text_str(&o.err), "its logs are there: `optune db rebuild --db '");
    release(&o);
    o = optune("db", "compact", "--db", list);
    assert_int_equal(o.code, 0);
    release(&o);
    o = optune("export", "--db", list);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "\"input\"");
    release(&o);
}

/* ---- a newer version's ------------------------------------------------------------------- */

#define DENSE "dense(f32[16,64], const f32[32,64])"

/* As if a later version had made it: the number of the layout, wherever a page has it. */
static void make_newer(const char *dir)
{
    optune_err err = {0};
    char path[600];
    ot_text all = {0};
    int n = 0;
    snprintf(path, sizeof path, "%s/store/data.mdb", dir);
    check_ok(ot_read_file(path, &all, 1 << 26, &err));
    for (char *at = all.s;
         (at = memmem(at, (size_t)(all.s + all.n - at), "schema\2\0\0", 9));) {
        at[6] = 9;
        n++;
    }
    assert_true(n > 0);
    check_ok(ot_write_file(path, all.s, all.n, &err));
    ot_text_release(&all);
}

/* Every file under a folder: its name, size and contents. */
static uint64_t hash_of(const char *dir)
{
    char command[700], line[256];
    uint64_t hash = 0;
    snprintf(command, sizeof command, "cd '%s' && find . -type f -exec md5sum {} + | sort",
             dir);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out))
        hash = 31 * hash + ot_hash64(line, strlen(line));
    pclose(out);
    return hash;
}

static void a_newer_one_is_left_alone(void **state)
{
    (void)state;
    static const char *const asked[][5] = {
        {"list"},
        {"devices"},
        {"export"},
        {"verify"},
        {"query", DENSE},
        {"report", DENSE, "-o", "/dev/null"},
        {"run", DENSE, "--trials", "1"},
        {"import", NULL},
        {"db", "check"},
        {"db", "check", "--mend"},
        {"db", "stat"},
        {"db", "compact"},
        {"db", "prune"},
        {"db", "forget", DENSE},
        {"db", "rebuild"},
    };
    char newer[512], log[512], both[1100], commits[600];
    snprintf(newer, sizeof newer, "%s", command_path("newer"));
    snprintf(log, sizeof log, "%s", command_path("some.log"));
    snprintf(both, sizeof both, "%s:%s", shared, newer);
    outcome o = optune("export", "--db", shared, "-o", log);
    assert_int_equal(o.code, 0);
    release(&o);
    fill(newer);
    make_newer(newer);
    /* As behind a compaction; what this version counts in there is nothing to a newer one. */
    snprintf(commits, sizeof commits, "%s/store/commits", newer);
    assert_int_equal(unlink(commits), 0);
    const uint64_t before = hash_of(newer);
    for (int i = 0; i < OT_COUNT(asked); i++) {
        const char *const *a = asked[i];
        o = command_start(NULL,
                          (const char *const[]){"optune", a[0], "--db", newer, "--threads", "1",
                                                a[1]     ? a[1]
                                                : i == 7 ? log
                                                         : NULL,
                                                a[2], a[3], NULL});
        assert_true(o.code > 0);
        check_contains(ot_text_str(&o.err), "newer/store' has layout 9");
        check_contains(ot_text_str(&o.err), "update optune, or move it away");
        release(&o);
        assert_true(hash_of(newer) == before);
    }
    /* What can do without says so, also where it stands behind another one. */
    static const char *const does[] = {"chosen without records", "not consulted"};
    for (int i = 0; i < OT_COUNT(does); i++) {
        o = optune("select", "--db", i ? both : newer, "--threads", "1", DENSE);
        assert_int_equal(o.code, 0);
        check_contains(ot_text_str(&o.err), does[i]);
        check_contains(ot_text_str(&o.err), "newer/store' has layout 9");
        release(&o);
        assert_true(hash_of(newer) == before);
    }
}

/* By another process, while this one asks whether it is whole: the system says so by a signal. */
static void one_is_cut_off_while_it_is_read(void **state)
{
    (void)state;
    enum { RECORDS = 4000, TRIES = 4 };
    static optune_record record[RECORDS];
    optune_err err = {0};
    ot_store *store;
    ot_text sound = {0};
    char cut[512], data[600];
    snprintf(cut, sizeof cut, "%s", command_path("cut"));
    snprintf(data, sizeof data, "%s/store/data.mdb", cut);
    for (int i = 0; i < RECORDS; i++)
        record[i] = some_record(i);
    check_ok(ot_store_open(cut, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_put(store, record, RECORDS, NULL, &err));
    ot_store_close(store);
    check_ok(ot_read_file(data, &sound, 64 << 20, &err));
    for (int i = 0; i < TRIES; i++) {
        check_ok(ot_write_file(data, sound.s, sound.n, &err));
        const pid_t child = fork();
        if (child == 0) {
            usleep(5000 + (useconds_t)i * 10000);
            _exit(truncate(data, 64 << 10) != 0);
        }
        int status;
        outcome o = optune("db", "check", "--db", cut);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_in_range(o.code, 0, 1);
        if (o.code) { /* it met the cut, at its beginning or amid its reading */
            check_contains(ot_text_str(&o.err), "/cut");
            check_contains(ot_text_str(&o.err), "optune db rebuild");
        }
        release(&o);
    }
    ot_text_release(&sound);
}

static int setup(void **state)
{
    const int status = command_setup(state);
    snprintf(mine, sizeof mine, "%s", command_path("mine"));
    snprintf(shared, sizeof shared, "%s", command_path("shared"));
    snprintf(list, sizeof list, "%s:%s:%s", mine, command_path("none"), shared);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_not_there),
        cmocka_unit_test(only_its_store_is_not_there),
        cmocka_unit_test(a_newer_one_is_left_alone),
        cmocka_unit_test(one_is_cut_off_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, setup, command_teardown);
}
