/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program around a bench: its command line, its handle, rounds of two timers, and the lines
 * that scripts read. It knows no operator and no peer.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

/* A sample is long against the clock; before it, the side whose turn it is runs untimed, so
 * that it finds its data in the caches and the other side's idle threads asleep. */
static const double SAMPLE_S = 4e-3, WARM_S = 3e-3;
/* Tuning all rows of a bench for the first time should take about this long. */
static const double WHOLE_S = 210;

enum { MOST_ROUNDS = 999 };

static const char *program = "bench";

void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void bench_missing(const char *why)
{
    printf("%s: skipped: %s\n", program, why);
    exit(BENCH_MISSING);
}

/* ---- the command line -------------------------------------------------------------------- */

static _Noreturn void usage(const char *text, const char *subject)
{
    fprintf(stderr, "%s: %s '%s'; see --help\n", program, text, subject);
    exit(2);
}

static _Noreturn void help(const bench_about *about)
{
    printf("%s: %s\n\n"
           "  --threads N       cores that both sides may use (default %d)\n",
           about->name, about->summary, about->threads);
    printf("  --workload TEXT   instead of the default's; may be repeated\n");
    if (about->op)
        printf("  --preset NAME     of %s (default %s)\n", about->op,
               about->preset ? about->preset : about->workload);
    for (const bench_option *o = about->options; o && o->name; o++)
        printf("  --%s %-*s%s\n", o->name, (int)(15 - strlen(o->name)), o->argument, o->help);
    printf(
        "  --time S          tune every workload for S seconds (default: only those without a\n"
        "                    current record, for as long as a few minutes in all allow)\n"
        "  --trials N        and for at most N trials\n"
        "  --no-tune         use what the database knows, or what would be used untuned\n"
        "  --rounds N        turns of either side (default 31)\n"
        "  --db DIR          records (default $OPTUNE_DB, else bench-db in the build "
        "folder)\n");
    exit(0);
}

static const bench_option *find_option(const bench_about *about, const char *name)
{
    for (const bench_option *o = about->options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

typedef struct words { /* of the command line */
    const char *preset, *time, *db, *workload[BENCH_MOST];
    int n;
} words;

static int64_t count_of(const char *name, const char *value, int64_t most)
{
    int64_t n;
    if (!ot_parse_int(value, &n) || n < 1 || n > most)
        usage(name, value);
    return n;
}

static void parse(bench *b, words *w, int argc, char **argv)
{
    const bench_about *about = b->about;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
            help(about);
        if (strcmp(name, "--no-tune") == 0) {
            b->tune = false;
            continue;
        }
        if (strncmp(name, "--", 2) != 0)
            usage("not an option:", name);
        const char *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value)
            usage("no value or no such option:", name);
        const bench_option *own = find_option(about, name + 2);
        if (own)
            *own->value = value;
        else if (strcmp(name, "--threads") == 0)
            b->threads = (int)count_of("--threads is not", value, 4096);
        else if (strcmp(name, "--rounds") == 0)
            b->rounds = (int)count_of("--rounds is 1 to 999, not", value, MOST_ROUNDS);
        else if (strcmp(name, "--trials") == 0)
            b->trials = (int)count_of("--trials is not", value, b->trials);
        else if (strcmp(name, "--time") == 0)
            w->time = value;
        else if (strcmp(name, "--db") == 0)
            w->db = value;
        else if (strcmp(name, "--preset") == 0)
            w->preset = value;
        else if (strcmp(name, "--workload") == 0 && w->n < BENCH_MOST)
            w->workload[w->n++] = value;
        else
            usage("no such option:", name);
    }
}

static void take_preset(const bench_about *about, words *w)
{
    if (!about->op) {
        for (int i = 0; about->workloads[i] && w->n < BENCH_MOST; i++)
            w->workload[w->n++] = about->workloads[i];
        return;
    }
    const optune_op *op = ot_op_find(about->op);
    const char *name = w->preset ? w->preset : about->preset;
    if (!name) {
        w->workload[w->n++] = about->workload;
        return;
    }
    for (const optune_preset *p = op->presets; p && p->name; p++)
        for (int i = 0; strcmp(p->name, name) == 0 && p->workloads[i] && i < BENCH_MOST; i++)
            w->workload[w->n++] = p->workloads[i];
    if (!w->n)
        usage("no such preset:", name);
}

static void take_workloads(bench *b, words *w)
{
    const bench_about *about = b->about;
    if (!w->n)
        take_preset(about, w);
    for (int i = 0; i < w->n; i++) {
        optune_call call;
        optune_err err = {0};
        if (ot_call_parse(w->workload[i], &call, &err) < 0)
            bench_die("%s", err.text);
        const char *op = call.op->name;
        if (about->op && strcmp(op, about->op) != 0 &&
            (!about->other_op || strcmp(op, about->other_op) != 0))
            bench_die("'%s' is not a call of %s", w->workload[i], about->op);
        if (!ot_call_static(&call))
            bench_die("'%s' has unknown dims", w->workload[i]);
        ot_text text = {0};
        ot_call_print(&call, &text);
        b->workload[b->n++] = text.s;
    }
}

void bench_open(bench *b, const bench_about *about, int argc, char **argv)
{
    words w = {0};
    optune_err err = {0};
    program = about->name;
    *b = (bench){.about = about,
                 .threads = about->threads,
                 .rounds = 31,
                 .trials = 1 << 30,
                 .tune = true,
                 .lock = -1};
    parse(b, &w, argc, argv);
    take_workloads(b, &w);
    b->seconds = fmin(about->seconds, WHOLE_S / (b->n * (about->rows ? about->rows : 1)));
    b->time_given = w.time != NULL;
    if (w.time && (!ot_parse_real(w.time, &b->seconds) || b->seconds <= 0))
        usage("--time is seconds, not", w.time);

    const char *db = w.db ? w.db : getenv("OPTUNE_DB");
    snprintf(b->db, sizeof b->db, "%s", db && *db ? db : OT_BENCH_DB);
    char cache[sizeof b->db + 16];
    snprintf(cache, sizeof cache, "%s/modules", b->db);
    setenv("OPTUNE_CACHE", cache, 0);
    setenv("OPTUNE_WORKER", OT_WORKER, 0);
    snprintf(b->target, sizeof b->target, "cpu -threads=%d", b->threads);
    const optune_options options = {.size = sizeof options, .target = b->target, .db = b->db};
    if (optune_open(&options, &b->o, &err) < 0 || ot_context_device(b->o, &err) < 0)
        bench_die("%s", err.text);
}

void bench_close(bench *b)
{
    if (b->session.row)
        ot_session_close(&b->session);
    ot_device_unlock(b->lock);
    optune_close(b->o);
    for (int i = 0; i < b->n; i++)
        free(b->workload[i]);
}

/* ---- labels ------------------------------------------------------------------------------ */

static void cut(char *text, const char *piece)
{
    char *at = strstr(text, piece);
    if (at)
        memmove(at, at + strlen(piece), strlen(at + strlen(piece)) + 1);
}

void bench_label(const optune_call *call, char *to, size_t size)
{
    ot_text text = {0};
    ot_call_print(call, &text);
    for (const optune_op_attr *a = call->op->attrs; a && a->name; a++) {
        char piece[256];
        snprintf(piece, sizeof piece, ", %s=%s", a->name, a->value ? a->value : "");
        if (a->value)
            cut(text.s, piece);
    }
    for (const optune_op_input *in = call->op->inputs; in && in->name; in++)
        cut(text.s, "const ");
    snprintf(to, size, "%s", text.s);
    ot_text_release(&text);
}

bool bench_symbols(const bench *b, const char *library, const char *const *names, int n,
                   int needed, void **to, char *text, size_t size)
{
    const ot_session *s = &b->session;
    optune_err err = {0};
    for (int i = 0; i < n; i++) {
        to[i] = s->row->library(s->state, library, names[i], &err);
        if (!to[i] && i < needed) {
            snprintf(text, size, "%s", err.text);
            return false;
        }
    }
    return true;
}

/* ---- comparing --------------------------------------------------------------------------- */

typedef struct side {
    ot_timer timer;
    void *arg;
    int64_t count, warm; /* runs of a sample, and before it */
    double sample[MOST_ROUNDS];
} side;

static double timed(const side *s, int64_t count)
{
    const double t = s->timer(s->arg, count);
    if (t < 0)
        bench_die("a run failed while it was measured");
    return t;
}

/* How many runs make a sample. */
static void grow(side *s)
{
    s->count = 1;
    for (double t; (t = timed(s, s->count)) < SAMPLE_S / 2;) {
        const double times = t > 0 ? SAMPLE_S / t : 10;
        s->count = (int64_t)ceil((double)s->count * fmin(fmax(times, 1.5), 10));
    }
    const double once = timed(s, s->count) / (double)s->count;
    s->count = (int64_t)fmax(1, ceil(SAMPLE_S / once));
    s->warm = (int64_t)fmax(1, ceil(WARM_S / once));
}

static void turn(side *s, int round)
{
    timed(s, s->warm);
    s->sample[round] = timed(s, s->count) / (double)s->count;
}

void bench_compare_all(const bench *b, ot_timer ours, void *ours_arg, ot_timer peer,
                       void *const *peer_arg, int n, bench_row *row)
{
    side *s = ot_alloc((size_t)(n + 1) * sizeof *s);
    double ratio[MOST_ROUNDS];
    for (int k = 0; k <= n; k++) {
        s[k].timer = k ? peer : ours;
        s[k].arg = k ? peer_arg[k - 1] : ours_arg;
        grow(&s[k]);
    }
    for (int i = 0; i < b->rounds; i++)
        for (int k = 0; k <= n; k++)
            turn(&s[(i + k) % (n + 1)], i);
    for (int k = 1; k <= n; k++) {
        for (int i = 0; i < b->rounds; i++)
            ratio[i] = s[k].sample[i] / s[0].sample[i];
        row[k - 1] = (bench_row){
            .ours = ot_median_interval(s[0].sample, b->rounds),
            .peer = ot_median_interval(s[k].sample, b->rounds),
            .ratio = ot_median_interval(ratio, b->rounds),
        };
    }
    free(s);
}

bench_row bench_compare(const bench *b, ot_timer ours, void *ours_arg, ot_timer peer,
                        void *peer_arg)
{
    bench_row row;
    bench_compare_all(b, ours, ours_arg, peer, &peer_arg, 1, &row);
    return row;
}

int bench_fastest(ot_timer timer, void *const *arg, int n)
{
    ot_measured *m = ot_alloc((size_t)n * sizeof *m);
    int best = 0;
    if (n > 1)
        ot_measure_together(&ot_policy_warm, timer, arg, n, 0.1 * n, 1, m);
    for (int i = 1; i < n; i++)
        if (!m[i].failed && m[i].interval.median < m[best].interval.median)
            best = i;
    free(m);
    return best;
}

/* ---- what is printed --------------------------------------------------------------------- */

void bench_heading(const bench *b, const char *peer)
{
    printf("%s: %s\n", b->about->name, b->about->summary);
    printf("%s; %s; %s; %d rounds; times are medians of one run, intervals 95 %%\n",
           b->o->device.name, b->target, peer, b->rounds);
    fflush(stdout);
}

void bench_columns(const char *ours, const char *peer, const char *ratio)
{
    printf("\n%10s us %10s us %7s  [%5s, %5s]  workload | ours | peer\n", ours, peer, ratio,
           "low", "high");
}

void bench_print(bench_table *table, const char *label, const bench_row *row, const char *how)
{
    printf("%13.2f %13.2f %7.3f  [%5.3f, %5.3f]  %s | %s\n", row->ours.median * 1e6,
           row->peer.median * 1e6, row->ratio.median, row->ratio.low, row->ratio.high, label,
           how);
    fflush(stdout);
    if (table->n == BENCH_MOST)
        bench_die("more than %d rows", (int)BENCH_MOST);
    table->median[table->n] = row->ratio.median;
    table->low[table->n] = row->ratio.low;
    table->high[table->n++] = row->ratio.high;
}

void bench_geomean(const bench_table *table, const char *title)
{
    printf("%s%sgeomean %.3f low %.3f high %.3f\n", title ? title : "", title ? ": " : "",
           ot_geomean(table->median, table->n), ot_geomean(table->low, table->n),
           ot_geomean(table->high, table->n));
    fflush(stdout);
}
