/* SPDX-License-Identifier: Apache-2.0 */
/* ROWS rows of N elements, each over the sum of its absolute values; VECTORS vectors in flight. */
#include "kernels/common/epilogue.kernel.h"

/* A row, number r, and what is fused behind each of its elements. */
static void row(const DTYPE *in, DTYPE *out, i64 r, void *const *arg)
{
    enum { STEP = VECTORS * VLEN };
    DTYPE sum[STEP] = {0}, all = 0;
    i64 i = 0;
    for (; i + STEP <= N; i += STEP)
        for (int l = 0; l < STEP; l++)
            sum[l] += in[i + l] < 0 ? -in[i + l] : in[i + l];
    for (; i < N; i++)
        all += in[i] < 0 ? -in[i] : in[i];
    for (int l = 0; l < STEP; l++)
        all += sum[l];
    const vec share = splat((DTYPE)1 / all);
    for (i = 0; i + VLEN <= N; i += VLEN)
        store(out + i, epilogue(load(in + i) * share, arg, r * N + i, VLEN));
    for (; i < N; i++)
        out[i] = epilogue_one(in[i] * share[0], arg, r * N + i);
}

/* arg: data, out, what is fused */
void unit_rows(void *const *arg)
{
    const DTYPE *in = arg[0];
    DTYPE *out = arg[1];
    PARALLEL_FOR
    for (i64 r = 0; r < ROWS; r++)
        row(in + r * N, out + r * N, r, arg);
}
