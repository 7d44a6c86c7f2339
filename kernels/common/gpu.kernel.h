/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies share: one set of words for CUDA and for OpenCL C 1.2, so that a body in the
 * common subset (C99 without recursion, function pointers and writable globals) serves both. It
 * includes no system header and declares no memory.
 *
 * The harness defines OT_WARP and OT_CC (10 * major + minor; 0 for OpenCL) in front of every body,
 * and OT_CUDA or OT_OPENCL is defined here. An entry point is
 *
 *     KERNEL(x, y, z) name(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, i64 n)
 *
 * for blocks of exactly x * y * z threads; KERNEL_RESIDENT(x, y, z, blocks) also says how many
 * of them a multiprocessor is to hold at least, which limits the registers of a thread. Shared
 * memory is one pool per kernel, declared first: SHARED(pool, bytes), with the same bytes in
 * the stage; it is aligned to 16 and holds what the body carves out of it with casts to LOCAL
 * pointers. INT arguments arrive as i64, FLOAT as float.
 */
#ifndef OPTUNE_KERNELS_COMMON_GPU_H
#define OPTUNE_KERNELS_COMMON_GPU_H

#ifdef __OPENCL_VERSION__
#define OT_OPENCL 1
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef long i64;
typedef ulong u64;
#define KERNEL(x, y, z) __kernel __attribute__((reqd_work_group_size(x, y, z))) void
#define KERNEL_RESIDENT(x, y, z, blocks) KERNEL(x, y, z)
#define GLOBAL __global
#define LOCAL __local
#define RESTRICT restrict
#define INLINE static inline
#define SHARED(pool, bytes) __local unsigned char pool[bytes] __attribute__((aligned(16)))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define THREAD_X ((int)get_local_id(0))
#define THREAD_Y ((int)get_local_id(1))
#define THREAD_Z ((int)get_local_id(2))
#define BLOCK_X ((int)get_group_id(0))
#define BLOCK_Y ((int)get_group_id(1))
#define BLOCK_Z ((int)get_group_id(2))
#define ALIGNED(n) __attribute__((aligned(n)))
#else
#define OT_CUDA 1
typedef long long i64;
typedef unsigned long long u64;
#define KERNEL(x, y, z) extern "C" __global__ __launch_bounds__((x) * (y) * (z)) void
#define KERNEL_RESIDENT(x, y, z, blocks)                                                       \
    extern "C" __global__ __launch_bounds__((x) * (y) * (z), blocks) void
#define GLOBAL
#define LOCAL
#define RESTRICT __restrict__
#define INLINE static __device__ __forceinline__
#define SHARED(pool, bytes) extern __shared__ __align__(16) unsigned char pool[]
#define BARRIER() __syncthreads()
#define THREAD_X ((int)threadIdx.x)
#define THREAD_Y ((int)threadIdx.y)
#define THREAD_Z ((int)threadIdx.z)
#define BLOCK_X ((int)blockIdx.x)
#define BLOCK_Y ((int)blockIdx.y)
#define BLOCK_Z ((int)blockIdx.z)
#define ALIGNED(n) __align__(n)
#endif

typedef int i32;
typedef unsigned int u32;
typedef unsigned short u16;

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

/* UNROLL before a loop of constant trip count; UNROLL_BY(n) at most n times; UNROLL_BY(1) never. */
#define OT_PRAGMA(x) _Pragma(#x)
#define UNROLL OT_PRAGMA(unroll)
#define UNROLL_BY(n) OT_PRAGMA(unroll n)

/* `n` elements of `type` that are loaded and stored at once: *(GLOBAL const name *)p, where p is
 * aligned to all of it. */
#define VECTOR(name, type, n)                                                                  \
    typedef struct ALIGNED(sizeof(type) * (n)) name {                                          \
        type v[n];                                                                             \
    } name

/* A vector to global memory at once: NVIDIA's compilers take a struct's store apart, and put it
 * together again only where they know enough of the address. */
#ifdef OT_OPENCL
#define STORE_VECTOR(to, x) (*(to) = (x))
#else
#define STORE_VECTOR(to, x)                                                                    \
    do {                                                                                       \
        if (sizeof(x) == 16 || sizeof(x) == 8 || sizeof(x) == 4)                               \
            ot_store_words((to), (const u32 *)&(x), sizeof(x) / 4);                            \
        else                                                                                   \
            *(to) = (x);                                                                       \
    } while (0)
INLINE void ot_store_words(void *to, const u32 *w, const int words)
{
    if (words == 4)
        asm volatile(
            "st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
            "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
            : "memory");
    else if (words == 2)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                     "r"(w[0]), "r"(w[1])
                     : "memory");
    else
        asm volatile("st.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(w[0])
                     : "memory");
}
#endif

/* A vector of 4, 8 or 16 bytes from shared memory, behind those that were loaded so before:
 * NVIDIA's compilers put other loads into an order of their own, which is seldom that in which what
 * they bring is needed. */
#ifdef OT_OPENCL
#define LOAD_IN_ORDER(x, from) ((x) = *(from))
#else
#define LOAD_IN_ORDER(x, from)                                                                 \
    do {                                                                                       \
        if (sizeof(x) == 16 || sizeof(x) == 8 || sizeof(x) == 4)                               \
            ot_load_words((u32 *)&(x), (from), sizeof(x) / 4);                                 \
        else                                                                                   \
            (x) = *(from);                                                                     \
    } while (0)
INLINE void ot_load_words(u32 *w, const void *from, const int words)
{
    const u32 at = (u32)__cvta_generic_to_shared(from);
    if (words == 4)
        asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(at)
                     : "memory");
    else if (words == 2)
        asm volatile("ld.volatile.shared.v2.b32 {%0, %1}, [%2];"
                     : "=r"(w[0]), "=r"(w[1])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(w[0]) : "r"(at) : "memory");
}
#endif

/* x in a register of its own. Compilers for NVIDIA keep sums that leave in vectors in aligned
 * registers all along, and a multiply-add whose three operands come from one bank takes a cycle
 * more; behind -0, which changes no float, only the store's copies are aligned. */
#ifdef OT_OPENCL
#define APART(x) (x)
#else
INLINE float APART(float x)
{
    asm("add.f32 %0, %0, 0f80000000;" : "+f"(x));
    return x;
}
INLINE double APART(double x)
{
    return x;
}
#endif

/* A pointer of which compilers know nothing from here on. Of several addresses that are constants
 * apart they keep one each, and add to all of them in every round of a loop, where an instruction
 * that loads or copies adds a constant by itself. */
#ifdef OT_OPENCL
#define OPAQUE_POINTER(p) ((void)0)
#define OPAQUE_INT(i) ((void)0)
#define OPAQUE_ONE() 1
#else
INLINE u32 OPAQUE_ONE()
{
    u32 one;
    asm("mov.u32 %0, %%ntid.z;" : "=r"(one));
    return one;
}
#define OPAQUE_INT(i) asm("" : "+r"(i))
#define OPAQUE_POINTER(p) ((p) = ot_opaque(p))
template <class T> INLINE T *ot_opaque(T *p)
{
    u64 at = __cvta_generic_to_global(p);
    asm("" : "+l"(at));
    return (T *)__cvta_global_to_generic(at);
}
#endif

/* The larger one, NaN where one is. */
#if defined(OT_CUDA) && OT_CC >= 80
INLINE float MAX_NAN(float a, float b)
{
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
INLINE double MAX_NAN(double a, double b)
{
    return a > b || a != a ? a : b;
}
#else
#define MAX_NAN(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#endif

/* a * b + c, rounded once. */
#ifdef OT_OPENCL
#define FMA(a, b, c) fma(a, b, c)
#else
INLINE float FMA(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}
INLINE double FMA(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}
#endif

/* 16-bit floats travel as u16; arithmetic is float's. */
#ifdef OT_OPENCL
INLINE float float_of_half(u16 h)
{
    return vload_half(0, (const __private half *)&h);
}
INLINE u16 half_of_float(float f)
{
    u16 h;
    vstore_half_rte(f, 0, (__private half *)&h);
    return h;
}
INLINE float float_of_bfloat(u16 b)
{
    return as_float((u32)b << 16);
}
#define FLOAT_BITS(f) as_uint(f)
#define FLOAT_OF_BITS(b) as_float(b)
#define DOUBLE_OF_BITS(b) as_double(b)
#else
INLINE float float_of_half(u16 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
INLINE u16 half_of_float(float f)
{
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
INLINE float float_of_bfloat(u16 b)
{
    return __uint_as_float((u32)b << 16);
}
#define FLOAT_BITS(f) __float_as_uint(f)
#define FLOAT_OF_BITS(b) __uint_as_float(b)
#define DOUBLE_OF_BITS(b) __longlong_as_double((i64)(b))
#endif
/* To nearest, ties to even; a NaN stays one. */
INLINE u16 bfloat_of_float(float f)
{
#if defined(OT_CUDA) && OT_CC >= 80
    u16 b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
#else
    const u32 bits = FLOAT_BITS(f);
    if (f != f)
        return (u16)(bits >> 16 | 64);
    return (u16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
#endif
}

#endif
