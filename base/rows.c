/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of rows that grow: what registries keep of rows in tree and of those of plugins. Never
 * owns a row. The one idea: a table that says where the names of its rows are finds one by name in
 * a step, whatever its rows are.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { FIRST_CAPACITY = 64, SLOTS_PER_ROW = 2 };

static const char *name_of(const ot_rows *rows, int i)
{
    return *(const char *const *)((const char *)rows->row[i] + rows->name);
}

/* The slot of that name, or the empty one where it belongs. */
static int *slot_of(const ot_rows *rows, const char *name)
{
    const size_t mask = (size_t)rows->capacity * SLOTS_PER_ROW - 1; /* capacities are doubled */
    for (size_t i = ot_hash64(name, strlen(name)) & mask;; i = (i + 1) & mask)
        if (!rows->slot[i] || !strcmp(name_of(rows, rows->slot[i] - 1), name))
            return &rows->slot[i];
}

/* Of equal names the last is found. */
static void enter(ot_rows *rows, int i)
{
    *slot_of(rows, name_of(rows, i)) = i + 1;
}

static void index_all(ot_rows *rows)
{
    if (!rows->kind)
        return;
    free(rows->slot);
    rows->slot = ot_alloc((size_t)rows->capacity * SLOTS_PER_ROW * sizeof *rows->slot);
    for (int i = 0; i < rows->n; i++)
        enter(rows, i);
}

void ot_rows_push(ot_rows *rows, const void *row)
{
    const bool full = rows->n == rows->capacity;
    if (full) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : FIRST_CAPACITY;
        const void **more = ot_alloc((size_t)rows->capacity * sizeof *more);
        if (rows->n)
            memcpy(more, rows->row, (size_t)rows->n * sizeof *more);
        free(rows->row);
        rows->row = more;
    }
    rows->row[rows->n++] = row;
    if (full)
        index_all(rows);
    else if (rows->kind)
        enter(rows, rows->n - 1);
}

void ot_rows_rewind(ot_rows *rows, int n)
{
    assert(n <= rows->n);
    rows->n = n;
    if (rows->row)
        index_all(rows);
}

typedef struct named {
    const char *name;
    const void *row;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

void ot_rows_sort(ot_rows *rows)
{
    named *all = ot_alloc((size_t)(rows->n + 1) * sizeof *all);
    for (int i = 0; i < rows->n; i++)
        all[i] = (named){name_of(rows, i), rows->row[i]};
    qsort(all, (size_t)rows->n, sizeof *all, by_name);
    for (int i = 0; i < rows->n; i++)
        rows->row[i] = all[i].row;
    free(all);
    if (rows->row)
        index_all(rows);
}

/* ---- by name ----------------------------------------------------------------------------- */

const void *ot_rows_find(const ot_rows *rows, const char *name)
{
    const int slot = rows->n ? *slot_of(rows, name) : 0;
    return slot ? rows->row[slot - 1] : NULL;
}

int ot_rows_absent(const ot_rows *rows, const char *name, ot_row_about about, optune_err *err)
{
    ot_arena arena = {0};
    const size_t size = (size_t)(rows->n + 1) * sizeof(char *);
    const char **names = ot_arena_alloc(&arena, size), **abouts = ot_arena_alloc(&arena, size);
    for (int i = 0; i < rows->n; i++) {
        names[i] = name_of(rows, i);
        abouts[i] = about ? about(rows->row[i], &arena) : NULL;
    }
    const int status = ot_no_such_about(err, rows->kind, name, names, abouts, rows->n);
    ot_arena_release(&arena);
    return status;
}

int ot_rows_admit(const ot_rows *rows, const char *name, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_row_check_name(rows->kind, name, err));
    return ot_rows_find(rows, name) ? ot_row_taken(err, rows->kind, name) : OPTUNE_OK;
}

int ot_row_taken(optune_err *err, const char *kind, const char *name)
{
    return optune_fail(err, OPTUNE_ECONFLICT, "%s '%s' exists already", kind, name);
}

int ot_row_check_name(const char *kind, const char *name, optune_err *err)
{
    if (!name || !name[0])
        return optune_fail(err, OPTUNE_EUSAGE, "%s without a name", kind);
    if (strlen(name) >= OPTUNE_NAME_SIZE)
        return optune_fail(err, OPTUNE_ELIMIT, "name of %s '%s' is too long", kind, name);
    if (!ot_is_row_name(name)) /* it stands in texts of targets, in logs and on command lines */
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%s' is no %s's name: letters, digits and '_-.+'", name, kind);
    return OPTUNE_OK;
}
