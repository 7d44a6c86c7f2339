/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators with DequantizeLinear in front of them and QuantizeLinear behind, as quantisers write
 * them: products of a constant weight are summed as the integers that they are, what only moves
 * elements moves bytes.
 *
 * The one idea: what a DequantizeLinear gives is not computed before somebody reads the floats; a
 * node that can do with the integers takes those.
 */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

typedef ot_onnx_value value;
typedef ot_onnx_integers integers;

static const optune_dtype f32 = {.code = OPTUNE_DTYPE_FLOAT, .bits = 32, .lanes = 1};
static const optune_dtype i32 = {.code = OPTUNE_DTYPE_INT, .bits = 32, .lanes = 1};
static const optune_dtype u8 = {.code = OPTUNE_DTYPE_UINT, .bits = 8, .lanes = 1};

/* ---- what is dequantised --------------------------------------------------------------------- */

static bool is_integer(optune_dtype t, int bits)
{
    return (t.code == OPTUNE_DTYPE_INT || t.code == OPTUNE_DTYPE_UINT) && t.bits == bits &&
           t.lanes == 1;
}

/* A constant of one number, or of a list of them; how many. 0: it is neither. */
static int64_t listed(const value *by)
{
    const bool all = by->data && by->type.rank <= 1 && optune_tensor_known(&by->type);
    return all ? optune_tensor_elements(&by->type) : 0;
}

static bool number_of(ot_onnx_node *n, value *by, double *number)
{
    const void *data = listed(by) == 1 ? ot_onnx_look(n, by) : NULL;
    if (data)
        ot_elements(by->type.dtype, data, 0, 1, number);
    return data != NULL;
}

/* Constant scales of float32 and zeros of x's dtype, as many of one as of the other. */
static bool of_constants(const ot_onnx_node *n, const value *x, const value *scale,
                         const value *zero)
{
    return !x->nibbles && listed(scale) && optune_dtype_equal(scale->type.dtype, f32) &&
           !ot_onnx_int(n, "block_size", 0) && !ot_onnx_int(n, "output_dtype", 0) &&
           (!zero || (listed(zero) == listed(scale) &&
                      optune_dtype_equal(zero->type.dtype, ot_onnx_type(n->m, x)->dtype)));
}

static const integers *noted(const ot_onnx_node *n, value *x, value *scale, value *zero)
{
    integers *own = ot_arena_alloc(&n->m->arena, sizeof *own);
    *own = (integers){.x = x,
                      .scale = scale,
                      .zero = zero,
                      .axis = ot_onnx_int(n, "axis", 1),
                      .proto = n->proto,
                      .op = n->op,
                      .index = n->index};
    return own;
}

/* The floats of these integers, whenever somebody reads them. */
static value *later(const ot_onnx_node *n, const integers *of)
{
    value *all = ot_onnx_new(n->m);
    all->type = *ot_onnx_type(n->m, of->x);
    all->type.dtype = f32;
    all->integers = of;
    all->later = true;
    return all;
}

value *ot_onnx_dequantised_later(ot_onnx_node *n, value *x, value *scale, value *zero)
{
    if (x->data || x->sizes || x->sequence || !is_integer(ot_onnx_type(n->m, x)->dtype, 8) ||
        !of_constants(n, x, scale, zero) || listed(scale) != 1)
        return NULL;
    return later(n, noted(n, x, scale, zero));
}

void ot_onnx_note_integers(ot_onnx_node *n, value *all, value *x, value *scale, value *zero)
{
    if (all && x->data && of_constants(n, x, scale, zero))
        all->integers = noted(n, x, scale, zero);
}

/* ---- what is quantised behind a product ------------------------------------------------------ */

enum { MOST_BEHIND = 4 };

/* The QuantizeLinear that is reached, over nodes that cut what it rounds. */
typedef struct end {
    ot_onnx_node q;
    value *scale, *zero; /* zero: may be NULL */
    optune_dtype dtype;
    double range[2];
    int n_over, over[MOST_BEHIND]; /* nodes on the way */
} end;

static bool is_own(const ot_onnx_proto *p, const char *op)
{
    const char *domain = ot_onnx_text_of(p->domain);
    return !strcmp(ot_onnx_text_of(p->op_type), op) && (!*domain || !strcmp(domain, "ai.onnx"));
}

/* The limits of a Relu or a Clip; false: it is neither, or they are not known. */
static bool limits(ot_onnx_node *n, double at[2])
{
    static const char *const names[] = {"min", "max"};
    at[0] = is_own(n->proto, "Relu") ? 0 : -HUGE_VAL;
    at[1] = HUGE_VAL;
    if (is_own(n->proto, "Relu"))
        return true;
    if (!is_own(n->proto, "Clip"))
        return false;
    for (int i = 0; i < 2; i++) {
        const bool named = 1 + i < (int)n->proto->n_input && *n->proto->input[1 + i];
        value *by = named ? ot_onnx_in(n, 1 + i) : NULL;
        if (named && (!by || by->failed || !number_of(n, by, &at[i])))
            return false;
        if (n->m->opset < 11)
            at[i] = ot_onnx_real(n, names[i], at[i]);
    }
    return at[0] <= at[1];
}

/* As QuantizeLinear has it: 8 bits, one scale. */
static bool quantiser(ot_onnx_node *n, end *e)
{
    const ot_onnx_proto *p = n->proto;
    if (strcmp(ot_onnx_text_of(p->op_type), "QuantizeLinear") != 0 || p->n_input < 2 ||
        ot_onnx_int(n, "block_size", 0) || ot_onnx_int(n, "precision", 0))
        return false;
    const bool named = p->n_input > 2 && *p->input[2];
    value *scale = ot_onnx_in(n, 1), *zero = named ? ot_onnx_in(n, 2) : NULL;
    const int64_t asked = ot_onnx_int(n, "output_dtype", 0);
    optune_err why = {0};
    if (!scale || listed(scale) != 1 || !optune_dtype_equal(scale->type.dtype, f32) ||
        (named && (!zero || listed(zero) != 1)))
        return false;
    e->q = *n;
    e->scale = scale;
    e->zero = zero;
    e->dtype = zero ? zero->type.dtype : u8;
    if (!zero && asked && ot_onnx_dtype((int)asked, &e->dtype, &why) < 0)
        return false;
    return is_integer(e->dtype, 8) && (!asked || !zero) && p->n_output &&
           !ot_onnx_named(n->m, p->output[0]);
}

/* What alone reads the node's output, and alone what that gives, up to a QuantizeLinear. */
static bool end_of(const ot_onnx_node *n, end *e)
{
    ot_onnx_node at = *n, next;
    double low = -HUGE_VAL, high = HUGE_VAL, by[2], step, zero = 0;
    *e = (end){0};
    for (;;) {
        if (!ot_onnx_reader(&at, &next) || !next.proto->n_input ||
            strcmp(next.proto->input[0], at.proto->output[0]) != 0)
            return false;
        if (quantiser(&next, e))
            break;
        if (e->n_over == MOST_BEHIND || !next.proto->n_output || !limits(&next, by))
            return false;
        e->over[e->n_over++] = next.index;
        low = fmin(fmax(low, by[0]), by[1]); /* a limit goes through those behind it */
        high = fmin(fmax(high, by[0]), by[1]);
        at = next;
    }
    if (!number_of(&next, e->scale, &step) || !(step > 0) ||
        (e->zero && !number_of(&next, e->zero, &zero)))
        return false;
    const bool sign = e->dtype.code == OPTUNE_DTYPE_INT;
    const double least = sign ? -128 : 0, most = sign ? 127 : 255;
    e->range[0] = fmin(fmax(rint((double)((float)low / (float)step)) + zero, least), most);
    e->range[1] = fmin(fmax(rint((double)((float)high / (float)step)) + zero, least), most);
    return true;
}

/* ---- products -------------------------------------------------------------------------------- */

/* A sum of products in 32 bits, and what it stands for. */
typedef struct sum {
    value *all;
    const integers *x, *w;
    value *bias;  /* or NULL */
    value *whole; /* the same in 32 bits, which is in the sum; or NULL */
    int axis;     /* of the output, along which the weight's scales lie, and the bias */
} sum;

/* The integers of input i, of 8 bits, which are a constant or not. */
static const integers *taken(const ot_onnx_node *n, int i, bool constant)
{
    const value *in = ot_onnx_in(n, i);
    const integers *of = in && !in->failed ? in->integers : NULL;
    return of && (of->x->data != NULL) == constant &&
                   is_integer(ot_onnx_type(n->m, of->x)->dtype, 8)
               ? of
               : NULL;
}

/* One scale, or one for each place along this axis of so many dims. */
static bool lies_along(const integers *w, int axis, int rank)
{
    const int64_t at = w->axis + (w->axis < 0 ? rank : 0);
    return listed(w->scale) == 1 ||
           (at == axis && listed(w->scale) == w->x->type.dim[axis].min);
}

/* The weight in 32 bits, less its zero. */
static value *less_zero(ot_onnx_node *n, const integers *w, int axis)
{
    value *wide = ot_onnx_as(n, w->x, i32);
    return w->zero ? ot_onnx_2(n, "subtract", wide,
                               ot_onnx_along(n, wide, ot_onnx_as(n, w->zero, i32), axis))
                   : wide;
}

/* The bias in 32 bits, where its scales are those of the sum, as quantisers choose them; else
 * NULL. */
static value *whole_bias(ot_onnx_node *n, const sum *s)
{
    const integers *b = s->bias ? s->bias->integers : NULL;
    double x, w = 0, scale;
    if (!b || !b->x->data || !is_integer(b->x->type.dtype, 32) || b->x->type.rank != 1 ||
        b->x->type.dtype.code != OPTUNE_DTYPE_INT || !number_of(n, s->x->scale, &x))
        return NULL;
    const int64_t count = optune_tensor_elements(&b->x->type);
    const int64_t n_b = listed(b->scale), n_w = listed(s->w->scale);
    const void *by = ot_onnx_look(n, b->scale), *of = ot_onnx_look(n, s->w->scale);
    if (!by || !of || (n_b != 1 && n_b != count) || (n_w != 1 && n_w != count))
        return NULL;
    for (int64_t i = 0; i < (n_b > n_w ? n_b : n_w); i++) {
        ot_elements(f32, by, n_b == 1 ? 0 : i, 1, &scale);
        ot_elements(f32, of, n_w == 1 ? 0 : i, 1, &w);
        if (!(fabs(scale - x * w) <= 1e-6 * fabs(scale)))
            return NULL;
    }
    for (int64_t i = 0; b->zero && i < listed(b->zero); i++) {
        const void *zero = ot_onnx_look(n, b->zero);
        if (!zero)
            return NULL;
        ot_elements(i32, zero, i, 1, &w);
        if (w != 0)
            return NULL;
    }
    return b->x;
}

/* The sum as a float, with its bias. */
static value *real_sum(ot_onnx_node *n, const sum *s)
{
    value *by =
        ot_onnx_2(n, "multiply", s->x->scale, ot_onnx_along(n, s->all, s->w->scale, s->axis));
    value *all = ot_onnx_2(n, "multiply", ot_onnx_as(n, s->all, f32), by);
    return s->bias && !s->whole
               ? ot_onnx_2(n, "add", all, ot_onnx_along(n, all, s->bias, s->axis))
               : all;
}

/* `all` is what the QuantizeLinear gives, over nodes that are done then. */
static bool give_end(ot_onnx_node *n, const end *e, value *all)
{
    ot_onnx_node last = e->q;
    if (!all || ot_onnx_give(&last, 0, all) < 0)
        return false;
    for (int i = 0; i < e->n_over; i++)
        n->m->at->done[e->over[i]] = true;
    n->m->at->done[last.index] = true;
    return true;
}

/* What a kernel rounds itself; false: there is no QuantizeLinear behind that says how. */
static bool rounds(ot_onnx_node *n, const sum *s, end *e, ot_onnx_rounded *r)
{
    if (!end_of(n, e) || (s->bias && !s->whole))
        return false;
    *r = (ot_onnx_rounded){
        .x_scale = s->x->scale,
        .x_zero = s->x->zero,
        .w = s->w->x,
        .w_scale = s->w->scale,
        .w_zero = s->w->zero,
        .bias = s->whole,
        .y_scale = e->scale,
        .y_zero = e->zero,
        .dtype = e->dtype,
        .range = e->range,
    };
    return true;
}

/* Rounded as the QuantizeLinear behind says, if there is one; `w` is what slid, or NULL. */
static bool give_sum(ot_onnx_node *n, const sum *s, const ot_onnx_window *w)
{
    end e;
    value *all = NULL;
    const bool ends = end_of(n, &e) && (s->whole || !s->bias);
    if (ends) {
        value *const by[] = {ot_onnx_along(n, s->all, s->x->scale, s->axis),
                             ot_onnx_along(n, s->all, s->w->scale, s->axis),
                             ot_onnx_along(n, s->all, e.scale, s->axis)};
        value *zero =
            e.zero ? ot_onnx_along(n, s->all, ot_onnx_as(n, e.zero, f32), s->axis) : NULL;
        if (n->err->status < 0)
            return false;
        all = ot_onnx_requantised(n, s->all, by, zero, e.dtype, e.range);
    } else
        all = real_sum(n, s);
    if (all && w)
        all = ot_onnx_unslide(n, w, all);
    return ends ? give_end(n, &e, all) : all && ot_onnx_give(n, 0, all) >= 0;
}

/* Kernels of bytes pack what a window meets, in tiles of so many channels; of fewer products with
 * each byte of a tile than these, floats, which are read where they lie, are done sooner. */
enum { TILE = 64, PRODUCTS = 64 };

static bool is_worth_packing(const ot_onnx_node *n, const int64_t *weight)
{
    const int64_t groups = ot_onnx_int(n, "group", 1), in = weight[1];
    const int64_t packed = (in + TILE - 1) / TILE * TILE;
    return groups >= 1 && weight[0] / groups * in >= PRODUCTS * packed;
}

static bool integer_conv(ot_onnx_node *n)
{
    sum s = {
        .x = taken(n, 0, false), .w = taken(n, 1, true), .bias = ot_onnx_in(n, 2), .axis = 1};
    int64_t dim[OPTUNE_MAX_RANK];
    ot_onnx_window slide;
    if (!s.x || !s.w || s.w->x->type.rank != 4 || !lies_along(s.w, 0, 4) ||
        (s.bias && s.bias->later) || !ot_onnx_dims(n, s.w->x, dim) ||
        ot_onnx_type(n->m, s.x->x)->rank != 4 ||
        !optune_tensor_known(ot_onnx_type(n->m, s.x->x)))
        return false;
    if (s.bias && (ot_onnx_type(n->m, s.bias)->rank != 1 ||
                   ot_onnx_type(n->m, s.bias)->dim[0].min != dim[0]))
        return false;
    end e;
    ot_onnx_rounded r;
    s.whole = whole_bias(n, &s);
    if (rounds(n, &s, &e, &r)) {
        value *all = ot_onnx_rounded_conv(n, s.x->x, &r);
        if (all || n->err->status < 0)
            return all && give_end(n, &e, all);
    }
    if (!is_worth_packing(n, dim) || ot_onnx_settle(n->m, s.x->x, n->err) < 0 ||
        ot_onnx_slide(n, dim + 2, &slide) < 0)
        return false;
    slide.data = s.x->x;
    s.all = ot_onnx_narrow_conv(n, &slide, s.x->zero, less_zero(n, s.w, 0), s.whole);
    return s.all && give_sum(n, &s, &slide);
}

static bool integer_product(ot_onnx_node *n)
{
    const bool gemm = is_own(n->proto, "Gemm");
    const bool turn = gemm && ot_onnx_int(n, "transB", 0);
    sum s = {.x = taken(n, 0, false),
             .w = taken(n, 1, true),
             .bias = gemm ? ot_onnx_in(n, 2) : NULL,
             .axis = -1};
    if (!s.x || !s.w || s.w->x->type.rank != 2 || !lies_along(s.w, turn ? 0 : 1, 2) ||
        (s.bias && s.bias->later) || *ot_onnx_word(n, "activation", "") ||
        (gemm && (ot_onnx_int(n, "transA", 0) || ot_onnx_real(n, "alpha", 1) != 1 ||
                  (s.bias && ot_onnx_real(n, "beta", 1) != 1) ||
                  ot_onnx_type(n->m, s.x->x)->rank != 2)))
        return false;
    if (s.bias &&
        (ot_onnx_type(n->m, s.bias)->rank != 1 ||
         ot_onnx_type(n->m, s.bias)->dim[0].min != s.w->x->type.dim[turn ? 0 : 1].min))
        return false;
    end e;
    ot_onnx_rounded r;
    s.whole = whole_bias(n, &s);
    if (rounds(n, &s, &e, &r)) {
        value *all = ot_onnx_rounded_product(n, s.x->x, turn, &r);
        if (all || n->err->status < 0)
            return all && give_end(n, &e, all);
    }
    if (ot_onnx_settle(n->m, s.x->x, n->err) < 0)
        return false;
    value *w = less_zero(n, s.w, turn ? 0 : 1);
    w = w && turn ? ot_onnx_transpose(n, w, 2, (const int[]){1, 0}) : w;
    s.all = w ? ot_onnx_narrow_product(n, s.x->x, s.x->zero, w, s.whole) : NULL;
    return s.all && give_sum(n, &s, NULL);
}

/* ---- sums of two ----------------------------------------------------------------------------- */

static bool integer_sum(ot_onnx_node *n)
{
    const integers *a = taken(n, 0, false), *b = taken(n, 1, false);
    end e;
    if (!a || !b || !end_of(n, &e))
        return false;
    const ot_onnx_side side[] = {
        {a->x, a->scale, a->zero}, {b->x, b->scale, b->zero}, {NULL, e.scale, e.zero}};
    value *all = ot_onnx_rounded_sum(n, side, e.dtype, e.range);
    return all && give_end(n, &e, all);
}

/* ---- what moves elements --------------------------------------------------------------------- */

static bool same_constant(ot_onnx_node *n, value *a, value *b)
{
    double x = 0, y = 0;
    return (!a || number_of(n, a, &x)) && (!b || number_of(n, b, &y)) && x == y;
}

/* The integers themselves, where they are dequantised and quantised alike. */
static bool back_again(ot_onnx_node *n)
{
    const integers *of = taken(n, 0, false);
    end e = {0};
    if (!of || !quantiser(n, &e) || !same_constant(n, of->scale, e.scale) ||
        !same_constant(n, of->zero, e.zero) ||
        !optune_dtype_equal(e.dtype, ot_onnx_type(n->m, of->x)->dtype))
        return false;
    return ot_onnx_give(n, 0, of->x) >= 0;
}

/* The same node on x, which are integers; what it gives stands for floats as they do. */
static bool made_on(ot_onnx_node *n, const integers *of, value *x)
{
    if (!x || ot_onnx_settle(n->m, x, n->err) < 0)
        return false;
    ot_onnx_proto proto = *n->proto;
    ot_onnx_node own = *n;
    char *in = ot_arena_printf(&n->m->arena, "%s\n%d", n->proto->input[0], n->index);
    char *out = ot_arena_printf(&n->m->arena, "%s\n%d", n->proto->output[0], n->index);
    char **inputs = ot_arena_alloc(&n->m->arena, (proto.n_input + 1) * sizeof *inputs);
    for (size_t i = 1; i < proto.n_input; i++)
        inputs[i] = n->proto->input[i];
    inputs[0] = in;
    proto.input = inputs;
    proto.output = &out;
    own.proto = &proto;
    ot_onnx_name(n->m, in, x);
    if (n->op->make(&own) < 0)
        return false;
    integers *after = ot_arena_alloc(&n->m->arena, sizeof *after);
    *after = *of;
    after->x = ot_onnx_named(n->m, out);
    after->x = after->x ? ot_onnx_as(n, after->x, ot_onnx_type(n->m, of->x)->dtype) : NULL;
    return after->x && !after->x->data && ot_onnx_give(n, 0, later(n, after)) >= 0;
}

static bool moved(ot_onnx_node *n)
{
    const integers *of = taken(n, 0, false);
    return of && n->proto->n_output == 1 && made_on(n, of, of->x);
}

/* As floats, which have the kernels; a scale and a zero change no order. */
static bool largest(ot_onnx_node *n)
{
    const integers *of = taken(n, 0, false);
    return of && n->proto->n_output == 1 && ot_onnx_settle(n->m, of->x, n->err) >= 0 &&
           made_on(n, of, ot_onnx_as(n, of->x, f32));
}

/* What stands for floats stays where it is until somebody reads those. */
static bool stays(ot_onnx_node *n)
{
    value *x = ot_onnx_in(n, 0), *scale = n->proto->n_input > 1 ? ot_onnx_in(n, 1) : NULL;
    value *all = x->later && x->last && scale && !scale->failed
                     ? ot_onnx_dequantised_later(n, x, scale, ot_onnx_in(n, 2))
                     : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

/* ---- operators that say their scales themselves ---------------------------------------------- */

/* Input i, where it has no failure; NULL: it is left out. */
static value *known_input(const ot_onnx_node *n, int i)
{
    value *in = i < (int)n->proto->n_input ? ot_onnx_in(n, i) : NULL;
    return in && !in->failed ? in : NULL;
}

/* The weight from input 3 on, a bias at `bias`, the output's scale at `y`; false: something is
 * missing. */
static bool said(const ot_onnx_node *n, int bias, int y, ot_onnx_rounded *r)
{
    const value *x = known_input(n, 0);
    *r = (ot_onnx_rounded){
        .x_scale = known_input(n, 1),
        .x_zero = known_input(n, 2),
        .w = known_input(n, 3),
        .w_scale = known_input(n, 4),
        .w_zero = known_input(n, 5),
        .bias = bias ? known_input(n, bias) : NULL,
        .y_scale = known_input(n, y),
        .y_zero = known_input(n, y + 1),
    };
    if (!x || !r->x_scale || !r->w || !r->w_scale || !r->y_scale)
        return false;
    r->dtype = ot_onnx_type(n->m, r->y_zero ? r->y_zero : x)->dtype;
    return true;
}

static bool linear_conv(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    value *all = said(n, 8, 6, &r) ? ot_onnx_rounded_conv(n, ot_onnx_in(n, 0), &r) : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

static bool linear_product(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    value *all =
        said(n, 0, 6, &r) ? ot_onnx_rounded_product(n, ot_onnx_in(n, 0), false, &r) : NULL;
    return all && ot_onnx_give(n, 0, all) >= 0;
}

static bool linear_gemm(ot_onnx_node *n)
{
    ot_onnx_rounded r;
    if (ot_onnx_int(n, "transA", 0) || ot_onnx_real(n, "alpha", 1) != 1 || !said(n, 6, 7, &r) ||
        ot_onnx_type(n->m, ot_onnx_in(n, 0))->rank != 2)
        return false;
    value *all = ot_onnx_rounded_product(n, ot_onnx_in(n, 0), ot_onnx_int(n, "transB", 0), &r);
    return all && ot_onnx_give(n, 0, all) >= 0;
}

static bool linear_sum(ot_onnx_node *n)
{
    ot_onnx_side side[3];
    for (int i = 0; i < 3; i++) {
        side[i] = (ot_onnx_side){i < 2 ? known_input(n, 3 * i) : NULL,
                                 known_input(n, 3 * i + (i < 2)),
                                 known_input(n, 3 * i + 1 + (i < 2))};
        if ((i < 2 && !side[i].x) || !side[i].scale)
            return false;
    }
    const value *like = side[2].zero ? side[2].zero : side[0].x;
    value *all = ot_onnx_rounded_sum(n, side, ot_onnx_type(n->m, like)->dtype, NULL);
    return all && ot_onnx_give(n, 0, all) >= 0;
}

bool ot_onnx_as_integers(ot_onnx_node *n)
{
    static const struct {
        const char *op;
        bool (*make)(ot_onnx_node *n);
        bool says; /* which integers they are */
    } all[] = {
        {"QLinearConv", linear_conv, true},
        {"com.microsoft::QLinearConv", linear_conv, true},
        {"QLinearMatMul", linear_product, true},
        {"com.microsoft::QGemm", linear_gemm, true},
        {"com.microsoft::QLinearAdd", linear_sum, true},
        {"Conv", integer_conv, false},
        {"MatMul", integer_product, false},
        {"Gemm", integer_product, false},
        {"Add", integer_sum, false},
        {"Reshape", moved, false},
        {"Transpose", moved, false},
        {"Flatten", moved, false},
        {"Squeeze", moved, false},
        {"Unsqueeze", moved, false},
        {"MaxPool", largest, false},
        {"DequantizeLinear", stays, false},
        {"com.microsoft::DequantizeLinear", stays, false},
        {"QuantizeLinear", back_again, false},
        {"com.microsoft::QuantizeLinear", back_again, false},
    };
    const value *first = n->proto->n_input ? ot_onnx_in(n, 0) : NULL;
    if (!first || first->failed)
        return false;
    const bool held = first->integers || (first->later && first->last);
    for (int i = 0; i < OT_COUNT(all); i++)
        if ((held || all[i].says) && !strcmp(n->op->name, all[i].op))
            return all[i].make(n);
    return false;
}
