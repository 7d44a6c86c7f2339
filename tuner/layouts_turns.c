/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word on layouts: the graph as it is and the graph in blocks of channels, each as it would be
 * used, take turns in this process. Blocks are used from then on unless they were slower; what was
 * found is written into a record of the graph as it is (answer/layouts.c reads it back).
 */
#include "tuner/turns.h"

static bool is_transform(const optune_partition *p, int group)
{
    return p->relaid.origin[p->groups.group[group].node[0]] < 0;
}

static void count_transforms(const optune_partition *blocked, ot_layouts *told)
{
    told->transforms = 0;
    for (int i = 0; i < blocked->groups.n; i++)
        told->transforms += blocked->places.idle[i] == OT_RUNS && is_transform(blocked, i);
}

static int record(const ot_turns *t, const ot_blocks *form, const ot_layouts *told,
                  optune_err *err)
{
    ot_text lines = {0};
    ot_layouts_lines(told, form, t->first.partition->groups.n, &lines);
    const int status = ot_turns_record(t, ot_text_str(&lines), err);
    ot_text_release(&lines);
    return status;
}

int ot_layouts_turns(ot_run *run, optune_partition *plain, optune_partition *blocked,
                     const ot_blocks *form, double end, double to_beat, ot_layouts *told,
                     optune_err *err)
{
    ot_turns *t = ot_alloc(sizeof *t);
    *t = (ot_turns){.run = run,
                    .stage = "in blocks",
                    .first = {.partition = plain, .counts = ot_turns_is_anchor},
                    .second = {.partition = blocked, .counts = is_transform}};
    ot_layouts found = {0};
    int status = ot_turns_play(t, end, err);
    if (status >= 0) {
        found.plain = t->first_s;
        found.blocked = t->second_s;
        found.transforms_s = ot_median_interval(t->second.part, t->second.n).median;
        found.kept = found.blocked <= found.plain;
        ot_layouts_count(plain, form, &found);
        count_transforms(blocked, &found);
        if (found.blocked / found.plain < to_beat)
            status = record(t, form, &found, err);
    }
    if (status >= 0)
        *told = found;
    ot_turns_close(t);
    free(t);
    return status;
}
