/* SPDX-License-Identifier: Apache-2.0 */
/* What an emitted graph is, for programs: emitted.json. */
#include <string.h>

#include "answer/emit_graph.h"

static json_t *value_json(const ot_emission *e, ot_value value)
{
    ot_text name = {0}, type = {0};
    ot_tensor_print(ot_graph_type_of(e->graph, value), &type);
    json_t *json = json_pack("{s:s, s:s}", "name", ot_emitted_value_name(e, value, &name),
                             "type", ot_text_str(&type));
    ot_text_release(&name);
    ot_text_release(&type);
    return json;
}

static json_t *use_json(const ot_emission *e, int kernel)
{
    const ot_emitted_kernel *k = &e->kernel[kernel];
    ot_text config = {0};
    ot_config_print(&k->config, &config);
    json_t *json = json_pack("{s:i, s:s, s:o, s:s}", "kernel", kernel, "impl",
                             k->source.impl->name, "config",
                             json_loads(ot_text_str(&config), 0, NULL), "tier", k->tier);
    if (k->instead_of)
        json_object_set_new(json, "instead_of", json_string(k->instead_of));
    ot_text_release(&config);
    return json;
}

static json_t *group_json(const ot_emission *e, int i)
{
    const optune_partition *p = e->partition;
    const ot_emitted_group *group = &e->group[i];
    json_t *json = json_pack("{s:s, s:s}", "nodes", p->row[i].nodes, "workload", p->row[i].text);
    if (!ot_emitted_runs(e, i)) {
        json_object_set_new(json, "place", json_string(ot_idle_name(p->places.idle[i])));
    } else if (group->n == 1 && !group->use[0].when) {
        json_t *use = use_json(e, group->use[0].kernel);
        json_object_update(json, use);
        json_decref(use);
    } else {
        json_t *rows = json_array();
        for (int u = 0; u < group->n; u++) {
            json_t *use = use_json(e, group->use[u].kernel);
            const char *when = group->use[u].when;
            json_object_set_new(use, "when", when ? json_string(when) : json_null());
            json_array_append_new(rows, use);
        }
        json_object_set_new(json, "rows", rows);
    }
    return json;
}

static json_t *sizes_json(const ot_emission *e)
{
    json_t *sizes = json_array();
    for (int i = 0; i < e->n_sizes; i++)
        json_array_append_new(sizes, json_pack("{s:s, s:I, s:I}", "name", e->dim[i].name, "min",
                                               (json_int_t)e->dim[i].min, "max",
                                               (json_int_t)e->dim[i].max));
    return sizes;
}

json_t *ot_emitted_json(const ot_emission *e)
{
    ot_text target = {0};
    json_t *inputs = json_array(), *outputs = json_array(), *groups = json_array();
    json_t *weights = json_array();
    ot_target_print(&e->target, true, &target);
    for (int i = 0; i < e->n_inputs; i++)
        json_array_append_new(inputs, value_json(e, (ot_value){e->input[i], 0}));
    for (int i = 0; i < e->n_outputs; i++)
        json_array_append_new(outputs, value_json(e, e->output[i]));
    for (int i = 0; i < e->partition->groups.n; i++)
        json_array_append_new(groups, group_json(e, i));
    for (int i = 0; i < e->n_weights; i++) {
        const ot_value value = {e->weight[i], 0};
        json_t *json = value_json(e, value);
        json_object_set_new(json, "offset", json_integer(ot_emitted_place(e, value).at));
        json_array_append_new(weights, json);
    }
    json_t *json = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "written_by",
        "optune emit --graph", "version", 1, "name", e->name, "target", ot_text_str(&target),
        "device", e->partition->o->device.key, "threads",
        e->target.threads > 1 ? e->target.threads : 1, "inputs", inputs, "outputs", outputs,
        "groups", groups, "weights", weights, "weights_bytes", (json_int_t)e->weights_bytes,
        "packed_bytes", (json_int_t)e->packed_bytes, "arena_bytes", (json_int_t)e->arena_bytes);
    if (e->n_sizes)
        json_object_set_new(json, "sizes", sizes_json(e));
    ot_text_release(&target);
    return json;
}
