/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call is: the table of operators, types, attributes, their text, inference of types, fused
 * operators, dims known as ranges. Knows no implementation and no device.
 */
#ifndef OPTUNE_CALL_H
#define OPTUNE_CALL_H

#include "base/base.h"

/* ---- ops.c: operators in tree, then those of plugins ---------------------------------------- */
const optune_op *const *ot_ops(int *n);
const optune_op *ot_op_find(const char *name);
bool ot_op_in_tree(const optune_op *op); /* no plugin's and nobody's own */
/* The same, or ENOENT with the nearest name. */
int ot_op_get(const char *name, const optune_op **op, optune_err *err);
/* Checks a plugin's operator and keeps it; rows that patterns give it are the registry's. */
int ot_ops_add(const optune_op *op, optune_err *err);
void ot_ops_rewind(int n); /* back to the first n: a plugin is added whole or not at all */

/* ---- types.c, attr.c, call.c, infer.c, fuse.c, call_parse.c, call_print.c ---------------- */
/* Parses, fills defaults and infers types. Errors point at the place: the message holds the
 * text, a caret line, and the reason. Unknown and symbolic dims are accepted. */
int ot_call_parse(const char *text, optune_call *call, optune_err *err);
void ot_call_print(const optune_call *call, ot_text *to);
/* call_label.c: shapes and what is not at its default, for people; `with_op`: behind the operator's
 * name. */
void ot_call_label(const optune_call *call, bool with_op, char *to, size_t size);
/* Reads a tensor type at the start of `text`; *end is behind it, or where it is wrong. */
int ot_tensor_parse(const char *text, optune_tensor *type, const char **end, optune_err *err);
/* An operator with all attributes at their defaults, no inputs and unknown outputs. Required
 * attributes have n = OT_ATTR_UNSET until they are given. A call is long and most use little of it:
 * here, and in what follows from a call so started, what lies behind its counts is not set. */
enum { OT_ATTR_UNSET = 255 };
int ot_call_start(const optune_op *op, optune_call *call, optune_err *err);
/* What the call uses; what lies behind its counts is left as it is. */
void ot_call_copy(optune_call *to, const optune_call *from);
/* Infers, brings the call to its canonical form (a dtype attribute that says what would be
 * inferred anyway is left out) and checks its length. On ETYPE *misfit, unless NULL, is the fused
 * operator that does not fit, -1 for the call's own. */
int ot_call_settle(optune_call *call, int *misfit, optune_err *err);
/* An operator's inputs, and its attributes, `math` included. */
int ot_op_input_count(const optune_op *op);
int ot_op_attr_count(const optune_op *op);
const optune_op_attr *ot_op_attr_at(const optune_op *op, int i);
/* Parses one value as a call's text would hold it. ESYNTAX with the reason. */
int ot_attr_parse(const optune_op_attr *row, const char *text, optune_attr *attr,
                  optune_err *err);
/* Repeats a short list, checks the length and the range. */
int ot_attr_settle(const optune_op_attr *row, optune_attr *attr, optune_err *err);
bool ot_attr_equal(const optune_attr *a, const optune_attr *b);
/* What a call's text would hold of it: nothing when it is at a default that is not shown. */
bool ot_attr_shown(const optune_op_attr *row, const optune_attr *attr);
void ot_attr_print(const optune_attr *attr, ot_text *to); /* name=value */
/* The call's inputs, those of fused operators too, then its outputs; returns how many. */
enum { OT_MAX_TENSORS = OPTUNE_MAX_INPUTS + OPTUNE_MAX_OUTPUTS };
int ot_call_tensors(optune_call *call, optune_tensor *tensor[OT_MAX_TENSORS]);
/* The same in all that is known of them, names of dims included. */
bool ot_dim_same(const optune_dim *a, const optune_dim *b);
bool ot_tensor_same(const optune_tensor *a, const optune_tensor *b);
/* Runs the type relation until it settles; OK, 1 when something is unknown, or ETYPE. Of an
 * operator with a shape function, over known inputs, dims of outputs that follow from values become
 * their upper bounds: what kernels fill. */
int ot_call_infer(optune_call *call, optune_err *err);
/* The same, but such dims stay ranges, and true ones that are filled in are held against them. */
int ot_call_infer_dims(optune_call *call, optune_err *err);
/* The true shape: fills the dims of outputs that follow from values, by the operator's shape
 * function over its inputs, dense and in this process's memory. OK, ETYPE, or what the function
 * refuses. */
int ot_call_shape(optune_call *call, const void *const *in, optune_err *err);
/* Bytes of a tensor as large as its dims can be; -1: there is no bound. */
int64_t ot_tensor_most_bytes(const optune_tensor *type);
/* formula.c: dim d of output o as a C expression over the names of inputs' dims, "((1*n+1)/2)".
 * EUNSUPPORTED: none was found. */
int ot_dim_formula(const optune_call *call, int o, int d, ot_text *to, optune_err *err);
/* The dim that an OPTUNE_ARG_DIM stands for; NULL: the call has none such. */
const optune_dim *ot_call_arg_dim(const optune_call *call, const optune_arg *arg);
/* Gives every dim of the inputs that is a range its upper end, and infers the outputs anew. ETYPE:
 * there is a dim without one, or the relation leaves something open. */
int ot_call_widen(optune_call *call, optune_err *err);
/* Whether its sizes can be computed with: every dim at most OPTUNE_MAX_DIM, and its elements in
 * double precision take fewer bytes than an int64_t can say. A range counts with its least. */
bool ot_tensor_fits(const optune_tensor *type);
/* What is used of a checked call, as bytes: fewer than the struct has, a key of this process.
 * Returns how many were written, at most sizeof(optune_call). */
size_t ot_call_pack(const optune_call *call, void *to);
void ot_call_unpack(const void *packed, optune_call *call); /* the same call again */
/* shared.c: checked calls, each once. */
typedef struct ot_shared_call ot_shared_call;
typedef struct ot_calls {
    ot_shared_call *slot;
    size_t n, capacity;
} ot_calls; /* zero to start */
/* The same call, which lives until they are released. */
const optune_call *ot_calls_share(ot_calls *calls, const optune_call *call);
void ot_calls_release(ot_calls *calls);
/* EUSAGE unless it is a call that was started and whose counts, attributes and types are within
 * what its operator and the structs allow: what a caller's own code may have written into it. */
int ot_call_check(const optune_call *call, optune_err *err);
bool ot_call_static(const optune_call *call); /* every dim of every tensor is a constant */
void ot_tensor_print(const optune_tensor *type, ot_text *to); /* f32[1,?m:1..64] */
/* What its operator, or the fused one whose input it is, calls it. */
const char *ot_call_input_name(const optune_call *call, int input);
double ot_call_bytes(const optune_call *call);
double ot_call_flops(const optune_call *call);
/* slices.c: of a call that only lays inputs one behind another (a reshape, a copy, a
 * concatenation of rows): which bytes of its output are which of an input. Together they are the
 * whole output once. */
typedef struct ot_slice {
    int input;
    int64_t from, to, bytes; /* offsets in the input and in the output */
} ot_slice;
/* Returns how many there are; 0: it computes something or puts elements into another order, has
 * something fused behind it or dims that are no constants. */
int ot_call_slices(const optune_call *call, ot_slice slice[OPTUNE_MAX_PIECES]);
/* moves.c: a call that only moves elements, whatever their order: they go to `out` bit by bit.
 * False: it is none, or not one that is worth knowing, and nothing was written. */
bool ot_call_move(const optune_call *call, const void *const *in, void *out);
const optune_region *ot_region_whole(const optune_tensor *type, optune_region *region);

/* ---- symbols.c: calls whose dims are named ranges ----------------------------------------- */
enum {
    OT_MAX_SYMBOLS = OPTUNE_MAX_SYMBOLS,
    OT_MOST_SYMBOLS = OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK
};
typedef struct ot_symbols {
    int n;
    optune_dim dim[OT_MOST_SYMBOLS]; /* in the order of the inputs; names differ */
} ot_symbols;
/* The symbolic dims of a call's inputs. EUSAGE, with what to write instead: there is none, one has
 * no name or no upper bound, or more than the inputs' dims is unknown; ELIMIT: too many. */
int ot_symbols_of(const optune_call *call, ot_symbols *symbols, optune_err *err);
/* The same of a call that is computed and not tabled: as many as it has dims. */
int ot_symbols_all(const optune_call *call, ot_symbols *symbols, optune_err *err);
/* The call with every dim narrowed to what `to` says of its name; lo == hi makes a constant. */
int ot_call_narrow(const optune_call *call, const ot_symbols *to, optune_call *narrowed,
                   optune_err *err);
/* formula.c: as ot_dim_formula, over these names, of which the inputs' dims are computed. ELIMIT:
 * they are more than OT_MAX_SYMBOLS. */
int ot_dim_formula_over(const optune_call *call, const ot_symbols *over, int o, int d,
                        ot_text *to, optune_err *err);
/* What computed dims of inputs are called when no input says of what: ?d0, ?d1 ..., equal ones the
 * same. */
typedef struct ot_renamed {
    int n;
    optune_dim was[OT_MOST_SYMBOLS];
    char name[OT_MOST_SYMBOLS][OPTUNE_DIM_NAME_SIZE];
} ot_renamed;
/* The call with such names, so that its dims are symbols. ETYPE: its outputs are not known then. */
int ot_call_rename(const optune_call *call, optune_call *to, ot_renamed *renamed,
                   optune_err *err);
/* What is left of a value in a type: integers wrap, bool is 0 or 1; floats are left alone. */
double ot_number_as(optune_dtype dtype, double value);
/* ---- whole.c: references in integers, for those of 64 bits, which doubles do not hold -------- */
bool ot_dtype_is_long(optune_dtype dtype); /* an integer of 64 bits */
/* Whether ot_whole_reference does it. */
bool ot_is_whole(const optune_call *call, int out_index);
/* What an operator's `reference` gives, before anything fused: integers modulo 2^64, cut to the
 * output's dtype. False, and nothing written: what is right of it is in doubles. */
bool ot_whole_reference(const optune_call *call, const void *const *in, int out_index,
                        const optune_region *region, uint64_t *out);
/* Words of an integer's dtype as numbers, those beyond 2^53 rounded. */
void ot_whole_numbers(optune_dtype dtype, int64_t n, const uint64_t *word, double *value);
/* The word of a number in an integer's dtype. */
uint64_t ot_whole_of(optune_dtype dtype, double value);
/* What is fused behind a call whose output has 64-bit integers, over its region's words. */
void ot_whole_fused(const optune_call *call, const void *const *in, const optune_region *region,
                    uint64_t *value);
/* Whether the implementation takes at run time all that is no constant in the inputs. */
bool ot_impl_takes(const optune_impl *impl, const optune_call *call, char *why);
void ot_dim_print(const optune_dim *dim, ot_text *to); /* 4, ?, ?m, ?m:1..64 */

#endif
