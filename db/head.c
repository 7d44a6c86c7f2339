/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader remembers of the heads of a log. Two generations, so that memory is bounded
 * whatever a log declares: when the younger one is full, the older one goes.
 */
#include <stdlib.h>
#include <string.h>

#include "db/head.h"
#include "db/line.h"

typedef struct generation {
    ot_arena arena;
    ot_head **place; /* open addressing */
    int n, capacity;
    size_t bytes;
} generation;

struct ot_heads {
    generation of[2];
    int young;
    optune_record *record; /* to look at what is declared */
};

ot_heads *ot_heads_new(void)
{
    ot_heads *heads = ot_alloc(sizeof *heads);
    heads->record = ot_alloc(sizeof *heads->record);
    return heads;
}

static void empty(generation *g)
{
    ot_arena_release(&g->arena);
    free(g->place);
    *g = (generation){0};
}

void ot_heads_free(ot_heads *heads)
{
    if (!heads)
        return;
    empty(&heads->of[0]);
    empty(&heads->of[1]);
    free(heads->record);
    free(heads);
}

/* ---- finding ----------------------------------------------------------------------------- */

static ot_head **place_of(const generation *g, uint64_t name)
{
    size_t at = name % (size_t)g->capacity;
    while (g->place[at] && g->place[at]->name != name)
        at = (at + 1) % (size_t)g->capacity;
    return &g->place[at];
}

static ot_head *find(const ot_heads *heads, uint64_t name)
{
    for (int i = 0; i < 2; i++) {
        const generation *g = &heads->of[i ? !heads->young : heads->young];
        ot_head *head = g->capacity ? *place_of(g, name) : NULL;
        if (head)
            return head;
    }
    return NULL;
}

/* An older one goes before what has just been said again. */
static bool is_young(const ot_heads *heads, const ot_head *head)
{
    const generation *g = &heads->of[heads->young];
    return g->capacity && *place_of(g, head->name) == head;
}

const ot_head *ot_heads_find(const ot_heads *heads, uint64_t name)
{
    const ot_head *head = heads ? find(heads, name) : NULL;
    return head && head->text ? head : NULL;
}

static void grow(generation *g)
{
    generation more = *g;
    more.capacity = g->capacity ? 2 * g->capacity : 64;
    more.place = ot_alloc((size_t)more.capacity * sizeof *more.place);
    for (int i = 0; i < g->capacity; i++)
        if (g->place[i])
            *place_of(&more, g->place[i]->name) = g->place[i];
    free(g->place);
    *g = more;
}

static generation *room(ot_heads *heads)
{
    generation *g = &heads->of[heads->young];
    if (g->bytes >= OT_HEADS_KEPT) {
        heads->young = !heads->young;
        g = &heads->of[heads->young];
        empty(g);
    }
    if (2 * (g->n + 1) > g->capacity)
        grow(g);
    return g;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* ["tile_x","sp"] */
static bool read_knob(const json_t *json, ot_arena *arena, ot_knob_head *knob)
{
    const char *name = json_string_value(json_array_get(json, 0));
    const char *kind = json_string_value(json_array_get(json, 1));
    const int found = kind ? ot_knob_kind_named(kind) : -1;
    if (json_array_size(json) != 2 || !name || found < 0 ||
        !ot_copy(knob->name, sizeof knob->name, name))
        return false;
    ot_text before = {0};
    knob->kind = (uint8_t)found;
    ot_text_add(&before, "[");
    ot_text_add_json(&before, name);
    ot_text_printf(&before, ",\"%s\",", kind);
    knob->before = ot_arena_copy(arena, before.s);
    knob->n_before = before.n;
    ot_text_release(&before);
    return true;
}

static const char *read_knobs(const json_t *knobs, ot_arena *arena, ot_head *head)
{
    const size_t n = json_array_size(knobs);
    if (!json_is_array(knobs) || n > OPTUNE_MAX_KNOBS)
        return "its knobs are no list, or too many";
    head->n_knobs = (int)n;
    head->knob = ot_arena_alloc(arena, (n + 1) * sizeof *head->knob);
    for (size_t i = 0; i < n; i++) {
        if (!read_knob(json_array_get(knobs, i), arena, &head->knob[i]))
            return ot_arena_printf(arena, "its knob %zu is not [name, kind]", i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(head->knob[i].name, head->knob[j].name) == 0)
                return ot_arena_printf(arena, "it has knob '%s' twice", head->knob[i].name);
    }
    return NULL;
}

void ot_head_fill(const ot_head *head, optune_record *record)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!ot_head_has(f))
            continue;
        if (f->kind == OT_RECORD_BITS)
            *(uint64_t *)ot_record_to(record, f) = head->bits[i];
        else
            *(const char **)ot_record_to(record, f) = head->field[i];
    }
}

static const char *read_fields(const json_t *json, const char *text, size_t n, ot_arena *arena,
                               optune_record *record)
{
    const size_t prefix = sizeof OT_INPUT_PREFIX - 1;
    const size_t length = n > prefix && memcmp(text, OT_INPUT_PREFIX, prefix) == 0
                              ? ot_line_value_length(text + prefix, n - prefix)
                              : 0;
    if (!length)
        return "it does not begin with its input";
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!ot_head_has(f))
            continue;
        const char *problem = NULL;
        if (f->kind == OT_RECORD_JSON)
            *(const char **)ot_record_to(record, f) =
                ot_arena_printf(arena, "%.*s", (int)length, text + prefix);
        else if (f->kind != OT_RECORD_BITS || json_object_get(json, f->name))
            problem = ot_line_read_field(json, i, arena, record);
        if (problem)
            return problem;
    }
    return NULL;
}

static const char *read_head(const json_t *json, const char *text, size_t n, ot_arena *arena,
                             optune_record *record, ot_head *head)
{
    const json_int_t version = json_integer_value(json_object_get(json, "v"));
    char why[OPTUNE_WHY_SIZE];
    if (version != OT_HEAD_VERSION)
        return ot_arena_printf(arena, "its format %lld is not understood, only %d is",
                               (long long)version, OT_HEAD_VERSION);
    const char *problem = read_fields(json, text, n, arena, record);
    if (!problem)
        problem = read_knobs(json_object_get(json, "knobs"), arena, head);
    if (problem)
        return problem;
    if (!ot_record_sound_asked(record, why))
        return ot_arena_copy(arena, why);
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (ot_head_has(f) && f->kind == OT_RECORD_BITS)
            head->bits[i] = *(const uint64_t *)ot_record_at(record, f);
        else if (ot_head_has(f))
            head->field[i] = ot_record_text(record, f);
    }
    return NULL;
}

/* ---- declarations ------------------------------------------------------------------------ */

bool ot_head_name(const char *hex, uint64_t *name)
{
    *name = 0;
    for (int i = 0; i < 16; i++) {
        const char c = hex[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *name = *name << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static const char *add(ot_heads *heads, uint64_t name, const char *text, size_t n,
                       ot_arena *arena)
{
    generation *g = room(heads);
    ot_head *head = ot_arena_alloc(&g->arena, sizeof *head);
    *head = (ot_head){.name = name, .n_text = n};
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    memset(heads->record, 0, sizeof *heads->record);
    const char *problem = json_is_object(json)
                              ? read_head(json, text, n, &g->arena, heads->record, head)
                              : "it is no JSON object";
    json_decref(json);
    g->bytes += sizeof *head + 3 * n + (size_t)head->n_knobs * sizeof *head->knob;
    if (problem)
        return ot_arena_copy(arena, problem);
    head->text = ot_arena_printf(&g->arena, "%.*s", (int)n, text);
    *place_of(g, name) = head;
    g->n++;
    return NULL;
}

const char *ot_heads_take(ot_heads *heads, const char *text, size_t n, ot_arena *arena)
{
    enum { HEX = 16 };
    uint64_t name;
    while (n > 0 && text[n - 1] == '\r')
        n--;
    if (n <= HEX + 1 || n > OT_LONGEST_LINE || text[HEX] != ' ' || !ot_head_name(text, &name) ||
        memchr(text, 0, n))
        return "it is half a head, or none";
    text += HEX + 1;
    n -= HEX + 1;
    if (ot_hash64(text, n) != name)
        return ot_arena_printf(arena, "head %016llx is not what its name says",
                               (unsigned long long)name);
    ot_head *known = find(heads, name);
    const bool same =
        known && known->text && known->n_text == n && memcmp(known->text, text, n) == 0;
    if (same && is_young(heads, known))
        return NULL;
    if (known && !same) {
        known->text = NULL;
        return ot_arena_printf(arena, "head %016llx is another than in front",
                               (unsigned long long)name);
    }
    return add(heads, name, text, n, arena);
}
