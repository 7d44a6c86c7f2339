/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What squeeze.c, which writes records as they lie in a store, and restore.c, which reads them,
 * have in common. Nothing else includes this.
 */
#ifndef OPTUNE_DB_SQUEEZED_H
#define OPTUNE_DB_SQUEEZED_H

#include "base/record.h"
#include "db/kv.h"

enum {
    OT_SQUEEZED_MAGIC = 0x3252746f, /* "otR2" */
    OT_SQUEEZED_HEAD = 4 + 1 + 8,
    OT_SQUEEZED_V1_HEAD = 16,
    OT_SQUEEZED_ABSENT_1 = -1, /* a length, in codec.c's bytes */
    /* In front of a text; behind INLINE is its length. */
    OT_SQUEEZED_ABSENT = 0,
    OT_SQUEEZED_SHARED = 1,
    OT_SQUEEZED_INLINE = 2,
};

/* ---- shared parts ------------------------------------------------------------------------ */

/* 1: there is none. The bytes are the parts' own, or the caller's (ot_parts_expect). */
int ot_parts_find(ot_parts *p, uint32_t id, ot_bytes *bytes, optune_err *err);
void ot_parts_forget(ot_parts *p); /* all that was seen */

/* ---- kinds of knobs, as they are stored ---------------------------------------------------- */

static inline bool is_word(uint32_t kind)
{
    return (kind & 255) == OPTUNE_KNOB_OTHER && (kind >> 8 & 255) == OPTUNE_SCALAR_WORD;
}

static inline bool is_float(uint32_t kind)
{
    return (kind & 255) == OPTUNE_KNOB_OTHER && (kind >> 8 & 255) == OPTUNE_SCALAR_FLOAT;
}

/* ---- bytes that are read ------------------------------------------------------------------- */

typedef struct reading {
    const char *at, *end;
    bool bad;
} reading;

/* n <= 8 */
static inline const void *take(reading *r, size_t n)
{
    static const char nothing[sizeof(double)];
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return nothing;
    }
    r->at += n;
    return r->at - n;
}

/* Not more than there are. */
static inline ot_bytes take_bytes(reading *r, uint64_t n)
{
    if (n > (uint64_t)(r->end - r->at))
        r->bad = true;
    const size_t size = r->bad ? 0 : (size_t)n;
    const ot_bytes bytes = {r->at, size};
    r->at += size;
    return bytes;
}

static inline uint64_t take_number(reading *r)
{
    uint64_t value = 0;
    if (r->at != r->end && *(const uint8_t *)r->at < 128 && !r->bad)
        return *(const uint8_t *)r->at++;
    for (int shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = *(const uint8_t *)take(r, 1);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128 || r->bad)
            return value;
    }
    r->bad = true;
    return 0;
}

static inline int64_t take_signed(reading *r)
{
    const uint64_t value = take_number(r);
    return (int64_t)(value >> 1 ^ -(value & 1));
}

static inline uint32_t take_32(reading *r)
{
    uint32_t value;
    const void *at = take(r, sizeof value);
    if (r->bad)
        return 0;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int64_t take_64(reading *r)
{
    int64_t value;
    memcpy(&value, take(r, sizeof value), sizeof value);
    return value;
}

#endif
