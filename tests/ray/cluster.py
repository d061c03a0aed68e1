#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone.ray on three nodes, each with a network namespace, a raylet and a folder of its own: requests of Ray Serve, and a job of
Ray Data in whose middle all processes of one node are killed. The job must complete with each row once and right, and Serve
go on. As root, since namespaces want that; skipped (77) in words where there are none."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy

NODES = 3
PREFIX = f"hone{os.getpid() % 10000}" if len(sys.argv) == 1 else sys.argv[1]  # of namespaces and links
PORT, HTTP = 6379, 8100
ROWS, BATCH, KILL_AFTER = 2048, 16, 20  # KILL_AFTER: batches that the job gave by then


def address(node):
    return f"10.77.3.{node + 1}"


def space(node):
    return f"{PREFIX}n{node}"


def call(*command, check=True):
    got = subprocess.run(command, capture_output=True, text=True)
    if check and got.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(got.stdout + got.stderr).strip()[-1500:]}")
    return got.stdout


# ---- the cluster ----

def make_network():
    call("ip", "link", "add", f"{PREFIX}b", "type", "bridge")
    call("ip", "link", "set", f"{PREFIX}b", "up")
    for node in range(NODES):
        call("ip", "netns", "add", space(node))
        inner, outer = f"{PREFIX}i{node}", f"{PREFIX}o{node}"
        call("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space(node))
        call("ip", "link", "set", outer, "master", f"{PREFIX}b", "up")
        for command in (["link", "set", "lo", "up"], ["link", "set", inner, "up"],
                        ["addr", "add", f"{address(node)}/24", "dev", inner]):
            call("ip", "-n", space(node), *command)


def processes(node):
    return [int(pid) for pid in call("ip", "netns", "pids", space(node), check=False).split()]


def kill(node, spare=()):
    for pid in processes(node):
        if pid not in spare:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def start_node(node, folder):
    where = ["--head", f"--port={PORT}", "--include-dashboard=false"] if node == 0 else [f"--address={address(0)}:{PORT}"]
    call("ip", "netns", "exec", space(node), sys.executable, "-m", "ray.scripts.scripts", "start", *where,
         f"--node-ip-address={address(node)}", f"--temp-dir={folder}/{node}", "--num-cpus=4",
         "--object-store-memory=100000000", "--disable-usage-stats")


def remove_network():
    for node in range(NODES):
        kill(node)
    time.sleep(0.5)
    for node in range(NODES):
        call("ip", "netns", "del", space(node), check=False)
    call("ip", "link", "del", f"{PREFIX}b", check=False)


def main():
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: network namespaces want root and iproute2")
        return 77
    with tempfile.TemporaryDirectory(prefix="hone_ray_") as folder:
        try:
            make_network()
            for node in range(NODES):
                start_node(node, folder)
            return subprocess.run(["ip", "netns", "exec", space(0), sys.executable, __file__, PREFIX, folder], check=False,
                                  timeout=500).returncode
        finally:
            remove_network()


# ---- the job, in the first node's namespace ----

WEIGHTS = numpy.random.default_rng(7).uniform(-1, 1, (8, 4)).astype(numpy.float32)


def row_of(number):
    return numpy.sin(numpy.arange(8, dtype=numpy.float32) + number).astype(numpy.float32)


def result_of(x):
    return numpy.maximum(x @ WEIGHTS, 0)


def write_engine(path):
    import hone
    net = hone.Network("rows")
    net.output("y", net.relu(net.linear(net.input("x", ("batch", 8)), WEIGHTS)))
    net.save(f"{path}.onnx")
    hone.build(net, path, level=0, threads=1, shapes={"x": ((2, 8), (8, 8), (10, 8))})


def wait_for(true, seconds, what):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.2)


def try_serve(serve, handle, count):
    """Requests in flight together, which run as batches, and one by HTTP."""
    asked = [handle.remote({"x": row_of(number)}) for number in range(count)]
    for number, response in enumerate(asked):
        numpy.testing.assert_allclose(response.result(timeout_s=60)["y"], result_of(row_of(number)), atol=1e-5)
    body = json.dumps({"x": row_of(3).tolist()}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/", body, timeout=30) as answer:
        numpy.testing.assert_allclose(json.load(answer)["y"], result_of(row_of(3)), atol=1e-5)


def make_rows(batch):
    time.sleep(0.1)  # as reading and decoding would take
    return {"id": batch["id"], "x": numpy.stack([row_of(number) for number in batch["id"]])}


def try_predict(ray, hone_ray, folder):
    """The recipe itself, on the model: each node builds the engine of its CPU in its own folder."""
    dataset = ray.data.range(100, override_num_blocks=4).map_batches(make_rows, batch_size=25)
    done = hone_ray.predict(dataset, f"{folder}/rows.hone.onnx", actors=2, batch_size=25, keep=["id"],
                            cache_dir=f"{folder}/engines", options={"level": 0, "shapes": {"x": ((1, 8), (8, 8), (8, 8))}})
    check_rows(done.take_all(), 100)
    engines = list(pathlib.Path(f"{folder}/engines").glob("*.hone"))
    assert len(engines) == 1, engines


def check_rows(rows, count):
    assert sorted(int(row["id"]) for row in rows) == list(range(count)), "rows are missing or come twice"
    for row in rows:
        numpy.testing.assert_allclose(row["y"], result_of(row_of(int(row["id"]))), atol=1e-5)


def try_killed_job(ray, hone_ray, engine):
    """A node goes while the job gives its first results. What it had is computed again."""
    class Told(hone_ray.Predictor):
        def __call__(self, batch):
            import ray as its
            time.sleep(0.05)
            return {**super().__call__(batch), "node": [its.get_runtime_context().get_node_id()] * len(batch["id"])}

    victim = next(node["NodeID"] for node in ray.nodes() if node["NodeManagerAddress"] == address(NODES - 1))
    dataset = ray.data.range(ROWS, override_num_blocks=ROWS // BATCH).map_batches(make_rows, batch_size=BATCH)
    job = dataset.map_batches(Told, fn_constructor_args=(engine,), fn_constructor_kwargs={"keep": ["id"]}, batch_size=BATCH,
                              num_cpus=1, compute=ray.data.ActorPoolStrategy(size=NODES), scheduling_strategy="SPREAD")
    rows, killed_at = [], None
    for number, batch in enumerate(job.iter_batches(batch_size=BATCH, prefetch_batches=0)):
        rows += [{name: batch[name][row] for name in ("id", "y", "node")} for row in range(len(batch["id"]))]
        worked = any(row["node"] == victim for row in rows)
        if killed_at is None and number >= KILL_AFTER and worked:
            assert len(rows) < ROWS / 2, "the job is nearly over"
            kill(NODES - 1)
            killed_at = len(rows)
    assert killed_at is not None, "the third node had no part of the job"
    check_rows(rows, ROWS)
    wait_for(lambda: sum(node["Alive"] for node in ray.nodes()) == NODES - 1, 60, "one node fewer")
    print(f"ray: {ROWS} rows right; a node of {NODES} was killed after {killed_at}")


def drive(folder):
    import ray
    from ray import serve

    import hone.ray
    engine = f"{folder}/rows.hone"
    write_engine(engine)
    ray.init(address=f"{address(0)}:{PORT}", _node_ip_address=address(0), log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    wait_for(lambda: sum(node["Alive"] for node in ray.nodes()) == NODES, 60, "three nodes")
    try_predict(ray, hone.ray, folder)
    serve.start(http_options={"host": "127.0.0.1", "port": HTTP})
    handle = serve.run(hone.ray.deployment(engine, num_replicas=NODES, max_delay=0.005).bind())
    try_serve(serve, handle, 200)
    try_killed_job(ray, hone.ray, engine)
    try_serve(serve, handle, 50)
    print("ray: 250 requests right, before and after")
    serve.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) == 1 else drive(sys.argv[2]))
