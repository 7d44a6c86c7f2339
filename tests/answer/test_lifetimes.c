/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in one arena: nothing that is alive at the same time overlaps, and little is wasted. */
#include "answer/lifetimes.h"

#include "base/base.h"
#include "support/check.h"

enum { MOST = 200 };

/* The bytes that are alive in the busiest step: no arena is smaller. */
static int64_t least(const ot_lifetime *item, int n, int steps)
{
    int64_t most = 0;
    for (int s = 0; s < steps; s++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++)
            if (item[i].first <= s && s <= item[i].last)
                sum += (item[i].bytes + 63) / 64 * 64;
        most = sum > most ? sum : most;
    }
    return most;
}

static void check_apart(const ot_lifetime *item, int n, int64_t bytes)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(item[i].offset % 64, 0);
        assert_true(item[i].offset >= 0 && item[i].offset + item[i].bytes <= bytes);
        for (int k = 0; k < i; k++)
            if (item[i].first <= item[k].last && item[k].first <= item[i].last)
                assert_true(item[i].offset + item[i].bytes <= item[k].offset ||
                            item[k].offset + item[k].bytes <= item[i].offset);
    }
}

static void test_chain(void **state)
{
    (void)state;
    /* Each value is read by the next step only: two places are enough for all. */
    ot_lifetime item[10];
    for (int i = 0; i < 10; i++)
        item[i] = (ot_lifetime){.bytes = 1000, .first = i, .last = i + 1};
    assert_int_equal(ot_lifetimes_place(item, 10), 2 * 1024);
    check_apart(item, 10, 2 * 1024);
    assert_int_equal(ot_lifetimes_place(item, 0), 0);
    ot_lifetime nothing[2] = {{.bytes = 0, .first = 0, .last = 3},
                              {.bytes = 64, .first = 0, .last = 3}};
    assert_int_equal(ot_lifetimes_place(nothing, 2), 64);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t rng = 11;
    double worst = 1;
    for (int round = 0; round < 300; round++) {
        ot_lifetime item[MOST], again[MOST];
        const int n = 1 + (int)optune_random_below(&rng, MOST), steps = 1 + n / 2;
        for (int i = 0; i < n; i++) {
            const int first = (int)optune_random_below(&rng, (uint64_t)steps);
            const int length = (int)optune_random_below(&rng, round % 2 ? 3 : 30);
            item[i] = (ot_lifetime){
                .bytes = (int64_t)optune_random_below(&rng, round % 3 ? 100000 : 300),
                .first = first,
                .last = first + length < steps ? first + length : steps - 1};
        }
        memcpy(again, item, sizeof again);
        const int64_t bytes = ot_lifetimes_place(item, n);
        check_apart(item, n, bytes);
        assert_true(bytes >= least(item, n, steps));
        if (bytes > 0)
            worst = (double)bytes / (double)least(item, n, steps) > worst
                        ? (double)bytes / (double)least(item, n, steps)
                        : worst;
        assert_int_equal(ot_lifetimes_place(again, n), bytes);
        for (int i = 0; i < n; i++)
            assert_int_equal(again[i].offset, item[i].offset);
    }
    print_message("at worst %.2f times the least there can be\n", worst);
    assert_true(worst < 1.6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
