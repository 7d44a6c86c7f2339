/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of quantised operators: their parts, what became of them, what they give. */
#ifndef OPTUNE_TESTS_SUPPORT_QUANT_H
#define OPTUNE_TESTS_SUPPORT_QUANT_H

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { U8 = 2, I8 = 3, I32 = 6 };

void quant_number(ot_text *g, const char *name, float value);
void quant_zero(ot_text *g, const char *name, int type, int value);
/* Calls of `op` whose first input has so many bits. */
int quant_calls(const optune_graph *g, const char *op, int bits);
/* x as integers by steps of a half from `middle` on, "q", and what they stand for, "d". */
void quant_begin(ot_text *g, const char *dims, int type, int middle);
optune_graph *quant_read(ot_text *text, int64_t opset);
/* The first output, which is of float32, for this input. */
void quant_gives(const optune_graph *g, const float *x, int n, const double *want);

#endif
