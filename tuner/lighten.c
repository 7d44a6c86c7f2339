/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that costs next to no time is saved. What a kernel packs of its weights may be many times
 * as large as they are, and what holds a quarter of it is often a few percent slower, in a group
 * that is a few percent of the whole.
 *
 * The one idea: the whole may lose a little, once, and that is spent where it saves the most bytes
 * for a second; greedily, as the parts are many and small.
 */
#include <math.h>

#include "tuner/in_graph.h"

typedef struct step {
    int at, to;
    double seconds, bytes;
} step;

/* More bytes for a second; what is faster, too, goes before all others. */
static bool precedes(const step *a, const step *b)
{
    if (b->at < 0 || (a->seconds <= 0) != (b->seconds <= 0))
        return b->at < 0 || a->seconds <= 0;
    return a->seconds <= 0 ? a->bytes > b->bytes
                           : a->bytes * b->seconds > b->bytes * a->seconds;
}

double ot_lighten(const ot_weight *const *weight, const int *n_weights, int n, double most,
                  int *chosen)
{
    double saved = 0;
    for (;;) {
        step best = {.at = -1};
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n_weights[i]; k++) {
                const ot_weight *now = &weight[i][chosen[i]], *other = &weight[i][k];
                const step one = {i, k, other->seconds - now->seconds,
                                  now->bytes - other->bytes};
                if (one.bytes > 0 && one.seconds <= most && precedes(&one, &best))
                    best = one;
            }
        if (best.at < 0)
            return saved;
        chosen[best.at] = best.to;
        most -= fmax(best.seconds, 0);
        saved += best.bytes;
    }
}
