/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised operators that say their scales themselves, on bytes where these are constants.
 */
#include <string.h>

#include "onnx/qdq.h"

typedef ot_onnx_value value;

/* Input i, where it has no failure; NULL: it is left out. */
static value *known_input(const ot_onnx_node *n, int i)
{
    value *in = i < (int)n->proto->n_input ? ot_onnx_in(n, i) : NULL;
    return in && !in->failed ? in : NULL;
}

/* The weight from input 3 on, a bias at `bias`, the output's scale at `y`; false: something is
 * missing. */
static bool said(const ot_onnx_node *n, int bias, int y, ot_onnx_rounded *r)
{
    const value *x = known_input(n, 0);
    *r = (ot_onnx_rounded){
        .x_scale = known_input(n, 1),
        .x_zero = known_input(n, 2),
        .w = known_input(n, 3),
        .w_scale = known_input(n, 4),
        .w_zero = known_input(n, 5),
        .bias = bias ? known_input(n, bias) : NULL,
        .y_scale = known_input(n, y),
        .y_zero = known_input(n, y + 1),
    };
    if (!x || !r->x_scale || !r->w || !r->w_scale || !r->y_scale)
        return false;
    r->dtype = ot_onnx_type(n->m, r->y_zero ? r->y_zero : x)->dtype;
    return true;
}

bool ot_qdq_said_conv(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    value *all = said(n, 8, 6, &r) ? ot_onnx_rounded_conv(n, ot_onnx_in(n, 0), &r) : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

bool ot_qdq_said_product(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    value *all =
        said(n, 0, 6, &r) ? ot_onnx_rounded_product(n, ot_onnx_in(n, 0), false, &r) : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

bool ot_qdq_said_gemm(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    if (ot_onnx_int(n, "transA", 0) || ot_onnx_real(n, "alpha", 1) != 1 || !said(n, 6, 7, &r) ||
        ot_onnx_type(n->m, ot_onnx_in(n, 0))->rank != 2)
        return false;
    value *all = ot_onnx_rounded_product(n, ot_onnx_in(n, 0), ot_onnx_int(n, "transB", 0), &r);
    return all && ot_onnx_give(n, 0, all) >= 0;
}

bool ot_qdq_said_pair(ot_onnx_node *n)
{
    ot_onnx_side side[3];
    for (int i = 0; i < 3; i++) {
        side[i] = (ot_onnx_side){i < 2 ? known_input(n, 3 * i) : NULL,
                                 known_input(n, 3 * i + (i < 2)),
                                 known_input(n, 3 * i + 1 + (i < 2))};
        if ((i < 2 && !side[i].x) || !side[i].scale)
            return false;
    }
    const value *like = side[2].zero ? side[2].zero : side[0].x;
    const char *op = strstr(n->op->name, "Mul") ? "quantized_multiply" : "quantized_add";
    value *all = ot_onnx_rounded_pair(n, op, true, side, ot_onnx_type(n->m, like)->dtype, NULL);
    return all && ot_onnx_give(n, 0, all) >= 0;
}
