/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators there are: those in tree by their names, then those of plugins.
 * Rows in tree are judged by the contract tests; rows added here are checked at once, since nobody
 * tested them with us. Operators are added before the first query, never during one.
 */
#include <pthread.h>
#include <string.h>

#include "call/inside.h"

static ot_rows ops = {.kind = "operator", .name = offsetof(optune_op, name)};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    for (const optune_op *const *row = ot_op_table; *row; row++)
        ot_rows_push(&ops, *row);
    for (const optune_op *const *list = ot_ops_table; *list; list++)
        for (const optune_op *row = *list; row->name; row++)
            ot_rows_push(&ops, row);
    ot_rows_sort(&ops);
}

const optune_op *const *ot_ops(int *n)
{
    pthread_once(&once, load);
    *n = ops.n;
    return (const optune_op *const *)ops.row;
}

const optune_op *ot_op_find(const char *name)
{
    pthread_once(&once, load);
    return ot_rows_find(&ops, name);
}

bool ot_op_in_tree(const optune_op *op)
{
    for (const optune_op *const *row = ot_op_table; *row; row++)
        if (*row == op)
            return true;
    for (const optune_op *const *list = ot_ops_table; *list; list++)
        for (const optune_op *row = *list; row->name; row++)
            if (row == op)
                return true;
    return false;
}

static const char *about(const void *row, ot_arena *arena)
{
    (void)arena;
    return ot_op_synonyms(((const optune_op *)row)->name);
}

int ot_op_get(const char *name, const optune_op **op, optune_err *err)
{
    *op = ot_op_find(name);
    return *op ? OPTUNE_OK : ot_rows_absent(&ops, name, about, err);
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
        if (!ot_is_identifier(row->name))
            return optune_fail(err, OPTUNE_EUSAGE,
                               "operator '%s': '%.80s' is no attribute's name: letters, digits "
                               "and '_'",
                               op->name, row->name);
        if ((int)row->kind < OPTUNE_ATTR_INT || row->kind > OPTUNE_ATTR_DTYPE)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "attribute '%s' of operator '%s': there is no kind %d",
                               row->name, op->name, (int)row->kind);
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

static int check_presets(const optune_op *op, optune_err *err)
{
    for (const optune_preset *preset = op->presets; preset && preset->name; preset++)
        if (!preset->workloads)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "preset '%s' of operator '%s' has no workloads", preset->name,
                               op->name);
    return OPTUNE_OK;
}

static bool is_pattern(int pattern)
{
    return (pattern >= OPTUNE_ELEMWISE && pattern <= OPTUNE_OUT_FUSABLE) ||
           pattern == OPTUNE_TUPLE || pattern == OPTUNE_OPAQUE;
}

int ot_ops_add(const optune_op *op, optune_err *err)
{
    pthread_once(&once, load);
    int status = ot_rows_admit(&ops, op->name, err);
    if (status < 0)
        return status;
    if (!ot_is_identifier(op->name))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%.80s' is no operator's name: letters, digits and '_'", op->name);
    if (!op->inputs || !op->types)
        return optune_fail(err, OPTUNE_EUSAGE, "operator '%s' lacks inputs or a type relation",
                           op->name);
    if (op->n_outputs < 1 || op->n_outputs > OPTUNE_MAX_OUTPUTS ||
        ot_op_input_count(op) > OPTUNE_MAX_INPUTS)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "operator '%s' has too many arguments or no output", op->name);
    if (!is_pattern((int)op->pattern))
        return optune_fail(err, OPTUNE_EUSAGE, "operator '%s': there is no pattern %d",
                           op->name, (int)op->pattern);
    status = check_attrs(op, err);
    if (status >= 0)
        status = check_presets(op, err);
    if (status < 0)
        return status;
    ot_rows_push(&ops, op);
    return OPTUNE_OK;
}

void ot_ops_rewind(int n)
{
    ot_rows_rewind(&ops, n);
}
