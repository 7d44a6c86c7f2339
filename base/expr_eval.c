/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expression to value. Errors say where in the text they come from, so that a condition that
 * divides by zero for some configs can be found.
 */
#include <math.h>
#include <string.h>

#include "base/expr.h"

typedef struct evaluation {
    const ot_expr *expr;
    const ot_expr_value *name;
    ot_expr_value local[OT_EXPR_MOST_LOCALS];
    ot_arena *arena;
    optune_err *err;
    int steps;
} evaluation;

static bool eval(evaluation *e, int node, ot_expr_value *to);

static ot_spot place_of(const evaluation *e, const ot_expr_node *node)
{
    return ot_spot_in(&e->expr->place, e->expr->text, (size_t)node->at);
}

static bool fail(evaluation *e, const ot_expr_node *node, int status, const char *what)
{
    ot_fail_at(place_of(e, node), status, e->err, "%s", what);
    return false;
}

/* ---- values ------------------------------------------------------------------------------ */

static bool whole(const ot_expr_value *value)
{
    return value->kind == OT_VALUE_BOOL || value->kind == OT_VALUE_INT;
}

static ot_expr_value truth(bool value)
{
    return (ot_expr_value){.kind = OT_VALUE_BOOL, .i = value};
}

/* ---- arithmetic -------------------------------------------------------------------------- */

static const char overflow[] = "the result does not fit into 64 bits";

static bool real_result(evaluation *e, const ot_expr_node *node, double f, ot_expr_value *to)
{
    if (!isfinite(f))
        return fail(e, node, OPTUNE_ELIMIT, "the result is no finite number");
    *to = (ot_expr_value){.kind = OT_VALUE_REAL, .f = f};
    return true;
}

static bool power_of(evaluation *e, const ot_expr_node *node, int64_t base, int64_t exponent,
                     ot_expr_value *to)
{
    int64_t result = 1;
    if (exponent < 0)
        return base ? real_result(e, node, pow((double)base, (double)exponent), to)
                    : fail(e, node, OPTUNE_EUSAGE, "division by zero");
    for (bool last = false; exponent > 0 && !last;) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return fail(e, node, OPTUNE_ELIMIT, overflow);
        exponent >>= 1;
        last = exponent == 0;
        if (!last && __builtin_mul_overflow(base, base, &base))
            return fail(e, node, OPTUNE_ELIMIT, overflow);
    }
    *to = ot_int_value(result);
    return true;
}

static bool whole_arithmetic(evaluation *e, const ot_expr_node *node, int64_t a, int64_t b,
                             ot_expr_value *to)
{
    int64_t r = 0;
    bool over = false;
    switch (node->kind) {
    case OT_NODE_ADD:
        over = __builtin_add_overflow(a, b, &r);
        break;
    case OT_NODE_SUBTRACT:
        over = __builtin_sub_overflow(a, b, &r);
        break;
    case OT_NODE_TIMES:
        over = __builtin_mul_overflow(a, b, &r);
        break;
    case OT_NODE_POWER:
        return power_of(e, node, a, b, to);
    default:
        if (b == 0)
            return fail(e, node, OPTUNE_EUSAGE, "division by zero");
        if (node->kind == OT_NODE_DIVIDE)
            return real_result(e, node, (double)a / (double)b, to);
        over = a == INT64_MIN && b == -1;
        if (over)
            break;
        r = node->kind == OT_NODE_FLOOR ? a / b : a % b;
        if (a % b != 0 && (a % b < 0) != (b < 0)) /* towards less, as in Python */
            r += node->kind == OT_NODE_FLOOR ? -1 : b;
    }
    if (over)
        return fail(e, node, OPTUNE_ELIMIT, overflow);
    *to = ot_int_value(r);
    return true;
}

static bool real_arithmetic(evaluation *e, const ot_expr_node *node, double a, double b,
                            ot_expr_value *to)
{
    const bool divides = node->kind == OT_NODE_DIVIDE || node->kind == OT_NODE_FLOOR ||
                         node->kind == OT_NODE_MODULO;
    if ((divides && b == 0) || (node->kind == OT_NODE_POWER && a == 0 && b < 0))
        return fail(e, node, OPTUNE_EUSAGE, "division by zero");
    switch (node->kind) {
    case OT_NODE_ADD:
        return real_result(e, node, a + b, to);
    case OT_NODE_SUBTRACT:
        return real_result(e, node, a - b, to);
    case OT_NODE_TIMES:
        return real_result(e, node, a * b, to);
    case OT_NODE_DIVIDE:
        return real_result(e, node, a / b, to);
    case OT_NODE_POWER:
        return real_result(e, node, pow(a, b), to);
    default: {
        double rest = fmod(a, b);
        if (rest != 0 && (rest < 0) != (b < 0))
            rest += b;
        return real_result(e, node, node->kind == OT_NODE_MODULO ? rest : round((a - rest) / b),
                           to);
    }
    }
}

static bool new_list(evaluation *e, const ot_expr_node *node, int64_t n, ot_expr_value **item)
{
    if (n > OT_EXPR_MOST_ITEMS)
        return fail(e, node, OPTUNE_ELIMIT, "the list has more than 65536 items");
    if ((e->steps -= (int)n) < 0)
        return fail(e, node, OPTUNE_ELIMIT, "computing this takes too long");
    *item = ot_arena_alloc(e->arena, (size_t)(n + 1) * sizeof **item);
    return true;
}

static bool join(evaluation *e, const ot_expr_node *node, const ot_expr_value *a,
                 const ot_expr_value *b, ot_expr_value *to)
{
    ot_expr_value *item;
    if (!new_list(e, node, (int64_t)a->n + b->n, &item))
        return false;
    for (int i = 0; i < a->n + b->n; i++)
        item[i] = i < a->n ? a->item[i] : b->item[i - a->n];
    *to = (ot_expr_value){.kind = OT_VALUE_LIST, .n = a->n + b->n, .item = item};
    return true;
}

static bool binary(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    ot_expr_value a, b;
    if (!eval(e, node->child, &a) || !eval(e, e->expr->node[node->child].next, &b))
        return false;
    if (whole(&a) && whole(&b))
        return whole_arithmetic(e, node, a.i, b.i, to);
    if (ot_value_number(&a) && ot_value_number(&b))
        return real_arithmetic(e, node, ot_value_real(&a), ot_value_real(&b), to);
    if (a.kind == OT_VALUE_LIST && b.kind == OT_VALUE_LIST && node->kind == OT_NODE_ADD)
        return join(e, node, &a, &b, to);
    ot_fail_at(place_of(e, node), OPTUNE_ETYPE, e->err, "nothing is computed from %s and %s",
               ot_value_kind_name(a.kind), ot_value_kind_name(b.kind));
    return false;
}

/* ---- comparisons ------------------------------------------------------------------------- */

static bool equal(const ot_expr_value *a, const ot_expr_value *b)
{
    if (whole(a) && whole(b))
        return a->i == b->i;
    if (ot_value_number(a) && ot_value_number(b))
        return ot_value_real(a) == ot_value_real(b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == OT_VALUE_WORD)
        return strcmp(a->s, b->s) == 0;
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = equal(&a->item[i], &b->item[i]);
    return same;
}

/* Below 0, 0, above; false: there is no order between the two. */
static bool order(const ot_expr_value *a, const ot_expr_value *b, int *sign)
{
    if (whole(a) && whole(b))
        *sign = (a->i > b->i) - (a->i < b->i);
    else if (ot_value_number(a) && ot_value_number(b))
        *sign = (ot_value_real(a) > ot_value_real(b)) - (ot_value_real(a) < ot_value_real(b));
    else if (a->kind == OT_VALUE_WORD && b->kind == OT_VALUE_WORD)
        *sign = strcmp(a->s, b->s);
    else
        return false;
    return true;
}

static bool compare(evaluation *e, const ot_expr_node *right, const ot_expr_value *a,
                    const ot_expr_value *b, bool *holds)
{
    int sign;
    switch ((ot_compares)right->what) {
    case OT_EQ:
    case OT_NE:
        *holds = equal(a, b) == (right->what == OT_EQ);
        return true;
    case OT_IN:
    case OT_NOT_IN:
        if (b->kind != OT_VALUE_LIST)
            return fail(e, right, OPTUNE_ETYPE, "'in' looks into a list only");
        *holds = false;
        for (int i = 0; i < b->n && !*holds; i++)
            *holds = equal(a, &b->item[i]);
        *holds = *holds == (right->what == OT_IN);
        return true;
    default:
        break;
    }
    if (!order(a, b, &sign)) {
        ot_fail_at(place_of(e, right), OPTUNE_ETYPE, e->err, "%s and %s have no order",
                   ot_value_kind_name(a->kind), ot_value_kind_name(b->kind));
        return false;
    }
    *holds = right->what == OT_LT   ? sign < 0
             : right->what == OT_LE ? sign <= 0
             : right->what == OT_GT ? sign > 0
                                    : sign >= 0;
    return true;
}

/* `a < b <= c`: each operand once, and no more than decide. */
static bool chain(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    ot_expr_value left, right;
    bool holds = true;
    int k = node->child;
    if (!eval(e, k, &left))
        return false;
    for (k = e->expr->node[k].next; k && holds; k = e->expr->node[k].next) {
        if (!eval(e, k, &right) || !compare(e, &e->expr->node[k], &left, &right, &holds))
            return false;
        left = right;
    }
    *to = truth(holds);
    return true;
}

/* ---- lists ------------------------------------------------------------------------------- */

static bool items_of(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    int64_t n = 0;
    for (int k = node->child; k; k = e->expr->node[k].next)
        n++;
    ot_expr_value *item;
    if (!new_list(e, node, n, &item))
        return false;
    n = 0;
    for (int k = node->child; k; k = e->expr->node[k].next)
        if (!eval(e, k, &item[n++]))
            return false;
    *to = (ot_expr_value){.kind = OT_VALUE_LIST, .n = (int)n, .item = item};
    return true;
}

static bool range(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    ot_expr_value args;
    int64_t bound[3] = {0, 0, 1}, span;
    if (!items_of(e, node, &args))
        return false;
    for (int i = 0; i < args.n; i++) {
        if (!whole(&args.item[i]))
            return fail(e, node, OPTUNE_ETYPE, "'range' takes integers");
        bound[args.n == 1 ? 1 : i] = args.item[i].i;
    }
    const int64_t step = bound[2];
    if (step == 0)
        return fail(e, node, OPTUNE_EUSAGE, "a range with steps of 0 has no end");
    if (step == INT64_MIN || __builtin_sub_overflow(bound[1], bound[0], &span) ||
        span == INT64_MIN)
        return fail(e, node, OPTUNE_ELIMIT, overflow);
    const int64_t length = step > 0 ? span : -span, by = step > 0 ? step : -step;
    const int64_t n = length <= 0 ? 0 : (length - 1) / by + 1;
    ot_expr_value *item;
    if (!new_list(e, node, n, &item))
        return false;
    for (int64_t i = 0; i < n; i++)
        item[i] = ot_int_value(bound[0] + i * step);
    *to = (ot_expr_value){.kind = OT_VALUE_LIST, .n = (int)n, .item = item};
    return true;
}

static bool each(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    const int what = node->child, list = e->expr->node[what].next;
    const int condition = e->expr->node[list].next;
    ot_expr_value of, *item;
    if (!eval(e, list, &of))
        return false;
    if (of.kind != OT_VALUE_LIST)
        return fail(e, &e->expr->node[list], OPTUNE_ETYPE, "'for' goes through a list only");
    if (!new_list(e, node, of.n, &item))
        return false;
    int n = 0;
    for (int i = 0; i < of.n; i++) {
        ot_expr_value keep = truth(true);
        e->local[node->i] = of.item[i];
        if (condition && !eval(e, condition, &keep))
            return false;
        if (ot_value_true(&keep) && !eval(e, what, &item[n++]))
            return false;
    }
    *to = (ot_expr_value){.kind = OT_VALUE_LIST, .n = n, .item = item};
    return true;
}

static bool pick(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    ot_expr_value list, index;
    if (!eval(e, node->child, &list) || !eval(e, e->expr->node[node->child].next, &index))
        return false;
    if (list.kind != OT_VALUE_LIST || !whole(&index))
        return fail(e, node, OPTUNE_ETYPE, "only lists have items, and integers name them");
    const int64_t k = index.i < 0 ? index.i + list.n : index.i;
    if (k < 0 || k >= list.n) {
        ot_fail_at(place_of(e, node), OPTUNE_EUSAGE, e->err,
                   "there is no item %lld in a list of %d", (long long)index.i, list.n);
        return false;
    }
    *to = list.item[k];
    return true;
}

/* min and max of the arguments, or of one list. */
static bool extreme(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    ot_expr_value all;
    if (!items_of(e, node, &all))
        return false;
    if (all.n == 1) {
        if (all.item[0].kind != OT_VALUE_LIST)
            return fail(e, node, OPTUNE_ETYPE, "of one argument, a list is expected");
        all = all.item[0];
    }
    if (all.n == 0)
        return fail(e, node, OPTUNE_EUSAGE, "an empty list has no least and no largest item");
    *to = all.item[0];
    for (int i = 0; i < all.n; i++) {
        int sign;
        if (!order(&all.item[i], to, &sign))
            return fail(e, node, OPTUNE_ETYPE, "the items have no order");
        if (node->kind == OT_NODE_MIN ? sign < 0 : sign > 0)
            *to = all.item[i];
    }
    return true;
}

/* ---- one node ---------------------------------------------------------------------------- */

static bool name_of(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    *to = e->name[node->i];
    if (to->kind != OT_VALUE_NONE)
        return true;
    ot_fail_at(place_of(e, node), OPTUNE_EUSAGE, e->err,
               "'%s' has no value here; a word is written in quotes", e->expr->name[node->i]);
    return false;
}

static bool sign_of(evaluation *e, const ot_expr_node *node, ot_expr_value *to)
{
    if (!eval(e, node->child, to))
        return false;
    if (!ot_value_number(to))
        return fail(e, node, OPTUNE_ETYPE, "only numbers have a sign");
    if (whole(to))
        *to = ot_int_value(to->i);
    if (node->kind == OT_NODE_POSITIVE)
        return true;
    if (to->kind == OT_VALUE_INT && to->i == INT64_MIN)
        return fail(e, node, OPTUNE_ELIMIT, overflow);
    if (to->kind == OT_VALUE_INT)
        to->i = -to->i;
    else
        to->f = -to->f;
    return true;
}

static bool eval(evaluation *e, int k, ot_expr_value *to)
{
    const ot_expr_node *node = &e->expr->node[k];
    if (--e->steps < 0)
        return fail(e, node, OPTUNE_ELIMIT, "computing this takes too long");
    switch ((ot_expr_kind)node->kind) {
    case OT_NODE_VALUE:
        *to = node->value;
        return true;
    case OT_NODE_NAME:
        return name_of(e, node, to);
    case OT_NODE_LOCAL:
        *to = e->local[node->i];
        return true;
    case OT_NODE_LIST:
        return items_of(e, node, to);
    case OT_NODE_EACH:
        return each(e, node, to);
    case OT_NODE_INDEX:
        return pick(e, node, to);
    case OT_NODE_NEGATIVE:
    case OT_NODE_POSITIVE:
        return sign_of(e, node, to);
    case OT_NODE_NOT:
        if (!eval(e, node->child, to))
            return false;
        *to = truth(!ot_value_true(to));
        return true;
    case OT_NODE_AND:
    case OT_NODE_OR:
        return eval(e, node->child, to) && (ot_value_true(to) == (node->kind == OT_NODE_OR) ||
                                            eval(e, e->expr->node[node->child].next, to));
    case OT_NODE_CHAIN:
        return chain(e, node, to);
    case OT_NODE_MIN:
    case OT_NODE_MAX:
        return extreme(e, node, to);
    case OT_NODE_RANGE:
        return range(e, node, to);
    case OT_NODE_TO_LIST:
        if (!eval(e, node->child, to))
            return false;
        return to->kind == OT_VALUE_LIST ||
               fail(e, node, OPTUNE_ETYPE, "no list is made of this");
    default:
        return binary(e, node, to);
    }
}

int ot_expr_eval(const ot_expr *expr, const ot_expr_value *value, ot_arena *arena,
                 ot_expr_value *result, optune_err *err)
{
    optune_err own = {0};
    evaluation e = {.expr = expr,
                    .name = value,
                    .arena = arena,
                    .err = err ? err : &own,
                    .steps = OT_EXPR_MOST_STEPS};
    return eval(&e, expr->root, result) ? OPTUNE_OK : e.err->status;
}

int ot_expr_number(const ot_expr *expr, ot_expr_meaning *meaning, const void *arg,
                   double *number, optune_err *err)
{
    ot_expr_value value[OT_EXPR_MOST_NAMES] = {0}, result;
    ot_arena arena = {0};
    for (int i = 0; i < expr->n_names; i++)
        meaning(arg, expr->name[i], &value[i]);
    int status = ot_expr_eval(expr, value, &arena, &result, err);
    if (status >= 0 && !ot_value_number(&result))
        status = ot_fail_at(expr->place, OPTUNE_ETYPE, err, "'%s' is %s, no number", expr->text,
                            ot_value_kind_name(result.kind));
    *number = status >= 0 ? ot_value_real(&result) : 0;
    ot_arena_release(&arena);
    return status;
}
