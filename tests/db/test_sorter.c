/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sorted by way of a file: all of it, in the order of its keys, equal keys in the order
 * they came, also again; whether it fits into memory or not.
 */
#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/sorter.h"

enum { KEY = 12, N = 5000, KEYS = 1000 };

static char folder[4096];
static optune_err err;

static bool no_unnamed_files; /* as on some file systems */
static int n_refused;

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
        n_refused++;
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int fresh(void **state)
{
    (void)state;
    return ot_temp_dir(folder, sizeof folder, &err) < 0;
}

static int gone(void **state)
{
    (void)state;
    ot_remove_tree(folder);
    return 0;
}

/* Few keys, so that many are equal; half of them differ behind what is compared first. */
static void key_of(uint64_t *rng, unsigned char key[KEY])
{
    const uint64_t k = optune_random(rng) % KEYS;
    memset(key, 7, KEY);
    key[k % 2 ? 0 : KEY - 2] = (unsigned char)(k >> 8);
    key[k % 2 ? 1 : KEY - 1] = (unsigned char)k;
}

static size_t length_of(int i)
{
    return i % 977 == 0 ? 200000 : (size_t)i % 5;
}

static ot_sorter *filled(size_t memory)
{
    ot_sorter *s = ot_sorter_new(folder, KEY, memory);
    uint64_t rng = 5;
    char *tail = ot_alloc(200000);
    for (int i = 0; i < N; i++) {
        unsigned char key[KEY];
        key_of(&rng, key);
        memset(tail, i, length_of(i));
        check_ok(ot_sorter_add(s, key, (ot_bytes){&i, sizeof i}, (ot_bytes){tail, length_of(i)},
                               &err));
    }
    free(tail);
    return s;
}

static void check_all(ot_sorter *s)
{
    unsigned char before[KEY] = {0}, (*key)[KEY] = ot_alloc(N * sizeof *key);
    bool *seen = ot_alloc(N);
    uint64_t rng = 5;
    ot_bytes k, v;
    int n = 0, last = -1;
    for (int i = 0; i < N; i++)
        key_of(&rng, key[i]);
    while (ot_sorter_next(s, &k, &v, &err) == OPTUNE_OK) {
        int i;
        memcpy(&i, v.data, sizeof i);
        assert_in_range(i, 0, N - 1);
        assert_int_equal(k.n, KEY);
        assert_memory_equal(k.data, key[i], KEY);
        assert_int_equal(v.n, sizeof i + length_of(i));
        for (size_t at = sizeof i; at < v.n; at++)
            if (((const unsigned char *)v.data)[at] != (unsigned char)i)
                fail_msg("a value of another");
        const int order = memcmp(before, k.data, KEY);
        assert_true(order < 0 || (order == 0 && last < i));
        memcpy(before, k.data, KEY);
        last = i;
        assert_false(seen[i]);
        seen[i] = true;
        n++;
    }
    assert_int_equal(n, N);
    assert_int_equal(ot_sorter_next(s, &k, &v, &err), 1);
    free(seen);
    free(key);
}

static int names_in(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void sorts(void **state)
{
    (void)state;
    static const size_t memory[] = {1, 4096, 100000, 64 << 20};
    for (int i = 0; i < OT_COUNT(memory); i++) {
        ot_sorter *s = filled(memory[i]);
        assert_int_equal(ot_sorter_count(s), N);
        for (int again = 0; again < 2; again++) {
            check_ok(ot_sorter_rewind(s, &err));
            check_all(s);
        }
        assert_int_equal(names_in(folder), 0); /* nothing that a killed process would leave */
        ot_sorter_free(s);
    }
}

static void with_a_name_for_a_moment(void **state)
{
    (void)state;
    no_unnamed_files = true;
    n_refused = 0;
    ot_sorter *s = filled(4096);
    no_unnamed_files = false;
    assert_int_equal(n_refused, 1);
    assert_int_equal(names_in(folder), 0);
    check_ok(ot_sorter_rewind(s, &err));
    check_all(s);
    ot_sorter_free(s);
}

/* Only what a killed one may have left goes. */
static void left_by_a_killed_one(void **state)
{
    (void)state;
    static const char *const name[] = {".sort-aB3xY9", ".sort-short",  ".sort-longer12",
                                       "xsort-aB3xY9", ".sort-folder", ".sort-linked"};
    char path[4200], to[4200];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        check_ok(ot_write_file(path, "1234", 4, &err));
    }
    snprintf(to, sizeof to, "%s/%s", folder, name[4]);
    check_ok(ot_make_dirs(to, &err));
    snprintf(to, sizeof to, "%s/%s", folder, name[5]);
    assert_int_equal(symlink(path, to), 0);
    ot_sorter_sweep(folder);
    assert_int_equal(names_in(folder), 5);
    snprintf(path, sizeof path, "%s/%s", folder, name[0]);
    assert_false(ot_exists(path));
    ot_sorter_sweep("/nowhere/at/all");
}

static void nothing(void **state)
{
    (void)state;
    ot_bytes k, v;
    ot_sorter *s = ot_sorter_new(folder, KEY, 4096);
    check_ok(ot_sorter_rewind(s, &err));
    assert_int_equal(ot_sorter_next(s, &k, &v, &err), 1);
    ot_sorter_free(s);
    ot_sorter_free(NULL);
}

static void nowhere(void **state)
{
    (void)state;
    const unsigned char key[KEY] = {0};
    int status = OPTUNE_OK;
    ot_sorter *s = ot_sorter_new("/nowhere/at/all", KEY, 100);
    for (int i = 0; i < 100 && status == OPTUNE_OK; i++)
        status = ot_sorter_add(s, key, (ot_bytes){"x", 1}, (ot_bytes){NULL, 0}, &err);
    assert_int_equal(status, OPTUNE_ESTORE);
    check_contains(err.text, "/nowhere/at/all");
    ot_sorter_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sorts, fresh, gone),
        cmocka_unit_test_setup_teardown(with_a_name_for_a_moment, fresh, gone),
        cmocka_unit_test_setup_teardown(left_by_a_killed_one, fresh, gone),
        cmocka_unit_test_setup_teardown(nothing, fresh, gone),
        cmocka_unit_test(nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
