/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in front of every body that the stand-in compiles (OpenCL C, not the host's):
 * words of a warp for which a warp is enough, and the words of
 * kernels/common/wgmma_gpu.kernel.h as functions of the stand-in, so that copies, products and
 * stores are under way until they are waited for and the roles of a body run side by side. Only
 * names; the functions are in words.c and warpgroups.c, and what they mean is said in those
 * headers.
 */
#ifndef OPTUNE_TESTS_RACES_WORDS_H
#define OPTUNE_TESTS_RACES_WORDS_H

#define OT_EXTERN_WORDS 1
#define TEAM_SHUFFLES 1

void races_warp_barrier(void);
void races_swap(void *y, const void *x, int bytes, int reach);
void races_cluster_barrier(void);
float races_float_of_half(ushort bits);
ushort races_half_of_float(float f);
ushort races_read_ahead(const __local ushort *p);

#define TEAM_SWAP(y, pool, t, x, reach) races_swap(&(y), &(x), (int)sizeof(x), reach)
#define OT_WARP_BARRIER() races_warp_barrier()
#define OT_READ_AHEAD(p, at) races_read_ahead((p) + (at))
#define vload_half(at, p) races_float_of_half(((const ushort *)(p))[at])
#define vstore_half_rte(f, at, p) (((ushort *)(p))[at] = races_half_of_float(f))

/* ---- warpgroups -------------------------------------------------------------------------- */

typedef struct ot_map {
    long rank, element, swizzle, tf32, dim[5], stride[5], box[5];
} ot_map;

typedef struct warpgroups {
    int thread;
} warpgroups;

void races_pool(int bytes);
void races_mbarrier_init(uint address, int threads);
void races_mbarrier_count(int block, uint address, int threads, int bytes);
void races_mbarrier_wait(uint address, uint parity);
void races_copy(int blocks, uint to, const __global uchar *tensor, const ot_map *map, int x,
                int y, int z, uint barrier);
void races_store(__global uchar *tensor, const ot_map *map, int x, int y, int z, uint from);
void races_stores_commit(void);
void races_stores_wait(int newest);
void races_shared_write(uint address, uint word);
void races_product(int type, int n, void *d, ulong a, ulong b, int add);
void races_products_commit(void);
void races_products_wait(int newest);

enum { MBARRIER_BYTES = 8 };

#define WARPGROUPS(w, shared_pool)                                                             \
    warpgroups w;                                                                              \
    races_pool((int)sizeof(shared_pool));                                                      \
    w.thread = THREAD_X
#define TENSOR_MAP(name) GLOBAL uchar *name##_tensor, const ot_map name##_map
#define KERNEL_ALONE(x) KERNEL(x, 1, 1)
#define KERNEL_CLUSTER(x, blocks)                                                              \
    __constant int races_cluster = blocks;                                                     \
    KERNEL(x, 1, 1)
#define CLUSTER_BARRIER() races_cluster_barrier()
#define FOR_SENDERS(block, rank, blocks)                                                       \
    for (int block = (rank), ot_once = 1; ot_once; ot_once = 0)
#define shared_base(w) ((u32)WARPGROUP_SLACK)
#define warpgroup_of(w) ((w)->thread / 128)

#define mbarrier_init(w, address, threads) races_mbarrier_init(address, threads)
#define mbarrier_arrive(w, address) races_mbarrier_count(-1, address, 1, 0)
#define mbarrier_arrive_in(w, address, block) races_mbarrier_count(block, address, 1, 0)
#define mbarrier_expect(w, address, bytes) races_mbarrier_count(-1, address, 1, bytes)
#define mbarrier_wait(w, address, parity) races_mbarrier_wait(address, parity)
#define mbarriers_visible(w) ((void)(w))

#define copy_box_3d(w, to, map, x, y, z, barrier)                                              \
    races_copy(1, to, map##_tensor, &map##_map, x, y, z, barrier)
#define copy_box_3d_to_all(w, to, map, x, y, z, barrier, blocks)                               \
    races_copy(blocks, to, map##_tensor, &map##_map, x, y, z, barrier)
#define store_box_3d(w, map, x, y, z, from) races_store(map##_tensor, &map##_map, x, y, z, from)
#define stores_commit() races_stores_commit()
#define STORES_WAIT(newest) races_stores_wait(newest)
#define shared_visible() ((void)0)
#define shared_write(w, address, word) races_shared_write(address, word)
#define WARP_BARRIER() races_warp_barrier()
#define halves_of_floats(a, b) (half_of_float(a) | (u32)half_of_float(b) << 16)
#define bfloats_of_floats(a, b) (bfloat_of_float(a) | (u32)bfloat_of_float(b) << 16)

#define RACES_f16 0
#define RACES_bf16 1
#define RACES_tf32 2
#define RACES_s8 3
#define rows_128(address)                                                                      \
    ((u64)((address) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62)
#define WGMMA(type, n, w, d, a, b, add) races_product(OT_JOINED(RACES_, type), n, d, a, b, add)
#define wgmma_fence() ((void)0)
#define wgmma_commit() races_products_commit()
#define WGMMA_WAIT(newest) races_products_wait(newest)
#define wgmma_keep(d, n) ((void)0)
#define REGISTERS_MORE(n) ((void)0)
#define REGISTERS_LESS(n) ((void)0)

#endif
