/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said where the first database of a list cannot be read, which alone is listed, exported
 * and looked through: what would help it, and what those behind it have.
 */
#include "answer/answer.h"

/* A store is derived: where it is not there, its logs may be. */
static void add_remedy(const char *dir, ot_text *to)
{
    ot_text logs = {0};
    ot_text_printf(&logs, "%s/logs", dir);
    if (ot_exists(logs.s))
        ot_text_printf(to, "; its logs are there: `optune db rebuild --db '%s'` makes it anew",
                       dir);
    else
        ot_text_add(to, "; `optune run` and `optune import` make it");
    ot_text_release(&logs);
}

/* Its records, or why there are none to be had. */
static bool add_state(const char *dir, ot_text *to)
{
    optune_err err = {0};
    ot_store *store = NULL;
    ot_store_stats stats;
    int status = ot_store_open(dir, OT_STORE_READ, &store, &err);
    if (status >= 0)
        status = ot_store_stats_get(store, &stats, &err);
    if (status >= 0)
        ot_text_printf(to, "'%s' has %lld record%s", dir, (long long)stats.records,
                       stats.records == 1 ? "" : "s");
    else
        ot_text_add(to, err.text);
    ot_store_close(store);
    return status >= 0;
}

int ot_stores_told(const optune *o, int status, optune_err *err)
{
    ot_text text = {0};
    const char *readable = NULL;
    if (!err)
        return status;
    ot_text_add(&text, err->text);
    if (status == OPTUNE_ENOENT)
        add_remedy(o->db, &text);
    const char *before = "; only this first one of the list was asked; of the others ";
    for (int i = 0; i < o->stores->n_others; i++) {
        const ot_consulted *other = &o->stores->other[i];
        if (other->hub) /* in one's folder, and no database to name */
            continue;
        ot_text_add(&text, before);
        if (add_state(other->dir, &text) && !readable)
            readable = other->dir;
        before = "; ";
    }
    if (readable)
        ot_text_printf(&text, ": name it by itself, as in --db '%s'", readable);
    optune_fail(err, status, "%s", ot_text_str(&text));
    ot_text_release(&text);
    return status;
}
