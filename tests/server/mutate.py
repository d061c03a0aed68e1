#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py - damaged requests: bytes changed, cut, doubled, lengths that lie. The server must answer what it reads to its
end, or close, and serve on: every 200 requests a whole one is asked, which must have the right outputs.
usage: tests/server/mutate.py [--count N] [--seed N]"""
import argparse
import copy
import errno
import json
import pathlib
import random
import select
import socket
import sys
import tempfile

import numpy

from server import WEIGHTS, Server, affine, finish, types

NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 1e308, -0.0, 0.5, None, True, "", "x", [], {}, [[]]]


def seeds():
    x = numpy.arange(24, dtype=numpy.float32).reshape(2, 12)
    plain = {"id": "1", "inputs": [{"name": "x", "shape": [2, 12], "datatype": "FP32", "data": x.ravel().tolist()}],
             "outputs": [{"name": "y", "parameters": {"binary_data": False}}], "parameters": {"timeout": 5000000}}
    head = {"inputs": [{"name": "x", "shape": [2, 12], "datatype": "FP32", "parameters": {"binary_data_size": x.nbytes}}],
            "parameters": {"binary_data_output": True, "priority": 2}}
    several = {"inputs": [{"name": "a", "shape": [2, 3], "datatype": "INT64", "data": [[1, 2, 3], [4, 5, 6]]},
                          {"name": "b", "shape": [3], "datatype": "INT64", "data": [1, 1, -1]},
                          {"name": "flag", "shape": [4], "datatype": "BOOL", "data": [True, False, 1, 0]},
                          {"name": "half", "shape": [2], "datatype": "FP16", "data": [0.5, -2]}]}
    return [("affine", plain, b"", False), ("affine", head, x.tobytes(), True), ("types", several, b"", False)]


def places(value):
    """Every container and key of a JSON value."""
    for key in value.keys() if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def damage_json(rng, value):
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        container, key = rng.choice(list(places(value)))
        what = rng.randint(0, 3)
        if what == 0:
            container[key] = copy.deepcopy(rng.choice(NUMBERS))  # lists among them are damaged in their turn
        elif what == 1 and isinstance(container, list):
            container.extend([container[key]] * rng.choice([1, 2, 100]))
        elif what == 2:
            del container[key]
            if not value:
                return value
        else:
            container[key] = [container[key]]
    return value


def damage_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 8])):
        at = rng.randrange(len(data) + 1)
        what = rng.randint(0, 4)
        if what == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del data[at:at + rng.choice([1, 4, 100])]
        elif what == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4, 64])))
        elif what == 3:
            data[at:at] = data[:rng.randrange(200)]
        elif at < len(data):
            data[at] = rng.choice(b'\0"{}[],:0\r\n')
    return bytes(data)


def request(rng):
    model, value, tail, binary = rng.choice(seeds())
    if rng.random() < 0.6:
        value = damage_json(rng, value)
    text = json.dumps(value, separators=rng.choice([(",", ":"), (", ", ": ")])).encode()
    json_length = len(text)
    body = text + tail
    if rng.random() < 0.5:
        body = damage_bytes(rng, body)
    length = len(body)
    if rng.random() < 0.1:
        length = max(0, length + rng.choice([-1, 1, -length, 10**6, 10**15, 10**19]))
    if rng.random() < 0.2:
        json_length = rng.choice([0, 1, json_length - 1, json_length + 1, 10**6, 2**64, -1])
    head = f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n"
    if binary or rng.random() < 0.1:
        head += f"Inference-Header-Content-Length: {json_length}\r\n"
    head = (head + "\r\n").encode()
    if rng.random() < 0.2:
        head = damage_bytes(rng, head)
    return head + body


def send(port, data):
    """The reply, or nothing where the connection was closed on us. The end of what is sent comes by itself, a moment later:
    libmicrohttpd's epoll does not see one that comes with data, and waits for the idle timeout."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        try:
            s.sendall(data)
            select.select([s], [], [], 0.003)
            s.shutdown(socket.SHUT_WR)
            while block := s.recv(65536):
                got += block
        except (ConnectionResetError, BrokenPipeError):
            pass
        except TimeoutError:
            return got or b"HANGS"
        except OSError as error:  # it was reset before the end of what is sent was told
            if error.errno != errno.ENOTCONN:
                raise
    return got


def whole(server):
    x = numpy.ones((1, 12), numpy.float32)
    status, reply = server.post("/v2/models/affine/infer", {"inputs": [
        {"name": "x", "shape": [1, 12], "datatype": "FP32", "data": x.ravel().tolist()}]})
    return status == 200 and numpy.allclose(reply["outputs"][0]["data"], (x @ WEIGHTS).ravel(), rtol=1e-5, atol=1e-5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    failures, codes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        affine(folder / "affine.onnx")
        types(folder / "types.onnx")
        with Server(folder, "--max-body", "1M", "--poll", "0", "--idle-timeout", "2") as server:
            for i in range(given.count):
                data = request(rng)
                got = send(server.port, data)
                code = got[9:12].decode("latin-1") if got.startswith(b"HTTP/1.1 ") else "none"
                code = "hangs" if got == b"HANGS" else code
                codes[code] = codes.get(code, 0) + 1
                if code.startswith("5") and code not in ("501", "503", "505"):
                    failures.append(f"request {i}: {got[:300]!r} for {data[:300]!r}")
                if server.process.poll() is not None:
                    failures.append(f"request {i} ended the server ({server.process.returncode}): {data[:2000]!r}\n"
                                    f"{server.stderr()}")
                    break
                if i % 200 == 199 and not whole(server):
                    failures.append(f"after request {i} a whole one has other outputs")
            if server.process.poll() is None:
                server.wait_for(lambda: "\nhone_held_bytes 0\n" in server.get("/metrics")[1], 20)  # else: held for ever
                if server.stop() != 0:
                    failures.append(f"SIGTERM: {server.process.returncode}: {server.stderr()}")
    print(f"{given.count} requests: " + ", ".join(f"{code}: {codes[code]}" for code in sorted(codes)))
    if codes.get("hangs", 0) > given.count // 1000 + 1:
        failures.append(f"{codes['hangs']} requests got neither a reply nor an end")
    for wanted in ("200", "400"):
        if given.count >= 1000 and codes.get(wanted, 0) < given.count // 20:
            failures.append(f"too few requests got {wanted}: nothing was tried")
    finish(failures, given.count)


sys.path.insert(0, str(pathlib.Path(__file__).parent))
main()
