/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share among themselves and nobody else may see. */
#ifndef OPTUNE_CALL_INSIDE_H
#define OPTUNE_CALL_INSIDE_H

#include "call/call.h"

/* synonyms.c: what other projects call an operator, and what is made of it; NULL: nothing. */
const char *ot_op_synonyms(const char *op);

/* attr.c */
int ot_attr_default(const optune_op_attr *row, optune_attr *attr, optune_err *err);
/* fuse.c: optune_call_fuse before any type is looked at. */
int ot_call_append(optune_call *call, const optune_call *next, int chain, optune_err *err);

#endif
