/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/shape.h declares. */
#include "kernels/convolution/shape.h"

static bool is_empty(const optune_tensor *type, int from)
{
    for (int d = from; d < type->rank; d++)
        if (type->dim[d].max < 1)
            return true;
    return false;
}

int conv2d_empty(const optune_tensor *const tensors[3])
{
    for (int t = 0; t < 3; t++)
        if (is_empty(tensors[t], 0))
            return t;
    return -1;
}

int conv2d_empty_image(const optune_tensor *const tensors[3])
{
    for (int t = 0; t < 3; t++)
        if (is_empty(tensors[t], t != 1))
            return t;
    return -1;
}

int conv2d_solved(const optune_tensor *const tensors[3])
{
    return optune_tensor_known(tensors[0]) && optune_tensor_known(tensors[1]) &&
                   optune_tensor_known(tensors[2])
               ? OPTUNE_OK
               : 1;
}

void conv2d_sizes(const optune_call *call, const optune_tensor *data, const optune_tensor *out,
                  int channels, int rows, int64_t kh, int64_t kw, conv2d_shape *s)
{
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t ci = data->dim[channels].min, co = out->dim[channels].min;
    *s = (conv2d_shape){
        .n = data->dim[0].min,
        .images = data->dim[0].max,
        .ci = ci,
        .h = data->dim[rows].max,
        .w = data->dim[rows + 1].max,
        .co = co,
        .kh = kh,
        .kw = kw,
        .oh = out->dim[rows].max,
        .ow = out->dim[rows + 1].max,
        .sh = stride[0],
        .sw = stride[1],
        .pt = pad[0],
        .pl = pad[1],
        .pb = pad[2],
        .pr = pad[3],
        .dh = dilation[0],
        .dw = dilation[1],
        .groups = 1,
        .ci_g = ci,
        .co_g = co,
        .f64 = data->dtype.code == OPTUNE_DTYPE_FLOAT && data->dtype.bits == 64,
    };
}

void conv2d_numbers(const optune_call *call, const optune_tensor *data,
                    const optune_tensor *out, int64_t kh, int64_t kw, conv2d_shape *s)
{
    conv2d_sizes(call, data, out, 1, 2, kh, kw, s);
    s->groups = optune_call_int(call, "groups");
    if (s->groups > 1) {
        s->ci_g /= s->groups;
        s->co_g /= s->groups;
    }
}

static void define_numbers(optune_plan *plan, int module, const conv2d_shape *s, int first)
{
    const struct {
        const char *macro;
        int64_t value;
        bool varies;
    } table[] = {
        {"N", s->n, s->any_n},
        {"H", s->h, s->any_h},
        {"OH", s->oh, s->any_h},
        {"W", s->w, s->any_w},
        {"OW", s->ow, s->any_w},
        {"CI", s->ci, false},
        {"CO", s->co, false},
        {"KH", s->kh, false},
        {"KW", s->kw, false},
        {"SH", s->sh, false},
        {"SW", s->sw, false},
        {"PT", s->pt, false},
        {"PL", s->pl, false},
        {"PB", s->pb, false},
        {"PR", s->pr, false},
        {"DH", s->dh, false},
        {"DW", s->dw, false},
        {"CI_G", s->ci_g, false},
        {"CO_G", s->co_g, false},
        {"GROUPS", s->groups, false},
        {"IN_BLOCK", s->data_block, false},
        {"OUT_BLOCK", s->out_block, false},
        {"VARIES", conv2d_varies(s), false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[48];
        snprintf(text, sizeof text, "(*(const i64 *)arg[%d])", first);
        if (table[i].varies)
            optune_plan_define_text(plan, module, table[i].macro, text);
        else
            optune_plan_define(plan, module, table[i].macro, table[i].value);
        first += table[i].varies;
    }
}

void conv2d_define_numbers(optune_plan *plan, int module, const conv2d_shape *s)
{
    define_numbers(plan, module, s, 0);
}

void conv2d_define(optune_plan *plan, int module, const conv2d_shape *s)
{
    conv2d_define_varying(plan, module, s, 0);
}

void conv2d_define_varying(optune_plan *plan, int module, const conv2d_shape *s, int first)
{
    define_numbers(plan, module, s, first);
    optune_plan_define_text(plan, module, "DTYPE", s->f64 ? "double" : "float");
}
