/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators whose output dims follow from values share as operators.
 *
 * The type relation bounds the dims. An output in memory has as many elements as the bounds allow:
 * first those of the true shape, dense and row-major, then zeros. The shape function finds the true
 * shape on the host, from the same inputs, in the same arithmetic as the bodies.
 */
#ifndef OPTUNE_KERNELS_SHAPED_H
#define OPTUNE_KERNELS_SHAPED_H

#include "kernels/host/tensor.h"

/* The dim of an output that holds at most `most`, unless more is known of it; `most` unbounded:
 * nothing is said. False: it cannot be. */
bool shaped_bound(optune_dim *dim, int64_t most);

/* An output of this rank and dtype. */
bool shaped_output(optune_tensor *out, int rank, optune_dtype dtype);

/* OK where all inputs and outputs are known, else 1. */
int shaped_known(const optune_call *call);

/* An output as a whole, n elements of the true shape, for a reference: what lies in the region,
 * zeros behind the last. */
void shaped_region(const optune_tensor *type, const optune_region *region, const double *value,
                   int64_t n, double *out, double *magnitude);

/* What the rows of such ops say alike; the rest is the file's own. */
#define SHAPED_OP                                                                              \
    .inputs = inputs, .pattern = OPTUNE_OPAQUE, .types = types, .shape = shape,                \
    .reference = reference

static const optune_dtype shaped_index = {OPTUNE_DTYPE_INT, 64, 1};

#endif
