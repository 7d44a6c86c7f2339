/* SPDX-License-Identifier: Apache-2.0 */
/* Modules come from the builder; stages are called as the cpu target calls them. */
#include "support/direct.h"

#include "support/check.h"

#include <dlfcn.h>

struct direct {
    optune_target target;
    optune_device device;
    optune_call call;
    optune_plan plan;
    char dir[4096];
    void *module[OPTUNE_MAX_MODULES];
    void *scratch[OPTUNE_MAX_SCRATCH];
};

static void build(direct *d, const optune_task *task)
{
    optune_err err = {0};
    ot_builder *builder = NULL;
    ot_job *job = ot_alloc(sizeof *job);
    check_ok(ot_temp_dir(d->dir, sizeof d->dir, &err));
    const ot_build_options options = {.target = &d->target,
                                      .device = &d->device,
                                      .row = ot_target_find("cpu"),
                                      .cache_dir = d->dir,
                                      .limit_s = 600};
    check_ok(ot_builder_open(&options, &builder, &err));
    check_ok(ot_builder_submit(builder, task, &d->plan, job, &err));
    while (!job->done)
        ot_builder_wait(builder, job, 1);
    if (job->outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s: %s", d->plan.impl->name, job->message);
    for (int i = 0; i < job->n_modules; i++) {
        d->module[i] = dlopen(job->module[i], RTLD_NOW | RTLD_LOCAL);
        if (!d->module[i])
            fail_msg("%s", dlerror());
    }
    ot_builder_close(builder);
    free(job);
}

/* Whether the plan of this config was made and is wanted. */
static bool plan_is(direct *d, const optune_task *task, const optune_impl *impl,
                    const optune_config *config, bool (*wanted)(const optune_plan *plan))
{
    optune_err err = {0};
    check_ok(ot_plan_make(task, impl, config, &d->plan, &err));
    return !wanted || wanted(&d->plan);
}

direct *direct_open(const optune_impl *impl, const char *call, int random)
{
    return direct_open_where(impl, call, random, NULL);
}

direct *direct_open_where(const optune_impl *impl, const char *call, int random,
                          bool (*wanted)(const optune_plan *plan))
{
    optune_err err = {0};
    direct *d = ot_alloc(sizeof *d);
    check_ok(ot_target_parse("cpu -threads=1", &d->target, &err));
    check_ok(ot_target_probe(&d->target, &d->device, &err));
    check_ok(ot_call_parse(call, &d->call, &err));
    const optune_task task = {&d->call, &d->target, &d->device};
    char why[OPTUNE_WHY_SIZE];
    if (!ot_impl_runs_on(impl, &d->device, why) || !ot_epilogue_applies(&task, why) ||
        !ot_impl_applies(impl, &task, why)) {
        free(d);
        return NULL;
    }
    optune_space *space;
    optune_config config;
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    uint64_t rng = 99;
    bool found = random == 0 && plan_is(d, &task, impl, &config, wanted);
    for (int t = 0, n = 0; t < 500 && (!found || n < random); t++) {
        optune_config drawn;
        ot_space_nth(space, ot_space_random(space, &rng), &drawn);
        if (ot_space_valid(space, &drawn, NULL) && plan_is(d, &task, impl, &drawn, wanted)) {
            config = drawn;
            found = true;
            n++;
        }
    }
    if (!found && wanted) {
        ot_space_close(space);
        free(d);
        return NULL;
    }
    check_ok(ot_plan_make(&task, impl, &config, &d->plan, &err));
    ot_space_close(space);
    build(d, &task);
    for (int i = 0; i < d->plan.n_scratch; i++) {
        const size_t bytes = ((size_t)d->plan.scratch[i].bytes + 63) / 64 * 64;
        d->scratch[i] = aligned_alloc(64, bytes);
        assert_non_null(d->scratch[i]);
        memset(d->scratch[i], d->plan.scratch[i].constant ? 0 : 0xff, bytes); /* as promised */
    }
    return d;
}

void direct_close(direct *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->plan.n_scratch; i++)
        free(d->scratch[i]);
    for (int i = 0; i < d->plan.n_modules; i++)
        dlclose(d->module[i]);
    ot_remove_tree(d->dir);
    free(d);
}

const optune_call *direct_call(const direct *d)
{
    return &d->call;
}

void direct_run(direct *d, const void *const *in, void *const *out)
{
    for (int i = 0; i < d->plan.n_stages; i++) {
        const optune_stage *stage = &d->plan.stage[i];
        void *arg[OPTUNE_MAX_ARGS] = {0};
        for (int k = 0; k < stage->n_args; k++) {
            const optune_arg *a = &stage->arg[k];
            arg[k] = a->kind == OPTUNE_ARG_INPUT      ? (void *)in[a->index]
                     : a->kind == OPTUNE_ARG_OUTPUT   ? out[a->index]
                     : a->kind == OPTUNE_ARG_SCRATCH  ? d->scratch[a->index]
                     : a->kind == OPTUNE_ARG_FUNCTION ? dlsym(d->module[a->index], a->symbol)
                                                      : (void *)&a->value;
        }
        void *symbol = dlsym(d->module[stage->module], stage->function);
        assert_non_null(symbol);
        void (*function)(void *const *);
        memcpy(&function, &symbol, sizeof function);
        function(arg);
    }
}
