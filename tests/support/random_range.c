/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of a call's dims: which dims vary and how far, what they are called, and sizes within
 * them.
 */
#include "support/random_call.h"

#include "support/check.h"

/* A range around a size: from it, 1 or 0 on, to it, the next or twice as far; wide ones end where
 * nobody would compute. */
static void draw_range(uint64_t *rng, int64_t size, bool wide, optune_dim *dim)
{
    const bool fixed = random_chance(rng, 0.1);
    *dim =
        (optune_dim){.min = fixed || random_chance(rng, 0.4) ? size : random_chance(rng, 0.7),
                     .max = fixed || random_chance(rng, 0.1) ? size
                            : random_chance(rng, 0.2)        ? size + 1
                                                             : 2 * size + 3};
    if (wide && random_chance(rng, 0.7))
        dim->max = size + ((int64_t)1 << random_between(rng, 6, 34));
    dim->min = dim->min < size ? dim->min : size;
}

/* The size as an expression of a dim that has a name and another size; false: of none. */
static bool draw_computed(uint64_t *rng, int64_t size, const optune_call *sized,
                          const optune_call *range, optune_dim *dim)
{
    const int i = (int)optune_random_below(rng, optune_call_inputs(range));
    const optune_tensor *type = &range->input[i].type;
    if (type->rank < 1)
        return false;
    const int d = (int)optune_random_below(rng, type->rank);
    const int64_t of = sized->input[i].type.dim[d].min, by = 1 + optune_random_below(rng, 3);
    const optune_dim *from[] = {&type->dim[d]};
    if (optune_dim_known(from[0]) || strpbrk(from[0]->name, "+-*/("))
        return false;
    *dim = (optune_dim){.min = 0, .max = 4 * (size + of) + 99};
    const int64_t times = random_chance(rng, 0.5) ? 1 : 2, plus = size * by - times * of;
    optune_dim_compute(dim, 1, from, &times, plus + optune_random_below(rng, by), by);
    return dim->name[0];
}

bool random_range(uint64_t *rng, const optune_call *call, optune_call *range)
{
    for (int tries = 0; tries < 8; tries++) {
        const double share = optune_random_unit(rng);
        /* Equal sizes are one symbol, or each dim has its own and the relation says what is one. */
        const bool apart = random_chance(rng, 0.3), computed = random_chance(rng, 0.4);
        const bool wide = random_chance(rng, 0.1);
        int n = 0;
        *range = *call;
        for (int i = 0; i < optune_call_inputs(call); i++)
            for (int d = 0; d < range->input[i].type.rank; d++) {
                optune_dim *dim = &range->input[i].type.dim[d];
                const int64_t size = dim->min;
                if (!random_chance(rng, share))
                    continue;
                n++;
                if (computed && n > 1 && random_chance(rng, 0.5) &&
                    draw_computed(rng, size, call, range, dim))
                    continue;
                draw_range(rng, size, wide, dim);
                if (apart)
                    snprintf(dim->name, sizeof dim->name, "a%d", n);
                else
                    snprintf(dim->name, sizeof dim->name, "n%lld", (long long)size);
            }
        for (int o = 0; o < range->n_outputs; o++)
            range->output[o] = (optune_tensor){.rank = -1};
        ot_symbols symbols;
        optune_err err = {0};
        if (!n || ot_call_infer(range, &err) < 0 || ot_symbols_all(range, &symbols, &err) < 0)
            continue;
        bool typed = true; /* where even the rank depends on a size, there is none */
        for (int o = 0; o < range->n_outputs; o++)
            typed = typed && range->output[o].rank >= 0;
        if (typed && !ot_call_static(range))
            return true;
    }
    return false;
}

/* Ends, then anything in between; where that is too much, nearer to the smallest. */
bool random_sizes(uint64_t *rng, const optune_call *range, int turn,
                  const random_limits *limits, optune_call *at)
{
    optune_err err = {0};
    ot_symbols all, symbols;
    *at = *range;
    if (ot_call_static(range)) /* one that was given as it is */
        return turn == 0;
    check_ok(ot_symbols_all(range, &all, &err));
    for (int cut = 0; cut < 40; cut++) {
        symbols = all;
        for (int i = 0; i < symbols.n; i++) {
            optune_dim *dim = &symbols.dim[i];
            const int64_t high = dim->min + ((dim->max - dim->min) >> cut);
            const int64_t size = turn == 0   ? dim->min
                                 : turn == 1 ? high
                                             : random_between(rng, dim->min, high);
            dim->min = dim->max = size;
        }
        if (ot_call_narrow(range, &symbols, at, &err) >= 0 && ot_call_static(at) &&
            random_call_within(at, limits))
            return true;
    }
    return false;
}
