#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py - the backend in the real tritonserver, asked by its public client; the same questions to hone-server, which must
give the same answers. `make test-triton` makes the environment (tests/triton/requirements.txt).
usage: tests/triton/run.py"""
import concurrent.futures
import glob
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy
import tritonclient.http as client

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))
import server as plain  # noqa: E402
from server import BUILD, WEIGHTS, affine, finish, types  # noqa: E402

HONE = os.environ.get("HONE_BIN", str(BUILD / "hone"))
failures, checks = [], 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        failures.append(what)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Triton:
    def __init__(self, repository, folder, *arguments):
        package = pathlib.Path(importlib.util.find_spec("pytriton").origin).parent
        program = folder / "tritonserver"
        if not program.exists():
            shutil.copy(package / "tritonserver/bin/tritonserver", program)
            program.chmod(0o755)
        backend = folder / "backends/hone"
        backend.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / "libtriton_hone.so", backend)
        libraries = os.pathsep.join(glob.glob(str(package.parent / "nvidia_pytriton.libs")))
        self.port, self.metrics = free_port(), free_port()
        self.log = open(folder / "triton.log", "w+", encoding="utf-8")
        command = [program, f"--model-repository={repository}", f"--backend-directory={backend.parent}",
                   f"--http-port={self.port}", "--http-address=127.0.0.1", "--allow-grpc=false",
                   f"--metrics-port={self.metrics}", "--exit-on-error=false", "--strict-readiness=false", *arguments]
        self.process = subprocess.Popen([str(c) for c in command], stdout=self.log, stderr=subprocess.STDOUT,
                                        env={**os.environ, "LD_LIBRARY_PATH": libraries})
        deadline = time.time() + 120
        while not self.live():
            assert self.process.poll() is None and time.time() < deadline, self.text()
            time.sleep(0.1)

    def live(self):
        try:
            return client.InferenceServerClient(f"127.0.0.1:{self.port}").is_server_ready()
        except Exception:  # the client's own, of several kinds, while nobody listens
            return False

    def text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0]:
            print(self.text()[-4000:], file=sys.stderr)
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        check(code == 0, f"tritonserver ends with {code}")


def ask(port, model, tensors, outputs, binary=True):
    names = {"float32": "FP32", "int64": "INT64", "bool": "BOOL", "float16": "FP16"}
    inputs = []
    for name, value in tensors.items():
        tensor = client.InferInput(name, list(value.shape), names[str(value.dtype)])
        tensor.set_data_from_numpy(value, binary_data=binary or value.dtype == numpy.float16)
        inputs.append(tensor)
    wanted = [client.InferRequestedOutput(name, binary_data=binary) for name in outputs]
    with client.InferenceServerClient(f"127.0.0.1:{port}") as c:
        reply = c.infer(model, inputs, outputs=wanted, request_id="r")
        return {name: reply.as_numpy(name) for name in outputs}


def refused(port, model, tensors, outputs, words, what):
    try:
        ask(port, model, tensors, outputs)
        check(False, f"{what}: was answered")
    except client.InferenceServerException as error:
        check(any(word in str(error) for word in words), f"{what}: {error}")


def same_answers(triton_port, server_port):
    rng = numpy.random.default_rng(5)
    mixed = {"a": rng.integers(-9, 9, (2, 3)), "b": rng.integers(-9, 9, 3), "flag": numpy.array([True, False, True, False]),
             "half": numpy.array([0.5, -3], numpy.float16)}
    for port in (triton_port, server_port):
        for rows in (1, 3, 8):
            x = rng.standard_normal((rows, 12)).astype(numpy.float32)
            for binary in (True, False):
                y = ask(port, "affine", {"x": x}, ["y"], binary)["y"]
                check(y.shape == (rows, 5) and numpy.allclose(y, x @ WEIGHTS, rtol=1e-5, atol=1e-5),
                      f"port {port}, {rows} rows, binary {binary}: {y}")
        got = ask(port, "types", mixed, ["sum", "no", "wide"])
        check(numpy.array_equal(got["sum"], mixed["a"] + mixed["b"]) and numpy.array_equal(got["no"], ~mixed["flag"]) and
              numpy.array_equal(got["wide"], mixed["half"].astype(numpy.float64)), f"port {port}: types {got}")
        one = ask(port, "types", mixed, ["no"])
        check(set(one) == {"no"}, f"port {port}: one output")
        refused(port, "affine", {"x": numpy.ones((9, 12), numpy.float32)}, ["y"], ["8"], f"port {port}: nine rows")
        refused(port, "affine", {"x": numpy.ones((1, 11), numpy.float32)}, ["y"], ["12", "11"], f"port {port}: shape")
        refused(port, "affine", {"x": numpy.ones((1, 12), numpy.int64)}, ["y"], ["FP32"], f"port {port}: type")
        refused(port, "affine", {"x": numpy.ones((1, 12), numpy.float32)}, ["z"], ["z"], f"port {port}: output")
        with client.InferenceServerClient(f"127.0.0.1:{port}") as c:
            model = c.get_model_metadata("affine")
            check([(i["name"], i["datatype"], [int(d) for d in i["shape"]]) for i in model["inputs"]] ==
                  [("x", "FP32", [-1, 12])], f"port {port}: {model}")
            config = c.get_model_config("affine")
            check(config["max_batch_size"] == 8 and config["dynamic_batching"]["preferred_batch_size"] == [8],
                  f"port {port}: {config}")


def many(port):
    """Requests that come together are put together, and each gets its own rows."""
    def one(i):
        x = numpy.full((1 + i % 3, 12), float(i), numpy.float32)
        return numpy.allclose(ask(port, "affine", {"x": x}, ["y"])["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-4)

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        right = list(pool.map(one, range(240)))
    check(all(right), f"{right.count(False)} of 240 requests have wrong rows")
    with client.InferenceServerClient(f"127.0.0.1:{port}") as c:
        stats = c.get_inference_statistics("affine")["model_stats"][0]
    inferred, runs = int(stats["inference_count"]), int(stats["execution_count"])
    check(runs < inferred and any(int(b["batch_size"]) > 3 for b in stats["batch_stats"]),
          f"{inferred} rows in {runs} runs, {[b['batch_size'] for b in stats['batch_stats']]}")
    check(int(stats["inference_stats"]["success"]["count"]) >= 240, f"success: {stats['inference_stats']}")


def configurations(folder, engine, triton):
    """Wrong ones are refused with words; of those with little in them the rest is filled in."""
    good = (folder / "repository/affine/config.pbtxt").read_text()
    cases = [("type", good.replace("TYPE_FP32, dims: [12]", "TYPE_FP16, dims: [12]"), "the engine's is TYPE_FP32"),
             ("dims", good.replace("dims: [12]", "dims: [13]"), "dim 0 is 13; the engine has [12]"),
             ("name", good.replace('name: "x"', 'name: "X"'), 'did you mean \\"x\\"'),
             ("batch", good.replace("max_batch_size: 8", "max_batch_size: 9"), "takes at most 8"),
             ("kind", good.replace("KIND_CPU", "KIND_MODEL"), "must be of KIND_CPU"),
             ("threads", good.replace('string_value: "1"', 'string_value: "0"'), "allowed: 1 to 256"),
             ("file", good + 'default_model_filename: "other.hone"\n', "there is no other.hone"),
             ("damaged", good, "damaged")]
    repository = folder / "wrong"
    for name, text, _ in cases:
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text(text.replace('name: "affine"', f'name: "{name}"'))
        shutil.copy(engine, repository / name / "1/model.hone")
    whole = (repository / "damaged/1/model.hone").read_bytes()
    (repository / "damaged/1/model.hone").write_bytes(whole[:len(whole) // 2])
    (repository / "bare.hone/1").mkdir(parents=True)
    shutil.copy(engine, repository / "bare.hone/1/model.hone")
    with triton(repository, folder) as server:
        log = server.text()
        for name, _, words in cases:
            with client.InferenceServerClient(f"127.0.0.1:{server.port}") as c:
                state = {m["name"]: m for m in c.get_model_repository_index()}[name]
            check(state["state"] == "UNAVAILABLE" and words.replace('\\"', '"') in state.get("reason", "").replace('\\"', '"'),
                  f"{name}: {state}")
        x = numpy.ones((2, 12), numpy.float32)
        check(numpy.allclose(ask(server.port, "bare.hone", {"x": x}, ["y"])["y"], x @ WEIGHTS, rtol=1e-5, atol=1e-5), "bare")
        check("hone " in log, "the backend says its version")


def main():
    if importlib.util.find_spec("pytriton") is None:
        print("skipped: nvidia-pytriton is not installed (make test-triton)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        affine(folder / "affine.onnx")
        types(folder / "types.onnx")
        run = {"check": True, "capture_output": True, "timeout": 300}
        subprocess.run([HONE, "build", folder / "affine.onnx", "-o", folder / "affine.hone", "--level", "0",
                        "--minShapes", "x:1x12", "--optShapes", "x:8x12", "--maxShapes", "x:8x12"], **run)
        subprocess.run([HONE, "serve", "--triton-repository", folder / "repository", folder / "affine.hone",
                        folder / "types.onnx", "--instances", "2", "--max-delay", "2000"], **run)
        with Triton(folder / "repository", folder) as triton, plain.Server(folder / "affine.hone",
                                                                           folder / "types.onnx") as server:
            same_answers(triton.port, server.port)
            many(triton.port)
            many(server.port)
            text = urllib.request.urlopen(f"http://127.0.0.1:{triton.metrics}/metrics", timeout=20).read().decode()
            check('nv_inference_request_success{model="affine",version="1"}' in text, "Triton's metrics")
            names = {line.split("{")[0] for line in text.splitlines() if line.startswith("nv_inference_")}
            ours = {line.split("{")[0] for line in server.get("/metrics")[1].splitlines() if line.startswith("nv_")}
            check(ours <= names | {"nv_inference_pending_request_count"}, f"metrics only we have: {sorted(ours - names)}")
            check(server.stop() == 0, "hone-server ends")
        configurations(folder, folder / "affine.hone", Triton)
    finish(failures, checks)


main()
