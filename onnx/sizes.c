/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of sizes of which some only a run knows: what Shape gives where dims are left open. They
 * are no tensors of the graph. What moves elements about is made as ever, over codes that stand for
 * them; sums and products of sizes are dims that are computed of others; what takes them for a
 * shape looks at them here. Everything else needs numbers, and says which dim to bind.
 */
#include <stdlib.h>
#include <string.h>

#include "call/dim_expr.h"
#include "onnx/onnx.h"

enum { MOST = OT_ONNX_LIST }; /* elements of a list of sizes */

/* No size, and no end of a slice, comes near. */
static const int64_t CODES[2] = {0x7a5e0000, (int64_t)1 << 52};

static int64_t codes_of(const optune_tensor *type)
{
    return CODES[type->dtype.bits == 64];
}

static optune_dim number(int64_t value)
{
    return (optune_dim){.min = value, .max = value};
}

static bool is_number(const optune_dim *dim)
{
    return dim->min == dim->max;
}

static int64_t element(const ot_onnx_value *value, int64_t i)
{
    return value->type.dtype.bits == 64 ? ((const int64_t *)value->data)[i]
                                        : ((const int32_t *)value->data)[i];
}

static void set_element(ot_onnx_value *value, int64_t i, int64_t to)
{
    if (value->type.dtype.bits == 64)
        ((int64_t *)value->data)[i] = to;
    else
        ((int32_t *)value->data)[i] = (int32_t)to;
}

static const optune_dim *kept(const ot_onnx_node *n, int64_t count, const optune_dim *dim)
{
    optune_dim *own = ot_arena_alloc(&n->m->arena, (size_t)count * sizeof *own);
    memcpy(own, dim, (size_t)count * sizeof *own);
    return own;
}

ot_onnx_value *ot_onnx_sizes(ot_onnx_node *n, const optune_tensor *type, const optune_dim *dim)
{
    const int64_t count = optune_tensor_elements(type);
    bool numbers = true;
    if (count > MOST) {
        ot_onnx_refuse(n, "%lld sizes, more than %d", (long long)count, MOST);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++)
        numbers = numbers && is_number(&dim[i]);
    if (!numbers) {
        ot_onnx_value *value = ot_onnx_new(n->m);
        value->type = *type;
        value->sizes = kept(n, count, dim);
        return value;
    }
    ot_onnx_value *value = NULL;
    if (ot_onnx_room(n->m, type, &value, n->err) < 0)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        set_element(value, i, dim[i].min);
    return value;
}

int ot_onnx_ask_sizes(ot_onnx_node *n, const ot_onnx_value *value)
{
    int64_t i = 0;
    while (is_number(&value->sizes[i]))
        i++;
    return ot_onnx_ask(n, &value->sizes[i], -1);
}

static const ot_onnx_value *first_sized(const ot_onnx_node *n, int from)
{
    for (int i = from; i < (int)n->proto->n_input; i++) {
        const ot_onnx_value *value = ot_onnx_in(n, i);
        if (value && value->sizes)
            return value;
    }
    return NULL;
}

static bool holds_sizes(const optune_tensor *type)
{
    return type->dtype.code == OPTUNE_DTYPE_INT && type->dtype.bits >= 32;
}

/* ---- what moves them ---------------------------------------------------------------------- */

/* A new value of which elements are codes becomes what they stand for. */
static int take_moved(ot_onnx_node *n, int output, const optune_dim *coded, int n_coded)
{
    const char *name = n->proto->output[output];
    ot_onnx_value *moved = *name ? ot_onnx_named(n->m, name) : NULL;
    optune_dim dim[MOST];
    bool open = false;
    if (!moved || !moved->data || moved->sizes || !holds_sizes(&moved->type))
        return OPTUNE_OK;
    const int64_t count = optune_tensor_elements(&moved->type), from = codes_of(&moved->type);
    if (count > MOST)
        return ot_onnx_refuse(n, "%lld sizes, more than %d", (long long)count, MOST);
    for (int64_t i = 0; i < count; i++) {
        const int64_t is = element(moved, i);
        dim[i] = is >= from && is < from + n_coded ? coded[is - from] : number(is);
        open = open || !is_number(&dim[i]);
    }
    for (int64_t i = 0; i < count && !open; i++)
        set_element(moved, i, dim[i].min);
    if (!open)
        return OPTUNE_OK;
    free(moved->data);
    moved->data = NULL;
    moved->sizes = kept(n, count, dim);
    return OPTUNE_OK;
}

static int move(ot_onnx_node *n)
{
    ot_onnx_value *lent[OPTUNE_MAX_INPUTS];
    int64_t most = 0; /* codes */
    int n_lent = 0, n_coded = 0;
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const ot_onnx_value *value = ot_onnx_in(n, (int)i);
        most += value && value->sizes ? optune_tensor_elements(&value->type) : 0;
    }
    optune_dim *coded = ot_arena_alloc(&n->m->arena, (size_t)most * sizeof *coded);
    for (size_t i = 0; i < n->proto->n_input && n_lent < OPTUNE_MAX_INPUTS; i++) {
        ot_onnx_value *value = ot_onnx_in(n, (int)i);
        if (!value || !value->sizes || value->data)
            continue;
        const int64_t count = optune_tensor_elements(&value->type);
        value->data = ot_arena_alloc(&n->m->arena, (size_t)count * sizeof(int64_t));
        for (int64_t k = 0; k < count; k++, n_coded++) {
            coded[n_coded] = value->sizes[k];
            set_element(value, k, codes_of(&value->type) + n_coded);
        }
        lent[n_lent++] = value;
    }
    int status = n->op->make(n);
    for (int i = 0; i < n_lent; i++)
        lent[i]->data = NULL;
    for (size_t i = 0; i < n->proto->n_output && status >= 0; i++)
        status = take_moved(n, (int)i, coded, n_coded);
    return status;
}

/* ---- what computes with them -------------------------------------------------------------- */

int ot_onnx_sizes_of(const ot_onnx_value *value, optune_dim dim[OT_ONNX_LIST])
{
    const optune_tensor *type = &value->type;
    if ((!value->sizes && !value->data) || !holds_sizes(type) || type->rank > 1 ||
        optune_tensor_elements(type) > MOST)
        return -1;
    const int count = (int)optune_tensor_elements(type);
    for (int i = 0; i < count; i++)
        dim[i] = value->sizes             ? value->sizes[i]
                 : type->dtype.bits == 64 ? number(((const int64_t *)value->data)[i])
                                          : number(((const int32_t *)value->data)[i]);
    return count;
}

/* One without a name where no expression says it: only a run knows. */
static optune_dim compute(char op, const optune_dim *a, const optune_dim *b)
{
    const optune_dim *const both[] = {a, b};
    const int64_t times[] = {1, op == '-' ? -1 : 1};
    optune_dim to = {.min = 0, .max = OPTUNE_DIM_MAX};
    if (op == '*')
        optune_dim_multiply(&to, 2, both, 1);
    else if (op != '/')
        optune_dim_compute(&to, 2, both, times, 0, 1);
    else if (is_number(b) && b->min > 0)
        optune_dim_compute(&to, 1, both, NULL, 0, b->min);
    return to;
}

/* False where it leaves 64 bits, or is a quotient that is no quotient of sizes. */
static bool compute_number(char op, int64_t a, int64_t b, int64_t *to)
{
    switch (op) {
    case '*':
        return !__builtin_mul_overflow(a, b, to);
    case '+':
        return !__builtin_add_overflow(a, b, to);
    case '-':
        return !__builtin_sub_overflow(a, b, to);
    default:
        *to = a < 0 || b < 1 ? 0 : a / b;
        return a >= 0 && b >= 1;
    }
}

static int calculate(ot_onnx_node *n, char op)
{
    const ot_onnx_value *in[] = {ot_onnx_need(n, 0), ot_onnx_need(n, 1)};
    optune_dim a[MOST], b[MOST], to[MOST];
    const int n_a = in[0] ? ot_onnx_sizes_of(in[0], a) : -1,
              n_b = in[1] ? ot_onnx_sizes_of(in[1], b) : -1;
    if (n_a < 0 || n_b < 0 || (n_a != n_b && n_a != 1 && n_b != 1))
        return ot_onnx_ask_sizes(n, first_sized(n, 0));
    const int count = n_a == 1 ? n_b : n_a;
    optune_tensor type = n_a == 1 && in[1]->type.rank ? in[1]->type : in[0]->type;
    type.rank = in[0]->type.rank > in[1]->type.rank ? in[0]->type.rank : in[1]->type.rank;
    for (int i = 0; i < count; i++) {
        const optune_dim *x = &a[n_a == 1 ? 0 : i], *y = &b[n_b == 1 ? 0 : i];
        int64_t is = 0;
        if (!is_number(x) || !is_number(y))
            to[i] = compute(op, x, y);
        else if (compute_number(op, x->min, y->min, &is))
            to[i] = number(is);
        else
            return ot_onnx_ask_sizes(n, first_sized(n, 0));
    }
    return ot_onnx_give(n, 0, ot_onnx_sizes(n, &type, to));
}

/* 1: they are the same, whatever a run finds; 0: they never are; -1: only a run knows. */
static int same(const optune_dim *a, const optune_dim *b)
{
    if (a->max < b->min || b->max < a->min)
        return 0;
    return is_number(a) && is_number(b) ? 1 : *a->name && !strcmp(a->name, b->name) ? 1 : -1;
}

static int compare(ot_onnx_node *n)
{
    static const optune_dtype truth = {.code = OPTUNE_DTYPE_UINT, .bits = 1, .lanes = 1};
    const ot_onnx_value *in[] = {ot_onnx_need(n, 0), ot_onnx_need(n, 1)};
    optune_dim a[MOST], b[MOST];
    ot_onnx_value *equal = NULL;
    const int n_a = in[0] ? ot_onnx_sizes_of(in[0], a) : -1,
              n_b = in[1] ? ot_onnx_sizes_of(in[1], b) : -1;
    if (n_a < 0 || n_b < 0 || (n_a != n_b && n_a != 1 && n_b != 1))
        return ot_onnx_ask_sizes(n, first_sized(n, 0));
    optune_tensor type = n_a == 1 && in[1]->type.rank ? in[1]->type : in[0]->type;
    type.dtype = truth;
    const int status = ot_onnx_room(n->m, &type, &equal, n->err);
    for (int i = 0; i < (n_a == 1 ? n_b : n_a) && status >= 0; i++) {
        const double is = same(&a[n_a == 1 ? 0 : i], &b[n_b == 1 ? 0 : i]);
        if (is < 0)
            return ot_onnx_ask_sizes(n, first_sized(n, 0));
        ot_elements_set(truth, equal->data, i, 1, &is);
    }
    return status < 0 ? status : ot_onnx_give(n, 0, equal);
}

static int cast(ot_onnx_node *n)
{
    const ot_onnx_value *in = ot_onnx_need(n, 0), *like = ot_onnx_in(n, 1); /* CastLike's */
    optune_tensor type = in->type;
    if (!in->sizes) /* what it is like has sizes */
        return n->op->make(n);
    if (like)
        type.dtype = ot_onnx_type(n->m, like)->dtype;
    else if (ot_onnx_dtype((int)ot_onnx_int(n, "to", 0), &type.dtype, n->err) < 0)
        return n->err->status;
    return type.dtype.code != OPTUNE_DTYPE_INT || type.dtype.bits < 32
               ? ot_onnx_ask_sizes(n, in)
               : ot_onnx_give(n, 0, ot_onnx_sizes(n, &type, in->sizes));
}

int ot_onnx_make_sized(ot_onnx_node *n)
{
    static const struct {
        const char *name;
        char op; /* 0: it moves its first input; ',': any; '=': likewise, or it looks at sizes
                    by itself, of a shape or an end; '?': it looks at sizes by itself */
    } ops[] = {{"Identity", 0}, {"Gather", 0},    {"Slice", '='}, {"Concat", ','},
               {"Squeeze", 0},  {"Unsqueeze", 0}, {"Split", 0},   {"Reshape", '='},
               {"Add", '+'},    {"Sub", '-'},     {"Mul", '*'},   {"Div", '/'},
               {"Where", ','},  {"Expand", '='},  {"Range", '?'}, {"ConstantOfShape", '?'},
               {"Resize", '?'}, {"Shape", '?'},   {"Size", '?'}};
    const ot_onnx_value *data = ot_onnx_in(n, 0), *other = first_sized(n, 1);
    const char *name = n->op->name;
    if (!strncmp(name, "Cast", 4) || !strcmp(name, "Equal"))
        return *name == 'C' ? cast(n) : compare(n);
    for (int i = 0; i < OT_COUNT(ops); i++) {
        if (strcmp(ops[i].name, name))
            continue;
        if (ops[i].op == '?' || (ops[i].op == '=' && !(data && data->sizes)))
            return n->op->make(n);
        if (ops[i].op == ',')
            return move(n);
        if (ops[i].op && ops[i].op != '=')
            return calculate(n, ops[i].op);
        return other ? ot_onnx_ask_sizes(n, other) : move(n);
    }
    return ot_onnx_ask_sizes(n, first_sized(n, 0));
}

bool ot_onnx_has_sizes(const ot_onnx_node *n)
{
    return first_sized(n, 0) != NULL;
}

/* ---- what takes them for a shape ----------------------------------------------------------- */

/* How a reshape keeps this dim of a value in place `d` of `count`: 0, OT_ONNX_FROM_LAST, or -1
 * where the value has another one there. `kept`: dims that are kept already. */
static int64_t keeping(const optune_dim *dim, const optune_tensor *from, int d, int count,
                       unsigned *kept)
{
    const int place[] = {d, from->rank - (count - d)};
    for (int k = 0; k < 2 && *dim->name; k++)
        if (place[k] >= 0 && place[k] < from->rank && !(*kept >> place[k] & 1) &&
            !strcmp(dim->name, from->dim[place[k]].name)) {
            *kept |= 1u << place[k];
            return k ? OT_ONNX_FROM_LAST : 0;
        }
    return -1;
}

int ot_onnx_shape_list(ot_onnx_node *n, const ot_onnx_value *shape, const optune_tensor *from,
                       ot_onnx_list *list)
{
    optune_dim dim[MOST];
    const int count = ot_onnx_sizes_of(shape, dim);
    int open = -1;
    unsigned kept = 0;
    bool several = false;
    if (count < 0 || count > OPTUNE_MAX_RANK)
        return ot_onnx_refuse(n, "a shape that is no list of at most %d integers",
                              OPTUNE_MAX_RANK);
    list->n = count;
    for (int d = 0; d < count; d++) {
        const bool known = is_number(&dim[d]);
        if (known && dim[d].min < -1)
            return ot_onnx_refuse(n, "a dim of %lld", (long long)dim[d].min);
        list->i[d] = known ? dim[d].min : keeping(&dim[d], from, d, count, &kept);
        kept |= known && dim[d].min == 0 && d < from->rank ? 1u << d : 0;
        if (known && dim[d].min == 0 &&
            (d >= from->rank || from->dim[d].min != 0 || from->dim[d].max != 0) &&
            ot_onnx_int(n, "allowzero", 0))
            return ot_onnx_refuse(n, "a dim of 0 where its input may have elements");
        if (list->i[d] != -1)
            continue;
        if (open >= 0 && known && is_number(&dim[open]))
            return ot_onnx_refuse(n, "two dims of -1");
        several = several || open >= 0;
        open = d;
    }
    return several ? 0 : 1;
}
