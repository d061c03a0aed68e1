#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""protocol.py - hone-server by the Open Inference Protocol: each route, JSON and binary tensors, batches, and what is
refused with which code and words."""
import json
import pathlib
import socket
import sys
import tempfile
import threading

import numpy

from server import WEIGHTS, Server, affine, finish, types

failures, checks = [], 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        failures.append(what)


def close(got, want):
    return numpy.allclose(numpy.asarray(got, dtype=numpy.float64), want, rtol=1e-5, atol=1e-5)


X = numpy.random.default_rng(3).standard_normal((3, 12)).astype(numpy.float32)
INFER = "/v2/models/affine/infer"


def tensor(x=X, **more):
    return {"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist(), **more}


def routes(server):
    status, text = server.get("/v2")
    check(status == 200 and "binary_tensor_data" in json.loads(text)["extensions"], f"/v2: {status} {text}")
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/affine/ready", "/v2/models/affine/versions/1/ready"):
        check(server.get(path)[0] == 200, path)
    model = json.loads(server.get("/v2/models/affine")[1])
    check(model["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 12]}] and model["versions"] == ["1"],
          f"metadata: {model}")
    config = json.loads(server.get("/v2/models/affine/config")[1])
    check(config["max_batch_size"] == 8 and config["input"][0]["dims"] == [12], f"config: {config}")
    check(json.loads(server.get("/v2/models/types/config")[1])["max_batch_size"] == 0, "types has no batches")
    names = {m["name"]: m["state"] for m in server.post("/v2/repository/index", "")[1]}
    check(names == {"affine": "READY", "types": "READY", "broken": "UNAVAILABLE"}, f"index: {names}")
    status, _, body = server.ask("HEAD", "/v2/models/affine")
    check(status == 200 and body == b"", "HEAD")


def json_tensors(server):
    want = X @ WEIGHTS
    status, reply = server.post(INFER, {"id": "a\"b", "inputs": [tensor()]})
    out = reply["outputs"][0]
    check(status == 200 and reply["id"] == "a\"b" and out["shape"] == [3, 5] and close(out["data"], want.ravel()),
          f"flat data: {status} {reply}")
    status, reply = server.post(INFER, {"inputs": [tensor(data=X.tolist())], "outputs": [{"name": "y"}]})
    check(status == 200 and close(reply["outputs"][0]["data"], want.ravel()), "nested data")
    status, reply = server.post("/v2/models/types/infer", {"inputs": [
        {"name": "half", "shape": [2], "datatype": "FP16", "data": [0.5, -2]},
        {"name": "a", "shape": [2, 3], "datatype": "INT64", "data": [2**62, -2**63, 1, 2, 3, 4]},
        {"name": "flag", "shape": [4], "datatype": "BOOL", "data": [True, False, 1, 0]},
        {"name": "b", "shape": [3], "datatype": "INT64", "data": [1, 1, -1]}]})
    outputs = {o["name"]: o["data"] for o in reply.get("outputs", [])}
    check(outputs == {"sum": [2**62 + 1, -2**63 + 1, 0, 3, 4, 3], "no": [False, True, False, True], "wide": [0.5, -2]},
          f"types: {status} {reply}")


def binary(server):
    want = X @ WEIGHTS
    head = json.dumps({"inputs": [{"name": "x", "shape": [3, 12], "datatype": "FP32",
                                   "parameters": {"binary_data_size": X.nbytes}}],
                       "parameters": {"binary_data_output": True}}).encode()
    for pad in range(3):  # the tensor begins anywhere
        text = head + b" " * pad
        status, headers, body = server.ask("POST", INFER, text + X.tobytes(),
                                           {"Inference-Header-Content-Length": str(len(text))})
        at = int(headers.get("Inference-Header-Content-Length", 0))
        got = numpy.frombuffer(body[at:], numpy.float32)
        size = json.loads(body[:at])["outputs"][0]["parameters"]["binary_data_size"] if at else 0
        check(status == 200 and size == got.nbytes and close(got, want.ravel()), f"binary: {status} {body[:200]}")
    status, headers, body = server.ask("POST", INFER, X.tobytes(), {"Inference-Header-Content-Length": "0"})
    at = int(headers.get("Inference-Header-Content-Length", 0))
    check(status == 200 and close(numpy.frombuffer(body[at:], numpy.float32), want.ravel()), f"raw: {status} {body[:99]}")
    connection = server.connect()  # chunked, and two requests on one connection
    for _ in range(2):
        connection.request("POST", INFER, iter([head[:5], head[5:], X.tobytes()]),
                           {"Inference-Header-Content-Length": str(len(head))}, encode_chunked=True)
        reply = connection.getresponse()
        check(reply.status == 200 and len(reply.read()) > want.nbytes, "chunked")
    connection.close()


def refused(server):
    def says(body, words, code=400, path=INFER):
        status, reply = server.post(path, body)
        check(status == code and words in reply["error"], f"{body}: want {code} {words!r}, got {status} {reply}")

    says("", "value")
    says("{", "line 1")
    says("[]", "no JSON object")
    says({}, '"inputs" is missing')
    says({"inputs": []}, 'input "x" is missing')
    says({"inputs": [tensor(), tensor()]}, "given twice")
    says({"inputs": [tensor(name="X")]}, 'did you mean "x"')
    says({"inputs": [tensor(datatype="FP16")]}, "the model wants FP32")
    says({"inputs": [tensor(shape=[3, 11])]}, "the model wants [-1,12]")
    says({"inputs": [tensor(shape=[36])]}, "rank 1")
    says({"inputs": [tensor(shape=[-3, 12])]}, "dim 0")
    says({"inputs": [tensor(shape=[2147483647, 12])]}, "36 elements")
    says({"inputs": [tensor(shape=[9, 12], data=[0] * 108)]}, "at most 8")
    says({"inputs": [tensor(shape=[0, 12], data=[])]}, "not built")
    says({"inputs": [tensor(data=["1"] * 36)]}, "element 0")
    says({"inputs": [tensor(data=None)]}, "no list")
    says({"inputs": [tensor(parameters={"binary_data_size": 144})]}, "either")
    says({"inputs": [{"name": "x", "shape": [3, 12], "datatype": "FP32", "parameters": {"binary_data_size": 144}}]}, "ends")
    says({"inputs": [tensor()], "outputs": [{"name": "z"}]}, 'no output "z"')
    says({"inputs": [tensor()], "outputs": [{"name": "y"}, {"name": "y"}]}, "twice")
    says({"inputs": [tensor()], "outputs": [{"name": "y", "parameters": {"classification": 3}}]}, "classification")
    says({"inputs": [tensor()], "parameters": {"timeout": -1}}, '"timeout"')
    says({"inputs": [tensor()], "parameters": {"sequence_id": 4}}, "sequences")
    says({"inputs": [tensor()]}, "did you mean \"affine\"", 404, "/v2/models/afine/infer")
    says({"inputs": [tensor()]}, "has version 1, not 2", 404, "/v2/models/affine/versions/2/infer")
    says({"inputs": [tensor()]}, "without --control", 403, "/v2/repository/models/affine/load")
    says({}, "there is no /v3", 404, "/v3")
    says({"inputs": [{"name": "a", "shape": [2, 3], "datatype": "INT64", "data": [0, 0, 0, 0, 0, 1.5]}]}, "element 5", 400,
         "/v2/models/types/infer")
    status, headers, _ = server.ask("GET", INFER)
    check(status == 405 and headers.get("Allow") == "POST", f"GET infer: {status} {headers}")
    raw_header = {"Inference-Header-Content-Length": "0"}
    check(server.ask("POST", INFER, b"12345", raw_header)[0] == 400, "raw of a wrong size")
    check(server.ask("POST", INFER, b"{}", {"Inference-Header-Content-Length": "3"})[0] == 400, "header beyond the body")
    check(server.ask("POST", INFER, b"{}", {"Inference-Header-Content-Length": "-1"})[0] == 400, "negative header")
    check(server.ask("POST", INFER, b"{}", {"Content-Encoding": "gzip"})[0] == 415, "gzip")
    big = server.ask("POST", INFER, b"x" * 70000)
    check(big[0] == 413 and b"--max-body" in big[2], f"large body: {big}")


def smuggling(server):
    for lengths in (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 4\r\nContent-Length: 5\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
            s.sendall(b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\n" + lengths + b"\r\n0\r\n\r\nGET /v2 HTTP/1.1\r\n"
                      b"Host: x\r\n\r\n")
            got = b""
            while block := s.recv(4096):
                got += block
        check(got.startswith(b"HTTP/1.1 400") and got.count(b"HTTP/1.1") == 1, f"{lengths}: {got[:200]}")


def batches(server):
    """Rows of requests that come together are run together, and each gets its own back."""
    def ask(i, results):
        x = numpy.full((1 + i % 3, 12), float(i), numpy.float32)
        status, reply = server.post(INFER, {"id": str(i), "inputs": [tensor(x)]})
        results[i] = status == 200 and reply["id"] == str(i) and close(reply["outputs"][0]["data"], (x @ WEIGHTS).ravel())

    before = json.loads(server.get("/v2/models/affine/stats")[1])["model_stats"][0]
    results = {}
    threads = [threading.Thread(target=ask, args=(i, results)) for i in range(48)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(len(results) == 48 and all(results.values()), f"batched outputs: {results}")
    stats = json.loads(server.get("/v2/models/affine/stats")[1])["model_stats"][0]
    rows = stats["inference_count"] - before["inference_count"]
    runs = stats["execution_count"] - before["execution_count"]
    check(rows == sum(1 + i % 3 for i in range(48)) and runs < 40, f"{rows} rows in {runs} runs")
    metrics = server.get("/metrics")[1]
    check(f'nv_inference_count{{model="affine",version="1"}} {stats["inference_count"]}\n' in metrics, "metrics")
    check(f'hone_batch_rows_count{{model="affine",version="1"}} {stats["execution_count"]}\n' in metrics, "histogram")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        affine(folder / "affine.onnx")
        (folder / "types/1").mkdir(parents=True)
        (folder / "types/3").mkdir()
        types(folder / "types/3/model.onnx")
        (folder / "types/3/model.onnx").rename(folder / "types/1/model.onnx")
        (folder / "broken.hone").write_bytes(b"HONEENG\nnothing of use")
        with Server(folder, "--max-delay", "20000", "--max-body", "64K", "--workers", "2") as server:
            for part in (routes, json_tensors, binary, refused, smuggling, batches):
                part(server)
            code = server.stop()
            check(code == 0, f"SIGTERM: {code}: {server.stderr()}")
    finish(failures, checks)


sys.path.insert(0, str(pathlib.Path(__file__).parent))
main()
