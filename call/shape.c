/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The true shape of a call whose output dims follow from values. The type relation bounds them; the
 * operator's shape function says what they are, and the relation has the last word.
 */
#include "call/inside.h"

int ot_call_shape(optune_call *call, const void *const *in, optune_err *err)
{
    for (int o = 0; o < call->n_outputs; o++)
        call->output[o] = (optune_tensor){.rank = -1};
    int status = ot_call_infer_dims(call, err);
    if (status == 1 && call->op->shape) {
        status = call->op->shape(call, in, err);
        status = status < 0 ? status : ot_call_infer_dims(call, err);
    }
    if (status < 0 || ot_call_static(call))
        return status < 0 ? status : OPTUNE_OK;
    return optune_fail(err, OPTUNE_ETYPE,
                       call->op->shape ? "its shape function left a dim unknown"
                                       : "its shape depends on what is unknown");
}
