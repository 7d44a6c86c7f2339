/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a log: AutoTVM's v0.2 fields in AutoTVM's order, so that TVM reads our lines, and
 * one key more, `optune`, with what AutoTVM does not keep. Numbers are written so that they
 * read back as the same double. Of foreign lines the entities are believed, never the index. A
 * line that cannot be read is a problem to report, never an end. Lines as they are written here
 * are read in line_own.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/head.h"
#include "db/line.h"

static const char input_prefix[] = OT_INPUT_PREFIX;

/* ---- writing ----------------------------------------------------------------------------- */

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
    ot_text_printf(to, "{\"v\":%d", OT_LINE_VERSION);
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->log == OT_LOG_OURS && (i < OT_RECORD_FIRST || ot_record_is_set(record, f)))
            ot_line_add_field(to, record, f);
    }
    ot_text_add(to, "}");
}

void ot_record_line(const optune_record *record, ot_text *to)
{
    ot_text_add(to, input_prefix);
    ot_line_add_input(to, record);
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
    if (n > OT_MOST_RECORD_SAMPLES)
        return ot_arena_printf(arena, "it has %zu costs, at most %d are possible", n,
                               OT_MOST_RECORD_SAMPLES);
    double *sample = ot_arena_alloc(arena, n * sizeof *sample);
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
    const char *problem = read_costs(json_array_get(result, 0), arena, record);
    char why[OPTUNE_WHY_SIZE];
    if (!problem && !ot_record_figures(record, why))
        problem = ot_arena_copy(arena, why);
    return problem;
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
    /* TVM writes a target as its text; as a JSON object, too, it can be read. */
    const json_t *first = json_array_get(input, 0);
    const char *target =
        json_is_object(first) ? copy_json(first, arena) : json_string_value(first);
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
    if (version != OT_LINE_VERSION)
        return ot_arena_printf(arena, "its format %lld is not understood, only %d is",
                               (long long)version, OT_LINE_VERSION);
    const char *problem = NULL;
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_fields[i].log == OT_LOG_OURS) {
            const char *what = ot_line_read_field(ours, i, arena, record);
            problem = problem ? problem : what;
        }
    if (!record->call || !record->target || !record->device || !record->impl)
        return "its call, target, device or implementation is missing";
    if (problem)
        return problem;
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_sound(record, why))
        return ot_arena_copy(arena, why);
    line->ours = true;
    line->target_text = line->task_name = NULL;
    line->args = NULL;
    return NULL;
}

static const char *read_new(const json_t *root, const char *text, size_t n, ot_arena *arena,
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
    const size_t prefix = sizeof input_prefix - 1;
    const size_t length = n > prefix && memcmp(text, input_prefix, prefix) == 0
                              ? ot_line_value_length(text + prefix, n - prefix)
                              : 0;
    record->task = length ? ot_arena_printf(arena, "%.*s", (int)length, text + prefix)
                          : copy_json(input, arena);
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
    const json_t *version = json_object_get(root, "v");
    /* "v0.6", and steps of a schedule where AutoTVM has entities. */
    if (json_is_string(version))
        return "it is of TVM's auto_scheduler, whose programs are no templates: only logs of "
               "AutoTVM are read";
    if (json_number_value(version) != 0.1)
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

/* ---- any line ---------------------------------------------------------------------------- */

static const char *parse(const char *text, size_t n, bool is_device, ot_arena *arena,
                         ot_log_line *line, json_t **root)
{
    json_error_t error;
    if (!is_device && ot_line_own(text, n, arena, line))
        return NULL;
    *line = (ot_log_line){.record = {.config = {.index = -1}}};
    if (n > OT_LONGEST_LINE)
        return "it is too long";
    if (memchr(text, 0, n))
        return "it holds a NUL, which is in no JSON";
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!*root)
        return ot_arena_printf(arena, "it is no JSON: %s", error.text);
    if (!is_device && json_is_integer(json_array_get(*root, 0)) &&
        json_is_array(json_array_get(*root, 1)))
        return "it is of TVM's MetaSchedule, whose traces are no templates: only logs of "
               "AutoTVM are read";
    if (!json_is_object(*root))
        return "it is no JSON object";
    if (is_device)
        return ot_device_read(*root, arena, &line->device);
    if (json_object_get(*root, "input"))
        return read_new(*root, text, n, arena, line);
    if (json_object_get(*root, "i"))
        return read_old(*root, arena, line);
    return "it is no tuning record";
}

static const ot_digest *read_forgotten(const char *text, size_t n, ot_arena *arena)
{
    static const char digits[] = "0123456789abcdef";
    ot_digest *digest = ot_arena_alloc(arena, sizeof *digest);
    while (n > 0 && strchr(" \r", text[n - 1]))
        n--;
    for (size_t i = 0; n == 32 && i < n; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return NULL;
        digest->byte[i / 2] = (uint8_t)(digest->byte[i / 2] << 4 | (digit - digits));
    }
    return n == 32 ? digest : NULL;
}

static bool begins(const char *text, size_t n, const char *prefix, size_t length)
{
    return n >= length && memcmp(text, prefix, length) == 0;
}

bool ot_line_is_head(const char *text, size_t n)
{
    return begins(text, n, OT_HEAD_PREFIX, sizeof(OT_HEAD_PREFIX) - 1);
}

static bool parse_any(const char *text, size_t n, const char *source, ot_heads *heads,
                      ot_arena *arena, ot_log_line *line, json_t **root)
{
    *line = (ot_log_line){.record = {.config = {.index = -1}}};
    *root = NULL;
    size_t blank = 0;
    const size_t forget = sizeof(OT_FORGET_PREFIX) - 1, head = sizeof(OT_HEAD_PREFIX) - 1;
    if (heads && ot_line_is_head(text, n)) {
        line->problem = ot_heads_take(heads, text + head, n - head, arena);
        return line->problem != NULL;
    }
    if (begins(text, n, OT_FORGET_PREFIX, forget)) {
        line->forgotten = read_forgotten(text + forget, n - forget, arena);
        line->problem = line->forgotten ? NULL : "it names no record by 32 hexadecimal digits";
        return true;
    }
    while (blank < n && strchr(" \t\r", text[blank]) && text[blank])
        blank++;
    const size_t prefix = sizeof(OT_DEVICE_PREFIX) - 1;
    const bool is_device = begins(text, n, OT_DEVICE_PREFIX, prefix);
    if (blank == n || (text[blank] == '#' && !is_device))
        return false;
    if (is_device)
        line->problem = parse(text + prefix, n - prefix, true, arena, line, root);
    else if (ot_line_is_short(text, n))
        line->problem = ot_line_short(text, n, heads, arena, line);
    else
        line->problem = parse(text, n, false, arena, line, root);
    line->record.source = source;
    if (line->problem) {
        line->ours = false;
        line->args = NULL;
        line->device = NULL;
    }
    return true;
}

/* Who appended behind somebody's half a line has the head of its next lines on it. A head is named
 * by what it says, so it may be taken wherever it stands. */
static void take_head_inside(const char *text, size_t n, ot_heads *heads, ot_arena *arena)
{
    const size_t prefix = sizeof(OT_HEAD_PREFIX) - 1;
    const char *last = NULL, *at = text + (n > 0);
    while ((at = memmem(at, (size_t)(text + n - at), OT_HEAD_PREFIX, prefix)))
        last = at++;
    if (last)
        ot_heads_take(heads, last + prefix, (size_t)(text + n - last) - prefix, arena);
}

bool ot_line_parse(const char *text, size_t n, const char *source, ot_heads *heads,
                   ot_arena *arena, ot_log_line *line, json_t **root)
{
    const bool told = parse_any(text, n, source, heads, arena, line, root);
    if (heads && (told ? line->problem != NULL : n > 0 && !ot_line_is_head(text, n)))
        take_head_inside(text, n, heads, arena);
    return told;
}
