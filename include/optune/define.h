/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a contributor fills in: rows of the tables `op`, `strategy`, `impl`, `target`, `search`.
 * In tree, a file `<kind>_<name>.c` defines exactly one row with the macro of its kind, a file
 * `ops_`, `strategies_` or `impls_<name>.c` several that differ in little; the build finds it
 * by its name and a wrong name is a link error. Out of tree, a shared object
 * exports one `optune_plugin` with rows of any kind. Every field says what its absence means.
 *
 * kernels/ includes this header and kernels/ headers only.
 */
#ifndef OPTUNE_DEFINE_H
#define OPTUNE_DEFINE_H

#include "optune/define_impl.h"
#include "optune/define_op.h"
#include "optune/define_search.h"
#include "optune/define_target.h"
#include "optune/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTUNE_ABI 15

/* ---- plugins ----------------------------------------------------------------------------- */

/* A shared object exports one of these, named `optune_plugin`: `OPTUNE_PLUGIN = {.abi =
 * OPTUNE_ABI, ...};` defines it. All lists end with NULL and may be NULL. A name that exists
 * already is an error, except a strategy: it overrides. */
struct optune_plugin {
    uint32_t abi; /* OPTUNE_ABI */
    const char *name;
    const optune_op *const *ops;
    const optune_strategy *const *strategies;
    const optune_impl *const *impls;
    const optune_target_row *const *targets;
    const optune_search *const *searches;
};

#define OPTUNE_PLUGIN                                                                          \
    OPTUNE_API extern const struct optune_plugin optune_plugin;                                \
    const struct optune_plugin optune_plugin

#ifdef __cplusplus
}
#endif
#endif
