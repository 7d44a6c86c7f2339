/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/lead.h declares. */
#include "kernels/host/lead.h"

bool host_lead_known(const optune_tensor *type, int from)
{
    int64_t bits = 128; /* of a tensor at its largest, whose elements have as many at most */
    for (int d = 0; d < type->rank; d++) {
        const int64_t most = host_dim_most(&type->dim[d]);
        if (d < from ? most == OPTUNE_DIM_MAX : !optune_dim_known(&type->dim[d]))
            return false;
        if (most && __builtin_mul_overflow(bits, most, &bits))
            return false;
    }
    return type->rank > 0 && from >= 0;
}

host_axis host_lead_around(const optune_tensor *type, int64_t axis)
{
    const int at = (int)(axis < 0 ? axis + type->rank : axis);
    host_axis around = {1, 1, 1};
    for (int d = 0; d < type->rank; d++)
        *(d < at   ? &around.outer
          : d > at ? &around.inner
                   : &around.n) *= host_dim_most(&type->dim[d]);
    return around;
}

void host_dims_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                      int input, int from, int to, int first)
{
    const optune_tensor *type = &call->input[input].type;
    char text[48 * OPTUNE_MAX_RANK];
    int64_t constant = 1;
    int at = 0, n = 0;
    for (int d = from; d < to; d++) {
        if (optune_dim_known(&type->dim[d]))
            constant *= type->dim[d].min;
        else
            at += snprintf(text + at, sizeof text - (size_t)at, "*(*(const i64 *)arg[%d])",
                           first + n++);
    }
    if (!n) {
        optune_plan_define(plan, m, macro, constant);
        return;
    }
    char whole[sizeof text + 32];
    snprintf(whole, sizeof whole, "((i64)%" PRId64 "%s)", constant, text);
    optune_plan_define_text(plan, m, macro, whole);
}

void host_lead_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                      int input, int to, int first)
{
    host_dims_define(plan, m, macro, call, input, 0, to, first);
}

void host_lead_define_gpu(optune_plan *plan, int m, const char *macro, const char *parameters,
                          const optune_call *call, int input, int to)
{
    const optune_tensor *type = &call->input[input].type;
    char product[24 * OPTUNE_MAX_RANK + 32] = "", declared[24 * OPTUNE_MAX_RANK] = "";
    int64_t constant = 1;
    int at = 0, declared_at = 0;
    for (int d = 0; d < to; d++) {
        if (optune_dim_known(&type->dim[d])) {
            constant *= type->dim[d].min;
            continue;
        }
        at += snprintf(product + at, sizeof product - (size_t)at, "*lead%d", d);
        declared_at += snprintf(declared + declared_at, sizeof declared - (size_t)declared_at,
                                ", i64 lead%d", d);
    }
    char whole[sizeof product + 32];
    snprintf(whole, sizeof whole, "((i64)%" PRId64 "%s)", constant, product);
    optune_plan_define_text(plan, m, macro, whole);
    optune_plan_define_text(plan, m, parameters, declared);
}

void host_dims_args(const optune_call *call, int input, int from, int to, optune_stage *stage)
{
    for (int d = from; d < to; d++)
        if (!optune_dim_known(&call->input[input].type.dim[d]))
            stage->arg[stage->n_args++] = optune_dim_arg(input, d);
}

void host_lead_args(const optune_call *call, int input, int to, optune_stage *stage)
{
    host_dims_args(call, input, 0, to, stage);
}
