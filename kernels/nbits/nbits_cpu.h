/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU rows of dense_nbits share: the panels of nbits_cpu.kernel.h and the stages around
 * a product. */
#ifndef OPTUNE_KERNELS_NBITS_CPU_ROWS_H
#define OPTUNE_KERNELS_NBITS_CPU_ROWS_H

#include "kernels/nbits/nbits.h"

/* Elements of depth that share a scale in a panel: a long group is several, so that a block of
 * depth is a number of groups. */
int64_t nbits_cpu_group(const nbits_shape *s);

/* Bytes of the panels of nv vectors of columns. */
int64_t nbits_cpu_bytes(const optune_task *task, const nbits_shape *s, int64_t nv);

/* The same for panels of one vector: they fit. */
bool nbits_cpu_applies(const optune_task *task, char *why);

/* A module with the macros that all bodies have, for tiles of mr rows and nv vectors. */
int nbits_cpu_module(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     int64_t mr, int64_t nv);

/* Adds all stages: the weight is packed, data of 16 bits made float32 and the output made of it.
 * `more` is an argument behind data, panels and output; NULL: there is none. */
void nbits_cpu_stages(const optune_task *task, optune_plan *plan, int module,
                      const nbits_shape *s, int64_t nv, const char *function,
                      const optune_arg *more);

#endif
