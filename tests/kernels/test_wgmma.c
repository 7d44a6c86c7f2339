/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of kernels/common/wgmma_gpu.kernel.h as the emulation has them (tests/races), each
 * against plain loops over what the PTX ISA says: the swizzle and the zeros of a copied box,
 * the fields of a descriptor, the layout of a warpgroup's result, a barrier that nobody
 * completes. For CUDA the same kernels must compile.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { THREADS = 128, COPY = 24 * 128 };

static const char *const files[] = {"kernels/common/gpu.kernel.h",
                                    "kernels/common/team.kernel.h",
                                    "kernels/common/pairs_gpu.kernel.h",
                                    "kernels/common/warp_gpu.kernel.h",
                                    "kernels/common/wgmma_gpu.kernel.h",
                                    "tests/data/wgmma_words.cu",
                                    NULL};
static words emulated;

static int setup(void **state)
{
    (void)state;
    words_open(&emulated, "sm_90", files);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    words_close(&emulated);
    return 0;
}

static void fill(void *to, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)(optune_random(&seed) >> 32);
}

/* ---- copies ------------------------------------------------------------------------------ */

enum { X = 72, Y = 21, Z = 3 }; /* a tensor of 16-bit elements, rows of 80 */

static uint16_t tensor[Z][Y][80];

/* The byte of the box that lies at `address` of a tile that starts on 1024. */
static int byte_of_box(const optune_tensor_map *map, const int *place, int address,
                       bool swizzled)
{
    const int row_bytes = (int)map->box[0] * 2;
    const int at = swizzled ? address ^ (address / 128 % 8 * 16) : address;
    const int row = at / row_bytes, x = place[0] + at % row_bytes / 2;
    const int y = place[1] + row % (int)map->box[1], z = place[2] + row / (int)map->box[1];
    if (x < 0 || x >= X || y < 0 || y >= Y || z < 0 || z >= Z)
        return 0;
    return tensor[z][y][x] >> (at % 2 * 8) & 255;
}

static void copies(const char *kernel, optune_tensor_map map, int bytes, bool swizzled)
{
    static int place[3][3] = {{0, 0, 0}, {64, 2, 1}, {-3, 17, 2}};
    static uint8_t out[3][COPY];
    fill(tensor, sizeof tensor, 7);
    words_run(&emulated, kernel, THREADS,
              (const words_array[]){
                  {tensor, sizeof tensor, &map}, WORDS_ARRAY(place), WORDS_ARRAY(out)},
              3);
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < bytes; b++)
            if (out[i][b] != byte_of_box(&map, place[i], b, swizzled))
                fail_msg("box %d, byte %d: %d, want %d", i, b, out[i][b],
                         byte_of_box(&map, place[i], b, swizzled));
}

static void test_copies(void **state)
{
    (void)state;
    optune_tensor_map map = {.dtype = {OPTUNE_DTYPE_UINT, 16, 1},
                             .rank = 3,
                             .swizzle = 128,
                             .dim = {X, Y, Z},
                             .stride = {0, 160, 160 * Y},
                             .box = {64, 24, 1}};
    copies("copies_full", map, COPY, true);
    map.box[1] = 12;
    map.box[2] = 2;
    copies("copies_full", map, COPY, true);
    map.box[2] = 1;
    copies("copies_half", map, COPY / 2, true);
    map.swizzle = 0;
    copies("copies_half", map, COPY / 2, false);
}

/* Windows of 3 x 2 over images of 13 x 5, steps of 2 and 1, rows dilated by 2, padded by 1 and 2
 * in front and 2 and 1 behind: pixel by pixel of the output, across lines and images. */
static void test_pixels(void **state)
{
    (void)state;
    enum { C = 72, W = 13, H = 5, N = 3, OW = 7, OH = 6 };
    static uint16_t image[N][H][W][C];
    /* channel, pixel's column, row and image, tap's column and row */
    static const int from[3][6] = {{0, 0, 0, 0, 0, 0}, {64, 5, 4, 0, 2, 1}, {0, 3, 3, 2, 1, 1}};
    static int place[3][6];
    static uint8_t out[3][COPY];
    const optune_tensor_map map = {
        .dtype = {OPTUNE_DTYPE_UINT, 16, 1},
        .rank = 4,
        .swizzle = 128,
        .dim = {C, W, H, N},
        .stride = {0, 2 * C, 2 * C * W, 2 * C * W * H},
        .box = {64},
        .pixels = 24,
        .low = {-1, -2},
        .high = {2 - 2, 1 - 2},
        .step = {2, 1},
    };
    fill(image, sizeof image, 11);
    for (int i = 0; i < 3; i++) {
        const int at[] = {from[i][0], from[i][1] * 2 - 1, from[i][2] - 2,
                          from[i][3], from[i][4],         from[i][5] * 2};
        memcpy(place[i], at, sizeof at);
    }
    words_run(&emulated, "pixels", THREADS,
              (const words_array[]){
                  {image, sizeof image, &map}, WORDS_ARRAY(place), WORDS_ARRAY(out)},
              3);
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < COPY; b += 2) {
            const int pixel = (from[i][3] * OH + from[i][2]) * OW + from[i][1] + b / 128;
            const int n = pixel / OW / OH, c = from[i][0] + b % 128 / 2;
            const int x = pixel % OW * 2 - 1 + from[i][4];
            const int y = pixel / OW % OH - 2 + from[i][5] * 2;
            const bool inside = n < N && c < C && x >= 0 && x < W && y >= 0 && y < H;
            const int want = inside ? image[n][y][x][c] : 0, at = b ^ (b / 128 % 8 * 16);
            assert_int_equal(out[i][at] | out[i][at + 1] << 8, want);
        }
}

/* Only elements inside are written, each with what lies at its place of the box. */
static void test_stores(void **state)
{
    (void)state;
    static int place[3][3] = {{0, 0, 0}, {64, 2, 1}, {-3, 15, 2}};
    static uint8_t in[3][COPY];
    static uint16_t want[Z][Y][80];
    const optune_tensor_map map = {.dtype = {OPTUNE_DTYPE_UINT, 16, 1},
                                   .rank = 3,
                                   .swizzle = 128,
                                   .dim = {X, Y, Z},
                                   .stride = {0, 160, 160 * Y},
                                   .box = {64, 24, 1}};
    fill(in, sizeof in, 9);
    memset(tensor, 0xEE, sizeof tensor);
    memset(want, 0xEE, sizeof want);
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < COPY; b += 2) {
            const int x = place[i][0] + b % 128 / 2, y = place[i][1] + b / 128;
            const int at = b ^ (b / 128 % 8 * 16);
            if (x >= 0 && x < X && y < Y)
                want[place[i][2]][y][x] = (uint16_t)(in[i][at] | in[i][at + 1] << 8);
        }
    words_run(&emulated, "stores", THREADS,
              (const words_array[]){
                  {tensor, sizeof tensor, &map}, WORDS_ARRAY(place), WORDS_ARRAY(in)},
              3);
    assert_memory_equal(tensor, want, sizeof tensor);
}

static void test_pairs(void **state)
{
    (void)state;
    static float in[2] = {1.5f, -2};
    static uint32_t out[2];
    words_run(&emulated, "pairs", 1, (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(out)},
              2);
    assert_int_equal(out[0], 0xC0003E00);
    assert_int_equal(out[1], 0xC0003FC0);
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void test_descriptors(void **state)
{
    (void)state;
    static int address[] = {1024, 1024 + 32, 0x2A000 + 96};
    static uint64_t out[4];
    words_run(&emulated, "descriptors", 1,
              (const words_array[]){WORDS_ARRAY(address), WORDS_ARRAY(out)}, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(out[i] & 0x3FFF, address[i] / 16);
        assert_int_equal(out[i] >> 32 & 0x3FFF, 1024 / 16); /* from 8 rows to the next */
        assert_int_equal(out[i] >> 49 & 7, 0);              /* tiles start on 1024 */
        assert_int_equal(out[i] >> 62, 1);                  /* 128-byte swizzle */
    }
    assert_int_equal(out[3] & 0x3FFF, address[1] / 16);
    assert_int_equal(out[3] >> 16 & 0x3FFF, 4096 / 16); /* from 64 columns to the next */
    assert_int_equal(out[3] >> 32 & 0x3FFF, 1024 / 16); /* from 8 depths to the next */
    assert_int_equal(out[3] >> 62, 1);
}

/* ---- products ---------------------------------------------------------------------------- */

typedef enum kind { F16, BF16, TF32, S8, U8S8 } kind;

static double at(const uint8_t *row, kind k, bool of_a, int i)
{
    uint16_t h;
    uint32_t w;
    float f;
    if (k >= S8)
        return k == U8S8 && of_a ? (double)row[i] : (double)(int8_t)row[i];
    if (k == TF32) {
        memcpy(&w, row + 4 * i, 4);
        w &= 0xFFFFE000;
        memcpy(&f, &w, 4);
        return (double)f;
    }
    memcpy(&h, row + 2 * i, 2);
    if (k == F16)
        return (h >> 15 ? -1 : 1) * ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25);
    w = (uint32_t)h << 16;
    memcpy(&f, &w, 4);
    return (double)f;
}

/* Numbers near 1, so that a sum forgets nothing. */
static void fill_operand(uint8_t (*row)[128], int rows, kind k, uint64_t seed)
{
    fill(row, (size_t)rows * 128, seed);
    for (int i = 0; i < rows; i++)
        for (int b = 1; b < 128 && k < S8; b += 2)
            if (k == F16)
                row[i][b] = (row[i][b] & 0x87) | 0x38;
            else if (k == BF16 || b % 4 == 3)
                row[i][b] = (row[i][b] & 0x80) | 0x3F;
}

static optune_tensor_map rows_map(int rows)
{
    return (optune_tensor_map){.dtype = {OPTUNE_DTYPE_UINT, 8, 1},
                               .rank = 2,
                               .swizzle = 128,
                               .dim = {128, rows},
                               .stride = {0, 128},
                               .box = {128, rows}};
}

static uint8_t a[64][128], b[256][128];
static union {
    float f[THREADS * 128];
    int32_t i[THREADS * 128];
} d;

static int product(const char *kernel, int n, kind k, int fault, int add)
{
    optune_err failure = {0};
    int control[] = {fault, add};
    const optune_tensor_map map_a = rows_map(64), map_b = rows_map(n);
    fill_operand(a, 64, k, 5);
    fill_operand(b, n, k, 6);
    memset(&d, 0xFF, sizeof d);
    return words_try(&emulated, kernel, THREADS,
                     (const words_array[]){{a, sizeof a, &map_a},
                                           {b, (size_t)n * 128, &map_b},
                                           WORDS_ARRAY(control),
                                           {&d, (size_t)(THREADS * n / 2) * 4, NULL}},
                     4, &failure);
}

static void check_product(int n, kind k, int add)
{
    const int depth = k >= S8 ? 128 : k == TF32 ? 32 : 64;
    for (int thread = 0; thread < THREADS; thread++)
        for (int r = 0; r < n / 2; r++) {
            const int warp = thread / 32, lane = thread % 32;
            const int row = 16 * warp + lane / 4 + 8 * (r / 2 % 2);
            const int col = 8 * (r / 4) + 2 * (lane % 4) + r % 2;
            double want = add ? 1000 * add + thread : 0, size = fabs(want);
            for (int i = 0; i < depth; i++) {
                want += at(a[row], k, true, i) * at(b[col], k, false, i);
                size += fabs(at(a[row], k, true, i) * at(b[col], k, false, i));
            }
            const int e = thread * (n / 2) + r;
            const double got = k >= S8 ? d.i[e] : (double)d.f[e];
            if (!(fabs(got - want) <= (k >= S8 ? 0 : 0x1p-17 * size)))
                fail_msg("kind %d, thread %d, sum %d: %.9g, want %.9g", (int)k, thread, r, got,
                         want);
        }
}

static void test_products(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        int n;
        kind kind;
    } table[] = {{"product_f16_64", 64, F16},     {"product_bf16_128", 128, BF16},
                 {"product_tf32_192", 192, TF32}, {"product_s8_256", 256, S8},
                 {"product_u8s8_64", 64, U8S8},   {"product_bf16_256", 256, BF16}};
    for (int i = 0; i < OT_COUNT(table); i++)
        for (int add = 0; add < 2; add++) {
            assert_true(product(table[i].kernel, table[i].n, table[i].kind, 0, add) >= 0);
            check_product(table[i].n, table[i].kind, add);
        }
}

/* A in registers: thread by thread what the PTX ISA gives it of a 64 x 16 matrix. B is 16 rows
 * of n columns. */
static uint16_t held[THREADS][8], across[16][256];

static void product_held(const char *kernel, int n, kind k, int fault, int add)
{
    int control[] = {fault, add};
    const optune_tensor_map map = {.dtype = {OPTUNE_DTYPE_UINT, 16, 1},
                                   .rank = 2,
                                   .swizzle = 128,
                                   .dim = {n, 16},
                                   .stride = {0, 512},
                                   .box = {64, 16}};
    fill_operand(a, 64, k, 5);
    fill_operand((uint8_t(*)[128])across, 64, k, 6);
    for (int t = 0; t < THREADS; t++)
        for (int e = 0; e < 8; e++) {
            const int row = t / 32 * 16 + t % 32 / 4 + e / 2 % 2 * 8;
            const int depth = t % 4 * 2 + e % 2 + e / 4 * 8;
            memcpy(&held[t][e], &a[row][2 * depth], 2);
        }
    memset(&d, 0xFF, sizeof d);
    words_run(&emulated, kernel, THREADS,
              (const words_array[]){WORDS_ARRAY(held),
                                    {across, sizeof across, &map},
                                    WORDS_ARRAY(control),
                                    {&d, (size_t)(THREADS * n / 2) * 4, NULL}},
              4);
}

/* How many of the sums are not what they should be. */
static int wrong_held(int n, kind k, int add)
{
    int wrong = 0;
    for (int thread = 0; thread < THREADS; thread++)
        for (int r = 0; r < n / 2; r++) {
            const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r / 2 % 2);
            const int col = 8 * (r / 4) + 2 * (thread % 4) + r % 2;
            double want = add ? 1000 * add + thread : 0, size = fabs(want);
            for (int i = 0; i < 16; i++) {
                const double x =
                    at(a[row], k, true, i) * at((const uint8_t *)&across[i][col], k, false, 0);
                want += x;
                size += fabs(x);
            }
            wrong += !(fabs((double)d.f[thread * (n / 2) + r] - want) <= 0x1p-17 * size);
        }
    return wrong;
}

static void test_held(void **state)
{
    (void)state;
    for (int add = 0; add < 2; add++) {
        product_held("product_held_f16_64", 64, F16, 0, add);
        assert_int_equal(wrong_held(64, F16, add), 0);
        product_held("product_held_bf16_256", 256, BF16, 0, add);
        assert_int_equal(wrong_held(256, BF16, add), 0);
    }
    product_held("product_held_f16_64", 64, F16, 1, 0);
    assert_true(wrong_held(64, F16, 0) > 0);
}

/* Where a GPU would wait for ever, the launch fails. */
static void test_waits(void **state)
{
    (void)state;
    for (int fault = 1; fault <= 2; fault++)
        assert_true(product("product_f16_64", 64, F16, fault, 0) < 0);
}

static void test_cuda(void **state)
{
    (void)state;
    words_compile_cuda("cuda -arch=sm_90", files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),      cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_stores),      cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_products),
        cmocka_unit_test(test_held),        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
