/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reserve: pieces of a static block, which takes no memory before it is used. Each has its
 * size in front; freed ones are joined with free ones behind them when somebody looks for room.
 * When even that is full, there is nothing left to do but to abort.
 */
#include "base/reserve.h"

#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>

/* Here they are the system's own. */
#undef free
#undef realloc

enum { RESERVE = 8 << 20, UNIT = 16 };

typedef struct piece {
    size_t size; /* with this head */
    size_t used; /* 0: it is free */
} piece;

static alignas(UNIT) char reserve[RESERVE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool taken;

static bool is_ours(const void *memory)
{
    const uintptr_t at = (uintptr_t)memory, from = (uintptr_t)reserve;
    return at >= from && at < from + RESERVE;
}

static piece *first(void)
{
    piece *p = (piece *)(void *)reserve;
    if (!p->size)
        p->size = RESERVE;
    return p;
}

static piece *behind(piece *p)
{
    char *at = (char *)p + p->size;
    return at < reserve + RESERVE ? (piece *)(void *)at : NULL;
}

/* Joins the free ones behind a free one. */
static void join(piece *p)
{
    for (piece *next; !p->used && (next = behind(p)) && !next->used;)
        p->size += next->size;
}

static void *take(size_t size)
{
    if (size > RESERVE / 2)
        abort();
    size = (size + sizeof(piece) + UNIT - 1) & ~(size_t)(UNIT - 1);
    pthread_mutex_lock(&lock);
    piece *p = first();
    for (; p; p = behind(p)) {
        join(p);
        if (!p->used && p->size >= size)
            break;
    }
    if (!p)
        abort();
    if (p->size >= size + 2 * sizeof(piece)) {
        piece *rest = (piece *)(void *)((char *)p + size);
        *rest = (piece){.size = p->size - size};
        p->size = size;
    }
    p->used = 1;
    pthread_mutex_unlock(&lock);
    taken = true;
    memset(p + 1, 0, p->size - sizeof *p);
    return p + 1;
}

void *ot_reserve_calloc(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    return memory || (n && size > SIZE_MAX / n) ? memory : take(n * size);
}

void *ot_reserve_malloc(size_t size)
{
    void *memory = malloc(size);
    return memory ? memory : take(size);
}

void ot_reserve_free(void *memory)
{
    if (!is_ours(memory)) {
        free(memory);
        return;
    }
    pthread_mutex_lock(&lock);
    ((piece *)memory - 1)->used = 0;
    pthread_mutex_unlock(&lock);
}

void *ot_reserve_realloc(void *memory, size_t size)
{
    const bool ours = is_ours(memory);
    void *made = ours ? NULL : realloc(memory, size);
    if (made || size > RESERVE)
        return made;
    made = take(size);
    if (memory) {
        /* Only malloc knows how much that was. */
        const size_t had =
            ours ? ((piece *)memory - 1)->size - sizeof(piece) : malloc_usable_size(memory);
        memcpy(made, memory, had < size ? had : size);
        ot_reserve_free(memory);
    }
    return made;
}

bool ot_reserve_taken(void)
{
    const bool was = taken;
    taken = false;
    return was;
}
