/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators in the list of what there is: one line each, or everything that is registered about
 * one. Reads rows only. The one idea: what a row leaves out is shown as what that means.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/list.h"

static const char *pattern_name(optune_pattern pattern)
{
    switch (pattern) {
    case OPTUNE_ELEMWISE:
        return "elementwise";
    case OPTUNE_BROADCAST:
        return "broadcast";
    case OPTUNE_INJECTIVE:
        return "injective";
    case OPTUNE_REDUCTION:
        return "reduction";
    case OPTUNE_OUT_FUSABLE:
        return "out-fusable";
    case OPTUNE_TUPLE:
        return "tuple";
    case OPTUNE_OPAQUE:
        return "opaque";
    }
    return "unknown";
}

static const char *kind_name(optune_attr_kind kind)
{
    static const char *const name[] = {
        [OPTUNE_ATTR_INT] = "int",   [OPTUNE_ATTR_FLOAT] = "float",
        [OPTUNE_ATTR_BOOL] = "bool", [OPTUNE_ATTR_WORD] = "word",
        [OPTUNE_ATTR_INTS] = "ints", [OPTUNE_ATTR_DTYPE] = "dtype",
    };
    return (int)kind < OT_COUNT(name) ? name[kind] : "unknown";
}

static const char *output_name(const optune_op *op, int i)
{
    return op->output_names ? op->output_names[i] : "output";
}

/* What every operator has besides its own rows is seen in a parsed call only. */
static void common_attrs(const optune_op *op, optune_op_attr *attr, int most, int *n,
                         ot_arena *arena)
{
    optune_call call;
    *n = 0;
    if (!op->samples || !op->samples[0] || ot_call_parse(op->samples[0], &call, NULL) < 0)
        return;
    for (int i = 0; i < call.n_attrs && *n < most; i++) {
        bool own = false;
        for (const optune_op_attr *row = op->attrs; row && row->name; row++)
            own = own || strcmp(row->name, call.attr[i].name) == 0;
        if (own || call.attr[i].kind != OPTUNE_ATTR_WORD)
            continue;
        attr[(*n)++] = (optune_op_attr){.name = call.attr[i].name,
                                        .kind = OPTUNE_ATTR_WORD,
                                        .value = ot_arena_copy(arena, call.attr[i].word),
                                        .description = "numerics class; every operator has it"};
    }
}

typedef void (*attr_fn)(void *to, const optune_op_attr *attr);

static void each_attr(const optune_op *op, attr_fn fn, void *to)
{
    ot_arena arena = {0};
    optune_op_attr common[4];
    int n;
    for (const optune_op_attr *attr = op->attrs; attr && attr->name; attr++)
        fn(to, attr);
    common_attrs(op, common, OT_COUNT(common), &n, &arena);
    for (int i = 0; i < n; i++)
        fn(to, &common[i]);
    ot_arena_release(&arena);
}

static void attr_json(void *to, const optune_op_attr *attr)
{
    json_t *json = json_object();
    ot_set_text(json, "name", attr->name);
    ot_set_text(json, "kind", kind_name(attr->kind));
    ot_set_bool(json, "required", !attr->value);
    ot_set_text(json, "default", attr->value);
    ot_set_text(json, "description", attr->description);
    ot_set_int(json, "length", attr->length);
    const bool bounded = attr->min || attr->max;
    json_object_set_new(json, "min", bounded ? json_integer(attr->min) : json_null());
    json_object_set_new(json, "max", bounded ? json_integer(attr->max) : json_null());
    json_object_set_new(json, "words", ot_words_json(attr->words));
    ot_set_bool(json, "none", attr->none);
    ot_set_bool(json, "shown", attr->shown);
    json_array_append_new(to, json);
}

static void attr_text(void *to, const optune_op_attr *attr)
{
    ot_text *text = to, kind = {0};
    ot_text_printf(&kind, "%s", kind_name(attr->kind));
    if (attr->length)
        ot_text_printf(&kind, " x%d", attr->length);
    ot_text_printf(text, "    %-14s %-8s ", attr->name, ot_text_str(&kind));
    ot_text_release(&kind);
    if (attr->value)
        ot_text_printf(text, "default %s", attr->value);
    else
        ot_text_add(text, "required");
    if (attr->min || attr->max)
        ot_text_printf(text, ", %lld to %lld", (long long)attr->min, (long long)attr->max);
    if (attr->none)
        ot_text_add(text, ", or none");
    if (attr->words)
        ot_text_printf(text, ", one of %s", attr->words);
    ot_text_printf(text, "%s: %s\n", attr->shown ? ", always printed" : "", attr->description);
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

/* What an op of a pattern declares: name and text of each expression, the last name NULL. */
typedef struct declared {
    const char *name, *text;
} declared;

static void declaration_of(const optune_op *op, declared d[5])
{
    int n = 0;
    if (op->scalar)
        d[n++] = (declared){"scalar", op->scalar->text};
    if (op->reduce) {
        d[n++] = (declared){"identity", op->reduce->identity->text};
        d[n++] = (declared){"map", op->reduce->map->text};
        d[n++] = (declared){"combine", op->reduce->combine->text};
        d[n++] = (declared){"finish", op->reduce->finish->text};
    }
    if (op->pieces)
        d[n++] = (declared){"pieces", "a map of the call"};
    d[n] = (declared){NULL, NULL};
}

static json_t *declaration_json(const optune_op *op)
{
    declared d[5];
    declaration_of(op, d);
    if (!d[0].name)
        return json_null();
    json_t *json = json_object();
    for (int i = 0; d[i].name; i++)
        ot_set_text(json, d[i].name, d[i].text);
    return json;
}

static void declaration_text(const optune_op *op, ot_text *to)
{
    declared d[5];
    declaration_of(op, d);
    for (int i = 0; d[i].name; i++)
        ot_text_printf(to, "%s%s: %s", i ? "; " : "  declares ", d[i].name, d[i].text);
    if (d[0].name)
        ot_text_add(to, "\n");
}

static json_t *op_json(const optune_op *op)
{
    json_t *json = json_object(), *inputs = json_array(), *outputs = json_array(),
           *attrs = json_array(), *presets = json_array();
    ot_set_text(json, "name", op->name);
    ot_set_text(json, "summary", op->summary);
    ot_set_text(json, "pattern", pattern_name(op->pattern));
    ot_set_int(json, "pattern_number", op->pattern);
    ot_set_int(json, "support_level", op->support_level);
    json_object_set_new(json, "declares", declaration_json(op));
    for (const optune_op_input *input = op->inputs; input->name; input++) {
        json_t *row = json_object();
        ot_set_text(row, "name", input->name);
        ot_set_text(row, "type", input->type);
        ot_set_text(row, "description", input->description);
        ot_set_bool(row, "optional", input->optional);
        ot_set_bool(row, "const", input->is_const);
        json_array_append_new(inputs, row);
    }
    for (int i = 0; i < op->n_outputs; i++)
        json_array_append_new(outputs, json_string(output_name(op, i)));
    each_attr(op, attr_json, attrs);
    for (const optune_preset *preset = op->presets; preset && preset->name; preset++) {
        json_t *row = json_object(), *workloads = json_array();
        ot_set_text(row, "name", preset->name);
        ot_set_text(row, "description", preset->description);
        for (const char *const *workload = preset->workloads; *workload; workload++)
            json_array_append_new(workloads, workload_json(*workload));
        json_object_set_new(row, "workloads", workloads);
        json_array_append_new(presets, row);
    }
    json_object_set_new(json, "inputs", inputs);
    json_object_set_new(json, "outputs", outputs);
    ot_set_bool(json, "outputs_by_attribute", op->outputs != NULL);
    json_object_set_new(json, "attributes", attrs);
    ot_set_bool(json, "flops", op->flops != NULL);
    ot_set_bool(json, "bytes", op->bytes != NULL);
    ot_set_bool(json, "terms", op->terms != NULL);
    ot_set_bool(json, "gradient", op->gradient != NULL);
    ot_set_bool(json, "shape_function", op->shape != NULL);
    json_object_set_new(json, "presets", presets);
    json_object_set_new(json, "samples", ot_names_json(op->samples));
    return json;
}

static void op_text(const optune_op *op, ot_text *to)
{
    ot_text_printf(to, "%s: %s\n", op->name, op->summary);
    ot_text_printf(to, "  pattern %s (%d), support level %d\n", pattern_name(op->pattern),
                   (int)op->pattern, op->support_level);
    declaration_text(op, to);
    ot_text_printf(to, "  operations %s; bytes %s; error bound %s\n",
                   op->flops ? "counted" : "not counted, so no rate is shown",
                   op->bytes ? "by a rule of its own" : "of all tensors",
                   op->standard ? "said by whoever brought it"
                   : op->scalar ? "of the expression's roundings"
                   : op->terms  ? "grows with the terms of a sum"
                                : "of a single rounding");
    ot_text_printf(
        to, "  gradient %s; output dims %s\n", op->gradient ? "by its rule" : "not known",
        op->shape ? "by a shape function that sees the values" : "by the type relation");
    ot_text_add(to, "  inputs:\n");
    for (const optune_op_input *input = op->inputs; input->name; input++)
        ot_text_printf(to, "    %-14s %s, %s%s: %s\n", input->name, input->type,
                       input->is_const ? "const" : "var", input->optional ? ", optional" : "",
                       input->description);
    ot_text_printf(to, "  outputs%s:\n", op->outputs ? " (some of them, by attribute)" : "");
    for (int i = 0; i < op->n_outputs; i++)
        ot_text_printf(to, "    %s\n", output_name(op, i));
    ot_text_add(to, "  attributes:\n");
    each_attr(op, attr_text, to);
    if (op->presets && op->presets->name)
        ot_text_add(to, "  presets:\n");
    for (const optune_preset *preset = op->presets; preset && preset->name; preset++) {
        ot_text_printf(to, "    %s%s: %s\n", preset->name,
                       preset == op->presets ? " (default)" : "", preset->description);
        for (const char *const *workload = preset->workloads; *workload; workload++) {
            optune_call call;
            ot_text_add(to, "      ");
            if (ot_call_parse(*workload, &call, NULL) < 0)
                ot_text_add(to, *workload);
            else {
                ot_call_print(&call, to);
                ot_text_printf(to, "  %.4g GFLOP, %.4g MB", ot_call_flops(&call) * 1e-9,
                               ot_call_bytes(&call) * 1e-6);
            }
            ot_text_add(to, "\n");
        }
    }
    ot_text_add(to, "  samples:\n");
    for (const char *const *sample = op->samples; sample && *sample; sample++)
        ot_text_printf(to, "    %s\n", *sample);
}

static void op_line(const optune_op *op, ot_text *to)
{
    ot_text_printf(to, "%-16s %s\n", op->name, op->summary);
    if (!op->presets || !op->presets->name)
        return;
    ot_text_printf(to, "%-16s presets:", "");
    for (const optune_preset *preset = op->presets; preset->name; preset++)
        ot_text_printf(to, " %s", preset->name);
    ot_text_add(to, "\n");
}

int ot_list_ops(optune *o, const char *name, ot_text *text, json_t **json, optune_err *err)
{
    (void)o;
    const optune_op *only = NULL;
    const int status = name ? ot_op_get(name, &only, err) : OPTUNE_OK;
    if (status < 0)
        return status;
    int n;
    const optune_op *const *op = ot_ops(&n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        if (only && op[i] != only)
            continue;
        json_array_append_new(list, op_json(op[i]));
        if (only)
            op_text(op[i], text);
        else
            op_line(op[i], text);
    }
    *json = ot_wrap("ops", list);
    return OPTUNE_OK;
}
