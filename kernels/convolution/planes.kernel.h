/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that compute on vectors of consecutive channels read and write any layout through
 * this: a `pixel` of VLEN channels is one vector, and a range of pixels of one image is an
 * array of them, PIXEL_IN or PIXEL_OUT elements apart.
 *
 * The one idea: when the layout's block holds whole vectors, the array is the tensor itself and
 * nothing is copied; otherwise the range is copied to or from a buffer that stays in the
 * caches, for NCHW by transposing VLEN x VLEN squares. Never touches a byte outside the
 * tensors: channels that do not exist are read as zero and not written.
 *
 * Needs the macros of conv2d_define; kernels/common/turn.kernel.h comes with gemm.kernel.h.
 */
#ifndef OPTUNE_KERNELS_CONV2D_PLANES_H
#define OPTUNE_KERNELS_CONV2D_PLANES_H

#include "kernels/common/stored.kernel.h"
#include "kernels/matmul/gemm.kernel.h"

#define IN_WHOLE (IN_BLOCK > 0 && IN_BLOCK % VLEN == 0)
#define OUT_WHOLE (OUT_BLOCK > 0 && OUT_BLOCK % VLEN == 0)
#define IN_DIRECT (!STORED_HALF && IN_WHOLE)
#define OUT_DIRECT (!STORED_HALF && OUT_WHOLE)
#define IN_C (IN_BLOCK ? IN_BLOCK : 1)
#define OUT_C (OUT_BLOCK ? OUT_BLOCK : 1)
#define PIXEL_IN (IN_DIRECT ? IN_BLOCK : VLEN)
#define PIXEL_OUT (OUT_DIRECT ? OUT_BLOCK : VLEN)

/* to[j][i] = from[i][j] for VLEN x VLEN elements; compiled once for either direction. A module that
 * neither reads nor writes tensors does without. */
static __attribute__((noinline, unused)) void planes_turn(DTYPE *to, i64 to_row,
                                                          const DTYPE *from, i64 from_row)
{
    vec r[VLEN];
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        r[i] = load(from + i * from_row);
    vec_turn(r);
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        store(to + i * to_row, r[i]);
}

#if STORED_HALF
static __attribute__((noinline, unused)) void planes_turn_in(DTYPE *to, const stored *from,
                                                             i64 from_row)
{
    vec r[VLEN];
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        r[i] = stored_load(from + i * from_row);
    vec_turn(r);
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        store(to + i * VLEN, r[i]);
}
#else
#define planes_turn_in(to, from, from_row) planes_turn(to, VLEN, from, from_row)
#endif

#if EPILOGUE || STORED_HALF
/* The same to the output, whose element `o` is at `to`, with what is fused behind the call. */
static __attribute__((noinline, unused)) void
planes_turn_out(stored *to, i64 to_row, const DTYPE *from, void *const *arg, i64 o)
{
    vec r[VLEN];
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        r[i] = load(from + i * VLEN);
    vec_turn(r);
    UNROLL(1)
    for (int i = 0; i < VLEN; i++)
        stored_store(to + i * to_row, stored_fused(r[i], arg, o + i * to_row, VLEN));
}
#else
#define planes_turn_out(to, to_row, from, arg, o) planes_turn(to, to_row, from, VLEN)
#endif

/* `lanes` channels (VLEN at most) of `count` pixels, channels `plane` elements apart. */
INLINE void planes_gather(DTYPE *to, const stored *from, i64 plane, i64 lanes, i64 count)
{
    i64 i = 0;
    while (count >= VLEN && i < count) {
        if (i + VLEN > count)
            i = count - VLEN;
        vec part[VLEN];
        for (int c = 0; lanes < VLEN && c < VLEN; c++)
            part[c] = c < lanes ? stored_load(from + c * plane + i) : (vec){0};
        if (lanes < VLEN)
            planes_turn(to + i * VLEN, VLEN, (const DTYPE *)part, VLEN);
        else
            planes_turn_in(to + i * VLEN, from + i, plane);
        i += VLEN;
    }
    for (; i < count; i++) {
        for (i64 c = 0; c < lanes; c++)
            to[i * VLEN + c] = stored_value(from[c * plane + i]);
        for (i64 c = lanes; c < VLEN; c++)
            to[i * VLEN + c] = 0;
    }
}

/* Back to the output, whose element `o` is at `to`. */
INLINE void planes_scatter(stored *to, const DTYPE *from, i64 plane, i64 lanes, i64 count,
                           void *const *arg, i64 o)
{
    i64 i = 0;
    while (count >= VLEN && i < count) {
        if (i + VLEN > count)
            i = count - VLEN;
        vec part[VLEN];
        if (lanes < VLEN)
            planes_turn((DTYPE *)part, VLEN, from + i * VLEN, VLEN);
        else
            planes_turn_out(to + i, plane, from + i * VLEN, arg, o + i);
        for (int c = 0; lanes < VLEN && c < lanes; c++)
            stored_store(to + c * plane + i,
                         stored_fused(part[c], arg, o + c * plane + i, VLEN));
        i += VLEN;
    }
    for (; i < count; i++) {
        for (i64 c = 0; c < lanes; c++)
            to[c * plane + i] =
                stored_of(stored_fused_one(from[i * VLEN + c], arg, o + c * plane + i));
    }
}

/* Pixels [first, first + count) of channels [c, c + VLEN) of image n: an array PIXEL_IN apart.
 * `buffer` has room for count * VLEN elements. */
INLINE const DTYPE *planes_read(const stored *data, i64 n, i64 c, i64 first, i64 count,
                                DTYPE *buffer)
{
    const i64 plane = (i64)H * W;
#if !STORED_HALF
    if (IN_DIRECT)
        return data + ((n * (CI / IN_C) + c / IN_C) * plane + first) * IN_C + c % IN_C;
#endif
    if (IN_BLOCK == 0) {
        planes_gather(buffer, data + (n * CI + c) * plane + first, plane, MIN(VLEN, CI - c),
                      count);
        return buffer;
    }
    if (IN_WHOLE) {
        const i64 at = ((n * (CI / IN_C) + c / IN_C) * plane + first) * IN_C + c % IN_C;
        for (i64 p = 0; p < count; p++)
            store(buffer + p * VLEN, stored_load(data + at + p * IN_C));
        return buffer;
    }
    for (i64 i = 0; i < VLEN; i++) {
        const i64 k = c + i;
        const stored *from = data + ((n * (CI / IN_C) + k / IN_C) * plane + first) * IN_C;
        for (i64 p = 0; p < count; p++)
            buffer[p * VLEN + i] = k < CI ? stored_value(from[p * IN_C + k % IN_C]) : 0;
    }
    return buffer;
}

/* Where pixels [first, ...) of channels [c, c + VLEN) of image n are to be written, PIXEL_OUT
 * apart; planes_write completes it. */
INLINE DTYPE *planes_open(stored *out, i64 n, i64 c, i64 first, DTYPE *buffer)
{
#if !STORED_HALF
    const i64 plane = (i64)OH * OW;
    if (OUT_DIRECT)
        return out + ((n * (CO / OUT_C) + c / OUT_C) * plane + first) * OUT_C + c % OUT_C;
#endif
    return buffer;
}

/* And applies what is fused behind the call; `arg` is that of the stage. */
INLINE void planes_write(stored *out, i64 n, i64 c, i64 first, i64 count, const DTYPE *buffer,
                         void *const *arg)
{
    const i64 plane = (i64)OH * OW, lanes = MIN(VLEN, CO - c);
#if STORED_HALF
    if (OUT_WHOLE) {
        const i64 o = ((n * (CO / OUT_C) + c / OUT_C) * plane + first) * OUT_C + c % OUT_C;
        for (i64 p = 0; p < count; p++)
            stored_store(out + o + p * OUT_C,
                         stored_fused(load(buffer + p * VLEN), arg, o + p * OUT_C, VLEN));
        return;
    }
#else
    if (OUT_DIRECT) {
        const i64 o = ((n * (CO / OUT_C) + c / OUT_C) * plane + first) * OUT_C + c % OUT_C;
        epilogue_rows(out + o, OUT_C, count, lanes, arg, o);
        return;
    }
#endif
    if (OUT_BLOCK == 0) {
        const i64 o = (n * CO + c) * plane + first;
        planes_scatter(out + o, buffer, plane, lanes, count, arg, o);
        return;
    }
    for (i64 k = c; k < c + lanes; k++) {
        const i64 o = ((n * (CO / OUT_C) + k / OUT_C) * plane + first) * OUT_C + k % OUT_C;
        for (i64 p = 0; p < count; p++)
            out[o + p * OUT_C] =
                stored_of(stored_fused_one(buffer[p * VLEN + k - c], arg, o + p * OUT_C));
    }
}

#endif
