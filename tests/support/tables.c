/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tables.h"

#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"
#include "support/check.h"

static void add_row(optune *o, ot_dispatch *table, int64_t most, const char *when,
                    const char *impl)
{
    optune_err err = {0};
    ot_dispatch_row *row = ot_alloc(sizeof *row);
    optune_call *call = ot_alloc(sizeof *call);
    const optune_task task = {call, &o->target, &o->device};
    row->range = table->dims;
    row->range.dim[0].max = most;
    check_ok(ot_call_narrow(&table->call, &row->range, call, &err));
    char digest[33];
    row->impl = ot_impl_find(impl);
    assert_non_null(row->impl);
    optune_space *space = NULL;
    check_ok(ot_space_open(&task, row->impl, &space, &err));
    assert_true(ot_space_fallback(space, &row->config, NULL));
    ot_space_close(space);
    ot_call_digest(&task, row->impl, digest);
    row->when = when;
    row->digest = digest;
    row->tier = "tuned";
    ot_dispatch_add(table, row);
    free(row);
    free(call);
}

void tables_write(optune *o, const char *workload, int64_t most, const char *small,
                  const char *other)
{
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_dispatch *table = NULL;
    ot_text target = {0};
    char path[4096], when[64];
    check_ok(ot_context_device(o, &err));
    check_ok(ot_call_parse(workload, call, &err));
    check_ok(ot_dispatch_new(call, &table, &err));
    ot_target_print(&o->target, true, &target);
    table->target = ot_arena_copy(&table->arena, ot_text_str(&target));
    table->device = ot_arena_copy(&table->arena, o->device.key);
    table->depends = ot_context_depends(o, NULL, NULL, &table->arena);
    snprintf(when, sizeof when, "%s <= %lld", table->dims.dim[0].name, (long long)most);
    add_row(o, table, most, when, small);
    add_row(o, table, table->dims.dim[0].max, NULL, other);
    check_ok(ot_dispatch_compile(table, &err));
    check_ok(ot_dispatch_path(o, call, path, sizeof path, &err));
    json_t *json = ot_dispatch_json(table);
    char *text = json_dumps(json, 0), *slash = strrchr(path, '/');
    *slash = 0;
    check_ok(ot_make_dirs(path, &err));
    *slash = '/';
    check_ok(ot_write_file(path, text, strlen(text), &err));
    json_decref(json);
    free(text);
    ot_text_release(&target);
    ot_dispatch_free(table);
    free(call);
}
