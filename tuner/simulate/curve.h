/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a search on a recorded space, for documents and charts. */
#ifndef OPTUNE_CURVE_H
#define OPTUNE_CURVE_H

#include "tuner/simulate/score.h"

enum { OT_CURVE_MOMENTS = 101 }; /* of the score's OT_SCORE_STEPS, both ends among them */
int ot_curve_step(int moment);   /* which of these it is */

/* Costs, in seconds, of the best config that was found by then. */
typedef struct ot_curve {
    double
        mean[OT_CURVE_MOMENTS]; /* over runs; one that has found nothing counts as the worst */
    double low[OT_CURVE_MOMENTS],
        high[OT_CURVE_MOMENTS];      /* a tenth of the runs is below, above */
    double scored[OT_CURVE_MOMENTS]; /* what the score is made of, see ot_score */
} ot_curve;
/* `points` ascend in time; there is at least one run. */
void ot_curve_of(const ot_yardstick *yardstick, const ot_score_point *points, int n, int runs,
                 ot_curve *curve);

/* ---- plot.c ------------------------------------------------------------------------------ */
/* A panel: one space and the curves of its searches. */
typedef struct ot_panel {
    const char *title;
    const ot_yardstick *yardstick;
    const ot_curve *curve; /* one for each name */
} ot_panel;
/* EUNSUPPORTED: gnuplot, which draws, is not there; EIO: `path` cannot be written. */
int ot_plot_check(const char *path, optune_err *err);
/* Writes the panels as SVG to `path`. names: of the searches. */
int ot_plot(const char *path, const ot_panel *panel, int n, const char *const *names,
            int n_names, optune_err *err);

#endif
