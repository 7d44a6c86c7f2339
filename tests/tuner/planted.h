/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of builder and worker share: a temp dir, the plugin of planted candidates compiled
 * into it and loaded, a small dense task on this machine, and configs and plans of it.
 */
#ifndef OPTUNE_TESTS_PLANTED_H
#define OPTUNE_TESTS_PLANTED_H

#include "answer/answer.h"
#include "run/run.h"
#include "support/check.h"
#include "support/plugin.h"

static char planted_dir[1024], planted_plugin[1100];
static optune_target planted_target;
static optune_device planted_device;
static optune_call planted_call;
static const optune_task planted_task = {&planted_call, &planted_target, &planted_device};

static const char planted_text[] = "dense(f32[33,64], const f32[48,64])";

static inline int planted_setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(planted_dir, sizeof planted_dir, &err));
    snprintf(planted_plugin, sizeof planted_plugin, "%s/plugin_bad.so", planted_dir);
    plugin_load("plugin_bad.c", planted_plugin);
    check_ok(ot_target_parse("cpu", &planted_target, &err));
    check_ok(ot_target_probe(&planted_target, &planted_device, &err));
    check_ok(ot_call_parse(planted_text, &planted_call, &err));
    return 0;
}

static inline int planted_teardown(void **state)
{
    (void)state;
    ot_remove_tree(planted_dir);
    return 0;
}

/* The fallback config of an implementation, and its plan. */
static inline const optune_impl *planted_plan(const char *name, optune_config *config,
                                              optune_plan *plan)
{
    optune_err err = {0};
    optune_space *space = NULL;
    const optune_impl *impl = ot_impl_find(name);
    assert_non_null(impl);
    check_ok(ot_space_open(&planted_task, impl, &space, &err));
    assert_true(ot_space_fallback(space, config, NULL));
    ot_space_close(space);
    check_ok(ot_plan_make(&planted_task, impl, config, plan, &err));
    return impl;
}

#endif
