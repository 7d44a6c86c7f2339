/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations do with a config: read a knob by name, choose the entities of a fallback,
 * and step to the nearest config that their own rules accept. A knob that is not there, or is of
 * another kind, is a slip of the implementation (ot_slip).
 */
#include <string.h>

#include "base/where.h"
#include "strategy/inside.h"

/* For a knob that is not there: numbers by which anything may be divided. */
static const optune_entity harmless = {.n = 4, .v = {1, 1, 1, 1}};

static int position(const optune_config *config, const char *name)
{
    for (int i = 0; i < config->n; i++)
        if (*config->entity[i].name == *name && strcmp(config->entity[i].name, name) == 0)
            return i;
    ot_slip("there is no knob '%s'", name);
    return -1;
}

/* Of one value and a word, of one value and a number, or of several values. */
typedef enum form { NUMBER, WORD, LIST } form;

static const optune_entity *entity_of(const optune_config *config, const char *name,
                                      form wanted)
{
    static const char *const what[] = {"number", "word", "list of sizes"};
    const int i = position(config, name);
    if (i < 0)
        return &harmless;
    const optune_entity *entity = &config->entity[i];
    const form found = entity->kind != OPTUNE_KNOB_OTHER      ? LIST
                       : entity->scalar == OPTUNE_SCALAR_WORD ? WORD
                                                              : NUMBER;
    if (found == wanted)
        return entity;
    ot_slip("knob '%s' is no %s", name, what[wanted]);
    return &harmless;
}

const int64_t *optune_config_split(const optune_config *config, const char *name)
{
    return entity_of(config, name, LIST)->v;
}

int64_t optune_config_int(const optune_config *config, const char *name)
{
    return entity_of(config, name, NUMBER)->v[0];
}

bool optune_config_bool(const optune_config *config, const char *name)
{
    return entity_of(config, name, NUMBER)->v[0] != 0;
}

const char *optune_config_word(const optune_config *config, const char *name)
{
    const optune_entity *entity = entity_of(config, name, WORD);
    return entity == &harmless ? "" : entity->word;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static const ot_knob *knob_of(const optune_space *space, const char *name, form wanted)
{
    const int k = ot_space_knob(space, name);
    const ot_knob *knob = k < 0 ? NULL : &space->knob[k];
    const bool fits =
        knob && (wanted == LIST   ? knob->kind == OPTUNE_KNOB_SPLIT
                 : wanted == WORD ? knob->word != NULL
                                  : knob->kind == OPTUNE_KNOB_OTHER && knob->value);
    if (!fits)
        ot_slip(knob ? "knob '%s' is of another kind" : "there is no knob '%s'", name);
    return fits ? knob : NULL;
}

/* A config of the space has its knobs in its order. */
static void choose(optune_config *config, const optune_space *space, const ot_knob *knob,
                   int64_t digit)
{
    const int k = (int)(knob - space->knob);
    const bool in_order = k < config->n && (ot_same_room(config->entity[k].name, knob->name) ||
                                            strcmp(config->entity[k].name, knob->name) == 0);
    const int at = in_order ? k : position(config, knob->name);
    if (at < 0)
        return;
    optune_entity *entity = &config->entity[at];
    const bool alike = entity->n == 1 && knob->kind == OPTUNE_KNOB_OTHER &&
                       entity->kind == knob->kind && entity->scalar == knob->scalar;
    if (knob->kind == OPTUNE_KNOB_OTHER) /* its place in the space will be asked for */
        atomic_store_explicit((atomic_int *)&knob->at, (int)digit, memory_order_relaxed);
    if (alike && knob->value)
        entity->v[0] = knob->value[digit]; /* all else is as it was */
    else if (alike)
        memcpy(entity->word, knob->word[digit], sizeof entity->word);
    else
        ot_space_entity(space, k, digit, entity);
}

static bool within(const int64_t *value, const int64_t *limit, int parts)
{
    for (int i = 1; i < parts; i++)
        if (value[i] > limit[i])
            return false;
    return true;
}

/* Compares inner sizes, the innermost first. */
static bool larger(const int64_t *a, const int64_t *b, int parts)
{
    for (int i = parts - 1; i > 0; i--)
        if (a[i] != b[i])
            return a[i] > b[i];
    return false;
}

void optune_config_choose_split(optune_config *config, const optune_space *space,
                                const char *name, const int64_t *limit)
{
    const ot_knob *knob = knob_of(space, name, LIST);
    if (!knob)
        return;
    const int parts = knob->parts;
    int64_t best = -1, least = 0;
    for (int64_t i = 0; i < knob->n; i++) {
        const int64_t *value = &knob->value[i * parts];
        if (larger(&knob->value[least * parts], value, parts))
            least = i;
        if (within(value, limit, parts) &&
            (best < 0 || larger(value, &knob->value[best * parts], parts)))
            best = i;
    }
    choose(config, space, knob, best < 0 ? least : best);
}

/* The first of the smallest. */
static int64_t least_of(const ot_knob *knob)
{
    int64_t least = 0;
    for (int64_t i = 1; i < knob->n; i++)
        if (knob->value[i] < knob->value[least])
            least = i;
    return least;
}

void optune_config_choose_int(optune_config *config, const optune_space *space,
                              const char *name, int64_t limit)
{
    const ot_knob *knob = knob_of(space, name, NUMBER);
    if (!knob)
        return;
    const int64_t *const value = knob->value;
    int64_t best = -1;
    for (int64_t i = 0; i < knob->n; i++)
        if (value[i] <= limit && (best < 0 || value[i] > value[best]))
            best = i;
    choose(config, space, knob, best < 0 ? least_of(knob) : best);
}

void optune_config_choose_list(optune_config *config, const optune_space *space,
                               const char *name, const int64_t *values)
{
    const int i = ot_space_knob(space, name);
    const ot_knob *knob = i < 0 ? NULL : &space->knob[i];
    if (!knob || (knob->kind != OPTUNE_KNOB_REORDER && knob->kind != OPTUNE_KNOB_ANNOTATE)) {
        ot_slip(knob ? "knob '%s' is of another kind" : "there is no knob '%s'", name);
        return;
    }
    const int64_t found = ot_knob_find(knob, values);
    if (found < 0)
        ot_slip("knob '%s' has no such list", name);
    else
        choose(config, space, knob, found);
}

void optune_config_choose_word(optune_config *config, const optune_space *space,
                               const char *name, const char *word)
{
    const ot_knob *knob = knob_of(space, name, WORD);
    int64_t found = -1;
    for (int64_t i = 0; knob && i < knob->n && found < 0; i++)
        if (strcmp(knob->word[i], word) == 0)
            found = i;
    if (knob && found < 0)
        ot_slip("knob '%s' has no word '%s'", name, word);
    if (found >= 0)
        choose(config, space, knob, found);
}

/* ---- the nearest valid one --------------------------------------------------------------- */

enum {
    MOST_TOGETHER = 3, /* knobs that differ from what was chosen */
    MOST_ASKED = 1 << 15,
    FEW = 16, /* entities of one knob that are tried together with others' */
};

typedef struct nearing {
    const optune_space *space;
    optune_config *config;
    int64_t chosen[OPTUNE_MAX_KNOBS]; /* digits */
    int asked;
} nearing;

static bool change(nearing *n, int from, int knobs);

static bool try_digit(nearing *n, int knob, int64_t digit, int knobs)
{
    if (digit < 0 || digit >= n->space->knob[knob].n || n->asked >= MOST_ASKED)
        return false;
    ot_space_entity(n->space, knob, digit, &n->config->entity[knob]);
    if (knobs > 1)
        return change(n, knob + 1, knobs - 1);
    n->asked++;
    return ot_space_valid(n->space, n->config, NULL);
}

/* Changes exactly so many knobs from this one on, each to the nearest entities first. Of a long
 * list only one in twice as far is tried, unless the knob is changed alone. */
static bool change(nearing *n, int from, int knobs)
{
    for (int k = from; k + knobs <= n->space->n_knobs; k++) {
        const int64_t all = n->space->knob[k].n, digit = n->chosen[k];
        const bool each = all <= FEW || (knobs == 1 && from == 0);
        for (int64_t step = 1; step < all; step = each ? step + 1 : 2 * step)
            if (try_digit(n, k, digit - step, knobs) || try_digit(n, k, digit + step, knobs))
                return true;
        ot_space_entity(n->space, k, digit, &n->config->entity[k]);
    }
    return false;
}

static bool take(const nearing *n, const int64_t *digit)
{
    for (int k = 0; k < n->space->n_knobs; k++)
        ot_space_entity(n->space, k, digit[k], &n->config->entity[k]);
    return ot_space_valid(n->space, n->config, NULL);
}

/* One that differs in many knobs, as far as constraints as data lead to it: a close one, or where
 * none is found or it is refused by what they do not say (what a device can launch), one of a few
 * draws, the same in every process. */
static bool follow_constraints(const nearing *n)
{
    enum { STEPS = 1 << 18, DRAWS = 64, MOST_MISSED = 4 };
    int64_t digit[OPTUNE_MAX_KNOBS];
    uint64_t rng = 1;
    if (!n->space->where)
        return false;
    memcpy(digit, n->chosen, sizeof digit);
    bool taken = ot_where_near(n->space->where, STEPS, digit) && take(n, digit);
    for (int i = 0, missed = 0; i < DRAWS && missed < MOST_MISSED && !taken; i++) {
        const int64_t drawn = ot_space_valid_some(n->space, &rng);
        missed += drawn < 0;
        if (drawn >= 0) {
            optune_space_digits(n->space, drawn, digit);
            taken = take(n, digit);
        }
    }
    return taken;
}

void optune_config_nearest(optune_config *config, const optune_space *space)
{
    optune_config room, *own = space->found ? space->found : &room;
    ot_config_copy(own, config);
    const bool there = space->impl && ot_space_index_of(space, own, NULL) >= 0;
    if (there && ot_space_valid(space, own, NULL))
        return;
    nearing n = {.space = space, .config = own};
    bool near = false;
    if (there) {
        optune_space_digits(space, own->index, n.chosen);
        for (int knobs = 1; knobs <= MOST_TOGETHER && !near; knobs++)
            near = change(&n, 0, knobs);
        near = near || follow_constraints(&n);
    }
    if (near)
        ot_config_copy(config, own);
    own->n = -1; /* its index is not known */
}
