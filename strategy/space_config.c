/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations do with a config: read a knob by name, choose the entities of a fallback,
 * and step to the nearest config that their own rules accept. A knob that is not there is the
 * implementation's bug and asserts.
 */
#include <assert.h>
#include <string.h>

#include "strategy/inside.h"

static int position(const optune_config *config, const char *name)
{
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entity[i].name, name) == 0)
            return i;
    assert(!"the config has no knob of this name");
    return -1;
}

const int64_t *optune_config_split(const optune_config *config, const char *name)
{
    const optune_entity *entity = &config->entity[position(config, name)];
    assert(entity->kind != OPTUNE_KNOB_OTHER);
    return entity->v;
}

static const optune_entity *scalar(const optune_config *config, const char *name, bool word)
{
    const optune_entity *entity = &config->entity[position(config, name)];
    assert(entity->kind == OPTUNE_KNOB_OTHER);
    assert((entity->scalar == OPTUNE_SCALAR_WORD) == word);
    (void)word;
    return entity;
}

int64_t optune_config_int(const optune_config *config, const char *name)
{
    return scalar(config, name, false)->v[0];
}

bool optune_config_bool(const optune_config *config, const char *name)
{
    return scalar(config, name, false)->v[0] != 0;
}

const char *optune_config_word(const optune_config *config, const char *name)
{
    return scalar(config, name, true)->word;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static const ot_knob *knob_of(const optune_space *space, const char *name)
{
    const int knob = ot_space_knob(space, name);
    assert(knob >= 0);
    return &space->knob[knob];
}

static void choose(optune_config *config, const optune_space *space, const char *name,
                   int64_t digit)
{
    ot_space_entity(space, ot_space_knob(space, name), digit,
                    &config->entity[position(config, name)]);
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
    const ot_knob *knob = knob_of(space, name);
    assert(knob->kind == OPTUNE_KNOB_SPLIT);
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
    choose(config, space, name, best < 0 ? least : best);
}

void optune_config_choose_int(optune_config *config, const optune_space *space,
                              const char *name, int64_t limit)
{
    const ot_knob *knob = knob_of(space, name);
    assert(knob->kind == OPTUNE_KNOB_OTHER && knob->value);
    int64_t best = -1, least = 0;
    for (int64_t i = 0; i < knob->n; i++) {
        if (knob->value[i] < knob->value[least])
            least = i;
        if (knob->value[i] <= limit && (best < 0 || knob->value[i] > knob->value[best]))
            best = i;
    }
    choose(config, space, name, best < 0 ? least : best);
}

void optune_config_choose_word(optune_config *config, const optune_space *space,
                               const char *name, const char *word)
{
    const ot_knob *knob = knob_of(space, name);
    assert(knob->word);
    int64_t found = -1;
    for (int64_t i = 0; i < knob->n && found < 0; i++)
        if (strcmp(knob->word[i], word) == 0)
            found = i;
    assert(found >= 0);
    choose(config, space, name, found);
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

void optune_config_nearest(optune_config *config, const optune_space *space)
{
    optune_config own = *config;
    if (!space->impl || ot_space_index_of(space, &own, NULL) < 0 ||
        ot_space_valid(space, &own, NULL))
        return;
    nearing n = {.space = space, .config = &own};
    optune_space_digits(space, own.index, n.chosen);
    for (int knobs = 1; knobs <= MOST_TOGETHER; knobs++)
        if (change(&n, 0, knobs)) {
            *config = own;
            return;
        }
}
