/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asking side of a batch: plans to joined modules, and the process that computes watched.
 * Where a joined module cannot be compiled each of its plans is compiled alone, so that only who
 * is to blame is blamed.
 */
#include "support/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answer/emit/source.h"
#include "support/check.h"
#include "support/workbench.h"

/* A compiler has at most JOINED modules in a text, a driver KERNELS kernels in a program. */
enum { BATCH = 96, GPU_BATCH = 24, JOINED = 12, KERNELS = 24, USUAL_EVERY = 4 };
static const double LIMIT_S = 40, CLOCK = 6; /* on a machine that has others to serve */
static const double LOAD_S = 300;            /* by the clock: drivers compile while they load */

typedef struct item {
    optune_call call;
    const optune_impl *impl;
    optune_config config;
    char prefix[32];
    ot_text at; /* lines of the file */
    int n_modules, joined[OPTUNE_MAX_MODULES];
    bool left_out, apart;
    ot_job alone; /* where a joined one fails */
} item;

/* A translation unit of several plans. */
typedef struct joined {
    ot_module flags;
    int64_t block[3]; /* of a GPU's launches: PoCL makes a program's kernels for one size */
    ot_text text;
    int n, kernels;
    ot_job job;
} joined;

struct batch_load {
    item list[BATCH];
    joined *joined[BATCH * OPTUNE_MAX_MODULES];
    int n, n_joined;
    ot_builder *builder;
};

static const char *target_of(const batch *b, const batch_load *load)
{
    return load->builder == b->builder[1] ? ot_text_str(&b->cheaply) : b->text;
}

/* With the words that repeat it. */
static void say(batch *b, const batch_load *load, const item *p, const char *what)
{
    const size_t from = b->said.n;
    ot_text_printf(&b->said, "%s\n    %s \"%s\" '", what, program_invocation_name,
                   target_of(b, load));
    ot_call_print(&p->call, &b->said);
    ot_text_printf(&b->said, "' %s '", p->impl->name);
    ot_config_print(&p->config, &b->said);
    ot_text_add(&b->said, "'\n");
    print_error("%s", b->said.s + from);
}

/* ---- joining ----------------------------------------------------------------------------- */

static bool belongs(const joined *j, const ot_module *module, const int64_t *block, int kernels)
{
    bool same = j->n < JOINED && j->kernels + kernels <= KERNELS &&
                j->flags.n_flags == module->n_flags &&
                memcmp(j->block, block, sizeof j->block) == 0;
    for (int f = 0; f < module->n_flags && same; f++)
        same = strcmp(j->flags.flag[f], module->flag[f]) == 0;
    return same;
}

static int find_joined(batch_load *load, const optune_plan *plan, int module)
{
    int64_t block[3] = {0};
    int kernels = 0, i = 0;
    for (int s = 0; s < plan->n_stages; s++)
        if (plan->stage[s].module == module && kernels++ == 0)
            memcpy(block, plan->stage[s].block, sizeof block);
    while (i < load->n_joined &&
           !belongs(load->joined[i], &plan->module[module], block, kernels))
        i++;
    if (i == load->n_joined) {
        load->joined[load->n_joined++] = ot_alloc(sizeof(joined));
        load->joined[i]->flags = plan->module[module];
        memcpy(load->joined[i]->block, block, sizeof block);
    }
    load->joined[i]->n++;
    load->joined[i]->kernels += kernels;
    return i;
}

static optune_task task_of(const batch *b, const item *p)
{
    return (optune_task){&p->call, &b->target, &b->device};
}

static void join(batch *b, batch_load *load, item *p)
{
    optune_err err = {0};
    const optune_task task = task_of(b, p);
    if (ot_plan_make(&task, p->impl, &p->config, b->plan, &err) < 0) {
        p->left_out = true;
        b->failed++;
        say(b, load, p, err.text);
        return;
    }
    ot_source source = {.task = task, .impl = p->impl, .config = &p->config, .plan = b->plan};
    snprintf(source.name, sizeof source.name, "%s", p->prefix);
    p->n_modules = b->plan->n_modules;
    for (int m = 0; m < p->n_modules; m++) {
        p->joined[m] = find_joined(load, b->plan, m);
        ot_source_module_apart(&source, m, &load->joined[p->joined[m]]->text);
    }
}

/* Compilers begin. */
static void start(batch *b, batch_load *load)
{
    optune_err err = {0};
    const bool cheap = b->builder[1] && !b->usual && ++b->loads % USUAL_EVERY != 0;
    load->builder = b->builder[cheap];
    for (int i = 0; i < load->n; i++)
        join(b, load, &load->list[i]);
    for (int i = 0; i < load->n_joined; i++) {
        joined *j = load->joined[i];
        check_ok(ot_builder_submit_text(load->builder, &j->flags, &j->text, &j->job, &err));
    }
}

/* Alone, but under the names that it has among others. */
static void build_alone(batch *b, batch_load *load, item *p)
{
    optune_err err = {0};
    const optune_task task = task_of(b, p);
    check_ok(ot_plan_make(&task, p->impl, &p->config, b->plan, &err));
    ot_source source = {.task = task, .impl = p->impl, .config = &p->config, .plan = b->plan};
    snprintf(source.name, sizeof source.name, "%s", p->prefix);
    p->apart = true;
    b->alone++;
    p->alone.n_modules = p->n_modules;
    for (int m = 0; m < p->n_modules && !p->left_out; m++) {
        ot_job *job = ot_alloc(sizeof *job);
        ot_text text = {0};
        ot_source_module_apart(&source, m, &text);
        check_ok(ot_builder_submit_text(load->builder, &b->plan->module[m], &text, job, &err));
        while (!job->done)
            ot_builder_wait(load->builder, job, 1);
        memcpy(p->alone.module[m], job->module[0], sizeof job->module[0]);
        p->left_out = job->outcome != OPTUNE_OUTCOME_OK;
        if (job->outcome == OPTUNE_OUTCOME_BUILD_TIMEOUT) {
            b->late++; /* says how busy the machine is */
        } else if (p->left_out) {
            b->failed++;
            say(b, load, p, job->message);
        }
        ot_text_release(&text);
        free(job);
    }
}

static void wait_for_compilers(batch *b, batch_load *load)
{
    for (int i = 0; i < load->n_joined; i++) {
        ot_job *job = &load->joined[i]->job;
        while (!job->done)
            ot_builder_wait(load->builder, job, 1);
        if (job->outcome != OPTUNE_OUTCOME_OK)
            print_message("%d modules in one: %s\n", load->joined[i]->n, job->message);
    }
    for (int i = 0; i < load->n; i++) {
        item *p = &load->list[i];
        bool good = true;
        for (int m = 0; m < p->n_modules && !p->left_out; m++)
            good = good && load->joined[p->joined[m]]->job.outcome == OPTUNE_OUTCOME_OK;
        if (!good)
            build_alone(b, load, p);
    }
}

/* ---- computing --------------------------------------------------------------------------- */

static void write_load(const batch *b, const batch_load *load, const char *file)
{
    optune_err err = {0};
    ot_text text = {0};
    ot_text_printf(&text, "target\t%s\n", target_of(b, load));
    for (int i = 0; i < load->n; i++) {
        const item *p = &load->list[i];
        if (p->left_out) {
            ot_text_add(&text, "left out\n");
            continue;
        }
        ot_text_add(&text, "plan\t");
        ot_call_print(&p->call, &text);
        ot_text_printf(&text, "\t%s\t", p->impl->name);
        ot_config_print(&p->config, &text);
        ot_text_printf(&text, "\t%s", p->prefix);
        for (int m = 0; m < p->n_modules; m++)
            ot_text_printf(&text, "\t%s",
                           p->apart ? p->alone.module[m]
                                    : load->joined[p->joined[m]]->job.module[0]);
        ot_text_printf(&text, "\n%s", ot_text_str(&p->at));
    }
    check_ok(ot_write_file(file, text.s, text.n, &err));
    ot_text_release(&text);
}

static double processor_time(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0
               ? (double)used.tv_sec + 1e-9 * (double)used.tv_nsec
               : 0;
}

/* Line `at` behind "at\t" of the plan's. */
static void say_hung(batch *b, const batch_load *load, const item *p, int at)
{
    const char *line = ot_text_str(&p->at);
    char what[4096];
    for (; at > 0 && strchr(line, '\n'); at--)
        line = strchr(line, '\n') + 1;
    line += strcspn(line, "\t");
    line += *line == '\t';
    snprintf(what, sizeof what, "it does not end at %.*s", (int)strcspn(line, "\n"), line);
    say(b, load, p, what);
}

/* One process, from plan `first` on; where the next one begins. */
static int watch(batch *b, batch_load *load, const char *file, int first,
                 volatile batch_progress *progress)
{
    optune_err err = {0};
    ot_child child, *one = &child;
    char number[16], self[4096] = "", word[] = BATCH_WORD;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(number, sizeof number, "%d", first);
    char *const argv[] = {self, word, (char *)file, number, NULL};
    double used = 0, since = 0, last = 0, began = ot_now();
    bool hung = false, working = false;
    int met = -1;
    progress->item = -1;
    progress->working = false;
    check_ok(ot_child_start(&child, argv, 0, &err));
    while (!ot_child_poll(&child) && !hung) {
        ot_child_wait_any(&one, 1, 0.05);
        for (int i = 0; i < 2; i++)
            if (b->builder[i])
                ot_builder_pump(b->builder[i]);
        const double now = ot_now(), all = processor_time(child.pid);
        last = all > last ? all : last;
        if (progress->working != working || progress->since != since || progress->item != met) {
            working = progress->working;
            since = progress->since;
            met = progress->item;
            used = all;
            began = now;
        } else {
            hung = working ? all - used > b->limit_s || now - began > CLOCK * b->limit_s
                           : now - began > LOAD_S;
        }
    }
    b->computing_s += last;
    const int at = progress->item, size = progress->at;
    const item *p = &load->list[at < first ? first : at < load->n ? at : load->n - 1];
    int next = load->n;
    if (hung) {
        b->failed++;
        if (working)
            say_hung(b, load, p, size);
        else
            say(b, load, p, "it does not load");
        next = at < first ? first + 1 : at + 1;
    } else if (child.status != 0 || at < load->n) {
        char what[128];
        b->failed++;
        snprintf(what, sizeof what, "the process that computed it ended: %s",
                 WIFSIGNALED(child.status) ? strsignal(WTERMSIG(child.status)) : "by itself");
        say(b, load, p, what);
        next = at < first ? first + 1 : at + 1;
    }
    if (child.text.n) {
        ot_text_add(&b->said, ot_text_str(&child.text));
        print_error("%s", ot_text_str(&child.text));
    }
    ot_child_release(&child);
    return next;
}

static void empty(batch_load *load)
{
    for (int i = 0; i < load->n; i++)
        ot_text_release(&load->list[i].at);
    for (int i = 0; i < load->n_joined; i++) {
        ot_text_release(&load->joined[i]->text);
        free(load->joined[i]);
    }
    load->n = load->n_joined = 0;
}

static void compute(batch *b, batch_load *load)
{
    optune_err err = {0};
    char dir[4200], file[4300], path[4400];
    if (!load->n)
        return;
    wait_for_compilers(b, load);
    snprintf(dir, sizeof dir, "%s/load", b->dir);
    snprintf(file, sizeof file, "%s/list", dir);
    snprintf(path, sizeof path, "%s.progress", file);
    check_ok(ot_make_dirs(dir, &err));
    write_load(b, load, file);
    const batch_progress none = {.item = -1};
    check_ok(ot_write_file(path, &none, sizeof none, &err));
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    batch_progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(progress != MAP_FAILED);
    close(fd);
    for (int next = 0; next < load->n;)
        next = watch(b, load, file, next, progress);
    b->computed += progress->computed;
    b->failed += progress->failed;
    b->skipped += progress->skipped;
    munmap(progress, sizeof *progress);
    ot_remove_tree(dir);
    empty(load);
}

/* What came in compiles while what compiled is computed. */
static void turn(batch *b)
{
    batch_load *incoming = b->load[0];
    start(b, incoming);
    compute(b, b->load[1]);
    b->load[0] = b->load[1];
    b->load[1] = incoming;
}

void batch_add(batch *b, const optune_call *call, const optune_impl *impl,
               const optune_config *config, const char *const *at, int n)
{
    assert_true(n > 0);
    batch_load *load = b->load[0];
    item *p = &load->list[load->n++];
    *p = (item){.call = *call, .impl = impl, .config = *config};
    snprintf(p->prefix, sizeof p->prefix, "c%ld", b->plans++);
    for (int i = 0; i < n; i++)
        ot_text_printf(&p->at, "at\t%s\n", at[i]);
    if (load->n == (b->device.warp > 0 ? GPU_BATCH : BATCH))
        turn(b);
}

void batch_finish(batch *b)
{
    turn(b);
    turn(b);
}

/* ---- opening and closing ----------------------------------------------------------------- */

static ot_builder *open_builder(const batch *b, const optune_target *target)
{
    optune_err err = {0};
    ot_builder *builder = NULL;
    const ot_build_options options = {.target = target,
                                      .device = &b->device,
                                      .row = ot_target_find(target->kind),
                                      .cache_dir = b->dir,
                                      .limit_s = 300};
    check_ok(ot_builder_open(&options, &builder, &err));
    return builder;
}

/* The flags that there are without any, but -Og; of OpenCL, without its optimizer. */
static void open_cheap(batch *b)
{
    static const char usual[] = "-O3 ";
    const ot_source source = {.task = {.target = &b->target, .device = &b->device}};
    ot_text flags = {0};
    b->cheap = b->target;
    ot_source_flags(&source, &flags);
    bool known = false;
    if (strcmp(b->target.kind, "opencl") == 0 && !b->target.cflags[0]) {
        ot_text_clear(&flags);
        ot_text_add(&flags, "-cl-std=CL1.2 -cl-opt-disable");
        known = true;
    } else if (b->device.warp == 0 && !strncmp(ot_text_str(&flags), usual, strlen(usual))) {
        flags.s[2] = 'g';
        known = true;
    }
    if (known && ot_copy(b->cheap.cflags, sizeof b->cheap.cflags, flags.s)) {
        b->builder[1] = open_builder(b, &b->cheap);
        ot_target_print(&b->cheap, false, &b->cheaply);
    }
    ot_text_release(&flags);
}

static double processor_of(int who)
{
    struct rusage use;
    getrusage(who, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

bool batch_open(batch *b, const char *target)
{
    optune_err err = {0};
    *b = (batch){.limit_s = LIMIT_S,
                 .own_s = processor_of(RUSAGE_SELF),
                 .children_s = processor_of(RUSAGE_CHILDREN)};
    assert_true(ot_copy(b->text, sizeof b->text, target));
    check_ok(ot_target_parse(target, &b->target, &err));
    const int status = ot_target_probe(&b->target, &b->device, &err);
    if (status == OPTUNE_ENODEV) {
        print_message("%s: %s\n", target, err.text);
        return false;
    }
    check_ok(status);
    check_ok(ot_temp_dir(b->dir, sizeof b->dir, &err));
    b->builder[0] = open_builder(b, &b->target);
    open_cheap(b);
    b->plan = ot_alloc(sizeof *b->plan);
    for (int i = 0; i < 2; i++)
        b->load[i] = ot_alloc(sizeof *b->load[i]);
    return b->opened = true;
}

bool batch_serves(batch *b, const char *target)
{
    if (getenv("OPTUNE_RACES") || getenv("OPTUNE_TEST_IMPL") ||
        (strncmp(target, "cpu", 3) != 0 && strncmp(target, "opencl", 6) != 0))
        return false;
    const bool opened = batch_open(b, target);
    b->usual = workbench_thin(1) == 1;
    return opened;
}

void batch_close(batch *b)
{
    for (int i = 0; i < 2; i++) {
        empty(b->load[i]);
        free(b->load[i]);
        ot_builder_close(b->builder[i]);
    }
    free(b->plan);
    ot_text_release(&b->said);
    ot_text_release(&b->cheaply);
    ot_remove_tree(b->dir);
    b->opened = false;
}

void batch_judge(batch *b)
{
    batch_finish(b);
    batch_close(b); /* compilers that stay are counted when they end */
    const double own = processor_of(RUSAGE_SELF) - b->own_s;
    const double children = processor_of(RUSAGE_CHILDREN) - b->children_s;
    print_message("%.1f s of processors: %.1f asking, %.1f computing, %.1f else (compilers)\n",
                  own + children, own, b->computing_s, children - b->computing_s);
    print_message("%ld computed on %s, %ld times in all; %ld skipped (libraries), "
                  "%ld not compiled in time, %ld failed (%ld compiled alone)\n",
                  b->plans - b->late, b->text, b->computed, b->skipped, b->late, b->failed,
                  b->alone);
    assert_int_equal(b->failed, 0);
    assert_true(b->computed + b->late > 0);
}
