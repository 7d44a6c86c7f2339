/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor-core words for GPU bodies: matrix products of a warp, loads of their operands from
 * shared memory, and asynchronous copies into it. For CUDA they are PTX; for OpenCL they
 * compute the same in the PTX ISA's own lane layout through local memory, so that a body's
 * index arithmetic, swizzles and waits are verified without a GPU. The latter is for tests:
 * rows that use these words ask for CUDA by gpu_is_cuda, so users of OpenCL are never offered
 * them.
 *
 * A body declares LANES(l, threads, words) behind SHARED and passes &l to every word; all
 * threads of the block execute every word together, in the same order. `words` is the most that
 * MMA_TILE publishes, 4 * mt + 2 * nt, at least 6. Warps are 32 consecutive threads of x, y, z.
 *
 * Operands of one product have 32 bytes of depth, whatever the type: 16 float16 or bfloat16, 8
 * tf32, 32 int8. With g = lane / 4 and t = lane % 4, 32-bit words:
 *   a[0] row g, bytes 4 t ..;  a[1] row g + 8;  a[2], a[3] the same from byte 16 + 4 t on
 *   b[0] column g, bytes 4 t ..;  b[1] from byte 16 + 4 t on
 *   d[0], d[1] row g, columns 2 t, 2 t + 1;  d[2], d[3] row g + 8
 *
 * OpenCL poisons the destination of a copy at once and fills it when its group is waited for: a
 * wait that is missing, and a copy into what is still being read, both show. A barrier that is
 * missing does not, since words have barriers of their own, unless OT_WARP_BARRIER is defined
 * as one of a warp alone (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_MMA_GPU_H
#define OPTUNE_KERNELS_COMMON_MMA_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_OPENCL

#ifndef OT_WARP_BARRIER
#define OT_WARP_BARRIER() BARRIER()
#endif
#ifndef OT_READ_AHEAD /* what is read may be nobody's, and is not used then */
#define OT_READ_AHEAD(p, at) (p)[at]
#endif

/* A barrier in each word: unrolling multiplies what the compiler has to cut apart. */
#undef UNROLL
#define UNROLL UNROLL_BY(1)

enum { OT_COPIES = 64 }; /* a thread's copies under way; the next one is not deferred */

typedef struct lanes {
    LOCAL u32 *area; /* two turns of `words` words for each thread */
    int thread, threads, words, turn;
    int first, last, group; /* of the ring of copies; groups committed so far */
    LOCAL uchar *to[OT_COPIES];
    GLOBAL const uchar *from[OT_COPIES];
    int bytes[OT_COPIES], size[OT_COPIES], of_group[OT_COPIES];
} lanes;

#define LANES(l, count, n_words)                                                               \
    __local u32 ot_area[2 * (count) * (n_words)] __attribute__((aligned(16)));                 \
    lanes l;                                                                                   \
    l.area = ot_area;                                                                          \
    l.threads = (count);                                                                       \
    l.words = (n_words);                                                                       \
    l.turn = l.first = l.last = l.group = 0;                                                   \
    l.thread =                                                                                 \
        THREAD_X + (int)get_local_size(0) * (THREAD_Y + (int)get_local_size(1) * THREAD_Z)

/* Word `i` of what lane `lane` of this thread's warp published this turn. */
INLINE LOCAL u32 *ot_word(const lanes *l, int lane, int i)
{
    return l->area + (l->turn * l->threads + l->thread / 32 * 32 + lane) * l->words + i;
}

/* Whoever writes a turn again has passed a barrier behind the last one who reads it. */
INLINE void ot_next_turn(lanes *l)
{
    l->turn ^= 1;
}

/* ---- matrices from shared memory --------------------------------------------------------- */

/* Lane `i` names row i % 8 of matrix i / 8, 16 bytes; r[m] is 4 bytes of matrix m. */
INLINE void ot_ldmatrix(lanes *l, u32 *r, int n, int trans, LOCAL const void *row)
{
    const int lane = l->thread % 32, g = lane / 4, t = lane % 4;
    ot_next_turn(l);
    *ot_word(l, lane, 0) = (u32)(u64)row;
    *ot_word(l, lane, 1) = (u32)((u64)row >> 32);
    OT_WARP_BARRIER();
    for (int m = 0; m < n; m++) {
        u16 pair[2];
        for (int i = 0; i < 2; i++) {
            const int from = 8 * m + (trans ? 2 * t + i : g), at = trans ? g : 2 * t + i;
            const u64 address = *ot_word(l, from, 0) | (u64)*ot_word(l, from, 1) << 32;
            pair[i] = OT_READ_AHEAD((LOCAL const u16 *)address, at);
        }
        r[m] = pair[0] | (u32)pair[1] << 16;
    }
}

#define ldmatrix_x4(l, r, row) ot_ldmatrix(l, r, 4, 0, row)
#define ldmatrix_x4_trans(l, r, row) ot_ldmatrix(l, r, 4, 1, row)
#define ldmatrix_x2(l, r, row) ot_ldmatrix(l, r, 2, 0, row)
#define ldmatrix_x2_trans(l, r, row) ot_ldmatrix(l, r, 2, 1, row)

/* ---- products ---------------------------------------------------------------------------- */

INLINE void ot_publish(lanes *l, const u32 *a, int n_a, const u32 *b, int n_b)
{
    const int lane = l->thread % 32;
    ot_next_turn(l);
    for (int i = 0; i < n_a; i++)
        *ot_word(l, lane, i) = a[i];
    for (int i = 0; i < n_b; i++)
        *ot_word(l, lane, n_a + i) = b[i];
    OT_WARP_BARRIER();
}

/* Word w, 0 .. 7, of row `row` of A whose words start at `i`, and of column `col` of B. */
INLINE u32 ot_a(const lanes *l, int i, int row, int w)
{
    return *ot_word(l, row % 8 * 4 + w % 4, i + row / 8 + w / 4 * 2);
}

INLINE u32 ot_b(const lanes *l, int i, int col, int w)
{
    return *ot_word(l, col * 4 + w % 4, i + w / 4);
}

/* A result of this lane: row and column, and the sum over 8 words of depth. */
#define OT_MMA(name, sum, step)                                                                \
    INLINE void name(const lanes *l, sum *d, int ia, int ib)                                   \
    {                                                                                          \
        const int lane = l->thread % 32;                                                       \
        for (int i = 0; i < 4; i++)                                                            \
            for (int w = 0; w < 8; w++) {                                                      \
                const u32 a = ot_a(l, ia, lane / 4 + i / 2 * 8, w);                            \
                const u32 b = ot_b(l, ib, lane % 4 * 2 + i % 2, w);                            \
                step                                                                           \
            }                                                                                  \
    }

OT_MMA(ot_mma_f16, float,
       for (int h = 0; h < 32; h += 16)
           d[i] = fma(float_of_half((u16)(a >> h)), float_of_half((u16)(b >> h)), d[i]);)
OT_MMA(ot_mma_bf16, float,
       for (int h = 0; h < 32; h += 16)
           d[i] = fma(float_of_bfloat((u16)(a >> h)), float_of_bfloat((u16)(b >> h)), d[i]);)
OT_MMA(ot_mma_tf32, float,
       d[i] = fma(as_float(a & 0xFFFFE000), as_float(b & 0xFFFFE000), d[i]);)
OT_MMA(ot_mma_s8, int,
       for (int h = 0; h < 32; h += 8) d[i] += (int)(char)(a >> h) * (int)(char)(b >> h);)

/* One product, d += a b: mma_f16(&l, d, a, b). */
#define mma_f16(l, d, a, b) (ot_publish(l, a, 4, b, 2), ot_mma_f16(l, d, 0, 4))
#define mma_bf16(l, d, a, b) (ot_publish(l, a, 4, b, 2), ot_mma_bf16(l, d, 0, 4))
#define mma_tf32(l, d, a, b) (ot_publish(l, a, 4, b, 2), ot_mma_tf32(l, d, 0, 4))
#define mma_s8(l, d, a, b) (ot_publish(l, a, 4, b, 2), ot_mma_s8(l, d, 0, 4))

#define OT_PUBLISHED(word) ot_##word

/* d[i][j] += a[i] b[j] for mt x nt products: d[mt][nt][4], a[mt][4], b[nt][2]. `word` is one of
 * the four above. */
#define MMA_TILE(l, word, mt, nt, d, a, b)                                                     \
    do {                                                                                       \
        ot_publish(l, &(a)[0][0], 4 * (mt), &(b)[0][0], 2 * (nt));                             \
        for (int ot_i = 0; ot_i < (mt); ot_i++)                                                \
            for (int ot_j = 0; ot_j < (nt); ot_j++)                                            \
                OT_PUBLISHED(word)(l, (d)[ot_i][ot_j], 4 * ot_i, 4 * (mt) + 2 * ot_j);         \
    } while (0)

/* To the nearest tf32, ties away from zero. */
INLINE u32 tf32_of_float(u32 bits)
{
    return (bits & 0x7F800000) == 0x7F800000 ? bits : (bits + 0x1000) & 0xFFFFE000;
}

/* ---- copies ------------------------------------------------------------------------------ */

INLINE void ot_copy(LOCAL uchar *to, GLOBAL const uchar *from, int bytes, int size)
{
    for (int i = 0; i < size; i++)
        to[i] = i < bytes ? from[i] : 0;
}

INLINE void ot_cp_async(lanes *l, LOCAL void *to, GLOBAL const void *from, int bytes, int size)
{
    const int at = l->last % OT_COPIES;
    if (l->last - l->first == OT_COPIES) {
        ot_copy((LOCAL uchar *)to, (GLOBAL const uchar *)from, bytes, size);
        return;
    }
    for (int i = 0; i < size; i++)
        ((LOCAL uchar *)to)[i] = 255;
    l->to[at] = (LOCAL uchar *)to;
    l->from[at] = (GLOBAL const uchar *)from;
    l->bytes[at] = bytes;
    l->size[at] = size;
    l->of_group[at] = l->group;
    l->last++;
}

INLINE void cp_async_commit(lanes *l)
{
    l->group++;
}

INLINE void ot_cp_async_wait(lanes *l, int newest)
{
    for (; l->first < l->last && l->of_group[l->first % OT_COPIES] < l->group - newest;
         l->first++) {
        const int at = l->first % OT_COPIES;
        ot_copy(l->to[at], l->from[at], l->bytes[at], l->size[at]);
    }
}

#define cp_async_16(l, to, from) ot_cp_async(l, to, from, 16, 16)
#define cp_async_16_zero(l, to, from, bytes) ot_cp_async(l, to, from, bytes, 16)
#define cp_async_8_zero(l, to, from, bytes) ot_cp_async(l, to, from, bytes, 8)
#define cp_async_4_zero(l, to, from, bytes) ot_cp_async(l, to, from, bytes, 4)
#define CP_ASYNC_WAIT(l, newest) ot_cp_async_wait(l, newest)

#else

typedef struct lanes {
    int none;
} lanes;

#define LANES(l, threads, words) lanes l

INLINE u32 ot_shared(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

/* ---- matrices from shared memory --------------------------------------------------------- */

#define OT_LDMATRIX_X4(name, trans)                                                            \
    INLINE void name(lanes *, u32 *r, const void *row)                                         \
    {                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans                                     \
                     ".shared.b16 {%0, %1, %2, %3}, [%4];"                                     \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                          \
                     : "r"(ot_shared(row))                                                     \
                     : "memory");                                                              \
    }
#define OT_LDMATRIX_X2(name, trans)                                                            \
    INLINE void name(lanes *, u32 *r, const void *row)                                         \
    {                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0, %1}, [%2];"       \
                     : "=r"(r[0]), "=r"(r[1])                                                  \
                     : "r"(ot_shared(row))                                                     \
                     : "memory");                                                              \
    }
OT_LDMATRIX_X4(ldmatrix_x4, "")
OT_LDMATRIX_X4(ldmatrix_x4_trans, ".trans")
OT_LDMATRIX_X2(ldmatrix_x2, "")
OT_LDMATRIX_X2(ldmatrix_x2_trans, ".trans")

/* ---- products ---------------------------------------------------------------------------- */

#define OT_MMA(name, shape, sum, r)                                                            \
    INLINE void name(lanes *, sum *d, const u32 *a, const u32 *b)                              \
    {                                                                                          \
        asm("mma.sync.aligned." shape                                                          \
            " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                 \
            : "+" r(d[0]), "+" r(d[1]), "+" r(d[2]), "+" r(d[3])                               \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));               \
    }

#if OT_CC >= 80
OT_MMA(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
OT_MMA(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
OT_MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
OT_MMA(mma_s8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")

/* Products do not look at the 13 lowest bits. PTX's own conversion takes one instruction more. */
INLINE u32 tf32_of_float(u32 bits)
{
    return fabsf(__uint_as_float(bits)) < __int_as_float(0x7F800000) ? bits + 0x1000 : bits;
}
#else
/* Compute capability 7.5 has half the depth: two products. */
INLINE void mma_f16(lanes *, float *d, const u32 *a, const u32 *b)
{
    UNROLL
    for (int h = 0; h < 2; h++)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
            " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[2 * h]), "r"(a[2 * h + 1]), "r"(b[h]));
}
#endif

#define MMA_TILE(l, word, mt, nt, d, a, b)                                                     \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (mt); ot_i++) {                                              \
            UNROLL                                                                             \
            for (int ot_j = 0; ot_j < (nt); ot_j++)                                            \
                word(l, (d)[ot_i][ot_j], (a)[ot_i], (b)[ot_j]);                                \
        }                                                                                      \
    } while (0)

/* ---- copies ------------------------------------------------------------------------------ */

#if OT_CC >= 80
INLINE void cp_async_16(lanes *, void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(ot_shared(to)),
                 "l"(from)
                 : "memory");
}

/* The first `bytes`, then zeros up to the size; with 0 nothing is read. */
#define OT_CP_ASYNC(name, how, size)                                                           \
    INLINE void name(lanes *, void *to, const void *from, int bytes)                           \
    {                                                                                          \
        asm volatile("cp.async." how ".shared.global [%0], [%1], " size                        \
                     ", %2;" ::"r"(ot_shared(to)),                                             \
                     "l"(from), "r"(bytes)                                                     \
                     : "memory");                                                              \
    }
OT_CP_ASYNC(cp_async_16_zero, "cg", "16")
OT_CP_ASYNC(cp_async_8_zero, "ca", "8")
OT_CP_ASYNC(cp_async_4_zero, "ca", "4")

/* Copies since the last commit are a group. */
INLINE void cp_async_commit(lanes *)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until only the `newest` groups, a constant, may be under way. A barrier makes the others'
 * visible. */
#define CP_ASYNC_WAIT(l, newest)                                                               \
    asm volatile("cp.async.wait_group %0;" ::"n"(newest) : "memory")
#else
/* Compute capability 7.5 copies at once. */
VECTOR(ot_quad, u32, 4);

INLINE void cp_async_16(lanes *, void *to, const void *from)
{
    *(ot_quad *)to = *(const ot_quad *)from;
}

INLINE void ot_copy(unsigned char *to, const unsigned char *from, int bytes, int size)
{
    UNROLL
    for (int i = 0; i < size; i++)
        to[i] = i < bytes ? from[i] : 0;
}

INLINE void cp_async_16_zero(lanes *l, void *to, const void *from, int bytes)
{
    const ot_quad none = {{0, 0, 0, 0}};
    if (bytes == 16)
        *(ot_quad *)to = *(const ot_quad *)from;
    else if (bytes == 0)
        *(ot_quad *)to = none;
    else
        ot_copy((unsigned char *)to, (const unsigned char *)from, bytes, 16);
}

#define cp_async_8_zero(l, to, from, bytes)                                                    \
    ot_copy((unsigned char *)(to), (const unsigned char *)(from), bytes, 8)
#define cp_async_4_zero(l, to, from, bytes)                                                    \
    ot_copy((unsigned char *)(to), (const unsigned char *)(from), bytes, 4)
#define cp_async_commit(l) ((void)(l))
#define CP_ASYNC_WAIT(l, newest) ((void)(l))
#endif

#endif
#endif
