# SPDX-License-Identifier: Apache-2.0
"""nets.py - small models for the tests of the ONNX Runtime provider, as bytes."""
import numpy
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17)]


def model(nodes, inputs, outputs, constants=None):
    """inputs, outputs: name -> shape, or (element type, shape)."""

    def ports(given):
        for name, what in given.items():
            kind, shape = what if isinstance(what, tuple) and isinstance(what[0], int) and isinstance(what[1], list) else (
                TensorProto.FLOAT, what)
            yield helper.make_tensor_value_info(name, kind, shape)

    tensors = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", list(ports(inputs)), list(ports(outputs)), tensors)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8).SerializeToString()


def weights(*shape, seed=0):
    return (numpy.random.default_rng(seed).standard_normal(shape) * 0.3).astype(numpy.float32)


def mlp(batch, layers=4, width=32):
    """Gemm and Relu in turns; `batch` may be a name."""
    nodes, constants, value = [], {}, "x"
    for i in range(layers):
        constants[f"w{i}"] = weights(width, width, seed=i)
        constants[f"b{i}"] = weights(width, seed=100 + i)
        nodes.append(helper.make_node("Gemm", [value, f"w{i}", f"b{i}"], [f"g{i}"], f"gemm{i}"))
        nodes.append(helper.make_node("Relu", [f"g{i}"], [f"r{i}"], f"relu{i}"))
        value = f"r{i}"
    nodes[-1].output[0] = "y"
    return model(nodes, {"x": [batch, width]}, {"y": [batch, width]}, constants)


def around_strings():
    """Two chains with a node between them that hone does not take (strings), and one edge past it."""
    nodes = [helper.make_node("Relu", ["x"], ["a0"], "a0")]
    nodes += [helper.make_node("Tanh", [f"a{i}"], [f"a{i + 1}"], f"a{i + 1}") for i in range(5)]
    nodes.append(helper.make_node("Cast", ["a5"], ["text"], "to_text", to=TensorProto.STRING))
    nodes.append(helper.make_node("Cast", ["text"], ["c0"], "from_text", to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Add", ["c0", "a5"], ["c1"], "past"))
    nodes += [helper.make_node("Sigmoid", [f"c{i}"], [f"c{i + 1}"], f"c{i + 1}") for i in range(1, 6)]
    nodes[-1].output[0] = "y"
    return model(nodes, {"x": [2, 3]}, {"y": [2, 3]})


def branch():
    """A chain, and an If whose bodies take its value."""

    def body(op, name):
        nodes = [helper.make_node(op, ["t5"], [f"{name}0"])]
        nodes += [helper.make_node("Tanh", [f"{name}{i}"], [f"{name}{i + 1}"]) for i in range(6)]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}6", TensorProto.FLOAT, [2, 3])])

    nodes = [helper.make_node("Tanh", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(5)]
    nodes.append(helper.make_node("If", ["flag"], ["y"], "if", then_branch=body("Relu", "p"), else_branch=body("Neg", "q")))
    return model(nodes, {"x": [2, 3], "flag": (TensorProto.BOOL, [])}, {"y": [2, 3]})


def data_dependent():
    """Its output has as many rows as elements are above zero."""
    nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("Relu", ["t"], ["r"]),
             helper.make_node("NonZero", ["r"], ["n"]), helper.make_node("Transpose", ["n"], ["nt"], perm=[1, 0]),
             helper.make_node("Cast", ["nt"], ["f"], to=TensorProto.FLOAT), helper.make_node("Neg", ["f"], ["y"])]
    return model(nodes, {"x": [4, 5]}, {"y": ["k", 2]})


def looped():
    """Joining what lies before and behind a node that is left would make a circle; all others may be one set."""
    nodes = [helper.make_node("Tanh", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["s"], to=TensorProto.STRING),
             helper.make_node("Cast", ["s"], ["b"], to=TensorProto.FLOAT), helper.make_node("Relu", ["a"], ["c"]),
             helper.make_node("Sigmoid", ["c"], ["d"]), helper.make_node("Add", ["b", "d"], ["e"]),
             helper.make_node("Abs", ["d"], ["g"]), helper.make_node("Neg", ["g"], ["h"]),
             helper.make_node("Mul", ["h", "e"], ["y"])]
    return model(nodes, {"x": [2, 3]}, {"y": [2, 3]})


def type_attribute():
    """A chain beside an optional, whose type is an attribute of a kind that is left."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
    nodes = [helper.make_node("Tanh", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(5)]
    nodes += [helper.make_node("Optional", [], ["o"], type=tensor), helper.make_node("OptionalHasElement", ["o"], ["has"]),
              helper.make_node("Cast", ["has"], ["h"], to=TensorProto.FLOAT), helper.make_node("Add", ["t5", "h"], ["y"])]
    return model(nodes, {"x": [2, 3]}, {"y": [2, 3]})
