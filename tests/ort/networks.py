#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""networks.py - trained models of the test data and networks of the zoo through the ONNX Runtime provider: their outputs
against the runtime's own CPU provider, and how many nodes were claimed. With --time both run in turns.
usage: tests/ort/networks.py [--level N] [--time ROUNDS] [--threads N] [--timing-cache FILE]
       [--cache FOLDER] [--json FILE] [--quick] [NAME ...]"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
import provider
from provider import Session, cpu, distance, drawn, recorded

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peer_bytes  # noqa: E402

TOOL = os.environ.get("HONE_BIN", str(provider.BUILD / "hone"))
BOUND = 1e-4
HALF_BOUND = 2e-3  # outputs in f16 have eleven bits
# Beyond If, Loop and Scan, and nodes that read tensors of unknown rank, everything is claimed.
FEWER = {"silero_vad_16k_op15": 20}
ZOO = ["squeezenet1_1", "shufflenet_v2", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "resnet18", "resnet50",
       "densenet121", "facenet", "yolo", "unet32", "encoder6"]
QUICK = ["mnist8_cntk", "mobilenet_v2_fp32", "mobilenet_v2_qdq_u8s8_pc", "squeezenet1_1_fp16", "yunet_n_dynamic",
         "silero_vad_16k_op15", "byte_bidi_lstm", "shufflenet_v2"]


def cases(names, folder):
    """(name, path of the model, function that makes its inputs and tells its outputs, if they are recorded)"""
    models = provider.DATA / "models"
    trained = sorted(path.name for path in models.iterdir() if path.is_dir()) if models.exists() else []
    for name in trained:
        if not names or name in names:
            yield name, models / name / "model.onnx", lambda session, at=models / name: recorded(at)
    for name in ZOO:
        if not names or name in names:
            path = pathlib.Path(folder) / f"{name}.onnx"
            subprocess.run([TOOL, "zoo", name, "-o", str(path)], check=True, capture_output=True, timeout=300)
            yield name, path, lambda session: (drawn(session), None)


def in_turns(a, b, feeds, rounds):
    """Medians in milliseconds, of blocks that ran beside each other. The runtime's own threads spin for a while after a
    run, on the cores of what is measured next: they get time to stop."""
    times = ([], [])
    for _ in range(rounds):
        for session, kept in ((a, times[0]), (b, times[1])):
            time.sleep(0.04)
            session.run(None, feeds)
            begin = time.perf_counter()
            runs = 0
            while runs < 3 or time.perf_counter() - begin < 0.03:
                session.run(None, feeds)
                runs += 1
            kept.append((time.perf_counter() - begin) / runs * 1e3)
    return [float(numpy.median(kept)) for kept in times]


def try_one(name, path, make, options):
    hone = {"level": options.level}
    if options.threads:
        hone["threads"] = options.threads
    for name_of, value in (("timing_cache", options.timing_cache), ("cache_dir", options.cache)):
        if value:
            hone[name_of] = value
    begin = time.perf_counter()
    session = Session(str(path), **hone)
    feeds, want = make(session.session)
    with provider.log():
        got = session.run(feeds)
    seconds = time.perf_counter() - begin
    try:
        peer = cpu(str(path), options.threads)
        if not (peer_bytes.SATURATES and "u8s8" in name):  # then what was recorded is compared
            want = peer.run(None, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        peer = None  # 1.23 has no ConvInteger of i8: what was recorded is compared
    row = {"name": name, "claimed": session.claimed, "nodes": session.nodes, "error": distance(got, want)}
    bound = HALF_BOUND if any(value.dtype == numpy.float16 for value in want) else BOUND
    good = row["error"] <= bound and session.claimed == FEWER.get(name, session.nodes) > 0
    text = f"{name:28} {session.claimed:4} of {session.nodes:4} nodes  error {row['error']:.1e}  ready in {seconds:5.1f} s"
    if options.time and peer:
        row["hone_ms"], row["cpu_ms"] = in_turns(session.session, peer, feeds, options.time)
        row["ratio"] = row["hone_ms"] / row["cpu_ms"]
        text += f"  {row['hone_ms']:8.3f} ms, CPU provider {row['cpu_ms']:8.3f} ms, ratio {row['ratio']:.2f}"
    print(text + ("" if good else "  FAILED"), flush=True)
    return row, good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--level", type=int, default=0)
    parser.add_argument("--time", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--timing-cache", help="a file of hone's, shared by all builds")
    parser.add_argument("--cache", help="folder of engines, to build first and time later")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not (provider.DATA / "models").exists():
        print(f"no folder {provider.DATA}/models: skipped")
        return 77
    if not provider.usable():
        return 77
    provider.register()
    rows, good = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path, make in cases(QUICK if options.quick else options.names, folder):
            try:
                row, passed = try_one(name, path, make, options)
            except Exception as error:  # the runtime's exceptions have no common base
                print(f"{name}: FAILED: {type(error).__name__}: {str(error)[:500]}", flush=True)
                row, passed = {"name": name}, False
            rows.append(row)
            good += passed
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    mean = f", ratio of times {numpy.exp(numpy.mean(numpy.log(ratios))):.3f} (geometric mean)" if ratios else ""
    print(f"onnxruntime {onnxruntime.__version__}: {good} of {len(rows)} networks{mean}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    return 0 if rows and good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
