/* SPDX-License-Identifier: Apache-2.0 */
/* What divided.h declares. */
#include "support/divided.h"

#include "support/check.h"

optune_graph *divided_parse(const char *text)
{
    optune_err err = {0};
    optune_graph *g = NULL;
    check_ok(optune_graph_parse(text, "test", &g, &err));
    return g;
}

divided divided_open(const char *db, const char *text)
{
    optune_err err = {0};
    divided at = {.o = tuning_open(db), .g = divided_parse(text)};
    check_ok(optune_partition_open(at.o, at.g, &at.p, &err));
    return at;
}

void divided_close(divided *at)
{
    optune_partition_close(at->p);
    optune_graph_close(at->g);
    optune_close(at->o);
}

bool divided_has(const divided *at, const char *workload)
{
    for (int i = 0; i < optune_partition_size(at->p); i++)
        if (!strcmp(optune_partition_workload(at->p, i), workload))
            return true;
    return false;
}

void divided_cost(optune_record *r, double cost, double sample[7])
{
    for (int i = 0; i < 7; i++)
        sample[i] = cost * (1 + 0.001 * (i - 3));
    const ot_interval interval = ot_median_interval(sample, 7);
    r->sample = sample;
    r->n_samples = 7;
    r->cost = interval.median;
    r->low = interval.low;
    r->high = interval.high;
}
