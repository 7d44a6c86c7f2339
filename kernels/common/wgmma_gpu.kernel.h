/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of compute capability 9.0 for GPU bodies, as PTX, which compiles for sm_90a and nothing
 * else: boxes of a tensor copied into shared memory by the copy engine, barriers in shared memory
 * that count threads and bytes, and matrix products of a warpgroup (128 consecutive threads). Rows
 * that use them ask for CUDA; tests put an emulation in front of a body (tests/races/words.h).
 *
 * Places in shared memory are u32 addresses. The pool that SHARED declares has WARPGROUP_SLACK
 * bytes more than what is used, and those of a body begin at shared_base(pool), aligned to 1024.
 * A parameter TENSOR_MAP(name) stands for an argument optune_tensor_map_arg.
 *
 * Operands of a product are rows of 128 bytes of depth, swizzled by the copy (`swizzle` 128),
 * whose tile starts on 1024 bytes: rows_128(address + 32 s) is step `s` of its four. One
 * product is 64 rows of A by n columns of B over 32 bytes of depth: 16 float16 or bfloat16, 8
 * tf32, 32 int8. With warp, lane of the thread in its warpgroup, d[r], r < n / 2, is
 *   row 16 warp + lane / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (lane % 4) + r % 2
 *
 * WGMMA_HELD, of 16-bit floats, has A in registers, two elements a word: a[i] is depths
 * 2 (lane % 4), + 1 from 8 (i / 2) on of row 16 warp + lane / 4 + 8 (i % 2), so that sums of
 * columns 16 s .. become step s of the next product by rounding pairs. Its B lies the other way
 * round: columns_128(address, panel) are 16 depths, rows of 128 bytes of columns; the next 64
 * columns are `panel` bytes further.
 */
#ifndef OPTUNE_KERNELS_COMMON_WGMMA_GPU_H
#define OPTUNE_KERNELS_COMMON_WGMMA_GPU_H

#include "kernels/common/pairs_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"

#define WARPGROUP_SLACK 1024

/* A place of a ring of stages, and the parity of its barriers' phases there. */
typedef struct ring {
    int stage;
    u32 parity;
} ring;

INLINE void ring_next(ring *r, int stages)
{
    if (++r->stage == stages) {
        r->stage = 0;
        r->parity ^= 1;
    }
}

#ifdef OT_CUDA

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error these words are compute capability 9.0's alone: compile for sm_90a
#endif

enum { MBARRIER_BYTES = 8 };

typedef struct __align__(128) tensor_map
{
    u64 opaque[16];
}
tensor_map;

#define TENSOR_MAP(name) const __grid_constant__ tensor_map name
/* A block alone on its multiprocessor: registers may move between its warpgroups. */
#define KERNEL_ALONE(x) extern "C" __global__ __launch_bounds__(x, 1) void
/* Of a cluster of `blocks` neighbours in x, whose shared memory lies alike. */
#define KERNEL_CLUSTER(x, blocks)                                                              \
    extern "C" __global__ __cluster_dims__(blocks, 1, 1) __launch_bounds__(x, 1) void
#define CLUSTER_BARRIER()                                                                      \
    asm volatile("barrier.cluster.arrive.release;\n\t"                                         \
                 "barrier.cluster.wait.acquire;" ::                                            \
                     : "memory")

INLINE u32 shared_base(const unsigned char *pool)
{
    return ((u32)__cvta_generic_to_shared(pool) + WARPGROUP_SLACK - 1) / WARPGROUP_SLACK *
           WARPGROUP_SLACK;
}

/* The same for all threads of a warp, and known to be. */
INLINE int warpgroup()
{
    return __shfl_sync(0xFFFFFFFF, THREAD_X / 128, 0);
}

/* ---- barriers in shared memory ----------------------------------------------------------- */

INLINE void mbarrier_init(u32 address, int threads)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(threads)
                 : "memory");
}

/* After all are initialised by a thread, before the barrier of the block. */
INLINE void mbarriers_visible()
{
    asm volatile("fence.mbarrier_init.release.cluster;\n\t"
                 "fence.proxy.async.shared::cta;" ::
                     : "memory");
}

INLINE void mbarrier_arrive(u32 address)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
}

/* In a block of the cluster. */
INLINE void mbarrier_arrive_in(u32 address, int block)
{
    asm volatile("{\n\t"
                 ".reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
                 "}" ::"r"(address),
                 "r"(block)
                 : "memory");
}

/* Arrives, and its phase waits for so many bytes of copies. */
INLINE void mbarrier_expect(u32 address, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address),
                 "r"(bytes)
                 : "memory");
}

/* Until the phase of that parity has ended; at first, that of parity 1 has. */
INLINE void mbarrier_wait(u32 address, u32 parity)
{
    u32 done;
    do {
        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t"
                     "}"
                     : "=r"(done)
                     : "r"(address), "r"(parity)
                     : "memory");
    } while (!done);
}

/* ---- copies ------------------------------------------------------------------------------ */

/* One thread; its bytes count on the barrier, zeros for what lies outside included. */
INLINE void copy_box_3d(u32 to, const tensor_map &map, int x, int y, int z, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* The same into all `blocks` of the cluster, a constant, counted on each one's barrier. */
INLINE void copy_box_3d_to_all(u32 to, const tensor_map &map, int x, int y, int z, u32 barrier,
                               int blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
                 "l"(&map), "r"(barrier), "h"((u16)((1 << blocks) - 1)), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* Of a map of pixels (optune_tensor_map): from the pixel whose first tap is at x, y of an image
 * on, from `channel` on, all moved by dx, dy, 0 to 255. */
INLINE void copy_pixels(u32 to, const tensor_map &map, int channel, int x, int y, int image,
                        int dx, int dy, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image),
                 "h"((u16)dx), "h"((u16)dy)
                 : "memory");
}

INLINE void copy_pixels_to_all(u32 to, const tensor_map &map, int channel, int x, int y,
                               int image, int dx, int dy, u32 barrier, int blocks)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx"
                 "::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;"
                 ::"r"(to), "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image),
                 "h"((u16)dx), "h"((u16)dy), "h"((u16)((1 << blocks) - 1))
                 : "memory");
}

/* The way back, by one thread: elements outside are left out. Stores since the last commit are
 * a group of that thread's. */
INLINE void store_box_3d(const tensor_map &map, int x, int y, int z, u32 from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group"
                 " [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(from), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

INLINE void stores_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Until only the `newest` groups, a constant, may still have to be read from shared memory. */
#define STORES_WAIT(newest)                                                                    \
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(newest) : "memory")

/* By each thread that wrote what is to be stored, in front of the barrier. */
INLINE void shared_visible()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

INLINE void shared_write(u32 address, u32 word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

INLINE void shared_write_16(u32 address, u32 a, u32 b, u32 c, u32 d)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

/* The line of memory at `from` on its way into the cache that all share. */
INLINE void prefetch(const void *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* ---- products ---------------------------------------------------------------------------- */

/* Start; 8 rows are 1024 bytes; swizzled over 128. The offset of the leading dim plays no part. */
INLINE u64 rows_128(u32 address)
{
    return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 |
           (u64)1 << 62;
}

/* The rows so many times 16 bytes further on, of the same memory: one addition of 32 bits. */
INLINE u64 rows_128_on(u64 rows, int chunks)
{
    return (rows & 0xFFFFFFFF00000000) | (u32)((u32)rows + (u32)chunks);
}

INLINE u64 columns_128(u32 address, int panel)
{
    return (u64)((address & 0x3FFFF) >> 4) | (u64)(panel >> 4) << 16 | (u64)(1024 >> 4) << 32 |
           (u64)1 << 62;
}

/* Before the first product of a group: what was written to registers is theirs. */
INLINE void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Products since the last commit are a group. */
INLINE void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until only the `newest` groups, a constant, may be under way. */
#define WGMMA_WAIT(newest)                                                                     \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(newest) : "memory")

/* No use of these sums is moved across this point. */
INLINE void ot_keep(float &d)
{
    asm volatile("" : "+f"(d)::"memory");
}
INLINE void ot_keep(int &d)
{
    asm volatile("" : "+r"(d)::"memory");
}
#define wgmma_keep(d, n)                                                                       \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int ot_r = 0; ot_r < (n) / 2; ot_r++)                                             \
            ot_keep((d)[ot_r]);                                                                \
    } while (0)

/* Warpgroups of one kernel share its registers anew: in each branch of one if, by all threads. */
#define REGISTERS_MORE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
#define REGISTERS_LESS(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))

#define OT_8(c, i)                                                                             \
    "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3]), "+" c(d[i + 4]),           \
        "+" c(d[i + 5]), "+" c(d[i + 6]), "+" c(d[i + 7])
#define OT_32(c, i) OT_8(c, i), OT_8(c, i + 8), OT_8(c, i + 16), OT_8(c, i + 24)
#define OT_SUMS_64(c) OT_32(c, 0)
#define OT_SUMS_128(c) OT_SUMS_64(c), OT_32(c, 32)
#define OT_SUMS_192(c) OT_SUMS_128(c), OT_32(c, 64)
#define OT_SUMS_256(c) OT_SUMS_192(c), OT_32(c, 96)
#define OT_TEN(t)                                                                              \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t     \
    "8, %" #t "9, "
#define OT_30 OT_TEN() OT_TEN(1) OT_TEN(2)
#define OT_60 OT_30 OT_TEN(3) OT_TEN(4) OT_TEN(5)
#define OT_90 OT_60 OT_TEN(6) OT_TEN(7) OT_TEN(8)
#define OT_120 OT_90 OT_TEN(9) OT_TEN(10) OT_TEN(11)
#define OT_LIST_64 OT_30 "%30, %31}"
#define OT_LIST_128 OT_60 "%60, %61, %62, %63}"
#define OT_LIST_192 OT_90 "%90, %91, %92, %93, %94, %95}"
#define OT_LIST_256 OT_120 "%120, %121, %122, %123, %124, %125, %126, %127}"
#define OT_SHARED_64 ", %32, %33"
#define OT_SHARED_128 ", %64, %65"
#define OT_SHARED_192 ", %96, %97"
#define OT_SHARED_256 ", %128, %129"
#define OT_ADD_64 "%34"
#define OT_ADD_128 "%66"
#define OT_ADD_192 "%98"
#define OT_ADD_256 "%130"
#define OT_HELD_64 ", {%32, %33, %34, %35}, %36"
#define OT_HELD_128 ", {%64, %65, %66, %67}, %68"
#define OT_HELD_192 ", {%96, %97, %98, %99}, %100"
#define OT_HELD_256 ", {%128, %129, %130, %131}, %132"
#define OT_ADD_HELD_64 "%37"
#define OT_ADD_HELD_128 "%69"
#define OT_ADD_HELD_192 "%101"
#define OT_ADD_HELD_256 "%133"

/* d (+)= a b; without `add` what was in d is forgotten. */
#define OT_WGMMA(type, n, sum, c, depth, kinds, tail)                                          \
    INLINE void ot_wgmma_##type##_##n(sum *d, u64 a, u64 b, int add)                           \
    {                                                                                          \
        asm volatile("{\n\t"                                                                   \
                     ".reg .pred p;\n\t"                                                       \
                     "setp.ne.b32 p, " OT_ADD_##n                                              \
                     ", 0;\n\t"                                                                \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k" depth kinds                    \
                     " {" OT_LIST_##n OT_SHARED_##n ", p" tail ";\n\t"                         \
                                                    "}"                                        \
                     : OT_SUMS_##n(c)                                                          \
                     : "l"(a), "l"(b), "r"(add));                                              \
    }
#define OT_WGMMA_HELD(type, n, kinds)                                                          \
    INLINE void ot_wgmma_held_##type##_##n(float *d, const u32 *a, u64 b, int add)             \
    {                                                                                          \
        asm volatile("{\n\t"                                                                   \
                     ".reg .pred p;\n\t"                                                       \
                     "setp.ne.b32 p, " OT_ADD_HELD_##n                                         \
                     ", 0;\n\t"                                                                \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16" kinds                        \
                     " {" OT_LIST_##n OT_HELD_##n ", p, 1, 1, 1;\n\t"                          \
                                                  "}"                                          \
                     : OT_SUMS_##n("f")                                                        \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));          \
    }
#define OT_WGMMAS(n)                                                                           \
    OT_WGMMA(f16, n, float, "f", "16", ".f32.f16.f16", ", 1, 1, 0, 0")                         \
    OT_WGMMA(bf16, n, float, "f", "16", ".f32.bf16.bf16", ", 1, 1, 0, 0")                      \
    OT_WGMMA(tf32, n, float, "f", "8", ".f32.tf32.tf32", ", 1, 1")                             \
    OT_WGMMA(s8, n, int, "r", "32", ".s32.s8.s8", "")                                          \
    OT_WGMMA(u8s8, n, int, "r", "32", ".s32.u8.s8", "") /* A without a sign */                 \
    OT_WGMMA_HELD(f16, n, ".f32.f16.f16")                                                      \
    OT_WGMMA_HELD(bf16, n, ".f32.bf16.bf16")
OT_WGMMAS(64)
OT_WGMMAS(128)
OT_WGMMAS(192)
OT_WGMMAS(256)

#define OT_WGMMA_NAME(type, n) ot_wgmma_##type##_##n
#define OT_WGMMA_OF(type, n) OT_WGMMA_NAME(type, n)
#define WGMMA(type, n, d, a, b, add) OT_WGMMA_OF(type, n)(d, a, b, add)
#define OT_WGMMA_HELD_NAME(type, n) ot_wgmma_held_##type##_##n
#define OT_WGMMA_HELD_OF(type, n) OT_WGMMA_HELD_NAME(type, n)
#define WGMMA_HELD(type, n, d, a, b, add) OT_WGMMA_HELD_OF(type, n)(d, a, b, add)

#endif

#endif
