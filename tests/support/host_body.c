/* SPDX-License-Identifier: Apache-2.0 */
/* What host_body.h declares. */
#include "support/host_body.h"

#include <dlfcn.h>
#include <math.h>

#include "run/run.h"
#include "support/check.h"
#include "target/cuda.h"

static char scratch[64];
char host_body_stream[1], *host_body_scratch = scratch;

static ot_builder *builder;
static optune_target target;
static optune_device device;
static char dir[4096];

/* The body that is open. */
static optune_call call;
static optune_plan plan;
static optune_config config;
static optune_space *space;
static const host_body *body;
static void *module, *input[OPTUNE_MAX_INPUTS], *output;

int host_body_setup(const char *text)
{
    optune_err err = {0};
    check_ok(ot_target_parse(text, &target, &err));
    check_ok(ot_cuda_assume(&target, &device, &err));
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    const ot_build_options build = {.target = &target,
                                    .device = &device,
                                    .row = ot_target_find("cuda"),
                                    .cache_dir = dir,
                                    .limit_s = 600};
    check_ok(ot_builder_open(&build, &builder, &err));
    return 0;
}

int host_body_teardown(void **state)
{
    (void)state;
    ot_builder_close(builder);
    ot_remove_tree(dir);
    return 0;
}

void host_body_run(optune_phase phase, void *stream)
{
    for (int i = 0; i < plan.n_stages; i++) {
        const optune_stage *stage = &plan.stage[i];
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
                         ? stream
                         : body->symbol(stage->arg[k].symbol);
        function(arg);
    }
}

void host_body_compare(void)
{
    const optune_tensor *type = &call.output[0];
    const int64_t n = optune_tensor_elements(type);
    double *want = ot_alloc((size_t)n * sizeof *want),
           *size = ot_alloc((size_t)n * sizeof *size);
    optune_region region = {.rank = type->rank};
    for (int d = 0; d < type->rank; d++)
        region.hi[d] = type->dim[d].min;
    call.op->reference(&call, (const void *const *)input, 0, &region, want, size);
    for (int64_t i = 0; i < n; i++) {
        const double got = type->dtype.bits == 64 ? ((const double *)output)[i]
                                                  : (double)((const float *)output)[i];
        assert_true(fabs(got - want[i]) <= body->tolerance * size[i] + 1e-30);
    }
    memset(output, -1, (size_t)optune_tensor_bytes(type));
    free(want);
    free(size);
}

/* The config lives as long as the space. */
static void choose(const optune_task *task, const optune_impl *impl, const char *text)
{
    optune_err err = {0};
    check_ok(ot_space_open(task, impl, &space, &err));
    if (text)
        check_ok(ot_config_parse(text, &config, &err));
    else if (!ot_space_fallback(space, &config, NULL))
        ot_space_nth(space, 0, &config);
}

static bool is_plain(void)
{
    bool plain = call.output[0].dtype.bits >= 32;
    for (int i = 0; i < call.n_inputs; i++)
        plain = plain && call.input[i].type.dtype.bits >= 32;
    return plain && call.output[0].dtype.code == OPTUNE_DTYPE_FLOAT;
}

bool host_body_open(const host_body *of, const optune_impl *impl, const char *workload,
                    const char *text)
{
    optune_err err = {0};
    ot_job job = {0};
    check_ok(ot_call_parse(workload, &call, &err));
    const optune_task task = {&call, &target, &device};
    if (!is_plain() || !ot_impl_applies(impl, &task, NULL))
        return false;
    body = of;
    choose(&task, impl, text);
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    check_ok(ot_builder_submit(builder, &task, &plan, &job, &err));
    while (!job.done)
        ot_builder_wait(builder, &job, 1);
    if (job.outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s %s: %s", impl->name, workload, job.message);
    module = dlopen(job.module[0], RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    for (int i = 0; i < call.n_inputs; i++) {
        const optune_tensor *type = &call.input[i].type;
        input[i] = ot_alloc((size_t)optune_tensor_bytes(type));
        ot_fill_input(type, 5, i, input[i]);
    }
    output = ot_alloc((size_t)optune_tensor_bytes(&call.output[0]));
    return true;
}

void host_body_said(const char *what)
{
    char *said = dlsym(module, "ot_failure");
    assert_non_null(said);
    if (what)
        check_contains(said, what);
    else
        assert_string_equal(said, "");
    said[0] = '\0';
}

void host_body_close(void)
{
    for (int i = 0; i < call.n_inputs; i++)
        free(input[i]);
    free(output);
    ot_space_close(space);
    dlclose(module);
}

bool host_body_try(const host_body *of, const optune_impl *impl, const char *workload,
                   const char *text)
{
    if (!host_body_open(of, impl, workload, text))
        return false;
    host_body_run(OPTUNE_PREPACK, host_body_stream);
    body->between();
    for (int run = 0; run < body->runs; run++)
        host_body_run(OPTUNE_TIMED, host_body_stream);
    body->between();
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    host_body_said(NULL);
    host_body_compare();
    host_body_close();
    return true;
}

void host_body_try_samples(const host_body *of, const char *name, int least)
{
    const optune_impl *impl = ot_impl_find(name);
    int tried = 0;
    assert_non_null(impl);
    for (const char *const *s = ot_op_find(impl->op)->samples; *s; s++)
        tried += host_body_try(of, impl, *s, NULL);
    assert_true(tried >= least);
}
