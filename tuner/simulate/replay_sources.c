/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded spaces as what is known elsewhere: the trials of one, as configs of another that has the
 * same knobs. Values are matched by what they are, not by where they stand in their lists.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/simulate/simulate.h"

/* By what kernel a space is of; where a file does not say, by its knobs alone. */
static bool same_kernel(const ot_recorded *a, const ot_recorded *b)
{
    return !a->kernel || !b->kernel || strcmp(a->kernel, b->kernel) == 0;
}

/* digit[d]: of the value of `to` that is the d-th of `from`, or nearest to it; -1: there is none.
 */
static void match(const ot_recorded_knob *from, const ot_recorded_knob *to, int *digit)
{
    for (int d = 0; d < from->n; d++) {
        double value, other, least = INFINITY;
        digit[d] = -1;
        for (int k = 0; k < to->n && digit[d] < 0; k++)
            if (strcmp(from->word[d], to->word[k]) == 0)
                digit[d] = k;
        if (digit[d] >= 0 || !ot_parse_real(from->word[d], &value))
            continue;
        for (int k = 0; k < to->n; k++)
            if (ot_parse_real(to->word[k], &other) && fabs(other - value) < least) {
                least = fabs(other - value);
                digit[d] = k;
            }
    }
}

static int by_index(const void *a, const void *b)
{
    const optune_transfer *x = a, *y = b;
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                : (x->cost > y->cost) - (x->cost < y->cost);
}

static bool source_of(const ot_recorded *from, const ot_recorded *to, optune_source *source)
{
    int *digit[OPTUNE_MAX_KNOBS] = {0}, at[OPTUNE_MAX_KNOBS];
    bool alike = same_kernel(from, to) && from->n_knobs == to->n_knobs;
    for (int k = 0; k < to->n_knobs && alike; k++) {
        for (at[k] = 0; at[k] < from->n_knobs; at[k]++)
            if (strcmp(from->knob[at[k]].name, to->knob[k].name) == 0)
                break;
        alike = at[k] < from->n_knobs;
        if (alike) {
            digit[k] = ot_alloc((size_t)(from->knob[at[k]].n + 1) * sizeof **digit);
            match(&from->knob[at[k]], &to->knob[k], digit[k]);
        }
    }
    optune_transfer *trial = ot_alloc((size_t)(from->n_trials + 1) * sizeof *trial);
    int n = 0, kept = 0;
    for (int i = 0; i < from->n_trials && alike; i++) {
        int64_t own[OPTUNE_MAX_KNOBS], rest = from->trial[i].index, index = 0;
        for (int k = 0; k < from->n_knobs; k++) {
            own[k] = rest % from->knob[k].n;
            rest /= from->knob[k].n;
        }
        for (int k = to->n_knobs - 1; k >= 0 && index >= 0; k--) {
            const int d = digit[k][own[at[k]]];
            index = d < 0 ? -1 : index * to->knob[k].n + d;
        }
        if (index >= 0 && ot_recorded_find(to, index))
            trial[n++] = (optune_transfer){index, from->trial[i].cost};
    }
    qsort(trial, (size_t)n, sizeof *trial, by_index);
    for (int i = 0; i < n; i++)
        if (!kept || trial[i].index != trial[kept - 1].index)
            trial[kept++] = trial[i];
    for (int k = 0; k < to->n_knobs; k++)
        free(digit[k]);
    *source = (optune_source){.likeness = 1, .n = kept, .trial = trial};
    if (!kept)
        free(trial);
    return kept > 0;
}

int ot_recorded_sources(ot_recorded *const *all, int n, int of, optune_source *source)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        if (i != of && source_of(all[i], all[of], &source[found]))
            found++;
    return found;
}
