/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products in double precision, for references: blocks of both operands become double once and
 * meet in tiles that stay in registers, in the widest vectors that this machine has. Host code
 * only; owns nothing, allocates nothing, takes half a megabyte of its caller's stack.
 */
#ifndef OPTUNE_KERNELS_HOST_PRODUCT_H
#define OPTUNE_KERNELS_HOST_PRODUCT_H

#include "kernels/host/tensor.h"

/* As many elements of a row are asked at most; rows are so far apart in what `read` fills, by a
 * line of a cache more, as else all rows of a tile would lie in the same places of it. So many
 * rows of b become double at once. */
enum {
    HOST_PRODUCT_STEPS = 512,
    HOST_PRODUCT_ROW = HOST_PRODUCT_STEPS + 8,
    HOST_PRODUCT_COLUMNS = 24
};

/* An operand by its rows, along which products are summed. */
typedef struct host_rows {
    /* to[r * HOST_PRODUCT_ROW + i] = element from + i of row `row` + r, for r < rows, i < n. */
    void (*read)(const void *of, int64_t row, int rows, int64_t from, int n, double *to);
    const void *of;
} host_rows;

/* out[(i - i0) * ld + j - j0] += sum over k < depth of a(i, k) * b(j, k), and the same of absolute
 * values to `magnitude`, for the box [i0, i1) x [j0, j1). Either result may be NULL. */
void host_product(const host_rows *a, int64_t i0, int64_t i1, const host_rows *b, int64_t j0,
                  int64_t j1, int64_t depth, double *out, double *magnitude, int64_t ld);

/* The same in vectors of at most so many numbers: 8, 4 or 2. */
void host_product_in(int lanes, const host_rows *a, int64_t i0, int64_t i1, const host_rows *b,
                     int64_t j0, int64_t j1, int64_t depth, double *out, double *magnitude,
                     int64_t ld);

/* A matrix in a tensor: element (i, k) is at base + i * row + k * col. */
typedef struct host_matrix {
    const void *tensor;
    optune_dtype dtype;
    int64_t base, row, col;
} host_matrix;

/* Its rows; `matrix` is referred to. */
host_rows host_rows_of(const host_matrix *matrix);

#endif
