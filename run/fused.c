/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of what is fused behind a call: the scalar expressions in double precision over
 * the operator's own reference, and what they make of its error bound. Never rounds in between:
 * a fused body keeps its values in registers.
 *
 * The one idea: an error of at most B * m in x, where B is the candidate's bound and unknown
 * here, becomes at most B * D(h m) / h in f(x), where D is how far f moves over that distance
 * and h is not below B; so D(h m) / h, plus the rounding of f itself, is the new magnitude m. Of
 * a sum that is the sum of magnitudes, of a product the product.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

/* Larger than the bound of any honest sum in the call's type and numerics class. */
static double reach_of(const optune_call *call)
{
    const optune_dtype dtype = call->output[0].dtype;
    double reach = 0x1p-11;
    if (dtype.bits == 16)
        reach = dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1p-6 : 0x1p-9;
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, "math") == 0 && strcmp(call->attr[i].word, "tf32") == 0)
            reach = fmax(reach, 0x1p-9);
    return reach;
}

typedef struct step {
    const optune_epilogue *e;
    optune_dtype dtype;
    double reach;
    double number[OPTUNE_MAX_NUMBERS];
    optune_call
        *single; /* where the op says by itself how much cancels in it: of one element */
    const optune_tensor
        *type[OPTUNE_MAX_OPERANDS]; /* of the operands; NULL: the chain's value */
    const void *data[OPTUNE_MAX_OPERANDS];
    int64_t stride[OPTUNE_MAX_OPERANDS][OPTUNE_MAX_RANK]; /* along the output's dims */
} step;

/* The operator over one element in double precision; NULL: its error is a part of its result. */
static optune_call *single_of(const optune_call *alone)
{
    if (alone->op->reference == optune_pattern_reference)
        return NULL;
    static const optune_dtype f64 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1};
    optune_call *single = ot_alloc(sizeof *single);
    ot_call_copy(single, alone);
    for (int k = 0; k < single->n_inputs; k++)
        single->input[k].type = (optune_tensor){.dtype = f64};
    single->output[0] = (optune_tensor){.dtype = f64};
    return single;
}

static void prepare(const optune_call *call, const void *const *in, int i, step *s)
{
    const optune_epilogue *e = &call->epilogue[i];
    const int rank = call->output[0].rank;
    optune_call alone;
    *s = (step){.e = e, .dtype = call->output[0].dtype, .reach = reach_of(call)};
    optune_call_step(call, i, &alone);
    optune_call_numbers(&alone, s->number);
    s->single = single_of(&alone);
    for (int k = 0; k < OPTUNE_MAX_NUMBERS; k++)
        s->number[k] = optune_number_in(s->dtype, s->number[k]);
    for (int k = 0, from = e->extra; k <= e->n_extra; k++) {
        if (k == e->chain)
            continue;
        const optune_tensor *type = &call->input[from].type;
        int64_t below = 1;
        s->type[k] = type;
        s->data[k] = in[from++];
        for (int d = rank - 1, at = type->rank - 1; at >= 0; d--, at--) {
            s->stride[k][d] = type->dim[at].min == 1 ? 0 : below;
            below *= type->dim[at].min;
        }
    }
}

/* What the rounding of f is in proportion to. */
static double size_of(const step *s, const double *x, double result)
{
    const optune_region one = {0};
    const void *in[OPTUNE_MAX_OPERANDS];
    double value, magnitude;
    if (!s->single)
        return fabs(result);
    for (int k = 0; k < OPTUNE_MAX_OPERANDS; k++)
        in[k] = &x[k];
    s->single->op->reference(s->single, in, 0, &one, &value, &magnitude);
    return magnitude;
}

static double at(const step *s, double *x, double value)
{
    x[s->e->chain] = value;
    return s->e->op->scalar->value(x, s->number);
}

/* Whether f jumps between a and b: halving towards the larger change keeps most of it. */
static bool jumps(const step *s, double *x, double a, double b)
{
    double fa = at(s, x, a), fb = at(s, x, b);
    const double whole = fabs(fb - fa);
    for (int i = 0; i < 24; i++) {
        const double middle = a + (b - a) / 2, fm = at(s, x, middle);
        if (fabs(fm - fa) > fabs(fb - fm)) {
            b = middle;
            fb = fm;
        } else {
            a = middle;
            fa = fm;
        }
    }
    return fabs(fb - fa) > whole / 4;
}

/* How far f is from `here`; infinitely far where one of them is no number. */
static double away(const step *s, double *x, double value, double here)
{
    const double there = at(s, x, value);
    if (there == here || (isnan(there) && isnan(here)))
        return 0;
    return isnan(there - here) ? INFINITY : fabs(there - here);
}

/* How far f moves when x does by as much as `reach`, or by a part of it: where f turns back, as a
 * cosine does, the ends alone say little. Infinity where it jumps: then nothing can be said of the
 * result. */
enum { PARTS = 4 };
static double spread(const step *s, double *x, double value, double here, double reach)
{
    const double up = away(s, x, value + reach, here);
    const double down = away(s, x, value - reach, here);
    if (up > 2 * reach && jumps(s, x, value, value + reach))
        return INFINITY;
    if (down > 2 * reach && jumps(s, x, value, value - reach))
        return INFINITY;
    double most = fmax(up, down);
    for (int part = 1; part < PARTS; part++) {
        const double by = reach * part / PARTS;
        most = fmax(most, fmax(away(s, x, value + by, here), away(s, x, value - by, here)));
    }
    return most;
}

/* D(h m) / h, the largest over all h that a bound may be: where f levels off, as a sine does of a
 * large number, it moves by more for its way over short ones. Numbers that round are asked over
 * the longest one alone. */
static double slope(const step *s, double *x, double value, double here, double magnitude)
{
    static const double least = 0x1p-28;
    const double most_of_type = ot_dtype_largest(s->dtype);
    if (isnan(value) && isnan(magnitude))
        magnitude = 0; /* it is none for certain */
    if (!isfinite(magnitude) ||
        (most_of_type > 0 && fabs(value) + s->reach * magnitude > most_of_type))
        return INFINITY; /* in the type it may be infinite, which is another number for f */
    double most = spread(s, x, value, here, s->reach * magnitude) / s->reach;
    const double exact = at(s, x, value);
    for (double h = s->reach / 16; h > least && exact == here; h /= 16) {
        const double up = away(s, x, value + h * magnitude, here);
        const double down = away(s, x, value - h * magnitude, here);
        most = fmax(most, fmax(up, down) / h);
    }
    return most;
}

static void apply(const step *s, const int64_t *place, int rank, double *value,
                  double *magnitude)
{
    double x[OPTUNE_MAX_OPERANDS] = {0};
    for (int k = 0; k <= s->e->n_extra; k++) {
        int64_t offset = 0;
        for (int d = 0; d < rank && s->type[k]; d++)
            offset += s->stride[k][d] * place[d];
        if (s->type[k])
            ot_elements(s->type[k]->dtype, s->data[k], offset, 1, &x[k]);
    }
    const double before = *value;
    const double result = ot_number_as(s->dtype, at(s, x, before));
    const double moved = slope(s, x, before, result, *magnitude);
    x[s->e->chain] = before;
    const double size = size_of(s, x, result);
    const int ulps = s->e->op->scalar->ulps;
    /* What is too small for the type is 0 in it, which the next one may tell from nothing. */
    const double small = ot_dtype_smallest(s->dtype) / s->reach;
    *magnitude = moved + small + (isnan(result) ? 0 : (ulps > 0 ? ulps : 1) * size);
    *value = result;
}

void ot_reference_fused(const optune_call *call, const void *const *in,
                        const optune_region *region, double *value, double *magnitude)
{
    int64_t place[OPTUNE_MAX_RANK], n = 1;
    for (int i = 0; i < region->rank; i++)
        n *= region->hi[i] - region->lo[i];
    for (int i = 0; i < call->n_epilogues; i++) {
        step s;
        prepare(call, in, i, &s);
        memcpy(place, region->lo, sizeof place);
        for (int64_t k = 0; k < n; k++) {
            apply(&s, place, region->rank, &value[k], &magnitude[k]);
            for (int d = region->rank - 1; d >= 0 && ++place[d] == region->hi[d]; d--)
                place[d] = region->lo[d];
        }
        free(s.single);
    }
}
