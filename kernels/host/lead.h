/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leading dims that are known at run time: rows, batches, whatever stands in front of what a body
 * works on. Their product is a macro of the body, which is a constant where they are, and else
 * made of arguments behind the stage's own. A body for CPUs uses it where its `arg` is in scope,
 * one for GPUs in entry points that end their parameters with another macro. Host code.
 */
#ifndef OPTUNE_KERNELS_HOST_LEAD_H
#define OPTUNE_KERNELS_HOST_LEAD_H

#include "kernels/host/host.h"

/* Whether all dims from `from` on are constants; those in front have an upper end, where the whole
 * can be counted. */
bool host_lead_known(const optune_tensor *type, int from);

/* The most there can be of a dim. */
static inline int64_t host_dim_most(const optune_dim *dim)
{
    return dim->max;
}

/* A tensor seen as [outer][n][inner] around an axis, `outer` the most it can be. */
host_axis host_lead_around(const optune_tensor *type, int64_t axis);

/* Defines `macro` as the product of dims [from, to) of input `input`, wherever they stand;
 * arguments from number `first` on are those that host_dims_args adds. */
void host_dims_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                      int input, int from, int to, int first);

/* Adds an argument for each of these dims that is known at run time. */
void host_dims_args(const optune_call *call, int input, int from, int to, optune_stage *stage);

/* The same of dims [0, to). */
void host_lead_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                      int input, int to, int first);

/* The same for a GPU: `parameters` is the macro that declares them, each behind a comma. */
void host_lead_define_gpu(optune_plan *plan, int m, const char *macro, const char *parameters,
                          const optune_call *call, int input, int to);

void host_lead_args(const optune_call *call, int input, int to, optune_stage *stage);

#endif
