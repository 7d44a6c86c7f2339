/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of onnxruntime's that exports of transformers have: tables and products of small
 * integers, mixtures of experts, what is added to scores by distance, channels that come last.
 * Numbers are worked out by hand.
 */
#include <math.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { BYTES = 2, INT32 = 6, BFLOAT16 = 16 }; /* types of the format */

static const float x4[] = {1, -2, 0.5f, 3}, ones[] = {1, 1, 1, 1};

/* Rows of 20 numbers in blocks of 16: zeros in the middle, or given; counted from the end. */
static void rows_of_small_integers(void **state)
{
    static const float scale[] = {0.5f, 1, 2, 4};
    uint8_t byte[40], half[20], zero[] = {0x21, 0x43};
    float want[20];
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 40; i++)
        byte[i] = (uint8_t)(128 + i % 20 - 3 * (i / 20));
    for (int i = 0; i < 20; i++)
        half[i] = (uint8_t)((i % 10) | (15 - i % 10) << 4);
    for (int bits = 8; bits >= 4; bits -= 4)
        for (int given = 0; given < 2; given++) {
            if (bits == 8 && given)
                continue;
            onnx_input(&g, "x", ONNX_INT64, "1");
            onnx_initializer(&g, "w", BYTES, bits == 8 ? "2,20" : "2,10",
                             bits == 8 ? byte : half, bits == 8 ? sizeof byte : sizeof half);
            onnx_initializer(&g, "s", ONNX_FLOAT, "2,2", scale, sizeof scale);
            onnx_initializer(&g, "z", BYTES, "2,1", zero, sizeof zero);
            attr_int(&attrs, "bits", bits);
            attr_int(&attrs, "block_size", 16);
            onnx_contrib(&g, "GatherBlockQuantized", given ? "w x s z" : "w x s", &attrs);
            for (int i = 0; i < 20; i++) {
                const int q = bits == 8 ? byte[20 + i] - 128
                              : i % 2   ? (half[10 + i / 2] >> 4) - (given ? 3 + (i > 15) : 8)
                                        : (half[10 + i / 2] & 15) - (given ? 3 + (i > 15) : 8);
                want[i] = (float)q * scale[2 + i / 16];
            }
            onnx_gives(&g, 17, (const int64_t[]){-1}, 20, want, 0);
        }
    /* A byte holds elements, not halves of them, where it is not said otherwise: 4 bits. */
    onnx_input(&g, "x", ONNX_INT64, "1");
    onnx_initializer(&g, "w", BYTES, "2,20", byte, sizeof byte);
    onnx_initializer(&g, "s", ONNX_FLOAT, "2,2", scale, sizeof scale);
    attr_int(&attrs, "block_size", 16);
    onnx_contrib(&g, "GatherBlockQuantized", "w x s", &attrs);
    optune_graph *graph = NULL;
    optune_err err = {0};
    assert_true(onnx_read(&g, 17, &graph, &err) < 0);
    check_contains(err.text, "2 scales along an axis for 40 places in blocks of 16");
    ot_text_release(&attrs);
}

/* Words and places of bytes, less their zeros, normalised. */
static void embeddings_of_bytes(void **state)
{
    static const uint8_t word[] = {1, 1, 5, 1}, place[] = {0, 0, 0, 2}, scale[] = {5, 3},
                         shift[] = {0, 2}, one = 1, none = 0;
    static const float half = 0.5f;
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", INT32, "1,2");
    onnx_initializer(&g, "w", BYTES, "2,2", word, sizeof word);
    onnx_initializer(&g, "p", BYTES, "2,2", place, sizeof place);
    onnx_initializer(&g, "g", BYTES, "2", scale, sizeof scale);
    onnx_initializer(&g, "b", BYTES, "2", shift, sizeof shift);
    onnx_initializer(&g, "one", ONNX_FLOAT, "", ones, 4);
    onnx_initializer(&g, "half", ONNX_FLOAT, "", &half, 4);
    onnx_initializer(&g, "z1", BYTES, "", &one, 1);
    onnx_initializer(&g, "z0", BYTES, "", &none, 1);
    attr_real(&attrs, "epsilon", 0);
    onnx_contrib(&g, "QEmbedLayerNormalization",
                 "x - w p - g b - one one - half one z1 z0 - z1 z0", &attrs);
    onnx_gives(&g, 17, (const int32_t[]){1, 0}, 4, (const float[]){2, 1, -2, 3}, 1e-6f);
    ot_text_release(&attrs);
}

/* Weights of two formats: 2 times [1 -1 0; 2/3 1/3 1/2], and two ends of a normal distribution. */
static void products_of_four_bits(void **state)
{
    static const uint8_t fp4[] = {0x3b, 0x02, 0x45}, nf4[] = {0xf0, 0x7f, 0x77};
    static const float two = 2;
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,3");
        onnx_initializer(&g, "w", BYTES, "3", kind ? nf4 : fp4, 3);
        onnx_initializer(&g, "most", ONNX_FLOAT, "1", &two, 4);
        attr_int(&attrs, "K", 3);
        attr_int(&attrs, "N", 2);
        attr_int(&attrs, "block_size", 16);
        attr_int(&attrs, "quant_type", kind);
        onnx_contrib(&g, "MatMulBnb4", "x w most", &attrs);
        /* 2 (1 + 2), 2 (2/3 - 2/3 + 1/4); 2 (1 + 2), 2 (1) */
        onnx_gives(&g, 17, x4, 2, kind ? (const float[]){6, 2} : (const float[]){6, 0.5f},
                   1e-6f);
    }
    ot_text_release(&attrs);
}

static void router(ot_text *g)
{
    static const float scores[] = {1, 0, 2, 2};
    onnx_input(g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(g, "r", ONNX_FLOAT, "2,2", scores, sizeof scores);
}

/* Of two experts each token has the better one, and of equal ones the later. */
static void mixtures_of_experts(void **state)
{
    static const float up[] = {1, 0, 0, 1}, down[] = {1, 2, 3, 4}, bias[] = {1, 1, -1, 0};
    static const uint8_t q_up[] = {129, 128, 128, 129}, q_down[] = {129, 130, 131, 132},
                         four[] = {0x89, 0x98}, four_down[] = {9, 10, 11, 12};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        router(&g);
        onnx_initializer(&g, "u", ONNX_FLOAT, "2,1,2", up, sizeof up);
        onnx_initializer(&g, "d", ONNX_FLOAT, "2,2,1", down, sizeof down);
        attr_int(&attrs, "normalize_routing_weights", norm);
        onnx_contrib(&g, "MoE", "x r u - d", &attrs);
        onnx_gives(&g, 17, x4, 4,
                   norm ? (const float[]){1, 2, 9, 12}
                        : (const float[]){0.73105858f, 1.46211716f, 4.5f, 6},
                   1e-6f);
    }
    /* Both experts, a bias behind them, SiLU. */
    router(&g);
    onnx_initializer(&g, "u", ONNX_FLOAT, "2,1,2", up, sizeof up);
    onnx_initializer(&g, "d", ONNX_FLOAT, "2,2,1", down, sizeof down);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2,2", bias, sizeof bias);
    attr_int(&attrs, "k", 2);
    attr_text(&attrs, "activation_type", "silu");
    onnx_contrib(&g, "MoE", "x r u - d b", &attrs);
    float want[4];
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 2; i++) {
            const double a = (double)x4[2 * t], b = (double)x4[2 * t + 1];
            const double share = t ? 0.5 : 1 / (1 + exp(-1));
            want[2 * t + i] = (float)(share * (a / (1 + exp(-a)) * (i + 1) + 1) +
                                      (1 - share) * (b / (1 + exp(-b)) * (i + 3) + (i - 1)));
        }
    onnx_gives(&g, 17, x4, 4, want, 1e-6f);
    /* Weights of 8 bits, and of 4: the share is of the chosen ones alone. */
    for (int bits = 8; bits >= 4; bits -= 4) {
        router(&g);
        onnx_initializer(&g, "u", BYTES, bits == 8 ? "2,1,2" : "2,1,1", bits == 8 ? q_up : four,
                         bits == 8 ? sizeof q_up : sizeof four);
        onnx_initializer(&g, "d", BYTES, "2,2,1", bits == 8 ? q_down : four_down,
                         sizeof q_down);
        onnx_initializer(&g, "one", ONNX_FLOAT, "2,1", ones, 8);
        onnx_initializer(&g, "four", ONNX_FLOAT, "2,2", ones, 16);
        attr_int(&attrs, "expert_weight_bits", bits);
        onnx_contrib(&g, "QMoE", "x r u one - d four", &attrs);
        onnx_gives(&g, 17, x4, 4, (const float[]){1, 2, 9, 12}, 1e-6f);
    }
    ot_text_release(&attrs);
}

/* A gate and what it is for in turns: G sigmoid(G) (L + 1), both cut to 2. */
static void gated_experts(void **state)
{
    static const float up[] = {1, 0, 0, 1}, down[] = {1, 0}, score[] = {7, 7};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,2");
    onnx_initializer(&g, "r", ONNX_FLOAT, "2,1", score, sizeof score);
    onnx_initializer(&g, "u", ONNX_FLOAT, "1,2,2", up, sizeof up);
    onnx_initializer(&g, "d", ONNX_FLOAT, "1,2,1", down, sizeof down);
    attr_text(&attrs, "activation_type", "swiglu");
    attr_int(&attrs, "swiglu_fusion", 1);
    attr_real(&attrs, "activation_beta", 1);
    attr_real(&attrs, "swiglu_limit", 2);
    onnx_contrib(&g, "MoE", "x r u - d", &attrs);
    onnx_gives(&g, 17, x4, 4, (const float[]){-0.73105858f, 0, 0.93368850f, 0}, 1e-6f);
    ot_text_release(&attrs);
}

/* T5's buckets: 0 and 1 have their own; 2 has the next; heads lie one behind the other. */
static void biases_by_distance(void **state)
{
    static const int64_t three = 3;
    static const float weight[] = {1, 0}, none[] = {0, 0}, factor = 4, place = 3;
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "4,1");
    onnx_initializer(&g, "n", ONNX_INT64, "1", &three, sizeof three);
    onnx_contrib(&g, "RelativePositionBias", "x n n", &attrs);
    onnx_gives(&g, 17, x4, 9, (const float[]){1, -2, 0.5f, -2, 1, -2, 0.5f, -2, 1}, 0);
    onnx_input(&g, "x", ONNX_FLOAT, "4,1");
    onnx_initializer(&g, "n", ONNX_INT64, "1", &three, sizeof three);
    attr_int(&attrs, "is_bidirectional", 1);
    onnx_contrib(&g, "RelativePositionBias", "x n n", &attrs);
    onnx_gives(&g, 17, x4, 9, (const float[]){1, 3, 3, -2, 1, 3, -2, -2, 1}, 0);
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,1");
    onnx_initializer(&g, "qb", ONNX_FLOAT, "1", ones, 4);
    onnx_initializer(&g, "p", ONNX_FLOAT, "1,1,1,1", &place, 4);
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,2", weight, sizeof weight);
    onnx_initializer(&g, "b", ONNX_FLOAT, "2", none, sizeof none);
    onnx_initializer(&g, "a", ONNX_FLOAT, "1,1,1,1", &factor, 4);
    attr_int(&attrs, "num_heads", 1);
    onnx_contrib(&g, "GatedRelativePositionBias", "x qb p w b a", &attrs);
    onnx_gives(&g, 17, x4, 1, (const float[]){8.6423912f}, 1e-6f); /* (sigmoid(2) + 2) 3 */
    ot_text_release(&attrs);
}

static void channels_last(void **state)
{
    static const float w[] = {1, 10};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int fused = 0; fused < 2; fused++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2");
        onnx_initializer(&g, "w", ONNX_FLOAT, fused ? "1,2,1,1" : "1,1,1,2", w, sizeof w);
        if (fused)
            attr_text(&attrs, "activation", "Relu");
        onnx_contrib(&g, fused ? "NhwcFusedConv" : "NhwcConv", "x w", &attrs);
        onnx_gives(&g, 17, x4, 2,
                   fused ? (const float[]){0, 30.5f} : (const float[]){-19, 30.5f}, 1e-6f);
    }
    ot_text_release(&attrs);
}

/* ONNX's own, of bfloat16: a first row that sees itself alone, and one that is nearly so. */
static void attention_of_bfloat16(void **state)
{
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2");
    attr_int(&attrs, "to", BFLOAT16);
    onnx_node(&g, "Cast", "narrow", "x", "b", &attrs);
    attr_int(&attrs, "is_causal", 1);
    onnx_node(&g, "Attention", "a", "b b b", "all", &attrs);
    attr_int(&attrs, "to", ONNX_FLOAT);
    onnx_node(&g, "Cast", "wide", "all", "y", &attrs);
    onnx_gives(&g, 23, x4, 4, x4, 4e-3f);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_small_integers), cmocka_unit_test(embeddings_of_bytes),
        cmocka_unit_test(products_of_four_bits),  cmocka_unit_test(mixtures_of_experts),
        cmocka_unit_test(gated_experts),          cmocka_unit_test(biases_by_distance),
        cmocka_unit_test(channels_last),          cmocka_unit_test(attention_of_bfloat16),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
