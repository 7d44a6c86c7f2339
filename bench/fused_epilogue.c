/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fusing is worth: a workload with `-> add(bias) -> relu()` tuned and executed as one, beside
 * the best template of its first operator followed by a pass over its output for each fused one.
 * The passes are plain vector loops over the output in place, compiled with the templates' flags:
 * the least that an executor without fusion does.
 *
 * The one idea: both sides read and write the same buffers, and both results are verified against
 * the fused call's reference.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const char *const workloads[] = {
    "dense(f32[128,768], const f32[3072,768]) -> add(const f32[3072]) -> relu()",
    "dense(f32[128,64], const f32[768,64]) -> add(const f32[768]) -> relu()",
    "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1]) -> add(const f32[64,1,1]) -> "
    "relu()",
    "conv2d(f32[1,64,56,56], const f32[256,64,1,1]) -> add(const f32[256,1,1]) -> relu()",
    "conv2d(f32[1,256,14,14], const f32[256,256,3,3], padding=[1]) -> add(const f32[256,1,1]) "
    "-> "
    "relu()",
    "conv2d(f32[1,32,112,112], const f32[32,1,3,3], padding=[1], groups=32) -> "
    "add(const f32[32,1,1]) -> relu()",
    NULL,
};

static const bench_about about = {
    .name = "fused_epilogue",
    .summary = "bias and relu fused into dense and conv2d, beside passes of their own",
    .workloads = workloads,
    .threads = 1,
    .seconds = 20,
    .rows = 2,
};

/* [OUTER][CHANNELS][INNER], a bias for each channel. */
static const char source[] = "void add_bias(void *const *arg) {\n"
                             "    float *out = arg[0]; const float *bias = arg[1];\n"
                             "    for (long o = 0; o < OUTER; o++)\n"
                             "        for (long c = 0; c < CHANNELS; c++)\n"
                             "            for (long i = 0; i < INNER; i++)\n"
                             "                out[(o * CHANNELS + c) * INNER + i] += bias[c];\n"
                             "}\n"
                             "void relu(void *const *arg) {\n"
                             "    float *out = arg[0];\n"
                             "    for (long i = 0; i < OUTER * CHANNELS * INNER; i++)\n"
                             "        out[i] = out[i] > 0 ? out[i] : 0;\n"
                             "}\n";

typedef struct separate {
    const bench_ours *first;
    bench_function add, relu;
} separate;

static double separate_time(void *arg, int64_t count)
{
    separate *s = arg;
    const ot_session *session = &s->first->bench->session;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++) {
        if (session->row->run(session->state, s->first->bound->launch[OPTUNE_TIMED],
                              s->first->bound->n[OPTUNE_TIMED], NULL) < 0)
            return -1;
        s->add.run(s->add.arg);
        s->relu.run(s->relu.arg);
    }
    return (double)(ot_now_ns() - start) * 1e-9;
}

/* The plan of the first operator alone, over the buffers of the fused call. */
static void bind_first(bench *b, bench_ours *first, const optune_call *call)
{
    ot_session *s = &b->session;
    optune_err err = {0};
    const ot_built built = ot_built_of(first->job, first->impl, &first->config);
    int outcome;
    s->task.call = call;
    if (ot_loaded_open(s, &built, &first->loaded, &outcome, &err) < 0 ||
        ot_bound_open(s, first->loaded, OT_ALIGNED, &first->bound, &err) < 0 ||
        ot_bound_prepack(first->bound, &err) < 0)
        bench_die("%s of %s: %s", first->impl->name, first->call, err.text);
    s->task.call = &s->call;
}

static void *passes(bench *b, separate *p)
{
    const ot_session *s = &b->session;
    const optune_tensor *out = &s->call.output[0];
    const int channel = out->rank == 2 ? 1 : out->rank == 4 ? 1 : -1;
    if (channel < 0 || s->call.n_epilogues != 2 || s->call.n_extra != 1 ||
        optune_tensor_elements(&s->call.input[s->call.n_inputs].type) !=
            out->dim[channel].min ||
        out->dtype.bits != 32)
        bench_die("not `-> add(bias) -> relu()` behind float32: %s", s->call.op->name);
    int64_t inner = 1;
    for (int d = channel + 1; d < out->rank; d++)
        inner *= out->dim[d].min;
    ot_text text = {0};
    ot_text_printf(&text, "#define OUTER %lld\n#define CHANNELS %lld\n#define INNER %lld\n%s",
                   (long long)out->dim[0].min, (long long)out->dim[channel].min,
                   (long long)inner, source);
    void *module = bench_module(b, text.s);
    ot_text_release(&text);
    bench_function_of(b, module, "add_bias", &p->add);
    bench_function_of(b, module, "relu", &p->relu);
    p->add.arg[0] = p->relu.arg[0] = s->row->address(s->state, s->out[OT_ALIGNED][0]);
    p->add.arg[1] = s->row->address(s->state, s->in[OT_ALIGNED][s->call.n_inputs]);
    return module;
}

static char *first_of(const char *workload)
{
    char *first = ot_strdup(workload);
    char *arrow = strstr(first, " -> ");
    if (!arrow)
        bench_die("nothing is fused in %s", workload);
    *arrow = '\0';
    return first;
}

static void run(bench *b, bench_ours *fused, bench_ours *first, bench_table *table)
{
    ot_session *s = &b->session;
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    static optune_call call;
    if (ot_call_parse(first->call, &call, &err) < 0)
        bench_die("%s", err.text);
    bench_buffers(b, fused->call);
    separate p = {.first = first};
    void *module = passes(b, &p);
    bind_first(b, first, &call);
    if (separate_time(&p, 1) < 0)
        bench_die("%s of %s does not run", first->impl->name, first->call);
    bench_check(b, first->impl->name, "separate passes");
    bench_bind(fused);
    const bench_row row = bench_compare(b, bench_ours_time, fused, separate_time, &p);
    bench_label(&s->call, label, sizeof label);
    bench_ours_how(fused, how, sizeof how);
    bench_print(table, label, &row, how);
    bench_unbind(fused);
    bench_unbind(first);
    s->row->unload(s->state, module);
}

int main(int argc, char **argv)
{
    static bench b;
    static bench_ours fused[BENCH_MOST], first[BENCH_MOST];
    static char *text[BENCH_MOST];
    bench_table table = {0};
    bench_open(&b, &about, argc, argv);
    for (int i = 0; i < b.n; i++)
        text[i] = first_of(b.workload[i]);
    bench_tune(&b, b.workload, b.n, b.seconds);
    bench_tune(&b, text, b.n, b.seconds);
    for (int i = 0; i < b.n; i++) {
        bench_select(&b, b.workload[i], &fused[i]);
        bench_select(&b, text[i], &first[i]);
        free(text[i]);
    }
    bench_measuring(&b);
    bench_heading(&b, "the first operator, then a pass for each fused one");
    bench_columns("fused", "passes", "speedup");
    for (int i = 0; i < b.n; i++)
        run(&b, &fused[i], &first[i], &table);
    bench_geomean(&table, NULL);
    bench_close(&b);
    return 0;
}
