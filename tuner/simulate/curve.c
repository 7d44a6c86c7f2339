/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Performance over time: what the runs of a search have found by each moment of the score's axis,
 * on the mean and between which bounds.
 */
#include <stdlib.h>

#include "tuner/simulate/curve.h"

int ot_curve_step(int moment)
{
    return moment * (OT_SCORE_STEPS - 1) / (OT_CURVE_MOMENTS - 1);
}

void ot_curve_of(const ot_yardstick *y, const ot_score_point *points, int n, int runs,
                 ot_curve *curve)
{
    double *scored = ot_alloc(OT_SCORE_STEPS * sizeof *scored);
    double *found = ot_alloc((size_t)runs * sizeof *found);
    double *sorted = ot_alloc((size_t)runs * sizeof *sorted);
    ot_score(y, points, n, runs, 1, -1, scored);
    for (int r = 0; r < runs; r++)
        found[r] = y->value[0]; /* nothing was found: as bad as the worst */
    for (int i = 0, k = 0; i < OT_CURVE_MOMENTS; i++) {
        double sum = 0;
        for (; k < n && points[k].time <= y->time[ot_curve_step(i)]; k++)
            found[points[k].run] = points[k].best;
        for (int r = 0; r < runs; r++)
            sum += sorted[r] = found[r];
        qsort(sorted, (size_t)runs, sizeof *sorted, ot_ascending);
        curve->mean[i] = sum / runs;
        curve->low[i] = ot_quantile(sorted, runs, 0.1);
        curve->high[i] = ot_quantile(sorted, runs, 0.9);
        curve->scored[i] = scored[ot_curve_step(i)];
    }
    free(scored);
    free(found);
    free(sorted);
}
