/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/support/untuned.h declares. */
#include "support/untuned.h"

#include <stdlib.h>

#include "support/check.h"

static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};

const char *untuned_impl(const char *workload, const optune_device *device,
                         optune_config *config)
{
    static optune_call call;
    optune_err err = {0};
    check_ok(ot_call_parse(workload, &call, &err));
    const optune_task task = {&call, &target, device};
    ot_choice *choice = ot_alloc(sizeof *choice);
    check_ok(ot_select(&task, NULL, 0, choice, &err));
    const char *const name = choice->row[choice->winner].candidate.impl->name;
    ot_config_copy(config, choice->config);
    ot_choice_free(choice);
    return name;
}

bool untuned_plan(const char *name, const char *workload, const optune_device *device,
                  optune_config *config, optune_plan *plan)
{
    static optune_call call;
    optune_err err = {0};
    optune_space *space;
    const optune_impl *impl = ot_impl_find(name);
    assert_non_null(impl);
    check_ok(ot_call_parse(workload, &call, &err));
    const optune_task task = {&call, &target, device};
    if (!ot_impl_applies(impl, &task, NULL))
        return false;
    check_ok(ot_space_open(&task, impl, &space, &err));
    if (!ot_space_fallback(space, config, NULL))
        fail_msg("%s, %d threads, vectors of %d bytes: no fallback", workload, device->threads,
                 device->vector_bytes);
    check_ok(ot_plan_make(&task, impl, config, plan, &err));
    ot_space_close(space);
    return true;
}

int64_t untuned_macro(const optune_plan *plan, const char *name)
{
    const ot_module *module = &plan->module[0];
    for (int i = 0; i < module->n_defines; i++)
        if (strcmp(ot_plan_text(plan, module->define[i].name), name) == 0)
            return strtoll(ot_plan_text(plan, module->define[i].value), NULL, 10);
    return 0;
}
