/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are asked by name, as they grow, are sorted and go back. */
#include "support/check.h"

#include <stdlib.h>

#include "base/base.h"

typedef struct fruit {
    int number;
    const char *name;
} fruit;

enum { MANY = 1000 };

static fruit all[MANY];
static char name[MANY][16];
static ot_rows rows = {.kind = "fruit", .name = offsetof(fruit, name)};

static int empty(void **state)
{
    (void)state;
    free(rows.row);
    free(rows.slot);
    rows.row = NULL;
    rows.slot = NULL;
    rows.n = rows.capacity = 0;
    return 0;
}

static int fill(void **state)
{
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "fruit%d", (i * 7919) % MANY);
        all[i] = (fruit){i, name[i]};
    }
    return empty(state);
}

static void found_by_name(void **state)
{
    (void)state;
    assert_null(ot_rows_find(&rows, "fruit1"));
    for (int i = 0; i < MANY; i++) {
        assert_null(ot_rows_find(&rows, name[i]));
        ot_rows_push(&rows, &all[i]);
        for (int k = i; k >= 0; k -= 1 + i / 16)
            assert_ptr_equal(ot_rows_find(&rows, name[k]), &all[k]);
    }
    assert_null(ot_rows_find(&rows, "fruit"));
    ot_rows_sort(&rows);
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(ot_rows_find(&rows, name[i]), &all[i]);
        if (i)
            assert_true(strcmp(((const fruit *)rows.row[i - 1])->name,
                               ((const fruit *)rows.row[i])->name) < 0);
    }
}

/* What came later hides what it is named like, until the table goes back. */
static void goes_back(void **state)
{
    (void)state;
    const fruit later = {.name = name[3]};
    for (int i = 0; i < 100; i++)
        ot_rows_push(&rows, &all[i]);
    ot_rows_push(&rows, &later);
    ot_rows_push(&rows, &all[100]);
    assert_ptr_equal(ot_rows_find(&rows, name[3]), &later);
    ot_rows_rewind(&rows, 100);
    assert_int_equal(rows.n, 100);
    assert_ptr_equal(ot_rows_find(&rows, name[3]), &all[3]);
    assert_null(ot_rows_find(&rows, name[100]));
    ot_rows_push(&rows, &all[100]);
    assert_ptr_equal(ot_rows_find(&rows, name[100]), &all[100]);
    ot_rows_rewind(&rows, 0);
    assert_null(ot_rows_find(&rows, name[3]));
}

static const char *about(const void *row, ot_arena *arena)
{
    return ot_arena_printf(arena, "number%d", ((const fruit *)row)->number);
}

static void said(void **state)
{
    (void)state;
    static const fruit pear = {1, "pear"}, apple = {2, "apple"};
    optune_err err = {0};
    ot_rows_push(&rows, &pear);
    ot_rows_push(&rows, &apple);
    assert_int_equal(ot_rows_absent(&rows, "aple", NULL, &err), OPTUNE_ENOENT);
    assert_string_equal(err.text, "no fruit 'aple'; did you mean 'apple'?");
    assert_int_equal(ot_rows_absent(&rows, "number1", about, &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'pear'?");
    assert_int_equal(ot_rows_admit(&rows, "pear", &err), OPTUNE_ECONFLICT);
    assert_string_equal(err.text, "fruit 'pear' exists already");
    assert_int_equal(ot_rows_admit(&rows, "", &err), OPTUNE_EUSAGE);
    check_ok(ot_rows_admit(&rows, "plum", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_by_name, fill, empty),
        cmocka_unit_test_setup_teardown(goes_back, fill, empty),
        cmocka_unit_test_setup_teardown(said, fill, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
