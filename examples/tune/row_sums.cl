/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reduction to tune, in OpenCL C:   optune tune examples/tune/row_sums.cl
 *
 * optune: kernel row_sums(in: f32[ROWS,N], out sums: f32[ROWS], n: i32 = N)
 * optune: size ROWS = 256, N = 4096
 * optune: knob GROUP = [2**i for i in range(4, 9)] default 64
 * optune: knob EACH = [1, 2, 4, 8], VECTOR = [1, 4]
 * optune: where N % (GROUP * EACH * VECTOR) == 0
 * optune: launch grid = ROWS, block = GROUP
 * optune: reference plain
 * optune: flops ROWS * N
 */
#ifdef OPTUNE_REFERENCE /* the rest is OpenCL C, and this is C */
void plain(const float *in, float *sums, int n)
{
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += in[row * n + i];
        sums[row] = (float)sum;
    }
}
#else

#if VECTOR == 4
typedef float4 vector;
#define TOTAL(v) ((v).x + (v).y + (v).z + (v).w)
#else
typedef float vector;
#define TOTAL(v) (v)
#endif

__kernel void row_sums(__global const float *in, __global float *sums, int n)
{
    __local float part[GROUP];
    const int me = get_local_id(0), row = get_group_id(0);
    __global const vector *from = (__global const vector *)(in + row * n);
    vector sum[EACH];
    for (int k = 0; k < EACH; k++)
        sum[k] = 0;
    for (int i = me; i < n / VECTOR; i += GROUP * EACH)
        for (int k = 0; k < EACH; k++)
            sum[k] += from[i + k * GROUP];
    float all = 0;
    for (int k = 0; k < EACH; k++)
        all += TOTAL(sum[k]);
    part[me] = all;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
        if (me < half_of)
            part[me] += part[me + half_of];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0)
        sums[row] = part[0];
}
#endif
