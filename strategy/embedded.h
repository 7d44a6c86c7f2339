/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the build writes into the library: for each file of ot_impl_table, then of
 * ot_impls_table, in the same order, its flattened body and the digest of everything it is made
 * of; and the tables themselves. ot_<kind>_table has the rows that have a file of their own,
 * the one in the plural the lists of those that share one: a list ends at a row without a name
 * (a strategy: without rows).
 */
#ifndef OPTUNE_EMBEDDED_H
#define OPTUNE_EMBEDDED_H

#include "optune/define.h"

enum { OT_FOR_CPUS = 1, OT_FOR_GPUS = 2 }; /* a .kernel.c, a .kernel.cu; a .kernel.h is both */
typedef struct ot_body {
    const char *file;   /* kernels/.../impl_<id>.c; NULL ends the table */
    const char *source; /* the body with its quoted includes in place; "" when it has none */
    const char *digest; /* hex: row, body and every header of kernels/ they include */
    int serves;         /* OT_FOR_CPUS, OT_FOR_GPUS, or both */
} ot_body;
extern const ot_body ot_body_table[];
/* kernels/common/epilogue.kernel.c and .cu: the stage that computes what is fused behind a call, on
 * CPUs and on GPUs. */
extern const ot_body ot_body_epilogue[2];
/* kernels/common/widen.kernel.c: stages around what computes 16-bit floats in float32. */
extern const ot_body ot_body_widen[1];

/* Every file that bodies include, by its name and in the order of names; NULL ends the table. */
typedef struct ot_body_file {
    const char *name, *text; /* kernels/.../x.kernel.h, as it is */
} ot_body_file;
extern const ot_body_file ot_body_files[];

extern const optune_strategy *const ot_strategy_table[], *const ot_strategies_table[];
extern const optune_impl *const ot_impl_table[], *const ot_impls_table[];
extern const optune_search *const ot_search_table[];

#endif
