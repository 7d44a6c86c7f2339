/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of topk_filter.cuda over the emulation (tests/races), where it has to begin a batch
 * anew: a line in the worst order, of which everything passes the limit, equal elements, NaNs; of
 * 16, 32 and 64 bits, a line by one block or by four.
 * Random inputs, as the contract tests have, never make it do that.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { N = 5117, K = 9, THREADS = 64 }; /* of tests/data/filter_words.cu */

static const char *files[] = {"kernels/common/gpu.kernel.h",
                              NULL, /* one of tests/data/filter_*.cu */
                              "tests/data/filter_words.cu",
                              "kernels/order/gpu/keys_gpu.kernel.h",
                              "kernels/common/counter_gpu.kernel.h",
                              "kernels/order/gpu/impl_filter.kernel.cu",
                              NULL};

static double element(int pattern, int i, uint64_t *rng)
{
    switch (pattern) {
    case 0: /* a few of the best first, the others last */
        return i < K / 2 ? N - i : i;
    case 1: /* the best first */
        return -i;
    case 2: /* equal ones, the best in the middle */
        return i == N / 2;
    case 3: /* ever better, with NaNs between */
        return i % 3 ? i / 7 : NAN;
    case 4: /* fewer numbers than are asked for */
        return i % 1000 == 999 ? i : NAN;
    case 5: /* the best are the first ones of as many threads */
        return i % 4 ? -N - i : -i;
    default:
        return (double)optune_random_below(rng, 1000);
    }
}

/* NaN behind all numbers; equal ones, of which NaNs are, in the order of their indices. */
static bool before(const double *x, int a, int b)
{
    if (isnan(x[a]) || isnan(x[b]))
        return isnan(x[a]) == isnan(x[b]) ? a < b : isnan(x[b]);
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

/* The elements of a pattern as floats of so many bits. */
static void test_orders(int bits, int parts)
{
    static words w;
    static double in[N];
    static uint64_t stored[N], values[K];
    static int32_t indices[K];
    static uint64_t best[4 * K * 2]; /* what parts keep, with the index */
    const optune_dtype dtype = {OPTUNE_DTYPE_FLOAT, bits, 1};
    const size_t size = (size_t)bits / 8;
    uint64_t rng = 7;
    char name[64];
    snprintf(name, sizeof name, "tests/data/filter_%d_%d.cu", bits, parts);
    files[1] = name;
    words_open(&w, "sm_80", files);
    const words_array data = {stored, N * size, NULL};
    const words_array out = {values, K * size, NULL};
    for (int pattern = 0; pattern < 7; pattern++) {
        int want[K], n = 0;
        for (int i = 0; i < N; i++)
            in[i] = element(pattern, i, &rng);
        ot_elements_set(dtype, stored, 0, N, in);
        ot_elements(dtype, stored, 0, N, in); /* as they were rounded */
        for (int i = 0; i < N; i++) { /* into its place among the best so far */
            int at = n;
            while (at > 0 && before(in, i, want[at - 1]))
                at--;
            if (at == K)
                continue;
            n += n < K;
            for (int j = n - 1; j > at; j--)
                want[j] = want[j - 1];
            want[at] = i;
        }
        const words_array all[] = {WORDS_ARRAY(best), data, out, WORDS_ARRAY(indices)};
        w.blocks = parts;
        if (parts == 1) {
            words_run(&w, "filter", THREADS, all + 1, 3);
        } else {
            words_run(&w, "filter", THREADS, all, 4);
            w.blocks = 1;
            words_run(&w, "merge", THREADS, all, 4);
        }
        for (int i = 0; i < K; i++) {
            assert_int_equal(indices[i], want[i]);
            assert_memory_equal((char *)values + (size_t)i * size,
                                (char *)data.data + (size_t)want[i] * size, size);
        }
    }
    words_close(&w);
}

static void test_words(void **state)
{
    (void)state;
    test_orders(16, 1);
    test_orders(32, 1);
    test_orders(64, 1);
}

static void test_parts(void **state)
{
    (void)state;
    test_orders(16, 4);
    test_orders(32, 4);
    test_orders(64, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
