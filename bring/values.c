/* SPDX-License-Identifier: Apache-2.0 */
/* What a file's names mean for one call and one config, and its formulas' values then. */
#include <math.h>
#include <string.h>

#include "bring/bring.h"

static ot_expr_value knob_value(const ot_brought_knob *knob, const optune_entity *entity)
{
    if (!entity)
        return knob->list.item[knob->standard];
    if (entity->scalar != OPTUNE_SCALAR_WORD)
        return (ot_expr_value){.kind = entity->scalar == OPTUNE_SCALAR_BOOL ? OT_VALUE_BOOL
                                                                            : OT_VALUE_INT,
                               .i = entity->v[0]};
    for (int i = 0; i < knob->list.n; i++)
        if (strcmp(knob->text[i], entity->word) == 0)
            return knob->list.item[i];
    return (ot_expr_value){0};
}

static const optune_entity *entity_of(const optune_config *config, const char *name, int guess)
{
    if (guess < config->n && strcmp(config->entity[guess].name, name) == 0)
        return &config->entity[guess];
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entity[i].name, name) == 0)
            return &config->entity[i];
    return NULL;
}

static ot_expr_value size_value(const ot_brought_size *size, const optune_call *call,
                                ot_expr_value *item)
{
    if (size->input >= 0) {
        const optune_tensor *type = &call->input[size->input].type;
        const bool known = type->rank > size->dim && optune_dim_known(&type->dim[size->dim]);
        return known ? ot_int_value(type->dim[size->dim].min) : (ot_expr_value){0};
    }
    const optune_attr *attr = &call->attr[size->dim];
    if (!size->list)
        return ot_int_value(attr->i[0]);
    for (int i = 0; i < attr->n; i++)
        item[i] = ot_int_value(attr->i[i]);
    return (ot_expr_value){.kind = OT_VALUE_LIST, .n = attr->n, .item = item};
}

void ot_values_of(const ot_brought *b, const optune_call *call, const optune_config *config,
                  ot_values *values)
{
    for (int i = 0; i < b->n_sizes; i++)
        values->value[i] = size_value(&b->size[i], call, values->item);
    for (int i = 0; i < b->n_knobs; i++)
        values->value[OT_BROUGHT_SIZES + i] =
            knob_value(&b->knob[i], config ? entity_of(config, b->knob[i].name, i) : NULL);
}

void ot_own_values(const ot_brought *b, ot_values *values)
{
    *values = (ot_values){0};
    for (int k = 0; k < b->n_sizes; k++) {
        for (int i = 0; i < b->size[k].n && b->size[k].list; i++)
            values->item[i] = ot_int_value(b->size[k].value[i]);
        values->value[k] = b->size[k].list ? (ot_expr_value){.kind = OT_VALUE_LIST,
                                                             .n = b->size[k].n,
                                                             .item = values->item}
                                           : ot_int_value(b->size[k].value[0]);
    }
    for (int k = 0; k < b->n_knobs; k++)
        values->value[OT_BROUGHT_SIZES + k] = b->knob[k].list;
}

bool ot_value_called(const ot_brought *b, const char *name, const ot_values *values,
                     ot_expr_value *value)
{
    for (int i = 0; i < b->n_sizes + b->n_knobs; i++) {
        const bool knob = i >= b->n_sizes;
        const int at = knob ? i - b->n_sizes : i;
        if (strcmp(knob ? b->knob[at].name : b->size[at].name, name) == 0) {
            *value = values->value[knob ? OT_BROUGHT_SIZES + at : at];
            return true;
        }
    }
    return false;
}

bool ot_brought_real(const ot_brought *b, const optune_entity *entity)
{
    for (int k = 0; k < b->n_knobs; k++) {
        const ot_brought_knob *knob = &b->knob[k];
        for (int i = 0; strcmp(knob->name, entity->name) == 0 && i < knob->list.n; i++)
            if (strcmp(knob->text[i], entity->word) == 0 &&
                knob->list.item[i].kind == OT_VALUE_REAL)
                return true;
    }
    return false;
}

int ot_formula_value(const ot_formula *f, const ot_values *values, ot_arena *arena,
                     ot_expr_value *value, optune_err *err)
{
    ot_expr_value of[OT_EXPR_MOST_NAMES];
    const char *const *name;
    const int n = ot_expr_names(f->expr, &name);
    for (int i = 0; i < n; i++)
        of[i] = values->value[f->slot[i]];
    return ot_expr_eval(f->expr, of, arena, value, err);
}

static int as_int(const ot_formula *f, const ot_expr_value *value, int64_t *to, optune_err *err)
{
    *to = 0;
    if (value->kind == OT_VALUE_INT || value->kind == OT_VALUE_BOOL)
        *to = value->i;
    else if (value->kind == OT_VALUE_REAL && fabs(value->f) < 0x1p53 &&
             value->f == (double)(int64_t)value->f)
        *to = (int64_t)value->f;
    else
        return ot_fail_at(f->expr->place, OPTUNE_ETYPE, err, "'%s' is %s, not an integer",
                          f->expr->text, ot_value_kind_name(value->kind));
    return OPTUNE_OK;
}

int ot_formula_int(const ot_formula *f, const ot_values *values, int64_t *value,
                   optune_err *err)
{
    ot_arena arena = {0};
    ot_expr_value result;
    int status = ot_formula_value(f, values, &arena, &result, err);
    if (status >= 0)
        status = as_int(f, &result, value, err);
    ot_arena_release(&arena);
    return status;
}

int ot_formula_three(const ot_formula *f, const ot_values *values, int64_t value[3],
                     optune_err *err)
{
    ot_arena arena = {0};
    ot_expr_value result;
    value[0] = value[1] = value[2] = 1;
    int status = ot_formula_value(f, values, &arena, &result, err);
    if (status >= 0 && result.kind != OT_VALUE_LIST)
        status = as_int(f, &result, &value[0], err);
    else if (status >= 0 && (result.n < 1 || result.n > 3))
        status = ot_fail_at(f->expr->place, OPTUNE_EUSAGE, err,
                            "'%s' has %d numbers, not one to three", f->expr->text, result.n);
    else if (status >= 0)
        for (int i = 0; i < result.n && status >= 0; i++) {
            optune_err inner = {0};
            status = as_int(f, &result.item[i], &value[i], &inner);
            if (status < 0)
                status = ot_fail_at(f->expr->place, status, err,
                                    "number %d of '%s' is %s, not an integer", i + 1,
                                    f->expr->text, ot_value_kind_name(result.item[i].kind));
        }
    ot_arena_release(&arena);
    return status;
}
