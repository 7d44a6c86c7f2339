/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the harness works: verified trials and compilations per second of one search from
 * nothing (fresh database, fresh module cache), and what memory it takes beside the buffers
 * that the workload itself needs. There is no peer.
 *
 * The one idea: only what a user would see is measured: an ordinary optune_run with all
 * implementations, watched through its progress and, for memory, through /proc.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench.h"

static const bench_about about = {
    .name = "trials_per_second",
    .summary = "verified trials and compilations per second of a fresh search",
    .op = "conv2d",
    .workload = "conv2d(f32[1,256,14,14], f32[256,256,3,3], padding=[1,1])",
    .threads = 2,
    .seconds = 30,
};

/* ---- memory, in bytes -------------------------------------------------------------------- */

/* A "VmRSS:  1234 kB" line; 0: not told. */
static int64_t status_of(const char *pid, const char *name)
{
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *file = fopen(path, "r");
    long long kib = 0;
    const size_t n = strlen(name);
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            kib = strtoll(line + n + 1, NULL, 10);
    if (file)
        fclose(file);
    return (int64_t)kib << 10;
}

static bool is_worker(const char *pid)
{
    char path[300];
    ot_text name = {0};
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    const bool read = ot_read_file(path, &name, 256, NULL) >= 0;
    const bool found = read && strncmp(ot_text_str(&name), "optune-worker", 13) == 0;
    ot_text_release(&name);
    return found && status_of(pid, "PPid") >> 10 == getpid();
}

static int64_t worker_memory(void)
{
    int64_t bytes = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && is_worker(entry->d_name))
            bytes += status_of(entry->d_name, "VmRSS");
    if (dir)
        closedir(dir);
    return bytes;
}

/* Processor seconds of the compilers so far: children that ended; the worker has not. */
static double compiler_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Inputs and outputs, guarded and aligned, the host copy of the largest, and the reference:
 * value and magnitude of every output element. Scratch of the candidate at hand is not
 * counted. */
static int64_t buffer_bytes(const optune_call *call)
{
    int64_t all = 0, most = 0, reference = 0;
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const bool in = i < call->n_inputs;
        const optune_tensor *t = in ? &call->input[i].type : &call->output[i - call->n_inputs];
        const int64_t bytes = optune_tensor_bytes(t);
        all += 2 * bytes;
        most = bytes > most ? bytes : most;
        reference += in ? 0 : optune_tensor_elements(t) * 12;
    }
    return all + most + reference;
}

/* ---- watching ---------------------------------------------------------------------------- */

typedef struct watch {
    double start, end;               /* of the search: preparing counts, the finals do not */
    double compiler_start, compiler; /* seconds */
    int trials, failures;
    int64_t parent, worker; /* most resident memory seen */
} watch;

static void see(void *arg, const optune_progress *p)
{
    watch *w = arg;
    const bool searching = strcmp(p->phase, "searching") == 0;
    if (!searching) {
        if (strcmp(p->phase, "preparing") == 0) {
            w->start = ot_now();
            w->compiler_start = compiler_seconds();
        }
        return;
    }
    w->end = ot_now();
    w->compiler = compiler_seconds() - w->compiler_start;
    w->trials = p->trial;
    w->failures = p->failures;
    if (p->trial % 8)
        return; /* looking costs a millisecond */
    const int64_t parent = status_of("self", "VmRSS"), worker = worker_memory();
    w->parent = parent > w->parent ? parent : w->parent;
    w->worker = worker > w->worker ? worker : w->worker;
}

static int modules_in(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *suffix =
            strrchr(entry->d_name, '.'); /* beside each lies its digest, .sum */
        n += suffix && strcmp(suffix, ".so") == 0;
    }
    if (dir)
        closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    static bench b;
    char dir[2048], db[2100], cache[2100];
    optune_err err = {0};
    bench_open(&b, &about, argc, argv);
    if (ot_temp_dir(dir, sizeof dir, &err) < 0)
        bench_die("%s", err.text);
    snprintf(db, sizeof db, "%s/db", dir);
    snprintf(cache, sizeof cache, "%s/modules", dir);
    setenv("OPTUNE_CACHE", cache, 1);
    const optune_options open = {.size = sizeof open, .target = b.target, .db = db};
    optune_close(b.o);
    if (optune_open(&open, &b.o, &err) < 0 || ot_context_device(b.o, &err) < 0)
        bench_die("%s", err.text);
    bench_heading(&b, "fresh database and module cache");
    printf("\n%9s %10s %9s %7s %7s %10s %10s  workload\n", "trials/s", "compiles/s",
           "CPU ms/c.", "trials", "failed", "parent MB", "worker MB");
    double rate[BENCH_MOST], compiled[BENCH_MOST];
    int64_t memory = 0;
    for (int i = 0; i < b.n; i++) {
        const char *const workload[] = {b.workload[i], NULL};
        const int before = modules_in(cache);
        watch w = {0};
        const optune_run_options options = {
            .size = sizeof options,
            .op = about.op,
            .workloads = workload,
            .trials = 1 << 30,
            .seconds = b.seconds,
            .progress = see,
            .progress_arg = &w,
        };
        optune_result *result = NULL;
        optune_call call;
        if (optune_run(b.o, &options, &result, &err) < 0 ||
            ot_call_parse(b.workload[i], &call, &err) < 0)
            bench_die("%s", err.text);
        optune_result_free(result);
        const double seconds = w.end - w.start;
        const int64_t buffers = buffer_bytes(&call);
        const int64_t worker = w.worker > buffers ? w.worker - buffers : 0;
        char label[OPTUNE_TEXT_SIZE];
        bench_label(&call, label, sizeof label);
        rate[i] = (w.trials - w.failures) / seconds;
        const int modules = modules_in(cache) - before;
        compiled[i] = modules / seconds;
        memory = w.parent + worker > memory ? w.parent + worker : memory;
        printf(
            "%9.2f %10.2f %9.0f %7d %7d %10.1f %10.1f  %s | worker beside %.1f MB of buffers\n",
            rate[i], compiled[i], w.compiler / (modules ? modules : 1) * 1e3, w.trials,
            w.failures, (double)w.parent * 1e-6, (double)worker * 1e-6, label,
            (double)buffers * 1e-6);
    }
    printf("trials/s %.2f compiles/s %.2f memory %.1f MB\n", ot_geomean(rate, b.n),
           ot_geomean(compiled, b.n), (double)memory * 1e-6);
    bench_close(&b);
    ot_remove_tree(dir);
    return 0;
}
