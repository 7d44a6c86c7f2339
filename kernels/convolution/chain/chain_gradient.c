/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of pointwise_depthwise_conv2d: the value in between is computed again, and then the
 * rules of the separate operators hold one behind the other.
 */
#include "kernels/convolution/chain/chain.h"
#include "kernels/host/gradient.h"

/* What a slope of the activation needs: the value in front of it and the one behind it. */
typedef struct middle {
    int in, out;
    int gate; /* hard_swish and silu: out is in * gate */
    int line; /* hard_swish: the gate before it was limited */
} middle;

static middle activate(optune_grad *grad, chain_between kind, int in)
{
    middle m = {in, in, -1, -1};
    switch (kind) {
    case CHAIN_RELU:
        m.out = optune_grad_unary(grad, "relu", in);
        break;
    case CHAIN_RELU6:
        m.out = optune_grad_call(grad, "clip", 1, &in, "a_min=0.0, a_max=6.0");
        break;
    case CHAIN_HARD_SWISH:
        m.line =
            optune_grad_binary(grad, "multiply", in, optune_grad_scalar(grad, in, 1.0 / 6));
        m.line = optune_grad_binary(grad, "add", m.line, optune_grad_scalar(grad, in, 0.5));
        m.gate = optune_grad_call(grad, "clip", 1, &m.line, "a_min=0.0, a_max=1.0");
        m.out = optune_grad_binary(grad, "multiply", in, m.gate);
        break;
    case CHAIN_SILU:
        m.gate = optune_grad_unary(grad, "sigmoid", in);
        m.out = optune_grad_binary(grad, "multiply", in, m.gate);
        break;
    case CHAIN_NONE:
        break;
    }
    return m;
}

/* d in, from d out. */
static int slope(optune_grad *grad, chain_between kind, const middle *m, int dy)
{
    int rise;
    switch (kind) {
    case CHAIN_RELU:
        return host_keep(
            grad,
            optune_grad_binary(grad, "greater", m->in, optune_grad_scalar(grad, m->in, 0)), dy);
    case CHAIN_RELU6:
        return host_keep(grad, optune_grad_binary(grad, "equal", m->in, m->out), dy);
    case CHAIN_HARD_SWISH: /* gate + in / 6 where the gate is not at a limit */
        rise = optune_grad_binary(grad, "multiply", m->in,
                                  optune_grad_scalar(grad, m->in, 1.0 / 6));
        rise = host_keep(grad, optune_grad_binary(grad, "equal", m->line, m->gate), rise);
        rise = optune_grad_binary(grad, "add", m->gate, rise);
        return optune_grad_binary(grad, "multiply", dy, rise);
    case CHAIN_SILU: /* gate + out - out * gate */
        rise = optune_grad_binary(grad, "multiply", m->out, m->gate);
        rise = optune_grad_binary(grad, "subtract", m->out, rise);
        rise = optune_grad_binary(grad, "add", m->gate, rise);
        return optune_grad_binary(grad, "multiply", dy, rise);
    case CHAIN_NONE:
        break;
    }
    return dy;
}

static int gradients(optune_grad *grad, const optune_call *call, const conv2d_shape *s)
{
    const int data = optune_grad_input(grad, CHAIN_DATA);
    const int first = optune_grad_input(grad, CHAIN_POINTWISE);
    const int second = optune_grad_input(grad, CHAIN_DEPTHWISE);
    const int dy = optune_grad_adjoint(grad, 0);
    const chain_between kind = chain_between_of(call);
    const bool biased = call->n_inputs > CHAIN_BIAS;
    int expanded = optune_grad_call(grad, "conv2d", 2, (const int[]){data, first}, NULL);
    if (biased)
        expanded =
            optune_grad_binary(grad, "add", expanded, optune_grad_input(grad, CHAIN_BIAS));
    const middle m = activate(grad, kind, expanded);
    char common[256];
    snprintf(common, sizeof common,
             "strides=[%d,%d], padding=[%d,%d,%d,%d], dilation=[%d,%d], groups=%d", (int)s->sh,
             (int)s->sw, (int)s->pt, (int)s->pl, (int)s->pb, (int)s->pr, (int)s->dh, (int)s->dw,
             (int)s->co);
    if (optune_grad_wants(grad, CHAIN_DEPTHWISE))
        optune_grad_add(grad, CHAIN_DEPTHWISE,
                        optune_grad_call(grad, "conv2d_backward_weight", 2,
                                         (const int[]){dy, m.out}, "%s, kernel_size=[%d,%d]",
                                         common, (int)s->kh, (int)s->kw));
    /* Rows and columns behind the last window. */
    const int64_t rest_h = s->h + s->pt + s->pb - s->dh * (s->kh - 1) - 1 - (s->oh - 1) * s->sh;
    const int64_t rest_w = s->w + s->pl + s->pr - s->dw * (s->kw - 1) - 1 - (s->ow - 1) * s->sw;
    int back = optune_grad_call(grad, "conv2d_transpose", 2, (const int[]){dy, second},
                                "%s, output_padding=[%d,%d]", common, (int)rest_h, (int)rest_w);
    back = slope(grad, kind, &m, back);
    if (optune_grad_wants(grad, CHAIN_DATA))
        optune_grad_add(
            grad, CHAIN_DATA,
            optune_grad_call(grad, "conv2d_transpose", 2, (const int[]){back, first}, NULL));
    if (optune_grad_wants(grad, CHAIN_POINTWISE))
        optune_grad_add(grad, CHAIN_POINTWISE,
                        optune_grad_call(grad, "conv2d_backward_weight", 2,
                                         (const int[]){back, data}, "kernel_size=[1,1]"));
    if (biased && optune_grad_wants(grad, CHAIN_BIAS))
        optune_grad_add(
            grad, CHAIN_BIAS,
            optune_grad_reshape(grad, optune_grad_call(grad, "sum", 1, &back, "axis=[0,2,3]"),
                                &call->input[CHAIN_BIAS].type));
    return OPTUNE_OK;
}

int chain_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    conv2d_shape s;
    if (!chain_shape_of(call, &s) || s.data_block || s.out_block)
        return optune_fail(err, OPTUNE_EUNSUPPORTED, "it is known for NCHW only");
    return gradients(grad, call, &s);
}
