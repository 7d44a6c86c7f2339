/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Config spaces: the product of knobs, each a list of entities. A config's index is AutoTVM's
 * mixed-radix number, first knob least significant. The lists are in memory, the product never
 * is: everything here costs what one config costs.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/where.h"
#include "strategy/inside.h"

/* ---- opening ----------------------------------------------------------------------------- */

void ot_space_begin(optune_space *space)
{
    space->task = NULL;
    space->impl = NULL;
    space->n_knobs = 0;
    space->size = 1;
    space->problem.status = OPTUNE_OK;
    space->problem.text[0] = '\0';
    space->where = NULL;
    space->wide = NULL;
    space->team = space->spills = false;
    space->sought = space->found = NULL;
    atomic_init(&space->next, 0);
}

optune_space *ot_space_blank(void)
{
    optune_space *space = ot_alloc_raw(sizeof(*space)); /* each knob is set when it is added */
    ot_space_forget(space);
    ot_space_begin(space);
    return space;
}

void *ot_space_take(optune_space *space, size_t size)
{
    size = (size + sizeof(int64_t) - 1) & ~(sizeof(int64_t) - 1);
    if (size > sizeof space->room - space->used) {
        space->spills = true;
        return ot_alloc_raw(size);
    }
    space->used += size;
    return space->room + space->used - size;
}

void ot_space_give_back(optune_space *space, void *memory)
{
    const char *at = memory;
    if (at && (at < space->room || at >= space->room + sizeof space->room))
        free(memory);
}

int ot_space_check(const optune_space *space, optune_err *err)
{
    if (space->problem.status == OPTUNE_OK)
        return OPTUNE_OK;
    return optune_fail(err, space->problem.status, "%s", space->problem.text);
}

void ot_space_forget(optune_space *space)
{
    space->n_known = 0;
    space->used = 0;
}

void ot_space_end(optune_space *space)
{
    for (int i = 0; i < space->n_knobs && space->spills; i++) {
        ot_space_give_back(space, space->knob[i].value);
        ot_space_give_back(space, space->knob[i].word);
    }
    if (space->spills || space->problem.status < 0)
        ot_space_forget(space);
    ot_where_close(space->where);
    free(space->wide);
}

void ot_space_close(optune_space *space)
{
    if (!space)
        return;
    ot_space_end(space);
    free(space);
}

/* ---- constraints ------------------------------------------------------------------------- */

void ot_space_where(optune_space *space, ot_where *where)
{
    ot_where_close(space->where);
    space->where = where;
}

int64_t ot_space_counted(const optune_space *space)
{
    ot_where_count count;
    return space->where && ot_where_counted(space->where, &count) ? count.valid : -1;
}

int64_t ot_space_valid_nth(const optune_space *space, int64_t k)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    ot_where_nth(space->where, k, digit);
    return optune_space_index(space, digit);
}

int64_t ot_space_valid_some(const optune_space *space, uint64_t *rng)
{
    enum { STEPS = 1 << 20 };
    int64_t digit[OPTUNE_MAX_KNOBS];
    return space->where && ot_where_some(space->where, STEPS, rng, digit)
               ? optune_space_index(space, digit)
               : -1;
}

/* ---- sizes and digits -------------------------------------------------------------------- */

int64_t optune_space_size(const optune_space *space)
{
    return space->size;
}

int optune_space_knobs(const optune_space *space)
{
    return space->n_knobs;
}

int64_t optune_space_radix(const optune_space *space, int knob)
{
    assert(knob >= 0 && knob < space->n_knobs);
    return space->knob[knob].n;
}

const char *ot_space_knob_name(const optune_space *space, int knob)
{
    assert(knob >= 0 && knob < space->n_knobs);
    return space->knob[knob].name;
}

void optune_space_digits(const optune_space *space, int64_t index, int64_t *digit)
{
    assert(index >= 0 && index < space->size);
    for (int i = 0; i < space->n_knobs; i++) {
        digit[i] = index ? index % space->knob[i].n : 0;
        index = index ? index / space->knob[i].n : 0;
    }
}

int64_t optune_space_index(const optune_space *space, const int64_t *digit)
{
    int64_t index = 0;
    for (int i = space->n_knobs - 1; i >= 0; i--) {
        assert(digit[i] >= 0 && digit[i] < space->knob[i].n);
        index = index * space->knob[i].n + digit[i];
    }
    return index;
}

int ot_space_knob(const optune_space *space, const char *name)
{
    atomic_int *next = (atomic_int *)&space->next;
    const int from = atomic_load_explicit(next, memory_order_relaxed);
    for (int k = 0, i = from; k < space->n_knobs; k++, i++) {
        i = i < space->n_knobs ? i : 0;
        if (*space->knob[i].name == *name && strcmp(space->knob[i].name, name) == 0) {
            atomic_store_explicit(next, i + 1, memory_order_relaxed);
            return i;
        }
    }
    return -1;
}

/* ---- values as numbers ------------------------------------------------------------------- */

bool optune_space_ordered(const optune_space *space, int knob)
{
    assert(knob >= 0 && knob < space->n_knobs);
    const ot_knob *k = &space->knob[knob];
    double number;
    if (k->kind == OPTUNE_KNOB_REORDER || k->kind == OPTUNE_KNOB_ANNOTATE)
        return false;
    for (int64_t i = 0; k->word && i < k->n; i++)
        if (!ot_parse_real(k->word[i], &number))
            return false;
    return true;
}

int optune_space_numbers(const optune_space *space, int knob, int64_t digit, double *number)
{
    assert(knob >= 0 && knob < space->n_knobs);
    const ot_knob *k = &space->knob[knob];
    assert(digit >= 0 && digit < k->n);
    if (k->word) {
        if (!ot_parse_real(k->word[digit], number))
            *number = (double)digit;
        return 1;
    }
    for (int i = 0; i < k->parts; i++)
        number[i] = (double)k->value[digit * k->parts + i];
    return k->parts;
}

/* ---- configs ----------------------------------------------------------------------------- */

/* All of it is set: who compares entities compares all their bytes. */
void ot_space_entity(const optune_space *space, int knob, int64_t digit, optune_entity *entity)
{
    assert(knob >= 0 && knob < space->n_knobs);
    const ot_knob *k = &space->knob[knob];
    assert(digit >= 0 && digit < k->n);
    const size_t at = offsetof(optune_entity, v);
    memcpy(entity->name, k->name, sizeof entity->name);
    memset(&entity->kind, 0, at - offsetof(optune_entity, kind));
    entity->kind = k->kind;
    entity->scalar = k->scalar;
    entity->n = (uint8_t)k->parts;
    if (k->parts == 1 && !k->word) {
        entity->v[0] = k->value[digit];
        memset(entity->v + 1, 0, sizeof *entity - at - sizeof entity->v[0]);
        return;
    }
    memset(entity->v, 0, sizeof *entity - at);
    if (k->word)
        memcpy(entity->word, k->word[digit], sizeof entity->word);
    else
        memcpy(entity->v, &k->value[digit * k->parts], (size_t)k->parts * sizeof entity->v[0]);
}

static void of_digits(const optune_space *space, const int64_t *digit, int64_t index,
                      optune_config *config)
{
    config->n = space->n_knobs;
    config->index = index;
    for (int i = 0; i < space->n_knobs; i++)
        ot_space_entity(space, i, digit[i], &config->entity[i]);
}

void ot_space_nth(const optune_space *space, int64_t index, optune_config *config)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    optune_space_digits(space, index, digit);
    of_digits(space, digit, index, config);
}

static int compare(const ot_knob *knob, int64_t digit, const int64_t *value)
{
    const int64_t *v = &knob->value[digit * knob->parts];
    for (int i = knob->parts - 1; i > 0; i--)
        if (v[i] != value[i])
            return v[i] < value[i] ? -1 : 1;
    return 0;
}

static bool same(const ot_knob *knob, int64_t digit, const int64_t *value)
{
    const int64_t outer = knob->value[digit * knob->parts];
    return compare(knob, digit, value) == 0 &&
           (outer == value[0] || (knob->kind == OPTUNE_KNOB_SPLIT && value[0] == -1));
}

int64_t ot_knob_find(const ot_knob *knob, const int64_t *value)
{
    if (knob->parts == 1 && knob->kind != OPTUNE_KNOB_SPLIT) {
        for (int64_t i = 0; i < knob->n; i++)
            if (knob->value[i] == *value)
                return i;
        return -1;
    }
    if (!knob->ascending) {
        for (int64_t i = 0; i < knob->n; i++)
            if (same(knob, i, value))
                return i;
        return -1;
    }
    int64_t lo = 0, hi = knob->n;
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (compare(knob, middle, value) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < knob->n && same(knob, lo, value) ? lo : -1;
}

/* AutoTVM's logs write true for 1 and 1 for true; both mean the same here. */
static int64_t find_entity(const ot_knob *knob, const optune_entity *entity)
{
    if (entity->kind != knob->kind)
        return -1;
    if (entity->kind != OPTUNE_KNOB_OTHER)
        return entity->n == knob->parts ? ot_knob_find(knob, entity->v) : -1;
    if ((entity->scalar == OPTUNE_SCALAR_WORD) != (knob->scalar == OPTUNE_SCALAR_WORD))
        return -1;
    for (int64_t i = 0; knob->word && i < knob->n; i++)
        if (strcmp(knob->word[i], entity->word) == 0)
            return i;
    if (knob->word)
        return -1;
    if (entity->scalar != OPTUNE_SCALAR_FLOAT)
        return ot_knob_find(knob, entity->v);
    for (int64_t i = 0; i < knob->n; i++)
        if ((double)knob->value[i] == entity->f)
            return i;
    return -1;
}

/* Whether it is written as the space writes that one, as those of its own configs are. */
static bool is_written_so(const ot_knob *knob, int64_t digit, const optune_entity *entity)
{
    if (entity->scalar != knob->scalar || entity->n != knob->parts)
        return false;
    if (knob->word || knob->kind == OPTUNE_KNOB_OTHER)
        return true; /* it was found as it is */
    for (int i = 0; i < knob->parts; i++)
        if (entity->v[i] != knob->value[digit * knob->parts + i])
            return false;
    return true;
}

/* Of one value or word, as the space writes it; knob->n: there is none. */
static int64_t find_plain(const ot_knob *knob, const optune_entity *entity)
{
    atomic_int *const place = (atomic_int *)&knob->at;
    const int64_t at = atomic_load_explicit(place, memory_order_relaxed);
    int64_t digit = 0;
    if (knob->word) {
        if (at < knob->n && ot_same_room(knob->word[at], entity->word))
            return at;
        while (digit < knob->n && !ot_same_room(knob->word[digit], entity->word))
            digit++;
    } else {
        if (at < knob->n && knob->value[at] == entity->v[0])
            return at;
        while (digit < knob->n && knob->value[digit] != entity->v[0])
            digit++;
    }
    if (digit < knob->n)
        atomic_store_explicit(place, (int)digit, memory_order_relaxed);
    return digit;
}

bool ot_space_writes(const optune_space *space, const optune_config *config, int64_t *index)
{
    int64_t at = 0, radix = 1;
    if (config->n != space->n_knobs)
        return false;
    const ot_knob *knob = space->knob;
    const optune_entity *entity = config->entity;
    for (int i = 0; i < config->n; i++, knob++, entity++) {
        if (!ot_same_room(knob->name, entity->name) || entity->kind != knob->kind ||
            entity->scalar != knob->scalar || entity->n != knob->parts ||
            entity->scalar == OPTUNE_SCALAR_FLOAT)
            return false;
        int64_t digit;
        if (knob->parts == 1 && knob->kind == OPTUNE_KNOB_OTHER)
            digit = find_plain(knob, entity);
        else if ((digit = find_entity(knob, entity)) < 0 || !is_written_so(knob, digit, entity))
            return false;
        if (digit == knob->n)
            return false;
        at += digit * radix;
        radix *= knob->n;
    }
    if (index)
        *index = at;
    return true;
}

int ot_space_index_of(const optune_space *space, optune_config *config, optune_err *err)
{
    if (ot_space_writes(space, config, &config->index))
        return OPTUNE_OK;
    int64_t digit[OPTUNE_MAX_KNOBS];
    bool met[OPTUNE_MAX_KNOBS] = {false}, written = config->n == space->n_knobs;
    for (int i = 0; i < config->n; i++) {
        const optune_entity *entity = &config->entity[i];
        const bool in_order =
            i < space->n_knobs && strcmp(space->knob[i].name, entity->name) == 0;
        const int knob = in_order ? i : ot_space_knob(space, entity->name);
        if (knob < 0 || met[knob])
            return optune_fail(err, OPTUNE_ENOENT, "the space has no knob '%s'", entity->name);
        met[knob] = true;
        digit[knob] = find_entity(&space->knob[knob], entity);
        written = written && in_order && digit[knob] >= 0 &&
                  is_written_so(&space->knob[knob], digit[knob], entity);
        if (digit[knob] >= 0)
            continue;
        ot_text text = {0};
        optune_config one = {.n = 1, .index = -1};
        one.entity[0] = *entity;
        ot_config_print_short(&one, &text);
        const int status = optune_fail(err, OPTUNE_ENOENT, "knob '%s' has no entity %s",
                                       entity->name, ot_text_str(&text));
        ot_text_release(&text);
        return status;
    }
    if (space->team &&
        !met[space->n_knobs - 1]) { /* a record from before there was this knob */
        met[space->n_knobs - 1] = true;
        digit[space->n_knobs - 1] = 0;
    }
    for (int i = 0; i < space->n_knobs; i++)
        if (!met[i])
            return optune_fail(err, OPTUNE_ENOENT, "the config has no knob '%s'",
                               space->knob[i].name);
    config->index = optune_space_index(space, digit);
    if (!written)
        of_digits(space, digit, config->index, config);
    return OPTUNE_OK;
}

/* How far apart the values of two entities are, in factors of two; of a split its outermost size,
 * which the axis decides, does not count. */
static double entity_apart(const ot_knob *knob, int64_t digit, const optune_entity *entity)
{
    const int64_t *own = &knob->value[digit * knob->parts];
    double sum = 0;
    for (int i = knob->kind == OPTUNE_KNOB_SPLIT; i < knob->parts; i++)
        sum += fabs(log2((fabs((double)own[i]) + 1) / (fabs((double)entity->v[i]) + 1)));
    return sum;
}

static int64_t nearest_entity(const optune_space *space, int knob, const optune_entity *entity)
{
    const ot_knob *k = &space->knob[knob];
    int64_t nearest = find_entity(k, entity);
    double least = INFINITY;
    if (nearest >= 0 || k->word || entity->kind != k->kind || entity->n != k->parts ||
        !optune_space_ordered(space, knob) || entity->scalar == OPTUNE_SCALAR_WORD ||
        entity->scalar == OPTUNE_SCALAR_FLOAT)
        return nearest;
    for (int64_t i = 0; i < k->n; i++) {
        const double far = entity_apart(k, i, entity);
        if (far < least) {
            least = far;
            nearest = i;
        }
    }
    return nearest;
}

int64_t ot_space_like(const optune_space *space, const optune_config *config)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    for (int k = 0; k < space->n_knobs; k++) {
        const optune_entity *entity = NULL;
        for (int i = 0; i < config->n; i++)
            if (strcmp(config->entity[i].name, space->knob[k].name) == 0)
                entity = &config->entity[i];
        digit[k] = entity                                   ? nearest_entity(space, k, entity)
                   : space->team && k == space->n_knobs - 1 ? 0
                                                            : -1;
        if (digit[k] < 0)
            return -1;
    }
    return optune_space_index(space, digit);
}

double ot_space_estimate(const optune_space *space, const optune_config *config)
{
    if (!space->impl || !space->impl->estimate)
        return NAN;
    ot_slip_taken(NULL);
    const double cost = space->impl->estimate(space->task, config);
    return ot_slip_taken(NULL) ? NAN : cost;
}

bool ot_space_valid(const optune_space *space, const optune_config *config, char *why)
{
    if (!space->impl || !space->impl->valid)
        return true;
    ot_slip_taken(NULL);
    const bool valid = space->impl->valid(space->task, config, why);
    return !ot_slip_taken(why) && valid;
}
