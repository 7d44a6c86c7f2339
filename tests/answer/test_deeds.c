/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deed that the system refuses is tried once: also the first one of a handle, which opens the
 * store for it. Only where another store came into its place meanwhile is it done again.
 */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer/answer.h"
#include "support/store.h"

static optune_err err;

static bool refuses;
static int n_refused;

#define in_place_of_the_systems __attribute__((visibility("default")))

/* Of the store that is made. */
in_place_of_the_systems int mkdir(const char *path, mode_t mode)
{
    const size_t n = strlen(path), end = strlen("/swap/store");
    if (refuses && n > end && !strcmp(path + n - end, "/swap/store")) {
        n_refused++;
        errno = ENOSPC;
        return -1;
    }
    return mkdirat(AT_FDCWD, path, mode);
}

/* Of a commit. */
in_place_of_the_systems int fdatasync(int fd)
{
    if (refuses) {
        n_refused++;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static optune *open_handle(void)
{
    optune *o = NULL;
    const optune_options options = {
        .size = sizeof options, .db = store_dir, .target = "cpu -threads=1"};
    check_ok(optune_open(&options, &o, &err));
    return o;
}

static int compact(optune *o)
{
    optune_result *result;
    const optune_database_options options = {.size = sizeof options, .what = "compact"};
    const int status = optune_database(o, &options, &result, &err);
    optune_result_free(result);
    return status;
}

static int put(optune *o)
{
    int added;
    const optune_record r = some_record(1000);
    return ot_context_put(o, &r, 1, &added, &err);
}

static int put_device(optune *o)
{
    const optune_device device = some_device("another");
    return ot_context_put_devices(o, &device, 1, &err);
}

/* How often it was tried. */
static int refused(optune *o, int (*deed)(optune *))
{
    refuses = true;
    n_refused = 0;
    assert_int_equal(deed(o), OPTUNE_ESTORE);
    refuses = false;
    return n_refused;
}

static void the_first_of_a_handle(void **state)
{
    (void)state;
    static int (*const deed[])(optune *) = {compact, put, put_device};
    store_fill(20);
    for (int i = 0; i < OT_COUNT(deed); i++) {
        optune *o = open_handle();
        const int first = refused(o, deed[i]), second = refused(o, deed[i]);
        assert_int_equal(first, second);
        assert_true(first > 0);
        check_ok(deed[i](o));
        optune_close(o);
    }
}

static void another_store_in_its_place(void **state)
{
    (void)state;
    store_fill(20);
    optune *o = open_handle(), *other = open_handle();
    check_ok(put(o));
    check_ok(compact(other));
    check_ok(put_device(o));
    check_ok(compact(other));
    check_ok(compact(o));
    optune_close(o);
    optune_close(other);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(the_first_of_a_handle),
        each(another_store_in_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
