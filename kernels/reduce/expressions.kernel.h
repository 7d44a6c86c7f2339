/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expressions of a reduction as functions of its bodies, on CPUs and on GPUs: MAP, COMBINE
 * and FINISH over COUNT values, from the plan. Included after scalar_cpu.kernel.h or
 * scalar_gpu.kernel.h.
 */
#ifndef OPTUNE_KERNELS_REDUCE_EXPRESSIONS_H
#define OPTUNE_KERNELS_REDUCE_EXPRESSIONS_H

INLINE SCALAR map(SCALAR x0)
{
    return (SCALAR)(MAP);
}
INLINE SCALAR combine(SCALAR x0, SCALAR x1)
{
    return (SCALAR)(COMBINE);
}
INLINE OUT_T finish(SCALAR x0)
{
    const SCALAR x1 = (SCALAR)COUNT;
    (void)x1;
    return RESULT(FINISH);
}

#endif
