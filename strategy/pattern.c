/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of patterns become rows of ops: a copy under the op's name, so that everything else
 * (selection, records, lists, tests) meets only implementations and strategies of one op. Never
 * decides which strategy wins; the registry does, by order.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

typedef struct made_impl {
    optune_impl impl; /* first: an implementation's address is its own */
    const optune_impl *row;
    const optune_op *op;
    char name[OPTUNE_NAME_SIZE];
    struct made_impl *next;
} made_impl;

typedef struct made_strategy {
    optune_strategy strategy;
    const optune_strategy *row;
    optune_strategy_row *rows;
    struct made_strategy *next;
} made_strategy;

static made_impl *impls;
static made_strategy *strategies;

bool ot_pattern_serves(optune_pattern pattern, const optune_op *op)
{
    switch (pattern) {
    case OPTUNE_ELEMWISE:
        return op->scalar && op->pattern == OPTUNE_ELEMWISE;
    case OPTUNE_BROADCAST:
        return op->scalar != NULL;
    case OPTUNE_INJECTIVE:
        return op->pieces != NULL;
    case OPTUNE_REDUCTION:
        return op->reduce != NULL;
    default:
        return false;
    }
}

bool ot_row_serves(const char *family, optune_pattern pattern, const optune_op *op)
{
    return family ? op->family && strcmp(family, op->family) == 0
                  : ot_pattern_serves(pattern, op);
}

char *ot_pattern_name(const char *op, const char *name)
{
    ot_text text = {0};
    ot_text_printf(&text, "%s%s%s", op, *name == '.' ? "" : "_", name);
    return text.s;
}

const char *ot_strategy_key(const optune_strategy *row, int i)
{
    if (!row->keys)
        return i ? NULL : row->key;
    return row->keys[i];
}

const optune_impl *ot_pattern_impl(const optune_impl *row, const optune_op *op)
{
    for (made_impl *m = impls; m; m = m->next)
        if (m->row == row && m->op == op)
            return &m->impl;
    made_impl *made = ot_alloc(sizeof *made);
    *made = (made_impl){.impl = *row, .row = row, .op = op, .next = impls};
    char *name = ot_pattern_name(op->name, row->name);
    const bool fits = ot_copy(made->name, sizeof made->name, name);
    assert(fits);
    (void)fits;
    free(name);
    made->impl.op = op->name;
    made->impl.name = made->name;
    impls = made;
    return &made->impl;
}

const optune_strategy *ot_pattern_strategy(const optune_strategy *row, const optune_op *op,
                                           const char *key)
{
    int n = 0;
    while (row->rows[n].impl)
        n++;
    made_strategy *made = ot_alloc(sizeof *made);
    *made = (made_strategy){.strategy = *row, .row = row, .next = strategies};
    made->rows = ot_alloc((size_t)(n + 1) * sizeof *made->rows);
    for (int i = 0; i < n; i++) {
        made->rows[i] = row->rows[i];
        made->rows[i].impl = row->op ? ot_strdup(row->rows[i].impl)
                                     : ot_pattern_name(op->name, row->rows[i].impl);
    }
    made->strategy.op = op->name;
    made->strategy.key = key;
    made->strategy.keys = NULL;
    made->strategy.family = NULL;
    made->strategy.rows = made->rows;
    strategies = made;
    return &made->strategy;
}

ot_pattern_mark ot_pattern_now(void)
{
    return (ot_pattern_mark){.impl = impls, .strategy = strategies};
}

void ot_pattern_rewind(ot_pattern_mark mark)
{
    while (impls != mark.impl) {
        made_impl *last = impls;
        impls = last->next;
        free(last);
    }
    while (strategies != mark.strategy) {
        made_strategy *last = strategies;
        strategies = last->next;
        for (optune_strategy_row *row = last->rows; row->impl; row++)
            free((char *)row->impl);
        free(last->rows);
        free(last);
    }
}

const optune_strategy *ot_strategy_row(const optune_strategy *strategy)
{
    for (const made_strategy *m = strategies; m; m = m->next)
        if (&m->strategy == strategy)
            return m->row;
    return strategy;
}

int ot_strategy_rank(const optune_strategy *strategy)
{
    const optune_strategy *row = ot_strategy_row(strategy);
    return row->op ? 2 : row->family ? 1 : 0;
}

static const made_impl *made_of(const optune_impl *impl)
{
    for (const made_impl *m = impls; m; m = m->next)
        if (&m->impl == impl)
            return m;
    return NULL;
}

const optune_impl *ot_pattern_row(const optune_impl *impl)
{
    const made_impl *made = made_of(impl);
    return made ? made->row : impl;
}

/* ---- declarations ------------------------------------------------------------------------ */

static void add_pieces(const optune_op *op, ot_text *to)
{
    optune_piece piece[OPTUNE_MAX_PIECES];
    optune_call call;
    for (const char *const *sample = op->samples; sample && *sample; sample++) {
        if (ot_call_parse(*sample, &call, NULL) != OPTUNE_OK)
            continue;
        const int n = op->pieces(&call, piece);
        ot_text_printf(to, "%s:", *sample);
        for (int i = 0; i < n; i++) {
            const optune_piece *p = &piece[i];
            ot_text_printf(to, " %d %a %lld %lld", p->input, p->fill, (long long)p->in_offset,
                           (long long)p->out_offset);
            for (int d = 0; d < p->rank; d++)
                ot_text_printf(to, " %lld,%lld,%lld", (long long)p->extent[d],
                               (long long)p->in_stride[d], (long long)p->out_stride[d]);
        }
        ot_text_add(to, "\n");
    }
}

/* A function cannot be read: what stands for a map of pieces is its answers on the samples. */
void ot_pattern_declaration(const optune_impl *impl, ot_text *to)
{
    const made_impl *made = made_of(impl);
    if (!made)
        return;
    const optune_op *op = made->op;
    if (op->scalar)
        ot_text_printf(to, "scalar %s\n", op->scalar->text);
    if (op->reduce)
        ot_text_printf(to, "identity %s\nmap %s\ncombine %s\nfinish %s\n",
                       op->reduce->identity->text, op->reduce->map->text,
                       op->reduce->combine->text, op->reduce->finish->text);
    if (op->pieces)
        add_pieces(op, to);
}
