/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables as a program sees them: found in the database or in a file, judged against the
 * present, and asked. A table that is stale is refused with the reason; it is never mended here.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"
#include "base/fenv.h"
#include "run/run.h"

struct optune_dispatch {
    ot_dispatch *table;
    char **config; /* canonical, by row */
    char *json;
    ot_text text;
};

int ot_dispatch_path(optune *o, const optune_call *call, char *path, size_t size,
                     optune_err *err)
{
    ot_arena arena = {0};
    ot_question q;
    char hex[33];
    const optune_task task = {call, &o->target, &o->device};
    atomic_store(&o->no_tables_ns,
                 -ot_now_ns()); /* whoever asks where one is to be may write it */
    ot_context_question(o, &task, &q, &arena);
    const char *const texts[] = {q.device, q.target, q.call};
    ot_digest_hex(ot_digest_texts(texts, OT_COUNT(texts)), hex);
    ot_arena_release(&arena);
    const int n = snprintf(path, size, "%s/dispatch/%s.json", o->db, hex);
    return n < 0 || (size_t)n >= size
               ? optune_fail(err, OPTUNE_ELIMIT, "database path too long")
               : OPTUNE_OK;
}

static int path_of(optune *o, const char *what, char *path, size_t size, optune_err *err)
{
    if (!strchr(what, '('))
        return ot_copy(path, size, what) ? OPTUNE_OK
                                         : optune_fail(err, OPTUNE_ELIMIT, "path too long");
    optune_call *call = ot_alloc(sizeof *call);
    ot_symbols symbols;
    int status = ot_call_parse(what, call, err);
    if (status >= 0)
        status = ot_symbols_of(call, &symbols, err);
    if (status >= 0)
        status = ot_dispatch_path(o, call, path, size, err);
    free(call);
    if (status >= 0 && !ot_exists(path))
        status =
            optune_fail(err, OPTUNE_ENOENT,
                        "there is no dispatch table of %s; `optune dispatch` makes one", what);
    return status;
}

int ot_dispatch_judge(optune *o, const ot_dispatch *d, optune_err *err)
{
    ot_text target = {0};
    ot_arena arena = {0};
    int status = OPTUNE_OK;
    ot_target_print(&o->target, true, &target);
    const char *now = ot_context_depends(o, NULL, ot_policy_warm.name, &arena);
    if (strcmp(d->device, o->device.key) != 0)
        status = optune_fail(err, OPTUNE_ENOENT,
                             "the dispatch table is of device '%s', this is '%s'", d->device,
                             o->device.key);
    else if (strcmp(d->target, ot_text_str(&target)) != 0)
        status = optune_fail(err, OPTUNE_ENOENT,
                             "the dispatch table is for target '%s', asked is '%s'", d->target,
                             ot_text_str(&target));
    else if (now && strcmp(now, d->depends) != 0)
        status = optune_fail(err, OPTUNE_EVERSION,
                             "the dispatch table is stale: it was made with %.*s, here is %.*s",
                             (int)strcspn(d->depends, "\n"), d->depends,
                             (int)strcspn(now, "\n"), now);
    else
        status = ot_dispatch_current(d, &o->target, &o->device, err);
    ot_text_release(&target);
    ot_arena_release(&arena);
    return status;
}

int optune_dispatch_open(optune *o, const char *what, optune_dispatch **dispatch,
                         optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"workload_or_file", what}, {"dispatch", dispatch});
    char path[4096 + 64];
    ot_text text = {0};
    ot_dispatch *table = NULL;
    *dispatch = NULL;
    int status = ot_context_asked(o, err);
    if (status >= 0)
        status = path_of(o, what, path, sizeof path, err);
    if (status >= 0)
        status = ot_read_input(path, &text, 16 << 20, err);
    if (status >= 0)
        status = ot_dispatch_read(ot_text_str(&text), &table, err);
    if (status >= 0)
        status = ot_dispatch_judge(o, table, err);
    ot_text_release(&text);
    if (status < 0) {
        ot_dispatch_free(table);
        return status;
    }
    *dispatch = ot_dispatch_wrap(table);
    return OPTUNE_OK;
}

static ot_dispatch *table_of(optune *o, const optune_call *call)
{
    char path[4096 + 64];
    ot_text text = {0};
    ot_dispatch *table = NULL;
    optune_err why = {0};
    if (ot_dispatch_path(o, call, path, sizeof path, NULL) < 0 || !ot_exists(path))
        return NULL;
    int status = ot_read_file(path, &text, 16 << 20, &why);
    if (status >= 0)
        status = ot_dispatch_read(ot_text_str(&text), &table, &why);
    if (status >= 0)
        status = ot_dispatch_judge(o, table, &why);
    ot_text_release(&text);
    if (status >= 0)
        return table;
    ot_context_warn_once(o, "%s is not used: %s; a run makes it anew", path, why.text);
    ot_dispatch_free(table);
    return NULL;
}

ot_dispatch *ot_dispatch_of(optune *o, const optune_call *call)
{
    if (ot_call_static(call))
        return NULL;
    optune_call *named = ot_alloc(sizeof *named);
    ot_renamed *renamed = ot_alloc(sizeof *renamed);
    ot_dispatch *table =
        ot_call_rename(call, named, renamed, NULL) < 0 ? NULL : table_of(o, named);
    free(renamed);
    free(named);
    return table;
}

void ot_dispatch_sizes(const ot_dispatch *table, const optune_call *call, int64_t *size)
{
    const int n = optune_call_inputs(&table->call);
    for (int i = 0; i < n && i < optune_call_inputs(call); i++) {
        const optune_tensor *ranges = &table->call.input[i].type, *own = &call->input[i].type;
        for (int d = 0; d < ranges->rank && ranges->rank == own->rank; d++)
            for (int k = 0; k < table->dims.n && k < OT_MAX_SYMBOLS; k++)
                if (!optune_dim_known(&ranges->dim[d]) &&
                    !strcmp(table->dims.dim[k].name, ranges->dim[d].name))
                    size[k] = own->dim[d].min;
    }
}

optune_dispatch *ot_dispatch_wrap(ot_dispatch *table)
{
    optune_dispatch *d = ot_alloc(sizeof *d);
    d->table = table;
    d->config = ot_alloc((size_t)table->n * sizeof *d->config);
    for (int i = 0; i < table->n; i++) {
        ot_text config = {0};
        ot_config_print(&table->row[i].config, &config);
        d->config[i] = config.s ? config.s : ot_strdup("");
    }
    ot_dispatch_print(table, &d->text);
    json_t *json = ot_dispatch_json(table);
    d->json = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(json);
    return d;
}

void optune_dispatch_close(optune_dispatch *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->table->n; i++)
        free(d->config[i]);
    free(d->config);
    free(d->json);
    ot_text_release(&d->text);
    ot_dispatch_free(d->table);
    free(d);
}

int optune_dispatch_select(const optune_dispatch *d, const int64_t *sizes)
{
    if (!d || !sizes)
        return -1;
    return ot_dispatch_find(d->table, sizes);
}

int optune_dispatch_dims(const optune_dispatch *d)
{
    if (!d)
        return 0;
    return d->table->dims.n;
}

const char *optune_dispatch_dim(const optune_dispatch *d, int dim)
{
    if (!d)
        return NULL;
    return dim >= 0 && dim < d->table->dims.n ? d->table->dims.dim[dim].name : NULL;
}

int optune_dispatch_rows(const optune_dispatch *d)
{
    if (!d)
        return 0;
    return d->table->n;
}

const char *optune_dispatch_impl(const optune_dispatch *d, int row)
{
    if (!d)
        return NULL;
    return row >= 0 && row < d->table->n ? d->table->row[row].impl->name : NULL;
}

const char *optune_dispatch_config(const optune_dispatch *d, int row)
{
    if (!d)
        return NULL;
    return row >= 0 && row < d->table->n ? d->config[row] : NULL;
}

const char *optune_dispatch_text(const optune_dispatch *d)
{
    if (!d)
        return NULL;
    return ot_text_str(&d->text);
}

const char *optune_dispatch_json(const optune_dispatch *d)
{
    if (!d)
        return NULL;
    return d->json;
}
