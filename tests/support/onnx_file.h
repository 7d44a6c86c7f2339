/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files written by tests, field by field, as protobuf's wire format says: no schema and no
 * library, so that wrong ones can be written, too. A graph is a text under construction.
 */
#ifndef OPTUNE_TESTS_ONNX_FILE_H
#define OPTUNE_TESTS_ONNX_FILE_H

#include "graph/graph.h"
#include "support/check.h"

void wire_int(ot_text *to, int field, int64_t value);
void wire_bytes(ot_text *to, int field, const void *data, size_t n);
void wire_text(ot_text *to, int field, const char *text);
void wire_part(ot_text *to, int field, ot_text *part); /* empties `part` */
/* A field for each word between spaces; "-": an empty one. */
void wire_words(ot_text *to, int field, const char *list);

/* Inputs and outputs: names, separated by spaces; "-": none here. `op` of another domain than
 * ONNX's own: "com.microsoft::QGemm". `attrs`: what the attr_ functions
 * wrote, emptied; NULL: none. */
void onnx_node(ot_text *graph, const char *op, const char *name, const char *inputs,
               const char *outputs, ot_text *attrs);
/* The same of com.microsoft's operators, with the output "y". */
void onnx_contrib(ot_text *graph, const char *op, const char *inputs, ot_text *attrs);
void attr_int(ot_text *attrs, const char *name, int64_t value);
void attr_real(ot_text *attrs, const char *name, float value);
void attr_reals(ot_text *attrs, const char *name, int n, const float *value);
void attr_text(ot_text *attrs, const char *name, const char *value);
void attr_ints(ot_text *attrs, const char *name, int n, const int64_t *value);
void attr_graph(ot_text *attrs, const char *name, ot_text *graph); /* empties `graph` */
void attr_words(ot_text *attrs, const char *name, const char *list);

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_BOOL = 9, ONNX_DOUBLE = 11 };
/* `dims`: "batch,3,4". */
void onnx_input(ot_text *graph, const char *name, int type, const char *dims);
/* The type of a value between nodes. */
void onnx_told(ot_text *graph, const char *name, int type, const char *dims);
void onnx_output(ot_text *graph, const char *name);
/* Elements as raw bytes. */
void onnx_initializer(ot_text *graph, const char *name, int type, const char *dims,
                      const void *data, size_t bytes);
/* Of floats: what is not 0, and where, `each` numbers for each of the `n` elements. */
void onnx_sparse(ot_text *graph, const char *name, const char *dims, int n, const float *value,
                 int each, const int64_t *place);
void attr_sparse(ot_text *attrs, const char *name, const char *dims, int n, const float *value,
                 int each, const int64_t *place);
/* Elements in a file. */
void onnx_external(ot_text *graph, const char *name, const char *dims, const char *location,
                   const char *offset);
/* The graph, emptied, as a model. */
void onnx_model(ot_text *graph, int64_t opset, ot_text *model);

/* Reads the graph, emptied, whose output is "y", as a model: what optune_graph_read says of it. */
int onnx_read(ot_text *graph, int64_t opset, optune_graph **g, optune_err *told);
/* Fails the test unless that graph of x makes `n` floats which differ from these by no more than
 * `within` times 1 and their size; 0: they are the same. */
void onnx_gives(ot_text *graph, int64_t opset, const void *x, int n, const float *want,
                float within);

/* Where a group of tests writes its models, and one of them: made and removed with all in it by
 * these two. */
extern char onnx_folder[256], onnx_path[512];
int onnx_make_folder(void **state);
int onnx_drop_folder(void **state);

/* A convolution, its batch normalisation, ReLU, a reshape by the shape of its input, a product with
 * a bias, softmax: x [batch,2,3,3] to y [batch,2]. */
void onnx_small(ot_text *model);

#endif
