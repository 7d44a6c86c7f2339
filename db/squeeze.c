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
#include <string.h>

#include "base/record.h"
#include "db/kv.h"

enum {
    MAGIC = 0x3252746f, /* "otR2" */
    HEAD = 4 + 1 + 8,
    V1_HEAD = 16,
    ABSENT_1 = -1, /* a length, in codec.c's bytes */
    ABSENT = 0,
    SHARED = 1,
    INLINE = 2,
    SHORT = 4,  /* a text that long is no longer than a number */
    PROBES = 8, /* places that a text may have; hostile ones are not looked for further */
};

/* ---- shared parts ------------------------------------------------------------------------ */

void ot_parts_release(ot_parts *p)
{
    ot_arena_release(&p->arena);
    ot_text_release(&p->scratch);
}

static void forget(ot_parts *p)
{
    ot_arena_release(&p->arena);
    memset(p->part, 0, sizeof p->part);
    p->kept = 0;
    p->carried = false;
}

static ot_part *slot_of(ot_parts *p, uint32_t id)
{
    return &p->part[id % OT_COUNT(p->part)];
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

/* 1: there is none. */
static int find_part(ot_parts *p, uint32_t id, ot_bytes *bytes, optune_err *err)
{
    const ot_part *part = slot_of(p, id);
    if (!part->used || part->id != id) {
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
    const uint32_t id = (uint32_t)ot_hash64(text, n);
    const ot_part *part = slot_of(p, id);
    if (n <= SHORT || (part->used && part->id == id))
        return;
    keep(p, id, (ot_bytes){text, n});
    p->carried = true;
}

/* The number of these bytes, which are put there when they are new; 1: there is no place. */
static int share(ot_parts *p, const void *data, size_t n, uint32_t *id, optune_err *err)
{
    const uint32_t first = (uint32_t)ot_hash64(data, n);
    for (uint32_t i = 0; i < PROBES; i++) {
        ot_bytes there = {0};
        *id = first + i;
        int status = find_part(p, *id, &there, err);
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

typedef struct reading {
    const char *at, *end;
    bool bad;
} reading;

/* n <= 8 */
static const void *take(reading *r, size_t n)
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
static ot_bytes take_bytes(reading *r, uint64_t n)
{
    if (n > (uint64_t)(r->end - r->at))
        r->bad = true;
    const size_t size = r->bad ? 0 : (size_t)n;
    const ot_bytes bytes = {r->at, size};
    r->at += size;
    return bytes;
}

static uint64_t take_number(reading *r)
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

static int64_t take_signed(reading *r)
{
    const uint64_t value = take_number(r);
    return (int64_t)(value >> 1 ^ -(value & 1));
}

static uint32_t take_32(reading *r)
{
    uint32_t value;
    const void *at = take(r, sizeof value);
    if (r->bad)
        return 0;
    memcpy(&value, at, sizeof value);
    return value;
}

static int64_t take_64(reading *r)
{
    int64_t value;
    memcpy(&value, take(r, sizeof value), sizeof value);
    return value;
}

/* ---- texts ------------------------------------------------------------------------------- */

static int put_text(ot_parts *p, ot_text *to, const char *s, size_t n, bool shared,
                    optune_err *err)
{
    uint32_t id;
    int status = shared && n > SHORT ? share(p, s, n, &id, err) : 1;
    if (status == OPTUNE_OK) {
        put_number(to, SHARED);
        ot_bytes_add(to, (const char *)&id, sizeof id);
    } else if (status == 1) {
        put_number(to, INLINE + n);
        ot_bytes_add(to, s, n);
    }
    return status < 0 ? status : OPTUNE_OK;
}

/* What it says, wherever it lies; bytes.data is NULL when it is absent. */
static int take_text(ot_parts *p, reading *r, ot_bytes *bytes, optune_err *err)
{
    const uint64_t head = take_number(r);
    *bytes = (ot_bytes){NULL, 0};
    if (head >= INLINE) {
        *bytes = take_bytes(r, head - INLINE);
    } else if (head == SHARED) {
        const int status = find_part(p, take_32(r), bytes, err);
        r->bad |= status == 1;
        return status < 0 ? status : OPTUNE_OK;
    }
    return OPTUNE_OK;
}

/* ---- configs ----------------------------------------------------------------------------- */

static bool is_word(uint32_t kind)
{
    return (kind & 255) == OPTUNE_KNOB_OTHER && (kind >> 8 & 255) == OPTUNE_SCALAR_WORD;
}

static bool is_float(uint32_t kind)
{
    return (kind & 255) == OPTUNE_KNOB_OTHER && (kind >> 8 & 255) == OPTUNE_SCALAR_FLOAT;
}

/* A text of codec.c's: its length, itself and a zero. */
static ot_bytes take_v1_text(reading *r)
{
    const int32_t n = (int32_t)take_32(r);
    if (n == ABSENT_1 || r->bad)
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

static void put_v1_text(ot_text *to, ot_bytes text)
{
    const int32_t n = text.data ? (int32_t)text.n : ABSENT_1;
    ot_bytes_add(to, (const char *)&n, sizeof n);
    if (text.data) {
        ot_bytes_add(to, text.data, text.n);
        ot_bytes_add(to, "", 1);
    }
}

static int restore_config(ot_parts *p, reading *r, ot_text *to, optune_err *err)
{
    const uint64_t n = take_number(r);
    ot_bytes shape = {NULL, 0};
    if (n > OPTUNE_MAX_KNOBS)
        r->bad = true;
    if (n && !r->bad)
        OT_RETURN_UNLESS_OK(take_text(p, r, &shape, err));
    const int64_t index = take_signed(r);
    const uint32_t count = (uint32_t)n;
    reading s = {.at = shape.data, .end = (const char *)shape.data + shape.n, .bad = r->bad};
    ot_bytes_add(to, (const char *)&count, sizeof count);
    ot_bytes_add(to, (const char *)&index, sizeof index);
    for (uint64_t i = 0; i < n && !r->bad && !s.bad; i++) {
        put_v1_text(to, take_bytes(&s, take_number(&s)));
        const uint32_t kind = take_32(&s);
        ot_bytes_add(to, (const char *)&kind, sizeof kind);
        if (s.bad || kind >> 16 > OPTUNE_MAX_LIST) {
            r->bad = true;
        } else if (is_word(kind)) {
            put_v1_text(to, take_bytes(r, take_number(r)));
        } else if (is_float(kind)) {
            add(to, take_bytes(r, sizeof(double)));
        } else {
            for (uint32_t k = 0; k < kind >> 16; k++) {
                const int64_t value = take_signed(r);
                ot_bytes_add(to, (const char *)&value, sizeof value);
            }
        }
    }
    r->bad |= s.bad;
    return OPTUNE_OK;
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
    put_number(to, ABSENT);
    return OPTUNE_OK;
}

static int restore_field(ot_parts *p, reading *r, ot_record_kind kind, ot_text *to,
                         optune_err *err)
{
    int64_t wide;
    uint32_t narrow;
    ot_bytes text;
    switch (kind) {
    case OT_RECORD_SAMPLES:
        wide = (int64_t)take_number(r);
        ot_bytes_add(to, (const char *)&wide, sizeof wide);
        add_samples(to, r, (uint64_t)wide);
        return OPTUNE_OK;
    case OT_RECORD_REAL:
        add(to, take_bytes(r, sizeof(double)));
        return OPTUNE_OK;
    case OT_RECORD_COUNT:
        wide = take_signed(r);
        ot_bytes_add(to, (const char *)&wide, sizeof wide);
        return OPTUNE_OK;
    case OT_RECORD_BITS:
        wide = (int64_t)take_number(r);
        ot_bytes_add(to, (const char *)&wide, sizeof wide);
        return OPTUNE_OK;
    case OT_RECORD_OUTCOME:
    case OT_RECORD_FLAG:
        narrow = (uint32_t)take_number(r);
        ot_bytes_add(to, (const char *)&narrow, sizeof narrow);
        return OPTUNE_OK;
    case OT_RECORD_CONFIG:
        return restore_config(p, r, to, err);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON: {
        const int status = take_text(p, r, &text, err);
        put_v1_text(to, text);
        return status;
    }
    }
    r->bad = true; /* no kind */
    return OPTUNE_OK;
}

/* ---- values ------------------------------------------------------------------------------ */

int ot_squeeze(ot_parts *p, ot_bytes record, ot_text *to, optune_err *err)
{
    reading r = {.at = (const char *)record.data + V1_HEAD,
                 .end = (const char *)record.data + record.n};
    const uint32_t magic = MAGIC;
    const char *v1 = record.data;
    ot_text_clear(to);
    ot_bytes_add(to, (const char *)&magic, sizeof magic);
    ot_bytes_add(to, v1 + 4, 1);
    ot_bytes_add(to, v1 + 8, 8);
    for (int i = 0; i < OT_RECORD_FIELDS && !r.bad && (i < OT_RECORD_FIRST || r.at != r.end); i++) {
        const ot_record_field *f = ot_record_stored(i);
        if (i >= OT_RECORD_FIRST)
            put_number(to, f->kind);
        /* What the trial itself said is its own; the rest is the same for many. */
        OT_RETURN_UNLESS_OK(
            squeeze_field(p, &r, f->kind, f->who == OT_RECORD_ASKER, to, err));
    }
    assert(!r.bad && r.at == r.end);
    return OPTUNE_OK;
}

static bool is_squeezed(ot_bytes value)
{
    uint32_t magic = 0;
    if (value.n >= sizeof magic)
        memcpy(&magic, value.data, sizeof magic);
    return magic == MAGIC;
}

static int restore(ot_parts *p, ot_bytes value, ot_text *to, optune_err *err)
{
    reading r = {.at = value.data, .end = (const char *)value.data + value.n};
    char head[V1_HEAD] = {0};
    if (value.n < HEAD)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is cut off");
    ot_record_magic(head);
    head[4] = *((const char *)take(&r, 5) + 4);
    memcpy(head + 8, take(&r, 8), 8);
    ot_text_clear(to);
    ot_bytes_add(to, head, sizeof head);
    for (int i = 0; !r.bad && (i < OT_RECORD_FIRST || r.at != r.end); i++) {
        const uint64_t kind =
            i < OT_RECORD_FIRST ? ot_record_stored(i)->kind : take_number(&r);
        OT_RETURN_UNLESS_OK(restore_field(p, &r, (ot_record_kind)kind, to, err));
    }
    if (r.bad)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is not laid out like one");
    return OPTUNE_OK;
}

int ot_stored_decode(ot_parts *p, ot_bytes value, ot_arena *arena, optune_record *record,
                     optune_err *err)
{
    if (!is_squeezed(value))
        return ot_record_decode(value.data, value.n, arena, record, err);
    int status = restore(p, value, &p->scratch, err);
    if (status >= 0)
        status = ot_record_decode(p->scratch.s, p->scratch.n, arena, record, err);
    if (status != OPTUNE_EDAMAGED || !p->carried)
        return status;
    forget(p); /* since then a number may have come to mean something else */
    return ot_stored_decode(p, value, arena, record, err);
}

bool ot_value_damaged(ot_parts *parts, ot_bytes value)
{
    ot_arena arena = {0};
    optune_record record;
    const int status = ot_stored_decode(parts, value, &arena, &record, NULL);
    ot_arena_release(&arena);
    return status == OPTUNE_EDAMAGED;
}

static int get(ot_parts *p, ot_kv_table table, ot_bytes key, ot_bytes *value)
{
    return p->writer ? ot_writer_get(p->writer, table, key, value, NULL)
                     : ot_snapshot_get(p->reader, table, key, value, NULL);
}

bool ot_parts_know(ot_parts *parts, const ot_digest *digest)
{
    const ot_bytes key = {digest->byte, sizeof digest->byte};
    ot_bytes value;
    return (get(parts, OT_TABLE_RECORD, key, &value) == OPTUNE_OK &&
            !ot_value_damaged(parts, value)) ||
           get(parts, OT_TABLE_FORGOTTEN, key, &value) == OPTUNE_OK;
}
