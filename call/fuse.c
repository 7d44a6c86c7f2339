/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators fused behind the one of a call: adding one, taking one out as a call of its own,
 * and their share of type inference. Never decides what is worth fusing and never computes.
 *
 * The one idea: a fused operator is an ordinary call whose chain input and output are both the
 * first output of the whole, so its own type relation judges it, in both directions.
 */
#include <assert.h>
#include <string.h>

#include "call/inside.h"

int optune_call_inputs(const optune_call *call)
{
    return call->n_inputs + call->n_extra;
}

void optune_call_step(const optune_call *call, int i, optune_call *step)
{
    assert(i >= 0 && i < call->n_epilogues);
    const optune_epilogue *e = &call->epilogue[i];
    *step = (optune_call){.op = e->op,
                          .n_inputs = e->n_extra + 1,
                          .n_outputs = 1,
                          .output = {call->output[0]},
                          .n_attrs = e->n_attrs + 1};
    for (int k = 0, from = e->extra; k < step->n_inputs; k++)
        step->input[k] =
            k == e->chain ? (optune_input){.type = call->output[0]} : call->input[from++];
    memcpy(step->attr, e->attr, sizeof(e->attr[0]) * (size_t)e->n_attrs);
    step->attr[e->n_attrs] = *optune_call_attr(call, "math");
}

const char *ot_call_input_name(const optune_call *call, int input)
{
    assert(input >= 0 && input < optune_call_inputs(call));
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_epilogue *e = &call->epilogue[i];
        const int k = input - e->extra;
        if (k >= 0 && k < e->n_extra)
            return e->op->inputs[k < e->chain ? k : k + 1].name;
    }
    return call->op->inputs[input].name;
}

int ot_call_append(optune_call *call, const optune_call *next, int chain, optune_err *err)
{
    const optune_op *op = next->op;
    const int extra = next->n_inputs - 1, n_attrs = next->n_attrs - 1;
    if (call->n_outputs != 1 || call->op->pattern >= OPTUNE_TUPLE)
        return optune_fail(err, OPTUNE_ETYPE, "nothing can be fused behind '%s'",
                           call->op->name);
    if (op->pattern > OPTUNE_BROADCAST || next->n_outputs != 1 || extra < 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "'%s' cannot be fused: it is neither elementwise nor broadcast",
                           op->name);
    if (!op->scalar || next->n_inputs > OPTUNE_MAX_OPERANDS)
        return optune_fail(err, OPTUNE_ETYPE,
                           "'%s' cannot be fused: it declares no expression of its inputs",
                           op->name);
    if (call->n_epilogues == OPTUNE_MAX_EPILOGUES)
        return optune_fail(err, OPTUNE_ELIMIT, "at most %d operators can be fused behind one",
                           OPTUNE_MAX_EPILOGUES);
    if (optune_call_inputs(call) + extra > OPTUNE_MAX_INPUTS)
        return optune_fail(err, OPTUNE_ELIMIT, "a fused call has at most %d inputs",
                           OPTUNE_MAX_INPUTS);
    if (n_attrs > OPTUNE_EPILOGUE_ATTRS)
        return optune_fail(err, OPTUNE_ELIMIT, "'%s' has too many attributes to be fused",
                           op->name);
    const char *math = optune_call_word(next, "math");
    if (strcmp(math, "ieee") != 0 && strcmp(math, optune_call_word(call, "math")) != 0)
        return optune_fail(err, OPTUNE_ETYPE,
                           "'math' is the first operator's: fused ones follow it");
    assert(chain >= 0 && chain < next->n_inputs);
    optune_epilogue *e = &call->epilogue[call->n_epilogues++];
    *e = (optune_epilogue){.op = op,
                           .chain = chain,
                           .extra = optune_call_inputs(call),
                           .n_extra = extra,
                           .n_attrs = n_attrs};
    memcpy(e->attr, next->attr, sizeof(e->attr[0]) * (size_t)n_attrs);
    for (int k = 0; k < next->n_inputs; k++)
        if (k != chain)
            call->input[call->n_inputs + call->n_extra++] = next->input[k];
    return OPTUNE_OK;
}

int optune_call_fuse(optune_call *call, const optune_call *next, int chain, optune_err *err)
{
    optune_call both = *call;
    int rc = ot_call_append(&both, next, chain, err);
    if (rc >= 0)
        rc = ot_call_settle(&both, NULL, err);
    if (rc >= 0)
        *call = both;
    return rc;
}

int ot_fused_types(optune_call *call, int i, optune_err *err)
{
    const optune_epilogue *e = &call->epilogue[i];
    optune_call step;
    optune_err inner = {0};
    optune_call_step(call, i, &step);
    const int rc = e->op->types ? e->op->types(&step, &inner) : OPTUNE_OK;
    if (rc < 0)
        return optune_fail(err, rc, "fused '%s': %s", e->op->name, inner.text);
    optune_tensor *value = &step.input[e->chain].type, *out = &step.output[0];
    bool same = optune_dtype_unify(&value->dtype, &out->dtype) && value->rank == out->rank;
    for (int d = 0; d < value->rank && same; d++)
        same = optune_dim_unify(&value->dim[d], &out->dim[d]);
    if (!same)
        return optune_fail(err, OPTUNE_ETYPE,
                           "fused '%s' changes the shape or the dtype of the output",
                           e->op->name);
    for (int k = 0; k < step.n_inputs; k++)
        if (step.input[k].type.dtype.code != OPTUNE_DTYPE_UNKNOWN &&
            !optune_dtype_equal(step.input[k].type.dtype, out->dtype))
            return optune_fail(err, OPTUNE_ETYPE,
                               "fused '%s': input '%s' differs from the output in dtype",
                               e->op->name, e->op->inputs[k].name);
    call->output[0] = *out;
    for (int k = 0, to = e->extra; k < step.n_inputs; k++)
        if (k != e->chain)
            call->input[to++] = step.input[k];
    return rc;
}
