/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer says of heads. To make one for every record would cost more than the rest of its
 * line, so those made lately are kept, found by the bytes that they are made of. A head is said
 * again after so many lines or bytes: whatever happens to one declaration, few lines are lost, and
 * a reader need not remember all.
 */
#include <stdlib.h>
#include <string.h>

#include "db/head.h"
#include "db/line.h"

enum { KEPT = 256, MOST_SAID = 1 << 15 };

typedef struct made {
    uint64_t hash;
    ot_text key, text; /* what it is made of; its JSON */
    uint64_t name;
} made;

struct ot_headings {
    made of[KEPT];
    ot_text key;
};

ot_headings *ot_headings_new(void)
{
    return ot_alloc(sizeof(ot_headings));
}

void ot_headings_free(ot_headings *h)
{
    if (!h)
        return;
    for (int i = 0; i < KEPT; i++) {
        ot_text_release(&h->of[i].key);
        ot_text_release(&h->of[i].text);
    }
    ot_text_release(&h->key);
    free(h);
}

/* ---- making ------------------------------------------------------------------------------ */

static void add_key_text(ot_text *key, const char *text)
{
    if (text)
        ot_text_add_n(key, text, strlen(text) + 1);
    else
        ot_text_add_n(key, "\1", 2); /* as no text begins and ends */
}

static void make_key(const optune_record *r, ot_text *key)
{
    ot_text_clear(key);
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!ot_head_has(f))
            continue;
        if (f->kind == OT_RECORD_BITS)
            ot_text_add_n(key, ot_record_at(r, f), sizeof(uint64_t));
        else
            add_key_text(key, ot_record_text(r, f));
    }
    for (int i = 0; i < r->config.n; i++) {
        const optune_entity *entity = &r->config.entity[i];
        ot_text_add_n(key, entity->name, strlen(entity->name) + 1);
        ot_text_add_n(key, (const char *)&entity->kind, 1);
    }
}

static void print(const optune_record *r, ot_text *to)
{
    ot_text_clear(to);
    ot_text_add(to, OT_INPUT_PREFIX);
    ot_line_add_input(to, r);
    ot_text_printf(to, ",\"v\":%d", OT_HEAD_VERSION);
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (ot_head_has(f) && f->kind != OT_RECORD_JSON && ot_record_is_set(r, f))
            ot_line_add_field(to, r, f);
    }
    ot_text_add(to, ",\"knobs\":[");
    for (int i = 0; i < r->config.n; i++) {
        ot_text_add(to, i ? ",[" : "[");
        ot_text_add_json(to, r->config.entity[i].name);
        ot_text_printf(to, ",\"%s\"]", ot_knob_kind_word(r->config.entity[i].kind));
    }
    ot_text_add(to, "]}");
}

ot_heading ot_heading_of(ot_headings *h, const optune_record *record)
{
    make_key(record, &h->key);
    const uint64_t hash = ot_hash64(h->key.s, h->key.n);
    made *m = &h->of[hash % KEPT];
    if (m->hash != hash || m->key.n != h->key.n || memcmp(m->key.s, h->key.s, h->key.n) != 0) {
        m->hash = hash;
        ot_text_clear(&m->key);
        ot_text_add_n(&m->key, h->key.s, h->key.n);
        print(record, &m->text);
        m->name = ot_hash64(m->text.s, m->text.n);
    }
    return (ot_heading){m->name, m->text.s, m->text.n};
}

/* ---- saying ------------------------------------------------------------------------------ */

void ot_said_release(ot_said *said)
{
    free(said->one);
    *said = (ot_said){0};
}

void ot_said_forget(ot_said *said)
{
    ot_said_release(said);
}

static struct ot_said_one *place_of(const ot_said *said, uint64_t name)
{
    size_t at = name % (size_t)said->capacity;
    while (said->one[at].used && said->one[at].name != name)
        at = (at + 1) % (size_t)said->capacity;
    return &said->one[at];
}

static struct ot_said_one *one_of(ot_said *said, uint64_t name)
{
    if (said->n >= MOST_SAID)
        ot_said_forget(said);
    if (2 * (said->n + 1) > said->capacity) {
        ot_said more = *said;
        more.capacity = said->capacity ? 2 * said->capacity : 64;
        more.one = ot_alloc((size_t)more.capacity * sizeof *more.one);
        for (int i = 0; i < said->capacity; i++)
            if (said->one[i].used)
                *place_of(&more, said->one[i].name) = said->one[i];
        free(said->one);
        *said = more;
    }
    return place_of(said, name);
}

void ot_said_say(ot_said *said, const ot_heading *heading, ot_text *to)
{
    struct ot_said_one *one = one_of(said, heading->name);
    const bool due =
        !one->used || one->uses >= OT_HEAD_USES || said->bytes - one->at > OT_HEAD_REACH;
    one->uses++;
    if (!due)
        return;
    said->n += !one->used;
    said->bytes += heading->n_text;
    *one =
        (struct ot_said_one){.name = heading->name, .at = said->bytes, .uses = 1, .used = true};
    ot_text_printf(to, OT_HEAD_PREFIX "%016llx ", (unsigned long long)heading->name);
    ot_text_add_n(to, heading->text, heading->n_text);
    ot_text_add(to, "\n");
}
