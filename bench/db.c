/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the database costs: import and rebuild by the line, bytes and memory, opening, answers of
 * one handle that are not kept and that are, beside a process that writes, too; and a select that
 * is not kept as the records of one workload grow. Records are made up: what they say changes no
 * time. No peer.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/made_up.h"
#include "optune/graph.h"

enum { QUESTIONS = 200, ROUNDS = 41, SAMPLES = MADE_UP_SAMPLES };

static const char workload[] = "dense(f32[16,64], const f32[32,64])";

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
        optune *o = made_up_handle(db);
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

/* ---- answers of one handle --------------------------------------------------------------- */

enum { CALLS = 200000 };

static void text_of(int q, int rows, char text[96])
{
    snprintf(text, 96, "dense(f32[%d,64], const f32[32,64])", rows + 16 * q);
}

static void told(const char *what, double *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    printf("%-36s p50 %8.3f us, p99 %8.3f us\n", what, us[n / 2], us[(int)(0.99 * n)]);
}

/* Every question once, but for the first, which opens what the handle needs. */
static void not_kept(const char *db, const char *what, int rows)
{
    optune_err err = {0};
    double us[QUESTIONS];
    optune *o = made_up_handle(db);
    for (int q = 0; q < QUESTIONS; q++) {
        char text[96];
        optune_selection *s = NULL;
        text_of(q, rows, text);
        const int64_t start = ot_now_ns();
        if (optune_select(o, text, &s, &err) < 0)
            bench_die("%s", err.text);
        us[q] = 1e-3 * (double)(ot_now_ns() - start);
        optune_selection_free(s);
    }
    optune_close(o);
    told(what, us + 1, QUESTIONS - 1);
}

/* One clock's reading is in each. */
static void kept(const char *db)
{
    optune_err err = {0};
    double *us = ot_alloc(CALLS * sizeof *us);
    optune *o = made_up_handle(db);
    char text[QUESTIONS][96];
    optune_call **call = ot_alloc(QUESTIONS * sizeof *call);
    optune_selection *s = NULL;
    for (int q = 0; q < QUESTIONS; q++) {
        text_of(q, 16, text[q]);
        if (optune_call_open(text[q], &call[q], &err) < 0 ||
            optune_select_call(o, call[q], &s, &err) < 0)
            bench_die("%s", err.text);
        optune_selection_free(s);
        if (optune_select(o, text[q], &s, &err) < 0)
            bench_die("%s", err.text);
        optune_selection_free(s);
    }
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < CALLS; i++) {
            const int q = i * 7 % QUESTIONS;
            const int64_t start = ot_now_ns();
            if ((form ? optune_select_call(o, call[q], &s, &err)
                      : optune_select(o, text[q], &s, &err)) < 0)
                bench_die("%s", err.text);
            us[i] = 1e-3 * (double)(ot_now_ns() - start);
            optune_selection_free(s);
        }
        told(form ? "select, kept, by call" : "select, kept, by text", us, CALLS);
    }
    for (int i = 0; i < CALLS; i++) {
        optune_found *found = NULL;
        const int64_t start = ot_now_ns();
        if (optune_query(o, text[i * 7 % QUESTIONS], &found, &err) < 0)
            bench_die("%s", err.text);
        us[i] = 1e-3 * (double)(ot_now_ns() - start);
        optune_found_free(found);
    }
    told("query, kept, by text", us, CALLS);
    for (int i = 0; i < CALLS; i++) {
        const int64_t start = ot_now_ns();
        us[i] = 1e-3 * (double)(ot_now_ns() - start);
    }
    told("of that the clock", us, CALLS);
    for (int q = 0; q < QUESTIONS; q++)
        optune_call_close(call[q]);
    optune_close(o);
    free(call);
    free(us);
}

/* For a second of this thread's processor time, however the two share a busy machine. */
static double answers_in(optune *o, double seconds)
{
    optune_err err = {0};
    int64_t n = 0;
    const double end = ot_now() + seconds,
                 before = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID);
    for (; ot_now() < end; n++) {
        char text[96];
        optune_selection *s = NULL;
        text_of((int)(n % 54), 16, text);
        if (optune_select(o, text, &s, &err) < 0)
            bench_die("%s", err.text);
        optune_selection_free(s);
    }
    return (double)n / (made_up_processor_s(CLOCK_THREAD_CPUTIME_ID) - before);
}

/* Commits of one record to a workload that nobody asks for, as fast as the disk takes them. */
static int write_on(const char *db, int told_by)
{
    optune_err err = {0};
    ot_arena arena = {0};
    uint64_t rng = 11;
    double sample[SAMPLES];
    optune *o = made_up_handle(db);
    const optune_impl *impl = ot_impl_find("dense_pack.x86");
    optune_call *call = ot_alloc(sizeof *call);
    optune_space *space;
    const optune_task task = {call, &o->target, &o->device};
    if (ot_call_parse("dense(f32[7,64], const f32[32,64])", call, &err) < 0 ||
        ot_space_open(&task, impl, &space, &err) < 0)
        return 1;
    for (int i = 0;; i++) {
        optune_record r;
        made_up_record(o, call, impl, space, &rng, i, &r, sample, &arena);
        if (ot_context_put(o, &r, 1, NULL, &err) < 0 || write(told_by, "", 1) != 1)
            return 1;
        ot_arena_release(&arena);
    }
}

static void beside_a_writer(const char *db)
{
    enum { TURNS = 5 };
    double ratio[TURNS];
    int pipe_of[2];
    char taken[65536];
    int64_t commits = 0;
    optune *o = made_up_handle(db);
    answers_in(o, 0.2);
    for (int i = 0; i < TURNS; i++) {
        const double alone = answers_in(o, 0.5);
        if (pipe(pipe_of) < 0)
            bench_die("no pipe");
        const pid_t child = fork();
        if (child == 0 && close(pipe_of[0]) == 0)
            _exit(write_on(db, pipe_of[1]));
        close(pipe_of[1]);
        (void)!read(pipe_of[0], taken, 1); /* it is at work */
        ratio[i] = answers_in(o, 0.5) / alone;
        commits += read(pipe_of[0], taken, sizeof taken);
        close(pipe_of[0]); /* SIGPIPE ends it, never in the midst of a commit */
        waitpid(child, NULL, 0);
    }
    qsort(ratio, TURNS, sizeof *ratio, by_value);
    printf(
        "kept, 54 workloads, beside a writer (%.0f commits/s): %.2f [%.2f, %.2f] of without\n",
        (double)commits / (0.5 * TURNS), ratio[TURNS / 2], ratio[0], ratio[TURNS - 1]);
    optune_close(o);
}

/* ---- logs -------------------------------------------------------------------------------- */

static double bytes_of(const char *path)
{
    struct stat info;
    return stat(path, &info) < 0 ? 0 : (double)info.st_size;
}

/* What /proc says of this process's memory that is no file's, now. */
static double own_mb(void)
{
    char line[256];
    double kb = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "RssAnon:", 8))
            kb = strtod(line + 8, NULL);
    if (status)
        fclose(status);
    return kb / 1024;
}

/* Looks every two milliseconds until it is told to stop. */
typedef struct watching {
    atomic_bool stop;
    double most, used; /* megabytes; seconds of its own */
} watching;

static void *watch(void *arg)
{
    watching *w = arg;
    while (!atomic_load(&w->stop)) {
        const double now = own_mb();
        w->most = now > w->most ? now : w->most;
        usleep(2000);
    }
    w->used = made_up_processor_s(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void write_log(optune *o, const char *path, ot_log_lines kind, int lines)
{
    optune_err err = {0};
    ot_log *log;
    ot_arena arena = {0};
    uint64_t rng = 7;
    double sample[SAMPLES];
    const optune_impl *impl = ot_impl_find("dense_pack.x86");
    if (!impl || ot_log_open(path, kind, &log, &err) < 0)
        bench_die("%s", impl ? err.text : "no dense_pack.x86");
    ot_log_device(log, &o->device);
    for (int q = 0; q < QUESTIONS; q++) {
        char text[96];
        optune_call *call = ot_alloc(sizeof *call);
        optune_space *space;
        text_of(q, 16, text);
        if (ot_call_parse(text, call, &err) < 0)
            bench_die("%s", err.text);
        const optune_task task = {call, &o->target, &o->device};
        if (ot_space_open(&task, impl, &space, &err) < 0)
            bench_die("%s", err.text);
        for (int i = 0; i < lines / QUESTIONS; i++) {
            optune_record r;
            made_up_record(o, call, impl, space, &rng, i, &r, sample, &arena);
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
    optune *o = made_up_handle(db);
    const optune_task task = {call, &o->target, &o->device};
    if (ot_call_parse(workload, call, &err) < 0 || ot_space_open(&task, impl, &space, &err) < 0)
        bench_die("%s", err.text);
    for (int i = 0; i < records; i++)
        made_up_record(o, call, impl, space, &rng, i, &r[i], sample[i], &arena);
    if (ot_context_store(o, OT_STORE_WRITE, &err) < 0 ||
        ot_store_put(o->stores->store, r, records, NULL, &err) < 0)
        bench_die("%s", err.text);
    printf("select, %5d records of the workload %8.1f us\n", records, select_us(db));
    ot_space_close(space);
    optune_close(o);
    ot_remove_tree(db);
    ot_arena_release(&arena);
    free(call);
    free(sample);
    free(r);
}

static double bytes_in(const char *folder)
{
    double bytes = 0;
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        bytes += entry->d_name[0] == '.' ? 0 : bytes_of(path);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

/* Into a new database; returns lines a second. */
static double import_log(const char *what, const char *log, const char *db, int lines)
{
    optune_err err = {0};
    optune_result *result = NULL;
    pthread_t thread;
    watching w = {0};
    char logs[4300];
    optune *o = made_up_handle(db);
    const double before = own_mb();
    pthread_create(&thread, NULL, watch, &w);
    const double used = made_up_processor_s(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t start = ot_now_ns();
    if (optune_import(o, log, &result, &err) < 0)
        bench_die("%s", err.text);
    const double rate = lines / (1e-9 * (double)(ot_now_ns() - start));
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    const double spent = made_up_processor_s(CLOCK_PROCESS_CPUTIME_ID) - used - w.used;
    snprintf(logs, sizeof logs, "%s/logs", db);
    printf("import of %-5s lines %7.0f bytes each: %7.0f lines/s, %7.0f by processor time, "
           "durable; "
           "%.0f MB beside the map; log %.0f bytes a record\n",
           what, bytes_of(log) / lines, rate, lines / spent, w.most - before,
           bytes_in(logs) / lines);
    optune_result_free(result);
    optune_close(o);
    return rate;
}

int main(int argc, char **argv)
{
    const int lines = argc > 1 ? atoi(argv[1]) : 200000;
    char dir[4096], log[4200], brief[4200], db[4200], other[4200];
    optune_err err = {0};
    ot_store_stats stats;
    int64_t refused;
    if (lines < QUESTIONS || lines > 10000000)
        bench_die("db [LINES]: %d to 10 million, 200000 unless told", QUESTIONS);
    if (ot_temp_dir(dir, sizeof dir, &err) < 0)
        bench_die("%s", err.text);
    snprintf(log, sizeof log, "%s/in.log", dir);
    snprintf(brief, sizeof brief, "%s/short.log", dir);
    snprintf(db, sizeof db, "%s/db", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    optune *o = made_up_handle(db);
    write_log(o, log, OT_LOG_FULL, lines);
    write_log(o, brief, OT_LOG_SHORT, lines);
    optune_close(o);
    const double import = import_log("full", log, db, lines);
    import_log("short", brief, other, lines);
    ot_remove_tree(other);
    double used = made_up_processor_s(CLOCK_PROCESS_CPUTIME_ID);
    int64_t start = ot_now_ns();
    if (ot_store_rebuild(db, NULL, &stats, &refused, &err) < 0)
        bench_die("%s", err.text);
    printf(
        "rebuild  %9.0f lines/s, %.0f by processor time, %lld records, %lld bytes each in the "
        "store\n",
        lines / (1e-9 * (double)(ot_now_ns() - start)),
        lines / (made_up_processor_s(CLOCK_PROCESS_CPUTIME_ID) - used),
        (long long)stats.records, (long long)(stats.bytes / stats.records));
    start = ot_now_ns();
    o = made_up_handle(db);
    if (ot_context_store(o, OT_STORE_READ, &err) < 0)
        bench_die("%s", err.text);
    printf("open     %9.1f us\n", 1e-3 * (double)(ot_now_ns() - start));
    optune_close(o);
    not_kept(db, "select, not kept, tuned", 16);
    not_kept(db, "select, not kept, never tuned", 9);
    kept(db);
    beside_a_writer(db);
    one_workload(10);
    one_workload(100);
    one_workload(1000);
    one_workload(10000);
    ot_remove_tree(dir);
    printf("db: %.0f lines/s imported\n", import);
    return 0;
}
