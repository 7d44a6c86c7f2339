/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks at work: a fiber for each thread, in rounds. In a round every thread that can goes on
 * to its next word of waiting, in the order of their numbers, the other way round or at random;
 * some warps are left out now and then. Barriers open between rounds, once all have come, and
 * shared memory is poisoned before the first one. Fibers are kept from block to block and switched
 * by _setjmp and _longjmp, which cost no system call.
 */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 1 << 20, PATIENCE = 2000 /* rounds in which nothing happens */ };
enum { INTEGERS = 6, FLOATS = 8, WORDS = 256 };

/* Arguments as x86-64 has them: six integers and eight floats in registers, all others and
 * structures in memory, one behind the other. */
typedef struct memory {
    uint64_t word[WORDS];
} memory;

typedef void function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                      double, double, double, double, double, double, double, memory);

typedef struct fiber {
    char *stack;
    bool begun;
    ucontext_t first;
    jmp_buf at;
    races_state state;
    const void *place;
    uint32_t turn;
} fiber;

races_launch races_now;
int races_thread = -1;

static fiber fibers[RACES_THREADS];
static jmp_buf scheduler;
static uint32_t clock_, interval[RACES_CLUSTER];
static uint64_t integer[INTEGERS];
static double real[FLOATS];
static memory rest;
static uint64_t seed = 88172645463325252u;

uint64_t races_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Of each access it is asked, and a division takes long. */
int races_rank(void)
{
    return races_now.blocks > 1 ? races_thread / races_now.threads : 0;
}

uint32_t races_interval(void)
{
    return interval[races_rank()];
}

uint32_t races_turn(void)
{
    return fibers[races_thread].turn;
}

bool races_on_stack(const char *p)
{
    const char *stack = fibers[races_thread].stack;
    return p >= stack && p < stack + STACK;
}

static int all(void)
{
    return races_now.threads * races_now.blocks;
}

/* ---- switching --------------------------------------------------------------------------- */

static void read_args(void)
{
    const struct cl_kernel_tag *k = races_now.kernel;
    int n = 0, f = 0, w = 0;
    for (int i = 0; i < RACES_ARGS && k->arg[i].size; i++) {
        const races_arg *a = &k->arg[i];
        uint64_t word = 0;
        memcpy(&word, a->value, a->size < 8 ? a->size : 8);
        if (a->buffer)
            word = (uint64_t)a->buffer->data;
        if (a->size == 8 && n < INTEGERS)
            integer[n++] = word;
        else if (a->size == 4 && f < FLOATS)
            memcpy(&real[f++], &word, 8);
        else if (a->size <= 8)
            rest.word[w++] = word;
        else {
            memcpy(&rest.word[w], a->value, a->size);
            w += (int)(a->size + 7) / 8;
        }
    }
}

static void body(void)
{
    for (;;) {
        function *f;
        memcpy(&f, &races_now.kernel->function, sizeof f);
        f(integer[0], integer[1], integer[2], integer[3], integer[4], integer[5], real[0],
          real[1], real[2], real[3], real[4], real[5], real[6], real[7], rest);
        races_pause(RACES_GONE, NULL);
    }
}

void races_pause(races_state state, const void *place)
{
    fiber *f = &fibers[races_thread];
    f->state = state;
    f->place = place;
    if (_setjmp(f->at) == 0)
        _longjmp(scheduler, 1);
}

/* Blocks in turns have the module's shared memory each for itself: that of the one at work is in
 * its place, those of others are held. */
static char *held[RACES_CLUSTER];
static int in_place;

static void poison_shared(void)
{
    const struct cl_program_tag *p = races_now.kernel->program;
    const size_t bytes = p->last - p->first;
    memset((void *)p->first, 255, bytes);
    in_place = 0;
    for (int r = 0; r < RACES_CLUSTER; r++) {
        free(held[r]);
        held[r] = NULL;
        if (!races_now.apart || r >= races_now.blocks)
            continue;
        held[r] = ot_alloc(bytes + 1);
        memset(held[r], 255, bytes);
    }
}

static void take_shared(int rank)
{
    const struct cl_program_tag *p = races_now.kernel->program;
    if (!races_now.apart || rank == in_place)
        return;
    memcpy(held[in_place], (void *)p->first, p->last - p->first);
    memcpy((void *)p->first, held[rank], p->last - p->first);
    in_place = rank;
}

static void go_on(int thread)
{
    fiber *f = &fibers[thread];
    races_thread = thread;
    take_shared(races_rank());
    f->state = RACES_READY;
    if (_setjmp(scheduler) == 0) {
        if (f->begun)
            _longjmp(f->at, 1);
        f->begun = true;
        setcontext(&f->first);
    }
    races_thread = -1;
}

static void prepare(fiber *f)
{
    if (!f->stack) {
        f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->stack == MAP_FAILED)
            abort();
    }
    if (!f->begun) {
        getcontext(&f->first);
        f->first.uc_stack.ss_sp = f->stack;
        f->first.uc_stack.ss_size = STACK;
        makecontext(&f->first, body, 0);
    }
    f->state = RACES_READY;
    f->turn = 0;
}

/* ---- rounds ------------------------------------------------------------------------------ */

static void shuffle(int *order, int n, int way)
{
    for (int i = 0; i < n && way == 1; i++)
        order[i] = n - 1 - i;
    for (int i = n - 1; i > 0 && way == 2; i--) {
        const int j = (int)(races_random() % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Whether anybody did more than ask again. */
static bool round_of(const int *order, int n)
{
    const uint32_t left_out = races_random() % 3 ? (uint32_t)races_random() : 0;
    bool any = races_land();
    for (int i = 0; i < n; i++) {
        fiber *f = &fibers[order[i]];
        if (f->state != RACES_READY && f->state != RACES_WAITS)
            continue;
        any = any || f->state == RACES_READY;
        if (left_out >> (order[i] / RACES_WARP % 32) & 1)
            continue;
        go_on(order[i]);
        any = any || f->state != RACES_WAITS;
    }
    return any;
}

typedef struct crowd {
    int waiting, gone;
    const void *place; /* of the last one */
    bool one_place;
} crowd;

static crowd look(int first, int n, races_state state)
{
    crowd c = {.one_place = true};
    for (int t = first; t < first + n; t++)
        if (fibers[t].state == state) {
            c.one_place = c.one_place && (!c.place || c.place == fibers[t].place);
            c.place = fibers[t].place;
            c.waiting++;
        } else {
            c.gone += fibers[t].state == RACES_GONE;
        }
    return c;
}

/* Opens what all of these wait for; `what` names it where some are gone or stand elsewhere. */
static bool open_for(int first, int n, races_state state, const char *what)
{
    const crowd c = look(first, n, state);
    char text[80];
    if (c.waiting == 0 || c.waiting + c.gone < n)
        return false;
    races_thread = first;
    snprintf(text, sizeof text, "%s that %s", what,
             c.gone ? "some have left" : "is met at several places");
    if (c.gone || !c.one_place)
        races_report(text, c.place, 0, c.gone ? c.gone : -1);
    races_thread = -1;
    for (int t = first; t < first + n; t++)
        if (fibers[t].state == state)
            fibers[t].state = RACES_READY;
    return true;
}

static bool open_warps(int n)
{
    bool any = false;
    for (int t = 0; t < n; t += RACES_WARP) {
        const int end = t + RACES_WARP < n ? t + RACES_WARP : n;
        if (!open_for(t, end - t, RACES_WARPS, "a word of a warp"))
            continue;
        for (int i = t; i < end; i++)
            fibers[i].turn++;
        any = true;
    }
    return any;
}

static bool open_blocks(void)
{
    const int n = races_now.threads;
    bool any = false;
    for (int r = 0; r < races_now.blocks; r++)
        if (open_for(r * n, n, RACES_BARRIER, "a barrier")) {
            interval[r] = ++clock_;
            any = true;
        }
    if (open_for(0, all(), RACES_ALL, "a barrier of the cluster")) {
        for (int r = 0; r < races_now.blocks; r++)
            interval[r] = ++clock_;
        any = true;
    }
    return any;
}

bool races_block_gone(int rank)
{
    const int n = races_now.threads;
    return look(rank * n, n, RACES_GONE).waiting == n;
}

/* Those that have not come to an end begin anew. */
static void give_up(int n)
{
    for (int t = 0; t < n; t++)
        if (fibers[t].state != RACES_GONE) {
            races_thread = t;
            races_report("nobody can go on", fibers[t].place, 0, -1);
            fibers[t].begun = false;
        }
    races_thread = -1;
}

bool races_run(void)
{
    static int order[RACES_THREADS];
    const int n = all(), way = (int)(races_random() % 3);
    read_args();
    poison_shared();
    for (int t = 0; t < n; t++) {
        prepare(&fibers[t]);
        order[t] = t;
    }
    races_now.started = clock_ + 1;
    for (int r = 0; r < races_now.blocks; r++)
        interval[r] = ++clock_;
    races_warpgroups_begin();
    for (int idle = 0; look(0, n, RACES_GONE).waiting < n;) {
        shuffle(order, n, way);
        const bool ran = round_of(order, n);
        const bool opened = open_warps(n) || open_blocks();
        idle = ran || opened || races_copies_left() ? 0 : idle + 1;
        if (idle > PATIENCE) {
            give_up(n);
            return false;
        }
    }
    races_warpgroups_end();
    return true;
}
