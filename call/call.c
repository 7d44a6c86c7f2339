/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as a value: a new one, what it says of itself, what is fused behind it as a call of its
 * own, and whether code has left it sound. A name that the operator does not have is a slip of a
 * row (ot_slip). Its text is call_parse.c's and call_print.c's, its types are infer.c's.
 */
#include <assert.h>
#include <string.h>

#include "call/inside.h"

int ot_call_start(const optune_op *op, optune_call *call, optune_err *err)
{
    call->op = op;
    call->n_inputs = call->n_extra = call->n_epilogues = 0;
    call->n_outputs = op->n_outputs;
    call->n_attrs = ot_op_attr_count(op);
    if (call->n_attrs > OPTUNE_MAX_ATTRS)
        return optune_fail(err, OPTUNE_ELIMIT, "operator '%s' has too many attributes",
                           op->name);
    for (int i = 0; i < call->n_outputs; i++)
        call->output[i] = (optune_tensor){.rank = -1};
    for (int i = 0; i < call->n_attrs; i++) {
        const optune_op_attr *row = ot_op_attr_at(op, i);
        call->attr[i] =
            (optune_attr){.name = row->name, .kind = (uint8_t)row->kind, .n = OT_ATTR_UNSET};
        const int status = row->value ? ot_attr_default(row, &call->attr[i], err) : OPTUNE_OK;
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

/* ---- copies ------------------------------------------------------------------------------ */

static void copy_attrs(optune_attr *to, const optune_attr *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

void ot_call_copy(optune_call *to, const optune_call *from)
{
    to->op = from->op;
    to->n_inputs = from->n_inputs;
    to->n_outputs = from->n_outputs;
    to->n_attrs = from->n_attrs;
    to->n_extra = from->n_extra;
    to->n_epilogues = from->n_epilogues;
    memcpy(to->input, from->input, (size_t)optune_call_inputs(from) * sizeof *to->input);
    memcpy(to->output, from->output, (size_t)from->n_outputs * sizeof *to->output);
    copy_attrs(to->attr, from->attr, from->n_attrs);
    for (int i = 0; i < from->n_epilogues; i++) {
        memcpy(&to->epilogue[i], &from->epilogue[i], offsetof(optune_epilogue, attr));
        copy_attrs(to->epilogue[i].attr, from->epilogue[i].attr, from->epilogue[i].n_attrs);
    }
}

/* ---- attributes -------------------------------------------------------------------------- */

/* What is not there: numbers by which anything may be divided. */
static const optune_attr harmless = {.name = "", .i = {1, 1, 1, 1}};

const optune_attr *optune_call_attr(const optune_call *call, const char *name)
{
    for (int i = 0; i < call->n_attrs; i++) /* rows ask for the same again and again */
        if (call->attr[i].name == name)
            return &call->attr[i];
    for (int i = 0; i < call->n_attrs; i++)
        if (*call->attr[i].name == *name && strcmp(call->attr[i].name, name) == 0)
            return &call->attr[i];
    ot_slip("operator '%s' has no attribute '%s'", call->op->name, name);
    return &harmless;
}

/* One of that kind, or of the other. */
static const optune_attr *attr_of(const optune_call *call, const char *name,
                                  optune_attr_kind kind, optune_attr_kind other,
                                  const char *what)
{
    const optune_attr *attr = optune_call_attr(call, name);
    if (attr == &harmless || attr->kind == kind || attr->kind == other)
        return attr;
    ot_slip("attribute '%s' of operator '%s' is no %s", name, call->op->name, what);
    return &harmless;
}

int64_t optune_call_int(const optune_call *call, const char *name)
{
    const optune_attr *attr = attr_of(call, name, OPTUNE_ATTR_INT, OPTUNE_ATTR_BOOL, "integer");
    assert(!attr->none);
    return attr->i[0];
}

bool optune_call_none(const optune_call *call, const char *name)
{
    return optune_call_attr(call, name)->none;
}

const int64_t *optune_call_ints(const optune_call *call, const char *name)
{
    return attr_of(call, name, OPTUNE_ATTR_INTS, OPTUNE_ATTR_INTS, "list of integers")->i;
}

const char *optune_call_word(const optune_call *call, const char *name)
{
    const optune_attr *attr = attr_of(call, name, OPTUNE_ATTR_WORD, OPTUNE_ATTR_WORD, "word");
    return attr == &harmless ? "" : attr->word;
}

/* ---- inputs, outputs, and what is fused --------------------------------------------------- */

int optune_call_inputs(const optune_call *call)
{
    return call->n_inputs + call->n_extra;
}

void optune_call_step(const optune_call *call, int i, optune_call *step)
{
    assert(i >= 0 && i < call->n_epilogues);
    const optune_epilogue *e = &call->epilogue[i];
    step->op = e->op;
    step->n_inputs = e->n_extra + 1;
    step->n_outputs = 1;
    step->n_attrs = e->n_attrs + 1;
    step->n_extra = step->n_epilogues = 0;
    step->output[0] = call->output[0];
    for (int k = 0, from = e->extra; k < step->n_inputs; k++)
        step->input[k] =
            k == e->chain ? (optune_input){.type = call->output[0]} : call->input[from++];
    copy_attrs(step->attr, e->attr, e->n_attrs);
    step->attr[e->n_attrs] = *optune_call_attr(call, "math");
}

const char *ot_call_input_name(const optune_call *call, int input)
{
    assert(input >= 0 && input < optune_call_inputs(call));
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_epilogue *e = &call->epilogue[i];
        const int k = input - e->extra;
        if (k >= 0 && k < e->n_extra)
            return e->op->inputs[k < e->chain ? k : k + 1].name;
    }
    return call->op->inputs[input].name;
}

int ot_call_tensors(optune_call *call, optune_tensor *tensor[OT_MAX_TENSORS])
{
    int n = 0;
    for (int i = 0; i < optune_call_inputs(call); i++)
        tensor[n++] = &call->input[i].type;
    for (int i = 0; i < call->n_outputs; i++)
        tensor[n++] = &call->output[i];
    return n;
}

int64_t ot_tensor_most_bytes(const optune_tensor *type)
{
    optune_tensor most = *type;
    if (type->rank < 0 || type->dtype.code == OPTUNE_DTYPE_UNKNOWN)
        return -1;
    for (int d = 0; d < type->rank; d++) {
        if (type->dim[d].max == OPTUNE_DIM_MAX)
            return -1;
        most.dim[d] = optune_dim_of(type->dim[d].max);
    }
    return ot_tensor_fits(&most) ? optune_tensor_bytes(&most) : -1;
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

/* ---- whether it is sound ------------------------------------------------------------------ */

static bool sound_tensor(const optune_tensor *type)
{
    if (type->rank < -1 || type->rank > OPTUNE_MAX_RANK || type->dtype.code > OPTUNE_DTYPE_BOOL)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dim[i].min < 0 || type->dim[i].min > type->dim[i].max ||
            !memchr(type->dim[i].name, '\0', sizeof type->dim[i].name))
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

/* ---- as a key ---------------------------------------------------------------------------- */

static char *put(char *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

static char *put_tensor(char *to, const optune_tensor *t)
{
    to = put(to, t, offsetof(optune_tensor, dim));
    return t->rank > 0 ? put(to, t->dim, (size_t)t->rank * sizeof *t->dim) : to;
}

size_t ot_call_pack(const optune_call *call, void *to)
{
    char *at = put(to, &call->op, sizeof call->op);
    const int n[] = {call->n_inputs, call->n_outputs, call->n_attrs, call->n_extra,
                     call->n_epilogues};
    at = put(at, n, sizeof n);
    for (int i = 0; i < optune_call_inputs(call); i++) {
        at = put_tensor(at, &call->input[i].type);
        at = put(at, &call->input[i].is_const, sizeof call->input[i].is_const);
    }
    for (int i = 0; i < call->n_outputs; i++)
        at = put_tensor(at, &call->output[i]);
    at = put(at, call->attr, (size_t)call->n_attrs * sizeof *call->attr);
    for (int i = 0; i < call->n_epilogues; i++) {
        const optune_epilogue *e = &call->epilogue[i];
        at = put(at, e, offsetof(optune_epilogue, attr));
        at = put(at, e->attr, (size_t)e->n_attrs * sizeof *e->attr);
    }
    return (size_t)(at - (char *)to);
}

static const char *take(const char *from, void *to, size_t n)
{
    memcpy(to, from, n);
    return from + n;
}

static const char *take_tensor(const char *from, optune_tensor *t)
{
    from = take(from, t, offsetof(optune_tensor, dim));
    return t->rank > 0 ? take(from, t->dim, (size_t)t->rank * sizeof *t->dim) : from;
}

void ot_call_unpack(const void *packed, optune_call *call)
{
    int n[5];
    const char *at = take(packed, &call->op, sizeof call->op);
    at = take(at, n, sizeof n);
    call->n_inputs = n[0];
    call->n_outputs = n[1];
    call->n_attrs = n[2];
    call->n_extra = n[3];
    call->n_epilogues = n[4];
    for (int i = 0; i < optune_call_inputs(call); i++) {
        at = take_tensor(at, &call->input[i].type);
        at = take(at, &call->input[i].is_const, sizeof call->input[i].is_const);
    }
    for (int i = 0; i < call->n_outputs; i++)
        at = take_tensor(at, &call->output[i]);
    at = take(at, call->attr, (size_t)call->n_attrs * sizeof *call->attr);
    for (int i = 0; i < call->n_epilogues; i++) {
        optune_epilogue *e = &call->epilogue[i];
        at = take(at, e, offsetof(optune_epilogue, attr));
        at = take(at, e->attr, (size_t)e->n_attrs * sizeof *e->attr);
    }
}
