/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose dims are left open, beside the same ones with numbers in their place. */
#ifndef OPTUNE_TESTS_ONNX_OPEN_H
#define OPTUNE_TESTS_ONNX_OPEN_H

#include "support/onnx_file.h"

/* The graph, emptied, as a model of opset 13 in the test's folder; its path, until the next one. */
const char *onnx_saved(ot_text *graph);
/* Fails the test unless the model, its dims in ranges, gives what it gives with these dims as
 * numbers, within 1e-5. All inputs and outputs are floats. */
void onnx_same_at(const char *path, const optune_binding *dims, int n);
/* Fails the test unless the graph, emptied, is refused with a message that holds this. */
void onnx_refused(ot_text *graph, const char *why);

/* Initializers: n integers in a row, 0: one without dims; n floats from -3 to 3. */
void onnx_ints(ot_text *graph, const char *name, int n, const int64_t *value);
void onnx_floats(ot_text *graph, const char *name, const char *dims, int n);

#endif
