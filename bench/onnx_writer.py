# SPDX-License-Identifier: Apache-2.0
"""What the writers of models share: nodes and made-up weights on their way into an ONNX file."""

import math

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Writer:
    def __init__(self, seed):
        self.rng, self.nodes, self.weights, self.count = np.random.default_rng(seed), [], [], 0

    def normal(self, *shape, scale):
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def between(self, low, high, *shape):
        return self.constant(self.rng.uniform(low, high, shape).astype(np.float32))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self, x):
        return self.constant(np.float32(x))

    def node(self, op, *inputs, **attributes):
        self.count += 1
        output = f"{op.lower()}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(self, x, inner, outer, kernel=1, stride=1, group=1, gain=2):
        """With a bias, padded as much as the kernel reaches; values grow by the root of `gain` halves."""
        weight = self.normal(outer, inner // group, kernel, kernel,
                             scale=math.sqrt(gain / (inner // group * kernel * kernel)))
        return self.node("Conv", x, weight, self.normal(outer, scale=0.02), kernel_shape=[kernel, kernel],
                         strides=[stride, stride], pads=[kernel // 2] * 4, group=group)

    def save(self, path, name, inputs, last, output):
        """`inputs` and `output` are (name, element type, shape); `last` becomes `output`."""
        self.nodes.append(helper.make_node("Identity", [last], [output[0]]))
        infos = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, [output])]
        graph = helper.make_graph(self.nodes, name, *infos, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
