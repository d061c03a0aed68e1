# SPDX-License-Identifier: Apache-2.0
"""server.py - starts hone-server on a folder of small models, and asks it plainly."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
PROGRAM = BUILD / "hone-server"
if not PROGRAM.exists():
    print("skipped: hone-server is not built (libmicrohttpd)")
    sys.exit(77)


def write(path, nodes, inputs, outputs, constants=()):
    """inputs and outputs: (name, type, dims)"""
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(value, name) for name, value in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


WEIGHTS = numpy.random.default_rng(7).standard_normal((12, 5)).astype(numpy.float32)


def affine(path, scale=1.0):
    """y = scale * x W, rows free"""
    write(path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, ["n", 12])],
          [("y", TensorProto.FLOAT, ["n", 5])], [("w", (WEIGHTS * scale).astype(numpy.float32))])


def types(path):
    """Several inputs of several types, a fixed shape."""
    write(path, [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Not", ["flag"], ["no"]),
                 helper.make_node("Cast", ["half"], ["wide"], to=TensorProto.DOUBLE)],
          [("a", TensorProto.INT64, [2, 3]), ("b", TensorProto.INT64, [3]), ("flag", TensorProto.BOOL, [4]),
           ("half", TensorProto.FLOAT16, [2])],
          [("sum", TensorProto.INT64, [2, 3]), ("no", TensorProto.BOOL, [4]), ("wide", TensorProto.DOUBLE, [2])])


def slow(path, rounds=40):
    """Products that take some milliseconds each."""
    w = numpy.eye(512, dtype=numpy.float32)
    nodes = [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(rounds)]
    write(path, nodes, [("v0", TensorProto.FLOAT, [512, 512])], [(f"v{rounds}", TensorProto.FLOAT, [512, 512])],
          [("w", w)])


class Server:
    def __init__(self, *arguments):
        command = [str(PROGRAM), "--port", "0", "--level", "0", "--lame-duck", "0", *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = None
        self.log = []
        deadline = time.time() + 120
        while self.port is None:
            line = self.process.stderr.readline()
            self.log.append(line)
            assert line and time.time() < deadline, f"hone-server did not start: {self.log}"
            if line.startswith("listening on"):
                self.port = int(line.rsplit(":", 1)[1])
        os.set_blocking(self.process.stderr.fileno(), False)
        self.wait_for(lambda: self.get("/v2/health/ready")[0] == 200)

    def wait_for(self, holds, seconds=120):
        deadline = time.time() + seconds
        while not holds():
            assert self.process.poll() is None, f"hone-server ended: {self.stderr()}"
            assert time.time() < deadline, f"waited too long; {self.stderr()}"
            time.sleep(0.02)

    def stderr(self):
        try:
            self.log.append(self.process.stderr.read() or "")
        except (BlockingIOError, TypeError):
            pass
        return "".join(self.log)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask("GET", path)
        return status, body.decode()

    def post(self, path, value):
        """JSON there and back."""
        status, _, body = self.ask("POST", path, value if isinstance(value, (bytes, str)) else json.dumps(value))
        return status, json.loads(body) if body else None

    def stop(self, number=signal.SIGTERM, seconds=60):
        self.process.send_signal(number)
        code = self.process.wait(seconds)
        os.set_blocking(self.process.stderr.fileno(), True)
        self.log.append(self.process.stderr.read())
        return code

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if error[0]:
            print(self.stderr(), file=sys.stderr)


def finish(failures, count):
    for failure in failures:
        print("FAILED:", failure)
    print(f"{count - len(failures)} passed, {len(failures)} failed, 0 skipped")
    sys.exit(1 if failures else 0)
