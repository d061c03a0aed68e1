#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decoder.py - tokens a second of a language model with caches in place: hone beside ONNX Runtime on the same file, in
turns, and both beside the time that a token's bytes take to come from memory, measured in each turn.

    python3 bench/decoder.py [--folder DIR] [--prompt 32] [--tokens 64] [--rounds 3] [--threads 2]
        [--types int4:32,f32] [--device gpu] [--allow fp16] [--layers 24 --width 1024 --heads 16 --kv-heads 4 --hidden 2816 --vocabulary 32000]

With --device gpu hone runs there and ONNX Runtime on the CPU all the same. ONNX Runtime makes MatMulNBits of the weights. It is timed with activations as they are ("exact") and with activations
that it may round to bytes ("bytes", accuracy level 4), which hone does not do. Its caches are in place, too: past and
present are bound to one buffer."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

TOOL = os.environ.get("HONE_BIN", "hone")
EXTENTS = ("layers", "width", "heads", "kv-heads", "hidden", "vocabulary")
DEFAULTS = (24, 1024, 16, 4, 2816, 32000)


def tool(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"hone {' '.join(map(str, arguments))[:200]}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def model_of(kind, options):
    """The decoder with weights of that kind, made once."""
    extents = [getattr(options, name.replace("-", "_")) for name in EXTENTS]
    base = os.path.join(options.folder, "decoder_" + "_".join(map(str, extents)))
    if not os.path.exists(base + ".onnx"):
        tool("zoo", "decoder", "-o", base + ".onnx", *(x for n, e in zip(EXTENTS, extents) for x in (f"--{n}", e)))
    if kind == "f32":
        return base + ".onnx"
    path = f"{base}_{kind.replace(':', '_')}.onnx"
    if not os.path.exists(path):
        tool("quantize", base + ".onnx", "--weights", kind, "-o", path)
    return path


class Peer:
    """ONNX Runtime with past and present in one buffer."""

    def __init__(self, path, threads, capacity, level):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", level)
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        caches = [p for p in self.session.get_inputs() if p.name.startswith("past")]
        empty = lambda p: np.zeros([1, p.shape[1], capacity, p.shape[3]], np.float32)
        self.caches = {p.name: onnxruntime.OrtValue.ortvalue_from_numpy(empty(p)) for p in caches}

    def feed(self, ids, before):
        """The token behind ids, which stand behind `before` tokens; milliseconds of the run."""
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", np.array([ids], np.int64))
        binding.bind_cpu_input("attention_mask", np.ones([1, before + len(ids)], np.int64))
        for name, value in self.caches.items():
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(name.replace("past_key_values", "present"), value)
        binding.bind_output("logits")
        begin = time.perf_counter()
        self.session.run_with_iobinding(binding)
        took = (time.perf_counter() - begin) * 1e3
        return int(np.argmax(binding.get_outputs()[len(self.caches)].numpy()[0, -1])), took  # bound last

    def generate(self, prompt, tokens):
        made, times = [], []
        token, prefill = self.feed(prompt, 0)
        made.append(token)
        while len(made) < tokens:
            token, took = self.feed([token], len(prompt) + len(made) - 1)
            made.append(token)
            times.append(took)
        return made, prefill, statistics.median(times)


def engine_of(path, options, capacity):
    """An engine with a schedule of single tokens and one of the prompt, both with caches of `capacity` tokens."""
    out = f"{path[:-5]}_{options.prompt}_{capacity}_{options.threads}_{options.device}_{'_'.join(options.allow)}.hone"
    if os.path.exists(out):
        return out
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    profiles = []
    for number, length in enumerate((1, options.prompt)):
        shapes = []
        for port in session.get_inputs():
            extent = length if port.name == "input_ids" else capacity
            shapes.append(port.name + ":" + "x".join(str(1 if i == 0 else extent if isinstance(d, str) else d)
                                                     for i, d in enumerate(port.shape)))
        profiles += ["--profile", number, "--shapes", ",".join(shapes)]
    del session
    tool("build", path, "-o", out, "--threads", options.threads, "--device", options.device, "--level", options.level,
         *(f"--{word}" for word in options.allow), *profiles)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "hone_decoder"))
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--level", type=int, default=2, help="hone's tuning effort")
    parser.add_argument("--types", default="int4:32")
    parser.add_argument("--device", default="cpu", help="hone's device")
    parser.add_argument("--allow", nargs="*", default=[], help="types that hone may compute in: fp16, bf16")
    parser.add_argument("--prepare", action="store_true", help="make models and engines, and measure nothing")
    for name, value in zip(EXTENTS, DEFAULTS):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    prompt = [int(x) for x in np.random.default_rng(1).integers(3, options.vocabulary, options.prompt)]
    capacity = options.prompt + options.tokens
    for kind in options.types.split(","):
        path = model_of(kind, options)
        engine = engine_of(path, options, capacity)
        if options.prepare:
            continue
        levels = {"exact": "1"} if kind == "f32" else {"exact": "1", "bytes": "4"}
        peers = {name: Peer(path, options.threads, capacity, level) for name, level in levels.items()}
        seen = {name: [] for name in ["hone", *peers]}
        ids, floors = {}, []
        for _ in range(options.rounds):
            told = json.loads(tool("generate", engine, "--prompt-ids", ",".join(map(str, prompt)), "--tokens",
                                   options.tokens, "--threads", options.threads, "--device", options.device, "--json"))
            ids["hone"] = told["tokens"]
            seen["hone"].append((told["prefill_ms"], told["token_ms"]))
            floors.append(told["floor_ms"])
            for name, peer in peers.items():
                ids[name], *times = peer.generate(prompt, options.tokens)
                seen[name].append(tuple(times))
        floor = statistics.median(floors)
        print(f"{kind}: {told['token_bytes'] * 1e-6:.1f} MB a token, memory reads {told['token_bytes'] / floor * 1e-6:.1f} GB/s, "
              f"floor {floor:.3f} ms ({min(floors):.3f} to {max(floors):.3f})")
        for name, rows in seen.items():
            prefill, token = (statistics.median(column) for column in zip(*rows))
            same = next((i for i, (a, b) in enumerate(zip(ids[name], ids["exact"])) if a != b), options.tokens)
            print(f"  {name:6} prompt {prefill:9.2f} ms  token {token:8.3f} ms  {1e3 / token:7.1f} tokens/s  "
                  f"{statistics.median(f / t for f, (_, t) in zip(floors, rows)):5.2f} of the floor  ids as exact ONNX Runtime's: {same} of {options.tokens}")


if __name__ == "__main__":
    main()
