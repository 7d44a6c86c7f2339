/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is registered, row by row: operators, implementations, targets, searches. Reads rows alone,
 * neither device nor database. The one idea: what a row leaves out is given as what that means.
 */
#include <string.h>

#include "answer/list/list.h"
#include "base/fenv.h"

/* A struct of a caller's: filled as far as it reaches. */
#define GIVE(own, to) (ot_sized_give(own, sizeof *(own), to), OPTUNE_OK)

enum { BEHIND = 1 };

static const char *pattern_name(optune_pattern pattern)
{
    switch (pattern) {
    case OPTUNE_ELEMWISE:
        return "elementwise";
    case OPTUNE_BROADCAST:
        return "broadcast";
    case OPTUNE_INJECTIVE:
        return "injective";
    case OPTUNE_REDUCTION:
        return "reduction";
    case OPTUNE_OUT_FUSABLE:
        return "out-fusable";
    case OPTUNE_TUPLE:
        return "tuple";
    case OPTUNE_OPAQUE:
        return "opaque";
    }
    return "unknown";
}

static const char *kind_name(optune_attr_kind kind)
{
    static const char *const name[] = {
        [OPTUNE_ATTR_INT] = "int",   [OPTUNE_ATTR_FLOAT] = "float",
        [OPTUNE_ATTR_BOOL] = "bool", [OPTUNE_ATTR_WORD] = "word",
        [OPTUNE_ATTR_INTS] = "ints", [OPTUNE_ATTR_DTYPE] = "dtype",
    };
    return (int)kind < OT_COUNT(name) ? name[kind] : "unknown";
}

/* ---- operators --------------------------------------------------------------------------- */

static void describe(const optune_op *op, optune_listed_op *to)
{
    static const char *const plain[OPTUNE_MAX_OUTPUTS] = {
        "output", "output", "output", "output", "output", "output", "output", "output",
    };
    *to = (optune_listed_op){
        .size = sizeof *to,
        .name = op->name,
        .summary = op->summary,
        .pattern = pattern_name(op->pattern),
        .pattern_number = op->pattern,
        .support_level = op->support_level,
        .scalar = op->scalar ? op->scalar->text : NULL,
        .pieces = op->pieces != NULL,
        .n_outputs = op->n_outputs,
        .outputs = op->output_names ? op->output_names : plain,
        .outputs_by_attribute = op->outputs != NULL,
        .flops = op->flops != NULL,
        .bytes = op->bytes != NULL,
        .terms = op->terms != NULL,
        .gradient = op->gradient != NULL,
        .shape_function = op->shape != NULL,
        .standard = op->standard,
        .samples = op->samples,
    };
    if (op->reduce) {
        to->identity = op->reduce->identity->text;
        to->map = op->reduce->map->text;
        to->combine = op->reduce->combine->text;
        to->finish = op->reduce->finish->text;
    }
}

int optune_list_op(optune *o, const char *name, int index, optune_listed_op *row,
                   optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"op", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_op, row));
    int n = 1;
    const optune_op *only = NULL, *const *op = &only;
    if (name)
        OT_RETURN_UNLESS_OK(ot_op_get(name, &only, err));
    else
        op = ot_ops(&n);
    if (index < 0 || index >= n)
        return BEHIND;
    optune_listed_op own;
    describe(op[index], &own);
    return GIVE(&own, row);
}

int optune_list_input(optune *o, const char *name, int index, optune_listed_input *row,
                      optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"operator", name}, {"input", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_input, row));
    const optune_op *op;
    OT_RETURN_UNLESS_OK(ot_op_get(name, &op, err));
    int n = 0;
    while (op->inputs[n].name)
        n++;
    if (index < 0 || index >= n)
        return BEHIND;
    const optune_op_input *input = &op->inputs[index];
    const optune_listed_input own = {sizeof own,         input->name,     input->type,
                                     input->description, input->optional, input->is_const};
    return GIVE(&own, row);
}

int optune_list_attr(optune *o, const char *name, int index, optune_listed_attr *row,
                     optune_err *err)
{
    static const optune_op_attr everywhere = {
        .name = "math",
        .kind = OPTUNE_ATTR_WORD,
        .value = "ieee",
        .description = "numerics class; every operator has it",
    };
    OT_ENTER(err, {"handle", o}, {"operator", name}, {"attr", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_attr, row));
    const optune_op *op;
    OT_RETURN_UNLESS_OK(ot_op_get(name, &op, err));
    int n = 0;
    while (op->attrs && op->attrs[n].name)
        n++;
    if (index < 0 || index > n)
        return BEHIND;
    const optune_op_attr *attr = index < n ? &op->attrs[index] : &everywhere;
    const optune_listed_attr own = {
        .size = sizeof own,
        .name = attr->name,
        .description = attr->description,
        .kind = kind_name(attr->kind),
        .value = attr->value,
        .words = attr->words,
        .length = attr->length,
        .min = attr->min,
        .max = attr->max,
        .none = attr->none,
        .shown = attr->shown,
    };
    return GIVE(&own, row);
}

int optune_list_preset(optune *o, const char *name, int index, optune_listed_preset *row,
                       optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"operator", name}, {"preset", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_preset, row));
    const optune_op *op;
    OT_RETURN_UNLESS_OK(ot_op_get(name, &op, err));
    int n = 0;
    while (op->presets && op->presets[n].name)
        n++;
    if (index < 0 || index >= n)
        return BEHIND;
    const optune_preset *preset = &op->presets[index];
    const optune_listed_preset own = {sizeof own, preset->name, preset->description,
                                      preset->workloads};
    return GIVE(&own, row);
}

/* ---- implementations --------------------------------------------------------------------- */

int optune_list_impl(optune *o, const char *name, int index, optune_listed_impl *row,
                     optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"impl", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_impl, row));
    const optune_op *only = NULL;
    if (name)
        OT_RETURN_UNLESS_OK(ot_op_get(name, &only, err));
    int n, at = 0;
    const optune_impl *const *all = ot_impls(&n), *impl = NULL;
    for (int i = 0; i < n && !impl; i++)
        if ((!only || !strcmp(all[i]->op, only->name)) && at++ == index)
            impl = all[i];
    if (!impl)
        return BEHIND;
    const optune_listed_impl own = {
        .size = sizeof own,
        .op = impl->op,
        .name = impl->name,
        .summary = impl->summary ? impl->summary : "", /* a plugin may leave it out */
        .library = impl->library,
        .math = impl->math,
        .task_args = impl->task_args,
        .error_scale = impl->error_scale ? impl->error_scale : 1,
        .digest = ot_impl_digest(impl),
    };
    return GIVE(&own, row);
}

/* A plugin's strategy replaces an earlier one of the same operator and key. */
static bool replaced(const optune_strategy *const *all, int n, int i)
{
    for (int later = i + 1; later < n; later++)
        if (strcmp(all[i]->op, all[later]->op) == 0 &&
            strcmp(all[i]->key, all[later]->key) == 0)
            return true;
    return false;
}

/* The index-th row of strategies that names an implementation, and whose it is; NULL: none. */
static const optune_strategy_row *row_at(const optune_impl *impl, int index,
                                         const optune_strategy **of)
{
    int n, at = 0;
    const optune_strategy *const *all = ot_strategies(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i]->op, impl->op) != 0 || replaced(all, n, i))
            continue;
        *of = all[i];
        for (const optune_strategy_row *row = all[i]->rows; row->impl; row++)
            if (strcmp(row->impl, impl->name) == 0 && at++ == index)
                return row;
    }
    return NULL;
}

int optune_list_strategy(optune *o, const char *name, int index, optune_listed_strategy *to,
                         optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"implementation", name}, {"strategy", to});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_strategy, to));
    const optune_impl *impl;
    OT_RETURN_UNLESS_OK(ot_impl_get(name, &impl, err));
    const optune_strategy *of;
    const optune_strategy_row *row = row_at(impl, index, &of);
    if (!row)
        return BEHIND;
    const optune_listed_strategy own = {sizeof own, of->key, ot_row_plevel(row), row->when,
                                        row->condition != NULL};
    return GIVE(&own, to);
}

/* ---- targets, searches ------------------------------------------------------------------- */

int optune_list_target(optune *o, int index, optune_listed_target *to, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"target", to});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_target, to));
    int n;
    const optune_target_row *const *row = ot_targets(&n);
    if (index < 0 || index >= n)
        return BEHIND;
    const optune_listed_target own = {
        sizeof own,       row[index]->name,          row[index]->summary,
        row[index]->keys, row[index]->source_suffix, row[index]->module_suffix};
    return GIVE(&own, to);
}

int optune_list_search(optune *o, int index, optune_listed_search *to, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"search", to});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_listed_search, to));
    int n;
    const optune_search *const *search = ot_searches(&n);
    if (index < 0 || index >= n)
        return BEHIND;
    const optune_listed_search own = {sizeof own, search[index]->name, search[index]->summary};
    return GIVE(&own, to);
}
