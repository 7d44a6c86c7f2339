/* SPDX-License-Identifier: Apache-2.0 */
/* Operators in the list of what there is, as JSON: everything that is registered about each. */
#include "answer/list/list.h"

static json_t *inputs_json(optune *o, const char *op)
{
    optune_listed_input row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; optune_list_input(o, op, i, &row, NULL) == OPTUNE_OK; i++) {
        json_t *json = json_object();
        ot_set_text(json, "name", row.name);
        ot_set_text(json, "type", row.type);
        ot_set_text(json, "description", row.description);
        ot_set_bool(json, "optional", row.optional);
        ot_set_bool(json, "const", row.is_const);
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *attrs_json(optune *o, const char *op)
{
    optune_listed_attr row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; optune_list_attr(o, op, i, &row, NULL) == OPTUNE_OK; i++) {
        const bool bounded = row.min || row.max;
        json_t *json = json_object();
        ot_set_text(json, "name", row.name);
        ot_set_text(json, "kind", row.kind);
        ot_set_bool(json, "required", !row.value);
        ot_set_text(json, "default", row.value);
        ot_set_text(json, "description", row.description);
        ot_set_int(json, "length", row.length);
        json_object_set_new(json, "min", bounded ? json_integer(row.min) : json_null());
        json_object_set_new(json, "max", bounded ? json_integer(row.max) : json_null());
        json_object_set_new(json, "words", ot_words_json(row.words));
        ot_set_bool(json, "none", row.none);
        ot_set_bool(json, "shown", row.shown);
        json_array_append_new(list, json);
    }
    return list;
}

/* A workload of a preset with what it costs; one that does not parse is shown as written. */
static json_t *workload_json(const char *workload)
{
    optune_call call;
    json_t *json = json_object();
    if (ot_call_parse(workload, &call, NULL) < 0) {
        ot_set_text(json, "call", workload);
        return json;
    }
    ot_text text = {0};
    ot_call_print(&call, &text);
    ot_set_text(json, "call", ot_text_str(&text));
    json_object_set_new(json, "flops", json_real(ot_call_flops(&call)));
    json_object_set_new(json, "bytes", json_real(ot_call_bytes(&call)));
    ot_text_release(&text);
    return json;
}

static json_t *presets_json(optune *o, const char *op)
{
    optune_listed_preset row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; optune_list_preset(o, op, i, &row, NULL) == OPTUNE_OK; i++) {
        json_t *json = json_object(), *workloads = json_array();
        ot_set_text(json, "name", row.name);
        ot_set_text(json, "description", row.description);
        for (const char *const *workload = row.workloads; *workload; workload++)
            json_array_append_new(workloads, workload_json(*workload));
        json_object_set_new(json, "workloads", workloads);
        json_array_append_new(list, json);
    }
    return list;
}

/* What an op of a pattern declares: each expression by its name; null: nothing. */
static json_t *declaration_json(const optune_listed_op *op)
{
    const char *const declared[][2] = {
        {"scalar", op->scalar}, {"identity", op->identity},
        {"map", op->map},       {"combine", op->combine},
        {"finish", op->finish}, {"pieces", op->pieces ? "a map of the call" : NULL},
    };
    json_t *json = NULL;
    for (int i = 0; i < OT_COUNT(declared); i++) {
        if (!declared[i][1])
            continue;
        json = json ? json : json_object();
        ot_set_text(json, declared[i][0], declared[i][1]);
    }
    return json ? json : json_null();
}

static json_t *op_json(optune *o, const optune_listed_op *op)
{
    json_t *json = json_object(), *outputs = json_array();
    ot_set_text(json, "name", op->name);
    ot_set_text(json, "summary", op->summary);
    ot_set_text(json, "pattern", op->pattern);
    ot_set_int(json, "pattern_number", op->pattern_number);
    ot_set_int(json, "support_level", op->support_level);
    json_object_set_new(json, "declares", declaration_json(op));
    for (int i = 0; i < op->n_outputs; i++)
        json_array_append_new(outputs, json_string(op->outputs[i]));
    json_object_set_new(json, "inputs", inputs_json(o, op->name));
    json_object_set_new(json, "outputs", outputs);
    ot_set_bool(json, "outputs_by_attribute", op->outputs_by_attribute);
    json_object_set_new(json, "attributes", attrs_json(o, op->name));
    ot_set_bool(json, "flops", op->flops);
    ot_set_bool(json, "bytes", op->bytes);
    ot_set_bool(json, "terms", op->terms);
    ot_set_bool(json, "gradient", op->gradient);
    ot_set_bool(json, "shape_function", op->shape_function);
    json_object_set_new(json, "presets", presets_json(o, op->name));
    json_object_set_new(json, "samples", ot_names_json(op->samples));
    return json;
}

int ot_list_ops(optune *o, const char *name, json_t *json, optune_err *err)
{
    int status;
    optune_listed_op row = {.size = sizeof row};
    json_t *list = json_array();
    for (int i = 0; (status = optune_list_op(o, name, i, &row, err)) == OPTUNE_OK; i++)
        json_array_append_new(list, op_json(o, &row));
    json_object_set_new(json, "ops", list);
    return status;
}
