/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that stay on the device from one candidate to the next, in buffers that no launch gets:
 * large ones are brought there once, and every candidate has copies, which a device makes at the
 * pace of its own memory.
 */
#include <math.h>

#include "run/worker.h"

static const double SHARE = 0.125; /* of the device's memory, for all of it */

/* Where a device's memory is this machine's, the worker holds as much as it ever does. */
static double most_stocked(const ot_session *s)
{
    const double share = SHARE * (double)s->device.memory;
    return s->device.threads > 0 ? fmin(share, ot_inputs_most_kept()) : share;
}

static double stocked(const ot_session *s)
{
    double bytes = 0;
    for (int set = 0; set < OT_SETS; set++)
        for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
            bytes += s->stock[set].in[i] ? (double)s->in_bytes[i] : 0;
    return bytes;
}

bool ot_stock_keep(ot_session *s, int kind, ot_set set, int input)
{
    ot_stock *stock = &s->stock[set];
    const int64_t bytes = s->in_bytes[input];
    void **buffer = &stock->in[input];
    if (!s->row->copy || s->row->address || bytes == 0)
        return false;
    if (!*buffer && (stocked(s) + (double)bytes > most_stocked(s) ||
                     s->row->alloc(s->state, bytes, false, buffer, NULL) < 0)) {
        *buffer = NULL;
        return false;
    }
    stock->hash[input] = s->in_hash[kind][input];
    if (s->row->copy(s->state, *buffer, s->in[kind][input], bytes) < 0)
        return false;
    s->in_set[kind][input] = set;
    return true;
}

int ot_stock_take(ot_session *s, int kind, ot_set set, int input, optune_err *err)
{
    const ot_stock *stock = &s->stock[set];
    if (!stock->in[input] ||
        s->row->copy(s->state, s->in[kind][input], stock->in[input], s->in_bytes[input]) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot copy to input %d", input);
    s->in_hash[kind][input] = stock->hash[input];
    s->in_set[kind][input] = set;
    return OPTUNE_OK;
}

void ot_stock_drop(ot_session *s)
{
    for (int set = 0; set < OT_SETS; set++)
        for (int i = 0; i < OPTUNE_MAX_INPUTS; i++) {
            if (s->stock[set].in[i])
                s->row->free(s->state, s->stock[set].in[i]);
            s->stock[set].in[i] = NULL;
        }
}

bool ot_stock_yield(ot_session *s)
{
    if (stocked(s) <= 0)
        return false;
    ot_stock_drop(s);
    s->stock_lost = true;
    return true;
}
