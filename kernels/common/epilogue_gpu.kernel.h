/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a call, for GPU bodies: the fused operators applied to sums that are
 * still in registers. A body whose plan offered to fuse (optune_plan_fuse) has
 * EPILOGUE_PARAMETERS behind the parameters of the kernel that stores the output, and calls
 * EPILOGUE_APPLY(v, o) once on every finished value: v, a variable of type SCALAR, is element o
 * of the output, and o lies in it. EPILOGUE tells whether anything is fused; where nothing is,
 * both are empty.
 *
 * The harness defines EPILOGUE_OPERANDS and EPILOGUE_CHAIN as kernels/common/epilogue.kernel.h
 * tells; SCALAR, float for 16-bit floats; EPILOGUE_T, how they lie in memory; EPILOGUE_READ and
 * EPILOGUE_WRITE between the two.
 */
#ifndef OPTUNE_KERNELS_COMMON_EPILOGUE_GPU_H
#define OPTUNE_KERNELS_COMMON_EPILOGUE_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef EPILOGUE_CHAIN

#define EPILOGUE 1

#include "kernels/common/scalar_gpu.kernel.h"

#define OT_EPILOGUE_PARAMETER(k, a, at, step) , GLOBAL const EPILOGUE_T *RESTRICT ot_e##k
#define OT_EPILOGUE_READ(k, a, at, step) const SCALAR ot_x##k = EPILOGUE_READ(ot_e##k[at]);
#define OT_EPILOGUE_ELEMENT(k) ot_x##k
#define EPILOGUE_PARAMETERS EPILOGUE_OPERANDS(OT_EPILOGUE_PARAMETER, 0)
#define EPILOGUE_APPLY(v, o)                                                                   \
    {                                                                                          \
        EPILOGUE_OPERANDS(OT_EPILOGUE_READ, o)                                                 \
        EPILOGUE_CHAIN(v, OT_EPILOGUE_ELEMENT)                                                 \
    }

#else

#define EPILOGUE 0
#define EPILOGUE_PARAMETERS
#define EPILOGUE_APPLY(v, o) {}

#endif
#endif
