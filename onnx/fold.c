/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows put back where they were cut out, summed where they overlap: a transposed convolution by
 * a kernel that puts each element of a window at its place. Transposed convolutions over volumes
 * are such a sum along depth, of what those over planes give.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;

/* [K,1,KH,KW]: element k of a window has a one at its place. */
static value *ones(ot_onnx_node *n, optune_dtype dtype, const int64_t *kernel)
{
    value *made = NULL;
    const int64_t k = kernel[0] * kernel[1];
    const optune_tensor type = {.dtype = dtype,
                                .rank = 4,
                                .dim = {optune_dim_of(k), optune_dim_of(1),
                                        optune_dim_of(kernel[0]), optune_dim_of(kernel[1])}};
    const double one = 1;
    if (ot_onnx_room(n->m, &type, &made, n->err) < 0)
        return NULL;
    for (int64_t i = 0; i < k; i++)
        ot_elements_set(dtype, made->data, i * k + i, 1, &one);
    return made;
}

ot_onnx_value *ot_onnx_fold(ot_onnx_node *n, value *x, const ot_onnx_window *w,
                            const int64_t added[2])
{
    value *weight = x ? ones(n, ot_onnx_type(n->m, x)->dtype, w->kernel) : NULL;
    return ot_onnx_call(n, "conv2d_transpose", 2, (value *const[]){x, weight},
                        "strides=[%s], padding=[%s], dilation=[%s], groups=1, "
                        "output_padding=[%s]",
                        ot_onnx_text(n->m, 2, w->stride), ot_onnx_text(n->m, 4, w->pad),
                        ot_onnx_text(n->m, 2, w->dilation), ot_onnx_text(n->m, 2, added));
}

ot_onnx_value *ot_onnx_transpose_volume(ot_onnx_node *n, const ot_onnx_volume *v, value *weight,
                                        const int64_t added[3])
{
    int64_t dim[OPTUNE_MAX_RANK];
    const ot_onnx_window w = ot_onnx_plane_of(v);
    const int64_t batch = v->dim[0], depth = v->dim[2];
    value *x = ot_onnx_transpose(n, ot_onnx_need(n, 0), 5, (const int[]){0, 2, 1, 3, 4});
    x = ot_onnx_reshape(n, x, 4,
                        (const int64_t[]){batch * depth, v->dim[1], v->dim[3], v->dim[4]});
    x = ot_onnx_call(n, "conv2d_transpose", 2, (value *const[]){x, weight},
                     "%s, output_padding=[%s]", ot_onnx_window_text(n, &w),
                     ot_onnx_text(n->m, 2, added + 1));
    if (!x || !ot_onnx_dims(n, x, dim))
        return NULL;
    const int64_t channels = dim[1] / v->kernel[0], plane = dim[2] * dim[3];
    x = ot_onnx_reshape(n, x, 5,
                        (const int64_t[]){batch, depth, channels, v->kernel[0], plane});
    x = x ? ot_onnx_transpose(n, x, 5, (const int[]){0, 2, 3, 1, 4}) : NULL;
    x = ot_onnx_reshape(n, x, 4,
                        (const int64_t[]){batch * channels, v->kernel[0], depth, plane});
    const ot_onnx_window along = {.kernel = {v->kernel[0], 1},
                                  .stride = {v->stride[0], 1},
                                  .dilation = {v->dilation[0], 1},
                                  .pad = {v->before[0], 0, v->after[0], 0}};
    x = ot_onnx_fold(n, x, &along, (const int64_t[]){added[0], 0});
    return ot_onnx_reshape(n, x, 5, (const int64_t[]){batch, channels, -1, dim[2], dim[3]});
}
