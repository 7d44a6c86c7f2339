/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls leave bytes as they are: what their op declares, as pieces or as a scalar
 * expression, tells whether the output is made of dense runs of the inputs.
 */
#include <string.h>

#include "call/call.h"

/* The loops of a piece walk both sides densely, in one order: one run of how many elements; -1:
 * they do not. */
static int64_t run_of(const optune_piece *p)
{
    int64_t n = 1;
    bool dense = true;
    for (int d = p->rank - 1; d >= 0; d--) {
        dense = dense && (p->extent[d] == 1 || (p->in_stride[d] == n && p->out_stride[d] == n));
        n *= p->extent[d];
    }
    return dense || n == 0 ? n : -1;
}

/* Its one input, element by element. */
static int whole_input(const optune_call *call, ot_slice *slice)
{
    const optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const bool same = call->n_inputs == 1 && !strcmp(call->op->scalar->text, "x0") &&
                      optune_dtype_equal(in->dtype, out->dtype) &&
                      optune_tensor_elements(in) == optune_tensor_elements(out);
    *slice = (ot_slice){.bytes = optune_tensor_bytes(out)};
    return same ? 1 : 0;
}

int ot_call_slices(const optune_call *call, ot_slice slice[OPTUNE_MAX_PIECES])
{
    const optune_op *op = call->op;
    optune_piece piece[OPTUNE_MAX_PIECES];
    if (call->n_epilogues || call->n_outputs != 1 || !ot_call_static(call))
        return 0;
    if (op->scalar && op->scalar->text)
        return whole_input(call, slice);
    const int n = op->pieces ? op->pieces(call, piece) : 0;
    const int64_t elements = optune_tensor_elements(&call->output[0]);
    const int64_t each = elements ? optune_tensor_bytes(&call->output[0]) / elements : 0;
    for (int i = 0; i < n; i++) {
        const int64_t run = piece[i].input < 0 ? -1 : run_of(&piece[i]);
        if (run < 0 ||
            !optune_dtype_equal(call->input[piece[i].input].type.dtype, call->output[0].dtype))
            return 0;
        slice[i] = (ot_slice){.input = piece[i].input,
                              .from = piece[i].in_offset * each,
                              .to = piece[i].out_offset * each,
                              .bytes = run * each};
    }
    return n < 0 ? 0 : n;
}
