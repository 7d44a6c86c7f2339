/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems that have no locks, or lose them: what they say is told at once, with the file and
 * what helps; it is not taken for somebody else who has the lock, who is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/http.h"
#include "db/kv.h"
#include "support/check.h"
#include "support/store.h"

static int refusing; /* an errno; 0: none */

/* In place of the C library's. */
int flock(int fd, int operation)
{
    if (refusing && !(operation & LOCK_UN)) {
        errno = refusing;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static const int refusals[] = {ENOLCK, ESTALE, ENOSYS, EIO};

static void without_locks(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_store *store;
    store_fill(3);
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    for (int i = 0; i < OT_COUNT(refusals); i++) {
        const optune_record record = some_record(10 + i);
        ot_store_stats stats;
        int64_t lines;
        refusing = refusals[i];
        assert_int_equal(ot_store_put(store, &record, 1, NULL, &err), OPTUNE_ESTORE);
        check_contains(err.text, "/write.lock'");
        check_contains(err.text, strerror(refusals[i]));
        if (refusals[i] != EIO)
            check_contains(err.text, "choose a directory on a local disk with --db");
        assert_int_equal(ot_store_rebuild(store_dir, NULL, &stats, &lines, &err),
                         OPTUNE_ESTORE);
        check_contains(err.text, strerror(refusals[i]));
        /* Who only reads needs none. */
        int n = 0;
        check_ok(ot_store_walk(store, store_count, &n, &err));
        assert_int_equal(n, 3 + i);
        refusing = 0;
        check_ok(ot_store_put(store, &record, 1, NULL, &err));
    }
    ot_store_close(store);
}

/* A hub that is a folder. */
static void a_folder_without_locks(void **state)
{
    (void)state;
    optune_err err = {0};
    char file[4200], url[4300];
    snprintf(file, sizeof file, "%s/what", store_dir);
    snprintf(url, sizeof url, "file://%s/there", store_dir);
    check_ok(ot_write_file(file, "x", 1, &err));
    for (int i = 0; i < OT_COUNT(refusals); i++) {
        const ot_http how = {.plain = true, .tries = 1};
        ot_http_reply reply;
        refusing = refusals[i];
        assert_int_equal(ot_http_file_put(url, file, &how, &reply, &err), OPTUNE_EIO);
        check_contains(err.text, "cannot lock '");
        check_contains(err.text, strerror(refusals[i]));
        refusing = 0;
        check_ok(ot_http_file_put(url, file, &how, &reply, &err));
    }
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    /* Whoever waits for a lock that nobody has waits for ever here. */
    ot_write_patience_s = 1e6;
    const struct CMUnitTest tests[] = {each(without_locks), each(a_folder_without_locks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
