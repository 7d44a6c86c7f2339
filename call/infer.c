/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a type relation until it settles. The relation sees one call and knows nothing of
 * names; here equal names are made equal dims, and two names that the relation unified become
 * one. Settling a call also brings it to its canonical form. Never knows what an operator means.
 */
#include <assert.h>
#include <string.h>

#include "call/dim_expr.h"
#include "call/inside.h"

enum { MAX_ROUNDS = 64 }; /* a relation that has not settled by then oscillates, and is a bug */

typedef struct renamed {
    const char *from, *to;
} renamed;

static bool of_renamed(const void *arg, const char *name, optune_dim *is)
{
    const renamed *r = arg;
    if (strcmp(name, r->from) != 0)
        return false;
    *is = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    return ot_copy(is->name, sizeof is->name, r->to);
}

static void rename_dims(optune_tensor *const *tensor, int n, const char *from, const char *to)
{
    const renamed r = {from, to};
    for (int t = 0; t < n; t++)
        for (int i = 0; i < tensor[t]->rank; i++)
            if (strcmp(tensor[t]->dim[i].name, from) == 0)
                ot_copy(tensor[t]->dim[i].name, OPTUNE_DIM_NAME_SIZE, to);
            else
                ot_dim_settle(&tensor[t]->dim[i], of_renamed, &r);
}

/* The relation replaced one name by another: then they are one everywhere. */
static void follow_renames(optune_tensor *const *tensor, const optune_tensor *before, int n)
{
    for (int t = 0; t < n; t++)
        for (int i = 0; i < before[t].rank && i < tensor[t]->rank; i++) {
            const char *was = before[t].dim[i].name;
            const char *is = tensor[t]->dim[i].name;
            if (was[0] && is[0] && strcmp(was, is) != 0) {
                const optune_dim now = tensor[t]->dim[i];
                rename_dims(tensor, n, was, now.name);
            }
        }
}

typedef struct tensors {
    optune_tensor *const *tensor;
    int n;
} tensors;

static bool of_tensors(const void *arg, const char *name, optune_dim *is)
{
    const tensors *all = arg;
    for (int t = 0; t < all->n; t++)
        for (int i = 0; i < all->tensor[t]->rank; i++)
            if (strcmp(all->tensor[t]->dim[i].name, name) == 0) {
                *is = all->tensor[t]->dim[i];
                return true;
            }
    return false;
}

/* Dims that are computed of names are what these allow. */
static int settle_computed(optune_tensor *const *tensor, int n, optune_err *err)
{
    const tensors all = {tensor, n};
    for (int t = 0; t < n; t++)
        for (int i = 0; i < tensor[t]->rank; i++) {
            const optune_dim *dim = &tensor[t]->dim[i];
            if (dim->name[0] && !ot_dim_settle(&tensor[t]->dim[i], of_tensors, &all))
                return optune_fail(
                    err, OPTUNE_ETYPE, "dim '?%s' cannot be %lld..%lld, as the dims in it are",
                    optune_dim_text(dim), (long long)dim->min, (long long)dim->max);
        }
    return OPTUNE_OK;
}

static bool has_names(optune_tensor *const *tensor, int n)
{
    for (int t = 0; t < n; t++)
        for (int i = 0; i < tensor[t]->rank; i++)
            if (tensor[t]->dim[i].name[0])
                return true;
    return false;
}

/* Dims of one name get the intersection of their ranges. */
static int join_names(optune_tensor *const *tensor, int n, optune_err *err)
{
    for (int t = 0; t < n; t++)
        for (int i = 0; i < tensor[t]->rank; i++) {
            optune_dim *first = &tensor[t]->dim[i];
            if (!first->name[0])
                continue;
            for (int u = t; u < n; u++)
                for (int j = u == t ? i + 1 : 0; j < tensor[u]->rank; j++) {
                    optune_dim *other = &tensor[u]->dim[j];
                    if (strcmp(first->name, other->name) != 0 ||
                        (first->min == other->min && first->max == other->max))
                        continue;
                    if (!optune_dim_unify(first, other))
                        return optune_fail(err, OPTUNE_ETYPE,
                                           "dim '?%s' cannot be %lld..%lld and %lld..%lld",
                                           optune_dim_text(first), (long long)first->min,
                                           (long long)first->max, (long long)other->min,
                                           (long long)other->max);
                }
        }
    return settle_computed(tensor, n, err);
}

/* Which of two names of one dim is kept: no expression where there is a name, then the first. */
static bool is_kept(optune_tensor *const *tensor, int n, const char *a, const char *b)
{
    const bool a_computed = ot_name_computed(a), b_computed = ot_name_computed(b);
    if (a_computed != b_computed)
        return b_computed;
    for (int t = 0; t < n; t++)
        for (int i = 0; i < tensor[t]->rank; i++)
            if (strcmp(tensor[t]->dim[i].name, a) == 0)
                return true;
            else if (strcmp(tensor[t]->dim[i].name, b) == 0)
                return false;
    return true;
}

/* All that the relation unified becomes one in the whole call. */
static void join_unified(optune_call *call, ot_unified *u)
{
    optune_tensor *tensor[OT_MAX_TENSORS];
    const int n = ot_call_tensors(call, tensor);
    for (int p = 0; p < u->n; p++) {
        char(*pair)[OPTUNE_DIM_NAME_SIZE] = u->pair[p];
        if (strcmp(pair[0], pair[1]) == 0)
            continue;
        const int kept = is_kept(tensor, n, pair[0], pair[1]) ? 0 : 1;
        rename_dims(tensor, n, pair[!kept], pair[kept]);
        for (int k = p + 1; k < u->n; k++)
            for (int side = 0; side < 2; side++)
                if (strcmp(u->pair[k][side], pair[!kept]) == 0)
                    memcpy(u->pair[k][side], pair[kept], sizeof pair[kept]);
    }
}

static bool is_within(const void *all, size_t size, const optune_dim *dim)
{
    return (const char *)dim >= (const char *)all &&
           (const char *)dim < (const char *)all + size;
}

/* A name that no dim of the call has. */
static void free_name(optune_call *call, char name[OPTUNE_DIM_NAME_SIZE])
{
    optune_tensor *tensor[OT_MAX_TENSORS];
    const tensors all = {tensor, ot_call_tensors(call, tensor)};
    optune_dim is;
    int k = 0;
    do
        snprintf(name, OPTUNE_DIM_NAME_SIZE, "d%d", k++ & 0xffff);
    while (of_tensors(&all, name, &is));
}

/* Ranges of inputs without a name that are one dim get a name that says so. */
static void name_unified(optune_call *call, const ot_unified *u)
{
    optune_dim *one[2 * OT_MAX_UNIFIED];
    for (int p = 0; p < u->n_nameless; p++) {
        int n = 0, inputs = 0;
        one[n++] = u->nameless[p][0];
        for (int i = 0; i < n; i++)
            for (int k = 0; k < u->n_nameless; k++)
                for (int side = 0; side < 2; side++) {
                    bool there = u->nameless[k][side] != one[i];
                    for (int m = 0; m < n; m++)
                        there = there || one[m] == u->nameless[k][!side];
                    if (!there)
                        one[n++] = u->nameless[k][!side];
                }
        for (int i = 0; i < n; i++)
            inputs += is_within(call->input, sizeof call->input, one[i]);
        if (inputs < 2 || one[0]->name[0] || optune_dim_known(one[0]))
            continue;
        char name[OPTUNE_DIM_NAME_SIZE];
        free_name(call, name);
        for (int i = 0; i < n; i++)
            memcpy(one[i]->name, name, sizeof name);
    }
}

/* An operator's type relation. One that fails says why, or is told that it did not. */
static int call_types(const optune_op *op, optune_call *call, optune_err *err)
{
    char slip[OPTUNE_WHY_SIZE];
    ot_slip_taken(NULL);
    if (err)
        err->text[0] = 0;
    ot_unified unified;
    unified.call = call;
    unified.n = unified.n_nameless = 0;
    ot_unified *outer = ot_unified_note(&unified);
    const int status = op->types ? op->types(call, err) : OPTUNE_OK;
    ot_unified_note(outer);
    if (status >= 0 && unified.n)
        join_unified(call, &unified);
    if (status >= 0 && unified.n_nameless)
        name_unified(call, &unified);
    if (ot_slip_taken(slip))
        return optune_fail(err, OPTUNE_ETYPE, "the type relation of '%s': %s", op->name, slip);
    if (status < 0 && err && !*err->text)
        return optune_fail(err, status,
                           "the type relation of '%s' refuses these types, and does "
                           "not say why",
                           op->name);
    return status;
}

/* The type relation of a fused operator over the whole call: a call of its own, whose chain
 * input and output are both the first output of the whole. */
static int fused_types(optune_call *call, int i, optune_err *err)
{
    const optune_epilogue *e = &call->epilogue[i];
    optune_call step;
    optune_err inner = {0};
    optune_call_step(call, i, &step);
    const int status = call_types(e->op, &step, &inner);
    if (status < 0)
        return optune_fail(err, status, "fused '%s': %s", e->op->name, inner.text);
    optune_tensor *value = &step.input[e->chain].type, *out = &step.output[0];
    bool same = optune_dtype_unify(&value->dtype, &out->dtype) && value->rank == out->rank;
    for (int d = 0; d < value->rank && same; d++)
        same = optune_dim_unify(&value->dim[d], &out->dim[d]);
    if (!same)
        return optune_fail(err, OPTUNE_ETYPE,
                           "fused '%s' changes the shape or the dtype of the output",
                           e->op->name);
    for (int k = 0; k < step.n_inputs; k++)
        if (step.input[k].type.dtype.code != OPTUNE_DTYPE_UNKNOWN &&
            !optune_dtype_equal(step.input[k].type.dtype, out->dtype))
            return optune_fail(err, OPTUNE_ETYPE,
                               "fused '%s': input '%s' differs from the output in dtype",
                               e->op->name, e->op->inputs[k].name);
    call->output[0] = *out;
    for (int k = 0, to = e->extra; k < step.n_inputs; k++)
        if (k != e->chain)
            call->input[to++] = step.input[k];
    return status;
}

/* One round over the operator and what is fused behind it. */
static int relate(optune_call *call, int *misfit, optune_err *err)
{
    int status = call_types(call->op, call, err);
    for (int i = 0; i < call->n_epilogues && status >= 0; i++) {
        const int fused = fused_types(call, i, err);
        if (fused < 0)
            *misfit = i;
        status = fused == OPTUNE_OK ? status : fused;
    }
    return status;
}

/* What was read fits; what follows from it, or was put together by code, may not. */
static int check_sizes(const optune_call *call, optune_err *err)
{
    for (int i = 0; i < optune_call_inputs(call) + call->n_outputs; i++) {
        const int output = i - optune_call_inputs(call);
        const optune_tensor *type = output < 0 ? &call->input[i].type : &call->output[output];
        for (int d = 0; d < type->rank; d++) /* a slip of a relation, likely a plugin's */
            if (type->dim[d].min < 0 || type->dim[d].max < type->dim[d].min)
                return optune_fail(err, OPTUNE_ETYPE,
                                   "the type relation of '%s' makes dim %d of '%s' %lld",
                                   call->op->name, d,
                                   output < 0               ? ot_call_input_name(call, i)
                                   : call->op->output_names ? call->op->output_names[output]
                                                            : "output",
                                   (long long)type->dim[d].min);
        if (ot_tensor_fits(type))
            continue;
        const char *const *names = call->op->output_names;
        ot_text text = {0};
        ot_tensor_print(type, &text);
        optune_fail(err, OPTUNE_ELIMIT,
                    "'%s' would be %.200s, which is too large: a dim is at most 2^40, and the "
                    "bytes of all elements in double precision less than 2^63",
                    output < 0 ? ot_call_input_name(call, i)
                    : names    ? names[output]
                               : "output",
                    ot_text_str(&text));
        ot_text_release(&text);
        return OPTUNE_ELIMIT;
    }
    return OPTUNE_OK;
}

/* Whether another round could only say the same: all inputs were constants, and are; all outputs
 * were open, and are constants that follow from them. */
static bool follows(const optune_call *call, optune_tensor *const *tensor,
                    const optune_tensor *before, int n)
{
    const int inputs = optune_call_inputs(call);
    for (int t = 0; t < n; t++)
        if (t < inputs
                ? !optune_tensor_known(&before[t]) || !ot_tensor_same(tensor[t], &before[t])
                : before[t].rank >= 0 || before[t].dtype.code != OPTUNE_DTYPE_UNKNOWN ||
                      !optune_tensor_known(tensor[t]))
            return false;
    return true;
}

/* What is used of it. */
static void copy_type(optune_tensor *to, const optune_tensor *from)
{
    to->dtype = from->dtype;
    to->rank = from->rank;
    for (int i = 0; i < from->rank; i++)
        to->dim[i] = from->dim[i];
}

static int infer_at(optune_call *call, int *misfit, optune_err *err)
{
    optune_tensor *tensor[OT_MAX_TENSORS], before[OT_MAX_TENSORS];
    const int n = ot_call_tensors(call, tensor);
    int status = OPTUNE_OK;
    bool settled = false, named = has_names(tensor, n);
    *misfit = -1;
    for (int round = 0; round < MAX_ROUNDS && !settled; round++) {
        status = named ? join_names(tensor, n, err) : OPTUNE_OK;
        if (status < 0)
            return status;
        for (int t = 0; t < n; t++)
            copy_type(&before[t], tensor[t]);
        status = relate(call, misfit, err);
        if (status < 0)
            return status;
        if (named)
            follow_renames(tensor, before, n);
        named = has_names(tensor, n);
        if (named && join_names(tensor, n, err) < 0)
            return OPTUNE_ETYPE;
        settled = status == OPTUNE_OK && follows(call, tensor, before, n);
        if (settled)
            break;
        settled = true;
        for (int t = 0; t < n; t++)
            settled = settled && ot_tensor_same(tensor[t], &before[t]);
    }
    if (!settled)
        return optune_fail(err, OPTUNE_ETYPE, "the type relation of '%s' does not settle",
                           call->op->name);
    /* A name has done its work once its dim is a constant. */
    for (int t = 0; t < n && named; t++)
        for (int i = 0; i < tensor[t]->rank; i++)
            if (optune_dim_known(&tensor[t]->dim[i]))
                tensor[t]->dim[i] = optune_dim_of(tensor[t]->dim[i].min);
    const int sizes = check_sizes(call, err);
    return sizes < 0 ? sizes : status;
}

int ot_call_infer_dims(optune_call *call, optune_err *err)
{
    int misfit;
    return infer_at(call, &misfit, err);
}

/* Outputs whose dims follow from values become as large as they can be. */
static int take_bounds(optune_call *call, int status)
{
    if (status != 1 || !call->op->shape)
        return status;
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (!optune_tensor_known(&call->input[i].type))
            return status;
    for (int o = 0; o < call->n_outputs; o++) {
        const optune_tensor *type = &call->output[o];
        if (type->rank < 0 || type->dtype.code == OPTUNE_DTYPE_UNKNOWN)
            return status;
        for (int d = 0; d < type->rank; d++)
            if (type->dim[d].max == OPTUNE_DIM_MAX)
                return status;
    }
    for (int o = 0; o < call->n_outputs; o++)
        for (int d = 0; d < call->output[o].rank; d++)
            call->output[o].dim[d] = optune_dim_of(call->output[o].dim[d].max);
    return OPTUNE_OK;
}

/* The same, and in the end dims that follow from values are their bounds. */
static int infer_bounds(optune_call *call, int *misfit, optune_err *err)
{
    const int inferred = infer_at(call, misfit, err), status = take_bounds(call, inferred);
    const int sizes = status == inferred ? status : check_sizes(call, err);
    return sizes < 0 ? sizes : status;
}

int ot_call_infer(optune_call *call, optune_err *err)
{
    int misfit;
    return infer_bounds(call, &misfit, err);
}

/* A type that may be said and left out, and is said. */
static bool may_be_left_out(const optune_call *call, int i)
{
    const optune_op_attr *row = ot_op_attr_at(call->op, i);
    return row->kind == OPTUNE_ATTR_DTYPE && row->value &&
           call->attr[i].dtype.code != OPTUNE_DTYPE_UNKNOWN;
}

/* `plain`: the call before its types were inferred, with `status`. What is said and would follow
 * anyway is left out. */
static void leave_out(optune_call *call, const optune_call *plain, int status)
{
    for (int i = 0; i < call->n_attrs; i++) {
        optune_attr left_out;
        if (!may_be_left_out(plain, i) ||
            ot_attr_default(ot_op_attr_at(call->op, i), &left_out, NULL) < 0 ||
            left_out.dtype.code != OPTUNE_DTYPE_UNKNOWN)
            continue;
        optune_call without;
        ot_call_copy(&without, plain);
        without.attr[i] = left_out;
        bool same = ot_call_infer(&without, NULL) == status;
        for (int j = 0; same && j < call->n_outputs; j++)
            same = optune_dtype_equal(call->output[j].dtype, without.output[j].dtype);
        if (same)
            ot_call_copy(call, &without);
    }
}

/* No less than an attribute's text takes, with what is around it. */
static size_t most_of_attr(const optune_attr *attr)
{
    const size_t value = attr->kind == OPTUNE_ATTR_INTS   ? (size_t)attr->n * 21
                         : attr->kind == OPTUNE_ATTR_WORD ? strlen(attr->word)
                                                          : OPTUNE_WORD_SIZE;
    return strlen(attr->name) + value + 8;
}

/* No less than the call's text takes: for most calls that tells that it is short enough. */
static size_t most_of_text(const optune_call *call)
{
    enum { AROUND = 8, DTYPE = 24, DIM = 21 };
    size_t n = strlen(call->op->name) + AROUND;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const optune_tensor *type = &call->input[i].type;
        n += AROUND + DTYPE;
        for (int d = 0; d < type->rank; d++)
            n += optune_dim_known(&type->dim[d])
                     ? DIM
                     : 2 * DIM + strlen(optune_dim_text(&type->dim[d]));
    }
    for (int i = 0; i < call->n_attrs; i++)
        n += most_of_attr(&call->attr[i]);
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_epilogue *e = &call->epilogue[i];
        n += strlen(e->op->name) + 2 * AROUND;
        for (int k = 0; k < e->n_attrs; k++)
            n += most_of_attr(&e->attr[k]);
    }
    return n;
}

int ot_call_settle(optune_call *call, int *misfit, optune_err *err)
{
    if (misfit)
        *misfit = -1;
    const int outputs = call->op->outputs ? call->op->outputs(call) : call->n_outputs;
    if (outputs < 1 || outputs > call->op->n_outputs) /* a plugin's slip */
        return optune_fail(err, OPTUNE_EUSAGE,
                           "operator '%s' says that this call has %d outputs; it has 1 to %d",
                           call->op->name, outputs, call->op->n_outputs);
    call->n_outputs = outputs;
    optune_call *plain = NULL; /* a call is long to copy, and few say such a type */
    for (int i = 0; i < call->n_attrs && !plain; i++)
        if (may_be_left_out(call, i)) {
            plain = ot_alloc_raw(sizeof *plain);
            ot_call_copy(plain, call);
        }
    int inner;
    int status = infer_bounds(call, misfit ? misfit : &inner, err);
    if (status >= 0 && plain)
        leave_out(call, plain, status);
    free(plain);
    if (status < 0 || most_of_text(call) < OPTUNE_CALL_TEXT_SIZE)
        return status < 0 ? status : OPTUNE_OK;
    ot_text text = {0};
    ot_call_print(call, &text);
    if (text.n >= OPTUNE_CALL_TEXT_SIZE)
        status = optune_fail(err, OPTUNE_ELIMIT,
                             "the canonical text of this call of '%s' has %zu characters, at "
                             "most %d are possible: give it fewer inputs, or shorter names of "
                             "dims",
                             call->op->name, text.n, OPTUNE_CALL_TEXT_SIZE - 1);
    ot_text_release(&text);
    return status < 0 ? status : OPTUNE_OK;
}
