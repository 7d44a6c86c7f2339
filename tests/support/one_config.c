/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/support/one_config.h declares. */
#include "support/one_config.h"

#include <math.h>

#include "support/assumed.h"
#include "support/check.h"
#include "target/cuda.h"

static optune_space *open_with(const optune_task *task, const one_config *c,
                               optune_config *config)
{
    optune_err err = {0};
    optune_space *space;
    check_ok(ot_space_open(task, ot_impl_find(c->impl), &space, &err));
    assert_true(ot_space_fallback(space, config, NULL));
    c->set(config, space, c->knobs);
    check_ok(ot_space_index_of(space, config, &err));
    return space;
}

bool one_config_valid(const one_config *c, char *why)
{
    optune_config config;
    optune_space *space = open_with(&assumed.task, c, &config);
    const bool valid = ot_space_valid(space, &config, why);
    ot_space_close(space);
    return valid;
}

static void plan_of(const optune_task *task, const one_config *c, optune_config *config,
                    optune_plan *plan)
{
    char why[OPTUNE_WHY_SIZE] = "";
    optune_err err = {0};
    optune_space *space = open_with(task, c, config);
    if (!ot_space_valid(space, config, why))
        fail_msg("%s", why);
    ot_space_close(space);
    check_ok(ot_plan_make(task, ot_impl_find(c->impl), config, plan, &err));
}

void one_config_compute(workbench *b, const char *workload, const one_config *c)
{
    static optune_plan plan;
    static ot_job job;
    optune_err err = {0};
    optune_config config;
    ot_arena arena = {0};
    const optune_task here = {&assumed.call, &b->target, &b->device};
    assume(NULL, workload);
    check_ok(ot_worker_workload(b->worker, workload, 5, &err));
    plan_of(&here, c, &config, &plan);
    check_ok(ot_builder_submit(b->builder, &here, &plan, &job, &err));
    ot_builder_wait(b->builder, &job, 60);
    ot_trial_result r = {.outcome = job.outcome, .message = job.message};
    const ot_trial trial = {.impl = ot_impl_find(c->impl),
                            .config = &config,
                            .job = &job,
                            .best = INFINITY,
                            .limit_s = 60};
    if (job.outcome == OPTUNE_OUTCOME_OK)
        check_ok(ot_worker_trial(b->worker, &trial, &workbench_quick, &arena, &r, &err));
    if (r.outcome != OPTUNE_OUTCOME_OK) {
        ot_text knobs = {0};
        ot_config_print_short(&config, &knobs);
        print_error("%s, %s, %s: %s\n", c->impl, workload, ot_text_str(&knobs), r.message);
        ot_text_release(&knobs);
    }
    b->failed += r.outcome != OPTUNE_OUTCOME_OK;
    ot_arena_release(&arena);
}

int64_t one_config_registers(const one_config *c)
{
    static optune_plan plan;
    static ot_job job;
    optune_err err = {0};
    optune_config config;
    ot_builder *builder;
    char version[OPTUNE_TEXT_SIZE], dir[4096], text[2048] = "";
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        return -1;
    }
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    const ot_build_options build = {.target = &assumed.target,
                                    .device = &assumed.device,
                                    .row = ot_target_find("cuda"),
                                    .cache_dir = dir,
                                    .limit_s = 120};
    check_ok(ot_builder_open(&build, &builder, &err));
    plan_of(&assumed.task, c, &config, &plan);
    check_ok(ot_builder_submit(builder, &assumed.task, &plan, &job, &err));
    while (!job.done)
        ot_builder_wait(builder, &job, 1);
    if (job.outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s: %s", c->impl, job.message);
    check_ok(ot_gpu_module_resources(job.module[0], text, sizeof text, &err));
    if (strstr(text, "warning=") || !strstr(text, "spilled=0"))
        fail_msg("%s: %s", c->impl, text);
    const char *at = strstr(text, "registers=");
    assert_non_null(at);
    ot_builder_close(builder);
    ot_remove_tree(dir);
    return strtoll(at + strlen("registers="), NULL, 10);
}
