/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How attention's operands come to a product: turned, viewed under other dims in front, scaled,
 * cast between floats, and repeated for each query head that shares one.
 */
#ifndef OPTUNE_GRAPH_ATTEND_SIDE_H
#define OPTUNE_GRAPH_ATTEND_SIDE_H

#include "graph/attend.h"

/* At most so many of one kind behind each other are looked through. */
enum { OT_ATTEND_STEPS = 32 };

/* Counted from the end: 1 is the last; dims that a type has not are 1. */
int64_t ot_attend_back(const optune_tensor *type, int d);
/* The product of the dims in front of the last two. */
int64_t ot_attend_in_front(const optune_tensor *type);
bool ot_attend_same_type(const optune_tensor *a, const optune_tensor *b);
/* The same matrices under other dims in front. */
bool ot_attend_is_view(const optune_graph *g, const ot_node *node);
/* Between floats, neither of them narrower than `dtype`: what it rounds, a call of `dtype` need
 * not. */
bool ot_attend_is_recast(const optune_graph *g, const ot_node *node, optune_dtype dtype);
/* value * factor; false: it is no such product. */
bool ot_attend_is_scaled(const optune_graph *g, const ot_node *node, ot_value *value,
                         double *factor);
/* Back from what a product reads, as far as it is only turned, viewed, cast, repeated for heads
 * that are neighbours and, with `scale`, scaled. `flip`: the product reads columns as rows. */
void ot_attend_peel(const optune_graph *g, ot_value value, bool flip, optune_dtype dtype,
                    double *scale, ot_attend_side *side);

#endif
