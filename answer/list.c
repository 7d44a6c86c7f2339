/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune_list: what there is, as text and as JSON. Operators, implementations, targets and
 * searches come from the registered rows and touch neither device nor database; only `devices`
 * probes this machine and reads the store. Text and JSON say the same things.
 */
#include <string.h>

#include "answer/list.h"
#include "base/device.h"

/* ---- impls ------------------------------------------------------------------------------- */

/* A plugin's strategy replaces an earlier one of the same operator and key. */
static bool replaced(const optune_strategy *const *all, int n, int i)
{
    for (int later = i + 1; later < n; later++)
        if (strcmp(all[i]->op, all[later]->op) == 0 &&
            strcmp(all[i]->key, all[later]->key) == 0)
            return true;
    return false;
}

static json_t *strategies_of(const optune_impl *impl, ot_text *text)
{
    int n;
    const optune_strategy *const *all = ot_strategies(&n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i]->op, impl->op) != 0 || replaced(all, n, i))
            continue;
        for (const optune_strategy_row *row = all[i]->rows; row->impl; row++) {
            if (strcmp(row->impl, impl->name) != 0)
                continue;
            const int plevel = ot_row_plevel(row);
            json_t *json = json_object();
            ot_set_text(json, "key", all[i]->key);
            ot_set_int(json, "plevel", plevel);
            ot_set_text(json, "when", row->when);
            ot_set_bool(json, "condition", row->condition != NULL);
            json_array_append_new(list, json);
            ot_text_printf(text, "%s%s, plevel %d", text->n ? "; " : "", all[i]->key, plevel);
            if (row->when)
                ot_text_printf(text, " when %s", row->when);
            if (row->condition)
                ot_text_add(text, row->when ? " and its condition holds"
                                            : " when its condition holds");
        }
    }
    return list;
}

static json_t *impl_json(const optune_impl *impl, ot_text *text)
{
    ot_text strategies = {0};
    json_t *json = json_object();
    ot_set_text(json, "op", impl->op);
    ot_set_text(json, "name", impl->name);
    ot_set_text(json, "summary", impl->summary);
    ot_set_text(json, "library", impl->library);
    json_object_set_new(json, "math", ot_words_json(impl->math ? impl->math : "ieee"));
    json_object_set_new(json, "task_args", ot_words_json(impl->task_args));
    json_object_set_new(json, "error_scale",
                        json_real(impl->error_scale ? impl->error_scale : 1));
    ot_set_text(json, "digest", ot_impl_digest(impl));
    json_object_set_new(json, "strategies", strategies_of(impl, &strategies));
    ot_text_printf(text, "%-28s %-13s %s\n", impl->name, impl->op, impl->summary);
    ot_text_printf(text, "%-28s %s", "",
                   strategies.n ? ot_text_str(&strategies) : "in no strategy");
    if (impl->library)
        ot_text_printf(text, "; calls %s", impl->library);
    if (impl->math)
        ot_text_printf(text, "; math %s", impl->math);
    ot_text_printf(text, "; digest %.8s\n", ot_impl_digest(impl));
    ot_text_release(&strategies);
    return json;
}

static int list_impls(optune *o, const char *name, ot_text *text, json_t **json,
                      optune_err *err)
{
    (void)o;
    const optune_op *only = NULL;
    const int status = name ? ot_op_get(name, &only, err) : OPTUNE_OK;
    if (status < 0)
        return status;
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        if (!only || strcmp(impl[i]->op, only->name) == 0)
            json_array_append_new(list, impl_json(impl[i], text));
    *json = ot_wrap("impls", list);
    return OPTUNE_OK;
}

/* ---- targets, searches ------------------------------------------------------------------- */

static int list_targets(optune *o, const char *name, ot_text *text, json_t **json,
                        optune_err *err)
{
    (void)o, (void)name, (void)err;
    int n;
    const optune_target_row *const *row = ot_targets(&n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *target = json_object();
        ot_set_text(target, "name", row[i]->name);
        ot_set_text(target, "summary", row[i]->summary);
        json_object_set_new(target, "keys", ot_names_json(row[i]->keys));
        ot_set_text(target, "source_suffix", row[i]->source_suffix);
        ot_set_text(target, "module_suffix", row[i]->module_suffix);
        json_array_append_new(list, target);
        ot_text_printf(text, "%-10s %s; keys:", row[i]->name, row[i]->summary);
        for (const char *const *key = row[i]->keys; *key; key++)
            ot_text_printf(text, " %s", *key);
        ot_text_add(text, "\n");
    }
    *json = ot_wrap("targets", list);
    return OPTUNE_OK;
}

static int list_searches(optune *o, const char *name, ot_text *text, json_t **json,
                         optune_err *err)
{
    (void)o, (void)name, (void)err;
    int n;
    const optune_search *const *search = ot_searches(&n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *row = json_object();
        ot_set_text(row, "name", search[i]->name);
        ot_set_text(row, "summary", search[i]->summary);
        json_array_append_new(list, row);
        ot_text_printf(text, "%-12s %s\n", search[i]->name, search[i]->summary);
    }
    *json = ot_wrap("searches", list);
    return OPTUNE_OK;
}

/* ---- devices ----------------------------------------------------------------------------- */

static void add_device(const optune_device *d, bool here, bool stored, ot_text *text,
                       json_t *list)
{
    json_t *json = json_object();
    ot_set_bool(json, "here", here);
    ot_set_bool(json, "stored", stored);
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const int64_t number = ot_device_number(d, f);
        if (f->kind == OT_FIELD_TEXT)
            ot_set_text(json, f->name, ot_device_text(d, f));
        else if (number && f->kind == OT_FIELD_BOOL)
            ot_set_bool(json, f->name, true);
        else if (number)
            ot_set_int(json, f->name, number);
    }
    json_array_append_new(list, json);

    ot_text_printf(text, "%s\n  %s%s: %s%s%s\n  %d cores", d->key,
                   here ? "this machine" : "stored", here && stored ? ", with records" : "",
                   d->name, *d->arch ? ", " : "", d->arch, d->cores);
    const struct {
        const char *name;
        int64_t bytes;
    } size[] = {{"L1", d->l1}, {"L2", d->l2}, {"L3", d->l3}, {"memory", d->memory}};
    for (int i = 0; i < OT_COUNT(size); i++)
        if (size[i].bytes)
            ot_text_printf(text, ", %s %.4g %s", size[i].name,
                           (double)size[i].bytes /
                               (size[i].bytes < 1 << 20 ? 1 << 10 : 1 << 20),
                           size[i].bytes < 1 << 20 ? "KiB" : "MiB");
    if (d->vector_bytes)
        ot_text_printf(text, ", %d-bit vectors", 8 * d->vector_bytes);
    ot_text_add(text, "\n");
}

static bool among(const optune_device *device, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (strcmp(device[i].key, key) == 0)
            return true;
    return false;
}

/* What this machine has of one kind of target; the reason when it has nothing. */
static int probe(const optune *o, const char *kind, optune_device *device, optune_err *err)
{
    optune_target target = o->target;
    if (strcmp(target.kind, kind) != 0) {
        const int status = ot_target_parse(kind, &target, err);
        if (status < 0)
            return status;
    }
    return ot_target_probe(&target, device, err);
}

static int list_devices(optune *o, const char *name, ot_text *text, json_t **json,
                        optune_err *err)
{
    (void)name;
    ot_arena arena = {0};
    optune_device *stored = NULL;
    int n_stored = 0, n_found = 0, n;
    int status = ot_context_store(o, OT_STORE_READ, err);
    if (status >= 0 && o->store)
        status = ot_store_devices(o->store, &arena, &stored, &n_stored, err);
    if (status < 0 && status != OPTUNE_ENOENT) {
        ot_arena_release(&arena);
        return status;
    }
    const optune_target_row *const *row = ot_targets(&n);
    optune_device *found = ot_arena_alloc(&arena, (size_t)(n + 1) * sizeof *found);
    json_t *list = json_array(), *absent = json_array();
    ot_text none = {0};
    for (int i = 0; i < n; i++) {
        optune_err reason = {0};
        if (probe(o, row[i]->name, &found[n_found], &reason) >= 0) {
            const optune_device *device = &found[n_found++];
            add_device(device, true, among(stored, n_stored, device->key), text, list);
            continue;
        }
        json_t *missing = json_object();
        ot_set_text(missing, "target", row[i]->name);
        ot_set_text(missing, "why", reason.text);
        json_array_append_new(absent, missing);
        ot_text_printf(&none, "no %s device: %s\n", row[i]->name, reason.text);
    }
    for (int i = 0; i < n_stored; i++)
        if (!among(found, n_found, stored[i].key))
            add_device(&stored[i], false, true, text, list);
    ot_text_add(text, ot_text_str(&none));
    ot_text_release(&none);
    ot_arena_release(&arena);
    *json = ot_wrap("devices", list);
    json_object_set_new(*json, "absent", absent);
    return OPTUNE_OK;
}

/* ---- the door ---------------------------------------------------------------------------- */

int optune_list(optune *o, const char *what, const char *name, optune_result **result,
                optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"handle", o}, {"what", what}, {"result", result}));
    *result = NULL;
    static const struct {
        const char *what;
        int (*list)(optune *o, const char *name, ot_text *text, json_t **json, optune_err *err);
    } kinds[] = {
        {"ops", ot_list_ops},      {"impls", list_impls},       {"targets", list_targets},
        {"devices", list_devices}, {"searches", list_searches},
    };
    for (int i = 0; i < OT_COUNT(kinds); i++) {
        if (strcmp(kinds[i].what, what) != 0)
            continue;
        ot_text text = {0};
        json_t *json = NULL;
        const int status = kinds[i].list(o, name, &text, &json, err);
        if (status < 0)
            ot_text_release(&text);
        else
            *result = ot_result_new(text.s, json);
        return status;
    }
    return optune_fail(err, OPTUNE_EUSAGE, "no list of '%s'", what);
}
