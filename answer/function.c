/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One selected workload as a function over plain memory. Where the target's kernels can use
 * memory of this process, inputs and outputs are used where they are; else they are copied.
 */
#include "answer/graph.h"

struct optune_function {
    ot_machine machine;
    ot_kernel kernel;
};

/* Buffers of its own for constants, and for all where memory cannot be used as it is. */
static int make_buffers(optune_function *f, const void *const *constants, optune_err *err)
{
    ot_session *s = &f->kernel.session;
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(&s->call) && status >= 0; i++) {
        const optune_input *input = &s->call.input[i];
        s->in_bytes[i] = optune_tensor_bytes(&input->type);
        void **buffer = &s->in[OT_ALIGNED][i];
        if (s->row->alias && !input->is_const) {
            status = s->row->alias(s->state, buffer, NULL);
            continue;
        }
        status = s->row->alloc(s->state, s->in_bytes[i], false, buffer, err);
        if (status >= 0 && input->is_const)
            status = constants && constants[i]
                         ? s->row->write(s->state, *buffer, constants[i], s->in_bytes[i])
                         : optune_fail(err, OPTUNE_EUSAGE,
                                       "input %d of '%s' is a constant and has no elements",
                                       i + 1, s->call.op->name);
    }
    for (int i = 0; i < s->call.n_outputs && status >= 0; i++) {
        s->out_bytes[i] = optune_tensor_bytes(&s->call.output[i]);
        void **buffer = &s->out[OT_ALIGNED][i];
        status = s->row->alias ? s->row->alias(s->state, buffer, NULL)
                               : s->row->alloc(s->state, s->out_bytes[i], false, buffer, err);
    }
    return status;
}

int optune_function_open(optune *o, const optune_call *call, const void *const *constants,
                         optune_function **function, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"handle", o}, {"function", function}));
    *function = NULL;
    if (!ot_call_static(call))
        return optune_fail(err, OPTUNE_ETYPE, "only a call of known types can be compiled");
    optune_function *f = ot_alloc(sizeof *f);
    int status = ot_machine_open(o, &f->machine, err);
    if (status >= 0)
        status = ot_kernel_choose(&f->machine, call, NULL, &f->kernel, err);
    if (status >= 0)
        status = make_buffers(f, constants, err);
    if (status >= 0)
        status = ot_kernel_load(&f->kernel, err);
    if (status < 0) {
        optune_function_close(f);
        return status;
    }
    *function = f;
    return OPTUNE_OK;
}

int optune_function_open_text(optune *o, const char *workload, const void *const *constants,
                              optune_function **function, optune_err *err)
{
    optune_call *call = NULL;
    OT_RETURN_UNLESS_OK(
        OT_GIVEN(err, {"handle", o}, {"workload", workload}, {"function", function}));
    *function = NULL;
    int status = optune_call_open(workload, &call, err);
    if (status >= 0)
        status = optune_function_open(o, call, constants, function, err);
    optune_call_close(call);
    return status;
}

int optune_function_run(optune_function *f, const void *const *inputs, void *const *outputs,
                        optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"function", f}));
    ot_session *s = &f->kernel.session;
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(&s->call); i++)
        if (!s->call.input[i].is_const && s->in_bytes[i] && (!inputs || !inputs[i]))
            return optune_fail(err, OPTUNE_EUSAGE, "input %d has no elements", i + 1);
    for (int i = 0; i < s->call.n_outputs; i++)
        if (s->out_bytes[i] && (!outputs || !outputs[i]))
            return optune_fail(err, OPTUNE_EUSAGE, "there is no room for output %d", i + 1);
    for (int i = 0; i < optune_call_inputs(&s->call) && status >= 0; i++) {
        if (s->call.input[i].is_const)
            continue;
        void **buffer = &s->in[OT_ALIGNED][i];
        status = s->row->alias ? s->row->alias(s->state, buffer, (void *)(uintptr_t)inputs[i])
                               : s->row->write(s->state, *buffer, inputs[i], s->in_bytes[i]);
    }
    for (int i = 0; i < s->call.n_outputs && status >= 0 && s->row->alias; i++)
        status = s->row->alias(s->state, &s->out[OT_ALIGNED][i], outputs[i]);
    if (status >= 0)
        status = ot_kernel_run(&f->kernel, err);
    for (int i = 0; i < s->call.n_outputs && status >= 0 && !s->row->alias; i++)
        status = s->row->read(s->state, s->out[OT_ALIGNED][i], outputs[i], s->out_bytes[i]);
    return status;
}

const char *optune_function_impl(const optune_function *f)
{
    if (!f)
        return NULL;
    return f->kernel.impl->name;
}

void optune_function_close(optune_function *f)
{
    if (!f)
        return;
    ot_session *s = &f->kernel.session;
    ot_kernel_release(&f->kernel);
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        if (s->in[OT_ALIGNED][i])
            s->row->free(s->state, s->in[OT_ALIGNED][i]);
    for (int i = 0; i < OPTUNE_MAX_OUTPUTS; i++)
        if (s->out[OT_ALIGNED][i])
            s->row->free(s->state, s->out[OT_ALIGNED][i]);
    ot_machine_close(&f->machine);
    free(f);
}
