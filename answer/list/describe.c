/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call told to who cannot look into its struct: its text, and the types of what it takes and
 * gives as JSON.
 */
#include <string.h>

#include "answer/list/list.h"
#include "base/fenv.h"
#include "call/call.h"
#include "optune/graph.h"

/* A size where it is known, else null. */
static json_t *shape_of(const optune_tensor *type)
{
    json_t *shape = type->rank < 0 ? json_null() : json_array();
    for (int i = 0; i < type->rank; i++)
        json_array_append_new(shape, type->dim[i].min == type->dim[i].max
                                         ? json_integer(type->dim[i].min)
                                         : json_null());
    return shape;
}

static json_t *type_of(const optune_tensor *type)
{
    ot_text text = {0}, dtype = {0};
    json_t *json = json_object();
    ot_tensor_print(type, &text);
    ot_text_add_n(&dtype, ot_text_str(&text), strcspn(ot_text_str(&text), "["));
    ot_set_text(json, "type", ot_text_str(&text));
    ot_set_text(json, "dtype", ot_text_str(&dtype));
    json_object_set_new(json, "shape", shape_of(type));
    ot_text_release(&text);
    ot_text_release(&dtype);
    return json;
}

int optune_call_describe(const optune_call *call, optune_result **result, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_call_check(call, err));
    OT_ENTER(err, {"result", result});
    *result = NULL;
    ot_text text = {0};
    json_t *json = json_object(), *inputs = json_array(), *outputs = json_array();
    ot_call_print(call, &text);
    ot_set_text(json, "call", ot_text_str(&text));
    ot_set_text(json, "op", call->op->name);
    for (int i = 0; i < optune_call_inputs(call); i++) {
        json_t *input = type_of(&call->input[i].type);
        ot_set_bool(input, "const", call->input[i].is_const);
        json_array_append_new(inputs, input);
    }
    for (int i = 0; i < call->n_outputs; i++)
        json_array_append_new(outputs, type_of(&call->output[i]));
    json_object_set_new(json, "inputs", inputs);
    json_object_set_new(json, "outputs", outputs);
    if (call->op->shape)
        ot_set_bool(json, "shape_function", true);
    *result = ot_result_new(text.s, json);
    return OPTUNE_OK;
}
