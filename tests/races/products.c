/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of warpgroups, by what the PTX ISA says of a matrix descriptor and of the result's
 * layout. A product computes when it is waited for; what it is made of must have come by then
 * and not be written before. Copies and stores are warpgroups.c's.
 */
#include "races.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCTS = 64 /* of a thread under way */, ROW = 128 };

typedef struct product {
    int type, n, add, group; /* group -1: not committed */
    void *d;
    uint64_t a, b; /* descriptors */
} product;

static struct {
    product list[PRODUCTS];
    int n, group; /* groups committed */
} of[RACES_THREADS];

void races_products_begin(void)
{
    memset(of, 0, sizeof of);
}

bool races_products_left(void)
{
    for (int t = 0; t < RACES_THREADS; t++)
        if (of[t].n)
            return true;
    return false;
}

/* ---- operands ---------------------------------------------------------------------------- */

static uint32_t start_of(uint64_t rows)
{
    return (uint32_t)(rows & 0x3FFF) << 4;
}

static uint32_t group_of(uint64_t rows)
{
    return (uint32_t)(rows >> 32 & 0x3FFF) << 4;
}

/* Where the tile begins: a step along the depth starts inside its first row. */
static uint32_t tile_of(uint64_t rows)
{
    return start_of(rows) / ROW * ROW;
}

static bool reads_of(const product *p, uint32_t at, int bytes)
{
    const uint32_t a = tile_of(p->a), b = tile_of(p->b), end = at + (uint32_t)bytes;
    return (a < end && at < a + 64 * ROW) || (b < end && at < b + (uint32_t)p->n * ROW);
}

int races_multiplying(int rank, uint32_t at, int bytes)
{
    for (int t = rank * races_now.threads; t < (rank + 1) * races_now.threads; t++)
        for (int i = 0; i < of[t].n; i++)
            if (reads_of(&of[t].list[i], at, bytes))
                return t;
    return -1;
}

/* ---- words ------------------------------------------------------------------------------- */

void races_product(int type, int n, void *d, uint64_t a, uint64_t b, int add);
void races_products_commit(void);
void races_products_wait(int newest);

/* 4 bytes at depth 4 k of a row. */
static uint32_t word_at(const unsigned char *pool, uint64_t rows, int row, int k)
{
    uint32_t word, address = start_of(rows) + (uint32_t)(row / 8) * group_of(rows) +
                             (uint32_t)(row % 8) * ROW + 4 * (uint32_t)k;
    address ^= (address >> 7 & 7) << 4;
    memcpy(&word, pool + address, 4);
    return word;
}

static float as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

races_sum races_step(int type, races_sum s, uint32_t a, uint32_t b)
{
    for (int h = 0; type == 0 && h < 32; h += 16)
        s.f = fmaf(races_float_of_half((uint16_t)(a >> h)),
                   races_float_of_half((uint16_t)(b >> h)), s.f);
    for (int h = 0; type == 1 && h < 32; h += 16)
        s.f = fmaf(as_float(a >> h << 16), as_float(b >> h << 16), s.f);
    if (type == 2)
        s.f = fmaf(as_float(a & 0xFFFFE000), as_float(b & 0xFFFFE000), s.f);
    for (int h = 0; type == 3 && h < 32; h += 8)
        s.i += (int8_t)(a >> h) * (int8_t)(b >> h);
    return s;
}

static void check_there(const product *p, const void *place)
{
    int from = races_copying(races_rank(), tile_of(p->a), 64 * ROW);
    if (from < 0)
        from = races_copying(races_rank(), tile_of(p->b), p->n * ROW);
    if (from >= 0)
        races_report("a product of what a copy has not brought yet", place, 0, from);
}

/* Of a warpgroup's result, what this thread holds. */
static void compute(const product *p)
{
    const int warp = races_thread / 32 % 4, lane = races_thread % 32;
    int bytes;
    const unsigned char *pool = races_pool_of(races_rank(), &bytes);
    races_sum *d = p->d;
    for (int r = 0; r < p->n / 2; r++) {
        const int row = 16 * warp + lane / 4 + r / 2 % 2 * 8;
        const int col = r / 4 * 8 + lane % 4 * 2 + r % 2;
        races_sum s = {0};
        if (p->add)
            s = d[r];
        for (int k = 0; k < 8; k++)
            s = races_step(p->type, s, word_at(pool, p->a, row, k),
                           word_at(pool, p->b, col, k));
        d[r] = s;
    }
}

void races_product(int type, int n, void *d, uint64_t a, uint64_t b, int add)
{
    int pool_bytes;
    races_pool_of(races_rank(), &pool_bytes);
    const product p = {.type = type, .n = n, .add = add, .group = -1, .d = d, .a = a, .b = b};
    const int64_t end_a = tile_of(a) + 64 * ROW, end_b = tile_of(b) + (int64_t)n * ROW;
    if (a >> 62 != 1 || b >> 62 != 1 || end_a > pool_bytes || end_b > pool_bytes) {
        races_report("a product of what is no tile", RACES_HERE, 0, n);
        return;
    }
    if (of[races_thread].n == PRODUCTS)
        abort();
    of[races_thread].list[of[races_thread].n++] = p;
}

void races_products_commit(void)
{
    const int group = of[races_thread].group++;
    for (int i = 0; i < of[races_thread].n; i++)
        if (of[races_thread].list[i].group < 0)
            of[races_thread].list[i].group = group;
}

void races_products_wait(int newest)
{
    product *list = of[races_thread].list;
    const int n = of[races_thread].n, end = of[races_thread].group - newest;
    int done = 0;
    for (; done < n && list[done].group >= 0 && list[done].group < end; done++) {
        check_there(&list[done], RACES_HERE);
        compute(&list[done]);
    }
    memmove(list, list + done, (size_t)(n - done) * sizeof *list);
    of[races_thread].n = n - done;
    races_pause(RACES_WARPS, RACES_HERE);
}
