/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that say the same, each once: a call has room for 64 inputs, and a network has hundreds of
 * groups of which few differ.
 */
#include <stdlib.h>
#include <string.h>

#include "call/call.h"

struct ot_shared_call {
    uint64_t hash;
    optune_call *call; /* NULL: a free slot */
};

static bool same(const optune_call *a, const optune_call *b)
{
    char *bytes = ot_alloc(2 * sizeof *a);
    const size_t n = ot_call_pack(a, bytes);
    const bool is = ot_call_pack(b, bytes + sizeof *a) == n &&
                    memcmp(bytes, bytes + sizeof *a, n) == 0;
    free(bytes);
    return is;
}

static ot_shared_call *slot_of(const ot_calls *calls, uint64_t hash, const optune_call *call)
{
    size_t at = (size_t)hash & (calls->capacity - 1);
    while (calls->slot[at].call &&
           (calls->slot[at].hash != hash || !same(calls->slot[at].call, call)))
        at = (at + 1) & (calls->capacity - 1);
    return &calls->slot[at];
}

static void grow(ot_calls *calls)
{
    const ot_calls was = *calls;
    calls->capacity = was.capacity ? 2 * was.capacity : 64;
    calls->slot = ot_alloc(calls->capacity * sizeof *calls->slot);
    for (size_t i = 0; i < was.capacity; i++) {
        size_t at = (size_t)was.slot[i].hash & (calls->capacity - 1);
        while (was.slot[i].call && calls->slot[at].call)
            at = (at + 1) & (calls->capacity - 1);
        if (was.slot[i].call)
            calls->slot[at] = was.slot[i];
    }
    free(was.slot);
}

const optune_call *ot_calls_share(ot_calls *calls, const optune_call *call)
{
    if (2 * (calls->n + 1) > calls->capacity)
        grow(calls);
    char *bytes = ot_alloc(sizeof *call);
    const uint64_t hash = ot_hash64(bytes, ot_call_pack(call, bytes));
    free(bytes);
    ot_shared_call *slot = slot_of(calls, hash, call);
    if (!slot->call) {
        *slot = (ot_shared_call){hash, ot_alloc_sparse(sizeof *call)};
        ot_call_copy(slot->call, call);
        calls->n++;
    }
    return slot->call;
}

void ot_calls_release(ot_calls *calls)
{
    for (size_t i = 0; i < calls->capacity; i++)
        free(calls->slot[i].call);
    free(calls->slot);
    *calls = (ot_calls){0};
}
