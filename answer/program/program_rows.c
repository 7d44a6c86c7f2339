/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of ranges by the dispatch table that tuning left: its rows' kernels are all opened with
 * the program, and in front of each run the sizes at hand say which of them runs. Without a table
 * one kernel computes all sizes.
 */
#include <stdlib.h>

#include "answer/graph.h"

ot_kernel *ot_program_kernel(const optune_program *p, int group)
{
    const ot_program_rows *rows = &p->rows[group];
    return rows->table ? &rows->kernel[rows->now] : &p->kernel[group];
}

static bool same_range(const ot_symbols *a, const ot_symbols *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = a->dim[i].min == b->dim[i].min && a->dim[i].max == b->dim[i].max;
    return same;
}

static bool same_plan(const ot_dispatch_row *a, const ot_dispatch_row *b)
{
    return a->impl == b->impl && ot_config_equal(&a->config, &b->config) &&
           same_range(&a->range, &b->range);
}

static int take_kernel(optune_program *p, ot_program_rows *rows, int row, optune_err *err)
{
    const ot_dispatch_row *r = &rows->table->row[row];
    for (int k = 0; k < row; k++)
        if (rows->of_row[k] >= 0 && same_plan(r, &rows->table->row[k])) {
            rows->of_row[row] = rows->of_row[k];
            return OPTUNE_OK;
        }
    optune_call *call = ot_alloc(sizeof *call);
    int status = ot_call_narrow(&rows->table->call, &r->range, call, err);
    if (status >= 0) {
        rows->of_row[row] = rows->n;
        status = ot_kernel_take(&p->machine, ot_calls_share(&p->machine.calls, call), r->impl,
                                &r->config, &rows->kernel[rows->n++], err);
    }
    free(call);
    return status;
}

static int take_rows(optune_program *p, ot_program_rows *rows, optune_err *err)
{
    const int n = rows->table->n;
    bool *used = ot_alloc((size_t)n * sizeof *used);
    ot_text unused = {0};
    int status = OPTUNE_OK;
    rows->kernel = ot_alloc((size_t)n * sizeof *rows->kernel);
    rows->of_row = ot_alloc((size_t)n * sizeof *rows->of_row);
    ot_dispatch_check(rows->table, &unused, used);
    for (int i = 0; i < n && status >= 0; i++) {
        rows->of_row[i] = -1;
        if (used[i])
            status = take_kernel(p, rows, i, err);
    }
    ot_text_release(&unused);
    free(used);
    return status;
}

int ot_program_choose(optune_program *p, int group, optune_err *err)
{
    const optune_call *call = p->partition->groups.group[group].call;
    ot_program_rows *rows = &p->rows[group];
    rows->table = ot_dispatch_of(p->machine.o, call);
    return rows->table ? take_rows(p, rows, err)
                       : ot_kernel_choose(&p->machine, call, p->partition->asked,
                                          &p->kernel[group], err);
}

int ot_program_take_row(optune_program *p, int group, const optune_call *sized, optune_err *err)
{
    ot_program_rows *rows = &p->rows[group];
    int64_t size[OT_MAX_SYMBOLS] = {0};
    if (!rows->table)
        return OPTUNE_OK;
    ot_dispatch_sizes(rows->table, sized, size);
    const int row = ot_dispatch_find(rows->table, size);
    if (row < 0 || rows->of_row[row] < 0)
        return optune_fail(err, OPTUNE_EUNSUPPORTED,
                           "its dispatch table has no row for these sizes: `optune dispatch` "
                           "makes it anew");
    rows->now = rows->of_row[row];
    return OPTUNE_OK;
}

void ot_program_release_rows(optune_program *p, int group)
{
    ot_program_rows *rows = &p->rows[group];
    for (int k = 0; k < rows->n; k++)
        ot_kernel_release(&rows->kernel[k]);
    free(rows->kernel);
    if (!p->origin) {
        free(rows->of_row);
        ot_dispatch_free(rows->table);
    }
    *rows = (ot_program_rows){0};
}
