/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates to modules: one compiler process for each distinct source, several at once, at
 * lower priority than what measures. Nothing here blocks but ot_builder_wait; its owner
 * pumps it.
 *
 * The one idea: a unit is one module to make, named by the digest of all that decides its
 * bytes (source, command line, compiler, device). Jobs point at units, so equal ones are
 * compiled once, in this run and in the next.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strays.h"
#include "run/cache.h"
#include "run/compiler.h"
#include "run/run.h"

enum { MOST_AT_ONCE = 64, TRIM_EVERY = 256 };
static const double IDLE_S = 10; /* then a compiler's memory is worth more than its start */

typedef enum unit_state { WAITING, RUNNING, DONE } unit_state;
typedef struct unit {
    struct unit *next; /* all units, oldest first */
    char key[33];
    unit_state state;
    int outcome;
    int status; /* negative: the machine's fault */
    double seconds;
    double limit_s;
    optune_argv argv;
    ot_compiler *compiler;      /* while it runs */
    double stopped_at;          /* ot_now(); 0: going on */
    char *source, *made, *path; /* the source file, the module under construction, its place */
    char message[OPTUNE_ERR_SIZE];
} unit;

typedef struct work { /* of one job */
    struct work *next;
    ot_job *job;
    unit *unit[OPTUNE_MAX_MODULES];
} work;

struct ot_builder {
    ot_build_options options;
    char *dir;
    char depends[OPTUNE_TEXT_SIZE];
    ot_compilers compilers;
    unit *first, **last;
    work *works; /* of jobs not done */
    int running;
    bool patient; /* nobody named a limit */
    bool refused; /* by the system, what was asked of it last */
    int allowed;  /* compilers that may go on; the others are stopped */
    int64_t compiles, finished, serial;
};

int ot_builder_open(const ot_build_options *options, ot_builder **builder, optune_err *err)
{
    int status = ot_cache_open(options->cache_dir, err);
    if (status < 0)
        return status;
    ot_builder *b = ot_alloc(sizeof *b);
    *b = (ot_builder){.options = *options, .dir = ot_strdup(options->cache_dir)};
    b->last = &b->first;
    b->compilers.temp = b->dir; /* where remains of builds go after a while */
    if (!b->options.cache_bytes)
        b->options.cache_bytes = (int64_t)512 << 20;
    b->patient = b->options.limit_s <= 0;
    if (b->patient)
        b->options.limit_s = b->options.row->patience_s > 0 ? b->options.row->patience_s : 20;
    if (b->options.jobs <= 0)
        b->options.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (b->options.jobs > MOST_AT_ONCE)
        b->options.jobs = MOST_AT_ONCE;
    b->allowed = b->options.jobs;
    status =
        options->row->dependencies(options->target, NULL, b->depends, sizeof b->depends, err);
    if (status < 0) {
        ot_builder_close(b);
        return status;
    }
    ot_cache_trim(b->dir, options->row->module_suffix, b->options.cache_bytes);
    *builder = b;
    return OPTUNE_OK;
}

static void unit_free(ot_builder *b, unit *u)
{
    if (u->state == RUNNING)
        ot_compiler_put(&b->compilers, u->compiler);
    if (u->state != DONE && u->source) {
        unlink(u->source);
        unlink(u->made);
    }
    optune_argv_release(&u->argv);
    free(u->source);
    free(u->made);
    free(u->path);
    free(u);
}

void ot_builder_close(ot_builder *b)
{
    if (!b)
        return;
    for (unit *u = b->first, *next; u; u = next) {
        next = u->next;
        unit_free(b, u);
    }
    ot_compilers_end_idle(&b->compilers, 0);
    for (work *w = b->works, *next; w; w = next) {
        next = w->next;
        w->job->work = NULL;
        free(w);
    }
    if (b->compiles)
        ot_cache_trim(b->dir, b->options.row->module_suffix, b->options.cache_bytes);
    free(b->dir);
    free(b);
}

int64_t ot_builder_compiles(const ot_builder *builder)
{
    return builder->compiles;
}

/* ---- units ------------------------------------------------------------------------------- */

static int command(const ot_builder *b, const ot_module *module, const char *source,
                   const char *made, optune_argv *argv, optune_err *err)
{
    const char *flag[OT_COUNT(module->flag)];
    for (int i = 0; i < module->n_flags; i++)
        flag[i] = module->flag[i];
    return b->options.row->compile(b->options.target, b->options.device, flag, module->n_flags,
                                   source, made, argv, err);
}

/* The digest of everything that decides a module's bytes; file names do not. */
static int key_of(const ot_builder *b, const ot_module *module, const char *text, char key[33],
                  optune_err *err)
{
    optune_argv argv = {0};
    const int status = command(b, module, "", "", &argv, err);
    if (status >= 0) {
        const char *part[OT_COUNT(argv.word) + 3] = {text, b->depends, b->options.device->key};
        for (int i = 0; i < argv.n; i++)
            part[3 + i] = argv.word[i];
        ot_digest_hex(ot_digest_texts(part, 3 + argv.n), key);
    }
    optune_argv_release(&argv);
    return status;
}

/* One whose module somebody damaged behind its compiler is forgotten: it is built again. */
static unit *find_unit(const ot_builder *b, const char *key)
{
    for (unit *u = b->first; u; u = u->next)
        if (strcmp(u->key, key) == 0) {
            if (u->state != DONE || (u->outcome != OPTUNE_OUTCOME_OK && u->status >= 0) ||
                (u->outcome == OPTUNE_OUTCOME_OK && ot_cache_hit(u->path)))
                return u;
            u->key[0] = '\0';
        }
    return NULL;
}

static char *join(const char *format, ...) OPTUNE_PRINTF(1, 2);
static char *join(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    return text;
}

/* A new unit: found in the cache, or its source written and its command made ready. */
static int add_unit(ot_builder *b, const ot_module *module, const char *key,
                    const ot_text *text, unit **added, optune_err *err)
{
    const optune_target_row *row = b->options.row;
    unit *u = ot_alloc(sizeof *u);
    int status = OPTUNE_OK;
    ot_copy(u->key, sizeof u->key, key);
    u->path = join("%s/%s%s", b->dir, key, row->module_suffix);
    if (ot_cache_hit(u->path)) {
        u->state = DONE;
    } else {
        uint64_t word = (uint64_t)b->serial++; /* a name that nobody foresees */
        if (getrandom(&word, sizeof word, 0) < 0)
            word += (uint64_t)ot_now_ns();
        u->source = join("%s/%s.%d.%016llx%s", b->dir, key, (int)getpid(),
                         (unsigned long long)word, row->source_suffix);
        u->made =
            join("%s/%s.%d.%016llx.tmp", b->dir, key, (int)getpid(), (unsigned long long)word);
        status = command(b, module, u->source, u->made, &u->argv, err);
        if (status >= 0) {
            status = ot_write_cached(u->source, text->s, text->n, err);
            b->refused = status < 0;
        }
    }
    if (status < 0) {
        unit_free(b, u);
        return status;
    }
    *b->last = u;
    b->last = &u->next;
    *added = u;
    return OPTUNE_OK;
}

/* ---- the compiler's answer --------------------------------------------------------------- */

/* Compilers name the temporary file; a person should read `body.c:12`. */
static void add_line(ot_text *to, const unit *u, const char *line, size_t n)
{
    const size_t skip = strlen(u->source);
    const char *suffix = strrchr(u->source, '.');
    for (size_t i = 0; i < n;) {
        if (n - i >= skip && strncmp(line + i, u->source, skip) == 0) {
            ot_text_printf(to, "body%s", suffix);
            i += skip;
        } else {
            ot_text_add_n(to, line + i++, 1);
        }
    }
}

/* The first line that names an error, else the last three lines. */
static void take_message(unit *u)
{
    const ot_child *child = &u->compiler->child;
    size_t n = 0;
    const char *text = ot_text_str(&child->text), *error = ot_compiler_error(text, &n);
    ot_text line = {0};
    if (error) {
        size_t defined = 0;
        const char *macro = ot_compiler_macro(error, &defined);
        add_line(&line, u, error, n);
        if (macro)
            ot_text_printf(&line, OT_MACRO_USED "%.*s)", (int)defined, macro);
    } else {
        const char *start = text + strlen(text);
        for (int lines = 0; start > text; start--)
            if (start[-1] == '\n' && start[0] && ++lines == 3)
                break;
        for (const char *p = start; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            if (line.n)
                ot_text_add(&line, "; ");
            add_line(&line, u, p, strcspn(p, "\n"));
        }
    }
    if (!line.n && child->ended && WIFSIGNALED(child->status))
        ot_text_printf(&line, "the compiler was ended by signal %d", WTERMSIG(child->status));
    else if (!line.n)
        ot_text_printf(&line, "the compiler failed and said nothing");
    snprintf(u->message, sizeof u->message, "%.*s", (int)sizeof u->message - 1, line.s);
    ot_text_release(&line);
}

/* Whether a compiler was refused what every compiler needs: room for its files, processes. It says
 * so in the system's words, and in no other way. Memory is not among them: how much a compiler
 * takes depends on what it compiles. */
static bool was_refused(const char *text)
{
    static const int why[] = {ENOSPC, EDQUOT, EFBIG, EAGAIN, EMFILE, ENFILE, EROFS};
    for (size_t i = 0; i < OT_COUNT(why); i++)
        if (strstr(text, strerrordesc_np(why[i])))
            return true;
    return strstr(text, sigdescr_np(SIGXFSZ)); /* of `ulimit -f` */
}

static void finish(ot_builder *b, unit *u)
{
    optune_err err = {0};
    u->seconds = ot_now() - u->compiler->child.started;
    u->state = DONE;
    b->running--;
    b->finished++;
    if (u->compiler->child.timed_out) {
        u->outcome = OPTUNE_OUTCOME_BUILD_TIMEOUT;
        ot_format(u->message, sizeof u->message, "the compiler did not end within %.3g s",
                  u->limit_s);
    } else if (!ot_compiler_succeeded(u->compiler)) {
        u->outcome = OPTUNE_OUTCOME_COMPILE;
        if (was_refused(ot_text_str(&u->compiler->child.text)))
            u->status = OPTUNE_ETOOL;
        take_message(u);
    } else {
        const int kept = ot_cache_keep(u->made, u->path, &err);
        if (kept < 0) {
            u->outcome = OPTUNE_OUTCOME_COMPILE;
            u->status = kept == OPTUNE_ETOOL ? OPTUNE_OK : kept; /* the system's */
            ot_copy(u->message, sizeof u->message, err.text);
        }
    }
    b->refused = u->status < 0;
    unlink(u->source);
    unlink(u->made);
    ot_compiler_put(&b->compilers, u->compiler);
    optune_argv_release(&u->argv);
    if (b->compiles % TRIM_EVERY == 0)
        ot_cache_trim(b->dir, b->options.row->module_suffix, b->options.cache_bytes);
}

/* On a machine where more wants to run than there are cores, a compiler waits most of its time:
 * it gets that much longer, unless somebody said how long. */
static double patience(const ot_builder *b)
{
    double load = 0;
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (!b->patient || getloadavg(&load, 1) != 1)
        return b->options.limit_s;
    return b->options.limit_s * fmax(1, load / cores);
}

static void start(ot_builder *b, unit *u)
{
    optune_err err = {0};
    u->limit_s = patience(b);
    u->status = ot_compiler_start(&b->compilers, &u->argv, u->limit_s, &u->compiler, &err);
    if (u->status < 0) {
        b->refused = true;
        u->state = DONE;
        u->outcome = OPTUNE_OUTCOME_COMPILE;
        snprintf(u->message, sizeof u->message, "%s", err.text);
        unlink(u->source);
        return;
    }
    u->state = RUNNING;
    b->running++;
    b->compiles++;
}

/* ---- jobs -------------------------------------------------------------------------------- */

/* Module `i` of a job: found, or made from now on. */
static int add_module(ot_builder *b, work *w, int i, const ot_module *module,
                      const ot_text *text, optune_err *err)
{
    char key[33];
    ot_job *job = w->job;
    int status = key_of(b, module, ot_text_str(text), key, err);
    if (status < 0)
        return status;
    w->unit[i] = find_unit(b, key);
    if (!w->unit[i]) {
        status = add_unit(b, module, key, text, &w->unit[i], err);
        if (status < 0)
            return status;
        if (w->unit[i]->state == WAITING) /* a compiler of its own, not another job's */
            job->cached = false;
    }
    if (!ot_copy(job->module[i], sizeof job->module[i], w->unit[i]->path))
        return optune_fail(err, OPTUNE_ELIMIT, "path too long: '%s'", w->unit[i]->path);
    return OPTUNE_OK;
}

static work *open_work(ot_job *job, int n_modules)
{
    work *w = ot_alloc(sizeof *w);
    *job = (ot_job){.n_modules = n_modules, .cached = true, .work = w};
    w->job = job;
    return w;
}

static int queue(ot_builder *b, work *w, int status)
{
    w->next = b->works;
    b->works = w;
    if (status < 0)
        ot_builder_forget(b, w->job);
    else
        ot_builder_pump(b);
    return status;
}

int ot_builder_submit(ot_builder *b, const optune_task *task, const optune_plan *plan,
                      ot_job *job, optune_err *err)
{
    ot_text text = {0};
    int status = OPTUNE_OK;
    work *w = open_work(job, plan->n_modules);
    for (int i = 0; i < plan->n_modules && status >= 0; i++) {
        ot_text_clear(&text);
        ot_plan_module_source(task, plan, i, &text);
        status = add_module(b, w, i, &plan->module[i], &text, err);
    }
    ot_text_release(&text);
    return queue(b, w, status);
}

int ot_builder_submit_text(ot_builder *b, const ot_module *flags, const ot_text *text,
                           ot_job *job, optune_err *err)
{
    work *w = open_work(job, 1);
    return queue(b, w, add_module(b, w, 0, flags, text, err));
}

bool ot_builder_refused(const ot_builder *b)
{
    return b->refused;
}

int ot_builder_renew(ot_builder *b, const optune_task *task, const optune_plan *plan,
                     ot_job *job, optune_err *err)
{
    bool whole = true;
    for (int i = 0; i < job->n_modules; i++)
        whole = whole && ot_cache_hit(job->module[i]);
    const int status =
        whole && job->status >= 0 ? OPTUNE_OK : ot_builder_submit(b, task, plan, job, err);
    while (status >= 0 && !job->done)
        ot_builder_wait(b, job, 1);
    return status;
}

/* True when every unit of a job is done; then the job has its outcome. */
static bool settle(work *w)
{
    ot_job *job = w->job;
    double seconds = 0;
    for (int i = 0; i < job->n_modules; i++) {
        if (w->unit[i]->state != DONE)
            return false;
        seconds += w->unit[i]->seconds;
    }
    for (int i = job->n_modules - 1; i >= 0; i--)
        if (w->unit[i]->outcome != OPTUNE_OUTCOME_OK) {
            job->outcome = w->unit[i]->outcome;
            job->status = w->unit[i]->status;
            ot_copy(job->message, sizeof job->message, w->unit[i]->message);
        }
    job->seconds = job->cached ? 0 : seconds;
    job->work = NULL;
    job->done = true;
    return true;
}

static bool wanted(const ot_builder *b, const unit *u)
{
    for (const work *w = b->works; w; w = w->next)
        for (int i = 0; i < w->job->n_modules; i++)
            if (w->unit[i] == u)
                return true;
    return false;
}

void ot_builder_forget(ot_builder *b, ot_job *job)
{
    work **at = &b->works;
    while (*at && *at != job->work)
        at = &(*at)->next;
    if (!job->work || !*at)
        return;
    work *w = *at;
    *at = w->next;
    job->work = NULL;
    free(w);
    b->last = &b->first;
    for (unit *u; (u = *b->last);) {
        if (u->state == DONE || wanted(b, u)) {
            b->last = &u->next;
            continue;
        }
        *b->last = u->next;
        b->running -= u->state == RUNNING;
        unit_free(b, u);
    }
}

void ot_builder_pump(ot_builder *b)
{
    for (unit *u = b->first; u; u = u->next) {
        if (u->state == RUNNING && !u->stopped_at && ot_compiler_done(u->compiler))
            finish(b, u);
        if (u->state == WAITING && b->running < b->options.jobs && b->running < b->allowed)
            start(b, u);
    }
    ot_compilers_end_idle(&b->compilers, IDLE_S);
    for (work **at = &b->works; *at;) {
        work *w = *at;
        if (settle(w)) {
            *at = w->next;
            free(w);
        } else {
            at = &w->next;
        }
    }
}

void ot_builder_wait(ot_builder *b, ot_job *job, double seconds)
{
    const double until = ot_now() + seconds;
    const int64_t before = b->finished;
    for (;;) {
        ot_builder_pump(b);
        const double left = until - ot_now();
        if ((job ? job->done : b->finished > before) || left <= 0)
            return;
        ot_child *child[MOST_AT_ONCE];
        int n = 0;
        for (unit *u = b->first; u; u = u->next)
            if (u->state == RUNNING && !u->stopped_at)
                child[n++] = &u->compiler->child;
        if (n == 0)
            return; /* all are stopped: only the owner can let them go on */
        ot_child_wait_any(child, n, left);
    }
}

/* All that they started, too, as compilers start others; time stands still for the deadline. */
void ot_builder_allow(ot_builder *b, int most)
{
    unit *changed[2][MOST_AT_ONCE]; /* to be stopped, to go on */
    pid_t root[2][MOST_AT_ONCE];
    int going = 0, n[2] = {0};
    b->allowed = most;
    for (unit *u = b->first; u; u = u->next) {
        if (u->state != RUNNING)
            continue;
        const bool go = going < most;
        going += go;
        if (go == !u->stopped_at)
            continue;
        changed[go][n[go]] = u;
        root[go][n[go]++] = u->compiler->child.pid;
    }
    for (int go = 0; go < 2; go++) {
        ot_trees_signal(root[go], n[go], go ? SIGCONT : SIGSTOP);
        const double now = ot_now();
        for (int i = 0; i < n[go]; i++) {
            unit *const u = changed[go][i];
            ot_child *child = &u->compiler->child;
            if (go) {
                child->deadline += now - u->stopped_at;
                child->started += now - u->stopped_at;
            }
            u->stopped_at = go ? 0 : now;
        }
    }
}
