/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type relations that ops of a pattern share: elementwise, NumPy broadcasting, reductions. Like
 * every relation they work in both directions and leave alone what cannot be told yet.
 *
 * The one idea of broadcasting with unknown dims: a dim that cannot be 1 decides; operands whose
 * dim may be 1 or not are only joined with the output when nobody else can be what decides.
 */
#include <string.h>

#include "call/inside.h"

int optune_types_differ(optune_err *err, const char *why, const char *a_name,
                        const optune_tensor *a, const char *b_name, const optune_tensor *b)
{
    ot_text a_text = {0}, b_text = {0};
    ot_tensor_print(a, &a_text);
    ot_tensor_print(b, &b_text);
    const int status = optune_fail(err, OPTUNE_ETYPE, "'%s' is %s, '%s' is %s: %s", a_name,
                                   ot_text_str(&a_text), b_name, ot_text_str(&b_text), why);
    ot_text_release(&a_text);
    ot_text_release(&b_text);
    return status;
}

static int differ(optune_err *err, const optune_call *call, int input, const char *why)
{
    const char *output = call->op->output_names ? call->op->output_names[0] : "output";
    return optune_types_differ(err, why, call->op->inputs[input].name, &call->input[input].type,
                               output, &call->output[0]);
}

static bool all_known(const optune_call *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return false;
    return optune_tensor_known(&call->output[0]);
}

/* One dtype for all inputs and the output. */
static int same_dtypes(optune_call *call, optune_err *err)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < call->n_inputs; i++)
            if (!optune_dtype_unify(&call->input[i].type.dtype, &call->output[0].dtype))
                return differ(err, call, i, "their dtypes differ");
    return OPTUNE_OK;
}

/* ---- elementwise ------------------------------------------------------------------------- */

int optune_elemwise_types(optune_call *call, optune_err *err)
{
    const int status = same_dtypes(call, err);
    if (status < 0)
        return status;
    optune_tensor *out = &call->output[0];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < call->n_inputs; i++) {
            optune_tensor *in = &call->input[i].type;
            const int rank = in->rank >= 0 ? in->rank : out->rank;
            if (rank < 0)
                continue;
            if (!optune_tensor_set_rank(in, rank) || !optune_tensor_set_rank(out, rank))
                return differ(err, call, i, "their ranks differ");
            for (int d = 0; d < rank; d++)
                if (!optune_dim_unify(&in->dim[d], &out->dim[d]))
                    return differ(err, call, i, "their shapes differ");
        }
    return all_known(call) ? OPTUNE_OK : 1;
}

/* ---- broadcasting ------------------------------------------------------------------------ */

static bool is_one(const optune_dim *dim)
{
    return dim->min == 1 && dim->max == 1;
}

static bool may_be_one(const optune_dim *dim)
{
    return dim->min <= 1 && dim->max >= 1;
}

typedef struct place {                  /* one dim of the output and what is broadcast to it */
    optune_dim *dim[OPTUNE_MAX_INPUTS]; /* of inputs that have it */
    int input[OPTUNE_MAX_INPUTS];
    int n;
    bool open; /* an input of unknown rank may have it, too */
} place;

static place place_of(optune_call *call, int first, int last, int from_right)
{
    place p = {.n = 0};
    for (int i = first; i <= last && i < call->n_inputs; i++) {
        optune_tensor *type = &call->input[i].type;
        if (type->rank < 0) {
            p.open = true;
        } else if (from_right <= type->rank) {
            p.input[p.n] = i;
            p.dim[p.n++] = &type->dim[type->rank - from_right];
        }
    }
    return p;
}

/* All undecided operands are known to be one dim: they have a name, and it is the same. */
static bool one_name(const place *p)
{
    const char *name = NULL;
    for (int k = 0; k < p->n; k++) {
        if (is_one(p->dim[k]))
            continue;
        if (!p->dim[k]->name[0] || (name && strcmp(name, p->dim[k]->name) != 0))
            return false;
        name = p->dim[k]->name;
    }
    return true;
}

static int join_place(optune_call *call, const place *p, optune_dim *out, optune_err *err)
{
    static const char why[] = "dims that are not 1 must be equal to be broadcast";
    int undecided = 0;
    for (int k = 0; k < p->n; k++)
        undecided += !is_one(p->dim[k]);
    if (undecided == 0) {
        optune_dim one = optune_dim_of(1);
        return p->open || optune_dim_unify(out, &one) ? OPTUNE_OK
                                                      : differ(err, call, p->input[0], why);
    }
    const bool all = !p->open && (undecided == 1 || one_name(p));
    for (int k = 0; k < p->n; k++) {
        if (is_one(p->dim[k]))
            continue;
        if ((all || !may_be_one(p->dim[k]) || is_one(out)) && !optune_dim_unify(p->dim[k], out))
            return differ(err, call, p->input[k], why);
    }
    return OPTUNE_OK;
}

int optune_broadcast_shapes(optune_call *call, int first, int last, optune_err *err)
{
    optune_tensor *out = &call->output[0];
    int rank = 0;
    bool open = false;
    for (int i = first; i <= last && i < call->n_inputs; i++) {
        const int r = call->input[i].type.rank;
        open = open || r < 0;
        rank = r > rank ? r : rank;
        if (out->rank >= 0 && r > out->rank)
            return differ(err, call, i, "an operand has more dims than the output");
    }
    if (!open && !optune_tensor_set_rank(out, rank))
        return differ(err, call, first, "the output has as many dims as the longest operand");
    for (int pass = 0; pass < 2; pass++)
        for (int d = 1; d <= (out->rank > 0 ? out->rank : 0); d++) {
            const place p = place_of(call, first, last, d);
            const int status =
                p.n ? join_place(call, &p, &out->dim[out->rank - d], err) : OPTUNE_OK;
            if (status < 0)
                return status;
        }
    return all_known(call) ? OPTUNE_OK : 1;
}

int optune_broadcast_types(optune_call *call, optune_err *err)
{
    const int status = same_dtypes(call, err);
    return status < 0 ? status : optune_broadcast_shapes(call, 0, call->n_inputs - 1, err);
}

/* ---- reductions -------------------------------------------------------------------------- */

/* Without the attribute: the dims that the output, broadcast, would have to fill. */
static uint32_t axes_of_shapes(const optune_call *call)
{
    const optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    uint32_t axes = 0;
    for (int d = 0; d < in->rank; d++) {
        const int k = d - (in->rank - out->rank);
        if (k < 0 || (out->dim[k].max == 1 && in->dim[d].min != 1))
            axes |= 1u << d;
    }
    return axes;
}

uint32_t optune_reduce_axes(const optune_call *call)
{
    bool named = false;
    for (int i = 0; i < call->n_attrs; i++)
        named = named || strcmp(call->attr[i].name, "axis") == 0;
    if (!named)
        return axes_of_shapes(call);
    const optune_attr *axis = optune_call_attr(call, "axis");
    const int rank = call->input[0].type.rank;
    const uint32_t whole = (1u << rank) - 1;
    uint32_t axes = 0;
    for (int i = 0; i < axis->n; i++) {
        const int64_t d = axis->i[i] < 0 ? axis->i[i] + rank : axis->i[i];
        if (d >= 0 && d < rank)
            axes |= 1u << d;
    }
    if (optune_call_int(call, "exclude"))
        return axis->n ? whole & ~axes : 0;
    return axis->n ? axes : whole;
}

static int check_axes(const optune_call *call, optune_err *err)
{
    const optune_attr *axis = optune_call_attr(call, "axis");
    const int rank = call->input[0].type.rank;
    uint32_t seen = 0;
    for (int i = 0; i < axis->n; i++) {
        const int64_t d = axis->i[i] < 0 ? axis->i[i] + rank : axis->i[i];
        if (d < 0 || d >= rank)
            return optune_fail(err, OPTUNE_ETYPE,
                               "'axis' names dim %lld of a tensor of rank %d",
                               (long long)axis->i[i], rank);
        if (seen >> d & 1)
            return optune_fail(err, OPTUNE_ETYPE, "'axis' names dim %lld twice", (long long)d);
        seen |= 1u << d;
    }
    return OPTUNE_OK;
}

/* One way of saying which dims are reduced: all are `[]`, none is `[]` with `exclude`, the last one
 * alone is -1, others are counted from the front, in order. Where none is reduced there is nothing
 * to keep. */
static void settle_axes(optune_call *call, uint32_t axes)
{
    const int rank = call->input[0].type.rank;
    const uint32_t whole = (1u << rank) - 1;
    for (int i = 0; i < call->n_attrs; i++) {
        optune_attr *attr = &call->attr[i];
        if (strcmp(attr->name, "axis") == 0) {
            memset(attr->i, 0, sizeof attr->i);
            attr->n = 0;
            for (int d = 0; d < rank && axes != whole; d++)
                if (axes >> d & 1)
                    attr->i[attr->n++] = d;
            if (attr->n == 1 && attr->i[0] == rank - 1)
                attr->i[0] = -1;
        } else if (strcmp(attr->name, "exclude") == 0) {
            attr->i[0] = !axes && whole;
        } else if (strcmp(attr->name, "keepdims") == 0 && !axes) {
            attr->i[0] = false;
        }
    }
}

int optune_reduce_types(optune_call *call, optune_err *err)
{
    optune_tensor *in = &call->input[0].type, *out = &call->output[0];
    int status = same_dtypes(call, err);
    if (status < 0 || in->rank < 0)
        return status < 0 ? status : 1;
    if ((status = check_axes(call, err)) < 0)
        return status;
    const uint32_t axes = optune_reduce_axes(call);
    settle_axes(call, axes);
    const bool keep = optune_call_int(call, "keepdims") != 0;
    int rank = 0;
    for (int d = 0; d < in->rank; d++)
        rank += keep || !(axes >> d & 1);
    if (!optune_tensor_set_rank(out, rank))
        return differ(err, call, 0, "the output has another rank than 'axis' leaves");
    for (int d = 0, k = 0; d < in->rank; d++) {
        optune_dim one = optune_dim_of(1);
        if (axes >> d & 1) {
            if (keep && !optune_dim_unify(&out->dim[k++], &one))
                return differ(err, call, 0, "a reduced dim that is kept is 1");
        } else if (!optune_dim_unify(&in->dim[d], &out->dim[k++])) {
            return differ(err, call, 0, "dims that are not reduced are equal");
        }
    }
    return all_known(call) ? OPTUNE_OK : 1;
}
