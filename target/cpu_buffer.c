/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for CPU kernels, in two kinds. A guarded buffer catches a write outside: its end
 * is flush with memory that may not be touched, and what lies between the page's start and
 * its own is filled with a canary. Any other is what timing uses: 64-byte aligned, in huge
 * pages when big. All of a session's are known together, so that they can be put out of the caches.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/target.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, LINE = 64 };

struct ot_cpu_buffer {
    char *map; /* the whole mapping */
    size_t map_bytes;
    char *open; /* what may be touched: the canary, then the buffer */
    char *address;
    size_t bytes;
    bool guarded;
    ot_cpu_buffers *all; /* NULL: it is its opener's alone */
    ot_cpu_buffer *before, *behind;
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static char *map_bytes(size_t bytes, int protection)
{
    void *map =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* Where a buffer begins for huge pages to lie in it, and the wish for them. */
static size_t align_of(size_t bytes)
{
    return bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
}

static void wish_huge_pages(char *address, size_t bytes)
{
    if (bytes >= HUGE_PAGE)
        madvise(address, bytes, MADV_HUGEPAGE); /* advice: refused is fine */
}

/* By its address, as elements lie behind it. */
static char canary_at(const char *p)
{
    return (char)(OT_CANARY >> ((uintptr_t)p % 2 ? 8 : 0));
}

static bool open_guarded(ot_cpu_buffer *b)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t middle = round_up(b->bytes ? b->bytes : 1, page);
    const size_t align = middle >= HUGE_PAGE ? HUGE_PAGE : page;
    b->map_bytes = middle + 2 * (size_t)OT_GUARD_BYTES + align;
    b->map = map_bytes(b->map_bytes, PROT_NONE);
    if (!b->map)
        return false;
    b->open = (char *)round_up((uintptr_t)b->map + OT_GUARD_BYTES, align);
    if (mprotect(b->open, middle, PROT_READ | PROT_WRITE) < 0)
        return false;
    wish_huge_pages(b->open, middle);
    b->address = b->open + middle - b->bytes;
    for (char *p = b->open; p < b->address; p++)
        *p = canary_at(p);
    return true;
}

static bool open_plain(ot_cpu_buffer *b)
{
    const size_t align = align_of(b->bytes);
    b->map_bytes = round_up(b->bytes ? b->bytes : 1, ALIGNMENT) + align;
    b->map = map_bytes(b->map_bytes, PROT_READ | PROT_WRITE);
    if (!b->map)
        return false;
    b->address = (char *)round_up((uintptr_t)b->map, align);
    wish_huge_pages(b->address, b->bytes);
    return true;
}

ot_cpu_buffer *ot_cpu_buffer_open(int64_t bytes, bool guarded, optune_err *err)
{
    ot_cpu_buffer *b = ot_alloc(sizeof *b);
    *b = (ot_cpu_buffer){.bytes = (size_t)bytes, .guarded = guarded};
    if (bytes >= 0 && bytes < (int64_t)1 << 46 && (guarded ? open_guarded(b) : open_plain(b)))
        return b;
    optune_fail(err, OPTUNE_ENOMEM, "no memory for a buffer of %lld bytes: %s",
                (long long)bytes, strerror(errno));
    ot_cpu_buffer_close(b);
    return NULL;
}

void ot_cpu_buffer_alias(ot_cpu_buffer **b, void *memory)
{
    if (!*b)
        *b = ot_alloc(sizeof **b);
    (*b)->address = memory;
}

/* ---- all of a session -------------------------------------------------------------------- */

static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;

void ot_cpu_buffers_add(ot_cpu_buffers *all, ot_cpu_buffer *b)
{
    pthread_mutex_lock(&lists);
    b->all = all;
    b->behind = all->first;
    if (b->behind)
        b->behind->before = b;
    all->first = b;
    pthread_mutex_unlock(&lists);
}

void ot_cpu_buffers_forget(ot_cpu_buffers *all)
{
    pthread_mutex_lock(&lists);
    for (ot_cpu_buffer *b = all->first, *next; b; b = next) {
        next = b->behind;
        b->all = NULL;
        b->before = b->behind = NULL;
    }
    all->first = NULL;
    pthread_mutex_unlock(&lists);
}

static void leave(ot_cpu_buffer *b)
{
    pthread_mutex_lock(&lists);
    if (b->before)
        b->before->behind = b->behind;
    else
        b->all->first = b->behind;
    if (b->behind)
        b->behind->before = b->before;
    pthread_mutex_unlock(&lists);
}

#if defined __x86_64__
static void evict_line(const char *p)
{
    __builtin_ia32_clflush(p);
}
static void evicted(void)
{
    __builtin_ia32_mfence();
}
#elif defined __aarch64__
static void evict_line(const char *p)
{
    __asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
}
static void evicted(void)
{
    __asm__ volatile("dsb ish" : : : "memory");
}
#else
#define CANNOT_EVICT
#endif

bool ot_cpu_buffers_evict(ot_cpu_buffers *all, int64_t most)
{
#ifdef CANNOT_EVICT
    (void)all;
    (void)most;
    return false;
#else
    int64_t bytes = 0;
    pthread_mutex_lock(&lists);
    for (const ot_cpu_buffer *b = all->first; b; b = b->behind)
        bytes += (int64_t)b->bytes;
    for (const ot_cpu_buffer *b = all->first; b && bytes <= most; b = b->behind)
        for (const char *p = (const char *)((uintptr_t)b->address & ~(uintptr_t)(LINE - 1));
             p < b->address + b->bytes; p += LINE)
            evict_line(p);
    pthread_mutex_unlock(&lists);
    evicted();
    return bytes <= most;
#endif
}

void ot_cpu_buffer_close(ot_cpu_buffer *b)
{
    if (b && b->all)
        leave(b);
    if (b && b->map)
        munmap(b->map, b->map_bytes);
    free(b);
}

void *ot_cpu_buffer_address(const ot_cpu_buffer *b)
{
    return b->address;
}

bool ot_cpu_buffer_intact(const ot_cpu_buffer *b)
{
    for (const char *p = b->open; b->guarded && p < b->address; p++)
        if (*p != canary_at(p))
            return false;
    return true;
}
