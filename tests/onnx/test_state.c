/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that carry a state, in one step and in several, from nothing and from what was before:
 * causal convolution and the four rules of linear attention. Numbers are worked out by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

/* A kernel of 1, 10 and 100, behind zeros or behind 7 and 8. */
static void windows_over_what_was(void **state)
{
    static const float x[] = {1, 2, 3}, w[] = {1, 10, 100}, past[] = {7, 8}, bias[] = {-500};
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,3");
        onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,3", w, sizeof w);
        onnx_initializer(&g, "b", ONNX_FLOAT, "1", bias, sizeof bias);
        onnx_initializer(&g, "past", ONNX_FLOAT, "1,1,2", past, sizeof past);
        if (i == 2)
            attr_text(&attrs, "activation", "silu");
        onnx_node(&g, "CausalConvWithState", "conv",
                  i == 0   ? "x w"
                  : i == 2 ? "x w b past"
                           : "x w - past",
                  i == 3 ? "- y" : "y -", &attrs);
        if (i < 2)
            onnx_gives(&g, 27, x, 3,
                       i ? (const float[]){187, 218, 321} : (const float[]){100, 210, 321},
                       1e-5f);
        else if (i == 2)
            onnx_gives(&g, 27, x, 3, (const float[]){0, 0, 0}, 1e-5f);
        else
            onnx_gives(&g, 27, x, 2, (const float[]){2, 3}, 0);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,3");
    onnx_initializer(&g, "w", ONNX_FLOAT, "1,1,3", w, sizeof w);
    attr_int(&attrs, "channels_last", 1);
    onnx_contrib(&g, "CausalConvWithState", "x w", &attrs);
    assert_true(onnx_read(&g, 17, &graph, &err) < 0);
    check_contains(err.text, "'channels_last' is not supported");
    ot_text_release(&attrs);
}

/* Two steps of one head of two elements, values of one: keys (1,0) and (1,1), values 2 and 5, one
 * query (1,1) for both, decays of a half, rates of a half. */
static void linear_attention(void **state)
{
    static const float q[] = {1, 1, 1, 1}, k[] = {1, 0, 1, 1}, v[] = {2, 5},
                       rate[] = {0.5f, 0.5f};
    const float decay[] = {logf(0.5f), logf(0.5f)}, each[] = {0, logf(0.5f), 0, logf(0.5f)};
    static const float past[] = {4, 8};
    static const struct {
        const char *rule, *inputs;
        bool by_element;
        float y[2];
    } all[] = {
        /* (2,0); (7,5) */
        {"linear", "x k v - - -", false, {2, 12}},
        /* (6,8); (11,13) */
        {"linear", "x k v past - -", false, {14, 24}},
        /* (2,0); (6,5) */
        {"gated", "x k v - decay -", false, {2, 11}},
        /* (6,4); (11,7) */
        {"gated", "x k v past decay -", true, {10, 18}},
        /* (1,0); 5 - 1 = 4 of which half: (3,2) */
        {"delta", "x k v - - rate", false, {1, 5}},
        /* (2,4): 2 - 2 = 0: (2,4); (1,2): 5 - 3 = 2: (2,3) */
        {"gated_delta", "x k v past decay rate", false, {6, 5}},
    };
    ot_text g = {0}, attrs = {0};
    optune_graph *graph = NULL;
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        onnx_input(&g, "x", ONNX_FLOAT, "1,2,2");
        onnx_initializer(&g, "k", ONNX_FLOAT, "1,2,2", k, sizeof k);
        onnx_initializer(&g, "v", ONNX_FLOAT, "1,2,1", v, sizeof v);
        onnx_initializer(&g, "past", ONNX_FLOAT, "1,1,2,1", past, sizeof past);
        onnx_initializer(&g, "decay", ONNX_FLOAT, all[i].by_element ? "1,2,2" : "1,2,1",
                         all[i].by_element ? each : decay,
                         all[i].by_element ? sizeof each : sizeof decay);
        onnx_initializer(&g, "rate", ONNX_FLOAT, "1,2,1", rate, sizeof rate);
        attr_int(&attrs, "q_num_heads", 1);
        attr_int(&attrs, "kv_num_heads", 1);
        attr_real(&attrs, "scale", 1);
        attr_text(&attrs, "update_rule", all[i].rule);
        onnx_node(&g, "LinearAttention", "only", all[i].inputs, "y", &attrs);
        print_message("%s\n", all[i].rule);
        onnx_gives(&g, 27, q, 2, all[i].y, 1e-5f);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "1,2,2");
    attr_int(&attrs, "q_num_heads", 1);
    attr_int(&attrs, "kv_num_heads", 1);
    onnx_node(&g, "LinearAttention", "only", "x x x", "y", &attrs);
    assert_true(onnx_read(&g, 27, &graph, &err) < 0);
    check_contains(err.text, "update rule 'gated_delta' wants decays, rates, or both");
    ot_text_release(&attrs);
}

/* What pooling took at 5 and 7, 13 and 15 of a plane of 16, in one that is larger, and 3 taken
 * twice by windows that overlap. */
static void pooled_and_put_back(void **state)
{
    static const float x[] = {1, 2, 3, 4}, twice[] = {3, 3};
    static const int64_t at[] = {5, 7, 13, 15}, two[] = {2, 2}, larger[] = {1, 1, 4, 5};
    static const int64_t same[] = {1, 1}, three[] = {2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        float want[20] = {0};
        for (int k = 0; k < 4; k++)
            want[i ? at[k] / 4 * 5 + at[k] % 4 : at[k]] = x[k];
        onnx_input(&g, "x", ONNX_FLOAT, "1,1,2,2");
        onnx_initializer(&g, "at", ONNX_INT64, "1,1,2,2", at, sizeof at);
        onnx_initializer(&g, "shape", ONNX_INT64, "4", larger, sizeof larger);
        attr_ints(&attrs, "kernel_shape", 2, two);
        attr_ints(&attrs, "strides", 2, two);
        onnx_node(&g, "MaxUnpool", "only", i ? "x at shape" : "x at", "y", &attrs);
        onnx_gives(&g, 17, x, i ? 20 : 16, want, 0);
    }
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,2");
    onnx_initializer(&g, "at", ONNX_INT64, "1,1,2", same, sizeof same);
    attr_ints(&attrs, "kernel_shape", 1, three);
    onnx_node(&g, "MaxUnpool", "only", "x at", "y", &attrs);
    onnx_gives(&g, 17, twice, 3, (const float[]){0, 3, 0}, 0);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_over_what_was),
        cmocka_unit_test(linear_attention),
        cmocka_unit_test(pooled_and_put_back),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
