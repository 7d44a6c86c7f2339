/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd convolutions that keep their weights as taps: they compute what the others do, over
 * ragged channels, several blocks of input channels and threads, and take the memory of the taps.
 */
#include <math.h>

#include "strategy/inside.h"
#include "support/check.h"
#include "support/workbench.h"

typedef struct knob {
    const char *name;
    int64_t value;
} knob;

static void choose(optune_space *space, const knob *knobs, const char *keep,
                   optune_config *config)
{
    char why[OPTUNE_WHY_SIZE];
    ot_space_nth(space, 0, config);
    for (; knobs->name; knobs++) {
        optune_config_choose_int(config, space, knobs->name, knobs->value);
        assert_int_equal(optune_config_int(config, knobs->name), knobs->value);
    }
    optune_config_choose_word(config, space, "keep", keep);
    assert_string_equal(optune_config_word(config, "keep"), keep);
    if (!ot_space_valid(space, config, why))
        fail_msg("%s", why);
}

/* Tiles of 4x4 and 2x1 in whole and in ragged blocks of rows, one panel a chunk and several. */
static const knob four[] = {{"tile_h", 4},  {"tile_w", 4},   {"block_rows", 4}, {"tile_p", 6},
                            {"tile_co", 2}, {"chunk_co", 1}, {"unroll", 1},     {0}};
static const knob two[] = {{"tile_h", 2},  {"tile_w", 1},   {"block_rows", 4}, {"tile_p", 14},
                           {"tile_co", 1}, {"chunk_co", 2}, {"unroll", 2},     {0}};
static const knob seven[] = {{"tile_h", 7},  {"tile_w", 7},   {"block_rows", 1}, {"tile_p", 2},
                             {"tile_co", 3}, {"chunk_co", 2}, {"unroll", 1},     {0}};

static const struct {
    const char *call;
    const knob *knobs;
} calls[] = {
    {"conv2d(f32[1,80,14,14], const f32[75,80,3,3], padding=[1])", four},
    {"conv2d(f32[2,67,13,15], const f32[50,67,3,3], padding=[1])", two},
    {"conv2d(f32[1,72,28,28], const f32[40,72,3,3], strides=[2], padding=[1])", two},
    {"conv2d(f32[4,96,14,14], const f32[96,96,3,3], padding=[1])", seven},
    {"conv2d(f32[1,80,14,14], const f32[70,80,3,3], padding=[1]) -> add(const f32[70,1,1])"
     " -> relu()",
     four},
};

static void compute(const char *target)
{
    workbench b;
    if (!workbench_find(&b, target))
        skip();
    b.device.l2 = 64 * 1024; /* so that some input channels fill it */
    workbench_start(&b);
    const optune_impl *impl = ot_impl_find("conv2d_winograd.cpu");
    static optune_call call;
    static optune_plan plan;
    for (int i = 0; i < OT_COUNT(calls); i++) {
        optune_err err = {0};
        ot_arena arena = {0};
        optune_space *space;
        optune_config config;
        ot_job job = {0};
        check_ok(ot_call_parse(calls[i].call, &call, &err));
        const optune_task task = {&call, &b.target, &b.device};
        check_ok(ot_space_open(&task, impl, &space, &err));
        choose(space, calls[i].knobs, "taps", &config);
        check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
        check_ok(ot_builder_submit(b.builder, &task, &plan, &job, &err));
        check_ok(ot_worker_workload(b.worker, calls[i].call, 11, &err));
        while (!job.done)
            ot_builder_wait(b.builder, &job, 1);
        const ot_trial trial = {
            .impl = impl, .config = &config, .job = &job, .best = INFINITY, .limit_s = 60};
        ot_trial_result result = {0};
        check_ok(ot_worker_trial(b.worker, &trial, &workbench_quick, &arena, &result, &err));
        if (result.outcome != OPTUNE_OUTCOME_OK)
            fail_msg("%s: %s: %s", calls[i].call, ot_outcome_name(result.outcome),
                     result.message ? result.message : "");
        assert_true(result.error <= 1);
        ot_arena_release(&arena);
        ot_space_close(space);
    }
    workbench_close(&b);
}

static void test_one_thread(void **state)
{
    (void)state;
    compute("cpu -threads=1");
}

static void test_two_threads(void **state)
{
    (void)state;
    compute("cpu -threads=2");
}

static const optune_device device = {.key = "wide",
                                     .kind = "cpu",
                                     .cores = 1,
                                     .threads = 1,
                                     .vector_bytes = 64,
                                     .vector_registers = 32,
                                     .l1 = 48 << 10,
                                     .l2 = 1 << 20};
static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};

/* What stays of the weights of a layer. */
static int64_t kept(const char *text, const char *keep)
{
    optune_err err = {0};
    static optune_call call;
    static optune_plan plan;
    optune_space *space;
    optune_config config;
    const optune_impl *impl = ot_impl_find("conv2d_winograd.cpu");
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &device};
    check_ok(ot_space_open(&task, impl, &space, &err));
    choose(space, four, keep, &config);
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    ot_space_close(space);
    int64_t bytes = 0;
    for (int i = 0; i < plan.n_scratch; i++)
        bytes += plan.scratch[i].constant ? plan.scratch[i].bytes : 0;
    return bytes;
}

static void test_memory(void **state)
{
    (void)state;
    static const char text[] = "conv2d(f32[1,64,14,14], const f32[64,64,3,3], padding=[1])";
    assert_int_equal(kept(text, "points"), 64 * 64 * 36 * 4);
    assert_int_equal(kept(text, "taps"), 64 * 64 * 9 * 4);
}

/* Weights that are new in every run are transformed once in it, and what is used untuned keeps
 * points, which are faster in a loop, but for those of large weights, which fill memory. */
static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool taps;
        const char *untuned;
    } want[] = {
        {"conv2d(f32[1,64,14,14], const f32[64,64,3,3], padding=[1])", true, "points"},
        {"conv2d(f32[1,64,14,14], var f32[64,64,3,3], padding=[1])", false, "points"},
        {"conv2d(f32[1,1280,16,16], const f32[1280,1280,3,3], padding=[1])", true, "taps"},
        {"conv2d(f32[1,1280,16,16], var f32[1280,1280,3,3], padding=[1])", false, "points"},
    };
    for (int i = 0; i < OT_COUNT(want); i++) {
        optune_err err = {0};
        static optune_call call;
        optune_space *space;
        optune_config config;
        check_ok(ot_call_parse(want[i].text, &call, &err));
        const optune_task task = {&call, &target, &device};
        check_ok(ot_space_open(&task, ot_impl_find("conv2d_winograd.cpu"), &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        assert_string_equal(optune_config_word(&config, "keep"), want[i].untuned);
        bool found = false;
        uint64_t rng = 3;
        for (int k = 0; k < 200 && !found; k++) {
            ot_space_nth(space, ot_space_random(space, &rng), &config);
            found = strcmp(optune_config_word(&config, "keep"), "taps") == 0;
        }
        assert_int_equal(found, want[i].taps);
        ot_space_close(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
