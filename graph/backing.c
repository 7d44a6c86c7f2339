/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of constants that can be had again: read from a file or computed from others. They take
 * memory only while somebody holds them, so a graph whose weights were packed keeps none of them.
 * The address stays the same; while nobody holds them it may not be touched, so that whoever
 * forgets to hold crashes at once instead of computing with zeros. Nothing here maps a file: one
 * that is cut off would end the process in the middle of a load, where read(2) only fails.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "graph/graph.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 }; /* a page may be larger: the kernel rounds up */

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE) / PAGE * PAGE;
}

/* Large ones begin where huge pages can lie, which are faster to get and to read. */
static bool reserve(ot_backing *b)
{
    const bool large = b->bytes >= HUGE_PAGE;
    b->map_bytes = whole_pages(b->bytes) + (large ? HUGE_PAGE : 0);
    void *map =
        mmap(NULL, b->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    const uintptr_t align = large ? HUGE_PAGE : PAGE;
    b->map = map;
    b->data = (void *)(((uintptr_t)map + align - 1) / align * align);
    if (large)
        madvise(b->data, whole_pages(b->bytes), MADV_HUGEPAGE); /* advice: refused is fine */
    return true;
}

ot_backing *ot_backing_new(size_t bytes, ot_backing_read *read, void (*close)(void *from),
                           void *from, optune_err *err)
{
    ot_backing *b = ot_alloc(sizeof *b);
    *b = (ot_backing){.bytes = bytes, .read = read, .close = close, .from = from};
    if (!reserve(b)) {
        free(b);
        optune_fail(err, OPTUNE_ENOMEM, "no memory for %zu bytes of a constant", bytes);
        return NULL;
    }
    atomic_init(&b->users, 1);
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

ot_backing *ot_backing_share(ot_backing *b)
{
    atomic_fetch_add(&b->users, 1);
    return b;
}

void ot_backing_close(ot_backing *b)
{
    if (!b || atomic_fetch_sub(&b->users, 1) > 1)
        return;
    munmap(b->map, b->map_bytes);
    b->close(b->from);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static void drop(const ot_backing *b)
{
    madvise(b->data, whole_pages(b->bytes), MADV_DONTNEED);
    mprotect(b->data, whole_pages(b->bytes), PROT_NONE);
}

int ot_backing_hold(ot_backing *b, optune_err *err)
{
    int status = OPTUNE_OK;
    pthread_mutex_lock(&b->lock);
    if (b->held == 0) {
        if (mprotect(b->data, whole_pages(b->bytes), PROT_READ | PROT_WRITE) < 0)
            status = optune_fail(err, OPTUNE_ENOMEM, "no memory for %zu bytes of a constant",
                                 b->bytes);
        if (status >= 0)
            status = b->read(b->from, b->data, b->bytes, err);
        if (status < 0)
            drop(b);
    }
    b->held += status >= 0;
    pthread_mutex_unlock(&b->lock);
    return status;
}

void ot_backing_let_go(ot_backing *b)
{
    pthread_mutex_lock(&b->lock);
    if (--b->held == 0)
        drop(b);
    pthread_mutex_unlock(&b->lock);
}

/* ---- constants of a graph ------------------------------------------------------------------ */

int ot_graph_hold(const optune_graph *g, int node, const void **data, optune_err *err)
{
    const ot_node *at = &g->node[node];
    optune_err inner = {0};
    *data = at->data;
    const int status = at->backing ? ot_backing_hold(at->backing, &inner) : OPTUNE_OK;
    return status < 0 ? ot_graph_fail(g, node, -1, status, inner.text, err) : status;
}

void ot_graph_let_go(const optune_graph *g, int node)
{
    if (g->node[node].backing)
        ot_backing_let_go(g->node[node].backing);
}

void ot_graph_drop_data(ot_node *node)
{
    if (node->backing)
        ot_backing_close(node->backing);
    else if (!node->borrowed)
        free(node->data);
    node->backing = NULL;
    node->data = NULL;
    node->borrowed = false;
}
