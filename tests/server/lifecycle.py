#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lifecycle.py - models come, change and go while clients ask; queues fill; the server is told to leave, or is killed. No
request that was taken may be lost, and each has the outputs of one whole model."""
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

import numpy

from server import WEIGHTS, Server, affine, finish, slow

failures, checks = [], 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        failures.append(what)


class Load(threading.Thread):
    """Asks one after the other on a kept connection, a new one after each that was closed, until it is told to stop or
    nobody listens. Inputs tell requests apart."""

    def __init__(self, server, number, scales):
        super().__init__()
        self.server, self.number, self.scales = server, number, scales
        self.stop = False
        self.answered = self.lost = 0
        self.wrong, self.refused, self.seen = [], [], set()

    def one(self, connection, i):
        x = numpy.full((1 + i % 2, 12), self.number + i % 7 + 1, numpy.float32)
        connection.request("POST", "/v2/models/affine/infer", json.dumps({"inputs": [
            {"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}]}))
        reply = connection.getresponse()
        body = json.loads(reply.read())
        if reply.status != 200:
            self.refused.append((reply.status, body))
            return
        got = numpy.asarray(body["outputs"][0]["data"]).reshape(-1, 5)
        right = [s for s in self.scales if numpy.allclose(got, s * (x @ WEIGHTS), rtol=1e-4, atol=1e-4)]
        self.answered += 1
        self.seen.update(right)
        if not right:
            self.wrong.append(body)

    def run(self):
        i = 0
        while not self.stop:
            connection = self.server.connect()
            try:
                connection.connect()
            except OSError:
                break  # nobody listens: it has left
            try:
                while not self.stop and connection.sock:
                    i += 1
                    self.one(connection, i)
            except OSError:
                self.lost += 1
            except Exception as error:  # http.client's own
                self.lost += 1
                self.wrong.append(repr(error))
            finally:
                connection.close()


def start_load(server, scales, count=8):
    threads = [Load(server, n, scales) for n in range(count)]
    for thread in threads:
        thread.start()
    return threads


def end_load(threads, what, seen=None):
    for thread in threads:
        thread.stop = True
    for thread in threads:
        thread.join()
    lost, wrong = sum(t.lost for t in threads), [w for t in threads for w in t.wrong]
    refused = [r for t in threads for r in t.refused]
    answered = sum(t.answered for t in threads)
    check(lost == 0 and not wrong and not refused, f"{what}: {lost} lost, wrong {wrong[:3]}, refused {refused[:3]}")
    check(answered >= 8, f"{what}: only {answered} were answered")
    if seen:
        got = set().union(*(t.seen for t in threads))
        check(got == seen, f"{what}: outputs of {got}, not {seen}")
    return answered


def reload(folder):
    with Server(folder, "--poll", "50", "--workers", "2") as server:
        threads = start_load(server, (1.0, 2.0, 3.0))
        for scale in (2.0, 3.0):
            time.sleep(0.3)
            affine(folder / "next", scale)
            (folder / "next").rename(folder / "affine.onnx")
            server.wait_for(lambda s=scale: all(s in t.seen for t in threads))
        shutil.copy(folder / "affine.onnx", folder / "kept")
        whole = (folder / "kept").read_bytes()
        (folder / "affine.onnx").write_bytes(whole[:len(whole) // 2])  # half of it, in place
        server.wait_for(lambda: "the old one serves on" in server.stderr())
        end_load(threads, "reload", {1.0, 2.0, 3.0})
        check(server.get("/v2/models/affine/ready")[0] == 200, "a damaged file does not end what serves")
        index = server.post("/v2/repository/index", "")[1]
        check(index[0]["state"] == "READY" and index[0].get("reason"), f"index says what is wrong: {index}")
        (folder / "affine.onnx").unlink()
        server.wait_for(lambda: server.get("/v2/models/affine/ready")[0] == 404)
        (folder / "kept").rename(folder / "affine.onnx")
        server.wait_for(lambda: server.get("/v2/models/affine/ready")[0] == 200)
        check(server.stop() == 0, "stop after reload")
    affine(folder / "affine.onnx")


def control(folder):
    with Server(folder, "--poll", "0", "--control") as server:
        check(server.post("/v2/repository/models/affine/unload", "")[0] == 200, "unload")
        check(server.get("/v2/models/affine/ready")[0] == 404, "unloaded")
        check(server.post("/v2/repository/index", {"ready": True})[1] == [], "index of what is ready")
        threads = []
        check(server.post("/v2/repository/models/affine/load", "")[0] == 200, "load")
        threads = start_load(server, (1.0, 5.0))
        affine(folder / "affine.onnx", 5.0)
        check(server.post("/v2/repository/models/affine/load", "")[0] == 200, "load anew")
        server.wait_for(lambda: all(5.0 in t.seen for t in threads))
        end_load(threads, "load anew")
        status, reply = server.post("/v2/repository/models/other/load", "")
        check(status == 404 and "other" in reply["error"], f"load of none: {status} {reply}")
        affine(folder / "affine.onnx")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(lambda: server.stderr().count("is loaded from") >= 4)
        check(server.stop(signal.SIGINT) == 0, "SIGINT")


def leave(folder):
    """Under load: ready says no at once, requests go on being served, and each that was sent is answered."""
    for lame_duck in ("0", "400"):
        with Server(folder, "--lame-duck", lame_duck, "--max-delay", "3000", "--workers", "2") as server:
            threads = start_load(server, (1.0,), 12)
            time.sleep(0.4)
            server.process.send_signal(signal.SIGTERM)
            if lame_duck != "0":
                time.sleep(0.1)
                check(server.get("/v2/health/ready")[0] == 503, "ready while leaving")
                check(server.get("/v2/health/live")[0] == 200, "live while leaving")
            code = server.process.wait(60)
            check(code == 0, f"left with {code}")
            end_load(threads, f"leave after {lame_duck} ms")


def kill(folder):
    """Killed, it leaves nothing behind that keeps the next one from starting on the same port."""
    with Server(folder) as server:
        threads = start_load(server, (1.0,), 4)
        time.sleep(0.3)
        server.process.kill()
        server.process.wait()
        for thread in threads:
            thread.stop = True
        for thread in threads:
            thread.join()
        check(not [w for t in threads for w in t.wrong if "outputs" in w], "kill: wrong outputs")
        with Server(folder, "--port", server.port) as again:
            check(again.get("/v2/health/ready")[0] == 200, "starts again on the same port")
            check(again.stop() == 0, "stop after kill")


def priorities(server, x):
    """While the worker is busy, a later request of a higher priority goes before those that wait."""
    order = []

    def ask(name, priority):
        head = json.dumps({"inputs": [{"name": "v0", "shape": [512, 512], "datatype": "FP32",
                                       "parameters": {"binary_data_size": len(x)}}],
                           "parameters": {"priority": priority}}).encode()
        status = server.ask("POST", "/v2/models/slow/infer", head + x, {"Inference-Header-Content-Length": str(len(head))})[0]
        order.append((name, status))

    ask("warm", 0)
    order.clear()
    threads = [threading.Thread(target=ask, args=(f"low {i}", 0)) for i in range(12)]
    threads.append(threading.Thread(target=ask, args=("middle", 2)))
    threads.append(threading.Thread(target=ask, args=("high", 1)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [name for name, _ in order]
    check(all(status == 200 for _, status in order) and len(names) == 14, f"priorities: {order}")
    check(names.index("high") < 8 and names.index("middle") < 8, f"priorities: answered in the order {names}")


def limits(folder):
    """A queue that is full, requests that wait too long, runs that take too long."""
    slow(folder / "slow.onnx")
    x = numpy.ones((512, 512), numpy.float32).tobytes()
    raw = {"Inference-Header-Content-Length": "0"}
    patient = ("--queue-timeout", "300000")  # under a sanitizer a run takes seconds
    replies = []

    def ask(server, headers, body):
        replies.append((time.time(), *server.ask("POST", "/v2/models/slow/infer", body, headers)))

    def together(server, count, headers, body):
        replies.clear()
        threads = [threading.Thread(target=ask, args=(server, headers, body)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with Server(folder, "--workers", "1", "--max-queue", "2", "--poll", "0", *patient) as server:
        together(server, 12, raw, x)
        codes = sorted(r[1] for r in replies)
        check(set(codes) == {200, 429} and codes.count(200) >= 3, f"full queue: {codes}")
        check(all(r[2].get("Retry-After") for r in replies if r[1] == 429), "Retry-After")
        head = json.dumps({"inputs": [{"name": "v0", "shape": [512, 512], "datatype": "FP32",
                                       "parameters": {"binary_data_size": len(x)}}],
                           "parameters": {"timeout": 1000}}).encode()
        together(server, 3, {"Inference-Header-Content-Length": str(len(head))}, head + x)
        late = [r for r in replies if r[1] == 503]
        check(late and all(b"time limit" in r[3] for r in late), f"timeouts: {[(r[1], r[3][:80]) for r in replies]}")
        reasons = server.get("/metrics")[1]
        check('reason="REJECTED"} 0\n' not in [line for line in reasons.splitlines(True) if 'model="slow"' in line and
                                              "REJECTED" in line][0], "rejections are counted")
        check(server.stop() == 0, "stop after limits")
    with Server(folder, "--workers", "1", "--poll", "0", "--http-threads", "3", *patient) as server:
        priorities(server, x)
        check(server.stop() == 0, "stop after priorities")
    with Server(folder, "--workers", "1", "--run-timeout", "1", "--poll", "0") as server:
        together(server, 1, raw, x)
        check(replies[0][1] == 503, f"run-timeout: {replies[0][1]} {replies[0][3][:200]}")
        check(server.stop() == 0, "stop after a run that was ended")
    (folder / "slow.onnx").unlink()


def rates(folder):
    """A cap on requests a second, of all models and of one, whose configuration is read again when it changes."""
    x = json.dumps({"inputs": [{"name": "x", "shape": [1, 12], "datatype": "FP32", "data": [0.0] * 12}]})
    shutil.copy(folder / "affine.onnx", folder / "free.onnx")
    settings = folder / "free.config.json"
    settings.write_text('{"max_rate": 0, "max_delay_us": 1500}')

    def ask(server, model):
        return server.ask("POST", f"/v2/models/{model}/infer", x)

    with Server(folder, "--max-rate", "0.25", "--poll", "50") as server:
        codes = [ask(server, "affine")[0] for _ in range(4)]
        status, headers, body = ask(server, "affine")[:3]
        check(codes == [200, 429, 429, 429] and status == 429, f"a request in four seconds: {codes}, {status}")
        check(headers.get("Retry-After") == "4" and b"0.25 requests a second" in body, f"429 says when: {headers} {body}")
        codes = [ask(server, "free")[0] for _ in range(8)]
        check(codes == [200] * 8, f"a model without a cap: {codes}")
        delay = json.loads(server.get("/v2/models/free/config")[1])["dynamic_batching"]["max_queue_delay_microseconds"]
        check(delay == 1500, f"a model's own delay: {delay}")
        lines = [line for line in server.get("/metrics")[1].splitlines() if "REJECTED" in line and 'model="affine"' in line]
        check(lines and lines[0].endswith(" 4"), f"refused requests are counted: {lines}")
        for text, says in (('{"max_rate": -1}', '"max_rate" is no number from 0'), ('{"max_rates": 1}', 'did you mean "max_rate"'),
                           ('{"max_queue": 1.5}', '"max_queue" is no whole number'), ("[1]", "no JSON object"), ("{", "free.config.json")):
            settings.write_text(text)
            server.wait_for(lambda s=says: any(s in e.get("reason", "") for e in server.post("/v2/repository/index", "")[1]))
            check(ask(server, "free")[0] == 200, f"{text}: the old one serves on")
        settings.write_text('{"max_rate": 0.5}')
        server.wait_for(lambda: ask(server, "free")[0] == 429)
        settings.unlink()
        server.wait_for(lambda: ask(server, "free")[1].get("Retry-After") == "4")
        check(server.stop() == 0, "stop after rates")
    (folder / "free.onnx").unlink()


def cache(folder):
    """What was built is kept, and taken when it starts again."""
    kept = folder / "cache"
    kept.mkdir()
    for _ in range(2):
        with Server(folder, "--cache", kept, "--poll", "0") as server:
            built = "building" in server.stderr()
            check(server.stop() == 0, "stop")
    files = list(kept.glob("affine-*.hone"))
    check(not built and len(files) == 1, f"the cache: built again {built}, files {files}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        affine(folder / "affine.onnx")
        for part in (reload, control, leave, kill, limits, rates, cache):
            part(folder)
    finish(failures, checks)


sys.path.insert(0, str(pathlib.Path(__file__).parent))
main()
