/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to tensor type: `f32[?m:1..64,768]`, `f32[...]` of any rank, `?` of which nothing is
 * known. Printing back is call_print.c's.
 */
#include <ctype.h>
#include <string.h>

#include "call/cursor.h"
#include "call/dim_expr.h"

static size_t digits(const char *at)
{
    size_t n = 0;
    while (at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

static int parse_size(ot_cursor *c, int64_t *value)
{
    enum { SHORT = 12 }; /* no dim that long is too large */
    char word[OT_MAX_WORD];
    const char *at = c->p;
    const size_t n = digits(at);
    if (n == 0)
        return ot_point(c, at, OPTUNE_ESYNTAX,
                        "a dim is expected: an integer, ?, ?m or ?m:1..64");
    if (n <= SHORT) {
        *value = 0;
        for (size_t i = 0; i < n; i++)
            *value = 10 * *value + (at[i] - '0');
        c->p += n;
        return OPTUNE_OK;
    }
    const int status = ot_copy_word(c, at, n, word);
    if (status < 0)
        return status;
    if (!ot_parse_int(word, value) || *value > OPTUNE_MAX_DIM)
        return ot_point(c, at, OPTUNE_ELIMIT, "this dim is too large: at most %lld is possible",
                        (long long)OPTUNE_MAX_DIM);
    c->p += n;
    return OPTUNE_OK;
}

/* ?2*m, ?(m+1)/2: where it is more than a name */
static int parse_expression(ot_cursor *c, const char *at, optune_dim *dim)
{
    const char *why;
    const int status = ot_dim_read(at, &c->p, dim, &why);
    return status < 0 ? ot_point(c, c->p, status, "%s", why) : status;
}

/* ? ?m ?m:1..64 ?m:16.. ?:1..64 */
static int parse_symbol(ot_cursor *c, optune_dim *dim)
{
    *dim = (optune_dim){.min = 0, .max = OPTUNE_DIM_MAX};
    c->p += *c->p == '?';
    const size_t n = ot_identifier(c->p);
    if (n >= OPTUNE_DIM_NAME_SIZE)
        return ot_point(c, c->p, OPTUNE_ELIMIT, "a dim's name has at most %d characters",
                        OPTUNE_DIM_NAME_SIZE - 1);
    memcpy(dim->name, c->p, n);
    const char *first = c->p;
    c->p += n;
    int status = OPTUNE_OK;
    if (n ? *c->p && strchr("+-*/", *c->p)
          : *c->p && (strchr("(-?", *c->p) || isdigit((unsigned char)*c->p)))
        status = parse_expression(c, first, dim);
    if (status < 0 || *c->p != ':')
        return status;
    const char *at = ++c->p;
    status = parse_size(c, &dim->min);
    if (status < 0)
        return status;
    if (strncmp(c->p, "..", 2) != 0)
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "'..' is expected in a range like 1..64");
    c->p += 2;
    if (isdigit((unsigned char)*c->p) && (status = parse_size(c, &dim->max)) < 0)
        return status;
    if (dim->min > dim->max)
        return ot_point(c, at, OPTUNE_ESYNTAX, "this range is empty");
    return OPTUNE_OK;
}

/* 2*?m, which is read as ?2*m */
static bool is_product(const char *at)
{
    const size_t n = digits(at);
    return *at == '(' || (n && at[n] && strchr("+-*", at[n]));
}

static int parse_dims(ot_cursor *c, optune_tensor *type)
{
    ot_skip(c);
    if (strncmp(c->p, "...", 3) == 0) {
        c->p += 3;
        if (!ot_eat(c, ']'))
            return ot_point(c, c->p, OPTUNE_ESYNTAX, "']' is expected after '...'");
        return OPTUNE_OK;
    }
    type->rank = 0;
    if (ot_eat(c, ']'))
        return OPTUNE_OK;
    do {
        ot_skip(c);
        if (type->rank == OPTUNE_MAX_RANK)
            return ot_point(c, c->p, OPTUNE_ELIMIT, "a tensor has at most %d dims",
                            OPTUNE_MAX_RANK);
        optune_dim *dim = &type->dim[type->rank];
        *dim = (optune_dim){0};
        const char *at = c->p;
        const bool symbol = *at == '?' || is_product(at);
        const int status = symbol ? parse_symbol(c, dim) : parse_size(c, &dim->min);
        if (status < 0)
            return status;
        if (!symbol)
            dim->max = dim->min;
        type->rank++;
        if (!ot_tensor_fits(type))
            return ot_point(c, at, OPTUNE_ELIMIT,
                            "with this dim the tensor has more elements than can be counted");
    } while (ot_eat(c, ','));
    if (!ot_eat(c, ']'))
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "',' or ']' is expected after a dim");
    return OPTUNE_OK;
}

int ot_read_tensor(ot_cursor *c, optune_tensor *type)
{
    *type = (optune_tensor){.rank = -1};
    ot_skip(c);
    const char *at = c->p;
    char word[OT_MAX_WORD];
    if (*at == '?') {
        c->p++;
        return ot_eat(c, '[') ? parse_dims(c, type) : OPTUNE_OK;
    }
    const size_t n = ot_identifier(at);
    if (n == 0)
        return ot_point(c, at, OPTUNE_ESYNTAX, "a tensor type like f32[1,64] is expected");
    const int status = ot_copy_word(c, at, n, word);
    if (status < 0)
        return status;
    if (!ot_parse_dtype(word, &type->dtype))
        return ot_point(c, at, OPTUNE_ESYNTAX, "no dtype '%s'; f32, f64, bf16, i8 are some",
                        word);
    c->p += n;
    if (!ot_eat(c, '['))
        return ot_point(c, c->p, OPTUNE_ESYNTAX, "'[' is expected after the dtype");
    return parse_dims(c, type);
}

int ot_tensor_parse(const char *text, optune_tensor *type, const char **end, optune_err *err)
{
    ot_cursor c = {.text = text, .p = text, .err = err};
    const int status = ot_read_tensor(&c, type);
    *end = c.p;
    while (status >= 0 && *end > text && isspace((unsigned char)(*end)[-1]))
        (*end)--;
    if (status < 0 && err)
        err->text[strcspn(err->text, "\n")] = '\0'; /* whoever has the text shows the place */
    return status;
}
