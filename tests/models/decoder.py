#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small decoder of the zoo with caches: the tokens that `hone generate` makes are onnxruntime's, with f32 and with int4
weights, with a head of its own and a tied one; drawn ones follow their seed; what cannot be is refused.
usage: tests/models/decoder.py [--keep DIR]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

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
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
