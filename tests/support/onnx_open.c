/* SPDX-License-Identifier: Apache-2.0 */
#include "support/onnx_open.h"

#include <math.h>
#include <stdlib.h>

#include "answer/answer.h"

const char *onnx_saved(ot_text *graph)
{
    static char path[512];
    ot_text model = {0};
    optune_err err = {0};
    onnx_model(graph, 13, &model);
    snprintf(path, sizeof path, "%s/sizes.onnx", onnx_folder);
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return path;
}

/* The graph at the sizes that the inputs of `bound` have. */
static optune_values *evaluate(const optune_graph *g, const optune_graph *bound)
{
    optune_err err = {0};
    optune_values *values = NULL;
    optune_tensor type[8];
    void *in[8];
    const int n = optune_graph_inputs(bound);
    assert_true(n <= OT_COUNT(in));
    for (int k = 0; k < n; k++) {
        type[k] = *optune_graph_input_type(bound, k);
        float *x = in[k] = ot_alloc((size_t)optune_tensor_bytes(&type[k]) + 1);
        for (int64_t i = 0; i < optune_tensor_elements(&type[k]); i++)
            x[i] = (float)((i + k) * 37 % 101) / 50 - 1;
    }
    check_ok(optune_graph_evaluate(g, (const void *const *)in, type, &values, &err));
    for (int k = 0; k < n; k++)
        free(in[k]);
    return values;
}

void onnx_same_at(const char *path, const optune_binding *dims, int n)
{
    optune_err err = {0};
    optune_graph *open = NULL, *bound = NULL;
    check_ok(optune_graph_read(path, &open, &err));
    check_ok(optune_graph_read_bound(path, dims, n, &bound, &err));
    for (int i = 0; i < n; i++)
        check_ok(optune_graph_bound(open, dims[i].dim, 1, 64, &err));
    check_ok(optune_graph_infer(open, &err));
    optune_values *a = evaluate(open, bound), *b = evaluate(bound, bound);
    assert_int_equal(optune_graph_outputs(open), optune_graph_outputs(bound));
    for (int k = 0; k < optune_graph_outputs(bound); k++) {
        const optune_tensor *want = optune_values_type(b, k), *is = optune_values_type(a, k);
        assert_int_equal(is->rank, want->rank);
        for (int d = 0; d < want->rank; d++)
            assert_int_equal(is->dim[d].min, want->dim[d].min);
        const float *x = optune_values_data(a, k), *y = optune_values_data(b, k);
        for (int64_t i = 0; i < optune_tensor_elements(want); i++)
            assert_true(fabs((double)x[i] - (double)y[i]) <= 1e-5);
    }
    optune_values_free(a);
    optune_values_free(b);
    optune_graph_close(open);
    optune_graph_close(bound);
}

void onnx_refused(ot_text *graph, const char *why)
{
    optune_err err = {0};
    optune_graph *read = NULL;
    onnx_output(graph, "y");
    assert_true(onnx_read(graph, 13, &read, &err) < 0);
    check_contains(err.text, why);
}

void onnx_ints(ot_text *graph, const char *name, int n, const int64_t *value)
{
    char dims[16] = "";
    if (n)
        snprintf(dims, sizeof dims, "%d", n);
    onnx_initializer(graph, name, ONNX_INT64, dims, value, (size_t)(n ? n : 1) * sizeof *value);
}

void onnx_floats(ot_text *graph, const char *name, const char *dims, int n)
{
    float value[256];
    assert_true(n <= OT_COUNT(value));
    for (int i = 0; i < n; i++)
        value[i] = (float)(i % 7) - 3;
    onnx_initializer(graph, name, ONNX_FLOAT, dims, value, (size_t)n * sizeof *value);
}
