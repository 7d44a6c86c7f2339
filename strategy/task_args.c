/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AutoTVM's positional task arguments and our calls, both ways, as an implementation's
 * `task_args` spells them: names separated by spaces. A name is an input, an attribute,
 * `out_shape`, `out_dtype` or `null`; a trailing '?' makes it null when absent. `name=value`
 * and `name=input[i]` take no position: reading sets the attribute to the value, or to that
 * dim, as a template for depthwise convolutions needs (`groups=data[1]`); said twice of one
 * attribute, both must be the same (`groups=weight[0]`). `math` never travels.
 * Operators fused behind a call cannot be said: its list is empty, so that AutoTVM never takes
 * it for the call alone.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

typedef struct slot {
    char name[OPTUNE_NAME_SIZE];
    char value[OPTUNE_NAME_SIZE]; /* what follows '=': this one takes no position */
    bool optional;
} slot;

enum { MAX_SLOTS = 64 };

static int input_index(const optune_op *op, const char *name)
{
    for (int i = 0; op->inputs[i].name; i++)
        if (strcmp(op->inputs[i].name, name) == 0)
            return i;
    return -1;
}

static int attr_index(const optune_op *op, const char *name)
{
    for (int i = 0; i < ot_op_attr_count(op); i++)
        if (strcmp(ot_op_attr_at(op, i)->name, name) == 0)
            return i;
    return -1;
}

static void add_slot(slot *list, int *n, const char *word, size_t length)
{
    if (*n == MAX_SLOTS || length >= OPTUNE_NAME_SIZE)
        return;
    slot *s = &list[(*n)++];
    *s = (slot){0};
    memcpy(s->name, word, length);
    char *equals = strchr(s->name, '=');
    if (equals) {
        memcpy(s->value, equals + 1, strlen(equals + 1));
        *equals = '\0';
    } else if (s->name[length - 1] == '?') {
        s->optional = true;
        s->name[length - 1] = '\0';
    }
}

/* All inputs, then all attributes but `math`, when the implementation does not say. */
static int slots_of(const optune_op *op, const optune_impl *impl, slot list[MAX_SLOTS])
{
    int n = 0;
    for (const char *p = impl->task_args; p && *p; p += strspn(p, " ")) {
        const size_t length = strcspn(p, " ");
        if (length)
            add_slot(list, &n, p, length);
        p += length;
    }
    if (impl->task_args)
        return n;
    for (int i = 0; op->inputs[i].name; i++) {
        add_slot(list, &n, op->inputs[i].name, strlen(op->inputs[i].name));
        list[n - 1].optional = op->inputs[i].optional;
    }
    for (int i = 0; i < ot_op_attr_count(op) - 1; i++)
        add_slot(list, &n, op->attrs[i].name, strlen(op->attrs[i].name));
    return n;
}

/* TVM's layout attributes are never empty in a task: an empty out_layout is data_layout's. */
static const char *word_of(const optune_call *call, const optune_attr *attr)
{
    const int data = attr_index(call->op, "data_layout");
    return attr->word[0] == '\0' && strcmp(attr->name, "out_layout") == 0 && data >= 0
               ? call->attr[data].word
               : attr->word;
}

/* ---- call to arguments ------------------------------------------------------------------- */

static json_t *dims_json(const optune_tensor *type)
{
    json_t *list = json_array();
    for (int i = 0; i < type->rank; i++) {
        if (optune_dim_known(&type->dim[i])) {
            json_array_append_new(list, json_integer(type->dim[i].min));
            continue;
        }
        ot_text text = {0};
        ot_dim_print(&type->dim[i], &text);
        json_array_append_new(list, json_string(ot_text_str(&text)));
        ot_text_release(&text);
    }
    return list;
}

static json_t *dtype_json(optune_dtype dtype)
{
    char name[OPTUNE_WORD_SIZE];
    ot_print_dtype_long(dtype, name, sizeof name);
    return dtype.code == OPTUNE_DTYPE_UNKNOWN ? json_null() : json_string(name);
}

static json_t *tensor_json(const optune_tensor *type)
{
    return json_pack("[soo]", "TENSOR", dims_json(type), dtype_json(type->dtype));
}

static json_t *attr_json(const optune_call *call, const optune_attr *attr)
{
    json_t *list;
    switch (attr->kind) {
    case OPTUNE_ATTR_FLOAT:
        return json_real(attr->f);
    case OPTUNE_ATTR_WORD:
        return json_string(word_of(call, attr));
    case OPTUNE_ATTR_INTS:
        list = json_array();
        for (int i = 0; i < attr->n; i++)
            json_array_append_new(list, json_integer(attr->i[i]));
        return list;
    case OPTUNE_ATTR_DTYPE:
        return dtype_json(attr->dtype.code == OPTUNE_DTYPE_UNKNOWN ? call->output[0].dtype
                                                                   : attr->dtype);
    default: /* INT, and BOOL, which TVM writes as 0 or 1 */
        return attr->none ? json_null() : json_integer(attr->i[0]);
    }
}

static json_t *slot_json(const optune_call *call, const slot *s)
{
    const int input = input_index(call->op, s->name);
    if (input >= 0)
        return input < call->n_inputs ? tensor_json(&call->input[input].type) : json_null();
    const int attr = attr_index(call->op, s->name);
    if (attr >= 0)
        return attr_json(call, &call->attr[attr]);
    if (strcmp(s->name, "out_shape") == 0)
        return dims_json(&call->output[0]);
    if (strcmp(s->name, "out_dtype") == 0)
        return dtype_json(call->output[0].dtype);
    return json_null();
}

json_t *ot_task_args(const optune_call *call, const optune_impl *impl)
{
    slot list[MAX_SLOTS];
    const int n = slots_of(call->op, impl, list);
    json_t *args = json_array();
    for (int i = 0; i < n && call->n_epilogues == 0; i++)
        if (!list[i].value[0])
            json_array_append_new(args, slot_json(call, &list[i]));
    return args;
}

/* ---- arguments to call ------------------------------------------------------------------- */

static int read_dtype(const json_t *json, const char *what, optune_dtype *dtype,
                      optune_err *err)
{
    const char *text = json_string_value(json);
    if (!text || !ot_parse_dtype(text, dtype))
        return optune_fail(err, OPTUNE_ETYPE, "dtype of '%s' is not understood: '%s'", what,
                           text ? text : "no text");
    return OPTUNE_OK;
}

static int read_tensor(const json_t *json, const char *what, optune_tensor *type,
                       optune_err *err)
{
    const char *tag = json_string_value(json_array_get(json, 0));
    const json_t *dims = json_array_get(json, 1);
    if (json_array_size(json) != 3 || !tag || strcmp(tag, "TENSOR") != 0 ||
        !json_is_array(dims))
        return optune_fail(err, OPTUNE_ETYPE,
                           "argument '%s' is not a tensor [\"TENSOR\", [dims], dtype]", what);
    *type = (optune_tensor){.rank = (int32_t)json_array_size(dims)};
    if (json_array_size(dims) > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ELIMIT, "tensor '%s' has more than %d dims", what,
                           OPTUNE_MAX_RANK);
    for (int i = 0; i < type->rank; i++) {
        const json_t *dim = json_array_get(dims, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0 ||
            json_integer_value(dim) > OPTUNE_MAX_DIM)
            return optune_fail(err, OPTUNE_ETYPE, "dim %d of tensor '%s' is not a size", i,
                               what);
        type->dim[i] = optune_dim_of(json_integer_value(dim));
    }
    return read_dtype(json_array_get(json, 2), what, &type->dtype, err);
}

/* JSON of an attribute as the text a call would hold, so that one reader judges both. */
static bool attr_text(const json_t *json, ot_text *text)
{
    if (json_is_string(json)) {
        ot_text_add(text, json_string_value(json));
    } else if (json_is_boolean(json)) {
        ot_text_add(text, json_is_true(json) ? "1" : "0");
    } else if (json_is_integer(json)) {
        ot_text_printf(text, "%lld", (long long)json_integer_value(json));
    } else if (json_is_real(json)) {
        ot_text_add_real(text, json_real_value(json));
    } else if (json_is_array(json)) {
        size_t i;
        const json_t *item;
        ot_text_add(text, "[");
        json_array_foreach(json, i, item)
        {
            if (!json_is_integer(item))
                return false;
            ot_text_printf(text, "%s%lld", i ? "," : "", (long long)json_integer_value(item));
        }
        ot_text_add(text, "]");
    } else {
        return json_is_null(json);
    }
    return true;
}

static int read_attr(optune_call *call, int i, const json_t *json, optune_err *err)
{
    const optune_op_attr *row = ot_op_attr_at(call->op, i);
    if (json_is_null(json) && row->none)
        return ot_attr_parse(row, "none", &call->attr[i], err);
    if (json_is_null(json) && row->value)
        return OPTUNE_OK;
    ot_text text = {0};
    optune_err inner = {0};
    int status = OPTUNE_OK;
    if (!attr_text(json, &text))
        status = optune_fail(err, OPTUNE_ETYPE, "argument '%s' is not understood", row->name);
    else if (ot_attr_parse(row, ot_text_str(&text), &call->attr[i], &inner) < 0)
        status = optune_fail(err, OPTUNE_ETYPE, "%s", inner.text);
    ot_text_release(&text);
    return status;
}

/* What was only a way of writing the default becomes the default. */
static void plain_layout(optune_call *call)
{
    const int out = attr_index(call->op, "out_layout"),
              data = attr_index(call->op, "data_layout");
    if (out < 0 || data < 0)
        return;
    const char *left_out = ot_op_attr_at(call->op, out)->value;
    if (left_out && !left_out[0] && strcmp(call->attr[out].word, call->attr[data].word) == 0)
        call->attr[out].word[0] = '\0';
}

static int read_slot(optune_call *call, const slot *s, const json_t *json, optune_err *err)
{
    const int input = input_index(call->op, s->name);
    if (input >= 0) {
        if (json_is_null(json) && call->op->inputs[input].optional)
            return OPTUNE_OK;
        if (input != call->n_inputs)
            return optune_fail(err, OPTUNE_ETYPE,
                               "argument '%s' comes without the one before it", s->name);
        call->input[input] = (optune_input){.is_const = call->op->inputs[input].is_const};
        call->n_inputs++;
        return read_tensor(json, s->name, &call->input[input].type, err);
    }
    const int attr = attr_index(call->op, s->name);
    if (attr >= 0)
        return read_attr(call, attr, json, err);
    if (strcmp(s->name, "null") == 0 && !json_is_null(json))
        return optune_fail(err, OPTUNE_ETYPE,
                           "an argument that this task leaves empty is given");
    return OPTUNE_OK;
}

/* `groups=data[1]`, `data_layout=NCHW16c`; of slot `which` */
static int read_implied(optune_call *call, const slot *list, int which, optune_err *err)
{
    const slot *s = &list[which];
    const int attr = attr_index(call->op, s->name);
    char name[OPTUNE_NAME_SIZE], value[32];
    int dim = -1;
    const char *text = s->value;
    if (sscanf(s->value, "%63[^[][%d]", name, &dim) == 2) {
        const int input = input_index(call->op, name);
        if (input < 0 || input >= call->n_inputs || dim < 0 ||
            dim >= call->input[input].type.rank)
            return optune_fail(err, OPTUNE_ETYPE, "'%s' has no dim for '%s'", name, s->name);
        snprintf(value, sizeof(value), "%lld", (long long)call->input[input].type.dim[dim].min);
        text = value;
    }
    if (attr < 0)
        return optune_fail(err, OPTUNE_ETYPE, "operator '%s' has no attribute '%s'",
                           call->op->name, s->name);
    const int64_t before = call->attr[attr].i[0];
    OT_RETURN_UNLESS_OK(
        ot_attr_parse(ot_op_attr_at(call->op, attr), text, &call->attr[attr], err));
    for (int k = 0; k < which; k++)
        if (list[k].value[0] && !strcmp(list[k].name, s->name) &&
            call->attr[attr].i[0] != before)
            return optune_fail(err, OPTUNE_ETYPE,
                               "this template is for calls whose %s and %s are the same",
                               list[k].value, s->value);
    return OPTUNE_OK;
}

/* What the task says of its output must be what our type relation says. */
static int check_output(const optune_call *call, const slot *s, const json_t *json,
                        optune_err *err)
{
    const bool shape = strcmp(s->name, "out_shape") == 0;
    if (!shape && (strcmp(s->name, "out_dtype") != 0 || attr_index(call->op, s->name) >= 0))
        return OPTUNE_OK;
    if (json_is_null(json))
        return OPTUNE_OK;
    json_t *own = shape ? dims_json(&call->output[0]) : dtype_json(call->output[0].dtype);
    const bool same = json_equal(own, json);
    json_decref(own);
    return same ? OPTUNE_OK
                : optune_fail(err, OPTUNE_ETYPE, "argument '%s' is not the output's", s->name);
}

int ot_call_from_args(const optune_impl *impl, const json_t *args, optune_call *call,
                      optune_err *err)
{
    const optune_op *op = ot_op_find(impl->op);
    if (!op)
        return optune_fail(err, OPTUNE_ENOENT, "no operator '%s'", impl->op);
    slot list[MAX_SLOTS];
    const int n = slots_of(op, impl, list);
    int positions = 0, status = ot_call_start(op, call, err);
    for (int i = 0; i < n; i++)
        positions += !list[i].value[0];
    if (status < 0)
        return status;
    if (!json_is_array(args) || (int)json_array_size(args) != positions)
        return optune_fail(err, OPTUNE_ETYPE, "task '%s' takes %d arguments, %d are given",
                           impl->name, positions, (int)json_array_size(args));
    for (int i = 0, at = 0; i < n && status >= 0; i++)
        if (!list[i].value[0])
            status = read_slot(call, &list[i], json_array_get(args, (size_t)at++), err);
    for (int i = 0; i < n && status >= 0; i++)
        if (list[i].value[0])
            status = read_implied(call, list, i, err);
    const optune_op_input *next = &op->inputs[call->n_inputs];
    if (status >= 0 && next->name && !next->optional)
        status = optune_fail(err, OPTUNE_ETYPE, "argument '%s' is missing", next->name);
    if (status >= 0) {
        plain_layout(call);
        status = ot_call_settle(call, NULL, err);
    }
    for (int i = 0, at = 0; i < n && status >= 0; i++)
        if (!list[i].value[0])
            status = check_output(call, &list[i], json_array_get(args, (size_t)at++), err);
    return status;
}
