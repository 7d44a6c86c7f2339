/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel for each kind of tensor-core word, for tests/kernels/test_mma.c, which puts the
 * words in front. Blocks of two warps; fragments go from and to memory lane by lane, so that
 * each word is judged by itself. `bytes` of an operand's row are its 32 bytes of depth.
 */
enum { THREADS = 64, MT = 2, NT = 3 };

/* Matrix rows are 16 bytes, in an order that the test chose; out is [variant][thread][4]. */
KERNEL(THREADS, 1, 1)
matrices(GLOBAL const u32 *RESTRICT in, GLOBAL const u32 *RESTRICT order,
         GLOBAL u32 *RESTRICT out)
{
    SHARED(pool, THREADS * 16);
    LOCAL u32 *const words = (LOCAL u32 *)pool;
    const int thread = THREAD_X;
    u32 r[4][4];
    for (int i = 0; i < 4; i++) {
        words[thread * 4 + i] = in[thread * 4 + i];
        for (int v = 0; v < 4; v++)
            r[v][i] = 0;
    }
    BARRIER();
    LOCAL const unsigned char *const row = pool + 16 * order[thread];
    ldmatrix_x4(r[0], row);
    ldmatrix_x4_trans(r[1], row);
    ldmatrix_x2(r[2], row);
    ldmatrix_x2_trans(r[3], row);
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 4; i++)
            out[(v * THREADS + thread) * 4 + i] = r[v][i];
}

/* a is [warp][MT * 16 rows][8 words], b [warp][NT * 8 columns][8 words], d [warp][MT * 16][NT * 8];
 * the lower right product of each warp is computed once more by itself. */
#define PRODUCTS(name, word, sum)                                                              \
    KERNEL(THREADS, 1, 1)                                                                      \
    name(GLOBAL const u32 *RESTRICT in_a, GLOBAL const u32 *RESTRICT in_b,                     \
         GLOBAL sum *RESTRICT out, GLOBAL sum *RESTRICT last)                                  \
    {                                                                                          \
        SHARED(pool, 16);                                                                      \
        const int thread = THREAD_X, warp = thread / 32, g = thread % 32 / 4, t = thread % 4;  \
        u32 a[MT][4], b[NT][2];                                                                \
        sum d[MT][NT][4], e[4];                                                                \
        for (int i = 0; i < MT; i++)                                                           \
            for (int k = 0; k < 4; k++)                                                        \
                a[i][k] = in_a[(((warp * MT + i) * 2 + k % 2) * 8 + g) * 8 + k / 2 * 4 + t];   \
        for (int j = 0; j < NT; j++)                                                           \
            for (int k = 0; k < 2; k++)                                                        \
                b[j][k] = in_b[((warp * NT + j) * 8 + g) * 8 + k * 4 + t];                     \
        for (int i = 0; i < MT; i++)                                                           \
            for (int j = 0; j < NT; j++)                                                       \
                for (int k = 0; k < 4; k++)                                                    \
                    d[i][j][k] = e[k] = (sum)(i - j);                                          \
        MMA_TILE(word, MT, NT, d, a, b);                                                       \
        word(e, a[MT - 1], b[NT - 1]);                                                         \
        for (int k = 0; k < 4; k++) {                                                          \
            for (int i = 0; i < MT; i++)                                                       \
                for (int j = 0; j < NT; j++)                                                   \
                    out[((warp * MT + i) * 16 + k / 2 * 8 + g) * (8 * NT) + 8 * j + 2 * t +    \
                        k % 2] = d[i][j][k];                                                   \
            last[(warp * 16 + k / 2 * 8 + g) * 8 + 2 * t + k % 2] = e[k];                      \
        }                                                                                      \
    }

PRODUCTS(products_f16, mma_f16, float)
PRODUCTS(products_bf16, mma_bf16, float)
PRODUCTS(products_tf32, mma_tf32, float)
PRODUCTS(products_s8, mma_s8, int)
PRODUCTS(products_u8s8, mma_u8s8, int)

KERNEL(THREADS, 1, 1)
round_tf32(GLOBAL const u32 *RESTRICT in, GLOBAL u32 *RESTRICT out)
{
    out[THREAD_X] = tf32_of_float(in[THREAD_X]);
}

/* Each thread copies 48 bytes in three groups; out is [moment][thread][12 words]: after all but
 * two groups were waited for, all but one, and all. The second group copies as many bytes as
 * the thread's number asks for, the third nothing, 4 and 8 bytes at a time. */
KERNEL(THREADS, 1, 1)
copies(GLOBAL const u32 *RESTRICT in, GLOBAL u32 *RESTRICT out)
{
    SHARED(pool, THREADS * 48);
    const int thread = THREAD_X;
    LOCAL unsigned char *const to = pool + 48 * thread;
    LOCAL const u32 *const words = (LOCAL const u32 *)to;
    GLOBAL const u32 *const from = in + 12 * thread;
    cp_async_16(to, from);
    cp_async_commit();
    cp_async_16_zero(to + 16, from + 4, thread % 17);
    cp_async_commit();
    cp_async_4_zero(to + 32, from + 8, 4);
    cp_async_4_zero(to + 36, from + 9, thread % 5);
    cp_async_8_zero(to + 40, from + 10, thread % 9);
    cp_async_commit();
    CP_ASYNC_WAIT(2);
    for (int i = 0; i < 12; i++)
        out[thread * 12 + i] = words[i];
    CP_ASYNC_WAIT(1);
    for (int i = 0; i < 12; i++)
        out[(THREADS + thread) * 12 + i] = words[i];
    CP_ASYNC_WAIT(0);
    for (int i = 0; i < 12; i++)
        out[(2 * THREADS + thread) * 12 + i] = words[i];
}
