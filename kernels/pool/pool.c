/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/pool.h declares. */
#include "kernels/pool/pool.h"

int pool_types(optune_call *call, const char *op, pool_named data, pool_named pooled,
               optune_err *err)
{
    optune_tensor *in = data.type, *out = pooled.type;
    const char *layout = optune_call_word(call, "layout");
    const int block = tensor_layout_block(layout);
    char text[HOST_TYPE_TEXT];
    if (block < 0)
        return optune_fail(err, OPTUNE_ETYPE, "%s: layout=%s is neither NCHW nor NCHW<c>c", op,
                           layout);
    const int rank = block ? 5 : 4;
    if (!optune_tensor_set_rank(in, rank))
        return optune_fail(err, OPTUNE_ETYPE, "%s: %s %s: %s has %d dimensions", op, data.name,
                           host_type_text(in, text), layout, rank);
#define POOL_MISFIT(what) tensor_misfit(err, op, pooled.name, out, data.name, in, what)
    if (!optune_tensor_set_rank(out, rank))
        return POOL_MISFIT("they differ in the number of dimensions");
    if (!optune_dtype_unify(&in->dtype, &out->dtype))
        return POOL_MISFIT("element types differ");
    optune_dim inner = optune_dim_of(block);
    if (block && !optune_dim_unify(&in->dim[4], &inner))
        return optune_fail(err, OPTUNE_ETYPE, "%s: %s %s: the last dimension is not that of %s",
                           op, data.name, host_type_text(in, text), layout);
    if (block && !optune_dim_unify(&out->dim[4], &in->dim[4]))
        return POOL_MISFIT("the last dimension is not the layout's block");
    if (!optune_dim_unify(&in->dim[0], &out->dim[0]))
        return POOL_MISFIT("batch sizes differ");
    if (!optune_dim_unify(&in->dim[1], &out->dim[1]))
        return POOL_MISFIT("channels differ");
    const int64_t *size = optune_call_ints(call, "pool_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const bool ceil_mode = optune_call_int(call, "ceil_mode");
    for (int axis = 0; axis < 2; axis++) {
        const int64_t pads = pad[axis] + pad[axis + 2] + (ceil_mode ? stride[axis] - 1 : 0);
        optune_dim kernel = optune_dim_of(size[axis]);
        if (!window_slide(&in->dim[2 + axis], &kernel, &out->dim[2 + axis], pads, stride[axis],
                          dilation[axis]))
            return POOL_MISFIT(axis ? "no width satisfies pool_size, strides and padding"
                                    : "no height satisfies pool_size, strides and padding");
        if (stride[axis] == 1 && pads == dilation[axis] * (size[axis] - 1) &&
            !optune_dim_unify(&in->dim[2 + axis], &out->dim[2 + axis]))
            return POOL_MISFIT(axis ? "this padding keeps the width"
                                    : "this padding keeps the height");
    }
    for (int i = 1; i < rank; i++) /* of images; a batch may have none */
        if (in->dim[i].max < 1 || out->dim[i].max < 1)
            return POOL_MISFIT("a dimension is empty");
#undef POOL_MISFIT
    return optune_tensor_known(in) && optune_tensor_known(out) ? OPTUNE_OK : 1;
}

int pool_backward_types(optune_call *call, optune_err *err)
{
    optune_tensor *data = &call->input[1].type, *out = &call->output[0];
    if (!tensor_is_real(data) || !tensor_is_real(&call->input[0].type))
        return tensor_misfit(err, call->op->name, "output", out, "argument 2 (data)", data,
                             "gradients are of floating types");
    if (!tensor_unify(data, out))
        return tensor_misfit(err, call->op->name, "output", out, "argument 2 (data)", data,
                             "a gradient has the type of what it is of");
    const int status = pool_types(call, call->op->name, (pool_named){"argument 2 (data)", data},
                                  (pool_named){"argument 1 (grad)", &call->input[0].type}, err);
    if (status >= 0)
        tensor_unify(data, out);
    return status;
}

static bool bounded_image(const optune_tensor *type)
{
    for (int d = 1; d < type->rank; d++)
        if (!optune_dim_known(&type->dim[d]) && (d != 2 || type->dim[d].max == OPTUNE_DIM_MAX))
            return false;
    return type->rank > 0;
}

void pool_finish(const optune_task *task, optune_plan *plan, const optune_stage *stage)
{
    const optune_call *call = task->call;
    optune_stage last = *stage;
    pool_shape s;
    if (pool_forward_most(call, &s) && s.any_y) { /* what pool_module counts on */
        if (s.any_n)
            last.arg[last.n_args++] = optune_dim_arg(0, 0);
        last.arg[last.n_args++] = optune_dim_arg(0, 2);
        last.arg[last.n_args++] = optune_output_dim_arg(0, 2);
        optune_plan_stage(plan, &last);
        return;
    }
    optune_plan_stage(plan, stage);
    if (!optune_dim_known(&call->input[0].type.dim[0]))
        optune_plan_repeat(plan, 0, (UINT64_C(1) << call->n_inputs) - 1);
}

bool pool_shape_of(const optune_call *call, const optune_tensor *data,
                   const optune_tensor *pooled, pool_shape *s)
{
    if (pool_most_of(call, data, pooled, s) && !s->any_y)
        return true;
    *s = (pool_shape){0};
    return false;
}

bool pool_most_of(const optune_call *call, const optune_tensor *data,
                  const optune_tensor *pooled, pool_shape *s)
{
    *s = (pool_shape){0};
    if (!bounded_image(data) || !bounded_image(pooled))
        return false;
    /* A batch that is known at run time is one image, which the plan repeats or the body counts. */
    const int64_t images = optune_dim_known(&data->dim[0]) ? data->dim[0].min : 1;
    const int64_t *size = optune_call_ints(call, "pool_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    bool counts = false;
    for (const optune_op_attr *a = call->op->attrs; a->name; a++)
        if (strcmp(a->name, "count_include_pad") == 0)
            counts = optune_call_int(call, "count_include_pad");
    const int block = tensor_layout_block(optune_call_word(call, "layout"));
    *s = (pool_shape){.planes = images * data->dim[1].min,
                      .block = block ? block : 1,
                      .count_pad = counts,
                      .f64 = data->dtype.bits == 64,
                      .ceil = optune_call_int(call, "ceil_mode") != 0};
    s->any_y = !optune_dim_known(&data->dim[2]) || !optune_dim_known(&pooled->dim[2]);
    s->any_n = s->any_y && !optune_dim_known(&data->dim[0]);
    for (int axis = 0; axis < 2; axis++)
        *(axis ? &s->x : &s->y) = (pool_axis){.in = data->dim[2 + axis].max,
                                              .out = pooled->dim[2 + axis].max,
                                              .kernel = size[axis],
                                              .stride = stride[axis],
                                              .dilation = dilation[axis],
                                              .before = pad[axis],
                                              .after = pad[axis + 2]};
    return true;
}

/* Every window counts kernel positions. */
static bool pool_uniform(const pool_shape *s)
{
    if (s->any_y && (s->ceil || s->y.before || s->y.after))
        return false;
    const pool_axis *const axis[] = {&s->y, &s->x};
    for (int i = 0; i < 2; i++)
        if (pool_count(axis[i], 0, s->count_pad) < axis[i]->kernel ||
            pool_count(axis[i], axis[i]->out - 1, s->count_pad) < axis[i]->kernel)
            return false;
    return true;
}

void pool_reference(const optune_call *call, pool_walk w, const optune_region *r,
                    pool_visit each)
{
    w.dtype = call->output[0].dtype;
    const int64_t lanes_lo = r->rank == 5 ? r->lo[4] : 0,
                  lanes_hi = r->rank == 5 ? r->hi[4] : 1, channels = call->output[0].dim[1].min;
    int64_t k = 0;
    for (int64_t n = r->lo[0]; n < r->hi[0]; n++)
        for (int64_t c = r->lo[1]; c < r->hi[1]; c++)
            for (int64_t y = r->lo[2]; y < r->hi[2]; y++)
                for (int64_t x = r->lo[3]; x < r->hi[3]; x++)
                    for (int64_t lane = lanes_lo; lane < lanes_hi; lane++)
                        each(&w, n * channels + c, lane, y, x, k++);
}

bool pool_is_mean(const optune_call *call)
{
    for (const optune_op_attr *a = call->op->attrs; a->name; a++)
        if (strcmp(a->name, "count_include_pad") == 0)
            return true;
    return false;
}

bool pool_fits(const pool_shape *s, char *why)
{
    return s->planes > 0 || optune_refuse(why, "needs constant shapes");
}

bool pool_applies(const optune_task *task, const pool_shape *s, char *why)
{
    return pool_fits(s, why) && (tensor_is_float(&task->call->output[0]) ||
                                 optune_refuse(why, "needs float32 or float64"));
}

pool_span pool_inside(const pool_axis *a)
{
    const int64_t reach = (a->kernel - 1) * a->dilation;
    const int64_t end = a->in - 1 - reach + a->before;
    int64_t first = (a->before + a->stride - 1) / a->stride;
    int64_t last = end < 0 ? 0 : end / a->stride + 1;
    last = last < a->out ? last : a->out;
    return (pool_span){first < last ? first : last, last};
}

int pool_module(optune_plan *plan, const pool_shape *s, int64_t lanes)
{
    const pool_span inside = pool_inside(&s->x);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BLOCK", s->block},
        {"W", s->x.in},
        {"OW", s->x.out},
        {"KH", s->y.kernel},
        {"KW", s->x.kernel},
        {"SH", s->y.stride},
        {"SW", s->x.stride},
        {"DH", s->y.dilation},
        {"DW", s->x.dilation},
        {"PT", s->y.before},
        {"PL", s->x.before},
        {"PB", s->y.after},
        {"PR", s->x.after},
        {"X0", inside.first},
        {"X1", inside.last},
        {"COUNT_PAD", s->count_pad},
        {"UNIFORM", pool_uniform(s)},
        {"VEC_BYTES", lanes * pool_elem(s)},
    };
    const int m = optune_plan_module(plan);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "DTYPE", s->f64 ? "double" : "float");
    char text[64];
    int at = 2; /* of a stage's arguments */
    snprintf(text, sizeof text, s->any_n ? "(%lld * *(const i64 *)arg[%d])" : "%lld",
             (long long)s->planes, at);
    at += s->any_n;
    optune_plan_define_text(plan, m, "PLANES", text);
    for (int out = 0; out < 2; out++) {
        snprintf(text, sizeof text, s->any_y ? "(*(const i64 *)arg[%d])" : "%d",
                 s->any_y ? at++ : (int)(out ? s->y.out : s->y.in));
        optune_plan_define_text(plan, m, out ? "OH" : "H", text);
    }
    return m;
}

int pool_shares(optune_plan *plan, int module, const pool_shape *s, int64_t lanes)
{
    const int shares =
        optune_plan_scratch(plan, "shares", (s->x.out + lanes) * pool_elem(s), true);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_PREPACK,
                                            .module = module,
                                            .function = "count_columns",
                                            .n_args = 1,
                                            .arg = {optune_scratch_arg(shares)}});
    return shares;
}
