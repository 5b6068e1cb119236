#!/usr/bin/python3
"""quantize_networks.py NAME FILE SHAPE...: writes ONNX files of f32 with activations of u8.

As quantizers write them: weights of i8 with a scale for each output channel, biases of i32, and a
QuantizeLinear and a DequantizeLinear behind what convolutions, Gemm, MatMul, Add, Mul, Sigmoid,
LeakyRelu, Concat and averages over planes read and write; what moves or selects values, and pools over
windows, keeps the scale of what it reads. A Relu or Clip behind such a node becomes part of its scale. Scales
are not those of any data: all values lie between -4 and 4, or above 0 behind a Relu or Clip, which no time
depends on.

NAME, FILE and SHAPE are those that export_networks.py prints, and printed is the same for FILE-u8.onnx.
Files that are there are kept.
"""

import os
import pathlib
import sys

import numpy
import onnx
from onnx import helper, numpy_helper, shape_inference

WEIGHED = {"Conv": 0, "ConvTranspose": 1, "Gemm": None}  # the axis that has scales; None: one for all
COMPUTED = {*WEIGHED, "MatMul", "Add", "Mul", "Sigmoid", "LeakyRelu", "Concat", "GlobalAveragePool"}
MOVED = {"MaxPool", "AveragePool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Resize",
         "Split", "Slice", "Gather"}
BOUNDED = {"Relu", "Clip"}
FLOAT = onnx.TensorProto.FLOAT
RANGE, STEPS, MOST_WEIGHT = 4.0, 255, 127


class Quantizer:
    """A graph while its nodes are written anew."""

    def __init__(self, graph, nodes):
        values = [*graph.value_info, *graph.input, *graph.output]
        self.floats = {value.name for value in values if value.type.tensor_type.elem_type == FLOAT}
        self.read_by_computed = {name for node in nodes if self.is_computed(node) for name in node.input}
        self.constants = {constant.name: constant for constant in graph.initializer}
        self.nodes, self.made = [], []
        self.scales = {}  # of quantized values: scale and zero point
        self.weights = {}  # their scales
        self.becomes = {}  # what is read in place of a value

    def is_computed(self, node):
        """Not sizes, which nodes of the same types may compute."""
        return node.op_type in COMPUTED and node.output[0] in self.floats

    def constant(self, name, values):
        self.made.append(numpy_helper.from_array(values, name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{output}/{kind}", **attributes))
        return output

    def dequantize(self, name, values, scale, **attributes):
        """A constant of integers behind a DequantizeLinear."""
        inputs = [self.constant(f"{name}/codes", values), self.constant(f"{name}/scale", scale),
                  self.constant(f"{name}/zero", numpy.zeros(scale.shape, values.dtype))]
        return self.node("DequantizeLinear", inputs, f"{name}/real", **attributes)

    def quantize(self, value, scale, zero):
        self.scales[value] = scale, zero
        numbers = [self.constant(f"{value}/scale", numpy.array(scale, numpy.float32)),
                   self.constant(f"{value}/zero", numpy.array(zero, numpy.uint8))]
        self.node("QuantizeLinear", [value, *numbers], f"{value}/codes")
        self.becomes[value] = self.node("DequantizeLinear", [f"{value}/codes", *numbers], f"{value}/real")

    def put_weights(self, name, axis):
        if name not in self.weights:
            weights = numpy_helper.to_array(self.constants[name]).astype(numpy.float32)
            others = tuple(i for i in range(weights.ndim) if i != axis)
            scale = numpy.maximum(abs(weights).max(axis=None if axis is None else others), 1e-8) / MOST_WEIGHT
            shape = [1] * weights.ndim
            if axis is not None:
                shape[axis] = -1
            codes = numpy.rint(weights / scale.reshape(shape)).astype(numpy.int8)
            self.weights[name] = numpy.asarray(scale, numpy.float32)
            self.dequantize(name, codes, self.weights[name], **({} if axis is None else {"axis": axis}))
        return f"{name}/real"

    def put_bias(self, node, data):
        name, scale = node.input[2], self.scales[data][0] * self.weights[node.input[1]]
        codes = numpy.rint(numpy_helper.to_array(self.constants[name]) / scale).astype(numpy.int32)
        return self.dequantize(f"{node.output[0]}/bias", codes, numpy.asarray(scale, numpy.float32),
                               **({"axis": 0} if scale.ndim else {}))

    def put_number(self, node, name):
        """A constant that an Add or Mul has."""
        values = numpy_helper.to_array(self.constants[name])
        scale = numpy.float32(max(abs(values).max(), 1e-8) / MOST_WEIGHT)
        codes = numpy.rint(values / scale).astype(numpy.int8)
        return self.dequantize(f"{node.output[0]}/{name}", codes, numpy.array(scale))

    def read(self, node, place):
        name = node.input[place]
        if name not in self.constants:
            return self.becomes.get(name, name)
        if not self.is_computed(node) or self.constants[name].data_type != FLOAT:
            return name
        if node.op_type in WEIGHED:
            return self.put_weights(name, WEIGHED[node.op_type]) if place == 1 else self.put_bias(
                node, node.input[0])
        return self.put_number(node, name)

    def write(self, node, bounded):
        inputs = [self.read(node, place) for place in range(len(node.input))]
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = inputs
        self.nodes.append(copy)
        like = self.scales.get(node.input[0]) if node.op_type in MOVED else None
        chosen = (RANGE / STEPS, 0) if bounded else (2 * RANGE / STEPS, STEPS // 2 + 1)
        for value in node.output:
            if self.is_computed(node) or like or value in self.read_by_computed:
                self.quantize(value, *(like or chosen))


def fold(graph):
    """Constants as initializers, no Identity, a Relu or Clip in the nodes before it: which these are."""
    readers, writers, bounded, kept = {}, {}, set(), []
    for node in graph.node:
        if node.op_type == "Constant":
            constant = node.attribute[0].t
            constant.name = node.output[0]
            graph.initializer.append(constant)
            continue
        node.input[:] = [writers.get(name, (name,))[0] for name in node.input]
        for name in node.input:
            readers[name] = readers.get(name, 0) + 1
        kept.append(node)
        if node.op_type in ("Identity", "Dropout"):
            writers[node.output[0]] = (node.input[0],)
            kept.pop()
    by_output = {name: node for node in kept for name in node.output}
    for node in list(kept):
        before = by_output.get(node.input[0])
        if (node.op_type in BOUNDED and before is not None and before.op_type in COMPUTED
                and readers[node.input[0]] == 1):
            before.output[0] = node.output[0]
            by_output[node.output[0]] = before
            bounded.add(node.output[0])
            kept.remove(node)
    return kept, bounded


def quantize(source, target):
    model = shape_inference.infer_shapes(onnx.load(str(source)))
    graph = model.graph
    nodes, bounded = fold(graph)
    quantizer = Quantizer(graph, nodes)
    if "x" in quantizer.read_by_computed:
        quantizer.quantize("x", 2 * RANGE / STEPS, STEPS // 2 + 1)
    for node in nodes:
        quantizer.write(node, node.op_type in BOUNDED or node.output[0] in bounded)
    real = quantizer.becomes.get("y")
    for node in quantizer.nodes if real else []:  # the output is what is dequantized
        for names in (node.input, node.output):
            names[:] = ["y/float" if name == "y" else "y" if name == real else name for name in names]
    used = {name for node in quantizer.nodes for name in node.input}
    constants = [*graph.initializer, *quantizer.made]
    for field, values in ((graph.node, quantizer.nodes), (graph.value_info, []),
                          (graph.initializer, [each for each in constants if each.name in used])):
        del field[:]
        field.extend(values)
    temporary = target.with_suffix(".new")
    onnx.save(model, str(temporary))
    os.replace(temporary, target)


def main():
    words = sys.argv[1:]
    if not words or len(words) % 3 != 0:
        raise SystemExit(__doc__)
    for name, file, shape in zip(*[iter(words)] * 3):
        source = pathlib.Path(file)
        target = source.with_name(f"{source.stem}-u8.onnx")
        if not target.exists():
            quantize(source, target)
        print(name, target, shape, flush=True)


if __name__ == "__main__":
    main()
