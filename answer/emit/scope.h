/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a body's text defines, so that several bodies fit one translation unit. */
#ifndef OPTUNE_ANSWER_EMIT_SCOPE_H
#define OPTUNE_ANSWER_EMIT_SCOPE_H

#include "base/base.h"
#include "optune/define.h"

typedef struct ot_scope_names {
    int n, capacity;
    char (*name)[OPTUNE_NAME_SIZE];
} ot_scope_names;
bool ot_scope_has(const ot_scope_names *all, const char *name, size_t n);
/* Once; no empty one, and none that is too long. */
void ot_scope_add(ot_scope_names *all, const char *name, size_t n);

/* What the text defines at file scope. What it asks for by #ifdef is a macro, if any: a name of
 * somebody else's would be its answer. */
typedef struct ot_scope {
    ot_scope_names macros, asked;
    ot_scope_names own;       /* functions, types and constants */
    ot_scope_names functions; /* those of them that have a body right behind their parameters */
} ot_scope;
/* `scope` begins empty. */
void ot_scope_of(const char *text, ot_scope *scope);
void ot_scope_release(ot_scope *scope);

/* True when what follows the parameters that begin here is a body: a declaration alone names
 * something that is elsewhere. */
bool ot_function_is_defined(const char *p);

#endif
