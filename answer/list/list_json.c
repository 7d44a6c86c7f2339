/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces of JSON that lists are made of. */
#include <string.h>

#include "answer/list/list.h"

void ot_set_text(json_t *to, const char *name, const char *value)
{
    json_object_set_new(to, name, value ? json_string(value) : json_null());
}

void ot_set_int(json_t *to, const char *name, int64_t value)
{
    json_object_set_new(to, name, json_integer(value));
}

void ot_set_bool(json_t *to, const char *name, bool value)
{
    json_object_set_new(to, name, json_boolean(value));
}

json_t *ot_words_json(const char *words)
{
    if (!words)
        return json_null();
    json_t *list = json_array();
    while (*(words += strspn(words, " "))) {
        const size_t n = strcspn(words, " ");
        json_array_append_new(list, json_stringn(words, n));
        words += n;
    }
    return list;
}

json_t *ot_names_json(const char *const *names)
{
    json_t *list = json_array();
    for (; names && *names; names++)
        json_array_append_new(list, json_string(*names));
    return list;
}

json_t *ot_wrap(const char *name, json_t *list)
{
    json_t *json = json_object();
    json_object_set_new(json, name, list);
    return json;
}
