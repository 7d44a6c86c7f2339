/* SPDX-License-Identifier: Apache-2.0 */
/* What divided.h declares. */
#include "support/divided.h"
#include "support/forged.h"

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

void divided_measure(const char *db, const char *text)
{
    optune_err err = {0};
    divided at = divided_open(db, text);
    const char *const *workloads;
    check_ok(optune_partition_workloads(at.p, &workloads, &err));
    json_decref(
        tuning_run(at.o, (optune_run_options){.workloads = workloads, .trials = 1}, OPTUNE_OK));
    divided_close(&at);
}

void divided_execute(divided *at)
{
    optune_err err = {0};
    optune_result *result = NULL;
    check_ok(optune_partition_execute(at->p, 1, &result, &err));
    optune_result_free(result);
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

void divided_say(const char *db, const char *text, ot_sites_by by, const char *lines,
                 double age, const char *digest)
{
    optune_err err = {0};
    tuning_records all;
    optune *o = tuning_open(db);
    optune_graph *g = divided_parse(text);
    optune_partition *p = NULL;
    check_ok(ot_partition_open_by(o, g, by, &p, &err));
    tuning_read("tuned", &all);
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.record[i].call, p->row[ot_layouts_anchor(p)].text)) {
            optune_record forged = all.record[i];
            forged.policy = p->in_graph;
            forged.counters = lines;
            forged.final = true;
            forged.time -= age;
            forged.digest = digest ? digest : forged.digest;
            forged_put(db, &forged, 1, &o->device);
            break;
        }
    ot_arena_release(&all.arena);
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
}

void divided_plant(const char *db, const divided_price *price, int n, double others)
{
    tuning_records all;
    optune *o = tuning_open(db);
    optune_err err = {0};
    check_ok(ot_context_asked(o, &err));
    tuning_read("tuned", &all);
    for (int i = 0; i < all.n; i++) {
        optune_record *r = &all.record[i];
        double cost = others, sample[7];
        for (int k = 0; k < n; k++)
            if (!strcmp(r->call, price[k].workload))
                cost = price[k].cost;
        if (cost < 0)
            continue;
        divided_cost(r, cost, sample);
        forged_put(db, r, 1, &o->device);
    }
    ot_arena_release(&all.arena);
    optune_close(o);
}
