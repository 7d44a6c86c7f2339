/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze: data without the dims of 1 that axis names; no axis: without all of them. */
#include <string.h>

#include "kernels/move/injective.h"

static const optune_op_attr attrs[] = {
    {.name = "axis",
     .kind = OPTUNE_ATTR_INTS,
     .value = "[]",
     .description = "which; none: all that are 1",
     .min = -OPTUNE_MAX_RANK,
     .max = OPTUNE_MAX_RANK - 1,
     .shown = true},
    {.name = NULL},
};

static int types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const optune_attr *axis = optune_call_attr(call, "axis");
    int status = injective_dtypes(call, err);
    if (status < 0 || in->rank < 0)
        return status < 0 ? status : 1;
    uint32_t gone = 0;
    for (int i = 0; i < axis->n; i++) {
        const int d = injective_axis(call, axis->i[i], in->rank, err);
        optune_dim one = optune_dim_of(1);
        if (d < 0)
            return d;
        if (!optune_dim_unify(&in->dim[d], &one))
            return optune_fail(err, OPTUNE_ETYPE, "dim %d of 'data' is not 1", d);
        if (gone >> d & 1)
            return optune_fail(err, OPTUNE_ETYPE, "'axis' names dim %d twice", d);
        gone |= 1u << d;
    }
    for (int d = 0; d < in->rank && !axis->n; d++) {
        if (in->dim[d].min <= 1 && in->dim[d].max >= 1 && !optune_dim_known(&in->dim[d]))
            return 1; /* whether it goes is not known */
        gone |= (uint32_t)(in->dim[d].min == 1 && in->dim[d].max == 1) << d;
    }
    /* All dims of 1, by name, is what no name means. */
    optune_attr *said = injective_attr(call, "axis");
    bool all = optune_tensor_known(in) || !axis->n;
    for (int d = 0; d < in->rank; d++)
        all = all && (in->dim[d].max == 1) == (gone >> d & 1);
    int rank = 0;
    said->n = 0;
    memset(said->i, 0, sizeof said->i);
    for (int d = 0; d < in->rank; d++) {
        rank += !(gone >> d & 1);
        if (!all && (gone >> d & 1))
            said->i[said->n++] = d;
    }
    if (said->n == 1 && said->i[0] == in->rank - 1)
        said->i[0] = -1; /* as of reductions */
    bool fits = optune_tensor_set_rank(out, rank);
    for (int d = 0, k = 0; d < in->rank && fits; d++)
        if (!(gone >> d & 1))
            fits = optune_dim_unify(&in->dim[d], &out->dim[k++]);
    if (!fits)
        return optune_types_differ(err, "the output is data with dims of 1 left out", "data",
                                   in, "output", out);
    return injective_known(call);
}

static const char *const samples[] = {
    "squeeze(f32[1,7])",
    "squeeze(f32[5,1,9,1])",
    "squeeze(f32[5,1,9,1], axis=[-1])",
    "squeeze(i32[1,1])",
    NULL,
};

OPTUNE_OP(squeeze) = {
    .name = "squeeze",
    .summary = "without dims of 1",
    .support_level = 3,
    .attrs = attrs,
    .types = types,
    .samples = samples,
    INJECTIVE_FLAT_OP,
};
