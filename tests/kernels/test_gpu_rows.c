/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU rows refuse by arithmetic, each limit from both sides, and that conv2d_nchw.cuda's
 * space is AutoTVM's: an index of one of its logs denotes the entity that the log names. Needs
 * no device.
 */
#include "support/check.h"

#include "kernels/host/gpu_limits.h"
#include "strategy/strategy.h"
#include "support/assumed.h"
#include "target/gpu.h"

/* The row's arithmetic and the launch's must agree. */
static void check_fits(bool fits, int64_t x, int64_t y, int64_t z, int64_t shared,
                       int64_t registers)
{
    char why[OPTUNE_WHY_SIZE] = "";
    optune_err err = {0};
    const int64_t block[3] = {x, y, z};
    const optune_stage stage = {.function = "f", .block = {x, y, z}, .shared = shared};
    assert_int_equal(gpu_fits(&assumed.task, block, shared, registers, why), fits);
    assert_int_equal(why[0] == '\0', fits);
    if (registers <= 32)
        assert_int_equal(ot_gpu_check_launch(&assumed.device, &stage, &err) >= 0, fits);
}

static void test_limits(void **state)
{
    (void)state;
    check_fits(true, 1024, 1, 1, 0, 32);
    check_fits(false, 1025, 1, 1, 0, 32);
    check_fits(true, 32, 32, 1, 0, 32);
    check_fits(false, 32, 33, 1, 0, 32);
    check_fits(true, 1, 1, 64, 0, 32);
    check_fits(false, 1, 1, 65, 0, 32);
    check_fits(true, 32, 1, 1, 166912, 32);
    check_fits(false, 32, 1, 1, 166913, 32);
    check_fits(true, 128, 1, 1, 0, 255);
    check_fits(false, 128, 1, 1, 0, 256);
    check_fits(true, 512, 1, 1, 0, 128);
    check_fits(false, 512, 1, 1, 0, 129);
}

static void test_capability(void **state)
{
    (void)state;
    char why[OPTUNE_WHY_SIZE];
    assert_true(gpu_is_cuda(&assumed.task, 80, why));
    assert_false(gpu_is_cuda(&assumed.task, 90, why));
    check_contains(why, "9.0");
    const optune_device cpu = {.warp = 0}, opencl = {.warp = 32};
    const optune_impl *gpu_body = ot_impl_find("dense_tile.gpu");
    const optune_impl *cpu_body = ot_impl_find("dense_gemm.cpu");
    assert_true(ot_impl_runs_on(gpu_body, &opencl, why));
    assert_false(ot_impl_runs_on(gpu_body, &cpu, why));
    assert_true(ot_impl_runs_on(cpu_body, &cpu, why));
    assert_false(ot_impl_runs_on(cpu_body, &opencl, why));
    const optune_task on_opencl = {&assumed.call, &assumed.target, &opencl};
    assert_false(gpu_is_cuda(&on_opencl, 70, why));
}

/* Two lines of TVM's cuda logs: a 1x1 and a 3x3 convolution. */
static void test_autotvm_indices(void **state)
{
    (void)state;
    static const struct {
        const char *call, *config;
        int64_t index;
    } line[] = {
        {"conv2d(f32[1,2048,8,8], f32[192,2048,1,1])",
         "[[\"tile_f\",\"sp\",[6,1,32,1]],[\"tile_y\",\"sp\",[4,1,2,1]],"
         "[\"tile_x\",\"sp\",[1,1,8,1]],[\"tile_rc\",\"sp\",[64,32]],"
         "[\"tile_rx\",\"sp\",[1,1]],[\"tile_ry\",\"sp\",[1,1]],"
         "[\"auto_unroll_max_step\",\"ot\",1500],[\"unroll_explicit\",\"ot\",1]]",
         8797896},
        {"conv2d(f32[1,2048,8,8], f32[448,2048,1,1])",
         "[[\"tile_f\",\"sp\",[-1,2,8,1]],[\"tile_y\",\"sp\",[2,2,2,1]],"
         "[\"tile_x\",\"sp\",[-1,1,8,1]],[\"tile_rc\",\"sp\",[64,32]],"
         "[\"tile_rx\",\"sp\",[1,1]],[\"tile_ry\",\"sp\",[1,1]],"
         "[\"auto_unroll_max_step\",\"ot\",0],[\"unroll_explicit\",\"ot\",0]]",
         734204},
    };
    const optune_impl *impl = ot_impl_find("conv2d_nchw.cuda");
    assert_non_null(impl);
    for (int i = 0; i < OT_COUNT(line); i++) {
        optune_err err = {0};
        optune_space *space;
        optune_config config, nth;
        optune_plan plan;
        char why[OPTUNE_WHY_SIZE] = "";
        assume(NULL, line[i].call);
        check_ok(ot_space_open(&assumed.task, impl, &space, &err));
        check_ok(ot_config_parse(line[i].config, &config, &err));
        check_ok(ot_space_index_of(space, &config, &err));
        assert_int_equal(config.index, line[i].index);
        ot_space_nth(space, line[i].index, &nth);
        assert_true(ot_config_equal(&config, &nth));
        assert_true(ot_space_valid(space, &config, why));
        check_ok(ot_plan_make(&assumed.task, impl, &config, &plan, &err));
        const int64_t *f = optune_config_split(&config, "tile_f");
        assert_int_equal(plan.stage[0].block[2], f[2]);
        assert_int_equal(plan.stage[0].grid[2], f[0]);
        ot_space_close(space);
    }
}

/* Where a device lacks doubles, no implementation takes a call with one, whatever its row asks. */
static void test_no_float64(void **state)
{
    (void)state;
    const optune_device with = {.name = "g", .warp = 32},
                        without = {.name = "g", .warp = 32, .no_float64 = true};
    const optune_task tasks[] = {{&assumed.call, &assumed.target, &with},
                                 {&assumed.call, &assumed.target, &without}};
    int n, refused = 0, taken = 0;
    const optune_impl *const *impl = ot_impls(&n);
    for (int i = 0; i < n; i++)
        for (const char *const *sample = ot_op_find(impl[i]->op)->samples; *sample; sample++) {
            char why[OPTUNE_WHY_SIZE] = "";
            assume(NULL, *sample);
            if (!ot_impl_applies(impl[i], &tasks[0], NULL))
                continue;
            const bool doubles = strstr(*sample, "f64") || strstr(*sample, "float64");
            const bool applies = ot_impl_applies(impl[i], &tasks[1], why);
            if (applies == doubles)
                fail_msg("%s %s: %s", impl[i]->name, *sample, why);
            if (doubles)
                check_contains(why, "g has no float64");
            refused += doubles;
            taken += !doubles;
        }
    assert_true(refused > 50 && taken > 50);
}

static bool product_applies(const char *name, const char *text)
{
    assume(NULL, text);
    return ot_impl_applies(ot_impl_find(name), &assumed.task, NULL);
}

/* Matrix products, each condition from both sides. */
static void test_products(void **state)
{
    (void)state;
    assert_true(product_applies("dense_gemv.gpu", "dense(f32[16,64], f32[8,64])"));
    assert_false(product_applies("dense_gemv.gpu", "dense(f32[17,64], f32[8,64])"));
    assert_true(product_applies("dense_skinny.gpu", "dense(f32[64,64], f32[8,64])"));
    assert_false(product_applies("dense_skinny.gpu", "dense(f32[65,64], f32[8,64])"));
    assert_true(product_applies("dense_tile.gpu", "dense(f32[?m:1..64,64], f32[8,64])"));
    assert_false(product_applies("dense_tile.gpu", "dense(f32[?m:0..64,64], f32[8,64])"));
    assert_false(product_applies("dense_tile.gpu", "dense(f32[4,?k:1..64], f32[8,?k:1..64])"));
    const char *const gemv = "batch_matmul_gemv.gpu", *const tile = "batch_matmul_tile.gpu";
    assert_true(product_applies(gemv, "batch_matmul(f32[2,1,64], f32[2,8,64])"));
    assert_false(
        product_applies(gemv, "batch_matmul(f32[2,1,64], f32[2,64,8], transpose_b=false)"));
    assert_true(product_applies(tile, "batch_matmul(f32[65535,1,4], f32[65535,1,4])"));
    assert_false(product_applies(tile, "batch_matmul(f32[65536,1,4], f32[65536,1,4])"));

    const char *const call_2048 = "dense(f32[2048,2048], f32[2048,2048])";
    const char *const skinny = "dense(f32[32,4096], f32[1024,4096])";
    check_takes("dense_tile.gpu", call_2048, "block_m", 128);
    check_takes("dense_tile.gpu", call_2048, "splits", 16);
    check_refuses("dense_tile.gpu", "dense(f32[2048,64], f32[2048,64])", "splits", 16,
                  "less than two steps of depth");
    check_refuses("dense_tile.gpu", call_2048, "thread_n", 1, "2048 threads");
    check_refuses("dense_tile.gpu", "dense(f32[32,64], f32[64,64])", "block_m", 128,
                  "outside the output");
    check_refuses("dense_tile.gpu", "dense(f32[64,8], f32[64,8])", "block_k", 32,
                  "outside the depth");
    check_takes("dense_tile.gpu", call_2048, "resident", 2);
    check_refuses("dense_tile.gpu", "dense(f64[2048,2048], f64[2048,2048])", "resident", 2,
                  "too many for 2 blocks");
    static const char pool[] = "global_avg_pool2d(f32[2,3,2,2])";
    check_takes("global_avg_pool2d_block.gpu", pool, NULL, 0);
    check_takes("global_avg_pool2d_block.gpu", pool, "across", 32);
    check_refuses("global_avg_pool2d_block.gpu", pool, "across", 16, "less than a warp");
    check_takes("dense_skinny.gpu", skinny, "block_m", 32);
    check_refuses("dense_skinny.gpu", "dense(f32[8,8], f32[64,8])", "slices", 16,
                  "more slices than depth");
}

/* The plevel of the row of dense_mma.cuda that takes a call, 0 where none does; and whether it
 * applies, on an architecture. */
static int mma_plevel(const char *arch, const char *text)
{
    const optune_impl *impl = ot_impl_find("dense_mma.cuda");
    char why[OPTUNE_WHY_SIZE] = "";
    int plevel = 0;
    assume(arch, text);
    if (!impl->applies(&assumed.task, why)) {
        assert_true(why[0]);
        return 0;
    }
    for (const optune_strategy_row *row = optune_strategy_of("dense", "gpu")->rows; row->impl;
         row++)
        if (!strcmp(row->impl, impl->name) && row->condition(&assumed.task, why)) {
            assert_int_equal(plevel, 0); /* one row only */
            plevel = row->plevel;
        }
    return plevel;
}

/* Relay's condition decides how tensor cores are preferred, types and the device whether. */
static void test_tensor_cores(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *call;
        int plevel;
    } table[] = {
        {"cuda -arch=sm_80", "dense(f16[16,64], f16[16,64])", 20},
        {"cuda -arch=sm_80", "dense(f16[8,64], f16[32,64])", 20},
        {"cuda -arch=sm_80", "dense(f16[32,64], f16[8,64])", 20},
        {"cuda -arch=sm_80", "dense(f16[8,64], f16[16,64])", 9},
        {"cuda -arch=sm_80", "dense(f16[16,64], f16[24,64])", 9},
        {"cuda -arch=sm_80", "dense(f16[16,24], f16[16,24])", 9},
        {"cuda -arch=sm_75", "dense(f16[16,64], f16[16,64])", 0},
        {"cuda -arch=sm_90", "dense(bf16[16,64], bf16[16,64], out_dtype=f32)", 20},
        {"cuda -arch=sm_80", "dense(bf16[16,64], bf16[16,64], out_dtype=f16)", 0},
        {"cuda -arch=sm_80", "dense(i8[16,64], i8[16,64], out_dtype=i32)", 20},
        {"cuda -arch=sm_80", "dense(f32[16,64], f32[16,64], math=tf32)", 20},
        {"cuda -arch=sm_80", "dense(f32[16,64], f32[16,64])", 0},
        {"cuda -arch=sm_80", "dense(f64[16,64], f64[16,64], math=tf32)", 0},
    };
    for (int i = 0; i < OT_COUNT(table); i++)
        if (mma_plevel(table[i].arch, table[i].call) != table[i].plevel)
            fail_msg("%s on %s is not of plevel %d", table[i].call, table[i].arch,
                     table[i].plevel);
}

/* 16-bit floats are moved in vectors of 16 bytes, as other types are. */
static void test_half_floats(void **state)
{
    (void)state;
    check_takes("add_grid.gpu", "add(bf16[64,64], bf16[64])", "vector", 8);
    check_refuses("add_grid.gpu", "add(f32[64,64], f32[64])", "vector", 8, "allow 4");
    check_takes("cast_grid.gpu", "cast(f16[64], dtype=f32)", "vector", 4);
    check_takes("sum_block.gpu", "sum(f16[64,512], axis=[1])", "vector", 8);
    check_takes("max_across.gpu", "max(bf16[512,512], axis=[0])", "vector", 8);
    check_refuses("sum_block.gpu", "sum(f32[64,512], axis=[1])", "vector", 8, "allow 4");
    check_takes("softmax_team.gpu", "softmax(bf16[64,4096])", "vector", 8);
    check_takes("softmax_across.gpu", "softmax(f16[64,64], axis=0)", NULL, 0);
    check_takes("max_pool2d_window.gpu", "max_pool2d(f16[1,2,8,8], pool_size=[2,2])", NULL, 0);
    check_takes("avg_pool2d_window.gpu", "avg_pool2d(bf16[1,2,8,8], pool_size=[2,2])", "each",
                4);
    check_takes("global_avg_pool2d_block.gpu", "global_avg_pool2d(f16[8,512,8,8])", "vector",
                8);
}

/* What is bound by memory is untuned as wide as it can be, and leaves no thread idle. */
static void test_untuned(void **state)
{
    (void)state;
    assert_int_equal(untuned("sum_block.gpu", "sum(f16[4194304,16], axis=[1])", "team"), 1);
    assert_int_equal(untuned("sum_block.gpu", "sum(f32[65536,64], axis=[1])", "team"), 16);
    assert_int_equal(untuned("sum_block.gpu", "sum(f32[65536,63], axis=[1])", "team"), 32);
    assert_int_equal(untuned("sum_block.gpu", "sum(f32[8192,8192], axis=[1])", "team"), 256);
    static const char lines[] = "gather(f32[4096,4096], i32[4096,4096], axis=-1)";
    static const char few[] = "gather(f32[4096,4096], i32[4096,64], axis=-1)";
    static const char rows[] = "gather(f32[300,4096], i32[300,4096], axis=0)";
    static const char rare[] = "gather(f32[300,4096], i32[30,4096], axis=0)";
    static const char high[] = "gather(f32[8192,4096], i32[8192,4096], axis=0)";
    assert_int_equal(untuned("gather_lines.gpu", lines, "shared"), 1);
    assert_int_equal(untuned("gather_lines.gpu", few, "shared"), 0);
    assert_int_equal(untuned("gather_lines.gpu", rows, "shared"), 1);
    assert_int_equal(untuned("gather_lines.gpu", rare, "shared"), 0);
    assert_int_equal(untuned("gather_lines.gpu", high, "shared"), 0);
    check_refuses("gather_lines.gpu", few, "lanes", 256, "outside a line");
    static const char down[] = "cumsum(f32[8192,4096], axis=0)";
    assert_int_equal(untuned("cumsum_lookback_across.cuda", down, "each"), 32);
    static const char less[] = "cumsum(f32[1024,256], axis=0)";
    assert_int_equal(untuned("cumsum_lookback_across.cuda", less, "each"), 16);
    static const char seven[] =
        "conv2d(f32[32,96,111,113], f32[96,1,7,7], padding=[3], groups=96)";
    assert_int_equal(untuned("depthwise_conv2d_staged.gpu", seven, "down"), 4);
    assert_int_equal(untuned("depthwise_conv2d_staged.gpu", seven, "each"), 7);
    check_refuses("depthwise_conv2d_staged.gpu",
                  "conv2d(bf16[1,8,9,9], bf16[8,1,3,3], groups=8)", NULL, 0, "needs float32");
    check_refuses("depthwise_conv2d_mma.cuda",
                  "conv2d(bf16[1,8,9,9], bf16[8,1,3,3], strides=[2], groups=8)", NULL, 0,
                  "strides and dilation of 1");
    check_refuses("depthwise_conv2d_mma.cuda",
                  "conv2d(bf16[1,8,29,29], bf16[8,1,11,11], padding=[5], groups=8)", NULL, 0,
                  "more than 4 columns to a side");
    static const char strips[] = "depthwise_conv2d_strips.gpu";
    static const char plain[] =
        "conv2d(f32[32,64,56,56], f32[64,1,3,3], padding=[1], groups=64)";
    static const char half[] =
        "conv2d(bf16[32,64,56,56], bf16[64,1,3,3], padding=[1], groups=64)";
    static const char odd[] = "conv2d(f32[32,64,57,57], f32[64,1,3,3], padding=[1], groups=64)";
    assert_int_equal(untuned(strips, plain, "wide"), 4);
    assert_int_equal(untuned(strips, half, "wide"), 8);
    assert_int_equal(untuned(strips, odd, "wide"), 1);
    assert_int_equal(untuned(strips, plain, "each"), 4);
    check_refuses(strips, plain, "wide", 8, "16 bytes");
    check_refuses(strips, odd, "wide", 2, "rows of 57");
    check_refuses(strips,
                  "conv2d(f32[8,64,64,64], f32[64,1,3,3], padding=[100], dilation=[100], "
                  "groups=64)",
                  NULL, 0, "201 x 201 are too large to unroll");
    check_refuses(strips, "conv2d(f32[1,8,9,9], f32[8,4,3,3], groups=2)", NULL, 0,
                  "not depthwise");
}

/* Memory adds what it can, on CUDA. */
static void test_added_by_memory(void **state)
{
    (void)state;
    static const char add[] = "scatter_add_atomic.cuda";
    static const char bytes[] = "scatter_add(i8[6,65], i64[6,7], i8[6,7], axis=1)";
    check_takes(add, "scatter_add(f32[19,37], i64[50,37], f32[50,37])", NULL, 0);
    check_takes(add, "scatter_add(bf16[19,37], i32[50,37], bf16[50,37])", "each", 4);
    check_refuses(add, bytes, NULL, 0, "no such type");
    static const char many[] = "scatter_add(f32[50257,768], i64[8192,768], f32[8192,768])";
    assert_int_equal(untuned(add, many, "each"), 4);
    /* In slabs where the cache holds them, but not all, and where much is added. */
    static const char few[] =
        "scatter_add(f32[1,30522,768], i64[1,128,768], f32[1,128,768], axis=1)";
    static const char halves[] = "scatter_add(bf16[50257,768], i64[8192,768], bf16[8192,768])";
    assumed.device.l2 = 50 << 20;
    assert_int_equal(untuned(add, many, "slabs"), 12);
    assert_int_equal(untuned(add, halves, "slabs"), 8);
    assert_int_equal(untuned(add, few, "slabs"), 1);
    assumed.device.l2 = 200 << 20;
    assert_int_equal(untuned(add, halves, "slabs"), 1);
    assumed.device.l2 = 0;
    check_takes(add, "scatter_add(f32[29,52], i64[31,52], f32[31,52])", "slabs", 8);
    check_takes(add, "scatter_add(i64[9,3,5], i64[9,2,5], i64[9,2,5], axis=1)", "slabs", 2);
    check_refuses(add, "scatter_add(f32[19,37], i64[50,37], f32[50,37])", "slabs", 2,
                  "1 slabs");
    check_refuses(add, "scatter_add(f32[29,52], i64[0,52], f32[0,52])", "slabs", 2,
                  "no updates");
}

/* Narrow types move in words of 4 bytes, and a tile is long where it cannot be wide. */
static void test_narrow(void **state)
{
    (void)state;
    const int cores = (int)assumed.device.cores;
    static const char move[] = "transpose_tiled.gpu";
    static const char bytes[] = "transpose(i8[8192,8192])",
                      odd_bytes[] = "transpose(i8[99,8192])";
    assert_int_equal(untuned(move, bytes, "pack"), 4);
    assert_int_equal(untuned(move, bytes, "tile"), 128);
    assert_int_equal(untuned(move, "transpose(bf16[8192,8192])", "pack"), 2);
    assert_int_equal(untuned(move, "transpose(f32[8192,8192])", "pack"), 1);
    assert_int_equal(untuned(move, odd_bytes, "pack"), 1);
    check_takes(move, "transpose(f32[64,64])", "pack", 2);
    check_refuses(move, "transpose(f32[64,64])", "pack", 4, "8 bytes");
    check_refuses(move, odd_bytes, "pack", 2, "pieces allow 1");
    static const char blocked[] =
        "layout_transform(f32[32,64,112,112], src_layout=NCHW, dst_layout=NCHW16c)";
    assert_int_equal(untuned("layout_transform_tiled.gpu", blocked, "tile"), 32);
    assert_int_equal(untuned("layout_transform_tiled.gpu", blocked, "threads"), 256);
    assumed.device.cores = 132;
    assert_int_equal(untuned("max_across.gpu", "max(i8[8192,16384], axis=[0])", "vector"), 4);
    assert_int_equal(untuned("max_across.gpu", "max(i8[8192,16384], axis=[0])", "unroll"), 8);
    assert_int_equal(untuned("max_across.gpu", "max(bf16[8192,8192], axis=[0])", "vector"), 2);
    assert_int_equal(untuned("max_across.gpu", "max(f32[8192,8192], axis=[0])", "vector"), 1);
    assumed.device.cores = cores;
}

/* Whether the first row whose implementation has this in its name takes a call. */
static bool prefers(const char *name, const char *text)
{
    assume(NULL, text);
    const optune_strategy *all = optune_strategy_of(assumed.call.op->name, "gpu");
    const optune_strategy_row *row = all->rows;
    while (!strstr(row->impl, name))
        row++;
    return row->condition(&assumed.task, NULL);
}

static bool odd(const char *text)
{
    return prefers("_linear.gpu", text);
}

/* Moves go along the output where its rows are no whole vectors. */
static void test_odd_rows(void **state)
{
    (void)state;
    assert_true(odd("pad(f32[32,64,112,112], before=[0,0,1,1], after=[0,0,1,1])"));
    assert_false(odd("pad(f32[32,64,112,112], before=[0,0,4,4], after=[0,0,4,4])"));
    assert_true(odd("concatenate(bf16[262144,65], bf16[262144,63], axis=1)"));
    assert_false(odd("concatenate(bf16[262144,64], bf16[262144,64], axis=1)"));
    check_takes("pad_linear.gpu", "pad(bf16[8,9], before=[1,1], after=[0,2])", "vector", 8);
    check_refuses("pad_linear.gpu", "pad(f32[8,9], before=[1,1], after=[0,2])", "vector", 8,
                  "16 bytes");
    static const char columns[] = "take(f32[64,3,256,256], i32[256], axis=-1)";
    assert_int_equal(untuned("take_rows.gpu", columns, "flat"), 1);
    assert_int_equal(untuned("take_rows.gpu", "take(f32[100000,33], i64[262144])", "flat"), 1);
    assert_int_equal(untuned("take_rows.gpu", "take(f32[50257,768], i64[16384])", "flat"), 0);
    check_refuses("take_rows.gpu", columns, "lanes", 4, "no threads belong to a slice");
}

/* Short rows that are no whole vectors, and rows that no registers hold, go through shared
 * memory. */
static void test_staged(void **state)
{
    (void)state;
    static const char sums[] = "sum(f32[1048576,49], axis=[1])";
    static const char planes[] = "global_avg_pool2d(f32[256,2048,7,7])";
    assert_true(prefers("staged.gpu", sums));
    assert_true(prefers("staged.gpu", "max(bf16[1048576,127], axis=[1])"));
    assert_false(prefers("staged.gpu", "sum(f32[1048576,48], axis=[1])"));
    assert_false(prefers("staged.gpu", "sum(f32[1048576,3], axis=[1])"));
    assert_false(prefers("staged.gpu", "sum(f32[64,49], axis=[1])"));
    assert_true(prefers("staged.gpu", planes));
    assert_false(prefers("staged.gpu", "global_avg_pool2d(f32[256,2048,8,8])"));
    assert_int_equal(untuned("sum_staged.gpu", sums, "team"), 1);
    assert_int_equal(untuned("sum_staged.gpu", "sum(f32[65536,251], axis=[1])", "team"), 8);
    assert_int_equal(untuned("global_avg_pool2d_staged.gpu", planes, "team"), 1);
    check_takes("sum_staged.gpu", "sum(f32[64,256], axis=[1])", NULL, 0);
    check_refuses("sum_staged.gpu", "sum(f32[64,257], axis=[1])", NULL, 0, "at most 1024");
    check_refuses("sum_staged.gpu", "sum(f32[64,3,49], axis=[0,2])", NULL, 0, "one behind");
    check_refuses("sum_staged.gpu", "sum(f32[64,3], axis=[1])", "team", 4, "4 threads for 3");
    assume("cuda -arch=sm_90", NULL);
    static const char words[] = "softmax(f32[1024,50257])";
    static const char halves[] = "softmax(bf16[1024,50304])";
    assert_true(prefers("_shared.gpu", words));
    assert_true(prefers("_shared.gpu", halves));
    assert_false(prefers("_shared.gpu", "softmax(f32[1024,8192])"));
    assert_int_equal(untuned("softmax_shared.gpu", words, "threads"), 1024);
    assert_int_equal(untuned("softmax_shared.gpu", halves, "threads"), 512);
    check_refuses("softmax_shared.gpu", "softmax(f32[1024,60000])", NULL, 0, "does not hold");
    static const char ragged[] = "softmax(f16[524288,127])";
    assert_true(prefers("softmax_staged.gpu", ragged));
    assert_false(prefers("softmax_staged.gpu", "softmax(f16[524288,128])"));
    assert_false(prefers("softmax_staged.gpu", "softmax(f16[8192,1027])"));
    assert_int_equal(untuned("softmax_staged.gpu", ragged, "team"), 16);
    check_refuses("softmax_staged.gpu", ragged, "team", 2, "would keep 64");
    /* Of a short axis, and of rows that are no whole vectors, a thread has much. */
    static const char classes[] = "softmax(bf16[8,19,512,512], axis=1)";
    static const char odd_rows[] = "max(f32[16384,2049], axis=[1])";
    assert_int_equal(untuned("softmax_across.gpu", classes, "across"), 1);
    assert_int_equal(untuned("softmax_across.gpu", classes, "vector"), 2);
    assert_true(untuned("softmax_across.gpu", "softmax(f32[64,500,300], axis=1)", "across") >
                1);
    assert_int_equal(untuned("max_block.gpu", odd_rows, "team"), 64);
    assert_int_equal(untuned("max_block.gpu", "max(f32[16384,2048], axis=[1])", "team"), 256);
}

/* 16-bit floats are ordered and summed as others are. */
static void test_half_lines(void **state)
{
    (void)state;
    check_takes("topk_filter.cuda", "topk(bf16[32,50257], k=50)", NULL, 0);
    check_takes("sort_runs.gpu", "sort(f16[4,50257])", NULL, 0);
    check_takes("argsort_bitonic.gpu", "argsort(bf16[64,512])", NULL, 0);
    check_takes("cumsum_lookback.cuda", "cumsum(bf16[32,50257], axis=1)", NULL, 0);
    check_takes("cumprod_lookback_across.cuda", "cumprod(f16[64,1024], axis=0)", NULL, 0);
    /* Lines that one block holds wait for none. */
    static const char tokens[] = "cumsum(i32[64,1024,512], axis=1, dtype=i64)";
    assert_int_equal(untuned("cumsum_lookback_across.cuda", tokens, "each"), 32);
    assert_int_equal(untuned("cumsum_lookback_across.cuda", tokens, "width"), 8);
    static const char halves[] = "cumsum(bf16[64,1024,512], axis=1)";
    assert_int_equal(untuned("cumsum_lookback_across.cuda", halves, "threads"), 512);
    assert_int_equal(untuned("cumsum_lookback_across.cuda", halves, "width"), 16);
    assert_int_equal(untuned("topk_filter.cuda", "topk(bf16[2048,50257], k=50)", "each"), 32);
    assert_int_equal(untuned("topk_filter.cuda", "topk(f32[2048,50257], k=50)", "each"), 16);
    check_refuses("topk_filter.cuda", "topk(f16[8,4096], k=5)", "each", 4,
                  "less than a vector");
    check_refuses("cumsum_lookback.cuda", "cumsum(f16[8,4096], axis=1)", "each", 4,
                  "less than a vector");
    check_refuses("topk_filter.cuda", "topk(i8[8,4096], k=5)", NULL, 0, "orders f32");
    check_refuses("cumsum_team.gpu", "cumsum(i16[8,4096], axis=1)", NULL, 0, "accumulates in");
}

/* Windows of a row share vectors, as far as rows are multiples of them. */
static void test_windows(void **state)
{
    (void)state;
    static const char window[] = "max_pool2d_window.gpu";
#define STEM(type, width)                                                                      \
    "max_pool2d(" type "[64,64,112," width "], pool_size=[3,3], strides=[2,2], padding=[1])"
    assert_int_equal(untuned(window, STEM("bf16", "112"), "wide"), 8);
    assert_int_equal(untuned(window, STEM("f32", "112"), "wide"), 4);
    assert_int_equal(untuned(window, STEM("bf16", "111"), "wide"), 1);
    check_refuses(window, STEM("f32", "111"), "wide", 2, "no multiples of 2");
    check_refuses(window, STEM("f32", "112"), "wide", 8, "more than 16 bytes");
    check_refuses(window, "max_pool2d(f32[2,4,16,16,16], pool_size=[2,2], layout=NCHW16c)",
                  "wide", 4, "no multiples of 4");
    /* Gradients are gathered by tiles, unless windows that hold an element are too many. */
    static const char huge[] = "avg_pool2d_grad(f32[1,1,113,113], f32[1,1,224,224], "
                               "pool_size=[112,112])";
    check_takes("max_pool2d_grad_tiled.gpu",
                "max_pool2d_grad(bf16[8,64,56,56], bf16[8,64,112,112], "
                "pool_size=[3,3], strides=[2,2], padding=[1])",
                NULL, 0);
    check_refuses("avg_pool2d_grad_tiled.gpu", huge, NULL, 0, "too many for shared memory");
    check_refuses("max_pool2d_grad_tiled.gpu",
                  "max_pool2d_grad(f32[1,2,4,4], f32[1,2,8,8], pool_size=[2,2], strides=[2,2])",
                  "cells", 8, "rows of");
    check_takes("avg_pool2d_grad_gather.gpu", huge, NULL, 0);
    /* Few lines fill no block, so that more columns do. */
    assert_int_equal(untuned("sum_across.gpu", "sum(f32[7,5000003], axis=[0])", "along"), 128);
    assert_int_equal(untuned("sum_across.gpu", "sum(f32[7,5000003], axis=[0])", "unroll"), 8);
}

/* Each block of rows unpacks the weight anew: prompts have the highest tiles, as wide as gives
 * every core one. */
static void test_prompts_unpack_seldom(void **state)
{
    (void)state;
    assume("cuda -arch=sm_90", NULL);
    const int cores = (int)assumed.device.cores;
    assumed.device.cores = 132;
    static const char wide[] =
        "dense_nbits(bf16[512,4096], u8[14336,2048], bf16[14336,128], group=32)";
    static const char narrow[] =
        "dense_nbits(bf16[512,4096], u8[4096,2048], bf16[4096,128], group=32)";
    assert_int_equal(untuned("dense_nbits_wgmma.cuda", wide, "block_m"), 256);
    assert_int_equal(untuned("dense_nbits_wgmma.cuda", wide, "block_n"), 128);
    assert_int_equal(untuned("dense_nbits_wgmma.cuda", narrow, "block_m"), 256);
    assert_int_equal(untuned("dense_nbits_wgmma.cuda", narrow, "block_n"), 64);
    assumed.device.cores = cores;
}

static int stages(const char *name, const char *text)
{
    optune_err err = {0};
    optune_config config;
    optune_space *space;
    static optune_plan plan;
    const optune_impl *impl = ot_impl_find(name);
    assume(NULL, text);
    check_ok(ot_space_open(&assumed.task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    check_ok(ot_plan_make(&assumed.task, impl, &config, &plan, &err));
    ot_space_close(space);
    return plan.n_stages;
}

/* What is fused behind an elementwise operator is no pass over memory of its own, unless it is
 * computed in another type, or their numbers would meet. */
static void test_fused_in_one_pass(void **state)
{
    (void)state;
    assert_int_equal(stages("add_grid.gpu", "add(f32[8,64], f32[64]) -> relu()"), 1);
    assert_int_equal(stages("add_grid.gpu", "add(bf16[8,64], bf16[64]) -> relu()"), 1);
    assert_int_equal(stages("subtract_grid.gpu",
                            "subtract(f32[2,4,3,3], f32[4,1,1]) -> multiply(f32[4,1,1]) "
                            "-> clip(a_min=0.0, a_max=6.0)"),
                     1);
    assert_int_equal(stages("depthwise_conv2d_strips.gpu",
                            "conv2d(f32[1,8,16,16], f32[8,1,3,3], padding=[1], groups=8) "
                            "-> add(f32[8,1,1]) -> relu()"),
                     1);
    assert_int_equal(stages("cast_grid.gpu", "cast(i32[64], dtype=f32) -> relu()"), 2);
    assert_int_equal(stages("clip_grid.gpu", "clip(f32[64], a_min=0.0, a_max=6.0) -> relu()"),
                     2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_limits, assume_sm_80),
        cmocka_unit_test_setup(test_capability, assume_sm_80),
        cmocka_unit_test_setup(test_autotvm_indices, assume_sm_80),
        cmocka_unit_test_setup(test_no_float64, assume_sm_80),
        cmocka_unit_test_setup(test_products, assume_sm_80),
        cmocka_unit_test_setup(test_tensor_cores, assume_sm_80),
        cmocka_unit_test_setup(test_half_floats, assume_sm_80),
        cmocka_unit_test_setup(test_untuned, assume_sm_80),
        cmocka_unit_test_setup(test_added_by_memory, assume_sm_80),
        cmocka_unit_test_setup(test_narrow, assume_sm_80),
        cmocka_unit_test_setup(test_half_lines, assume_sm_80),
        cmocka_unit_test_setup(test_windows, assume_sm_80),
        cmocka_unit_test_setup(test_odd_rows, assume_sm_80),
        cmocka_unit_test_setup(test_staged, assume_sm_80),
        cmocka_unit_test_setup(test_prompts_unpack_seldom, assume_sm_80),
        cmocka_unit_test_setup(test_fused_in_one_pass, assume_sm_80),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
