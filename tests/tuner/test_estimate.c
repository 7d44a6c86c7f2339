/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An implementation's own estimate of what configs cost: it orders the first trials of a search
 * where it is right, and costs little where it is wrong; those of GPU templates tell good configs
 * from bad ones.
 */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

#include "strategy/inside.h"
#include "tuner/tune.h"

static void six_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    for (int k = 0; k < 6; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 8, (const int64_t[]){1, 2, 4, 8, 16, 32, 64, 128});
    }
}

static double bowl(const optune_config *config)
{
    static const double bottom[] = {3, 5, 1, 6, 2, 4};
    double cost = 1;
    for (int k = 0; k < config->n; k++) {
        const double d = log2((double)config->entity[k].v[0]) - bottom[k];
        cost += d * d;
    }
    return 1e-6 * cost;
}

/* It knows two thirds of the knobs. */
static double rough(const optune_task *task, const optune_config *config)
{
    (void)task;
    optune_config some = *config;
    some.n = 4;
    return bowl(&some);
}

static double inverted(const optune_task *task, const optune_config *config)
{
    return -rough(task, config);
}

static double unknown(const optune_task *task, const optune_config *config)
{
    (void)task;
    (void)config;
    return NAN;
}

static const optune_impl
    without = {.op = "relu", .name = "six.test", .space = six_knobs},
    right = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = rough},
    wrong = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = inverted},
    silent = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = unknown};

/* The mean logarithm of the best of so many trials, over seeds. */
static double mean_log(const optune_impl *impl, int trials)
{
    enum { SEEDS = 20 };
    static const optune_target target;
    static optune_device device = {.key = "here"};
    static optune_call call;
    const optune_task task = {&call, &target, &device};
    const ot_candidate candidate = {.impl = impl};
    optune_err err;
    double sum = 0;
    check_ok(ot_call_parse("relu(f32[64])", &call, &err));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ot_arm arm;
        optune_config config;
        check_ok(ot_arm_open(&arm, &task, &candidate, ot_search_find("forest"), seed, &err));
        arm.view.left = trials;
        for (int i = 0; i < trials && ot_arm_next(&arm, &config); i++) {
            ot_arm_tell(&arm, &config, &(optune_told){.cost = bowl(&config)});
            arm.view.left = trials - i - 1;
        }
        sum += log(arm.best) / SEEDS;
        ot_arm_close(&arm);
    }
    return sum;
}

static void truth_helps_and_lies_hurt_little(void **state)
{
    (void)state;
    const double few = mean_log(&without, 6), few_right = mean_log(&right, 6);
    const double alone = mean_log(&without, 40), helped = mean_log(&right, 40),
                 misled = mean_log(&wrong, 40);
    print_message("logarithms of the best: 6 trials %.2f, estimated %.2f; 40 trials %.2f, "
                  "estimated %.2f, the other way round %.2f\n",
                  few, few_right, alone, helped, misled);
    assert_true(few_right < few - 0.2);
    assert_true(helped < alone + 0.1);
    assert_true(misled < alone + 0.3);
}

static void what_is_not_known_changes_nothing(void **state)
{
    (void)state;
    const double alone = mean_log(&without, 40), same = mean_log(&silent, 40);
    assert_true(fabs(alone - same) < 0.3);
}

typedef struct judged {
    const char *impl, *call;
    int better; /* of a hundred configs at most so many are estimated to be notably better */
} judged;

static void on_any_gpu(const char *name, optune_target *target, optune_device *device)
{
    optune_err err;
    check_ok(ot_target_parse(name, target, &err));
    *device = (optune_device){0};
    check_ok(ot_target_find("cuda")->assume(target, device, &err));
    device->cores = 132; /* an H100's */
}

static const double NOTABLY = 0.9;

/* How many of a hundred valid configs are estimated to cost notably less than the fallback. */
static double share_of_better(const optune_task *task, const char *name)
{
    optune_err err;
    optune_space *space;
    optune_config best, other;
    uint64_t rng = 5;
    int better = 0, valid = 0;
    check_ok(ot_space_open(task, ot_impl_find(name), &space, &err));
    assert_true(ot_space_fallback(space, &best, NULL));
    const double least = ot_space_estimate(space, &best);
    assert_true(isfinite(least) && least > 0);
    for (int t = 0; t < 3000; t++) {
        ot_space_nth(space, ot_space_random(space, &rng), &other);
        if (!ot_space_valid(space, &other, NULL))
            continue;
        const double cost = ot_space_estimate(space, &other);
        assert_true(isfinite(cost) && cost > 0);
        valid++;
        better += cost < NOTABLY * least;
    }
    assert_true(valid >= 3);
    ot_space_close(space);
    return 100.0 * better / valid;
}

static double estimate_of(const char *text, const char *impl, optune_config *config)
{
    static optune_target target;
    static optune_device device;
    static optune_call call;
    optune_err err;
    optune_space *space;
    on_any_gpu("cuda -arch=sm_90", &target, &device);
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &device};
    check_ok(ot_space_open(&task, ot_impl_find(impl), &space, &err));
    assert_true(ot_space_fallback(space, config, NULL));
    const double cost = ot_space_estimate(space, config);
    ot_space_close(space);
    return cost;
}

/* A ring's copies are counted as the plan makes them: as many steps, of rows that are whole
 * vectors and of rows that are not, of an operand that lies along and of one that is turned. */
static void copies_are_counted(void **state)
{
    (void)state;
    optune_config vectors, single, along;
    const double less =
        estimate_of("dense(f32[4096,4096],f32[4096,4096])", "dense_ring.cuda", &vectors);
    const double more =
        estimate_of("dense(f32[4096,4094],f32[4096,4094])", "dense_ring.cuda", &single);
    assert_int_equal(optune_config_int(&vectors, "block_m"),
                     optune_config_int(&single, "block_m"));
    assert_true(less < 0.995 * more);
    const double least =
        estimate_of("batch_matmul(f32[4,4096,4096],f32[4,4096,4096],transpose_a=true,"
                    "transpose_b=false)",
                    "batch_matmul_ring.cuda", &along);
    assert_true(least < 4 * less);
}

/* On a GPU every template has estimates that prefer its fallback to what fills a tenth of it. */
static void templates_tell_good_from_bad(void **state)
{
    (void)state;
    static const judged rows[] = {
#define LARGE(type) "dense(" type "[4096,4096]," type "[4096,4096])"
#define BATCH(type) "batch_matmul(" type "[12,512,512]," type "[12,512,512])"
#define NBITS(m) "dense_nbits(bf16[" m ",4096],u8[4096,2048],bf16[4096,32],bits=4,group=128)"
#define CONV(type) "conv2d(" type "[32,256,28,28]," type "[256,256,3,3],padding=[1])"
#define QCONV(channels, more)                                                                  \
    "quantized_conv2d(u8[32,28,28,256],i8[256," channels                                       \
    ",3,3],i32[256],f32[256],padding=[1]" more ")"
#define HEADS(type, n) type "[1," n ",2048,128]"
#define PROMPT(type)                                                                           \
    "attention(" HEADS(type, "32") "," HEADS(type, "8") "," HEADS(type, "8") ",causal=true)"
        {"dense_tile.gpu", LARGE("f32"), 2},
        {"dense_ring.cuda", LARGE("f32"), 2},
        {"dense_mma.cuda", LARGE("bf16"), 2},
        {"dense_wgmma.cuda", LARGE("bf16"), 2},
        {"dense_wgmma.cuda", "dense(bf16[512,512],bf16[512,512])", 2},
        {"dense_skinny.gpu", "dense(f32[16,4096],f32[4096,4096])", 2},
        {"dense_skinny_ring.cuda", "dense(f32[16,4096],f32[4096,4096])", 2},
        {"dense_gemv.gpu", "dense(f32[1,4096],f32[4096,4096])", 2},
        {"batch_matmul_tile.gpu", BATCH("f32"), 2},
        {"batch_matmul_ring.cuda", BATCH("f32"), 2},
        {"batch_matmul_mma.cuda", BATCH("bf16"), 2},
        {"batch_matmul_wgmma.cuda", BATCH("bf16"), 2},
        {"dense_nbits_gemv.gpu", NBITS("1"), 2},
        {"dense_nbits_tile.gpu", NBITS("2048"), 2},
        {"dense_nbits_mma.cuda", NBITS("8"), 2},
        {"dense_nbits_mma.cuda", NBITS("2048"), 2},
        {"dense_nbits_wgmma.cuda", NBITS("2048"), 2},
        {"dense_nbits_wgmma.cuda", NBITS("64"), 2},
        {"conv2d_nchw.cuda", CONV("f32"), 40},
        {"depthwise_conv2d_nchw.cuda",
         "conv2d(f32[32,256,28,28],f32[256,1,3,3],padding=[1],groups=256)", 30},
        {"depthwise_conv2d_strips.gpu",
         "conv2d(f32[32,256,28,28],f32[256,1,3,3],padding=[1],groups=256)", 2},
        {"depthwise_conv2d_mma.cuda",
         "conv2d(bf16[32,384,56,56],bf16[384,1,7,7],padding=[3],groups=384)", 10},
        {"conv2d_implicit_gemm.gpu", CONV("f32"), 2},
        {"conv2d_winograd.gpu", CONV("f32"), 2},
        {"conv2d_implicit_gemm_mma.cuda", CONV("bf16"), 2},
        {"conv2d_wgmma.cuda", CONV("bf16"), 2},
        {"quantized_conv2d_mma.cuda", QCONV("256", ""), 2},
        {"quantized_conv2d_wgmma.cuda", QCONV("256", ""), 2},
        {"quantized_conv2d_tile.gpu", QCONV("256", ""), 2},
        {"quantized_depthwise_conv2d.gpu", QCONV("1", ",groups=256"), 2},
        {"quantized_add.gpu", "quantized_add(u8[32,56,56,256],u8[32,56,56,256])", 2},
        {"attention_mma.cuda", PROMPT("bf16"), 2},
        {"attention_wgmma.cuda", PROMPT("bf16"), 2},
        {"attention_tiles.gpu", PROMPT("f32"), 2},
        {"attention_split.gpu",
         "attention(bf16[8,32,1,128],bf16[8,8,4096,128],bf16[8,8,4096,128])", 2},
        {"softmax_team.gpu", "softmax(f32[8192,1024])", 2},
        {"softmax_shared.gpu", "softmax(f32[1024,50257])", 2},
        {"softmax_across.gpu", "softmax(f32[64,128,1024],axis=1)", 2},
        {"topk_rounds.gpu", "topk(f32[2048,50257],k=50)", 70},
        {"topk_filter.cuda", "topk(f32[2048,50257],k=50)", 20},
        {"sort_runs.gpu", "sort(f32[16,100000])", 2},
        {"sort_bitonic.gpu", "sort(f32[4096,1024])", 2},
        {"gather_lines.gpu", "gather(f32[4096,4096],i32[4096,4096],axis=-1)", 2},
        {"gather_lines.gpu", "gather(f32[4096,4096],i32[4096,4096],axis=0)", 2},
        {"add_grid.gpu", "add(f32[4096,4096],f32[4096])", 2},
        {"transpose_grid.gpu", "transpose(f32[4096,4096])", 2},
        {"transpose_tiled.gpu", "transpose(f32[4096,4096])", 2},
        {"max_pool2d_window.gpu",
         "max_pool2d(f32[32,64,112,112],pool_size=[3,3],strides=[2,2])", 2},
        {"max_pool2d_grad_tiled.gpu",
         "max_pool2d_grad(f32[32,64,56,56],f32[32,64,112,112],pool_size=[3,3],strides=[2,2],"
         "padding=[1])",
         2},
        {"softmax_staged.gpu", "softmax(f16[524288,127])", 2},
        {"sum_across.gpu", "sum(f32[7,5000003],axis=[0])", 2},
        {"global_avg_pool2d_block.gpu", "global_avg_pool2d(f32[32,2048,7,7])", 2},
        {"cumsum_team.gpu", "cumsum(f32[4096,4096])", 2},
        {"cumsum_across.gpu", "cumsum(f32[64,512,1024],axis=1)", 2},
        {"cumsum_lookback.cuda", "cumsum(f32[33554432])", 10},
        {"cumsum_lookback.cuda", "cumsum(f32[4096,8192],axis=1)", 10},
        {"cumsum_lookback_across.cuda", "cumsum(f32[8192,4096],axis=0)", 10},
        {"global_avg_pool2d_staged.gpu", "global_avg_pool2d(f32[256,2048,7,7])", 2},
        {"sum_staged.gpu", "sum(f32[1048576,49],axis=[1])", 2},
        {"sum_block.gpu", "sum(f32[8192,8192],axis=[1])", 2},
        {"sum_across.gpu", "sum(f32[8192,8192],axis=[0])", 2},
    };
    int poor = 0;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_err err;
        optune_target target;
        optune_device device;
        static optune_call call;
        on_any_gpu("cuda -arch=sm_90", &target, &device);
        check_ok(ot_call_parse(rows[i].call, &call, &err));
        const optune_task task = {&call, &target, &device};
        const double better = share_of_better(&task, rows[i].impl);
        print_message("%s, %s: %.1f %% are better\n", rows[i].impl, rows[i].call, better);
        poor += better > rows[i].better;
    }
    assert_int_equal(poor, 0);
}

static bool is_gpu_row(const optune_impl *impl)
{
    const char *end = strrchr(impl->name, '.');
    return end && (strcmp(end, ".gpu") == 0 || strcmp(end, ".cuda") == 0);
}

/* Every row with a choice says something of it, of every sample that it takes; where it cannot
 * know, on a CPU behind OpenCL, it says nothing. */
static void every_row_on_gpus_has_one(void **state)
{
    (void)state;
    static optune_call call;
    optune_err err;
    optune_target target;
    optune_device device, cpu = {.key = "cpu", .name = "cpu", .warp = 1, .cores = 2};
    int n, rows = 0, asked = 0;
    const optune_impl *const *impls = ot_impls(&n);
    on_any_gpu("cuda -arch=sm_90", &target, &device);
    for (int i = 0; i < n; i++) {
        const optune_impl *impl = impls[i];
        if (!is_gpu_row(impl) || impl->library || !ot_impl_in_tree(impl))
            continue;
        rows++;
        if (!impl->estimate)
            fail_msg("%s has no estimate", impl->name);
        const optune_op *op = ot_op_find(impl->op);
        for (int k = 0; op->samples && op->samples[k]; k++) {
            if (ot_call_parse(op->samples[k], &call, &err) < 0)
                continue;
            const optune_task task = {&call, &target, &device}, slow = {&call, &target, &cpu};
            optune_space *space;
            optune_config config;
            if (!ot_impl_applies(impl, &task, NULL))
                continue;
            check_ok(ot_space_open(&task, impl, &space, &err));
            assert_true(ot_space_fallback(space, &config, NULL));
            const double cost = ot_space_estimate(space, &config);
            if (!(isfinite(cost) && cost > 0))
                fail_msg("%s, %s: %g", impl->name, op->samples[k], cost);
            if (strstr(impl->name, ".gpu"))
                assert_true(isnan(impl->estimate(&slow, &config)));
            ot_space_close(space);
            asked++;
        }
    }
    assert_true(rows > 40 && asked > 4 * rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_helps_and_lies_hurt_little),
        cmocka_unit_test(what_is_not_known_changes_nothing),
        cmocka_unit_test(copies_are_counted),
        cmocka_unit_test(templates_tell_good_from_bad),
        cmocka_unit_test(every_row_on_gpus_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
