/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/product.h declares. */
#include "kernels/host/product.h"

enum {
    STEPS = HOST_PRODUCT_STEPS,
    LINE = HOST_PRODUCT_ROW,
    COLS = HOST_PRODUCT_COLUMNS,
    ROWS = 32,
    TILE_ROWS = 8,
    TILE_COLS = 3
};

/* Rows and columns of a tile that are there; it computes all, of zeros. */
typedef void tile(const double *a, const double *b, int steps, int rows, int cols, double *out,
                  int64_t ld);

/* A function of a tile of R rows for vectors V: sums stay in registers along a block of depth. */
#define TILE(NAME, V, R)                                                                       \
    static inline __attribute__((always_inline)) void NAME(const double *a, const double *b,   \
                                                           int steps, int rows, int cols,      \
                                                           double *out, int64_t ld)            \
    {                                                                                          \
        enum { LANES = sizeof(V) / sizeof(double), C = TILE_COLS };                            \
        V sum[R][C];                                                                           \
        double done[R][C];                                                                     \
        memset(sum, 0, sizeof sum);                                                            \
        for (int k = 0; k < steps; k += LANES) {                                               \
            V y[C];                                                                            \
            for (int c = 0; c < C; c++)                                                        \
                y[c] = *(const V *)(b + c * LINE + k);                                         \
            for (int r = 0; r < R; r++) {                                                      \
                const V x = *(const V *)(a + r * LINE + k);                                    \
                for (int c = 0; c < C; c++)                                                    \
                    sum[r][c] += x * y[c];                                                     \
            }                                                                                  \
        }                                                                                      \
        for (int r = 0; r < R; r++)                                                            \
            for (int c = 0; c < C; c++) {                                                      \
                done[r][c] = 0;                                                                \
                for (int l = 0; l < LANES; l++)                                                \
                    done[r][c] += sum[r][c][l];                                                \
            }                                                                                  \
        for (int r = 0; r < rows; r++)                                                         \
            for (int c = 0; c < cols; c++)                                                     \
                out[r * ld + c] += done[r][c];                                                 \
    }

#define TILES(NAME, BYTES)                                                                     \
    typedef double NAME##_vector __attribute__((vector_size(BYTES)));                          \
    TILE(NAME##_many, NAME##_vector, TILE_ROWS)                                                \
    TILE(NAME##_one, NAME##_vector, 1)

#define WIDTH(NAME, BYTES, TARGET)                                                             \
    TILES(NAME, BYTES)                                                                         \
    TARGET static void NAME(const double *a, const double *b, int steps, int rows, int cols,   \
                            double *out, int64_t ld)                                           \
    {                                                                                          \
        if (rows > 2) {                                                                        \
            NAME##_many(a, b, steps, rows, cols, out, ld);                                     \
            return;                                                                            \
        }                                                                                      \
        for (int r = 0; r < rows; r++)                                                         \
            NAME##_one(a + r * LINE, b, steps, 1, cols, out + r * ld, ld);                     \
    }

WIDTH(narrow, 16, )

#ifdef __x86_64__
WIDTH(wide, 32, __attribute__((target("avx2,fma"))))
WIDTH(widest, 64, __attribute__((target("avx512f"))))

static tile *best_tile(int lanes)
{
    if (lanes >= 8 && __builtin_cpu_supports("avx512f"))
        return widest;
    const bool four = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return lanes >= 4 && four ? wide : narrow;
}
#else
static tile *best_tile(int lanes)
{
    (void)lanes;
    return narrow;
}
#endif

/* A block of an operand: its numbers, and their sizes. Rows of no operand and the end of a vector
 * are zeros. */
static void load(const host_rows *from, int64_t row, int rows, int room, int64_t k, int steps,
                 double *value, double *size)
{
    const int whole = (steps + 7) / 8 * 8;
    from->read(from->of, row, rows, k, steps, value);
    for (int r = 0; r < room; r++) {
        double *line = value + r * LINE;
        const int there = r < rows ? steps : 0;
        memset(line + there, 0, (size_t)(whole - there) * sizeof *line);
        for (int i = 0; size && i < whole; i++)
            size[r * LINE + i] = fabs(line[i]);
    }
}

static int least(int64_t left, int most)
{
    return left < most ? (int)left : most;
}

typedef struct block {
    _Alignas(64) double value[ROWS * LINE];
    _Alignas(64) double size[ROWS * LINE];
} block;
typedef struct strip {
    _Alignas(64) double value[COLS * LINE];
    _Alignas(64) double size[COLS * LINE];
} strip;

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

static void meet(tile *compute, const double *a, int rows, const double *b, int cols, int steps,
                 double *out, int64_t ld)
{
    for (int r = 0; r < rows; r += TILE_ROWS)
        for (int c = 0; c < cols; c += TILE_COLS)
            compute(a + r * LINE, b + c * LINE, round_up(steps, 8), least(rows - r, TILE_ROWS),
                    least(cols - c, TILE_COLS), out + r * ld + c, ld);
}

void host_product(const host_rows *a, int64_t i0, int64_t i1, const host_rows *b, int64_t j0,
                  int64_t j1, int64_t depth, double *out, double *magnitude, int64_t ld)
{
    host_product_in(8, a, i0, i1, b, j0, j1, depth, out, magnitude, ld);
}

void host_product_in(int lanes, const host_rows *a, int64_t i0, int64_t i1, const host_rows *b,
                     int64_t j0, int64_t j1, int64_t depth, double *out, double *magnitude,
                     int64_t ld)
{
    tile *const compute = best_tile(lanes);
    block x;
    strip y;
    for (int64_t i = i0; i < i1; i += ROWS) {
        const int rows = least(i1 - i, ROWS);
        for (int64_t k = 0; k < depth; k += STEPS) {
            const int steps = least(depth - k, STEPS);
            load(a, i, rows, round_up(rows, TILE_ROWS), k, steps, x.value,
                 magnitude ? x.size : NULL);
            for (int64_t j = j0; j < j1; j += COLS) {
                const int cols = least(j1 - j, COLS);
                const int64_t at = (i - i0) * ld + (j - j0);
                load(b, j, cols, round_up(cols, TILE_COLS), k, steps, y.value,
                     magnitude ? y.size : NULL);
                if (out)
                    meet(compute, x.value, rows, y.value, cols, steps, out + at, ld);
                if (magnitude)
                    meet(compute, x.size, rows, y.size, cols, steps, magnitude + at, ld);
            }
        }
    }
}

/* ---- matrices in tensors ----------------------------------------------------------------- */

/* Half precision by its bits: where a machine has no instruction for it, a call would be made. */
static inline double of_half(uint16_t bits)
{
    uint32_t word = (uint32_t)(bits & 0x7fff) << 13;
    float value;
    memcpy(&value, &word, sizeof value);
    value *= 0x1p112f;
    if (word >= 0x7c00u << 13) { /* infinities and NaN */
        word |= 0x7f800000u;
        memcpy(&value, &word, sizeof value);
    }
    return bits >> 15 ? -(double)value : (double)value;
}

static inline double of_bfloat(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

/* Rows one after the other where elements of a row are next to each other, else a step of all rows
 * at a time: memory is read along its lines. */
#define READ(TYPE, NUMBER)                                                                     \
    do {                                                                                       \
        const TYPE *p = (const TYPE *)m->tensor + m->base + row * m->row + from * m->col;      \
        if (m->col == 1) {                                                                     \
            for (int r = 0; r < rows; r++, p += m->row)                                        \
                for (int i = 0; i < n; i++)                                                    \
                    to[r * LINE + i] = NUMBER(p[i]);                                           \
        } else {                                                                               \
            for (int i = 0; i < n; i++, p += m->col)                                           \
                for (int r = 0; r < rows; r++)                                                 \
                    to[r * LINE + i] = NUMBER(p[r * m->row]);                                  \
        }                                                                                      \
        return;                                                                                \
    } while (0)

static inline __attribute__((always_inline)) void
read_in(const host_matrix *m, int64_t row, int rows, int64_t from, int n, double *to)
{
    const optune_dtype dtype = m->dtype;
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        READ(uint16_t, of_bfloat);
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 16)
        READ(uint16_t, of_half);
    if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
        READ(float, (double));
    if (dtype.code == OPTUNE_DTYPE_FLOAT)
        READ(double, );
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            to[r * LINE + i] = tensor_element(
                m->tensor, dtype, m->base + (row + r) * m->row + (from + i) * m->col);
}

static void read_narrow(const void *of, int64_t row, int rows, int64_t from, int n, double *to)
{
    read_in(of, row, rows, from, n, to);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void read_wide(const void *of, int64_t row, int rows,
                                                      int64_t from, int n, double *to)
{
    read_in(of, row, rows, from, n, to);
}

host_rows host_rows_of(const host_matrix *matrix)
{
    return (host_rows){.read = __builtin_cpu_supports("avx2") ? read_wide : read_narrow,
                       .of = matrix};
}
#else
host_rows host_rows_of(const host_matrix *matrix)
{
    return (host_rows){.read = read_narrow, .of = matrix};
}
#endif
