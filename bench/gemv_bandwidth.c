/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense with one row (or a few): how much of the read bandwidth the best template gets. Such a
 * product reads every weight once and does nothing else of weight, so its speed is the weight's
 * bytes over its time; the peer is a loop that only reads as many bytes, warm as well.
 *
 * The one idea: the peer is compiled as bodies are, and of several ways to read (with
 * prefetching or without, so far ahead or farther) the fastest counts, so that the share is of
 * what is possible.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const bench_about about = {
    .name = "gemv_bandwidth",
    .summary = "matrix times vector, share of the measured read bandwidth",
    .op = "dense",
    .preset = "resnet50",
    .threads = 1,
    .seconds = 20,
};

/* Reads BYTES in THREADS parts; the sums keep the loads alive. */
static const char source[] =
    "typedef float vec __attribute__((vector_size(VEC_BYTES), may_alias));\n"
    "typedef __INT64_TYPE__ i64;\n"
    "static inline __attribute__((always_inline)) vec part(const vec *p, i64 n, const int "
    "ahead) {\n"
    "    vec s[SUMS] = {0};\n"
    "    i64 i = 0;\n"
    "    for (; i + SUMS <= n; i += SUMS) {\n"
    "        _Pragma(\"GCC unroll 16\")\n"
    "        for (int k = 0; k < SUMS; k++) {\n"
    "            s[k] += p[i + k];\n"
    "            if (ahead) __builtin_prefetch((const char *)(p + i + k) + ahead, 0, 3);\n"
    "        }\n"
    "    }\n"
    "    for (; i < n; i++) s[0] += p[i];\n"
    "    for (int k = 1; k < SUMS; k++) s[0] += s[k];\n"
    "    return s[0];\n"
    "}\n"
    "#define READ(name, ahead) \\\n"
    "    void name(void *const *arg) { \\\n"
    "        const i64 n = BYTES / sizeof(vec) / THREADS; \\\n"
    "        PARALLEL \\\n"
    "        for (int t = 0; t < THREADS; t++) \\\n"
    "            ((vec *)arg[0])[t] = part((const vec *)arg[1] + t * n, n, ahead); \\\n"
    "    }\n"
    "READ(read_0, 0)\n"
    "READ(read_1, 512)\n"
    "READ(read_2, 1024)\n"
    "READ(read_3, 2048)\n"
    "READ(read_4, 4096)\n";
enum { READERS = 5 };

static void *reader_module(bench *b, int64_t bytes)
{
    const ot_session *s = &b->session;
    ot_text text = {0};
    ot_text_printf(&text, "#define THREADS %d\n#define BYTES %lld\n#define VEC_BYTES %d\n",
                   b->threads, (long long)bytes,
                   s->device.vector_bytes >= 16 ? s->device.vector_bytes : 16);
    ot_text_printf(&text, "#define SUMS %d\n#define PARALLEL %s\n%s",
                   s->device.vector_registers >= 32 ? 16 : 8,
                   b->threads > 1 ? "_Pragma(\"omp parallel for num_threads(THREADS)\")" : "",
                   source);
    void *module = bench_module(b, text.s);
    ot_text_release(&text);
    return module;
}

static void run(bench *b, bench_ours *ours, bench_table *table)
{
    ot_session *s = &b->session;
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[2 * OPTUNE_TEXT_SIZE];
    bench_buffers(b, ours->call);
    const int64_t bytes = s->in_bytes[1];
    void *module = reader_module(b, bytes), *arg[READERS];
    void *sums = aligned_alloc(64, 64 * (size_t)b->threads);
    bench_function reader[READERS] = {0};
    for (int i = 0; i < READERS; i++) {
        snprintf(line, sizeof line, "read_%d", i);
        bench_function_of(b, module, line, &reader[i]);
        reader[i].arg[0] = sums;
        reader[i].arg[1] = s->row->address(s->state, s->in[OT_ALIGNED][1]);
        arg[i] = &reader[i];
    }
    const int best = bench_fastest(bench_function_time, arg, READERS);
    bench_bind(ours);
    const bench_row row =
        bench_compare(b, bench_ours_time, ours, bench_function_time, &reader[best]);
    bench_label(&s->call, label, sizeof label);
    bench_ours_how(ours, how, sizeof how);
    snprintf(line, sizeof line, "%s, %.1f GB/s | %.1f GB/s", how,
             (double)bytes / row.ours.median * 1e-9, (double)bytes / row.peer.median * 1e-9);
    bench_print(table, label, &row, line);
    bench_unbind(ours);
    s->row->unload(s->state, module);
    free(sums);
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, &about, "reading the weight's bytes and nothing else",
                      (const char *const[]){"ours", "reading", "share"}, run);
}
