/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are computed when somebody reads them: floats that integers stand for, and images of
 * 8-bit integers with channels in front.
 *
 * The one idea: such images lie with channels last from one convolution to the next; nothing turns
 * one over before somebody reads it as ONNX has it.
 */
#include "onnx/onnx.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

value *ot_onnx_last_of(ot_onnx_node *n, value *x)
{
    if (!x->last)
        x->last = ot_onnx_transpose(n, x, 4, (const int[]){0, 2, 3, 1});
    return x->last;
}

value *ot_onnx_from_last(ot_onnx_node *n, value *last)
{
    if (!last)
        return NULL;
    const optune_tensor *type = ot_onnx_type(n->m, last);
    value *all = ot_onnx_new(n->m);
    all->type = *type;
    for (int d = 1; d < 4; d++)
        all->type.dim[d] = type->dim[d == 1 ? 3 : d - 1];
    all->last = last;
    all->later = true;
    return all;
}

static value *looked_up(ot_onnx_node *n, const integers *of)
{
    static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};
    const bool sign = ot_onnx_type(n->m, of->x)->dtype.code == OPTUNE_DTYPE_INT;
    value *at = ot_onnx_as(n, of->x, i32);
    at = sign && at ? ot_onnx_2(n, "add", at, ot_onnx_number(n, at, 128)) : at;
    return ot_onnx_call(n, "take", 2, (value *const[]){of->table, at}, "axis=0");
}

int ot_onnx_settle(ot_onnx *m, value *x, optune_err *err)
{
    if (!x || !x->later)
        return OPTUNE_OK;
    if (x->last) {
        const ot_onnx_proto none = {0};
        ot_onnx_node own = {.m = m, .proto = &none, .err = err};
        const value *turned = ot_onnx_transpose(&own, x->last, 4, (const int[]){0, 3, 1, 2});
        if (!turned)
            return err->status;
        x->node = turned->node;
        x->later = false;
        return OPTUNE_OK;
    }
    const integers *of = x->integers;
    const int status = ot_onnx_settle(m, of->x, err);
    if (status < 0)
        return status;
    ot_onnx_node own = {
        .m = m, .proto = of->proto, .op = of->op, .index = of->index, .err = err};
    const value *all =
        of->table ? looked_up(&own, of) : ot_onnx_real_of(&own, of->x, of->scale, of->zero);
    if (!all)
        return err->status < 0 ? err->status : ot_onnx_refuse(&own, "it cannot be computed");
    x->node = all->node;
    x->later = false;
    return OPTUNE_OK;
}
