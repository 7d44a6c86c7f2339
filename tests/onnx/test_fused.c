/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What onnxruntime's optimizers make of several nodes, as one: in transformers, in diffusion
 * models, and the activation behind a product or a convolution. Numbers are worked out by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

static const float x4[] = {1, -2, 0.5f, 3}, own[] = {1, -1, 1, 3};

/* What an optimizer makes of several nodes: sums in front of an activation or a normalisation,
 * products of turned matrices, a convolution with what is behind it. */
static void several_nodes_as_one(void **state)
{
    static const float bias[] = {1, -1}, one[] = {1, 1}, square[] = {1, 3, 2, 4};
    static const float pair[] = {3, -1, 5, 1}, w[] = {2};
    ot_text g = {0}, attrs = {0};
    float want[4];
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", bias, sizeof bias);
    onnx_contrib(&g, "BiasGelu", "x b", &attrs);
    for (int i = 0; i < 4; i++) {
        const double v = (double)x4[i] + (double)bias[i % 2];
        want[i] = (float)(v / 2 * (1 + erf(v / sqrt(2))));
    }
    onnx_gives(&g, 17, x4, 4, want, 1e-6f);
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_contrib(&g, "QuickGelu", "x", &attrs);
    for (int i = 0; i < 4; i++)
        want[i] = (float)((double)x4[i] / (1 + exp(-1.702 * (double)x4[i])));
    onnx_gives(&g, 17, x4, 4, want, 1e-6f);
    /* x transposed times [1 2; 3 4], twice */
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "m", ONNX_FLOAT, "2,2", square, sizeof square);
    attr_int(&attrs, "transA", 1);
    attr_int(&attrs, "transB", 1);
    attr_real(&attrs, "alpha", 2);
    onnx_contrib(&g, "FusedMatMul", "x m", &attrs);
    onnx_gives(&g, 17, x4, 4, (const float[]){5, 8, 14, 16}, 1e-6f);
    /* its first dim goes behind the batch's: [2,1,2] as [1,2,2] */
    onnx_input(&g, "x", ONNX_FLOAT, "2,1,2");
    onnx_initializer(&g, "m", ONNX_FLOAT, "2,2", square, sizeof square);
    attr_int(&attrs, "transBatchA", 1);
    attr_int(&attrs, "transA", 1);
    attr_int(&attrs, "transB", 1);
    onnx_contrib(&g, "FusedMatMul", "x m", &attrs);
    onnx_gives(&g, 17, x4, 4, (const float[]){2.5f, 4, 7, 8}, 1e-6f);
    /* rows 4 -2 and 6 2 over their deviations of 3 and 2, from their means */
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "skip", ONNX_FLOAT, "2,2", pair, sizeof pair);
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", one, sizeof one);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", bias, sizeof bias);
    attr_real(&attrs, "epsilon", 0);
    onnx_contrib(&g, "SkipLayerNormalization", "x skip scale b", &attrs);
    onnx_gives(&g, 17, x4, 4, (const float[]){2, -2, 2, -2}, 1e-5f);
    /* without an epsilon 1e-12 */
    onnx_input(&g, "x", ONNX_FLOAT, "1,2");
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", one, sizeof one);
    onnx_contrib(&g, "SkipLayerNormalization", "x x scale", &attrs);
    onnx_gives(&g, 17, (const float[]){1e-4f, -1e-4f}, 2, (const float[]){1, -1}, 1e-4f);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,1,1", w, sizeof w);
    onnx_initializer(&g, "more", ONNX_FLOAT, "1,1,2,2", pair, sizeof pair);
    attr_text(&attrs, "activation", "Relu");
    onnx_contrib(&g, "FusedConv", "x w - more", &attrs);
    onnx_gives(&g, 17, x4, 4, (const float[]){5, 0, 6, 7}, 1e-6f);
    ot_text_release(&attrs);
}

/* The activations that are named, of 1, -1, 1 and 3; with parameters, and without. */
static void activations_by_name(void **state)
{
    static const float one[] = {1};
    static const float of[2] = {-0.5f, 0.25f};
    static const struct {
        const char *name;
        int given;
        float y[4];
    } all[] = {
        {"LeakyRelu", 1, {1, 0.5f, 1, 3}},
        {"HardSigmoid", 2, {0, 0.75f, 0, 0}},
        {"HardSigmoid", 0, {0.7f, 0.3f, 0.7f, 1}},
        {"Clip", 2, {0.25f, -0.5f, 0.25f, 0.25f}},
        {"Elu", 0, {1, -0.63212056f, 1, 3}},
        {"Relu", 0, {1, 0, 1, 3}},
        {"HardSwish", 0, {2 / 3.f, -1 / 3.f, 2 / 3.f, 3}},
    };
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++)
        for (int gemm = 0; gemm < 2; gemm++) {
            onnx_input(&g, "x", ONNX_FLOAT, gemm ? "4,1" : "1,1,2,2");
            onnx_initializer(&g, "w", ONNX_FLOAT, gemm ? "1,1" : "1,1,1,1", one, sizeof one);
            attr_text(&attrs, "activation", all[i].name);
            if (gemm && all[i].given > 0)
                attr_real(&attrs, "activation_alpha", of[0]);
            if (gemm && all[i].given > 1)
                attr_real(&attrs, "activation_beta", of[1]);
            if (!gemm && all[i].given)
                attr_reals(&attrs, "activation_params", all[i].given, of);
            onnx_contrib(&g, gemm ? "FusedGemm" : "FusedConv", "x w", &attrs);
            onnx_gives(&g, 17, own, 4, all[i].y, 1e-6f);
        }
    onnx_input(&g, "x", ONNX_FLOAT, "4,1");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1", one, sizeof one);
    attr_text(&attrs, "activation", "Clip");
    onnx_contrib(&g, "FusedGemm", "x w", &attrs);
    assert_true(onnx_read(&g, 17, &graph, &err) < 0);
    check_contains(err.text, "activation 'Clip' with 0 parameters is not supported");
    onnx_input(&g, "x", ONNX_FLOAT, "4,1");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1", one, sizeof one);
    attr_text(&attrs, "activation", "HardSigmoid");
    attr_real(&attrs, "activation_beta", of[1]);
    onnx_contrib(&g, "FusedGemm", "x w", &attrs);
    assert_true(onnx_read(&g, 17, &graph, &err) < 0);
    check_contains(err.text, "'activation_beta' without 'activation_alpha' is not supported");
    onnx_input(&g, "x", ONNX_FLOAT, "4,1");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1", one, sizeof one);
    attr_text(&attrs, "activation", "Selu");
    attr_real(&attrs, "activation_alpha", 1);
    attr_real(&attrs, "activation_gamma", 2);
    onnx_contrib(&g, "FusedGemm", "x w", &attrs);
    onnx_gives(&g, 17, own, 4, (const float[]){2, -2 * 0.63212056f, 2, 6}, 1e-6f);
    ot_text_release(&attrs);
}

/* Biases in front of a gate, a softmax and what is added again. */
static void biases_in_front(void **state)
{
    static const float bias[] = {1, 1, -1, 0}, more[] = {10, 20, 30, 40}, w[] = {1, 0, 0, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4");
    onnx_initializer(&g, "b", ONNX_FLOAT, "4", bias, sizeof bias);
    onnx_contrib(&g, "BiasSplitGelu", "x b", &attrs);
    onnx_gives(&g, 17, own, 2, (const float[]){0, 0}, 1e-6f); /* 2 GELU(0), 0 GELU(3) */
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,4");
    onnx_initializer(&g, "b", ONNX_FLOAT, "4", more, sizeof more);
    onnx_contrib(&g, "BiasSplitGelu", "x b", &attrs);
    onnx_gives(&g, 17, own, 2, (const float[]){11 * 31, 19 * 43}, 1e-6f);
    for (int i = 0; i < 2; i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,4");
        onnx_initializer(&g, "b", ONNX_FLOAT, "4", bias, sizeof bias);
        onnx_initializer(&g, "skip", ONNX_FLOAT, "1,1,4", more, sizeof more);
        onnx_contrib(&g, i ? "BiasDropout" : "BiasAdd", "x b skip", &attrs);
        onnx_gives(&g, 17, own, 4, (const float[]){12, 20, 30, 43}, 1e-6f);
    }
    /* The softmax is over all from axis 1 on. */
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,2");
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", (const float[]){1, 1}, 8);
    attr_int(&attrs, "axis", 1);
    onnx_contrib(&g, "BiasSoftmax", "x b", &attrs);
    onnx_gives(&g, 17, own, 4,
               (const float[]){0.10499359f, 0.01420934f, 0.10499359f, 0.77580349f}, 1e-5f);
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "w", ONNX_FLOAT, "2,2", w, sizeof w);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", more, 8);
    onnx_contrib(&g, "GemmFastGelu", "x w b", &attrs);
    onnx_gives(&g, 17, own, 4, (const float[]){11, 19, 11, 23}, 1e-5f);
    ot_text_release(&attrs);
}

/* Two groups of two channels that are one pixel: each is 1 and -1, whichever way channels lie. */
static void groups_of_channels(void **state)
{
    static const float scale[] = {2, 1, 1, 1}, shift[] = {0, 0, 10, 0}, skip[] = {0, 0, 0, 2};
    static const float want[] = {2, -1, 9, 1},
                       gated[] = {1.7615942f, -0.26894142f, 8.9988895f, 0.73105858f};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool last = i != 1;
        onnx_input(&g, "x", ONNX_FLOAT, last ? "1,1,1,4" : "1,4,1,1");
        onnx_initializer(&g, "scale", ONNX_FLOAT, "4", scale, sizeof scale);
        onnx_initializer(&g, "shift", ONNX_FLOAT, "4", shift, sizeof shift);
        attr_int(&attrs, "groups", 2);
        attr_real(&attrs, "epsilon", 0);
        attr_int(&attrs, "activation", i == 2);
        if (!last)
            attr_int(&attrs, "channels_last", 0);
        if (i == 3) { /* 1 -1 and 1 5 */
            onnx_initializer(&g, "skip", ONNX_FLOAT, "1,4", skip, sizeof skip);
            onnx_contrib(&g, "SkipGroupNorm", "x scale shift skip", &attrs);
        } else {
            onnx_contrib(&g, "GroupNorm", "x scale shift", &attrs);
        }
        onnx_gives(&g, 17, own, 4, i == 2 ? gated : want, 1e-5f);
    }
    /* Before opset 21 each group has a scale and a shift. */
    onnx_input(&g, "x", ONNX_FLOAT, "1,4,1,1");
    onnx_initializer(&g, "scale", ONNX_FLOAT, "2", scale, 8);
    onnx_initializer(&g, "shift", ONNX_FLOAT, "2", shift + 1, 8);
    attr_int(&attrs, "num_groups", 2);
    attr_real(&attrs, "epsilon", 0);
    onnx_node(&g, "GroupNormalization", "norm", "x scale shift", "y", &attrs);
    onnx_gives(&g, 18, own, 4, (const float[]){2, -2, 9, 11}, 1e-5f);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_nodes_as_one),
        cmocka_unit_test(activations_by_name),
        cmocka_unit_test(biases_in_front),
        cmocka_unit_test(groups_of_channels),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
