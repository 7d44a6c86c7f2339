/* SPDX-License-Identifier: Apache-2.0 */
/* What a public call says: a text for people and one JSON document, owned by the result. */
#include "answer/answer.h"

struct optune_result {
    char *text;
    char *json;
    void *rows;               /* NULL: it has none */
    void (*drop)(void *rows); /* whose they are, too */
};

optune_result *ot_result_new(char *text, json_t *json)
{
    optune_result *result = ot_alloc(sizeof *result);
    result->text = text ? text : ot_strdup("");
    result->json = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    if (!result->json)
        result->json = ot_strdup("null");
    json_decref(json);
    return result;
}

void ot_result_extend(optune_result *result, const char *text, json_t *more)
{
    json_t *json = json_loads(result->json, JSON_DECODE_ANY, NULL);
    if (json_is_object(json)) {
        json_object_update(json, more);
        free(result->json);
        result->json = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    }
    json_decref(json);
    json_decref(more);
    ot_text both = {0};
    ot_text_printf(&both, "%s%s", result->text, text);
    free(result->text);
    result->text = both.s ? both.s : ot_strdup("");
}

void ot_result_retell(optune_result *result, char *text)
{
    free(result->text);
    result->text = text ? text : ot_strdup("");
}

void ot_result_keep(optune_result *result, void *rows, void (*drop)(void *rows))
{
    result->rows = rows;
    result->drop = drop;
}

const void *ot_result_rows(const optune_result *result, void (*drop)(void *rows))
{
    return result->drop == drop ? result->rows : NULL;
}

const char *optune_result_text(const optune_result *result)
{
    if (!result)
        return NULL;
    return result->text;
}

const char *optune_result_json(const optune_result *result)
{
    if (!result)
        return NULL;
    return result->json;
}

void optune_result_free(optune_result *result)
{
    if (!result)
        return;
    if (result->drop)
        result->drop(result->rows);
    free(result->text);
    free(result->json);
    free(result);
}

const char *optune_version(void)
{
    return OT_VERSION;
}
