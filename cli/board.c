/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `--watch`: what a run said of each workload, kept, since it goes from one to the
 * next and comes back. Where not all rows fit, those around the current one are shown.
 */
#include "cli/board.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/spark.h"

enum { CALL = 200, NUMBER = 4, TRIALS = 9, BEST = 24, IMPL = 22, NARROWEST_CALL = 16 };

typedef struct watched {
    bool seen;
    int trial, trials;
    double best, flops;
    ot_spark spark;
    char impl[64], call[CALL], phase[24];
} watched;

struct ot_board {
    int n, current; /* rows: as many as there are workloads; the current one's, from 0 */
    watched *row;
};

ot_board *ot_board_open(void)
{
    return calloc(1, sizeof(ot_board));
}

void ot_board_close(ot_board *w)
{
    if (w)
        free(w->row);
    free(w);
}

static watched *row_of(ot_board *w, const optune_progress *p)
{
    const int n = p->workload > p->workloads ? p->workload : p->workloads;
    if (p->workload < 1)
        return NULL;
    if (n > w->n) {
        watched *more = realloc(w->row, (size_t)n * sizeof *more);
        if (!more)
            return NULL;
        memset(more + w->n, 0, (size_t)(n - w->n) * sizeof *more);
        w->row = more;
        w->n = n;
    }
    w->current = p->workload - 1;
    return &w->row[w->current];
}

void ot_board_add(ot_board *w, const optune_progress *p)
{
    watched *r = row_of(w, p);
    if (!r)
        return;
    r->seen = true;
    r->trial = p->trial;
    r->trials = p->trials;
    r->flops = p->flops;
    snprintf(r->phase, sizeof r->phase, "%s", p->phase ? p->phase : "");
    if (p->call)
        snprintf(r->call, sizeof r->call, "%s", p->call);
    if (!(p->best > 0) || !isfinite(p->best))
        return; /* what was known before holds until a run looks at the workload again */
    r->best = p->best;
    ot_spark_add(&r->spark, p->trial, p->best);
    if (p->best_impl)
        snprintf(r->impl, sizeof r->impl, "%s", p->best_impl);
}

/* As much of a text as fits, its end cut off visibly. */
static void fit(const char *text, int width, char *to, size_t size)
{
    snprintf(to, size, "%s", text);
    if (width < (int)strlen(to)) {
        to[width] = 0;
        for (int i = width > 3 ? width - 3 : 0; i < width; i++)
            to[i] = '.';
    }
}

typedef struct layout {
    int width, picture, impl, call; /* columns; 0: left out */
} layout;

/* The picture goes first, then the implementation; the workload's text takes what is left. */
static layout layout_for(int width, bool pictures)
{
    layout l = {.width = width,
                .picture = pictures ? OT_SPARK_COLUMNS + 2 : 0,
                .impl = IMPL + 2};
    const int plain = 2 + NUMBER + TRIALS + 2 + BEST;
    if (plain + l.picture + l.impl + NARROWEST_CALL > width)
        l.picture = 0;
    if (plain + l.impl + NARROWEST_CALL > width)
        l.impl = 0;
    l.call = width - plain - l.picture - l.impl;
    l.call = l.call < CALL ? l.call : CALL - 1;
    return l;
}

static void print_row(const layout *l, const char *mark, const char *number, const char *trials,
                      const char *best, const char *picture, const char *impl, const char *call,
                      FILE *to)
{
    char line[CALL], end[CALL], name[64];
    snprintf(line, sizeof line, "%s%*s%*s  %-*s", mark, NUMBER, number, TRIALS, trials, BEST,
             best);
    if (l->call < 8) { /* hardly a terminal: what is most important */
        fit(line, l->width, end, sizeof end);
        fprintf(to, "%s\n", end);
        return;
    }
    fputs(line, to);
    if (l->picture)
        fprintf(to, "%s%*s", picture, *picture ? 2 : l->picture, "");
    fit(impl, IMPL, name, sizeof name);
    if (l->impl)
        fprintf(to, "%-*s", l->impl, name);
    fit(call, l->call, end, sizeof end);
    fprintf(to, "%s\n", end);
}

static void print_one(const ot_board *w, int i, const layout *l, FILE *to)
{
    const watched *r = &w->row[i];
    char number[16], trials[32], best[64] = "", picture[OT_SPARK_SIZE];
    snprintf(number, sizeof number, "%d", i + 1);
    snprintf(trials, sizeof trials, "%d/%d", r->trial, r->trials);
    ot_spark_print(&r->spark, picture);
    if (r->best > 0)
        ot_best_text(r->best, r->flops, best, sizeof best);
    else
        snprintf(best, sizeof best, "%s", r->seen ? r->phase : "to come");
    print_row(l, i == w->current ? "> " : "  ", number, r->seen ? trials : "", best, picture,
              r->impl, r->call, to);
}

int ot_board_print(const ot_board *w, int width, int lines, bool pictures, FILE *to)
{
    if (!w->n || lines < 2)
        return 0;
    const layout l = layout_for(width, pictures);
    const int room = lines - 1, shown = w->n < room ? w->n : room;
    int first = w->current - room / 2;
    first = first > w->n - shown ? w->n - shown : first;
    first = first < 0 ? 0 : first;
    char which[64] = "workload";
    if (shown < w->n)
        snprintf(which, sizeof which, "%d to %d of %d", first + 1, first + shown,
                 w->n);
    print_row(&l, "  ", "", "trials", "best so far", "", "implementation", which, to);
    for (int i = first; i < first + shown; i++)
        print_one(w, i, &l, to);
    return 1 + shown;
}
