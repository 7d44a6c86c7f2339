/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record as it lies in a store (squeeze.c), read. The checksum covers codec.c's bytes, so these
 * are restored; what they say is noted on the way, and nobody reads them a second time. Texts that
 * are the same for many records stand in a row: what such a row was restored to is remembered, and
 * copied where another record has the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "db/squeezed.h"

/* A text of the record: where it begins in the bytes. */
typedef struct told {
    size_t field, at; /* field: where its pointer is in the record */
} told;

typedef struct restoring {
    ot_parts *parts;
    reading from;
    ot_text *to; /* codec.c's bytes */
    optune_record *record;
    bool sound; /* what they say is a record's */
    bool plain; /* each field is of the kind that is known here */
    int n;
    told text[OT_RECORD_FIELDS];
    size_t samples; /* where they begin; 0: there are none */
} restoring;

/* The caller adds so many bytes, and counts them. */
static inline char *room(ot_text *to, size_t n)
{
    return to->capacity - to->n > n ? to->s + to->n : ot_text_room(to, n);
}

static void add(ot_text *to, const void *data, size_t n)
{
    memcpy(room(to, n), data, n);
    to->n += n;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* What it says, wherever it lies; bytes.data is NULL when it is absent. */
static int take_text(ot_parts *p, reading *r, ot_bytes *bytes, optune_err *err)
{
    const uint64_t head = take_number(r);
    *bytes = (ot_bytes){NULL, 0};
    if (head >= OT_SQUEEZED_INLINE) {
        *bytes = take_bytes(r, head - OT_SQUEEZED_INLINE);
    } else if (head == OT_SQUEEZED_SHARED) {
        const int status = ot_parts_find(p, take_32(r), bytes, err);
        r->bad |= status == 1;
        return status < 0 ? status : OPTUNE_OK;
    }
    return OPTUNE_OK;
}

/* As codec.c writes it; returns where it begins. No text has a zero in it. */
static size_t put_text(restoring *r, ot_bytes text)
{
    const int32_t n = text.data ? (int32_t)text.n : OT_SQUEEZED_ABSENT_1;
    char *at = room(r->to, sizeof n + text.n + 1);
    memcpy(at, &n, sizeof n);
    r->to->n += sizeof n;
    if (!text.data)
        return 0;
    memcpy(at + sizeof n, text.data, text.n);
    at[sizeof n + text.n] = 0;
    r->to->n += text.n + 1;
    r->sound = r->sound && (size_t)n == text.n && !memchr(text.data, 0, text.n);
    return r->to->n - text.n - 1;
}

static void put_word(restoring *r, ot_bytes text, char *to, size_t size)
{
    put_text(r, text);
    if (text.n < size) {
        if (text.n)
            memcpy(to, text.data, text.n);
    } else {
        r->sound = false;
    }
}

/* ---- configs ----------------------------------------------------------------------------- */

/* Names and kinds of the knobs of many configs, which lie in one shared part: so are the bytes that
 * these are restored to. */
enum { SHAPES = 4, MOST_SHAPED = 16, MOST_HEAD = 48 };

typedef struct knobs_met {
    const void *names; /* the part's bytes */
    int n;
    optune_entity entity[MOST_SHAPED]; /* without values */
    uint8_t n_head[MOST_SHAPED];
    char head[MOST_SHAPED][MOST_HEAD]; /* in front of the values */
} knobs_met;

struct ot_rows_met;
static const knobs_met *shape_of(const struct ot_rows_met *met, const void *names, uint64_t n);
static void keep_shape(struct ot_rows_met *met, const void *names, const optune_config *config);

static void restore_values(restoring *r, optune_entity *entity)
{
    const uint32_t kind = entity->kind | (uint32_t)entity->scalar << 8;
    reading *from = &r->from;
    if (is_word(kind)) {
        put_word(r, take_bytes(from, take_number(from)), entity->word, sizeof entity->word);
    } else if (is_float(kind)) {
        memcpy(&entity->f, take(from, sizeof entity->f), sizeof entity->f);
        add(r->to, &entity->f, sizeof entity->f);
    } else {
        for (int i = 0; i < entity->n; i++)
            entity->v[i] = take_signed(from);
        add(r->to, entity->v, entity->n * sizeof entity->v[0]);
    }
}

static void restore_shaped(restoring *r, const knobs_met *known, optune_config *config)
{
    for (int i = 0; i < known->n && !r->from.bad; i++) {
        optune_entity *entity = &config->entity[config->n++];
        *entity = known->entity[i];
        memcpy(room(r->to, MOST_HEAD), known->head[i], MOST_HEAD);
        r->to->n += known->n_head[i];
        restore_values(r, entity);
    }
}

static void restore_entity(restoring *r, reading *shape, optune_entity *entity)
{
    reading *from = &r->from;
    *entity = (optune_entity){.n = 0};
    put_word(r, take_bytes(shape, take_number(shape)), entity->name, sizeof entity->name);
    const uint32_t kind = take_32(shape), n = kind >> 16;
    add(r->to, &kind, sizeof kind);
    if (shape->bad || n > OPTUNE_MAX_LIST) {
        from->bad = true;
        return;
    }
    entity->kind = (uint8_t)kind;
    entity->scalar = (uint8_t)(kind >> 8);
    entity->n = (uint8_t)n;
    r->sound =
        r->sound && entity->kind <= OPTUNE_KNOB_OTHER && entity->scalar <= OPTUNE_SCALAR_WORD;
    restore_values(r, entity);
}

static int restore_config(restoring *r, optune_config *config, optune_err *err)
{
    reading *from = &r->from;
    const uint64_t n = take_number(from);
    ot_bytes names = {NULL, 0};
    struct ot_rows_met *met = r->parts->rows;
    if (n > OPTUNE_MAX_KNOBS)
        from->bad = true;
    const bool shared = met && from->at != from->end && *from->at == OT_SQUEEZED_SHARED;
    if (n && !from->bad)
        OT_RETURN_UNLESS_OK(take_text(r->parts, from, &names, err));
    const int64_t index = take_signed(from);
    const uint32_t count = (uint32_t)n;
    reading shape = {
        .at = names.data, .end = (const char *)names.data + names.n, .bad = from->bad};
    add(r->to, &count, sizeof count);
    add(r->to, &index, sizeof index);
    config->index = index;
    config->n = 0;
    const bool kept = shared && names.data != r->parts->expected.bytes.data;
    const knobs_met *known = kept ? shape_of(met, names.data, n) : NULL;
    if (known) {
        restore_shaped(r, known, config);
        return OPTUNE_OK;
    }
    while ((uint64_t)config->n < n && !from->bad && !shape.bad)
        restore_entity(r, &shape, &config->entity[config->n++]);
    from->bad |= shape.bad;
    if (kept && r->sound && !from->bad && n <= MOST_SHAPED)
        keep_shape(met, names.data, config);
    return OPTUNE_OK;
}

/* ---- rows of texts ------------------------------------------------------------------------ */

enum { ROWS = 8, MOST_STORED = 96, MOST_RESTORED = 1536 };

/* Of a record's fields from `first` up to `end`, texts of who asked for it but the call. */
typedef struct row_met {
    int first, end, n_texts;
    size_t n_stored, n_restored;
    told text[OT_RECORD_FIELDS]; /* from the row's beginning on */
    char stored[MOST_STORED], restored[MOST_RESTORED];
} row_met;

struct ot_rows_met {
    int end[OT_RECORD_FIRST]; /* of the row that begins at a field; 0: none does */
    int n, next;              /* how many there are, and whose place is taken by another one */
    row_met at[ROWS];
    int n_shapes, next_shape;
    knobs_met shape[SHAPES];
};

static const knobs_met *shape_of(const struct ot_rows_met *met, const void *names, uint64_t n)
{
    for (int i = 0; i < met->n_shapes; i++)
        if (met->shape[i].names == names && (uint64_t)met->shape[i].n == n)
            return &met->shape[i];
    return NULL;
}

static void keep_shape(struct ot_rows_met *met, const void *names, const optune_config *config)
{
    knobs_met *s =
        &met->shape[met->n_shapes < SHAPES ? met->n_shapes++ : met->next_shape++ % SHAPES];
    s->names = names;
    s->n = config->n;
    for (int i = 0; i < config->n; i++) {
        const optune_entity *e = &config->entity[i];
        const int32_t n = (int32_t)strlen(e->name);
        const uint32_t kind = e->kind | (uint32_t)e->scalar << 8 | (uint32_t)e->n << 16;
        char *at = s->head[i];
        s->entity[i] = (optune_entity){.kind = e->kind, .scalar = e->scalar, .n = e->n};
        memcpy(s->entity[i].name, e->name, sizeof e->name);
        memcpy(at, &n, sizeof n);
        memcpy(at + sizeof n, e->name, (size_t)n + 1);
        memcpy(at + sizeof n + n + 1, &kind, sizeof kind);
        s->n_head[i] = (uint8_t)(sizeof n + (size_t)n + 1 + sizeof kind);
    }
}

/* A field before which a row begins, and where the bytes were then. */
typedef struct mark {
    const char *from;
    size_t to;
    int texts;
} mark;

static bool is_alike(const ot_record_field *f)
{
    return ot_record_is_text(f) && f->who == OT_RECORD_ASKER &&
           f->offset != offsetof(optune_record, call);
}

static struct ot_rows_met *rows_new(void)
{
    const ot_record_field *const *stored = ot_record_stored();
    struct ot_rows_met *all = ot_alloc_raw(sizeof *all);
    memset(all->end, 0, sizeof all->end);
    all->n = all->next = all->n_shapes = all->next_shape = 0;
    for (int i = 0, end; i < OT_RECORD_FIRST; i = end) {
        for (end = i; end < OT_RECORD_FIRST && is_alike(stored[end]);)
            end++;
        all->end[i] = end > i + 1 ? end : 0;
        end += end == i;
    }
    return all;
}

/* Whether the record goes on with a row that was met, which is taken then. */
static bool take_row(restoring *r, int first, int *end)
{
    const struct ot_rows_met *all = r->parts->rows;
    reading *from = &r->from;
    for (int i = 0; i < all->n; i++) {
        const row_met *w = &all->at[i];
        if (w->first != first || (size_t)(from->end - from->at) < w->n_stored ||
            memcmp(from->at, w->stored, w->n_stored) != 0)
            continue;
        for (int k = 0; k < w->n_texts; k++)
            r->text[r->n++] = (told){w->text[k].field, w->text[k].at + r->to->n};
        add(r->to, w->restored, w->n_restored);
        from->at += w->n_stored;
        *end = w->end;
        return true;
    }
    return false;
}

/* What was restored since then is remembered; a number may come to mean something else, as of the
 * parts themselves. */
static void keep_row(restoring *r, int first, int end, const mark *since)
{
    struct ot_rows_met *all = r->parts->rows;
    const size_t n_stored = (size_t)(r->from.at - since->from),
                 n_restored = r->to->n - since->to;
    if (!r->sound || !r->plain || r->from.bad || n_stored > MOST_STORED ||
        n_restored > MOST_RESTORED)
        return;
    row_met *w = &all->at[all->n < ROWS ? all->n++ : all->next++ % ROWS];
    w->first = first;
    w->end = end;
    w->n_texts = r->n - since->texts;
    w->n_stored = n_stored;
    w->n_restored = n_restored;
    for (int k = 0; k < w->n_texts; k++)
        w->text[k] =
            (told){r->text[since->texts + k].field, r->text[since->texts + k].at - since->to};
    memcpy(w->stored, since->from, n_stored);
    memcpy(w->restored, r->to->s + since->to, n_restored);
}

/* ---- fields ------------------------------------------------------------------------------ */

static void restore_samples(restoring *r)
{
    const uint64_t n = take_number(&r->from);
    add(r->to, &n, sizeof n);
    if (n > (uint64_t)(r->from.end - r->from.at) / sizeof(double)) {
        r->from.bad = true;
        return;
    }
    const ot_bytes bytes = take_bytes(&r->from, n * sizeof(double));
    r->record->n_samples = (int)n;
    r->samples = n ? r->to->n : 0;
    add(r->to, bytes.data, bytes.n);
}

/* `field`: where it is in the record; NULL: a later version's, or of another kind there. */
static int restore_field(restoring *r, ot_record_kind kind, void *field, optune_err *err)
{
    reading *from = &r->from;
    int64_t wide;
    uint32_t narrow;
    ot_bytes text;
    switch (kind) {
    case OT_RECORD_SAMPLES:
        restore_samples(r);
        return OPTUNE_OK;
    case OT_RECORD_REAL:
        memcpy(&wide, take(from, sizeof wide), sizeof wide);
        add(r->to, &wide, sizeof wide);
        if (field)
            memcpy(field, &wide, sizeof wide);
        return OPTUNE_OK;
    case OT_RECORD_COUNT:
    case OT_RECORD_BITS:
        wide = kind == OT_RECORD_COUNT ? take_signed(from) : (int64_t)take_number(from);
        add(r->to, &wide, sizeof wide);
        if (field)
            memcpy(field, &wide, sizeof wide);
        return OPTUNE_OK;
    case OT_RECORD_OUTCOME:
    case OT_RECORD_FLAG:
        narrow = (uint32_t)take_number(from);
        add(r->to, &narrow, sizeof narrow);
        if (field && kind == OT_RECORD_OUTCOME)
            *(int *)field = (int)narrow;
        else if (field)
            *(bool *)field = narrow != 0;
        return OPTUNE_OK;
    case OT_RECORD_CONFIG:
        return restore_config(r, &r->record->config, err);
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON: {
        const int status = take_text(r->parts, from, &text, err);
        const size_t at = put_text(r, text);
        if (field && at)
            r->text[r->n++] = (told){(size_t)((char *)field - (char *)r->record), at};
        return status;
    }
    }
    from->bad = true; /* no kind */
    return OPTUNE_OK;
}

static int restore(restoring *r, ot_bytes value, optune_err *err)
{
    const ot_record_field *const *stored = ot_record_stored();
    char head[OT_SQUEEZED_V1_HEAD] = {0};
    if (value.n < OT_SQUEEZED_HEAD)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is cut off");
    reading *from = &r->from;
    ot_record_magic(head);
    head[4] = *((const char *)take(from, 5) + 4);
    memcpy(head + 8, take(from, 8), 8);
    r->to->n = 0;
    add(r->to, head, sizeof head);
    const struct ot_rows_met *rows = r->parts->rows;
    mark since = {NULL, 0, 0};
    int first = 0, end = 0;
    for (int i = 0; !from->bad && (i < OT_RECORD_FIRST || from->at != from->end); i++) {
        if (rows && i < OT_RECORD_FIRST && rows->end[i]) {
            first = i;
            if (take_row(r, first, &end)) {
                i = end - 1;
                continue;
            }
            end = rows->end[i];
            since = (mark){from->at, r->to->n, r->n};
        }
        const ot_record_field *known = i < OT_RECORD_FIELDS ? stored[i] : NULL;
        const uint64_t kind = i < OT_RECORD_FIRST ? known->kind : take_number(from);
        const bool same = known && kind == known->kind;
        /* Of a later version's field nothing is noted, but a record has one config. */
        r->plain = r->plain &&
                   (same || (!known && kind != OT_RECORD_SAMPLES && kind != OT_RECORD_CONFIG));
        OT_RETURN_UNLESS_OK(restore_field(r, (ot_record_kind)kind,
                                          same ? ot_record_to(r->record, known) : NULL, err));
        if (since.from && i + 1 == end) {
            keep_row(r, first, end, &since);
            since.from = NULL;
        }
    }
    if (from->bad)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is not laid out like one");
    return OPTUNE_OK;
}

/* Of what is not set when it is restored: all but entities that are not there. */
static void clear(optune_record *record)
{
    const size_t behind = offsetof(optune_record, config) + sizeof record->config;
    memset(record, 0, offsetof(optune_record, config.entity));
    memset((char *)record + behind, 0, sizeof *record - behind);
}

/* One copy; all that is decoded points into it. */
static void point(const restoring *r, ot_arena *arena)
{
    const size_t head = OT_SQUEEZED_V1_HEAD, size = r->to->n - head;
    char *kept = ot_arena_raw(arena, size);
    memcpy(kept, r->to->s + head, size);
    for (int i = 0; i < r->n; i++)
        *(const char **)(void *)((char *)r->record + r->text[i].field) =
            kept + r->text[i].at - head;
    r->parts->block = (ot_bytes){kept, size};
    if (r->samples)
        r->record->sample = (const double *)(const void *)(kept + r->samples - head);
}

static bool is_squeezed(ot_bytes value)
{
    uint32_t magic = 0;
    if (value.n >= sizeof magic)
        memcpy(&magic, value.data, sizeof magic);
    return magic == OT_SQUEEZED_MAGIC;
}

static int decode(ot_parts *p, ot_bytes value, ot_arena *arena, optune_record *record,
                  optune_err *err)
{
    restoring r; /* of the texts none is there */
    r.parts = p;
    r.from = (reading){.at = value.data, .end = (const char *)value.data + value.n};
    r.to = &p->scratch;
    r.record = record;
    r.sound = r.plain = true;
    r.n = 0;
    r.samples = 0;
    if (!p->rows && p->reader && p->n_decoded++)
        p->rows = rows_new();
    clear(record);
    OT_RETURN_UNLESS_OK(restore(&r, value, err));
    if (!r.plain)
        return ot_record_decode(r.to->s, r.to->n, arena, record, err);
    OT_RETURN_UNLESS_OK(ot_record_seal(r.to->s, r.to->n, err));
    point(&r, arena);
    return ot_record_vet(record, r.sound, err);
}

int ot_stored_decode(ot_parts *p, ot_bytes value, ot_arena *arena, optune_record *record,
                     optune_err *err)
{
    p->block = (ot_bytes){NULL, 0};
    if (!is_squeezed(value))
        return ot_record_decode(value.data, value.n, arena, record, err);
    const int status = decode(p, value, arena, record, err);
    if (status != OPTUNE_EDAMAGED || !p->carried)
        return status;
    ot_parts_forget(p); /* since then a number may have come to mean something else */
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
