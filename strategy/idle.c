/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs that decide nothing: a space that has one is so many times as large as it need be, and
 * trials of equal code differ by noise alone. A knob decides something when another value of it
 * makes another plan: other launches, or another value of a macro that the source reads.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

enum { BASES = 8, OTHERS = 4, DRAWS = 64 };

static bool is_word_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* How often a macro's name is in a text. */
static int times_in(const char *text, const char *name)
{
    const size_t length = strlen(name);
    int n = 0;
    for (const char *p = text; (p = strstr(p, name)); p += length)
        n += (p == text || !is_word_char(p[-1])) && !is_word_char(p[length]);
    return n;
}

static const char *value_in(const optune_plan *plan, const ot_module *m, const char *name)
{
    for (int i = 0; i < m->n_defines; i++)
        if (strcmp(ot_plan_text(plan, m->define[i].name), name) == 0)
            return ot_plan_text(plan, m->define[i].value);
    return NULL;
}

/* Whether module `k` of `a` reads a macro that has another value, or none, in `b`. */
static bool reads_other(const optune_task *task, const optune_plan *a, const optune_plan *b,
                        int k)
{
    const ot_module *m = &a->module[k];
    ot_text source = {0};
    bool reads = false;
    for (int i = 0; i < m->n_defines && !reads; i++) {
        const char *name = ot_plan_text(a, m->define[i].name);
        const char *other = value_in(b, &b->module[k], name);
        if (other && strcmp(other, ot_plan_text(a, m->define[i].value)) == 0)
            continue;
        if (!source.n)
            ot_plan_source(task, a, k, &source);
        reads = times_in(source.s, name) > 1; /* once it is defined */
    }
    ot_text_release(&source);
    return reads;
}

static bool same_arg(const optune_arg *a, const optune_arg *b)
{
    return a->kind == b->kind && a->index == b->index && a->value == b->value &&
           a->real == b->real &&
           (a->symbol == b->symbol ||
            (a->symbol && b->symbol && strcmp(a->symbol, b->symbol) == 0));
}

static bool same_stage(const optune_stage *a, const optune_stage *b)
{
    bool same = a->phase == b->phase && a->module == b->module &&
                strcmp(a->function, b->function) == 0 && a->n_args == b->n_args &&
                a->shared == b->shared && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
                memcmp(a->block, b->block, sizeof a->block) == 0;
    for (int i = 0; i < a->n_args && same; i++)
        same = same_arg(&a->arg[i], &b->arg[i]);
    return same;
}

static bool same_work(const optune_task *task, const optune_plan *a, const optune_plan *b)
{
    bool same = a->threads == b->threads && a->n_modules == b->n_modules &&
                a->n_stages == b->n_stages && a->n_scratch == b->n_scratch &&
                a->n_maps == b->n_maps && memcmp(a->map, b->map, sizeof a->map) == 0;
    for (int i = 0; i < a->n_stages && same; i++)
        same = same_stage(&a->stage[i], &b->stage[i]);
    for (int i = 0; i < a->n_scratch && same; i++)
        same = a->scratch[i].bytes == b->scratch[i].bytes;
    for (int k = 0; k < a->n_modules && same; k++)
        same = a->module[k].n_flags == b->module[k].n_flags &&
               memcmp(a->module[k].flag, b->module[k].flag, sizeof a->module[k].flag) == 0 &&
               !reads_other(task, a, b, k) && !reads_other(task, b, a, k);
    return same;
}

typedef struct looking {
    const optune_task *task;
    const optune_space *space;
    optune_plan *plan[2];
    optune_config config;
    uint64_t rng;
} looking;

/* The plan of an index that is valid; false: it is not, or has none. */
static bool make(looking *l, int64_t index, optune_plan *plan)
{
    ot_space_nth(l->space, index, &l->config);
    return ot_space_valid(l->space, &l->config, NULL) &&
           ot_plan_make(l->task, l->space->impl, &l->config, plan, NULL) >= 0;
}

/* The fallback's first; -1: none is valid. */
static int64_t base(looking *l, int i)
{
    if (i == 0 && ot_space_fallback(l->space, &l->config, NULL))
        return l->config.index;
    for (int draw = 0; draw < DRAWS; draw++) {
        const int64_t index = ot_space_random(l->space, &l->rng);
        ot_space_nth(l->space, index, &l->config);
        if (ot_space_valid(l->space, &l->config, NULL))
            return index;
    }
    return -1;
}

/* Other values were there, and none made another plan. */
static bool is_idle(looking *l, int knob)
{
    const int64_t radix = optune_space_radix(l->space, knob);
    bool compared = false;
    for (int i = 0; i < BASES && radix > 1; i++) {
        const int64_t from = base(l, i);
        int64_t digit[OPTUNE_MAX_KNOBS];
        if (from < 0 || !make(l, from, l->plan[0]))
            continue;
        optune_space_digits(l->space, from, digit);
        const int64_t was = digit[knob];
        for (int k = 0; k < OTHERS; k++) {
            digit[knob] = (was + 1 + optune_random_below(&l->rng, radix - 1)) % radix;
            if (!make(l, optune_space_index(l->space, digit), l->plan[1]))
                continue;
            compared = true;
            if (!same_work(l->task, l->plan[0], l->plan[1]))
                return false;
        }
    }
    return compared;
}

uint32_t ot_space_idle(const optune_task *task, const optune_space *space)
{
    looking l = {.task = task, .space = space, .rng = 1};
    uint32_t idle = 0;
    for (int i = 0; i < 2; i++)
        l.plan[i] = ot_alloc(sizeof *l.plan[i]);
    for (int knob = 0; knob < optune_space_knobs(space); knob++)
        if (is_idle(&l, knob))
            idle |= (uint32_t)1 << knob;
    for (int i = 0; i < 2; i++)
        free(l.plan[i]);
    return idle;
}

uint32_t ot_space_idle_of_plugin(const optune_task *task, const optune_space *space)
{
    ot_digest plugin;
    return space->impl->source && ot_object_digest(ot_pattern_row(space->impl), &plugin)
               ? ot_space_idle(task, space)
               : 0;
}
