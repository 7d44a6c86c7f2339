/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the listings beside this file are of; each is a kernel's section of
 *   nvcc -arch=sm_80 -cubin kernels.cu && nvdisasm -c -hex kernels.cubin
 * of CUDA 13.0 (its nvdisasm of 13.5), without the padding behind its end.
 */

/* The next tile is loaded in front of a barrier, and used behind it. */
extern "C" __global__ void __launch_bounds__(32)
    tile(const float4 *__restrict__ a, float4 *__restrict__ c, int k)
{
    __shared__ float4 s[2][32];
    float4 acc = {0, 0, 0, 0}, next = a[threadIdx.x];
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        s[t & 1][threadIdx.x] = next;
        __syncthreads();
        next = a[(t + 1) * 32 + threadIdx.x];
        const float4 x = s[t & 1][threadIdx.x ^ 1], y = s[t & 1][threadIdx.x ^ 2];
        acc.x = fmaf(x.x, y.x, acc.x);
        acc.y = fmaf(x.y, y.y, acc.y);
        acc.z = fmaf(x.z, y.z, acc.z);
        acc.w = fmaf(x.w, y.w, acc.w);
    }
    c[threadIdx.x] = acc;
}

/* Two loops in a loop, one of them where threads part; the inner one computes most. */
extern "C" __global__ void nest(const float *__restrict__ a, float *__restrict__ c, int n, int m)
{
    int i = 0;
    do {
        float sum = 0, x = a[i * 32 + threadIdx.x];
        if (x > 2)
#pragma unroll 1
            for (int k = 0; k < n; k++)
                x = x * x;
#pragma unroll 1
        for (int j = 0; j < m; j++) {
            const float y = a[j];
            sum = fmaf(x, y, sum);
            sum = fmaf(sum, y, x);
            sum = fmaf(x, y, sum);
        }
        c[i * 32 + threadIdx.x] = sum;
    } while (++i < n);
}

/* A ring of asynchronous copies under tensor cores. */
extern "C" __global__ void pipe(const char *__restrict__ a, float *__restrict__ c, int k)
{
    extern __shared__ char pool[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(pool) + threadIdx.x * 16;
    float d[4] = {0, 0, 0, 0};
    for (int t = 0; t < 2; t++) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + t * 1024),
                     "l"(a + t * 1024 + threadIdx.x * 16));
        asm volatile("cp.async.commit_group;");
    }
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + (t & 3) * 1024),
                     "l"(a + (t + 2) * 1024 + threadIdx.x * 16));
        asm volatile("cp.async.commit_group;");
        unsigned r[4], q[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(base + (t & 3) * 1024));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(q[0]), "=r"(q[1])
                     : "r"(base + (t & 3) * 1024 + 512));
        for (int u = 0; u < 2; u++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(q[0]), "r"(q[1]));
    }
    for (int i = 0; i < 4; i++)
        c[threadIdx.x * 4 + i] = d[i];
}
