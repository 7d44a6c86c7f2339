/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References in double precision from what an op of a pattern declares, and its counts of
 * operations and roundings. Never what makes a template fast: every element is found by its
 * index, one function call a value.
 *
 * Integers wrap modulo two to the number of bits, as they do in the templates.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "call/inside.h"

void optune_call_numbers(const optune_call *call, double *number)
{
    for (int i = 0; i < OPTUNE_MAX_NUMBERS; i++) {
        const optune_attr *attr = i < call->n_attrs ? &call->attr[i] : NULL;
        const bool whole =
            attr && (attr->kind == OPTUNE_ATTR_INT || attr->kind == OPTUNE_ATTR_BOOL);
        number[i] = !attr                             ? 0
                    : attr->kind == OPTUNE_ATTR_FLOAT ? attr->f
                    : whole                           ? (double)attr->i[0]
                                                      : 0;
    }
}

double optune_number_in(optune_dtype dtype, double value)
{
    const bool is_signed = dtype.code == OPTUNE_DTYPE_INT;
    if (!is_signed && dtype.code != OPTUNE_DTYPE_UINT && dtype.code != OPTUNE_DTYPE_BOOL)
        return value;
    const int bits = dtype.code == OPTUNE_DTYPE_BOOL ? 1 : dtype.bits;
    /* The largest double below 2^bits: 2^64 itself does not fit. */
    const double most =
        bits > 53 ? ldexp(1 - 0x1p-53, bits - is_signed) : ldexp(1, bits - is_signed) - 1;
    const double least = is_signed ? -ldexp(1, bits - 1) : 0;
    if (bits == 1 && !is_signed)
        return value > 0; /* as any value that becomes a bool: 0, or not 0 */
    return value < least ? least : value > most ? most : value;
}

double ot_number_as(optune_dtype dtype, double value)
{
    if (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT)
        return value;
    if (dtype.code == OPTUNE_DTYPE_BOOL || dtype.bits == 1)
        return value != 0;
    if (dtype.code == OPTUNE_DTYPE_UINT && dtype.bits == 64 && value < 0 && value > -0x1p63)
        return trunc(value) + 0x1p64; /* rounded, as the integer is when it is compared */
    if (dtype.bits >= 64 || !isfinite(value) || fabs(value) >= 0x1p62)
        return trunc(value);
    const int64_t size = (int64_t)1 << dtype.bits;
    int64_t low = (int64_t)value & (size - 1);
    if (dtype.code == OPTUNE_DTYPE_INT && low >= size / 2)
        low -= size;
    return (double)low;
}

/* ---- walking ----------------------------------------------------------------------------- */

bool ot_region_next(const optune_region *region, int64_t *at)
{
    for (int d = region->rank - 1; d >= 0; d--) {
        if (++at[d] < region->hi[d])
            return true;
        at[d] = region->lo[d];
    }
    return false;
}

bool ot_region_empty(const optune_region *region)
{
    for (int d = 0; d < region->rank; d++)
        if (region->lo[d] >= region->hi[d])
            return true;
    return false;
}

void ot_broadcast_strides(const optune_tensor *in, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const int k = d - (rank - in->rank);
        stride[d] = k < 0 || in->dim[k].min == 1 ? 0 : step;
        step *= k < 0 ? 1 : in->dim[k].min;
    }
}

static double element(const optune_tensor *type, const void *data, int64_t at)
{
    if (type->dtype.code == OPTUNE_DTYPE_FLOAT && type->dtype.bits == 32)
        return (double)((const float *)data)[at];
    double value;
    ot_elements(type->dtype, data, at, 1, &value);
    return value;
}

/* ---- scalar expressions ------------------------------------------------------------------ */

static void scalar_reference(const optune_call *call, const void *const *in,
                             const optune_region *region, double *out, double *magnitude)
{
    const int n_in =
        call->n_inputs < OPTUNE_MAX_OPERANDS ? call->n_inputs : OPTUNE_MAX_OPERANDS;
    int64_t stride[OPTUNE_MAX_OPERANDS][OPTUNE_MAX_RANK], at[OPTUNE_MAX_RANK], n = 0;
    double x[OPTUNE_MAX_OPERANDS] = {0}, number[OPTUNE_MAX_NUMBERS];
    optune_call_numbers(call, number);
    for (int i = 0; i < OPTUNE_MAX_NUMBERS && n_in; i++) /* as templates have them */
        number[i] = optune_number_in(call->input[call->n_inputs - 1].type.dtype, number[i]);
    for (int i = 0; i < n_in; i++)
        ot_broadcast_strides(&call->input[i].type, region->rank, stride[i]);
    memcpy(at, region->lo, sizeof at);
    do {
        for (int i = 0; i < n_in; i++) {
            int64_t offset = 0;
            for (int d = 0; d < region->rank; d++)
                offset += stride[i][d] * at[d];
            x[i] = element(&call->input[i].type, in[i], offset);
        }
        out[n] = ot_number_as(call->output[0].dtype, call->op->scalar->value(x, number));
        magnitude[n] = fabs(out[n]);
        n++;
    } while (ot_region_next(region, at));
}

/* ---- reductions -------------------------------------------------------------------------- */

ot_reduced ot_reduced_of(const optune_call *call)
{
    const optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    const uint32_t axes = optune_reduce_axes(call);
    ot_reduced r = {.count = 1};
    int64_t step = 1;
    int k = out->rank - 1, n_kept = 0;
    for (int d = 0; d < in->rank; d++)
        n_kept += !(axes >> d & 1);
    for (int d = in->rank - 1; d >= 0; d--) {
        const int64_t extent = in->dim[d].min;
        if (axes >> d & 1) {
            r.extent[r.n] = extent;
            r.stride[r.n++] = step;
            r.count *= extent;
            if (out->rank != n_kept) /* it is there as 1, unless dims in front are missing */
                k--;
        } else {
            if (k >= 0)
                r.kept[k--] = extent == 1 ? 0 : step;
        }
        step *= extent;
    }
    return r;
}

static double run_scalar(const optune_scalar *s, double x0, double x1, const double *number)
{
    const double x[OPTUNE_MAX_OPERANDS] = {x0, x1};
    return s->value(x, number);
}

/* Integers have no infinities: what a reduction starts from is then the extreme of the dtype. */
static double bounded(optune_dtype dtype, double value)
{
    const bool is_signed = dtype.code == OPTUNE_DTYPE_INT;
    if ((!is_signed && dtype.code != OPTUNE_DTYPE_UINT) || !isinf(value))
        return value;
    const double size = ldexp(1, dtype.bits - is_signed);
    return value > 0 ? size - 1 : is_signed ? -size : 0;
}

static void reduce_reference(const optune_call *call, const void *const *in,
                             const optune_region *region, double *out, double *magnitude)
{
    const optune_reduce *op = call->op->reduce;
    const optune_tensor *type = &call->input[0].type;
    const ot_reduced r = ot_reduced_of(call);
    int64_t at[OPTUNE_MAX_RANK], n = 0;
    double number[OPTUNE_MAX_NUMBERS];
    optune_call_numbers(call, number);
    memcpy(at, region->lo, sizeof at);
    do {
        int64_t offset = 0, place[OPTUNE_MAX_RANK] = {0};
        for (int d = 0; d < region->rank; d++)
            offset += r.kept[d] * at[d];
        double sum = bounded(type->dtype, run_scalar(op->identity, 0, 0, number)), size = sum;
        for (int64_t i = 0; i < r.count; i++) {
            const double x = run_scalar(op->map, element(type, in[0], offset), 0, number);
            sum = ot_number_as(type->dtype, run_scalar(op->combine, sum, x, number));
            size = run_scalar(op->combine, size, fabs(x), number);
            for (int k = 0; k < r.n; k++) {
                offset += r.stride[k];
                if (++place[k] < r.extent[k])
                    break;
                offset -= r.stride[k] * r.extent[k];
                place[k] = 0;
            }
        }
        out[n] = ot_number_as(call->output[0].dtype,
                              run_scalar(op->finish, sum, (double)r.count, number));
        magnitude[n] = op->rounds
                           ? fmax(fabs(run_scalar(op->finish, size, (double)r.count, number)),
                                  fabs(out[n]))
                           : fabs(out[n]);
        n++;
    } while (ot_region_next(region, at));
}

/* ---- pieces ------------------------------------------------------------------------------ */

/* Where the output's element at this offset comes from: true when it is of this piece, sorted. */
static bool piece_has(const optune_piece *p, int64_t offset, int64_t *from)
{
    int64_t rest = offset - p->out_offset;
    *from = p->in_offset;
    for (int d = 0; d < p->rank && rest >= 0; d++) {
        if (p->extent[d] == 1)
            continue;
        const int64_t i = rest / p->out_stride[d];
        if (i >= p->extent[d])
            return false;
        rest -= i * p->out_stride[d];
        *from += i * p->in_stride[d];
    }
    return rest == 0;
}

/* Axes outermost first in the output, so that an offset has one decomposition. */
static void sort_piece(optune_piece *p)
{
    for (int d = 1; d < p->rank; d++)
        for (int e = d; e > 0 && p->out_stride[e - 1] < p->out_stride[e]; e--) {
            const int64_t extent = p->extent[e], in = p->in_stride[e], out = p->out_stride[e];
            p->extent[e] = p->extent[e - 1];
            p->in_stride[e] = p->in_stride[e - 1];
            p->out_stride[e] = p->out_stride[e - 1];
            p->extent[e - 1] = extent;
            p->in_stride[e - 1] = in;
            p->out_stride[e - 1] = out;
        }
}

void ot_pieces_of(const optune_call *call, ot_pieces *pieces)
{
    pieces->type = &call->output[0];
    pieces->n = call->op->pieces(call, pieces->piece);
    pieces->last = 0;
    for (int i = 0; i < pieces->n; i++)
        sort_piece(&pieces->piece[i]);
}

const optune_piece *ot_pieces_at(ot_pieces *pieces, const int64_t *at, int64_t *from)
{
    int64_t offset = 0;
    *from = 0;
    for (int d = 0; d < pieces->type->rank; d++)
        offset = offset * pieces->type->dim[d].min + at[d];
    for (int t = 0; t < pieces->n; t++) {
        if (piece_has(&pieces->piece[pieces->last], offset, from))
            break;
        pieces->last = (pieces->last + 1) % pieces->n;
    }
    return &pieces->piece[pieces->last];
}

static void piece_reference(const optune_call *call, const void *const *in,
                            const optune_region *region, double *out, double *magnitude)
{
    ot_pieces pieces;
    int64_t at[OPTUNE_MAX_RANK], n = 0, from;
    ot_pieces_of(call, &pieces);
    memcpy(at, region->lo, sizeof at);
    do {
        const optune_piece *p = ot_pieces_at(&pieces, at, &from);
        out[n] =
            p->input < 0 ? p->fill : element(&call->input[p->input].type, in[p->input], from);
        magnitude[n] = fabs(out[n]);
        n++;
    } while (ot_region_next(region, at));
}

/* ---- by declaration ---------------------------------------------------------------------- */

void optune_pattern_reference(const optune_call *call, const void *const *in, int out_index,
                              const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    if (ot_region_empty(region))
        return;
    if (call->op->scalar)
        scalar_reference(call, in, region, out, magnitude);
    else if (call->op->reduce)
        reduce_reference(call, in, region, out, magnitude);
    else
        piece_reference(call, in, region, out, magnitude);
}

/* One operation for each value that an expression is applied to. */
double optune_pattern_flops(const optune_call *call)
{
    const optune_tensor *type = call->op->reduce ? &call->input[0].type : &call->output[0];
    return optune_tensor_known(type) ? (double)optune_tensor_elements(type) : 0;
}

static int ulps(const optune_scalar *s)
{
    return s->ulps > 1 ? s->ulps : 1;
}

double optune_pattern_terms(const optune_call *call)
{
    if (call->op->scalar)
        return ulps(call->op->scalar);
    if (!call->op->reduce || !call->op->reduce->rounds)
        return 1;
    double n = 1;
    const uint32_t axes = optune_reduce_axes(call);
    for (int d = 0; d < call->input[0].type.rank; d++)
        if (axes >> d & 1)
            n *= (double)call->input[0].type.dim[d].min;
    return n + ulps(call->op->reduce->map) + ulps(call->op->reduce->finish);
}
