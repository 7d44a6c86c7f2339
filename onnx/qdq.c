/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators with DequantizeLinear in front of them and QuantizeLinear behind, as quantisers write
 * them: products of a constant weight are summed as the integers that they are, functions of one
 * integer are tables, what only moves elements moves bytes.
 *
 * The one idea: what a DequantizeLinear gives is not computed before somebody reads the floats; a
 * node that can do with the integers takes those.
 */
#include <string.h>

#include "onnx/qdq.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};

/* ---- what is dequantised --------------------------------------------------------------------- */

/* Constant scales of float32 and zeros of x's dtype, as many of one as of the other. */
static bool of_constants(const ot_onnx_node *n, const value *x, const value *scale,
                         const value *zero)
{
    return !x->nibbles && ot_qdq_listed(scale) && optune_dtype_equal(scale->type.dtype, f32) &&
           !ot_onnx_int(n, "block_size", 0) && !ot_onnx_int(n, "output_dtype", 0) &&
           (!zero || (ot_qdq_listed(zero) == ot_qdq_listed(scale) &&
                      optune_dtype_equal(zero->type.dtype, ot_onnx_type(n->m, x)->dtype)));
}

static const integers *noted(const ot_onnx_node *n, value *x, value *scale, value *zero)
{
    integers *own = ot_arena_alloc(&n->m->arena, sizeof *own);
    *own = (integers){.x = x,
                      .scale = scale,
                      .zero = zero,
                      .axis = ot_onnx_int(n, "axis", 1),
                      .proto = n->proto,
                      .op = n->op,
                      .index = n->index};
    return own;
}

value *ot_onnx_dequantised_later(ot_onnx_node *n, value *x, value *scale, value *zero)
{
    if (x->data || x->sizes || x->sequence ||
        !ot_qdq_is_integer(ot_onnx_type(n->m, x)->dtype, 8) ||
        !of_constants(n, x, scale, zero) || ot_qdq_listed(scale) != 1)
        return NULL;
    return ot_qdq_later(n, noted(n, x, scale, zero));
}

void ot_onnx_note_integers(ot_onnx_node *n, value *all, value *x, value *scale, value *zero)
{
    if (all && x->data && of_constants(n, x, scale, zero))
        all->integers = noted(n, x, scale, zero);
}

/* ---- two of them ----------------------------------------------------------------------------- */

static const integers *either(const ot_onnx_node *n, int i)
{
    const integers *of = ot_qdq_taken(n, i, false);
    of = of ? of : ot_qdq_taken(n, i, true);
    return of && ot_qdq_listed(of->scale) == 1 ? of : NULL;
}

static bool pair(ot_onnx_node *n, const char *op)
{
    if (ot_qdq_mapped(n)) /* the other is one number */
        return true;
    const integers *a = either(n, 0), *b = either(n, 1);
    ot_qdq_end e;
    if (n->err->status < 0 || !a || !b || !ot_qdq_end_of(n, &e))
        return false;
    const ot_onnx_side side[] = {
        {a->x, a->scale, a->zero}, {b->x, b->scale, b->zero}, {NULL, e.scale, e.zero}};
    value *all = ot_onnx_rounded_pair(n, op, false, side, e.dtype, e.range);
    return all && ot_qdq_give_end(n, &e, all);
}

static bool sum(ot_onnx_node *n)
{
    return pair(n, "quantized_add");
}

static bool product(ot_onnx_node *n)
{
    return pair(n, "quantized_multiply");
}

/* ---- what moves elements --------------------------------------------------------------------- */

/* x, of `like`'s dtype, stands for floats as that does; given. */
static bool give_later(ot_onnx_node *n, const integers *like, value *x)
{
    x = x ? ot_onnx_as(n, x, ot_onnx_type(n->m, like->x)->dtype) : NULL;
    if (!x || x->data)
        return false;
    integers *after = ot_arena_alloc(&n->m->arena, sizeof *after);
    *after = *like;
    after->x = x;
    return ot_onnx_give(n, 0, ot_qdq_later(n, after)) >= 0;
}

static bool moved(ot_onnx_node *n)
{
    const integers *of = ot_qdq_taken(n, 0, false);
    return of && n->proto->n_output == 1 && ot_onnx_settle(n->m, of->x, n->err) >= 0 &&
           give_later(n, of, ot_qdq_made_with(n, of->x));
}

/* Elements that are repeated, and none between them. */
static bool repeated(ot_onnx_node *n)
{
    return !strcmp(ot_onnx_word(n, "mode", "nearest"), "nearest") && moved(n);
}

/* The largest of windows of an image of bytes, with channels last. */
static value *largest_bytes(ot_onnx_node *n, value *x)
{
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_window w;
    value *last = ot_onnx_rank(n, x) == 4 && ot_onnx_slide(n, NULL, &w) >= 0
                      ? ot_onnx_last_of(n, x)
                      : NULL;
    if (!last || !ot_onnx_dims(n, last, dim))
        return NULL;
    const int64_t channels = dim[3];
    w.data =
        ot_onnx_reshape(n, last, 5, (const int64_t[]){dim[0], 1, dim[1], dim[2], channels});
    w.block = channels;
    last = w.data ? ot_onnx_pooled(n, "max_pool2d", &w) : NULL;
    if (!last || !ot_onnx_dims(n, last, dim))
        return NULL;
    last = ot_onnx_reshape(n, last, 4, (const int64_t[]){dim[0], dim[2], dim[3], channels});
    return ot_onnx_from_last(n, last);
}

/* A scale and a zero change no order. Few channels as floats, which have the kernels. */
static bool largest(ot_onnx_node *n)
{
    enum { VECTOR = 16 };
    const integers *of = ot_qdq_taken(n, 0, false);
    value *x = of ? of->x : ot_onnx_in(n, 0);
    const optune_tensor *type = ot_onnx_type(n->m, x);
    if (n->proto->n_output != 1 || x->data || !ot_qdq_is_integer(type->dtype, 8))
        return false;
    if (type->rank == 4 && optune_tensor_known(type) && optune_tensor_elements(type) &&
        type->dim[1].min >= VECTOR && (x->last || of) && !strcmp(n->op->name, "MaxPool")) {
        value *all = largest_bytes(n, x);
        return all && (of ? give_later(n, of, all) : ot_onnx_give(n, 0, all) >= 0);
    }
    return of && ot_onnx_settle(n->m, x, n->err) >= 0 &&
           give_later(n, of, ot_qdq_made_with(n, ot_onnx_as(n, x, f32)));
}

/* What stands for floats stays where it is until somebody reads those. */
static bool stays(ot_onnx_node *n)
{
    value *x = ot_onnx_in(n, 0), *scale = n->proto->n_input > 1 ? ot_onnx_in(n, 1) : NULL;
    value *all = x->later && x->last && scale && !scale->failed
                     ? ot_onnx_dequantised_later(n, x, scale, ot_onnx_in(n, 2))
                     : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

bool ot_onnx_as_integers(ot_onnx_node *n)
{
    static const struct {
        const char *op;
        bool (*make)(ot_onnx_node *n);
        bool says; /* which integers they are */
    } all[] = {
        {"QLinearConv", ot_qdq_said_conv, true},
        {"com.microsoft::QLinearConv", ot_qdq_said_conv, true},
        {"QLinearMatMul", ot_qdq_said_product, true},
        {"com.microsoft::QGemm", ot_qdq_said_gemm, true},
        {"com.microsoft::QLinearAdd", ot_qdq_said_pair, true},
        {"com.microsoft::QLinearMul", ot_qdq_said_pair, true},
        {"com.microsoft::QLinearSigmoid", ot_qdq_said_map, true},
        {"com.microsoft::QLinearLeakyRelu", ot_qdq_said_map, true},
        {"com.microsoft::QLinearConcat", ot_qdq_said_concat, true},
        {"Conv", ot_qdq_conv, false},
        {"MatMul", ot_qdq_product, false},
        {"Gemm", ot_qdq_product, false},
        {"Add", sum, false},
        {"Mul", product, false},
        {"Concat", ot_qdq_concat, false},
        {"Reshape", moved, false},
        {"Transpose", moved, false},
        {"Flatten", moved, false},
        {"Squeeze", moved, false},
        {"Unsqueeze", moved, false},
        {"Slice", moved, false},
        {"Expand", moved, false},
        {"Tile", moved, false},
        {"DepthToSpace", moved, false},
        {"SpaceToDepth", moved, false},
        {"Resize", repeated, false},
        {"Upsample", repeated, false},
        {"MaxPool", largest, false},
        {"DequantizeLinear", stays, false},
        {"com.microsoft::DequantizeLinear", stays, false},
        {"QuantizeLinear", ot_qdq_back, false},
        {"com.microsoft::QuantizeLinear", ot_qdq_back, false},
    };
    const value *first = n->proto->n_input ? ot_onnx_in(n, 0) : NULL;
    if (!first || first->failed)
        return false;
    const bool held = first->integers || (first->later && first->last);
    for (int i = 0; i < OT_COUNT(all); i++)
        if ((held || all[i].says) && !strcmp(n->op->name, all[i].op))
            return all[i].make(n);
    return held && ot_qdq_mapped(n);
}
