/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AutoTVM makes of a record. It reads the line's first four keys only: its target, its
 * template's name, arguments and config. A record means the same to it when the template is one of
 * TVM's (its row spells AutoTVM's arguments), when those arguments say the whole call, and when
 * TVM has such a target.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "run/run.h"

/* Constness aside, which TVM does not know: it asks one question where we ask several. */
static bool same_call(const optune_call *a, const optune_call *b)
{
    optune_call *x = ot_alloc(sizeof *x), *y = ot_alloc(sizeof *y);
    ot_text one = {0}, two = {0};
    *x = *a;
    *y = *b;
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        x->input[i].is_const = y->input[i].is_const = false;
    ot_call_print(x, &one);
    ot_call_print(y, &two);
    const bool same = !strcmp(one.s, two.s);
    ot_text_release(&one);
    ot_text_release(&two);
    free(x);
    free(y);
    return same;
}

bool ot_record_for_tvm(const optune_record *r)
{
    const optune_impl *impl = ot_impl_find(r->impl);
    if (!impl || !impl->task_args)
        return false;
    optune_target target;
    ot_text text = {0};
    optune_call *call = ot_alloc(sizeof *call), *said = ot_alloc(sizeof *said);
    bool good = ot_target_parse(r->target, &target, NULL) >= 0 &&
                ot_target_to_tvm(&target, NULL, &text) &&
                ot_call_parse(r->call, call, NULL) >= 0 && ot_call_static(call);
    if (good) {
        json_t *args = ot_task_args(call, impl);
        good = ot_call_from_args(impl, args, said, NULL) >= 0 && same_call(call, said);
        json_decref(args);
    }
    ot_text_release(&text);
    free(call);
    free(said);
    return good;
}

/* AutoTVM's own tuner gives a build 10 s: what takes longer it would never have measured. */
bool ot_tvm_compiles(const optune_record *r, char *why)
{
    enum { MOST = 2048 };
    const optune_impl *impl = ot_impl_find(r->impl);
    if (!impl || !impl->task_unrolls)
        return true;
    optune_call *call = ot_alloc(sizeof *call);
    const int64_t n =
        ot_call_parse(r->call, call, NULL) >= 0 ? impl->task_unrolls(call, &r->config) : 0;
    free(call);
    return n <= MOST || optune_refuse(why,
                                      "%s would unroll %" PRId64
                                      " vector operations in TVM, which takes its "
                                      "compiler minutes; up to %d pass",
                                      r->impl, n, MOST);
}

/* Lines of older versions hold our own target where TVM looks for its, and others may hold a JSON
 * object, which AutoTVM does not take there: those are rewritten. What came from TVM stays. */
const char *ot_task_for_tvm(ot_store *store, const optune_record *r, ot_arena *arena)
{
    json_t *task = r->task ? json_loads(r->task, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *first = json_array_get(task, 0);
    const char *is = json_is_object(first) ? r->target : json_string_value(first);
    const char *made = r->task;
    optune_target target;
    optune_device device;
    ot_text text = {0};
    if (is && !strcmp(is, r->target) && ot_target_parse(is, &target, NULL) >= 0 &&
        ot_target_to_tvm(&target,
                         ot_store_device(store, r->device, &device, NULL) >= 0 ? &device : NULL,
                         &text)) {
        json_array_set_new(task, 0, json_string(ot_text_str(&text)));
        char *dumped = json_dumps(task, JSON_COMPACT);
        made = ot_arena_copy(arena, dumped);
        free(dumped);
    }
    ot_text_release(&text);
    json_decref(task);
    return made;
}
