/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References of operators of a pattern in integers of 64 bits: doubles hold 53. Every value is a
 * word, modulo 2^64; what a word means is said by its dtype.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "call/inside.h"

bool ot_dtype_is_long(optune_dtype dtype)
{
    return dtype.bits == 64 && dtype.lanes <= 1 &&
           (dtype.code == OPTUNE_DTYPE_INT || dtype.code == OPTUNE_DTYPE_UINT);
}

static bool is_float(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
}

uint64_t ot_whole_of(optune_dtype dtype, double value)
{
    if (dtype.code == OPTUNE_DTYPE_UINT && value >= 0)
        return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
    return value >= 0x1p63   ? (uint64_t)INT64_MAX
           : value < -0x1p63 ? (uint64_t)INT64_MIN
           : isnan(value)    ? 0
                             : (uint64_t)(int64_t)value;
}

void ot_whole_numbers(optune_dtype dtype, int64_t n, const uint64_t *word, double *value)
{
    for (int64_t i = 0; i < n; i++)
        value[i] =
            dtype.code == OPTUNE_DTYPE_INT ? (double)(int64_t)word[i] : (double)word[i];
}

/* An element's word; of a float, which is a condition, whether it is not 0. */
static uint64_t word(const optune_tensor *type, const void *data, int64_t at)
{
    uint64_t whole;
    double value;
    if (ot_dtype_is_long(type->dtype)) {
        memcpy(&whole, (const char *)data + at * (int64_t)sizeof whole, sizeof whole);
        return whole;
    }
    ot_elements(type->dtype, data, at, 1, &value);
    return is_float(type->dtype) ? value != 0 : (uint64_t)(int64_t)value;
}

/* What is left of a word in a dtype. */
static uint64_t cut(optune_dtype dtype, uint64_t word)
{
    if (dtype.code == OPTUNE_DTYPE_BOOL || dtype.bits == 1)
        return word != 0;
    const int unused = 64 - dtype.bits;
    return dtype.code == OPTUNE_DTYPE_INT ? (uint64_t)((int64_t)(word << unused) >> unused)
                                          : word << unused >> unused;
}

/* ---- expressions ------------------------------------------------------------------------- */

typedef struct expression {
    const optune_scalar *scalar;
    optune_dtype dtype; /* that it is computed in */
    uint64_t number[OPTUNE_MAX_NUMBERS];
} expression;

static bool has_words(const optune_scalar *s)
{
    return s->with_sign && s->without_sign;
}

static expression expression_of(const optune_call *call, const optune_scalar *scalar,
                                optune_dtype dtype)
{
    double number[OPTUNE_MAX_NUMBERS];
    expression e = {.scalar = scalar, .dtype = dtype};
    optune_call_numbers(call, number);
    for (int i = 0; i < OPTUNE_MAX_NUMBERS; i++)
        e.number[i] = ot_whole_of(dtype, optune_number_in(dtype, number[i]));
    return e;
}

/* A scalar that has been filled in by hand may have nothing but this. */
static uint64_t compute_doubles(const expression *e, const uint64_t *x)
{
    const bool sign = e->dtype.code != OPTUNE_DTYPE_UINT;
    double value[OPTUNE_MAX_OPERANDS], number[OPTUNE_MAX_NUMBERS];
    for (int i = 0; i < OPTUNE_MAX_OPERANDS; i++)
        value[i] = sign ? (double)(int64_t)x[i] : (double)x[i];
    for (int i = 0; i < OPTUNE_MAX_NUMBERS; i++)
        number[i] = sign ? (double)(int64_t)e->number[i] : (double)e->number[i];
    return ot_whole_of(e->dtype, e->scalar->value(value, number));
}

static uint64_t compute(const expression *e, const uint64_t *x)
{
    if (!has_words(e->scalar))
        return compute_doubles(e, x);
    if (e->dtype.code == OPTUNE_DTYPE_UINT)
        return e->scalar->without_sign(x, e->number);
    int64_t with_sign[OPTUNE_MAX_OPERANDS], number[OPTUNE_MAX_NUMBERS];
    memcpy(with_sign, x, sizeof with_sign);
    memcpy(number, e->number, sizeof number);
    return (uint64_t)e->scalar->with_sign(with_sign, number);
}

static uint64_t compute_two(const optune_scalar *scalar, const expression *like, uint64_t x0,
                            uint64_t x1)
{
    const uint64_t x[OPTUNE_MAX_OPERANDS] = {x0, x1};
    expression e = *like;
    e.scalar = scalar;
    return compute(&e, x);
}

static void scalar_words(const optune_call *call, const void *const *in,
                         const optune_region *region, uint64_t *out)
{
    const int n_in = call->n_inputs;
    const expression e =
        expression_of(call, call->op->scalar, call->input[n_in - 1].type.dtype);
    int64_t stride[OPTUNE_MAX_OPERANDS][OPTUNE_MAX_RANK], at[OPTUNE_MAX_RANK];
    uint64_t x[OPTUNE_MAX_OPERANDS] = {0};
    for (int i = 0; i < n_in; i++)
        ot_broadcast_strides(&call->input[i].type, region->rank, stride[i]);
    memcpy(at, region->lo, sizeof at);
    do {
        for (int i = 0; i < n_in; i++) {
            int64_t offset = 0;
            for (int d = 0; d < region->rank; d++)
                offset += stride[i][d] * at[d];
            x[i] = word(&call->input[i].type, in[i], offset);
        }
        *out++ = cut(call->output[0].dtype, cut(e.dtype, compute(&e, x)));
    } while (ot_region_next(region, at));
}

/* ---- reductions and moves ---------------------------------------------------------------- */

/* Integers have no infinities: what a reduction starts from is the extreme of the dtype. */
static uint64_t identity(const optune_call *call, optune_dtype dtype)
{
    const double none[OPTUNE_MAX_OPERANDS] = {0};
    double number[OPTUNE_MAX_NUMBERS];
    optune_call_numbers(call, number);
    const double value = call->op->reduce->identity->value(none, number);
    return value < 0 && dtype.code == OPTUNE_DTYPE_UINT ? 0 : ot_whole_of(dtype, value);
}

static void reduce_words(const optune_call *call, const void *const *in,
                         const optune_region *region, uint64_t *out)
{
    const optune_reduce *op = call->op->reduce;
    const optune_tensor *type = &call->input[0].type;
    const ot_reduced r = ot_reduced_of(call);
    const expression e = expression_of(call, op->map, type->dtype);
    int64_t at[OPTUNE_MAX_RANK];
    memcpy(at, region->lo, sizeof at);
    do {
        int64_t offset = 0, place[OPTUNE_MAX_RANK] = {0};
        for (int d = 0; d < region->rank; d++)
            offset += r.kept[d] * at[d];
        uint64_t sum = identity(call, type->dtype);
        for (int64_t i = 0; i < r.count; i++) {
            const uint64_t x = compute_two(op->map, &e, word(type, in[0], offset), 0);
            sum = compute_two(op->combine, &e, sum, x);
            for (int k = 0; k < r.n; k++) {
                offset += r.stride[k];
                if (++place[k] < r.extent[k])
                    break;
                offset -= r.stride[k] * r.extent[k];
                place[k] = 0;
            }
        }
        *out++ =
            cut(call->output[0].dtype, compute_two(op->finish, &e, sum, (uint64_t)r.count));
    } while (ot_region_next(region, at));
}

static void piece_words(const optune_call *call, const void *const *in,
                        const optune_region *region, uint64_t *out)
{
    const optune_dtype dtype = call->output[0].dtype;
    ot_pieces pieces;
    int64_t at[OPTUNE_MAX_RANK], from;
    ot_pieces_of(call, &pieces);
    memcpy(at, region->lo, sizeof at);
    do {
        const optune_piece *p = ot_pieces_at(&pieces, at, &from);
        *out++ = p->input < 0 ? ot_whole_of(dtype, optune_number_in(dtype, p->fill))
                              : word(&call->input[p->input].type, in[p->input], from);
    } while (ot_region_next(region, at));
}

/* ---- by declaration ---------------------------------------------------------------------- */

bool ot_is_whole(const optune_call *call, int out_index)
{
    const optune_op *op = call->op;
    const optune_dtype out = call->output[out_index].dtype;
    if (op->whole)
        return ot_dtype_is_long(out);
    if (op->reference != optune_pattern_reference || call->n_inputs < 1 || is_float(out))
        return false;
    const optune_dtype in = call->input[call->n_inputs - 1].type.dtype;
    const bool computed = ot_dtype_is_long(in);
    if (op->scalar)
        return (computed || (ot_dtype_is_long(out) && !is_float(in))) &&
               has_words(op->scalar) && call->n_inputs <= OPTUNE_MAX_OPERANDS;
    if (op->reduce)
        return computed && has_words(op->reduce->map) && has_words(op->reduce->combine) &&
               has_words(op->reduce->finish);
    return op->pieces && computed;
}

bool ot_whole_reference(const optune_call *call, const void *const *in, int out_index,
                        const optune_region *region, uint64_t *out)
{
    if (!ot_is_whole(call, out_index))
        return false;
    if (call->op->whole)
        call->op->whole(call, in, out_index, region, out);
    else if (ot_region_empty(region))
        return true;
    else if (call->op->scalar)
        scalar_words(call, in, region, out);
    else if (call->op->reduce)
        reduce_words(call, in, region, out);
    else
        piece_words(call, in, region, out);
    return true;
}

/* ---- fused ------------------------------------------------------------------------------- */

static void fuse_words(const optune_call *call, int i, const void *const *in,
                       const optune_region *region, uint64_t *value)
{
    const optune_epilogue *e = &call->epilogue[i];
    const optune_tensor *type[OPTUNE_MAX_OPERANDS] = {NULL};
    const void *data[OPTUNE_MAX_OPERANDS] = {NULL};
    int64_t stride[OPTUNE_MAX_OPERANDS][OPTUNE_MAX_RANK], at[OPTUNE_MAX_RANK];
    optune_call step;
    optune_call_step(call, i, &step);
    const expression of = expression_of(&step, e->op->scalar, call->output[0].dtype);
    for (int k = 0, from = e->extra; k <= e->n_extra; k++) {
        if (k == e->chain)
            continue;
        type[k] = &call->input[from].type;
        data[k] = in[from++];
        ot_broadcast_strides(type[k], region->rank, stride[k]);
    }
    memcpy(at, region->lo, sizeof at);
    do {
        uint64_t x[OPTUNE_MAX_OPERANDS] = {0};
        for (int k = 0; k <= e->n_extra; k++) {
            int64_t offset = 0;
            for (int d = 0; d < region->rank && type[k]; d++)
                offset += stride[k][d] * at[d];
            x[k] = type[k] ? word(type[k], data[k], offset) : *value;
        }
        *value++ = compute(&of, x);
    } while (ot_region_next(region, at));
}

void ot_whole_fused(const optune_call *call, const void *const *in, const optune_region *region,
                    uint64_t *value)
{
    assert(ot_dtype_is_long(call->output[0].dtype));
    for (int i = 0; i < call->n_epilogues && !ot_region_empty(region); i++)
        fuse_words(call, i, in, region, value);
}
