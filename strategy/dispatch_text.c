/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables as JSON (docs/formats.md has the format) and for people. What was measured on
 * the way is carried along as it was written and never judged.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/dispatch.h"
#include "strategy/inside.h"

enum { VERSION = 1 };

/* ---- writing ----------------------------------------------------------------------------- */

static json_t *range_json(const ot_symbols *range)
{
    json_t *json = json_object();
    for (int i = 0; i < range->n; i++)
        json_object_set_new(
            json, range->dim[i].name,
            json_pack("[II]", (json_int_t)range->dim[i].min, (json_int_t)range->dim[i].max));
    return json;
}

static json_t *row_json(const ot_dispatch_row *row)
{
    ot_text config = {0};
    ot_config_print(&row->config, &config);
    json_t *json =
        json_pack("{s:o, s:s, s:s, s:o, s:s, s:o}", "when",
                  row->when ? json_string(row->when) : json_null(), "impl", row->impl->name,
                  "digest", row->digest, "config", json_loads(ot_text_str(&config), 0, NULL),
                  "tier", row->tier, "range", range_json(&row->range));
    ot_text_release(&config);
    return json;
}

json_t *ot_dispatch_json(const ot_dispatch *d)
{
    ot_text call = {0};
    ot_call_print(&d->call, &call);
    json_t *rows = json_array(), *dims = json_array();
    for (int i = 0; i < d->dims.n; i++)
        json_array_append_new(dims, json_string(d->dims.dim[i].name));
    for (int i = 0; i < d->n; i++)
        json_array_append_new(rows, row_json(&d->row[i]));
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:O}", "optune_dispatch",
                             VERSION, "call", ot_text_str(&call), "target", d->target, "device",
                             d->device, "depends", d->depends, "dims", dims, "rows", rows,
                             "measured", d->measured ? d->measured : json_null());
    ot_text_release(&call);
    return json;
}

void ot_dispatch_print(const ot_dispatch *d, ot_text *to)
{
    ot_text call = {0};
    ot_call_print(&d->call, &call);
    ot_text_printf(to, "%s\n", ot_text_str(&call));
    size_t width = 9;
    for (int i = 0; i < d->n; i++) {
        const size_t n = d->row[i].when ? strlen(d->row[i].when) : 0;
        width = n > width ? n : width;
    }
    width = width > 40 ? 40 : width;
    for (int i = 0; i < d->n; i++) {
        ot_text config = {0};
        const ot_dispatch_row *row = &d->row[i];
        ot_config_print_short(&row->config, &config);
        ot_text_printf(to, "  %2d  %-*s  %s  %s%s\n", i, (int)width,
                       row->when ? row->when : "otherwise", row->impl->name,
                       strcmp(row->tier, "tuned") ? "(by plevel) " : "", ot_text_str(&config));
        ot_text_release(&config);
    }
    ot_dispatch_check(d, to, NULL);
    ot_text_release(&call);
}

/* ---- reading ----------------------------------------------------------------------------- */

static int missing(optune_err *err, const char *what)
{
    return optune_fail(err, OPTUNE_ESYNTAX,
                       "dispatch table: '%s' is missing or of another kind", what);
}

static const char *text_of(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static int read_range(const ot_dispatch *d, const json_t *json, ot_symbols *range,
                      optune_err *err)
{
    *range = d->dims;
    for (int i = 0; i < range->n; i++) {
        const json_t *pair = json_object_get(json, range->dim[i].name);
        if (json_array_size(pair) != 2)
            return missing(err, "range");
        range->dim[i].min = json_integer_value(json_array_get(pair, 0));
        range->dim[i].max = json_integer_value(json_array_get(pair, 1));
        if (range->dim[i].min < d->dims.dim[i].min || range->dim[i].max > d->dims.dim[i].max ||
            range->dim[i].min > range->dim[i].max)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "dispatch table: a row's range of '%s' is not in the call's",
                               range->dim[i].name);
    }
    return OPTUNE_OK;
}

static int read_row(ot_dispatch *d, const json_t *json, optune_err *err)
{
    ot_dispatch_row *row = ot_alloc(sizeof(*row));
    const json_t *config = json_object_get(json, "config");
    const char *impl = text_of(json, "impl");
    *row = (ot_dispatch_row){.when = text_of(json, "when"),
                             .digest = text_of(json, "digest"),
                             .tier = text_of(json, "tier")};
    int status = OPTUNE_OK;
    if (!row->when && !json_is_null(json_object_get(json, "when")))
        status = missing(err, "when");
    else if (!impl || !row->digest || !row->tier || !json_is_array(config))
        status = missing(err, !impl          ? "impl"
                              : !row->digest ? "digest"
                              : !row->tier   ? "tier"
                                             : "config");
    else if (!(row->impl = ot_impl_find(impl)) || strcmp(row->impl->op, d->call.op->name) != 0)
        status = optune_fail(err, OPTUNE_EVERSION,
                             "dispatch table: '%s' has no implementation '%s' in this version",
                             d->call.op->name, impl);
    if (status >= 0)
        status = read_range(d, json_object_get(json, "range"), &row->range, err);
    if (status >= 0) {
        char *text = json_dumps(config, JSON_COMPACT);
        status = ot_config_parse(text, &row->config, err);
        free(text);
    }
    if (status >= 0)
        ot_dispatch_add(d, row);
    free(row);
    return status;
}

static int read_table(const json_t *json, ot_dispatch **dispatch, optune_err *err)
{
    const json_t *version = json_object_get(json, "optune_dispatch");
    const json_t *rows = json_object_get(json, "rows");
    const char *call_text = text_of(json, "call");
    const char *target = text_of(json, "target"), *device = text_of(json, "device");
    const char *depends = text_of(json, "depends");
    if (!json_is_integer(version))
        return optune_fail(err, OPTUNE_ESYNTAX, "this is no dispatch table of optune");
    if (json_integer_value(version) != VERSION)
        return optune_fail(
            err, OPTUNE_EVERSION,
            "the dispatch table has version %lld, this version of optune knows %d",
            (long long)json_integer_value(version), VERSION);
    if (!call_text || !target || !device || !depends || !json_is_array(rows))
        return missing(err, !call_text ? "call"
                            : !target  ? "target"
                            : !device  ? "device"
                            : !depends ? "depends"
                                       : "rows");
    optune_call *call = ot_alloc(sizeof *call);
    int status = ot_call_parse(call_text, call, err);
    if (status >= 0)
        status = ot_dispatch_new(call, dispatch, err);
    free(call);
    if (status < 0)
        return status;
    ot_dispatch *d = *dispatch;
    d->target = ot_arena_copy(&d->arena, target);
    d->device = ot_arena_copy(&d->arena, device);
    d->depends = ot_arena_copy(&d->arena, depends);
    d->measured = json_incref(json_object_get(json, "measured"));
    for (size_t i = 0; i < json_array_size(rows) && status >= 0; i++)
        status = read_row(d, json_array_get(rows, i), err);
    return status < 0 ? status : ot_dispatch_compile(d, err);
}

int ot_dispatch_read(const char *text, ot_dispatch **dispatch, optune_err *err)
{
    json_error_t at;
    json_t *json = json_loads(text, 0, &at);
    *dispatch = NULL;
    if (!json)
        return optune_fail(err, OPTUNE_ESYNTAX, "dispatch table: line %d: %s", at.line,
                           at.text);
    const int status = read_table(json, dispatch, err);
    json_decref(json);
    if (status < 0) {
        ot_dispatch_free(*dispatch);
        *dispatch = NULL;
    }
    return status;
}
