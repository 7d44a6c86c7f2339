/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of other projects for what the operators here compute, and layers that are made of them:
 * who asks for one of these is told the operator's name. Nothing but messages looks at it.
 */
#include <string.h>

#include "call/inside.h"

static const struct {
    const char *op, *words;
} row[] = {
    {"argsort", "arg_sort rank"},
    {"avg_pool2d", "mean_pool average_pooling averagepool avgpool avgpool2d"},
    {"batch_matmul", "bmm matmul attention einsum sdpa batched_gemm"},
    {"broadcast_to", "expand repeat tile"},
    {"cast", "convert astype to_type dtype"},
    {"clip", "clamp relu6 hardtanh"},
    {"collapse_sum_like", "unbroadcast sum_to_size"},
    {"concatenate", "cat concat stack hstack vstack join"},
    {"conv2d", "convolution conv convolve nn_conv2d depthwise depthwise_conv2d conv2d_nchw"},
    {"conv2d_backward_weight", "conv2d_grad convolution_backward wgrad"},
    {"conv2d_transpose", "deconvolution deconv conv_transpose convtranspose dgrad upsample"},
    {"cumprod", "scan"},
    {"cumsum", "scan prefix_sum prefix"},
    {"dense", "linear gemm matmul mm fc fully_connected inner_product addmm mlp lstm gru rnn"},
    {"elu", "selu celu"},
    {"expand_dims", "unsqueeze newaxis"},
    {"gelu_tanh", "fast_gelu gelu_new"},
    {"global_avg_pool2d", "gap global_pool adaptive_avg_pool2d"},
    {"hardswish", "hard_swish hswish"},
    {"layout_transform", "reorder repack"},
    {"leaky_relu", "leakyrelu lrelu"},
    {"max", "amax reduce_max"},
    {"max_pool2d", "maxpool maxpool2d max_pooling maxpooling2d"},
    {"mean", "avg average reduce_mean"},
    {"min", "amin reduce_min"},
    {"multiply", "mul times product lstm gru"},
    {"negative", "neg"},
    {"pointwise_depthwise_conv2d", "inverted_residual mbconv mobilenet efficientnet"},
    {"power", "pow"},
    {"prelu", "parametric_relu"},
    {"prod", "product reduce_prod"},
    {"relu", "rectifier"},
    {"reshape", "view flatten"},
    {"reverse", "flip"},
    {"sigmoid", "logistic lstm gru"},
    {"silu", "sigmoid_linear_unit"},
    {"softmax", "log_softmax attention"},
    {"softplus", "softrelu"},
    {"squeeze", "drop_dims"},
    {"strided_slice", "slice crop narrow"},
    {"subtract", "sub minus"},
    {"sum", "reduce_sum add_n norm"},
    {"swish", "quick_gelu"},
    {"tanh", "lstm rnn"},
    {"topk", "top_k argmax argmin arg_max kthvalue"},
    {"transpose", "permute swapaxes t"},
    {"where", "select cond mask masked_fill"},
};

const char *ot_op_synonyms(const char *op)
{
    for (int i = 0; i < OT_COUNT(row); i++)
        if (strcmp(row[i].op, op) == 0)
            return row[i].words;
    return NULL;
}
