/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declaring knobs: enumerates the entities of each in AutoTVM's order, which fixes the radix
 * and so every index (docs/formats.md has the rules). The functions never fail: the first
 * misuse is kept in the space and reported when it is opened.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

enum { MAX_FACTORS = 2048 };
static const int64_t max_extent = (int64_t)1 << 40; /* its divisors are found by trial */

/* ---- one knob under construction --------------------------------------------------------- */

static void misuse(optune_space *space, int status, const char *name, const char *what)
{
    if (space->problem.status == OPTUNE_OK)
        optune_fail(&space->problem, status, "knob '%s' %s", name, what);
}

static const bool in_name[256] = {
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
    ['8'] = 1, ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1,
    ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
    ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1,
    ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['_'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,
    ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,
    ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,
    ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

/* Most names and words are identifiers, and to see it takes a fraction of what the other questions
 * do. How many characters it has; 0: it is none. */
static size_t identifier(const char *text)
{
    const char *p = text;
    while (in_name[(unsigned char)*p])
        p++;
    return *p ? 0 : (size_t)(p - text);
}

/* Copies one that fits into room of zeros; false: it is none, or does not fit. */
static bool take_identifier(char *to, size_t size, const char *text)
{
    size_t n = 0;
    if (!text)
        return false;
    for (unsigned char c; n < size - 1 && in_name[c = (unsigned char)text[n]]; n++)
        to[n] = (char)c;
    return n && !text[n];
}

/* It stands in texts as it is: `name=word`. Its length; 0: it is none. */
static size_t name_length(const char *text)
{
    const size_t n = text ? identifier(text) : 0;
    if (n || !text || !*text)
        return n;
    return ot_text_is_plain(text) && !strpbrk(text, " =,\"'[]{}") ? strlen(text) : 0;
}

/* It may be a program's argument, such as `-O1 -g` or `-march=native`, and is shown on
 * terminals. */
static bool is_word(const char *text, size_t *length)
{
    *length = text ? identifier(text) : 0;
    if (*length || !text || !ot_text_is_plain(text))
        return *length;
    *length = strlen(text);
    return true;
}

static bool is_new(const optune_space *space, const ot_knob *knob)
{
    for (int i = 0; i < space->n_knobs; i++)
        if (ot_same_room(space->knob[i].name, knob->name))
            return false;
    return true;
}

static ot_knob *add(optune_space *space, const char *name, optune_knob_kind kind,
                    optune_scalar_kind scalar, int parts)
{
    const char *what = NULL;
    int status = OPTUNE_EUSAGE;
    if (space->n_knobs < OPTUNE_MAX_KNOBS && parts >= 1 && parts <= OPTUNE_MAX_LIST) {
        ot_knob *knob = &space->knob[space->n_knobs];
        *knob = (ot_knob){.kind = (uint8_t)kind, .scalar = (uint8_t)scalar, .parts = parts};
        if (take_identifier(knob->name, sizeof knob->name, name) && is_new(space, knob)) {
            space->n_known = ++space->n_knobs;
            return knob;
        }
    }
    const size_t length = name_length(name);
    if (!length || length >= OPTUNE_KNOB_NAME_SIZE)
        what = "has no good name";
    else if (ot_space_knob(space, name) >= 0)
        what = "is declared twice";
    else if (space->n_knobs == OPTUNE_MAX_KNOBS)
        status = OPTUNE_ELIMIT, what = "is one too many";
    else if (parts < 1 || parts > OPTUNE_MAX_LIST)
        status = OPTUNE_ELIMIT, what = "has no or too many values";
    if (what) {
        misuse(space, status, name, what);
        return NULL;
    }
    ot_knob *knob = &space->knob[space->n_knobs];
    *knob = (ot_knob){.kind = (uint8_t)kind, .scalar = (uint8_t)scalar, .parts = parts};
    memcpy(knob->name, name, length);
    space->n_known = ++space->n_knobs;
    return knob;
}

/* The next knob, `scalar` is of OTHER. It may be that of the time that the space was open before,
 * with its entities, if it was declared alike: its name is good and no other's then, as those in
 * front of it are that time's, too. NULL: it cannot be one, or one in front of it could not. */
static inline ot_knob *begin(optune_space *space, const char *name, optune_knob_kind kind,
                             optune_scalar_kind scalar, int parts)
{
    ot_knob *knob = &space->knob[space->n_knobs];
    if (space->problem.status < 0)
        return NULL;
    if (space->n_knobs >= space->n_known || knob->kind != kind || knob->scalar != scalar ||
        knob->parts != parts || !name || strcmp(knob->name, name) != 0)
        return add(space, name, kind, scalar, parts);
    space->n_knobs++;
    return knob;
}

static void end(optune_space *space, const ot_knob *knob)
{
    if (knob->n == 0)
        misuse(space, OPTUNE_EUSAGE, knob->name, "has no entity");
    else if (__builtin_mul_overflow(space->size, knob->n, &space->size))
        misuse(space, OPTUNE_ELIMIT, knob->name, "makes the space too large to number");
}

/* Of another list no place of an entity is known. */
static void start(ot_knob *knob)
{
    knob->n = 0;
    atomic_init(&knob->at, 0);
}

/* Room for so many entities of one value; false: so many are not possible. */
static bool expect(optune_space *space, ot_knob *knob, int n)
{
    if (n < 1 || n > OT_MAX_ENTITIES)
        return false;
    if (n > knob->capacity) {
        knob->capacity = n;
        knob->value = ot_space_take(space, (size_t)n * sizeof *knob->value);
    }
    return true;
}

static void append(optune_space *space, ot_knob *knob, const int64_t *value)
{
    if (knob->n == OT_MAX_ENTITIES) {
        misuse(space, OPTUNE_ELIMIT, knob->name, "has too many entities");
        return;
    }
    const size_t size = (size_t)knob->parts * sizeof(*value);
    if (knob->n == knob->capacity) {
        knob->capacity = knob->capacity ? 2 * knob->capacity : space->sought ? 4 : 32;
        int64_t *more = ot_space_take(space, (size_t)knob->capacity * size);
        if (knob->n)
            memcpy(more, knob->value, (size_t)knob->n * size);
        ot_space_give_back(space, knob->value);
        knob->value = more;
    }
    if (knob->parts == 1)
        knob->value[knob->n++] = *value;
    else
        memcpy(&knob->value[knob->n++ * knob->parts], value, size);
}

/* ---- split ------------------------------------------------------------------------------- */

typedef struct split_walk {
    optune_space *space;
    ot_knob *knob;
    const optune_split *how;
    bool tails;
    int64_t size[OPTUNE_MAX_LIST];
    int n;
    int64_t factor[MAX_FACTORS]; /* last, as who only looks for an entity lists none */
} split_walk;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static void keep(split_walk *w)
{
    if (!w->how->filter || w->how->filter(w->size, w->knob->parts, w->how->filter_arg))
        append(w->space, w->knob, w->size);
}

/* The last size varies slowest, the second one fastest; the first is what is left. */
static void walk(split_walk *w, int part, int64_t product)
{
    const int64_t extent = w->knob->extent;
    if (part == 0) {
        w->size[0] = ceil_div(extent, product);
        keep(w);
        return;
    }
    for (int i = 0; i < w->n && w->space->problem.status == OPTUNE_OK; i++) {
        const int64_t f = w->factor[i];
        if (f > extent / product) {
            if (w->knob->ascending)
                break;
            continue;
        }
        if (!w->tails && extent % (product * f) != 0)
            continue;
        w->size[part] = f;
        walk(w, part - 1, product * f);
    }
}

static void add_factor(split_walk *w, int64_t f)
{
    if (w->n == MAX_FACTORS)
        misuse(w->space, OPTUNE_ELIMIT, w->knob->name, "has too many factors");
    else
        w->factor[w->n++] = f;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Powers of two reach up to the extent, as in AutoTVM, and no further. */
static void list_factors(split_walk *w)
{
    const int64_t extent = w->knob->extent;
    const optune_split_policy policy = w->how->policy;
    if (policy != OPTUNE_SPLIT_POWER2)
        for (int64_t f = 1; f <= extent / f; f++)
            if (extent % f == 0) {
                add_factor(w, f);
                if (extent / f != f)
                    add_factor(w, extent / f);
            }
    qsort(w->factor, (size_t)w->n, sizeof w->factor[0], ascending);
    const int n_divisors = w->n;
    if (policy != OPTUNE_SPLIT_FACTORS)
        for (int64_t f = 1; f <= extent; f *= 2)
            add_factor(w, f);
    if (policy == OPTUNE_SPLIT_VERBOSE)
        w->n = ot_factors_as_set(w->factor, w->n, n_divisors);
    int kept = 0;
    for (int i = 0; i < w->n; i++)
        if (!w->how->max_factor || w->factor[i] <= w->how->max_factor)
            w->factor[kept++] = w->factor[i];
    w->n = kept;
}

static bool is_factor(const split_walk *w, int64_t f)
{
    const int64_t extent = w->knob->extent;
    const optune_split_policy policy = w->how->policy;
    if (f < 1 || f > extent || (w->how->max_factor && f > w->how->max_factor))
        return false;
    return (policy != OPTUNE_SPLIT_POWER2 && extent % f == 0) ||
           (policy != OPTUNE_SPLIT_FACTORS && (f & (f - 1)) == 0);
}

/* What `walk` would keep of these sizes; the first is what is left. */
static bool is_entity(split_walk *w, const optune_entity *entity)
{
    const int64_t extent = w->knob->extent;
    int64_t product = 1;
    if (entity->kind != OPTUNE_KNOB_SPLIT || entity->n != w->knob->parts)
        return false;
    for (int part = w->knob->parts - 1; part > 0; part--) {
        const int64_t f = entity->v[part];
        if (!is_factor(w, f) || f > extent / product ||
            (!w->tails && extent % (product * f) != 0))
            return false;
        w->size[part] = f;
        product *= f;
    }
    w->size[0] = ceil_div(extent, product);
    return entity->v[0] == -1 || entity->v[0] == w->size[0];
}

/* The same as listing all and looking for one, without the list. */
static void find_sought(split_walk *w)
{
    const optune_config *sought = w->space->sought;
    for (int i = 0; i < sought->n; i++)
        if (!strcmp(sought->entity[i].name, w->knob->name) && is_entity(w, &sought->entity[i]))
            keep(w);
}

static void candidates(split_walk *w)
{
    const int parts = w->knob->parts;
    for (int i = 0; i < w->how->n_candidates; i++) {
        int64_t product = 1;
        memcpy(w->size, w->how->candidate[i], (size_t)parts * sizeof w->size[0]);
        for (int k = 1; k < parts; k++)
            if (w->size[k] < 1 || __builtin_mul_overflow(product, w->size[k], &product))
                product = 0;
        if (product > 0 && w->size[0] == -1)
            w->size[0] = ceil_div(w->knob->extent, product);
        if (product < 1 || w->size[0] < ceil_div(w->knob->extent, product))
            misuse(w->space, OPTUNE_EUSAGE, w->knob->name,
                   "has a candidate that does not cover the axis");
        else
            keep(w);
    }
}

/* Whether all entities that there can be are there, of the time before. */
static bool is_listed(const optune_space *space, const ot_knob *knob, int64_t extent,
                      const optune_split *how)
{
    return knob->listed && !space->sought && !how->filter && knob->extent == extent &&
           knob->policy == how->policy && knob->most == how->max_factor;
}

void optune_space_split(optune_space *space, const char *name, int64_t extent, int parts,
                        const optune_split *how)
{
    static const optune_split plain = {.policy = OPTUNE_SPLIT_FACTORS};
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_SPLIT, OPTUNE_SCALAR_INT, parts);
    if (!knob)
        return;
    if (extent < 1 || extent > max_extent) {
        misuse(space, extent < 1 ? OPTUNE_EUSAGE : OPTUNE_ELIMIT, name,
               extent < 1 ? "splits an empty axis" : "splits an axis that is too long");
        return;
    }
    how = how ? how : &plain;
    const bool generated = how->policy != OPTUNE_SPLIT_CANDIDATE;
    if (generated && is_listed(space, knob, extent, how)) {
        end(space, knob);
        return;
    }
    start(knob);
    split_walk *w = ot_alloc_raw(space->sought ? offsetof(split_walk, factor) : sizeof *w);
    w->n = 0;
    w->space = space;
    w->knob = knob;
    w->how = how;
    w->tails = how->policy != OPTUNE_SPLIT_FACTORS;
    knob->extent = extent;
    knob->most = how->max_factor;
    knob->policy = (uint8_t)how->policy;
    knob->listed = generated && !space->sought && !how->filter;
    knob->ascending = how->policy == OPTUNE_SPLIT_FACTORS || how->policy == OPTUNE_SPLIT_POWER2;
    if (generated && space->sought) {
        find_sought(w);
    } else if (generated) {
        list_factors(w);
        walk(w, parts - 1, 1);
    } else {
        candidates(w);
    }
    free(w);
    end(space, knob);
}

/* ---- scalars ----------------------------------------------------------------------------- */

void optune_space_ints(optune_space *space, const char *name, int n, const int64_t *values)
{
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_OTHER, OPTUNE_SCALAR_INT, 1);
    if (!knob)
        return;
    if (!expect(space, knob, n)) {
        start(knob);
        for (int i = 0; i < n; i++)
            append(space, knob, &values[i]);
    } else if (knob->n != n || memcmp(knob->value, values, (size_t)n * sizeof *values) != 0) {
        start(knob);
        memcpy(knob->value, values, (size_t)n * sizeof *values);
        knob->n = n;
    }
    end(space, knob);
}

void optune_space_bools(optune_space *space, const char *name, int n, const bool *values)
{
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_OTHER, OPTUNE_SCALAR_BOOL, 1);
    if (!knob)
        return;
    start(knob);
    expect(space, knob, n);
    for (int i = 0; i < n; i++)
        append(space, knob, &(int64_t){values[i]});
    end(space, knob);
}

static void set_word(optune_space *space, const char *name, char to[OPTUNE_WORD_SIZE],
                     const char *word)
{
    size_t length;
    memset(to, 0, OPTUNE_WORD_SIZE);
    if (take_identifier(to, OPTUNE_WORD_SIZE, word))
        return;
    memset(to, 0, OPTUNE_WORD_SIZE);
    if (!is_word(word, &length))
        misuse(space, OPTUNE_EUSAGE, name, "has a word that cannot be one");
    else if (length >= OPTUNE_WORD_SIZE)
        misuse(space, OPTUNE_ELIMIT, name, "has a word that is too long");
    else
        memcpy(to, word, length);
}

void optune_space_words(optune_space *space, const char *name, int n, const char *const *words)
{
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_OTHER, OPTUNE_SCALAR_WORD, 1);
    if (!knob)
        return;
    if (!knob->word || n > knob->capacity) {
        knob->capacity = n > 0 ? n : 1;
        knob->word = ot_space_take(space, (size_t)knob->capacity * sizeof *knob->word);
        start(knob);
    }
    for (int i = 0; i < n; i++)
        if (i >= knob->n || !words[i] || strcmp(knob->word[i], words[i]) != 0) {
            set_word(space, name, knob->word[i], words[i]);
            atomic_init(&knob->at, 0);
        }
    knob->n = n > 0 ? n : 0;
    end(space, knob);
}

/* ---- reorder ----------------------------------------------------------------------------- */

/* All permutations of the values not yet used, in lexicographic order. */
static void permute(optune_space *space, ot_knob *knob, int64_t *order, unsigned used, int at,
                    int lo, int hi)
{
    if (at == hi) {
        append(space, knob, order);
        return;
    }
    for (int v = lo; v < hi && space->problem.status == OPTUNE_OK; v++)
        if (!(used & 1u << v)) {
            order[at] = v;
            permute(space, knob, order, used | 1u << v, at + 1, lo, hi);
        }
}

static bool is_permutation(const int64_t *order, int n)
{
    unsigned used = 0;
    for (int i = 0; i < n; i++)
        if (order[i] >= 0 && order[i] < n)
            used |= 1u << order[i];
    return used == (1u << n) - 1;
}

void optune_space_reorder(optune_space *space, const char *name, int axes,
                          optune_reorder_policy policy, int lo, int hi,
                          const int64_t (*candidate)[OPTUNE_MAX_LIST], int n_candidates)
{
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_REORDER, OPTUNE_SCALAR_INT, axes);
    if (!knob)
        return;
    start(knob);
    int64_t order[OPTUNE_MAX_LIST];
    for (int i = 0; i < axes; i++)
        order[i] = i;
    if (policy == OPTUNE_REORDER_ALL) {
        lo = 0;
        hi = axes;
    } else if (policy != OPTUNE_REORDER_INTERVAL_ALL) {
        lo = hi = 0;
    }
    if (lo < 0 || hi > axes || lo > hi) {
        misuse(space, OPTUNE_EUSAGE, name, "permutes an interval outside its axes");
        return;
    }
    if (policy != OPTUNE_REORDER_CANDIDATE)
        permute(space, knob, order, 0, lo, lo, hi);
    for (int i = 0; policy == OPTUNE_REORDER_CANDIDATE && i < n_candidates; i++) {
        if (is_permutation(candidate[i], axes))
            append(space, knob, candidate[i]);
        else
            misuse(space, OPTUNE_EUSAGE, name, "has a candidate that is no permutation");
    }
    end(space, knob);
}

/* ---- annotate ---------------------------------------------------------------------------- */

/* Outermost axes are fused into the first bound one. */
static bool bind_gpu(optune_space *space, ot_knob *knob, bool virtual_threads)
{
    static const int64_t three[] = {
        OPTUNE_ANN_BLOCK_Z,  OPTUNE_ANN_BLOCK_Y,  OPTUNE_ANN_BLOCK_X,
        OPTUNE_ANN_VTHREAD,  OPTUNE_ANN_VTHREAD,  OPTUNE_ANN_VTHREAD,
        OPTUNE_ANN_THREAD_Z, OPTUNE_ANN_THREAD_Y, OPTUNE_ANN_THREAD_X,
    };
    const int groups = virtual_threads ? 3 : 2;
    const int each = knob->parts / groups < 3 ? knob->parts / groups : 3;
    if (each == 0)
        return false;
    int64_t value[OPTUNE_MAX_LIST];
    int n = 0;
    while (n < knob->parts - groups * each)
        value[n++] = OPTUNE_ANN_FUSE;
    for (int group = 0; group < 3; group++)
        for (int i = 0; (virtual_threads || group != 1) && i < each; i++)
            value[n++] = three[3 * group + 3 - each + i];
    append(space, knob, value);
    return true;
}

static void annotate(optune_space *space, ot_knob *knob, const int64_t *word, int n,
                     int64_t *value, int at, int vectors)
{
    if (at == knob->parts) {
        append(space, knob, value);
        return;
    }
    for (int i = 0; i < n && space->problem.status == OPTUNE_OK; i++) {
        const int now = vectors + (word[i] == OPTUNE_ANN_VEC);
        value[at] = word[i];
        if (now <= 1)
            annotate(space, knob, word, n, value, at + 1, now);
    }
}

void optune_space_annotate(optune_space *space, const char *name, int axes, const char *policy)
{
    static const struct {
        const char *text;
        optune_annotation value;
    } known[] = {
        {"none", OPTUNE_ANN_NONE},
        {"try", OPTUNE_ANN_NONE},
        {"unroll", OPTUNE_ANN_UNROLL},
        {"vec", OPTUNE_ANN_VEC},
    };
    ot_knob *knob = begin(space, name, OPTUNE_KNOB_ANNOTATE, OPTUNE_SCALAR_INT, axes);
    if (!knob)
        return;
    start(knob);
    const bool virtual_threads = strcmp(policy, "bind_gpu_virtual") == 0;
    if (virtual_threads || strcmp(policy, "bind_gpu") == 0) {
        if (!bind_gpu(space, knob, virtual_threads))
            misuse(space, OPTUNE_EUSAGE, name, "binds too few axes");
        else
            end(space, knob);
        return;
    }
    int64_t word[8], value[OPTUNE_MAX_LIST];
    int n = 0;
    for (const char *p = policy; *p; p += *p == '_') {
        const size_t length = strcspn(p, "_");
        const int before = n;
        for (int i = 0; i < OT_COUNT(known) && n < OT_COUNT(word); i++)
            if (strlen(known[i].text) == length && strncmp(known[i].text, p, length) == 0)
                word[n++] = known[i].value;
        if (n == before) {
            misuse(space, OPTUNE_EUNSUPPORTED, name,
                   "has an annotation policy that is unknown");
            return;
        }
        p += length;
    }
    annotate(space, knob, word, n, value, 0, 0);
    end(space, knob);
}
