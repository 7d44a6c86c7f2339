/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which situation a candidate is measured: over and over (warm), with empty caches (cold), or as
 * in a model, whose other parts pass through the caches between two uses of a constant; or in one
 * graph, while it ran. The name is part of a record's key, so that no answer is given for another
 * situation than was asked about.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

const ot_measure_policy ot_policy_warm = {
    .name = "warm",
    .sample_s = 200e-6,
    .min_samples = 6,
    .max_samples = 60,
    .width = 0.02,
    .budget_s = 0.25,
    .give_up = 1.25,
};

/* One run is one sample: nothing is left in the caches for a second one. */
const ot_measure_policy ot_policy_cold = {
    .name = "cold",
    .sample_s = 0,
    .min_samples = 6,
    .max_samples = 60,
    .width = 0.02,
    .budget_s = 0.25,
    .give_up = 1.25,
    .cold = true,
};

enum { MOST_MIB = 1024 };
#define MODEL "model-"
#define GRAPH "graph-"
enum { GRAPH_DIGITS = 8 };

void ot_policy_of_model(double bytes, char *name, size_t size)
{
    const double mib = bytes / 0x1p20;
    int rounded = 1;
    while (rounded < MOST_MIB && mib > rounded * M_SQRT2)
        rounded *= 2;
    snprintf(name, size, mib < 1 ? "" : MODEL "%dM", rounded);
}

void ot_policy_of_graph(const char *digest, char *name, size_t size)
{
    snprintf(name, size, GRAPH "%.*s", (int)GRAPH_DIGITS, digest);
}

bool ot_policy_is_graph(const char *name)
{
    const size_t front = strlen(GRAPH);
    return !strncmp(name, GRAPH, front) && strlen(name + front) == GRAPH_DIGITS &&
           strspn(name + front, "0123456789abcdef") == GRAPH_DIGITS;
}

int ot_policy_find(const char *name, ot_measure_policy *policy, optune_err *err)
{
    *policy = strcmp(name, "cold") ? ot_policy_warm : ot_policy_cold;
    if (!strcmp(name, policy->name))
        return OPTUNE_OK;
    if (ot_policy_is_graph(name)) {
        snprintf(policy->name, sizeof policy->name, "%s", name);
        policy->in_graph = true;
        return OPTUNE_OK;
    }
    for (int mib = 1; mib <= MOST_MIB; mib *= 2) {
        snprintf(policy->name, sizeof policy->name, MODEL "%dM", mib);
        policy->footprint = (int64_t)mib << 20;
        if (!strcmp(name, policy->name))
            return OPTUNE_OK;
    }
    return optune_fail(err, OPTUNE_EUSAGE,
                       "no measuring policy '%s': there are warm, cold and " MODEL
                       "<N>M, N a power of two up to %d; and, to ask about, " GRAPH "<digest>",
                       name, (int)MOST_MIB);
}
