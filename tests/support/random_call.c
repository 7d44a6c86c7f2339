/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A draw starts from a sample, forgets most of its dims, changes some attributes and dtypes, and
 * then settles one unknown dim after the other, asking the type relation in between.
 */
#include "support/random_call.h"

#include <math.h>

#include "support/check.h"

/* Ones, primes, powers of two and their neighbours, and what networks are made of. */
static const int64_t sizes[] = {1,   1,   1,   2,   3,   3,    4,    5,    7,    8,    9,
                                11,  12,  13,  14,  16,  17,   20,   24,   28,   31,   32,
                                33,  37,  48,  55,  56,  63,   64,   65,   72,   96,   100,
                                112, 127, 128, 129, 192, 224,  251,  255,  256,  257,  320,
                                384, 509, 512, 572, 768, 1000, 1021, 1024, 2048, 4093, 4096};

/* Around what a grid's height and depth can be, with few divisors or none. */
static const int64_t long_ones[] = {65535,  65536,  65537,   2 * 32771, 3 * 21851,
                                    87617,  131071, 131072,  61 * 1103, 7 * 11 * 1013,
                                    262139, 524287, 1048576, 41 * 43 * 1103};

bool random_chance(uint64_t *rng, double p)
{
    return optune_random_unit(rng) < p;
}

int64_t random_between(uint64_t *rng, int64_t lo, int64_t hi)
{
    return lo + optune_random_below(rng, hi - lo + 1);
}

/* ---- attributes -------------------------------------------------------------------------- */

/* A whole number of the call that a dim may have to do with: groups, a window's edge. */
static int64_t related(uint64_t *rng, const optune_call *call)
{
    int64_t value[64];
    int n = 0;
    for (int i = 0; i < call->n_attrs; i++) {
        const optune_attr *a = &call->attr[i];
        const int count = a->kind == OPTUNE_ATTR_INTS ? a->n : a->kind == OPTUNE_ATTR_INT;
        for (int k = 0; k < count && n < 32; k++)
            if (a->i[k] > 1)
                value[n++] = a->i[k];
    }
    for (int i = 0; i < call->n_inputs; i++)
        for (int d = 0; d < call->input[i].type.rank && n < 64; d++)
            if (optune_dim_known(&call->input[i].type.dim[d]))
                value[n++] = call->input[i].type.dim[d].min;
    if (!n)
        return 1;
    static const int64_t times[] = {1, 1, 1, 1, 2, 3, 4, 16};
    return value[optune_random_below(rng, n)] *
           times[optune_random_below(rng, OT_COUNT(times))];
}

static int64_t attr_number(uint64_t *rng, const optune_op_attr *row, bool list)
{
    static const int64_t small[] = {0, 1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 32, 64, 255};
    if (!row->min && !row->max)
        return random_chance(rng, list ? 0.5 : 0.3)
                   ? random_between(rng, -3, 4)
                   : small[optune_random_below(rng, OT_COUNT(small))];
    /* a list is strides, padding, dilation, a window: small numbers, rarely large ones */
    int64_t value = list ? row->min + (random_chance(rng, 0.6)   ? random_between(rng, 0, 1)
                                       : random_chance(rng, 0.8) ? random_between(rng, 0, 4)
                                                                 : random_between(rng, 0, 9))
                         : small[optune_random_below(rng, OT_COUNT(small))];
    value = value < row->min ? row->min : value;
    return row->max > row->min && value > row->max ? row->max : value;
}

/* One of a list of words; false: any word goes, and none can be made up. */
static bool pick_word(uint64_t *rng, const char *words, optune_attr *to)
{
    char copy[256];
    char *word[32], *rest = NULL;
    int n = 0;
    if (!words || !ot_copy(copy, sizeof copy, words))
        return false;
    for (char *w = strtok_r(copy, " ", &rest); w && n < 32; w = strtok_r(NULL, " ", &rest))
        word[n++] = w;
    return n && ot_copy(to->word, sizeof to->word, word[optune_random_below(rng, n)]);
}

static void change_attr(uint64_t *rng, const optune_op *op, int i, optune_call *call)
{
    const optune_op_attr *row = ot_op_attr_at(op, i);
    optune_attr *a = &call->attr[i];
    switch (a->kind) {
    case OPTUNE_ATTR_INT:
        a->none = row->none && random_chance(rng, 0.2);
        a->i[0] = random_chance(rng, 0.2) ? related(rng, call) : attr_number(rng, row, false);
        if ((row->min || row->max) && (a->i[0] < row->min || a->i[0] > row->max))
            a->i[0] = attr_number(rng, row, false);
        break;
    case OPTUNE_ATTR_INTS:
        if (!row->length && random_chance(rng, 0.2))
            a->n = (uint8_t)random_between(rng, 0, 4);
        for (int k = 0; k < a->n; k++)
            if (random_chance(rng, 0.7))
                a->i[k] = attr_number(rng, row, true);
        if (row->length == 4 && random_chance(rng, 0.6)) /* the same on both sides */
            a->i[2] = a->i[0], a->i[3] = a->i[1];
        break;
    case OPTUNE_ATTR_BOOL:
        a->i[0] = random_chance(rng, 0.5);
        break;
    case OPTUNE_ATTR_FLOAT:
        a->f = ldexp((double)random_between(rng, -64, 64), -4);
        break;
    case OPTUNE_ATTR_WORD:
        pick_word(rng, row->words, a);
        break;
    default:
        break;
    }
}

/* Half of the attributes of some other sample, which words without a list are known from. */
static void mix_attrs(uint64_t *rng, const optune_call *other, optune_call *call)
{
    for (int i = 0; i < call->n_attrs && i < other->n_attrs; i++)
        if (random_chance(rng, 0.5))
            call->attr[i] = other->attr[i];
}

/* ---- types ------------------------------------------------------------------------------- */

static void forget(optune_tensor *type)
{
    for (int d = 0; d < OPTUNE_MAX_RANK; d++)
        type->dim[d] = (optune_dim){.max = OPTUNE_DIM_MAX};
}

static void change_dtypes(uint64_t *rng, optune_call *call)
{
    static const optune_dtype types[] = {
        {OPTUNE_DTYPE_FLOAT, 32, 1}, {OPTUNE_DTYPE_FLOAT, 32, 1},  {OPTUNE_DTYPE_FLOAT, 64, 1},
        {OPTUNE_DTYPE_FLOAT, 16, 1}, {OPTUNE_DTYPE_BFLOAT, 16, 1}, {OPTUNE_DTYPE_INT, 8, 1},
        {OPTUNE_DTYPE_INT, 16, 1},   {OPTUNE_DTYPE_INT, 32, 1},    {OPTUNE_DTYPE_INT, 64, 1},
        {OPTUNE_DTYPE_UINT, 8, 1},   {OPTUNE_DTYPE_UINT, 16, 1},   {OPTUNE_DTYPE_UINT, 32, 1},
        {OPTUNE_DTYPE_UINT, 64, 1},  {OPTUNE_DTYPE_BOOL, 8, 1},
    };
    const optune_dtype from = call->input[0].type.dtype;
    const optune_dtype to = types[optune_random_below(rng, OT_COUNT(types))];
    for (int i = 0; i < call->n_inputs; i++)
        if (optune_dtype_equal(call->input[i].type.dtype, from))
            call->input[i].type.dtype = to;
}

static int64_t draw_size(uint64_t *rng, const optune_call *call, const optune_dim *dim,
                         double room, bool empty)
{
    if (empty && dim->min == 0 && random_chance(rng, 0.2))
        return 0;
    const int64_t least = dim->min > 1 ? dim->min : 1;
    int64_t most = room < 1 ? 1 : room > 1 << 26 ? 1 << 26 : (int64_t)room;
    most = dim->max < most ? dim->max : most;
    if (most <= least)
        return least;
    int64_t size = sizes[optune_random_below(rng, OT_COUNT(sizes))];
    if (most > 65535 && random_chance(rng, 0.05))
        size = long_ones[optune_random_below(rng, OT_COUNT(long_ones))];
    else if (random_chance(rng, 0.3))
        size = related(rng, call);
    else if (random_chance(rng, 0.2))
        size = (int64_t)exp(optune_random_unit(rng) * log((double)most));
    return size < least ? least : size > most ? least + size % (most - least + 1) : size;
}

/* Elements of a tensor as far as its dims are known. */
static double known_elements(const optune_tensor *type)
{
    double n = 1;
    for (int d = 0; d < type->rank; d++)
        if (optune_dim_known(&type->dim[d]))
            n *= (double)type->dim[d].min;
    return n;
}

/* Gives the unknown dims sizes, in random order, at most `budget` elements a tensor; `empty`: 0,
 * too. */
static bool settle(uint64_t *rng, optune_call *call, double budget, bool empty)
{
    for (int step = 0; step < OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK; step++) {
        optune_err err = {0};
        const int status = ot_call_infer(call, &err);
        optune_dim *open[OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK];
        double room[OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK];
        int n = 0;
        if (status <= 0)
            return status == OPTUNE_OK;
        for (int i = 0; i < call->n_inputs; i++) {
            optune_tensor *type = &call->input[i].type;
            if (type->rank < 0)
                return false;
            for (int d = 0; d < type->rank; d++)
                if (!optune_dim_known(&type->dim[d])) {
                    room[n] = budget / known_elements(type);
                    open[n++] = &type->dim[d];
                }
        }
        if (!n)
            return false;
        const int which = (int)optune_random_below(rng, n);
        const optune_call before = *call;
        const int64_t at = (char *)open[which] - (char *)call;
        bool fits = false;
        for (int tries = 0; tries < 4 && !fits; tries++) {
            optune_dim *dim = (optune_dim *)((char *)call + at);
            *call = before;
            *dim = optune_dim_of(draw_size(rng, call, dim, room[which], empty));
            optune_call probe = *call;
            fits = ot_call_infer(&probe, NULL) >= 0;
        }
        if (!fits)
            return false;
    }
    return false;
}

static const char *a_sample(uint64_t *rng, const optune_op *op)
{
    int n = 0, m = 0;
    while (op->samples[n])
        n++;
    const optune_preset *preset = op->presets;
    while (preset && preset[m].name)
        m++;
    if (!m || random_chance(rng, 0.8))
        return op->samples[optune_random_below(rng, n)];
    preset = &preset[optune_random_below(rng, m)];
    for (n = 0; preset->workloads[n];)
        n++;
    return preset->workloads[optune_random_below(rng, n)];
}

static bool is_empty(const optune_call *call)
{
    optune_call copy = *call;
    optune_tensor *tensor[OT_MAX_TENSORS];
    const int n = ot_call_tensors(&copy, tensor);
    bool empty = false;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < tensor[i]->rank; d++)
            empty = empty || tensor[i]->dim[d].min < 1;
    return empty;
}

bool random_call_within(const optune_call *call, const random_limits *limits)
{
    double elements = 0;
    optune_call copy = *call;
    optune_tensor *tensor[OT_MAX_TENSORS];
    const int n = ot_call_tensors(&copy, tensor);
    for (int i = 0; i < n; i++) {
        if (!optune_tensor_known(tensor[i]))
            return false;
        elements += known_elements(tensor[i]);
    }
    return elements <= limits->elements && ot_call_flops(&copy) <= limits->flops;
}

/* As many inputs as there may be of an operator that takes any number: copies of those it has. */
static void change_count(uint64_t *rng, const optune_op *op, optune_call *call)
{
    const int n = call->n_inputs, most = ot_op_input_count(op);
    if (!op->joins || !random_chance(rng, 0.3))
        return;
    call->n_inputs = (int)random_between(rng, 1, random_chance(rng, 0.5) ? most : 8);
    for (int i = n; i < call->n_inputs; i++)
        call->input[i] = call->input[i % n];
}

/* Everything changes a lot at first, less with every try that came to nothing. */
static bool draw(uint64_t *rng, const optune_op *op, const random_limits *limits, double change,
                 optune_call *call)
{
    optune_err err = {0};
    optune_call other;
    if (ot_call_parse(a_sample(rng, op), call, &err) < 0 || call->n_epilogues)
        return false;
    change_count(rng, op, call);
    if (random_chance(rng, change / 2) && ot_call_parse(a_sample(rng, op), &other, &err) >= 0)
        mix_attrs(rng, &other, call);
    for (int i = 0; i < call->n_attrs; i++)
        if (random_chance(rng, change / 2))
            change_attr(rng, op, i, call);
    if (random_chance(rng, change / 2))
        change_dtypes(rng, call);
    const bool whole = random_chance(rng, change);
    for (int i = 0; i < call->n_inputs; i++) {
        optune_tensor *type = &call->input[i].type;
        for (int d = 0; d < type->rank; d++)
            if (whole || random_chance(rng, 0.5))
                type->dim[d] = (optune_dim){.max = OPTUNE_DIM_MAX};
        if (random_chance(rng, change / 5)) {
            type->rank =
                (int32_t)random_between(rng, 0, random_chance(rng, 0.8) ? 5 : OPTUNE_MAX_RANK);
            forget(type);
        }
        if (random_chance(rng, 0.2))
            call->input[i].is_const = !call->input[i].is_const;
    }
    if (op->outputs)
        call->n_outputs = op->outputs(call);
    for (int i = 0; i < OPTUNE_MAX_OUTPUTS; i++)
        call->output[i] = (optune_tensor){.rank = -1};
    const double budget = exp(optune_random_unit(rng) * log(limits->elements));
    const bool empty = random_chance(rng, limits->empty);
    return settle(rng, call, budget, empty) && ot_call_settle(call, NULL, &err) >= 0 &&
           (empty || !is_empty(call)) && random_call_within(call, limits);
}

bool random_call(uint64_t *rng, const optune_op *op, const random_limits *limits,
                 optune_call *call, ot_text *text)
{
    bool made = false;
    for (int tries = 0; tries < 60 && !made; tries++)
        made = draw(rng, op, limits, 1 - tries / 60.0, call);
    if (!made)
        return false;
    optune_err err = {0};
    ot_text_clear(text);
    ot_call_print(call, text);
    if (call->output[0].rank > 0 && random_call_fuses(call) && random_chance(rng, 0.15)) {
        ot_text fused = {0};
        optune_call with;
        bool fits = random_chance(rng, 0.5);
        if (fits) {
            fits = random_call_chain(rng, call, &with);
        } else {
            random_call_fuse(ot_text_str(text), (int)optune_random_below(rng, 3), &fused);
            fits = ot_call_parse(ot_text_str(&fused), &with, &err) >= 0;
        }
        if (fits && random_call_within(&with, limits)) {
            ot_text_clear(text);
            ot_call_print(&with, text);
        }
        ot_text_release(&fused);
    }
    ot_text again = {0};
    if (ot_call_parse(ot_text_str(text), call, &err) < 0)
        fail_msg("a call's own text is refused: %s", err.text);
    ot_call_print(call, &again);
    assert_string_equal(ot_text_str(&again), ot_text_str(text));
    ot_text_release(&again);
    return ot_call_static(call);
}

/* ---- what a test asks for ------------------------------------------------------------------ */

const optune_op *random_op(uint64_t *rng)
{
    enum { OFTEN = 6 };
    int n;
    const optune_op *const *ops = ot_ops(&n);
    const char *only = getenv("OPTUNE_TEST_OP");
    if (only && ot_op_find(only))
        return ot_op_find(only);
    for (;;) {
        const optune_op *op = ops[optune_random_below(rng, n)];
        const bool shares = op->scalar || op->reduce || op->pieces;
        if (ot_op_in_tree(op) && (!shares || optune_random_below(rng, OFTEN) == 0))
            return op;
    }
}

uint64_t random_seed(void)
{
    int64_t seed;
    const char *asked = getenv("OPTUNE_TEST_SEED");
    if (!asked || !ot_parse_int(asked, &seed))
        seed = (int64_t)(ot_unix_time() * 1000) % 1000000007;
    print_message("OPTUNE_TEST_SEED=%lld repeats this\n", (long long)seed);
    return (uint64_t)seed;
}

int random_asked(const char *variable, int otherwise)
{
    int64_t value;
    const char *text = getenv(variable);
    return text && ot_parse_int(text, &value) && value > 0 && value < INT32_MAX ? (int)value
                                                                                : otherwise;
}
