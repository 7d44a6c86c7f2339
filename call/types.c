/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators need of dims, dtypes and tensor types. Nothing here knows an operator.
 *
 * A dim is an interval with an optional name; unifying two dims intersects the intervals.
 */
#include <assert.h>
#include <string.h>

#include "call/dim_expr.h"
#include "call/inside.h"

/* ---- dims and dtypes --------------------------------------------------------------------- */

/* Of this library's own, as a call of what it exports goes through a table. */
static inline bool is_known(const optune_dim *dim)
{
    return dim->min == dim->max && dim->max != OPTUNE_DIM_MAX;
}

bool optune_dim_known(const optune_dim *dim)
{
    return is_known(dim);
}

optune_dim optune_dim_of(int64_t value)
{
    return (optune_dim){.min = value, .max = value};
}

static _Thread_local ot_unified *unified; /* of the relation at hand; NULL: nobody asks */

ot_unified *ot_unified_note(ot_unified *to)
{
    ot_unified *was = unified;
    unified = to;
    return was;
}

static bool is_asked_of(const void *dim)
{
    return (const char *)dim >= (const char *)unified->call &&
           (const char *)dim < (const char *)(unified->call + 1);
}

static bool is_range(const optune_dim *dim)
{
    return !is_known(dim) && dim->max != OPTUNE_DIM_MAX;
}

/* A range that two dims without a name have in common. */
static void note_nameless(optune_dim *a, optune_dim *b)
{
    if (is_range(a) && unified && is_asked_of(a) && is_asked_of(b) &&
        unified->n_nameless < OT_MAX_UNIFIED) {
        unified->nameless[unified->n_nameless][0] = a;
        unified->nameless[unified->n_nameless++][1] = b;
    }
}

/* Two names of one dim. A relation may unify copies, too, and throw them away. */
static void note(optune_dim *a, optune_dim *b, const optune_dim was[2])
{
    if (!unified || !is_asked_of(a) || !is_asked_of(b))
        return;
    if (was[0].name[0] && was[1].name[0] && strcmp(was[0].name, was[1].name) != 0 &&
        unified->n < OT_MAX_UNIFIED) {
        memcpy(unified->pair[unified->n][0], was[0].name, sizeof was[0].name);
        memcpy(unified->pair[unified->n++][1], was[1].name, sizeof was[1].name);
    }
}

static bool unify_nameless(optune_dim *a, optune_dim *b)
{
    const int64_t min = a->min > b->min ? a->min : b->min;
    const int64_t max = a->max < b->max ? a->max : b->max;
    if (min > max)
        return false;
    a->min = b->min = min;
    a->max = b->max = max;
    note_nameless(a, b);
    return true;
}

bool optune_dim_unify(optune_dim *a, optune_dim *b)
{
    if (!a->name[0] && !b->name[0])
        return unify_nameless(a, b); /* as most are */
    const bool named = a->name[0] && (!ot_dim_computed(a) || !b->name[0] || ot_dim_computed(b));
    optune_dim both = named ? *a : *b;
    both.min = a->min > b->min ? a->min : b->min;
    both.max = a->max < b->max ? a->max : b->max;
    if (both.min > both.max)
        return false;
    const optune_dim was[2] = {*a, *b};
    *a = both;
    *b = both;
    note(a, b, was);
    return true;
}

bool optune_dtype_equal(optune_dtype a, optune_dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

bool optune_dtype_unify(optune_dtype *a, optune_dtype *b)
{
    if (a->code == OPTUNE_DTYPE_UNKNOWN)
        *a = *b;
    else if (b->code == OPTUNE_DTYPE_UNKNOWN)
        *b = *a;
    return optune_dtype_equal(*a, *b);
}

/* ---- tensor types ------------------------------------------------------------------------ */

bool optune_tensor_known(const optune_tensor *type)
{
    if (type->dtype.code == OPTUNE_DTYPE_UNKNOWN || type->rank < 0)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (!is_known(&type->dim[i]))
            return false;
    return true;
}

/* Saturates: a relation may ask of a type that is refused only later. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t optune_tensor_elements(const optune_tensor *type)
{
    assert(type->rank >= 0);
    int64_t n = 1;
    for (int i = 0; i < type->rank; i++) {
        assert(optune_dim_known(&type->dim[i]));
        n = times(n, type->dim[i].min);
    }
    return n;
}

int64_t optune_tensor_bytes(const optune_tensor *type)
{
    const int64_t element = (type->dtype.bits * type->dtype.lanes + 7) / 8;
    return times(optune_tensor_elements(type), element);
}

bool ot_tensor_fits(const optune_tensor *type)
{
    const int64_t element = (type->dtype.bits * type->dtype.lanes + 7) / 8;
    int64_t bytes = element > 8 ? element : 8;
    for (int i = 0; i < type->rank; i++) {
        const int64_t least = type->dim[i].min > 1 ? type->dim[i].min : 1;
        if (least > OPTUNE_MAX_DIM || __builtin_mul_overflow(bytes, least, &bytes))
            return false;
    }
    return true;
}

bool optune_tensor_set_rank(optune_tensor *type, int rank)
{
    assert(rank >= 0 && rank <= OPTUNE_MAX_RANK);
    if (type->rank >= 0)
        return type->rank == rank;
    type->rank = rank;
    for (int i = 0; i < rank; i++)
        type->dim[i] = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    return true;
}

const optune_region *ot_region_whole(const optune_tensor *type, optune_region *region)
{
    assert(type->rank >= 0);
    *region = (optune_region){.rank = type->rank};
    for (int i = 0; i < type->rank; i++)
        region->hi[i] = type->dim[i].min;
    return region;
}

bool ot_dim_same(const optune_dim *a, const optune_dim *b)
{
    return a->min == b->min && a->max == b->max && *a->name == *b->name &&
           (!*a->name || strcmp(a->name, b->name) == 0);
}

bool ot_tensor_same(const optune_tensor *a, const optune_tensor *b)
{
    if (!optune_dtype_equal(a->dtype, b->dtype) || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!ot_dim_same(&a->dim[i], &b->dim[i]))
            return false;
    return true;
}
