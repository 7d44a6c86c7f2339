/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a candidate computes the right thing: inputs from a seed, outputs poisoned first,
 * everything behind guards, every known element against its bound. A wrong answer is an
 * outcome with the first bad element, never an error.
 *
 * The one idea: the bound grows as the error of honest arithmetic does, scale *
 * growth(terms) * eps * sum of absolute products, so it neither forgives a wrong tail nor
 * blames a long sum.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

/* ---- dtypes ------------------------------------------------------------------------------ */

static bool is_float(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
}

/* Distance from 1 to the next value, and the smallest normal one. */
static double epsilon(optune_dtype dtype)
{
    if (!is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1p-7
           : dtype.bits == 16                ? 0x1p-10
           : dtype.bits == 32                ? FLT_EPSILON
                                             : DBL_EPSILON;
}

static double smallest(optune_dtype dtype)
{
    if (!is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 16   ? 0x1p-14
           : dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64 ? DBL_MIN
                                                                  : FLT_MIN;
}

/* 0: a value of any size has its place in it. */
static double largest(optune_dtype dtype)
{
    if (!is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1.fep127
           : dtype.bits == 16                ? 65504
           : dtype.bits == 32                ? FLT_MAX
                                             : DBL_MAX;
}

/* ---- inputs ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Floats are uniform in [-1, 1) with 24 significant bits; wide integers stay small, so that
 * sums of products do not overflow. */
void ot_fill_input(const optune_tensor *type, uint64_t seed, int index, void *to)
{
    const optune_dtype dtype = type->dtype;
    const int64_t n = optune_tensor_elements(type) * (dtype.lanes ? dtype.lanes : 1);
    const uint64_t start = mix(seed + 0x9e3779b97f4a7c15 * (uint64_t)(index + 1));
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = mix(start + 0x9e3779b97f4a7c15 * (uint64_t)i);
        const double x = (double)(int64_t)(r >> 40) * 0x1p-23 - 1;
        const int64_t whole =
            dtype.bits <= 8 ? (int64_t)(r >> 40 & 255) - 128 : (int64_t)(r >> 40) % 2001 - 1000;
        if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 32)
            ((float *)to)[i] = (float)x;
        else if (dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64)
            ((double *)to)[i] = x;
        else if (is_float(dtype))
            ot_elements_set(dtype, to, i, 1, &x);
        else if (dtype.code == OPTUNE_DTYPE_BOOL || dtype.bits == 1)
            ((uint8_t *)to)[i] = r >> 63;
        else if (dtype.bits <= 8)
            ((uint8_t *)to)[i] = (uint8_t)whole;
        else if (dtype.bits == 16)
            ((int16_t *)to)[i] =
                (int16_t)(dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole);
        else if (dtype.bits == 32)
            ((int32_t *)to)[i] =
                (int32_t)(dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole);
        else
            ((int64_t *)to)[i] = dtype.code == OPTUNE_DTYPE_UINT ? labs(whole) : whole;
    }
}

bool ot_input_range(const optune_call *call, int index, double *low, double *high)
{
    return index < call->n_inputs && call->op->range &&
           call->op->range(call, index, low, high) && *low <= *high;
}

void ot_fill_call_input(const optune_call *call, uint64_t seed, int index, void *to)
{
    enum { SOME = 1024 };
    const optune_tensor *type = &call->input[index].type;
    const uint64_t start = mix(seed + 0x9e3779b97f4a7c15 * (uint64_t)(index + 1));
    const int64_t n = optune_tensor_elements(type);
    double low, high, piece[SOME];
    if (!ot_input_range(call, index, &low, &high)) {
        ot_fill_input(type, seed, index, to);
        return;
    }
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t some = n - at < SOME ? n - at : SOME;
        for (int64_t i = 0; i < some; i++) {
            const uint64_t r = mix(start + 0x9e3779b97f4a7c15 * (uint64_t)(at + i));
            const double u = (double)(r >> 11) * 0x1p-53;
            piece[i] = is_float(type->dtype) ? low + u * (high - low)
                                             : fmin(high, floor(low + u * (high - low + 1)));
        }
        ot_elements_set(type->dtype, to, at, some, piece);
    }
}

/* ---- outputs ----------------------------------------------------------------------------- */

static const double MOST_SCALE = 64;

double ot_error_bound(const optune_call *call, const optune_impl *impl, int out_index)
{
    double eps = epsilon(call->output[out_index].dtype);
    if (eps == 0)
        return 0;
    /* What rounding the sum to the output's type adds, and once more a fused operator's result. */
    double factor = 0;
    if (call->op->float32_sums && eps > FLT_EPSILON) {
        factor = eps;
        eps = FLT_EPSILON;
    }
    const double terms = call->op->terms ? call->op->terms(call) : 1;
    /* A row says what its algorithm loses; whoever needs more than this has lost the answer. */
    const double scale = impl->error_scale > 0 ? fmin(impl->error_scale, MOST_SCALE) : 1;
    /* Rounding errors add up like a random walk; a short sum cannot even do that. */
    const double growth = fmin(fmax(terms, 1), 2 * sqrt(terms) + 4);
    /* A reduced numerics class rounds each factor once, whatever the sum is kept in. */
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, "math") == 0 && strcmp(call->attr[i].word, "tf32") == 0)
            factor += 0x1p-10;
    return scale * growth * eps + factor;
}

static void print_place(const optune_tensor *type, int64_t offset, ot_text *to)
{
    int64_t at[OPTUNE_MAX_RANK] = {0};
    for (int d = type->rank - 1; d >= 0; d--) {
        const int64_t extent = type->dim[d].min;
        at[d] = offset % extent;
        offset /= extent;
    }
    ot_text_add(to, "[");
    for (int d = 0; d < type->rank; d++)
        ot_text_printf(to, "%s%lld", d ? "," : "", (long long)at[d]);
    ot_text_add(to, "]");
}

typedef struct comparison {
    int64_t wrong, seen, first; /* elements; the first wrong one's offset */
    double got, want, bound;
    double error;
} comparison;

enum { PIECE = 1024 };

/* A value that the type cannot hold is infinite in it. */
static bool overflows(double got, double want, double bound, double most)
{
    return most > 0 && isinf(got) && (got > 0 ? want + bound > most : want - bound < -most);
}

static void compare_block(const optune_call *call, const ot_reference *reference,
                          const ot_block *block, const void *out, double bound_factor,
                          comparison *c)
{
    const optune_dtype dtype = call->output[block->output].dtype;
    const double *want = (const double *)(reference->map + block->value);
    const float *magnitude = (const float *)(reference->map + block->magnitude);
    const double tiny = smallest(dtype), most = largest(dtype);
    double got[PIECE];
    for (int64_t start = 0; start < block->count; start += PIECE) {
        const int64_t n = block->count - start < PIECE ? block->count - start : PIECE;
        ot_elements(dtype, out, block->offset + start, n, got);
        for (int64_t i = 0; i < n; i++) {
            const double w = want[start + i];
            const double bound = bound_factor * (double)magnitude[start + i] + tiny;
            const double off = fabs(got[i] - w);
            const bool right = off <= bound || (isnan(w) && isnan(got[i])) || got[i] == w ||
                               overflows(got[i], w, bound, most);
            if (right) {
                if (off <= bound && bound > 0 && off > c->error * bound)
                    c->error = off / bound;
            } else if (c->wrong++ == 0 || block->offset + start + i < c->first) {
                c->first = block->offset + start + i;
                c->got = got[i];
                c->want = w;
                c->bound = bound;
            }
        }
        c->seen += n;
    }
}

/* Where only part of the reference is known, an element that was never written still shows. */
static int64_t find_unwritten(const optune_tensor *type, const char *out)
{
    const size_t size = type->dtype.bits / 8u;
    const int64_t bytes = optune_tensor_bytes(type);
    static const unsigned char poison[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    if (!is_float(type->dtype))
        return -1;
    for (int64_t at = 0; at < bytes; at += (int64_t)size)
        if (memcmp(out + at, poison, size) == 0)
            return at / (int64_t)size;
    return -1;
}

static void say_wrong(const optune_tensor *type, int output, const comparison *c, char *message,
                      size_t size)
{
    ot_text place = {0};
    print_place(type, c->first, &place);
    ot_format(message, size,
              "output %d%s: got %.9g, want %.9g, bound %.3g (%lld of %lld wrong)", output,
              ot_text_str(&place), c->got, c->want, c->bound, (long long)c->wrong,
              (long long)c->seen);
    ot_text_release(&place);
}

static bool judge_output(const optune_call *call, const optune_impl *impl,
                         const ot_reference *reference, int o, const void *out, int64_t most,
                         uint64_t where, double *error, char *message, size_t size)
{
    comparison c = {.error = *error};
    const double bound = ot_error_bound(call, impl, o);
    const int64_t n = reference->n_blocks,
                  from = most && n ? (int64_t)(where % (uint64_t)n) : 0;
    for (int64_t k = 0; k < n && (most == 0 || c.seen < most); k++) {
        const ot_block *block = &reference->block[(from + k) % n];
        if (block->output == o)
            compare_block(call, reference, block, out, bound, &c);
    }
    *error = c.error;
    if (c.wrong) {
        *error = c.bound > 0 ? fabs(c.got - c.want) / c.bound : INFINITY;
        say_wrong(&call->output[o], o, &c, message, size);
        return false;
    }
    const int64_t unwritten =
        most || reference->whole ? -1 : find_unwritten(&call->output[o], out);
    if (unwritten >= 0) {
        ot_text place = {0};
        print_place(&call->output[o], unwritten, &place);
        snprintf(message, size, "output %d%s was never written", o, ot_text_str(&place));
        ot_text_release(&place);
    }
    return unwritten < 0;
}

bool ot_judge(const optune_call *call, const optune_impl *impl, const ot_reference *reference,
              const void *const *out, int64_t most, uint64_t where, double *error,
              char *message, size_t size)
{
    for (int o = 0; o < call->n_outputs; o++)
        if (!judge_output(call, impl, reference, o, out[o], most, where, error, message, size))
            return false;
    return true;
}

bool ot_verify_outputs(ot_session *s, int kind, const optune_impl *impl, double *error,
                       char *message, size_t size)
{
    for (int o = 0; o < s->call.n_outputs; o++) {
        if (s->row->read(s->state, s->out[kind][o], s->host, s->out_bytes[o]) < 0) {
            snprintf(message, size, "output %d cannot be read back", o);
            return false;
        }
        if (!judge_output(&s->call, impl, &s->reference, o, s->host, 0, 0, error, message,
                          size))
            return false;
    }
    return true;
}

int ot_verify(ot_session *s, ot_loaded *loaded, double *error, char *message, size_t size)
{
    optune_err err = {0};
    ot_bound *b = NULL;
    int outcome = OPTUNE_OUTCOME_OK;
    bool damaged = false;
    *error = 0;
    int status = ot_bound_open(s, loaded, OT_GUARDED, &b, &err);
    if (status >= 0)
        status = ot_bound_prepack(b, &err);
    if (status >= 0)
        status = ot_bound_poison(b, &err);
    if (status >= 0)
        status = s->row->run(s->state, b->launch[OPTUNE_TIMED], b->n[OPTUNE_TIMED], &err);
    if (status < 0) {
        snprintf(message, size, "%s", err.text);
        outcome = OPTUNE_OUTCOME_RUNTIME;
    } else if (!ot_session_intact(s, OT_GUARDED, message, size) ||
               !ot_bound_intact(b, message, size)) {
        outcome = OPTUNE_OUTCOME_WRONG;
        damaged = true;
    } else if (!ot_verify_outputs(s, OT_GUARDED, loaded->impl, error, message, size)) {
        outcome = OPTUNE_OUTCOME_WRONG;
    }
    ot_bound_close(b);
    if (damaged && ot_session_renew(s, &err) < 0)
        s->ready = false;
    return outcome;
}
