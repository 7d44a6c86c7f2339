/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators need of dims, dtypes, tensor types and attributes. Nothing here knows an
 * operator; misuse (a name that the operator does not have) is a bug and asserts.
 *
 * A dim is an interval with an optional name; unifying two dims intersects the intervals.
 */
#include <assert.h>
#include <string.h>

#include "call/inside.h"

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

static bool sound_tensor(const optune_tensor *type)
{
    if (type->rank < -1 || type->rank > OPTUNE_MAX_RANK || type->dtype.code > OPTUNE_DTYPE_BOOL)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dim[i].min < 0 || type->dim[i].min > type->dim[i].max ||
            !memchr(type->dim[i].name, '\0', sizeof(type->dim[i].name)))
            return false;
    return ot_tensor_fits(type);
}

static bool sound_attrs(const optune_op *op, const optune_attr *attr, int n)
{
    for (int i = 0; i < n; i++) {
        const optune_op_attr *row = ot_op_attr_at(op, i);
        if (!attr[i].name ||
            (attr[i].name != row->name && strcmp(attr[i].name, row->name) != 0) ||
            attr[i].kind != row->kind)
            return false;
        if ((row->kind == OPTUNE_ATTR_INTS && attr[i].n > OPTUNE_MAX_LIST &&
             attr[i].n != OT_ATTR_UNSET) ||
            (row->kind == OPTUNE_ATTR_WORD && !memchr(attr[i].word, '\0', OPTUNE_WORD_SIZE)))
            return false;
    }
    return true;
}

static bool sound_epilogues(const optune_call *call)
{
    if (call->n_epilogues < 0 || call->n_epilogues > OPTUNE_MAX_EPILOGUES ||
        call->n_extra < 0 || call->n_extra > OPTUNE_MAX_INPUTS - call->n_inputs)
        return false;
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_epilogue *e = &call->epilogue[i];
        if (!e->op || e->n_attrs < 0 || e->n_attrs > OPTUNE_EPILOGUE_ATTRS ||
            e->n_attrs >= ot_op_attr_count(e->op) || !sound_attrs(e->op, e->attr, e->n_attrs) ||
            e->n_extra < 0 || e->n_extra >= ot_op_input_count(e->op) || e->chain < 0 ||
            e->chain > e->n_extra || e->extra < call->n_inputs ||
            e->extra > call->n_inputs + call->n_extra - e->n_extra)
            return false;
    }
    return true;
}

int ot_call_check(const optune_call *call, optune_err *err)
{
    if (!call || !call->op)
        return optune_fail(err, OPTUNE_EUSAGE,
                           call ? "the call was not started" : "call is NULL");
    const optune_op *op = call->op;
    bool sound = call->n_inputs >= 0 && call->n_inputs <= ot_op_input_count(op) &&
                 call->n_outputs >= 1 && call->n_outputs <= op->n_outputs &&
                 call->n_attrs == ot_op_attr_count(op) &&
                 sound_attrs(op, call->attr, call->n_attrs) && sound_epilogues(call);
    for (int i = 0; sound && i < call->n_inputs + call->n_extra; i++)
        sound = sound_tensor(&call->input[i].type);
    for (int i = 0; sound && i < call->n_outputs; i++)
        sound = sound_tensor(&call->output[i]);
    return sound
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_EUSAGE,
                             "this call of '%s' holds what no call can: counts, attributes or "
                             "types are out of range",
                             op->name);
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
