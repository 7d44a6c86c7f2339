/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of quantised operators share (qdq*.c): the integers that floats stand for, and the
 * QuantizeLinear behind a node.
 */
#ifndef OPTUNE_ONNX_QDQ_H
#define OPTUNE_ONNX_QDQ_H

#include "onnx/onnx.h"

/* ---- qdq_end.c ------------------------------------------------------------------------------*/
bool ot_qdq_is_integer(optune_dtype t, int bits);
/* A constant of one number, or of a list of them; how many. 0: it is neither. */
int64_t ot_qdq_listed(const ot_onnx_value *by);
bool ot_qdq_number(ot_onnx_node *n, ot_onnx_value *by, double *number);
/* An operator of ONNX's own. */
bool ot_qdq_is(const ot_onnx_proto *p, const char *op);
/* The integers of input i, of 8 bits, which are a constant or not; NULL: it has none. */
const ot_onnx_integers *ot_qdq_taken(const ot_onnx_node *n, int i, bool constant);

/* The floats of these integers, whenever somebody reads them. */
ot_onnx_value *ot_qdq_later(const ot_onnx_node *n, const ot_onnx_integers *of);

enum { OT_QDQ_BEHIND = 4 };

/* The QuantizeLinear that is reached, over nodes that cut what it rounds. */
typedef struct ot_qdq_end {
    ot_onnx_node q;
    ot_onnx_value *scale, *zero; /* zero: may be NULL */
    optune_dtype dtype;
    double range[2];
    int n_over, over[OT_QDQ_BEHIND]; /* nodes on the way */
} ot_qdq_end;

/* The node itself, as QuantizeLinear has it: 8 bits, one scale. */
bool ot_qdq_quantiser(ot_onnx_node *n, ot_qdq_end *e);
/* What alone reads the node's output, and alone what that gives, up to a QuantizeLinear. */
bool ot_qdq_end_of(const ot_onnx_node *n, ot_qdq_end *e);
/* `all` is what the QuantizeLinear gives, over nodes that are done then. */
bool ot_qdq_give_end(ot_onnx_node *n, const ot_qdq_end *e, ot_onnx_value *all);

/* ---- the others; false: it is not for the node, or that has failed --------------------------*/
/* The same node with another first input; what it gives, or NULL. */
ot_onnx_value *ot_qdq_made_with(ot_onnx_node *n, ot_onnx_value *x);
bool ot_qdq_mapped(ot_onnx_node *n); /* a function of one integer */
bool ot_qdq_back(ot_onnx_node *n);   /* QuantizeLinear */
bool ot_qdq_concat(ot_onnx_node *n);
bool ot_qdq_conv(ot_onnx_node *n);
bool ot_qdq_product(ot_onnx_node *n);
/* Of operators that say their scales. */
bool ot_qdq_said_map(ot_onnx_node *n);
bool ot_qdq_said_concat(ot_onnx_node *n);
bool ot_qdq_said_conv(ot_onnx_node *n);
bool ot_qdq_said_product(ot_onnx_node *n);
bool ot_qdq_said_gemm(ot_onnx_node *n);
bool ot_qdq_said_pair(ot_onnx_node *n);

#endif
