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

enum { PRODUCTS = 64 /* of a thread under way */, ROW = 128, RANGES = 8 };

typedef struct product {
    int type, n, add, group; /* group -1: not committed */
    void *d;
    uint64_t a, b;        /* descriptors */
    const uint32_t *held; /* A of this thread, else NULL; B lies across rows then */
} product;

typedef struct range {
    uint32_t at, bytes;
} range;

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

/* From 64 columns to the next, where B lies across rows. */
static uint32_t panel_of(uint64_t rows)
{
    return (uint32_t)(rows >> 16 & 0x3FFF) << 4;
}

/* What a product reads of shared memory. */
static int ranges_of(const product *p, range *r)
{
    int n = 0;
    if (!p->held) {
        r[n++] = (range){tile_of(p->a), 64 * ROW};
        r[n++] = (range){tile_of(p->b), (uint32_t)p->n * ROW};
    }
    for (int i = 0; p->held && i < p->n / 32; i++) /* 8 depths of 64 columns */
        r[n++] = (range){start_of(p->b) + (uint32_t)(i / 2) * panel_of(p->b) +
                             (uint32_t)(i % 2) * group_of(p->b),
                         8 * ROW};
    return n;
}

static bool reads_of(const product *p, uint32_t at, int bytes)
{
    range r[RANGES];
    for (int i = ranges_of(p, r); i-- > 0;)
        if (r[i].at < at + (uint32_t)bytes && at < r[i].at + r[i].bytes)
            return true;
    return false;
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
void races_product_held(int type, int n, void *d, const uint32_t *a, uint64_t b, int add);
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

/* Column `col` at depths 2 k, 2 k + 1, of 16-bit elements across rows. */
static uint32_t across_at(const unsigned char *pool, uint64_t rows, int col, int k)
{
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
        const int depth = 2 * k + i;
        uint16_t half;
        uint32_t address = start_of(rows) + (uint32_t)(col / 64) * panel_of(rows) +
                           (uint32_t)(depth / 8) * group_of(rows) +
                           (uint32_t)(depth % 8) * ROW + (uint32_t)(col % 64) * 2;
        address ^= (address >> 7 & 7) << 4;
        memcpy(&half, pool + address, 2);
        word |= (uint32_t)half << 16 * i;
    }
    return word;
}

static float as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

void races_expand(int type, bool left, const uint32_t *word, races_row *to)
{
    int n = 0;
    for (int k = 0; k < RACES_DEPTH; k++)
        for (int h = 0; h < 32; h += type == 2 ? 32 : type < 2 ? 16 : 8) {
            const uint32_t bits = word[k] >> h;
            if (type == 0)
                to->f[n++] = races_float_of_half((uint16_t)bits);
            else if (type == 1)
                to->f[n++] = as_float(bits << 16);
            else if (type == 2)
                to->f[n++] = as_float(bits & 0xFFFFE000);
            else
                to->i[n++] = type == 4 && left ? (uint8_t)bits : (int8_t)bits;
        }
}

static inline __attribute__((always_inline)) float chain(float s, const float *a,
                                                         const float *b, int n)
{
    for (int k = 0; k < n; k++)
        s = fmaf(a[k], b[k], s);
    return s;
}

/* By instructions, where there are such: without them each is a call. */
__attribute__((target("fma"))) static float chain_fused(float s, const float *a, const float *b,
                                                        int n)
{
    return chain(s, a, b, n);
}

races_sum races_dot(int type, races_sum s, const races_row *a, const races_row *b)
{
    const int n = type == 2 ? RACES_DEPTH : 2 * RACES_DEPTH;
    if (type < 3)
        s.f = __builtin_cpu_supports("fma") ? chain_fused(s.f, a->f, b->f, n)
                                            : chain(s.f, a->f, b->f, n);
    for (int k = 0; type >= 3 && k < 4 * RACES_DEPTH; k++)
        s.i += a->i[k] * b->i[k];
    return s;
}

static void check_there(const product *p, const void *place)
{
    range r[RANGES];
    for (int i = ranges_of(p, r); i-- > 0;) {
        const int from = races_copying(races_rank(), r[i].at, (int)r[i].bytes);
        if (from >= 0) {
            races_report("a product of what a copy has not brought yet", place, 0, from);
            return;
        }
    }
}

/* Row `row` of A, of the 16 of this thread's warp. What other threads of the warp hold of it is
 * theirs at the same place `at`. */
static void row_of_a(const product *p, int at, const unsigned char *pool, int row,
                     races_row *to)
{
    const int warp = races_thread / 32 % 4, first = races_thread - races_thread % 4;
    uint32_t word[RACES_DEPTH];
    for (int k = 0; k < RACES_DEPTH; k++)
        word[k] = p->held ? of[first + k % 4].list[at].held[k / 4 * 2 + row / 8]
                          : word_at(pool, p->a, 16 * warp + row, k);
    races_expand(p->type, true, word, to);
}

static void column_of_b(const product *p, const unsigned char *pool, int col, races_row *to)
{
    uint32_t word[RACES_DEPTH];
    for (int k = 0; k < RACES_DEPTH; k++)
        word[k] = p->held ? across_at(pool, p->b, col, k) : word_at(pool, p->b, col, k);
    races_expand(p->type, false, word, to);
}

/* Of a warpgroup's result, what this thread holds, two rows; `at`: which of the products under
 * way. */
static void compute(int at)
{
    const product *p = &of[races_thread].list[at];
    const int lane = races_thread % 32;
    int bytes;
    const unsigned char *pool = races_pool_of(races_rank(), &bytes);
    races_sum *d = p->d;
    races_row a[2], b;
    for (int half = 0; half < 2; half++)
        row_of_a(p, at, pool, lane / 4 + 8 * half, &a[half]);
    for (int i = 0; i < p->n / 4; i++) {
        column_of_b(p, pool, i / 2 * 8 + lane % 4 * 2 + i % 2, &b);
        for (int half = 0; half < 2; half++) {
            races_sum *s = &d[i / 2 * 4 + half * 2 + i % 2];
            *s = races_dot(p->type, p->add ? *s : (races_sum){0}, &a[half], &b);
        }
    }
}

static void begin(const product *p, const void *place)
{
    int pool_bytes;
    range r[RANGES];
    races_pool_of(races_rank(), &pool_bytes);
    bool tile = p->b >> 62 == 1 && (p->held || p->a >> 62 == 1) && p->n <= 256;
    for (int i = tile ? ranges_of(p, r) : 0; i-- > 0;)
        tile = tile && (int64_t)r[i].at + r[i].bytes <= pool_bytes;
    if (p->held && start_of(p->b) % 1024)
        tile = false;
    if (!tile) {
        races_report("a product of what is no tile", place, 0, p->n);
        return;
    }
    if (of[races_thread].n == PRODUCTS)
        abort();
    of[races_thread].list[of[races_thread].n++] = *p;
}

void races_product(int type, int n, void *d, uint64_t a, uint64_t b, int add)
{
    begin(&(product){.type = type, .n = n, .add = add, .group = -1, .d = d, .a = a, .b = b},
          RACES_HERE);
}

void races_product_held(int type, int n, void *d, const uint32_t *a, uint64_t b, int add)
{
    begin(&(product){.type = type, .n = n, .add = add, .group = -1, .d = d, .b = b, .held = a},
          RACES_HERE);
    races_pause(RACES_WARPS, RACES_HERE); /* until all of the warp have begun it */
}

void races_products_commit(void)
{
    const int group = of[races_thread].group++;
    for (int i = 0; i < of[races_thread].n; i++)
        if (of[races_thread].list[i].group < 0)
            of[races_thread].list[i].group = group;
    races_pause(RACES_WARPS, RACES_HERE); /* the warp does it together */
}

void races_products_wait(int newest)
{
    product *list = of[races_thread].list;
    const int n = of[races_thread].n, end = of[races_thread].group - newest;
    int done = 0;
    bool held = false;
    for (; done < n && list[done].group >= 0 && list[done].group < end; done++) {
        check_there(&list[done], RACES_HERE);
        compute(done);
        held = held || list[done].held;
    }
    if (held) /* others still look at what this thread holds */
        races_pause(RACES_WARPS, RACES_HERE);
    memmove(list, list + done, (size_t)(n - done) * sizeof *list);
    of[races_thread].n = n - done;
    races_pause(RACES_WARPS, RACES_HERE);
}
