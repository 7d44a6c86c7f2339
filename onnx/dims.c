/* SPDX-License-Identifier: Apache-2.0 */
/* Dims of a model's inputs: what symbolic ones are called here, and which of them are bound. */
#include <ctype.h>
#include <string.h>

#include "onnx/onnx.h"

static bool dim_given(const ot_onnx_dim *dim)
{
    return dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
           dim->dim_value >= 0; /* some exporters write -1 for what is open */
}

const ot_onnx_dim_name *ot_onnx_dim_named(const ot_onnx *m, const char *name)
{
    for (int i = 0; i < m->dims.n; i++) {
        const ot_onnx_dim_name *dim = m->dims.row[i];
        if (!strcmp(dim->name, name))
            return dim;
    }
    return NULL;
}

/* A name that says something: some exporters write "?" for each dim that is open. */
static bool says_something(const char *name)
{
    for (; *name; name++)
        if (isalnum((unsigned char)*name))
            return true;
    return false;
}

/* What a dim is called in the graph: the file's name, or the input's and the dim's number; as much
 * of it as a name holds, its end counted up where two would be one. */
static const ot_onnx_dim_name *dim_name(ot_onnx *m, const ot_onnx_dim *dim, const char *input,
                                        int d)
{
    const bool named =
        dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        dim->dim_param && says_something(dim->dim_param);
    const char *whole = named ? dim->dim_param : ot_arena_printf(&m->arena, "%s\n%d", input, d);
    const int *at = ot_names_find(&m->dim_names, whole);
    if (at)
        return m->dims.row[*at];
    char name[OPTUNE_DIM_NAME_SIZE];
    if (named)
        snprintf(name, OPTUNE_DIM_NAME_SIZE, "%.15s", dim->dim_param);
    else
        snprintf(name, OPTUNE_DIM_NAME_SIZE, "%.12s_%d", input, d % 10);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    if (isdigit((unsigned char)*name))
        *name = 'n';
    const int most = OPTUNE_DIM_NAME_SIZE - 6, end = (int)strlen(name);
    for (int k = 2; ot_onnx_dim_named(m, name) && k < 10000; k++)
        snprintf(name + (end < most ? end : most), 6, "_%d", k % 10000);
    ot_onnx_dim_name *called = ot_arena_alloc(&m->arena, sizeof *called);
    memcpy(called->name, name, sizeof name);
    called->whole = named ? whole : NULL;
    ot_names_add(&m->dim_names, whole, m->dims.n);
    ot_rows_push(&m->dims, called);
    if (named && strcmp(name, whole)) { /* who bounds it later may call it so, too */
        ot_dim_called *told = ot_arena_alloc(&m->g->arena, sizeof *told);
        told->next = m->g->called;
        told->whole = ot_arena_copy(&m->g->arena, whole);
        memcpy(told->name, name, sizeof name);
        m->g->called = told;
    }
    return called;
}

const optune_binding *ot_onnx_bound(const ot_onnx *m, const char *name)
{
    for (int i = 0; i < m->n_bind; i++)
        if (!strcmp(m->bind[i].dim, name))
            return &m->bind[i];
    return NULL;
}

/* By the file's name or by the one that it has here. */
static const optune_binding *binding_of(const ot_onnx *m, const ot_onnx_dim_name *dim)
{
    const optune_binding *bound = dim->whole ? ot_onnx_bound(m, dim->whole) : NULL;
    return bound ? bound : ot_onnx_bound(m, dim->name);
}

int ot_onnx_shape(ot_onnx *m, const Onnx__TensorShapeProto *shape, const char *input,
                  optune_tensor *type, optune_err *err)
{
    if (shape->n_dim > OPTUNE_MAX_RANK)
        return optune_fail(err, OPTUNE_ELIMIT, "%zu dims, more than %d", shape->n_dim,
                           OPTUNE_MAX_RANK);
    type->rank = (int)shape->n_dim;
    for (int d = 0; d < type->rank; d++) {
        const ot_onnx_dim *dim = shape->dim[d];
        int64_t value = dim->dim_value;
        if (!dim_given(dim)) {
            const ot_onnx_dim_name *name = dim_name(m, dim, input, d);
            const optune_binding *bound = binding_of(m, name);
            value = bound ? bound->value : -1;
            if (!bound) {
                type->dim[d] = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
                memcpy(type->dim[d].name, name->name, OPTUNE_DIM_NAME_SIZE);
                continue;
            }
        }
        if (value < 0 || value > OPTUNE_MAX_DIM)
            return optune_fail(err, OPTUNE_ELIMIT, "a dim of %lld", (long long)value);
        type->dim[d] = optune_dim_of(value);
    }
    return ot_tensor_fits(type) ? OPTUNE_OK
                                : optune_fail(err, OPTUNE_ELIMIT, "its dims overflow");
}

static void name_each(ot_onnx *m, const ot_onnx_info *info)
{
    const Onnx__TypeProto *type = info->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !type->tensor_type->shape)
        return;
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    for (size_t d = 0; d < shape->n_dim && d < OPTUNE_MAX_RANK; d++)
        if (!dim_given(shape->dim[d]))
            dim_name(m, shape->dim[d], ot_onnx_text_of(info->name), (int)d);
}

/* All symbolic dims of the inputs, in the order of the file, get their names; of a part of a model
 * those of values that may become inputs, too. */
static void name_all(ot_onnx *m)
{
    const ot_onnx_graph *g = m->model->graph;
    for (size_t i = 0; i < g->n_input; i++)
        name_each(m, g->input[i]);
    for (size_t i = 0; m->partial && i < g->n_value_info; i++)
        name_each(m, g->value_info[i]);
}

/* Whether a binding names an input that is one integer, whose value it then is. */
static bool names_number(const ot_onnx *m, const char *name)
{
    const ot_onnx_graph *g = m->model->graph;
    for (size_t i = 0; i < g->n_input; i++)
        if (!strcmp(ot_onnx_text_of(g->input[i]->name), name))
            return true;
    return false;
}

static bool names_dim(const ot_onnx *m, const char *name)
{
    for (int i = 0; i < m->dims.n; i++) {
        const ot_onnx_dim_name *dim = m->dims.row[i];
        if (!strcmp(dim->name, name) || (dim->whole && !strcmp(dim->whole, name)))
            return true;
    }
    return false;
}

int ot_onnx_name_dims(ot_onnx *m, optune_err *err)
{
    const char *names[64];
    int n = 0;
    name_all(m);
    for (; n < m->dims.n && n < OT_COUNT(names); n++)
        names[n] = ot_onnx_called(m->dims.row[n]);
    for (int b = 0; b < m->n_bind; b++) {
        const optune_binding *bind = &m->bind[b];
        if (!names_dim(m, bind->dim) && !names_number(m, bind->dim))
            return ot_no_such(err, "symbolic dim", bind->dim, names, n);
        OT_RETURN_UNLESS_OK(ot_graph_bound_before(m->g, bind->dim, err));
        ot_graph_note_bound(m->g, bind->dim, bind->value);
    }
    return OPTUNE_OK;
}
