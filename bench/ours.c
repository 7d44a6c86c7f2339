/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Ours": the generated template that optune_select names for a workload, tuned here if it was
 * not, built by the builder, loaded into this process and verified once more before it is
 * timed. Libraries never stand in for it.
 *
 * The one idea: everything that starts processes (tuning, building) comes before
 * bench_measuring, which binds this process to its cores; children would inherit that.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const uint64_t SEED = 1;

/* ---- tuning ------------------------------------------------------------------------------ */

bool bench_known(bench *b, const char *workload)
{
    optune_selection *s = NULL;
    optune_err err = {0};
    if (optune_select(b->o, workload, &s, &err) < 0)
        bench_die("%s", err.text);
    const bool known = strcmp(optune_selection_tier(s), "tuned") == 0;
    optune_selection_free(s);
    return known;
}

static void tell(void *arg, const optune_progress *p)
{
    (void)arg;
    if (p->call && strcmp(p->phase, "preparing") == 0)
        fprintf(stderr, "tuning %d of %d: %s\n", p->workload, p->workloads, p->call);
    else if (p->note)
        fprintf(stderr, "%s\n", p->note);
}

/* All of one op, in one run. */
static void tune_op(bench *b, const char *op, const char *const *workload, int n,
                    double seconds)
{
    const char *only[BENCH_MOST];
    int n_impls, k = 0;
    const optune_impl *const *impl = ot_impls(&n_impls);
    for (int i = 0; i < n_impls && k < BENCH_MOST - 1; i++)
        if (!impl[i]->library && strcmp(impl[i]->op, op) == 0)
            only[k++] = impl[i]->name;
    only[k] = NULL;
    const optune_run_options options = {
        .size = sizeof options,
        .op = op,
        .workloads = workload,
        .impls = only,
        .trials = b->trials,
        .seconds = seconds * n,
        .progress = tell,
    };
    optune_result *result = NULL;
    optune_err err = {0};
    if (optune_run(b->o, &options, &result, &err) < 0)
        bench_die("%s", err.text);
    optune_result_free(result);
}

int bench_tune(bench *b, char *const *workload, int n, double seconds)
{
    int n_ops, tuned = 0;
    const optune_op *const *ops = ot_ops(&n_ops);
    for (int o = 0; b->tune && o < n_ops; o++) {
        const char *name = ops[o]->name;
        const char **list = ot_alloc((size_t)(n + 1) * sizeof *list);
        const size_t length = strlen(name);
        int k = 0;
        for (int i = 0; i < n; i++)
            if (strncmp(workload[i], name, length) == 0 && workload[i][length] == '(' &&
                (b->time_given || !bench_known(b, workload[i])))
                list[k++] = workload[i];
        if (k)
            tune_op(b, name, list, k, seconds);
        tuned += k;
        free(list);
    }
    return tuned;
}

/* ---- the selected one, built ------------------------------------------------------------- */

static void build(bench *b, bench_ours *ours)
{
    optune_err err = {0};
    const ot_build_options options = {.target = &b->o->target,
                                      .device = &b->o->device,
                                      .row = b->o->row,
                                      .cache_dir = getenv("OPTUNE_CACHE")};
    ot_builder *builder = NULL;
    optune_call *call = ot_alloc(sizeof *call);
    optune_plan *plan = ot_alloc(sizeof *plan);
    ot_job *job = ot_alloc(sizeof *job);
    const optune_task task = {call, &b->o->target, &b->o->device};
    if (ot_call_parse(ours->call, call, &err) < 0 ||
        ot_plan_make(&task, ours->impl, &ours->config, plan, &err) < 0 ||
        ot_builder_open(&options, &builder, &err) < 0 ||
        ot_builder_submit(builder, &task, plan, job, &err) < 0)
        bench_die("%s", err.text);
    while (!job->done)
        ot_builder_wait(builder, job, 1);
    if (job->outcome != OPTUNE_OUTCOME_OK)
        bench_die("%s of %s: %s", ours->impl->name, ours->call, job->message);
    ours->job = job;
    ot_builder_close(builder);
    free(plan);
    free(call);
}

void bench_select(bench *b, const char *workload, bench_ours *ours)
{
    optune_selection *s = NULL;
    optune_err err = {0};
    if (optune_select(b->o, workload, &s, &err) < 0)
        bench_die("%s", err.text);
    *ours = (bench_ours){
        .call = ot_strdup(workload),
        .impl = ot_impl_find(optune_selection_impl(s)),
        .cost = optune_selection_cost(s),
        .bench = b,
    };
    if (ot_config_parse(optune_selection_config(s), &ours->config, &err) < 0)
        bench_die("%s", err.text);
    optune_selection_free(s);
    build(b, ours);
}

void bench_ours_how(const bench_ours *ours, char *to, size_t size)
{
    ot_text text = {0};
    ot_config_print_short(&ours->config, &text);
    snprintf(to, size, "%s %s%s", ours->impl->name, ot_text_str(&text),
             isfinite(ours->cost) ? "" : " (untuned)");
    ot_text_release(&text);
}

/* ---- in this process --------------------------------------------------------------------- */

static void waiting(void *arg, double seconds)
{
    (void)arg;
    fprintf(stderr, "another run is measuring on this device; waiting (%.0f s)\n", seconds);
}

void bench_measuring(bench *b)
{
    optune_err err = {0};
    const ot_worker_options options = {.device = &b->o->device, .waiting = waiting};
    if (ot_device_lock(&options, &b->lock, &err) < 0 ||
        ot_session_open(&b->session, &b->o->target, &b->o->device, &err) < 0)
        bench_die("%s", err.text);
}

void bench_buffers(bench *b, const char *workload)
{
    optune_err err = {0};
    char dir[2048], path[2100];
    if (ot_temp_dir(dir, sizeof dir, &err) < 0)
        bench_die("%s", err.text);
    snprintf(path, sizeof path, "%s/reference", dir);
    const int status = ot_session_workload(&b->session, workload, SEED, path, &err);
    ot_remove_tree(dir); /* it stays mapped */
    if (status < 0)
        bench_die("%s", err.text);
}

void bench_bind(bench_ours *ours)
{
    ot_session *s = &ours->bench->session;
    optune_err err = {0};
    const ot_built built = ot_built_of(ours->job, ours->impl, &ours->config);
    int outcome;
    double error = 0;
    if (ot_loaded_open(s, &built, &ours->loaded, &outcome, &err) < 0)
        bench_die("%s of %s: %s", ours->impl->name, ours->call, err.text);
    outcome = ot_verify(s, ours->loaded, &error, err.text, sizeof err.text);
    if (outcome != OPTUNE_OUTCOME_OK)
        bench_die("%s of %s: %s: %s", ours->impl->name, ours->call, ot_outcome_name(outcome),
                  err.text);
    if (ot_bound_open(s, ours->loaded, OT_ALIGNED, &ours->bound, &err) < 0 ||
        ot_bound_prepack(ours->bound, &err) < 0)
        bench_die("%s of %s: %s", ours->impl->name, ours->call, err.text);
}

void bench_unbind(bench_ours *ours)
{
    ot_bound_close(ours->bound);
    if (ours->loaded)
        ot_loaded_close(&ours->bench->session, ours->loaded);
    free(ours->job);
    free(ours->call);
    *ours = (bench_ours){0};
}

double bench_ours_time(void *arg, int64_t count)
{
    const bench_ours *ours = arg;
    const ot_session *s = &ours->bench->session;
    return s->row->time(s->state, ours->bound->launch[OPTUNE_TIMED],
                        ours->bound->n[OPTUNE_TIMED], count, NULL);
}

void bench_check(bench *b, const char *impl, const char *peer)
{
    char message[OPTUNE_ERR_SIZE];
    double error = 0;
    if (!ot_verify_outputs(&b->session, OT_ALIGNED, ot_impl_find(impl), &error, message,
                           sizeof message))
        bench_die("%s computes something else: %s", peer, message);
}

/* ---- bodies of a bench's own ------------------------------------------------------------- */

void *bench_module(bench *b, const char *source)
{
    ot_session *s = &b->session;
    optune_err err = {0};
    optune_argv argv = {0};
    ot_text said = {0};
    void *module = NULL;
    char dir[2048], from[2100], to[2100];
    const optune_target_row *row = ot_target_find(s->target.kind);
    if (ot_temp_dir(dir, sizeof dir, &err) < 0)
        bench_die("%s", err.text);
    snprintf(from, sizeof from, "%s/bench%s", dir, row->source_suffix);
    snprintf(to, sizeof to, "%s/bench%s", dir, row->module_suffix);
    int status = ot_write_file(from, source, strlen(source), &err);
    if (status >= 0)
        status = row->compile(&s->target, &s->device, NULL, 0, from, to, &argv, &err);
    if (status >= 0)
        status = ot_run_program(argv.word, 60, &said, &err);
    if (status >= 0)
        status = s->row->load(s->state, to, &module, &err);
    ot_remove_tree(dir);
    if (status < 0)
        bench_die("%s\n%s", err.text, ot_text_str(&said));
    ot_text_release(&said);
    optune_argv_release(&argv);
    return module;
}

void bench_function_of(bench *b, void *module, const char *name, bench_function *f)
{
    void *symbol = b->session.row->symbol(b->session.state, module, name);
    if (!symbol)
        bench_die("the module has no function '%s'", name);
    memcpy(&f->run, &symbol, sizeof f->run);
}

double bench_function_time(void *arg, int64_t count)
{
    const bench_function *f = arg;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++)
        f->run(f->arg);
    return (double)(ot_now_ns() - start) * 1e-9;
}

int bench_main(int argc, char **argv, const bench_about *about, const char *heading,
               const char *const columns[3], bench_run run)
{
    static bench b;
    static bench_ours ours[BENCH_MOST];
    bench_table table = {0};
    bench_open(&b, about, argc, argv);
    bench_tune(&b, b.workload, b.n, b.seconds);
    for (int i = 0; i < b.n; i++)
        bench_select(&b, b.workload[i], &ours[i]);
    bench_measuring(&b);
    bench_heading(&b, heading);
    bench_columns(columns[0], columns[1], columns[2]);
    for (int i = 0; i < b.n; i++)
        run(&b, &ours[i], &table);
    bench_geomean(&table, NULL);
    bench_close(&b);
    return 0;
}
