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

static inline void region_lines_here(region_lines *l)
{
    const int last = l->rank - 1;
    l->first = l->to = 0;
    for (int d = 0; d < l->rank; d++) {
        l->first += d == l->axis ? 0 : l->at[d] * l->place[d];
        l->to += d == l->axis ? 0 : (l->at[d] - l->region->lo[d]) * l->stride[d];
    }
    l->width = l->axis == last ? 1 : host_min(l->most, l->region->hi[last] - l->at[last]);
}

/* `type` is that of the tensor whose lines are read; both have `axis`. */
static inline region_lines region_lines_of(const optune_region *region,
                                           const optune_tensor *type, int axis, int64_t most)
{
    region_lines l = {.region = region, .rank = type->rank, .axis = axis, .most = most};
    int64_t stride = 1, place = 1;
    for (int d = l.rank - 1; d >= 0; d--) {
        l.stride[d] = stride;
        l.place[d] = place;
        stride *= region->hi[d] - region->lo[d];
        place *= type->dim[d].min;
        l.at[d] = region->lo[d];
    }
    l.step = l.stride[axis];
    region_lines_here(&l);
    return l;
}

/* False behind the last line. */
static inline bool region_lines_next(region_lines *l)
{
    for (int d = l->rank - 1; d >= 0; d--) {
        if (d == l->axis)
            continue;
        l->at[d] += d == l->rank - 1 ? l->width : 1;
        if (l->at[d] < l->region->hi[d]) {
            region_lines_here(l);
            return true;
        }
        l->at[d] = l->region->lo[d];
    }
    return false;
}

#endif
