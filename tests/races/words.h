/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in front of every body that the stand-in compiles (OpenCL C, not the host's): the
 * words of kernels/common that CUDA alone has, those of a warp (team.kernel.h, warp_gpu.kernel.h),
 * of tensor cores (mma_gpu.kernel.h), of warpgroups (wgmma_gpu.kernel.h) and of blocks that wait
 * for each other (turns_gpu.kernel.h), as functions of the stand-in.
 * Copies, products and stores are under way until they are waited for, and the roles of a body
 * run side by side. Only names; the functions are in words.c, tensor.c, warpgroups.c and
 * products.c, and what they mean is said in those headers.
 */
#ifndef OPTUNE_TESTS_RACES_WORDS_H
#define OPTUNE_TESTS_RACES_WORDS_H

void races_warp_barrier(void);
void races_swap(void *y, const void *x, int bytes, int reach);
uint races_vote(int c);
void races_cluster_barrier(void);
int races_add(__local int *p, int n);
long races_turn_of(__global void *counter);
ulong races_word_load(const __global ulong *from);
void races_word_store(__global ulong *to, ulong word);
float races_float_of_half(ushort bits);
ushort races_half_of_float(float f);

void races_global_add(int type, __global void *p, const void *v);

/* Sums in memory. */
enum { RACES_ADD_f32, RACES_ADD_f64, RACES_ADD_i32, RACES_ADD_i64, RACES_ADD_f16, RACES_ADD_bf16 };
#define RACES_ADD_OF(type) RACES_ADD_##type
#define RACES_ADD(type) RACES_ADD_OF(type)
#define GLOBAL_ADD(type, base, n, at, v)                                                         \
    ((void)(n), races_global_add(RACES_ADD(type), (base) + (at), &(v)))

#define TEAM_COPY(y, x) __typeof__(x) y = x
#define TEAM_SWAP(y, x, reach) races_swap(&(y), &(x), (int)sizeof(x), reach)
#define WARP_BARRIER() races_warp_barrier()
#define WARP_VOTE(c) races_vote(c)
#define LOWEST_BIT(bits) __builtin_ctz(bits)
#define vload_half(at, p) races_float_of_half(((const ushort *)(p))[at])
#define vstore_half_rte(f, at, p) (((ushort *)(p))[at] = races_half_of_float(f))

/* Blocks in turns: several at once. */
#define KERNEL_IN_TURNS(x, blocks)                                                               \
    __constant int races_abreast = 1024 / (x);                                                 \
    KERNEL(x, 1, 1)
#define LOCAL_ADD(p, n) races_add(p, n)
#define NEXT_TURN(counter) races_turn_of(counter)
#define PAUSE() ((void)0)
#define WORD_LOAD(from) races_word_load(from)
#define WORD_STORE(to, word) races_word_store(to, word)

/* Types of products. */
#define RACES_f16 0
#define RACES_bf16 1
#define RACES_tf32 2
#define RACES_s8 3
#define RACES_u8s8 4

/* ---- tensor cores ------------------------------------------------------------------------ */

void races_ldmatrix(uint *r, int n, int trans, const __local void *row);
void races_mma(int type, int mt, int nt, void *d, const uint *a, const uint *b);
void races_cp_async(__local void *to, const __global void *from, int bytes, int size);
void races_cp_async_commit(void);
void races_cp_async_wait(int newest);
uint races_tf32(uint bits);

#define ldmatrix_x4(r, row) races_ldmatrix(r, 4, 0, row)
#define ldmatrix_x4_trans(r, row) races_ldmatrix(r, 4, 1, row)
#define ldmatrix_x2(r, row) races_ldmatrix(r, 2, 0, row)
#define ldmatrix_x2_trans(r, row) races_ldmatrix(r, 2, 1, row)
#define mma_f16(d, a, b) races_mma(RACES_f16, 1, 1, d, a, b)
#define mma_bf16(d, a, b) races_mma(RACES_bf16, 1, 1, d, a, b)
#define mma_tf32(d, a, b) races_mma(RACES_tf32, 1, 1, d, a, b)
#define mma_s8(d, a, b) races_mma(RACES_s8, 1, 1, d, a, b)
#define mma_u8s8(d, a, b) races_mma(RACES_u8s8, 1, 1, d, a, b)
#define RACES_mma_f16 RACES_f16
#define RACES_mma_bf16 RACES_bf16
#define RACES_mma_tf32 RACES_tf32
#define RACES_mma_s8 RACES_s8
#define RACES_mma_u8s8 RACES_u8s8
#define RACES_TYPE(word) RACES_##word
#define RACES_TYPE_OF(word) RACES_TYPE(word)
#define MMA_TILE(word, mt, nt, d, a, b)                                                        \
    races_mma(RACES_TYPE_OF(word), mt, nt, &(d)[0][0][0], &(a)[0][0], &(b)[0][0])
#define tf32_of_float(bits) races_tf32(bits)
#define cp_async_16(to, from) races_cp_async(to, from, 16, 16)
#define cp_async_16_zero(to, from, bytes) races_cp_async(to, from, bytes, 16)
#define cp_async_8_zero(to, from, bytes) races_cp_async(to, from, bytes, 8)
#define cp_async_4_zero(to, from, bytes) races_cp_async(to, from, bytes, 4)
#define cp_async_commit() races_cp_async_commit()
#define CP_ASYNC_WAIT(newest) races_cp_async_wait(newest)

/* ---- warpgroups -------------------------------------------------------------------------- */

typedef struct ot_map {
    long rank, element, swizzle, tf32, pixels, dim[5], stride[5], box[5], low[2], high[2],
        step[2];
} ot_map;

uint races_pool(int bytes);
const __local uchar *races_shared(uint address); /* where tests look */
void races_mbarrier_init(uint address, int threads);
void races_mbarrier_count(int block, uint address, int threads, int bytes);
void races_mbarrier_wait(uint address, uint parity);
void races_copy(int blocks, uint to, const __global uchar *tensor, const ot_map *map, int x,
                int y, int z, uint barrier);
void races_copy_pixels(int blocks, uint to, const __global uchar *tensor, const ot_map *map,
                       int channel, int x, int y, int image, int dx, int dy, uint barrier);
void races_store(__global uchar *tensor, const ot_map *map, int x, int y, int z, uint from);
void races_stores_commit(void);
void races_stores_wait(int newest);
void races_shared_write(uint address, uint word);
void races_product(int type, int n, void *d, ulong a, ulong b, int add);
void races_product_held(int type, int n, void *d, const uint *a, ulong b, int add);
void races_products_commit(void);
void races_products_wait(int newest);

enum { MBARRIER_BYTES = 8 };

#define TENSOR_MAP(name) GLOBAL uchar *name##_tensor, const ot_map name##_map
#define KERNEL_ALONE(x) KERNEL(x, 1, 1)
#define KERNEL_CLUSTER(x, blocks)                                                              \
    __constant int races_cluster = blocks;                                                     \
    KERNEL(x, 1, 1)
#define CLUSTER_BARRIER() races_cluster_barrier()
#define shared_base(pool) races_pool((int)sizeof(pool))
#define warpgroup() (THREAD_X / 128)

#define mbarrier_init(address, threads) races_mbarrier_init(address, threads)
#define mbarrier_arrive(address) races_mbarrier_count(-1, address, 1, 0)
#define mbarrier_arrive_in(address, block) races_mbarrier_count(block, address, 1, 0)
#define mbarrier_expect(address, bytes) races_mbarrier_count(-1, address, 1, bytes)
#define mbarrier_wait(address, parity) races_mbarrier_wait(address, parity)
#define mbarriers_visible() ((void)0)

#define copy_box_3d(to, map, x, y, z, barrier)                                                 \
    races_copy(1, to, map##_tensor, &map##_map, x, y, z, barrier)
#define copy_box_3d_to_all(to, map, x, y, z, barrier, blocks)                                  \
    races_copy(blocks, to, map##_tensor, &map##_map, x, y, z, barrier)
#define copy_pixels(to, map, channel, x, y, image, dx, dy, barrier)                            \
    races_copy_pixels(1, to, map##_tensor, &map##_map, channel, x, y, image, dx, dy, barrier)
#define copy_pixels_to_all(to, map, channel, x, y, image, dx, dy, barrier, blocks)             \
    races_copy_pixels(blocks, to, map##_tensor, &map##_map, channel, x, y, image, dx, dy,      \
                      barrier)
#define store_box_3d(map, x, y, z, from) races_store(map##_tensor, &map##_map, x, y, z, from)
#define stores_commit() races_stores_commit()
#define STORES_WAIT(newest) races_stores_wait(newest)
#define shared_visible() ((void)0)
#define shared_write(address, word) races_shared_write(address, word)
#define prefetch(from) ((void)(from))
#define shared_write_16(address, a, b, c, d)                                                   \
    (races_shared_write(address, a), races_shared_write((address) + 4, b),                     \
     races_shared_write((address) + 8, c), races_shared_write((address) + 12, d))
#define halves_of_floats(a, b) (half_of_float(a) | (u32)half_of_float(b) << 16)
#define bfloats_of_floats(a, b) (bfloat_of_float(a) | (u32)bfloat_of_float(b) << 16)
#define and_xor(a, b, c) (((a) & (b)) ^ (c))
/* Products of two such floats are floats, so what is not exact is rounded twice at most. */
#define RACES_FMA(of, to, a, b, c, by)                                                         \
    ((u32)to(fma(of((u16)((a) >> (by))), of((u16)((b) >> (by))), of((u16)((c) >> (by)))))      \
     << (by))
#define halves_fma(a, b, c)                                                                    \
    (RACES_FMA(float_of_half, half_of_float, a, b, c, 0) |                                     \
     RACES_FMA(float_of_half, half_of_float, a, b, c, 16))
#define bfloats_fma(a, b, c)                                                                   \
    (RACES_FMA(float_of_bfloat, bfloat_of_float, a, b, c, 0) |                                 \
     RACES_FMA(float_of_bfloat, bfloat_of_float, a, b, c, 16))

#define rows_128(address)                                                                      \
    ((u64)((address) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62)
#define rows_128_on(rows, chunks) ((rows) + (u64)(long)(chunks))
#define columns_128(address, panel)                                                            \
    ((u64)((address) >> 4) | (u64)((panel) >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62)
#define WGMMA(type, n, d, a, b, add) races_product(RACES_TYPE_OF(type), n, d, a, b, add)
#define WGMMA_HELD(type, n, d, a, b, add)                                                      \
    races_product_held(RACES_TYPE_OF(type), n, d, a, b, add)
#define wgmma_fence() ((void)0)
#define wgmma_commit() races_products_commit()
#define WGMMA_WAIT(newest) races_products_wait(newest)
#define wgmma_keep(d, n) ((void)0)
#define REGISTERS_MORE(n) ((void)0)
#define REGISTERS_LESS(n) ((void)0)

#endif
