/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation with fixed statistics is y = x * scale + shift for each channel, and so a
 * part of the convolution before it when nothing else reads that one's output.
 */
#include <string.h>

#include "onnx/onnx.h"

/* As many as the data have channels, which a product with another number would hide. */
static bool by_channel(const ot_onnx_node *n, const ot_onnx_value *value)
{
    const ot_onnx_value *data = ot_onnx_in(n, 0); /* NULL: not read yet */
    const optune_tensor *type = ot_onnx_type(n->m, value);
    const optune_tensor *to = data && !data->failed ? ot_onnx_type(n->m, data) : NULL;
    return type->rank == 1 &&
           (!to || to->rank < 2 || !optune_dim_known(&to->dim[1]) ||
            !optune_dim_known(&type->dim[0]) || to->dim[1].min == type->dim[0].min);
}

int ot_onnx_affine(ot_onnx_node *n, ot_onnx_value **scale, ot_onnx_value **shift)
{
    ot_onnx_value *gamma = ot_onnx_need(n, 1), *beta = ot_onnx_need(n, 2);
    ot_onnx_value *mean = ot_onnx_need(n, 3), *variance = ot_onnx_need(n, 4);
    if (!gamma || !beta || !mean || !variance)
        return n->err->status;
    for (int i = 1; i < 5; i++)
        if (!by_channel(n, ot_onnx_in(n, i)))
            return ot_onnx_refuse(n, "its input %d is no list of a number for each channel",
                                  i + 1);
    gamma = ot_onnx_wide(n, gamma);
    beta = ot_onnx_wide(n, beta);
    mean = ot_onnx_wide(n, mean);
    variance = ot_onnx_wide(n, variance);
    if (ot_onnx_int(n, "training_mode", 0) || !ot_onnx_int(n, "spatial", 1))
        return ot_onnx_refuse(n, "only inference, channel by channel, is supported");
    ot_onnx_value *epsilon = ot_onnx_number(n, variance, ot_onnx_real(n, "epsilon", 1e-5));
    ot_onnx_value *deviation = ot_onnx_1(n, "sqrt", ot_onnx_2(n, "add", variance, epsilon));
    *scale = ot_onnx_2(n, "divide", gamma, deviation);
    *shift = ot_onnx_2(n, "subtract", beta, ot_onnx_2(n, "multiply", mean, *scale));
    return *shift ? OPTUNE_OK : n->err->status;
}

bool ot_onnx_normalised(const ot_onnx_node *n, ot_onnx_node *norm)
{
    if (!ot_onnx_reader(n, norm))
        return false;
    const ot_onnx_proto *proto = norm->proto;
    if (!proto->op_type || strcmp(proto->op_type, "BatchNormalization") ||
        proto->n_input != 5 || strcmp(proto->input[0], n->proto->output[0]))
        return false;
    for (int i = 1; i < 5; i++) {
        const ot_onnx_value *value = ot_onnx_in(norm, i);
        if (!value || !value->data)
            return false;
    }
    for (int i = 0; i < (int)proto->n_output; i++) /* more than one: it trains */
        if ((i > 0 && ot_onnx_wants(norm, i)) || ot_onnx_named(n->m, proto->output[i]))
            return false;
    return proto->n_output > 0;
}
