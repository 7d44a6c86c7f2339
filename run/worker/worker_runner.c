/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a runner: does what the keeper orders, with candidates in its own process, and
 * reports. It judges nothing and decides nothing; what a candidate does to this process is seen
 * from outside.
 *
 * The one idea: nothing that would be worth forging is within a candidate's reach by accident or by
 * a simple search. The secret lies in pages that cannot be read while a candidate runs, the
 * references are in another process, and while runs are timed every run sees inputs of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "run/worker/worker_keeper.h"
#include "target/process.h"

enum { CONNECTION = 3 };
static const double SPIN_S = 200e-6; /* then it sleeps until an order comes */
static const double SHORT_S = 20e-6; /* of a run where shaking shows in its time */

typedef struct seat { /* a candidate */
    ot_loaded *loaded;
    ot_bound *bound[2];
    ot_rotation *rotation; /* of the aligned one; NULL: none */
    double shake_s;        /* what shaking costs a run; negative: not known yet */
} seat;

typedef struct runner {
    int fd;
    int file[OPTUNE_MAX_MODULES], n_files; /* that came with the order */
    ot_seal *seal;
    ot_runner_setup setup;
    ot_session session;
    int64_t in_at[OPTUNE_MAX_INPUTS], out_at[OPTUNE_MAX_OUTPUTS];
    ot_shaker shaking;
    bool damaged; /* what surrounds guarded buffers */
    seat seat[OT_MOST_SLOTS];
} runner;

/* ---- the process ------------------------------------------------------------------------- */

static void limit(int what, double most)
{
    struct rlimit now;
    if (getrlimit(what, &now) < 0)
        return;
    rlim_t to = most < 0x1p62 ? (rlim_t)most : RLIM_INFINITY;
    if (now.rlim_max != RLIM_INFINITY && to > now.rlim_max)
        to = now.rlim_max;
    setrlimit(what, &(struct rlimit){to, to});
}

/* A candidate that eats memory, or writes files, ends before anybody else has to. */
static void set_limits(const ot_runner_setup *setup)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const int threads = setup->device->threads > 0 ? setup->device->threads : 1;
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        if (write(score, "1000", 4) < 0)
            errno = 0; /* it is as likely as others, then */
        close(score);
    }
    limit(RLIMIT_CORE, 0);
    if (!setup->once)
        return; /* drivers map and write what they like */
    limit(RLIMIT_FSIZE, 1 << 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which map terabytes */
    const double wanted = 0x1p32 + 8.0 * (double)setup->bytes + threads * 0x1p28;
    limit(RLIMIT_DATA, fmax(fmin(wanted, 0.75 * memory), 4.0 * (double)setup->bytes + 0x1p30));
#else
    (void)memory;
    (void)threads;
#endif
}

/* Its connection is the only file it has, its parent's end is its own, and signals are as in a new
 * program. */
static void become(int *fd, const ot_runner_setup *setup)
{
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != setup->keeper)
        _exit(1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setsid();
    for (int i = 1; i < NSIG; i++)
        signal(i, i == SIGPIPE ? SIG_IGN : SIG_DFL);
    if (*fd != CONNECTION) {
        dup3(*fd, CONNECTION, O_CLOEXEC);
        *fd = CONNECTION;
    }
    syscall(SYS_close_range, CONNECTION + 1, ~0u, 0);
    set_limits(setup);
}

/* ---- deeds ------------------------------------------------------------------------------- */

static void name_file(const runner *r, int i, char *path, size_t size)
{
    snprintf(path, size, "/proc/self/fd/%d", r->file[i]);
}

static int open_workload(runner *r, const char *call, optune_err *err)
{
    char path[32];
    ot_session *s = &r->session;
    int status = ot_session_shape(s, call, err);
    int64_t at = 0;
    for (int i = 0; status >= 0 && i < optune_call_inputs(&s->call); i++) {
        r->in_at[i] = at;
        at += (s->in_bytes[i] + 63) / 64 * 64;
    }
    at = 0;
    for (int i = 0; status >= 0 && i < s->call.n_outputs; i++) {
        r->out_at[i] = at;
        at += (s->out_bytes[i] + 63) / 64 * 64;
    }
    for (int kind = 0; status >= 0 && kind < 2; kind++)
        status = ot_session_buffers(s, kind, err);
    if (status >= 0 && r->n_files) {
        name_file(r, 0, path, sizeof path);
        ot_same_open(s, path);
    }
    return status;
}

typedef struct candidate { /* what an order to load says, as values */
    ot_built built;
    optune_config config;
    optune_call range;
    char file[OPTUNE_MAX_MODULES][32];
} candidate;

/* Files that came with the order are loaded in place of what their names say now. */
static int read_candidate(const runner *r, const json_t *order, candidate *c, optune_err *err)
{
    const json_t *modules = json_object_get(order, "modules");
    const char *range = ot_wire_text(order, "range"), *impl = ot_wire_text(order, "impl");
    c->built = (ot_built){.impl = ot_impl_find(impl), .config = &c->config};
    if (!c->built.impl)
        return optune_fail(err, OPTUNE_ENOENT, "the worker knows no implementation '%s'", impl);
    OT_RETURN_UNLESS_OK(ot_config_parse(ot_wire_text(order, "config"), &c->config, err));
    if (*range)
        OT_RETURN_UNLESS_OK(ot_call_parse(range, &c->range, err));
    c->built.range = *range ? &c->range : NULL;
    for (int i = 0; i < (int)json_array_size(modules) && i < OPTUNE_MAX_MODULES; i++) {
        const char *path = json_string_value(json_array_get(modules, (size_t)i));
        c->built.module[c->built.n_modules++] = path ? path : "";
    }
    for (int i = 0; i < r->n_files && i < c->built.n_modules; i++) {
        name_file(r, i, c->file[i], sizeof c->file[i]);
        c->built.module[i] = c->file[i];
    }
    return OPTUNE_OK;
}

static int load(runner *r, seat *at, const char *text, ot_report *report, optune_err *err)
{
    candidate *c = ot_alloc(sizeof *c);
    json_t *order = json_loads(text, 0, NULL);
    at->shake_s = -1;
    report->outcome = OPTUNE_OUTCOME_INSTANTIATION;
    int status = read_candidate(r, order, c, err);
    if (status >= 0)
        status = ot_loaded_open(&r->session, &c->built, &at->loaded, &report->outcome, err);
    json_decref(order);
    free(c);
    return status;
}

static int put(runner *r, const ot_order *order, ot_report *report, optune_err *err)
{
    ot_session *s = &r->session;
    const int kind = order->kind;
    int status = ot_session_buffers(s, kind, err);
    for (int i = 0; status >= 0 && i < optune_call_inputs(&s->call); i++) {
        if (!(order->mask >> i & 1))
            continue;
        if (!(order->fresh >> i & 1)) {
            status = ot_stock_take(s, kind, (ot_set)order->set, i, err);
            report->held |= (uint64_t)1 << i;
            continue;
        }
        status = ot_session_put(s, kind, i, r->setup.tray + r->in_at[i], err);
        if (status >= 0 && ot_stock_keep(s, kind, (ot_set)order->set, i))
            report->held |= (uint64_t)1 << i;
    }
    return status;
}

static int bind_buffers(runner *r, seat *at, const ot_order *order, optune_err *err)
{
    ot_bound **bound = &at->bound[order->kind];
    int status = ot_bound_open(&r->session, at->loaded, order->kind, bound, err);
    if (status >= 0)
        status = ot_bound_prepack(*bound, err);
    if (status >= 0 && order->footprint > 0)
        status = ot_rotation_open(*bound, order->footprint, &at->rotation, err);
    return status;
}

static int fetch(runner *r, const ot_order *order, optune_err *err)
{
    ot_session *s = &r->session;
    /* The end first: who goes on writing behind our back, writes there last. */
    for (int i = s->call.n_outputs - 1; i >= 0; i--)
        if (s->row->read(s->state, s->out[order->kind][i], r->setup.tray + r->out_at[i],
                         s->out_bytes[i]) < 0)
            return optune_fail(err, OPTUNE_EIO, "output %d cannot be read back", i);
    return OPTUNE_OK;
}

static int fetch_pieces(runner *r, const ot_order *order, const char *text, optune_err *err)
{
    ot_session *s = &r->session;
    int output, n;
    long long at, bytes;
    for (; sscanf(text, "%d %lld %lld;%n", &output, &at, &bytes, &n) == 3; text += n)
        if (output < 0 || output >= s->call.n_outputs || at < 0 || bytes < 0 ||
            at + bytes > s->out_bytes[output] ||
            s->row->read_at(s->state, s->out[order->kind][output], at,
                            r->setup.tray + r->out_at[output] + at, bytes) < 0)
            return optune_fail(err, OPTUNE_EIO, "output %d cannot be read back", output);
    return OPTUNE_OK;
}

static int look_around(runner *r, const seat *at, const ot_order *order, ot_report *report,
                       optune_err *err)
{
    if (ot_session_intact(&r->session, order->kind, err->text, sizeof err->text) &&
        ot_bound_intact(at->bound[order->kind], err->text, sizeof err->text))
        return OPTUNE_OK;
    report->outcome = OPTUNE_OUTCOME_WRONG;
    r->damaged = true;
    return OPTUNE_EDAMAGED;
}

/* What is asked behind runs: their outputs, and what is around them. */
static int finish(runner *r, const seat *at, const ot_order *order, ot_report *report,
                  optune_err *err)
{
    if (!order->settle)
        return OPTUNE_OK;
    if (!order->stay)
        OT_RETURN_UNLESS_OK(fetch(r, order, err));
    return order->look ? look_around(r, at, order, report, err) : OPTUNE_OK;
}

/* What a target's own word makes of the candidate. */
static int outcome_of(int status)
{
    return status == OPTUNE_EDAMAGED   ? OPTUNE_OUTCOME_WRONG
           : status == OPTUNE_ETIMEOUT ? OPTUNE_OUTCOME_RUN_TIMEOUT
           : status == OPTUNE_EWORKER  ? OPTUNE_OUTCOME_CRASH
                                       : OPTUNE_OUTCOME_RUNTIME;
}

/* What a run that does nothing takes: the clock of this process is read around each. */
static double time_of_nothing(const ot_session *s, const optune_launch *launch)
{
    double least = INFINITY;
    for (int i = 0; i < 16 && s->row->address; i++)
        least = fmin(least, fmax(s->row->time(s->state, launch, 0, 1, NULL), 0));
    return isfinite(least) ? least : 0;
}

/* One by one, as there is something to do in front of each run that is none of its time: the first
 * `n_before` launches, which restore what the kernel changes, and emptying the caches. */
static double time_singly(runner *r, const optune_launch *before, int n_before,
                          const optune_launch *launch, int n, const ot_order *order,
                          double *apart, optune_err *err)
{
    ot_session *s = &r->session;
    double sum = 0;
    const double nothing = n_before ? time_of_nothing(s, launch) : 0, start = ot_now();
    for (int64_t k = 0; k < order->count; k++) {
        if (n_before && s->row->run(s->state, before, n_before, err) < 0)
            return -1;
        if (order->cold && s->row->flush(s->state) < 0) {
            optune_fail(err, OPTUNE_EIO, "the caches cannot be flushed");
            return -1;
        }
        const double t = s->row->time(s->state, launch, n, 1, err);
        if (t < 0)
            return -1;
        sum += t - fmin(nothing, t / 2);
    }
    *apart = n_before ? fmax(ot_now() - start - sum, 0) : 0;
    return sum;
}

/* Returns how many; *n_before: the first of them, which are none of the run's time. */
static int launches(const seat *at, int kind, optune_launch *to, int *n_before)
{
    const ot_bound *b = at->bound[kind];
    const bool rotates = kind == OT_ALIGNED && at->rotation;
    *n_before = b->n_restoring ? b->n_restoring + rotates : 0;
    if (rotates)
        return ot_rotation_launches(at->rotation, to);
    memcpy(to, b->launch[OPTUNE_TIMED], (size_t)b->n[OPTUNE_TIMED] * sizeof *to);
    return b->n[OPTUNE_TIMED];
}

static int time_runs(runner *r, seat *at, const ot_order *order, ot_report *report,
                     optune_err *err)
{
    static optune_launch launch[OPTUNE_MAX_STAGES + 2]; /* [0]: shaking */
    ot_shaker *shaking = &r->shaking;
    ot_session *s = &r->session;
    int n_before;
    const int n = launches(at, order->kind, launch + 1, &n_before);
    if (order->poison && ot_bound_poison(at->bound[order->kind], err) < 0)
        return OPTUNE_EIO;
    if (order->numbers && ot_session_fill_with_numbers(s, order->kind, err) < 0)
        return OPTUNE_EIO;
    ot_shaker_open(shaking, s, order);
    if (order->cold || n_before) {
        const bool shaken = n_before && shaking->n && n_before < OPTUNE_MAX_STAGES;
        launch[0] = ot_shaker_launch(shaking);
        report->seconds =
            time_singly(r, launch + !shaken, n_before + shaken, launch + 1 + n_before,
                        n - n_before, order, &report->real[1], err);
    } else if (!shaking->n || n + 1 > OPTUNE_MAX_STAGES) {
        report->seconds = s->row->time(s->state, launch + 1, n, order->count, err);
    } else {
        if (at->shake_s < 0)
            at->shake_s = ot_shaker_cost(s, order);
        launch[0] = ot_shaker_launch(shaking);
        report->seconds = s->row->time(s->state, launch, n + 1, order->count, err);
        report->real[0] = report->seconds;
        if (report->seconds < SHORT_S * (double)order->count)
            report->seconds -=
                fmin(at->shake_s * (double)(order->count - 1), report->seconds / 2);
    }
    if (order->pace && r->setup.once)
        report->real[2] = ot_cpu_pace();
    if (report->seconds < 0)
        report->outcome = outcome_of(err->status);
    if (report->seconds < 0)
        return err->status < 0 ? err->status : optune_fail(err, OPTUNE_EIO, "a run failed");
    return finish(r, at, order, report, err);
}

static void close_bound(seat *at, int kind)
{
    if (kind == OT_ALIGNED)
        ot_rotation_close(at->rotation);
    at->rotation = kind == OT_ALIGNED ? NULL : at->rotation;
    ot_bound_close(at->bound[kind]);
    at->bound[kind] = NULL;
}

static void unbind(runner *r, seat *at, int kind)
{
    close_bound(at, kind);
    if (!r->setup.once)
        return; /* a device's buffers are wanted again by the next one */
    if (kind == OT_GUARDED)
        ot_session_promote(&r->session);
    ot_session_drop(&r->session, kind);
}

static void unload(runner *r, seat *at)
{
    for (int kind = 0; kind < 2; kind++)
        close_bound(at, kind);
    if (at->loaded)
        ot_loaded_close(&r->session, at->loaded);
    if (r->damaged)
        ot_session_drop(&r->session, OT_GUARDED); /* the canaries, too */
    r->damaged = false;
    *at = (struct seat){0};
}

static int do_deed(runner *r, const ot_order *order, const char *text, ot_report *report,
                   optune_err *err)
{
    static const char *const doing[] = {
        [OT_DO_START] = "starting",
        [OT_DO_WORKLOAD] = "preparing the workload",
        [OT_DO_LOAD] = "loading",
        [OT_DO_PUT] = "writing inputs",
        [OT_DO_BIND] = "prepacking",
        [OT_DO_TIME] = "measuring",
        [OT_DO_FETCH] = "reading outputs",
        [OT_DO_UNBIND] = "unloading",
        [OT_DO_COUNTERS] = "counting events",
        [OT_DO_UNLOAD] = "unloading",
        [OT_DO_PEAK] = "measuring the peak",
    };
    ot_session *s = &r->session;
    seat *at = &r->seat[order->slot];
    ot_crash_at(order->settle ? "verifying" : doing[order->deed]);
    ot_shaker_settle(&r->shaking);
    report->outcome = OPTUNE_OUTCOME_RUNTIME;
    switch ((ot_deed)order->deed) {
    case OT_DO_START:
        return OPTUNE_OK;
    case OT_DO_WORKLOAD:
        return open_workload(r, text, err);
    case OT_DO_LOAD:
        return load(r, at, text, report, err);
    case OT_DO_PUT:
        return put(r, order, report, err);
    case OT_DO_BIND:
        return bind_buffers(r, at, order, err);
    case OT_DO_TIME:
        return time_runs(r, at, order, report, err);
    case OT_DO_FETCH:
        return fetch_pieces(r, order, text, err);
    case OT_DO_UNBIND:
        unbind(r, at, order->kind);
        return OPTUNE_OK;
    case OT_DO_COUNTERS:
        if (s->row->counters)
            s->row->counters(s->state, at->bound[order->kind]->launch[OPTUNE_TIMED],
                             at->bound[order->kind]->n[OPTUNE_TIMED], report->text,
                             sizeof report->text, report->why);
        return OPTUNE_OK;
    case OT_DO_UNLOAD:
        unload(r, at);
        return OPTUNE_OK;
    case OT_DO_PEAK: {
        ot_peaks peak;
        const int status = ot_peak(s, &peak, err);
        report->real[0] = peak.flops;
        report->real[1] = peak.bandwidth;
        report->real[2] = peak.tensor;
        ot_copy(report->why, sizeof report->why, peak.tensor_why);
        return status;
    }
    }
    return optune_fail(err, OPTUNE_EUSAGE, "a runner cannot do %d", order->deed);
}

/* ---- the loop ---------------------------------------------------------------------------- */

/* A sample is over sooner than a process falls asleep and wakes up again; what else is ordered is
 * not timed, and compilers want the core. */
static ssize_t receive(runner *r, bool timing, char *packet, size_t size)
{
    const double until = ot_now() + SPIN_S;
    while (timing) {
        const ssize_t n =
            ot_packet_take(r->fd, packet, size, MSG_DONTWAIT, r->file, &r->n_files);
        if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return n;
        if (ot_now() > until)
            break;
    }
    ssize_t n;
    while ((n = ot_packet_take(r->fd, packet, size, 0, r->file, &r->n_files)) < 0 &&
           errno == EINTR)
        continue;
    return n;
}

static void close_files(runner *r)
{
    for (int i = 0; i < r->n_files; i++)
        close(r->file[i]);
    r->n_files = 0;
}

static bool send_report(const runner *r, const ot_report *report)
{
    const size_t bytes = sizeof *r->seal;
    if (mprotect(r->seal, bytes, PROT_READ | PROT_WRITE) < 0)
        return false;
    r->seal->report = *report;
    r->seal->report.seal = ot_seal_of(r->seal);
    const ssize_t n = send(r->fd, &r->seal->report, sizeof *report, MSG_NOSIGNAL);
    return mprotect(r->seal, bytes, PROT_NONE) == 0 && n == (ssize_t)sizeof *report;
}

/* Timers and modes of one candidate are none of the next one's, where one process has several. */
static void tidy(const fenv_t *rounding)
{
    static const struct itimerval none;
    for (int i = 0; i < 3; i++)
        setitimer((__itimer_which_t)i, &none, NULL);
    fesetenv(rounding);
}

_Noreturn void ot_runner_main(int fd, ot_seal *seal, const ot_runner_setup *setup)
{
    static runner r;
    static char packet[OT_PACKET_BYTES + 1];
    optune_err err = {0};
    fenv_t rounding;
    bool timing = false;
    fegetenv(&rounding);
    become(&fd, setup);
    ot_process_claim();
    ot_crash_install(fd);
    if (setup->once)
        ot_runner_fence((const pid_t[]){setup->keeper, setup->client}, 2);
    r = (runner){.fd = fd, .seal = seal, .setup = *setup};
    int opened = ot_session_open(&r.session, setup->target, setup->device, &err);
    if (opened >= 0 && setup->call)
        opened = open_workload(&r, setup->call, &err);
    for (;;) {
        ot_order order;
        ot_report report = {.status = opened};
        const ssize_t n = receive(&r, timing, packet, OT_PACKET_BYTES);
        if (n < (ssize_t)sizeof order)
            _exit(n < 0 ? OT_EXIT_CLOSED : 0);
        memcpy(&order, packet, sizeof order);
        packet[n] = '\0';
        if (opened >= 0) {
            err = (optune_err){0};
            report.status = do_deed(&r, &order, packet + sizeof order, &report, &err);
        }
        if (order.rest)
            ot_process_rest();
        timing = order.deed == OT_DO_TIME && !order.settle;
        report.made_room = r.session.stock_lost;
        r.session.stock_lost = false;
        close_files(&r);
        if (report.status < 0)
            ot_copy(report.text, sizeof report.text, err.text);
        report.serial = order.serial;
        if (order.deed == OT_DO_UNLOAD)
            tidy(&rounding);
        if (r.session.row && r.session.row->alive && opened >= 0 && report.status < 0 &&
            !r.session.row->alive(r.session.state)) {
            char word[sizeof err.text + sizeof OT_LAST_WORD];
            const int m = snprintf(word, sizeof word, OT_LAST_WORD "%s", err.text);
            send(fd, word, (size_t)m, MSG_NOSIGNAL);
            break;
        }
        if (!send_report(&r, &report))
            _exit(OT_EXIT_CLOSED);
    }
    _exit(0); /* candidates may have registered anything for exit */
}
