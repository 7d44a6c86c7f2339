/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float32 products whose threads have 64 sums and more, which load fragments steps ahead of their
 * use where a CUDA architecture is named: partial edges on all sides, one tile and many, one stage
 * and two, loops over a tile's depth, depth that slices and blocks share, operands that lie either
 * way. On the emulated target: plain OpenCL has other code, and contract tests' samples are too
 * small to have such threads. And which of them have the registers.
 */
#include "support/assumed.h"
#include "support/check.h"
#include "support/one_config.h"

enum { MOST_KNOBS = 12 };

typedef struct knobs {
    struct {
        const char *name;
        int64_t value;
    } knob[MOST_KNOBS];
} knobs;

static void set(optune_config *config, const optune_space *space, const void *knobs_)
{
    const knobs *k = knobs_;
    for (int i = 0; i < MOST_KNOBS && k->knob[i].name; i++)
        optune_config_choose_int(config, space, k->knob[i].name, k->knob[i].value);
}

#define BLOCK(m, n, k)                                                                         \
    {"block_m", m}, {"block_n", n},                                                            \
    {                                                                                          \
        "block_k", k                                                                           \
    }
#define THREAD(m, n)                                                                           \
    {"thread_m", m},                                                                           \
    {                                                                                          \
        "thread_n", n                                                                          \
    }
#define STAGES(n)                                                                              \
    {                                                                                          \
        "stages", n                                                                            \
    }
#define UNROLL(n)                                                                              \
    {                                                                                          \
        "unroll_k", n                                                                          \
    }
#define LANES(n)                                                                               \
    {                                                                                          \
        "lanes_n", n                                                                           \
    }
#define SPLITS(n)                                                                              \
    {                                                                                          \
        "splits", n                                                                            \
    }

static void test_tiles(void **state)
{
    (void)state;
    static const char odd[] = "dense(f32[34,44], f32[69,44], f32[69])";
    static const char uneven[] = "dense(f32[34,46], f32[69,46], f32[69])";
    static const char tall[] = "dense(f32[66,44], f32[35,44])";
    static const char deep[] = "dense(f32[35,140], f32[36,140])";
    static const char whole[] = "dense(f32[64,48], f32[128,48])";
    static const char one[] = "dense(f32[33,8], f32[66,8])";
    static const char along[] =
        "batch_matmul(f32[2,44,36], f32[2,44,68], transpose_a=true, transpose_b=false)";
    static const char rows[] = "batch_matmul(f32[2,36,36], f32[1,40,36])";
    static const char few[] = "dense(f32[13,136], f32[72,136])";
    static const char conv[] = "conv2d(f32[1,24,9,11], f32[35,24,3,3], padding=[1])";
    static const char wide[] = "conv2d(f32[1,20,7,6], f32[68,20,3,3], padding=[1])";
    static const char taps[] =
        "conv2d(f32[2,20,6,9], f32[66,20,3,2], strides=[2,1], padding=[1,0,0,1])";
    static const char padded[] = "conv2d(f32[1,31,10,8], f32[34,31,1,2])";
    static const char points[] = "conv2d(f32[1,40,8,12], f32[36,40,1,1])";
    static const char levels[] =
        "dense_nbits(f32[70,72], u8[67,36], f32[67,9], bits=4, group=8)";
    static const char halves[] = "dense_nbits(bf16[65,56], i8[66,56], bf16[66,1], bits=8)";
    static const char shifted[] =
        "dense_nbits(f32[33,40], u8[36,20], f32[36,5], u8[36,5], bits=4, group=8)";
    static const struct {
        const char *impl, *workload;
        knobs k;
    } table[] = {
        {"dense_tile.gpu",
         odd,
         {{BLOCK(64, 128, 8), THREAD(8, 16), STAGES(1), UNROLL(32), LANES(8), SPLITS(1)}}},
        {"dense_tile.gpu",
         tall,
         {{BLOCK(128, 64, 16), THREAD(16, 8), STAGES(2), UNROLL(4), LANES(4), SPLITS(1)}}},
        {"dense_tile.gpu",
         deep,
         {{BLOCK(64, 64, 32), THREAD(8, 8), STAGES(2), UNROLL(8), LANES(4), SPLITS(2)}}},
        {"dense_tile.gpu",
         whole,
         {{BLOCK(64, 128, 8), THREAD(8, 16), STAGES(1), UNROLL(32), LANES(8), SPLITS(1)}}},
        {"dense_tile.gpu",
         one,
         {{BLOCK(64, 64, 8), THREAD(8, 8), STAGES(1), UNROLL(1), LANES(4), SPLITS(1)}}},
        {"dense_tile.gpu",
         whole,
         {{BLOCK(64, 128, 8), THREAD(8, 16), STAGES(1), UNROLL(1), LANES(8), SPLITS(1)}}},
        {"batch_matmul_tile.gpu",
         along,
         {{BLOCK(64, 64, 16), THREAD(8, 8), STAGES(1), UNROLL(4), LANES(8), SPLITS(1)}}},
        {"batch_matmul_tile.gpu",
         rows,
         {{BLOCK(64, 64, 8), THREAD(8, 8), STAGES(2), UNROLL(32), LANES(4), SPLITS(1)}}},
        {"dense_skinny.gpu",
         few,
         {{BLOCK(16, 64, 64),
           THREAD(8, 8),
           STAGES(2),
           UNROLL(32),
           LANES(4),
           SPLITS(1),
           {"slices", 8}}}},
        {"dense_skinny.gpu",
         few,
         {{BLOCK(16, 128, 32),
           THREAD(8, 8),
           STAGES(1),
           UNROLL(4),
           LANES(4),
           SPLITS(2),
           {"slices", 4}}}},
        {"dense_ring.cuda",
         odd,
         {{BLOCK(64, 128, 8), THREAD(16, 8), STAGES(4), LANES(4), SPLITS(1)}}},
        {"dense_ring.cuda",
         deep,
         {{BLOCK(64, 64, 16), THREAD(8, 8), STAGES(3), LANES(4), SPLITS(4)}}},
        {"dense_ring.cuda",
         one,
         {{BLOCK(64, 128, 8), THREAD(8, 16), STAGES(5), LANES(8), SPLITS(1)}}},
        {"dense_ring.cuda",
         uneven,
         {{BLOCK(64, 64, 8), THREAD(8, 8), STAGES(3), LANES(8), SPLITS(1)}}},
        {"dense_ring.cuda",
         odd,
         {{BLOCK(32, 64, 16), THREAD(2, 4), STAGES(3), LANES(8), SPLITS(1)}}},
        {"dense_ring.cuda",
         deep,
         {{BLOCK(32, 32, 32), THREAD(4, 2), STAGES(3), LANES(4), SPLITS(2)}}},
        {"dense_skinny_ring.cuda",
         few,
         {{BLOCK(16, 64, 64),
           THREAD(16, 8),
           {"stages", 3},
           LANES(4),
           SPLITS(1),
           {"slices", 8}}}},
        {"dense_skinny_ring.cuda",
         few,
         {{BLOCK(16, 128, 32), THREAD(8, 8), STAGES(2), LANES(4), SPLITS(2), {"slices", 2}}}},
        {"dense_skinny_ring.cuda",
         "dense(f32[34,106], f32[69,106], f32[69])",
         {{BLOCK(64, 64, 32), THREAD(8, 8), STAGES(4), LANES(4), SPLITS(1), {"slices", 4}}}},
        {"batch_matmul_skinny_ring.cuda",
         along,
         {{BLOCK(64, 64, 32), THREAD(16, 8), STAGES(3), LANES(4), SPLITS(1), {"slices", 2}}}},
        {"batch_matmul_ring.cuda",
         along,
         {{BLOCK(64, 64, 8), THREAD(8, 8), STAGES(4), LANES(4), SPLITS(1)}}},
        {"conv2d_implicit_gemm.gpu",
         conv,
         {{BLOCK(64, 64, 8), THREAD(8, 8), STAGES(2), UNROLL(8), {"split_k", 1}}}},
        {"conv2d_implicit_gemm.gpu",
         taps,
         {{BLOCK(64, 128, 8), THREAD(8, 16), STAGES(1), UNROLL(4), {"split_k", 2}}}},
        {"conv2d_implicit_gemm.gpu",
         padded,
         {{BLOCK(64, 64, 32), THREAD(8, 8), STAGES(1), UNROLL(8), {"split_k", 1}}}},
        {"conv2d_implicit_gemm.gpu",
         points,
         {{BLOCK(128, 64, 16), THREAD(16, 8), STAGES(2), UNROLL(8), {"split_k", 1}}}},
        {"conv2d_winograd.gpu",
         conv,
         {{{"tile", 2}, BLOCK(32, 64, 8), THREAD(8, 8), STAGES(2), UNROLL(4)}}},
        {"conv2d_winograd.gpu",
         wide,
         {{{"tile", 2}, BLOCK(16, 128, 8), THREAD(4, 16), STAGES(1), UNROLL(4)}}},
        {"dense_nbits_tile.gpu", levels, {{BLOCK(64, 64, 16), THREAD(8, 8), UNROLL(4)}}},
        {"dense_nbits_tile.gpu", halves, {{BLOCK(128, 64, 32), THREAD(8, 8), UNROLL(8)}}},
        {"dense_nbits_tile.gpu", shifted, {{BLOCK(64, 64, 8), THREAD(8, 8), UNROLL(4)}}},
    };
    static workbench b;
    if (!workbench_find(&b, "emulated -arch=sm_80"))
        skip();
    workbench_start(&b);
    for (int i = 0; i < OT_COUNT(table); i++)
        if (workbench_wants(table[i].impl))
            one_config_compute(&b, table[i].workload,
                               &(one_config){table[i].impl, set, &table[i].k});
    workbench_close(&b);
}

/* ---- registers --------------------------------------------------------------------------- */

/* Beside each config what ptxas spilled of it: what lost more than a few is refused, what lost
 * nothing is not. */
static void test_registers(void **state)
{
    (void)state;
    static const char dense[] = "dense(f32[4096,4096], f32[4096,4096])";
    static const char conv[] = "conv2d(f32[32,256,28,28], f32[256,256,3,3], padding=[1])";
    static const char bytes[] = "quantized_conv2d(u8[32,28,28,48], i8[256,48,3,3], i32[256], "
                                "f32[256], padding=[1])";
    static const char whole_taps[] = "quantized_conv2d(u8[32,28,28,256], i8[256,256,3,3], "
                                     "i32[256], f32[256], padding=[1])";
    static const struct {
        const char *target, *impl, *workload;
        knobs k;
        bool fits;
    } table[] = {
        {"cuda -arch=sm_90", /* 360 bytes */
         "dense_tile.gpu",
         dense,
         {{BLOCK(128, 256, 32),
           THREAD(8, 8),
           STAGES(1),
           UNROLL(32),
           LANES(4),
           {"resident", 1}}},
         false},
        {"cuda -arch=sm_90", /* 516 */
         "dense_tile.gpu",
         dense,
         {{BLOCK(64, 256, 16), THREAD(4, 16), STAGES(2), UNROLL(4), LANES(4), {"resident", 2}}},
         false},
        {"cuda -arch=sm_80", /* 448 */
         "dense_tile.gpu",
         dense,
         {{BLOCK(256, 64, 16), THREAD(16, 4), STAGES(2), UNROLL(8), LANES(4), {"resident", 2}}},
         false},
        {"cuda -arch=sm_80", /* 160; half of the threads have no vector of x */
         "dense_tile.gpu",
         dense,
         {{BLOCK(128, 256, 8), THREAD(4, 16), STAGES(2), UNROLL(4), LANES(4), {"resident", 1}}},
         false},
        {"cuda -arch=sm_90", /* 164 */
         "dense_tile.gpu",
         dense,
         {{BLOCK(128, 256, 8), THREAD(4, 8), STAGES(1), UNROLL(32), LANES(4), {"resident", 1}}},
         false},
        {"cuda -arch=sm_90",
         "dense_tile.gpu",
         dense,
         {{BLOCK(128, 256, 8), THREAD(8, 8), STAGES(1), UNROLL(32), LANES(4), {"resident", 1}}},
         true},
        {"cuda -arch=sm_90",
         "dense_tile.gpu",
         dense,
         {{BLOCK(128, 128, 8), THREAD(16, 4), STAGES(2), UNROLL(8), LANES(4), {"resident", 2}}},
         true},
        {"cuda -arch=sm_90",
         "dense_tile.gpu",
         dense,
         {{BLOCK(64, 64, 16), THREAD(16, 8), STAGES(1), UNROLL(4), LANES(4), {"resident", 2}}},
         true},
        {"cuda -arch=sm_90", /* 84 */
         "dense_ring.cuda",
         dense,
         {{BLOCK(128, 128, 8), THREAD(8, 8), STAGES(4), LANES(4), {"resident", 2}}},
         false},
        {"cuda -arch=sm_80",
         "dense_ring.cuda",
         dense,
         {{BLOCK(128, 128, 32), THREAD(8, 8), STAGES(4), LANES(4), {"resident", 2}}},
         true},
        {"cuda -arch=sm_90", /* 500 */
         "conv2d_implicit_gemm.gpu",
         conv,
         {{BLOCK(256, 128, 32), THREAD(16, 4), STAGES(2), UNROLL(8), {"split_k", 1}}},
         false},
        {"cuda -arch=sm_90",
         "conv2d_implicit_gemm.gpu",
         conv,
         {{BLOCK(128, 256, 8), THREAD(4, 16), STAGES(2), UNROLL(4), {"split_k", 1}}},
         true},
        {"cuda -arch=sm_80", /* 536; eight chunks of pixels, each in a tap of its own */
         "quantized_conv2d_tile.gpu",
         bytes,
         {{BLOCK(128, 32, 8), THREAD(16, 8), STAGES(1), UNROLL(8), {"split_k", 1}}},
         false},
        {"cuda -arch=sm_80", /* all in one tap */
         "quantized_conv2d_tile.gpu",
         whole_taps,
         {{BLOCK(128, 32, 8), THREAD(16, 8), STAGES(1), UNROLL(8), {"split_k", 1}}},
         true},
        {"cuda -arch=sm_80",
         "quantized_conv2d_tile.gpu",
         bytes,
         {{BLOCK(128, 128, 8), THREAD(8, 16), STAGES(1), UNROLL(8), {"split_k", 1}}},
         true},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        char why[OPTUNE_WHY_SIZE] = "";
        assume(table[i].target, table[i].workload);
        const one_config c = {table[i].impl, set, &table[i].k};
        if (one_config_valid(&c, why) != table[i].fits)
            fail_msg("%s, row %d: %s", table[i].impl, i, why);
        if (!table[i].fits)
            check_contains(why, "registers in a ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registers),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
