/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes to select for every operator of ResNet-50: 53 convolutions and one dense
 * call, 24 of them distinct, in a database that holds records of each. Nothing is measured to
 * make those: selecting costs the same whatever they say, so their times are made up. No peer.
 *
 * "first" is a handle that answers for the first time, "after a write" one whose store another
 * handle has just written to, so that every answer is made anew; "by text" and "by call" ask
 * again while nothing has changed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/made_up.h"

enum { RECORDS = 64, OPERATORS = 54, FIRST_ROUNDS = 21, ROUNDS = 2001 };

static const struct stage {
    int blocks, in, size, mid, out, stride;
} stages[] = {
    {3, 64, 56, 64, 256, 1},
    {4, 256, 56, 128, 512, 2},
    {6, 512, 28, 256, 1024, 2},
    {3, 1024, 14, 512, 2048, 2},
};

static char *graph[OPERATORS];
static optune_call call[OPERATORS];
static int n_graph;

static void add(const char *text)
{
    if (n_graph == OPERATORS)
        bench_die("the graph has more than %d operators", OPERATORS);
    graph[n_graph++] = ot_strdup(text);
}

static void add_conv(int in, int size, int out, int kernel, int stride)
{
    char text[256];
    snprintf(text, sizeof text,
             "conv2d(f32[1,%d,%d,%d], const f32[%d,%d,%d,%d], strides=[%d,%d], padding=[%d])",
             in, size, size, out, in, kernel, kernel, stride, stride, kernel / 2);
    add(text);
}

static void make_graph(void)
{
    add_conv(3, 224, 64, 7, 2);
    for (int s = 0; s < OT_COUNT(stages); s++) {
        const struct stage *of = &stages[s];
        const int small = of->size / of->stride;
        for (int b = 0; b < of->blocks; b++) {
            add_conv(b ? of->out : of->in, b ? small : of->size, of->mid, 1, 1);
            add_conv(of->mid, b ? small : of->size, of->mid, 3, b ? 1 : of->stride);
            add_conv(of->mid, small, of->out, 1, 1);
            if (!b)
                add_conv(of->in, of->size, of->out, 1, of->stride);
        }
    }
    add("dense(f32[1,2048], const f32[1000,2048])");
}

/* ---- records ----------------------------------------------------------------------------- */

static void store(optune *o, const optune_task *task, const ot_candidate *c, int wanted,
                  ot_arena *arena)
{
    optune_space *space;
    optune_err err = {0};
    uint64_t rng = 1;
    double sample[6];
    ot_question question;
    ot_context_question(o, task, &question, arena);
    if (ot_space_open(task, c->impl, &space, &err) < 0)
        bench_die("%s", err.text);
    for (int i = 0; i < wanted; i++) {
        optune_record r = {.call = question.call,
                           .op = task->call->op->name,
                           .target = question.target,
                           .device = question.device,
                           .policy = question.policy,
                           .impl = c->impl->name,
                           .digest = ot_impl_digest(c->impl),
                           .depends = ot_context_depends(o, c->impl, NULL, arena),
                           .n_samples = OT_COUNT(sample),
                           .sample = sample,
                           .inner = 1,
                           .time = ot_unix_time(),
                           .tool = "bench",
                           .source = "bench"};
        ot_space_nth(space, ot_space_random(space, &rng), &r.config);
        if (!ot_space_valid(space, &r.config, NULL))
            continue;
        r.cost = r.low = r.high = 1e-3 * (1 + optune_random_unit(&rng));
        for (int k = 0; k < OT_COUNT(sample); k++)
            sample[k] = r.cost;
        if (ot_store_put(o->stores->store, &r, 1, NULL, &err) < 0)
            bench_die("%s", err.text);
    }
    ot_space_close(space);
}

static void make_records(optune *o)
{
    optune_err err = {0};
    ot_candidate *candidate = ot_alloc(OT_MAX_CANDIDATES * sizeof *candidate);
    for (int g = 0; g < n_graph; g++) {
        ot_arena arena = {0};
        const optune_task task = {&call[g], &o->target, &o->device};
        int n = 0, valid = 0;
        bool known = false;
        for (int i = 0; i < g && !known; i++)
            known = !strcmp(graph[i], graph[g]);
        if (!known && ot_candidates(&task, candidate, &n, &err) < 0)
            bench_die("%s", err.text);
        for (int i = 0; i < n; i++)
            valid += candidate[i].refusal == OT_VALID;
        for (int i = 0; i < n; i++)
            if (candidate[i].refusal == OT_VALID)
                store(o, &task, &candidate[i], RECORDS / valid, &arena);
        ot_arena_release(&arena);
    }
    free(candidate);
}

/* ---- timing ------------------------------------------------------------------------------ */

static double select_all(optune *o, bool by_call)
{
    optune_err err = {0};
    const int64_t start = ot_now_ns();
    for (int g = 0; g < n_graph; g++) {
        optune_selection *s = NULL;
        const int status = by_call ? optune_select_call(o, &call[g], &s, &err)
                                   : optune_select(o, graph[g], &s, &err);
        if (status < 0)
            bench_die("%s", err.text);
        optune_selection_free(s);
    }
    return 1e-3 * (double)(ot_now_ns() - start);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double report(const char *what, double *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, ascending);
    printf("%-14s  p50 %9.1f us  p99 %9.1f us  for %d operators\n", what, us[n / 2],
           us[n * 99 / 100], n_graph);
    return us[n / 2];
}

int main(void)
{
    static double us[ROUNDS];
    char db[4096];
    optune_err err = {0};
    if (ot_temp_dir(db, sizeof db, &err) < 0)
        bench_die("%s", err.text);
    make_graph();
    for (int g = 0; g < n_graph; g++)
        if (ot_call_parse(graph[g], &call[g], &err) < 0)
            bench_die("%s", err.text);
    optune *writer = made_up_handle(db);
    if (ot_context_store(writer, OT_STORE_WRITE, &err) < 0)
        bench_die("%s", err.text);
    make_records(writer);
    for (int r = 0; r < FIRST_ROUNDS; r++) {
        optune *o = made_up_handle(db);
        us[r] = select_all(o, false);
        optune_close(o);
    }
    report("first", us, FIRST_ROUNDS);
    optune *o = made_up_handle(db);
    for (int r = 0; r < FIRST_ROUNDS; r++) {
        if (ot_store_put_device(writer->stores->store, &writer->device, &err) < 0)
            bench_die("%s", err.text);
        us[r] = select_all(o, true);
    }
    report("after a write", us, FIRST_ROUNDS);
    for (int r = 0; r < ROUNDS; r++)
        us[r] = select_all(o, false);
    const double text = report("by text", us, ROUNDS);
    for (int r = 0; r < ROUNDS; r++)
        us[r] = select_all(o, true);
    const double calls = report("by call", us, ROUNDS);
    optune_close(o);
    optune_close(writer);
    ot_remove_tree(db);
    printf("select_graph: %.1f us by text, %.1f us by call\n", text, calls);
    return 0;
}
