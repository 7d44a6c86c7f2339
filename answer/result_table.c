/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any result as a table for other programs: the objects of its document are rows, their plain
 * members columns. Nothing here knows what a document is about.
 */
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "base/table.h"

/* The first list of objects is what the document is about; without one it is a row itself. */
static json_t *rows_of(json_t *document)
{
    const char *name;
    json_t *member;
    if (json_is_array(document))
        return json_incref(document);
    json_object_foreach(document, name, member) if (json_is_object(json_array_get(
                                                        member, 0))) return json_incref(member);
    json_t *one = json_array();
    json_array_append(one, document);
    return one;
}

/* false: it is more than a cell holds. */
static bool cell_of(const json_t *value, ot_text *to)
{
    size_t i;
    json_t *item;
    switch (json_typeof(value)) {
    case JSON_STRING:
        ot_text_add(to, json_string_value(value));
        return true;
    case JSON_INTEGER:
        ot_text_printf(to, "%lld", (long long)json_integer_value(value));
        return true;
    case JSON_REAL:
        ot_text_add_real(to, json_real_value(value));
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        ot_text_add(to, json_is_true(value) ? "true" : "false");
        return true;
    case JSON_NULL:
        return true;
    case JSON_ARRAY:
        json_array_foreach(value, i, item)
        {
            if (json_is_array(item) || json_is_object(item))
                return false;
            ot_text_add(to, i ? " " : "");
            cell_of(item, to);
        }
        return true;
    default:
        return false;
    }
}

static int column_of(ot_table *table, const char *name, const json_t *value)
{
    for (int k = 0; k < table->n_columns; k++)
        if (!strcmp(table->column[k].name, name))
            return k;
    if (table->n_columns == OT_TABLE_COLUMNS)
        return -1;
    return ot_table_column(table, &(ot_column){name, .left = !json_is_number(value)});
}

static void add_row(ot_table *table, json_t *row)
{
    const char *name;
    json_t *value;
    ot_table_row(table);
    json_object_foreach(row, name, value)
    {
        ot_text text = {0};
        const int column = cell_of(value, &text) ? column_of(table, name, value) : -1;
        if (column >= 0)
            ot_table_cell(table, column, ot_text_str(&text));
        ot_text_release(&text);
    }
}

static void print_names(const json_t *rows, ot_text *to)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *name = json_object_get(row, "key");
        name = name ? name : json_object_get(row, "name");
        name = name ? name : json_object_get(row, "call");
        if (json_is_string(name))
            ot_text_printf(to, "%s\n", json_string_value(name));
    }
}

int optune_result_table(const optune_result *result, const char *form, optune_result **table,
                        optune_err *err)
{
    OT_ENTER(err, {"result", result}, {"form", form}, {"table", table});
    *table = NULL;
    const bool names = !strcmp(form, "names");
    ot_table_form as = OT_TABLE_CSV;
    if (!names)
        OT_RETURN_UNLESS_OK(ot_table_form_named(form, &as, err));
    json_t *document = json_loads(optune_result_json(result), JSON_DECODE_ANY, NULL);
    json_t *rows = rows_of(document), *row;
    ot_table all = {.no_notes = true};
    ot_text text = {0};
    size_t i;
    json_array_foreach(rows, i, row) add_row(&all, row);
    if (names)
        print_names(rows, &text);
    else
        ot_table_print(&all, as, 0, &text);
    *table = ot_result_new(text.s, document);
    ot_table_release(&all);
    json_decref(rows);
    return OPTUNE_OK;
}
