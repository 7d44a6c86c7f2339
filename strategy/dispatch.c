/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables in memory: rows, compiling, asking, checking. Knows nothing of files and never
 * measures.
 *
 * The one idea: the numbers in the conditions cut the dims that they are compared with, and so the
 * sizes into cells; within a cell a condition that compares dims with numbers is true or false
 * throughout, so each cell is decided once. What intervals cannot decide (m % 32 == 0) is asked
 * again at the sizes at hand.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/dispatch.h"
#include "strategy/inside.h"

enum { MOST_ROWS = 4096, MOST_CELLS = 1 << 16, MOST_CUTS = 1024 };

int ot_dispatch_new(const optune_call *call, ot_dispatch **dispatch, optune_err *err)
{
    ot_dispatch *d = ot_alloc(sizeof(*d));
    d->call = *call;
    const int status = ot_symbols_of(call, &d->dims, err);
    if (status < 0) {
        ot_dispatch_free(d);
        return status;
    }
    d->target = d->device = d->depends = "";
    *dispatch = d;
    return OPTUNE_OK;
}

void ot_dispatch_free(ot_dispatch *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->n && d->when; i++)
        ot_condition_free(d->when[i]);
    free(d->row);
    json_decref(d->measured);
    ot_arena_release(&d->arena);
    free(d);
}

void ot_dispatch_add(ot_dispatch *d, const ot_dispatch_row *row)
{
    d->row = realloc(d->row, (size_t)(d->n + 1) * sizeof(*d->row));
    if (!d->row)
        abort();
    ot_dispatch_row *to = &d->row[d->n++];
    *to = *row;
    to->when = ot_arena_copy(&d->arena, row->when);
    to->digest = ot_arena_copy(&d->arena, row->digest);
    to->tier = ot_arena_copy(&d->arena, row->tier);
}

/* ---- cells ------------------------------------------------------------------------------- */

static int dim_named(const ot_dispatch *d, const char *name)
{
    for (int i = 0; i < d->dims.n; i++)
        if (strcmp(d->dims.dim[i].name, name) == 0)
            return i;
    return -1;
}

static bool look_up(const void *arg, const char *name, optune_dim *value)
{
    const ot_symbols *cell = arg;
    for (int i = 0; i < cell->n; i++)
        if (strcmp(cell->dim[i].name, name) == 0) {
            *value = cell->dim[i];
            return true;
        }
    return false;
}

static int truth(const ot_dispatch *d, int row, const ot_symbols *cell)
{
    return d->when[row] ? ot_condition_test(d->when[row], look_up, cell, NULL, 0) : OT_TRUE;
}

/* The cell with this number, as ranges of the dims. */
static ot_symbols cell_at(const ot_dispatch *d, int number)
{
    const ot_dispatch_flat *f = &d->flat;
    ot_symbols cell = d->dims;
    for (int i = 0; i < f->n_dims; i++) {
        const int k = number / f->stride[i] % (f->n_cuts[i] + 1);
        cell.dim[i].min = k ? f->cut[i][k - 1] : f->min[i];
        cell.dim[i].max = k < f->n_cuts[i] ? f->cut[i][k] - 1 : f->max[i];
    }
    return cell;
}

static int n_cells(const ot_dispatch *d)
{
    int n = 1;
    for (int i = 0; i < d->flat.n_dims; i++)
        n *= d->flat.n_cuts[i] + 1;
    return n;
}

/* ---- compiling --------------------------------------------------------------------------- */

/* Where a cell may begin, and along which dims: a bit for each. */
typedef struct mark {
    int64_t at;
    uint32_t dims;
} mark;

typedef struct numbers {
    const ot_dispatch *d;
    mark mark[MOST_CUTS];
    int n;
    uint32_t dims;        /* of the comparison at hand */
    const char *stranger; /* a name that is no dim */
} numbers;

_Static_assert(OT_MAX_SYMBOLS <= 32, "a bit for each dim");

static void see_name(void *arg, const char *name, int64_t number)
{
    numbers *all = arg;
    const int dim = name ? dim_named(all->d, name) : -1;
    (void)number;
    if (dim >= 0)
        all->dims |= (uint32_t)1 << dim;
    else if (name)
        all->stranger = name;
}

static void add_mark(numbers *all, int64_t at)
{
    int i = 0;
    while (i < all->n && all->mark[i].at != at)
        i++;
    if (i == MOST_CUTS)
        return;
    all->mark[i].at = at;
    all->mark[i].dims |= all->dims;
    all->n += i == all->n;
}

static void see_number(void *arg, const char *name, int64_t number)
{
    for (int next = 0; next < 2 && !name && number < INT64_MAX; next++)
        add_mark(arg, number + next);
}

/* A number cuts the dims that it is compared with, alone or with others. */
static void see_condition(numbers *all, const ot_condition *condition)
{
    for (int i = 0; ot_condition_visit_nth(condition, i, see_name, all); i++) {
        ot_condition_visit_nth(condition, i, see_number, all);
        all->dims = 0;
    }
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = ((const mark *)a)->at, y = ((const mark *)b)->at;
    return (x > y) - (x < y);
}

static int parse_rows(ot_dispatch *d, numbers *all, optune_err *err)
{
    if (d->n == 0 || d->n > MOST_ROWS)
        return optune_fail(err, OPTUNE_EUSAGE, "a table has 1 to %d rows, not %d", MOST_ROWS,
                           d->n);
    d->when = ot_arena_alloc(&d->arena, (size_t)d->n * sizeof(*d->when));
    for (int i = 0; i < d->n; i++) {
        if (!d->row[i].when && i < d->n - 1)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "row %d has no condition, so no row behind it is ever used", i);
        if (!d->row[i].when)
            continue;
        const int status = ot_condition_parse(d->row[i].when, &d->when[i], err);
        if (status < 0)
            return status;
        see_condition(all, d->when[i]);
        if (all->stranger)
            return optune_fail(err, OPTUNE_ESYNTAX,
                               "row %d: condition '%s' names '%s', which is no dim of the call",
                               i, d->row[i].when, all->stranger);
    }
    return OPTUNE_OK;
}

static int cut_dims(ot_dispatch *d, numbers *all, optune_err *err)
{
    ot_dispatch_flat *f = &d->flat;
    int64_t cells = 1;
    qsort(all->mark, (size_t)all->n, sizeof all->mark[0], ascending);
    f->n_dims = d->dims.n;
    for (int i = 0; i < d->dims.n; i++) {
        const optune_dim *dim = &d->dims.dim[i];
        int64_t *cut = ot_arena_alloc(&d->arena, (size_t)(all->n + 1) * sizeof(*cut));
        f->min[i] = dim->min;
        f->max[i] = dim->max;
        f->cut[i] = cut;
        for (int k = 0; k < all->n; k++)
            if (all->mark[k].dims >> i & 1 && all->mark[k].at > dim->min &&
                all->mark[k].at <= dim->max)
                cut[f->n_cuts[i]++] = all->mark[k].at;
        f->stride[i] = (int)cells;
        cells *= f->n_cuts[i] + 1;
        if (cells > MOST_CELLS)
            return optune_fail(err, OPTUNE_ELIMIT,
                               "the conditions cut the sizes into more than %d cells",
                               MOST_CELLS);
    }
    return OPTUNE_OK;
}

static int check_range(const ot_dispatch *d, int row, const ot_symbols *cell, optune_err *err)
{
    for (int i = 0; i < cell->n; i++) {
        const optune_dim *is = &cell->dim[i], *may = &d->row[row].range.dim[i];
        if (is->min < may->min || is->max > may->max)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "row %d is used for %s in %lld..%lld, its plan is for "
                               "%lld..%lld",
                               row, is->name, (long long)is->min, (long long)is->max,
                               (long long)may->min, (long long)may->max);
    }
    return OPTUNE_OK;
}

static int decide(ot_dispatch *d, optune_err *err)
{
    const int n = n_cells(d);
    int16_t *cell = ot_arena_alloc(&d->arena, (size_t)n * sizeof *cell);
    int status = OPTUNE_OK;
    for (int c = 0; c < n && status >= 0; c++) {
        const ot_symbols at = cell_at(d, c);
        cell[c] = -1;
        for (int r = 0; r < d->n && cell[c] == -1; r++) {
            const int answer = truth(d, r, &at);
            if (answer == OT_TRUE)
                cell[c] = (int16_t)r;
            else if (answer == OT_UNKNOWN)
                cell[c] = (int16_t)(-2 - r);
        }
        if (cell[c] >= 0)
            status = check_range(d, cell[c], &at, err);
        /* Any of the rows that are asked later may be used somewhere in the cell. */
        for (int r = -2 - cell[c]; cell[c] < -1 && r < d->n && status >= 0; r++)
            if (truth(d, r, &at) != OT_FALSE)
                status = check_range(d, r, &at, err);
    }
    d->flat.cell = cell;
    return status;
}

int ot_dispatch_compile(ot_dispatch *d, optune_err *err)
{
    numbers *all = ot_alloc(sizeof *all);
    all->d = d;
    int status = parse_rows(d, all, err);
    if (status >= 0 && all->n >= MOST_CUTS - 1)
        status = optune_fail(err, OPTUNE_ELIMIT,
                             "the conditions have more than %d different numbers",
                             MOST_CUTS / 2);
    if (status >= 0)
        status = cut_dims(d, all, err);
    if (status >= 0)
        status = decide(d, err);
    free(all);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------ */

static int ask(const ot_dispatch *d, int row, const int64_t *size)
{
    ot_symbols at = d->dims;
    for (int i = 0; i < at.n; i++)
        at.dim[i].min = at.dim[i].max = size[i];
    while (row < d->n && truth(d, row, &at) != OT_TRUE)
        row++;
    return row < d->n ? row : -1;
}

int ot_dispatch_find(const ot_dispatch *d, const int64_t *size)
{
    const ot_dispatch_flat *f = &d->flat;
    int at = 0;
    for (int i = 0; i < f->n_dims; i++) {
        const int64_t value = size[i], *cut = f->cut[i];
        if (value < f->min[i] || value > f->max[i])
            return -1;
        int k = 0, n = f->n_cuts[i];
        for (; n > 8; n -= n / 2)
            k += cut[k + n / 2 - 1] <= value ? n / 2 : 0;
        for (int j = 0, from = k; j < n; j++)
            k += cut[from + j] <= value;
        at += k * f->stride[i];
    }
    const int row = f->cell[at];
    return row >= -1 ? row : ask(d, -2 - row, size);
}

/* ---- checking ---------------------------------------------------------------------------- */

int ot_dispatch_check(const ot_dispatch *d, ot_text *to, bool *used)
{
    const int cells = n_cells(d);
    int lines = 0;
    bool *found = ot_alloc((size_t)d->n * (size_t)(d->n + 1) * sizeof(*found));
    bool *overlap = found + d->n;
    for (int c = 0; c < cells; c++) {
        const ot_symbols at = cell_at(d, c);
        bool taken = false;
        for (int r = 0; r < d->n; r++) {
            const int answer = truth(d, r, &at);
            found[r] = found[r] || (answer != OT_FALSE && !taken);
            taken = taken || answer == OT_TRUE;
            for (int s = 0; s < r && answer == OT_TRUE && d->row[r].when; s++)
                if (truth(d, s, &at) == OT_TRUE)
                    overlap[r * d->n + s] = true;
        }
    }
    for (int r = 0; r < d->n; r++) {
        for (int s = 0; s < r; s++)
            if (overlap[r * d->n + s]) {
                ot_text_printf(to, "rows %d (%s) and %d (%s) overlap: the first is used\n", s,
                               d->row[s].when, r, d->row[r].when);
                lines++;
            }
        if (!found[r] && d->row[r].when) {
            ot_text_printf(to, "row %d (%s) is never used\n", r, d->row[r].when);
            lines++;
        }
        if (used)
            used[r] = found[r];
    }
    free(found);
    return lines;
}

static int row_current(const ot_dispatch *d, int i, const optune_target *target,
                       const optune_device *device, optune_err *err)
{
    const ot_dispatch_row *row = &d->row[i];
    const optune_task whole = {&d->call, target, device};
    char digest[33];
    ot_call_digest(&whole, row->impl, digest);
    if (strcmp(row->digest, digest) != 0)
        return optune_fail(err, OPTUNE_EVERSION,
                           "row %d of the table is stale: implementation '%s' has changed; run "
                           "`optune dispatch` again",
                           i, row->impl->name);
    optune_call *call = ot_alloc(sizeof *call);
    optune_space *space = NULL;
    const optune_task task = {call, target, device};
    char why[OPTUNE_WHY_SIZE] = "";
    optune_err inner = {0};
    optune_config config = row->config;
    int status = ot_call_narrow(&d->call, &row->range, call, err);
    if (status >= 0 &&
        (!ot_impl_takes(row->impl, call, why) || !ot_impl_applies(row->impl, &task, why)))
        status = optune_fail(err, OPTUNE_EVERSION, "row %d of the table: '%s' %s", i,
                             row->impl->name, why);
    if (status >= 0)
        status = ot_space_open(&task, row->impl, &space, err);
    if (status >= 0 && (ot_space_index_of(space, &config, &inner) < 0 ||
                        !ot_space_valid(space, &config, inner.text)))
        status =
            optune_fail(err, OPTUNE_EVERSION, "row %d of the table: its config of '%s': %s", i,
                        row->impl->name, inner.text);
    ot_space_close(space);
    free(call);
    return status;
}

int ot_dispatch_current(const ot_dispatch *d, const optune_target *target,
                        const optune_device *device, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < d->n && status >= 0; i++)
        status = row_current(d, i, target, device, err);
    return status;
}
