/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor-core words for GPU bodies, as PTX: matrix products of a warp, loads of their operands from
 * shared memory, and asynchronous copies into it. Rows that use them ask for CUDA by gpu_is_cuda;
 * OpenCL has none of them, but tests put an emulation in front of a body
 * (tests/races/words.h).
 *
 * All threads of a warp execute every word together, in the same order, but for copies. Warps
 * are 32 consecutive threads of x, y, z.
 *
 * Operands of one product have 32 bytes of depth, whatever the type: 16 float16 or bfloat16, 8
 * tf32, 32 int8. With g = lane / 4 and t = lane % 4, 32-bit words:
 *   a[0] row g, bytes 4 t ..;  a[1] row g + 8;  a[2], a[3] the same from byte 16 + 4 t on
 *   b[0] column g, bytes 4 t ..;  b[1] from byte 16 + 4 t on
 *   d[0], d[1] row g, columns 2 t, 2 t + 1;  d[2], d[3] row g + 8
 */
#ifndef OPTUNE_KERNELS_COMMON_MMA_GPU_H
#define OPTUNE_KERNELS_COMMON_MMA_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA

INLINE u32 ot_shared(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

/* ---- matrices from shared memory --------------------------------------------------------- */

/* Lane `i` names row i % 8 of matrix i / 8, 16 bytes; r[m] is 4 bytes of matrix m. */

#define OT_LDMATRIX_X4(name, trans)                                                            \
    INLINE void name(u32 *r, const void *row)                                                  \
    {                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans                                     \
                     ".shared.b16 {%0, %1, %2, %3}, [%4];"                                     \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                          \
                     : "r"(ot_shared(row))                                                     \
                     : "memory");                                                              \
    }
#define OT_LDMATRIX_X2(name, trans)                                                            \
    INLINE void name(u32 *r, const void *row)                                                  \
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

/* One product, d += a b: mma_f16(d, a, b). */

#define OT_MMA(name, shape, sum, r)                                                            \
    INLINE void name(sum *d, const u32 *a, const u32 *b)                                       \
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
OT_MMA(mma_u8s8, "m16n8k32.row.col.s32.u8.s8.s32", int, "r") /* a without a sign */

/* Products do not look at the 13 lowest bits. PTX's own conversion takes one instruction more. */
INLINE u32 tf32_of_float(u32 bits)
{
    return fabsf(__uint_as_float(bits)) < __int_as_float(0x7F800000) ? bits + 0x1000 : bits;
}
#else
/* Compute capability 7.5 has half the depth: two products. */
INLINE void mma_f16(float *d, const u32 *a, const u32 *b)
{
    UNROLL
    for (int h = 0; h < 2; h++)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
            " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[2 * h]), "r"(a[2 * h + 1]), "r"(b[h]));
}
#endif

/* d[i][j] += a[i] b[j] for mt x nt products: d[mt][nt][4], a[mt][4], b[nt][2]. `word` is one of the
 * products above. */
#define MMA_TILE(word, mt, nt, d, a, b)                                                        \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int ot_i = 0; ot_i < (mt); ot_i++) {                                              \
            UNROLL                                                                             \
            for (int ot_j = 0; ot_j < (nt); ot_j++)                                            \
                word((d)[ot_i][ot_j], (a)[ot_i], (b)[ot_j]);                                   \
        }                                                                                      \
    } while (0)

/* ---- copies ------------------------------------------------------------------------------ */

#if OT_CC >= 80
INLINE void cp_async_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(ot_shared(to)),
                 "l"(from)
                 : "memory");
}

/* The first `bytes`, then zeros up to the size; with 0 nothing is read. */
#define OT_CP_ASYNC(name, how, size)                                                           \
    INLINE void name(void *to, const void *from, int bytes)                                    \
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
INLINE void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until only the `newest` groups, a constant, may be under way. A barrier makes the others'
 * visible. */
#define CP_ASYNC_WAIT(newest) asm volatile("cp.async.wait_group %0;" ::"n"(newest) : "memory")
#else
/* Compute capability 7.5 copies at once. */
VECTOR(ot_quad, u32, 4);

INLINE void cp_async_16(void *to, const void *from)
{
    *(ot_quad *)to = *(const ot_quad *)from;
}

INLINE void ot_copy(unsigned char *to, const unsigned char *from, int bytes, int size)
{
    UNROLL
    for (int i = 0; i < size; i++)
        to[i] = i < bytes ? from[i] : 0;
}

INLINE void cp_async_16_zero(void *to, const void *from, int bytes)
{
    const ot_quad none = {{0, 0, 0, 0}};
    if (bytes == 16)
        *(ot_quad *)to = *(const ot_quad *)from;
    else if (bytes == 0)
        *(ot_quad *)to = none;
    else
        ot_copy((unsigned char *)to, (const unsigned char *)from, bytes, 16);
}

INLINE void cp_async_4_zero(void *to, const void *from, int bytes)
{
    if (bytes == 4)
        *(u32 *)to = *(const u32 *)from;
    else if (bytes == 0)
        *(u32 *)to = 0;
    else
        ot_copy((unsigned char *)to, (const unsigned char *)from, bytes, 4);
}

INLINE void cp_async_8_zero(void *to, const void *from, int bytes)
{
    const unsigned char *const at = (const unsigned char *)from;
    cp_async_4_zero(to, at, bytes < 4 ? bytes : 4);
    cp_async_4_zero((unsigned char *)to + 4, at + 4, bytes < 4 ? 0 : bytes - 4);
}

#define cp_async_commit() ((void)0)
#define CP_ASYNC_WAIT(newest) ((void)0)
#endif

#endif
#endif
