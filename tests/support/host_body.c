/* SPDX-License-Identifier: Apache-2.0 */
/* What host_body.h declares. */
#include "support/host_body.h"

#include <dlfcn.h>
#include <math.h>

#include "run/run.h"
#include "support/check.h"
#include "target/cuda.h"

char host_body_stream[1], host_body_scratch[64];

static ot_builder *builder;
static optune_target target;
static optune_device device;
static char dir[4096];
static void *input[OPTUNE_MAX_INPUTS], *output;

void host_body_setup(const char *text)
{
    optune_err err = {0};
    check_ok(ot_target_parse(text, &target, &err));
    check_ok(ot_cuda_assume(&target, &device, &err));
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    const ot_build_options build = {.target = &target,
                                    .device = &device,
                                    .row = ot_target_find("cuda"),
                                    .cache_dir = dir,
                                    .limit_s = 60};
    check_ok(ot_builder_open(&build, &builder, &err));
}

void host_body_teardown(void)
{
    ot_builder_close(builder);
    ot_remove_tree(dir);
}

static void run_stages(const host_body *body, const optune_plan *plan, optune_phase phase,
                       void *module)
{
    for (int i = 0; i < plan->n_stages; i++) {
        const optune_stage *stage = &plan->stage[i];
        if (stage->phase != phase)
            continue;
        void *arg[OPTUNE_MAX_ARGS], *address = dlsym(module, stage->function);
        void (*function)(void *const *);
        assert_non_null(address);
        memcpy(&function, &address, sizeof function);
        for (int k = 0; k < stage->n_args; k++)
            arg[k] = stage->arg[k].kind == OPTUNE_ARG_INPUT     ? input[stage->arg[k].index]
                     : stage->arg[k].kind == OPTUNE_ARG_OUTPUT  ? output
                     : stage->arg[k].kind == OPTUNE_ARG_SCRATCH ? host_body_scratch
                     : strcmp(stage->arg[k].symbol, "ot_stream") == 0
                         ? host_body_stream
                         : body->symbol(stage->arg[k].symbol);
        function(arg);
    }
}

static void compare(const optune_call *call, double tolerance)
{
    const optune_tensor *type = &call->output[0];
    const int64_t n = optune_tensor_elements(type);
    double *want = ot_alloc((size_t)n * sizeof *want),
           *size = ot_alloc((size_t)n * sizeof *size);
    optune_region region = {.rank = type->rank};
    for (int d = 0; d < type->rank; d++)
        region.hi[d] = type->dim[d].min;
    call->op->reference(call, (const void *const *)input, 0, &region, want, size);
    for (int64_t i = 0; i < n; i++) {
        const double got = type->dtype.bits == 64 ? ((const double *)output)[i]
                                                  : (double)((const float *)output)[i];
        assert_true(fabs(got - want[i]) <= tolerance * size[i] + 1e-30);
    }
    free(want);
    free(size);
}

/* The config lives as long as the space that is returned. */
static optune_space *choose(const optune_task *task, const optune_impl *impl, const char *text,
                            optune_config *config)
{
    optune_err err = {0};
    optune_space *space = NULL;
    check_ok(ot_space_open(task, impl, &space, &err));
    if (text)
        check_ok(ot_config_parse(text, config, &err));
    else if (!ot_space_fallback(space, config, NULL))
        ot_space_nth(space, 0, config);
    return space;
}

static bool is_plain(const optune_call *call)
{
    bool plain = call->output[0].dtype.bits >= 32;
    for (int i = 0; i < call->n_inputs; i++)
        plain = plain && call->input[i].type.dtype.bits >= 32;
    return plain && call->output[0].dtype.code == OPTUNE_DTYPE_FLOAT;
}

bool host_body_try(const host_body *body, const optune_impl *impl, const char *workload,
                   const char *text)
{
    optune_err err = {0};
    static optune_call call;
    static optune_plan plan;
    static optune_config config;
    ot_job job = {0};
    check_ok(ot_call_parse(workload, &call, &err));
    const optune_task task = {&call, &target, &device};
    if (!is_plain(&call) || !ot_impl_applies(impl, &task, NULL))
        return false;
    optune_space *const space = choose(&task, impl, text, &config);
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    check_ok(ot_builder_submit(builder, &task, &plan, &job, &err));
    while (!job.done)
        ot_builder_wait(builder, &job, 1);
    if (job.outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s %s: %s", impl->name, workload, job.message);
    void *module = dlopen(job.module[0], RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    for (int i = 0; i < call.n_inputs; i++) {
        const optune_tensor *type = &call.input[i].type;
        input[i] = ot_alloc((size_t)optune_tensor_bytes(type));
        ot_fill_input(type, 5, i, input[i]);
    }
    output = ot_alloc((size_t)optune_tensor_bytes(&call.output[0]));
    run_stages(body, &plan, OPTUNE_PREPACK, module);
    body->between();
    for (int run = 0; run < body->runs; run++)
        run_stages(body, &plan, OPTUNE_TIMED, module);
    body->between();
    run_stages(body, &plan, OPTUNE_TEARDOWN, module);
    const char *said = dlsym(module, "ot_failure");
    assert_string_equal(said ? said : "", "");
    compare(&call, body->tolerance);
    for (int i = 0; i < call.n_inputs; i++)
        free(input[i]);
    free(output);
    ot_space_close(space);
    dlclose(module);
    return true;
}

void host_body_try_samples(const host_body *body, const char *name, int least)
{
    const optune_impl *impl = ot_impl_find(name);
    int tried = 0;
    assert_non_null(impl);
    for (const char *const *s = ot_op_find(impl->op)->samples; *s; s++)
        tried += host_body_try(body, impl, *s, NULL);
    assert_true(tried >= least);
}
