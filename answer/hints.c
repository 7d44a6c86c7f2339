/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What logs of others say of a call, for whom nothing that was measured here decides it. Their
 * records name no digest, so nobody knows what they measured: they are behind the facts, and what
 * they recommend is no more than a config.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/record.h"

enum { MOST_HINTS = 16 }; /* of each store, and of each form of the call */

/* How alike its target is: options of the device that both name, or the same text. */
static int alike(const optune_task *task, const optune_record *hint)
{
    optune_target other;
    const optune_target *own = task->target;
    if (ot_target_parse(hint->target, &other, NULL) < 0)
        return 0;
    return 4 * (*own->arch && !strcmp(own->arch, other.arch)) +
           2 * (*own->model && !strcmp(own->model, other.model)) +
           (own->threads == other.threads);
}

typedef struct ranked {
    const optune_record *record;
    int alike, order;
} ranked;

static int more_alike(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->alike != y->alike ? y->alike - x->alike : x->order - y->order;
}

static int read_hints(optune *o, const optune_task *task, const char *call, ot_arena *arena,
                      ranked *to, int *n, int most, optune_err *err)
{
    ot_store *store;
    const ot_consulted *other;
    int status = OPTUNE_OK;
    for (int i = 0; status >= 0 && *n < most && (store = ot_context_nth_of(o, i, &other));
         i++) {
        optune_record *record;
        int found = 0;
        if (other && other->hub)
            continue; /* nothing of a hub is one: each of its records names a digest */
        status = ot_store_find_hints(store, call, task->target->kind, MOST_HINTS, arena,
                                     &record, &found, err);
        for (int k = 0; k < found && *n < most; k++, ++*n)
            to[*n] = (ranked){&record[k], alike(task, &record[k]), *n};
    }
    return status;
}

static const char *printed(const optune_call *call, ot_arena *arena)
{
    ot_text text = {0};
    ot_call_print(call, &text);
    const char *kept = ot_arena_copy(arena, ot_text_str(&text));
    ot_text_release(&text);
    return kept;
}

static bool may_be_hinted(optune *o)
{
    ot_store *store;
    const ot_consulted *other;
    for (int i = 0; (store = ot_context_nth_of(o, i, &other)); i++)
        if (!(other && other->hub) && ot_store_may_hint(store))
            return true;
    return false;
}

int ot_context_hints(optune *o, const optune_task *task, const ot_question *asked,
                     ot_arena *arena, ot_fact **fact, int *n, optune_err *err)
{
    enum { MOST = 4 * MOST_HINTS };
    ranked hint[MOST];
    ot_fact table;
    const int tables = ot_dispatch_hint(o, task, arena, &table); /* it was measured here */
    int found = 0, own;
    const bool any = !(asked && asked->absent) && may_be_hinted(o);
    int status = OPTUNE_OK;
    if (any)
        status = read_hints(o, task, asked ? asked->call : printed(task->call, arena), arena,
                            hint, &found, MOST / 2, err);
    own = found;
    if (any && status >= 0 && task->call->n_epilogues) {
        optune_call *plain = ot_alloc_raw(sizeof *plain);
        ot_call_copy(plain, task->call);
        plain->n_epilogues = plain->n_extra = 0;
        status = read_hints(o, task, printed(plain, arena), arena, hint, &found, MOST, err);
        free(plain);
    }
    if (status >= 0 && found + tables) {
        qsort(hint, (size_t)own, sizeof *hint, more_alike);
        qsort(hint + own, (size_t)(found - own), sizeof *hint, more_alike);
        ot_fact *more = ot_arena_alloc(arena, (size_t)(*n + tables + found) * sizeof *more);
        if (*n)
            memcpy(more, *fact, (size_t)*n * sizeof *more);
        if (tables)
            more[(*n)++] = table;
        for (int i = 0; i < found; i++) {
            ot_fact *to = &more[(*n)++];
            *to = (ot_fact){.currency = OT_HINT};
            ot_record_copy(&to->record, hint[i].record);
            optune_refuse(to->why, "a log of others says it of %.200s",
                          to->record.device ? to->record.device
                                            : "a device that it does not name");
        }
        *fact = more;
    }
    return status;
}
