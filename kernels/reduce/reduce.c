/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/reduce/reduce.h declares. */
#include "kernels/reduce/reduce.h"

enum { ARGS = 2 }; /* of a stage, in front of dims */

/* How many leading dims there are up to the last one that is known at run time. */
static int lead_of(const optune_tensor *in)
{
    int lead = in->rank;
    while (lead > 0 && optune_dim_known(&in->dim[lead - 1]))
        lead--;
    return lead;
}

/* Leading dims stay a loop of their own, so that only their product is known at run time. */
reduce_loops reduce_loops_of(const optune_call *call)
{
    const optune_tensor *in = &call->input[0].type;
    const uint32_t axes = optune_reduce_axes(call);
    const int lead = lead_of(in);
    pattern_loops l = {.rank = in->rank - lead, .tensors = 2};
    int64_t step = 1, out_step = 1;
    for (int d = in->rank - 1; d >= lead; d--) {
        const bool reduced = axes >> d & 1;
        l.extent[d - lead] = in->dim[d].min;
        l.stride[0][d - lead] = step;
        l.stride[1][d - lead] = reduced ? 0 : out_step;
        step *= in->dim[d].min;
        out_step *= reduced ? 1 : in->dim[d].min;
    }
    pattern_loops_collapse(&l);
    reduce_loops r = {.outputs = 1, .count = 1, .lead = lead};
    if (lead) {
        r.kept[0] = 1;
        for (int d = 0; d < lead; d++)
            r.kept[0] *= host_dim_most(&in->dim[d]);
        r.kept_stride[0] = step;
        r.n_kept = 1;
        r.outputs = r.kept[0];
    }
    for (int d = 0; d < l.rank; d++) {
        r.inner = l.stride[1][d] == 0;
        if (r.inner) {
            r.reduced[r.n_reduced] = l.extent[d];
            r.reduced_stride[r.n_reduced++] = l.stride[0][d];
            r.count *= l.extent[d];
        } else {
            r.kept[r.n_kept] = l.extent[d];
            r.kept_stride[r.n_kept++] = l.stride[0][d];
            r.outputs *= l.extent[d];
        }
    }
    r.inside = lead ? r.outputs / host_max(r.kept[0], 1) : r.outputs;
    return r;
}

/* Whether the output has each of the leading dims that are known at run time: an op whose axes
 * follow from shapes may yet add them up. */
static bool keeps(const optune_tensor *in, const optune_tensor *out, int lead)
{
    for (int d = 0; d < lead; d++) {
        bool kept = optune_dim_known(&in->dim[d]);
        for (int k = 0; k < out->rank && !kept; k++)
            kept = in->dim[d].name[0] && !strcmp(in->dim[d].name, out->dim[k].name);
        if (!kept)
            return false;
    }
    return true;
}

bool reduce_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_tensor *in = &call->input[0].type;
    const int lead = lead_of(in);
    if (!lead)
        return pattern_applies(task, why);
    if (lead == in->rank || !host_lead_known(in, lead) ||
        optune_reduce_axes(call) & ((1u << lead) - 1) || !keeps(in, &call->output[0], lead))
        return optune_refuse(why,
                             "takes only rows at run time that are kept, as the first dims");
    for (int i = 1; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return optune_refuse(why, "needs constant shapes but of rows");
    const reduce_loops r = reduce_loops_of(call);
    if (r.n_kept + r.n_reduced < 2)
        return optune_refuse(why, "a row is one element");
    return pattern_computes(task, why);
}

bool reduce_innermost(const optune_task *task, bool reduced, char *why)
{
    return reduce_loops_of(task->call).inner == reduced ||
           optune_refuse(why, "is for a %s innermost dim", reduced ? "reduced" : "kept");
}

int64_t reduce_row(const reduce_loops *r)
{
    if (r->inner)
        return r->reduced[r->n_reduced - 1];
    return r->n_kept ? r->kept[r->n_kept - 1] : 1;
}

void reduce_define_offset(optune_plan *plan, int m, const char *macro, const char *name, int n,
                          const int64_t *extent, const int64_t *stride)
{
    char text[256] = "0";
    int at = 0;
    int64_t inside = 1;
    for (int d = n - 1; d >= 0; d--) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s", at ? " + " : "(");
        at += pattern_offset_term(text + at, sizeof(text) - (size_t)at, name, inside,
                                  d > 0 ? extent[d] : 0, stride[d]);
        inside *= extent[d];
    }
    if (n)
        snprintf(text + at, sizeof(text) - (size_t)at, ")");
    optune_plan_define_text(plan, m, macro, text);
}

void reduce_define_as(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                      int64_t parts, const char *type)
{
    const optune_reduce *op = call->op->reduce;
    optune_plan_define_text(plan, m, "IN_T", type);
    optune_plan_define_text(plan, m, "IDENTITY", op->identity->text);
    optune_plan_define_text(plan, m, "MAP", op->map->text);
    optune_plan_define_text(plan, m, "COMBINE", op->combine->text);
    optune_plan_define_text(plan, m, "FINISH", op->finish->text);
    optune_plan_define(plan, m, "COUNT", r->count);
    if (r->lead) {
        host_lead_define(plan, m, "LEAD", call, 0, r->lead, ARGS);
        char text[64];
        snprintf(text, sizeof text, "(LEAD * %" PRId64 ")", r->inside);
        optune_plan_define_text(plan, m, "OUTPUTS", text);
    } else {
        optune_plan_define(plan, m, "OUTPUTS", r->outputs);
    }
    optune_plan_define(plan, m, "PARTS", parts);
}

void reduce_define(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                   int64_t parts)
{
    pattern_define_scalar(plan, m, call);
    pattern_define_output(plan, m, call);
    reduce_define_as(plan, m, call, r, parts, pattern_c_type(call->input[0].type.dtype));
}

void reduce_stages(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                   int64_t parts)
{
    optune_arg to = optune_output_arg(0);
    if (parts > 1) {
        const int64_t size = pattern_bytes(call->input[0].type.dtype);
        to = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", parts * r->outputs * size, false));
    }
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "reduce",
                          .n_args = ARGS,
                          .arg = {optune_input_arg(0), to}};
    host_lead_args(call, 0, r->lead, &stage);
    optune_plan_stage(plan, &stage);
    if (parts > 1)
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = m,
                                                .function = "join",
                                                .n_args = 2,
                                                .arg = {to, optune_output_arg(0)}});
}

void reduce_space_parts(const optune_task *task, const reduce_loops *r, int64_t splittable,
                        optune_space *space)
{
    const int64_t threads = reduce_threads(task);
    const int64_t values[] = {1, threads, 4 * threads};
    const bool few = threads > 1 && !r->lead && r->outputs < 64 * threads;
    optune_space_ints(space, "parts", few && splittable >= 4 * threads ? 3 : 1, values);
}
