/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/region_lines.h declares. */
#include "kernels/host/region_lines.h"

static void region_lines_here(region_lines *l)
{
    const int last = l->rank - 1;
    l->first = l->to = 0;
    for (int d = 0; d < l->rank; d++) {
        l->first += d == l->axis ? 0 : l->at[d] * l->place[d];
        l->to += d == l->axis ? 0 : (l->at[d] - l->region->lo[d]) * l->stride[d];
    }
    l->width = l->axis == last ? 1 : host_min(l->most, l->region->hi[last] - l->at[last]);
}

region_lines region_lines_of(const optune_region *region, const optune_tensor *type, int axis,
                             int64_t most)
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

bool region_lines_next(region_lines *l)
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

bool region_begin(const optune_region *region, int64_t *at)
{
    bool some = true;
    for (int d = 0; d < region->rank; d++) {
        at[d] = region->lo[d];
        some = some && region->lo[d] < region->hi[d];
    }
    return some;
}

bool region_next(const optune_region *region, int64_t *at)
{
    int d = region->rank - 1;
    while (d >= 0 && ++at[d] == region->hi[d]) {
        at[d] = region->lo[d];
        d--;
    }
    return d >= 0;
}
