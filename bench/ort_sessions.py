#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ort_sessions.py - how long ONNX Runtime takes to make a session: by its own CPU provider, and by hone's with its cache and
from a compiled model whose engine lies in a file, and by the Python package's session(), in turns. The first session, which
builds, is told apart, and what reading the model alone takes: a session whose graph is not optimised, on the CPU provider.
usage: bench/ort_sessions.py LIBHONE_ORT MODEL [ROUNDS]"""
import pathlib
import statistics
import sys
import tempfile
import time

import onnxruntime


def options(hone, entries):
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 3
    for key, value in entries.items():
        made.add_session_config_entry(key, value)
    if hone is not None:
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "HoneExecutionProvider"]
        made.add_provider_for_devices(devices, {"level": "0", **hone})
    return made


def create(model, hone=None, entries=None):
    """Seconds; the session is gone at the end."""
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options(hone, entries or {}), enable_fallback=0)
    seconds = time.perf_counter() - begin
    assert session.get_providers()
    return seconds


def create_by_package(package, model, folder):
    begin = time.perf_counter()
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 3
    package.session(model, made, cache_dir=folder, level=0)
    return time.perf_counter() - begin


def create_plain(model):
    begin = time.perf_counter()
    made = onnxruntime.SessionOptions()
    made.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    onnxruntime.InferenceSession(model, made)
    return time.perf_counter() - begin


def main(library, model, rounds):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ort/python"))
    import onnxruntime_ep_hone as package
    onnxruntime.register_execution_provider_library("hone", str(pathlib.Path(library).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        compiled = f"{folder}/compiled.onnx"
        cached = {"cache_dir": folder}
        first = create(model, cached)
        create(model, cached, {"ep.context_enable": "1", "ep.context_file_path": compiled, "ep.context_embed_mode": "0"})
        create_by_package(package, model, folder)
        times = {"CPU provider": [], "hone, cache_dir": [], "hone, compiled model": [], "hone, session()": [],
                 "reading alone": []}
        for _ in range(rounds):
            times["CPU provider"].append(create(model))
            times["hone, cache_dir"].append(create(model, cached))
            times["hone, compiled model"].append(create(compiled, {}))
            times["hone, session()"].append(create_by_package(package, model, folder))
            times["reading alone"].append(create_plain(model))
    own = statistics.median(times["CPU provider"])
    print(f"onnxruntime {onnxruntime.__version__}, {pathlib.Path(model).name}: the session that builds {first:.3f} s")
    for name, seconds in times.items():
        print(f"  {name:22} {statistics.median(seconds) * 1e3:8.1f} ms, {statistics.median(seconds) / own:.2f} of the CPU provider's")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7)
