/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory. An arena hands out many small pieces and gives all back at once; nothing is ever
 * freed alone. Running out of memory is no path of its own: a few kilobytes come from the reserve
 * (reserve.h), and the public function says ENOMEM in the end. Buffers whose size somebody else
 * chose are got with ot_try_alloc, and are no part of an arena.
 */
#include <assert.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "base/reserve.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 4 << 10, BLOCK_SIZE = 32 << 10 };

struct ot_block {
    struct ot_block *next;
    size_t used, size;
    alignas(ALIGNMENT) char data[];
};

/* Of small pieces the C library keeps some at hand, but not for calloc. */
void *ot_alloc(size_t size)
{
    enum { SMALL = 1024 };
    if (size - 1 < SMALL)
        return memset(ot_alloc_raw(size), 0, size);
    void *memory = ot_reserve_calloc(1, size ? size : 1);
    if (!memory)
        abort();
    return memory;
}

void *ot_alloc_sparse(size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *memory = ot_alloc_raw(size), *end = memory + size;
    char *from = memory + (-(uintptr_t)memory & (page - 1));
    char *to = end - ((uintptr_t)end & (page - 1));
    if (from >= to || madvise(from, (size_t)(to - from), MADV_DONTNEED) < 0)
        return memset(memory, 0, size);
    memset(memory, 0, (size_t)(from - memory)); /* whole pages in between are new */
    memset(to, 0, (size_t)(end - to));
    return memory;
}

void ot_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void *ot_room(void *array, int n, int *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    const int more = *capacity ? 2 * *capacity : 16;
    char *moved = realloc(array, (size_t)more * size);
    if (!moved)
        abort();
    memset(moved + (size_t)*capacity * size, 0, (size_t)(more - *capacity) * size);
    *capacity = more;
    return moved;
}

void ot_memory_begin(void)
{
    ot_reserve_taken();
}

int ot_memory_end(int status, optune_err *err)
{
    return ot_reserve_taken() && status >= 0 ? optune_fail(err, OPTUNE_ENOMEM, "out of memory")
                                             : status;
}

char *ot_strdup(const char *s)
{
    size_t size = strlen(s) + 1;
    return memcpy(ot_alloc(size), s, size);
}

void *ot_try_alloc(size_t size, const char *what, optune_err *err)
{
    void *memory = size < SIZE_MAX / 2 ? calloc(1, size ? size : 1) : NULL;
    if (!memory)
        optune_fail(err, OPTUNE_ENOMEM, "no memory for the %.3g GB of %s", (double)size * 1e-9,
                    what);
    return memory;
}

void *ot_alloc_raw(size_t size)
{
    void *memory = ot_reserve_malloc(size ? size : 1);
    if (!memory)
        abort();
    return memory;
}

void *ot_arena_raw(ot_arena *arena, size_t size)
{
    assert(size < SIZE_MAX / 2);
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct ot_block *block = arena->block;
    if (!block || block->size - block->used < size) {
        /* The first block is small, as most arenas are. */
        size_t room = block ? 4 * block->size : FIRST_BLOCK;
        room = room < BLOCK_SIZE ? room : BLOCK_SIZE;
        room = size > room ? size : room;
        struct ot_block *fresh = ot_alloc_raw(sizeof *fresh + room);
        fresh->size = room;
        fresh->used = 0;
        if (block && size > BLOCK_SIZE / 4) {
            /* A large piece gets a block of its own; small ones go on filling this one. */
            fresh->next = block->next;
            block->next = fresh;
        } else {
            fresh->next = block;
            arena->block = fresh;
        }
        block = fresh;
    }
    void *piece = block->data + block->used;
    block->used += size;
    return piece;
}

void *ot_arena_alloc(ot_arena *arena, size_t size)
{
    return memset(ot_arena_raw(arena, size), 0, size);
}

char *ot_arena_copy(ot_arena *arena, const char *s)
{
    if (!s)
        return NULL;
    size_t size = strlen(s) + 1;
    return memcpy(ot_arena_raw(arena, size), s, size);
}

char *ot_arena_printf(ot_arena *arena, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = ot_format_list(NULL, 0, format, list);
    va_end(list);
    if (n < 0)
        return ot_arena_copy(arena, "");
    char *s = ot_arena_raw(arena, (size_t)n + 1);
    va_start(list, format);
    ot_format_list(s, (size_t)n + 1, format, list);
    va_end(list);
    return s;
}

void ot_arena_release(ot_arena *arena)
{
    for (struct ot_block *block = arena->block; block;) {
        struct ot_block *next = block->next;
        free(block);
        block = next;
    }
    arena->block = NULL;
}

void ot_arena_reset(ot_arena *arena)
{
    if (!arena->block || arena->block->size > BLOCK_SIZE) {
        ot_arena_release(arena);
        return;
    }
    ot_arena rest = {arena->block->next};
    ot_arena_release(&rest);
    arena->block->next = NULL;
    arena->block->used = 0;
}
