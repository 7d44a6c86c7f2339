/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a store: network file systems, no permission, a file in the way and a full disk
 * are refused with their remedies, and nothing stored before is lost.
 */
#include "support/check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "support/store.h"

static ot_place pretended;

static void pretend(const char *path, ot_place *place)
{
    (void)path;
    *place = pretended;
}

static void network_file_systems_are_refused(void **state)
{
    (void)state;
    static const struct {
        ot_place place;
        const char *name; /* NULL: accepted */
    } rows[] = {
        {{0x6969, ""}, "NFS"},
        {{0xff534d42, ""}, "CIFS"},
        {{0x517b, ""}, "SMB"},
        {{0x0bd00bd0, ""}, "Lustre"},
        {{0x47504653, ""}, "GPFS"},
        {{0x01021997, ""}, "9p"},
        {{0x65735546, "fuse.sshfs"}, "fuse.sshfs"},
        {{0x65735546, ""}, "fuse"},
        {{0x65735546, "virtiofs"}, "virtiofs"},
        {{0xef53, ""}, NULL},
        {{0x01021994, ""}, NULL},
        {{0x65735546, "fuseblk"}, NULL},
        {{-1, ""}, NULL},
    };
    void (*real)(const char *, ot_place *) = ot_place_of;
    store_fill(1);
    ot_place_of = pretend;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_err err = {0};
        pretended = rows[i].place;
        for (int mode = OT_STORE_READ; mode <= OT_STORE_WRITE; mode++) {
            ot_store *store;
            int status = ot_store_open(store_dir, mode, &store, &err);
            assert_int_equal(status, rows[i].name ? OPTUNE_ESTORE : OPTUNE_OK);
            if (rows[i].name) {
                check_contains(err.text, rows[i].name);
                check_contains(err.text, "--db");
            }
            ot_store_close(store);
        }
    }
    ot_place_of = real;
    ot_place here;
    ot_place_of(store_dir, &here);
    assert_true(here.magic > 0);
}

static void no_permission(void **state)
{
    (void)state;
    store_fill(1);
    char place[4200];
    snprintf(place, sizeof(place), "%s/store", store_dir);
    assert_int_equal(chmod(store_dir, 0755), 0);
    assert_int_equal(chmod(store_data, 0444), 0);
    assert_int_equal(chmod(place, 0555), 0);
    int status;
    pid_t child = fork();
    if (child == 0) {
        optune_err err = {0};
        ot_store *store;
        if (geteuid() == 0 && setuid(65534) < 0)
            _exit(1);
        bool right = ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) == OPTUNE_ESTORE &&
                     strstr(err.text, "ermission") && strstr(err.text, store_dir);
        if (!right)
            print_error("%s\n", err.text);
        _exit(right ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(place, 0755);
    assert_int_equal(status, 0);
}

static void a_file_in_the_way(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    char file[4200];
    snprintf(file, sizeof file, "%s/store", store_dir);
    check_ok(ot_write_file(file, "x", 1, &err));
    assert_int_equal(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err), OPTUNE_ESTORE);
    check_contains(err.text, file);
}

/* A disk that is not mounted is not taken for a database that was never made. */
static void a_link_to_nothing(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    char link[4200], target[4200];
    snprintf(link, sizeof link, "%s/store", store_dir);
    snprintf(target, sizeof target, "%s/elsewhere", store_dir);
    assert_int_equal(symlink(target, link), 0);
    for (int mode = 0; mode < 2; mode++) {
        assert_int_equal(
            ot_store_open(store_dir, mode ? OT_STORE_WRITE : OT_STORE_READ, &store, &err),
            OPTUNE_ESTORE);
        check_contains(err.text, link);
        check_contains(err.text, target);
        check_contains(err.text, "symbolic link");
    }
    /* One to a folder will do. */
    assert_int_equal(mkdir(target, 0777), 0);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    ot_store_close(store);
}

static void no_space(void **state)
{
    (void)state;
    store_fill(1);
    int status;
    pid_t child = fork();
    if (child == 0) {
        /* A limit on the size of files stands in for a full disk. */
        optune_err err = {0};
        ot_store *store;
        signal(SIGXFSZ, SIG_IGN);
        if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0 ||
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){200000, 200000}) < 0)
            _exit(1);
        int stored = 1, put = OPTUNE_OK;
        for (int i = 1; i < 2000 && put == OPTUNE_OK; i++) {
            optune_record record = some_record(i);
            put = ot_store_put(store, &record, 1, NULL, &err);
            stored += put == OPTUNE_OK;
        }
        int n = 0;
        bool right = put == OPTUNE_ESTORE && stored > 10 && strstr(err.text, "data") &&
                     strstr(err.text, "ulimit -f") &&
                     ot_store_walk(store, store_count, &n, &err) == OPTUNE_OK && n == stored;
        if (!right)
            print_error("%d stored, %d there: %s\n", stored, n, err.text);
        _exit(right ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    optune_err err;
    check_ok(ot_check_pages(store_data, OT_CHECK_ALL, NULL, &err));
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(network_file_systems_are_refused),
        each(no_permission),
        each(a_file_in_the_way),
        each(a_link_to_nothing),
        each(no_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
