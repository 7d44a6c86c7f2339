/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share among themselves and nobody else may see. */
#ifndef OPTUNE_CALL_INSIDE_H
#define OPTUNE_CALL_INSIDE_H

#include "call/call.h"

/* synonyms.c: what other projects call an operator, and what is made of it; NULL: nothing. */
const char *ot_op_synonyms(const char *op);

/* attr.c */
int ot_attr_default(const optune_op_attr *row, optune_attr *attr, optune_err *err);
/* infer.c: ot_call_infer with the misfit of ot_call_settle. */
int ot_call_infer_at(optune_call *call, int *misfit, optune_err *err);
/* fuse.c: optune_call_fuse before any type is looked at, and the type relation of a fused
 * operator over the whole call. */
int ot_call_append(optune_call *call, const optune_call *next, int chain, optune_err *err);
int ot_fused_types(optune_call *call, int i, optune_err *err);

#endif
