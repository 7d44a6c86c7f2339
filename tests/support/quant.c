/* SPDX-License-Identifier: Apache-2.0 */
/* What support/quant.h declares. */
#include "support/quant.h"

#include <string.h>

void quant_number(ot_text *g, const char *name, float value)
{
    onnx_initializer(g, name, ONNX_FLOAT, "", &value, sizeof value);
}

void quant_zero(ot_text *g, const char *name, int type, int value)
{
    const uint8_t byte = (uint8_t)value;
    onnx_initializer(g, name, type, "", &byte, 1);
}

int quant_calls(const optune_graph *g, const char *op, int bits)
{
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->node[i].kind == OT_NODE_CALL && !strcmp(g->node[i].call->op->name, op) &&
             ot_graph_type_of(g, g->node[i].in[0])->dtype.bits == bits;
    return n;
}

void quant_begin(ot_text *g, const char *dims, int type, int middle)
{
    onnx_input(g, "x", ONNX_FLOAT, dims);
    quant_number(g, "half", 0.5f);
    quant_zero(g, "middle", type, middle);
    onnx_node(g, "QuantizeLinear", "in", "x half middle", "q", NULL);
    onnx_node(g, "DequantizeLinear", "out", "q half middle", "d", NULL);
}

optune_graph *quant_read(ot_text *text, int64_t opset)
{
    optune_graph *g = NULL;
    optune_err err = {0};
    if (onnx_read(text, opset, &g, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

void quant_gives(const optune_graph *g, const float *x, int n, const double *want)
{
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(g, &(const void *){x}, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *y = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if ((double)y[i] != want[i])
            fail_msg("element %d is %.9g, not %.9g", i, (double)y[i], want[i]);
    optune_values_free(values);
}
