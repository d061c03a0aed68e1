#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contrib.py - operators of ONNX Runtime's own domain: one model for each form, and networks that ONNX Runtime
optimised and wrote; hone's outputs against ONNX Runtime's.

    python3 tests/models/contrib.py [--keep DIR]"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

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


def session(path, optimised=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # else it rounds activations to i8
    if optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = optimised
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def check(path, folder):
    """What is wrong with it, or None."""
    ort = session(path)
    random = np.random.default_rng(3)
    arguments, feeds = [], {}
    for port in ort.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        feeds[port.name] = (random.standard_normal(shape).astype(np.float32) if "float" in port.type
                            else random.integers(0, 2, shape).astype(np.int64))
        file = os.path.join(folder, f"in_{port.name}.npy")
        np.save(file, feeds[port.name])
        arguments += ["--input", f"{port.name}={file}"]
    done = subprocess.run([HONE, "run", path, "--quiet", "--level", "0", "--output-dir", folder] + arguments,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return f"hone run exits {done.returncode}: {done.stderr.strip()[:300]}"
    for output, want in zip(ort.get_outputs(), ort.run(None, feeds)):
        got = np.load(os.path.join(folder, output.name.replace("/", "_") + ".npy"))
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
        paths = []
        for name, model in cases():
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
            wrong = check(path, folder)
            count += 1
            if wrong:
                failed += 1
                print(f"{os.path.basename(path)}: {wrong}")
    print(f"{count - failed} of {count} models are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
