/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the database costs: import and rebuild by the line, opening, and a select that is not kept
 * as the records of one workload grow. Records are made up: what they say changes no time. No peer.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

enum { QUESTIONS = 200, ROUNDS = 41, SAMPLES = 10 };

static const char workload[] = "dense(f32[16,64], const f32[32,64])";

static optune *open_handle(const char *db)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {
        .size = sizeof options, .db = db, .target = "cpu -threads=1"};
    if (optune_open(&options, &o, &err) < 0 || ot_context_device(o, &err) < 0)
        bench_die("%s", err.text);
    return o;
}

/* Record i of a question: random configs, costs that differ. */
static void make(optune *o, const optune_call *call, const optune_impl *impl,
                 optune_space *space, uint64_t *rng, int i, optune_record *r, double *sample,
                 ot_arena *arena)
{
    optune_err err = {0};
    const optune_task task = {call, &o->target, &o->device};
    ot_question question;
    char digest[33];
    ot_context_question(o, &task, &question, arena);
    ot_call_digest(&task, impl, digest);
    *r = (optune_record){.call = question.call,
                         .op = call->op->name,
                         .target = question.target,
                         .device = question.device,
                         .policy = question.policy,
                         .impl = impl->name,
                         .digest = ot_arena_copy(arena, digest),
                         .depends = ot_context_depends(o, impl, arena),
                         .n_samples = SAMPLES,
                         .sample = sample,
                         .inner = 10,
                         .time = ot_unix_time() - 1e6 + i,
                         .tool = "bench",
                         .source = "bench"};
    do
        ot_space_nth(space, ot_space_random(space, rng), &r->config);
    while (!ot_space_valid(space, &r->config, NULL));
    r->cost = r->low = r->high = 1e-3 * (1 + optune_random_unit(rng));
    for (int k = 0; k < SAMPLES; k++)
        sample[k] = r->cost;
    (void)err;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, *y = b;
    return (x > *y) - (x < *y);
}

static double select_us(const char *db)
{
    double us[ROUNDS];
    optune_err err = {0};
    for (int i = 0; i < ROUNDS; i++) {
        optune *o = open_handle(db);
        optune_selection *s = NULL;
        /* The store is opened before the clock starts. */
        if (ot_context_store(o, OT_STORE_READ, &err) < 0)
            bench_die("%s", err.text);
        const int64_t start = ot_now_ns();
        if (optune_select(o, workload, &s, &err) < 0)
            bench_die("%s", err.text);
        us[i] = 1e-3 * (double)(ot_now_ns() - start);
        optune_selection_free(s);
        optune_close(o);
    }
    qsort(us, ROUNDS, sizeof *us, by_value);
    return us[ROUNDS / 2];
}

static void write_log(optune *o, const char *path, int lines)
{
    optune_err err = {0};
    ot_log *log;
    ot_arena arena = {0};
    uint64_t rng = 7;
    double sample[SAMPLES];
    const optune_impl *impl = ot_impl_find("dense_pack.x86");
    if (!impl || ot_log_open(path, &log, &err) < 0)
        bench_die("%s", impl ? err.text : "no dense_pack.x86");
    ot_log_device(log, &o->device);
    for (int q = 0; q < QUESTIONS; q++) {
        char text[96];
        optune_call *call = ot_alloc(sizeof *call);
        optune_space *space;
        snprintf(text, sizeof text, "dense(f32[%d,64], const f32[32,64])", 16 + 16 * q);
        if (ot_call_parse(text, call, &err) < 0)
            bench_die("%s", err.text);
        const optune_task task = {call, &o->target, &o->device};
        if (ot_space_open(&task, impl, &space, &err) < 0)
            bench_die("%s", err.text);
        for (int i = 0; i < lines / QUESTIONS; i++) {
            optune_record r;
            make(o, call, impl, space, &rng, i, &r, sample, &arena);
            if (ot_log_append(log, &r, &err) < 0)
                bench_die("%s", err.text);
        }
        ot_space_close(space);
        ot_arena_release(&arena);
        free(call);
    }
    ot_log_close(log);
}

static void one_workload(int records)
{
    optune_err err = {0};
    char db[4096];
    ot_arena arena = {0};
    uint64_t rng = 3;
    const optune_impl *impl = ot_impl_find("dense_pack.x86");
    optune_call *call = ot_alloc(sizeof *call);
    optune_space *space;
    double(*sample)[SAMPLES] = ot_alloc((size_t)records * sizeof *sample);
    optune_record *r = ot_alloc((size_t)records * sizeof *r);
    if (ot_temp_dir(db, sizeof db, &err) < 0)
        bench_die("%s", err.text);
    optune *o = open_handle(db);
    const optune_task task = {call, &o->target, &o->device};
    if (ot_call_parse(workload, call, &err) < 0 || ot_space_open(&task, impl, &space, &err) < 0)
        bench_die("%s", err.text);
    for (int i = 0; i < records; i++)
        make(o, call, impl, space, &rng, i, &r[i], sample[i], &arena);
    if (ot_context_store(o, OT_STORE_WRITE, &err) < 0 ||
        ot_store_put(o->store, r, records, NULL, &err) < 0)
        bench_die("%s", err.text);
    printf("select, %4d records of the workload  %8.1f us\n", records, select_us(db));
    ot_space_close(space);
    optune_close(o);
    ot_remove_tree(db);
    ot_arena_release(&arena);
    free(call);
    free(sample);
    free(r);
}

int main(int argc, char **argv)
{
    const int lines = argc > 1 ? atoi(argv[1]) : 200000;
    char dir[4096], log[4200], db[4200];
    optune_err err = {0};
    optune_result *result = NULL;
    ot_store_stats stats;
    int64_t refused;
    if (lines < QUESTIONS || lines > 10000000)
        bench_die("db [LINES]: %d to 10 million, 200000 unless told", QUESTIONS);
    if (ot_temp_dir(dir, sizeof dir, &err) < 0)
        bench_die("%s", err.text);
    snprintf(log, sizeof log, "%s/in.log", dir);
    snprintf(db, sizeof db, "%s/db", dir);
    optune *o = open_handle(db);
    write_log(o, log, lines);
    int64_t start = ot_now_ns();
    if (optune_import(o, log, &result, &err) < 0)
        bench_die("%s", err.text);
    const double import = lines / (1e-9 * (double)(ot_now_ns() - start));
    optune_result_free(result);
    printf("import   %9.0f lines/s, durable\n", import);
    start = ot_now_ns();
    if (ot_store_rebuild(db, NULL, &stats, &refused, &err) < 0)
        bench_die("%s", err.text);
    printf("rebuild  %9.0f lines/s, %lld records, %lld bytes each in the store\n",
           lines / (1e-9 * (double)(ot_now_ns() - start)), (long long)stats.records,
           (long long)(stats.bytes / stats.records));
    optune_close(o);
    start = ot_now_ns();
    o = open_handle(db);
    if (ot_context_store(o, OT_STORE_READ, &err) < 0)
        bench_die("%s", err.text);
    printf("open     %9.1f us\n", 1e-3 * (double)(ot_now_ns() - start));
    optune_close(o);
    one_workload(10);
    one_workload(100);
    one_workload(1000);
    ot_remove_tree(dir);
    printf("db: %.0f lines/s imported\n", import);
    return 0;
}
