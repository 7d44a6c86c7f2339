/* SPDX-License-Identifier: Apache-2.0 */
/* What is fused behind a call. */
#include "support/random_call.h"

#include "support/check.h"

static void add_type(const optune_tensor *type, int first, int last, ot_text *to)
{
    optune_tensor part = {.dtype = type->dtype, .rank = type->rank - first};
    for (int d = first; d < type->rank; d++)
        part.dim[d - first] = d <= last ? type->dim[d] : optune_dim_of(1);
    ot_tensor_print(&part, to);
}

void random_call_fuse(const char *sample, int variant, ot_text *to)
{
    optune_err err = {0};
    static optune_call call;
    check_ok(ot_call_parse(sample, &call, &err));
    const optune_tensor *out = &call.output[0];
    const int last = out->rank - 1, channel = out->rank < 4 ? last : 1;
    const bool whole =
        out->dtype.code == OPTUNE_DTYPE_INT || out->dtype.code == OPTUNE_DTYPE_UINT;
    ot_text_clear(to);
    ot_text_printf(to, "%s -> ", sample);
    switch (variant % 3) {
    case 0:
        ot_text_add(to, "add(const ");
        add_type(out, channel, channel, to);
        ot_text_add(to, ") -> relu()");
        break;
    case 1:
        ot_text_add(to, "multiply(");
        add_type(out, 0, last, to);
        ot_text_add(to, ") -> subtract(");
        add_type(out, last, last, to);
        ot_text_add(to, whole ? ", _) -> relu()" : ", _) -> sigmoid()");
        break;
    default:
        ot_text_add(to, "add(");
        add_type(out, 0, last - 1, to);
        ot_text_add(to, ")");
    }
}

/* An operand as an operator's sample has it, mostly in the output's dtype, over its last dims. */
static void draw_operand(uint64_t *rng, const optune_tensor *out, optune_tensor *type)
{
    const int from = (int)random_between(rng, 0, out->rank);
    const bool same = random_chance(rng, 0.9);
    type->dtype = same ? out->dtype : type->dtype;
    type->rank = out->rank - from;
    for (int d = from; d < out->rank; d++) {
        const bool whole = optune_dim_known(&out->dim[d]) || out->dim[d].name[0];
        type->dim[d - from] = whole && random_chance(rng, 0.6) ? out->dim[d] : optune_dim_of(1);
    }
}

/* One operator behind the call. */
static bool draw_step(uint64_t *rng, const optune_call *call, optune_call *fused)
{
    static optune_call next;
    optune_err err = {0};
    int n, samples = 0;
    const optune_op *const *ops = ot_ops(&n);
    const optune_op *op = ops[optune_random_below(rng, n)];
    if (!op->scalar || op->pattern > OPTUNE_BROADCAST)
        return false;
    while (op->samples[samples])
        samples++;
    check_ok(ot_call_parse(op->samples[optune_random_below(rng, samples)], &next, &err));
    if (next.n_epilogues || next.n_inputs > OPTUNE_MAX_OPERANDS)
        return false;
    const int chain = (int)optune_random_below(rng, next.n_inputs);
    for (int i = 0; i < next.n_inputs; i++)
        if (i == chain)
            next.input[i].type = call->output[0];
        else
            draw_operand(rng, &call->output[0], &next.input[i].type);
    next.output[0] = (optune_tensor){.rank = -1};
    *fused = *call;
    return optune_call_fuse(fused, &next, chain, &err) >= 0;
}

bool random_call_fuses(const optune_call *call)
{
    return call->n_outputs == 1 && call->output[0].rank >= 0;
}

bool random_call_chain(uint64_t *rng, const optune_call *call, optune_call *fused)
{
    static optune_call one;
    const int length = (int)random_between(rng, 1, OPTUNE_MAX_EPILOGUES);
    bool any = false;
    *fused = *call;
    if (!random_call_fuses(call))
        return false;
    for (int tries = 0; tries < 60 && fused->n_epilogues < length; tries++)
        if (draw_step(rng, fused, &one)) {
            *fused = one;
            any = true;
        }
    return any;
}
