/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/shape.h declares. */
#include "kernels/convolution/shape.h"

int conv2d_empty(const optune_tensor *const tensors[3])
{
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < tensors[t]->rank; i++)
            if (tensors[t]->dim[i].max < 1)
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

conv2d_shape conv2d_numbers(const optune_call *call, const optune_tensor *data,
                            const optune_tensor *out, int64_t kh, int64_t kw)
{
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t groups = optune_call_int(call, "groups");
    return (conv2d_shape){
        .n = data->dim[0].min,
        .images = data->dim[0].max,
        .ci = data->dim[1].min,
        .h = data->dim[2].min,
        .w = data->dim[3].min,
        .co = out->dim[1].min,
        .kh = kh,
        .kw = kw,
        .oh = out->dim[2].min,
        .ow = out->dim[3].min,
        .sh = stride[0],
        .sw = stride[1],
        .pt = pad[0],
        .pl = pad[1],
        .pb = pad[2],
        .pr = pad[3],
        .dh = dilation[0],
        .dw = dilation[1],
        .groups = groups,
        .ci_g = data->dim[1].min / groups,
        .co_g = out->dim[1].min / groups,
        .f64 = data->dtype.code == OPTUNE_DTYPE_FLOAT && data->dtype.bits == 64,
    };
}

void conv2d_define(optune_plan *plan, int module, const conv2d_shape *s)
{
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"N", s->n},
        {"CI", s->ci},
        {"H", s->h},
        {"W", s->w},
        {"CO", s->co},
        {"KH", s->kh},
        {"KW", s->kw},
        {"OH", s->oh},
        {"OW", s->ow},
        {"SH", s->sh},
        {"SW", s->sw},
        {"PT", s->pt},
        {"PL", s->pl},
        {"PB", s->pb},
        {"PR", s->pr},
        {"DH", s->dh},
        {"DW", s->dw},
        {"CI_G", s->ci_g},
        {"CO_G", s->co_g},
        {"GROUPS", s->groups},
        {"IN_BLOCK", s->data_block},
        {"OUT_BLOCK", s->out_block},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro, table[i].value);
    optune_plan_define_text(plan, module, "DTYPE", s->f64 ? "double" : "float");
}
