/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators need of dims, dtypes, tensor types and attributes. Nothing here knows an
 * operator; misuse (a name that the operator does not have) is a bug and asserts.
 *
 * A dim is an interval with an optional name; unifying two dims intersects the intervals.
 */
#include <assert.h>
#include <string.h>

#include "strategy/inside.h"

/* ---- dims and dtypes --------------------------------------------------------------------- */

bool optune_dim_known(const optune_dim *dim)
{
    return dim->min == dim->max && dim->max != OPTUNE_DIM_MAX;
}

optune_dim optune_dim_of(int64_t value)
{
    return (optune_dim){.min = value, .max = value};
}

bool optune_dim_unify(optune_dim *a, optune_dim *b)
{
    optune_dim both = a->name[0] ? *a : *b;
    both.min = a->min > b->min ? a->min : b->min;
    both.max = a->max < b->max ? a->max : b->max;
    if (both.min > both.max)
        return false;
    *a = both;
    *b = both;
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
        if (!optune_dim_known(&type->dim[i]))
            return false;
    return true;
}

/* Saturates: the type relation of a text like f32[9999999999,9999999999] must not overflow. */
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

/* ---- calls ------------------------------------------------------------------------------- */

const optune_attr *optune_call_attr(const optune_call *call, const char *name)
{
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, name) == 0)
            return &call->attr[i];
    assert(!"the operator has no attribute of this name");
    return NULL;
}

int64_t optune_call_int(const optune_call *call, const char *name)
{
    const optune_attr *attr = optune_call_attr(call, name);
    assert((attr->kind == OPTUNE_ATTR_INT && !attr->none) || attr->kind == OPTUNE_ATTR_BOOL);
    return attr->i[0];
}

bool optune_call_none(const optune_call *call, const char *name)
{
    return optune_call_attr(call, name)->none;
}

const int64_t *optune_call_ints(const optune_call *call, const char *name)
{
    const optune_attr *attr = optune_call_attr(call, name);
    assert(attr->kind == OPTUNE_ATTR_INTS);
    return attr->i;
}

const char *optune_call_word(const optune_call *call, const char *name)
{
    const optune_attr *attr = optune_call_attr(call, name);
    assert(attr->kind == OPTUNE_ATTR_WORD);
    return attr->word;
}

bool ot_call_static(const optune_call *call)
{
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (!optune_tensor_known(&call->input[i].type))
            return false;
    for (int i = 0; i < call->n_outputs; i++)
        if (!optune_tensor_known(&call->output[i]))
            return false;
    return true;
}

/* What is fused reads its other inputs only: its value never travels. */
double ot_call_bytes(const optune_call *call)
{
    double sum = call->op->bytes ? call->op->bytes(call) : 0;
    for (int i = call->op->bytes ? call->n_inputs : 0; i < optune_call_inputs(call); i++)
        sum += (double)optune_tensor_bytes(&call->input[i].type);
    for (int i = 0; i < call->n_outputs && !call->op->bytes; i++)
        sum += (double)optune_tensor_bytes(&call->output[i]);
    return sum;
}

double ot_call_flops(const optune_call *call)
{
    double sum = call->op->flops ? call->op->flops(call) : 0;
    for (int i = 0; i < call->n_epilogues; i++) {
        optune_call step;
        optune_call_step(call, i, &step);
        sum += step.op->flops ? step.op->flops(&step) : 0;
    }
    return sum;
}

const optune_region *ot_region_whole(const optune_tensor *type, optune_region *region)
{
    assert(type->rank >= 0);
    *region = (optune_region){.rank = type->rank};
    for (int i = 0; i < type->rank; i++)
        region->hi[i] = type->dim[i].min;
    return region;
}
