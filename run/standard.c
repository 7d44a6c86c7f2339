/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right outputs of an operator whose meaning is code (its `standard`): that implementation with
 * its fallback config, built and run once over given inputs.
 *
 * The one idea: it is code that nobody has checked, so it runs as candidates do, behind guard
 * pages, over poisoned outputs, in a process of its own with a deadline; only what it says is
 * believed. What it does not write shows in a second run, over other poison. It is built in such a
 * process, too: to find its compiler a driver may start threads, and who has them cannot fork a
 * process that drives the same device.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strays.h"
#include "bring/bring.h"
#include "run/compiler.h"
#include "run/standard.h"
#include "run/standard_check.h"
#include "target/process.h"

static const double COMPILE_S = 60, MOST_S = 60;

typedef struct setup {
    const optune_call *call;
    const optune_impl *impl;
    optune_target target;
    optune_device device;
    optune_task task; /* of these */
    char text[OPTUNE_CALL_TEXT_SIZE];
    const char *path;     /* modules are beside it */
    const int *asker;     /* who waits for it; NULL: nobody */
    optune_config config; /* its default */
    ot_built built;
    char module[OPTUNE_MAX_MODULES][4096]; /* paths */
} setup;

/* What both processes map: a verdict, the inputs, the outputs. */
typedef struct shared {
    int status; /* 1: it did not end */
    int poison; /* the byte that outputs are full of */
    char text[OPTUNE_ERR_SIZE];
    int64_t in_at[OPTUNE_MAX_INPUTS], out_at[OPTUNE_MAX_OUTPUTS];
} shared;

/* So long where nothing says more. */
static double patience(const setup *s, double usual)
{
    return fmax(usual, ot_target_find(s->target.kind)->patience_s);
}

/* ---- building ---------------------------------------------------------------------------- */

static int find_place(setup *s, const optune_target *target, const optune_device *device,
                      optune_err *err)
{
    const char *kind = s->call->op->standard_target;
    s->target = *target;
    s->device = *device;
    if (!kind || strcmp(kind, target->kind) == 0)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_target_parse(kind, &s->target, err));
    OT_RETURN_UNLESS_OK(ot_target_probe(&s->target, &s->device, err));
    s->target.threads = s->device.threads;
    return OPTUNE_OK;
}

/* What a compiler said, in one line, without the name of a temporary file. */
static int say_error(const char *said, const char *source, optune_err *err)
{
    size_t length = strcspn(said, "\n"), defined = 0;
    const char *line = ot_compiler_error(said, &length);
    const char *macro = line ? ot_compiler_macro(line, &defined) : NULL;
    line = line ? line : said;
    const char *error = memmem(line, length, "error:", strlen("error:"));
    if (error && memmem(line, length, source, strlen(source))) {
        length -= (size_t)(error - line);
        line = error;
    }
    return optune_fail(err, OPTUNE_ETOOL, "it cannot be compiled: %.*s%s%.*s%s", (int)length,
                       line, macro ? OT_MACRO_USED : "", (int)defined, macro ? macro : "",
                       macro ? ")" : "");
}

/* Compiled once for all inputs of a workload. */
static int build_module(setup *s, const optune_plan *plan, int i, const char *path,
                        optune_err *err)
{
    const optune_target_row *row = ot_target_find(s->target.kind);
    const ot_module *module = &plan->module[i];
    const char *flag[OT_COUNT(module->flag)];
    char name[4096], source[4096 + 16], hex[33];
    ot_text text = {0};
    optune_argv argv = {0};
    const char *slash = strrchr(path, '/');
    ot_plan_module_source(&s->task, plan, i, &text);
    ot_digest_hex(ot_digest_of(text.s, text.n), hex);
    const int n =
        snprintf(name, sizeof name, "%.*s/standard-%s%s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".", hex, row->module_suffix);
    snprintf(source, sizeof source, "%s%s", name, row->source_suffix);
    for (int k = 0; k < module->n_flags; k++)
        flag[k] = module->flag[k];
    int status = n < (int)sizeof name
                     ? OPTUNE_OK
                     : optune_fail(err, OPTUNE_ELIMIT, "path too long: '%s'", path);
    if (status >= 0 && !ot_exists(name)) {
        ot_text said = {0};
        status = ot_write_cached(source, text.s, text.n, err);
        if (status >= 0)
            status = row->compile(&s->target, &s->device, flag, module->n_flags, source, name,
                                  &argv, err);
        if (status >= 0 && ot_run_program(argv.word, patience(s, COMPILE_S), &said, err) < 0) {
            status = say_error(ot_text_str(&said), source, err);
        }
        ot_text_release(&said);
        unlink(source);
    }
    if (status >= 0)
        ot_copy(s->module[i], sizeof s->module[i], name);
    optune_argv_release(&argv);
    ot_text_release(&text);
    return status;
}

static int build(setup *s, optune_err *err)
{
    char why[OPTUNE_WHY_SIZE] = "";
    optune_space *space = NULL;
    optune_plan *plan = ot_alloc(sizeof *plan);
    int status = ot_space_open(&s->task, s->impl, &space, err);
    if (status >= 0 && !ot_space_fallback(space, &s->config, why))
        status = optune_fail(err, OPTUNE_EUSAGE, "its default config is refused: %s", why);
    if (status >= 0)
        status = ot_plan_make(&s->task, s->impl, &s->config, plan, err);
    for (int i = 0; status >= 0 && i < plan->n_modules; i++)
        status = build_module(s, plan, i, s->path, err);
    s->built = (ot_built){.impl = s->impl, .config = &s->config, .n_modules = plan->n_modules};
    for (int i = 0; i < plan->n_modules; i++)
        s->built.module[i] = s->module[i];
    ot_space_close(space);
    free(plan);
    return status;
}

/* ---- running ----------------------------------------------------------------------------- */

static int run_guarded(setup *s, shared *to, optune_err *err)
{
    ot_session *session = ot_alloc(sizeof *session);
    char *base = (char *)to, what[OPTUNE_WHY_SIZE];
    ot_loaded *loaded;
    ot_bound *bound = NULL;
    int outcome;
    ot_process_claim();
    OT_RETURN_UNLESS_OK(ot_session_open(session, &s->target, &s->device, err));
    OT_RETURN_UNLESS_OK(ot_session_shape(session, s->text, err));
    OT_RETURN_UNLESS_OK(ot_session_buffers(session, OT_GUARDED, err));
    for (int i = 0; i < session->call.n_inputs; i++)
        OT_RETURN_UNLESS_OK(ot_session_put(session, OT_GUARDED, i, base + to->in_at[i], err));
    OT_RETURN_UNLESS_OK(ot_session_fill_outputs(session, OT_GUARDED, to->poison, err));
    OT_RETURN_UNLESS_OK(ot_loaded_open(session, &s->built, &loaded, &outcome, err));
    OT_RETURN_UNLESS_OK(ot_bound_open(session, loaded, OT_GUARDED, &bound, err));
    OT_RETURN_UNLESS_OK(ot_bound_prepack(bound, err));
    OT_RETURN_UNLESS_OK(session->row->run(session->state, bound->launch[OPTUNE_TIMED],
                                          bound->n[OPTUNE_TIMED], err));
    if (!ot_session_intact(session, OT_GUARDED, what, sizeof what))
        return optune_fail(err, OPTUNE_EUSAGE, "it %s", what);
    for (int i = 0; i < session->call.n_outputs; i++)
        if (session->row->read(session->state, session->out[OT_GUARDED][i],
                               base + to->out_at[i], session->out_bytes[i]) < 0)
            return optune_fail(err, OPTUNE_EIO, "its output %d cannot be read back", i);
    return OPTUNE_OK;
}

static int build_only(setup *s, shared *to, optune_err *err)
{
    (void)to;
    return build(s, err);
}

static _Noreturn void be_inside(setup *s, shared *to,
                                int (*deed)(setup *s, shared *to, optune_err *err))
{
    optune_err err = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    const int status = deed(s, to, &err);
    memcpy(to->text, err.text, sizeof to->text);
    to->status = status;
    _exit(0);
}

/* How it ended, if it ended by itself; killed when its time is over. */
static int wait_for(pid_t pid, const shared *from, double most_s, const int *asker,
                    optune_err *err)
{
    const double end = ot_now() + most_s;
    int how = 0;
    pid_t ended;
    while ((ended = waitpid(pid, &how, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        const bool alone = asker && ot_wire_hung_up(*asker);
        if (alone || ot_now() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &how, 0);
            return alone
                       ? optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted")
                       : optune_fail(err, OPTUNE_ETIMEOUT, "it took more than %.0f s", most_s);
        }
        usleep(500);
    }
    if (ended == pid && WIFSIGNALED(how))
        return optune_fail(err, OPTUNE_EUSAGE, "it crashed: %s", strsignal(WTERMSIG(how)));
    if (from->status > 0)
        return optune_fail(err, OPTUNE_EUSAGE, "it ended its process");
    return from->status < 0 ? optune_fail(err, from->status, "%s", from->text) : OPTUNE_OK;
}

/* In a process of its own, which dies with this one; `to` is mapped by both. Whatever it leaves
 * running ends with it, in nobody else's name, where orphans come here. */
static int apart(setup *s, shared *to, int (*deed)(setup *s, shared *to, optune_err *err),
                 double most_s, optune_err *err)
{
    static pid_t before[OT_MOST_STRAYS];
    const bool sweeps = ot_strays_adopted(); /* elsewhere children are others' */
    const int n = sweeps ? ot_children_of_this(before, OT_MOST_STRAYS) : 0;
    const pid_t pid = fork();
    if (pid == 0)
        be_inside(s, to, deed);
    if (pid < 0)
        return optune_fail(err, OPTUNE_EWORKER, "no process can be made: %s", strerror(errno));
    const int status = wait_for(pid, to, most_s, s->asker, err);
    const int left = sweeps ? ot_strays_end(before, n) : 0;
    /* A compiler may leave a server behind, a device's driver has some of its own, and what
     * programs leave just ends. */
    if (status < 0 || !left || deed == build_only ||
        !ot_target_find(s->target.kind)->worker.address)
        return status;
    return optune_fail(err, OPTUNE_EUSAGE, "it left %d process%s behind", left,
                       left > 1 ? "es" : "");
}

static void *map_shared(int64_t bytes, optune_err *err)
{
    void *map =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map != MAP_FAILED)
        return map;
    optune_fail(err, OPTUNE_ENOMEM, "no memory for its inputs and outputs");
    return NULL;
}

/* Once it was built apart all modules are there, and building it here compiles nothing. */
static int build_apart(setup *s, optune_err *err)
{
    shared *to = map_shared(sizeof *to, err);
    if (!to)
        return OPTUNE_ENOMEM;
    to->status = 1;
    const double most_s = (OPTUNE_MAX_MODULES + 1) * patience(s, COMPILE_S);
    int status = apart(s, to, build_only, most_s, err);
    if (status >= 0)
        status = build(s, err);
    munmap(to, sizeof *to);
    return status;
}

static int64_t lay(int64_t *at, int64_t bytes)
{
    const int64_t here = *at;
    *at = (here + bytes + 63) / 64 * 64;
    return here;
}

static int run_apart(setup *s, const void *const *in, int poison, void *const *out,
                     optune_err *err)
{
    const optune_call *call = s->call;
    int64_t bytes = 0;
    shared plan = {.status = 1, .poison = poison};
    lay(&bytes, sizeof plan);
    for (int i = 0; i < call->n_inputs; i++)
        plan.in_at[i] = lay(&bytes, optune_tensor_bytes(&call->input[i].type));
    for (int i = 0; i < call->n_outputs; i++)
        plan.out_at[i] = lay(&bytes, optune_tensor_bytes(&call->output[i]));
    char *map = map_shared(bytes, err);
    if (!map)
        return OPTUNE_ENOMEM;
    memcpy(map, &plan, sizeof plan);
    for (int i = 0; i < call->n_inputs; i++)
        memcpy(map + plan.in_at[i], in[i], (size_t)optune_tensor_bytes(&call->input[i].type));
    const int status = apart(s, (shared *)map, run_guarded, patience(s, MOST_S), err);
    for (int i = 0; i < call->n_outputs && status >= 0; i++)
        memcpy(out[i], map + plan.out_at[i], (size_t)optune_tensor_bytes(&call->output[i]));
    munmap(map, (size_t)bytes);
    return status;
}

/* ---- what it writes ---------------------------------------------------------------------- */

static int find_left(setup *s, const void *const *in, void *const *out, bool **left,
                     optune_err *err)
{
    const optune_call *call = s->call;
    void *again[OPTUNE_MAX_OUTPUTS] = {0};
    int status = OPTUNE_OK;
    /* What a program tells is all that it has, and it may take long. */
    if (ot_target_find(s->target.kind)->worker.costs || !ot_standard_doubtful(call, out))
        return OPTUNE_OK;
    for (int o = 0; o < call->n_outputs && status >= 0; o++) {
        const size_t bytes = (size_t)optune_tensor_bytes(&call->output[o]);
        again[o] = ot_try_alloc(bytes + 1, "right outputs", err);
        status = again[o] ? status : OPTUNE_ENOMEM;
    }
    if (status >= 0)
        status = run_apart(s, in, OT_STANDARD_OTHER, again, err);
    for (int o = 0; o < call->n_outputs && status >= 0; o++)
        status = ot_standard_left(call, o, out[o], again[o], &left[o], err);
    for (int o = 0; o < call->n_outputs; o++)
        free(again[o]);
    return status;
}

/* ---- what files say ---------------------------------------------------------------------- */

static const ot_brought_arg *argument(const ot_brought *b, int input, int output)
{
    for (int i = 0; i < b->n_args; i++)
        if (input >= 0 ? b->arg[i].input == input : b->arg[i].output == output)
            return &b->arg[i];
    return NULL;
}

/* Of what files hold it has to give what files say; that is asked once, of the file's own sizes. */
static int check_files(setup *s, optune_err *err)
{
    const optune_call *call = s->call;
    const ot_brought *b = ot_brought_of_op(call->op->name);
    const char *slash = strrchr(s->path, '/');
    void *in[OPTUNE_MAX_INPUTS] = {0}, *out[OPTUNE_MAX_OUTPUTS] = {0};
    char mark[4096];
    if (!b || &b->op != call->op || !b->exemplified || strcmp(s->text, b->workload[0]) != 0)
        return OPTUNE_OK;
    snprintf(mark, sizeof mark, "%.*s/said-%s", slash ? (int)(slash - s->path) : 1,
             slash ? s->path : ".", b->digest);
    if (ot_exists(mark))
        return OPTUNE_OK;
    int status = OPTUNE_OK;
    for (int i = 0; i < call->n_inputs && status >= 0; i++) {
        const optune_tensor *type = &call->input[i].type;
        in[i] = ot_try_alloc((size_t)optune_tensor_bytes(type) + 1, "an input", err);
        status =
            in[i] ? ot_array_read(argument(b, i, -1)->held, type, in[i], err) : OPTUNE_ENOMEM;
    }
    for (int o = 0; o < call->n_outputs && status >= 0; o++) {
        out[o] =
            ot_try_alloc((size_t)optune_tensor_bytes(&call->output[o]) + 1, "outputs", err);
        status = out[o] ? OPTUNE_OK : OPTUNE_ENOMEM;
    }
    if (status >= 0)
        status = run_apart(s, (const void *const *)in, OT_STANDARD_POISON, out, err);
    for (int o = 0; o < call->n_outputs && status >= 0; o++)
        if (argument(b, -1, o)->expected)
            status = ot_standard_against(call, o, out[o], argument(b, -1, o)->expected, err);
    if (status >= 0)
        status = ot_write_file(mark, "", 0, err);
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        free(in[i]);
    for (int o = 0; o < OPTUNE_MAX_OUTPUTS; o++)
        free(out[o]);
    return status;
}

/* ---- all --------------------------------------------------------------------------------- */

int ot_standard_run(const optune_call *call, const void *const *in, const optune_target *target,
                    const optune_device *device, const int *asker, const char *path,
                    void *const *out, bool *left[OPTUNE_MAX_OUTPUTS], optune_err *err)
{
    optune_err inner = {0};
    ot_text text = {0};
    setup *s = ot_alloc(sizeof *s);
    s->call = call;
    s->path = path;
    s->asker = asker;
    s->impl = ot_impl_find(call->op->standard);
    s->task = (optune_task){.call = call, .target = &s->target, .device = &s->device};
    ot_call_print(call, &text);
    ot_copy(s->text, sizeof s->text, ot_text_str(&text));
    int status = s->impl
                     ? OPTUNE_OK
                     : optune_fail(&inner, OPTUNE_ENOENT, "there is no such implementation");
    if (status >= 0 && !target)
        status = optune_fail(&inner, OPTUNE_EUNSUPPORTED, "it runs beside a worker only");
    if (status >= 0)
        status = find_place(s, target, device, &inner);
    if (status >= 0)
        status = build_apart(s, &inner);
    if (status >= 0)
        status = check_files(s, &inner);
    if (status >= 0)
        status = run_apart(s, in, OT_STANDARD_POISON, out, &inner);
    if (status >= 0)
        status = ot_standard_numbers(call, out, &inner);
    if (status >= 0)
        status = find_left(s, in, out, left, &inner);
    if (status < 0)
        optune_fail(err, status, "'%s', which says what is right of '%s': %s",
                    call->op->standard, call->op->name, inner.text);
    ot_text_release(&text);
    free(s);
    return status;
}
