/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a call of 16-bit floats, for CPU bodies that compute it in vectors of
 * float32: as epilogue.kernel.h, but that extra inputs are 16 bits in memory. A body that includes
 * this calls epilogue_halves() where its output is 16 bits; one that does not is never given
 * expressions behind such an output.
 */
#ifndef OPTUNE_KERNELS_COMMON_EPILOGUE_HALF_H
#define OPTUNE_KERNELS_COMMON_EPILOGUE_HALF_H

#include "kernels/common/epilogue.kernel.h"
#include "kernels/common/half_lanes.kernel.h"

#if EPILOGUE && defined(EPILOGUE_BRAIN)

INLINE floats epilogue_halves_operand(const unsigned short *p, const int step, const int lanes)
{
    if (step == 0)
        return (EPILOGUE_BRAIN ? float_of_bfloat(*p) : float_of_half(*p)) - (floats){0};
    halves h = {0};
    if (lanes >= (int)(VEC_BYTES / sizeof(float)))
        h = *(const halves_at *)p;
    else
        for (int l = 0; l < lanes; l++)
            h[l] = p[l];
    return EPILOGUE_BRAIN ? floats_of_bfloats(h) : floats_of_halves(h);
}

/* v is elements o, o + 1 .. o + lanes - 1 of the output; arg is that of the stage. */
INLINE floats epilogue_halves(floats v, void *const *arg, i64 o, const int lanes)
{
    enum { EACH = VEC_BYTES / sizeof(float) };
    float ot_x[EACH] __attribute__((aligned(VEC_BYTES)));
    *(floats *)ot_x = v;
#define EPILOGUE_HALVES_DECLARE(k, a, at, step)                                                \
    float ot_e##k[EACH] __attribute__((aligned(VEC_BYTES)));                                   \
    *(floats *)ot_e##k =                                                                       \
        epilogue_halves_operand((const unsigned short *)arg[a] + (at), step, lanes);
#define EPILOGUE_HALVES_LANE(k) ot_e##k[ot_l]
    EPILOGUE_OPERANDS(EPILOGUE_HALVES_DECLARE, o)
    UNROLL(1)
    for (int ot_l = 0; ot_l < EACH; ot_l++)
        EPILOGUE_CHAIN(ot_x[ot_l], EPILOGUE_HALVES_LANE)
    return *(floats *)ot_x;
}

#else
#define epilogue_halves(v, arg, o, lanes) (v)
#endif
#endif
