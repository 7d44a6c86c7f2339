/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in a session's buffers: inputs that are put there, poison, and whether what may not
 * change has changed. Large tensors make this most of a trial, so nothing passes through the host
 * that need not: bytes that this process can touch stay where they are.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/worker.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { PIECE = 4 << 20, POISON = 0xff, OTHER_POISON = 0xa5 };
enum { PROMOTED = 2 << 20 }; /* bytes: such buffers begin at huge pages, guarded or not */

typedef struct hashing {
    const char *data;
    uint64_t *hash;
} hashing;

static void hash_part(void *arg, int64_t from, int64_t to)
{
    const hashing *h = arg;
    h->hash[from / PIECE] = ot_hash64(h->data + from, (size_t)(to - from));
}

/* Where kernels are elsewhere, threads of this process disturb none. */
static int threads_of(const ot_session *s)
{
    return s->row->address ? 1 : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static uint64_t hash_of(const ot_session *s, const void *data, int64_t bytes)
{
    const size_t n = (size_t)(bytes / PIECE) + 1;
    hashing h = {.data = data, .hash = ot_alloc(n * sizeof *h.hash)};
    ot_parallel(bytes, PIECE, threads_of(s), hash_part, &h);
    const uint64_t hash = ot_hash64(h.hash, n * sizeof *h.hash);
    free(h.hash);
    return hash;
}

int ot_session_put(ot_session *s, int kind, int input, const void *from, optune_err *err)
{
    if (s->row->write(s->state, s->in[kind][input], from, s->in_bytes[input]) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot write to input %d", input);
    s->in_hash[kind][input] = hash_of(s, from, s->in_bytes[input]);
    s->in_set[kind][input] = OT_SETS;
    return OPTUNE_OK;
}

static bool is_as_put(ot_session *s, int kind, int i)
{
    const void *now = s->host;
    const int same = ot_stock_same(s, kind, i);
    if (same >= 0)
        return same;
    if (s->row->address)
        now = s->row->address(s->state, s->in[kind][i]);
    else if (s->row->read(s->state, s->in[kind][i], s->host, s->in_bytes[i]) < 0)
        return true; /* a device that is gone is told by the next deed */
    return hash_of(s, now, s->in_bytes[i]) == s->in_hash[kind][i];
}

bool ot_session_intact(ot_session *s, int kind, char *message, size_t size)
{
    for (int i = 0; i < optune_call_inputs(&s->call); i++)
        if (!s->row->intact(s->state, s->in[kind][i]) || !is_as_put(s, kind, i)) {
            snprintf(message, size,
                     kind == OT_GUARDED ? "wrote to input %d or in front of it"
                                        : "wrote to input %d while it was measured",
                     i);
            return false;
        }
    for (int i = 0; i < s->call.n_outputs; i++)
        if (!s->row->intact(s->state, s->out[kind][i])) {
            snprintf(message, size, "wrote outside output %d, in front of it", i);
            return false;
        }
    return true;
}

bool ot_bound_intact(const ot_bound *b, char *message, size_t size)
{
    const ot_session *s = b->session;
    for (int i = 0; i < b->loaded->plan.n_scratch; i++)
        if (!s->row->intact(s->state, b->scratch[i])) {
            snprintf(message, size, "wrote outside scratch '%s', in front of it",
                     b->loaded->plan.scratch[i].name);
            return false;
        }
    for (int i = 0; i < b->loaded->plan.n_lists; i++)
        if (!s->row->intact(s->state, b->dims[i])) {
            snprintf(message, size, "wrote outside the sizes of dims");
            return false;
        }
    return true;
}

/* In place where this process or the device can: what is written elsewhere has to be made first. */
static int fill_buffer(const ot_session *s, void *buffer, int byte, int64_t bytes,
                       optune_err *err)
{
    int status;
    if (s->row->address) {
        memset(s->row->address(s->state, buffer), byte, (size_t)bytes);
        return OPTUNE_OK;
    }
    if (s->row->fill) {
        status = s->row->fill(s->state, buffer, byte, bytes);
    } else {
        void *poison = ot_try_alloc((size_t)bytes, "what a buffer is filled with", err);
        if (!poison)
            return OPTUNE_ENOMEM;
        memset(poison, byte, (size_t)bytes);
        status = s->row->write(s->state, buffer, poison, bytes);
        free(poison);
    }
    return status < 0 ? optune_fail(err, OPTUNE_EIO, "cannot write to it") : OPTUNE_OK;
}

static int fill_output(ot_session *s, int kind, int i, int byte, optune_err *err)
{
    optune_err inner = {0};
    const int status = fill_buffer(s, s->out[kind][i], byte, s->out_bytes[i], &inner);
    return status < 0 ? optune_fail(err, status, "output %d: %s", i, inner.text) : OPTUNE_OK;
}

int ot_session_fill_outputs(ot_session *s, int kind, int byte, optune_err *err)
{
    for (int i = 0; i < s->call.n_outputs; i++)
        OT_RETURN_UNLESS_OK(fill_output(s, kind, i, byte, err));
    return OPTUNE_OK;
}

int ot_session_poison(ot_session *s, int kind, optune_err *err)
{
    for (int i = 0; i < s->call.n_outputs; i++) {
        const bool number = ot_dtype_is_float(s->call.output[i].dtype);
        const int byte = number || kind == OT_GUARDED ? POISON : OTHER_POISON;
        OT_RETURN_UNLESS_OK(fill_output(s, kind, i, byte, err));
    }
    return OPTUNE_OK;
}

int ot_session_fill_with_numbers(ot_session *s, int kind, optune_err *err)
{
    return ot_session_fill_outputs(s, kind, OTHER_POISON, err);
}

bool ot_is_poison(optune_dtype dtype, const void *data, int64_t index)
{
    const int width = (dtype.bits * dtype.lanes + 7) / 8;
    const unsigned char *at = (const unsigned char *)data + index * width;
    const int byte = *at == OTHER_POISON ? OTHER_POISON : POISON;
    for (int i = 0; i < width; i++)
        if (at[i] != byte)
            return false;
    return true;
}

int ot_bound_poison(ot_bound *b, optune_err *err)
{
    ot_session *s = b->session;
    const optune_plan *plan = &b->loaded->plan;
    optune_err inner = {0};
    OT_RETURN_UNLESS_OK(ot_session_poison(s, b->kind, err));
    for (int i = 0; i < plan->n_scratch; i++) {
        const int64_t bytes = ot_scratch_bytes(plan, i);
        if (plan->scratch[i].constant || bytes == 0)
            continue;
        const int status = fill_buffer(s, b->scratch[i], POISON, bytes, &inner);
        if (status < 0)
            return optune_fail(err, status, "scratch '%s': %s", plan->scratch[i].name,
                               inner.text);
    }
    return OPTUNE_OK;
}

/* Where it cannot be done both stay as they are. What was guarded stays mapped until it is closed,
 * so that nobody else's memory is closed with it. */
static void promote(const ot_session *s, void *guarded, void *aligned, int64_t bytes)
{
    if (!guarded || !aligned || bytes < PROMOTED || bytes % sysconf(_SC_PAGESIZE) != 0)
        return;
    mremap(s->row->address(s->state, guarded), (size_t)bytes, (size_t)bytes,
           MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
           s->row->address(s->state, aligned));
}

void ot_session_promote(const ot_session *s)
{
    for (int i = 0; i < OPTUNE_MAX_INPUTS && s->row->address; i++)
        promote(s, s->in[OT_GUARDED][i], s->in[OT_ALIGNED][i], s->in_bytes[i]);
    for (int i = 0; i < OPTUNE_MAX_OUTPUTS && s->row->address; i++)
        promote(s, s->out[OT_GUARDED][i], s->out[OT_ALIGNED][i], s->out_bytes[i]);
}

bool ot_plan_reads_again(const optune_impl *impl, const optune_plan *plan, int input)
{
    if (impl->library || plan->n_maps)
        return true;
    for (int i = 0; i < plan->n_stages; i++)
        for (int a = 0; a < plan->stage[i].n_args && plan->stage[i].phase != OPTUNE_PREPACK;
             a++)
            if (plan->stage[i].arg[a].kind == OPTUNE_ARG_INPUT &&
                plan->stage[i].arg[a].index == input)
                return true;
    return false;
}
