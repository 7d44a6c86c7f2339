/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each element of the output from its place, for any size of any dim (injective_places of
 * kernels/move/injective.h). AXES is how many there are; IN_AXIS, IN_UNIT, IN_WITHIN and their like
 * of OUT are lists over dims, PLACES_RANK how many the latter are, FROM, TO and STEP over axes.
 * JOINED is the axis along which the inputs lie one behind another, or -1. CUT and SPLIT are 1
 * where some axis is no more what it was and where some dim is a block.
 */
#include "kernels/move/cut.kernel.h"

#define LIST(name, text) const i64 name[] = {text}

/* Axis a of n elements in the data: where the output begins in it, and how long it is there. */
INLINE i64 cut_axis(int a, i64 n, i64 *begin, i64 *by)
{
    LIST(from_of, FROM);
    LIST(to_of, TO);
    LIST(step_of, STEP);
    const i64 from = from_of[a], to = to_of[a], step = step_of[a];
    *begin = step ? cut_end(n, from, step) : -from;
    *by = step ? step : 1;
    return step ? cut_length(n, from, to, step) : from + n + to;
}

typedef struct places {
    i64 in[8], out[8];              /* dims */
    i64 extent[8], begin[8], by[8]; /* of axes */
} places;

#define JOIN(k)                                                                                \
    {                                                                                          \
        DIMS(dim, X##k);                                                                       \
        joined += dim[JOINED < 0 ? 0 : JOINED];                                                \
    }

INLINE void find_places(const generic_call *c, places *p)
{
    DIMS(in, X0);
    LIST(in_axis, IN_AXIS);
    LIST(in_unit, IN_UNIT);
    LIST(in_within, IN_WITHIN);
    LIST(out_axis, OUT_AXIS);
    LIST(out_unit, OUT_UNIT);
    LIST(out_within, OUT_WITHIN);
    i64 length[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    (void)c;
    for (int a = 0; a < 8; a++) {
        p->in[a] = in[a];
        p->extent[a] = p->by[a] = 1;
        p->begin[a] = 0;
    }
    for (int d = 0; d < X0_RANK; d++)
        if (in_within[d] == 0)
            p->extent[in_axis[d]] = in[d] * in_unit[d];
    for (int a = 0; a < AXES; a++)
        length[a] = CUT ? cut_axis(a, p->extent[a], &p->begin[a], &p->by[a]) : p->extent[a];
#if JOINED >= 0
    i64 joined = 0;
    EACH_INPUT(JOIN)
    length[JOINED] = p->extent[JOINED] = joined;
#endif
    for (int d = 0; d < PLACES_RANK; d++)
        p->out[d] = out_within[d] ? out_within[d] : length[out_axis[d]] / out_unit[d];
}

INLINE i64 items(const generic_call *c)
{
    places p;
    find_places(c, &p);
    return elements(p.out, PLACES_RANK);
}

/* The input that has this place along the joined axis, and where. */
#define PICK(k)                                                                                \
    {                                                                                          \
        DIMS(dim, X##k);                                                                       \
        const i64 n = dim[JOINED];                                                             \
        if (here >= 0 && here < n) {                                                           \
            from = c->x##k;                                                                    \
            axis[JOINED] = here;                                                               \
            in[JOINED] = n;                                                                    \
        }                                                                                      \
        here -= n;                                                                             \
    }

/* Where the data has it; -1: nowhere. */
INLINE i64 element_at(const generic_call *c, const places *p, const i64 *at,
                      GLOBAL const X0_T **of)
{
    LIST(in_axis, IN_AXIS);
    LIST(in_unit, IN_UNIT);
    LIST(in_within, IN_WITHIN);
    LIST(out_axis, OUT_AXIS);
    LIST(out_unit, OUT_UNIT);
    GLOBAL const X0_T *from = c->x0;
    i64 axis[8] = {0}, in[8], offset = 0, stride = 1;
    int inside = 1;
    for (int d = 0; d < X0_RANK; d++)
        in[d] = p->in[d];
    for (int d = 0; d < PLACES_RANK; d++)
        axis[out_axis[d]] += at[d] * out_unit[d];
    for (int a = 0; a < AXES && CUT; a++) {
        axis[a] = p->begin[a] + axis[a] * p->by[a];
        inside = inside && axis[a] >= 0 && axis[a] < p->extent[a];
    }
#if JOINED >= 0
    i64 here = axis[JOINED];
    EACH_INPUT(PICK)
#endif
    for (int d = X0_RANK - 1; d >= 0; d--) {
        const i64 v = axis[in_axis[d]];
        offset += (!SPLIT ? v : in_within[d] ? v % in_within[d] : v / in_unit[d]) * stride;
        stride *= in[d];
    }
    *of = from;
    return inside ? offset : -1;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    places p;
    i64 at[8] = {0};
    find_places(c, &p);
    if (first < last)
        place(first, p.out, PLACES_RANK, at);
    for (; first < last; first++) {
        GLOBAL const X0_T *from;
        const i64 offset = element_at(c, &p, at, &from);
        if (offset < 0)
            WRITE(0, first, FILL);
        else
            c->o0[first] = from[offset];
        for (int d = PLACES_RANK - 1; d >= 0; d--) {
            if (++at[d] < p.out[d])
                break;
            at[d] = 0;
        }
    }
}
