/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of generic bodies, one text for CPUs, CUDA and OpenCL. A body defines
 *
 *     INLINE i64 items(const generic_call *c)                 how many independent items there are
 *     INLINE void some(const generic_call *c, i64 first, i64 last)       computes [first, last)
 *
 * and ends with GENERIC_ENTRY. c->x0 ... are the inputs, c->o0 ... the outputs; DIMS(x, X0) are
 * the dims of one as a local array, whether they are constants or arguments; READ(0, i) is an
 * element of an input in its type or, of a 16-bit float, as float; WRITE(0, i, v) rounds to the
 * output's; FMA(a, b, c) is rounded once, in floats and doubles. ACC is the type of sums. Up to
 * ALONE items one thread of a CPU takes them all: a body whose items cost next to nothing defines
 * it in front. Macros: kernels/host/generic.h.
 */
#ifndef OPTUNE_KERNELS_COMMON_GENERIC_BODY_H
#define OPTUNE_KERNELS_COMMON_GENERIC_BODY_H

#include "kernels/common/times.kernel.h"
#ifdef OT_WARP
#include "kernels/common/gpu.kernel.h"
#else
#include "kernels/common/half.kernel.h"
#define GLOBAL
#define FMA(a, b, c) _Generic((a), float : __builtin_fmaf, default : __builtin_fma)(a, b, c)
#endif
#ifdef OT_OPENCL
#define GENERIC_INFINITY INFINITY
#elif defined OT_CUDA
#define GENERIC_INFINITY __int_as_float(0x7F800000)
#else
#define GENERIC_INFINITY __builtin_inff()
#endif

#define EACH_INPUT(what) TIMES(INPUTS, what)

#define GENERIC_X(k) GLOBAL const X##k##_T *x##k;
#define GENERIC_O(k) GLOBAL O##k##_T *o##k;
typedef struct generic_call {
    TIMES(INPUTS, GENERIC_X)
    TIMES(OUTPUTS, GENERIC_O)
#if SYMBOLS
    GLOBAL const i64 *s; /* dims known at run time; read by the text of DIMS */
#endif
} generic_call;

#define DIMS(name, tensor) i64 name[8] = {tensor##_DIMS}
#define READ(k, i) X##k##_OF(c->x##k[i])
#define WRITE(k, i, v) c->o##k[i] = (O##k##_T)(O##k##_TO(v))

/* The product of n dims. */
INLINE i64 elements(const i64 *dim, int n)
{
    i64 all = 1;
    for (int d = 0; d < n; d++)
        all *= dim[d];
    return all;
}

/* The place of element n of a row-major tensor. */
INLINE void place(i64 n, const i64 *dim, int rank, i64 *at)
{
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = n % dim[d];
        n /= dim[d];
    }
}

#ifdef OT_WARP
#define GENERIC_X_PARAMETER(k) GLOBAL const X##k##_T *x##k,
#define GENERIC_O_PARAMETER(k) GLOBAL O##k##_T *o##k,
#define GENERIC_X_SET(k) call.x##k = x##k;
#define GENERIC_O_SET(k) call.o##k = o##k;
#if SYMBOLS
#define GENERIC_S_PARAMETER , GLOBAL const i64 *s
#define GENERIC_S_SET call.s = s;
#else
#define GENERIC_S_PARAMETER
#define GENERIC_S_SET
#endif
#if OUTPUTS == 1
#define GENERIC_O_PARAMETERS GLOBAL O0_T *o0
#elif OUTPUTS == 2
#define GENERIC_O_PARAMETERS GLOBAL O0_T *o0, GLOBAL O1_T *o1
#elif OUTPUTS == 3
#define GENERIC_O_PARAMETERS GLOBAL O0_T *o0, GLOBAL O1_T *o1, GLOBAL O2_T *o2
#else
#define GENERIC_O_PARAMETERS                                                                   \
    GLOBAL O0_T *o0, GLOBAL O1_T *o1, GLOBAL O2_T *o2, GLOBAL O3_T *o3
#endif
#define GENERIC_ENTRY                                                                          \
    KERNEL(THREADS, 1, 1)                                                                      \
    loops(EACH_INPUT(GENERIC_X_PARAMETER)                                                      \
              GENERIC_O_PARAMETERS GENERIC_S_PARAMETER)                                        \
    {                                                                                          \
        generic_call call;                                                                     \
        EACH_INPUT(GENERIC_X_SET)                                                              \
        TIMES(OUTPUTS, GENERIC_O_SET)                                                  \
        GENERIC_S_SET                                                                          \
        const i64 all = items(&call);                                                          \
        for (i64 i = (i64)BLOCK_X * THREADS + THREAD_X; i < all; i += (i64)BLOCKS * THREADS)   \
            some(&call, i, i + 1);                                                             \
    }
#else
#define GENERIC_X_SET(k) call.x##k = arg[k];
#define GENERIC_O_SET(k) call.o##k = arg[INPUTS + k];
#if SYMBOLS
#define GENERIC_S_SET call.s = arg[INPUTS + OUTPUTS];
#else
#define GENERIC_S_SET
#endif
#ifndef ALONE
#define ALONE 0
#endif
#define GENERIC_ENTRY                                                                          \
    void loops(void *const *arg)                                                               \
    {                                                                                          \
        generic_call call;                                                                     \
        EACH_INPUT(GENERIC_X_SET)                                                              \
        TIMES(OUTPUTS, GENERIC_O_SET)                                                  \
        GENERIC_S_SET                                                                          \
        const i64 all = items(&call), share = all / (8 * OT_THREADS) + 1;                      \
        const i64 task = MIN(share, (i64)4096);                                                \
        if (all <= ALONE) {                                                                    \
            some(&call, 0, all);                                                               \
            return;                                                                            \
        }                                                                                      \
        PARALLEL_FOR                                                                           \
        for (i64 t = 0; t < CEIL_DIV(all, task); t++)                                          \
            some(&call, t *task, MIN((t + 1) * task, all));                                    \
    }
#endif

#endif
