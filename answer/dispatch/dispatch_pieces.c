/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where along each symbolic dim the set of usable implementations changes, and the boxes between
 * those places. Conditions, C functions and implementations are all asked alike, at sizes: the
 * numbers in the strategy's conditions and a geometric series, then the exact place by bisection.
 * A box is right however the places were found, because it is asked about as a range.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"

enum { MOST_PROBES = 256, MOST_CUTS = 8 };

typedef struct splitting {
    const optune_task *task;
    const ot_symbols *dims;
    optune_call call;
    ot_candidate candidate[OT_MAX_CANDIDATES];
} splitting;

/* Which implementations that take ranges may be used, where a dim has this size and the others
 * their least, and where they have their most. */
typedef struct sets {
    uint64_t least, most;
} sets;

static uint64_t usable(splitting *s, const ot_symbols *at)
{
    const optune_task task = {&s->call, s->task->target, s->task->device};
    uint64_t set = 0;
    int n = 0;
    if (ot_call_narrow(s->task->call, at, &s->call, NULL) < 0 ||
        ot_candidates(&task, s->candidate, &n, NULL) < 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (s->candidate[i].refusal == OT_VALID && s->candidate[i].impl->symbolic)
            set |= (uint64_t)1 << i;
    return set;
}

static sets sets_at(splitting *s, int dim, int64_t size)
{
    sets found;
    for (int most = 0; most < 2; most++) {
        ot_symbols at = *s->dims;
        for (int i = 0; i < at.n; i++) {
            const int64_t other = most ? at.dim[i].max : at.dim[i].min;
            at.dim[i].min = at.dim[i].max = i == dim ? size : other;
        }
        *(most ? &found.most : &found.least) = usable(s, &at);
    }
    return found;
}

static bool same(sets a, sets b)
{
    return a.least == b.least && a.most == b.most;
}

/* ---- where to look ----------------------------------------------------------------------- */

typedef struct probes {
    int64_t lo, hi, at[MOST_PROBES];
    int n;
} probes;

static void probe(void *arg, const char *name, int64_t number)
{
    probes *p = arg;
    for (int64_t at = number - 1; !name && at <= number + 1; at++)
        if (at > p->lo && at < p->hi && p->n < MOST_PROBES / 2)
            p->at[p->n++] = at;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void choose_probes(const splitting *s, int dim, probes *p)
{
    *p = (probes){.lo = s->dims->dim[dim].min, .hi = s->dims->dim[dim].max};
    const optune_strategy *strategy = ot_strategy_find(s->task->call->op, s->task->target);
    for (const optune_strategy_row *row = strategy ? strategy->rows : NULL; row && row->impl;
         row++) {
        ot_condition *when = NULL;
        if (row->when && ot_condition_parse(row->when, &when, NULL) >= 0)
            ot_condition_visit(when, probe, p);
        ot_condition_free(when);
    }
    for (int64_t at = p->lo; at < p->hi && p->n < MOST_PROBES - 1; at += at / 4 + 1)
        p->at[p->n++] = at;
    p->at[p->n++] = p->hi;
    qsort(p->at, (size_t)p->n, sizeof p->at[0], ascending);
}

/* First sizes of new boxes, ascending; returns how many. */
static int find_cuts(splitting *s, int dim, int64_t cut[MOST_CUTS])
{
    probes *p = ot_alloc(sizeof *p);
    int n = 0;
    choose_probes(s, dim, p);
    int64_t last = p->at[0];
    sets before = sets_at(s, dim, last);
    for (int i = 1; i < p->n && n < MOST_CUTS; i++) {
        const sets here = sets_at(s, dim, p->at[i]);
        while (!same(before, here) && n < MOST_CUTS) {
            int64_t lo = last, hi = p->at[i];
            while (hi - lo > 1) {
                const int64_t middle = lo + (hi - lo) / 2;
                if (same(before, sets_at(s, dim, middle)))
                    lo = middle;
                else
                    hi = middle;
            }
            cut[n++] = last = hi;
            before = sets_at(s, dim, hi);
        }
        last = p->at[i];
    }
    free(p);
    return n;
}

/* ---- boxes ------------------------------------------------------------------------------- */

static int fill(const optune_task *task, ot_piece *piece, optune_err *err)
{
    const optune_task own = {&piece->call, task->target, task->device};
    ot_text text = {0};
    ot_choice *choice = ot_alloc(sizeof *choice);
    optune_err why = {0};
    int status = ot_call_narrow(task->call, &piece->range, &piece->call, err);
    ot_call_print(&piece->call, &text);
    piece->text = text.s;
    piece->fixed = ot_call_static(&piece->call);
    if (status >= 0) {
        status = ot_select(&own, NULL, 0, choice, &why);
        if (status < 0)
            optune_fail(err, status, "%s: %s", piece->text, why.text);
    }
    ot_choice_free(choice);
    return status;
}

/* What only parts of a range admit is no use where there would be too many of them: the last cut of
 * the dim that has most is none, and what takes the whole range computes what is behind it. */
static void leave_whole(int n_dims, int *n_cuts, int *n)
{
    int most = 0;
    for (int i = 1; i < n_dims; i++)
        most = n_cuts[i] > n_cuts[most] ? i : most;
    *n = *n / (n_cuts[most] + 1) * n_cuts[most];
    n_cuts[most]--;
}

int ot_pieces_make(const optune_task *task, const ot_symbols *dims, ot_piece **piece, int *n,
                   optune_err *err)
{
    splitting *s = ot_alloc(sizeof *s);
    int64_t cut[OT_MAX_SYMBOLS][MOST_CUTS];
    int n_cuts[OT_MAX_SYMBOLS], status = OPTUNE_OK;
    *s = (splitting){.task = task, .dims = dims};
    *piece = NULL;
    *n = 1;
    for (int i = 0; i < dims->n; i++) {
        n_cuts[i] = find_cuts(s, i, cut[i]);
        *n *= n_cuts[i] + 1;
        while (*n > OT_MAX_PIECES)
            leave_whole(i + 1, n_cuts, n);
    }
    free(s);
    *piece = ot_alloc((size_t)*n * sizeof **piece);
    for (int k = 0; k < *n && status >= 0; k++) {
        ot_piece *to = &(*piece)[k];
        to->range = *dims;
        for (int i = 0, rest = k; i < dims->n; rest /= n_cuts[i] + 1, i++) {
            const int at = rest % (n_cuts[i] + 1);
            to->range.dim[i].min = at ? cut[i][at - 1] : dims->dim[i].min;
            to->range.dim[i].max = at < n_cuts[i] ? cut[i][at] - 1 : dims->dim[i].max;
        }
        status = fill(task, to, err);
    }
    return status;
}

void ot_pieces_free(ot_piece *piece, int n)
{
    for (int i = 0; i < n && piece; i++)
        free(piece[i].text);
    free(piece);
}
