/* SPDX-License-Identifier: Apache-2.0 */
/* A store that rests holds no pages of its file, and is read as before. */
#include "support/check.h"
#include "support/store.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"

static char real_data[4200];

/* KiB of the data file that are in this process's memory; -1: it is not mapped. */
static long resident(void)
{
    char line[8192];
    long sum = -1, kib;
    bool ours = false;
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            ours = strstr(line, real_data) != NULL;
            sum = ours && sum < 0 ? 0 : sum;
        } else if (ours && sscanf(line, "Rss: %ld kB", &kib) == 1) {
            sum += kib;
        }
    }
    fclose(maps);
    return sum;
}

static int count(ot_store *store)
{
    optune_err err;
    int n = 0;
    check_ok(ot_store_walk(store, store_count, &n, &err));
    return n;
}

static void pages_go_and_come(void **state)
{
    (void)state;
    enum { MANY = 1500 };
    optune_err err;
    ot_store *store;
    store_fill(MANY);
    assert_non_null(realpath(store_data, real_data));
    static const int modes[] = {OT_STORE_READ, OT_STORE_WRITE};
    for (int i = 0; i < OT_COUNT(modes); i++) {
        check_ok(ot_store_open(store_dir, modes[i], &store, &err));
        assert_int_equal(count(store), MANY);
        assert_true(resident() > 100);
        ot_store_rest(store);
        assert_int_equal(resident(), 0);
        assert_int_equal(count(store), MANY);
        assert_true(resident() > 100);
        const optune_record one = some_record(MANY + i);
        if (modes[i] == OT_STORE_WRITE)
            check_ok(ot_store_put(store, &one, 1, NULL, &err)); /* right behind a rest */
        ot_store_rest(store);
        assert_int_equal(count(store), MANY + i);
        ot_store_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_go_and_come, store_fresh, store_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
