/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of kernels/common/mma_gpu.kernel.h, by what the PTX ISA says of lanes and
 * fragments. The lanes of a warp meet at each word but a copy, and read each other's operands
 * where these lie, on the stacks of their fibers. A copy poisons its place at once and lands
 * when its group is waited for: a wait that is missing, and a copy into what is still being
 * read, both show.
 */
#include "races.h"

#include <string.h>

enum { COPIES = 256 /* of a thread under way; one more lands at once */ };

typedef struct copy {
    unsigned char *to;
    const unsigned char *from;
    int bytes, size, group;
} copy;

static struct {
    copy list[COPIES];
    int n, group; /* groups committed */
} of[RACES_THREADS];

void races_tensor_begin(void)
{
    for (int t = 0; t < RACES_THREADS; t++)
        of[t].n = of[t].group = 0;
}

/* ---- matrices from shared memory --------------------------------------------------------- */

void races_ldmatrix(uint32_t *r, int n, int trans, const void *row);

void races_ldmatrix(uint32_t *r, int n, int trans, const void *row)
{
    static uint16_t of_lane[RACES_THREADS][8];
    const int me = races_thread, first = me / RACES_WARP * RACES_WARP, lane = me - first;
    const int g = lane / 4, t = lane % 4;
    races_pause(RACES_WARPS, RACES_HERE);
    if (lane < 8 * n) {
        if ((uintptr_t)row % 16)
            races_report("a misaligned row of a matrix", RACES_HERE, 0, -1);
        races_reads(row, 16, true, RACES_HERE);
        memcpy(of_lane[me], row, 16);
    }
    races_pause(RACES_WARPS, RACES_HERE);
    for (int m = 0; m < n; m++) {
        const uint16_t(*rows)[8] = &of_lane[first + 8 * m];
        r[m] = trans ? rows[2 * t][g] | (uint32_t)rows[2 * t + 1][g] << 16
                     : rows[g][2 * t] | (uint32_t)rows[g][2 * t + 1] << 16;
    }
}

/* ---- products ---------------------------------------------------------------------------- */

typedef struct operands {
    const uint32_t *a, *b; /* of a lane: fragments of 4 words and of 2 */
} operands;

/* Row `row` of A's i-th fragments. */
static void row_of_a(int type, const operands *warp, int i, int row, races_row *to)
{
    uint32_t word[RACES_DEPTH];
    for (int w = 0; w < RACES_DEPTH; w++)
        word[w] = warp[row % 8 * 4 + w % 4].a[4 * i + row / 8 + w / 4 * 2];
    races_expand(type, true, word, to);
}

/* Column `col` of B's j-th. */
static void column_of_b(int type, const operands *warp, int j, int col, races_row *to)
{
    uint32_t word[RACES_DEPTH];
    for (int w = 0; w < RACES_DEPTH; w++)
        word[w] = warp[col * 4 + w % 4].b[2 * j + w / 4];
    races_expand(type, false, word, to);
}

void races_mma(int type, int mt, int nt, void *sums, const uint32_t *a, const uint32_t *b);

void races_mma(int type, int mt, int nt, void *sums, const uint32_t *a, const uint32_t *b)
{
    static operands all[RACES_THREADS];
    const int me = races_thread, lane = me % RACES_WARP;
    const operands *warp = &all[me - lane];
    races_sum *d = sums;
    all[me] = (operands){a, b};
    races_pause(RACES_WARPS, RACES_HERE);
    for (int i = 0; i < mt; i++) {
        races_row x[2], y;
        for (int half = 0; half < 2; half++)
            row_of_a(type, warp, i, lane / 4 + 8 * half, &x[half]);
        for (int j = 0; j < nt; j++, d += 4)
            for (int side = 0; side < 2; side++) {
                column_of_b(type, warp, j, lane % 4 * 2 + side, &y);
                for (int half = 0; half < 2; half++)
                    d[2 * half + side] = races_dot(type, d[2 * half + side], &x[half], &y);
            }
    }
    races_pause(RACES_WARPS, RACES_HERE); /* others may still read this lane's operands */
}

/* ---- copies ------------------------------------------------------------------------------ */

void races_cp_async(void *to, const void *from, int bytes, int size);
void races_cp_async_commit(void);
void races_cp_async_wait(int newest);

static void land(const copy *c, const void *place)
{
    if (c->bytes > 0) /* else `from` may be anywhere */
        races_reads(c->from, (size_t)c->bytes, false, place);
    races_writes(c->to, (size_t)c->size, place);
    memcpy(c->to, c->from, (size_t)c->bytes);
    memset(c->to + c->bytes, 0, (size_t)(c->size - c->bytes));
}

void races_cp_async(void *to, const void *from, int bytes, int size)
{
    const int me = races_thread;
    const copy c = {to, from, bytes < size ? bytes : size, size, of[me].group};
    if ((uintptr_t)to % (uintptr_t)size || (uintptr_t)from % (uintptr_t)size)
        races_report("a misaligned copy", RACES_HERE, 0, size);
    if (of[me].n == COPIES) {
        land(&c, RACES_HERE);
        return;
    }
    races_writes(to, (size_t)size, RACES_HERE);
    memset(to, 255, (size_t)size);
    of[me].list[of[me].n++] = c;
}

void races_cp_async_commit(void)
{
    of[races_thread].group++;
}

void races_cp_async_wait(int newest)
{
    copy *list = of[races_thread].list;
    const int n = of[races_thread].n, end = of[races_thread].group - newest;
    int done = 0;
    for (; done < n && list[done].group < end; done++)
        land(&list[done], RACES_HERE);
    memmove(list, list + done, (size_t)(n - done) * sizeof *list);
    of[races_thread].n = n - done;
}
