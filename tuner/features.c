/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "tuner/features.h"

/* What is left of a whole number when all factors of two are taken out; 0: it is none. */
static double odd_part(double number)
{
    int exponent;
    const double most = ldexp(1, DBL_MANT_DIG);
    if (number < 1 || number > most || number != floor(number))
        return 0;
    double odd = frexp(number, &exponent);
    while (odd != floor(odd))
        odd *= 2;
    return odd;
}

/* A part of a knob, or what it leaves without its factors of two. */
typedef struct column {
    int part;
    bool odd;
} column;

static double number_of(const optune_space *space, int knob, int64_t digit, column c)
{
    double number[OPTUNE_MAX_LIST];
    optune_space_numbers(space, knob, digit, number);
    return c.odd ? odd_part(number[c.part]) : number[c.part];
}

/* false: all entities have the same, or some have none. */
static bool differs(const optune_space *space, int knob, column c, double *least)
{
    double most = *least = number_of(space, knob, 0, c);
    for (int64_t d = 1; d < optune_space_radix(space, knob); d++) {
        const double number = number_of(space, knob, d, c);
        *least = fmin(*least, number);
        most = fmax(most, number);
    }
    return *least < most && (!c.odd || *least > 0);
}

/* Whether a knob counts: most of its numbers lie a step behind the one before. Nobody chose those
 * one by one, as the 7 among 1, 2, 4 and 7. */
static bool counts(const optune_space *space, int knob)
{
    enum { LEAST = 3 }; /* steps */
    const int64_t radix = optune_space_radix(space, knob);
    double number[OPTUNE_MAX_LIST], step = 0;
    int64_t votes = 0, alike = 0;
    if (optune_space_numbers(space, knob, 0, number) > 1)
        return false;
    /* The only step that can be most of them, then how many are. */
    for (int pass = 0; pass < 2; pass++)
        for (int64_t d = 1; d < radix; d++) {
            const column own = {0, false};
            const double to = number_of(space, knob, d, own);
            const double by = to - number_of(space, knob, d - 1, own);
            if (pass == 0 && votes == 0)
                step = by;
            votes += by == step ? 1 : -1;
            alike += pass == 1 && by == step;
        }
    return alike >= LEAST && 2 * alike > radix - 1;
}

static void add_knob(ot_features *f, int knob)
{
    const optune_space *space = f->space;
    const int64_t radix = optune_space_radix(space, knob);
    double least, number[OPTUNE_MAX_LIST];
    const int parts = optune_space_numbers(space, knob, 0, number);
    const bool ordered = optune_space_ordered(space, knob);
    column column_of[2 * OPTUNE_MAX_LIST];
    int n = 0;
    f->first[knob] = f->n;
    if (radix < 2)
        return;
    /* Of two entities each feature says as much as any other. */
    const bool counted = ordered && counts(space, knob);
    const int all = f->few && ordered && radix > 2 ? 2 * parts : parts;
    for (int i = 0; i < all && f->n + n < OT_MAX_FEATURES; i++) {
        const column c = {i % parts, i >= parts};
        if (!differs(space, knob, c, &least))
            continue;
        const int at = f->n + n;
        f->derived[at] = c.odd;
        f->counted[at] = c.odd && counted;
        f->kind[at] = !ordered                 ? OT_FEATURE_WORD
                      : least > 0 && radix > 2 ? OT_FEATURE_LOG
                                               : OT_FEATURE_ORDERED;
        column_of[n++] = c;
    }
    f->value[knob] = ot_alloc((size_t)(radix * n + 1) * sizeof(float));
    for (int64_t d = 0; d < radix; d++)
        for (int p = 0; p < n; p++) {
            const int at = f->n + p;
            const double own = number_of(space, knob, d, column_of[p]);
            const float v = (float)(f->kind[at] == OT_FEATURE_LOG ? log2(own) : own);
            f->value[knob][d * n + p] = v;
            f->low[at] = d ? fminf(f->low[at], v) : v;
            f->high[at] = d ? fmaxf(f->high[at], v) : v;
        }
    f->n += n;
}

void ot_features_open(ot_features *f, const optune_space *space)
{
    const int knobs = optune_space_knobs(space);
    double number[OPTUNE_MAX_LIST];
    int parts = 0;
    *f = (ot_features){.space = space};
    for (int k = 0; k < knobs; k++)
        parts += optune_space_numbers(space, k, 0, number);
    f->few = 2 * parts <= OT_MAX_FEATURES;
    for (int k = 0; k < knobs; k++)
        add_knob(f, k);
    f->first[knobs] = f->n;
}

void ot_features_close(ot_features *f)
{
    for (int k = 0; k < OPTUNE_MAX_KNOBS; k++)
        free(f->value[k]);
}

void ot_features_of(const void *features, int64_t index, float *to)
{
    const ot_features *f = features;
    int64_t digit[OPTUNE_MAX_KNOBS];
    optune_space_digits(f->space, index, digit);
    for (int k = 0; k < optune_space_knobs(f->space); k++) {
        const int n = f->first[k + 1] - f->first[k];
        for (int p = 0; p < n; p++)
            *to++ = f->value[k][digit[k] * n + p];
    }
}

double ot_features_distance(const ot_features *f, const float *a, const float *b)
{
    double sum = 0;
    for (int k = 0; k < f->n; k++)
        sum +=
            f->derived[k] ? 0 : fabs((double)(a[k] - b[k])) / (double)(f->high[k] - f->low[k]);
    return sum;
}

double ot_features_oddness(const ot_features *f, const float *x)
{
    double sum = 0;
    for (int k = 0; k < f->n; k++)
        sum += f->counted[k] ? (double)(x[k] - f->low[k]) : 0;
    return sum;
}
