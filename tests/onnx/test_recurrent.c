/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers and spectra against their formulas, element by element, in double precision. */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { T = 5, B = 3, I = 4, H = 2, D = 2, MOST = 4096 };

/* ---- a layer ------------------------------------------------------------------------------ */

typedef struct layer {
    const char *op;
    int gates;
    const char *direction;
    bool peepholes, before, together, lengths, first; /* first: the batch comes first */
    bool open; /* how many sequences there are only a run knows */
    bool rest; /* states are left out: they are 0 */
    float clip;
} layer;

typedef struct numbers {
    float x[T * B * I], w[D * 4 * H * I], r[D * 4 * H * H], bias[D * 8 * H], h[D * B * H],
        c[D * B * H], p[D * 3 * H];
    int32_t length[B];
} numbers;

static void fill(float *to, size_t n, float scale)
{
    static uint32_t seed = 12345;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = scale * ((float)(seed >> 8) / (float)(1 << 23) - 1);
    }
}

static double sigmoid(const layer *l, double v)
{
    v = l->clip > 0 ? fmin(fmax(v, -l->clip), l->clip) : v;
    return 1 / (1 + exp(-v));
}

static double bent(const layer *l, double v)
{
    return tanh(l->clip > 0 ? fmin(fmax(v, -l->clip), l->clip) : v);
}

/* What gate g of unit u takes of x and of the state `h`, and of biases. */
static double of_x(const layer *l, const numbers *a, int d, int g, int u, const double *x)
{
    const int row = (d * l->gates + g) * H + u;
    double sum = (double)a->bias[(d * 2 * l->gates + g) * H + u];
    for (int i = 0; i < I; i++)
        sum += (double)a->w[row * I + i] * x[i];
    return sum;
}

static double of_h(const layer *l, const numbers *a, int d, int g, int u, const double *h)
{
    const int row = (d * l->gates + g) * H + u;
    double sum = (double)a->bias[((d * 2 + 1) * l->gates + g) * H + u];
    for (int k = 0; k < H; k++)
        sum += (double)a->r[row * H + k] * h[k];
    return sum;
}

static void lstm(const layer *l, const numbers *a, int d, const double *x, double *h, double *c)
{
    double next[H];
    for (int u = 0; u < H; u++) {
        const float *p = a->p + d * 3 * H;
        const double pi = l->peepholes ? (double)p[u] : 0,
                     po = l->peepholes ? (double)p[H + u] : 0,
                     pf = l->peepholes ? (double)p[2 * H + u] : 0;
        const double i =
            sigmoid(l, of_x(l, a, d, 0, u, x) + of_h(l, a, d, 0, u, h) + pi * c[u]);
        const double f =
            l->together
                ? 1 - i
                : sigmoid(l, of_x(l, a, d, 2, u, x) + of_h(l, a, d, 2, u, h) + pf * c[u]);
        const double cell = bent(l, of_x(l, a, d, 3, u, x) + of_h(l, a, d, 3, u, h));
        c[u] = f * c[u] + i * cell;
        next[u] = tanh(c[u]) *
                  sigmoid(l, of_x(l, a, d, 1, u, x) + of_h(l, a, d, 1, u, h) + po * c[u]);
    }
    for (int u = 0; u < H; u++)
        h[u] = next[u];
}

static void gru(const layer *l, const numbers *a, int d, const double *x, double *h)
{
    double next[H], reset[H], scaled[H];
    for (int u = 0; u < H; u++) {
        reset[u] = sigmoid(l, of_x(l, a, d, 1, u, x) + of_h(l, a, d, 1, u, h));
        scaled[u] = reset[u] * h[u];
    }
    for (int u = 0; u < H; u++) {
        const double z = sigmoid(l, of_x(l, a, d, 0, u, x) + of_h(l, a, d, 0, u, h));
        const double inner =
            l->before ? reset[u] * of_h(l, a, d, 2, u, h) : of_h(l, a, d, 2, u, scaled);
        next[u] = (1 - z) * bent(l, of_x(l, a, d, 2, u, x) + inner) + z * h[u];
    }
    for (int u = 0; u < H; u++)
        h[u] = next[u];
}

static void rnn(const layer *l, const numbers *a, int d, const double *x, double *h)
{
    double next[H];
    for (int u = 0; u < H; u++)
        next[u] = bent(l, of_x(l, a, d, 0, u, x) + of_h(l, a, d, 0, u, h));
    for (int u = 0; u < H; u++)
        h[u] = next[u];
}

/* y [T,D,B,H] or [B,T,D,H], then the last states [D,B,H] or [B,D,H]. */
static void want_of(const layer *l, const numbers *a, int ways, float *y, float *last)
{
    for (int d = 0; d < ways; d++)
        for (int b = 0; b < B; b++) {
            double h[H], c[H];
            const bool back = d || l->direction[0] == 'r';
            const int length = l->lengths ? a->length[b] : T;
            for (int u = 0; u < H; u++) {
                const int at = l->first ? (b * ways + d) * H + u : (d * B + b) * H + u;
                h[u] = l->rest ? 0 : (double)a->h[at];
                c[u] = l->rest ? 0 : (double)a->c[at];
            }
            for (int k = 0; k < T; k++) {
                const int t = back ? T - 1 - k : k;
                double x[I];
                for (int i = 0; i < I; i++)
                    x[i] = (double)a->x[(l->first ? b * T + t : t * B + b) * I + i];
                if (t < length && l->gates == 4)
                    lstm(l, a, d, x, h, c);
                else if (t < length && l->gates == 3)
                    gru(l, a, d, x, h);
                else if (t < length)
                    rnn(l, a, d, x, h);
                for (int u = 0; u < H; u++)
                    y[(l->first ? (b * T + t) * ways + d : (t * ways + d) * B + b) * H + u] =
                        t < length ? (float)h[u] : 0;
            }
            for (int u = 0; u < H; u++)
                last[(l->first ? b * ways + d : d * B + b) * H + u] = (float)h[u];
        }
}

static optune_graph *read_graph(ot_text *graph)
{
    ot_text model = {0};
    optune_graph *g = NULL;
    optune_err err = {0};
    onnx_model(graph, 17, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    check_ok(optune_graph_read(onnx_path, &g, &err));
    return g;
}

static void near(const optune_values *values, int output, int n, const float *want)
{
    const float *got = optune_values_data(values, output);
    assert_int_equal(optune_tensor_elements(optune_values_type(values, output)), n);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 2e-6f * (1 + fabsf(want[i]))))
            fail_msg("output %d, element %d is %.9g, not %.9g", output, i, got[i], want[i]);
}

static void weights(ot_text *g, const layer *l, const numbers *a, int ways)
{
    const int n = ways * l->gates * H;
    const bool lstms = l->gates == 4;
    char dims[64];
    snprintf(dims, sizeof dims, "%d,%d,%d", ways, l->gates * H, I);
    onnx_initializer(g, "w", ONNX_FLOAT, dims, a->w, (size_t)(n * I) * sizeof(float));
    snprintf(dims, sizeof dims, "%d,%d,%d", ways, l->gates * H, H);
    onnx_initializer(g, "r", ONNX_FLOAT, dims, a->r, (size_t)(n * H) * sizeof(float));
    snprintf(dims, sizeof dims, "%d,%d", ways, 2 * l->gates * H);
    onnx_initializer(g, "b", ONNX_FLOAT, dims, a->bias, (size_t)(2 * n) * sizeof(float));
    snprintf(dims, sizeof dims, l->first ? "%2$d,%1$d,%3$d" : "%d,%d,%d", ways, B, H);
    if (!l->open)
        onnx_initializer(g, "h", ONNX_FLOAT, dims, a->h,
                         (size_t)(ways * B * H) * sizeof(float));
    if (lstms && !l->open)
        onnx_initializer(g, "c", ONNX_FLOAT, dims, a->c,
                         (size_t)(ways * B * H) * sizeof(float));
    snprintf(dims, sizeof dims, "%d,%d", ways, 3 * H);
    if (lstms && l->peepholes)
        onnx_initializer(g, "p", ONNX_FLOAT, dims, a->p,
                         (size_t)(ways * 3 * H) * sizeof(float));
}

static void check_layer(const layer *l)
{
    static numbers a;
    float y[MOST], last[MOST];
    const int ways = l->direction[0] == 'b' ? 2 : 1;
    ot_text g = {0}, attrs = {0};
    fill(a.x, OT_COUNT(a.x), 2);
    fill(a.w, OT_COUNT(a.w), 1);
    fill(a.r, OT_COUNT(a.r), 1);
    fill(a.bias, OT_COUNT(a.bias), 0.5f);
    fill(a.h, OT_COUNT(a.h), 1);
    fill(a.c, OT_COUNT(a.c), 1);
    fill(a.p, OT_COUNT(a.p), 1);
    for (int b = 0; b < B; b++)
        a.length[b] = b == 1 ? T : b + 1;
    onnx_input(&g, "x", ONNX_FLOAT,
               l->open    ? l->first ? "N,5,4" : "5,N,4"
               : l->first ? "3,5,4"
                          : "5,3,4");
    if (l->lengths)
        onnx_input(&g, "n", 6, l->open ? "N" : "3");
    if (l->open && !l->rest) {
        char dims[32];
        snprintf(dims, sizeof dims, l->first ? "N,%d,2" : "%d,N,2", ways);
        onnx_input(&g, "h", ONNX_FLOAT, dims);
        if (l->gates == 4)
            onnx_input(&g, "c", ONNX_FLOAT, dims);
    }
    weights(&g, l, &a, ways);
    attr_text(&attrs, "direction", l->direction);
    attr_int(&attrs, "hidden_size", H);
    attr_int(&attrs, "layout", l->first);
    attr_int(&attrs, "input_forget", l->together);
    attr_int(&attrs, "linear_before_reset", l->before);
    if (l->clip > 0)
        attr_real(&attrs, "clip", l->clip);
    char inputs[64];
    snprintf(inputs, sizeof inputs, "x w r b %s %s%s%s", l->lengths ? "n" : "-",
             l->rest ? "-" : "h",
             l->gates != 4 ? ""
             : l->rest     ? " -"
                           : " c",
             l->gates == 4 && l->peepholes ? " p" : "");
    onnx_node(&g, l->op, "layer", inputs, "y last", &attrs);
    onnx_output(&g, "y");
    onnx_output(&g, "last");
    optune_graph *graph = read_graph(&g);
    optune_values *values = NULL;
    optune_err err = {0};
    const void *in[4] = {a.x};
    optune_tensor type[4];
    int n_in = 1;
    if (l->lengths)
        in[n_in++] = a.length;
    if (l->open && !l->rest)
        in[n_in++] = a.h;
    if (l->open && !l->rest && l->gates == 4)
        in[n_in++] = a.c;
    assert_int_equal(optune_graph_inputs(graph), n_in);
    for (int i = 0; i < n_in; i++) {
        type[i] = *optune_graph_input_type(graph, i);
        for (int d = 0; d < type[i].rank; d++)
            type[i].dim[d] = *type[i].dim[d].name ? optune_dim_of(B) : type[i].dim[d];
    }
    check_ok(optune_graph_evaluate(graph, in, type, &values, &err));
    want_of(l, &a, ways, y, last);
    near(values, 0, T * ways * B * H, y);
    near(values, 1, ways * B * H, last);
    optune_values_free(values);
    optune_graph_close(graph);
}

static void layers_are_their_formulas(void **state)
{
    static const layer all[] = {
        {"LSTM", 4, "forward", .clip = 0},
        {"LSTM", 4, "bidirectional", .peepholes = true, .lengths = true},
        {"LSTM", 4, "reverse", .together = true, .first = true},
        {"LSTM", 4, "forward", .clip = 0.5f, .lengths = true},
        {"GRU", 3, "forward", .clip = 0},
        {"GRU", 3, "bidirectional", .before = true, .lengths = true},
        {"GRU", 3, "reverse", .clip = 0.5f, .first = true},
        {"RNN", 1, "forward", .clip = 0},
        {"RNN", 1, "bidirectional", .lengths = true, .first = true},
        {"LSTM", 4, "bidirectional", .rest = true, .peepholes = true, .lengths = true},
        {"LSTM", 4, "forward", .rest = true, .open = true, .first = true},
        {"LSTM", 4, "reverse", .rest = true, .together = true, .clip = 0.5f},
        {"LSTM", 4, "bidirectional", .open = true, .lengths = true, .peepholes = true},
        {"GRU", 3, "forward", .rest = true, .before = true, .open = true},
        {"GRU", 3, "bidirectional", .rest = true, .lengths = true},
        {"GRU", 3, "reverse", .open = true, .first = true},
        {"RNN", 1, "bidirectional", .rest = true, .open = true, .lengths = true},
        {"RNN", 1, "forward", .open = true},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        print_message("%s %s\n", all[i].op, all[i].direction);
        check_layer(&all[i]);
    }
}

/* ---- spectra ------------------------------------------------------------------------------ */

enum { SAMPLES = 23, FRAME = 8, STEP = 3, FRAMES = (SAMPLES - FRAME) / STEP + 1 };

static void frames_have_their_spectra(void **state)
{
    static const int64_t step = STEP, length = FRAME;
    float x[SAMPLES], window[FRAME], want[FRAMES * (FRAME / 2 + 1) * 2];
    (void)state;
    fill(x, SAMPLES, 1);
    fill(window, FRAME, 1);
    for (int f = 0; f < FRAMES; f++)
        for (int k = 0; k <= FRAME / 2; k++) {
            double sum[2] = {0};
            for (int i = 0; i < FRAME; i++) {
                const double at = 2 * acos(-1) * k * i / FRAME;
                const double v = (double)x[f * STEP + i] * (double)window[i];
                sum[0] += v * cos(at);
                sum[1] -= v * sin(at);
            }
            want[(f * (FRAME / 2 + 1) + k) * 2] = (float)sum[0];
            want[(f * (FRAME / 2 + 1) + k) * 2 + 1] = (float)sum[1];
        }
    ot_text g = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "1,23");
    onnx_initializer(&g, "step", ONNX_INT64, "", &step, sizeof step);
    onnx_initializer(&g, "length", ONNX_INT64, "", &length, sizeof length);
    onnx_initializer(&g, "window", ONNX_FLOAT, "8", window, sizeof window);
    onnx_node(&g, "STFT", "spectra", "x step window length", "y", NULL);
    onnx_output(&g, "y");
    optune_graph *graph = read_graph(&g);
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(graph, (const void *const[]){x}, NULL, &values, &err));
    near(values, 0, OT_COUNT(want), want);
    optune_values_free(values);
    optune_graph_close(graph);
}

/* There and back along an axis that is not the last: the same, and 0 beside it. */
static void inverses_undo(void **state)
{
    float x[7 * 3], want[7 * 3 * 2] = {0};
    ot_text g = {0}, attrs = {0};
    (void)state;
    fill(x, OT_COUNT(x), 1);
    for (int i = 0; i < OT_COUNT(x); i++)
        want[2 * i] = x[i];
    onnx_input(&g, "x", ONNX_FLOAT, "7,3,1");
    attr_int(&attrs, "axis", 0);
    onnx_node(&g, "DFT", "there", "x", "t", &attrs);
    attr_int(&attrs, "axis", 0);
    attr_int(&attrs, "inverse", 1);
    onnx_node(&g, "DFT", "back", "t", "y", &attrs);
    onnx_output(&g, "y");
    optune_graph *graph = read_graph(&g);
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(graph, (const void *const[]){x}, NULL, &values, &err));
    near(values, 0, OT_COUNT(want), want);
    optune_values_free(values);
    optune_graph_close(graph);
}

/* One unit that takes one number: weights are (byte - 128) / 64, or of R each gate's own share. */
static void weights_of_bytes(void **state)
{
    enum { BYTES = 2 };
    static const uint8_t w[] = {192, 64, 160, 128}, r[] = {130, 126, 132, 124}, zero[] = {128};
    static const uint8_t zeros[] = {128, 128, 128, 128};
    static const float scale[] = {1 / 64.0f}, shares[] = {0.25f, 0.5f, 0.125f, 1};
    static const float bias[] = {0, 0.5f, 0, 1, 0.25f, 0, 0, -1}, x[] = {2, -1};
    ot_text g = {0}, attrs = {0};
    float want[2];
    double h = 0, c = 0;
    (void)state;
    for (int t = 0; t < 2; t++) {
        double all[4];
        for (int k = 0; k < 4; k++)
            all[k] = (w[k] - 128) / 64.0 * (double)x[t] + (r[k] - 128) * (double)shares[k] * h +
                     (double)(bias[k] + bias[4 + k]);
        c = c / (1 + exp(-all[2])) + tanh(all[3]) / (1 + exp(-all[0]));
        h = tanh(c) / (1 + exp(-all[1]));
        want[t] = (float)h;
    }
    onnx_input(&g, "x", ONNX_FLOAT, "2,1,1");
    onnx_initializer(&g, "w", BYTES, "1,1,4", w, sizeof w);
    onnx_initializer(&g, "r", BYTES, "1,1,4", r, sizeof r);
    onnx_initializer(&g, "b", ONNX_FLOAT, "1,8", bias, sizeof bias);
    onnx_initializer(&g, "ws", ONNX_FLOAT, "1", scale, sizeof scale);
    onnx_initializer(&g, "wz", BYTES, "1", zero, sizeof zero);
    onnx_initializer(&g, "rs", ONNX_FLOAT, "1,4", shares, sizeof shares);
    onnx_initializer(&g, "rz", BYTES, "1,4", zeros, sizeof zeros);
    attr_int(&attrs, "hidden_size", 1);
    onnx_contrib(&g, "DynamicQuantizeLSTM", "x w r b - - - - ws wz rs rz", &attrs);
    onnx_output(&g, "y");
    optune_graph *graph = read_graph(&g);
    optune_values *values = NULL;
    optune_err err = {0};
    check_ok(optune_graph_evaluate(graph, (const void *const[]){x}, NULL, &values, &err));
    near(values, 0, 2, want);
    optune_values_free(values);
    optune_graph_close(graph);
    ot_text_release(&attrs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_their_formulas),
        cmocka_unit_test(weights_of_bytes),
        cmocka_unit_test(frames_have_their_spectra),
        cmocka_unit_test(inverses_undo),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
