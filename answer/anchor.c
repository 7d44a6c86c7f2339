/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a graph as a whole: in lines beside the counters of one record, that of the
 * first group that runs, measured in the graph. The newest such record counts, and only while it is
 * current: a kernel that changed is measured anew before it is believed again.
 */
#include "answer/graph.h"

enum { LINE_SIZE = 16384 };

int ot_layouts_anchor(const optune_partition *plain)
{
    for (int i = 0; i < plain->groups.n && *plain->in_graph; i++)
        if (plain->places.idle[i] == OT_RUNS && ot_call_static(plain->groups.group[i].call))
            return i;
    return -1;
}

char *ot_anchor_lines(optune_partition *plain, const char *name)
{
    const int anchor = ot_layouts_anchor(plain);
    if (anchor < 0)
        return NULL;
    optune *o = plain->o;
    const optune_task task = {plain->groups.group[anchor].call, &o->target, &o->device};
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    char *text = ot_alloc(LINE_SIZE), *lines = NULL;
    int n = 0, newest = -1;
    if (ot_context_facts_at(o, &task, plain->in_graph, &arena, &fact, &n, NULL) < 0)
        n = 0;
    for (int i = 0; i < n; i++)
        if (fact[i].record.counters &&
            ot_lines_get(fact[i].record.counters, name, text, LINE_SIZE) &&
            (newest < 0 || fact[i].record.time > fact[newest].record.time))
            newest = i;
    if (newest >= 0 && (fact[newest].currency != OT_STALE || fact[newest].overtaken))
        lines = ot_strdup(fact[newest].record.counters);
    free(text);
    ot_arena_release(&arena);
    return lines;
}
