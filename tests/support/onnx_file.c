/* SPDX-License-Identifier: Apache-2.0 */
#include "support/onnx_file.h"

#include <ctype.h>
#include <math.h>

static void varint(ot_text *to, uint64_t value)
{
    do {
        const char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        ot_text_add_n(to, &byte, 1);
        value >>= 7;
    } while (value);
}

void wire_int(ot_text *to, int field, int64_t value)
{
    varint(to, (uint64_t)field << 3);
    varint(to, (uint64_t)value);
}

void wire_bytes(ot_text *to, int field, const void *data, size_t n)
{
    varint(to, (uint64_t)field << 3 | 2);
    varint(to, n);
    if (n)
        ot_text_add_n(to, data, n);
}

void wire_text(ot_text *to, int field, const char *text)
{
    wire_bytes(to, field, text, strlen(text));
}

void wire_part(ot_text *to, int field, ot_text *part)
{
    wire_bytes(to, field, ot_text_str(part), part->n);
    ot_text_release(part);
}

void wire_words(ot_text *to, int field, const char *list)
{
    while (*list) {
        const size_t n = strcspn(list, " ");
        wire_bytes(to, field, list, n == 1 && *list == '-' ? 0 : n);
        list += n + (list[n] == ' ');
    }
}

void onnx_node(ot_text *graph, const char *op, const char *name, const char *inputs,
               const char *outputs, ot_text *attrs)
{
    const char *colons = strstr(op, "::");
    ot_text node = {0};
    wire_words(&node, 1, inputs);
    wire_words(&node, 2, outputs);
    wire_text(&node, 3, name);
    wire_text(&node, 4, colons ? colons + 2 : op);
    if (attrs) {
        ot_text_add_n(&node, ot_text_str(attrs), attrs->n);
        ot_text_release(attrs);
    }
    if (colons)
        wire_bytes(&node, 7, op, (size_t)(colons - op));
    wire_part(graph, 1, &node);
}

void onnx_contrib(ot_text *graph, const char *op, const char *inputs, ot_text *attrs)
{
    char name[64];
    snprintf(name, sizeof name, "com.microsoft::%s", op);
    onnx_node(graph, name, "contrib", inputs, "y", attrs);
}

void attr_int(ot_text *attrs, const char *name, int64_t value)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    wire_int(&attr, 3, value);
    wire_int(&attr, 20, 2);
    wire_part(attrs, 5, &attr);
}

void attr_real(ot_text *attrs, const char *name, float value)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    ot_text_add_n(&attr, "\x15", 1); /* field 2, four bytes */
    ot_text_add_n(&attr, (const char *)&value, sizeof value);
    wire_int(&attr, 20, 1);
    wire_part(attrs, 5, &attr);
}

void attr_reals(ot_text *attrs, const char *name, int n, const float *value)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    for (int i = 0; i < n; i++) {
        ot_text_add_n(&attr, "\x3d", 1); /* field 7, four bytes */
        ot_text_add_n(&attr, (const char *)&value[i], sizeof value[i]);
    }
    wire_int(&attr, 20, 6);
    wire_part(attrs, 5, &attr);
}

void attr_text(ot_text *attrs, const char *name, const char *value)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    wire_text(&attr, 4, value);
    wire_int(&attr, 20, 3);
    wire_part(attrs, 5, &attr);
}

void attr_ints(ot_text *attrs, const char *name, int n, const int64_t *value)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    for (int i = 0; i < n; i++)
        wire_int(&attr, 8, value[i]);
    wire_int(&attr, 20, 7);
    wire_part(attrs, 5, &attr);
}

void attr_graph(ot_text *attrs, const char *name, ot_text *graph)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    wire_part(&attr, 6, graph);
    wire_int(&attr, 20, 5);
    wire_part(attrs, 5, &attr);
}

void attr_words(ot_text *attrs, const char *name, const char *list)
{
    ot_text attr = {0};
    wire_text(&attr, 1, name);
    wire_words(&attr, 9, list);
    wire_int(&attr, 20, 8);
    wire_part(attrs, 5, &attr);
}

static void value_info(ot_text *graph, int field, const char *name, int type, const char *dims)
{
    ot_text shape = {0}, tensor = {0}, whole = {0}, info = {0};
    while (*dims) {
        const size_t n = strcspn(dims, ",");
        ot_text dim = {0};
        if (isdigit((unsigned char)*dims) || *dims == '-')
            wire_int(&dim, 1, strtoll(dims, NULL, 10));
        else
            wire_bytes(&dim, 2, dims, n);
        wire_part(&shape, 1, &dim);
        dims += n + (dims[n] == ',');
    }
    wire_int(&tensor, 1, type);
    wire_part(&tensor, 2, &shape);
    wire_part(&whole, 1, &tensor);
    wire_text(&info, 1, name);
    wire_part(&info, 2, &whole);
    wire_part(graph, field, &info);
}

void onnx_input(ot_text *graph, const char *name, int type, const char *dims)
{
    value_info(graph, 11, name, type, dims);
}

void onnx_output(ot_text *graph, const char *name)
{
    value_info(graph, 12, name, ONNX_FLOAT, "");
}

void onnx_told(ot_text *graph, const char *name, int type, const char *dims)
{
    value_info(graph, 13, name, type, dims);
}

static void tensor_head(ot_text *tensor, const char *name, int type, const char *dims)
{
    for (; *dims; dims += strcspn(dims, ","), dims += *dims == ',')
        wire_int(tensor, 1, strtoll(dims, NULL, 10));
    wire_int(tensor, 2, type);
    wire_text(tensor, 8, name);
}

void onnx_initializer(ot_text *graph, const char *name, int type, const char *dims,
                      const void *data, size_t bytes)
{
    ot_text tensor = {0};
    tensor_head(&tensor, name, type, dims);
    wire_bytes(&tensor, 9, data, bytes);
    wire_part(graph, 5, &tensor);
}

static ot_text sparse(const char *name, const char *dims, int n, const float *value, int each,
                      const int64_t *place)
{
    ot_text all = {0}, values = {0}, places = {0};
    char count[32];
    snprintf(count, sizeof count, each == 1 ? "%d" : "%d,%d", n, each);
    tensor_head(&places, "", ONNX_INT64, count);
    wire_bytes(&places, 9, place, (size_t)(n * each) * sizeof *place);
    snprintf(count, sizeof count, "%d", n);
    tensor_head(&values, name, ONNX_FLOAT, count);
    wire_bytes(&values, 9, value, (size_t)n * sizeof *value);
    wire_part(&all, 1, &values);
    wire_part(&all, 2, &places);
    for (; *dims; dims += strcspn(dims, ","), dims += *dims == ',')
        wire_int(&all, 3, strtoll(dims, NULL, 10));
    return all;
}

void onnx_sparse(ot_text *graph, const char *name, const char *dims, int n, const float *value,
                 int each, const int64_t *place)
{
    ot_text all = sparse(name, dims, n, value, each, place);
    wire_part(graph, 15, &all);
}

void attr_sparse(ot_text *attrs, const char *name, const char *dims, int n, const float *value,
                 int each, const int64_t *place)
{
    ot_text attr = {0}, all = sparse("", dims, n, value, each, place);
    wire_text(&attr, 1, name);
    wire_part(&attr, 22, &all);
    wire_int(&attr, 20, 11);
    wire_part(attrs, 5, &attr);
}

static void entry(ot_text *tensor, const char *key, const char *value)
{
    ot_text pair = {0};
    wire_text(&pair, 1, key);
    wire_text(&pair, 2, value);
    wire_part(tensor, 13, &pair);
}

void onnx_external(ot_text *graph, const char *name, const char *dims, const char *location,
                   const char *offset)
{
    ot_text tensor = {0};
    tensor_head(&tensor, name, ONNX_FLOAT, dims);
    entry(&tensor, "location", location);
    entry(&tensor, "offset", offset);
    wire_int(&tensor, 14, 1);
    wire_part(graph, 5, &tensor);
}

void onnx_model(ot_text *graph, int64_t opset, ot_text *model)
{
    ot_text import = {0};
    ot_text_clear(model);
    wire_int(model, 1, 8);
    wire_part(model, 7, graph);
    wire_text(&import, 1, "");
    wire_int(&import, 2, opset);
    wire_part(model, 8, &import);
}

void onnx_small(ot_text *model)
{
    static const float weight[2][2] = {{1, 2}, {-1, 0.5f}}, bias[] = {0.5f, -0.5f};
    static const float gamma[] = {2, 1}, beta[] = {1, 0}, mean[] = {0.5f, 1}, var[] = {4, 1};
    static const float dense[18][2] = {{0.25f, 1}, {1, -1}, {0.5f, 0}};
    static const int64_t zero = 0, rest = -1;
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "batch,2,3,3");
    onnx_initializer(&g, "w", ONNX_FLOAT, "2,2,1,1", weight, sizeof weight);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", bias, sizeof bias);
    onnx_initializer(&g, "gamma", ONNX_FLOAT, "2", gamma, sizeof gamma);
    onnx_initializer(&g, "beta", ONNX_FLOAT, "2", beta, sizeof beta);
    onnx_initializer(&g, "mean", ONNX_FLOAT, "2", mean, sizeof mean);
    onnx_initializer(&g, "var", ONNX_FLOAT, "2", var, sizeof var);
    onnx_initializer(&g, "dense", ONNX_FLOAT, "18,2", dense, sizeof dense);
    onnx_initializer(&g, "zero", ONNX_INT64, "1", &zero, sizeof zero);
    onnx_initializer(&g, "rest", ONNX_INT64, "1", &rest, sizeof rest);
    onnx_node(&g, "Conv", "conv", "x w b", "c", NULL);
    onnx_node(&g, "BatchNormalization", "norm", "c gamma beta mean var", "n", NULL);
    onnx_node(&g, "Relu", "relu", "n", "r", NULL);
    onnx_node(&g, "Shape", "shape", "r", "s", NULL);
    onnx_node(&g, "Gather", "rows", "s zero", "rows", NULL);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "Concat", "flat", "rows rest", "flat", &attrs);
    onnx_node(&g, "Reshape", "reshape", "r flat", "f", NULL);
    onnx_node(&g, "Gemm", "gemm", "f dense b", "d", NULL);
    onnx_node(&g, "Softmax", "softmax", "d", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, model);
}

/* ---- files ------------------------------------------------------------------------------- */

char onnx_folder[256], onnx_path[512];

int onnx_make_folder(void **state)
{
    optune_err err = {0};
    (void)state;
    if (ot_temp_dir(onnx_folder, sizeof onnx_folder, &err) < 0)
        return -1;
    snprintf(onnx_path, sizeof onnx_path, "%s/model.onnx", onnx_folder);
    return 0;
}

int onnx_drop_folder(void **state)
{
    (void)state;
    ot_remove_tree(onnx_folder);
    return 0;
}

int onnx_read(ot_text *graph, int64_t opset, optune_graph **g, optune_err *told)
{
    optune_err err = {0};
    ot_text model = {0};
    onnx_output(graph, "y");
    onnx_model(graph, opset, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return optune_graph_read(onnx_path, g, told);
}

void onnx_gives(ot_text *graph, int64_t opset, const void *x, int n, const float *want,
                float within)
{
    optune_graph *g = NULL;
    optune_values *values = NULL;
    optune_err err = {0};
    if (onnx_read(graph, opset, &g, &err) < 0)
        fail_msg("%s", err.text);
    check_ok(optune_graph_evaluate(g, &x, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (got[i] != want[i] && !(fabsf(got[i] - want[i]) <= within * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, got[i], want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}
