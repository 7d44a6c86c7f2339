/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record as it lies in a store. Most of what codec.c writes of one is the same for many:
 * workload, target, device, digests, versions, the names of its knobs. Those are kept once, in a
 * table of their own, under a number; numbers become as short as they are. What is read is what was
 * written, byte for byte: the checksum of codec.c is kept, and covers what lies elsewhere, too.
 *
 *   magic (4), the record's version (1) and checksum (8), then its fields in codec.c's order:
 *   samples   their number, then each (8)
 *   reals     8
 *   integers  as many bytes as they need, seven bits each, the lowest first; of signed ones the
 *             sign is the lowest bit
 *   texts     0 absent, 1 and a number (4) of the table, or their length and 2, and then they
 *   configs   how many knobs; names and kinds, as a text is; the index; the values
 *
 * A field that came after the first ones has its kind in front, so that it can be read by a version
 * that does not know it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "db/squeezed.h"

enum {
    SHORT = 4,  /* a text that long is no longer than a number */
    PROBES = 8, /* places that a text may have; hostile ones are not looked for further */
    WAYS = 4,   /* places of one that was seen: two that meet do not drive each other out */
};

/* ---- shared parts ------------------------------------------------------------------------ */

void ot_parts_release(ot_parts *p)
{
    ot_arena_release(&p->arena);
    ot_text_release(&p->scratch);
    free(p->rows);
}

void ot_parts_forget(ot_parts *p)
{
    ot_arena_release(&p->arena);
    free(p->rows);
    p->rows = NULL;
    memset(p->part, 0, sizeof p->part);
    p->expected = (ot_part){0};
    p->kept = 0;
    p->carried = false;
}

static bool is_part(const ot_part *part, uint32_t id)
{
    return part->used && part->id == id;
}

/* Where it is, or where it belongs. */
static ot_part *slot_of(ot_parts *p, uint32_t id)
{
    ot_part *open = NULL;
    for (uint32_t i = 0; i < WAYS; i++) {
        ot_part *part = &p->part[(id + i) % OT_COUNT(p->part)];
        if (is_part(part, id))
            return part;
        if (!open && !part->used)
            open = part;
    }
    return open ? open : &p->part[(id + p->kept % WAYS) % OT_COUNT(p->part)];
}

static ot_part *keep(ot_parts *p, uint32_t id, ot_bytes bytes)
{
    ot_part *part = slot_of(p, id);
    char *copy = ot_arena_raw(&p->arena, bytes.n + 1);
    memcpy(copy, bytes.data, bytes.n);
    p->kept += bytes.n;
    *part = (ot_part){.used = true, .id = id, .bytes = {copy, bytes.n}};
    return part;
}

static int look(ot_parts *p, uint32_t id, ot_bytes *value, optune_err *err)
{
    const ot_bytes key = {&id, sizeof id};
    return p->writer ? ot_writer_get(p->writer, OT_TABLE_SHARED, key, value, err)
                     : ot_snapshot_get(p->reader, OT_TABLE_SHARED, key, value, err);
}

int ot_parts_find(ot_parts *p, uint32_t id, ot_bytes *bytes, optune_err *err)
{
    const ot_part *part = is_part(&p->expected, id) ? &p->expected : slot_of(p, id);
    if (!is_part(part, id)) {
        ot_bytes value;
        const int status = look(p, id, &value, err);
        if (status != OPTUNE_OK)
            return status;
        part = keep(p, id, value);
    }
    *bytes = part->bytes;
    return OPTUNE_OK;
}

/* Where a text lies that was alone in its place: nobody looks for it there, and a record that it
 * does not fit is looked at again, as above. */
void ot_parts_expect(ot_parts *p, const char *text)
{
    const size_t n = strlen(text);
    if (n <= SHORT)
        return;
    p->expected = (ot_part){true, (uint32_t)ot_hash64(text, n), {text, n}};
    p->carried = true;
}

/* The number of these bytes, which are put there when they are new; 1: there is no place. */
static int share(ot_parts *p, const void *data, size_t n, uint32_t *id, optune_err *err)
{
    const uint32_t first = (uint32_t)ot_hash64(data, n);
    for (uint32_t i = 0; i < PROBES; i++) {
        ot_bytes there = {0};
        *id = first + i;
        int status = ot_parts_find(p, *id, &there, err);
        if (status == 1) {
            status = ot_writer_put(p->writer, OT_TABLE_SHARED, (ot_bytes){id, sizeof *id},
                                   (ot_bytes){data, n}, NULL, err);
            if (status == OPTUNE_OK)
                keep(p, *id, (ot_bytes){data, n});
            return status;
        }
        if (status < 0 || (there.n == n && memcmp(there.data, data, n) == 0))
            return status;
    }
    return 1;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void put_number(ot_text *to, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        bytes[n++] = (char)(value | 128);
    bytes[n++] = (char)value;
    ot_bytes_add(to, bytes, n);
}

static void add(ot_text *to, ot_bytes bytes)
{
    ot_bytes_add(to, bytes.n ? bytes.data : "", bytes.n);
}

static void put_signed(ot_text *to, int64_t value)
{
    put_number(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- texts ------------------------------------------------------------------------------- */

static int put_text(ot_parts *p, ot_text *to, const char *s, size_t n, bool shared,
                    optune_err *err)
{
    uint32_t id;
    int status = shared && n > SHORT ? share(p, s, n, &id, err) : 1;
    if (status == OPTUNE_OK) {
        put_number(to, OT_SQUEEZED_SHARED);
        ot_bytes_add(to, (const char *)&id, sizeof id);
    } else if (status == 1) {
        put_number(to, OT_SQUEEZED_INLINE + n);
        ot_bytes_add(to, s, n);
    }
    return status < 0 ? status : OPTUNE_OK;
}

/* ---- configs ----------------------------------------------------------------------------- */

/* A text of codec.c's: its length, itself and a zero. */
static ot_bytes take_v1_text(reading *r)
{
    const int32_t n = (int32_t)take_32(r);
    if (n == OT_SQUEEZED_ABSENT_1 || r->bad)
        return (ot_bytes){NULL, 0};
    const ot_bytes text = take_bytes(r, n < 0 ? UINT64_MAX : (uint64_t)n + 1);
    return (ot_bytes){text.data, text.n ? text.n - 1 : 0};
}

/* Names and kinds become one part, the values follow. */
static int squeeze_config(ot_parts *p, reading *r, ot_text *to, optune_err *err)
{
    ot_text shape = {0}, values = {0};
    const uint32_t n = take_32(r);
    const int64_t index = take_64(r);
    for (uint32_t i = 0; i < n && !r->bad; i++) {
        const ot_bytes name = take_v1_text(r);
        const uint32_t kind = take_32(r);
        put_number(&shape, name.n);
        add(&shape, name);
        ot_bytes_add(&shape, (const char *)&kind, sizeof kind);
        if (is_word(kind)) {
            const ot_bytes word = take_v1_text(r);
            put_number(&values, word.n);
            add(&values, word);
        } else if (is_float(kind)) {
            add(&values, take_bytes(r, sizeof(double)));
        } else {
            for (uint32_t k = 0; k < kind >> 16 && !r->bad; k++)
                put_signed(&values, take_64(r));
        }
    }
    put_number(to, n);
    const int status = n ? put_text(p, to, ot_text_str(&shape), shape.n, true, err) : OPTUNE_OK;
    put_signed(to, index);
    ot_bytes_add(to, ot_text_str(&values), values.n);
    ot_text_release(&shape);
    ot_text_release(&values);
    return status;
}

/* ---- fields ------------------------------------------------------------------------------ */

static void add_samples(ot_text *to, reading *r, uint64_t n)
{
    if (n > (uint64_t)(r->end - r->at) / sizeof(double))
        r->bad = true;
    else
        add(to, take_bytes(r, n * sizeof(double)));
}

static int squeeze_field(ot_parts *p, reading *r, ot_record_kind kind, bool shared, ot_text *to,
                         optune_err *err)
{
    int64_t n;
    ot_bytes text;
    switch (kind) {
    case OT_RECORD_SAMPLES:
        n = take_64(r);
        put_number(to, (uint64_t)n);
        add_samples(to, r, (uint64_t)n);
        return OPTUNE_OK;
    case OT_RECORD_REAL:
        add(to, take_bytes(r, sizeof(double)));
        return OPTUNE_OK;
    case OT_RECORD_COUNT:
        put_signed(to, take_64(r));
        return OPTUNE_OK;
    case OT_RECORD_BITS:
        put_number(to, (uint64_t)take_64(r));
        return OPTUNE_OK;
    case OT_RECORD_OUTCOME:
    case OT_RECORD_FLAG:
        put_number(to, take_32(r));
        return OPTUNE_OK;
    case OT_RECORD_CONFIG:
        return squeeze_config(p, r, to, err);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        break;
    }
    text = take_v1_text(r);
    if (text.data)
        return put_text(p, to, text.data, text.n, shared, err);
    put_number(to, OT_SQUEEZED_ABSENT);
    return OPTUNE_OK;
}

/* ---- values ------------------------------------------------------------------------------ */

int ot_squeeze(ot_parts *p, ot_bytes record, ot_text *to, optune_err *err)
{
    reading r = {.at = (const char *)record.data + OT_SQUEEZED_V1_HEAD,
                 .end = (const char *)record.data + record.n};
    const uint32_t magic = OT_SQUEEZED_MAGIC;
    const char *v1 = record.data;
    ot_text_clear(to);
    ot_bytes_add(to, (const char *)&magic, sizeof magic);
    ot_bytes_add(to, v1 + 4, 1);
    ot_bytes_add(to, v1 + 8, 8);
    for (int i = 0; i < OT_RECORD_FIELDS && !r.bad && (i < OT_RECORD_FIRST || r.at != r.end); i++) {
        const ot_record_field *f = ot_record_stored()[i];
        if (i >= OT_RECORD_FIRST)
            put_number(to, f->kind);
        /* What the trial itself said is its own; the rest is the same for many. */
        OT_RETURN_UNLESS_OK(
            squeeze_field(p, &r, f->kind, f->who == OT_RECORD_ASKER, to, err));
    }
    assert(!r.bad && r.at == r.end);
    return OPTUNE_OK;
}
