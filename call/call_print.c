/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call to canonical text. Two calls are the same question exactly when their texts are equal,
 * and the text parses back to the same call: inputs with `const` when they are, with `var` when
 * the operator would take them for const; attributes in the operator's order, those at their
 * default left out unless the operator always shows them; then what is fused, ` -> ` each.
 */
#include <string.h>

#include "call/inside.h"

void ot_dim_print(const optune_dim *dim, ot_text *to)
{
    if (optune_dim_known(dim)) {
        ot_text_add_int(to, dim->min);
        return;
    }
    ot_text_add(to, "?");
    ot_text_add(to, optune_dim_text(dim));
    if (dim->min == 0 && dim->max == OPTUNE_DIM_MAX)
        return;
    ot_text_add(to, ":");
    ot_text_add_int(to, dim->min);
    ot_text_add(to, "..");
    if (dim->max != OPTUNE_DIM_MAX)
        ot_text_add_int(to, dim->max);
}

void ot_tensor_print(const optune_tensor *type, ot_text *to)
{
    char dtype[OPTUNE_WORD_SIZE] = "?";
    if (type->dtype.code != OPTUNE_DTYPE_UNKNOWN)
        ot_print_dtype(type->dtype, dtype, sizeof dtype);
    ot_text_add(to, dtype);
    if (type->rank < 0) {
        if (type->dtype.code != OPTUNE_DTYPE_UNKNOWN)
            ot_text_add(to, "[...]");
        return;
    }
    ot_text_add(to, "[");
    for (int i = 0; i < type->rank; i++) {
        if (i > 0)
            ot_text_add(to, ",");
        ot_dim_print(&type->dim[i], to);
    }
    ot_text_add(to, "]");
}

void ot_attr_print(const optune_attr *attr, ot_text *to)
{
    ot_text_add(to, attr->name);
    ot_text_add(to, "=");
    switch (attr->kind) {
    case OPTUNE_ATTR_FLOAT:
        ot_text_add_real(to, attr->f);
        break;
    case OPTUNE_ATTR_BOOL:
        ot_text_add(to, attr->i[0] ? "true" : "false");
        break;
    case OPTUNE_ATTR_WORD:
        ot_text_add(to, attr->word[0] ? attr->word : "\"\"");
        break;
    case OPTUNE_ATTR_INTS:
        for (int i = 0; i < attr->n; i++) {
            ot_text_add(to, i ? "," : "[");
            ot_text_add_int(to, attr->i[i]);
        }
        ot_text_add(to, attr->n ? "]" : "[]");
        break;
    case OPTUNE_ATTR_DTYPE: {
        char dtype[OPTUNE_WORD_SIZE] = "?";
        if (attr->dtype.code != OPTUNE_DTYPE_UNKNOWN)
            ot_print_dtype(attr->dtype, dtype, sizeof dtype);
        ot_text_add(to, dtype);
        break;
    }
    default:
        if (attr->none)
            ot_text_add(to, "none");
        else
            ot_text_add_int(to, attr->i[0]);
    }
}

bool ot_attr_shown(const optune_op_attr *row, const optune_attr *attr)
{
    optune_attr left_out;
    if (attr->kind == OPTUNE_ATTR_WORD && row->kind == OPTUNE_ATTR_WORD && row->value)
        return row->shown || strcmp(attr->word, ot_attr_word(row->value)) != 0;
    return row->shown || !row->value || ot_attr_default(row, &left_out, NULL) < 0 ||
           !ot_attr_equal(attr, &left_out);
}

static void print_input(const optune_input *input, bool const_by_default, ot_text *to)
{
    if (input->is_const)
        ot_text_add(to, "const ");
    else if (const_by_default)
        ot_text_add(to, "var ");
    ot_tensor_print(&input->type, to);
}

static void print_attrs(const optune_op *op, const optune_attr *attr, int n,
                        const char *between, ot_text *to)
{
    for (int i = 0; i < n; i++) {
        if (!ot_attr_shown(ot_op_attr_at(op, i), &attr[i]))
            continue;
        ot_text_add(to, between);
        ot_attr_print(&attr[i], to);
        between = ", ";
    }
    ot_text_add(to, ")");
}

/* `_` is the value of what comes before; it goes without saying where it is the first input. */
static void print_epilogue(const optune_call *call, const optune_epilogue *e, ot_text *to)
{
    const char *between = "";
    ot_text_add(to, " -> ");
    ot_text_add(to, e->op->name);
    ot_text_add(to, "(");
    for (int i = 0, from = e->extra; i <= e->n_extra; i++) {
        if (i == 0 && e->chain == 0)
            continue;
        ot_text_add(to, between);
        if (i == e->chain)
            ot_text_add(to, "_");
        else
            print_input(&call->input[from++], e->op->inputs[i].is_const, to);
        between = ", ";
    }
    print_attrs(e->op, e->attr, e->n_attrs, between, to);
}

void ot_call_print(const optune_call *call, ot_text *to)
{
    ot_text_add(to, call->op->name);
    ot_text_add(to, "(");
    for (int i = 0; i < call->n_inputs; i++) {
        ot_text_add(to, i ? ", " : "");
        print_input(&call->input[i], call->op->inputs[i].is_const, to);
    }
    print_attrs(call->op, call->attr, call->n_attrs, call->n_inputs ? ", " : "", to);
    for (int i = 0; i < call->n_epilogues; i++)
        print_epilogue(call, &call->epilogue[i], to);
}
