/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding peers, their processes, and the pipe between: a request is a struct, so is an answer,
 * and a process that ends instead of answering has said why itself.
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/peer.h"

/* ---- which there are --------------------------------------------------------------------- */

static const char *variable_of(const char *library)
{
    return strcmp(library, "cblas") == 0 ? "OPTUNE_CBLAS" : "OPTUNE_DNNL";
}

static bool is_reference(const char *name)
{
    return strncmp(name, "reference", strlen("reference")) == 0;
}

/* "OpenBLAS 0.3.21 Zen" is wanted as openblas. */
static bool is_wanted(const char *name, const char *want)
{
    const size_t n = strcspn(name, " ");
    return strcmp(want, "best") == 0 ? !is_reference(name)
                                     : strlen(want) == n && strncasecmp(name, want, n) == 0;
}

static int major_of(const char *name)
{
    return (int)strtol(name + strcspn(name, " "), NULL, 10);
}

typedef struct search {
    bench_peers *found;
    const bench_peer_kind *const *kind;
    const char *want; /* NULL: whatever it is */
    ot_text others;   /* what there is and is not wanted */
} search;

/* One file (NULL: what the target finds), asked of the worker program. */
static void look(search *s, const char *library, const char *path)
{
    const char *variable = variable_of(library);
    char *was = getenv(variable) ? ot_strdup(getenv(variable)) : NULL;
    char text[OPTUNE_TEXT_SIZE], name[256] = "";
    optune_err err = {0};
    if (path)
        setenv(variable, path, 1);
    const int status = ot_cpu_library_ask(library, text, sizeof text, &err);
    if (path && was)
        setenv(variable, was, 1);
    else if (path)
        unsetenv(variable);
    free(was);
    if (status >= 0)
        ot_lines_get(text, "library", name, sizeof name);
    const bench_peer_kind *kind = NULL;
    for (int i = 0; s->kind[i] && !kind; i++)
        if (status >= 0 && strcmp(s->kind[i]->library, library) == 0 &&
            (!s->kind[i]->major || s->kind[i]->major == major_of(name)))
            kind = s->kind[i];
    bool fits = kind && (!s->want || is_wanted(name, s->want));
    for (int i = 0; i < s->found->n; i++)
        fits = fits && strcmp(s->found->item[i].name, name) != 0;
    if (!fits)
        ot_text_printf(&s->others, "%s%s", s->others.n ? "; " : "",
                       status < 0 ? err.text : name);
    else if (s->found->n < OT_COUNT(s->found->item)) {
        bench_peer *peer = &s->found->item[s->found->n++];
        peer->kind = kind;
        ot_copy(peer->name, sizeof peer->name, name);
        snprintf(peer->path, sizeof peer->path, "%s", path ? path : "");
    }
}

/* Every library that one of the kinds is for, once. */
static void look_at_libraries(search *s, const char *path)
{
    for (int i = 0; s->kind[i]; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || strcmp(s->kind[k]->library, s->kind[i]->library) == 0;
        if (!again)
            look(s, s->kind[i]->library, path);
    }
}

/* Lines `name TAB version TAB path` that scripts/peers wrote. */
static void look_at_list(search *s)
{
    char path[4096];
    const char *dir = getenv("OPTUNE_PEERS");
    snprintf(path, sizeof path, "%s/list", dir ? dir : OT_PEERS);
    ot_text list = {0};
    if (ot_read_file(path, &list, 1 << 20, NULL) >= 0 && list.n) {
        char *rest = NULL;
        for (char *line = strtok_r(list.s, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            const char *tab = strrchr(line, '\t');
            const bool dnnl = strncmp(line, "onednn\t", 7) == 0;
            const bool blas =
                strncmp(line, "mkl\t", 4) == 0 || strncmp(line, "openblas\t", 9) == 0;
            for (int i = 0; tab && (dnnl || blas) && s->kind[i]; i++)
                if (strcmp(s->kind[i]->library, dnnl ? "dnnl" : "cblas") == 0) {
                    look(s, s->kind[i]->library, tab + 1);
                    break;
                }
        }
    }
    ot_text_release(&list);
}

void bench_peers_find(bench_peers *peers, const bench_peer_kind *const *kind, const char *want)
{
    char full[PATH_MAX];
    const bool file = strchr(want, '/') != NULL;
    search s = {.found = peers, .kind = kind, .want = file ? NULL : want};
    *peers = (bench_peers){0};
    if (file) {
        look_at_libraries(&s, realpath(want, full) ? full : want);
    } else {
        look_at_libraries(&s, NULL);
        look_at_list(&s);
    }
    if (!peers->n) {
        ot_text why = {0};
        ot_text_printf(&why,
                       "no peer '%s' here, and no other is taken for it (there is: %s); "
                       "install it, fetch it with scripts/peers, or take --peer best",
                       want, s.others.n ? s.others.s : "nothing");
        bench_missing(why.s);
    }
    ot_text_release(&s.others);
}

void bench_peers_names(const bench_peers *peers, char *to, size_t size)
{
    ot_text text = {0};
    for (int i = 0; i < peers->n; i++)
        ot_text_printf(&text, "%s%s", i ? ", " : "", peers->item[i].name);
    snprintf(to, size, "%s", ot_text_str(&text));
    ot_text_release(&text);
}

/* ---- its process ------------------------------------------------------------------------- */

enum what { OPEN, TIME };
typedef struct request {
    enum what what;
    int workload;
    bool free_layout;
    int64_t count;
} request;
typedef struct reply {
    bool done;
    double seconds;
    char text[256]; /* how it is done, or why not */
} reply;

static bool get(int fd, void *to, size_t n)
{
    for (size_t have = 0; have < n;) {
        const ssize_t got = read(fd, (char *)to + have, n - have);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static bool put(int fd, const void *from, size_t n)
{
    return write(fd, from, n) == (ssize_t)n; /* less than a pipe takes at once */
}

/* oneDNN's wheel computes on CPUs through an OpenCL that lies beside it and no other. */
static void point_to_opencl(const char *path)
{
    char beside[4200];
    const char *slash = strrchr(path, '/');
    snprintf(beside, sizeof beside, "%.*s/libintelocl.so", slash ? (int)(slash - path) : 0,
             path);
    if (slash && ot_exists(beside)) {
        setenv("OCL_ICD_FILENAMES", beside, 1);
        setenv("OCL_ICD_VENDORS", beside, 1);
    }
}

static _Noreturn void serve(bench *b, const bench_peer *peer, int from, int to)
{
    reply r = {0};
    request q;
    void *opened = NULL;
    if (*peer->path) {
        setenv(variable_of(peer->kind->library), peer->path, 1);
        point_to_opencl(peer->path);
    }
    r.done = peer->kind->start(b, r.text, sizeof r.text);
    while (put(to, &r, sizeof r) && get(from, &q, sizeof q)) {
        r = (reply){0};
        if (q.what == TIME) {
            r.seconds = peer->kind->time(opened, q.count);
        } else {
            if (opened)
                peer->kind->close(opened);
            bench_buffers(b, b->workload[q.workload]);
            opened = peer->kind->open(b, q.free_layout, r.text, sizeof r.text);
        }
        r.done = opened != NULL;
    }
    _exit(0);
}

static reply ask(const bench_peer *peer, const request *q)
{
    reply r;
    if ((q && !put(peer->to, q, sizeof *q)) || !get(peer->from, &r, sizeof r))
        bench_die("the process of %s ended", peer->name);
    return r;
}

void bench_peers_start(bench *b, bench_peers *peers)
{
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    for (int i = 0; i < peers->n; i++) {
        bench_peer *peer = &peers->item[i];
        int to[2], from[2];
        if (pipe(to) < 0 || pipe(from) < 0)
            bench_die("no pipe for %s", peer->name);
        const pid_t parent = getpid();
        peer->pid = fork();
        if (peer->pid < 0)
            bench_die("no process for %s", peer->name);
        if (peer->pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1);
            close(to[1]);
            close(from[0]);
            for (int k = 0; k < i; k++) { /* or they would never see the end of theirs */
                close(peers->item[k].to);
                close(peers->item[k].from);
            }
            serve(b, peer, to[0], from[1]);
        }
        close(to[0]);
        close(from[1]);
        peer->to = to[1];
        peer->from = from[0];
        const reply r = ask(peer, NULL);
        if (!r.done)
            bench_missing(r.text);
    }
}

void bench_peers_stop(bench_peers *peers)
{
    for (int i = 0; i < peers->n; i++) {
        close(peers->item[i].to);
        close(peers->item[i].from);
        waitpid(peers->item[i].pid, NULL, 0);
    }
}

/* ---- a row ------------------------------------------------------------------------------- */

void bench_peers_open(bench *b, bench_peers *peers, int workload, bool free_layout)
{
    int n = 0;
    for (int i = 0; i < peers->n; i++) {
        bench_peer *peer = &peers->item[i];
        const request q = {.what = OPEN, .workload = workload, .free_layout = free_layout};
        const reply r = ask(peer, &q);
        peer->open = r.done;
        n += r.done;
        snprintf(peer->how, sizeof peer->how, "%s", r.text);
        if (!r.done)
            fprintf(stderr, "%s does not do %s: %s\n", peer->name, b->workload[workload],
                    r.text);
    }
    if (!n)
        bench_die("no peer does %s", b->workload[workload]);
}

static double time_peer(void *arg, int64_t count)
{
    const request q = {.what = TIME, .count = count};
    return ask(arg, &q).seconds;
}

bench_row bench_peers_compare(const bench *b, bench_ours *ours, bench_peers *peers, char *how,
                              size_t size)
{
    bench_peer *open[OT_COUNT(peers->item)] = {NULL};
    void *arg[OT_COUNT(open)] = {NULL};
    bench_row row[OT_COUNT(open)];
    int n = 0, best = 0;
    for (int i = 0; i < peers->n; i++)
        if (peers->item[i].open)
            arg[n] = open[n] = &peers->item[i], n++;
    bench_compare_all(b, bench_ours_time, ours, time_peer, arg, n, row);
    for (int i = 1; i < n; i++)
        if (row[i].peer.median < row[best].peer.median)
            best = i;
    ot_text text = {0};
    ot_text_printf(&text, "%s: %s", open[best]->name, open[best]->how);
    for (int i = 0; i < n; i++)
        if (i != best)
            ot_text_printf(&text, "; %.3f over %s", row[i].ratio.median, open[i]->name);
    snprintf(how, size, "%s", text.s);
    ot_text_release(&text);
    return row[best];
}
