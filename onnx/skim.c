/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's file without its large tensors, so that reading one of any size takes memory for its
 * nodes alone. The message is walked where it lies in the file; what is not a large tensor is
 * copied byte for byte, and lengths are written anew. Whatever is not as expected ends the walk:
 * the file is then read whole, and who reads it says what is wrong.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "onnx/onnx.h"

enum {
    WINDOW = 1 << 16,
    TICKET_FIELD = 9,
    DOC = 12,
    METADATA = 16,
    VARINT = 0,
    WIDE = 1,
    SIZED = 2,
    NARROW = 5
};

typedef enum kind { OPAQUE, MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR } kind;

typedef struct skim {
    ot_onnx_pieces *pieces;
    int64_t at, end; /* of the file */
    uint8_t *window; /* what was read of it last */
    int64_t from, have;
    optune_err why;
} skim;

static const uint8_t *peek(skim *s)
{
    if (s->at >= s->end)
        return NULL;
    if (s->at < s->from || s->at >= s->from + s->have) {
        s->from = s->at;
        s->have = s->end - s->at < WINDOW ? s->end - s->at : WINDOW;
        if (ot_onnx_file_read(s->pieces->file, s->from, s->have, s->window, &s->why) < 0) {
            s->have = 0;
            return NULL;
        }
    }
    return &s->window[s->at - s->from];
}

static bool varint(skim *s, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 10; i++) {
        const uint8_t *byte = peek(s);
        if (!byte)
            return false;
        s->at++;
        *value |= (uint64_t)(*byte & 0x7f) << (7 * i);
        if (!(*byte & 0x80))
            return true;
    }
    return false;
}

static void put_varint(ot_text *to, uint64_t value)
{
    do {
        const char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        ot_text_add_n(to, &byte, 1);
        value >>= 7;
    } while (value);
}

static bool copy(skim *s, int64_t end, ot_text *to)
{
    while (s->at < end) {
        const uint8_t *from = peek(s);
        if (!from)
            return false;
        int64_t n = s->from + s->have - s->at;
        n = n < end - s->at ? n : end - s->at;
        ot_text_add_n(to, (const char *)from, (size_t)n);
        s->at += n;
    }
    return true;
}

/* A field: its number, and where what it holds begins and ends. */
typedef struct field {
    uint64_t number, value; /* value: of a varint */
    int wire;
    int64_t key, begin, end;
} field;

/* Leaves `at` behind the field's key and length; false: there is none that ends before `end`. */
static bool next_field(skim *s, int64_t end, field *f)
{
    uint64_t key, n = 0;
    f->key = s->at;
    if (!varint(s, &key))
        return false;
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    f->value = 0;
    if (f->wire == SIZED ? !varint(s, &n)
                         : f->wire != WIDE && f->wire != NARROW && f->wire != VARINT)
        return false;
    f->begin = s->at;
    if (f->wire == VARINT && !varint(s, &f->value))
        return false;
    if (f->wire != SIZED)
        n = f->wire == WIDE ? 8 : f->wire == NARROW ? 4 : 0;
    if (n > (uint64_t)(end - s->at) || s->at > end)
        return false;
    f->end = s->at + (int64_t)n;
    if (f->wire == VARINT)
        s->at = f->begin;
    return true;
}

static kind kind_of(kind in, uint64_t number)
{
    return in == MODEL && number == 7       ? GRAPH
           : in == GRAPH && number == 1     ? NODE
           : in == GRAPH && number == 5     ? TENSOR
           : in == NODE && number == 5      ? ATTRIBUTE
           : in == ATTRIBUTE && number == 5 ? TENSOR
                                            : OPAQUE;
}

/* The one field that has all elements of a tensor, as bytes of their own type, if it is large. */
static bool find_bytes(skim *s, int64_t end, field *bytes, bool *bools)
{
    const int64_t start = s->at;
    uint64_t dtype = 0;
    int n = 0;
    for (field f; s->at < end; s->at = f.end) {
        if (!next_field(s, end, &f))
            return false;
        if (f.number == 2)
            dtype = f.value;
        if ((f.number >= 4 && f.number <= 7) ||
            (f.number >= 9 && f.number != DOC && f.number != METADATA)) {
            n++; /* elements, where they are, or what this schema does not know */
            *bytes = f;
        }
    }
    s->at = start;
    *bools = dtype == 9;
    return n == 1 && bytes->wire == SIZED &&
           (bytes->number == TICKET_FIELD || (bytes->number == 4 && dtype == 1)) &&
           bytes->end - bytes->begin >= OT_ONNX_LARGE;
}

static bool cut(skim *s, const field *bytes, bool bools, ot_text *to)
{
    ot_onnx_piece piece = {.file = s->pieces->file,
                           .offset = bytes->begin,
                           .bytes = bytes->end - bytes->begin,
                           .bools = bools};
    ot_text ticket = {0};
    if (ot_onnx_piece_digest(&piece, &s->why) < 0)
        return false;
    ot_onnx_piece_add(s->pieces, &piece, &ticket);
    put_varint(to, TICKET_FIELD << 3 | SIZED);
    put_varint(to, ticket.n);
    ot_text_add_n(to, ot_text_str(&ticket), ticket.n);
    ot_text_release(&ticket);
    s->at = bytes->end;
    return true;
}

static bool walk(skim *s, kind in, int64_t end, ot_text *to) /* at most as deep as kinds go */
{
    field bytes = {0};
    bool bools = false;
    const bool large = in == TENSOR && find_bytes(s, end, &bytes, &bools);
    for (field f; s->at < end;) {
        if (!next_field(s, end, &f))
            return false;
        const kind inner = f.wire == SIZED ? kind_of(in, f.number) : OPAQUE;
        if (large && f.key == bytes.key) {
            if (!cut(s, &f, bools, to))
                return false;
        } else if (inner == OPAQUE || f.end - f.begin < OT_ONNX_LARGE) {
            s->at = f.key;
            if (!copy(s, f.end, to))
                return false;
        } else {
            ot_text lighter = {0};
            const bool walked = walk(s, inner, f.end, &lighter);
            put_varint(to, f.number << 3 | SIZED);
            put_varint(to, lighter.n);
            ot_text_add_n(to, ot_text_str(&lighter), lighter.n);
            ot_text_release(&lighter);
            if (!walked)
                return false;
        }
    }
    return true;
}

bool ot_onnx_skim(ot_onnx_pieces *pieces, int64_t bytes, ot_text *message)
{
    if (getrandom(pieces->secret, sizeof pieces->secret, 0) != sizeof pieces->secret)
        return false;
    skim s = {.pieces = pieces, .end = bytes, .window = ot_alloc(WINDOW)};
    ot_text_clear(message);
    const bool walked = walk(&s, MODEL, bytes, message);
    free(s.window);
    if (!walked)
        pieces->n = 0;
    return walked;
}
