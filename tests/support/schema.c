/* SPDX-License-Identifier: Apache-2.0 */
/* A small validator: what it does not know it refuses to overlook. */
#include "support/schema.h"

#include "support/check.h"

#include "base/base.h"

json_t *schema_of_docs(const char *heading)
{
    ot_text text = {0};
    optune_err err = {0};
    json_error_t at;
    check_ok(ot_read_file(OT_SOURCE_DIR "/docs/formats.md", &text, 1 << 20, &err));
    const char *from = strstr(text.s, heading);
    from = from ? strstr(from, "```json\n") : NULL;
    const char *to = from ? strstr(from + 8, "```") : NULL;
    if (!to)
        fail_msg("docs/formats.md has no schema below '%s'", heading);
    json_t *schema = json_loadb(from + 8, (size_t)(to - from - 8), 0, &at);
    if (!schema)
        fail_msg("the schema below '%s': line %d: %s", heading, at.line, at.text);
    ot_text_release(&text);
    return schema;
}

typedef struct place {
    const json_t *root;
    const char *name;
    char *why;
    size_t size;
} place;

static bool refuse(const place *p, const char *what, const char *subject)
{
    snprintf(p->why, p->size, "%s: %s %s", p->name, what, subject);
    return false;
}

static bool is_type(const json_t *json, const char *type)
{
    return strcmp(type, "object") == 0    ? json_is_object(json)
           : strcmp(type, "array") == 0   ? json_is_array(json)
           : strcmp(type, "string") == 0  ? json_is_string(json)
           : strcmp(type, "number") == 0  ? json_is_number(json)
           : strcmp(type, "integer") == 0 ? json_is_integer(json)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(json)
                                          : strcmp(type, "null") == 0 && json_is_null(json);
}

static bool has_type(const json_t *json, const json_t *type)
{
    size_t i;
    json_t *one;
    if (json_is_string(type))
        return is_type(json, json_string_value(type));
    json_array_foreach(type, i, one) if (is_type(json, json_string_value(one))) return true;
    return false;
}

static bool in_list(const json_t *list, const json_t *json)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) if (json_equal(one, json)) return true;
    return false;
}

static bool accepts(const place *p, const json_t *schema, const json_t *json);

static const json_t *follow(const place *p, const char *reference)
{
    assert_int_equal(strncmp(reference, "#/$defs/", 8), 0);
    const json_t *found = json_object_get(json_object_get(p->root, "$defs"), reference + 8);
    assert_non_null(found);
    return found;
}

static bool object_accepts(const place *p, const json_t *schema, const json_t *json)
{
    const json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, value)
    {
        if (!json_object_get(json, json_string_value(value)))
            return refuse(p, "lacks", json_string_value(value));
    }
    json_object_foreach((json_t *)json, key, value)
    {
        const json_t *own = json_object_get(properties, key);
        place inner = *p;
        inner.name = key;
        if (!own && json_is_false(json_object_get(schema, "additionalProperties")))
            return refuse(p, "has an unlisted key", key);
        if (own && !accepts(&inner, own, value))
            return false;
    }
    return true;
}

static bool accepts(const place *p, const json_t *schema, const json_t *json)
{
    static const char *const known =
        " type enum required properties additionalProperties items $ref description $schema "
        "$defs ";
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)schema, key, value)
    {
        char word[64];
        snprintf(word, sizeof word, " %s ", key);
        if (!strstr(known, word))
            fail_msg("the validator does not know '%s'", key);
    }
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference && !accepts(p, follow(p, reference), json))
        return false;
    const json_t *type = json_object_get(schema, "type");
    const json_t *list = json_object_get(schema, "enum");
    if (type && !has_type(json, type))
        return refuse(p, "is", "of another type");
    if (list && !in_list(list, json))
        return refuse(
            p, "is not listed:", json_is_string(json) ? json_string_value(json) : "no text");
    const json_t *items = json_object_get(schema, "items");
    json_array_foreach(items ? json : NULL, i, value)
    {
        if (!accepts(p, items, value))
            return false;
    }
    return !json_is_object(json) || object_accepts(p, schema, json);
}

bool schema_accepts(const json_t *schema, const json_t *json, char *why, size_t size)
{
    const place p = {schema, "the document", why, size};
    return accepts(&p, schema, json);
}
