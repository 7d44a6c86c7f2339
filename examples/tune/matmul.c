/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop nest to tune, in C:   optune tune examples/tune/matmul.c
 *
 * optune: kernel matmul(A: f32[M,K], B: f32[K,N], out C: f32[M,N])
 * optune: size M = 192, N = 192, K = 192
 * optune: knob TILE_M = [1, 2, 4, 6, 8], TILE_N = [8, 16, 32, 48, 96] default 16
 * optune: knob TILE_K = [16, 32, 64, 192] default 192
 * optune: knob UNROLL = [1, 2, 4, 8], ORDER = ['mn', 'nm']
 * optune: where M % TILE_M == 0 and N % TILE_N == 0 and K % TILE_K == 0
 * optune: where 16 <= TILE_M * TILE_N <= 256
 * optune: reference plain
 * optune: tolerance 1e-4
 * optune: flops 2 * M * N * K
 */
#ifndef TILE_M /* what is used where nobody tunes: optune defines all of these */
#define M 192
#define N 192
#define K 192
#define TILE_M 4
#define TILE_N 16
#define TILE_K 192
#define UNROLL 1
#define ORDER mn
#endif

#define PRAGMA(text) _Pragma(#text)
#define UNROLLED(n) PRAGMA(GCC unroll n)
#define ORDER_mn 1
#define ORDER_nm 2
#define PASTE(a, b) a##b
#define IS(order) PASTE(ORDER_, order)

static void tile(const float *A, const float *B, float *C, int m, int n, int k)
{
    float sum[TILE_M][TILE_N];
    for (int i = 0; i < TILE_M; i++)
        for (int j = 0; j < TILE_N; j++)
            sum[i][j] = k ? C[(m + i) * N + n + j] : 0;
    UNROLLED(UNROLL)
    for (int l = k; l < k + TILE_K; l++)
        for (int i = 0; i < TILE_M; i++)
            for (int j = 0; j < TILE_N; j++)
                sum[i][j] += A[(m + i) * K + l] * B[l * N + n + j];
    for (int i = 0; i < TILE_M; i++)
        for (int j = 0; j < TILE_N; j++)
            C[(m + i) * N + n + j] = sum[i][j];
}

void matmul(const float *A, const float *B, float *C)
{
    for (int k = 0; k < K; k += TILE_K)
#if IS(ORDER) == ORDER_mn
        for (int m = 0; m < M; m += TILE_M)
            for (int n = 0; n < N; n += TILE_N)
#else
        for (int n = 0; n < N; n += TILE_N)
            for (int m = 0; m < M; m += TILE_M)
#endif
                tile(A, B, C, m, n, k);
}

void plain(const float *A, const float *B, float *C)
{
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)A[m * K + k] * B[k * N + n];
            C[m * N + n] = (float)sum;
        }
}
