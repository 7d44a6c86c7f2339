/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune_list: what there is, as JSON, made of the rows that the public functions give
 * (answer/list/listed.c, answer/list/listed_devices.c). Text for people is laid out by the program.
 */
#include <string.h>

#include "answer/list/list.h"
#include "base/device.h"
#include "base/fenv.h"

/* ---- implementations --------------------------------------------------------------------- */

static json_t *strategies_json(optune *o, const char *impl)
{
    optune_listed_strategy row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; optune_list_strategy(o, impl, i, &row, NULL) == OPTUNE_OK; i++) {
        json_t *json = json_object();
        ot_set_text(json, "key", row.key);
        ot_set_int(json, "plevel", row.plevel);
        ot_set_text(json, "when", row.when);
        ot_set_bool(json, "condition", row.condition);
        json_array_append_new(list, json);
    }
    return list;
}

static int list_impls(optune *o, const char *name, json_t *json, optune_err *err)
{
    int status;
    optune_listed_impl row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; (status = optune_list_impl(o, name, i, &row, err)) == OPTUNE_OK; i++) {
        json_t *impl = json_object();
        ot_set_text(impl, "op", row.op);
        ot_set_text(impl, "name", row.name);
        ot_set_text(impl, "summary", row.summary);
        ot_set_text(impl, "library", row.library);
        json_object_set_new(impl, "math", ot_words_json(row.math ? row.math : "ieee"));
        json_object_set_new(impl, "task_args", ot_words_json(row.task_args));
        json_object_set_new(impl, "error_scale", json_real(row.error_scale));
        ot_set_text(impl, "digest", row.digest);
        json_object_set_new(impl, "strategies", strategies_json(o, row.name));
        json_array_append_new(list, impl);
    }
    json_object_set_new(json, "impls", list);
    return status;
}

/* ---- targets, searches ------------------------------------------------------------------- */

static int list_targets(optune *o, const char *name, json_t *json, optune_err *err)
{
    (void)name;
    int status;
    optune_listed_target row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; (status = optune_list_target(o, i, &row, err)) == OPTUNE_OK; i++) {
        json_t *target = json_object();
        ot_set_text(target, "name", row.name);
        ot_set_text(target, "summary", row.summary);
        json_object_set_new(target, "keys", ot_names_json(row.keys));
        ot_set_text(target, "source_suffix", row.source_suffix);
        ot_set_text(target, "module_suffix", row.module_suffix);
        json_array_append_new(list, target);
    }
    json_object_set_new(json, "targets", list);
    return status;
}

static int list_searches(optune *o, const char *name, json_t *json, optune_err *err)
{
    (void)name;
    int status;
    optune_listed_search row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; (status = optune_list_search(o, i, &row, err)) == OPTUNE_OK; i++) {
        json_t *search = json_object();
        ot_set_text(search, "name", row.name);
        ot_set_text(search, "summary", row.summary);
        json_array_append_new(list, search);
    }
    json_object_set_new(json, "searches", list);
    return status;
}

/* ---- devices ----------------------------------------------------------------------------- */

static json_t *device_json(const optune_listed_device *row)
{
    json_t *json = json_object();
    ot_set_bool(json, "here", row->here);
    ot_set_bool(json, "stored", row->stored);
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const int64_t number = ot_device_number(row->device, f);
        if (f->kind == OT_FIELD_TEXT)
            ot_set_text(json, f->name, ot_device_text(row->device, f));
        else if (number && f->kind == OT_FIELD_BOOL)
            ot_set_bool(json, f->name, true);
        else if (number)
            ot_set_int(json, f->name, number);
    }
    if (row->unmade)
        ot_set_text(json, "unmade", row->unmade);
    return json;
}

static int list_devices(optune *o, const char *name, json_t *json, optune_err *err)
{
    (void)name;
    optune_devices *devices;
    OT_RETURN_UNLESS_OK(optune_devices_open(o, &devices, err));
    optune_listed_device row = {.size = sizeof row};
    json_t *list = json_array(), *absent = json_array();
    for (int i = 0; optune_list_device(devices, i, &row, err) == OPTUNE_OK; i++) {
        if (row.device) {
            json_array_append_new(list, device_json(&row));
            continue;
        }
        json_t *missing = json_object();
        ot_set_text(missing, "target", row.target);
        ot_set_text(missing, "why", row.why);
        json_array_append_new(absent, missing);
    }
    optune_devices_close(devices);
    json_object_set_new(json, "devices", list);
    json_object_set_new(json, "absent", absent);
    return OPTUNE_OK;
}

/* ---- the door ---------------------------------------------------------------------------- */

int optune_list(optune *o, const char *what, const char *name, optune_result **result,
                optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"what", what}, {"result", result});
    *result = NULL;
    static const struct {
        const char *what;
        int (*list)(optune *o, const char *name, json_t *json, optune_err *err);
    } kinds[] = {
        {"ops", ot_list_ops},      {"impls", list_impls},       {"targets", list_targets},
        {"devices", list_devices}, {"searches", list_searches},
    };
    for (int i = 0; i < OT_COUNT(kinds); i++) {
        if (strcmp(kinds[i].what, what) != 0)
            continue;
        json_t *json = json_object();
        const int status = kinds[i].list(o, name, json, err);
        if (status < 0) {
            json_decref(json);
            return status;
        }
        *result = ot_result_new(NULL, json);
        return OPTUNE_OK;
    }
    return optune_fail(err, OPTUNE_EUSAGE, "no list of '%s'", what);
}
