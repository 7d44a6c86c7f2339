/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor-core words of kernels/common/mma_gpu.kernel.h as the emulation has them (tests/races),
 * each against a plain loop over matrices, so that bodies verified with them are verified
 * against the PTX ISA's layouts. For CUDA the same kernels must compile.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { THREADS = 64, WARPS = 2, MT = 2, NT = 3, POISON = 0xFF };

static const char *const files[] = {"kernels/common/gpu.kernel.h",
                                    "kernels/common/mma_gpu.kernel.h",
                                    "tests/data/mma_words.cu", NULL};
static words emulated;

static int setup(void **state)
{
    (void)state;
    words_open(&emulated, "sm_80", files);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    words_close(&emulated);
    return 0;
}

static void run(const char *kernel, const words_array *arrays, int n)
{
    words_run(&emulated, kernel, THREADS, arrays, n);
}

static void fill(uint8_t *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(optune_random(&seed) >> 32);
}

/* ---- matrices ---------------------------------------------------------------------------- */

static void test_matrices(void **state)
{
    (void)state;
    static uint16_t in[THREADS][8], out[4][THREADS][4][2];
    static uint32_t order[THREADS];
    uint64_t rng = 5;
    fill((uint8_t *)in, sizeof in, 3);
    for (int i = 0; i < THREADS; i++)
        order[i] = (uint32_t)optune_random_below(&rng, THREADS);
    run("matrices",
        (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(order), WORDS_ARRAY(out)}, 3);
    for (int v = 0; v < 4; v++)
        for (int thread = 0; thread < THREADS; thread++)
            for (int m = 0; m < 4; m++)
                for (int i = 0; i < 2; i++) {
                    const int lane = thread % 32, t = 2 * (lane % 4) + i, g = lane / 4;
                    const uint32_t *rows = order + thread / 32 * 32 + 8 * m;
                    const uint16_t want = v >= 2 && m >= 2 ? 0
                                          : v % 2          ? in[rows[t]][g]
                                                           : in[rows[g]][t];
                    assert_int_equal(out[v][thread][m][i], want);
                }
}

/* ---- products ---------------------------------------------------------------------------- */

typedef union operand { /* rows of A or columns of B, 32 bytes of depth each */
    uint32_t w[8];
    uint16_t h[16];
    int8_t s[32];
} operand;

static double of_f16(uint16_t h)
{
    const int e = h >> 10 & 31, f = h & 1023;
    const double x = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
    return h >> 15 ? -x : x;
}

static double of_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

typedef enum operand_kind { F16, BF16, TF32, S8, U8S8 } operand_kind;

/* Element k of A's operand or of B's, which always has a sign. */
static double at(const operand *o, operand_kind kind, bool of_a, int k)
{
    return kind == F16            ? of_f16(o->h[k])
           : kind == BF16         ? of_f32((uint32_t)o->h[k] << 16)
           : kind == TF32         ? of_f32(o->w[k] & 0xFFFFE000)
           : kind == U8S8 && of_a ? (double)(uint8_t)o->s[k]
                                  : (double)o->s[k];
}

/* Exponents near 0, so that a sum forgets nothing. */
static void fill_operands(operand *o, int n, operand_kind kind, uint64_t seed)
{
    fill((uint8_t *)o, (size_t)n * sizeof *o, seed);
    for (int i = 0; i < n; i++)
        for (int w = 0; w < 8; w++)
            if (kind == F16)
                o[i].w[w] = (o[i].w[w] & 0x87FF87FF) | 0x38003800;
            else if (kind < S8)
                o[i].w[w] = (o[i].w[w] & 0x80FF80FF) | 0x3F003F00;
}

static void check_product(double got, const operand *a, const operand *b, operand_kind kind,
                          double start)
{
    const int depth = kind == TF32 ? 8 : kind >= S8 ? 32 : 16;
    double want = start, size = fabs(start);
    for (int k = 0; k < depth; k++) {
        const double product = at(a, kind, true, k) * at(b, kind, false, k);
        want += product;
        size += fabs(product);
    }
    if (!(fabs(got - want) <= (kind >= S8 ? 0 : 0x1p-22 * size)))
        fail_msg("kind %d: got %.9g, want %.9g", (int)kind, got, want);
}

static void products(const char *kernel, operand_kind kind)
{
    static operand a[WARPS][MT * 16], b[WARPS][NT * 8];
    static union {
        float f[WARPS][MT * 16][NT * 8];
        int32_t i[WARPS][MT * 16][NT * 8];
    } d;
    static union {
        float f[WARPS][16][8];
        int32_t i[WARPS][16][8];
    } last;
    fill_operands(a[0], WARPS * MT * 16, kind, 11);
    fill_operands(b[0], WARPS * NT * 8, kind, 12);
    run(kernel,
        (const words_array[]){WORDS_ARRAY(a), WORDS_ARRAY(b), WORDS_ARRAY(d),
                              WORDS_ARRAY(last)},
        4);
    for (int w = 0; w < WARPS; w++)
        for (int i = 0; i < MT * 16; i++)
            for (int j = 0; j < NT * 8; j++) {
                const double got = kind >= S8 ? d.i[w][i][j] : (double)d.f[w][i][j];
                check_product(got, &a[w][i], &b[w][j], kind, i / 16 - j / 8);
            }
    for (int w = 0; w < WARPS; w++)
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                const double got = kind >= S8 ? last.i[w][i][j] : (double)last.f[w][i][j];
                check_product(got, &a[w][(MT - 1) * 16 + i], &b[w][(NT - 1) * 8 + j], kind,
                              (MT - 1) - (NT - 1));
            }
}

static void test_products(void **state)
{
    (void)state;
    products("products_f16", F16);
    products("products_bf16", BF16);
    products("products_tf32", TF32);
    products("products_s8", S8);
    products("products_u8s8", U8S8);
}

/* Nearest, ties away from zero; infinities and what is no number stay such. */
static void test_tf32(void **state)
{
    (void)state;
    static const uint32_t pair[][2] = {
        {0x3F800000, 0x3F800000}, {0x3F800FFF, 0x3F800000}, {0x3F801000, 0x3F802000},
        {0xBF801000, 0xBF802000}, {0x3FFFFFFF, 0x40000000}, {0x7F800000, 0x7F800000},
        {0xFF800000, 0xFF800000}, {0x00000000, 0x00000000},
    };
    uint32_t in[THREADS] = {0}, out[THREADS];
    for (int i = 0; i < OT_COUNT(pair); i++)
        in[i] = pair[i][0];
    in[THREADS - 1] = 0x7FFFFFFF;
    run("round_tf32", (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(out)}, 2);
    for (int i = 0; i < OT_COUNT(pair); i++)
        assert_int_equal(out[i], pair[i][1]);
    assert_true(isnan(of_f32(out[THREADS - 1])));
}

/* ---- copies ------------------------------------------------------------------------------ */

/* What lies in shared memory, byte `i` of a thread's 48, once `groups` of its groups have come. */
static int copied(const uint8_t *in, int thread, int i, int groups)
{
    const struct {
        int first, bytes, group;
    } copy[] = {
        {0, 16, 0}, {16, thread % 17, 1}, {32, 4, 2}, {36, thread % 5, 2}, {40, thread % 9, 2}};
    int c = 0;
    while (c + 1 < OT_COUNT(copy) && i >= copy[c + 1].first)
        c++;
    return copy[c].group >= groups ? POISON : i < copy[c].first + copy[c].bytes ? in[i] : 0;
}

static void test_copies(void **state)
{
    (void)state;
    static uint8_t in[THREADS][48], out[3][THREADS][48];
    fill(in[0], sizeof in, 8);
    run("copies", (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(out)}, 2);
    for (int moment = 0; moment < 3; moment++)
        for (int thread = 0; thread < THREADS; thread++)
            for (int i = 0; i < 48; i++)
                assert_int_equal(out[moment][thread][i],
                                 copied(in[thread], thread, i, moment + 1));
}

/* ---- CUDA -------------------------------------------------------------------------------- */

static void test_cuda(void **state)
{
    (void)state;
    words_compile_cuda("cuda -arch=sm_80", files);
    words_compile_cuda("cuda -arch=sm_90", files);
    words_compile_cuda("cuda -arch=sm_90a", files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices), cmocka_unit_test(test_products),
        cmocka_unit_test(test_tf32),     cmocka_unit_test(test_copies),
        cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
