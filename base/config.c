/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configs as text: the entity list of AutoTVM's log lines, `[["tile_x","sp",[1,8]],...]`. The
 * text is the identity of a config; the index is not, it depends on the space it came from.
 * Whether a config fits a space is not known here.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/base.h"

static const char *const kind_text[] = {
    [OPTUNE_KNOB_SPLIT] = "sp",
    [OPTUNE_KNOB_REORDER] = "re",
    [OPTUNE_KNOB_ANNOTATE] = "an",
    [OPTUNE_KNOB_OTHER] = "ot",
};

static const char *const annotation_text[] = {
    [OPTUNE_ANN_NONE] = "none",
    [OPTUNE_ANN_UNROLL] = "unroll",
    [OPTUNE_ANN_VEC] = "vec",
    [OPTUNE_ANN_PARALLEL] = "parallel",
    [OPTUNE_ANN_FUSE] = "fuse",
    [OPTUNE_ANN_VTHREAD] = "vthread",
    [OPTUNE_ANN_BLOCK_X] = "blockIdx.x",
    [OPTUNE_ANN_BLOCK_Y] = "blockIdx.y",
    [OPTUNE_ANN_BLOCK_Z] = "blockIdx.z",
    [OPTUNE_ANN_THREAD_X] = "threadIdx.x",
    [OPTUNE_ANN_THREAD_Y] = "threadIdx.y",
    [OPTUNE_ANN_THREAD_Z] = "threadIdx.z",
};

static int find_text(const char *const *texts, int n, const char *word)
{
    for (int i = 0; i < n; i++)
        if (strcmp(texts[i], word) == 0)
            return i;
    return -1;
}

/* ---- printing ---------------------------------------------------------------------------- */

static void print_scalar(const optune_entity *entity, bool json, ot_text *to)
{
    switch (entity->scalar) {
    case OPTUNE_SCALAR_BOOL:
        ot_text_add(to, entity->v[0] ? "true" : "false");
        break;
    case OPTUNE_SCALAR_FLOAT:
        ot_text_add_real(to, entity->f);
        break;
    case OPTUNE_SCALAR_WORD:
        if (json)
            ot_text_add_json(to, entity->word);
        else
            ot_text_add(to, entity->word);
        break;
    default:
        ot_text_add_int(to, entity->v[0]);
    }
}

static void print_value(const optune_entity *entity, bool json, ot_text *to)
{
    if (entity->kind == OPTUNE_KNOB_OTHER) {
        print_scalar(entity, json, to);
        return;
    }
    ot_text_add(to, "[");
    for (int i = 0; i < entity->n; i++) {
        if (i)
            ot_text_add(to, ",");
        if (entity->kind != OPTUNE_KNOB_ANNOTATE)
            ot_text_add_int(to, entity->v[i]);
        else if (entity->v[i] < 0 || entity->v[i] >= OT_COUNT(annotation_text))
            ot_text_add(to, json ? "null" : "?");
        else if (json)
            ot_text_add_json(to, annotation_text[entity->v[i]]);
        else
            ot_text_add(to, annotation_text[entity->v[i]]);
    }
    ot_text_add(to, "]");
}

void ot_config_print_value(const optune_entity *entity, ot_text *to)
{
    print_value(entity, true, to);
}

const char *ot_knob_kind_word(int kind)
{
    return kind_text[kind & 3];
}

int ot_knob_kind_named(const char *word)
{
    return find_text(kind_text, OT_COUNT(kind_text), word);
}

void ot_config_print(const optune_config *config, ot_text *to)
{
    ot_text_add(to, "[");
    for (int i = 0; i < config->n; i++) {
        const optune_entity *entity = &config->entity[i];
        ot_text_add(to, i ? ",[" : "[");
        ot_text_add_json(to, entity->name);
        ot_text_add(to, ",\"");
        ot_text_add(to, kind_text[entity->kind & 3]);
        ot_text_add(to, "\",");
        print_value(entity, true, to);
        ot_text_add(to, "]");
    }
    ot_text_add(to, "]");
}

void ot_config_print_short(const optune_config *config, ot_text *to)
{
    for (int i = 0; i < config->n; i++) {
        ot_text_printf(to, "%s%s=", i ? " " : "", config->entity[i].name);
        print_value(&config->entity[i], false, to);
    }
}

/* ---- parsing ----------------------------------------------------------------------------- */

static int parse_list(const json_t *json, optune_entity *entity, optune_err *err)
{
    if (!json_is_array(json))
        return optune_fail(err, OPTUNE_ESYNTAX, "the value of knob '%s' is no list",
                           entity->name);
    if (json_array_size(json) > OPTUNE_MAX_LIST)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "knob '%s' has %zu values, at most %d are possible", entity->name,
                           json_array_size(json), OPTUNE_MAX_LIST);
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *item = json_array_get(json, i);
        bool is_annotation = entity->kind == OPTUNE_KNOB_ANNOTATE;
        int64_t value = -1;
        if (!is_annotation && !json_is_integer(item))
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "knob '%s' holds something that is no integer", entity->name);
        if (is_annotation && json_is_string(item))
            value =
                find_text(annotation_text, OT_COUNT(annotation_text), json_string_value(item));
        if (is_annotation && value < 0)
            return optune_fail(err, OPTUNE_ESYNTAX, "knob '%s' holds an unknown annotation",
                               entity->name);
        entity->v[entity->n++] = is_annotation ? value : json_integer_value(item);
    }
    return OPTUNE_OK;
}

static int parse_scalar(const json_t *json, optune_entity *entity, optune_err *err)
{
    entity->n = 1;
    if (json_is_integer(json)) {
        entity->scalar = OPTUNE_SCALAR_INT;
        entity->v[0] = json_integer_value(json);
    } else if (json_is_boolean(json)) {
        entity->scalar = OPTUNE_SCALAR_BOOL;
        entity->v[0] = json_is_true(json);
    } else if (json_is_real(json)) {
        entity->scalar = OPTUNE_SCALAR_FLOAT;
        entity->f = json_real_value(json);
    } else if (json_is_string(json)) {
        entity->scalar = OPTUNE_SCALAR_WORD;
        if (!ot_copy(entity->word, sizeof entity->word, json_string_value(json)))
            return optune_fail(err, OPTUNE_ELIMIT, "the word of knob '%s' is too long",
                               entity->name);
    } else {
        return optune_fail(err, OPTUNE_ESYNTAX, "the value of knob '%s' is no scalar",
                           entity->name);
    }
    return OPTUNE_OK;
}

static int parse_entity(const json_t *json, optune_entity *entity, optune_err *err)
{
    const char *name = json_string_value(json_array_get(json, 0));
    const char *kind = json_string_value(json_array_get(json, 1));
    if (json_array_size(json) != 3 || !name || !kind)
        return optune_fail(err, OPTUNE_ESYNTAX, "a knob is not written as [name, kind, value]");
    *entity = (optune_entity){0};
    if (!ot_copy(entity->name, sizeof entity->name, name))
        return optune_fail(err, OPTUNE_ELIMIT, "knob name '%.40s...' is too long", name);
    int found = find_text(kind_text, OT_COUNT(kind_text), kind);
    if (found < 0)
        return optune_fail(err, OPTUNE_ESYNTAX, "knob '%s' has the unknown kind '%.16s'", name,
                           kind);
    entity->kind = (uint8_t)found;
    const json_t *value = json_array_get(json, 2);
    return found == OPTUNE_KNOB_OTHER ? parse_scalar(value, entity, err)
                                      : parse_list(value, entity, err);
}

int ot_config_parse(const char *text, optune_config *config, optune_err *err)
{
    json_error_t problem;
    json_t *json = json_loads(text, 0, &problem);
    *config = (optune_config){.index = -1};
    int status = OPTUNE_OK;
    if (!json)
        status = optune_fail(err, OPTUNE_ESYNTAX, "config is no JSON: %s", problem.text);
    else if (!json_is_array(json))
        status = optune_fail(err, OPTUNE_ESYNTAX, "config is no list of knobs");
    else if (json_array_size(json) > OPTUNE_MAX_KNOBS)
        status =
            optune_fail(err, OPTUNE_ELIMIT, "config has %zu knobs, at most %d are possible",
                        json_array_size(json), OPTUNE_MAX_KNOBS);
    for (size_t i = 0; status == OPTUNE_OK && i < json_array_size(json); i++) {
        status = parse_entity(json_array_get(json, i), &config->entity[i], err);
        for (size_t j = 0; status == OPTUNE_OK && j < i; j++)
            if (strcmp(config->entity[i].name, config->entity[j].name) == 0)
                status = optune_fail(err, OPTUNE_ESYNTAX, "config has knob '%s' twice",
                                     config->entity[i].name);
        config->n = (int)i + 1;
    }
    if (status < 0)
        *config = (optune_config){.index = -1};
    json_decref(json);
    return status;
}

/* ---- parsing what was printed ------------------------------------------------------------ */

typedef struct printed {
    const char *at, *end;
} printed;

static bool skip(printed *p, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* A JSON string in which nothing is escaped, of printable ASCII, with its quotes. */
static bool read_word(printed *p, char *to, size_t size)
{
    if (!skip(p, "\""))
        return false;
    const char *from = p->at;
    while (p->at < p->end && *p->at >= ' ' && *p->at < 0x7f && *p->at != '"' && *p->at != '\\')
        p->at++;
    const size_t n = (size_t)(p->at - from);
    if (n >= size || !skip(p, "\""))
        return false;
    memcpy(to, from, n);
    to[n] = 0;
    return true;
}

static bool read_int(printed *p, int64_t *value)
{
    const bool minus = skip(p, "-");
    const char *from = p->at;
    int64_t n = 0;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && p->at < from + 18)
        n = n * 10 + (*p->at++ - '0');
    *value = minus ? -n : n;
    return p->at > from && (*from != '0' || (p->at == from + 1 && !minus)) && p->at < p->end &&
           (*p->at < '0' || *p->at > '9');
}

static bool read_list(printed *p, optune_entity *entity)
{
    char word[OPTUNE_WORD_SIZE];
    if (!skip(p, "["))
        return false;
    if (skip(p, "]"))
        return true;
    do {
        int64_t value = -1;
        if (entity->n == OPTUNE_MAX_LIST)
            return false;
        if (entity->kind != OPTUNE_KNOB_ANNOTATE && !read_int(p, &value))
            return false;
        if (entity->kind == OPTUNE_KNOB_ANNOTATE) {
            if (!read_word(p, word, sizeof word))
                return false;
            value = find_text(annotation_text, OT_COUNT(annotation_text), word);
            if (value < 0)
                return false;
        }
        entity->v[entity->n++] = value;
    } while (skip(p, ","));
    return skip(p, "]");
}

static bool read_scalar(printed *p, optune_entity *entity)
{
    entity->n = 1;
    if (p->at < p->end && *p->at == '"') {
        entity->scalar = OPTUNE_SCALAR_WORD;
        return read_word(p, entity->word, sizeof entity->word);
    }
    entity->scalar = OPTUNE_SCALAR_BOOL;
    if (skip(p, "true"))
        entity->v[0] = true;
    else if (!skip(p, "false")) {
        entity->scalar = OPTUNE_SCALAR_INT;
        return read_int(p, &entity->v[0]);
    }
    return true;
}

static bool read_value(printed *p, optune_entity *entity)
{
    return entity->kind == OPTUNE_KNOB_OTHER ? read_scalar(p, entity) : read_list(p, entity);
}

static bool read_entity(printed *p, optune_entity *entity)
{
    char kind[8];
    *entity = (optune_entity){0};
    if (!skip(p, "[") || !read_word(p, entity->name, sizeof entity->name) || !skip(p, ",") ||
        !read_word(p, kind, sizeof kind) || !skip(p, ","))
        return false;
    const int found = find_text(kind_text, OT_COUNT(kind_text), kind);
    if (found < 0)
        return false;
    entity->kind = (uint8_t)found;
    return read_value(p, entity) && skip(p, "]");
}

size_t ot_config_read_value(const char *text, size_t n, optune_entity *entity)
{
    printed p = {text, text + n};
    entity->n = 0;
    entity->scalar = 0;
    return read_value(&p, entity) ? (size_t)(p.at - text) : 0;
}

size_t ot_config_read(const char *text, size_t n, optune_config *config)
{
    printed p = {text, text + n};
    config->n = 0;
    config->index = -1;
    if (!skip(&p, "["))
        return 0;
    if (skip(&p, "]"))
        return (size_t)(p.at - text);
    do {
        optune_entity *entity = &config->entity[config->n];
        if (config->n == OPTUNE_MAX_KNOBS || !read_entity(&p, entity))
            return 0;
        for (int i = 0; i < config->n; i++)
            if (strcmp(config->entity[i].name, entity->name) == 0)
                return 0;
        config->n++;
    } while (skip(&p, ","));
    return skip(&p, "]") ? (size_t)(p.at - text) : 0;
}

/* ---- comparing --------------------------------------------------------------------------- */

bool ot_entity_equal(const optune_entity *a, const optune_entity *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind)
        return false;
    if (a->kind == OPTUNE_KNOB_OTHER) {
        if (a->scalar != b->scalar)
            return false;
        if (a->scalar == OPTUNE_SCALAR_WORD)
            return strcmp(a->word, b->word) == 0;
        if (a->scalar == OPTUNE_SCALAR_FLOAT)
            return a->f == b->f;
        return a->v[0] == b->v[0];
    }
    return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof a->v[0]) == 0;
}

static size_t used_of(const optune_config *config)
{
    return offsetof(optune_config, entity) + (size_t)config->n * sizeof config->entity[0];
}

void ot_config_copy(optune_config *to, const optune_config *from)
{
    memcpy(to, from, used_of(from));
}

const optune_config *ot_config_keep(ot_arena *arena, const optune_config *from)
{
    const size_t used = used_of(from);
    return memcpy(ot_arena_raw(arena, used), from, used);
}

bool ot_config_equal(const optune_config *a, const optune_config *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!ot_entity_equal(&a->entity[i], &b->entity[i]))
            return false;
    return true;
}
