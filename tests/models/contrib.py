#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contrib.py - operators of ONNX Runtime's own domain: one model for each form, and networks that ONNX Runtime
optimised and wrote; hone's outputs against ONNX Runtime's.

    python3 tests/models/contrib.py [--keep DIR]"""
import argparse
import collections
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
import peer_bytes  # noqa: E402

HONE = os.environ.get("HONE_BIN", "hone")
NETWORKS = ("encoder6", "mobilenet_v2", "squeezenet1_1")
WEIGHTS = (("encoder6", "int8"), ("encoder6", "uint8:128"), ("encoder6", "int4:32"), ("encoder6", "uint4:256"),
           ("mobilenet_v2", "int8"), ("mobilenet_v2", "uint4"))  # of `hone quantize --weights`


def one(op, inputs, outputs, constants=(), **attrs):
    """A model of one node. inputs: name -> shape, "" for an absent one; constants: names that are initializers."""
    random = np.random.default_rng(len(op))
    names = list(inputs)
    initializers = [numpy_helper.from_array(random.standard_normal(inputs[n]).astype(np.float32), n) for n in constants]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    node = helper.make_node(op, [n if inputs[n] is not None else "" for n in names], list(outputs),
                            domain="com.microsoft", **attrs)
    graph = helper.make_graph([node], op, [info(n, s) for n, s in inputs.items() if s is not None and n not in constants],
                              [info(n, None) for n in outputs if n], initializers)
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])


def mixed(op, inputs, outputs, domain="com.microsoft", opset=17, **attrs):
    """A model of one node. inputs: name -> an array (an initializer), (type, shape) of an input, or None for an absent one."""
    info = [helper.make_tensor_value_info(n, *v) for n, v in inputs.items() if isinstance(v, tuple)]
    node = helper.make_node(op, [n if v is not None else "" for n, v in inputs.items()], list(outputs), domain=domain, **attrs)
    graph = helper.make_graph([node], op, info, [helper.make_empty_tensor_value_info(n)
                                                 for n in outputs if n],
                              [numpy_helper.from_array(v, n) for n, v in inputs.items() if isinstance(v, np.ndarray)])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset),
                                                                 helper.make_opsetid("com.microsoft", 1)])


def nbits(bits, block, k, n, rows, zeros, bias):
    """MatMulNBits: B [N, blocks, bytes], scales [N * blocks], zero points in whole bytes a row."""
    random = np.random.default_rng(bits * 1000 + block)
    blocks = -(-k // block)
    constants = {"B": random.integers(0, 256, [n, blocks, block * bits // 8], dtype=np.uint8),
                 "s": (random.random(n * blocks) * 0.05 + 0.001).astype(np.float32)}
    if zeros:
        constants["z"] = random.integers(0, 256, n * -(-blocks * bits // 8), dtype=np.uint8)
    if bias:
        constants["b"] = random.standard_normal(n).astype(np.float32)
    inputs = ["x", "B", "s", "z" if zeros else "", "", "b" if bias else ""]
    while not inputs[-1]:
        inputs.pop()
    node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)
    graph = helper.make_graph([node], "nbits", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*rows, k])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(v, name) for name, v in constants.items()])
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])


def group_query(batch, length, past, heads=4, kv_heads=2, size=16, packed=False, **attrs):
    """GroupQueryAttention: new tokens behind `past` others; caches of exactly as many rows as there are keys."""
    random = np.random.default_rng(length * 10 + past)
    shapes = {"q": [batch, length, (heads + 2 * kv_heads * packed) * size]}
    if not packed:
        shapes.update({name: [batch, length, kv_heads * size] for name in ("k", "v")})
    if past:
        shapes.update({name: [batch, kv_heads, past, size] for name in ("pk", "pv")})
    angles = random.random([past + length, size // 2]) * 6
    constants = {"last": np.full(batch, past + length - 1, np.int32), "total": np.array(past + length, np.int32)}
    if attrs.get("do_rotary"):
        constants.update(cos=np.cos(angles).astype(np.float32), sin=np.sin(angles).astype(np.float32))
    names = [name if name in shapes or name in constants else ""
             for name in ("q", "k", "v", "pk", "pv", "last", "total", "cos", "sin")]
    while not names[-1]:
        names.pop()
    node = helper.make_node("GroupQueryAttention", names, ["y", "keys", "values"], domain="com.microsoft",
                            num_heads=heads, kv_num_heads=kv_heads, **attrs)
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "group_query", [info(n, s) for n, s in shapes.items()],
                              [info(n, None) for n in ("y", "keys", "values")],
                              [numpy_helper.from_array(v, name) for name, v in constants.items()])
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])


def blocked(rows, k, n, block, dtype, gemm, zeros):
    """A product with weights that DequantizeLinear makes of blocks along the inner axis."""
    random = np.random.default_rng(k + n)
    shape, low, high = ([n, k] if gemm else [k, n]), *((-8, 8) if dtype == TensorProto.INT4 else (0, 16))
    blocks = [n, k // block] if gemm else [k // block, n]
    make = lambda name, dims: helper.make_tensor(name, dtype, dims, random.integers(low, high, dims).flatten())
    constants = [make("w", shape), numpy_helper.from_array((random.random(blocks) * 0.1).astype(np.float32), "s")]
    constants += [make("z", blocks)] if zeros else []
    constants += [numpy_helper.from_array(random.standard_normal(n).astype(np.float32), "b")]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"] + ["z"] * zeros, ["d"], axis=int(gemm), block_size=block)]
    if gemm:
        nodes += [helper.make_node("Gemm", ["x", "d", "b"], ["y"], transB=1)]
    else:
        nodes += [helper.make_node("MatMul", ["x", "d"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    graph = helper.make_graph(nodes, "blocked", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*rows, k])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def cases():
    yield "blocked_i4", blocked([2, 3], 64, 24, 16, TensorProto.INT4, False, True)
    yield "blocked_u4", blocked([5], 96, 17, 32, TensorProto.UINT4, False, True)
    yield "blocked_i4_gemm", blocked([4], 64, 33, 32, TensorProto.INT4, True, False)
    yield "group_query", group_query(2, 1, 6)
    yield "group_query_rotary", group_query(2, 1, 9, do_rotary=1)
    yield "group_query_prompt", group_query(1, 20, 0, do_rotary=1, rotary_interleaved=1)
    yield "group_query_behind", group_query(1, 5, 7, packed=True, do_rotary=1)
    yield "group_query_window", group_query(1, 1, 30, local_window_size=8, scale=0.4)
    yield "group_query_softcap", group_query(1, 24, 0, local_window_size=5, softcap=2.0)
    yield "nbits_4", nbits(4, 32, 64, 24, [5], False, False)
    yield "nbits_4_zeros", nbits(4, 16, 100, 33, [2, 3], True, False)
    yield "nbits_4_bias", nbits(4, 128, 256, 40, [1], True, True)
    yield "nbits_8", nbits(8, 32, 96, 17, [4], False, True)
    yield "nbits_8_zeros", nbits(8, 64, 130, 20, [1, 2], True, False)
    rows, size = [2, 5, 16], [16]
    for bias in (False, True):
        more = {"bias": size} if bias else {}
        yield f"skip_layer_norm_{bias}", one("SkipLayerNormalization", {"x": rows, "r": rows, "g": size, "b": size, **more},
                                             ["y", "", "", "sum"], ["g", "b"], epsilon=1e-5)
        yield f"skip_rms_norm_{bias}", one("SkipSimplifiedLayerNormalization", {"x": rows, "r": rows, "g": size, **more},
                                           ["y", "", "", "sum"], ["g"], epsilon=1e-6)
    yield "skip_layer_norm_bare", one("SkipLayerNormalization", {"x": rows, "r": rows, "g": size}, ["y"], ["g"])
    for opset in (11, 16):  # older than the standard's operator: its name and domain, as ONNX Runtime has it
        yield f"layer_norm_{opset}", mixed("LayerNormalization", {
            "x": (TensorProto.FLOAT, rows), "g": np.linspace(0.5, 2, 16, dtype=np.float32),
            "b": np.linspace(-1, 1, 16, dtype=np.float32)}, ["y", "mean", "inv"], domain="", opset=opset, axis=-1, epsilon=1e-6)
    yield "bias_gelu", one("BiasGelu", {"x": rows, "b": size}, ["y"], ["b"])
    yield "gelu", one("Gelu", {"x": rows}, ["y"])
    yield "fast_gelu", one("FastGelu", {"x": rows}, ["y"])
    yield "fast_gelu_bias", one("FastGelu", {"x": rows, "b": size}, ["y"], ["b"])
    yield "quick_gelu", one("QuickGelu", {"x": rows}, ["y"])
    yield "quick_gelu_1", one("QuickGelu", {"x": rows}, ["y"], alpha=1.0)
    yield "fused_matmul", one("FusedMatMul", {"a": [2, 3, 5, 4], "b": [2, 3, 6, 4]}, ["y"], alpha=0.25, transB=1)
    yield "fused_matmul_a", one("FusedMatMul", {"a": [4, 5], "b": [4, 6]}, ["y"], ["b"], transA=1)
    yield "fused_gemm", one("FusedGemm", {"a": [3, 4], "b": [6, 4], "c": [6]}, ["y"], ["b", "c"], transB=1,
                            activation="LeakyRelu", activation_alpha=0.3)
    yield "fused_gemm_tanh", one("FusedGemm", {"a": [3, 4], "b": [4, 6], "c": [6]}, ["y"], ["b", "c"], activation="Tanh")
    image, kernel = {"x": [1, 4, 6, 6], "w": [8, 4, 3, 3], "b": [8]}, dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    for activation, params in (("Relu", None), ("Clip", [0.0, 6.0]), ("LeakyRelu", [0.1]), ("HardSigmoid", [0.2, 0.5])):
        more = {"activation_params": params} if params else {}
        yield f"fused_conv_{activation}", one("FusedConv", image, ["y"], ["w", "b"], activation=activation, **kernel, **more)
    yield "fused_conv_sum", one("FusedConv", {**image, "z": [1, 8, 6, 6]}, ["y"], ["w", "b"], activation="Relu", **kernel)
    yield "attention", one("Attention", {"x": rows, "w": [16, 48], "b": [48]}, ["y"], ["w", "b"], num_heads=4)
    yield "attention_scaled", one("Attention", {"x": rows, "w": [16, 48], "b": [48]}, ["y"], ["w", "b"], num_heads=2,
                                  scale=0.3)
    yield "multi_head", one("MultiHeadAttention", {"q": rows, "k": [2, 7, 16], "v": [2, 7, 16]}, ["y"], num_heads=4)
    yield "multi_head_bias", one("MultiHeadAttention",
                                 {"q": rows, "k": [2, 7, 16], "v": [2, 7, 16], "n1": None, "n2": None, "m": [2, 4, 5, 7]},
                                 ["y"], num_heads=4)


def attention_cases():
    random = np.random.default_rng(5)
    reals = lambda *shape: random.standard_normal(shape).astype(np.float32)
    f32, i32 = TensorProto.FLOAT, TensorProto.INT32
    x, w, b = (f32, [2, 5, 16]), reals(16, 48) * 0.3, reals(48)
    masks = {"lengths": np.array([3, 5], np.int32), "ends_starts": np.array([4, 5, 1, 0], np.int32),
             "tokens": np.array([[1, 1, 0, 1, 0], [1, 0, 1, 1, 1]], np.int32),
             "pairs": random.integers(0, 2, [2, 5, 5]).astype(np.int32) | np.eye(5, dtype=np.int32)}
    for name, mask in masks.items():
        yield f"attention_{name}", mixed("Attention", {"x": x, "w": w, "b": b, "m": mask}, ["y"], num_heads=4)
    yield "attention_back", mixed("Attention", {"x": x, "w": w, "b": b}, ["y"], num_heads=4, unidirectional=1)
    yield "attention_back_masked", mixed("Attention", {"x": x, "w": w, "b": b, "m": masks["lengths"]}, ["y"], num_heads=2,
                                         unidirectional=1)
    yield "attention_sizes", mixed("Attention", {"x": x, "w": reals(16, 40) * 0.3, "b": reals(40)}, ["y"], num_heads=4,
                                   qkv_hidden_sizes=[16, 16, 8])
    past = {"x": x, "w": w, "b": b, "m": None, "past": (f32, [2, 2, 4, 3, 4])}
    yield "attention_past", mixed("Attention", past, ["y", "present"], num_heads=4, unidirectional=1)
    yield "attention_past_tokens", mixed("Attention", {**past, "m": random.integers(0, 2, [2, 8]).astype(np.int32)},
                                         ["y", "present"], num_heads=4)
    yield "attention_added", mixed("Attention", {"x": x, "w": w, "b": b, "m": masks["tokens"], "p": None,
                                                 "a": (f32, [2, 4, 5, 5])}, ["y"], num_heads=4)
    byte = {"x": (TensorProto.UINT8, [2, 5, 16]), "w": random.integers(-100, 100, [16, 48]).astype(np.int8), "b": b,
            "xs": np.float32(0.02), "ws": np.float32(0.01), "m": masks["lengths"], "xz": np.uint8(7), "wz": np.int8(3)}
    byte = {n: np.array(v) if isinstance(v, np.generic) else v for n, v in byte.items()}
    yield "attention_of_bytes", mixed("QAttention", byte, ["y"], num_heads=4)
    yield "attention_of_bytes_bare", mixed("QAttention", {**byte, "m": None}, ["y"], num_heads=4, unidirectional=1)
    rows = {"q": (f32, [2, 5, 16]), "k": (f32, [2, 7, 16]), "v": (f32, [2, 7, 8])}
    yield "multi_head_biases", mixed("MultiHeadAttention", {**rows, "b": reals(40)}, ["y"], num_heads=4)
    yield "multi_head_tokens", mixed("MultiHeadAttention", {**rows, "b": None, "m": random.integers(0, 2, [2, 7]).astype(np.int32)},
                                     ["y"], num_heads=4)
    yield "multi_head_lengths", mixed("MultiHeadAttention", {**rows, "b": None, "m": np.array([2, 6], np.int32)}, ["y"],
                                      num_heads=2, scale=0.4)
    own = {"q": (f32, [2, 5, 16]), "k": (f32, [2, 5, 16]), "v": (f32, [2, 5, 16])}
    cache = {"b": None, "m": None, "a": None, "pk": (f32, [2, 4, 3, 4]), "pv": (f32, [2, 4, 3, 4])}
    yield "multi_head_past", mixed("MultiHeadAttention", {**own, **cache}, ["y", "pk2", "pv2"], num_heads=4)
    yield "multi_head_past_back", mixed("MultiHeadAttention", {**own, **cache, "b": reals(48)}, ["y", "pk2", "pv2"],
                                        num_heads=4, unidirectional=1)


def layer_cases():
    random = np.random.default_rng(6)
    reals = lambda *shape: random.standard_normal(shape).astype(np.float32)
    f32, i32 = TensorProto.FLOAT, TensorProto.INT32
    tables = {"words": reals(9, 16), "places": reals(7, 16), "segments": reals(2, 16), "g": reals(16), "b": reals(16)}
    embed = {"ids": (i32, [2, 5]), "seg": (i32, [2, 5]), **tables}
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
    yield "embed", mixed("EmbedLayerNormalization", embed, ["y", "m"], epsilon=1e-5)
    yield "embed_masked", mixed("EmbedLayerNormalization", {**embed, "mask": mask}, ["y", "m"])
    yield "embed_sum", mixed("EmbedLayerNormalization", {**embed, "mask": mask}, ["y", "m", "sum"])
    yield "embed_named", mixed("EmbedLayerNormalization", {**embed, "mask": None, "at": np.array([[4, 3, 2, 1, 0]], np.int32)},
                               ["y", "m"])
    plain = {"ids": (i32, [2, 5]), "seg": None, **tables, "segments": None}
    yield "embed_no_segments", mixed("EmbedLayerNormalization", plain, ["y", "m"])
    yield "transpose_matmul", mixed("TransposeMatMul", {"a": (f32, [3, 5, 4]), "b": (f32, [3, 6, 4])}, ["y"], transB=1, alpha=0.5)
    yield "distances", mixed("CDist", {"a": (f32, [6, 4]), "b": (f32, [9, 4])}, ["y"], metric="euclidean")
    yield "distances_squared", mixed("CDist", {"a": (f32, [6, 4]), "b": (f32, [9, 4])}, ["y"], metric="sqeuclidean")
    yield "trilu", mixed("Trilu", {"x": (f32, [3, 5, 6])}, ["y"], upper=0)
    yield "grid_sample", mixed("GridSample", {"x": (f32, [1, 2, 6, 7]), "g": (f32, [1, 4, 5, 2])}, ["y"])
    yield "dequantize", mixed("DequantizeLinear", {"x": (TensorProto.UINT8, [3, 4]), "s": np.array(0.1, np.float32),
                                                   "z": np.array(9, np.uint8)}, ["y"])
    byte = lambda n: {n: (TensorProto.UINT8, [3, 4]), n + "s": np.array(0.05, np.float32), n + "z": np.array(1, np.uint8)}
    yield "qlinear_where", mixed("QLinearWhere", {"c": np.array([[True, False, True, True]]), **byte("x"), **byte("y"),
                                                  "zs": np.array(0.04, np.float32), "zz": np.array(2, np.uint8)}, ["z"])
    # x and states of two numbers, which ONNX Runtime's own rounding leaves as they are
    two = lambda *shape: random.integers(0, 2, shape).astype(np.float32)
    for name, shape, kind in (("", [2], np.int8), ("_columns", [2, 24], np.uint8)):
        middle = 0 if kind == np.int8 else 128
        part = lambda n, rows: {n: random.integers(middle - 90, middle + 90, [2, rows, 24]).astype(kind)}
        scale = lambda n: {n + "s": (random.random(shape) * 0.004 + 0.001).astype(np.float32),
                           n + "z": np.full(shape, middle, kind)}
        yield f"dynamic_lstm{name}", mixed("DynamicQuantizeLSTM", {"x": two(1, 3, 4), **part("w", 4), **part("r", 6),
                                           "b": reals(2, 48), "n": None, "h": two(2, 3, 6), "c": (f32, [2, 3, 6]), "p": None,
                                           **scale("w"), **scale("r")}, ["y", "yh", "yc"], direction="bidirectional", hidden_size=6)
    yield "affine", mixed("Affine", {"x": (f32, [2, 3])}, ["y"], "", 8, alpha=1.5, beta=-0.25)
    yield "parametric_softplus", mixed("ParametricSoftplus", {"x": (f32, [2, 3])}, ["y"], "", 8, alpha=1.5, beta=0.5)
    yield "scaled_tanh", mixed("ScaledTanh", {"x": (f32, [2, 3])}, ["y"], "", 8, alpha=1.5, beta=0.5)
    yield "thresholded_relu", mixed("ThresholdedRelu", {"x": (f32, [2, 30])}, ["y"], "", 8, alpha=0.5)
    yield "image_scaler", mixed("ImageScaler", {"x": (f32, [2, 3, 4, 5])}, ["y"], "", 8, scale=0.5, bias=[1.0, -2.0, 0.5])
    yield "crop", mixed("Crop", {"x": (f32, [2, 3, 9, 8])}, ["y"], "", 8, border=[1, 2, 3, 1])
    yield "crop_sized", mixed("Crop", {"x": (f32, [2, 3, 9, 8])}, ["y"], "", 8, border=[1, 2, 0, 0], scale=[4, 6])
    yield "mean_variance", mixed("MeanVarianceNormalization", {"x": (f32, [2, 3, 6, 5])}, ["y"], "", 8)
    yield "mean_variance_all", mixed("MeanVarianceNormalization", {"x": (f32, [2, 3, 6, 5])}, ["y"], "", 8, across_channels=1)
    yield "dynamic_slice", mixed("DynamicSlice", {"x": (f32, [5, 6]), "s": np.array([1, 0]), "e": np.array([4, -1])}, ["y"], "", 8)


def table_cases():
    random = np.random.default_rng(9)
    reals = lambda *shape: random.standard_normal(shape).astype(np.float32)
    f32, i64, u8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8
    ids = np.array([[3, 0, 8], [8, 5, 1]], np.int64)
    for bits, columns, block, zeros in ((4, 64, 16, True), (4, 64, 32, False), (8, 32, 16, True), (2, 64, 32, False), (8, 48, 16, False)):
        blocks = columns // block
        table = {"d": random.integers(0, 256, [9, columns * bits // 8]).astype(np.uint8), "i": (i64, [2, 3]),
                 "s": np.abs(reals(9, blocks)) * 0.1}
        if zeros:
            table["z"] = random.integers(0, 256, [9, -(-blocks * bits // 8)]).astype(np.uint8)
        yield f"gather_blocks_{bits}_{block}_{zeros}", mixed("GatherBlockQuantized", table, ["y"], bits=bits, block_size=block,
                                                             quantize_axis=-1, gather_axis=0)
    for name, dtype, low in (("i4", TensorProto.INT4, -8), ("u4", TensorProto.UINT4, 0)):
        model = mixed("GatherBlockQuantized", {"d": reals(1), "i": ids, "s": np.abs(reals(9, 2)), "z": reals(1)}, ["y"],
                      quantize_axis=1, gather_axis=0, block_size=16)
        for constant, shape in (("d", [9, 32]), ("z", [9, 2])):
            [old] = [c for c in model.graph.initializer if c.name == constant]
            old.CopyFrom(helper.make_tensor(constant, dtype, shape, random.integers(low, low + 16, shape).flatten()))
        model.opset_import[0].version = 21
        model.ir_version = 10
        yield f"gather_blocks_{name}", model
    for kind in (0, 1):
        for n, k, block in ((24, 64, 16), (17, 33, 32)):
            weights = {"x": (f32, [3, k]), "b": random.integers(0, 256, (n * k + 1) // 2).astype(np.uint8),
                       "m": np.abs(reals(-(-n * k // block)))}
            yield f"bnb4_{kind}_{n}", mixed("MatMulBnb4", weights, ["y"], K=k, N=n, block_size=block, quant_type=kind)
    tables = {"ids": (TensorProto.INT32, [2, 5]), "seg": (TensorProto.INT32, [2, 5]),
              **{n: random.integers(0, 256, shape).astype(np.uint8)
                 for n, shape in (("words", [9, 16]), ("places", [7, 16]), ("segments", [2, 16]), ("g", [16]), ("b", [16]))},
              "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32),
              **{f"s{i}": np.array(0.01 * (i + 1), np.float32) for i in range(5)},
              **{f"z{i}": np.array(100 + i, np.uint8) for i in range(5)}}
    yield "embed_bytes", mixed("QEmbedLayerNormalization", tables, ["y", "m"])
    scales = lambda zero: {"s": np.array(0.05, np.float32), "z": np.array(120, np.uint8), "ys": np.array(1 / 256, np.float32),
                           "yz": np.array(zero, np.uint8)}
    for axis, version in ((-1, 17), (1, 11)):
        model = mixed("QLinearSoftmax", {"x": (u8, [2, 3, 12]), **scales(0)}, ["y"], axis=axis)
        model.graph.node[0].attribute.append(helper.make_attribute("opset", version))
        yield f"qlinear_softmax_{version}", model
    yield "inverse", mixed("Inverse", {"x": (f32, [2, 5, 5])}, ["y"])
    yield "expand_dims", mixed("ExpandDims", {"x": (f32, [2, 3]), "a": np.array(-1, np.int32)}, ["y"])
    yield "pool_last", mixed("NhwcMaxPool", {"x": (u8, [1, 7, 6, 3])}, ["y"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0])


# Layers that ONNX Runtime has for GPUs alone: what they say, in operators that it has here.
def gpu_layers():
    f32 = TensorProto.FLOAT
    random = np.random.default_rng(8)
    reals = lambda *shape: random.standard_normal(shape).astype(np.float32)
    make = lambda op, ins, outs, **attrs: helper.make_node(op, ins, outs, **attrs)

    def pair(name, op, inputs, nodes, **attrs):
        model = mixed(op, inputs, ["y"], **attrs)
        want = mixed("Identity", inputs, ["y"], "")
        del want.graph.node[:]
        want.graph.node.extend(nodes)
        want.opset_import[0].version = 21
        want.ir_version = 10
        return name, model, want

    yield pair("bias_add", "BiasAdd", {"x": (f32, [2, 5, 8]), "b": reals(8), "s": (f32, [2, 5, 8])},
               [make("Add", ["x", "b"], ["t"]), make("Add", ["t", "s"], ["y"])])
    yield pair("bias_split_gelu", "BiasSplitGelu", {"x": (f32, [2, 5, 8]), "b": reals(8)},
               [make("Add", ["x", "b"], ["t"]), make("Split", ["t"], ["l", "r"], axis=-1, num_outputs=2),
                make("Gelu", ["r"], ["g"]), make("Mul", ["l", "g"], ["y"])])
    yield pair("gemm_fast_gelu", "GemmFastGelu", {"x": (f32, [2, 5, 8]), "w": reals(8, 6), "b": reals(6)},
               [make("MatMul", ["x", "w"], ["t"]), make("Add", ["t", "b"], ["u"]), make("Gelu", ["u"], ["y"], approximate="tanh")])
    norm = [make("GroupNormalization", ["t", "g", "b"], ["u"], num_groups=2, epsilon=1e-3),
            make("Transpose", ["u"], ["v"], perm=[0, 2, 3, 1]), make("Sigmoid", ["v"], ["w"]), make("Mul", ["v", "w"], ["y"])]
    image = {"x": (f32, [2, 3, 4, 8]), "g": reals(8), "b": reals(8)}
    front = dict(perm=[0, 3, 1, 2])
    yield pair("bias_softmax", "BiasSoftmax", {"x": (f32, [2, 3, 4, 5]), "b": (f32, [2, 1, 1, 5])},
               [make("Add", ["x", "b"], ["t"]), make("Softmax", ["t"], ["y"], axis=-1)], axis=3, is_inner_broadcast=1)
    yield pair("rfft", "Rfft", {"x": (f32, [2, 3, 10])},
               [make("Constant", [], ["a"], value_ints=[-1]), make("Unsqueeze", ["x", "a"], ["t"]),
                make("Constant", [], ["d"], value_int=2), make("DFT", ["t", "", "d"], ["y"], onesided=1)],
               signal_ndim=1, normalized=0, onesided=1)
    name, model, want = pair("irfft", "Rfft", {"x": (f32, [2, 3, 10])}, [make("Identity", ["x"], ["y"])], signal_ndim=1)
    model.graph.node[0].output[0] = "spectrum"
    model.graph.node.append(make("Irfft", ["spectrum"], ["y"], domain="com.microsoft", signal_ndim=1))
    yield name, model, want
    bytes_of = {"x": (TensorProto.UINT8, [2, 3, 5, 4]), "s": np.array(0.1, np.float32), "z": np.array(9, np.uint8),
                "t": np.array(0.05, np.float32), "u": np.array(3, np.uint8)}
    yield pair("qlinear_reduce_mean", "QLinearReduceMean", bytes_of,
               [make("DequantizeLinear", ["x", "s", "z"], ["a"]), make("Constant", [], ["d"], value_ints=[2, 3]),
                make("ReduceMean", ["a", "d"], ["b"], keepdims=0), make("QuantizeLinear", ["b", "t", "u"], ["y"])],
               axes=[2, 3], keepdims=0)
    parts = [make("Split", ["x"], ["a", "b"], axis=-1, num_outputs=2), make("Split", ["w"], ["c", "d"], axis=-1, num_outputs=2),
             *(make("Mul", [m, n], [m + n]) for m, n in ("ac", "bd", "bc", "ad"))]
    pairs = {"x": (f32, [2, 3, 2]), "w": (f32, [2, 3, 2])}
    yield pair("complex_mul", "ComplexMul", pairs, [*parts, make("Sub", ["ac", "bd"], ["r"]), make("Add", ["bc", "ad"], ["i"]),
                                                    make("Concat", ["r", "i"], ["y"], axis=-1)])
    yield pair("complex_mul_conj", "ComplexMulConj", pairs, [*parts, make("Add", ["ac", "bd"], ["r"]), make("Sub", ["bc", "ad"], ["i"]),
                                                             make("Concat", ["r", "i"], ["y"], axis=-1)])
    yield pair("group_norm", "GroupNorm", image, [make("Transpose", ["x"], ["t"], **front), *norm], groups=2, epsilon=1e-3,
               activation=1)
    yield pair("skip_group_norm", "SkipGroupNorm", {**image, "s": (f32, [2, 3, 4, 8]), "c": reals(8)},
               [make("Add", ["x", "s"], ["a"]), make("Add", ["a", "c"], ["d"]), make("Transpose", ["d"], ["t"], **front), *norm],
               groups=2, epsilon=1e-3, activation=1)


def session(path, optimised=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # else it rounds activations to i8
    if optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = optimised
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(random, port):
    shape = [d if isinstance(d, int) else 1 for d in port.shape]
    if "float" in port.type:
        return random.standard_normal(shape).astype(np.float32)
    if "uint8" in port.type:
        return random.integers(0, 256, shape).astype(np.uint8)
    return random.integers(0, 2, shape).astype(np.int32 if "int32" in port.type else np.int64)


def has_bytes(path):
    graph = onnx.load(path).graph
    types = [i.data_type for i in graph.initializer] + [i.type.tensor_type.elem_type for i in graph.input]
    return TensorProto.UINT8 in types or TensorProto.INT8 in types


def check(path, folder, like=None):
    """What is wrong with it, or None. like: a model that ONNX Runtime runs in its place."""
    ort = session(like or path)
    random = np.random.default_rng(3)
    arguments, feeds = [], {}
    for port in ort.get_inputs():
        feeds[port.name] = feed(random, port)
        file = os.path.join(folder, f"in_{port.name}.npy")
        np.save(file, feeds[port.name])
        arguments += ["--input", f"{port.name}={file}"]
    done = subprocess.run([HONE, "run", path, "--quiet", "--level", "0", "--output-dir", folder] + arguments,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return f"hone run exits {done.returncode}: {done.stderr.strip()[:300]}"
    for output, want in zip(ort.get_outputs(), ort.run(None, feeds)):
        got = np.load(os.path.join(folder, output.name.replace("/", "_") + ".npy"))
        got, want = (a.astype(np.float64) for a in (got, want))
        error = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
        if got.shape == want.shape and error > 2e-5 and peer_bytes.SATURATES and like is None and has_bytes(path):
            apart = os.path.join(folder, "reference")  # outputs that are looked at next stay hone's
            peer_bytes.by_reference(path, arguments[1::2], apart)
            want = np.load(os.path.join(apart, output.name.replace("/", "_") + ".npy")).astype(np.float64)
            error = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
        if got.shape != want.shape or not error <= 2e-5:
            return f"{output.name} {got.shape} is {error:.1e} from {want.shape}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="a folder for the models")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        where = options.keep or folder
        paths, likes = [], {}
        for name, model, want in gpu_layers():
            paths.append(os.path.join(where, name + ".onnx"))
            onnx.save(model, paths[-1])
            likes[paths[-1]] = os.path.join(where, name + "_parts.onnx")
            onnx.save(want, likes[paths[-1]])
        for name, model in itertools.chain(cases(), attention_cases(), layer_cases(), table_cases()):
            paths.append(os.path.join(where, name + ".onnx"))
            onnx.save(model, paths[-1])
        for name in NETWORKS:
            plain = os.path.join(where, name + "_plain.onnx")
            subprocess.run([HONE, "zoo", name, "-o", plain, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            paths.append(os.path.join(where, name + "_optimised.onnx"))
            session(plain, paths[-1])
            nodes = collections.Counter(n.op_type for n in onnx.load(paths[-1]).graph.node if n.domain == "com.microsoft")
            print(f"{name}: {dict(nodes)}")
        for name, weights in WEIGHTS:
            paths.append(os.path.join(where, f"{name}_{weights.replace(':', '_')}.onnx"))
            subprocess.run([HONE, "quantize", os.path.join(where, name + "_plain.onnx"), "--weights", weights, "-o", paths[-1],
                            "--quiet"], check=True, stdout=subprocess.DEVNULL)
            onnx.checker.check_model(paths[-1], full_check=True)
        for path in paths:
            wrong = check(path, folder, likes.get(path))
            count += 1
            if wrong:
                failed += 1
                print(f"{os.path.basename(path)}: {wrong}")
    print(f"{count - failed} of {count} models are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
