/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches, which say what config to try next. Part of define.h.
 */
#ifndef OPTUNE_DEFINE_SEARCH_H
#define OPTUNE_DEFINE_SEARCH_H

#include "optune/define_impl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- search: which config to try next ---------------------------------------------------- */

/* A trial of the same implementation elsewhere: of another workload, on another device, by an
 * earlier version of it. */
typedef struct optune_transfer {
    int64_t index; /* in the space at hand: the same values, or the nearest that it has */
    double cost;   /* seconds there; infinity: it failed */
} optune_transfer;

/* Trials elsewhere that were measured alike: only their costs compare. */
typedef struct optune_source {
    double likeness; /* to what is searched, as far as can be told before: 1, or less */
    int n;
    const optune_transfer *trial; /* ascending indices, each once */
} optune_source;

/* What a search may know. It never measures, sleeps or looks at the clock. */
typedef struct optune_search_view {
    const optune_space *space;
    uint64_t seed;
    void *state; /* `state_size` bytes, zeroed, aligned to 16, owned by the core */
    /* True when this config is known to be valid by arithmetic and was not asked before. */
    bool (*fresh)(const struct optune_search_view *view, int64_t index);
    void *core;
    int n_pending;          /* asked and not told yet; they are no longer fresh */
    const int64_t *pending; /* which, oldest first */
    double left;   /* how many more this search will be asked for, this one included, as
                               far as trials and time tell; 0: nothing is known */
    int n_sources; /* from the first ask on */
    const optune_source *source;
    /* The implementation's estimate of a valid config, which compares configs; NAN: it has none.
     * NULL where no config has. */
    double (*estimate)(const struct optune_search_view *view, int64_t index);
} optune_search_view;

/* How one trial ended. */
typedef struct optune_told {
    int64_t index;
    double cost;    /* seconds; infinity for a bad candidate */
    int outcome;    /* optune_outcome_kind: how it failed, where it did */
    double seconds; /* what the trial took, compiling and verifying included; 0: unknown */
} optune_told;

typedef struct optune_search {
    const char *name;
    const char *summary; /* what it is and what it is good for, one line */
    size_t state_size;
    int (*start)(optune_search_view *view); /* 0, or a negative status; NULL: nothing to do */
    /* One fresh index; -1 when nothing is left, which ends the search. Asked again before it is
     * told: what it gave is no longer fresh. */
    int64_t (*ask)(optune_search_view *view);
    /* One trial ended. Also called for configs the search did not ask for (hints from earlier
     * records). NULL: ignored. */
    void (*tell)(optune_search_view *view, const optune_told *told);
    void (*stop)(optune_search_view *view); /* NULL: nothing to release */
} optune_search;

#define OPTUNE_SEARCH(id)                                                                      \
    extern const optune_search optune_search_##id;                                             \
    const optune_search optune_search_##id

/* A fresh index drawn at random, each valid one as likely as the others however rare they are.
 * -1: nothing fresh is left, or so little in so large a space that it was not found. */
OPTUNE_API int64_t optune_search_draw(const optune_search_view *view, uint64_t *rng);

/* What a search needs of a space. Indices are 0 .. size-1; some may be invalid. */
OPTUNE_API int64_t optune_space_size(const optune_space *space); /* product of all radices */
/* How many knobs there are, how many entities one has, and an index as one digit per knob. */
OPTUNE_API int optune_space_knobs(const optune_space *space);
OPTUNE_API int64_t optune_space_radix(const optune_space *space, int knob);
OPTUNE_API void optune_space_digits(const optune_space *space, int64_t index, int64_t *digit);
OPTUNE_API int64_t optune_space_index(const optune_space *space, const int64_t *digit);
/* Whether the entities of a knob are numbers, of which more or less means something: sizes,
 * counts, words that are numbers. Not so for other words, annotations and permutations. */
OPTUNE_API bool optune_space_ordered(const optune_space *space, int knob);
/* The numbers that an entity is made of, the same count for every entity of the knob: the sizes
 * of a split, the value of a scalar, one for each axis of an annotation or a permutation; for a
 * word that is no number, its digit. Returns the count, at most OPTUNE_MAX_LIST. */
OPTUNE_API int optune_space_numbers(const optune_space *space, int knob, int64_t digit,
                                    double *number);
/* All indices, maybe invalid ones, that differ from this one by one step of one knob; returns
 * how many, at most `max`. */
OPTUNE_API int optune_space_neighbours(const optune_space *space, int64_t index, int64_t *out,
                                       int max);
/* A seeded generator; the only randomness in the house. */
OPTUNE_API uint64_t optune_random(uint64_t *state);                 /* advances; 64 bits */
OPTUNE_API int64_t optune_random_below(uint64_t *state, int64_t n); /* uniform 0 .. n-1 */
OPTUNE_API double optune_random_unit(uint64_t *state);              /* [0, 1) */

#ifdef __cplusplus
}
#endif
#endif
