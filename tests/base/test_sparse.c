/* SPDX-License-Identifier: Apache-2.0 */
/* Large structs of which little is used take as little. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

/* How many of the whole pages of some memory are there. */
static int pages_there(const char *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)(((uintptr_t)memory + page - 1) & ~(page - 1));
    unsigned char there[1024] = {0};
    const size_t n = (size_t)(memory + size - from) / page;
    int sum = 0;
    assert_true(n <= sizeof there);
    assert_int_equal(mincore(from, n * page, there), 0);
    for (size_t i = 0; i < n; i++)
        sum += there[i] & 1;
    return sum;
}

/* Also where something else lay before. */
static void untouched_pages_are_not_there(void **state)
{
    (void)state;
    enum { SIZE = 100 << 10 }; /* of malloc's heap, not mapped by itself */
    char *dirty = ot_alloc(SIZE), *behind = ot_alloc(64);
    memset(dirty, 0xa5, SIZE);
    assert_true(pages_there(dirty, SIZE) >= SIZE / 4096 - 1);
    free(dirty);
    char *sparse = ot_alloc_sparse(SIZE);
    assert_int_equal(pages_there(sparse, SIZE), 0);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(sparse[i], 0);
    free(sparse);
    sparse = ot_alloc_sparse(SIZE);
    sparse[SIZE / 2] = 1;
    assert_int_equal(pages_there(sparse, SIZE), 1);
    free(sparse);
    free(behind);
}

static void any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 4095, 4096, 4097, 8191, 8192, 12289, 200 << 10};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < OT_COUNT(sizes); i++) {
            char *memory = ot_alloc_sparse(sizes[i]);
            assert_non_null(memory);
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(memory[k], 0);
            memset(memory, 0x5a, sizes[i]);
            free(memory);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_pages_are_not_there),
        cmocka_unit_test(any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
