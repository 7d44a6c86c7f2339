/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A region of a tensor line by line along one axis, for references that need a whole line to say
 * what a part of it is:
 *
 *     region_lines l = region_lines_of(region, type, axis, 1);
 *     do
 *         ... l.first, l.to ...
 *     while (region_lines_next(&l));
 *
 * A line begins at element `first` of the tensor; what of it lies in the region is written from
 * element `to` of the region on, `step` apart. `width` lines are next to each other, at most as
 * many as was asked for. Host code only; owns nothing.
 */
#ifndef OPTUNE_KERNELS_HOST_REGION_LINES_H
#define OPTUNE_KERNELS_HOST_REGION_LINES_H

#include "kernels/host/host.h"

typedef struct region_lines {
    const optune_region *region;
    int rank, axis;
    int64_t stride[OPTUNE_MAX_RANK], place[OPTUNE_MAX_RANK]; /* in the region, in the tensor */
    int64_t at[OPTUNE_MAX_RANK], most;
    int64_t first, to, step, width;
} region_lines;

/* `type` is that of the tensor whose lines are read; both have `axis`. */
region_lines region_lines_of(const optune_region *region, const optune_tensor *type, int axis,
                             int64_t most);

/* False behind the last line. */
bool region_lines_next(region_lines *l);

/* A region element by element: `at` begins at its first, false where it has none; false behind the
 * last. */
bool region_begin(const optune_region *region, int64_t *at);
bool region_next(const optune_region *region, int64_t *at);

#endif
