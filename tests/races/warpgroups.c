/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of kernels/common/wgmma_gpu.kernel.h for roles that run side by side, by what the
 * PTX ISA says; products.c has those that multiply. A copy poisons its place at once and lands
 * between two rounds, later ones sometimes before earlier ones; a store reads when it is waited
 * for. So what is read before it is there, or written while it is still read, is wrong or
 * reported. The blocks of a cluster are at work at once, each with shared memory of its own,
 * which only these words read and write; its addresses start at 0.
 */
#include "races.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = 1024 /* WARPGROUP_SLACK, where places begin */ };
enum { BARRIERS = 256, COPIES = 4096, STORES = 4096 };
enum { MOST_BYTES = (1 << 20) - 1 /* a barrier counts */ };

typedef struct map {
    int64_t rank, element, swizzle, tf32, pixels, dim[5], stride[5], box[5], low[2], high[2],
        step[2];
} map;

typedef struct barrier {
    int rank;
    uint32_t address, expected, pending, phase;
    int64_t bytes;
} barrier;

/* A box of a tensor and where it lies in shared memory; a store's until its wait. */
typedef struct box {
    int rank, thread, group; /* group -1: not committed */
    unsigned char *tensor;
    map map;
    int x, y, z;
    int image, dx, dy; /* of pixels, whose channel, x and y are x, y and z */
    uint32_t at, barrier;
} box;

static unsigned char *pool[RACES_CLUSTER];
static int pool_bytes;
static barrier barriers[BARRIERS];
static box copies[COPIES], stores[STORES];
static int n_barriers, n_copies, n_stores;
static int committed[RACES_THREADS]; /* groups of stores */
static bool counted;                 /* since the last round */

static const void *here; /* where the body calls a word; NULL: the copy engine is at work */
#define REPORT(what, number) races_report(what, here, 0, number)

void races_warpgroups_begin(void)
{
    memset(committed, 0, sizeof committed);
    n_barriers = n_copies = n_stores = 0;
    for (int r = 0; r < RACES_CLUSTER; r++) {
        free(pool[r]);
        pool[r] = NULL;
    }
    races_products_begin();
    races_tensor_begin();
}

void races_warpgroups_end(void)
{
    races_thread = 0;
    if (n_copies)
        races_report("left with copies under way", NULL, 0, n_copies);
    if (n_stores)
        races_report("left with stores under way", NULL, 0, n_stores);
    if (races_products_left())
        races_report("left with products under way", NULL, 0, -1);
    races_thread = -1;
}

const unsigned char *races_pool_of(int rank, int *bytes)
{
    *bytes = pool_bytes;
    return pool[rank];
}

bool races_in_pool(const char *p)
{
    for (int r = 0; r < races_now.blocks; r++)
        if (pool[r] && p >= (char *)pool[r] && p < (char *)pool[r] + pool_bytes)
            return true;
    return false;
}

uint32_t races_pool(int bytes);
const unsigned char *races_shared(uint32_t address);

/* The block's own, from which it uses what is behind the first 1024 bytes. */
uint32_t races_pool(int bytes)
{
    const int r = races_rank();
    if (pool[r])
        return BASE;
    pool_bytes = bytes;
    pool[r] = malloc((size_t)bytes);
    if (!pool[r])
        abort();
    memset(pool[r], 255, (size_t)bytes);
    return BASE;
}

const unsigned char *races_shared(uint32_t address)
{
    return pool[races_rank()] + address;
}

/* ---- barriers in shared memory ----------------------------------------------------------- */

static barrier *barrier_at(int rank, uint32_t address)
{
    static barrier none;
    for (int i = 0; i < n_barriers; i++)
        if (barriers[i].rank == rank && barriers[i].address == address)
            return &barriers[i];
    REPORT("an mbarrier that nobody initialised", (int)address);
    return &none;
}

static void count(int rank, uint32_t address, int threads, int64_t bytes)
{
    barrier *b = barrier_at(rank, address);
    if (races_block_gone(rank))
        REPORT("an arrival at a block that left", rank);
    if ((int64_t)b->pending < threads)
        REPORT("more arrivals than an mbarrier expects", (int)address);
    b->pending -= (uint32_t)threads;
    b->bytes += bytes;
    counted = true;
    if (b->bytes > MOST_BYTES || b->bytes < -MOST_BYTES)
        REPORT("more bytes than an mbarrier can count", (int)address);
    if (b->pending == 0 && b->bytes == 0) {
        b->pending = b->expected;
        b->phase ^= 1;
    }
}

void races_mbarrier_init(uint32_t address, int threads);
void races_mbarrier_count(int block, uint32_t address, int threads, int bytes);
void races_mbarrier_wait(uint32_t address, uint32_t parity);

void races_mbarrier_init(uint32_t address, int threads)
{
    here = RACES_HERE;
    if (n_barriers == BARRIERS)
        abort();
    if (address % 8 || (int64_t)address + 8 > pool_bytes)
        REPORT("an mbarrier outside or misaligned", (int)address);
    barriers[n_barriers++] = (barrier){.rank = races_rank(),
                                       .address = address,
                                       .expected = (uint32_t)threads,
                                       .pending = (uint32_t)threads};
}

void races_mbarrier_count(int block, uint32_t address, int threads, int bytes)
{
    here = RACES_HERE;
    count(block < 0 ? races_rank() : block, address, threads, bytes);
}

void races_mbarrier_wait(uint32_t address, uint32_t parity)
{
    if (races_random() % 4 == 0)
        races_pause(RACES_WAITS, RACES_HERE);
    for (;;) {
        here = RACES_HERE;
        if (barrier_at(races_rank(), address)->phase != parity)
            return;
        races_pause(RACES_WAITS, RACES_HERE);
    }
}

/* ---- boxes ------------------------------------------------------------------------------- */

static int bytes_of(const map *m)
{
    return (int)(m->element * m->box[0] *
                 (m->pixels ? m->pixels : m->box[1] * (m->rank > 2 ? m->box[2] : 1)));
}

static bool meets(uint32_t a, int a_bytes, uint32_t b, int b_bytes)
{
    return a < b + (uint32_t)b_bytes && b < a + (uint32_t)a_bytes;
}

/* Where byte `at` of a box lies. */
static unsigned char *byte_of(const box *b, int at)
{
    const uint32_t address = b->at + (uint32_t)at;
    return &pool[b->rank][b->map.swizzle == 128 ? address ^ (address >> 7 & 7) << 4 : address];
}

/* Element (i, j, k) of the tensor in bytes; negative: outside. */
static int64_t element_of(const map *m, int64_t i, int64_t j, int64_t k)
{
    const bool inside = i >= 0 && i < m->dim[0] && j >= 0 && j < m->dim[1] && k >= 0 &&
                        (m->rank < 3 || k < m->dim[2]);
    return inside ? i * m->element + j * m->stride[1] + k * m->stride[2] : -1;
}

/* One element of the box between the tensor and shared memory; `at`, its byte there. */
static void move_element(const box *b, int64_t element, int at, bool out)
{
    const int n = (int)b->map.element;
    uint32_t word = 0;
    for (int i = 0; out && i < n && element >= 0; i++)
        b->tensor[element + i] = *byte_of(b, at + i);
    if (out)
        return;
    if (element >= 0)
        memcpy(&word, b->tensor + element, (size_t)n);
    if (b->map.tf32)
        word = races_tf32(word);
    for (int i = 0; i < n; i++)
        *byte_of(b, at + i) = (unsigned char)(word >> 8 * i);
}

/* Pixels one after the other, each where its tap looks; what is outside there is zeros. */
static void move_pixels(const box *b)
{
    const map *m = &b->map;
    int64_t x = b->y, y = b->z, image = b->image;
    int at = 0;
    for (int64_t p = 0; p < m->pixels; p++) {
        const bool inside = image >= 0 && image < m->dim[3];
        for (int64_t i = b->x; i < b->x + m->box[0]; i++, at += (int)m->element) {
            const int64_t element =
                inside && i >= 0 && i < m->dim[0] && x + b->dx >= 0 && x + b->dx < m->dim[1] &&
                        y + b->dy >= 0 && y + b->dy < m->dim[2]
                    ? i * m->element + (x + b->dx) * m->stride[1] + (y + b->dy) * m->stride[2] +
                          image * m->stride[3]
                    : -1;
            move_element(b, element, at, false);
        }
        x += m->step[0];
        if (x < m->dim[1] + m->high[0])
            continue;
        x = m->low[0];
        y += m->step[1];
        if (y < m->dim[2] + m->high[1])
            continue;
        y = m->low[1];
        image++;
    }
}

static void move_box(const box *b, bool out)
{
    const map *m = &b->map;
    if (m->pixels) {
        move_pixels(b);
        return;
    }
    const int64_t deep = m->rank > 2 ? m->box[2] : 1;
    int at = 0;
    for (int64_t k = b->z; k < b->z + deep; k++)
        for (int64_t j = b->y; j < b->y + m->box[1]; j++)
            for (int64_t i = b->x; i < b->x + m->box[0]; i++, at += (int)m->element)
                move_element(b, element_of(m, i, j, k), at, out);
}

static void drop(box *list, int *n, int i)
{
    memmove(&list[i], &list[i + 1], (size_t)(--*n - i) * sizeof *list);
}

/* ---- copies and stores ------------------------------------------------------------------- */

void races_copy(int blocks, uint32_t to, unsigned char *tensor, const map *m, int x, int y,
                int z, uint32_t bar);
void races_copy_pixels(int blocks, uint32_t to, unsigned char *tensor, const map *m,
                       int channel, int x, int y, int image, int dx, int dy, uint32_t bar);
void races_store(unsigned char *tensor, const map *m, int x, int y, int z, uint32_t from);
void races_stores_commit(void);
void races_stores_wait(int newest);
void races_shared_write(uint32_t address, uint32_t word);

int races_copying(int rank, uint32_t at, int bytes)
{
    for (int i = 0; i < n_copies; i++)
        if (copies[i].rank == rank && meets(copies[i].at, bytes_of(&copies[i].map), at, bytes))
            return copies[i].thread;
    return -1;
}

/* Products and stores of a block that still read there. */
static void check_free(int rank, uint32_t at, int bytes)
{
    const int multiplies = races_multiplying(rank, at, bytes);
    if (multiplies >= 0)
        REPORT("a write to what a product still reads", multiplies);
    for (int i = 0; i < n_stores; i++)
        if (stores[i].rank == rank && meets(stores[i].at, bytes_of(&stores[i].map), at, bytes))
            REPORT("a write to what a store still reads", stores[i].thread);
}

/* Into all blocks of the cluster, or its own alone. */
static void begin_copy(const box *copy, int blocks)
{
    const map *m = &copy->map;
    const int bytes = bytes_of(m);
    if (copy->at % 128 || (int64_t)copy->at + bytes > pool_bytes) {
        REPORT("a copy to outside or to a misaligned place", (int)copy->at);
        return;
    }
    for (int r = 0; r < races_now.blocks; r++) {
        if (blocks == 1 && r != races_rank())
            continue;
        if (!pool[r]) {
            REPORT("a copy into a block that has not begun", r);
            continue;
        }
        check_free(r, copy->at, bytes);
        if (n_copies == COPIES)
            abort();
        copies[n_copies] = *copy;
        copies[n_copies++].rank = r;
        memset(pool[r] + copy->at, 255, (size_t)bytes);
    }
    counted = true;
}

void races_copy(int blocks, uint32_t to, unsigned char *tensor, const map *m, int x, int y,
                int z, uint32_t bar)
{
    here = RACES_HERE;
    if (m->pixels || m->box[0] * m->element > 128 || m->box[0] * m->element % 16 ||
        m->box[1] > 256)
        REPORT("a box that the copy engine does not take", (int)m->box[0]);
    begin_copy(&(box){.thread = races_thread,
                      .tensor = tensor,
                      .map = *m,
                      .x = x,
                      .y = y,
                      .z = z,
                      .at = to,
                      .barrier = bar},
               blocks);
}

static bool on_grid(const map *m, int d, int at)
{
    return at >= m->low[d] && at < m->dim[d + 1] + m->high[d] &&
           (at - m->low[d]) % m->step[d] == 0;
}

void races_copy_pixels(int blocks, uint32_t to, unsigned char *tensor, const map *m,
                       int channel, int x, int y, int image, int dx, int dy, uint32_t bar)
{
    here = RACES_HERE;
    if (!m->pixels || m->pixels > 1024 || m->box[0] * m->element > 128 ||
        m->box[0] * m->element % 16)
        REPORT("pixels that the copy engine does not take", (int)m->box[0]);
    if (!on_grid(m, 0, x) || !on_grid(m, 1, y))
        REPORT("pixels that begin where none is", y);
    if (dx < 0 || dx > 255 || dy < 0 || dy > 255)
        REPORT("pixels moved by more than a byte", dy);
    begin_copy(&(box){.thread = races_thread,
                      .tensor = tensor,
                      .map = *m,
                      .x = channel,
                      .y = x,
                      .z = y,
                      .image = image,
                      .dx = dx,
                      .dy = dy,
                      .at = to,
                      .barrier = bar},
               blocks);
}

bool races_copies_left(void)
{
    return n_copies > 0;
}

bool races_land(void)
{
    const uint64_t chance = 1 + races_random() % 4;
    here = NULL;
    for (int i = 0; i < n_copies;) {
        if (races_random() % chance) {
            i++;
            continue;
        }
        const box b = copies[i];
        drop(copies, &n_copies, i);
        races_thread = b.thread;
        if (races_block_gone(b.rank))
            REPORT("a copy into a block that left", b.rank);
        move_box(&b, false);
        count(b.rank, b.barrier, 0, -bytes_of(&b.map));
        races_thread = -1;
    }
    const bool any = counted;
    counted = false;
    return any;
}

void races_store(unsigned char *tensor, const map *m, int x, int y, int z, uint32_t from)
{
    here = RACES_HERE;
    if (from % 128 || (int64_t)from + bytes_of(m) > pool_bytes) {
        REPORT("a store from outside or from a misaligned place", (int)from);
        return;
    }
    if (n_stores == STORES)
        abort();
    stores[n_stores++] = (box){.rank = races_rank(),
                               .thread = races_thread,
                               .group = -1,
                               .tensor = tensor,
                               .map = *m,
                               .x = x,
                               .y = y,
                               .z = z,
                               .at = from};
}

void races_stores_commit(void)
{
    const int group = committed[races_thread]++;
    for (int i = 0; i < n_stores; i++)
        if (stores[i].thread == races_thread && stores[i].group < 0)
            stores[i].group = group;
}

void races_stores_wait(int newest)
{
    const int end = committed[races_thread] - newest;
    for (int i = 0; i < n_stores;) {
        const box *s = &stores[i];
        if (s->thread != races_thread || s->group < 0 || s->group >= end) {
            i++;
            continue;
        }
        move_box(s, true);
        drop(stores, &n_stores, i);
    }
}

void races_shared_write(uint32_t address, uint32_t word)
{
    here = RACES_HERE;
    if (address % 4 || (int64_t)address + 4 > pool_bytes) {
        REPORT("a write of shared memory outside or misaligned", (int)address);
        return;
    }
    check_free(races_rank(), address, 4);
    memcpy(pool[races_rank()] + address, &word, 4);
}
