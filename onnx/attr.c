/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes, and constants that stand in for them. */
#include <string.h>

#include "onnx/onnx.h"

const ot_onnx_attr *ot_onnx_attr_of(const ot_onnx_node *n, const char *name)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (n->proto->attribute[i]->name && !strcmp(n->proto->attribute[i]->name, name))
            return n->proto->attribute[i];
    return NULL;
}

/* Writers of a later form of the format leave out what is 0, so that its type alone is there. */
int64_t ot_onnx_int(const ot_onnx_node *n, const char *name, int64_t otherwise)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    const bool typed = attr && attr->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    return attr && (attr->has_i || typed) ? attr->i : otherwise;
}

double ot_onnx_real(const ot_onnx_node *n, const char *name, double otherwise)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    const bool typed = attr && attr->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    return attr && (attr->has_f || typed) ? (double)attr->f : otherwise;
}

const char *ot_onnx_word(const ot_onnx_node *n, const char *name, const char *otherwise)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    if (!attr || !attr->has_s)
        return otherwise;
    char *word = ot_arena_alloc(&n->m->arena, attr->s.len + 1);
    if (attr->s.len)
        memcpy(word, attr->s.data, attr->s.len);
    return word;
}

int ot_onnx_ints(ot_onnx_node *n, const char *name, ot_onnx_list *list)
{
    const ot_onnx_attr *attr = ot_onnx_attr_of(n, name);
    list->n = 0;
    if (!attr)
        return 0;
    if (attr->n_ints > OT_ONNX_LIST)
        return ot_onnx_refuse(n, "attribute '%s' has %zu values, more than %d", name,
                              attr->n_ints, (int)OT_ONNX_LIST);
    for (size_t i = 0; i < attr->n_ints; i++)
        list->i[list->n++] = attr->ints[i];
    return 1;
}

int ot_onnx_list_of(ot_onnx_node *n, const ot_onnx_value *value, const char *what,
                    ot_onnx_list *list)
{
    if (!value->data)
        return ot_onnx_refuse(n,
                              "'%s' depends on what the model is given; it must be a constant "
                              "(bind symbolic dims with --bind DIM=N)",
                              what);
    const optune_tensor *type = &value->type;
    const int64_t elements = optune_tensor_elements(type);
    const bool wide = type->dtype.bits == 64, integer = type->dtype.code == OPTUNE_DTYPE_INT;
    if (!integer || (!wide && type->dtype.bits != 32) || elements > OT_ONNX_LIST)
        return ot_onnx_refuse(n, "'%s' is no list of at most %d integers", what,
                              (int)OT_ONNX_LIST);
    list->n = (int)elements;
    for (int i = 0; i < list->n; i++)
        list->i[i] =
            wide ? ((const int64_t *)value->data)[i] : ((const int32_t *)value->data)[i];
    return 1;
}

int ot_onnx_list_at(ot_onnx_node *n, const char *name, int i, ot_onnx_list *list)
{
    const int there = ot_onnx_ints(n, name, list);
    const ot_onnx_value *value = there ? NULL : ot_onnx_in(n, i);
    return value ? ot_onnx_list_of(n, value, name, list) : there;
}

const char *ot_onnx_text(ot_onnx *m, int n, const int64_t *list)
{
    ot_text text = {0};
    for (int i = 0; i < n; i++)
        ot_text_printf(&text, "%s%lld", i ? "," : "", (long long)list[i]);
    const char *kept = ot_arena_copy(&m->arena, ot_text_str(&text));
    ot_text_release(&text);
    return kept;
}
