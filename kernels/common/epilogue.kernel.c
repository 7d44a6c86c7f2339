/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is fused behind a call, as a stage of its own over the finished output, in place: for
 * implementations that do not fuse it themselves, libraries among them. Macros: ELEMENTS of the
 * output; RUN, how many consecutive ones have each extra input either constant or consecutive;
 * CHUNK, elements of one task.
 */
#include "kernels/common/epilogue.kernel.h"

#define RUN_CHUNKS CEIL_DIV(RUN, CHUNK)

/* arg: output, extra inputs */
void epilogue_stage(void *const *arg)
{
    DTYPE *out = arg[0];
    PARALLEL_FOR_N(2)
    for (i64 r = 0; r < ELEMENTS / RUN; r++)
        for (i64 c = 0; c < RUN_CHUNKS; c++) {
            i64 o = r * RUN + c * CHUNK;
            const i64 end = r * RUN + MIN((c + 1) * CHUNK, RUN);
            for (; o + VLEN <= end; o += VLEN)
                store(out + o, epilogue(load(out + o), arg, o, VLEN));
            const int rest = (int)(end - o);
            for (int l = 0; l < rest; l++)
                out[o + l] = epilogue_one(out[o + l], arg, o + l);
        }
}
