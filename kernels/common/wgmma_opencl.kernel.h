/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of wgmma_gpu.kernel.h as OpenCL computes them, by what the PTX ISA says: the copy's
 * swizzle and zeros, a barrier's phases, what a matrix descriptor points at, the layout of the
 * result. Included by wgmma_gpu.kernel.h only.
 *
 * OpenCL runs the threads between two barriers one after the other (PoCL does), so that a
 * body's roles have to take turns. A thread that would wait for ever there goes on, and every
 * product from then on is no number. OT_EXTERN_WORDS says that a test brings words of its own
 * instead, for which roles run side by side as on a GPU (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_WGMMA_OPENCL_H
#define OPTUNE_KERNELS_COMMON_WGMMA_OPENCL_H

#ifdef OT_OPENCL

#undef UNROLL
#define UNROLL UNROLL_BY(1)

#ifndef OT_EXTERN_WORDS

#define ROLES_TAKE_TURNS 1

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

/* Many threads arrive between two barriers, and a compiler may run them side by side. */
INLINE void ot_count(const warpgroups *w, u32 address, int threads, int bytes)
{
    LOCAL ot_barrier *b = ot_barrier_at(w, address);
    const int left = atomic_add(&b->bytes, bytes) + bytes;
    if (atomic_sub(&b->pending, (u32)threads) == (u32)threads && left == 0) {
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

#endif

#endif

#endif
