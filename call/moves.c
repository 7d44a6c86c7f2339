/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that only move elements, done as they are: no element becomes a number in between. The
 * innermost loops of a piece, along what lies densely on either side, go square by square, so that
 * a matrix is turned over without leaving the caches for each element.
 */
#include <stdlib.h>

#include "base/base.h"
#include "call/call.h"

enum { SIDE = 16 }; /* of a square: as many elements of four bytes are a line of a cache */

typedef struct moving {
    int64_t extent, in, out;
} moving;

static int64_t size_of(const optune_tensor *type)
{
    return (type->dtype.bits * type->dtype.lanes + 7) / 8;
}

#define MOVE(type)                                                                             \
    for (int64_t i = 0; i < n; i++)                                                            \
    ((type *)to)[i * out] = ((const type *)from)[i * in]

static void move_line(char *to, const char *from, int64_t n, int64_t out, int64_t in,
                      int64_t size)
{
    if (size == 4)
        MOVE(uint32_t);
    else if (size == 2)
        MOVE(uint16_t);
    else if (size == 8)
        MOVE(uint64_t);
    else
        MOVE(uint8_t);
}

/* The last two loops. */
static void move_plane(char *to, const char *from, const moving *b, const moving *a,
                       int64_t size)
{
    for (int64_t j = 0; j < b->extent; j += SIDE)
        for (int64_t i = 0; i < a->extent; i += SIDE)
            for (int64_t l = j; l < j + SIDE && l < b->extent; l++)
                move_line(to + (l * b->out + i * a->out) * size,
                          from + (l * b->in + i * a->in) * size,
                          a->extent - i < SIDE ? a->extent - i : SIDE, a->out, a->in, size);
}

static void move_loops(char *to, const char *from, const moving *loop, int n, int64_t size)
{
    if (n == 2) {
        if (loop[1].out == 1 && loop[1].in == 1)
            for (int64_t i = 0; i < loop[0].extent; i++)
                move_line(to + i * loop[0].out * size, from + i * loop[0].in * size,
                          loop[1].extent, 1, 1, size);
        else
            move_plane(to, from, &loop[0], &loop[1], size);
        return;
    }
    for (int64_t i = 0; i < loop[0].extent; i++)
        move_loops(to + i * loop[0].out * size, from + i * loop[0].in * size, loop + 1, n - 1,
                   size);
}

/* Puts the loop with the smallest step of one side at `last`. */
static void choose_last(moving *loop, int last, bool in)
{
    for (int d = 0; d < last; d++) {
        const int64_t own = llabs(in ? loop[d].in : loop[d].out);
        const int64_t best = llabs(in ? loop[last].in : loop[last].out);
        if (loop[d].extent > 1 && (loop[last].extent == 1 || own < best)) {
            const moving kept = loop[d];
            loop[d] = loop[last];
            loop[last] = kept;
        }
    }
}

static void move_piece(const optune_piece *p, const optune_call *call, const void *const *in,
                       void *out, int64_t size)
{
    moving loop[OPTUNE_MAX_AXES + 2] = {{1, 0, 0}, {1, 0, 0}};
    uint64_t fill = 0;
    for (int d = 0; d < p->rank; d++)
        loop[d + 2] =
            (moving){p->extent[d], p->input < 0 ? 0 : p->in_stride[d], p->out_stride[d]};
    const int n = p->rank + 2;
    for (int d = 0; d < n; d++)
        if (loop[d].extent < 1)
            return;
    choose_last(loop, n - 1, false);
    choose_last(loop, n - 2, true);
    if (p->input < 0)
        ot_elements_set(call->output[0].dtype, &fill, 0, 1, &p->fill);
    const char *from =
        p->input < 0 ? (const char *)&fill : (const char *)in[p->input] + p->in_offset * size;
    move_loops((char *)out + p->out_offset * size, from, loop, n, size);
}

bool ot_call_move(const optune_call *call, const void *const *in, void *out)
{
    const optune_tensor *type = &call->output[0];
    const int64_t size = size_of(type);
    if (call->n_epilogues || call->n_outputs != 1 || !call->op->pieces ||
        call->op->reference != optune_pattern_reference || !ot_call_static(call) ||
        type->dtype.code == OPTUNE_DTYPE_BOOL ||
        (size != 1 && size != 2 && size != 4 && size != 8))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_dtype_equal(call->input[i].type.dtype, type->dtype))
            return false;
    optune_piece *piece = ot_alloc(OPTUNE_MAX_PIECES * sizeof *piece);
    const int n = call->op->pieces(call, piece);
    for (int i = 0; i < n; i++)
        move_piece(&piece[i], call, in, out, size);
    free(piece);
    return n > 0;
}
