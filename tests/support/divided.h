/* SPDX-License-Identifier: Apache-2.0 */
/* A graph and what computes it, opened and closed together on a database of tuning.h's. */
#ifndef OPTUNE_TESTS_DIVIDED_H
#define OPTUNE_TESTS_DIVIDED_H

#include "answer/graph.h"
#include "optune/graph.h"
#include "support/tuning.h"

typedef struct divided {
    optune *o;
    optune_graph *g;
    optune_partition *p;
} divided;

optune_graph *divided_parse(const char *text);
/* On tuning_dir/DB. */
divided divided_open(const char *db, const char *text);
void divided_close(divided *at);
/* A trial of each workload that a run of it measures. */
void divided_measure(const char *db, const char *text);
/* Once, checked. */
void divided_execute(divided *at);
/* Whether one of its groups is this workload. */
bool divided_has(const divided *at, const char *workload);
/* The records of tuning_dir/tuned in tuning_dir/DB, so many seconds each: those of these workloads
 * as they say, all others `others`; negative: left out. */
typedef struct divided_price {
    const char *workload;
    double cost;
} divided_price;
void divided_plant(const char *db, const divided_price *price, int n, double others);
/* In tuning_dir/DB a record of tuning_dir/tuned of the anchor of the graph with these sites as
 * calls, measured in it `age` seconds earlier, that says so; `digest` NULL: the record's. */
void divided_say(const char *db, const char *text, ot_sites_by by, const char *lines,
                 double age, const char *digest);
/* Seven samples around so many seconds, which `sample` holds for as long as the record is used. */
void divided_cost(optune_record *r, double cost, double sample[7]);

#endif
