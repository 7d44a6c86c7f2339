/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a log: AutoTVM's v0.2 fields in AutoTVM's order, so that TVM reads our lines, and
 * one key more, `optune`, with what AutoTVM does not keep. Numbers are written so that they
 * read back as the same double. Of foreign lines the entities are believed, never the index. A line
 * that cannot be read is a problem to report, never an end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/line.h"

enum { LINE_VERSION = 1 };
static const char device_prefix[] = "# optune device ";
static const char input_prefix[] = "{\"input\":";

/* ---- writing ----------------------------------------------------------------------------- */

static void add_key(ot_text *to, const char *key)
{
    ot_text_printf(to, "%s\"%s\":", to->s[to->n - 1] == '{' ? "" : ",", key);
}

static void add_text(ot_text *to, const char *key, const char *value)
{
    if (!value)
        return;
    add_key(to, key);
    ot_text_add_json(to, value);
}

static void add_real(ot_text *to, const char *key, double value)
{
    add_key(to, key);
    ot_text_add_real(to, value);
}

/* "name=value" lines as an object; a line without '=' gets null. */
static void add_lines(ot_text *to, const char *key, const char *lines)
{
    if (!lines)
        return;
    add_key(to, key);
    ot_text_add(to, "{");
    ot_text part = {0};
    while (*lines) {
        size_t n = strcspn(lines, "\n"), name = strcspn(lines, "=\n");
        ot_text_add(to, to->s[to->n - 1] == '{' ? "" : ",");
        ot_text_clear(&part);
        ot_text_add_n(&part, lines, name);
        ot_text_add_json(to, part.s);
        ot_text_add(to, ":");
        ot_text_clear(&part);
        if (name < n)
            ot_text_add_n(&part, lines + name + 1, n - name - 1);
        if (name < n)
            ot_text_add_json(to, ot_text_str(&part));
        else
            ot_text_add(to, "null");
        lines += n + (lines[n] == '\n');
    }
    ot_text_release(&part);
    ot_text_add(to, "}");
}

static void add_input(ot_text *to, const optune_record *record)
{
    if (record->task) {
        /* JSON already; a newline in it could only be white space. */
        for (const char *at = record->task; *at; at++)
            ot_text_add_n(to, *at == '\n' || *at == '\r' ? " " : at, 1);
        return;
    }
    ot_text_add(to, "[");
    ot_text_add_json(to, record->target);
    ot_text_add(to, ",");
    ot_text_add_json(to, record->impl ? record->impl : "");
    ot_text_add(to, ",[],{}]");
}

static void add_costs(ot_text *to, const optune_record *record)
{
    bool good = record->outcome == OPTUNE_OUTCOME_OK;
    ot_text_add(to, "[");
    if (!good)
        ot_text_add_real(to, 1e9);
    else if (record->n_samples == 0)
        ot_text_add_real(to, record->cost);
    for (int i = 0; good && i < record->n_samples; i++) {
        ot_text_add(to, i ? "," : "");
        ot_text_add_real(to, record->sample[i]);
    }
    ot_text_add(to, "]");
}

static void add_ours(ot_text *to, const optune_record *record)
{
    ot_text_printf(to, "{\"v\":%d", LINE_VERSION);
    add_text(to, "call", record->call);
    add_text(to, "op", record->op);
    add_text(to, "target", record->target);
    add_text(to, "device", record->device);
    add_text(to, "policy", record->policy);
    add_text(to, "impl", record->impl);
    add_text(to, "digest", record->digest);
    add_lines(to, "depends", record->depends);
    add_text(to, "outcome", ot_outcome_name(record->outcome));
    add_text(to, "message", record->message);
    add_real(to, "cost", record->cost);
    add_real(to, "low", record->low);
    add_real(to, "high", record->high);
    ot_text_printf(to, ",\"inner\":%lld", (long long)record->inner);
    add_real(to, "error", record->error);
    /* As text: JSON's integers end before 64 bits do. */
    ot_text_printf(to, ",\"seed\":\"%llx\"", (unsigned long long)record->seed);
    ot_text_printf(to, ",\"final\":%s", record->final ? "true" : "false");
    add_lines(to, "counters", record->counters);
    add_text(to, "tool", record->tool);
    ot_text_add(to, "}");
}

void ot_record_line(const optune_record *record, ot_text *to)
{
    ot_text_add(to, input_prefix);
    add_input(to, record);
    ot_text_printf(to, ",\"config\":{\"index\":%lld,\"code_hash\":null,\"entity\":",
                   (long long)record->config.index);
    ot_config_print(&record->config, to);
    ot_text_add(to, "},\"result\":[");
    add_costs(to, record);
    ot_text_printf(to, ",%d,", record->outcome);
    ot_text_add_real(to, record->all_cost);
    ot_text_add(to, ",");
    ot_text_add_real(to, record->time);
    ot_text_add(to, "],\"version\":0.2,\"tvm_version\":");
    ot_text_add_json(to, record->tool ? record->tool : "optune");
    ot_text_add(to, ",\"optune\":");
    add_ours(to, record);
    ot_text_add(to, "}\n");
}

/* ---- the parts of a line read ------------------------------------------------------------ */

static const char *copy_text(const json_t *object, const char *key, ot_arena *arena)
{
    return ot_arena_copy(arena, json_string_value(json_object_get(object, key)));
}

static double real_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : INFINITY;
}

static const char *copy_lines(json_t *object, ot_arena *arena)
{
    if (!json_is_object(object))
        return NULL;
    ot_text lines = {0};
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        ot_text_add(&lines, name);
        if (json_is_string(value))
            ot_text_printf(&lines, "=%s", json_string_value(value));
        ot_text_add(&lines, "\n");
    }
    const char *copy = ot_arena_copy(arena, ot_text_str(&lines));
    ot_text_release(&lines);
    return copy;
}

/* Length of the JSON value at s, which is known to be well-formed. */
static size_t value_length(const char *s)
{
    int depth = 0;
    bool quoted = false;
    const char *at = s;
    for (;; at++) {
        if (quoted) {
            at += *at == '\\';
            quoted = *at != '"';
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if ((*at == ']' || *at == '}') && --depth == 0) {
            return (size_t)(at + 1 - s);
        }
    }
}

static const char *copy_json(const json_t *json, ot_arena *arena)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *copy = ot_arena_copy(arena, text);
    free(text);
    return copy;
}

/* The costs, when there is a good outcome; NULL, or what is wrong with them. */
static const char *read_costs(const json_t *costs, ot_arena *arena, optune_record *record)
{
    size_t n = json_array_size(costs);
    if (n == 0)
        return "it has no costs";
    if (record->outcome != OPTUNE_OUTCOME_OK)
        return NULL;
    double *sample = ot_arena_alloc(arena, n * sizeof(*sample));
    for (size_t i = 0; i < n; i++) {
        const json_t *cost = json_array_get(costs, i);
        sample[i] = json_is_number(cost) ? json_number_value(cost) : -1;
        if (!(sample[i] > 0))
            return "a cost is no positive number";
    }
    record->sample = sample;
    record->n_samples = (int)n;
    ot_interval interval = ot_median_interval(sample, (int)n);
    record->cost = interval.median;
    record->low = interval.low;
    record->high = interval.high;
    return NULL;
}

static const char *read_result(const json_t *result, ot_arena *arena, optune_record *record)
{
    const json_t *number = json_array_get(result, 1), *all = json_array_get(result, 2);
    const json_t *time = json_array_get(result, 3);
    if (json_array_size(result) != 4 || !json_is_array(json_array_get(result, 0)) ||
        !json_is_integer(number) || !json_is_number(all) || !json_is_number(time))
        return "its result is not [costs, error, seconds, time]";
    json_int_t outcome = json_integer_value(number);
    bool known = outcome >= 0 && outcome <= OPTUNE_OUTCOME_CRASH;
    record->outcome = known ? (int)outcome : OPTUNE_OUTCOME_UNKNOWN;
    record->all_cost = json_number_value(all);
    record->time = json_number_value(time);
    record->cost = record->low = record->high = INFINITY;
    return read_costs(json_array_get(result, 0), arena, record);
}

static const char *read_config(const json_t *entity, const json_t *index, ot_arena *arena,
                               optune_record *record)
{
    optune_err err;
    if (!json_is_array(entity))
        return "it has no list of entities";
    if (ot_config_parse(copy_json(entity, arena), &record->config, &err) < 0)
        return ot_arena_copy(arena, err.text);
    record->config.index = json_is_integer(index) ? json_integer_value(index) : -1;
    return NULL;
}

static const char *read_input(const json_t *input, size_t items, ot_arena *arena,
                              ot_log_line *line)
{
    const char *target = json_string_value(json_array_get(input, 0));
    const char *task = json_string_value(json_array_get(input, 1));
    const json_t *args = json_array_get(input, 2);
    if (json_array_size(input) != items || !target || !task || !json_is_array(args))
        return "its input is not [target, task, args, kwargs]";
    line->target_text = ot_arena_copy(arena, target);
    line->task_name = ot_arena_copy(arena, task);
    line->args = args;
    return NULL;
}

/* ---- the three kinds of lines ------------------------------------------------------------ */

/* What AutoTVM's fields have told already is set; the rest comes from our own key. */
static const char *read_ours(const json_t *ours, ot_arena *arena, ot_log_line *line)
{
    optune_record *record = &line->record;
    json_int_t version = json_integer_value(json_object_get(ours, "v"));
    if (version != LINE_VERSION)
        return ot_arena_printf(arena, "its format %lld is not understood, only %d is",
                               (long long)version, LINE_VERSION);
    record->call = copy_text(ours, "call", arena);
    record->op = copy_text(ours, "op", arena);
    record->target = copy_text(ours, "target", arena);
    record->device = copy_text(ours, "device", arena);
    record->policy = copy_text(ours, "policy", arena);
    record->impl = copy_text(ours, "impl", arena);
    record->digest = copy_text(ours, "digest", arena);
    record->message = copy_text(ours, "message", arena);
    record->tool = copy_text(ours, "tool", arena);
    record->depends = copy_lines(json_object_get(ours, "depends"), arena);
    record->counters = copy_lines(json_object_get(ours, "counters"), arena);
    if (!record->call || !record->target || !record->device || !record->impl)
        return "its call, target, device or implementation is missing";
    const char *outcome = json_string_value(json_object_get(ours, "outcome"));
    if (!outcome || ot_outcome_named(outcome) != record->outcome)
        return "its outcome and its error number disagree";
    const json_t *seed = json_object_get(ours, "seed"), *inner = json_object_get(ours, "inner");
    record->inner = json_integer_value(inner);
    if (json_is_string(seed))
        record->seed = strtoull(json_string_value(seed), NULL, 16);
    record->cost = real_of(json_object_get(ours, "cost"));
    record->low = real_of(json_object_get(ours, "low"));
    record->high = real_of(json_object_get(ours, "high"));
    record->error = real_of(json_object_get(ours, "error"));
    record->final = json_is_true(json_object_get(ours, "final"));
    if (record->outcome == OPTUNE_OUTCOME_OK && !(record->cost > 0 && isfinite(record->cost)))
        return "its cost is no positive number";
    line->ours = true;
    line->target_text = line->task_name = NULL;
    line->args = NULL;
    return NULL;
}

static const char *read_new(const json_t *root, const char *text, ot_arena *arena,
                            ot_log_line *line)
{
    optune_record *record = &line->record;
    const json_t *input = json_object_get(root, "input");
    const json_t *config = json_object_get(root, "config");
    const json_t *version = json_object_get(root, "version");
    if (json_number_value(version) != 0.2)
        return "its version is not 0.2";
    const char *problem = read_input(input, 4, arena, line);
    if (!problem)
        problem = read_config(json_object_get(config, "entity"),
                              json_object_get(config, "index"), arena, record);
    if (!problem)
        problem = read_result(json_object_get(root, "result"), arena, record);
    if (problem)
        return problem;
    record->tool = copy_text(root, "tvm_version", arena);
    /* Ours begins so, and then its text is kept as it is; of others it is written anew. */
    size_t prefix = sizeof(input_prefix) - 1;
    if (strncmp(text, input_prefix, prefix) == 0 && text[prefix] == '[') {
        char *task = ot_arena_copy(arena, text + prefix);
        task[value_length(task)] = 0;
        record->task = task;
    } else {
        record->task = copy_json(input, arena);
    }
    const json_t *ours = json_object_get(root, "optune");
    return ours ? read_ours(ours, arena, line) : NULL;
}

/* Version 0.1:
 * {"i": [target, task, args, kwargs, workload, {i, t, c, e}], "r": [...], "v": 0.1} */
static const char *read_old(json_t *root, ot_arena *arena, ot_log_line *line)
{
    optune_record *record = &line->record;
    json_t *input = json_object_get(root, "i");
    const json_t *config = json_array_get(input, 5);
    if (json_number_value(json_object_get(root, "v")) != 0.1)
        return "its version is not 0.1";
    const char *problem = read_input(input, 6, arena, line);
    if (!problem)
        problem = read_config(json_object_get(config, "e"), json_object_get(config, "i"), arena,
                              record);
    if (!problem)
        problem = read_result(json_object_get(root, "r"), arena, record);
    if (problem)
        return problem;
    line->template_key = copy_text(config, "t", arena);
    record->tool = "AutoTVM log 0.1";
    json_t *task = json_pack("[O,O,O,O]", json_array_get(input, 0), json_array_get(input, 1),
                             json_array_get(input, 2), json_array_get(input, 3));
    record->task = copy_json(task, arena);
    json_decref(task);
    return NULL;
}

/* ---- devices ----------------------------------------------------------------------------- */

typedef struct number_field {
    const char *name;
    size_t offset;
    bool wide; /* int64_t, else int */
} number_field;

#define NARROW(name)                                                                           \
    {                                                                                          \
#name, offsetof(optune_device, name), false                                            \
    }
#define WIDE(name)                                                                             \
    {                                                                                          \
#name, offsetof(optune_device, name), true                                             \
    }
static const number_field device_numbers[] = {
    NARROW(cores),
    NARROW(threads),
    NARROW(vector_bytes),
    NARROW(vector_registers),
    WIDE(l1),
    WIDE(l2),
    WIDE(l3),
    WIDE(memory),
    NARROW(warp),
    NARROW(max_threads_per_block),
    {"max_block_x", offsetof(optune_device, max_block), false},
    {"max_block_y", offsetof(optune_device, max_block) + sizeof(int), false},
    {"max_block_z", offsetof(optune_device, max_block) + 2 * sizeof(int), false},
    WIDE(max_shared),
    NARROW(registers),
    NARROW(cc_major),
    NARROW(cc_minor),
};
#undef NARROW
#undef WIDE

void ot_device_line(const optune_device *device, ot_text *to)
{
    ot_text_printf(to, "%s{", device_prefix);
    add_text(to, "key", device->key);
    add_text(to, "name", device->name);
    add_text(to, "kind", device->kind);
    add_text(to, "arch", device->arch);
    for (int i = 0; i < OT_COUNT(device_numbers); i++) {
        const number_field *f = &device_numbers[i];
        const char *at = (const char *)device + f->offset;
        int64_t value =
            f->wide ? *(const int64_t *)(const void *)at : *(const int *)(const void *)at;
        if (value) /* zero is what unknown means */
            ot_text_printf(to, ",\"%s\":%lld", f->name, (long long)value);
    }
    ot_text_add(to, "}\n");
}

static const char *read_device(const json_t *json, ot_arena *arena, ot_log_line *line)
{
    optune_device *device = ot_arena_alloc(arena, sizeof(*device));
    const struct {
        const char *name;
        char *to;
        size_t size;
    } texts[] = {
        {"key", device->key, sizeof(device->key)},
        {"name", device->name, sizeof(device->name)},
        {"kind", device->kind, sizeof(device->kind)},
        {"arch", device->arch, sizeof(device->arch)},
    };
    for (int i = 0; i < OT_COUNT(texts); i++) {
        const char *value = json_string_value(json_object_get(json, texts[i].name));
        if (!ot_copy(texts[i].to, texts[i].size, value ? value : ""))
            return "a text of the device is too long";
    }
    if (!*device->key)
        return "the device has no key";
    for (int i = 0; i < OT_COUNT(device_numbers); i++) {
        const number_field *f = &device_numbers[i];
        json_int_t value = json_integer_value(json_object_get(json, f->name));
        char *at = (char *)device + f->offset;
        if (value < 0 || (!f->wide && value > INT32_MAX))
            return "a number of the device is out of range";
        if (f->wide)
            *(int64_t *)(void *)at = value;
        else
            *(int *)(void *)at = (int)value;
    }
    line->device = device;
    return NULL;
}

/* ---- any line ---------------------------------------------------------------------------- */

bool ot_line_parse(const char *text, size_t n, const char *source, ot_arena *arena,
                   ot_log_line *line, json_t **root)
{
    *line = (ot_log_line){.record = {.config = {.index = -1}}};
    *root = NULL;
    size_t blank = strspn(text, " \t\r");
    bool is_device = strncmp(text, device_prefix, sizeof(device_prefix) - 1) == 0;
    if (blank == n || (text[blank] == '#' && !is_device))
        return false;
    if (is_device) {
        text += sizeof(device_prefix) - 1;
        n -= sizeof(device_prefix) - 1;
    }
    json_error_t error;
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!*root)
        line->problem = ot_arena_printf(arena, "it is no JSON: %s", error.text);
    else if (!json_is_object(*root))
        line->problem = "it is no JSON object";
    else if (is_device)
        line->problem = read_device(*root, arena, line);
    else if (json_object_get(*root, "input"))
        line->problem = read_new(*root, text, arena, line);
    else if (json_object_get(*root, "i"))
        line->problem = read_old(*root, arena, line);
    else
        line->problem = "it is no tuning record";
    line->record.source = source;
    if (line->problem) {
        line->ours = false;
        line->args = NULL;
    }
    return true;
}
