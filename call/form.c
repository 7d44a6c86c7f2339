/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of one form: texts that are equal but for the sizes in `f32[16,64]`, as those of a
 * network's layers, or of one call at many sizes, are. What was read of the first one is there for
 * the others, which only have their sizes read and their types inferred; and where inference has
 * left attributes as it left those of the first one, the canonical text differs in its sizes alone,
 * too. Whatever is not that plain, or is refused, goes the long way and says so there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call/form.h"
#include "call/inside.h"

enum {
    PLACES = 64, /* a power of two */
    MOST_TEXT = 512,
    MOST_SIZES = 64,
    MOST_DIGITS = 12, /* no size that long is too large */
    SIZE = '#',       /* stands for one in a form */
};

/* A text with its sizes taken out. */
typedef struct sized {
    char form[MOST_TEXT];
    size_t n;
    int n_sizes;
    bool plain; /* they are written as they are printed */
    int64_t size[MOST_SIZES];
} sized;

typedef struct form {
    uint64_t hash;
    int n_ops; /* there were: operators of a plugin may go again, and others come */
    size_t n, n_canonical;
    const char *text, *canonical; /* as forms; canonical NULL: it is printed */
    bool is_canonical;            /* both are the same */
    const void *call;             /* as it was read, packed */
    int n_inputs;
    /* After inference, of the first one. */
    int n_attrs, n_epilogues;
    const optune_attr *attr;
    const optune_epilogue *epilogue;
    const optune_dtype *dtype; /* of each input */
} form;

struct ot_forms {
    pthread_mutex_t lock;
    int64_t served;
    form *place[PLACES]; /* owned, each in one piece */
};

ot_forms *ot_forms_open(void)
{
    ot_forms *forms = ot_alloc(sizeof *forms);
    pthread_mutex_init(&forms->lock, NULL);
    return forms;
}

void ot_forms_close(ot_forms *forms)
{
    if (!forms)
        return;
    for (int i = 0; i < PLACES; i++)
        free(forms->place[i]);
    pthread_mutex_destroy(&forms->lock);
    free(forms);
}

int64_t ot_forms_served(const ot_forms *forms)
{
    return forms->served;
}

/* ---- taking sizes out of a text ---------------------------------------------------------- */

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           (c >= 'A' && c <= 'Z');
}

/* Sizes stand in brackets behind a dtype, attributes behind a '='. False: there is something else
 * in such brackets, or too much. */
static bool take_sizes(const char *text, size_t n, sized *to)
{
    char *at = to->form;
    to->n_sizes = 0;
    to->plain = true;
    if (n > MOST_TEXT)
        return false;
    for (const char *p = text;;) {
        const char *from = p;
        while (*p && *p != '[' && *p != SIZE)
            *at++ = *p++;
        if (*p != '[') {
            to->n = (size_t)(at - to->form);
            return !*p;
        }
        *at++ = *p++;
        if (p - from < 2 || !(in_word(p[-2]) || p[-2] == '?'))
            continue;
        for (; *p && *p != ']'; p++) {
            *at++ = *p;
            if (*p == ',' || *p == ' ')
                continue;
            int64_t value = 0;
            int digits = 0;
            to->plain &= *p != '0' || !(p[1] >= '0' && p[1] <= '9');
            for (; *p >= '0' && *p <= '9' && digits <= MOST_DIGITS; p++, digits++)
                value = 10 * value + (*p - '0');
            if (!digits || digits > MOST_DIGITS || to->n_sizes == MOST_SIZES)
                return false;
            p--;
            at[-1] = SIZE;
            to->size[to->n_sizes++] = value;
        }
    }
}

/* Puts sizes where the call has its inputs' dims, in order; false: one is too large. */
static bool put_sizes(const sized *from, optune_call *call)
{
    const int64_t *size = from->size;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        optune_tensor *type = &call->input[i].type;
        for (int d = 0; d < type->rank; d++, size++)
            type->dim[d].min = type->dim[d].max = *size;
        if (!ot_tensor_fits(type))
            return false;
    }
    return true;
}

/* Whether its inputs have these sizes, and no other dims. */
static bool has_sizes(const optune_call *call, const sized *of)
{
    int n = 0;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const optune_tensor *type = &call->input[i].type;
        for (int d = 0; d < type->rank; d++, n++)
            if (n == of->n_sizes || type->dim[d].name[0] || type->dim[d].min != of->size[n] ||
                type->dim[d].max != of->size[n])
                return false;
    }
    return n == of->n_sizes;
}

/* ---- the canonical text ------------------------------------------------------------------ */

static bool same_attrs(const optune_attr *a, const optune_attr *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Whether inference has made of it what it made of the form's first one. */
static bool is_settled_alike(const form *f, const optune_call *call)
{
    if (call->n_attrs != f->n_attrs || call->n_epilogues != f->n_epilogues ||
        !same_attrs(call->attr, f->attr, f->n_attrs))
        return false;
    for (int i = 0; i < f->n_inputs; i++)
        if (!optune_dtype_equal(call->input[i].type.dtype, f->dtype[i]))
            return false;
    for (int i = 0; i < f->n_epilogues; i++)
        if (!same_attrs(call->epilogue[i].attr, f->epilogue[i].attr, f->epilogue[i].n_attrs))
            return false;
    return true;
}

/* `text`: the form, with those sizes. */
static void print(const char *text, size_t n, const sized *sizes, ot_text *to)
{
    const int64_t *size = sizes->size;
    char *at = ot_text_room(to, n + (size_t)sizes->n_sizes * MOST_DIGITS);
    for (const char *end = text + n; text < end; text++) {
        if (*text != SIZE) {
            *at++ = *text;
            continue;
        }
        char digits[MOST_DIGITS], *first = digits + sizeof digits;
        int64_t left = *size++;
        do
            *--first = (char)('0' + left % 10);
        while (left /= 10);
        while (first < digits + sizeof digits)
            *at++ = *first++;
    }
    *at = '\0';
    to->n = (size_t)(at - to->s);
}

/* ---- keeping ----------------------------------------------------------------------------- */

typedef struct pieces {
    char *at;
    size_t n;
} pieces;

/* With `at` NULL only their sizes are added up. */
static const void *piece(pieces *to, const void *data, size_t n)
{
    const size_t at = to->n;
    to->n += (n + 15) & ~(size_t)15;
    return to->at ? memcpy(to->at + at, data, n) : NULL;
}

static void fill(form *f, pieces *to, const sized *of, const sized *canonical,
                 const void *packed, size_t n_packed, const optune_call *settled)
{
    optune_dtype dtype[OPTUNE_MAX_INPUTS];
    for (int i = 0; i < f->n_inputs; i++)
        dtype[i] = settled->input[i].type.dtype;
    f->text = piece(to, of->form, of->n);
    f->canonical = canonical ? piece(to, canonical->form, canonical->n) : NULL;
    f->is_canonical =
        canonical && canonical->n == of->n && !memcmp(canonical->form, of->form, of->n);
    f->call = piece(to, packed, n_packed);
    f->attr = piece(to, settled->attr, (size_t)f->n_attrs * sizeof *f->attr);
    f->epilogue = piece(to, settled->epilogue, (size_t)f->n_epilogues * sizeof *f->epilogue);
    f->dtype = piece(to, dtype, (size_t)f->n_inputs * sizeof *dtype);
}

/* Nothing is kept where there is no memory: it is not to be taken of the reserve. */
static void keep(ot_forms *forms, uint64_t hash, int n_ops, const sized *of, const void *packed,
                 size_t n_packed, const optune_call *settled, const ot_text *text)
{
    sized canonical;
    const bool plain =
        take_sizes(text->s, text->n, &canonical) && has_sizes(settled, &canonical);
    form f = {.hash = hash,
              .n_ops = n_ops,
              .n = of->n,
              .n_canonical = plain ? canonical.n : 0,
              .n_inputs = optune_call_inputs(settled),
              .n_attrs = settled->n_attrs,
              .n_epilogues = settled->n_epilogues};
    pieces to = {NULL, 0};
    piece(&to, NULL, sizeof f);
    const size_t head = to.n;
    fill(&f, &to, of, plain ? &canonical : NULL, packed, n_packed, settled);
    to.at = ot_try_alloc(to.n, "a form of calls", NULL);
    if (!to.at)
        return;
    to.n = head;
    fill(&f, &to, of, plain ? &canonical : NULL, packed, n_packed, settled);
    memcpy(to.at, &f, sizeof f);
    pthread_mutex_lock(&forms->lock);
    form **place = &forms->place[hash % PLACES];
    free(*place);
    *place = (form *)(void *)to.at;
    pthread_mutex_unlock(&forms->lock);
}

/* ---- reading ----------------------------------------------------------------------------- */

static int read_long(const char *workload, optune_call *call, ot_text *text, optune_err *err)
{
    const int status = ot_call_parse(workload, call, err);
    if (status >= 0)
        ot_call_print(call, text);
    return status;
}

/* The form of the text; under the lock. */
static const form *find(const ot_forms *forms, const sized *of, uint64_t hash, int n_ops)
{
    const form *f = forms->place[hash % PLACES];
    return f && f->hash == hash && f->n_ops == n_ops && f->n == of->n &&
                   memcmp(f->text, of->form, of->n) == 0
               ? f
               : NULL;
}

/* False: it goes the long way. */
static bool read_short(ot_forms *forms, const sized *of, uint64_t hash, int n_ops,
                       optune_call *call, ot_text *text)
{
    pthread_mutex_lock(&forms->lock);
    const form *f = find(forms, of, hash, n_ops);
    if (f)
        ot_call_unpack(f->call, call);
    pthread_mutex_unlock(&forms->lock);
    if (!f || !put_sizes(of, call) || ot_call_settle(call, NULL, NULL) < 0)
        return false;
    bool printed = false;
    pthread_mutex_lock(&forms->lock); /* not kept meanwhile: another may have its place */
    f = find(forms, of, hash, n_ops);
    if (f && f->canonical && is_settled_alike(f, call) && has_sizes(call, of)) {
        if (!f->is_canonical || !of->plain)
            print(f->canonical, f->n_canonical, of, text);
        printed = true;
    }
    forms->served++;
    pthread_mutex_unlock(&forms->lock);
    if (!printed)
        ot_call_print(call, text);
    return true;
}

int ot_form_parse(ot_forms *forms, const char *workload, size_t n_workload, optune_call *call,
                  ot_text *text, optune_err *err)
{
    sized of;
    int n_ops;
    if (!take_sizes(workload, n_workload, &of))
        return read_long(workload, call, text, err);
    ot_ops(&n_ops);
    const uint64_t hash = ot_hash64(of.form, of.n);
    if (read_short(forms, &of, hash, n_ops, call, text))
        return OPTUNE_OK;
    char packed[sizeof *call];
    const bool plain = ot_call_read(workload, call) >= 0 && has_sizes(call, &of);
    const size_t n = plain ? ot_call_pack(call, packed) : 0;
    if (!plain || ot_call_settle(call, NULL, NULL) < 0)
        return read_long(workload, call, text, err);
    ot_call_print(call, text);
    keep(forms, hash, n_ops, &of, packed, n, call, text);
    return OPTUNE_OK;
}
