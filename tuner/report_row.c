/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of the table at the end of a run says of its workload, in figures. */
#include <math.h>

#include "tuner/report.h"

bool ot_row_effective(const ot_row *r)
{
    return r->best && !r->moves &&
           r->choice.row[r->choice.winner].candidate.impl->fewer_operations;
}

double ot_row_rate(const ot_row *r)
{
    const double work = r->moves ? r->bytes : r->flops;
    return r->best && work > 0 ? work / r->best->cost : 0;
}

double ot_row_share(const ot_run *run, const ot_row *r)
{
    const double peak = r->moves    ? run->peak.bandwidth
                        : r->tensor ? run->peak.tensor
                                    : run->peak.flops * r->units;
    return peak > 0 ? ot_row_rate(r) / peak : 0;
}

bool ot_row_cached(const ot_run *run, const ot_row *r)
{
    return r->moves && r->cacheable && ot_row_share(run, r) > 1;
}

bool ot_rows_trouble(const ot_row *all, int n, ot_disturbance *worst)
{
    *worst = (ot_disturbance){0};
    bool any = false;
    for (int i = 0; i < n; i++) {
        any = any || all[i].troubled;
        if (ot_disturbance_share(&all[i].trouble) > ot_disturbance_share(worst))
            *worst = all[i].trouble;
    }
    return any;
}
