/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the names of a metric mean, for a call and, once there is one, a record of it. The one idea:
 * one function says both whether there is a name and what it is worth, so that what is refused when
 * a metric is read and what is told in the end cannot disagree.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/metric.h"
#include "base/expr.h"
#include "bring/bring.h"

enum { MOST_METRICS = 16, MOST_NAME = 31 };

/* What targets tell of a run, where they can: docs/formats.md. Programs tell their own. */
static const char *const counter[] = {"cycles",     "instructions", "l1_misses",
                                      "l2_misses",  "l3_misses",    "sm_mhz",
                                      "memory_mhz", "celsius",      "watts"};

/* What names are asked about. */
typedef struct subject {
    const optune_call *call;
    const optune_record *record; /* NULL: nothing is measured yet */
    const ot_brought *brought;   /* the declaration of what somebody brought; NULL: in tree */
    ot_values values;            /* of its sizes and knobs */
    ot_arena *arena;             /* of lists */
} subject;

static ot_expr_value real_value(bool known, double value)
{
    return known ? (ot_expr_value){.kind = OT_VALUE_REAL, .f = value} : (ot_expr_value){0};
}

/* The number of that name among the lines that a record keeps; NONE: it is not there. */
static ot_expr_value counted(const subject *s, const char *name)
{
    char text[64];
    double value = 0;
    const bool known = s->record && s->record->counters &&
                       ot_lines_get(s->record->counters, name, text, sizeof text) &&
                       ot_parse_real(text, &value);
    return real_value(known, value);
}

static bool is_measured(const subject *s, const char *name, ot_expr_value *value)
{
    const bool program = s->brought && s->brought->language == OT_LANGUAGE_PROGRAM;
    const char *objective = program ? s->brought->program.objective : "time";
    if (strcmp(name, "time") == 0 && strcmp(objective, "time") == 0) {
        *value = real_value(s->record, s->record ? s->record->cost : 0);
        return true;
    }
    if (!program || !ot_program_measures(s->brought, name))
        return false;
    *value = counted(s, name);
    return true;
}

static bool is_ours(const subject *s, const char *name, ot_expr_value *value)
{
    if (strcmp(name, "cost") == 0)
        *value = real_value(s->record, s->record ? s->record->cost : 0);
    else if (strcmp(name, "flops") == 0)
        *value = real_value(ot_call_flops(s->call) > 0, ot_call_flops(s->call));
    else if (strcmp(name, "bytes") == 0)
        *value = real_value(ot_call_bytes(s->call) > 0, ot_call_bytes(s->call));
    else
        return false;
    return true;
}

static ot_expr_value list_of(const subject *s, int n, int64_t (*at)(const void *, int),
                             const void *arg)
{
    ot_expr_value *item = ot_arena_alloc(s->arena, (size_t)(n + 1) * sizeof *item);
    for (int i = 0; i < n; i++)
        item[i] = ot_int_value(at(arg, i));
    return (ot_expr_value){.kind = OT_VALUE_LIST, .n = n, .item = item};
}

static int64_t attr_at(const void *attr, int i)
{
    return ((const optune_attr *)attr)->i[i];
}

static int64_t dim_at(const void *type, int i)
{
    return ((const optune_tensor *)type)->dim[i].min;
}

static ot_expr_value attr_value(const subject *s, const optune_attr *attr)
{
    switch (attr->kind) {
    case OPTUNE_ATTR_INT:
        return attr->none ? (ot_expr_value){0} : ot_int_value(attr->i[0]);
    case OPTUNE_ATTR_BOOL:
        return (ot_expr_value){.kind = OT_VALUE_BOOL, .i = attr->i[0] != 0};
    case OPTUNE_ATTR_FLOAT:
        return real_value(true, attr->f);
    case OPTUNE_ATTR_WORD:
        return (ot_expr_value){.kind = OT_VALUE_WORD, .s = attr->word};
    case OPTUNE_ATTR_INTS:
        return list_of(s, attr->n, attr_at, attr);
    }
    return (ot_expr_value){0};
}

/* What the call's own text says: attributes, and the dims of inputs as lists. */
static bool is_of_call(const subject *s, const char *name, ot_expr_value *value)
{
    const optune_call *call = s->call;
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, name) == 0) {
            *value = attr_value(s, &call->attr[i]);
            return true;
        }
    const optune_op_input *input = call->op->inputs;
    for (int i = 0; input && input[i].name; i++)
        if (strcmp(input[i].name, name) == 0) {
            if (i < call->n_inputs)
                *value = list_of(s, call->input[i].type.rank, dim_at, &call->input[i].type);
            return true;
        }
    return false;
}

static bool meaning(const void *arg, const char *name, ot_expr_value *value)
{
    const subject *s = arg;
    *value = (ot_expr_value){0};
    if (is_measured(s, name, value) ||
        (s->brought && ot_value_called(s->brought, name, &s->values, value)) ||
        is_ours(s, name, value) || is_of_call(s, name, value))
        return true;
    for (int i = 0; i < OT_COUNT(counter); i++)
        if (strcmp(name, counter[i]) == 0) {
            *value = counted(s, name);
            return true;
        }
    return false;
}

static void ask(subject *s, const optune_call *call, const optune_record *record,
                ot_arena *arena)
{
    *s = (subject){.call = call,
                   .record = record,
                   .brought = ot_brought_of_op(call->op->name),
                   .arena = arena};
    if (s->brought)
        ot_values_of(s->brought, call, record ? &record->config : NULL, &s->values);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Of several calls a name may be one's alone: the others have no such figure. */
typedef struct subjects {
    int n;
    subject *of;
} subjects;

static bool means_to_any(const void *arg, const char *name, ot_expr_value *value)
{
    const subjects *all = arg;
    for (int i = 0; i < all->n; i++)
        if (meaning(&all->of[i], name, value))
            return true;
    return false;
}

static void say_names(const subject *s, ot_text *to)
{
    const optune_call *call = s->call;
    if (s->brought)
        ot_brought_say_names(s->brought, to);
    if (!s->brought || s->brought->language != OT_LANGUAGE_PROGRAM)
        ot_text_printf(to, "%stime", to->n ? ", " : "");
    ot_text_add(to, ", cost, flops, bytes");
    for (int i = 0; !s->brought && i < call->n_attrs; i++)
        ot_text_printf(to, ", %s", call->attr[i].name);
    const optune_op_input *input = call->op->inputs;
    for (int i = 0; input && input[i].name; i++)
        ot_text_printf(to, ", %s", input[i].name);
    for (int i = 0; i < OT_COUNT(counter); i++)
        ot_text_printf(to, ", %s", counter[i]);
}

static int read_name(const char *text, ot_metrics *to, optune_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return optune_fail(err, OPTUNE_ESYNTAX, "the metric '%s' is no NAME=EXPR", text);
    const int length = (int)(equals - text);
    const char *name = ot_arena_printf(&to->arena, "%.*s", length, text);
    if (length > MOST_NAME)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "the name of the metric '%s' has more than %d bytes", name,
                           MOST_NAME);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "the name of a metric has a character that cannot be printed");
    if (!ot_text_is_utf8(name))
        return optune_fail(err, OPTUNE_ESYNTAX, "the name of a metric is no text in UTF-8");
    for (int i = 0; i < to->n; i++)
        if (strcmp(to->name[i], name) == 0)
            return optune_fail(err, OPTUNE_EUSAGE, "there are two metrics '%s'", name);
    to->name[to->n] = name;
    return length + 1;
}

static int read_one(const char *text, const subjects *all, ot_metrics *to, optune_err *err)
{
    if (to->n == MOST_METRICS)
        return optune_fail(err, OPTUNE_EUSAGE, "more than %d metrics", MOST_METRICS);
    const int at = read_name(text, to, err);
    if (at < 0)
        return at;
    const ot_spot place = {
        .file = ot_arena_printf(&to->arena, "the metric '%s'", to->name[to->n]), .column = 1};
    ot_text names = {0};
    OT_RETURN_UNLESS_OK(ot_expr_parse(text + at, &place, &to->expr[to->n], err));
    const ot_expr *expr = to->expr[to->n++];
    say_names(&all->of[0], &names);
    const int status = ot_expr_check_names(expr, means_to_any, all, ot_text_str(&names), err);
    ot_text_release(&names);
    return status;
}

int ot_metrics_read(const char *const *texts, const optune_call *call, int n_calls,
                    ot_metrics *metrics, optune_err *err)
{
    int status = OPTUNE_OK;
    *metrics = (ot_metrics){0};
    if (!texts || !texts[0] || !n_calls)
        return OPTUNE_OK;
    metrics->name = ot_arena_alloc(&metrics->arena, (MOST_METRICS + 1) * sizeof(char *));
    metrics->expr = ot_arena_alloc(&metrics->arena, MOST_METRICS * sizeof(ot_expr *));
    ot_arena arena = {0};
    const subjects all = {n_calls, ot_alloc((size_t)n_calls * sizeof *all.of)};
    for (int i = 0; i < n_calls; i++)
        ask(&all.of[i], &call[i], NULL, &arena);
    for (int i = 0; texts[i] && status >= 0; i++)
        status = read_one(texts[i], &all, metrics, err);
    free(all.of);
    ot_arena_release(&arena);
    return status;
}

void ot_metrics_release(ot_metrics *metrics)
{
    for (int i = 0; i < metrics->n; i++)
        ot_expr_free(metrics->expr[i]);
    ot_arena_release(&metrics->arena);
    *metrics = (ot_metrics){0};
}

double ot_metric_value(const ot_metrics *metrics, int which, const optune_call *call,
                       const optune_record *record)
{
    ot_arena arena = {0};
    subject *s = ot_alloc(sizeof *s);
    double value;
    ask(s, call, record, &arena);
    const int status = ot_expr_number(metrics->expr[which], meaning, s, &value, NULL);
    free(s);
    ot_arena_release(&arena);
    return status >= 0 && isfinite(value) ? value : NAN;
}
