/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPU bodies share. A body is C with its knobs and shape constants as macros; it includes
 * no system header, so that it compiles in tens of milliseconds and can be emitted anywhere.
 *
 * The harness defines in front of every CPU body: OT_THREADS (threads to use, a constant),
 * OT_VEC_BYTES (widest vector register) and OT_L1, OT_L2, OT_L3 (cache bytes); the plan defines
 * DTYPE (float or double) and everything else. An entry point is `void NAME(void *const *arg)`:
 * arg[i] is the i-th argument of its stage, a buffer's address or the address of a scalar.
 */
#ifndef OPTUNE_KERNELS_COMMON_CPU_H
#define OPTUNE_KERNELS_COMMON_CPU_H

typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __SIZE_TYPE__ usize;
typedef __UINTPTR_TYPE__ uptr;

#ifndef DTYPE
#define DTYPE float
#endif
#ifndef VEC_BYTES
#define VEC_BYTES OT_VEC_BYTES
#endif

/* One vector register of DTYPE, and the same without an alignment claim. */
typedef DTYPE vec __attribute__((vector_size(VEC_BYTES)));
typedef DTYPE vecu __attribute__((vector_size(VEC_BYTES), aligned(sizeof(DTYPE)), may_alias));
#define VLEN ((int)(VEC_BYTES / sizeof(DTYPE)))

#define INLINE static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

INLINE vec load(const DTYPE *p)
{
    return *(const vecu *)p;
}
INLINE void store(DTYPE *p, vec v)
{
    *(vecu *)p = v;
}
INLINE vec splat(DTYPE x)
{
    return x - (vec){0};
}

/* UNROLL(n) before a loop of constant trip count n, or of at most n: of a single trip n must be 1
 * where the loop around it counts at run time, as that one gets what it asks for when it is gone.
 * PARALLEL_FOR before a loop whose iterations are independent; PARALLEL_FOR_N(k) before k
 * perfectly nested ones. */
#define OT_PRAGMA(x) _Pragma(#x)
#define UNROLL(n) OT_PRAGMA(GCC unroll n)
/* THREAD is the number of the one that runs, 0 .. OT_THREADS-1. */
#if OT_THREADS > 1
#ifdef OT_TEAM_THREAD
#define THREAD OT_TEAM_THREAD
#else
int omp_get_thread_num(void);
#define THREAD omp_get_thread_num()
#endif
#define PARALLEL_FOR OT_PRAGMA(omp parallel for schedule(static) num_threads(OT_THREADS))
#define PARALLEL_FOR_N(k)                                                                      \
    OT_PRAGMA(omp parallel for collapse(k) schedule(static) num_threads(OT_THREADS))
#else
#define THREAD 0
#define PARALLEL_FOR
#define PARALLEL_FOR_N(k)
#endif

#endif
