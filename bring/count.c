/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many configs the constraints leave, without looking at the product: values are given knob by
 * knob, each constraint is tested once its last knob has one, and what no constraint is left for is
 * multiplied out.
 */
#include <math.h>
#include <string.h>

#include <stdlib.h>

#include "bring/bring.h"

typedef struct counting {
    const ot_brought *b;
    ot_values values;
    int level[OT_BROUGHT_WHERE];        /* the last knob of each, -1: none */
    int last;                           /* the last knob of any */
    int64_t rest[OPTUNE_MAX_KNOBS + 1]; /* product of the knobs from this one on */
    double deadline;
    int64_t steps;
    ot_brought_count *count;
} counting;

/* Whether all constraints that this knob completes agree. */
static bool agree(counting *c, int knob)
{
    for (int i = 0; i < c->b->n_where; i++) {
        ot_arena arena = {0};
        ot_expr_value value;
        if (c->level[i] != knob)
            continue;
        const int status = ot_formula_value(&c->b->where[i], &c->values, &arena, &value, NULL);
        const bool agreed = status >= 0 && ot_value_true(&value);
        ot_arena_release(&arena);
        if (agreed)
            continue;
        c->count->refused[i] += c->rest[knob + 1];
        c->count->undefined += status < 0 ? c->rest[knob + 1] : 0;
        return false;
    }
    return true;
}

static void count_from(counting *c, int knob)
{
    if (knob > c->last) {
        c->count->valid += c->rest[knob];
        return;
    }
    const ot_expr_value *list = &c->b->knob[knob].list;
    for (int i = 0; i < list->n && c->count->whole; i++) {
        if ((++c->steps & 4095) == 0 && ot_now() > c->deadline)
            c->count->whole = false;
        c->values.value[OT_BROUGHT_SIZES + knob] = list->item[i];
        if (agree(c, knob))
            count_from(c, knob + 1);
    }
}

ot_where *ot_brought_where(const ot_brought *b, const optune_call *call)
{
    ot_where_knob knob[OPTUNE_MAX_KNOBS];
    ot_values values;
    if (!b->n_where)
        return NULL;
    ot_where_rule *rule = ot_alloc((size_t)b->n_where * sizeof *rule);
    ot_values_of(b, call, NULL, &values);
    for (int k = 0; k < b->n_knobs; k++)
        knob[k] = (ot_where_knob){b->knob[k].list.item, b->knob[k].list.n};
    for (int r = 0; r < b->n_where; r++) {
        const char *const *name;
        rule[r].expr = b->where[r].expr;
        for (int n = ot_expr_names(rule[r].expr, &name) - 1; n >= 0; n--) {
            rule[r].knob[n] = b->where[r].slot[n] - OT_BROUGHT_SIZES;
            rule[r].value[n] = values.value[b->where[r].slot[n]];
        }
    }
    ot_where *where = ot_where_open(knob, b->n_knobs, rule, b->n_where);
    free(rule);
    return where;
}

/* Exactly, where that can be told at once; else by walking for a while, which also says which
 * constraint refuses how many. */
static bool count_at_once(const ot_brought *b, const optune_call *call, ot_brought_count *count)
{
    ot_where_count known = {0};
    ot_where *where = ot_brought_where(b, call);
    const bool told = where && ot_where_counted(where, &known);
    count->valid = known.valid;
    count->undefined = known.undefined;
    ot_where_close(where);
    return told && known.valid > 0;
}

void ot_brought_count_valid(const ot_brought *b, const optune_call *call, double seconds,
                            ot_brought_count *count)
{
    counting c = {.b = b, .last = -1, .count = count, .deadline = ot_now() + seconds};
    *count = (ot_brought_count){.combinations = 1, .whole = true};
    ot_values_of(b, call, NULL, &c.values);
    c.rest[b->n_knobs] = 1;
    for (int k = b->n_knobs - 1; k >= 0; k--) {
        count->combinations *= b->knob[k].list.n;
        if (__builtin_mul_overflow(c.rest[k + 1], (int64_t)b->knob[k].list.n, &c.rest[k]))
            c.rest[k] = INT64_MAX / 2;
    }
    for (int i = 0; i < b->n_where; i++) {
        const char *const *name;
        c.level[i] = -1;
        for (int n = ot_expr_names(b->where[i].expr, &name) - 1; n >= 0; n--) {
            const int knob = b->where[i].slot[n] - OT_BROUGHT_SIZES;
            c.level[i] = knob > c.level[i] ? knob : c.level[i];
        }
        c.last = c.level[i] > c.last ? c.level[i] : c.last;
    }
    if (count_at_once(b, call, count))
        return;
    count->valid = count->undefined = 0;
    if (agree(&c, -1))
        count_from(&c, 0);
}

int ot_brought_check_count(const ot_brought *b, const ot_brought_count *count, optune_err *err)
{
    if (count->valid > 0 || !count->whole)
        return OPTUNE_OK;
    ot_text text = {0};
    ot_text_printf(&text, "%s: none of its %.15g configs is valid", b->file,
                   count->combinations);
    for (int i = 0, n = 0; i < b->n_where; i++)
        if (count->refused[i])
            ot_text_printf(&text, "%s '%s' refuses %lld", n++ ? "," : ":",
                           b->where[i].expr->text, (long long)count->refused[i]);
    if (count->undefined)
        ot_text_printf(&text, " (%lld of these cannot be computed, by a division by zero, say)",
                       (long long)count->undefined);
    const int status = optune_fail(err, OPTUNE_ENOENT, "%s", ot_text_str(&text));
    ot_text_release(&text);
    return status;
}
