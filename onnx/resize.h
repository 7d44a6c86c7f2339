/* SPDX-License-Identifier: Apache-2.0 */
/* What Resize and Upsample say, for axes of known size and for those of any. */
#ifndef OPTUNE_ONNX_RESIZE_H
#define OPTUNE_ONNX_RESIZE_H

#include "onnx/onnx.h"

enum { OT_ONNX_RESIZE_TAPS = 4 };

/* How positions of the output are those of the input, and what is made of what lies there. */
typedef struct ot_onnx_how {
    const char *mode, *where, *nearest;
    double cubic;
    bool exclude;
    bool smooth;   /* where an axis shrinks, what lies between its elements counts, too */
    bool outwards; /* up where an axis shrinks: opset 10 does not say so, its examples do */
    bool cut_off;  /* of integers: a sum of equal numbers may not be a little less than them */
} ot_onnx_how;

/* As onnxruntime, by experiment, takes what is this close to the middle of two for the middle. */
static const double ot_onnx_middle = 1e-6;

/* Which elements of x along an axis those of the output are made of, and by what weights, computed
 * of the run's sizes: 64-bit integers and doubles, each [out]; how many there are of them. `scale`:
 * 0 where it is that of both sizes. */
int ot_onnx_taps_open(ot_onnx_node *n, const ot_onnx_how *h, const optune_dim *in,
                      const optune_dim *out, double scale,
                      ot_onnx_value *index[OT_ONNX_RESIZE_TAPS],
                      ot_onnx_value *weight[OT_ONNX_RESIZE_TAPS]);
/* How long an axis of this size becomes by a scale; false: no formula says it. */
bool ot_onnx_scaled_open(const optune_dim *in, double scale, optune_dim *out);
/* Whether each element of an axis is there as often as the scale says, however many there are, and
 * x with them. */
bool ot_onnx_repeats(const ot_onnx_how *h, double scale, int rank);
ot_onnx_value *ot_onnx_repeat_open(ot_onnx_node *n, ot_onnx_value *x, int axis, double scale);

#endif
