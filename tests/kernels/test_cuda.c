/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every CUDA body compiles with NVRTC for every architecture that it admits, on every sample of its
 * operator, with its fallback; no GPU is needed. Skips, with the reason, where there is no NVRTC.
 * OPTUNE_TEST_IMPL narrows it to one implementation, OPTUNE_TEST_CONFIGS adds random configs,
 * OPTUNE_TEST_THIN takes so many times fewer samples (default 1), each on one of the architectures
 * that admit it, but for each implementation's first, whose fallback is built for all; and of what
 * a row of a pattern makes for many operators less (workbench_brief): the first one's fallback, on
 * one architecture.
 */
#include "support/check.h"

#include "answer/answer.h"
#include "run/run.h"
#include "support/belongs.h"
#include "support/workbench.h"
#include "target/cuda.h"

enum { MOST = 4096 };

typedef struct pending {
    ot_job job;
    const optune_impl *impl;
    const char *sample;
    optune_config config;
} pending;

static const char *const architectures[] = {"cuda -arch=sm_75", "cuda -arch=sm_80",
                                            "cuda -arch=sm_90"};
enum { ARCHITECTURES = OT_COUNT(architectures) };
static optune_target each_target[ARCHITECTURES];
static optune_device each_device[ARCHITECTURES];

typedef struct bench {
    int which; /* of the architectures */
    optune_target target;
    optune_device device;
    ot_builder *builder;
    char dir[4096];
    int configs, thin;
    int turn; /* counts samples, alike on all architectures */
    int n;
    pending *list[MOST];
} bench;

static void submit(bench *b, const optune_task *task, const optune_impl *impl,
                   const optune_config *config, const char *sample)
{
    optune_err err = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    assert_true(b->n < MOST);
    pending *p = b->list[b->n++] = ot_alloc(sizeof *p);
    p->impl = impl;
    p->sample = sample;
    p->config = *config;
    check_ok(ot_plan_make(task, impl, config, plan, &err));
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stage[i].block[0])
            check_ok(ot_gpu_check_launch(&b->device, &plan->stage[i], &err));
    check_ok(ot_builder_submit(b->builder, task, plan, &p->job, &err));
    free(plan);
}

/* Whether it is this architecture's turn, of those on which the implementation takes this call. */
static bool has_its_turn(const bench *b, const optune_impl *impl, const optune_call *call,
                         int turn)
{
    int taking[ARCHITECTURES], n = 0;
    for (int i = 0; i < ARCHITECTURES; i++) {
        const optune_task task = {call, &each_target[i], &each_device[i]};
        if (impl_belongs(impl, &each_target[i]) && ot_impl_applies(impl, &task, NULL))
            taking[n++] = i;
    }
    return n && taking[turn % n] == b->which;
}

/* Whether the implementation takes this sample, its first one or not. */
static bool sample_of(bench *b, const optune_impl *impl, const char *sample, bool first,
                      bool brief, uint64_t *rng)
{
    optune_err err = {0};
    static optune_call call;
    optune_space *space;
    optune_config config;
    check_ok(ot_call_parse(sample, &call, &err));
    const optune_task task = {&call, &b->target, &b->device};
    const int turn = b->turn++;
    if (!impl_belongs(impl, &b->target) || !ot_impl_applies(impl, &task, NULL))
        return false;
    const bool its = !workbench_shares() || has_its_turn(b, impl, &call, turn / b->thin);
    if (first ? brief && !its : turn % b->thin || brief || !its)
        return true;
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    submit(b, &task, impl, &config, sample);
    const int configs = brief || !its ? 0 : b->configs;
    for (int i = 0, drawn = 0; i < 200 && drawn < configs; i++) {
        ot_space_nth(space, ot_space_random(space, rng), &config);
        if (ot_space_valid(space, &config, NULL)) {
            submit(b, &task, impl, &config, sample);
            drawn++;
        }
    }
    ot_space_close(space);
    return true;
}

/* Waits for everything; returns how many did not compile. */
static int finish(bench *b)
{
    int failed = 0;
    for (int i = 0; i < b->n; i++) {
        pending *p = b->list[i];
        while (!p->job.done)
            ot_builder_wait(b->builder, &p->job, 1);
        if (p->job.outcome != OPTUNE_OUTCOME_OK) {
            ot_text config = {0};
            ot_config_print_short(&p->config, &config);
            print_error("%s for %s %s\n    %s\n    %s\n", p->impl->name, b->target.arch,
                        p->sample, ot_text_str(&config), p->job.message);
            ot_text_release(&config);
            failed++;
        }
        free(p);
    }
    return failed;
}

static void every_body(int which)
{
    const char *const text = architectures[which];
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        skip();
    }
    static bench b;
    const int thin = workbench_asked("OPTUNE_TEST_THIN", 1);
    b = (bench){.which = which,
                .configs = workbench_asked("OPTUNE_TEST_CONFIGS", 0),
                .thin = thin ? thin : 1};
    for (int i = 0; i < ARCHITECTURES; i++) {
        check_ok(ot_target_parse(architectures[i], &each_target[i], &err));
        check_ok(ot_cuda_assume(&each_target[i], &each_device[i], &err));
    }
    b.target = each_target[which];
    b.device = each_device[which];
    check_ok(ot_temp_dir(b.dir, sizeof b.dir, &err));
    const ot_build_options build = {.target = &b.target,
                                    .device = &b.device,
                                    .row = ot_target_find("cuda"),
                                    .cache_dir = b.dir,
                                    .limit_s = 120};
    check_ok(ot_builder_open(&build, &b.builder, &err));
    const char *only = getenv("OPTUNE_TEST_IMPL");
    uint64_t rng = 7;
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    for (int i = 0; i < n; i++) {
        const optune_op *op = ot_op_find(impl[i]->op);
        if (only && strcmp(only, impl[i]->name))
            continue;
        bool any = false, brief = workbench_brief(impl, i);
        for (const char *const *sample = op->samples; *sample; sample++)
            any = sample_of(&b, impl[i], *sample, !any, brief, &rng) || any;
    }
    const int failed = finish(&b);
    print_message("%s: %d built, %d failed\n", text, b.n, failed);
    ot_builder_close(b.builder);
    ot_remove_tree(b.dir);
    assert_int_equal(failed, 0);
    assert_true(b.n > 0 || only);
}

static void sm_75(void **state)
{
    (void)state;
    every_body(0);
}

static void sm_80(void **state)
{
    (void)state;
    every_body(1);
}

static void sm_90(void **state)
{
    (void)state;
    every_body(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sm_75),
        cmocka_unit_test(sm_80),
        cmocka_unit_test(sm_90),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
