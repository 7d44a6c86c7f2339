/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading recorded spaces. These files have one entry for every config and grow to hundreds of
 * megabytes, so they are read entry by entry: the text is in memory, its JSON tree never is.
 */
#include "db/recorded.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/recorded_inside.h"

/* ---- knobs --------------------------------------------------------------------------------- */

static bool word_of(const json_t *json, char *to, size_t size)
{
    if (json_is_string(json))
        return ot_copy(to, size, json_string_value(json));
    if (json_is_boolean(json))
        return ot_copy(to, size, json_is_true(json) ? "true" : "false");
    if (json_is_integer(json))
        return snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json)) <
               (int)size;
    return json_is_real(json) && snprintf(to, size, "%.15g", json_real_value(json)) < (int)size;
}

static ot_recorded_kind kind_of(const json_t *json)
{
    return json_is_integer(json)   ? OT_RECORDED_INTS
           : json_is_boolean(json) ? OT_RECORDED_BOOLS
                                   : OT_RECORDED_WORDS;
}

/* The digit of that value, which is added where it is new; -1 with a message. */
static int digit_of(ot_recording *r, ot_recorded_knob *knob, const json_t *json)
{
    char word[OPTUNE_WORD_SIZE];
    if (!word_of(json, word, sizeof word)) {
        char why[OPTUNE_WHY_SIZE];
        snprintf(why, sizeof why, "parameter '%s' has a value that is no number or short text",
                 knob->name);
        return ot_recorded_wrong(r, why), -1;
    }
    for (int i = 0; i < knob->n; i++)
        if (!strcmp(knob->word[i], word))
            return i;
    knob->word = ot_room(knob->word, knob->n, &knob->capacity, sizeof *knob->word);
    if (!knob->n)
        knob->kind = kind_of(json);
    else if (knob->kind != kind_of(json))
        knob->kind = OT_RECORDED_WORDS;
    knob->word[knob->n] = ot_strdup(word);
    return knob->n++;
}

static int add_knob(ot_recording *r, const char *name)
{
    ot_recorded *to = r->to;
    if (to->n_knobs == OPTUNE_MAX_KNOBS || strlen(name) >= OPTUNE_KNOB_NAME_SIZE)
        return optune_fail(r->err, OPTUNE_ELIMIT,
                           "'%s': parameter '%s' is one too many or has too long a name (%d of "
                           "%d characters)",
                           r->path, name, OPTUNE_MAX_KNOBS, OPTUNE_KNOB_NAME_SIZE - 1);
    to->knob[to->n_knobs++] = (ot_recorded_knob){.name = ot_strdup(name)};
    return OPTUNE_OK;
}

/* Values that came in no particular order: ascending where they are numbers. */
static int by_number(const void *a, const void *b, void *arg)
{
    const ot_recorded_knob *knob = arg;
    const char *x = knob->word[*(const int *)a], *y = knob->word[*(const int *)b];
    double p, q;
    if (ot_parse_real(x, &p) && ot_parse_real(y, &q))
        return (p > q) - (p < q);
    return strcmp(x, y);
}

static void sort_values(ot_recording *r, int at)
{
    ot_recorded_knob *knob = &r->to->knob[at];
    int *order = ot_alloc((size_t)knob->n * sizeof *order);
    int *rank = ot_alloc((size_t)knob->n * sizeof *rank);
    char **word = ot_alloc((size_t)knob->n * sizeof *word);
    for (int i = 0; i < knob->n; i++)
        order[i] = i;
    qsort_r(order, (size_t)knob->n, sizeof *order, by_number, knob);
    for (int i = 0; i < knob->n; i++) {
        rank[order[i]] = i;
        word[i] = knob->word[order[i]];
    }
    memcpy(knob->word, word, (size_t)knob->n * sizeof *word);
    for (int i = 0; i < r->n_raw; i++) {
        int *digit = &r->digit[(size_t)i * OPTUNE_MAX_KNOBS + (size_t)at];
        *digit = rank[*digit];
    }
    free(order);
    free(rank);
    free(word);
}

/* ---- entries ------------------------------------------------------------------------------- */

static int add_trial(ot_recording *r, const json_t *config, ot_recorded_trial trial)
{
    ot_recorded *to = r->to;
    const size_t need = (size_t)(r->n_raw + 1) * OPTUNE_MAX_KNOBS;
    if (need > r->digit_capacity) {
        r->digit_capacity = 2 * need + 1024 * OPTUNE_MAX_KNOBS;
        r->digit = realloc(r->digit, r->digit_capacity * sizeof *r->digit);
        if (!r->digit)
            abort();
    }
    to->trial = ot_room(to->trial, to->n_trials, &to->capacity, sizeof *to->trial);
    for (int k = 0; k < to->n_knobs; k++) {
        const json_t *json = json_object_get(config, to->knob[k].name);
        if (!json) {
            char why[OPTUNE_WHY_SIZE];
            snprintf(why, sizeof why, "parameter '%s' has no value", to->knob[k].name);
            return ot_recorded_wrong(r, why);
        }
        const int digit = digit_of(r, &to->knob[k], json);
        if (digit < 0)
            return r->err ? r->err->status : OPTUNE_ESYNTAX;
        r->digit[(size_t)r->n_raw * OPTUNE_MAX_KNOBS + (size_t)k] = digit;
    }
    to->trial[to->n_trials++] = trial;
    r->n_raw++;
    return OPTUNE_OK;
}

static double number(const json_t *object, const char *name)
{
    const json_t *json = json_object_get(object, name);
    return json_is_number(json) ? json_number_value(json) : 0;
}

static double sum(const json_t *array)
{
    double all = 0;
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item) all +=
        json_is_number(item) ? json_number_value(item) : 0;
    return all;
}

/* What Kernel Tuner and T4 write for a config that failed. */
static int outcome_of(const char *word)
{
    static const struct {
        const char *part;
        int outcome;
    } known[] = {{"ompil", OPTUNE_OUTCOME_COMPILE},
                 {"timeout", OPTUNE_OUTCOME_RUN_TIMEOUT},
                 {"orrect", OPTUNE_OUTCOME_WRONG},
                 {"onstraint", OPTUNE_OUTCOME_INSTANTIATION},
                 {"nvalid", OPTUNE_OUTCOME_INSTANTIATION}};
    for (int i = 0; word && i < OT_COUNT(known); i++)
        if (strstr(word, known[i].part))
            return known[i].outcome;
    return OPTUNE_OUTCOME_RUNTIME;
}

/* Whether the most of an objective is wanted: Kernel Tuner takes "fitness" for such a one, and what
 * is per second, watt or joule. No file says so in a member of its own. */
static bool is_rate(const char *objective)
{
    const size_t n = strlen(objective);
    return strcmp(objective, "fitness") == 0 || strcasestr(objective, "flops") ||
           (n > 2 && objective[n - 2] == '/' && strchr("sSwWjJ", objective[n - 1]));
}

/* The least is the best, as everywhere here. INFINITY: no number above 0, or so small a rate. */
static double cost_of(const char *objective, const json_t *value)
{
    const double number = json_is_number(value) ? json_number_value(value) : 0;
    return number > 0 ? is_rate(objective) ? 1 / number : number : INFINITY;
}

/* A config that failed has the word for it in place of its cost, or under a name of its own. */
static int cache_entry(ot_recording *r, const char *objective, const json_t *entry)
{
    const json_t *cost = json_object_get(entry, "__error__");
    cost = cost ? cost : json_object_get(entry, objective);
    if (!json_is_object(entry) || !cost)
        return ot_recorded_wrong(r, json_is_object(entry) ? "it has no value of the objective"
                                                          : "no object");
    ot_recorded_trial trial = {.cost = cost_of(objective, cost) * 1e-3,
                               .outcome = OPTUNE_OUTCOME_OK};
    if (isinf(trial.cost))
        trial.outcome = outcome_of(json_string_value(cost));
    const json_t *bench = json_object_get(entry, "benchmark_time");
    trial.seconds = 1e-3 * (number(entry, "compile_time") + number(entry, "verification_time") +
                            number(entry, "strategy_time") + number(entry, "framework_time") +
                            (bench ? number(entry, "benchmark_time")
                                   : sum(json_object_get(entry, "times"))));
    return add_trial(r, entry, trial);
}

static int cache_head(ot_recording *r, const json_t *head)
{
    const json_t *keys = json_object_get(head, "tune_params_keys");
    const json_t *params = json_object_get(head, "tune_params");
    if (!json_is_array(keys) || !json_is_object(params))
        return optune_fail(r->err, OPTUNE_ESYNTAX,
                           "'%s' is no Kernel Tuner cache: before \"cache\" come "
                           "\"tune_params_keys\" and \"tune_params\"",
                           r->path);
    int status = OPTUNE_OK;
    size_t i, k;
    json_t *key, *item;
    json_array_foreach(keys, i, key)
    {
        const json_t *values = json_object_get(params, json_string_value(key));
        if (!json_is_array(values) || !json_array_size(values))
            return optune_fail(r->err, OPTUNE_ESYNTAX,
                               "'%s': parameter %zu, '%.40s', has no list of values in "
                               "\"tune_params\"",
                               r->path, i + 1,
                               json_is_string(key) ? json_string_value(key) : "?");
        status = add_knob(r, json_string_value(key));
        json_array_foreach(values, k,
                           item) if (status >= 0 && digit_of(r, &r->to->knob[i], item) < 0)
            status = OPTUNE_ESYNTAX;
        if (status < 0)
            return status;
    }
    r->fixed = true;
    return status;
}

/* The members of the object "cache", one at a time. Its end may be missing. */
static int cache_entries(ot_recording *r, const char *objective)
{
    int status = OPTUNE_OK;
    if (!ot_recorded_take(r, '{'))
        return optune_fail(r->err, OPTUNE_ESYNTAX, "'%s': \"cache\" is no object", r->path);
    while (status >= 0 && ot_recorded_next(r) == '"') {
        char what[64];
        snprintf(what, sizeof what, "entry %d", r->n_raw + 1);
        json_t *key = ot_recorded_value(r, what);
        if (!key)
            return OPTUNE_ESYNTAX;
        json_decref(key);
        json_t *entry = NULL;
        if (!ot_recorded_take(r, ':'))
            status = optune_fail(
                r->err, OPTUNE_ESYNTAX, "'%s' %s %s", r->path,
                ot_recorded_next(r) ? "is damaged in" : "is truncated: it ends within", what);
        else if (!(entry = ot_recorded_value(r, what)))
            status = OPTUNE_ESYNTAX;
        else
            status = cache_entry(r, objective, entry);
        json_decref(entry);
        ot_recorded_take(r, ',');
    }
    if (status >= 0 && ot_recorded_next(r) && !ot_recorded_take(r, '}'))
        status = ot_recorded_wrong(r, "a name in quotes is missing");
    return status;
}

static const json_t *measured(const json_t *result, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(result, "measurements"), i, item)
    {
        const char *own = json_string_value(json_object_get(item, "name"));
        if (own && !strcmp(own, name))
            return json_object_get(item, "value");
    }
    return NULL;
}

static int t4_result(ot_recording *r, const json_t *result)
{
    const json_t *config = json_object_get(result, "configuration");
    const json_t *times = json_object_get(result, "times");
    const char *said =
        json_string_value(json_array_get(json_object_get(result, "objectives"), 0));
    const char *objective = said ? said : "time";
    if (!json_is_object(config) || !json_is_object(times))
        return ot_recorded_wrong(r, "a T4 result has \"configuration\" and \"times\"");
    if (!r->fixed) {
        const char *name;
        json_t *item;
        json_object_foreach((json_t *)config, name, item)
        {
            const int status = add_knob(r, name);
            if (status < 0)
                return status;
        }
        r->fixed = true;
    }
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const json_t *cost = measured(result, objective);
    ot_recorded_trial trial = {.cost = INFINITY, .outcome = OPTUNE_OUTCOME_OK};
    if (!invalidity || !strcmp(invalidity, "correct"))
        trial.cost = cost_of(objective, cost);
    if (isinf(trial.cost))
        trial.outcome = outcome_of(
            invalidity && strcmp(invalidity, "correct") ? invalidity : json_string_value(cost));
    const json_t *bench = json_object_get(times, "benchmark");
    trial.seconds =
        (json_object_get(times, "compilation") ? number(times, "compilation")
                                               : number(times, "compilation_time")) +
        number(times, "framework") + number(times, "search_algorithm") +
        number(times, "validation") +
        (bench ? number(times, "benchmark") : sum(json_object_get(times, "runtimes")));
    return add_trial(r, config, trial);
}

static int t4_results(ot_recording *r)
{
    int status = OPTUNE_OK;
    if (!ot_recorded_take(r, '['))
        return optune_fail(r->err, OPTUNE_ESYNTAX, "'%s': \"results\" is no list", r->path);
    while (status >= 0 && ot_recorded_next(r) == '{') {
        char what[64];
        snprintf(what, sizeof what, "result %d", r->n_raw + 1);
        json_t *result = ot_recorded_value(r, what);
        status = result ? t4_result(r, result) : OPTUNE_ESYNTAX;
        json_decref(result);
        ot_recorded_take(r, ',');
    }
    if (status >= 0 && !ot_recorded_take(r, ']'))
        status = ot_recorded_next(r) ? ot_recorded_wrong(r, "no object")
                                     : optune_fail(r->err, OPTUNE_ESYNTAX,
                                                   "'%s' is truncated: it ends after result %d",
                                                   r->path, r->n_raw);
    return status;
}

static void set_unit(ot_recording *r, const json_t *metadata)
{
    const char *unit = json_string_value(json_object_get(metadata, "timeunit"));
    if (unit)
        r->unit = !strncmp(unit, "nano", 4)    ? 1e-9
                  : !strncmp(unit, "micro", 5) ? 1e-6
                  : !strncmp(unit, "sec", 3)   ? 1
                                               : 1e-3;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static char *text_of(const json_t *json)
{
    return json_is_string(json) ? ot_strdup(json_string_value(json)) : NULL;
}

static int members(ot_recording *r)
{
    json_t *head = json_object();
    int status = OPTUNE_OK;
    bool found = false;
    if (!ot_recorded_take(r, '{'))
        status = optune_fail(r->err, OPTUNE_ESYNTAX,
                             ot_recorded_next(r)
                                 ? "'%s' is neither a Kernel Tuner cache nor T4 results: no "
                                   "JSON object"
                                 : "'%s' is empty",
                             r->path);
    while (status >= 0 && ot_recorded_next(r) == '"') {
        json_t *key = ot_recorded_value(r, "a name"), *item = NULL;
        const char *name = json_string_value(key);
        if (!key || !ot_recorded_take(r, ':')) {
            status = optune_fail(r->err, OPTUNE_ESYNTAX,
                                 "'%s' is damaged or truncated at byte %zu", r->path, r->at);
        } else if (!strcmp(name, "cache")) {
            const json_t *own = json_object_get(head, "objective");
            const char *objective =
                json_string_value(json_is_array(own) ? json_array_get(own, 0) : own);
            found = true;
            status = cache_head(r, head);
            if (status >= 0)
                status = cache_entries(r, objective ? objective : "time");
        } else if (!strcmp(name, "results")) {
            found = true;
            r->unit = 1e-3;
            status = t4_results(r);
        } else {
            item = ot_recorded_value(r, name);
            status = item ? OPTUNE_OK : OPTUNE_ESYNTAX;
            if (item)
                json_object_set(head, name, item);
        }
        json_decref(item);
        json_decref(key);
        ot_recorded_take(r, ',');
    }
    if (status >= 0 && !found)
        status = optune_fail(r->err, OPTUNE_ESYNTAX,
                             "'%s' is neither a Kernel Tuner cache (\"cache\") nor T4 results "
                             "(\"results\")",
                             r->path);
    if (status >= 0) {
        const json_t *metadata = json_object_get(head, "metadata");
        const json_t *own = json_object_get(head, "optune");
        own = own ? own : json_object_get(metadata, "optune");
        r->to->kernel = text_of(json_object_get(head, "kernel_name"));
        r->to->device = text_of(json_object_get(head, "device_name"));
        r->to->origin = own ? json_dumps(own, JSON_COMPACT) : NULL;
        if (r->unit != 0)
            set_unit(r, metadata);
    }
    json_decref(head);
    return status;
}

static int by_index(const void *a, const void *b)
{
    const ot_recorded_trial *x = a, *y = b;
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                : (x->cost > y->cost) - (x->cost < y->cost);
}

/* Digits become indices; of a config that was tried twice the better stays. */
static int number_trials(ot_recording *r)
{
    ot_recorded *to = r->to;
    to->size = 1;
    for (int k = 0; k < to->n_knobs; k++) {
        if (r->unit != 0)
            sort_values(r, k);
        if (__builtin_mul_overflow(to->size, (int64_t)to->knob[k].n, &to->size))
            return optune_fail(r->err, OPTUNE_ELIMIT, "'%s': more combinations than 2^63",
                               r->path);
    }
    for (int i = 0; i < to->n_trials; i++) {
        to->trial[i].index = 0;
        for (int k = to->n_knobs - 1; k >= 0; k--)
            to->trial[i].index = to->trial[i].index * to->knob[k].n +
                                 r->digit[(size_t)i * OPTUNE_MAX_KNOBS + (size_t)k];
        if (r->unit != 0) {
            to->trial[i].cost *= r->unit;
            to->trial[i].seconds *= r->unit;
        }
    }
    qsort(to->trial, (size_t)to->n_trials, sizeof *to->trial, by_index);
    int n = 0;
    for (int i = 0; i < to->n_trials; i++) {
        if (n && to->trial[n - 1].index == to->trial[i].index)
            continue;
        to->trial[n++] = to->trial[i];
        to->n_good += isfinite(to->trial[i].cost);
    }
    to->n_trials = n;
    return OPTUNE_OK;
}

int ot_recorded_searchable(const ot_recorded *recorded, const char *path, optune_err *err)
{
    return recorded->n_good > 1 ? OPTUNE_OK
                                : optune_fail(err, OPTUNE_ESYNTAX,
                                              "'%s' has %d configs that ran: nothing to search",
                                              path, recorded->n_good);
}

/* The last folder and the file without its suffixes. */
static char *title(const char *path)
{
    const char *last = strrchr(path, '/'), *from = last;
    while (from && from > path && from[-1] != '/')
        from--;
    char *name = ot_strdup(from ? from : path);
    char *dot = strstr(strrchr(name, '/') ? strrchr(name, '/') : name, ".json");
    if (dot)
        *dot = 0;
    return name;
}

static int make(ot_recording *r, const json_t *trials)
{
    const char *name;
    size_t i;
    json_t *trial, *value;
    const json_t *first = json_object_get(json_array_get(trials, 0), "config");
    json_object_foreach((json_t *)first, name, value) OT_RETURN_UNLESS_OK(add_knob(r, name));
    json_array_foreach(trials, i, trial)
    {
        const json_t *cost = json_object_get(trial, "cost");
        const ot_recorded_trial own = {
            .cost = json_is_number(cost) ? json_number_value(cost) : INFINITY,
            .outcome = (int)json_integer_value(json_object_get(trial, "outcome")),
            .seconds = number(trial, "seconds")};
        OT_RETURN_UNLESS_OK(add_trial(r, json_object_get(trial, "config"), own));
    }
    return number_trials(r);
}

int ot_recorded_make(const char *name, const json_t *trials, ot_recorded **recorded,
                     optune_err *err)
{
    optune_err own = {0};
    ot_recording r = {.path = name, .to = ot_alloc(sizeof *r.to), .unit = 1, .err = &own};
    r.to->name = ot_strdup(name);
    const int status = make(&r, trials);
    free(r.digit);
    *recorded = status >= 0 ? r.to : NULL;
    if (status >= 0)
        return OPTUNE_OK;
    ot_recorded_free(r.to);
    return optune_fail(err, own.status, "%s", own.text);
}

int ot_recorded_read(const char *path, ot_recorded **recorded, optune_err *err)
{
    optune_err own = {0};
    ot_recording r = {.path = path, .to = ot_alloc(sizeof *r.to), .err = &own};
    r.to->name = title(path);
    *recorded = NULL;
    int status = ot_recorded_text(&r);
    if (status >= 0)
        status = members(&r);
    if (status >= 0)
        status = number_trials(&r);
    ot_text_release(&r.text);
    free(r.digit);
    if (status >= 0) {
        *recorded = r.to;
        return OPTUNE_OK;
    }
    ot_recorded_free(r.to);
    return optune_fail(err, own.status, "%s", own.text);
}

void ot_recorded_free(ot_recorded *recorded)
{
    if (!recorded)
        return;
    for (int k = 0; k < recorded->n_knobs; k++) {
        for (int i = 0; i < recorded->knob[k].n; i++)
            free(recorded->knob[k].word[i]);
        free(recorded->knob[k].word);
        free(recorded->knob[k].name);
    }
    free(recorded->trial);
    free(recorded->name);
    free(recorded->kernel);
    free(recorded->device);
    free(recorded->origin);
    free(recorded);
}

const ot_recorded_trial *ot_recorded_find(const ot_recorded *recorded, int64_t index)
{
    int lo = 0, hi = recorded->n_trials;
    while (lo < hi) {
        const int middle = lo + (hi - lo) / 2;
        if (recorded->trial[middle].index < index)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < recorded->n_trials && recorded->trial[lo].index == index ? &recorded->trial[lo]
                                                                         : NULL;
}
