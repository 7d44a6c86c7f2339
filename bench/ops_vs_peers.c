/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single ops: the best template of ours against oneDNN's primitive and against plain loops
 * compiled with the flags that templates get. All read the same inputs and write the same
 * output, in the same layout, and all are verified.
 *
 * The one idea: a row is a workload, the name of oneDNN's primitive and the loops as one line of
 * C, so that a row for another op costs a few lines and no code.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/peer_ops.h"

typedef struct peers {
    const char *workload;
    const char *onednn; /* see peer_ops.c; NULL: oneDNN has none */
    /* Over o (output), a and b (inputs), all DTYPE; N: elements of the output, D0 D1 ...: dims
     * of the first input; NULL: none. */
    const char *loops;
} peers;

#define SIZES(op, name, how)                                                                   \
    {op("4096"), name, how}, {op("65536"), name, how}, {op("1048576"), name, how},             \
    {                                                                                          \
        op("16777216"), name, how                                                              \
    }
#define EACH(value) "for (long i = 0; i < N; i++) o[i] = " value ";"
#define ADD(n) "add(f32[" n "], f32[" n "])"
#define MULTIPLY(n) "multiply(f32[" n "], f32[" n "])"
#define SIGMOID(n) "sigmoid(f32[" n "])"
#define TANH(n) "tanh(f32[" n "])"
#define RELU(n) "relu(f32[" n "])"

/* A reduction of either dim of a matrix; `v` is the value, `s` what was combined before. */
#define ROWS(start, step)                                                                      \
    "for (long i = 0; i < D0; i++) { float s = " start "; for (long k = 0; k < D1; k++) { "    \
    "const float v = a[i * D1 + k]; s = " step "v; } o[i] = s; }"
#define COLUMNS(start, step)                                                                   \
    "for (long k = 0; k < D1; k++) o[k] = " start "; for (long i = 0; i < D0; i++) for (long " \
    "k = 0; k < D1; k++) { const float v = a[i * D1 + k], s = o[k]; o[k] = " step "v; }"
#define REDUCTIONS(op, name, start, step)                                                      \
    {op "(f32[64,256], axis=[1])", name, ROWS(start, step)},                                   \
        {op "(f32[1024,1024], axis=[1])", name, ROWS(start, step)},                            \
        {op "(f32[4096,4096], axis=[1])", name, ROWS(start, step)},                            \
        {op "(f32[256,64], axis=[0])", name, COLUMNS(start, step)},                            \
        {op "(f32[1024,1024], axis=[0])", name, COLUMNS(start, step)},                         \
    {                                                                                          \
        op "(f32[4096,4096], axis=[0])", name, COLUMNS(start, step)                            \
    }

#define MAX_POOL(shape, size, strides)                                                         \
    "max_pool2d(f32[1," shape "], pool_size=[" size "], strides=" strides ")"
#define AVG_POOL(shape, strides)                                                               \
    "avg_pool2d(f32[1," shape "], pool_size=[3,3], strides=" strides ")"

static const peers rows[] = {
    SIZES(ADD, "binary_add", EACH("a[i] + b[i]")),
    SIZES(MULTIPLY, "binary_mul", EACH("a[i] * b[i]")),
    {"add(f32[32,64,56,56], f32[64,1,1])", "binary_add",
     "for (long i = 0; i < D0; i++) for (long c = 0; c < D1; c++) for (long k = 0; k < D2 * "
     "D3; "
     "k++) o[(i * D1 + c) * D2 * D3 + k] = a[(i * D1 + c) * D2 * D3 + k] + b[c];"},
    {"add(f32[1024,1024], f32[1024])", "binary_add",
     "for (long i = 0; i < D0; i++) for (long k = 0; k < D1; k++) o[i * D1 + k] = a[i * D1 + "
     "k] "
     "+ b[k];"},
    SIZES(RELU, "eltwise_relu", EACH("a[i] > 0 ? a[i] : 0")),
    SIZES(SIGMOID, "eltwise_logistic", EACH("1 / (1 + __builtin_expf(-a[i]))")),
    REDUCTIONS("sum", "reduction_sum", "0", "s + "),
    {"max(f32[64,256], axis=[1])", "reduction_max", ROWS("-__builtin_inff()", "s > v ? s : ")},
    {"max(f32[1024,4096], axis=[1])", "reduction_max",
     ROWS("-__builtin_inff()", "s > v ? s : ")},
    {"max(f32[4096,1024], axis=[0])", "reduction_max",
     COLUMNS("-__builtin_inff()", "s > v ? s : ")},
    {"mean(f32[32,2048,7,7], axis=[2,3])", "reduction_mean",
     "for (long i = 0; i < N; i++) { float s = 0; for (long k = 0; k < D2 * D3; k++) s += a[i "
     "* D2 "
     "* D3 + k]; o[i] = s / (D2 * D3); }"},
    {"layout_transform(f32[1,64,56,56], src_layout=NCHW, dst_layout=NCHW16c)", NULL,
     "for (long c = 0; c < D1 / 16; c++) for (long k = 0; k < D2 * D3; k++) for (long j = 0; j "
     "< "
     "16; j++) o[(c * D2 * D3 + k) * 16 + j] = a[(c * 16 + j) * D2 * D3 + k];"},
    {"layout_transform(f32[1,4,56,56,16], src_layout=NCHW16c, dst_layout=NCHW)", NULL,
     "for (long c = 0; c < D1; c++) for (long j = 0; j < 16; j++) for (long k = 0; k < D2 * "
     "D3; "
     "k++) o[(c * 16 + j) * D2 * D3 + k] = a[(c * D2 * D3 + k) * 16 + j];"},
    {"transpose(f32[1024,1024])", NULL,
     "for (long i = 0; i < D1; i++) for (long j = 0; j < D0; j++) o[i * D0 + j] = a[j * D1 + "
     "i];"},
    {"concatenate(f32[128,512], f32[128,256], axis=1)", NULL,
     "for (long i = 0; i < D0; i++) { for (long j = 0; j < 512; j++) o[i * 768 + j] = a[i * "
     "512 + "
     "j]; for (long j = 0; j < 256; j++) o[i * 768 + 512 + j] = b[i * 256 + j]; }"},
    SIZES(TANH, "eltwise_tanh", EACH("__builtin_tanhf(a[i])")),
    {"softmax(f32[12,128,128])", "softmax", NULL},
    {"softmax(f32[12,512,512])", "softmax", NULL},
    {"softmax(f32[64,1000])", "softmax", NULL},
    {"softmax(f32[16,50257])", "softmax", NULL},
    {"softmax(f32[1,19,64,128], axis=1)", "softmax", NULL},
    {MAX_POOL("64,112,112", "3,3", "[2,2], padding=[1,1]"), "pooling_max", NULL},
    {MAX_POOL("64,224,224", "2,2", "[2,2]"), "pooling_max", NULL},
    {MAX_POOL("256,56,56", "2,2", "[2,2]"), "pooling_max", NULL},
    {MAX_POOL("512,14,14", "2,2", "[2,2]"), "pooling_max", NULL},
    {MAX_POOL("192,71,71", "3,3", "[2,2]"), "pooling_max", NULL},
    {"max_pool2d(f32[1,4,112,112,16], pool_size=[3,3], strides=[2,2], padding=[1,1], "
     "layout=NCHW16c)",
     "pooling_max", NULL},
    {AVG_POOL("288,35,35", "[1,1], padding=[1,1], count_include_pad=true"),
     "pooling_avg_include_padding", NULL},
    {AVG_POOL("768,17,17", "[1,1], padding=[1,1], count_include_pad=true"),
     "pooling_avg_include_padding", NULL},
    {AVG_POOL("64,112,112", "[2,2], padding=[1,1]"), "pooling_avg", NULL},
    {AVG_POOL("2048,8,8", "[1,1], padding=[1,1], count_include_pad=true"),
     "pooling_avg_include_padding", NULL},
    {"global_avg_pool2d(f32[1,2048,7,7])", "pooling_avg", NULL},
    {"global_avg_pool2d(f32[32,2048,7,7])", "pooling_avg", NULL},
};

static const peers *find(const char *workload)
{
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_call call;
        ot_text text = {0};
        if (ot_call_parse(rows[i].workload, &call, NULL) < 0)
            bench_die("'%s' does not parse", rows[i].workload);
        ot_call_print(&call, &text);
        const bool same = strcmp(text.s, workload) == 0;
        ot_text_release(&text);
        if (same)
            return &rows[i];
    }
    bench_die("no peers are known for '%s'", workload);
}

static void *loops_of(bench *b, const peers *p, bench_function *f)
{
    const ot_session *s = &b->session;
    const optune_tensor *in = &s->call.input[0].type;
    ot_text text = {0};
    ot_text_printf(&text, "#define N %lldL\n#define DTYPE %s\n",
                   (long long)optune_tensor_elements(&s->call.output[0]),
                   s->call.output[0].dtype.bits == 64 ? "double" : "float");
    for (int d = 0; d < in->rank; d++)
        ot_text_printf(&text, "#define D%d %lldL\n", d, (long long)in->dim[d].min);
    ot_text_add(&text, "void loops(void *const *arg) {\n"
                       "DTYPE *restrict o = arg[0]; const DTYPE *a = arg[1], *b = arg[2];\n");
    ot_text_printf(&text, "(void)b; %s }\n", p->loops);
    void *module = bench_module(b, text.s);
    bench_function_of(b, module, "loops", f);
    f->arg[0] = s->row->address(s->state, s->out[OT_ALIGNED][0]);
    for (int i = 0; i < s->call.n_inputs; i++)
        f->arg[i + 1] = s->row->address(s->state, s->in[OT_ALIGNED][i]);
    f->arg[1 + s->call.n_inputs] = f->arg[1];
    ot_text_release(&text);
    return module;
}

typedef struct tables {
    bench_table onednn, loops;
} tables;

static void compare(bench *b, bench_ours *ours, const peers *p, tables *t, bool onednn)
{
    const ot_session *s = &b->session;
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[3 * OPTUNE_TEXT_SIZE];
    bench_buffers(b, ours->call);
    peer_ops *peer = onednn && p->onednn ? peer_ops_open(b, p->onednn) : NULL;
    if (peer)
        bench_check(b, ours->impl->name, peer_ops_how(peer));
    bench_bind(ours);
    bench_label(&s->call, label, sizeof label);
    bench_ours_how(ours, how, sizeof how);
    if (peer) {
        const bench_row row = bench_compare(b, bench_ours_time, ours, peer_ops_time, peer);
        snprintf(line, sizeof line, "%s | %s", how, peer_ops_how(peer));
        bench_print(&t->onednn, label, &row, line);
        peer_ops_close(peer);
    }
    if (p->loops) {
        bench_function f = {0};
        void *module = loops_of(b, p, &f);
        f.run(f.arg);
        const bench_row row = bench_compare(b, bench_ours_time, ours, bench_function_time, &f);
        snprintf(line, sizeof line, "%s | loops", how);
        bench_print(&t->loops, label, &row, line);
        s->row->unload(s->state, module);
    }
    bench_unbind(ours);
}

int main(int argc, char **argv)
{
    static bench b;
    static bench_ours ours[BENCH_MOST];
    static const char *workloads[OT_COUNT(rows) + 1];
    static bench_about about = {
        .name = "ops_vs_peers",
        .summary = "single ops, our best template against oneDNN and plain loops",
        .threads = 1,
        .seconds = 5,
        .workloads = workloads,
    };
    tables t = {0};
    char peer_text[512];
    for (int i = 0; i < OT_COUNT(rows); i++)
        workloads[i] = rows[i].workload;
    bench_open(&b, &about, argc, argv);
    bench_tune(&b, b.workload, b.n, b.seconds);
    for (int i = 0; i < b.n; i++)
        bench_select(&b, b.workload[i], &ours[i]);
    bench_measuring(&b);
    const bool onednn = peer_ops_there(&b, peer_text, sizeof peer_text);
    bench_heading(&b, peer_text);
    bench_columns("ours", "peer", "speed");
    for (int i = 0; i < b.n; i++)
        compare(&b, &ours[i], find(b.workload[i]), &t, onednn);
    if (t.loops.n && t.onednn.n)
        bench_geomean(&t.onednn, "against oneDNN");
    bench_geomean(t.loops.n ? &t.loops : &t.onednn, NULL);
    bench_close(&b);
    return 0;
}
