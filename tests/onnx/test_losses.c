/* SPDX-License-Identifier: Apache-2.0 */
/* The losses that models exported for training end in, worked out by hand. */
#include "graph/graph.h"
#include "support/onnx_file.h"

static void logarithms(void **state)
{
    static const float x[] = {-1, -2, -4, -8, -16, -32}, weight[] = {1, 2, 3};
    static const int64_t class[] = {2, -1}, all[] = {2, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        static const float want[] = {(12 + 32) / 5.f, 4, 12, (4 + 16) / 2.f};
        onnx_input(&g, "x", ONNX_FLOAT, "2,3");
        onnx_initializer(&g, "c", ONNX_INT64, "2", i % 3 ? class : all, sizeof class);
        onnx_initializer(&g, "w", ONNX_FLOAT, "3", weight, sizeof weight);
        if (i % 3)
            attr_int(&attrs, "ignore_index", -1);
        if (i == 2)
            attr_text(&attrs, "reduction", "sum");
        onnx_node(&g, "NegativeLogLikelihoodLoss", "l", i == 3 || i == 1 ? "x c" : "x c w", "y",
                  &attrs);
        onnx_gives(&g, 17, x, 1, &want[i], 1e-6f);
    }
    ot_text_release(&attrs);
}

static void scores(void **state)
{
    static const float x[] = {0, 0, 1.09861229f, 0};
    static const int64_t class[] = {1, 0};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int each = 0; each < 2; each++) {
        onnx_input(&g, "x", ONNX_FLOAT, "2,2");
        onnx_initializer(&g, "c", ONNX_INT64, "2", class, sizeof class);
        if (each)
            attr_text(&attrs, "reduction", "none");
        onnx_node(&g, "SoftmaxCrossEntropyLoss", "l", "x c", "y", &attrs);
        onnx_gives(&g, 17, x, each ? 2 : 1,
                   each ? (const float[]){0.69314718f, 0.28768207f}
                        : (const float[]){0.49041463f},
                   1e-6f);
    }
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms),
        cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
