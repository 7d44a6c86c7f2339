/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The innermost loop of every GEMM here: one register tile over operands that stay in the
 * first-level cache, against multiply-adds that never leave the registers.
 *
 * The one idea: the tile is compiled from the body that dense_gemm.cpu embeds, with the macros
 * that its plan defines, so that what is measured is what runs; only the loops around it are
 * missing. A run of either side is the same number of operations.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const char *depth_text = "0";
static const bench_option options[] = {
    {"depth", "K", "steps of the tile (default: operands fill half of the L1 cache)",
     &depth_text},
    {NULL, NULL, NULL, NULL},
};
static const bench_about about = {
    .name = "gemm_tile_peak",
    .summary = "register tile of the GEMM body, share of the measured FMA peak",
    .op = "dense",
    .preset = "bert-base",
    .threads = 1,
    .seconds = 10,
    .options = options,
};

/* After the body. The tile's operands: a, b, c of thread t, one after another. */
static const char source[] =
    "\n#define FLOATS (GEMM_MR * DEPTH + DEPTH * GEMM_NR + GEMM_MR * GEMM_NR)\n"
    "static __attribute__((noinline)) void bench_tile(const DTYPE *a, const DTYPE *b, DTYPE "
    "*c) {\n"
    "    gemm_acc acc;\n"
    "    gemm_start(acc, GEMM_MR, 0, GEMM_NR);\n"
    "    gemm_mac(acc, GEMM_MR, DEPTH, a, DEPTH, 1, b, GEMM_NR);\n"
    "    gemm_store(acc, GEMM_MR, c, GEMM_NR, GEMM_NR);\n"
    "}\n"
    "void tiles(void *const *arg) {\n"
    "    PARALLEL_FOR\n"
    "    for (int t = 0; t < OT_THREADS; t++) {\n"
    "        DTYPE *b = (DTYPE *)arg[0] + t * CEIL_DIV(FLOATS, 1024) * 1024;\n"
    "        DTYPE *c = b + DEPTH * GEMM_NR, *a = c + GEMM_MR * GEMM_NR;\n"
    "        for (int i = 0; i < REPEATS; i++) bench_tile(a, b, c);\n"
    "    }\n"
    "}\n"
    "static __attribute__((noinline)) vec sums(void) {\n"
    "    vec s[SUMS], x = splat((DTYPE)0.999), y = splat((DTYPE)0.001);\n"
    "    UNROLL(64)\n"
    "    for (int k = 0; k < SUMS; k++) s[k] = splat((DTYPE)k);\n"
    "    for (i64 i = 0; i < (i64)REPEATS * DEPTH * GEMM_MR * GEMM_NV / SUMS; i++) {\n"
    "        UNROLL(64)\n"
    "        for (int k = 0; k < SUMS; k++) s[k] = s[k] * x + y;\n"
    "    }\n"
    "    for (int k = 1; k < SUMS; k++) s[0] += s[k];\n"
    "    return s[0];\n"
    "}\n"
    "void peak(void *const *arg) {\n"
    "    PARALLEL_FOR\n"
    "    for (int t = 0; t < OT_THREADS; t++) ((vec *)arg[1])[t] = sums();\n"
    "}\n";

enum { SUMS_WIDE = 24, SUMS_NARROW = 12, REPEATS = 240 }; /* REPEATS: a multiple of both */

typedef struct tile {
    optune_call call;
    optune_config config; /* of dense_gemm.cpu */
    bool tuned;
    int64_t mr, nv, lanes, depth;
} tile;

/* The tuned config when the workload's winner is the blocked GEMM, else its fallback. */
static void choose(bench *b, const char *workload, tile *t)
{
    optune_err err = {0};
    optune_selection *s = NULL;
    optune_space *space = NULL;
    const optune_impl *gemm = ot_impl_find("dense_gemm.cpu");
    const optune_task task = {&t->call, &b->o->target, &b->o->device};
    char why[OPTUNE_WHY_SIZE];
    if (ot_call_parse(workload, &t->call, &err) < 0 ||
        optune_select(b->o, workload, &s, &err) < 0)
        bench_die("%s", err.text);
    if (!gemm->applies(&task, why))
        bench_die("%s: %s", workload, why);
    t->tuned = strcmp(optune_selection_impl(s), gemm->name) == 0;
    int status = t->tuned ? ot_config_parse(optune_selection_config(s), &t->config, &err)
                          : ot_space_open(&task, gemm, &space, &err);
    if (status < 0)
        bench_die("%s", err.text);
    if (space && !ot_space_fallback(space, &t->config, why))
        bench_die("%s: %s", workload, why);
    ot_space_close(space);
    optune_selection_free(s);

    const int64_t bytes = t->call.output[0].dtype.bits / 8;
    t->mr = optune_config_int(&t->config, "tile_m");
    t->nv = optune_config_int(&t->config, "tile_n");
    t->lanes = b->o->device.vector_bytes / bytes;
    if (!ot_parse_int(depth_text, &t->depth) || t->depth < 0 || t->depth > 1 << 20)
        bench_die("--depth is a number of steps, not '%s'", depth_text);
    if (!t->depth) {
        const int64_t l1 = b->o->device.l1 > 0 ? b->o->device.l1 : 32 << 10;
        t->depth = l1 / 2 / bytes / (t->mr + t->nv * t->lanes) / 8 * 8;
    }
}

static void run(bench *b, const tile *t, bench_table *table)
{
    ot_session *s = &b->session;
    const optune_task task = {&t->call, &s->target, &s->device};
    optune_err err = {0};
    ot_text text = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    if (ot_plan_make(&task, ot_impl_find("dense_gemm.cpu"), &t->config, plan, &err) < 0)
        bench_die("%s", err.text);
    ot_text_printf(&text, "#define DEPTH %lld\n#define REPEATS %d\n#define SUMS %d\n",
                   (long long)t->depth, (int)REPEATS,
                   s->device.vector_registers >= 32 ? (int)SUMS_WIDE : (int)SUMS_NARROW);
    ot_plan_source(&task, plan, 0, &text);
    ot_text_add(&text, source);
    void *module = bench_module(b, text.s);
    bench_function tiles, peak;
    bench_function_of(b, module, "tiles", &tiles);
    bench_function_of(b, module, "peak", &peak);

    const int64_t bytes = t->call.output[0].dtype.bits / 8, nr = t->nv * t->lanes;
    const int64_t elements =
        (t->mr * t->depth + t->depth * nr + t->mr * nr + 1024) * b->threads;
    void *data, *sums = aligned_alloc(64, 64 * (size_t)b->threads);
    if (posix_memalign(&data, 4096, (size_t)(elements * bytes)) != 0)
        bench_die("out of memory");
    memset(data, 0, (size_t)(elements * bytes));
    tiles.arg[0] = peak.arg[0] = data;
    tiles.arg[1] = peak.arg[1] = sums;
    const bench_row row =
        bench_compare(b, bench_function_time, &tiles, bench_function_time, &peak);

    char label[OPTUNE_TEXT_SIZE], line[OPTUNE_TEXT_SIZE];
    const double flops = 2.0 * REPEATS * (double)(t->mr * nr * t->depth) * b->threads;
    bench_label(&t->call, label, sizeof label);
    snprintf(line, sizeof line, "tile %lld x %lld, %lld steps%s, %.1f GFLOP/s | %.1f GFLOP/s",
             (long long)t->mr, (long long)nr, (long long)t->depth, t->tuned ? "" : " (untuned)",
             flops / row.ours.median * 1e-9, flops / row.peer.median * 1e-9);
    bench_print(table, label, &row, line);
    s->row->unload(s->state, module);
    ot_text_release(&text);
    free(plan);
    free(data);
    free(sums);
}

int main(int argc, char **argv)
{
    static bench b;
    bench_table table = {0};
    bench_open(&b, &about, argc, argv);
    bench_tune(&b, b.workload, b.n, b.seconds);
    tile *t = ot_alloc((size_t)b.n * sizeof *t);
    for (int i = 0; i < b.n; i++)
        choose(&b, b.workload[i], &t[i]);
    bench_measuring(&b);
    bench_heading(&b, "multiply-adds in registers");
    bench_columns("tile", "registers", "share");
    for (int i = 0; i < b.n; i++)
        run(&b, &t[i], &table);
    bench_geomean(&table, NULL);
    free(t);
    bench_close(&b);
    return 0;
}
