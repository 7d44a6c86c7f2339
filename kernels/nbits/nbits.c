/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/nbits/nbits.h declares. */
#include "kernels/nbits/nbits.h"

bool nbits_dim(const optune_call *call, const char *name, optune_dim *value)
{
    if (strcmp(name, "m") == 0)
        *value = call->input[NBITS_DATA].type.dim[0];
    else if (strcmp(name, "n") == 0)
        *value = call->input[NBITS_WEIGHT].type.dim[0];
    else if (strcmp(name, "k") == 0)
        *value = call->input[NBITS_DATA].type.dim[1];
    else
        return false;
    return true;
}

nbits_shape nbits_shape_of(const optune_call *call)
{
    const optune_tensor *data = &call->input[NBITS_DATA].type;
    const optune_tensor *weight = &call->input[NBITS_WEIGHT].type;
    bool constant = true;
    for (int i = NBITS_WEIGHT; i < call->n_inputs; i++)
        constant = constant && call->input[i].is_const;
    nbits_shape s = {
        .m = data->dim[0].max,
        .n = weight->dim[0].min,
        .k = data->dim[1].min,
        .bits = optune_call_int(call, "bits"),
        .row_bytes = weight->dim[1].min,
        .scale_bytes = call->input[NBITS_SCALE].type.dtype.bits / 8,
        .m_varies = data->dim[0].min != data->dim[0].max,
        .is_signed = weight->dtype.code == OPTUNE_DTYPE_INT,
        .zero = call->n_inputs > NBITS_ZERO,
        .phase = constant ? OPTUNE_PREPACK : OPTUNE_TIMED,
    };
    s.zero_real = s.zero && host_is_real(call->input[NBITS_ZERO].type.dtype);
    s.group = nbits_group(call, s.k);
    s.groups = s.group > 0 ? host_ceil(s.k, s.group) : 0;
    return s;
}

bool nbits_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dim *m = &call->input[NBITS_DATA].type.dim[0];
    bool known = call->input[NBITS_DATA].type.rank == 2 && call->output[0].rank == 2 &&
                 m->max != OPTUNE_DIM_MAX &&
                 optune_dim_known(&call->input[NBITS_DATA].type.dim[1]) &&
                 call->input[NBITS_DATA].type.dtype.code != OPTUNE_DTYPE_UNKNOWN;
    for (int i = NBITS_WEIGHT; i < call->n_inputs; i++)
        known = known && optune_tensor_known(&call->input[i].type);
    if (!known)
        return optune_refuse(why, "needs constant shapes");
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].type.dtype.bits > 32)
            return optune_refuse(why, "computes in float32");
    const nbits_shape s = nbits_shape_of(call);
    return (m->min >= 1 && s.n >= 1 && s.k >= 1) ||
           optune_refuse(why, "needs dimensions of at least 1");
}

void nbits_define(optune_plan *plan, int module, const nbits_shape *s)
{
    optune_plan_define(plan, module, "M", s->m);
    optune_plan_define(plan, module, "M_VARIES", s->m_varies);
    optune_plan_define(plan, module, "N", s->n);
    optune_plan_define(plan, module, "K", s->k);
    optune_plan_define(plan, module, "BITS", s->bits);
    optune_plan_define(plan, module, "GROUP", s->group);
    optune_plan_define(plan, module, "GROUPS", s->groups);
    optune_plan_define(plan, module, "SIGNED", s->is_signed);
    optune_plan_define(plan, module, "ZERO", s->zero);
    optune_plan_define(plan, module, "ZERO_REAL", s->zero_real);
}

const char *nbits_float_of(optune_dtype dtype)
{
    return dtype.bits != 16                    ? ""
           : dtype.code == OPTUNE_DTYPE_BFLOAT ? "float_of_bfloat"
                                               : "float_of_half";
}
