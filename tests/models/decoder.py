#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small decoder of the zoo with caches: the tokens that `hone generate` makes are onnxruntime's, with f32 and with int4
weights, with a head of its own and a tied one; those of a decoder of ONNX's own Attention are NumPy's over whole sequences;
drawn ones follow their seed; a device of its own memory gives the same; what cannot be is refused.
usage: tests/models/decoder.py [--keep DIR]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
PROMPT = [5, 17, 300, 2, 41, 41, 7]
TOKENS = 64
EXTENTS = ["--layers", 3, "--width", 128, "--heads", 4, "--kv-heads", 2, "--hidden", 256, "--vocabulary", 512]
problems = []


def check(true, what):
    print("ok    " if true else "FAILED", what, flush=True)
    if not true:
        problems.append(what)


def tool(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def generate(model, *arguments):
    done = tool("generate", model, "--prompt-ids", ",".join(map(str, PROMPT)), "--level", 0, "--json", *arguments)
    if done.returncode:
        check(False, f"generate {model} {arguments}: exit {done.returncode}: {done.stderr[-300:]}")
        return {"tokens": []}
    return json.loads(done.stdout)


def reference(path):
    """Greedy tokens of onnxruntime with caches that grow, and how far apart the two likeliest were at least."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    caches = {p.name: np.zeros([1, p.shape[1], 0, p.shape[3]], np.float32)
              for p in session.get_inputs() if p.name.startswith("past")}
    names = [o.name for o in session.get_outputs()]
    tokens, fresh, apart = list(PROMPT), list(PROMPT), np.inf
    for _ in range(TOKENS):
        feeds = {"input_ids": np.array([fresh], np.int64), "attention_mask": np.ones([1, len(tokens)], np.int64)}
        out = dict(zip(names, session.run(None, {**feeds, **caches})))
        caches = {name: out[name.replace("past_key_values", "present")] for name in caches}
        best = np.sort(out["logits"][0, -1])
        apart = min(apart, float(best[-1] - best[-2]))
        fresh = [int(np.argmax(out["logits"][0, -1]))]
        tokens += fresh
    return tokens[len(PROMPT):], apart


def compare(path, what):
    want, apart = reference(path)
    got = generate(path, "--tokens", TOKENS)
    same = next((i for i, (a, b) in enumerate(zip(got["tokens"], want)) if a != b), len(got["tokens"]))
    check(got["tokens"] == want, f"{what}: {same} of {TOKENS} tokens are onnxruntime's (logits {apart:.2g} apart at least)")
    return want


class Plain:
    """A decoder of Attention (opset 23) with past and present keys, and what it gives by NumPy, without any cache."""
    LAYERS, WIDTH, HEADS, KEY_HEADS, SIZE, VOCABULARY, PLACES = 2, 48, 4, 2, 12, 311, 128

    def __init__(self):
        rng = np.random.default_rng(5)
        draw = lambda *dims: (rng.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32)
        kv = self.KEY_HEADS * self.SIZE
        self.weights = {"embedding": draw(self.VOCABULARY, self.WIDTH) * 12, "places": draw(self.PLACES, self.WIDTH) * 8,
                        "out": draw(self.WIDTH, self.VOCABULARY)}
        for n in range(self.LAYERS):
            self.weights.update({f"q{n}": draw(self.WIDTH, self.WIDTH), f"k{n}": draw(self.WIDTH, kv), f"v{n}": draw(self.WIDTH, kv),
                                 f"o{n}": draw(self.WIDTH, self.WIDTH)})

    def save(self, path, masked, positions=True, scatters=False):
        node, value = helper.make_node, helper.make_tensor_value_info
        inputs = [value("input_ids", TensorProto.INT64, [1, "tokens"])]
        outputs = [value("logits", TensorProto.FLOAT, [1, "tokens", self.VOCABULARY])]
        nodes = [node("Gather", ["embedding", "input_ids"], ["words"])]
        if positions:
            inputs.append(value("position_ids", TensorProto.INT64, [1, "tokens"]))
            nodes += [node("Gather", ["places", "position_ids"], ["at"]), node("Add", ["words", "at"], ["h0"])]
        else:
            nodes.append(node("Identity", ["words"], ["h0"]))
        constants = [numpy_helper.from_array(w, name) for name, w in self.weights.items()]
        if masked:
            inputs.append(value("attention_mask", TensorProto.INT64, [1, "all"]))
            constants.append(numpy_helper.from_array(np.array([1, 2], np.int64), "axes"))
            nodes += [node("Cast", ["attention_mask"], ["seen"], to=TensorProto.BOOL), node("Unsqueeze", ["seen", "axes"], ["mask"])]
        if scatters:
            inputs += [value(x, TensorProto.INT64, [1]) for x in ("write_indices", "nonpad_kv_seqlen")]
        for n in range(self.LAYERS):
            names = [f"past_key_values.{n}.key", f"past_key_values.{n}.value", f"present.{n}.key", f"present.{n}.value"]
            inputs += [value(x, TensorProto.FLOAT, [1, self.KEY_HEADS, "past", self.SIZE]) for x in names[:2]]
            outputs += [value(x, TensorProto.FLOAT, [1, self.KEY_HEADS, "past" if scatters else "together", self.SIZE]) for x in names[2:]]
            nodes += [node("MatMul", [f"h{n}", f"{x}{n}"], [f"{x}{n}_rows"]) for x in "qkv"]
            if scatters:
                nodes += self.scattered(n, names, constants)
            else:
                nodes += [node("Attention", [f"q{n}_rows", f"k{n}_rows", f"v{n}_rows", "mask" if masked else "", *names[:2]],
                           [f"y{n}", *names[2:]], is_causal=1, q_num_heads=self.HEADS, kv_num_heads=self.KEY_HEADS)]
            nodes += [node("MatMul", [f"y{n}", f"o{n}"], [f"d{n}"]), node("Add", [f"h{n}", f"d{n}"], [f"h{n + 1}"])]
        nodes.append(node("MatMul", [f"h{self.LAYERS}", "out"], ["logits"]))
        graph = helper.make_graph(nodes, "plain", inputs, outputs, constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24 if scatters else 23)], ir_version=10), path)

    def scattered(self, n, names, constants):
        """Caches that TensorScatter writes and Attention reads, up to as many rows as are there."""
        node = helper.make_node
        made = []
        for x, heads in (("q", self.HEADS), ("k", self.KEY_HEADS), ("v", self.KEY_HEADS)):
            constants.append(numpy_helper.from_array(np.array([0, 0, heads, self.SIZE], np.int64), f"{x}{n}_shape"))
            made += [node("Reshape", [f"{x}{n}_rows", f"{x}{n}_shape"], [f"{x}{n}_split"]),
                     node("Transpose", [f"{x}{n}_split"], [f"{x}{n}_heads"], perm=[0, 2, 1, 3])]
        made += [node("TensorScatter", [past, f"{x}{n}_heads", "write_indices"], [present], axis=2)
                 for x, past, present in zip("kv", names[:2], names[2:])]
        constants.append(numpy_helper.from_array(np.array([0, 0, -1], np.int64), f"joined{n}"))
        return made + [node("Attention", [f"q{n}_heads", *names[2:], "", "", "", "nonpad_kv_seqlen"], [f"y{n}_heads"], is_causal=1),
                       node("Transpose", [f"y{n}_heads"], [f"y{n}_split"], perm=[0, 2, 1, 3]),
                       node("Reshape", [f"y{n}_split", f"joined{n}"], [f"y{n}"])]

    def next(self, tokens):
        """The likeliest next token, and how far it is from the second."""
        w, count = self.weights, len(tokens)
        h = w["embedding"][tokens] + w["places"][:count]
        for n in range(self.LAYERS):
            q = (h @ w[f"q{n}"]).reshape(count, self.HEADS, self.SIZE)
            k, v = (np.repeat((h @ w[f"{x}{n}"]).reshape(count, self.KEY_HEADS, self.SIZE), self.HEADS // self.KEY_HEADS, 1) for x in "kv")
            scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(self.SIZE) + np.where(np.tri(count), 0, -np.inf)
            p = np.exp(scores - scores.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            h = h + np.einsum("hij,jhd->ihd", p, v).reshape(count, -1) @ w[f"o{n}"]
        logits = h[-1] @ w["out"]
        best = np.sort(logits)
        return int(np.argmax(logits)), best[-1] - best[-2]


def plain_attention(folder):
    model = Plain()
    tokens, apart = list(PROMPT), np.inf
    for _ in range(40):
        token, gap = model.next(tokens)
        tokens.append(token)
        apart = min(apart, gap)
    want = tokens[len(PROMPT):]
    check(len(set(want)) > 5 and apart > 1e-3, f"the tokens are worth comparing: {len(set(want))} of 40, {apart:.2g} apart")
    for masked in (False, True):
        path, what = os.path.join(folder, "plain.onnx"), f"ONNX's Attention, {'with' if masked else 'without'} a mask"
        model.save(path, masked)
        got = generate(path, "--tokens", 40)
        check(got["tokens"] == want, f"{what}: {got['tokens'][:6]} ... are {want[:6]} ...")
        check(generate(path, "--tokens", 40, "--capacity", 90)["tokens"] == want, f"{what}, caches with more room")
    scattered = os.path.join(folder, "scattered.onnx")
    model.save(scattered, False, scatters=True)
    for extra in ((), ("--capacity", 90)):
        got = generate(scattered, "--tokens", 40, *extra)
        check(got["tokens"] == want, f"TensorScatter and Attention {extra}: {got['tokens'][:6]} ... are {want[:6]} ...")
    short = tool("generate", path, "--prompt-ids", "7", "--tokens", 6, "--level", 0, "--json")
    check(short.returncode == 0, f"a prompt of one token: exit {short.returncode}: {short.stderr[-200:]}")
    engine = os.path.join(folder, "plain.hone")
    caches = [f"past_key_values.{n}.{x}:1x2x60x12" for n in range(2) for x in ("key", "value")]
    shapes = lambda length: ",".join([f"input_ids:1x{length}", f"position_ids:1x{length}", f"attention_mask:1x{60 + length}", *caches])
    done = tool("build", path, "-o", engine, "--level", 0, "--profile", 0, "--shapes", shapes(1), "--profile", 1, "--shapes", shapes(3))
    check(done.returncode == 0, f"an engine of two schedules: {done.stderr[-300:]}")
    check(generate(engine, "--tokens", 40)["tokens"] == want, "a prompt in pieces of 3, 3 and 1 gives the same tokens")
    model.save(path, True, positions=False)
    done = tool("generate", path, "--prompt-ids", "1,2", "--tokens", 4, "--level", 0)
    check(done.returncode == 4 and "position_ids" in done.stderr, f"no position_ids: exit {done.returncode}: {done.stderr[-200:]}")


def sampling(path, greedy):
    one, two = (generate(path, "--tokens", 24, "--temperature", 1, "--seed", seed)["tokens"] for seed in (3, 4))
    again = generate(path, "--tokens", 24, "--temperature", 1, "--seed", 3)["tokens"]
    check(one == again and one != two, "drawn tokens follow their seed")
    for limit in (["--top-k", 1], ["--top-p", 1e-6], ["--temperature", 0.001]):
        got = generate(path, "--tokens", 24, *limit)["tokens"]
        check(got == greedy[:24], f"{' '.join(map(str, limit))} draws the likeliest")
    drawn = generate(path, "--tokens", 24, "--temperature", 5, "--top-k", 2)["tokens"]
    check(drawn != greedy[:24], "of two tokens not always the first is drawn")
    stopped = generate(path, "--tokens", TOKENS, "--eos", greedy[5])["tokens"]
    check(stopped == greedy[: greedy.index(greedy[5]) + 1], "it stops behind --eos")


def engines(path, folder, greedy):
    """An engine whose prompt comes in pieces, and in which more caches were made than are used."""
    engine = os.path.join(folder, "decoder.hone")
    shapes = lambda length: ",".join(["input_ids:1x%d" % length, "attention_mask:1x96"] +
                                     [f"past_key_values.{i}.{x}:1x2x96x32" for i in range(3) for x in ("key", "value")])
    done = tool("build", path, "-o", engine, "--level", 0, "--profile", 0, "--shapes", shapes(1), "--profile", 1,
                "--shapes", shapes(4))
    check(done.returncode == 0, f"an engine of two schedules: {done.stderr[-300:]}")
    got = generate(engine, "--tokens", TOKENS)
    check(got["tokens"] == greedy, "a prompt in pieces of 4, 1, 1 and 1 gives the same tokens")
    check(got.get("capacity") == 96, "the caches are the engine's")
    done = tool("generate", engine, "--prompt-ids", "1,2,3", "--tokens", 8, "--capacity", 14)
    check(done.returncode == 2 and "96" in done.stderr, "caches of an extent that the engine does not take: exit 2")


def refusals(path, folder):
    other = os.path.join(folder, "encoder.onnx")
    tool("zoo", "lenet5", "-o", other)
    for what, code, *arguments in (
            ("no prompt", 2, path),
            ("an id that is none", 2, path, "--prompt-ids", "1,x"),
            ("greedy and drawn", 2, path, "--prompt-ids", "1", "--greedy", "--top-k", 3),
            ("caches that are too small", 2, path, "--prompt-ids", "1,2,3", "--tokens", 8, "--capacity", 4, "--level", 0),
            ("no decoder", 4, other, "--prompt-ids", "1"),
            ("a token beyond the vocabulary", 2, path, "--prompt-ids", "1,512", "--level", 0)):
        done = tool("generate", *arguments)
        check(done.returncode == code and done.stderr.strip(), f"{what}: exit {done.returncode}, wanted {code}")


def far_device(path, int4, greedy):
    """A device in memory of its own (tests/plugin/far.c): caches stay with the host, the rest comes and goes."""
    plugin = os.path.join(os.path.dirname(TOOL), "tests", "libfar.so")
    for model, tokens in ((path, greedy), (int4, generate(int4, "--tokens", 12)["tokens"])):
        got = generate(model, "--tokens", 12, "--plugins", plugin, "--device", "far")
        check(got["tokens"] == tokens[:12], f"{os.path.basename(model)} on a device of its own memory: {got['tokens'][:6]} ...")
    timed = tool("generate", path, "--prompt-ids", "7", "--tokens", 2, "--level", 1, "--plugins", plugin, "--device", "far", "--json")
    check(timed.returncode == 0, f"... with timed branches, on inputs of zeros: exit {timed.returncode}: {timed.stderr[-200:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", help="a folder for the models")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as made:
        folder = keep or made
        path, tied, int4 = (os.path.join(folder, name) for name in ("decoder.onnx", "tied.onnx", "int4.onnx"))
        for to, more in ((path, []), (tied, ["--tied", "--seed", 2, "--dynamic"])):
            done = tool("zoo", "decoder", *EXTENTS, "-o", to, *more)
            check(done.returncode == 0, f"zoo decoder {more}: {done.stderr[-200:]}")
        done = tool("quantize", path, "--weights", "int4:32", "-o", int4)
        check(done.returncode == 0, f"quantize --weights int4:32: {done.stderr[-200:]}")
        greedy = compare(path, "f32")
        compare(tied, "f32, tied head")
        compare(int4, "int4")
        sampling(path, greedy)
        engines(path, folder, greedy)
        refusals(path, folder)
        plain_attention(folder)
        far_device(path, int4, greedy)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
