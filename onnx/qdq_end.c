/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QuantizeLinear behind a node, over others that only cut what it rounds.
 */
#include <math.h>
#include <string.h>

#include "onnx/qdq.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype u8 = {.code = OPTUNE_DTYPE_UINT, .bits = 8, .lanes = 1};

bool ot_qdq_is_integer(optune_dtype t, int bits)
{
    return (t.code == OPTUNE_DTYPE_INT || t.code == OPTUNE_DTYPE_UINT) && t.bits == bits &&
           t.lanes == 1;
}

int64_t ot_qdq_listed(const value *by)
{
    const bool all = by->data && by->type.rank <= 1 && optune_tensor_known(&by->type);
    return all ? optune_tensor_elements(&by->type) : 0;
}

bool ot_qdq_number(ot_onnx_node *n, value *by, double *number)
{
    const void *data = ot_qdq_listed(by) == 1 ? ot_onnx_look(n, by) : NULL;
    if (data)
        ot_elements(by->type.dtype, data, 0, 1, number);
    return data != NULL;
}

bool ot_qdq_is(const ot_onnx_proto *p, const char *op)
{
    const char *domain = ot_onnx_text_of(p->domain);
    return !strcmp(ot_onnx_text_of(p->op_type), op) && (!*domain || !strcmp(domain, "ai.onnx"));
}

const integers *ot_qdq_taken(const ot_onnx_node *n, int i, bool constant)
{
    const value *in = ot_onnx_in(n, i);
    const integers *of = in && !in->failed ? in->integers : NULL;
    return of && !of->table && (of->x->data != NULL) == constant &&
                   ot_qdq_is_integer(ot_onnx_type(n->m, of->x)->dtype, 8)
               ? of
               : NULL;
}

/* The limits of a Relu or a Clip; false: it is neither, or they are not known. */
static bool limits(ot_onnx_node *n, double at[2])
{
    static const char *const names[] = {"min", "max"};
    at[0] = ot_qdq_is(n->proto, "Relu") ? 0 : -HUGE_VAL;
    at[1] = HUGE_VAL;
    if (ot_qdq_is(n->proto, "Relu"))
        return true;
    if (!ot_qdq_is(n->proto, "Clip"))
        return false;
    for (int i = 0; i < 2; i++) {
        const bool named = 1 + i < (int)n->proto->n_input && *n->proto->input[1 + i];
        value *by = named ? ot_onnx_in(n, 1 + i) : NULL;
        if (named && (!by || by->failed || !ot_qdq_number(n, by, &at[i])))
            return false;
        if (n->m->opset < 11)
            at[i] = ot_onnx_real(n, names[i], at[i]);
    }
    return at[0] <= at[1];
}

bool ot_qdq_quantiser(ot_onnx_node *n, ot_qdq_end *e)
{
    const ot_onnx_proto *p = n->proto;
    if (strcmp(ot_onnx_text_of(p->op_type), "QuantizeLinear") != 0 || p->n_input < 2 ||
        ot_onnx_int(n, "block_size", 0) || ot_onnx_int(n, "precision", 0))
        return false;
    const bool named = p->n_input > 2 && *p->input[2];
    value *scale = ot_onnx_in(n, 1), *zero = named ? ot_onnx_in(n, 2) : NULL;
    const int64_t asked = ot_onnx_int(n, "output_dtype", 0);
    optune_err why = {0};
    if (!scale || ot_qdq_listed(scale) != 1 || !optune_dtype_equal(scale->type.dtype, f32) ||
        (named && (!zero || ot_qdq_listed(zero) != 1)))
        return false;
    e->q = *n;
    e->scale = scale;
    e->zero = zero;
    e->dtype = zero ? zero->type.dtype : u8;
    if (!zero && asked && ot_onnx_dtype((int)asked, &e->dtype, &why) < 0)
        return false;
    return ot_qdq_is_integer(e->dtype, 8) && (!asked || !zero) && p->n_output &&
           !ot_onnx_named(n->m, p->output[0]);
}

bool ot_qdq_end_of(const ot_onnx_node *n, ot_qdq_end *e)
{
    ot_onnx_node at = *n, next;
    double low = -HUGE_VAL, high = HUGE_VAL, by[2], step, zero = 0;
    *e = (ot_qdq_end){0};
    for (;;) {
        if (!ot_onnx_reader(&at, &next) || !next.proto->n_input ||
            strcmp(next.proto->input[0], at.proto->output[0]) != 0)
            return false;
        if (ot_qdq_quantiser(&next, e))
            break;
        if (e->n_over == OT_QDQ_BEHIND || !next.proto->n_output || !limits(&next, by))
            return false;
        e->over[e->n_over++] = next.index;
        low = fmin(fmax(low, by[0]), by[1]); /* a limit goes through those behind it */
        high = fmin(fmax(high, by[0]), by[1]);
        at = next;
    }
    if (!ot_qdq_number(&next, e->scale, &step) || !(step > 0) ||
        (e->zero && !ot_qdq_number(&next, e->zero, &zero)))
        return false;
    const bool sign = e->dtype.code == OPTUNE_DTYPE_INT;
    const double least = sign ? -128 : 0, most = sign ? 127 : 255;
    e->range[0] = fmin(fmax(rint((double)((float)low / (float)step)) + zero, least), most);
    e->range[1] = fmin(fmax(rint((double)((float)high / (float)step)) + zero, least), most);
    return true;
}

bool ot_qdq_give_end(ot_onnx_node *n, const ot_qdq_end *e, value *all)
{
    ot_onnx_node last = e->q;
    if (!all || ot_onnx_give(&last, 0, all) < 0)
        return false;
    for (int i = 0; i < e->n_over; i++)
        n->m->at->done[e->over[i]] = true;
    n->m->at->done[last.index] = true;
    return true;
}

value *ot_qdq_later(const ot_onnx_node *n, const integers *of)
{
    value *all = ot_onnx_new(n->m);
    all->type = *ot_onnx_type(n->m, of->x);
    all->type.dtype = f32;
    all->integers = of;
    all->later = true;
    return all;
}
