/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of a model file, generated from the schema that libonnx-dev installs: the one door to
 * them and to protobuf-c. */
#ifndef OPTUNE_ONNX_SCHEMA_H
#define OPTUNE_ONNX_SCHEMA_H

#include <onnx.pb-c.h>

typedef Onnx__ModelProto ot_onnx_model;
typedef Onnx__GraphProto ot_onnx_graph;
typedef Onnx__NodeProto ot_onnx_proto;
typedef Onnx__TensorProto ot_onnx_tensor;
typedef Onnx__SparseTensorProto ot_onnx_sparse;
typedef Onnx__AttributeProto ot_onnx_attr;
typedef Onnx__ValueInfoProto ot_onnx_info;
typedef Onnx__TensorShapeProto__Dimension ot_onnx_dim;

#endif
