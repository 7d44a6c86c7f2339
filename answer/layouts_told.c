/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a graph's layouts: as lines of a record, for people, for programs. */
#include <math.h>

#include "answer/graph.h"

void ot_layouts_count(const optune_partition *plain, const ot_blocks *form, ot_layouts *told)
{
    told->groups = told->in_blocks = 0;
    for (int i = 0; i < plain->groups.n; i++) {
        if (plain->places.idle[i] != OT_RUNS)
            continue;
        const int own = form[i].out ? form[i].out : form[i].in;
        told->groups++;
        told->in_blocks += own > 0;
        told->block = own ? own : told->block;
    }
}

void ot_layouts_lines(const ot_layouts *told, const ot_blocks *form, int n, ot_text *to)
{
    char number[32];
    ot_text_add(to, OT_LAYOUTS "=");
    ot_forms_print(form, n, to);
    ot_format(number, sizeof number, "%.6g", told->plain);
    ot_text_printf(to, "\n" OT_LAYOUTS_PLAIN "=%s\n", number);
    ot_format(number, sizeof number, "%.6g", told->blocked);
    ot_text_printf(to, OT_LAYOUTS_BLOCKED "=%s\n", number);
    ot_format(number, sizeof number, "%.6g", told->transforms_s);
    ot_text_printf(to, OT_LAYOUTS_TRANSFORMS_S "=%s\n" OT_LAYOUTS_TRANSFORMS "=%d\n", number,
                   told->transforms);
}

/* ---- what people and programs see -------------------------------------------------------- */

void ot_layouts_say(const ot_layouts *told, ot_text *to)
{
    if (!told->block)
        return;
    char all[32], saved[32], own[32];
    ot_format(all, sizeof all, "%.3g", told->plain * 1e3);
    ot_format(saved, sizeof saved, "%.3g", fabs(told->plain - told->blocked) * 1e3);
    ot_format(own, sizeof own, "%.2g", told->transforms_s * 1e3);
    ot_text_printf(to, "layouts: %d of %d groups in NCHW%dc, %d transform%s", told->in_blocks,
                   told->groups, told->block, told->transforms,
                   told->transforms == 1 ? "" : "s");
    if (told->transforms)
        ot_text_printf(to, " (%s ms)", own);
    if (told->kept)
        ot_text_printf(to, ", saves %s of %s ms\n", saved, all);
    else if (told->blocked > told->plain)
        ot_text_printf(to, ", is %s ms slower than plain (%s ms): not used\n", saved, all);
    else
        ot_text_add(to, ": a kernel has changed since, not used\n");
}

json_t *ot_layouts_json(const ot_layouts *told)
{
    if (!told->block)
        return json_null();
    char name[32];
    snprintf(name, sizeof name, "NCHW%dc", told->block);
    return json_pack("{s:s, s:b, s:i, s:i, s:i, s:f, s:f, s:f}", "layout", name, "kept",
                     (int)told->kept, "groups", told->groups, "in_blocks", told->in_blocks,
                     "transforms", told->transforms, "transforms_s", told->transforms_s,
                     "plain", told->plain, "blocked", told->blocked);
}
