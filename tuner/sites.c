/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word on a graph's sites (answer/attend.c): which are computed as one call.
 *
 * Costs say it, but of workloads that were measured minutes apart, and how fast a machine is
 * changes in minutes. So where they say something else than a handle that knows no costs would do,
 * the two graphs take turns, and costs are followed only where that is faster. What is found is
 * written into a record of the graph as it is untuned, which anybody can open again.
 */
#include "tuner/turns.h"

#include <string.h>

enum { TRIES = 2 };

static int record(const ot_turns *t, const char *sites, optune_err *err)
{
    ot_text lines = {0};
    ot_text_printf(&lines, OT_SITES "=%s\n", sites);
    const int status = ot_turns_record(t, ot_text_str(&lines), err);
    ot_text_release(&lines);
    return status;
}

/* Where nobody was faster than untuned until now, that is `best`. */
static int play(ot_run *run, optune_partition *untuned, optune_partition *other, double end,
                const char **best, optune_err *err)
{
    ot_in_sites *told = &run->sites;
    ot_turns *t = ot_alloc(sizeof *t);
    *t = (ot_turns){.run = run,
                    .stage = "one call or parts",
                    .first = {.partition = untuned, .counts = ot_turns_is_anchor},
                    .second = {.partition = other, .counts = ot_turns_is_anchor}};
    int status = ot_turns_play(t, end, err);
    if (status >= 0) {
        const bool ahead =
            !told->turns++ || t->second_s / t->first_s < told->best / told->untuned;
        if (ahead) {
            told->untuned = t->first_s;
            told->best = t->second_s;
            told->kept = told->best < told->untuned;
        }
        if (ahead && told->kept)
            *best = other->sites;
        status = record(t, *best, err);
    }
    ot_turns_close(t);
    free(t);
    return status;
}

static int contend(ot_run *run, optune_graph *graph, double end, optune_err *err)
{
    static const ot_sites_by by[TRIES] = {OT_SITES_USED, OT_SITES_MEASURED};
    optune_partition *untuned = NULL, *other[TRIES] = {NULL};
    const char *tried[TRIES + 1], *best = NULL;
    int n = 0;
    int status = ot_partition_open_by(run->o, graph, OT_SITES_UNTUNED, &untuned, err);
    if (status >= 0)
        best = tried[n++] = untuned->sites;
    for (int i = 0; i < TRIES && status >= 0; i++) {
        status = ot_partition_open_by(run->o, graph, by[i], &other[i], err);
        bool fresh = status >= 0;
        for (int k = 0; k < n && fresh; k++)
            fresh = strcmp(tried[k], other[i]->sites) != 0;
        if (!fresh)
            continue;
        tried[n++] = other[i]->sites;
        const double now = ot_now();
        status = play(run, untuned, other[i], now + (end - now) / (TRIES - i), &best, err);
    }
    for (int i = 0; i < TRIES; i++)
        optune_partition_close(other[i]);
    optune_partition_close(untuned);
    return status;
}

int ot_sites_finals(ot_run *run, const optune_partition *partition, double end, optune_err *err)
{
    optune_err own = {0};
    if (ot_in_graph_share(partition, -1) <= 0 || !partition->sites ||
        (!run->new_trials && !run->options->again))
        return OPTUNE_OK;
    const int status = contend(run, partition->given, end, &own);
    if (status < 0 && status != OPTUNE_EINTERRUPTED && !run->broken) {
        ot_copy(run->sites.problem, sizeof run->sites.problem, own.text);
        return OPTUNE_OK; /* what costs say stands */
    }
    return status < 0 ? optune_fail(err, status, "%s", own.text) : OPTUNE_OK;
}

void ot_in_sites_say(const ot_in_sites *told, ot_text *to)
{
    if (*told->problem)
        ot_text_printf(to, "one call or parts were not compared: %s\n", told->problem);
    if (told->turns)
        ot_text_printf(
            to,
            "one call or parts, in turns: %.4g us as untuned, %.4g us as was measured "
            "one by one: the %s is used\n",
            told->untuned * 1e6, told->best * 1e6, told->kept ? "latter" : "former");
}

json_t *ot_in_sites_json(const ot_in_sites *told)
{
    return told->turns ? json_pack("{s:f, s:f, s:b}", "untuned", told->untuned, "measured",
                                   told->best, "kept", (int)told->kept)
                       : json_null();
}
