/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels/move/slice_rows.h declares. Axes that are whole are one loop with what is in front
 * of them, unless that goes in steps: the innermost loop is as long as can be.
 */
#include "kernels/move/slice_rows.h"

#include <assert.h>
#include <string.h>

#include "kernels/move/injective.h"
#include "kernels/move/moves.h"

typedef struct loop {
    int first, last; /* axes */
} loop;

/* Whether an axis is the output's as it is, at every size. */
static bool is_whole(const injective_places *p, const optune_tensor *in, int axis)
{
    return p->step[axis] == 0 ||
           (p->step[axis] == 1 && p->from[axis] == 0 && p->to[axis] >= in->dim[axis].max);
}

static int loops_of(const optune_call *call, const injective_places *p,
                    loop loops[OPTUNE_MAX_RANK])
{
    const optune_tensor *in = &call->input[0].type;
    int n = 0;
    for (int axis = 0; axis < in->rank; axis++) {
        const int64_t step = n ? p->step[loops[n - 1].first] : 0;
        if (n && is_whole(p, in, axis) && (step == 0 || step == 1))
            loops[n - 1].last = axis;
        else
            loops[n++] = (loop){axis, axis};
    }
    return n;
}

bool slice_rows_apply(const optune_call *call)
{
    injective_places places;
    loop loops[OPTUNE_MAX_RANK];
    if (strcmp(call->op->name, "strided_slice") != 0 || call->input[0].type.rank < 1)
        return false;
    strided_slice_places(call, &places);
    return loops_of(call, &places, loops) <= MOVES_MOST_LOOPS;
}

static void define(optune_plan *plan, int module, const char *name, int i, const char *text)
{
    char whole[24];
    snprintf(whole, sizeof whole, "%s%d", name, i);
    optune_plan_define_text(plan, module, whole, text);
}

/* DIMd, elements BEHINDd one of its places, and where it BEGINs and how LONG it is cut. */
static void define_axis(const optune_call *call, const injective_places *p, int axis,
                        optune_plan *plan, int module)
{
    const generic_symbols symbols = generic_symbols_of(call);
    const optune_tensor *in = &call->input[0].type;
    const optune_dim *dim = &in->dim[axis];
    const int64_t most = 4 * OPTUNE_MAX_DIM; /* what lies farther outside is no other */
    const int64_t from = host_max(host_min(p->from[axis], most), -most);
    const int64_t to = host_max(host_min(p->to[axis], most), -most);
    char text[128];
    if (optune_dim_known(dim))
        snprintf(text, sizeof text, "%" PRId64, dim->min);
    else
        snprintf(text, sizeof text, "S%d", generic_symbol_at(&symbols, dim));
    define(plan, module, "DIM", axis, text);
    snprintf(text, sizeof text, "(DIM%d*BEHIND%d)", axis + 1, axis + 1);
    define(plan, module, "BEHIND", axis, axis + 1 < in->rank ? text : "1");
    if (is_whole(p, in, axis)) {
        define(plan, module, "BEGIN", axis, "0");
        snprintf(text, sizeof text, "DIM%d", axis);
        define(plan, module, "LONG", axis, text);
        return;
    }
    snprintf(text, sizeof text, "cut_end(DIM%d,%" PRId64 ",%" PRId64 ")", axis, from,
             p->step[axis]);
    define(plan, module, "BEGIN", axis, text);
    snprintf(text, sizeof text, "cut_length(DIM%d,%" PRId64 ",%" PRId64 ",%" PRId64 ")", axis,
             from, to, p->step[axis]);
    define(plan, module, "LONG", axis, text);
}

/* TURNSl, and how far one of them goes in the input (INBYl) and in the output (OUTBYl). */
static void define_loop(const injective_places *p, const loop *loops, int l, int n,
                        optune_plan *plan, int module)
{
    char text[128];
    int at = snprintf(text, sizeof text, "(LONG%d", loops[l].first);
    for (int axis = loops[l].first + 1; axis <= loops[l].last; axis++)
        at += snprintf(text + at, sizeof text - (size_t)at, "*DIM%d", axis);
    snprintf(text + at, sizeof text - (size_t)at, ")");
    define(plan, module, "TURNS", l, text);
    const int64_t step = p->step[loops[l].first];
    snprintf(text, sizeof text, "(%" PRId64 "*BEHIND%d)", step ? step : 1, loops[l].last);
    define(plan, module, "INBY", l, text);
    snprintf(text, sizeof text, "(TURNS%d*OUTBY%d)", l + 1, l + 1);
    define(plan, module, "OUTBY", l, l + 1 < n ? text : "1");
}

void slice_rows_define(const optune_call *call, optune_plan *plan, int module)
{
    injective_places places;
    loop loops[OPTUNE_MAX_RANK];
    char text[512];
    strided_slice_places(call, &places);
    const int n = loops_of(call, &places, loops), rank = call->input[0].type.rank;
    for (int axis = 0; axis < rank; axis++)
        define_axis(call, &places, axis, plan, module);
    for (int l = 0; l < n; l++)
        define_loop(&places, loops, l, n, plan, module);
    int at = snprintf(text, sizeof text, "{%d,0,0", MOVES_ROWS);
    for (int axis = 0; axis < rank; axis++)
        at += snprintf(text + at, sizeof text - (size_t)at, "+BEGIN%d*BEHIND%d", axis, axis);
    at += snprintf(text + at, sizeof text - (size_t)at, ",0,%d", n);
    for (int l = 0; l < n; l++)
        at += snprintf(text + at, sizeof text - (size_t)at, ",TURNS%d,INBY%d,OUTBY%d", l, l, l);
    assert(at + 2 < (int)sizeof text);
    snprintf(text + at, sizeof text - (size_t)at, "}");
    optune_plan_define_text(plan, module, "PIECE0", text);
}
