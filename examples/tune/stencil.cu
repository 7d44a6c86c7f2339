/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stencil to tune, in CUDA:   optune tune examples/tune/stencil.cu
 * and where there is no GPU:    optune tune examples/tune/stencil.cu --target 'cuda -arch=sm_90' \
 *                                   --compile-only
 *
 * optune: kernel stencil(from: f32[H,W], out to: f32[H,W], centre: f32 = 0.6)
 * optune: size H = 2048, W = 2048
 * optune: knob BLOCK_X = [16, 32, 64, 128] default 32, BLOCK_Y = [1, 2, 4, 8, 16] default 4
 * optune: knob TILE_Y = [1, 2, 4, 8], SHARED = [False, True]
 * optune: where 64 <= BLOCK_X * BLOCK_Y <= 1024
 * optune: where not SHARED or (BLOCK_X + 2) * (BLOCK_Y * TILE_Y + 2) * 4 <= 48 * 1024
 * optune: launch grid = [(W + BLOCK_X - 1) // BLOCK_X,
 * optune:                (H + BLOCK_Y * TILE_Y - 1) // (BLOCK_Y * TILE_Y)],
 * optune:        block = [BLOCK_X, BLOCK_Y]
 * optune: reference plain
 * optune: flops 6 * H * W
 * optune: bytes 8 * H * W
 */
#ifdef OPTUNE_REFERENCE
#define FUNCTION static
#else
#define FUNCTION __device__
#endif

/* The border repeats what lies nearest. */
FUNCTION float at(const float *from, int y, int x)
{
    y = y < 0 ? 0 : y >= H ? H - 1 : y;
    x = x < 0 ? 0 : x >= W ? W - 1 : x;
    return from[y * W + x];
}

#ifdef OPTUNE_REFERENCE
void plain(const float *from, float *to, float centre)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            to[y * W + x] =
                centre * from[y * W + x] +
                (1 - centre) / 4 *
                    (at(from, y - 1, x) + at(from, y + 1, x) + at(from, y, x - 1) + at(from, y, x + 1));
}
#else

#define ROWS (BLOCK_Y * TILE_Y)

__global__ void stencil(const float *from, float *to, float centre)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, top = blockIdx.y * ROWS;
    const float side = (1 - centre) / 4;
#if SHARED
    __shared__ float near[ROWS + 2][BLOCK_X + 2];
    for (int i = threadIdx.y; i < ROWS + 2; i += BLOCK_Y)
        for (int j = threadIdx.x; j < BLOCK_X + 2; j += BLOCK_X)
            near[i][j] = at(from, top + i - 1, (int)(blockIdx.x * BLOCK_X) + j - 1);
    __syncthreads();
#define NEAR(i, dy, dx) near[(i) + 1 + (dy)][threadIdx.x + 1 + (dx)]
#else
#define NEAR(i, dy, dx) at(from, top + (i) + (dy), x + (dx))
#endif
#pragma unroll
    for (int k = 0; k < TILE_Y; k++) {
        const int i = threadIdx.y + k * BLOCK_Y;
        if (top + i < H && x < W)
            to[(top + i) * W + x] = centre * NEAR(i, 0, 0) +
                                    side * (NEAR(i, -1, 0) + NEAR(i, 1, 0) + NEAR(i, 0, -1) +
                                            NEAR(i, 0, 1));
    }
}
#endif
