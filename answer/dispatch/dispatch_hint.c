/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dispatch tables of the database say of a call of constants that was never measured
 * itself: the row that is used at its sizes. A table that is stale, or of another device, says
 * nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"

/* The sizes that the table's dims have in this call; false: it is no call of the table's. */
static bool sizes_of(const ot_dispatch *table, const optune_call *call, int64_t *size)
{
    ot_symbols at = table->dims;
    if (table->call.op != call->op ||
        optune_call_inputs(call) != optune_call_inputs(&table->call))
        return false;
    for (int k = 0; k < at.n; k++)
        size[k] = at.dim[k].min;
    ot_dispatch_sizes(table, call, size);
    for (int k = 0; k < at.n; k++)
        at.dim[k].min = at.dim[k].max = size[k];
    optune_call *narrowed = ot_alloc(sizeof *narrowed);
    ot_text one = {0}, two = {0};
    bool same = ot_call_narrow(&table->call, &at, narrowed, NULL) >= 0;
    if (same) {
        ot_call_print(narrowed, &one);
        ot_call_print(call, &two);
        same = !strcmp(ot_text_str(&one), ot_text_str(&two));
    }
    ot_text_release(&one);
    ot_text_release(&two);
    free(narrowed);
    return same;
}

static bool take(optune *o, const optune_task *task, const char *path, ot_arena *arena,
                 ot_fact *fact)
{
    ot_text text = {0};
    ot_dispatch *table = NULL;
    int64_t size[OT_MAX_SYMBOLS] = {0};
    bool found = ot_read_file(path, &text, 16 << 20, NULL) >= 0 &&
                 ot_dispatch_read(ot_text_str(&text), &table, NULL) >= 0 &&
                 sizes_of(table, task->call, size) && ot_dispatch_judge(o, table, NULL) >= 0;
    const int row = found ? ot_dispatch_find(table, size) : -1;
    found = row >= 0;
    if (found) {
        *fact =
            (ot_fact){.currency = OT_HINT,
                      .record = {.impl = table->row[row].impl->name,
                                 .config = table->row[row].config,
                                 .outcome = OPTUNE_OUTCOME_OK,
                                 .device = o->device.key,
                                 .digest = "",
                                 .source = ot_arena_printf(arena, "dispatch table %s", path)}};
        optune_refuse(fact->why, "a dispatch table uses it at these sizes");
    }
    ot_dispatch_free(table);
    ot_text_release(&text);
    return found;
}

/* To look for the folder takes as long as a tenth of the answer: as for what becomes of a store's
 * file, it is done every OT_LOOK_MS, and at once where this handle may have made it. */
static bool looked_lately(optune *o)
{
    const int64_t looked = atomic_load(&o->no_tables_ns), ago = ot_now_ns() - looked;
    return looked > 0 && ago >= 0 && ago < (int64_t)OT_LOOK_MS * 1000000;
}

bool ot_dispatch_hint(optune *o, const optune_task *task, ot_arena *arena, ot_fact *fact)
{
    bool found = false;
    ot_text dir = {0}, path = {0};
    if (looked_lately(o) || !ot_call_static(task->call))
        return false;
    ot_text_printf(&dir, "%s/dispatch", o->db);
    int64_t before = atomic_load(&o->no_tables_ns);
    DIR *all = opendir(dir.s);
    if (!all && errno == ENOENT) /* unless it has been made meanwhile */
        atomic_compare_exchange_strong(&o->no_tables_ns, &before, ot_now_ns());
    for (const struct dirent *e; all && !found && (e = readdir(all));) {
        if (e->d_name[0] == '.')
            continue;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/%s", dir.s, e->d_name);
        found = take(o, task, path.s, arena, fact);
    }
    if (all)
        closedir(all);
    ot_text_release(&path);
    ot_text_release(&dir);
    return found;
}
