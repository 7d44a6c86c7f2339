/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the words of kernels/common/wgmma_gpu.kernel.h, for tests/kernels/test_wgmma.c,
 * which puts the words in front. Blocks of one warpgroup.
 */
enum { THREADS = 128, COPY_BYTES = 24 * 128 };

/* One box from each of three places of a tensor; `out` is shared memory as it then lies there. */
#define COPIES(name, n)                                                                        \
    KERNEL_ALONE(THREADS)                                                                      \
    name(TENSOR_MAP(from), GLOBAL const int *RESTRICT place, GLOBAL u32 *RESTRICT out)         \
    {                                                                                          \
        SHARED(pool, WARPGROUP_SLACK + 3 * COPY_BYTES + MBARRIER_BYTES);                       \
        const u32 base = shared_base(pool), bar = base + 3 * COPY_BYTES;                       \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_init(bar, 1);                                                             \
            mbarriers_visible();                                                               \
        }                                                                                      \
        BARRIER();                                                                             \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_expect(bar, 3 * (n));                                                     \
            for (int i = 0; i < 3; i++)                                                        \
                copy_box_3d(base + i * COPY_BYTES, from, place[3 * i], place[3 * i + 1],       \
                            place[3 * i + 2], bar);                                            \
        }                                                                                      \
        BARRIER();                                                                             \
        mbarrier_wait(bar, 0);                                                                 \
        LOCAL const unsigned char *const at = POOL_AT(pool, base);                             \
        for (int i = THREAD_X; i < 3 * COPY_BYTES / 4; i += THREADS)                           \
            out[i] = ((LOCAL const u32 *)at)[i];                                               \
    }

#ifdef OT_OPENCL
#define POOL_AT(pool, base) races_shared(base)
#else
#define POOL_AT(pool, base) ((pool) + ((base) - (u32)__cvta_generic_to_shared(pool)))
#endif
COPIES(copies_full, COPY_BYTES)
COPIES(copies_half, COPY_BYTES / 2)

/* 24 pixels from each of three places: channel, x, y, image, and by how much they are moved. */
KERNEL_ALONE(THREADS)
pixels(TENSOR_MAP(from), GLOBAL const int *RESTRICT place, GLOBAL u32 *RESTRICT out)
{
    SHARED(pool, WARPGROUP_SLACK + 3 * COPY_BYTES + MBARRIER_BYTES);
    const u32 base = shared_base(pool), bar = base + 3 * COPY_BYTES;
    if (THREAD_X == 0) {
        mbarrier_init(bar, 1);
        mbarriers_visible();
    }
    BARRIER();
    if (THREAD_X == 0) {
        mbarrier_expect(bar, 3 * COPY_BYTES);
        for (int i = 0; i < 3; i++) {
            const int c = place[6 * i], x = place[6 * i + 1], y = place[6 * i + 2];
            const int image = place[6 * i + 3], dx = place[6 * i + 4], dy = place[6 * i + 5];
            if (i == 1)
                copy_pixels_to_all(base + i * COPY_BYTES, from, c, x, y, image, dx, dy, bar, 1);
            else
                copy_pixels(base + i * COPY_BYTES, from, c, x, y, image, dx, dy, bar);
        }
    }
    BARRIER();
    mbarrier_wait(bar, 0);
    LOCAL const unsigned char *const at = POOL_AT(pool, base);
    for (int i = THREAD_X; i < 3 * COPY_BYTES / 4; i += THREADS)
        out[i] = ((LOCAL const u32 *)at)[i];
}

/* The way back: what lies in shared memory as `in` says goes to three places of a tensor. */
KERNEL_ALONE(THREADS)
stores(TENSOR_MAP(to), GLOBAL const int *RESTRICT place, GLOBAL const u32 *RESTRICT in)
{
    SHARED(pool, WARPGROUP_SLACK + 3 * COPY_BYTES);
    const u32 base = shared_base(pool);
    for (int i = THREAD_X; i < 3 * COPY_BYTES / 4; i += THREADS)
        shared_write(base + 4 * (u32)i, in[i]);
    shared_visible();
    BARRIER();
    if (THREAD_X == 0) {
        for (int i = 0; i < 3; i++)
            store_box_3d(to, place[3 * i], place[3 * i + 1], place[3 * i + 2],
                         base + i * COPY_BYTES);
        stores_commit();
        STORES_WAIT(0);
    }
}

/* Two sums as one word of 16-bit numbers. */
KERNEL(1, 1, 1) pairs(GLOBAL const float *RESTRICT in, GLOBAL u32 *RESTRICT out)
{
    out[0] = halves_of_floats(in[0], in[1]);
    out[1] = bfloats_of_floats(in[0], in[1]);
}

/* d = start, then d += a b over 128 bytes of depth; d is [thread][N / 2]. With `fault` 1
 * somebody waits for a phase that never ends, with 2 for more bytes than are copied. */
#define PRODUCT(name, type, n, sum)                                                            \
    KERNEL_ALONE(THREADS)                                                                      \
    name(TENSOR_MAP(map_a), TENSOR_MAP(map_b), GLOBAL const int *RESTRICT fault,               \
         GLOBAL sum *RESTRICT d)                                                               \
    {                                                                                          \
        SHARED(pool, WARPGROUP_SLACK + (64 + (n)) * 128 + 2 * MBARRIER_BYTES);                 \
        const u32 a = shared_base(pool), b = a + 64 * 128, bar = b + (n)*128;                  \
        const u32 other = bar + MBARRIER_BYTES;                                                \
        sum acc[(n) / 2];                                                                      \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_init(bar, 1);                                                             \
            mbarrier_init(other, 4);                                                           \
            mbarriers_visible();                                                               \
        }                                                                                      \
        BARRIER();                                                                             \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_expect(bar, (64 + (n)) * 128 + (fault[0] == 2 ? 16 : 0));                 \
            copy_box_3d(a, map_a, 0, 0, 0, bar);                                               \
            copy_box_3d(b, map_b, 0, 0, 0, bar);                                               \
        }                                                                                      \
        if (THREAD_X % 32 == 0)                                                                \
            mbarrier_arrive(other);                                                            \
        BARRIER();                                                                             \
        mbarrier_wait(bar, 0);                                                                 \
        mbarrier_wait(other, fault[0] == 1 ? 1 : 0);                                           \
        UNROLL for (int r = 0; r < (n) / 2; r++) acc[r] = (sum)(THREAD_X + 1000 * fault[1]);   \
        wgmma_keep(acc, n);                                                                    \
        wgmma_fence();                                                                         \
        UNROLL for (int s = 0; s < 4; s++)                                                     \
            WGMMA(type, n, acc, rows_128(a + 32 * s), rows_128(b + 32 * s),                    \
                  s > 0 || fault[1]);                                                          \
        wgmma_commit();                                                                        \
        WGMMA_WAIT(0);                                                                         \
        wgmma_keep(acc, n);                                                                    \
        UNROLL for (int r = 0; r < (n) / 2; r++) d[THREAD_X * ((n) / 2) + r] = acc[r];         \
    }

PRODUCT(product_f16_64, f16, 64, float)
PRODUCT(product_bf16_128, bf16, 128, float)
PRODUCT(product_tf32_192, tf32, 192, float)
PRODUCT(product_s8_256, s8, 256, int)
PRODUCT(product_u8s8_64, u8s8, 64, int)
PRODUCT(product_bf16_256, bf16, 256, float)

/* The same over 16 depths, A in registers and B across rows: panels of 64 columns. With `fault` 1
 * A is written while the product is under way. */
#define PRODUCT_HELD(name, type, n)                                                            \
    KERNEL_ALONE(THREADS)                                                                      \
    name(GLOBAL const u32 *RESTRICT held, TENSOR_MAP(map_b), GLOBAL const int *RESTRICT fault, \
         GLOBAL float *RESTRICT d)                                                             \
    {                                                                                          \
        SHARED(pool, WARPGROUP_SLACK + (n)*32 + MBARRIER_BYTES);                               \
        const u32 b = shared_base(pool), bar = b + (n)*32;                                     \
        float acc[(n) / 2];                                                                    \
        u32 a[4];                                                                              \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_init(bar, 1);                                                             \
            mbarriers_visible();                                                               \
        }                                                                                      \
        BARRIER();                                                                             \
        if (THREAD_X == 0) {                                                                   \
            mbarrier_expect(bar, (n)*32);                                                      \
            for (int p = 0; p < (n) / 64; p++)                                                 \
                copy_box_3d(b + 2048 * (u32)p, map_b, 64 * p, 0, 0, bar);                      \
        }                                                                                      \
        UNROLL for (int i = 0; i < 4; i++) a[i] = held[4 * THREAD_X + i];                      \
        UNROLL for (int r = 0; r < (n) / 2; r++) acc[r] = (float)(THREAD_X + 1000 * fault[1]); \
        mbarrier_wait(bar, 0);                                                                 \
        wgmma_keep(acc, n);                                                                    \
        wgmma_fence();                                                                         \
        WGMMA_HELD(type, n, acc, a, columns_128(b, 2048), fault[1]);                           \
        wgmma_commit();                                                                        \
        if (fault[0] == 1)                                                                     \
            a[0] = 0;                                                                          \
        WGMMA_WAIT(0);                                                                         \
        wgmma_keep(acc, n);                                                                    \
        UNROLL for (int r = 0; r < (n) / 2; r++) d[THREAD_X * ((n) / 2) + r] = acc[r];         \
    }

PRODUCT_HELD(product_held_f16_64, f16, 64)
PRODUCT_HELD(product_held_bf16_256, bf16, 256)

KERNEL(1, 1, 1) descriptors(GLOBAL const int *RESTRICT address, GLOBAL u64 *RESTRICT out)
{
    for (int i = 0; i < 3; i++)
        out[i] = rows_128((u32)address[i]);
    out[3] = columns_128((u32)address[1], 4096);
}
