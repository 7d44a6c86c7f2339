/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One selected workload as a function over plain memory. Where the target's kernels can use
 * memory of this process, inputs and outputs are used where they are; else they are copied.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"

struct optune_function {
    ot_machine machine;
    ot_kernel kernel;
    optune_call *shaped; /* the call as it last came out; NULL: as its types say */
    void *constant[OPTUNE_MAX_INPUTS]; /* what its shape function sees of constants */
};

/* What a caller hands over for input `i`: where nothing has elements it may be no list at all. */
static const void *handed(const void *const *list, int i)
{
    return list ? list[i] : NULL;
}

/* The host's copy of what a shape function reads. */
static int keep_constants(optune_function *f, const void *const *constants, optune_err *err)
{
    const optune_call *call = f->kernel.session->task.call;
    if (!call->op->shape)
        return OPTUNE_OK;
    f->shaped = ot_alloc(sizeof *f->shaped);
    *f->shaped = *call;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const size_t bytes = (size_t)optune_tensor_bytes(&call->input[i].type);
        if (!call->input[i].is_const)
            continue;
        f->constant[i] = ot_try_alloc(bytes + 1, "a constant", err);
        if (!f->constant[i])
            return OPTUNE_ENOMEM;
        if (bytes)
            memcpy(f->constant[i], constants[i], bytes);
    }
    return OPTUNE_OK;
}

/* The true shape of what these inputs give. */
static int find_shape(optune_function *f, const void *const *inputs, optune_err *err)
{
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    if (!f->shaped)
        return OPTUNE_OK;
    optune_call *call = ot_alloc(sizeof *call);
    *call = *f->kernel.session->task.call;
    for (int i = 0; i < optune_call_inputs(call); i++)
        in[i] = f->constant[i] ? f->constant[i] : handed(inputs, i);
    const int status = ot_call_shape(call, in, err);
    if (status >= 0)
        *f->shaped = *call;
    free(call);
    return status;
}

int optune_function_shape(const optune_function *f, int output, int64_t *dims, optune_err *err)
{
    OT_ENTER(err, {"function", f}, {"dims", dims});
    const optune_call *call = f->shaped ? f->shaped : f->kernel.session->task.call;
    if (output < 0 || output >= call->n_outputs)
        return optune_fail(err, OPTUNE_EUSAGE, "there is no output %d: '%s' has %d", output,
                           call->op->name, call->n_outputs);
    for (int d = 0; d < call->output[output].rank; d++)
        dims[d] = call->output[output].dim[d].min;
    return call->output[output].rank;
}

/* Buffers of its own for constants, and for all where memory cannot be used as it is. */
static int make_buffers(optune_function *f, const void *const *constants, optune_err *err)
{
    ot_session *s = f->kernel.session;
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(s->task.call) && status >= 0; i++) {
        const optune_input *input = &s->task.call->input[i];
        s->in_bytes[i] = optune_tensor_bytes(&input->type);
        void **buffer = &s->in[OT_ALIGNED][i];
        if (s->row->alias && !input->is_const) {
            status = s->row->alias(s->state, buffer, NULL);
            continue;
        }
        status = s->row->alloc(s->state, s->in_bytes[i], false, buffer, err);
        if (status >= 0 && input->is_const && s->in_bytes[i])
            status = handed(constants, i)
                         ? s->row->write(s->state, *buffer, constants[i], s->in_bytes[i])
                         : optune_fail(err, OPTUNE_EUSAGE,
                                       "input %d of '%s' is a constant and has no elements",
                                       i + 1, s->task.call->op->name);
    }
    for (int i = 0; i < s->task.call->n_outputs && status >= 0; i++) {
        s->out_bytes[i] = optune_tensor_bytes(&s->task.call->output[i]);
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
    OT_ENTER(err, {"handle", o}, {"function", function});
    *function = NULL;
    if (!ot_call_static(call))
        return optune_fail(err, OPTUNE_ETYPE, "only a call of known types can be compiled");
    optune_function *f = ot_alloc(sizeof *f);
    int status = ot_machine_open(o, &f->machine, err);
    if (status >= 0)
        status = ot_kernel_choose(&f->machine, ot_calls_share(&f->machine.calls, call), NULL,
                                  &f->kernel, err);
    if (status >= 0)
        status = make_buffers(f, constants, err);
    if (status >= 0)
        status = keep_constants(f, constants, err);
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
    OT_ENTER(err, {"handle", o}, {"workload", workload}, {"function", function});
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
    OT_ENTER(err, {"function", f});
    ot_session *s = f->kernel.session;
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(s->task.call); i++)
        if (!s->task.call->input[i].is_const && s->in_bytes[i] && !handed(inputs, i))
            return optune_fail(err, OPTUNE_EUSAGE, "input %d has no elements", i + 1);
    for (int i = 0; i < s->task.call->n_outputs; i++)
        if (s->out_bytes[i] && (!outputs || !outputs[i]))
            return optune_fail(err, OPTUNE_EUSAGE, "there is no room for output %d", i + 1);
    status = find_shape(f, inputs, err);
    for (int i = 0; i < optune_call_inputs(s->task.call) && status >= 0; i++) {
        if (s->task.call->input[i].is_const)
            continue;
        void **buffer = &s->in[OT_ALIGNED][i];
        const void *const in = handed(inputs, i);
        status = s->row->alias    ? s->row->alias(s->state, buffer, (void *)(uintptr_t)in)
                 : s->in_bytes[i] ? s->row->write(s->state, *buffer, in, s->in_bytes[i])
                                  : OPTUNE_OK;
    }
    for (int i = 0; i < s->task.call->n_outputs && status >= 0 && s->row->alias; i++)
        status = s->row->alias(s->state, &s->out[OT_ALIGNED][i], outputs ? outputs[i] : NULL);
    if (status >= 0)
        status = ot_kernel_run(&f->kernel, err);
    for (int i = 0; i < s->task.call->n_outputs && status >= 0 && !s->row->alias; i++)
        if (s->out_bytes[i])
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
    const ot_session *s = f->kernel.session;
    void *buffer[OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS];
    int n = 0;
    for (int i = 0; s && i < OPTUNE_MAX_INPUTS; i++)
        buffer[n++] = s->in[OT_ALIGNED][i];
    for (int i = 0; s && i < OPTUNE_MAX_OUTPUTS; i++)
        buffer[n++] = s->out[OT_ALIGNED][i];
    ot_kernel_release(&f->kernel); /* its end may look at them */
    for (int i = 0; i < n; i++)
        if (buffer[i])
            f->machine.row->free(f->machine.state, buffer[i]);
    ot_machine_close(&f->machine);
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        free(f->constant[i]);
    free(f->shaped);
    free(f);
}
