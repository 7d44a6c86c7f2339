/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators with DequantizeLinear in front and QuantizeLinear behind: what they give is what their
 * integers make, worked out here, and which of them are summed as integers.
 */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "support/quant.h"

enum { ROWS = 2, IN = 5, OUT = 3 };

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static int byte(int type, int value)
{
    return type == U8 ? value : value - 128;
}

typedef struct product {
    const char *label;
    int x_type, w_type, y_type, w_zero;
    bool by_column, gemm, bias, odd_bias; /* odd: of a scale that is not the sum's */
    const char *over;                     /* between the product and what rounds it */
    bool rounded, narrow;
    int64_t opset;
} product;

static const float steps[OUT] = {0.25f, 0.5f, 0.125f};

static void one_product(const product *p)
{
    const int x_zero = byte(p->x_type, 120), y_zero = byte(p->y_type, 110);
    const int least = p->y_type == U8 ? 0 : -128;
    float x[ROWS * IN];
    uint8_t w[IN * OUT];
    double want[ROWS * OUT];
    static const int32_t bias[OUT] = {7, -9, 40};
    static const float axis_steps[2][OUT] = {{0.125f, 0.25f, 0.0625f}, {1, 1, 1}};
    ot_text g = {0}, attrs = {0};
    print_message("%s\n", p->label);
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)(i * 7 % 11 - 4) / 2;
    for (int i = 0; i < IN * OUT; i++)
        w[i] = (uint8_t)(p->w_zero + i * 5 % 13 - 7);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < OUT; c++) {
            double sum = 0;
            for (int k = 0; k < IN; k++) {
                const int at = p->gemm ? c * IN + k : k * OUT + c;
                sum += 2 * (double)x[r * IN + k] * (at * 5 % 13 - 7);
            }
            sum *= 0.5 * (double)steps[p->by_column ? c : 0];
            if (p->bias)
                sum += bias[c] * (p->odd_bias    ? 1
                                  : p->by_column ? (double)axis_steps[0][c]
                                                 : 0.125);
            if (p->over)
                sum = clamp(sum, 0, !strcmp(p->over, "Clip") ? 6 : HUGE_VAL);
            want[r * OUT + c] =
                p->rounded
                    ? (clamp(rint(sum / 0.25) + y_zero, least, least + 255) - y_zero) * 0.25
                    : sum;
        }
    quant_begin(&g, "2,5", p->x_type, x_zero);
    onnx_initializer(&g, "w", p->w_type, p->gemm ? "3,5" : "5,3", w, sizeof w);
    onnx_initializer(&g, "sw", ONNX_FLOAT, p->by_column ? "3" : "", steps,
                     p->by_column ? sizeof steps : 4);
    if (p->by_column)
        onnx_initializer(
            &g, "zw", p->w_type, "3",
            (uint8_t[]){(uint8_t)p->w_zero, (uint8_t)p->w_zero, (uint8_t)p->w_zero}, 3);
    else
        quant_zero(&g, "zw", p->w_type, p->w_zero);
    quant_number(&g, "sy", 0.25f);
    quant_zero(&g, "zy", p->y_type, y_zero);
    quant_number(&g, "none", 0);
    quant_number(&g, "six", 6);
    if (p->by_column)
        attr_int(&attrs, "axis", p->gemm ? 0 : -1);
    onnx_node(&g, "DequantizeLinear", "weight", "w sw zw", "dw", &attrs);
    if (p->bias) {
        onnx_initializer(&g, "b", I32, "3", bias, sizeof bias);
        onnx_initializer(&g, "sb", ONNX_FLOAT, p->by_column ? "3" : "",
                         p->odd_bias ? axis_steps[1] : axis_steps[0],
                         p->by_column ? sizeof steps : 4);
        if (p->by_column)
            attr_int(&attrs, "axis", 0);
        onnx_node(&g, "DequantizeLinear", "bias", "b sb", "db", &attrs);
    }
    if (p->gemm)
        attr_int(&attrs, "transB", 1);
    const char *to = p->over ? "p" : p->rounded ? "o" : "y";
    onnx_node(&g, p->gemm ? "Gemm" : "MatMul", "only", p->bias ? "d dw db" : "d dw", to,
              &attrs);
    if (p->over)
        onnx_node(&g, p->over, "over", !strcmp(p->over, "Clip") ? "p none six" : "p",
                  p->rounded ? "o" : "y", NULL);
    if (p->rounded) {
        onnx_node(&g, "QuantizeLinear", "last", "o sy zy", "z", NULL);
        onnx_node(&g, "DequantizeLinear", "real", "z sy zy", "y", NULL);
    }
    optune_graph *graph = quant_read(&g, p->opset);
    const bool whole = p->rounded && !p->odd_bias; /* a kernel rounds it */
    assert_int_equal(quant_calls(graph, "dense", 8), p->narrow && !whole);
    assert_int_equal(quant_calls(graph, "quantized_conv2d", 8), p->narrow && whole);
    quant_gives(graph, x, ROWS * OUT, want);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

static void products(void **state)
{
    static const product all[] = {
        {.label = "unsigned, one scale",
         .x_type = U8,
         .w_type = I8,
         .y_type = U8,
         .rounded = true,
         .narrow = true,
         .opset = 13},
        {.label = "signed by column, a bias, ReLU",
         .x_type = I8,
         .w_type = I8,
         .y_type = I8,
         .by_column = true,
         .gemm = true,
         .bias = true,
         .over = "Relu",
         .rounded = true,
         .narrow = true,
         .opset = 13},
        {.label = "an unsigned weight, Clip",
         .x_type = U8,
         .w_type = U8,
         .y_type = I8,
         .w_zero = 128,
         .over = "Clip",
         .rounded = true,
         .narrow = true,
         .opset = 17},
        {.label = "a float again, by column",
         .x_type = U8,
         .w_type = I8,
         .y_type = U8,
         .by_column = true,
         .gemm = true,
         .bias = true,
         .narrow = true,
         .opset = 21},
        {.label = "a bias of another scale",
         .x_type = U8,
         .w_type = I8,
         .y_type = U8,
         .gemm = true,
         .bias = true,
         .odd_bias = true,
         .rounded = true,
         .narrow = true,
         .opset = 13},
        {.label = "a weight that has no room",
         .x_type = U8,
         .w_type = U8,
         .y_type = U8,
         .w_zero = 7,
         .rounded = true,
         .narrow = true,
         .opset = 10},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++)
        one_product(&all[i]);
}

/* x [1,64,2,2] under windows of 3x3 that meet its zero, of 64 channels each. */
static void convolution(void **state)
{
    enum { C = 64, K = 3, SIDE = 2, PIXELS = SIDE * SIDE };
    static const int64_t pads[] = {1, 1, 1, 1};
    static float x[C * PIXELS], by[C];
    static int8_t w[C][C][K][K];
    static int32_t bias[C];
    static double want[C * PIXELS];
    static const uint8_t none[C];
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < C * PIXELS; i++)
        x[i] = (float)(i * 7 % 13 - 5) / 2;
    for (int o = 0; o < C; o++) {
        by[o] = o % 2 ? 0.25f : 0.5f;
        bias[o] = o * 3 - 50;
        for (int i = 0; i < C * K * K; i++)
            w[o][i / (K * K)][i / K % K][i % K] = (int8_t)((o * 5 + i * 3) % 11 - 5);
    }
    for (int o = 0; o < C; o++)
        for (int p = 0; p < PIXELS; p++) {
            double sum = bias[o];
            for (int c = 0; c < C; c++)
                for (int k = 0; k < K * K; k++) {
                    const int row = p / SIDE + k / K - 1, column = p % SIDE + k % K - 1;
                    if (row >= 0 && row < SIDE && column >= 0 && column < SIDE)
                        sum += w[o][c][k / K][k % K] * 2 *
                               (double)x[c * PIXELS + row * SIDE + column];
                }
            want[o * PIXELS + p] =
                2 * (clamp(rint(sum * 0.5 * (double)by[o] / 2) + 30, 30, 255) - 30);
        }
    quant_begin(&g, "1,64,2,2", U8, 100);
    onnx_initializer(&g, "w", I8, "64,64,3,3", w, sizeof w);
    onnx_initializer(&g, "sw", ONNX_FLOAT, "64", by, sizeof by);
    onnx_initializer(&g, "zw", I8, "64", none, sizeof none);
    onnx_initializer(&g, "b", I32, "64", bias, sizeof bias);
    for (int o = 0; o < C; o++)
        by[o] *= 0.5f;
    onnx_initializer(&g, "sb", ONNX_FLOAT, "64", by, sizeof by);
    quant_number(&g, "sy", 2);
    quant_zero(&g, "zy", U8, 30);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "DequantizeLinear", "weight", "w sw zw", "dw", &attrs);
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "DequantizeLinear", "bias", "b sb", "db", &attrs);
    attr_ints(&attrs, "pads", 4, pads);
    onnx_node(&g, "Conv", "only", "d dw db", "c", &attrs);
    onnx_node(&g, "Relu", "over", "c", "o", NULL);
    onnx_node(&g, "QuantizeLinear", "last", "o sy zy", "z", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "z sy zy", "y", NULL);
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "quantized_conv2d", 8), 1);
    quant_gives(graph, x, C * PIXELS, want);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

/* Integers of an image [C,H,W], what they stand for, and a convolution between them. */
typedef struct image {
    int c, h, w, type, zero;
    float scale;
    int at[8 * 7 * 5];
} image;

typedef struct filter {
    int type, zero, k[2], stride, pad[4], dilation, groups;
    float scale;
} filter;

static int rounded(double v, const image *to)
{
    const int least = to->type == U8 ? 0 : -128;
    return (int)clamp(rint(v) + to->zero, least, least + 255);
}

static int filter_at(const filter *f, int i)
{
    return byte(f->type, (i * 37 + 11) % 256);
}

static void convolve(const image *x, const filter *f, image *y)
{
    const int ci = x->c / f->groups, co = y->c / f->groups;
    y->h = (x->h + f->pad[0] + f->pad[2] - f->dilation * (f->k[0] - 1) - 1) / f->stride + 1;
    y->w = (x->w + f->pad[1] + f->pad[3] - f->dilation * (f->k[1] - 1) - 1) / f->stride + 1;
    const float by = x->scale * f->scale / y->scale;
    for (int i = 0; i < y->c * y->h * y->w; i++) {
        const int o = i / (y->h * y->w), row = i / y->w % y->h, column = i % y->w;
        int sum = 0;
        for (int k = 0; k < ci * f->k[0] * f->k[1]; k++) {
            const int c = o / co * ci + k / (f->k[0] * f->k[1]);
            const int h = row * f->stride - f->pad[0] + k / f->k[1] % f->k[0] * f->dilation;
            const int w = column * f->stride - f->pad[1] + k % f->k[1] * f->dilation;
            if (h >= 0 && h < x->h && w >= 0 && w < x->w)
                sum += (x->at[(c * x->h + h) * x->w + w] - x->zero) *
                       (filter_at(f, o * ci * f->k[0] * f->k[1] + k) - f->zero);
        }
        y->at[i] = rounded((double)((float)sum * by), y);
    }
}

static void scales(ot_text *g, const char *name, int type, float scale, int middle)
{
    char both[2][8];
    snprintf(both[0], sizeof both[0], "s%s", name);
    snprintf(both[1], sizeof both[1], "z%s", name);
    quant_number(g, both[0], scale);
    quant_zero(g, both[1], type, middle);
}

static void weight(ot_text *g, const char *name, const filter *f, int co, int ci)
{
    uint8_t bytes[512];
    char dims[32];
    snprintf(dims, sizeof dims, "%d,%d,%d,%d", co, ci, f->k[0], f->k[1]);
    const int n = co * ci * f->k[0] * f->k[1];
    for (int i = 0; i < n; i++)
        bytes[i] = (uint8_t)filter_at(f, i);
    onnx_initializer(g, name, f->type, dims, bytes, (size_t)n);
    scales(g, name, f->type, f->scale, f->zero);
}

static void window_of(ot_text *attrs, const filter *f)
{
    const int64_t stride[] = {f->stride, f->stride}, dilation[] = {f->dilation, f->dilation};
    const int64_t pad[] = {f->pad[0], f->pad[1], f->pad[2], f->pad[3]};
    attr_ints(attrs, "strides", 2, stride);
    attr_ints(attrs, "pads", 4, pad);
    attr_ints(attrs, "dilations", 2, dilation);
    attr_int(attrs, "group", f->groups);
}

/* A product, a filter for each channel behind it, and the sum of both: images with channels last
 * from one to the next, as their nodes say it or with DequantizeLinear and QuantizeLinear. */
static void chain(int x_type, int w_type, int w_zero, bool said)
{
    static image x, a, b, y;
    const filter p = {.type = w_type,
                      .zero = w_zero,
                      .k = {1, 1},
                      .stride = 1,
                      .dilation = 1,
                      .groups = 1,
                      .scale = 0.001953125f};
    const filter d = {.type = w_type,
                      .zero = w_zero,
                      .k = {3, 2},
                      .stride = 1,
                      .pad = {2, 1, 2, 1},
                      .dilation = 2,
                      .groups = 8,
                      .scale = 0.001220703125f};
    ot_text g = {0}, attrs = {0};
    static float from[5 * 7 * 5];
    static double want[8 * 7 * 5];
    x = (image){
        .c = 5, .h = 7, .w = 5, .type = x_type, .zero = byte(x_type, 100), .scale = 0.5f};
    a = (image){.c = 8, .type = x_type, .zero = byte(x_type, 0), .scale = 0.75f};
    b = (image){.c = 8, .type = x_type, .zero = byte(x_type, 255), .scale = 1.5f};
    y = (image){.c = 8, .h = 7, .w = 5, .type = x_type, .zero = byte(x_type, 120), .scale = 1};
    for (int i = 0; i < 5 * 7 * 5; i++) {
        x.at[i] = byte(x_type, i * 53 % 256);
        from[i] = (float)(x.at[i] - x.zero) * 0.5f;
    }
    convolve(&x, &p, &a);
    convolve(&a, &d, &b);
    assert_int_equal(b.h * b.w, 7 * 5);
    for (int i = 0; i < 8 * 7 * 5; i++) {
        const float left = (float)(a.at[i] - a.zero) * a.scale;
        const float right = (float)(b.at[i] - b.zero) * b.scale;
        y.at[i] = rounded((double)(left + right), &y);
        want[i] = y.at[i] - y.zero;
    }
    quant_begin(&g, "1,5,7,5", x_type, x.zero);
    weight(&g, "wp", &p, 8, 5);
    weight(&g, "wd", &d, 8, 1);
    scales(&g, "x", x_type, x.scale, x.zero);
    scales(&g, "a", x_type, a.scale, a.zero);
    scales(&g, "b", x_type, b.scale, b.zero);
    scales(&g, "y", x_type, y.scale, y.zero);
    window_of(&attrs, &p);
    if (said) {
        onnx_node(&g, "QLinearConv", "one", "q sx zx wp swp zwp sa za", "a", &attrs);
        window_of(&attrs, &d);
        onnx_node(&g, "QLinearConv", "two", "a sa za wd swd zwd sb zb", "b", &attrs);
        onnx_node(&g, "DequantizeLinear", "a_real", "a sa za", "fa", NULL);
    } else {
        onnx_node(&g, "DequantizeLinear", "x_real", "q sx zx", "dx", NULL);
        onnx_node(&g, "DequantizeLinear", "p_real", "wp swp zwp", "fp", NULL);
        onnx_node(&g, "DequantizeLinear", "d_real", "wd swd zwd", "fd", NULL);
        onnx_node(&g, "Conv", "one", "dx fp", "ra", &attrs);
        onnx_node(&g, "QuantizeLinear", "a_bytes", "ra sa za", "a", NULL);
        onnx_node(&g, "DequantizeLinear", "a_real", "a sa za", "fa", NULL);
        window_of(&attrs, &d);
        onnx_node(&g, "Conv", "two", "fa fd", "rb", &attrs);
        onnx_node(&g, "QuantizeLinear", "b_bytes", "rb sb zb", "b", NULL);
    }
    onnx_node(&g, "DequantizeLinear", "b_real", "b sb zb", "fb", NULL);
    onnx_node(&g, "Add", "both", "fa fb", "r", NULL);
    onnx_node(&g, "QuantizeLinear", "last", "r sy zy", "z", NULL);
    onnx_node(&g, "DequantizeLinear", "real", "z sy zy", "y", NULL);
    optune_graph *graph = quant_read(&g, 17);
    assert_int_equal(quant_calls(graph, "quantized_conv2d", 8), 2);
    assert_int_equal(quant_calls(graph, "quantized_add", 8), 1);
    assert_int_equal(quant_calls(graph, "transpose", 8), 2);
    quant_gives(graph, from, 8 * 7 * 5, want);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

static void chains(void **state)
{
    (void)state;
    for (int said = 0; said < 2; said++) {
        chain(U8, I8, 0, said);
        chain(U8, U8, 128, said);
        chain(U8, U8, 200, said); /* a weight less its zero of more than 8 bits */
        chain(I8, I8, -3, said);
    }
}

/* A zero of another type than the data's, which no kernel could fill what is padded with. */
static void zero_of_another_type(void **state)
{
    static const float x[] = {1, -2, 3, 0.5f};
    static const int8_t w[8] = {1, -1, 2, 3, 4, -2, 1, 1};
    static const int64_t pads[] = {1, 1, 1, 1};
    ot_text g = {0}, attrs = {0};
    (void)state;
    quant_begin(&g, "1,1,2,2", I8, -3);
    onnx_initializer(&g, "w", I8, "2,1,2,2", w, sizeof w);
    quant_zero(&g, "z0", I8, 0);
    quant_zero(&g, "z200", U8, 200);
    attr_ints(&attrs, "pads", 4, pads);
    onnx_node(&g, "QLinearConv", "only", "q half z200 w half z0 half middle", "b", &attrs);
    onnx_node(&g, "DequantizeLinear", "real", "b half middle", "y", NULL);
    optune_graph *graph = NULL;
    optune_err err = {0};
    if (onnx_read(&g, 13, &graph, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(quant_calls(graph, "quantized_conv2d", 8), 0);
    double want[18];
    for (int i = 0; i < 18; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++) {
            const int row = i / 3 % 3 - 1 + k / 2, column = i % 3 - 1 + k % 2;
            if (row >= 0 && row < 2 && column >= 0 && column < 2)
                sum += w[i / 9 * 4 + k] * ((int)(x[row * 2 + column] * 2) - 3 - 200);
        }
        want[i] = (clamp(rint(sum * 0.5) - 3, -128, 127) + 3) * 0.5;
    }
    quant_gives(graph, x, 18, want);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

/* What moves elements, or takes the largest, moves the integers: one rounding, however many are
 * written. */
static void moves(void **state)
{
    static const float x[] = {1, -2, 3.2f, 0.5f};
    static const int64_t window[] = {1, 2}, shape[] = {2, 1}, flip[] = {1, 0};
    ot_text g = {0}, attrs = {0};
    (void)state;
    quant_begin(&g, "1,1,2,2", I8, 3);
    attr_ints(&attrs, "kernel_shape", 2, window);
    onnx_node(&g, "MaxPool", "pool", "d", "m", &attrs);
    onnx_node(&g, "QuantizeLinear", "q1", "m half middle", "mq", NULL);
    onnx_node(&g, "DequantizeLinear", "d1", "mq half middle", "md", NULL);
    onnx_initializer(&g, "shape", ONNX_INT64, "2", shape, sizeof shape);
    onnx_node(&g, "Reshape", "flat", "md shape", "f", NULL);
    onnx_node(&g, "QuantizeLinear", "q2", "f half middle", "fq", NULL);
    onnx_node(&g, "DequantizeLinear", "d2", "fq half middle", "fd", NULL);
    attr_ints(&attrs, "perm", 2, flip);
    onnx_node(&g, "Transpose", "turn", "fd", "t", &attrs);
    onnx_node(&g, "Add", "both", "t fd", "y", NULL); /* its other reader, as floats */
    optune_graph *graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "round", 32), 1);
    quant_gives(graph, x, 4, (const double[]){2, 4, 4, 6});
    optune_graph_close(graph);
    /* another scale behind: rounded again */
    quant_begin(&g, "1,1,2,2", I8, 3);
    quant_number(&g, "one", 1);
    onnx_node(&g, "Flatten", "flat", "d", "f", NULL);
    onnx_node(&g, "QuantizeLinear", "q1", "f one middle", "fq", NULL);
    onnx_node(&g, "DequantizeLinear", "d1", "fq one middle", "y", NULL);
    graph = quant_read(&g, 13);
    assert_int_equal(quant_calls(graph, "round", 32), 1); /* the second one is a table */
    assert_int_equal(quant_calls(graph, "quantized_map", 8), 1);
    quant_gives(graph, x, 4, (const double[]){1, -2, 3, 0});
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

/* Of a part the floats that nobody reads any more are an output. */
static void floats_of_a_part(void **state)
{
    optune_graph *graph = NULL;
    optune_err err = {0};
    ot_text g = {0}, model = {0};
    char path[512];
    (void)state;
    quant_begin(&g, "2", U8, 9);
    onnx_node(&g, "Multinomial", "dice", "d", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, &model);
    snprintf(path, sizeof path, "%s/part.onnx", onnx_folder);
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    check_ok(optune_graph_read_partial(path, NULL, 0, &graph, &err));
    quant_gives(graph, (const float[]){1, -7}, 2, (const double[]){1, -4.5});
    optune_graph_close(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),         cmocka_unit_test(convolution),
        cmocka_unit_test(chains),           cmocka_unit_test(moves),
        cmocka_unit_test(floats_of_a_part), cmocka_unit_test(zero_of_another_type),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
