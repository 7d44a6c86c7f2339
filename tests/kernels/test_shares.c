/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untuned, the threads of a CPU get as much to do as each other: how many pieces the loops over
 * threads of convolutions have, by the plans of their fallback configs for layers of networks.
 */
#include <stdlib.h>

#include "strategy/inside.h"
#include "support/check.h"
#include "support/untuned.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The pieces of one convolution, as its body cuts it. */
static int64_t pieces(const optune_plan *p)
{
    const int64_t apart = untuned_macro(p, "N") * untuned_macro(p, "GROUPS"),
                  co = untuned_macro(p, "CO_G");
    if (untuned_macro(p, "PIXELS")) {
        const int64_t pixels = untuned_macro(p, "OH") * untuned_macro(p, "OW");
        const int64_t panels =
            ceil_div(pixels, untuned_macro(p, "TV") * untuned_macro(p, "LANES"));
        return apart *
               ceil_div(ceil_div(co, untuned_macro(p, "TM")), untuned_macro(p, "OT_CHUNK")) *
               ceil_div(panels, untuned_macro(p, "PANELS"));
    }
    /* Beside the tile, loops are told numbers. */
    const optune_stage *timed = &p->stage[p->n_stages - 1];
    const int64_t each = p->stage[p->n_stages - 2].arg[2].value;
    return apart * ceil_div(ceil_div(co, each), timed->arg[8].value) *
           ceil_div(untuned_macro(p, "OH"), timed->arg[9].value);
}

/* At most this much of the threads' time is waited for the one that has most to do. */
static void check_even(const char *name, const char *workload, int threads, double most)
{
    const optune_device device = {.key = "some",
                                  .kind = "cpu",
                                  .cores = threads,
                                  .threads = threads,
                                  .vector_bytes = 32,
                                  .vector_registers = 16,
                                  .l1 = 32 << 10,
                                  .l2 = 512 << 10,
                                  .l3 = 32 << 20};
    static optune_plan plan;
    optune_config config;
    if (!untuned_plan(name, workload, &device, &config, &plan))
        return;
    const int64_t n = pieces(&plan);
    const double waited = (double)(ceil_div(n, threads) * threads) / (double)n - 1;
    if (waited > most)
        fail_msg("%s: %s cuts %s into %lld pieces for %d threads", name, "its fallback",
                 workload, (long long)n, threads);
}

static void test_networks(void **state)
{
    (void)state;
    static const char *const rows[] = {"conv2d_direct.cpu", "conv2d_1x1.cpu",
                                       "conv2d_NCHWc.x86"};
    const optune_op *op = ot_op_find("conv2d");
    for (const optune_preset *p = op->presets; p->name; p++)
        for (int w = 0; p->workloads[w]; w++)
            for (int i = 0; i < OT_COUNT(rows); i++)
                for (int threads = 1; threads <= 8; threads *= 2)
                    check_even(rows[i], p->workloads[w], threads, threads <= 2 ? 0.15 : 0.35);
}

static const optune_device wide = {.key = "wide",
                                   .kind = "cpu",
                                   .cores = 2,
                                   .vector_bytes = 64,
                                   .vector_registers = 32,
                                   .l1 = 48 << 10,
                                   .l2 = 2 << 20};

/* What an implementation is untuned. */
static void plan_of(const char *name, const char *text, const optune_device *device,
                    optune_config *config, optune_plan *plan)
{
    assert_true(untuned_plan(name, text, device, config, plan));
}

static void plan_on(const char *text, const optune_device *device, optune_config *config,
                    optune_plan *plan)
{
    plan_of("conv2d_1x1.cpu", text, device, config, plan);
}

static void plan_1x1(const char *text, int threads, optune_config *config, optune_plan *plan)
{
    optune_device device = wide;
    device.threads = threads;
    plan_on(text, &device, config, plan);
}

/* A product with so few output channels that threads cannot share these is shared by pixels, and
 * its vectors lie along channels where that leaves pixels that fill no vector. */
static void test_pixels(void **state)
{
    (void)state;
    static optune_plan plan;
    optune_config config;
    plan_1x1("conv2d(f32[1,384,14,14], const f32[16,384,1,1])", 4, &config, &plan);
    assert_string_equal(optune_config_word(&config, "vector"), "channels");
    assert_int_equal(optune_config_int(&config, "oc_chunk"), 16);
    assert_int_equal(pieces(&plan), 4);
    assert_int_equal(untuned_macro(&plan, "OW"), 49);
}

/* Vectors lie along pixels where these fill them, in blocks that are equally large. */
static void test_panels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int threads;
        int64_t panels, chunk; /* 0: vectors of channels */
    } table[] = {
        {"conv2d(f32[1,64,56,56], const f32[256,64,1,1])", 1, 13, 43},
        {"conv2d(f32[1,64,56,56], const f32[256,64,1,1])", 2, 25, 43},
        {"conv2d(f32[1,256,14,14], const f32[1024,256,1,1])", 1, 4, 171},
        {"conv2d(f32[1,256,14,14], const f32[1024,256,1,1])", 2, 4, 86},
        {"conv2d(f32[1,576,14,14], const f32[96,576,1,1])", 2, 4, 8},
        {"conv2d(f32[1,1024,14,14], const f32[256,1024,1,1])", 1, 0, 0},
        {"conv2d(f32[1,1024,14,14], const f32[256,1024,1,1])", 2, 2, 22},
        /* the last panel is one vector, so the last block has one more: shared by pixels */
        {"conv2d(f32[1,192,28,28], const f32[32,192,1,1])", 2, 7, 6},
        {"conv2d(f32[1,512,28,28], const f32[128,512,1,1])", 2, 4, 22},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        static optune_plan plan;
        optune_config config;
        plan_1x1(table[i].text, table[i].threads, &config, &plan);
        const bool along = strcmp(optune_config_word(&config, "vector"), "pixels") == 0;
        assert_int_equal(along, table[i].panels > 0);
        if (!along)
            continue;
        assert_int_equal(untuned_macro(&plan, "TV"), 4);
        assert_int_equal(untuned_macro(&plan, "TM"), 6);
        assert_int_equal(untuned_macro(&plan, "PANELS"), table[i].panels);
        assert_int_equal(untuned_macro(&plan, "OT_CHUNK"), table[i].chunk);
    }
}

/* Of 49 pixels 48 are vectors, and the last is a column beside them; 50 leave two, which are not
 * worth it untuned. Where registers are few, a tile has fewer channels for it. */
static void test_tail(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int bytes, registers, vecs, channels, panels;
    } table[] = {
        {"conv2d(f32[1,512,7,7], const f32[2048,512,1,1])", 64, 32, 3, 8, 1},
        {"conv2d(f64[1,512,7,7], const f64[2048,512,1,1])", 64, 32, 3, 8, 2},
        {"conv2d(f32[1,512,7,7], const f32[2048,512,1,1])", 32, 16, 2, 5, 3},
        {"conv2d(f32[1,512,9,9], const f32[256,512,1,1])", 64, 32, 3, 8, 2},
    };
    static optune_plan plan;
    optune_config config;
    for (int i = 0; i < OT_COUNT(table); i++) {
        optune_device device = wide;
        device.vector_bytes = table[i].bytes;
        device.vector_registers = table[i].registers;
        device.threads = 1;
        plan_on(table[i].text, &device, &config, &plan);
        assert_string_equal(optune_config_word(&config, "vector"), "pixels");
        assert_int_equal(untuned_macro(&plan, "TAIL"), 1);
        assert_int_equal(untuned_macro(&plan, "TV"), table[i].vecs);
        assert_int_equal(untuned_macro(&plan, "TM"), table[i].channels);
        assert_int_equal(untuned_macro(&plan, "PANELS"), table[i].panels);
    }
    plan_1x1("conv2d(f32[1,512,5,10], const f32[256,512,1,1])", 1, &config, &plan);
    assert_string_equal(optune_config_word(&config, "vector"), "channels");
    plan_1x1("conv2d(f32[1,64,57,57], const f32[256,64,1,1])", 1, &config, &plan);
    assert_int_equal(untuned_macro(&plan, "TAIL"),
                     1); /* of a large one, too, which takes no channels */
    assert_int_equal(untuned_macro(&plan, "TM"), 6);
}

/* Rows of a product that the second cache does not hold meet several panels for a part of their
 * depth each, as long as threads need not share these. */
static void test_deep(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int threads, depth, panels;
    } table[] = {
        {"dense(f32[128,3072], const f32[768,3072])", 1, 768, 16},
        {"dense(f32[128,3072], const f32[768,3072])", 2, 3072, 1},
        {"dense(f32[128,768], const f32[3072,768])", 1, 768, 1},
        {"dense(f32[64,3072], const f32[768,3072])", 1, 3072, 1},
    };
    static optune_plan plan;
    optune_config config;
    for (int i = 0; i < OT_COUNT(table); i++) {
        optune_device device = wide;
        device.threads = table[i].threads;
        plan_of("dense_gemm.cpu", table[i].text, &device, &config, &plan);
        assert_int_equal(untuned_macro(&plan, "KC"), table[i].depth);
        assert_int_equal(untuned_macro(&plan, "COL_PANELS"), table[i].panels);
    }
}

/* Columns of an image's few channels lie in half of the first cache, others in more. */
static void test_columns(void **state)
{
    (void)state;
    static optune_plan plan;
    optune_config config;
    plan_of("conv2d_im2col.cpu",
            "conv2d(f32[1,3,224,224], const f32[32,3,3,3], strides=[2,2], padding=[1,1,1,1])",
            &wide, &config, &plan);
    assert_in_range(optune_config_int(&config, "block_pixel"), 96, wide.l1 / 2 / (27 * 4));
    plan_of("conv2d_im2col.cpu",
            "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1,1,1,1])", &wide, &config,
            &plan);
    assert_int_equal(optune_config_int(&config, "block_k"), 512);
    assert_true(optune_config_int(&config, "block_pixel") * 512 * 4 > wide.l1);
}

/* Eleven tiles of six channels are shared less evenly than eight of eight with narrower panels; of
 * eight channels, which are one tile, pixels are. */
static void test_narrower_panels(void **state)
{
    (void)state;
    static optune_plan plan;
    optune_config config;
    plan_1x1("conv2d(f32[1,384,14,14], const f32[64,384,1,1])", 2, &config, &plan);
    assert_int_equal(untuned_macro(&plan, "TV"), 3);
    assert_int_equal(untuned_macro(&plan, "TM"), 8);
    assert_int_equal(untuned_macro(&plan, "OT_CHUNK"), 4);
    assert_int_equal(untuned_macro(&plan, "PANELS"), 5);
    plan_1x1("conv2d(f32[1,384,14,14], const f32[8,384,1,1])", 2, &config, &plan);
    assert_int_equal(untuned_macro(&plan, "TV"), 3);
    assert_int_equal(untuned_macro(&plan, "OT_CHUNK"), 1);
    assert_int_equal(untuned_macro(&plan, "PANELS"), 3);
    assert_int_equal(pieces(&plan), 2);
}

/* Whatever shares a plane, what is chosen untuned is taken: no block is narrower than a panel. */
static void test_whole_panels(void **state)
{
    (void)state;
    static const int sides[][3] = {{8, 10, 7},    {24, 24, 24}, {17, 17, 24}, {38, 38, 24},
                                   {10, 10, 256}, {14, 14, 64}, {8, 12, 7},   {3, 5, 300}};
    static const int threads[] = {1, 2, 3, 4, 6, 8, 16, 64};
    static optune_plan plan;
    for (int i = 0; i < OT_COUNT(sides) * OT_COUNT(threads) * 4; i++) {
        const int *side = sides[i / 4 % OT_COUNT(sides)];
        optune_device device = wide;
        device.cores = device.threads = threads[i / 4 / OT_COUNT(sides)];
        device.vector_bytes = i & 1 ? 16 : 64;
        device.l2 = i & 2 ? 256 << 10 : 2 << 20;
        char text[128];
        snprintf(text, sizeof text, "conv2d(f32[1,1024,%d,%d], const f32[%d,1024,1,1])",
                 side[0], side[1], side[2]);
        optune_config config;
        plan_on(text, &device, &config, &plan);
    }
}

/* The row of columns that a thread lays out for a filter by channel is at most 16 MiB; what is
 * longer is left to the product. */
static void test_long_rows(void **state)
{
    (void)state;
    static const struct {
        const char *data, *weight;
        bool fits;
    } all[] = {
        {"u8[1,1,65536,64]", "i8[64,1,1,3]", true},
        {"u8[1,1,65537,64]", "i8[64,1,1,3]", false},
        {"i8[1,3,32768,64]", "i8[64,1,3,3]", true},
        {"i8[1,3,32769,64]", "i8[64,1,3,3]", false},
        {"u8[1,1,1048576,64]", "i8[64,1,1,3]", false},
    };
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    for (int i = 0; i < OT_COUNT(all); i++) {
        static optune_call call;
        char text[160], why[OPTUNE_WHY_SIZE] = "";
        optune_err err = {0};
        snprintf(text, sizeof text, "quantized_conv2d(%s, %s, i32[64], f32[64], groups=64)",
                 all[i].data, all[i].weight);
        check_ok(ot_call_parse(text, &call, &err));
        const optune_task task = {&call, &target, &wide};
        assert_int_equal(
            ot_impl_applies(ot_impl_find("quantized_depthwise_conv2d.cpu"), &task, why),
            all[i].fits);
        if (!all[i].fits)
            check_contains(why, "16 MiB");
        assert_true(ot_impl_applies(ot_impl_find("quantized_conv2d_gemm.cpu"), &task, why));
    }
}

/* Products by tiles come first where there are tiles, but what reads windows where they lie can win
 * by measurement. */
static void test_tiles(void **state)
{
    (void)state;
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_call call;
    static ot_candidate candidate[OT_MAX_CANDIDATES];
    optune_err err = {0};
    check_ok(ot_call_parse("quantized_conv2d(u8[1,56,56,64], const i8[64,64,3,3], "
                           "const i32[64], const f32[64], padding=[1,1])",
                           &call, &err));
    for (int tiles = 0; tiles < 2; tiles++) {
        optune_device device = wide;
        device.dots = OPTUNE_DOT_I8 | (tiles ? OPTUNE_DOT_TILE_I8 : 0);
        const optune_task task = {&call, &target, &device};
        int n = 0, plevel[2] = {0}; /* of the product; of windows where they lie */
        check_ok(ot_candidates(&task, candidate, &n, &err));
        for (int i = 0; i < n; i++)
            if (candidate[i].refusal == OT_VALID) {
                if (!strcmp(candidate[i].impl->name, "quantized_conv2d_gemm.cpu"))
                    plevel[0] = candidate[i].plevel;
                if (!strcmp(candidate[i].impl->name, "quantized_conv2d_direct.cpu"))
                    plevel[1] = candidate[i].plevel;
            }
        assert_true(plevel[0] > 0 && plevel[1] > 0);
        assert_int_equal(plevel[0] > plevel[1], tiles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_networks),
                                       cmocka_unit_test(test_pixels),
                                       cmocka_unit_test(test_panels),
                                       cmocka_unit_test(test_tail),
                                       cmocka_unit_test(test_deep),
                                       cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_narrower_panels),
                                       cmocka_unit_test(test_whole_panels),
                                       cmocka_unit_test(test_long_rows),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
