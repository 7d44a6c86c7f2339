/* SPDX-License-Identifier: Apache-2.0 */
/* Arena, digests, random numbers, statistics, clocks, against values known from elsewhere. */
#include "support/check.h"

#include <math.h>

static void arena_pieces(void **state)
{
    (void)state;
    ot_arena arena = {0};
    unsigned char *last = NULL;
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *piece = ot_arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)piece % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(piece[i], 0);
        memset(piece, 0xaa, size);
        assert_ptr_not_equal(piece, last);
        last = piece;
    }
    assert_null(ot_arena_copy(&arena, NULL));
    assert_string_equal(ot_arena_copy(&arena, "text"), "text");
    assert_string_equal(ot_arena_printf(&arena, "%d-%s", 4, "x"), "4-x");
    ot_arena_release(&arena);
    assert_null(arena.block);
}

static void digests(void **state)
{
    (void)state;
    char hex[33];
    ot_digest_hex(ot_digest_of("", 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f"); /* xxHash's own test value */
    assert_true(ot_hash64("", 0) == 0x2d06800538d394c2u);
    const char *const one[] = {"ab", "c"}, *const two[] = {"a", "bc"};
    const char *const absent[] = {"ab", NULL}, *const empty[] = {"ab", ""};
    ot_digest a = ot_digest_texts(one, 2), b = ot_digest_texts(two, 2);
    assert_memory_not_equal(a.byte, b.byte, 16);
    a = ot_digest_texts(absent, 2);
    b = ot_digest_texts(empty, 2);
    assert_memory_not_equal(a.byte, b.byte, 16);
    /* Long texts take another path and must not mean something else. */
    char word[5000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = 0;
    const char *const same[] = {word}, *const with_nothing[] = {word, NULL};
    a = ot_digest_texts(same, 1);
    b = ot_digest_texts(same, 1);
    assert_memory_equal(a.byte, b.byte, 16);
    b = ot_digest_texts(with_nothing, 2);
    assert_memory_not_equal(a.byte, b.byte, 16);
}

static void random_numbers(void **state)
{
    (void)state;
    uint64_t seed = 1234567; /* the generator's published sequence */
    assert_true(optune_random(&seed) == 6457827717110365317u);
    assert_true(optune_random(&seed) == 3203168211198807973u);
    int count[7] = {0};
    for (int i = 0; i < 70000; i++) {
        int64_t value = optune_random_below(&seed, 7);
        assert_in_range(value, 0, 6);
        count[value]++;
        double unit = optune_random_unit(&seed);
        assert_true(unit >= 0 && unit < 1);
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(count[i], 9500, 10500); /* the seed is fixed, so is the outcome */
    assert_int_equal(optune_random_below(&seed, 1), 0);
    assert_true(optune_random_below(&seed, INT64_MAX) >= 0);
}

/* Samples 1..n, shuffled; ranks are then values. */
static ot_interval interval_of(int n)
{
    double sample[1000];
    uint64_t seed = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        int64_t j = optune_random_below(&seed, i + 1);
        sample[i] = sample[j];
        sample[j] = i + 1;
    }
    return ot_median_interval(sample, n);
}

static void median_intervals(void **state)
{
    (void)state;
    /* From tables of the binomial distribution: the rank k with P(X < k) <= 0.025. */
    static const int rows[][2] = {{1, 1},  {2, 1},  {5, 1},   {6, 1},    {8, 1},     {9, 2},
                                  {10, 2}, {20, 6}, {30, 10}, {100, 40}, {1000, 469}};
    for (int i = 0; i < OT_COUNT(rows); i++) {
        int n = rows[i][0], k = rows[i][1];
        ot_interval interval = interval_of(n);
        assert_true(interval.low == k);
        assert_true(interval.high == n + 1 - k);
        assert_true(interval.median == (n + 1) / 2.0);
    }
    assert_true(isinf(ot_median_interval(NULL, 0).median));
    const double with_infinity[] = {INFINITY, 1, INFINITY};
    assert_true(isinf(ot_median_interval(with_infinity, 3).median));
    assert_true(ot_median_interval(with_infinity, 3).low == 1);
}

static void geometric_mean(void **state)
{
    (void)state;
    const double values[] = {0.5, 2, 8, 0.125};
    assert_true(fabs(ot_geomean(values, 4) - 1) < 1e-12);
    assert_true(fabs(ot_geomean(values, 1) - 0.5) < 1e-12);
    assert_true(ot_geomean(values, 0) == 0);
}

static void clocks(void **state)
{
    (void)state;
    int64_t first = ot_now_ns();
    double seconds = ot_now();
    int64_t second = ot_now_ns();
    assert_true(second >= first);
    assert_true(seconds >= (double)first * 1e-9 && seconds <= (double)second * 1e-9);
    assert_true(ot_unix_time() > 1.7e9);
}

/* The largest integers of 64 bits are no doubles: what they become is the nearest that there is. */
static void whole_numbers_saturate(void **state)
{
    static const int64_t whole[] = {INT64_MAX, INT64_MIN, -1, 1 << 30};
    static const uint64_t natural[] = {UINT64_MAX, (uint64_t)1 << 63, 0, 7};
    const optune_dtype i64 = {.code = OPTUNE_DTYPE_INT, .bits = 64, .lanes = 1};
    const optune_dtype u64 = {.code = OPTUNE_DTYPE_UINT, .bits = 64, .lanes = 1};
    double value[4];
    uint64_t back[4];
    (void)state;
    ot_elements(i64, whole, 0, 4, value);
    ot_elements_set(i64, back, 0, 4, value);
    assert_memory_equal(back, whole, sizeof whole);
    ot_elements(u64, natural, 0, 4, value);
    ot_elements_set(u64, back, 0, 4, value);
    assert_memory_equal(back, natural, sizeof natural);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_pieces),           cmocka_unit_test(digests),
        cmocka_unit_test(random_numbers),         cmocka_unit_test(median_intervals),
        cmocka_unit_test(geometric_mean),         cmocka_unit_test(clocks),
        cmocka_unit_test(whole_numbers_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
