/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies for tests/kernels/test_races.c, which puts the words in front: each has a fault that its
 * name says, or none, and only one. Blocks of 64 threads; rings are of 256, a producer's warp
 * behind a warpgroup that multiplies.
 */
enum { N = 64 };

/* Every thread writes a word and reads its neighbour's. */
#define NEIGHBOURS(name, pool_words, between, from)                                            \
    KERNEL(N, 1, 1) name(GLOBAL const u32 *RESTRICT in, GLOBAL u32 *RESTRICT out)              \
    {                                                                                          \
        SHARED(pool, 4 * (pool_words));                                                        \
        LOCAL u32 *const words = (LOCAL u32 *)pool;                                            \
        const int t = THREAD_X;                                                                \
        words[t] = in[t];                                                                      \
        between;                                                                               \
        out[t] = words[from];                                                                  \
    }

NEIGHBOURS(sound, N, BARRIER(), (t + 1) % N)
NEIGHBOURS(no_barrier, N, (void)0, (t + 1) % N)
NEIGHBOURS(barrier_of_a_part, N, if (t < 32) BARRIER(), t)
NEIGHBOURS(barriers_in_branches, N, if (t < 32) {out[t] = 1; BARRIER(); out[t] = 2;} else BARRIER(),
           (t + 1) % N)
NEIGHBOURS(nobody_wrote, N + 1, BARRIER(), t + 1)
NEIGHBOURS(across_warps, N, WARP_BARRIER(), (t + 32) % N)
NEIGHBOURS(inside_a_warp, N, WARP_BARRIER(), t ^ 1)

/* `in` has a word more than there are threads, `out` has not. */
#define STORES(name, at, value)                                                                \
    KERNEL(N, 1, 1) name(GLOBAL const u32 *RESTRICT in, GLOBAL u32 *RESTRICT out)              \
    {                                                                                          \
        const int t = THREAD_X;                                                                \
        out[at] = value;                                                                       \
    }

STORES(read_outside, t, in[t + 2])
STORES(write_outside, t + 1, in[t])
STORES(same_place, t / 2, in[t])
STORES(misaligned, t, *(GLOBAL const u32 *)((GLOBAL const unsigned char *)in + 4 * t + 2))

/* d = the sum over STEPS tiles of x y: one thread copies, two tiles ahead at most, a warpgroup
 * multiplies. */
enum { TILE = 64 * 128, STEPS = 6, STAGES = 2, NO_FAULT = 0, NO_WAIT_FOR_FULL, TOO_FEW_BYTES,
       TOO_MANY_BYTES, NO_WAIT_FOR_EMPTY, EARLY_RELEASE, NO_WAIT_FOR_PRODUCTS, NO_RELEASE };

#define RING(name, fault)                                                                      \
    KERNEL_ALONE(256) name(TENSOR_MAP(x), TENSOR_MAP(y), GLOBAL float *RESTRICT d)             \
    {                                                                                          \
        SHARED(pool, WARPGROUP_SLACK + 2 * STAGES * TILE + 2 * STAGES * 16);                   \
        const u32 base = shared_base(pool), full = base + 2 * STAGES * TILE;                   \
        const u32 empty = full + STAGES * MBARRIER_BYTES;                                      \
        if (THREAD_X == 0)                                                                     \
            for (u32 s = 0; s < STAGES; s++) {                                                 \
                mbarrier_init(full + s * MBARRIER_BYTES, 1);                                   \
                mbarrier_init(empty + s * MBARRIER_BYTES, 4);                                  \
            }                                                                                  \
        mbarriers_visible();                                                                   \
        BARRIER();                                                                             \
        if (THREAD_X == 128)                                                                   \
            for (int i = 0; i < STEPS; i++) {                                                  \
                const u32 s = i % STAGES, turn = i / STAGES % 2;                               \
                const u32 bar = full + s * MBARRIER_BYTES, to = base + s * 2 * TILE;           \
                if ((fault) != NO_WAIT_FOR_EMPTY)                                              \
                    mbarrier_wait(empty + s * MBARRIER_BYTES, turn ^ 1);                       \
                mbarrier_expect(bar,                                                           \
                                2 * TILE + ((fault) == TOO_MANY_BYTES) * 16 -                  \
                                    ((fault) == TOO_FEW_BYTES) * TILE);                        \
                copy_box_3d(to, x, i * 64, 0, 0, bar);                                         \
                copy_box_3d(to + TILE, y, i * 64, 0, 0, bar);                                  \
            }                                                                                  \
        if (THREAD_X < 128) {                                                                  \
            float acc[32];                                                                     \
            for (int i = 0; i < STEPS; i++) {                                                  \
                const u32 s = i % STAGES, at = base + s * 2 * TILE;                            \
                const u32 bar = empty + s * MBARRIER_BYTES;                                    \
                if ((fault) != NO_WAIT_FOR_FULL)                                               \
                    mbarrier_wait(full + s * MBARRIER_BYTES, i / STAGES % 2);                  \
                for (u32 k = 0; k < 4; k++)                                                    \
                    WGMMA(f16, 64, acc, rows_128(at + 32 * k),                                 \
                          rows_128(at + TILE + 32 * k), i > 0 || k > 0);                       \
                wgmma_commit();                                                                \
                if ((fault) == EARLY_RELEASE && THREAD_X % 32 == 0)                            \
                    mbarrier_arrive(bar);                                                      \
                WARP_BARRIER();                                                                \
                if ((fault) == EARLY_RELEASE)                                                  \
                    mbarrier_wait(bar, i / STAGES % 2);                                        \
                if ((fault) != NO_WAIT_FOR_PRODUCTS || i + 1 < STEPS)                          \
                    WGMMA_WAIT(0);                                                             \
                if ((fault) != EARLY_RELEASE && (fault) != NO_RELEASE && THREAD_X % 32 == 0)   \
                    mbarrier_arrive(bar);                                                      \
            }                                                                                  \
            for (int r = 0; r < 32; r++)                                                       \
                d[THREAD_X * 32 + r] = acc[r];                                                 \
        }                                                                                      \
    }

RING(ring_sound, NO_FAULT)
RING(ring_no_wait_for_full, NO_WAIT_FOR_FULL)
RING(ring_too_few_bytes, TOO_FEW_BYTES)
RING(ring_too_many_bytes, TOO_MANY_BYTES)
RING(ring_no_wait_for_empty, NO_WAIT_FOR_EMPTY)
RING(ring_early_release, EARLY_RELEASE)
RING(ring_no_wait_for_products, NO_WAIT_FOR_PRODUCTS)
RING(ring_no_release, NO_RELEASE)
