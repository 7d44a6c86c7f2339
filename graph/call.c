/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls built from code: each step checks what it is given, so that a failure names the step and
 * not the whole call. The end is the same canonical form that text gives.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fenv.h"
#include "graph/graph.h"

int optune_call_start(optune_call *call, const char *name, optune_err *err)
{
    OT_ENTER(err, {"call", call}, {"op", name});
    const optune_op *op;
    const int status = ot_op_get(name, &op, err);
    if (status < 0)
        return status;
    memset(call, 0,
           sizeof *call); /* whoever copies or looks at it finds nothing that is not set */
    return ot_call_start(op, call, err);
}

int optune_call_add_input(optune_call *call, const char *type, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"type", type});
    const int i = call->n_inputs;
    if (i == ot_op_input_count(call->op))
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' takes no input %d", call->op->name, i + 1);
    optune_input input = {.is_const = call->op->inputs[i].is_const};
    type += strspn(type, " ");
    if (!strncmp(type, "const ", 6) || !strncmp(type, "var ", 4)) {
        input.is_const = *type == 'c';
        type += *type == 'c' ? 6 : 4;
    }
    const char *end;
    const int status = ot_tensor_parse(type, &input.type, &end, err);
    if (status < 0)
        return status;
    if (end[strspn(end, " ")])
        return optune_fail(err, OPTUNE_ESYNTAX, "nothing may follow the type: '%.80s'", end);
    call->input[call->n_inputs++] = input;
    return OPTUNE_OK;
}

static int find(const optune_call *call, const char *name, optune_err *err)
{
    const char *names[OPTUNE_MAX_ATTRS];
    for (int i = 0; i < call->n_attrs; i++) {
        names[i] = call->attr[i].name;
        if (!strcmp(names[i], name))
            return i;
    }
    return ot_no_such(err, "attribute", name, names, call->n_attrs);
}

int optune_call_set(optune_call *call, const char *name, const char *value, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"name", name}, {"value", value});
    const int at = find(call, name, err);
    return at < 0 ? at
                  : ot_attr_parse(ot_op_attr_at(call->op, at), value, &call->attr[at], err);
}

/* Settled on a copy, so that a refused value changes nothing. */
static int set(optune_call *call, const char *name, unsigned kinds, const optune_attr *value,
               optune_err *err)
{
    const int at = find(call, name, err);
    if (at < 0)
        return at;
    const optune_op_attr *row = ot_op_attr_at(call->op, at);
    if (!(kinds >> row->kind & 1))
        return optune_fail(err, OPTUNE_EUSAGE, "attribute '%s' of '%s' is of another kind",
                           name, call->op->name);
    optune_attr attr = *value;
    attr.name = row->name;
    attr.kind = (uint8_t)row->kind;
    const int status = ot_attr_settle(row, &attr, err);
    if (status >= 0)
        call->attr[at] = attr;
    return status;
}

int optune_call_set_int(optune_call *call, const char *name, int64_t value, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"name", name});
    const optune_attr attr = {.i = {value}};
    return set(call, name, 1u << OPTUNE_ATTR_INT | 1u << OPTUNE_ATTR_BOOL, &attr, err);
}

int optune_call_set_float(optune_call *call, const char *name, double value, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"name", name});
    const optune_attr attr = {.f = value};
    return set(call, name, 1u << OPTUNE_ATTR_FLOAT, &attr, err);
}

int optune_call_set_ints(optune_call *call, const char *name, int n, const int64_t *values,
                         optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"name", name}, {"values", n > 0 ? values : (const void *)name});
    if (n < 0 || n > OPTUNE_MAX_LIST)
        return optune_fail(err, OPTUNE_ELIMIT, "attribute '%s' has more than %d integers", name,
                           OPTUNE_MAX_LIST);
    optune_attr attr = {.n = (uint8_t)n};
    for (int i = 0; i < n; i++)
        attr.i[i] = values[i];
    return set(call, name, 1u << OPTUNE_ATTR_INTS, &attr, err);
}

int optune_call_settle(optune_call *call, optune_err *err)
{
    OT_DEFAULT_FENV;
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    const optune_op_input *next = &call->op->inputs[call->n_inputs];
    if (next->name && !next->optional)
        return optune_fail(err, OPTUNE_EUSAGE, "input '%s' of '%s' is missing", next->name,
                           call->op->name);
    for (int i = 0; i < call->n_attrs; i++)
        if (call->attr[i].n == OT_ATTR_UNSET)
            return optune_fail(err, OPTUNE_EUSAGE, "attribute '%s' of '%s' is missing",
                               call->attr[i].name, call->op->name);
    return ot_call_settle(call, NULL, err);
}

int optune_call_read(optune_call *call, const char *text, optune_err *err)
{
    OT_ENTER(err, {"call", call}, {"text", text});
    return ot_call_parse(text, call, err);
}

int optune_call_write(const optune_call *call, char *text, size_t size, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"text", text});
    for (int i = 0; i < call->n_attrs; i++)
        if (call->attr[i].n == OT_ATTR_UNSET)
            return optune_fail(err, OPTUNE_EUSAGE, "attribute '%s' of '%s' is missing",
                               call->attr[i].name, call->op->name);
    ot_text full = {0};
    ot_call_print(call, &full);
    const bool fits = ot_copy(text, size, ot_text_str(&full));
    ot_text_release(&full);
    return fits ? OPTUNE_OK
                : optune_fail(err, OPTUNE_ELIMIT, "the text of this call of '%s' is too long",
                              call->op->name);
}

double optune_call_flops(const optune_call *call)
{
    OT_DEFAULT_FENV;
    return ot_call_check(call, NULL) == OPTUNE_OK && ot_call_static(call) ? ot_call_flops(call)
                                                                          : 0;
}

double optune_call_bytes(const optune_call *call)
{
    OT_DEFAULT_FENV;
    return ot_call_check(call, NULL) == OPTUNE_OK && ot_call_static(call) ? ot_call_bytes(call)
                                                                          : 0;
}

int optune_call_open(const char *text, optune_call **call, optune_err *err)
{
    OT_ENTER(err, {"text", text}, {"call", call});
    *call = NULL;
    ot_memory_begin();
    optune_call *made = ot_alloc(sizeof *made);
    const int status = ot_memory_end(optune_call_read(made, text, err), err);
    if (status >= 0)
        *call = made;
    else
        free(made);
    return status;
}

void optune_call_close(optune_call *call)
{
    free(call);
}
