#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serving.py - requests a second of hone-server, and of tritonserver where it is given, against `hone bench --streams` in
process, in turns: 64 connections by wrk on the same machine, raw requests of one row.
usage: bench/serving.py ENGINE.hone [--seconds S] [--rounds N] [--streams N] [--triton PROGRAM] [--triton-libraries DIR]
needs wrk (Debian has it), hone and hone-server; HONE_BUILD_DIR says where (default build/release). Triton: the program and the
folder of libraries of the package nvidia-pytriton (tests/triton/requirements.txt)."""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", pathlib.Path(__file__).resolve().parents[1] / "build/release"))
SIZES = {"BOOL": 1, "UINT8": 1, "INT8": 1, "FP16": 2, "BF16": 2, "INT16": 2, "UINT16": 2, "FP64": 8, "INT64": 8, "UINT64": 8}


def in_process(engine, given):
    done = subprocess.run([BUILD / "hone", "bench", engine, "--streams", str(given.streams), "--threads", "1", "--duration",
                           str(given.seconds), "--json"], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["throughput_qps"])


def wait_ready(port):
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit(f"nobody is ready on port {port}")


def load(port, model, folder, seconds):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/{model}", timeout=5) as reply:
        inputs = json.load(reply)["inputs"]
    if len(inputs) != 1:
        sys.exit("a raw request has one input")
    count = 1
    for dim in inputs[0]["shape"]:
        count *= 1 if int(dim) < 0 else int(dim)
    (folder / "body").write_bytes(bytes(count * SIZES.get(inputs[0]["datatype"], 4)))
    (folder / "post.lua").write_text(f'local f = io.open("{folder}/body", "rb")\nwrk.body = f:read("*a")\nf:close()\n'
                                     'wrk.method = "POST"\nwrk.headers["Inference-Header-Content-Length"] = "0"\n')
    done = subprocess.run(["wrk", "-t1", "-c64", "--timeout", "30s", f"-d{seconds}s", "-s", folder / "post.lua",
                           f"http://127.0.0.1:{port}/v2/models/{model}/infer"], capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        sys.exit(done.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--triton", type=pathlib.Path)
    parser.add_argument("--triton-libraries")
    given = parser.parse_args()
    name = given.engine.stem
    servers = {"hone-server": 18000}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        running = [subprocess.Popen([BUILD / "hone-server", given.engine, "--port", "18000", "--quiet"])]
        try:
            if given.triton:
                servers["tritonserver"] = 18001
                (folder / "backends/hone").mkdir(parents=True)
                shutil.copy(BUILD / "libtriton_hone.so", folder / "backends/hone")
                subprocess.run([BUILD / "hone", "serve", "--triton-repository", folder / "models", given.engine, "--instances",
                                str(given.streams), "--quiet"], check=True, stdout=subprocess.DEVNULL)
                running.append(subprocess.Popen(
                    [given.triton, f"--model-repository={folder}/models", f"--backend-directory={folder}/backends",
                     "--http-port=18001", "--allow-grpc=false", "--allow-metrics=false"],
                    env={**os.environ, "LD_LIBRARY_PATH": given.triton_libraries or ""}, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL))
            for port in servers.values():
                wait_ready(port)
                load(port, name, folder, 1)
            figures = {"in process": [], **{server: [] for server in servers}}
            for _ in range(given.rounds):
                figures["in process"].append(in_process(given.engine, given))
                for server, port in servers.items():
                    figures[server].append(load(port, name, folder, given.seconds))
        finally:
            for process in running:
                process.terminate()
                process.wait()
    base = statistics.median(figures["in process"])
    for what, rates in figures.items():
        rate = statistics.median(rates)
        print(f"{what:14} {rate:8.1f} a second, {rate / base:.2f} of in process; rounds: "
              + ", ".join(f"{r:.1f}" for r in rates))


main()
