/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the names in a strategy's conditions can be dims of anything. A strategy says what it
 * knows by answering (`dim`), so it is asked, about every sample of its operator: a name that it
 * knows of none of them is a slip, and would switch its row off without a word. A strategy
 * without `dim` leaves its names to symbolic calls, which may name their dims as they like.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/inside.h"

enum { MOST_PROBES = 256, MOST_NAMES = 512, MOST_TOLD = 24 };

typedef struct probes {
    const optune_strategy *strategy;
    const optune_strategy *const *all; /* whose conditions are searched for names */
    int n_all, n, n_names;
    optune_call *call;
    const char *name[MOST_NAMES + 1]; /* all that anybody uses in a condition */
    const char *stranger;             /* the first of a condition that is not known */
    ot_arena arena;
} probes;

static bool known(const probes *p, const char *name)
{
    optune_dim value;
    for (int i = 0; i < p->n; i++)
        if (p->strategy->dim(&p->call[i], name, &value))
            return true;
    return false;
}

/* Calls of an operator that gives no samples: inputs of every rank. */
static void make_up(probes *p, const optune_op *op)
{
    for (int rank = 1; rank <= OPTUNE_MAX_RANK; rank++) {
        optune_call *call = &p->call[p->n];
        if (ot_call_start(op, call, NULL) < 0)
            return;
        call->n_inputs = ot_op_input_count(op);
        memset(call->input, 0, (size_t)call->n_inputs * sizeof *call->input);
        for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
            optune_tensor *type =
                i < call->n_inputs ? &call->input[i].type : &call->output[i - call->n_inputs];
            type->dtype = (optune_dtype){OPTUNE_DTYPE_FLOAT, 32, 1};
            type->rank = rank;
            for (int d = 0; d < rank; d++)
                type->dim[d] = optune_dim_of(8);
        }
        p->n++;
    }
}

static void add_name(void *arg, const char *name, int64_t number)
{
    probes *p = arg;
    (void)number;
    for (int i = 0; name && i < p->n_names; i++)
        if (strcmp(p->name[i], name) == 0)
            return;
    if (name && p->n_names < MOST_NAMES)
        p->name[p->n_names++] = ot_arena_copy(&p->arena, name);
}

static void see(void *arg, const char *name, int64_t number)
{
    probes *p = arg;
    (void)number;
    if (name && !p->stranger && !known(p, name))
        p->stranger = ot_arena_copy(&p->arena, name);
}

static void visit_rows(const optune_strategy *strategy,
                       void (*seen)(void *arg, const char *name, int64_t number), void *arg)
{
    for (const optune_strategy_row *row = strategy->rows; row && row->impl; row++) {
        ot_condition *condition;
        if (!row->when || ot_condition_parse(row->when, &condition, NULL) < 0)
            continue;
        ot_condition_visit(condition, seen, arg);
        ot_condition_free(condition);
    }
}

/* A function cannot be read: what it knows of is found by asking for every word that conditions
 * use and every one of up to three letters. */
static void find_names(probes *p)
{
    visit_rows(p->strategy, add_name, p);
    for (int i = 0; i < p->n_all; i++)
        visit_rows(p->all[i], add_name, p);
    int kept = 0;
    for (int i = 0; i < p->n_names; i++)
        if (known(p, p->name[i]))
            p->name[kept++] = p->name[i];
    p->n_names = kept;
    for (int word = 1; word < 27 * 27 * 27; word++) {
        char name[4] = {0};
        int length = 0;
        for (int left = word; left; left /= 27)
            name[length++] = (char)(left % 27 ? 'a' + left % 27 - 1 : 0);
        if (strlen(name) == (size_t)length && known(p, name))
            add_name(p, name, 0);
    }
}

static int refuse(probes *p, const char *when, optune_err *err)
{
    ot_text list = {0};
    find_names(p);
    for (int i = 0; i < p->n_names && i < MOST_TOLD; i++)
        ot_text_printf(&list, "%s%s", i ? ", " : "", p->name[i]);
    const char *nearest = ot_nearest(p->stranger, p->name, p->n_names);
    const int status = optune_fail(err, OPTUNE_ENOENT,
                                   "strategy of '%s' for '%s': condition '%.200s' names '%s', "
                                   "which is no dim of it%s%s%s; "
                                   "known are %s",
                                   p->strategy->op, p->strategy->key, when, p->stranger,
                                   nearest ? "; did you mean '" : "", nearest ? nearest : "",
                                   nearest ? "'?" : "", list.n ? list.s : "none");
    ot_text_release(&list);
    return status;
}

/* A dim may be of any size, as far as no call is known. */
static bool any_size(const void *arg, const char *name, optune_dim *value)
{
    (void)arg;
    (void)name;
    *value = (optune_dim){.min = 0, .max = OPTUNE_MAX_DIM};
    return true;
}

/* What no size fulfils would switch its row off without a word, too. */
static int check_possible(const optune_strategy *strategy, const char *when, optune_err *err)
{
    char clause[OPTUNE_WHY_SIZE];
    ot_condition *condition;
    int status = ot_condition_parse(when, &condition, err);
    if (status < 0)
        return status;
    if (ot_condition_test(condition, any_size, NULL, clause, sizeof clause) == OT_FALSE)
        status =
            optune_fail(err, OPTUNE_EUSAGE,
                        "strategy of '%s' for '%s': condition '%.200s' never holds: clause "
                        "'%s' is false of every size",
                        strategy->op, strategy->key, when, clause);
    ot_condition_free(condition);
    return status;
}

int ot_strategy_names(const optune_strategy *strategy, const optune_strategy *const *all,
                      int n_all, optune_err *err)
{
    const optune_op *op = ot_op_find(strategy->op);
    int status = OPTUNE_OK;
    for (const optune_strategy_row *row = strategy->rows; status >= 0 && row->impl; row++)
        if (row->when)
            status = check_possible(strategy, row->when, err);
    if (status < 0 || !op || !strategy->dim)
        return status;
    probes *p = ot_alloc(sizeof *p);
    p->strategy = strategy;
    p->all = all;
    p->n_all = n_all;
    p->call = ot_alloc(MOST_PROBES * sizeof *p->call);
    for (const char *const *sample = op->samples;
         sample && *sample && p->n < MOST_PROBES - OPTUNE_MAX_RANK; sample++)
        p->n += ot_call_parse(*sample, &p->call[p->n], NULL) >= 0;
    if (p->n == 0)
        make_up(p, op);
    for (const optune_strategy_row *row = strategy->rows; status >= 0 && row->impl; row++) {
        ot_condition *condition;
        if (!row->when)
            continue;
        status = ot_condition_parse(row->when, &condition, err);
        if (status < 0)
            break;
        ot_condition_visit(condition, see, p);
        ot_condition_free(condition);
        if (p->stranger)
            status = refuse(p, row->when, err);
    }
    ot_arena_release(&p->arena);
    free(p->call);
    free(p);
    return status;
}
