/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in the forms of other autotuners: T4 results, and Kernel Tuner's cache file, which is of
 * one kernel on one device with one problem. Times are milliseconds there.
 *
 * The one idea: of a config that was measured several times the finalist's figure counts, else the
 * latest, as a selection would see it; what failed is told, too.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer/answer.h"
#include "bring/bring.h"

static const double MS = 1e3;

/* ---- taking records ---------------------------------------------------------------------- */

/* '1.10' in quotes is a word, and beside '1.1' another one; of an operator that is not known here,
 * what is written as numbers are is one. */
static bool is_number(const char *op, const optune_entity *e, double *number)
{
    const ot_brought *b = ot_brought_of_op(op);
    if (!ot_parse_real(e->word, number) || b)
        return b && ot_brought_real(b, e);
    ot_text plain = {0};
    ot_text_add_real(&plain, *number);
    const bool is = strcmp(ot_text_str(&plain), e->word) == 0;
    ot_text_release(&plain);
    return is;
}

json_t *ot_tuner_value(const char *op, const optune_entity *e)
{
    ot_text text = {0};
    if (e->kind == OPTUNE_KNOB_OTHER && e->scalar == OPTUNE_SCALAR_INT)
        return json_integer(e->v[0]);
    if (e->kind == OPTUNE_KNOB_OTHER && e->scalar == OPTUNE_SCALAR_BOOL)
        return json_boolean(e->v[0] != 0);
    if (e->kind == OPTUNE_KNOB_OTHER && e->scalar == OPTUNE_SCALAR_FLOAT)
        return json_real(e->f);
    double number;
    if (e->kind == OPTUNE_KNOB_OTHER && is_number(op, e, &number))
        return json_real(number);
    if (e->kind == OPTUNE_KNOB_OTHER)
        return json_string(e->word);
    for (int i = 0; i < e->n; i++) /* of a split, an order: no form of theirs has lists */
        ot_text_printf(&text, "%s%lld", i ? "x" : "", (long long)e->v[i]);
    json_t *json = json_string(ot_text_str(&text));
    ot_text_release(&text);
    return json;
}

static json_t *runtimes(const optune_record *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_samples && r->outcome == OPTUNE_OUTCOME_OK; i++)
        json_array_append_new(list, json_real(r->sample[i] * MS));
    return list;
}

static json_t *time_text(double unix_time)
{
    char text[64];
    const time_t seconds = (time_t)unix_time;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S+00:00", &parts);
    return json_string(text);
}

/* Whether `old` says more of a config than this record does. */
static bool is_better(const json_t *old, const optune_record *r)
{
    const bool final = json_is_true(json_object_get(old, "final"));
    return final != r->final ? final : json_number_value(json_object_get(old, "at")) > r->time;
}

void ot_tuner_take(json_t *taken, const optune_record *r)
{
    json_t *config = json_object();
    ot_text key = {0};
    for (int i = 0; i < r->config.n; i++)
        json_object_set_new(config, r->config.entity[i].name,
                            ot_tuner_value(r->op, &r->config.entity[i]));
    char *text = json_dumps(config, JSON_COMPACT);
    ot_text_printf(&key, "%s|%s|%s|%s|%s|%s", r->impl, r->device, r->target, r->call,
                   r->policy ? r->policy : "warm", text ? text : "");
    free(text);
    const json_t *old = json_object_get(taken, ot_text_str(&key));
    if (old && is_better(old, r)) {
        json_decref(config);
    } else {
        json_t *entry = json_object();
        json_object_set_new(entry, "config", config);
        json_object_set_new(entry, "final", json_boolean(r->final));
        json_object_set_new(entry, "at", json_real(r->time));
        json_object_set_new(entry, "timestamp", time_text(r->time));
        json_object_set_new(entry, "impl", json_string(r->impl));
        json_object_set_new(entry, "device", json_string(r->device));
        json_object_set_new(entry, "target", json_string(r->target));
        json_object_set_new(entry, "call", json_string(r->call));
        json_object_set_new(entry, "policy", json_string(r->policy ? r->policy : "warm"));
        json_object_set_new(entry, "outcome", json_integer(r->outcome));
        json_object_set_new(entry, "cost",
                            json_real(r->outcome == OPTUNE_OUTCOME_OK ? r->cost * MS : 0));
        json_object_set_new(entry, "runtimes", runtimes(r));
        json_object_set_new(
            entry, "took",
            json_real(isfinite(r->all_cost) && r->all_cost > 0 ? r->all_cost * MS : 0));
        json_object_set_new(taken, ot_text_str(&key), entry);
    }
    ot_text_release(&key);
}

/* ---- T4 ---------------------------------------------------------------------------------- */

static const char *invalidity(int outcome)
{
    switch (outcome) {
    case OPTUNE_OUTCOME_OK:
        return "correct";
    case OPTUNE_OUTCOME_INSTANTIATION:
        return "constraints";
    case OPTUNE_OUTCOME_COMPILE:
    case OPTUNE_OUTCOME_BUILD_TIMEOUT:
        return "compile";
    case OPTUNE_OUTCOME_WRONG:
        return "correctness";
    case OPTUNE_OUTCOME_RUN_TIMEOUT:
        return "timeout";
    default:
        return "runtime";
    }
}

/* Kernel Tuner's word for a config that failed. */
static const char *error_class(int outcome)
{
    const char *how = invalidity(outcome);
    return !strcmp(how, "constraints") ? "InvalidConfig"
           : !strcmp(how, "compile")   ? "CompilationFailedConfig"
                                       : "RuntimeFailedConfig";
}

static json_t *cost_of(const json_t *entry)
{
    const int outcome = (int)json_integer_value(json_object_get(entry, "outcome"));
    return outcome == OPTUNE_OUTCOME_OK ? json_incref(json_object_get(entry, "cost"))
                                        : json_string(error_class(outcome));
}

/* Of compiling both names: the schema's, and the one that its readers look for. */
static json_t *t4_result(const json_t *entry)
{
    const int outcome = (int)json_integer_value(json_object_get(entry, "outcome"));
    return json_pack(
        "{s:O, s:O, s:[s], s:{s:f, s:f, s:O, s:i, s:i, s:i, s:O}, s:s, s:i, s:[{s:s, s:o, "
        "s:s}]}",
        "timestamp", json_object_get(entry, "timestamp"), "configuration",
        json_object_get(entry, "config"), "objectives", "time", "times", "compilation_time",
        0.0, "compilation", 0.0, "runtimes", json_object_get(entry, "runtimes"), "framework", 0,
        "search_algorithm", 0, "validation", 0, "benchmark", json_object_get(entry, "took"),
        "invalidity", invalidity(outcome), "correctness", outcome == OPTUNE_OUTCOME_OK,
        "measurements", "name", "time", "value", cost_of(entry), "unit", "milliseconds");
}

/* What these are records of, so that they find back. */
static json_t *origin(const json_t *entry)
{
    static const char *const names[] = {"impl", "call", "device", "target", "policy"};
    json_t *own = json_object();
    for (int i = 0; i < OT_COUNT(names); i++)
        json_object_set(own, names[i], json_object_get(entry, names[i]));
    return own;
}

static void write_t4(const json_t *taken, ot_text *to)
{
    json_t *results = json_array(), *first = NULL, *entry;
    const char *key;
    json_object_foreach((json_t *)taken, key, entry)
    {
        first = first ? first : entry;
        json_array_append_new(results, t4_result(entry));
    }
    json_t *doc = json_pack("{s:s, s:o, s:{s:s, s:o}}", "schema_version", "1.0.0", "results",
                            results, "metadata", "timeunit", "milliseconds", "optune",
                            first ? origin(first) : json_object());
    char *text = json_dumps(doc, JSON_INDENT(1));
    ot_text_add(to, text ? text : "{}");
    ot_text_add(to, "\n");
    free(text);
    json_decref(doc);
}

/* ---- Kernel Tuner ------------------------------------------------------------------------ */

/* As Python writes a value in a key. */
static void add_python(const json_t *value, ot_text *to)
{
    if (json_is_string(value))
        ot_text_add(to, json_string_value(value));
    else if (json_is_boolean(value))
        ot_text_add(to, json_is_true(value) ? "True" : "False");
    else if (json_is_integer(value))
        ot_text_printf(to, "%lld", (long long)json_integer_value(value));
    else
        ot_text_add_real(to, json_number_value(value));
}

static void add_once(json_t *list, json_t *value)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) if (json_equal(item, value)) return;
    json_array_append(list, value);
}

static int by_value(const void *a, const void *b)
{
    const double x = json_number_value(*(json_t *const *)a),
                 y = json_number_value(*(json_t *const *)b);
    return (x > y) - (x < y);
}

/* Numbers ascend; words stay in the order in which they were met. */
static json_t *sorted(json_t *list)
{
    const size_t n = json_array_size(list);
    json_t **item = ot_alloc((n + 1) * sizeof *item), *result = json_array();
    bool numbers = true;
    for (size_t i = 0; i < n; i++) {
        item[i] = json_array_get(list, i);
        numbers = numbers && json_is_number(item[i]);
    }
    if (numbers && n)
        qsort(item, n, sizeof(json_t *), by_value);
    for (size_t i = 0; i < n; i++)
        json_array_append(result, item[i]);
    free(item);
    return result;
}

static json_t *cache_entry(const json_t *entry)
{
    json_t *own = json_deep_copy(json_object_get(entry, "config"));
    json_object_set_new(own, "time", cost_of(entry));
    json_object_set(own, "times", json_object_get(entry, "runtimes"));
    json_object_set_new(own, "compile_time", json_real(0));
    json_object_set_new(own, "verification_time", json_real(0));
    json_object_set(own, "benchmark_time", json_object_get(entry, "took"));
    json_object_set_new(own, "strategy_time", json_real(0));
    json_object_set_new(own, "framework_time", json_real(0));
    json_object_set(own, "timestamp", json_object_get(entry, "timestamp"));
    return own;
}

static void add_member(const char *name, json_t *value, ot_text *to)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    ot_text_printf(to, "\"%s\": %s,\n", name, text);
    free(text);
    json_decref(value);
}

/* As scripts for Kernel Tuner name it, which compare: the function of a file that was brought. */
static json_t *kernel_name(const json_t *entry, const ot_brought **brought)
{
    const char *name = json_string_value(json_object_get(entry, "impl"));
    const optune_impl *impl = name ? ot_impl_find(name) : NULL;
    *brought = impl && impl->op ? ot_brought_of_op(impl->op) : NULL;
    return json_string(*brought ? (*brought)->function : name);
}

/* Likewise: T1's ProblemSize, else the call as it stands. */
static json_t *problem_size(const json_t *entry, const ot_brought *b)
{
    json_t *call = json_object_get(entry, "call"), *list;
    ot_values values = {0};
    ot_expr_value sizes = {0};
    optune_call *of = ot_alloc(sizeof *of);
    if (b && ot_call_parse(json_string_value(call), of, NULL) >= 0)
        ot_values_of(b, of, NULL, &values);
    free(of);
    if (!b || !ot_value_called(b, "ProblemSize", &values, &sizes) ||
        sizes.kind != OT_VALUE_LIST)
        return json_incref(call);
    list = json_array();
    for (int i = 0; i < sizes.n; i++)
        json_array_append_new(list, json_integer(sizes.item[i].i));
    return list;
}

static void write_cache(const json_t *taken, const json_t *first, ot_text *to)
{
    json_t *keys = json_array(), *params = json_object(), *entry, *value;
    const char *name, *unused;
    json_object_foreach(json_object_get(first, "config"), name, value)
    {
        json_t *list = json_array();
        json_array_append_new(keys, json_string(name));
        json_object_foreach((json_t *)taken, unused, entry)
            add_once(list, json_object_get(json_object_get(entry, "config"), name));
        json_object_set_new(params, name, sorted(list));
        json_decref(list);
    }
    ot_text_add(to, "{\n");
    add_member("device_name", json_incref(json_object_get(first, "device")), to);
    const ot_brought *brought;
    add_member("kernel_name", kernel_name(first, &brought), to);
    add_member("problem_size", problem_size(first, brought), to);
    add_member("tune_params_keys", json_incref(keys), to);
    add_member("tune_params", params, to);
    add_member("objective", json_string("time"), to);
    add_member("optune", origin(first), to);
    ot_text_add(to, "\"cache\": {");
    const char *comma = "\n";
    json_object_foreach((json_t *)taken, unused, entry)
    {
        ot_text key = {0};
        size_t i;
        json_array_foreach(keys, i, value)
        {
            ot_text_add(&key, i ? "," : "");
            add_python(
                json_object_get(json_object_get(entry, "config"), json_string_value(value)),
                &key);
        }
        json_t *own = cache_entry(entry);
        char *text = json_dumps(own, JSON_COMPACT);
        ot_text_add(to, comma);
        ot_text_add_json(to, ot_text_str(&key));
        ot_text_printf(to, ": %s", text);
        comma = ",\n";
        free(text);
        json_decref(own);
        ot_text_release(&key);
    }
    ot_text_add(to, "\n}\n}\n");
    json_decref(keys);
}

/* ---- all --------------------------------------------------------------------------------- */

bool ot_tuner_format(const char *format)
{
    return strcmp(format, "t4") == 0 || strcmp(format, "kernel-tuner") == 0;
}

/* All of one implementation, device, target and call; ELIMIT, with two that are not. */
static int check_one(const json_t *taken, const json_t **first, const char *format,
                     optune_err *err)
{
    const char *key;
    json_t *entry;
    *first = NULL;
    json_object_foreach((json_t *)taken, key, entry)
    {
        json_t *a = *first ? origin(*first) : origin(entry), *b = origin(entry);
        char *one = json_dumps(a, JSON_COMPACT), *other = json_dumps(b, JSON_COMPACT);
        const bool same = json_equal(a, b);
        int status = OPTUNE_OK;
        if (!same)
            status = optune_fail(err, OPTUNE_EUSAGE,
                                 "a file of the form '%s' is of one implementation, workload, "
                                 "device and target; there are %s and %s: name a workload, "
                                 "--impl, --device, --target or --threads that leave one",
                                 format, one, other);
        free(one);
        free(other);
        json_decref(a);
        json_decref(b);
        *first = *first ? *first : entry;
        OT_RETURN_UNLESS_OK(status);
    }
    return OPTUNE_OK;
}

int ot_tuner_write(const json_t *taken, const char *format, ot_text *to, optune_err *err)
{
    const json_t *first;
    OT_RETURN_UNLESS_OK(check_one(taken, &first, format, err));
    if (!first)
        return optune_fail(err, OPTUNE_ENOENT, "there are no such records");
    if (strcmp(format, "t4") == 0)
        write_t4(taken, to);
    else
        write_cache(taken, first, to);
    return OPTUNE_OK;
}
