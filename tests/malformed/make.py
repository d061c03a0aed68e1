#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files/: one small broken model a rule. Run by hand when a rule is added (needs the onnx package); what each must
give stands in expected.tsv. Engines are made from a good one by HONE_BIN."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "files")
FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name, shape=(2, 3), dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def tensor(name, array):
    return numpy_helper.from_array(numpy.asarray(array), name)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, functions=(), **fields):
    graph = helper.make_graph(nodes, "g", [value("x")] if inputs is None else inputs,
                              [value("y", None)] if outputs is None else outputs, list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], functions=list(functions))
    made.ir_version = 8
    for name, content in fields.items():
        setattr(made, name, content)
    return made


def one(op, inputs=("x",), outputs=("y",), constants=(), given=None, opset=17, **attributes):
    """A model of one node; constants are (name, array)."""
    return model([helper.make_node(op, list(inputs), list(outputs), name="n", **attributes)], inputs=given,
                 initializers=[tensor(name, array) for name, array in constants], opset=opset)


def changed(base, change):
    change(base)
    return base


def relu():
    return one("Relu")


def ints(*items):
    return numpy.array(items, dtype=numpy.int64)


def f32(*shape):
    return numpy.ones(shape, dtype=numpy.float32)


def with_tensor(**fields):
    """Adds an initializer w to a two-input model, its fields set by hand."""
    made = one("Add", ("x", "w"))
    w = made.graph.initializer.add()
    w.name, w.data_type = "w", FLOAT
    w.dims.extend([2, 3])
    for name, content in fields.items():
        if name in ("dims", "float_data", "external_data"):
            del getattr(w, name)[:]
            getattr(w, name).extend(content)
        else:
            setattr(w, name, content)
    return made


def external(**entries):
    made = with_tensor(data_location=TensorProto.EXTERNAL)
    for key, content in entries.items():
        entry = made.graph.initializer[0].external_data.add()
        entry.key, entry.value = key, str(content)
    return made


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested(depth):
    """Attributes in nodes in graphs in attributes."""
    content = b""
    for _ in range(depth):
        content = field(1, field(5, field(6, content)))  # graph.node.attribute.g
    return field(7, content)


def if_model(then_outputs=1, else_outputs=1, condition=TensorProto.BOOL):
    def branch(name, count):
        nodes = [helper.make_node("Relu", ["x"], [f"{name}{i}"]) for i in range(max(count, 1))]
        return helper.make_graph(nodes, name, [], [value(f"{name}{i}", None) for i in range(count)])
    node = helper.make_node("If", ["c"], ["y"], name="n", then_branch=branch("t", then_outputs),
                            else_branch=branch("e", else_outputs))
    return model([node], inputs=[value("x"), value("c", (), condition)])


def function_model(depth=0, missing=False):
    """A function that calls itself, or one of a domain whose opset nobody gives."""
    body = [helper.make_node("f", ["a"], ["b"], domain="own")] if depth else [helper.make_node("Relu", ["a"], ["b"])]
    f = helper.make_function("own", "f", ["a"], ["b"], body, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    made = model([helper.make_node("f", ["x"], ["y"], domain="own", name="n")], functions=[] if missing else [f])
    made.opset_import.append(helper.make_opsetid("own", 1))
    return made


MODELS = {
    # ---- the file ----
    "empty": b"",
    "text": b"this is no model\n",
    "zeros": bytes(64),
    "png": b"\x89PNG\r\n\x1a\n" + bytes(32),
    "cut_in_graph": lambda: relu().SerializeToString()[:-9],
    "cut_in_tag": b"\x08\x08\xba",
    "varint_too_long": b"\x08" + b"\xff" * 11,
    "length_beyond_end": b"\x3a\xff\xff\xff\xff\x0f",
    "wrong_wire_type": b"\x38\x05",
    "field_number_0": b"\x02\x00",
    "group": b"\x3b\x3c",
    "nested_1000": nested(1000),
    "no_graph": lambda: changed(onnx.ModelProto(), lambda m: setattr(m, "ir_version", 8)).SerializeToString(),
    "no_opset": lambda: changed(relu(), lambda m: m.ClearField("opset_import")),
    # ---- opsets and operators ----
    "opset_0": lambda: one("Relu", opset=0),
    "opset_negative": lambda: one("Relu", opset=-3),
    "opset_future": lambda: one("Relu", opset=99),
    "unknown_operator": lambda: one("Rleu"),
    "unknown_domain": lambda: model([helper.make_node("Relu", ["x"], ["y"], domain="com.example", name="n")]),
    "operator_before_its_opset": lambda: one("HardSwish", opset=9),
    "no_op_type": lambda: one(""),
    # ---- names and edges ----
    "no_outputs": lambda: model([helper.make_node("Relu", ["x"], ["y"])], outputs=[]),
    "output_of_nobody": lambda: model([helper.make_node("Relu", ["x"], ["z"])]),
    "input_of_nobody": lambda: one("Relu", ("nothing",)),
    "read_before_made": lambda: model([helper.make_node("Relu", ["z"], ["y"], name="n"),
                                       helper.make_node("Relu", ["x"], ["z"])]),
    "cycle": lambda: model([helper.make_node("Add", ["x", "y"], ["y"], name="n")]),
    "same_name_twice": lambda: model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Tanh", ["x"], ["y"])]),
    "two_inputs_of_one_name": lambda: one("Relu", given=[value("x"), value("x")]),
    "two_initializers_of_one_name": lambda: one("Add", ("x", "w"), constants=[("w", f32(3)), ("w", f32(3))]),
    "too_few_inputs": lambda: one("Conv", ("x",)),
    "too_many_inputs": lambda: one("Relu", ("x", "x")),
    "too_many_outputs": lambda: one("Relu", outputs=("y", "z")),
    "required_input_empty": lambda: one("Conv", ("x", ""), given=[value("x", (1, 1, 4, 4))]),
    "no_element_type": lambda: one("Relu", given=[onnx.ValueInfoProto(name="x")]),
    "unknown_element_type": lambda: one("Relu", given=[value("x", dtype=77)]),
    "rank_9": lambda: one("Relu", given=[value("x", (1,) * 9)]),
    # ---- attributes ----
    "attribute_unknown": lambda: one("Relu", colour=3),
    "attribute_of_wrong_kind": lambda: one("Softmax", axis="last"),
    "attribute_twice": lambda: changed(one("Softmax", axis=1),
                                       lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0])),
    "attribute_missing": lambda: one("Cast"),
    "axis_out_of_range": lambda: one("Softmax", axis=5),
    "perm_repeats": lambda: one("Transpose", perm=[0, 0]),
    "perm_too_short": lambda: one("Transpose", perm=[0]),
    "cast_to_nothing": lambda: one("Cast", to=0),
    "strides_0": lambda: one("MaxPool", given=[value("x", (1, 1, 4, 4))], kernel_shape=[2, 2], strides=[0, 1]),
    "pads_negative": lambda: one("MaxPool", given=[value("x", (1, 1, 4, 4))], kernel_shape=[2, 2], pads=[-1, 0, 0, 0]),
    "kernel_too_large": lambda: one("MaxPool", given=[value("x", (1, 1, 4, 4))], kernel_shape=[9, 9]),
    "dilations_huge": lambda: one("MaxPool", given=[value("x", (1, 1, 4, 4))], kernel_shape=[2, 2],
                                  dilations=[2 ** 62, 2 ** 62]),
    "auto_pad_unknown": lambda: one("MaxPool", given=[value("x", (1, 1, 4, 4))], kernel_shape=[2, 2], auto_pad="SOME"),
    # ---- shapes and types ----
    "dtypes_differ": lambda: one("Add", ("x", "w"), constants=[("w", ints(1, 2, 3))]),
    "dtype_not_taken": lambda: one("Sqrt", given=[value("x", dtype=INT64)]),
    "no_broadcast": lambda: one("Add", ("x", "w"), constants=[("w", f32(4))]),
    "matmul_sizes": lambda: one("MatMul", ("x", "w"), constants=[("w", f32(4, 2))]),
    "gemm_rank": lambda: one("Gemm", ("x", "w"), constants=[("w", f32(3))]),
    "conv_channels": lambda: one("Conv", ("x", "w"), constants=[("w", f32(1, 3, 1, 1))],
                                 given=[value("x", (1, 2, 4, 4))]),
    "conv_groups": lambda: one("Conv", ("x", "w"), constants=[("w", f32(3, 1, 1, 1))],
                               given=[value("x", (1, 2, 4, 4))], group=2),
    "conv_group_0": lambda: one("Conv", ("x", "w"), constants=[("w", f32(2, 2, 1, 1))],
                                given=[value("x", (1, 2, 4, 4))], group=0),
    "conv_kernel_shape": lambda: one("Conv", ("x", "w"), constants=[("w", f32(1, 2, 3, 3))],
                                     given=[value("x", (1, 2, 4, 4))], kernel_shape=[1, 1]),
    "conv_bias": lambda: one("Conv", ("x", "w", "b"), constants=[("w", f32(4, 2, 1, 1)), ("b", f32(3))],
                             given=[value("x", (1, 2, 4, 4))]),
    "reshape_sizes": lambda: one("Reshape", ("x", "s"), constants=[("s", ints(4, 4))]),
    "reshape_two_unknown": lambda: one("Reshape", ("x", "s"), constants=[("s", ints(-1, -1))]),
    "reshape_overflow": lambda: one("Reshape", ("x", "s"), constants=[("s", ints(2 ** 40, 2 ** 40))]),
    "concat_ranks": lambda: one("Concat", ("x", "w"), constants=[("w", f32(2))], axis=0),
    "concat_sizes": lambda: one("Concat", ("x", "w"), constants=[("w", f32(5, 4))], axis=0),
    "gather_axis": lambda: one("Gather", ("x", "i"), constants=[("i", ints(0))], axis=2),
    "slice_step_0": lambda: one("Slice", ("x", "a", "b", "c", "d"),
                                constants=[("a", ints(0)), ("b", ints(1)), ("c", ints(0)), ("d", ints(0))]),
    "split_sum": lambda: one("Split", ("x", "s"), ("y", "z"), constants=[("s", ints(1, 7))], opset=13),
    "squeeze_of_2": lambda: one("Squeeze", ("x", "a"), constants=[("a", ints(0))]),
    "unsqueeze_twice": lambda: one("Unsqueeze", ("x", "a"), constants=[("a", ints(0, 0))]),
    "expand_shape": lambda: one("Expand", ("x", "s"), constants=[("s", ints(5, 5))]),
    "tile_negative": lambda: one("Tile", ("x", "r"), constants=[("r", ints(-1, 1))]),
    "constant_of_huge_shape": lambda: one("ConstantOfShape", ("s",), constants=[("s", ints(2 ** 31, 2 ** 31))], given=[]),
    "one_hot_values": lambda: one("OneHot", ("i", "d", "v"), constants=[
        ("i", ints(0)), ("d", ints(3)), ("v", f32(3))], given=[]),
    "lstm_weights": lambda: one("LSTM", ("x", "w", "r"), given=[value("x", (2, 1, 3))],
                                constants=[("w", f32(1, 8, 4)), ("r", f32(1, 8, 2))], hidden_size=2),
    # ---- tensors ----
    "tensor_too_short": lambda: with_tensor(raw_data=bytes(20)),
    "tensor_too_long": lambda: with_tensor(raw_data=bytes(28)),
    "tensor_without_data": lambda: with_tensor(),
    "tensor_negative_dim": lambda: with_tensor(dims=[2, -3], raw_data=bytes(24)),
    "tensor_huge": lambda: with_tensor(dims=[2 ** 40, 2 ** 40], raw_data=bytes(24)),
    "tensor_of_unknown_type": lambda: with_tensor(data_type=99, raw_data=bytes(24)),
    "tensor_in_wrong_field": lambda: with_tensor(data_type=INT64, float_data=[1.0] * 6),
    # ---- external data ----
    "external_absent": lambda: external(location="not_there.data"),
    "external_no_location": lambda: external(offset=0),
    "external_parent": lambda: external(location="../make.py"),
    "external_absolute": lambda: external(location="/etc/hostname"),
    "external_folder": lambda: external(location="."),
    "external_too_short": lambda: external(location="empty.onnx", length=24),
    "external_offset": lambda: external(location="text.onnx", offset=2 ** 62, length=24),
    "external_number": lambda: external(location="text.onnx", offset="many"),
    # ---- blocks and functions ----
    "if_outputs_differ": lambda: if_model(1, 2),
    "if_no_outputs": lambda: if_model(0, 0),
    "if_condition": lambda: if_model(condition=FLOAT),
    "if_one_branch": lambda: changed(if_model(), lambda m: m.graph.node[0].attribute.pop()),
    "function_of_itself": lambda: function_model(depth=1),
    "function_absent": lambda: function_model(missing=True),
}


def good_engine(folder):
    """Header, weights and fixed fields of an engine of a small network."""
    path = os.path.join(folder, "good.onnx")
    made = one("Gemm", ("x", "w"), constants=[("w", f32(3, 4))])
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    engine = os.path.join(folder, "good.hone")
    subprocess.run([os.environ["HONE_BIN"], "build", path, "-o", engine], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(engine, "rb") as file:
        return file.read()


def engines():
    """Engines whose damage no checksum is needed for: those with right checksums are tests/engine/test_damage.c's."""
    with tempfile.TemporaryDirectory() as folder:
        good = good_engine(folder)
    weights = struct.unpack_from("<Q", good, 32)[0]
    return {
        "engine_magic": b"HONEENH\n" + good[8:64],
        "engine_cut_fixed": good[:40],
        "engine_cut_header": good[:200],
        "engine_cut_weights": good[:weights + 16],
        "engine_flipped_fixed": good[:20] + bytes([good[20] ^ 1]) + good[21:],
        "engine_flipped_header": good[:100] + bytes([good[100] ^ 1]) + good[101:],
    }


def main():
    os.makedirs(FILES, exist_ok=True)
    for name in os.listdir(FILES):
        os.remove(os.path.join(FILES, name))
    total = 0
    for name, content in MODELS.items():
        content = content() if callable(content) else content
        if not isinstance(content, bytes):
            content = content.SerializeToString()
        with open(os.path.join(FILES, name + ".onnx"), "wb") as file:
            total += file.write(content)
    if "HONE_BIN" in os.environ:
        for name, content in engines().items():
            with open(os.path.join(FILES, name + ".hone.bin"), "wb") as file:
                total += file.write(content)
    print(f"{len(os.listdir(FILES))} files, {total} bytes", json.dumps({"folder": FILES}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
