/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untuned, the threads of a CPU get as much to do as each other: how many pieces the loops over
 * threads of convolutions have, by the plans of their fallback configs for layers of networks.
 */
#include <stdlib.h>

#include "strategy/inside.h"
#include "support/check.h"

static int64_t macro(const optune_plan *plan, const char *name)
{
    const ot_module *module = &plan->module[0];
    for (int i = 0; i < module->n_defines; i++)
        if (strcmp(ot_plan_text(plan, module->define[i].name), name) == 0)
            return strtoll(ot_plan_text(plan, module->define[i].value), NULL, 10);
    return 0;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The pieces of one convolution, as its body cuts it. */
static int64_t pieces(const optune_plan *p)
{
    const int64_t apart = macro(p, "N") * macro(p, "GROUPS"), co = macro(p, "CO_G");
    if (macro(p, "PIXELS")) {
        const int64_t pixels = macro(p, "OH") * macro(p, "OW");
        const int64_t panels = ceil_div(pixels, macro(p, "TV") * macro(p, "LANES"));
        return apart * ceil_div(ceil_div(co, macro(p, "TM")), macro(p, "OT_CHUNK")) *
               ceil_div(panels, macro(p, "PANELS"));
    }
    /* Beside the tile, loops are told numbers. */
    const optune_stage *timed = &p->stage[p->n_stages - 1];
    const int64_t each = p->stage[p->n_stages - 2].arg[2].value;
    return apart * ceil_div(ceil_div(co, each), timed->arg[8].value) *
           ceil_div(macro(p, "OH"), timed->arg[9].value);
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
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_call call;
    static optune_plan plan;
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    char why[OPTUNE_WHY_SIZE];
    const optune_impl *impl = ot_impl_find(name);
    check_ok(ot_call_parse(workload, &call, &err));
    const optune_task task = {&call, &target, &device};
    if (!ot_impl_applies(impl, &task, NULL))
        return;
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, why));
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    const int64_t n = pieces(&plan);
    const double waited = (double)(ceil_div(n, threads) * threads) / (double)n - 1;
    if (waited > most)
        fail_msg("%s: %s cuts %s into %lld pieces for %d threads", name, "its fallback",
                 workload, (long long)n, threads);
    ot_space_close(space);
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

/* A product with few output channels is shared by pixels: by channels, each thread would read all
 * of the data, half of it from the other's cache. */
static void test_pixels(void **state)
{
    (void)state;
    static const char text[] = "conv2d(f32[1,384,14,14], const f32[64,384,1,1])";
    const optune_device device = {.key = "wide",
                                  .kind = "cpu",
                                  .cores = 2,
                                  .threads = 2,
                                  .vector_bytes = 64,
                                  .vector_registers = 32,
                                  .l1 = 48 << 10,
                                  .l2 = 2 << 20};
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_call call;
    static optune_plan plan;
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &device};
    const optune_impl *impl = ot_impl_find("conv2d_1x1.cpu");
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    assert_int_equal(optune_config_int(&config, "oc_chunk"), 64);
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    assert_int_equal(pieces(&plan), 2);
    assert_int_equal(macro(&plan, "OW"), 98);
    ot_space_close(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_networks),
                                       cmocka_unit_test(test_pixels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
