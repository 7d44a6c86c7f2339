/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a candidate computes the right thing: outputs poisoned first, everything
 * behind guards, every known element against its bound (tolerance.c). A wrong answer is an
 * outcome with the first bad element, never an error.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

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
    uint64_t word[2]; /* of 64-bit integers: got, wanted */
    bool left;        /* something was written where nothing was to be */
    double error;
} comparison;

enum { PIECE = 1024, PART = 1 << 18 }; /* elements */

/* A value that the type cannot hold is infinite in it. */
static bool overflows(double got, double want, double bound, double most)
{
    return most > 0 && isinf(got) && (got > 0 ? want + bound > most : want - bound < -most);
}

/* An infinity is itself, or what is as good as one in a type that has hardly more. */
static bool as_infinite(double got, double want, double most)
{
    return got == want || (most > 0 && (want > 0 ? got : -got) >= 0.99 * most);
}

/* What an operator's standard does not write is to be left as it was, where that is known: what
 * nobody drew is computed over anything. */
static bool is_left(const ot_reference *reference, const ot_block *block, int64_t i)
{
    const float *magnitude = (const float *)(reference->map + block->magnitude);
    return reference->left[block->output] > 0 && isnan(magnitude[i]);
}

/* Integers of 64 bits are equal or wrong, but for an operator's own tolerance. */
static void compare_words(const ot_reference *reference, const ot_block *block, const void *out,
                          optune_dtype dtype, double bound_factor, comparison *c)
{
    const bool sign = dtype.code == OPTUNE_DTYPE_INT;
    const float *magnitude = (const float *)(reference->map + block->magnitude);
    const char *want = reference->map + block->value;
    const char *got = (const char *)out + block->offset * (int64_t)sizeof *c->word;
    for (int64_t i = 0; i < block->count; i++) {
        uint64_t word[2];
        memcpy(&word[0], got + i * 8, sizeof *word);
        memcpy(&word[1], want + i * 8, sizeof *word);
        const bool more = sign ? (int64_t)word[0] > (int64_t)word[1] : word[0] > word[1];
        const double apart = (double)(more ? word[0] - word[1] : word[1] - word[0]);
        const double bound = bound_factor * (double)magnitude[i];
        const bool left = is_left(reference, block, i);
        const bool wrong =
            left ? !reference->given && !ot_is_poison(dtype, out, block->offset + i)
                 : apart > bound;
        if (wrong && (c->wrong++ == 0 || block->offset + i < c->first)) {
            c->first = block->offset + i;
            c->bound = bound;
            c->left = left;
            memcpy(c->word, word, sizeof word);
        }
    }
    c->seen += block->count;
}

static void compare_block(const optune_call *call, const ot_reference *reference,
                          const ot_block *block, const void *out, double bound_factor,
                          comparison *c)
{
    const optune_dtype dtype = call->output[block->output].dtype;
    if (ot_dtype_is_long(dtype)) {
        compare_words(reference, block, out, dtype, bound_factor, c);
        return;
    }
    const double *want = (const double *)(reference->map + block->value);
    const float *magnitude = (const float *)(reference->map + block->magnitude);
    const double tiny = ot_dtype_smallest(dtype), most = ot_dtype_largest(dtype);
    double got[PIECE];
    for (int64_t start = 0; start < block->count; start += PIECE) {
        const int64_t n = block->count - start < PIECE ? block->count - start : PIECE;
        ot_elements(dtype, out, block->offset + start, n, got);
        for (int64_t i = 0; i < n; i++) {
            const double w = want[start + i];
            const double bound = bound_factor * (double)magnitude[start + i] + tiny;
            const double off = fabs(got[i] - w);
            /* Behind fused steps an infinite bound says that nothing is known here. */
            const bool unknown = call->n_epilogues && isinf(bound);
            const bool left = is_left(reference, block, start + i);
            const bool right =
                left ? reference->given || ot_is_poison(dtype, out, block->offset + start + i)
                : isinf(w) && !unknown
                    ? as_infinite(got[i], w, most)
                    : unknown || off <= bound || (isnan(w) && isnan(got[i])) || got[i] == w ||
                          overflows(got[i], w, bound, most);
            if (right) {
                if (off <= bound && bound > 0 && off > c->error * bound)
                    c->error = off / bound;
            } else if (c->wrong++ == 0 || block->offset + start + i < c->first) {
                c->first = block->offset + start + i;
                c->got = got[i];
                c->want = w;
                c->bound = bound;
                c->left = left;
            }
        }
        c->seen += n;
    }
}

/* Where only part of the reference is known, an element that was never written still shows. */
typedef struct unwritten {
    const char *out;
    int size;              /* of an element, in bytes */
    _Atomic int64_t first; /* such an element; as many as there are: none */
} unwritten;

#define FIND_POISON(type)                                                                      \
    do {                                                                                       \
        const type *p = (const type *)(const void *)u->out;                                    \
        for (int64_t at = from; at < to; at += PIECE) {                                        \
            const int64_t end = to - at < PIECE ? to : at + PIECE;                             \
            bool any = false;                                                                  \
            for (int64_t i = at; i < end; i++)                                                 \
                any |= p[i] == (type) ~(type)0;                                                \
            for (int64_t i = at; any && i < end; i++)                                          \
                if (p[i] == (type) ~(type)0)                                                   \
                    return i;                                                                  \
        }                                                                                      \
    } while (0)

static int64_t find_in(const unwritten *u, int64_t from, int64_t to)
{
    if (u->size == 1)
        FIND_POISON(uint8_t);
    else if (u->size == 2)
        FIND_POISON(uint16_t);
    else if (u->size == 4)
        FIND_POISON(uint32_t);
    else
        FIND_POISON(uint64_t);
    return INT64_MAX;
}

static void find_part(void *arg, int64_t from, int64_t to)
{
    unwritten *u = arg;
    const int64_t found = find_in(u, from, to);
    int64_t first = atomic_load(&u->first);
    while (found < first && !atomic_compare_exchange_weak(&u->first, &first, found))
        continue;
}

static int64_t find_unwritten(const optune_tensor *type, const char *out, int threads)
{
    const int size = type->dtype.bits / 8;
    if (!ot_dtype_is_float(type->dtype))
        return -1;
    unwritten u = {.out = out, .size = size, .first = INT64_MAX};
    ot_parallel(optune_tensor_bytes(type) / size, PART, threads, find_part, &u);
    return u.first == INT64_MAX ? -1 : u.first;
}

static void say_wrong(const optune_tensor *type, int output, const comparison *c, char *message,
                      size_t size)
{
    ot_text place = {0};
    print_place(type, c->first, &place);
    if (c->left) {
        ot_format(message, size,
                  "output %d%s was written, where what says what is right writes nothing "
                  "(%lld of %lld wrong)",
                  output, ot_text_str(&place), (long long)c->wrong, (long long)c->seen);
    } else if (ot_dtype_is_long(type->dtype)) {
        const bool sign = type->dtype.code == OPTUNE_DTYPE_INT;
        ot_format(message, size,
                  sign ? "output %d%s: got %lld, want %lld (%lld of %lld wrong)"
                       : "output %d%s: got %llu, want %llu (%lld of %lld wrong)",
                  output, ot_text_str(&place), (long long)c->word[0], (long long)c->word[1],
                  (long long)c->wrong, (long long)c->seen);
    } else {
        ot_format(message, size,
                  "output %d%s: got %.9g, want %.9g, bound %.3g (%lld of %lld wrong)", output,
                  ot_text_str(&place), c->got, c->want, c->bound, (long long)c->wrong,
                  (long long)c->seen);
    }
    ot_text_release(&place);
}

int ot_judged_blocks(const ot_reference *reference, int64_t most, uint64_t where,
                     const ot_block *block[OT_REFERENCE_BLOCKS])
{
    const int64_t blocks = reference->n_blocks,
                  from = most && blocks ? (int64_t)(where % (uint64_t)blocks) : 0;
    int64_t seen[OPTUNE_MAX_OUTPUTS] = {0};
    int n = 0;
    for (int64_t k = 0; k < blocks && k < OT_REFERENCE_BLOCKS; k++) {
        const ot_block *b = &reference->block[(from + k) % blocks];
        if (most && seen[b->output] >= most)
            continue;
        seen[b->output] += b->count;
        block[n++] = b;
    }
    return n;
}

typedef struct judging { /* of one output */
    const optune_call *call;
    const ot_reference *reference;
    const ot_block **block;
    int output;
    const void *out;
    double bound;
    pthread_mutex_t lock;
    comparison all;
} judging;

static void judge_part(void *arg, int64_t from, int64_t to)
{
    judging *j = arg;
    comparison c = {0};
    for (int64_t k = from; k < to; k++)
        if (j->block[k]->output == j->output)
            compare_block(j->call, j->reference, j->block[k], j->out, j->bound, &c);
    pthread_mutex_lock(&j->lock);
    comparison *all = &j->all;
    const comparison before = *all;
    if (c.wrong && (!before.wrong || c.first < before.first))
        *all = c;
    all->wrong = before.wrong + c.wrong;
    all->seen = before.seen + c.seen;
    all->error = fmax(before.error, c.error);
    pthread_mutex_unlock(&j->lock);
}

static bool judge_output(const optune_call *call, const optune_impl *impl,
                         const ot_reference *reference, int o, const void *out, int64_t most,
                         uint64_t where, double *error, char *message, size_t size)
{
    const ot_block *block[OT_REFERENCE_BLOCKS];
    const int n = ot_judged_blocks(reference, most, where, block);
    judging j = {.call = call,
                 .reference = reference,
                 .block = block,
                 .output = o,
                 .out = out,
                 .bound = reference->given ? ot_error_bound_at_worst(call, impl, o)
                                           : ot_error_bound(call, impl, o),
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .all = {.error = *error}};
    ot_parallel(n, 1, most ? 1 : reference->threads, judge_part, &j);
    const comparison *c = &j.all;
    *error = c->error;
    if (c->wrong) {
        *error = c->bound > 0 ? fabs(c->got - c->want) / c->bound : INFINITY;
        say_wrong(&call->output[o], o, c, message, size);
        return false;
    }
    const int64_t lost = most || reference->whole || reference->left[o]
                             ? -1
                             : find_unwritten(&call->output[o], out, reference->threads);
    if (lost >= 0) {
        ot_text place = {0};
        print_place(&call->output[o], lost, &place);
        snprintf(message, size, "output %d%s was never written", o, ot_text_str(&place));
        ot_text_release(&place);
    }
    return lost < 0;
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
    for (int o = 0; o < s->task.call->n_outputs; o++) {
        if (s->row->read(s->state, s->out[kind][o], s->host, s->out_bytes[o]) < 0) {
            snprintf(message, size, "output %d cannot be read back", o);
            return false;
        }
        if (!judge_output(s->task.call, impl, &s->reference, o, s->host, 0, 0, error, message,
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
    /* Where NaN is right, what was not written shows over numbers. */
    for (int turn = 0; turn < 1 + s->reference.nan && outcome == OPTUNE_OUTCOME_OK; turn++) {
        if (status >= 0 && turn > 0)
            status = ot_session_fill_with_numbers(s, OT_GUARDED, &err);
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
    }
    ot_bound_close(b);
    if (damaged && ot_session_renew(s, &err) < 0)
        s->ready = false;
    return outcome;
}
