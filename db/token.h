/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a line as it is written here, token by token. Nothing is read at or behind `end`;
 * numbers end in front of a line's last byte. All return false where something else stands there.
 */
#ifndef OPTUNE_DB_TOKEN_H
#define OPTUNE_DB_TOKEN_H

#include <string.h>

#include "base/record.h"
#include "db/db.h"

typedef struct ot_tokens {
    const char *at, *end;
    ot_arena *arena; /* for copies */
} ot_tokens;

static inline bool ot_skip_n(ot_tokens *t, const char *bytes, size_t n)
{
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, bytes, n) != 0)
        return false;
    t->at += n;
    return true;
}

#define OT_SKIP(tokens_, literal) ot_skip_n(tokens_, literal, sizeof(literal) - 1)

/* A string of printable ASCII in which nothing is escaped; s[n] is without its quotes. */
bool ot_token_span(ot_tokens *t, const char **s, size_t *n);
bool ot_token_text(ot_tokens *t, const char **text); /* a copy of it */
char *ot_token_copy(ot_tokens *t, const char *s, size_t n);
/* -?(0|[1-9][0-9]*)(.[0-9]+)?(e[+-]?[0-9]+)? ; *whole: nothing behind the first digits. */
bool ot_token_number(ot_tokens *t, bool *whole);
bool ot_token_real(ot_tokens *t, double *value);
bool ot_token_int(ot_tokens *t, int64_t *value);
/* Whether this field's name is next, with a comma in front unless it is the first one. */
bool ot_token_at(ot_tokens *t, const ot_record_field *field, bool first);
/* Its value into the record, whose outcome is known. */
bool ot_token_field(ot_tokens *t, optune_record *record, const ot_record_field *field);

#endif
