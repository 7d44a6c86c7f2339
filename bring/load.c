/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path to rows: a shared object is a plugin, everything that is called like source or T1 is a
 * kernel's file. What is added stays for ever, as rows are used by address.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"
#include "strategy/inside.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ot_rows all; /* of ot_brought */

static const struct {
    const char *suffix;
    ot_language language;
} suffixes[] = {{".c", OT_LANGUAGE_C},         {".cl", OT_LANGUAGE_OPENCL},
                {".ocl", OT_LANGUAGE_OPENCL},  {".opencl", OT_LANGUAGE_OPENCL},
                {".cu", OT_LANGUAGE_CUDA},     {".json", OT_LANGUAGE_C},
                {".tune", OT_LANGUAGE_PROGRAM}};

static int suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < OT_COUNT(suffixes); i++)
        if (strcmp(dot, suffixes[i].suffix) == 0)
            return i;
    return -1;
}

bool ot_is_brought_path(const char *path)
{
    return suffix_of(path) >= 0;
}

const ot_brought *ot_brought_of_path(const char *path)
{
    char real[PATH_MAX];
    const ot_brought *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < all.n && !found && realpath(path, real); i++)
        if (strcmp(((const ot_brought *)all.row[i])->path, real) == 0)
            found = all.row[i];
    pthread_mutex_unlock(&lock);
    return found;
}

const ot_brought *ot_brought_of_op(const char *op)
{
    const ot_brought *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < all.n && !found; i++)
        if (strcmp(((const ot_brought *)all.row[i])->op.name, op) == 0)
            found = all.row[i];
    pthread_mutex_unlock(&lock);
    return found;
}

const ot_brought *ot_brought_of_kernel(const char *function)
{
    const ot_brought *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < all.n && !found; i++)
        if (strcmp(((const ot_brought *)all.row[i])->function, function) == 0)
            found = all.row[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int read_file(ot_brought *b, optune_err *err)
{
    enum { MOST_BYTES = 4 << 20 };
    ot_text text = {0};
    int status = ot_read_file(b->path, &text, MOST_BYTES, err);
    if (status < 0)
        return status;
    if (strlen(ot_text_str(&text)) != text.n) {
        status = optune_fail(err, OPTUNE_ESYNTAX, "'%s' is no text", b->path);
    } else if (strcmp(strrchr(b->path, '.'), ".json") == 0) {
        status = ot_t1_read(b, ot_text_behind_mark(ot_text_str(&text)), err);
    } else {
        b->language = suffixes[suffix_of(b->path)].language;
        status = ot_notation_read(b, ot_text_behind_mark(ot_text_str(&text)), err);
        if (status >= 0 && b->language != OT_LANGUAGE_PROGRAM)
            status = ot_source_read(b->path, NULL, &b->source, err);
    }
    ot_text_release(&text);
    return status < 0 ? status : ot_brought_settle(b, err);
}

void ot_brought_free(ot_brought *b)
{
    ot_formula *const one[] = {&b->grid, &b->block, &b->shared, &b->flops, &b->bytes};
    for (int i = 0; i < OT_COUNT(one); i++)
        ot_expr_free(one[i]->expr);
    for (int i = 0; i < OT_BROUGHT_WHERE; i++)
        ot_expr_free(b->where[i].expr);
    for (int i = 0; i < OT_BROUGHT_ARGS; i++) {
        ot_expr_free(b->arg[i].value.expr);
        ot_expr_free(b->arg[i].low.expr);
        ot_expr_free(b->arg[i].high.expr);
        for (int d = 0; d < OPTUNE_MAX_RANK; d++)
            ot_expr_free(b->arg[i].dim[d].expr);
    }
    ot_text_release(&b->source);
    ot_arena_release(&b->arena);
    free(b);
}

/* ---- adding ------------------------------------------------------------------------------ */

/* How such a file says what its operator is called. */
static const char *naming(const ot_brought *b)
{
    const bool t1 = strcmp(strrchr(b->path, '.'), ".json") == 0;
    return t1                                   ? "the BenchmarkName '"
           : b->language == OT_LANGUAGE_PROGRAM ? "--name, in a file a line 'name "
                                                : "a line '// optune: name ";
}

static int add_rows(const ot_brought *b, optune_err *err)
{
    if (ot_op_find(b->op.name))
        return optune_fail(err, OPTUNE_ECONFLICT,
                           "%s: there is an operator '%s' already; %smy_%s' gives it another "
                           "name",
                           b->file, b->op.name, naming(b), b->op.name);
    OT_RETURN_UNLESS_OK(ot_op_add(&b->op, err));
    OT_RETURN_UNLESS_OK(ot_impl_add(&b->impl, err));
    if (b->reference)
        OT_RETURN_UNLESS_OK(ot_impl_add(&b->checker, err));
    OT_RETURN_UNLESS_OK(ot_strategy_add(&b->strategy, err));
    optune_call call;
    optune_err inner = {0};
    if (ot_call_parse(b->workload[0], &call, &inner) < 0)
        return optune_fail(err, OPTUNE_ETYPE, "%s: its own sizes make no call: %s", b->file,
                           inner.text);
    if (!ot_call_static(&call))
        return optune_fail(err, OPTUNE_ETYPE, "%s: not all dims follow from the sizes: '%s'",
                           b->file, b->workload[0]);
    return OPTUNE_OK;
}

/* A failure names the file, and leaves *to NULL. What was said in options is read to be judged: its
 * rows are not added. */
static int read_brought(const char *path, bool in_options, ot_brought **to, optune_err *err)
{
    char real[PATH_MAX];
    *to = NULL;
    if (!realpath(path, real))
        return optune_fail(err, OPTUNE_ENOENT, "cannot read '%s': there is no such file", path);
    ot_brought *b = ot_alloc(sizeof *b);
    b->absolute = b->relative = -1;
    b->path = ot_arena_copy(&b->arena, real);
    b->file = strrchr(b->path, '/') + 1;
    b->in_options = in_options;
    int status = read_file(b, err);
    const ot_registry_mark mark = ot_registry_now();
    if (status >= 0 && !in_options && (status = add_rows(b, err)) < 0)
        ot_registry_rewind(mark);
    if (status >= 0) {
        *to = b;
        return status;
    }
    if (err && !b->in_options && !strstr(err->text, b->file)) {
        const optune_err inner = *err;
        optune_fail(err, status, "%s: %s", b->file, inner.text);
    }
    ot_brought_free(b);
    return status;
}

int ot_brought_check_options(const char *path, optune_err *err)
{
    ot_brought *b;
    OT_RETURN_UNLESS_OK(read_brought(path, true, &b, err));
    ot_brought_free(b);
    return OPTUNE_OK;
}

static int bring(const char *path, optune_err *err)
{
    ot_brought *b;
    OT_RETURN_UNLESS_OK(read_brought(path, false, &b, err));
    pthread_mutex_lock(&lock);
    ot_rows_push(&all, b);
    pthread_mutex_unlock(&lock);
    return OPTUNE_OK;
}

int ot_rows_load(const char *path, int (*add_target)(const optune_target_row *, optune_err *),
                 optune_err *err)
{
    char real[PATH_MAX];
    if (realpath(path, real)) /* which workers are told */
        OT_RETURN_UNLESS_OK(ot_path_check(real, err));
    return ot_is_brought_path(path) ? bring(path, err) : ot_plugin_load(path, add_target, err);
}
