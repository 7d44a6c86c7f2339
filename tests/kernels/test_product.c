/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/host/product.h against sums element by element: every width of vectors, types and orders
 * of elements, boxes that tiles do not divide, and what is no number.
 */
#include <math.h>

#include "support/check.h"

#include "base/base.h"
#include "call/call.h"
#include "kernels/host/product.h"

enum { DEPTH = 700, ROWS = 45, COLS = 61 };

static const optune_dtype types[] = {
    {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1},
    {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1},
    {.code = OPTUNE_DTYPE_FLOAT, .bits = 16, .lanes = 1},
    {.code = OPTUNE_DTYPE_BFLOAT, .bits = 16, .lanes = 1},
    {.code = OPTUNE_DTYPE_INT, .bits = 8, .lanes = 1},
};

/* A matrix of rows x depth with some room behind each line; transposed, depth outside. */
static host_matrix make(optune_dtype dtype, int64_t rows, bool transposed, uint64_t seed)
{
    const int64_t room = 3 + (transposed ? rows : DEPTH),
                  n = room * (transposed ? DEPTH : rows) + 5;
    double *value = ot_alloc((size_t)n * sizeof *value);
    void *data = ot_alloc((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)(int64_t)optune_random_below(&seed, 255) / 16 - 8;
    ot_elements_set(dtype, data, 0, n, value);
    free(value);
    return (host_matrix){.tensor = data,
                         .dtype = dtype,
                         .base = 5,
                         .row = transposed ? 1 : room,
                         .col = transposed ? room : 1};
}

static double element(const host_matrix *m, int64_t i, int64_t k)
{
    double value;
    ot_elements(m->dtype, m->tensor, m->base + i * m->row + k * m->col, 1, &value);
    return value;
}

static void check_box(int lanes, const host_matrix *a, const host_matrix *b, int64_t i0,
                      int64_t i1, int64_t j0, int64_t j1, int64_t depth)
{
    static double out[ROWS * COLS], size[ROWS * COLS], alone[ROWS * COLS];
    const host_rows x = host_rows_of(a), y = host_rows_of(b);
    for (int i = 0; i < ROWS * COLS; i++) {
        out[i] = alone[i] = 3;
        size[i] = 5;
    }
    host_product_in(lanes, &x, i0, i1, &y, j0, j1, depth, out, size, COLS);
    host_product_in(lanes, &x, i0, i1, &y, j0, j1, depth, NULL, alone, COLS);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLS; j++) {
            const bool there = i < i1 - i0 && j < j1 - j0;
            double sum = 3, most = 5;
            for (int64_t k = 0; k < depth && there; k++) {
                const double p = element(a, i0 + i, k) * element(b, j0 + j, k);
                sum += p;
                most += fabs(p);
            }
            const int64_t at = i * COLS + j;
            assert_true(fabs(out[at] - sum) <= 1e-12 * most);
            assert_true(fabs(size[at] - most) <= 1e-12 * most);
            assert_true(fabs(alone[at] - (most - 2)) <= 1e-12 * most);
        }
}

static void test_products(void **state)
{
    (void)state;
    for (int t = 0; t < OT_COUNT(types); t++)
        for (int lanes = 2; lanes <= 8; lanes *= 2) {
            const bool turned = (t + lanes / 2) % 2;
            const host_matrix a = make(types[t], ROWS, turned, 1 + (uint64_t)t),
                              b = make(types[t], COLS, !turned, 9 + (uint64_t)t);
            check_box(lanes, &a, &b, 0, ROWS, 0, COLS, DEPTH);
            check_box(lanes, &a, &b, 3, 4, 7, 60, DEPTH - 9);
            check_box(lanes, &a, &b, 1, 3, 0, 1, 1);
            check_box(lanes, &a, &b, 8, 40, 2, 26, 513);
            check_box(lanes, &a, &b, 5, 5, 2, 3, 10);
            check_box(lanes, &a, &b, 0, 2, 0, 2, 0);
            free((void *)a.tensor);
            free((void *)b.tensor);
        }
}

/* Every 16-bit float by its bits. */
static void test_halves(void **state)
{
    (void)state;
    static uint16_t bits[1 << 16];
    static double to[HOST_PRODUCT_ROW];
    for (int i = 0; i < 1 << 16; i++)
        bits[i] = (uint16_t)i;
    for (int t = 2; t < 4; t++) {
        const host_matrix m = {bits, types[t], 0, 1 << 16, 1};
        const host_rows rows = host_rows_of(&m);
        for (int at = 0; at < 1 << 16; at += HOST_PRODUCT_STEPS) {
            rows.read(rows.of, 0, 1, at, HOST_PRODUCT_STEPS, to);
            for (int i = 0; i < HOST_PRODUCT_STEPS; i++) {
                double want;
                ot_elements(types[t], bits, at + i, 1, &want);
                assert_true(to[i] == want || (isnan(to[i]) && isnan(want)));
                assert_int_equal(signbit(to[i]) != 0,
                                 isnan(want) ? signbit(to[i]) != 0 : signbit(want) != 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
