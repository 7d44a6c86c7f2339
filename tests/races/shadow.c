/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who read and wrote what. clang calls a function here for every access of a body; those to a
 * thread's own stack are passed over, every other one is inside shared memory (the module's
 * variables) or inside a buffer that is an argument, or it is reported. Two accesses to a byte,
 * one of them a write, are in order when a barrier of their block lies between, or when both
 * threads are of one warp and a word of the warp lies between; blocks are never in order. Of the
 * readers since a barrier, two are remembered. A fragment of a product may be read where nobody
 * wrote, as the last one of a loop is, which is not used: poison shows where it is. What a copy
 * engine does is warpgroups.c's.
 */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 64 /* reports of a launch */ };

static struct {
    const char *what;
    const void *place;
    uint32_t other;
} seen[MOST];
static int n_seen;
static bool ahead; /* it is read ahead of a use that may not come */

/* ---- reports ----------------------------------------------------------------------------- */

bool races_watched(void)
{
    return getenv("OPTUNE_RACES") != NULL;
}

void races_begin(void)
{
    n_seen = 0;
}

int races_reports(void)
{
    return n_seen;
}

/* As "body.cl:12" where binutils are there, else as a place in the module. */
static void add_place(uint32_t place, ot_text *to)
{
    char module[64], at[32], tool[] = "addr2line", of[] = "-se";
    char *argv[] = {tool, of, module, at, NULL};
    optune_err err = {0};
    ot_text said = {0};
    snprintf(module, sizeof module, "/proc/%d/fd/%d", (int)getpid(),
             races_now.kernel->program->file);
    snprintf(at, sizeof at, "0x%x", place - 1); /* of the call, not behind it */
    if (ot_run_program(argv, 10, &said, &err) < 0)
        ot_text_printf(to, ", at %s", at);
    else
        ot_text_printf(to, ", %.*s", (int)strcspn(ot_text_str(&said), " \n"),
                       ot_text_str(&said));
    ot_text_release(&said);
}

static uint32_t in_module(const void *place)
{
    return place ? (uint32_t)((uintptr_t)place - races_now.kernel->program->base) : 0;
}

static void say(const char *text)
{
    const char *path = getenv("OPTUNE_RACES");
    FILE *file = path ? fopen(path, "a") : NULL;
    fputs(text, file ? file : stderr);
    if (file)
        fclose(file);
}

void races_report(const char *what, const void *place, uint32_t other, int thread)
{
    const races_launch *now = &races_now;
    ot_text text = {0};
    for (int i = 0; i < n_seen; i++)
        if (seen[i].place == place && seen[i].other == other && !strcmp(seen[i].what, what))
            return;
    if (n_seen == MOST)
        return;
    seen[n_seen].what = what;
    seen[n_seen].place = place;
    seen[n_seen++].other = other;
    ot_text_printf(&text, "races: %s: '%s', block %zu,%zu,%zu of %zux%zux%zu, thread %d of %d",
                   what, now->kernel->name, now->at[0], now->at[1], now->at[2], now->grid[0],
                   now->grid[1], now->grid[2], races_thread, now->threads);
    if (thread >= 0)
        ot_text_printf(&text, " and %d", thread);
    if (place)
        add_place(in_module(place), &text);
    if (other)
        add_place(other, &text);
    ot_text_add(&text, "\n");
    say(ot_text_str(&text));
    ot_text_release(&text);
}

/* ---- order ------------------------------------------------------------------------------- */

/* The thread at work, at `place`. */
static races_access access_here(const void *place)
{
    return (races_access){.interval = races_interval(),
                          .turn = races_turn(),
                          .block = races_now.number + (uint32_t)races_rank(),
                          .place = in_module(place),
                          .thread = races_thread};
}

/* An access that was before, and one of the thread at work now. Shared memory is a block's: what
 * lies there of others is gone. */
static bool in_order(const races_access *a, const races_access *here, bool shared)
{
    if (a->block != here->block)
        return shared || a->block < races_now.begin; /* of an earlier launch, or none */
    if (a->thread == here->thread || a->interval != here->interval)
        return true;
    return a->thread / RACES_WARP == here->thread / RACES_WARP && a->turn != here->turn;
}

static void check_byte(races_byte *b, const races_access *here, bool shared, bool write,
                       const void *place)
{
    if (shared && !write && !ahead && b->write.interval < races_now.started)
        races_report("a read of shared memory that nobody wrote", place, 0, -1);
    else if (!in_order(&b->write, here, shared))
        races_report(write    ? shared ? "two unordered writes of shared memory"
                                       : "two unordered writes of a buffer"
                     : shared ? "a read of shared memory unordered with its write"
                              : "a read of a buffer unordered with its write",
                     place, b->write.place, b->write.thread);
    for (int i = 0; write && i < 2; i++)
        if (!in_order(&b->read[i], here, shared))
            races_report(shared ? "a write of shared memory unordered with its read"
                                : "a write of a buffer unordered with its read",
                         place, b->read[i].place, b->read[i].thread);
    if (write)
        b->write = *here;
    else if (b->read[0].interval == here->interval && b->read[0].thread != here->thread)
        b->read[1] = *here;
    else
        b->read[0] = *here;
}

/* ---- where ------------------------------------------------------------------------------- */

static races_byte *shadow_of(races_byte **shadow, size_t bytes)
{
    if (!*shadow)
        *shadow = mmap(NULL, bytes * sizeof **shadow, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*shadow == MAP_FAILED)
        abort();
    return *shadow;
}

/* The buffer of an argument. */
static struct cl_mem_tag *buffer_at(const char *p)
{
    const struct cl_kernel_tag *k = races_now.kernel;
    for (int i = 0; i < RACES_ARGS && k->arg[i].size; i++) {
        struct cl_mem_tag *m = k->arg[i].buffer;
        if (m && p >= m->data && p < m->data + m->size)
            return m;
    }
    return NULL;
}

static void check(const char *p, size_t n, bool write, const void *place)
{
    struct cl_program_tag *program = races_now.kernel->program;
    const uintptr_t at = (uintptr_t)p;
    races_byte *b;
    if (races_on_stack(p) || races_in_pool(p))
        return;
    const bool shared = at >= program->first && at < program->last;
    if (shared) {
        b = shadow_of(&program->bytes, program->last - program->first) + (at - program->first);
    } else {
        struct cl_mem_tag *m = buffer_at(p);
        if (!m || p + n > m->data + m->size) {
            races_report(write ? "a write outside every buffer" : "a read outside every buffer",
                         place, 0, -1);
            return;
        }
        struct cl_mem_tag *all = m->parent ? m->parent : m;
        b = shadow_of(&all->bytes, all->size) + (p - all->data);
    }
    const races_access here = access_here(place);
    for (size_t i = 0; i < n; i++)
        check_byte(&b[i], &here, shared, write, place);
}

static void check_aligned(const char *p, size_t n, bool write, const void *place)
{
    if ((uintptr_t)p % n)
        races_report(write ? "a misaligned write" : "a misaligned read", place, 0, -1);
    check(p, n, write, place);
}

void races_reads(const void *p, size_t n, bool is_ahead, const void *place)
{
    if (!races_watched())
        return;
    ahead = is_ahead;
    check(p, n, false, place);
    ahead = false;
}

void races_writes(const void *p, size_t n, const void *place)
{
    if (races_watched())
        check(p, n, true, place);
}

void races_atomic(const void *p, size_t n, bool write, const void *place)
{
    const struct cl_mem_tag *m = buffer_at(p);
    if (!m || (const char *)p + n > m->data + m->size)
        races_report(write ? "a write outside every buffer" : "a read outside every buffer",
                     place, 0, -1);
    if ((uintptr_t)p % n)
        races_report(write ? "a misaligned write" : "a misaligned read", place, 0, -1);
}

/* ---- what clang calls -------------------------------------------------------------------- */

#define OF_SIZE(n)                                                                             \
    void __tsan_read##n(void *p);                                                              \
    void __tsan_write##n(void *p);                                                             \
    void __tsan_read_write##n(void *p);                                                        \
    void __tsan_unaligned_read##n(void *p);                                                    \
    void __tsan_unaligned_write##n(void *p);                                                   \
    void __tsan_unaligned_read_write##n(void *p);                                              \
    void __tsan_read##n(void *p)                                                               \
    {                                                                                          \
        check_aligned(p, n, false, RACES_HERE);                                                \
    }                                                                                          \
    void __tsan_write##n(void *p)                                                              \
    {                                                                                          \
        check_aligned(p, n, true, RACES_HERE);                                                 \
    }                                                                                          \
    void __tsan_read_write##n(void *p)                                                         \
    {                                                                                          \
        check_aligned(p, n, false, RACES_HERE);                                                \
        check(p, n, true, RACES_HERE);                                                         \
    }                                                                                          \
    void __tsan_unaligned_read##n(void *p)                                                     \
    {                                                                                          \
        check(p, n, false, RACES_HERE);                                                        \
    }                                                                                          \
    void __tsan_unaligned_write##n(void *p)                                                    \
    {                                                                                          \
        check(p, n, true, RACES_HERE);                                                         \
    }                                                                                          \
    void __tsan_unaligned_read_write##n(void *p)                                               \
    {                                                                                          \
        check(p, n, false, RACES_HERE);                                                        \
        check(p, n, true, RACES_HERE);                                                         \
    }
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)

void __tsan_init(void);
void __tsan_func_entry(void *p);
void __tsan_func_exit(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *p)
{
    (void)p;
}

void __tsan_func_exit(void)
{
}

static void *move(void *to, const void *from, size_t n, const void *place)
{
    check(from, n, false, place);
    check(to, n, true, place);
    return memmove(to, from, n);
}

static void *set(void *to, int value, size_t n, const void *place)
{
    check(to, n, true, place);
    return memset(to, value, n);
}

/* Copies of structures: clang calls the ones, the linker gives bodies the others for memcpy,
 * memmove and memset. */
#define COPIES(prefix)                                                                         \
    void *prefix##_memcpy(void *to, const void *from, size_t n);                               \
    void *prefix##_memmove(void *to, const void *from, size_t n);                              \
    void *prefix##_memset(void *to, int value, size_t n);                                      \
    void *prefix##_memcpy(void *to, const void *from, size_t n)                                \
    {                                                                                          \
        return move(to, from, n, RACES_HERE);                                                  \
    }                                                                                          \
    void *prefix##_memmove(void *to, const void *from, size_t n)                               \
    {                                                                                          \
        return move(to, from, n, RACES_HERE);                                                  \
    }                                                                                          \
    void *prefix##_memset(void *to, int value, size_t n)                                       \
    {                                                                                          \
        return set(to, value, n, RACES_HERE);                                                  \
    }
COPIES(__tsan)
COPIES(__wrap)
