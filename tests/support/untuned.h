/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed untuned on a CPU that is only described: by whom, and what an implementation
 * plans with its fallback config. */
#ifndef OPTUNE_TESTS_UNTUNED_H
#define OPTUNE_TESTS_UNTUNED_H

#include "strategy/inside.h"

/* False where it does not apply; a fallback that is refused fails the test. `config` and `plan`
 * become what it is. */
bool untuned_plan(const char *impl, const char *workload, const optune_device *device,
                  optune_config *config, optune_plan *plan);
/* Who computes the call; `config` becomes what it is. That nobody does fails the test. */
const char *untuned_impl(const char *workload, const optune_device *device,
                         optune_config *config);
/* A number that the plan's first module is compiled with; 0: none. */
int64_t untuned_macro(const optune_plan *plan, const char *name);

#endif
