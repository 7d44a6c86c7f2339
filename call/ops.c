/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators there are: those in tree by their names, then those of plugins.
 * Rows in tree are judged by the contract tests; rows added here are checked at once, since nobody
 * tested them with us. Operators are added before the first query, never during one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call/inside.h"

static ot_rows ops;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const optune_op *const *)a)->name, (*(const optune_op *const *)b)->name);
}

static void load(void)
{
    for (const optune_op *const *row = ot_op_table; *row; row++)
        ot_rows_push(&ops, *row);
    for (const optune_op *const *list = ot_ops_table; *list; list++)
        for (const optune_op *row = *list; row->name; row++)
            ot_rows_push(&ops, row);
    qsort(ops.row, (size_t)ops.n, sizeof *ops.row, by_name);
}

const optune_op *const *ot_ops(int *n)
{
    pthread_once(&once, load);
    *n = ops.n;
    return (const optune_op *const *)ops.row;
}

const optune_op *ot_op_find(const char *name)
{
    int n;
    const optune_op *const *row = ot_ops(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(row[i]->name, name) == 0)
            return row[i];
    return NULL;
}

int ot_op_get(const char *name, const optune_op **op, optune_err *err)
{
    *op = ot_op_find(name);
    if (*op)
        return OPTUNE_OK;
    int n;
    const optune_op *const *row = ot_ops(&n);
    const char **names = ot_alloc((size_t)(n + 1) * sizeof(*names));
    const char **about = ot_alloc((size_t)(n + 1) * sizeof *about);
    for (int i = 0; i < n; i++) {
        names[i] = row[i]->name;
        about[i] = ot_op_synonyms(names[i]);
    }
    const int status = ot_no_such_about(err, "operator", name, names, about, n);
    free(about);
    free(names);
    return status;
}

/* ---- rows of others ---------------------------------------------------------------------- */

static int check_attrs(const optune_op *op, optune_err *err)
{
    const int n = ot_op_attr_count(op);
    if (n > OPTUNE_MAX_ATTRS)
        return optune_fail(err, OPTUNE_ELIMIT, "operator '%s' has too many attributes",
                           op->name);
    for (int i = 0; i < n; i++) {
        const optune_op_attr *row = ot_op_attr_at(op, i);
        for (int j = 0; j < i; j++)
            if (strcmp(ot_op_attr_at(op, j)->name, row->name) == 0)
                return optune_fail(err, OPTUNE_ECONFLICT,
                                   "operator '%s' has two attributes '%s'", op->name,
                                   row->name);
        optune_attr attr;
        const int status = row->value ? ot_attr_default(row, &attr, err) : OPTUNE_OK;
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

int ot_ops_add(const optune_op *op, optune_err *err)
{
    pthread_once(&once, load);
    int status = ot_row_check_name("operator", op->name, err);
    if (status < 0)
        return status;
    if (ot_op_find(op->name))
        return ot_row_taken(err, "operator", op->name);
    if (!op->inputs || !op->types)
        return optune_fail(err, OPTUNE_EUSAGE, "operator '%s' lacks inputs or a type relation",
                           op->name);
    if (op->n_outputs < 1 || op->n_outputs > OPTUNE_MAX_OUTPUTS ||
        ot_op_input_count(op) > OPTUNE_MAX_INPUTS)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "operator '%s' has too many arguments or no output", op->name);
    status = check_attrs(op, err);
    if (status < 0)
        return status;
    ot_rows_push(&ops, op);
    return OPTUNE_OK;
}

void ot_ops_rewind(int n)
{
    ops.n = n;
}
