/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How searches walk a space: random points, neighbours, mutation, crossing over. Indices may be
 * invalid configs; a search asks. Neighbours are near in meaning, not in the list: a split's
 * neighbour moves one prime factor from one part to another.
 */
#include <assert.h>

#include "strategy/inside.h"

int64_t ot_space_random(const optune_space *space, uint64_t *rng)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    for (int i = 0; i < space->n_knobs; i++)
        digit[i] = optune_random_below(rng, space->knob[i].n);
    return optune_space_index(space, digit);
}

/* ---- neighbours -------------------------------------------------------------------------- */

/* The steps of one knob, as indices without duplicates. */
typedef struct steps {
    int64_t base;   /* the index without this knob's share */
    int64_t weight; /* of this knob's digit */
    int64_t from;   /* its present digit */
    int64_t *out;
    int n, max;
} steps;

static void add(steps *s, int64_t digit)
{
    if (digit < 0 || digit == s->from || s->n == s->max)
        return;
    const int64_t index = s->base + digit * s->weight;
    for (int i = 0; i < s->n; i++)
        if (s->out[i] == index)
            return;
    s->out[s->n++] = index;
}

static void next_in_list(steps *s, const ot_knob *knob)
{
    add(s, s->from - 1);
    if (s->from + 1 < knob->n)
        add(s, s->from + 1);
}

enum { MAX_PRIMES = 16 }; /* distinct ones of a 64-bit number, at most 15 */

/* Primes of the extent; 2 as well where tails are allowed. */
static int primes_of(const ot_knob *knob, int64_t prime[MAX_PRIMES])
{
    int n = 0;
    int64_t rest = knob->extent;
    prime[n++] = 2;
    while (rest > 1 && rest % 2 == 0)
        rest /= 2;
    for (int64_t p = 3; p <= rest / p; p += 2)
        if (rest % p == 0) {
            prime[n++] = p;
            while (rest % p == 0)
                rest /= p;
        }
    if (rest > 1)
        prime[n++] = rest;
    return n;
}

/* Part 0 is what the others leave, so a step to or from it changes one other part only. */
static void split_steps(steps *s, const ot_knob *knob)
{
    int64_t prime[MAX_PRIMES];
    const int n = primes_of(knob, prime);
    const int64_t *now = &knob->value[s->from * knob->parts];
    for (int i = 0; i < n; i++)
        for (int from = 0; from < knob->parts; from++)
            for (int to = 0; to < knob->parts; to++) {
                int64_t value[OPTUNE_MAX_LIST];
                for (int k = 0; k < knob->parts; k++)
                    value[k] = now[k];
                value[0] = -1;
                if (from == to || (from > 0 && now[from] % prime[i] != 0))
                    continue;
                if (from > 0)
                    value[from] /= prime[i];
                if (to > 0 && __builtin_mul_overflow(value[to], prime[i], &value[to]))
                    continue;
                add(s, ot_knob_find(knob, value));
            }
}

static void swap_steps(steps *s, const ot_knob *knob)
{
    int64_t value[OPTUNE_MAX_LIST];
    for (int i = 0; i + 1 < knob->parts; i++) {
        for (int k = 0; k < knob->parts; k++)
            value[k] = knob->value[s->from * knob->parts + k];
        const int64_t first = value[i];
        value[i] = value[i + 1];
        value[i + 1] = first;
        add(s, ot_knob_find(knob, value));
    }
}

/* One axis annotated otherwise. */
static void annotation_steps(steps *s, const ot_knob *knob)
{
    const int64_t *now = &knob->value[s->from * knob->parts];
    for (int64_t digit = 0; digit < knob->n; digit++) {
        int differ = 0;
        for (int k = 0; k < knob->parts; k++)
            differ += knob->value[digit * knob->parts + k] != now[k];
        if (differ == 1)
            add(s, digit);
    }
}

static void knob_steps(steps *s, const ot_knob *knob)
{
    switch (knob->kind) {
    case OPTUNE_KNOB_SPLIT:
        split_steps(s, knob);
        break;
    case OPTUNE_KNOB_REORDER:
        swap_steps(s, knob);
        break;
    case OPTUNE_KNOB_ANNOTATE:
        annotation_steps(s, knob);
        break;
    default:
        if (knob->scalar == OPTUNE_SCALAR_INT)
            next_in_list(s, knob);
        else
            for (int64_t digit = 0; digit < knob->n; digit++)
                add(s, digit);
    }
    /* A list with gaps must not strand a search. */
    if (s->n == 0)
        next_in_list(s, knob);
}

int optune_space_neighbours(const optune_space *space, int64_t index, int64_t *out, int max)
{
    int64_t digit[OPTUNE_MAX_KNOBS], weight = 1;
    int n = 0;
    optune_space_digits(space, index, digit);
    for (int i = 0; i < space->n_knobs; i++) {
        steps s = {
            .base = index - digit[i] * weight,
            .weight = weight,
            .from = digit[i],
            .out = out + n,
            .max = max - n,
        };
        knob_steps(&s, &space->knob[i]);
        n += s.n;
        weight *= space->knob[i].n;
    }
    return n;
}

/* ---- chance ------------------------------------------------------------------------------ */

static int64_t other_digit(int64_t digit, int64_t radix, uint64_t *rng)
{
    return (digit + 1 + optune_random_below(rng, radix - 1)) % radix;
}

/* Every knob changes with probability `rate`; one does in any case, where any can. */
int64_t ot_space_mutate(const optune_space *space, int64_t index, double rate, uint64_t *rng)
{
    int64_t digit[OPTUNE_MAX_KNOBS];
    int free_knob[OPTUNE_MAX_KNOBS], n = 0;
    bool changed = false;
    optune_space_digits(space, index, digit);
    for (int i = 0; i < space->n_knobs; i++) {
        if (space->knob[i].n < 2)
            continue;
        free_knob[n++] = i;
        if (optune_random_unit(rng) >= rate)
            continue;
        digit[i] = other_digit(digit[i], space->knob[i].n, rng);
        changed = true;
    }
    if (!changed && n > 0) {
        const int i = free_knob[optune_random_below(rng, n)];
        digit[i] = other_digit(digit[i], space->knob[i].n, rng);
    }
    return optune_space_index(space, digit);
}

int64_t ot_space_cross(const optune_space *space, int64_t a, int64_t b, uint64_t *rng)
{
    int64_t x[OPTUNE_MAX_KNOBS], y[OPTUNE_MAX_KNOBS];
    optune_space_digits(space, a, x);
    optune_space_digits(space, b, y);
    for (int i = 0; i < space->n_knobs; i++)
        if (optune_random(rng) & 1)
            x[i] = y[i];
    return optune_space_index(space, x);
}
