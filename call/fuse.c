/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fusing an operator behind the one of a call. Never decides what is worth fusing and never
 * computes.
 *
 * The one idea: a fused operator is an ordinary call whose chain input and output are both the
 * first output of the whole (optune_call_step), so its own type relation judges it, in both
 * directions.
 */
#include <assert.h>
#include <string.h>

#include "call/inside.h"

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
        return optune_fail(err, OPTUNE_ELIMIT,
                           "at most %d operators can be fused behind one: give what follows a "
                           "call of its own",
                           OPTUNE_MAX_EPILOGUES);
    if (optune_call_inputs(call) + extra > OPTUNE_MAX_INPUTS)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "a fused call has at most %d inputs: give what follows a call of its "
                           "own",
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
    memcpy(e->attr, next->attr, sizeof e->attr[0] * (size_t)n_attrs);
    for (int k = 0; k < next->n_inputs; k++)
        if (k != chain)
            call->input[call->n_inputs + call->n_extra++] = next->input[k];
    return OPTUNE_OK;
}

int optune_call_fuse(optune_call *call, const optune_call *next, int chain, optune_err *err)
{
    optune_call both;
    ot_call_copy(&both, call);
    int status = ot_call_append(&both, next, chain, err);
    if (status >= 0)
        status = ot_call_settle(&both, NULL, err);
    if (status >= 0)
        ot_call_copy(call, &both);
    return status;
}
