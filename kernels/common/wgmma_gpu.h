/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of compute capability 9.0 for GPU bodies: boxes of a tensor copied into shared memory by the
 * copy engine, barriers in shared memory that count threads and bytes, and matrix products of a
 * warpgroup (128 consecutive threads). For CUDA they are PTX, compiled for sm_90a. For OpenCL they
 * compute what the PTX ISA says: the copy's swizzle and zeros, a barrier's phases, what a matrix
 * descriptor points at, the layout of the result. That is for tests: rows that use these words ask for
 * CUDA, so users of OpenCL are never offered them.
 *
 * A body declares WARPGROUPS(w, pool) behind SHARED and passes &w to every word. The pool has
 * WARPGROUP_SLACK bytes more than what is used; u32 addresses in it start at shared_base(&w),
 * aligned to 1024. A parameter TENSOR_MAP(name) stands for an argument optune_tensor_map_arg.
 *
 * Operands of a product are rows of 128 bytes of depth, swizzled by the copy (`swizzle` 128), whose
 * tile starts on 1024 bytes: rows_128(address + 32 s) is step `s` of its four. One product is 64 rows
 * of A by n columns of B over 32 bytes of depth: 16 float16 or bfloat16, 8 tf32, 32 int8. With
 * warp, lane of the thread in its warpgroup, d[r], r < n / 2, is
 *   row 16 warp + lane / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (lane % 4) + r % 2
 *
 * OpenCL runs the threads between two barriers one after the other (PoCL does). A thread that would
 * wait for ever there goes on, and every product from then on is no number.
 */
#ifndef OPTUNE_KERNELS_COMMON_WGMMA_GPU_H
#define OPTUNE_KERNELS_COMMON_WGMMA_GPU_H

#include "kernels/common/gpu.h"

#define WARPGROUP_SLACK 1024
#define OT_JOIN(a, b) a##b
#define OT_JOINED(a, b) OT_JOIN(a, b)

#ifdef OT_OPENCL

#undef UNROLL
#define UNROLL UNROLL_BY(1)

typedef struct warpgroups {
    LOCAL uchar *pool;
    LOCAL u32 *broken; /* somebody waits for ever */
    int thread;
} warpgroups;

typedef struct ot_map {
    i64 rank, element, swizzle, tf32, dim[5], stride[5], box[5];
} ot_map;

typedef struct ot_barrier {
    u32 expected, pending, phase;
    int bytes;
} ot_barrier;

enum { MBARRIER_BYTES = sizeof(ot_barrier) };

#define WARPGROUPS(w, shared_pool)                                                             \
    __local u32 ot_broken;                                                                     \
    warpgroups w;                                                                              \
    w.pool = shared_pool;                                                                      \
    w.broken = &ot_broken;                                                                     \
    w.thread = THREAD_X
#define TENSOR_MAP(name) GLOBAL uchar *name##_tensor, const ot_map name##_map
#define KERNEL_ALONE(x) KERNEL(x, 1, 1)
#define KERNEL_CLUSTER(x, blocks) KERNEL(x, 1, 1)
#define CLUSTER_BARRIER() BARRIER()
#define FOR_SENDERS(block, rank, blocks) for (int block = 0; block < (blocks); block++)

INLINE u32 shared_base(const warpgroups *w)
{
    (void)w;
    return WARPGROUP_SLACK;
}

INLINE int warpgroup_of(const warpgroups *w)
{
    return w->thread / 128;
}

/* ---- barriers in shared memory ----------------------------------------------------------- */

INLINE LOCAL ot_barrier *ot_barrier_at(const warpgroups *w, u32 address)
{
    return (LOCAL ot_barrier *)(w->pool + address);
}

INLINE void mbarrier_init(const warpgroups *w, u32 address, int threads)
{
    LOCAL ot_barrier *b = ot_barrier_at(w, address);
    *w->broken = 0;
    b->expected = b->pending = (u32)threads;
    b->phase = 0;
    b->bytes = 0;
}

INLINE void ot_count(const warpgroups *w, u32 address, int threads, int bytes)
{
    LOCAL ot_barrier *b = ot_barrier_at(w, address);
    b->pending -= (u32)threads;
    b->bytes += bytes;
    if (b->pending == 0 && b->bytes == 0) {
        b->pending = b->expected;
        b->phase ^= 1;
    }
}

#define mbarrier_arrive(w, address) ot_count(w, address, 1, 0)
#define mbarrier_arrive_in(w, address, block) ot_count(w, address, 1, 0)
#define mbarrier_expect(w, address, bytes) ot_count(w, address, 1, bytes)
#define mbarriers_visible(w) ((void)(w))

INLINE void mbarrier_wait(const warpgroups *w, u32 address, u32 parity)
{
    if (ot_barrier_at(w, address)->phase == parity)
        *w->broken = 1;
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Where byte `at` of a box of such rows lies in shared memory. */
INLINE u32 ot_swizzled(const ot_map *map, u32 start, int at)
{
    const u32 address = start + (u32)at;
    return map->swizzle == 128 ? address ^ (address >> 7 & 7) << 4 : address;
}

/* Element (i, j, k) of the tensor in bytes; negative: outside. */
INLINE i64 ot_element(const ot_map *map, int i, int j, int k)
{
    const bool inside = i >= 0 && i < map->dim[0] && j >= 0 && j < map->dim[1] && k >= 0 &&
                        (map->rank < 3 || k < map->dim[2]);
    return inside ? i * map->element + j * map->stride[1] + k * map->stride[2] : -1;
}

/* Elements of up to 4 bytes. */
INLINE void ot_copy_box(const warpgroups *w, u32 to, GLOBAL const uchar *tensor,
                        const ot_map *map, int x, int y, int z, u32 barrier)
{
    int at = 0;
    for (int k = z; k < z + (map->rank > 2 ? map->box[2] : 1); k++)
        for (int j = y; j < y + map->box[1]; j++)
            for (int i = x; i < x + map->box[0]; i++) {
                const i64 from = ot_element(map, i, j, k);
                u32 word = 0;
                for (int b = 0; b < map->element && from >= 0; b++)
                    word |= (u32)tensor[from + b] << 8 * b;
                if (map->tf32) /* to the nearest */
                    word =
                        (word & 0x7F800000) == 0x7F800000 ? word : (word + 0x1000) & 0xFFFFE000;
                for (int b = 0; b < map->element; b++, at++)
                    w->pool[ot_swizzled(map, to, at)] = (uchar)(word >> 8 * b);
            }
    ot_count(w, barrier, 0, -at);
}

INLINE void ot_store_box(const warpgroups *w, GLOBAL uchar *tensor, const ot_map *map, int x,
                         int y, int z, u32 from)
{
    int at = 0;
    for (int k = z; k < z + (map->rank > 2 ? map->box[2] : 1); k++)
        for (int j = y; j < y + map->box[1]; j++)
            for (int i = x; i < x + map->box[0]; i++) {
                const i64 to = ot_element(map, i, j, k);
                for (int b = 0; b < map->element; b++, at++)
                    if (to >= 0)
                        tensor[to + b] = w->pool[ot_swizzled(map, from, at)];
            }
}

#define copy_box_3d(w, to, map, x, y, z, barrier)                                              \
    ot_copy_box(w, to, map##_tensor, &map##_map, x, y, z, barrier)
#define copy_box_3d_to_all(w, to, map, x, y, z, barrier, blocks)                               \
    copy_box_3d(w, to, map, x, y, z, barrier)
#define store_box_3d(w, map, x, y, z, from)                                                    \
    ot_store_box(w, map##_tensor, &map##_map, x, y, z, from)
#define stores_commit() ((void)0)
#define STORES_WAIT(newest) ((void)0)
#define shared_visible() ((void)0)
#define WARP_BARRIER() BARRIER()

INLINE void shared_write(const warpgroups *w, u32 address, u32 word)
{
    *(LOCAL u32 *)(w->pool + address) = word;
}

/* The first one's bits are the lower half. */
INLINE u32 halves_of_floats(float a, float b)
{
    return half_of_float(a) | (u32)half_of_float(b) << 16;
}

INLINE u32 bfloats_of_floats(float a, float b)
{
    return bfloat_of_float(a) | (u32)bfloat_of_float(b) << 16;
}

/* ---- products ---------------------------------------------------------------------------- */

INLINE u64 rows_128(u32 address)
{
    return (u64)(address >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

/* 4 bytes at depth 4 k of a row. */
INLINE u32 ot_word_at(const warpgroups *w, u64 rows, int row, int k)
{
    const u32 start = (u32)(rows & 0x3FFF) << 4, group = (u32)(rows >> 32 & 0x3FFF) << 4;
    u32 address = start + (u32)(row / 8) * group + (u32)(row % 8) * 128 + 4 * (u32)k;
    address ^= (address >> 7 & 7) << 4;
    return *(LOCAL const u32 *)(w->pool + address);
}

#define OT_WGMMA(name, sum, none, step)                                                        \
    INLINE void name(const warpgroups *w, sum *d, int n, u64 rows_a, u64 rows_b, int add)      \
    {                                                                                          \
        const int warp = w->thread / 32 % 4, lane = w->thread % 32;                            \
        for (int r = 0; r < n / 2; r++) {                                                      \
            const int row = 16 * warp + lane / 4 + r / 2 % 2 * 8;                              \
            const int col = r / 4 * 8 + lane % 4 * 2 + r % 2;                                  \
            sum s = add ? d[r] : 0;                                                            \
            for (int k = 0; k < 8; k++) {                                                      \
                const u32 a = ot_word_at(w, rows_a, row, k);                                   \
                const u32 b = ot_word_at(w, rows_b, col, k);                                   \
                step                                                                           \
            }                                                                                  \
            d[r] = *w->broken || rows_a >> 62 != 1 || rows_b >> 62 != 1 ? none : s;            \
        }                                                                                      \
    }

OT_WGMMA(ot_wgmma_f16, float, NAN,
         for (int h = 0; h < 32; h += 16)
             s = fma(float_of_half((u16)(a >> h)), float_of_half((u16)(b >> h)), s);)
OT_WGMMA(ot_wgmma_bf16, float, NAN,
         for (int h = 0; h < 32; h += 16)
             s = fma(float_of_bfloat((u16)(a >> h)), float_of_bfloat((u16)(b >> h)), s);)
OT_WGMMA(ot_wgmma_tf32, float, NAN,
         s = fma(as_float(a & 0xFFFFE000), as_float(b & 0xFFFFE000), s);)
OT_WGMMA(ot_wgmma_s8, int, INT_MIN,
         for (int h = 0; h < 32; h += 8) s += (int)(char)(a >> h) * (int)(char)(b >> h);)

#define WGMMA(type, n, w, d, a, b, add) OT_JOINED(ot_wgmma_, type)(w, d, n, a, b, add)
#define wgmma_fence() ((void)0)
#define wgmma_commit() ((void)0)
#define WGMMA_WAIT(newest) ((void)0)
#define wgmma_keep(d, n) ((void)0)
#define REGISTERS_MORE(n) ((void)0)
#define REGISTERS_LESS(n) ((void)0)

#else

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error these words are compute capability 9.0's alone: compile for sm_90a
#endif

enum { MBARRIER_BYTES = 8 };

typedef struct warpgroups {
    unsigned char *pool;
} warpgroups;

typedef struct __align__(64) tensor_map
{
    u64 opaque[16];
}
tensor_map;

#define WARPGROUPS(w, shared_pool) const warpgroups w = {shared_pool}
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
/* Once, for this block's own `rank`. OpenCL knows no clusters: there a block plays all that send to it,
 * so that every slice of what it receives is copied to its place. */
#define FOR_SENDERS(block, rank, blocks)                                                       \
    for (int block = (rank), ot_once = 1; ot_once; ot_once = 0)

INLINE u32 shared_base(const warpgroups *w)
{
    return ((u32)__cvta_generic_to_shared(w->pool) + WARPGROUP_SLACK - 1) / WARPGROUP_SLACK *
           WARPGROUP_SLACK;
}

/* The same for all threads of a warp, and known to be. */
INLINE int warpgroup_of(const warpgroups *)
{
    return __shfl_sync(0xFFFFFFFF, THREAD_X / 128, 0);
}

/* ---- barriers in shared memory ----------------------------------------------------------- */

INLINE void mbarrier_init(const warpgroups *, u32 address, int threads)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(threads)
                 : "memory");
}

/* After all are initialised by a thread, before the barrier of the block. */
INLINE void mbarriers_visible(const warpgroups *)
{
    asm volatile("fence.mbarrier_init.release.cluster;\n\t"
                 "fence.proxy.async.shared::cta;" ::
                     : "memory");
}

INLINE void mbarrier_arrive(const warpgroups *, u32 address)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
}

/* In a block of the cluster. */
INLINE void mbarrier_arrive_in(const warpgroups *, u32 address, int block)
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
INLINE void mbarrier_expect(const warpgroups *, u32 address, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address),
                 "r"(bytes)
                 : "memory");
}

/* Until the phase of that parity has ended; at first, that of parity 1 has. */
INLINE void mbarrier_wait(const warpgroups *, u32 address, u32 parity)
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
INLINE void copy_box_3d(const warpgroups *, u32 to, const tensor_map &map, int x, int y, int z,
                        u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* The same into all `blocks` of the cluster, a constant, counted on each one's barrier. */
INLINE void copy_box_3d_to_all(const warpgroups *, u32 to, const tensor_map &map, int x, int y,
                               int z, u32 barrier, int blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
                 "l"(&map), "r"(barrier), "h"((u16)((1 << blocks) - 1)), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* The way back, by one thread: elements outside are left out. Stores since the last commit are a group
 * of that thread's. */
INLINE void store_box_3d(const warpgroups *, const tensor_map &map, int x, int y, int z,
                         u32 from)
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

/* The barrier of a warp; OpenCL has only that of the block, so all of its threads pass. */
#define WARP_BARRIER() __syncwarp()

INLINE void shared_write(const warpgroups *, u32 address, u32 word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

INLINE u32 halves_of_floats(float a, float b)
{
    u32 to;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(b), "f"(a));
    return to;
}

INLINE u32 bfloats_of_floats(float a, float b)
{
    u32 to;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(b), "f"(a));
    return to;
}

/* ---- products ---------------------------------------------------------------------------- */

/* Start; 8 rows are 1024 bytes; swizzled over 128. The offset of the leading dim plays no part. */
INLINE u64 rows_128(u32 address)
{
    return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 |
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
#define OT_LIST_64 OT_30 "%30, %31}, %32, %33"
#define OT_LIST_128 OT_60 "%60, %61, %62, %63}, %64, %65"
#define OT_LIST_192 OT_90 "%90, %91, %92, %93, %94, %95}, %96, %97"
#define OT_LIST_256 OT_120 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129"
#define OT_ADD_64 "%34"
#define OT_ADD_128 "%66"
#define OT_ADD_192 "%98"
#define OT_ADD_256 "%130"

/* d (+)= a b; without `add` what was in d is forgotten. */
#define OT_WGMMA(type, n, sum, c, depth, kinds, tail)                                          \
    INLINE void ot_wgmma_##type##_##n(sum *d, u64 a, u64 b, int add)                           \
    {                                                                                          \
        asm volatile("{\n\t"                                                                   \
                     ".reg .pred p;\n\t"                                                       \
                     "setp.ne.b32 p, " OT_ADD_##n ", 0;\n\t"                                   \
                                                  "wgmma.mma_async.sync.aligned.m64n" #n       \
                                                  "k" depth kinds " {" OT_LIST_##n ", p" tail  \
                                                                                   ";\n\t"     \
                                                                                   "}"         \
                     : OT_SUMS_##n(c)                                                          \
                     : "l"(a), "l"(b), "r"(add));                                              \
    }
#define OT_WGMMAS(n)                                                                           \
    OT_WGMMA(f16, n, float, "f", "16", ".f32.f16.f16", ", 1, 1, 0, 0")                         \
    OT_WGMMA(bf16, n, float, "f", "16", ".f32.bf16.bf16", ", 1, 1, 0, 0")                      \
    OT_WGMMA(tf32, n, float, "f", "8", ".f32.tf32.tf32", ", 1, 1")                             \
    OT_WGMMA(s8, n, int, "r", "32", ".s32.s8.s8", "")
OT_WGMMAS(64)
OT_WGMMAS(128)
OT_WGMMAS(192)
OT_WGMMAS(256)

#define OT_WGMMA_NAME(type, n) ot_wgmma_##type##_##n
#define OT_WGMMA_OF(type, n) OT_WGMMA_NAME(type, n)
#define WGMMA(type, n, w, d, a, b, add) OT_WGMMA_OF(type, n)(d, a, b, add)

#endif
#endif
