/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of 4 and 8 bits in models: MatMulNBits, and DequantizeLinear before a product, whose
 * weight never becomes floats. Numbers are worked out by hand.
 */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { UINT8 = 2, INT8 = 3, UINT4 = 21, INT4 = 22 };

static int reads(ot_text *graph, optune_graph **g, optune_err *err)
{
    char path[512];
    ot_text model = {0};
    *err = (optune_err){0};
    onnx_output(graph, "y");
    onnx_model(graph, 21, &model);
    snprintf(path, sizeof path, "%s/nbits.onnx", onnx_folder);
    assert_true(ot_write_file(path, ot_text_str(&model), model.n, err) >= 0);
    ot_text_release(&model);
    return optune_graph_read(path, g, err);
}

/* The graph, emptied: one call of `op` among its calls, and these numbers. */
static void gives(ot_text *graph, const char *op, const float *x, int n, const float *want)
{
    optune_values *values = NULL;
    optune_graph *g = NULL;
    optune_err err;
    const void *in[] = {x};
    bool found = false;
    check_ok(reads(graph, &g, &err));
    for (int i = 0; i < g->n; i++)
        found = found ||
                (g->node[i].kind == OT_NODE_CALL && strcmp(g->node[i].call->op->name, op) == 0);
    if (!found)
        fail_msg("no call of %s", op);
    check_ok(optune_graph_evaluate(g, in, NULL, &values, &err));
    assert_int_equal(optune_tensor_elements(optune_values_type(values, 0)), n);
    const float *got = optune_values_data(values, 0);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
    optune_values_free(values);
    optune_graph_close(g);
}

static void refused(ot_text *graph, const char *why)
{
    optune_graph *g = NULL;
    optune_err err;
    assert_true(reads(graph, &g, &err) < 0);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

/* x [1,18], a weight of two rows in two groups of 16, the second of which has two elements. */
static void two_rows(ot_text *g, ot_text *attrs, int64_t bits, const uint8_t *weight)
{
    static const float scale[] = {1, 10, 2, 20};
    onnx_input(g, "x", ONNX_FLOAT, "1,18");
    onnx_initializer(g, "w", UINT8, bits == 4 ? "2,2,8" : "2,2,16", weight,
                     bits == 4 ? 32 : 64);
    onnx_initializer(g, "s", ONNX_FLOAT, "4", scale, sizeof scale);
    attr_int(attrs, "K", 18);
    attr_int(attrs, "N", 2);
    attr_int(attrs, "bits", bits);
    attr_int(attrs, "block_size", 16);
}

static void nbits(void **state)
{
    ot_text g = {0}, attrs = {0};
    uint8_t w4[32], w8[64];
    float x[18] = {0};
    (void)state;
    memset(w4, 0x88, sizeof w4);
    memset(w8, 128, sizeof w8);
    w4[0] = 0x1f;  /* row 0: 15 and 1: 7 and -7 of the middle */
    w4[8] = 0x9a;  /* its second group: 2 and 1 */
    w4[9] = 0xff;  /* behind K, which means nothing */
    w4[24] = 0x08; /* row 1: 0 and -8 */
    w8[0] = 255, w8[1] = 1, w8[16] = 130, w8[17] = 129, w8[18] = 255, w8[48 + 1] = 0;
    x[0] = 1, x[1] = 2, x[16] = 3, x[17] = 4;
    two_rows(&g, &attrs, 4, w4);
    onnx_contrib(&g, "MatMulNBits", "x w s", &attrs);
    gives(&g, "dense_nbits", x, 2, (float[]){7 - 14 + 10 * (6 + 4), 20 * -32});

    two_rows(&g, &attrs, 8, w8);
    onnx_contrib(&g, "MatMulNBits", "x w s", &attrs);
    gives(&g, "dense_nbits", x, 2, (float[]){127 - 254 + 10 * (6 + 4), 20 * 4 * -128});

    /* zero points 15 and 0, 8 and 1; a bias behind inputs that are left out */
    two_rows(&g, &attrs, 4, w4);
    onnx_initializer(&g, "z", UINT8, "2", (uint8_t[]){0x0f, 0x18}, 2);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", (float[]){100, 200}, 8);
    onnx_contrib(&g, "MatMulNBits", "x w s z - b", &attrs);
    const float row0 = 0 - 14 * 2 + 10 * (3 * 10 + 4 * 9) + 100;
    const float row1 = 20 * (3 * 7 + 4 * -1) + 200;
    gives(&g, "dense_nbits", x, 2, (float[]){row0, row1});

    two_rows(&g, &attrs, 4, w4);
    onnx_initializer(&g, "order", 6, "18", (int32_t[18]){0}, 72);
    onnx_contrib(&g, "MatMulNBits", "x w s - order", &attrs);
    refused(&g, "g_idx");
    two_rows(&g, &attrs, 4, w4);
    onnx_initializer(&g, "z", UINT8, "3", (uint8_t[]){1, 2, 3}, 3);
    onnx_contrib(&g, "MatMulNBits", "x w s z", &attrs);
    refused(&g, "3 zero points for 2 rows of 1");
    two_rows(&g, &attrs, 2, w8);
    onnx_contrib(&g, "MatMulNBits", "x w s", &attrs);
    refused(&g, "2 bits");
    ot_text_release(&g);
    ot_text_release(&attrs);
}

/* x [1,4] times a weight of 4 bits, dequantised in blocks of two along K. */
static void dequantised(void **state)
{
    ot_text g = {0}, attrs = {0};
    const float x[] = {1, 2, 3, 4}, scale[] = {1, 10, 100, 1000};
    (void)state;
    /* [K,N] = [4,2]: 1 -1, 7 -8 | 2 3, -2 0 */
    static const uint8_t by_column[] = {0xf1, 0x87, 0x32, 0x0e};
    onnx_input(&g, "x", ONNX_FLOAT, "1,4");
    onnx_initializer(&g, "w", INT4, "4,2", by_column, 4);
    onnx_initializer(&g, "s", ONNX_FLOAT, "2,2", scale, sizeof scale);
    attr_int(&attrs, "axis", 0);
    attr_int(&attrs, "block_size", 2);
    onnx_node(&g, "DequantizeLinear", "d", "w s", "d", &attrs);
    onnx_node(&g, "MatMul", "y", "x d", "y", NULL);
    gives(&g, "dense_nbits", x, 2,
          (float[]){1 + 14 + 100 * (6 - 8), 10 * (-1 - 16) + 1000 * 9});

    /* [N,K] = [2,4] unsigned, its zero 0; Gemm with factors and a bias */
    static const uint8_t by_row[] = {0x71, 0xf2, 0x80, 0x03};
    onnx_input(&g, "x", ONNX_FLOAT, "1,4");
    onnx_initializer(&g, "w", UINT4, "2,4", by_row, 4);
    onnx_initializer(&g, "s", ONNX_FLOAT, "2", scale, 8);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", (float[]){5, 6}, 8);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "DequantizeLinear", "d", "w s", "d", &attrs);
    attr_int(&attrs, "transB", 1);
    attr_real(&attrs, "alpha", 2);
    onnx_node(&g, "Gemm", "y", "x d b", "y", &attrs);
    gives(&g, "dense_nbits", x, 2, (float[]){2 * (1 + 14 + 6 + 60) + 5, 2 * 10 * (16 + 9) + 6});

    /* two readers: it is folded, in blocks all the same */
    onnx_input(&g, "x", ONNX_FLOAT, "1,4");
    onnx_initializer(&g, "w", INT4, "4,2", by_column, 4);
    onnx_initializer(&g, "s", ONNX_FLOAT, "2,2", scale, sizeof scale);
    attr_int(&attrs, "axis", 0);
    attr_int(&attrs, "block_size", 2);
    onnx_node(&g, "DequantizeLinear", "d", "w s", "d", &attrs);
    onnx_node(&g, "MatMul", "p", "x d", "p", NULL);
    onnx_node(&g, "MatMul", "q", "x d", "q", NULL);
    onnx_node(&g, "Add", "y", "p q", "y", NULL);
    gives(&g, "dense", x, 2,
          (float[]){2 * (1 + 14 + 100 * (6 - 8)), 2 * (10 * (-1 - 16) + 1000 * 9)});

    onnx_input(&g, "x", ONNX_FLOAT, "1,4");
    onnx_initializer(&g, "w", INT4, "4,2", by_column, 4);
    onnx_node(&g, "Cast", "c", "w", "c", NULL);
    onnx_node(&g, "MatMul", "y", "x c", "y", NULL);
    refused(&g, "4 bits, which DequantizeLinear and GatherBlockQuantized alone read");
    ot_text_release(&g);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nbits),
        cmocka_unit_test(dequantised),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
