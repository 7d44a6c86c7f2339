/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum and cumprod: the best template of ours against the loop that one would write, compiled
 * at -O3 -march=native with the flags that templates get. Both read the same input and write
 * the same output; both are verified.
 */
#include <string.h>

#include "bench/bench.h"

static const char *const workloads[] = {
    "cumsum(f32[4096])",
    "cumsum(f32[65536])",
    "cumsum(f32[1048576])",
    "cumsum(f32[33554432])",
    "cumsum(f32[32,50257], axis=1)",
    "cumsum(i32[64,512], axis=1)",
    "cumsum(i32[1048576], exclusive=true)",
    "cumsum(f64[1048576])",
    "cumsum(f32[64,64], axis=0)",
    "cumsum(f32[1080,1920], axis=0)",
    "cumsum(f32[16,1000,256], axis=1)",
    "cumsum(f32[4096,8192], axis=0)",
    "cumprod(f32[1000])",
    "cumprod(f32[4096,64], axis=1, exclusive=true)",
    "cumprod(f32[4096,192], axis=1, exclusive=true)",
    "cumprod(f32[1024,256], axis=0)",
    NULL,
};

static const bench_about about = {
    .name = "scan_vs_loop",
    .summary = "cumsum and cumprod, our best template against plain loops",
    .threads = 1,
    .seconds = 10,
    .workloads = workloads,
};

/* A line at a time where the axis is the last, else rows after rows: lines side by side are what
 * the compiler makes vectors of. */
static const char source[] =
    "void loop(void *const *arg)\n"
    "{\n"
    "    const IN *restrict in = arg[1];\n"
    "    OUT *restrict out = arg[0];\n"
    "    for (long o = 0; o < OUTER; o++, in += (long)N * INNER, out += (long)N * INNER) {\n"
    "#if INNER == 1\n"
    "        OUT so_far = PRODUCT;\n"
    "        for (long i = 0; i < N; i++) {\n"
    "            const OUT next = OP(so_far, (OUT)in[i]);\n"
    "            out[i] = EXCLUSIVE ? so_far : next;\n"
    "            so_far = next;\n"
    "        }\n"
    "#else\n"
    "        for (long k = 0; k < INNER; k++)\n"
    "            out[k] = EXCLUSIVE ? PRODUCT : (OUT)in[k];\n"
    "        for (long i = 1; i < N; i++)\n"
    "            for (long k = 0; k < INNER; k++)\n"
    "                out[i * INNER + k] = OP(out[(i - 1) * INNER + k],\n"
    "                                        (OUT)in[(i - EXCLUSIVE) * INNER + k]);\n"
    "#endif\n"
    "    }\n"
    "}\n";

static const char *c_type(optune_dtype dtype)
{
    const bool wide = dtype.bits == 64;
    if (dtype.code == OPTUNE_DTYPE_FLOAT)
        return wide ? "double" : "float";
    return dtype.code != OPTUNE_DTYPE_INT ? "unsigned char" : wide ? "long" : "int";
}

static void *loop_of(bench *b, bench_function *f)
{
    const ot_session *s = &b->session;
    const optune_tensor *in = &s->call.input[0].type;
    int64_t outer = 1, n = 1, inner = 1;
    if (optune_call_none(&s->call, "axis")) {
        n = optune_tensor_elements(in);
    } else {
        int64_t axis = optune_call_int(&s->call, "axis");
        axis += axis < 0 ? in->rank : 0;
        for (int d = 0; d < in->rank; d++)
            *(d < axis ? &outer : d == axis ? &n : &inner) *= in->dim[d].min;
    }
    const bool product = strcmp(s->call.op->name, "cumprod") == 0;
    ot_text text = {0};
    ot_text_printf(&text, "#define IN %s\n#define OUT %s\n", c_type(in->dtype),
                   c_type(s->call.output[0].dtype));
    ot_text_printf(&text, "#define OUTER %lld\n#define N %lld\n#define INNER %lld\n",
                   (long long)outer, (long long)n, (long long)inner);
    ot_text_printf(
        &text, "#define PRODUCT %d\n#define EXCLUSIVE %d\n#define OP(a, b) (a %c b)\n%s",
        product, (int)optune_call_int(&s->call, "exclusive"), product ? '*' : '+', source);
    void *module = bench_module(b, text.s);
    bench_function_of(b, module, "loop", f);
    f->arg[0] = s->row->address(s->state, s->out[OT_ALIGNED][0]);
    f->arg[1] = s->row->address(s->state, s->in[OT_ALIGNED][0]);
    ot_text_release(&text);
    return module;
}

static void run(bench *b, bench_ours *ours, bench_table *table)
{
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[2 * OPTUNE_TEXT_SIZE];
    bench_function loop = {0};
    bench_buffers(b, ours->call);
    void *module = loop_of(b, &loop);
    loop.run(loop.arg);
    bench_check(b, ours->impl->name, "the loop");
    bench_bind(ours);
    const double bytes = ot_call_bytes(&b->session.call);
    const bench_row row = bench_compare(b, bench_ours_time, ours, bench_function_time, &loop);
    bench_label(&b->session.call, label, sizeof label);
    bench_ours_how(ours, how, sizeof how);
    snprintf(line, sizeof line, "%s, %.1f GB/s | %.1f GB/s", how,
             bytes / row.ours.median * 1e-9, bytes / row.peer.median * 1e-9);
    bench_print(table, label, &row, line);
    bench_unbind(ours);
    b->session.row->unload(b->session.state, module);
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, &about, "plain loops, compiled as templates are",
                      (const char *const[]){"ours", "loop", "speed"}, run);
}
