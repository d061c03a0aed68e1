#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py - hone against ONNX Runtime and OpenVINO: same models, inputs and threads, in one process and interleaved.

    python3 bench/compare.py [--models mobilenet_v2,resnet50] [--threads 1,2] [--rounds 12] [--json FILE]
    python3 bench/compare.py --files a.onnx,b.onnx --peers onnxruntime
    python3 bench/compare.py --flags=--bf16 --peers openvino_default --threads 1 --no-start

Models are zoo names (written by `hone zoo`) or ONNX files. For every model and number of threads:
- speed: the engines take turns in blocks of runs; between blocks the others' threads are given time to stop spinning.
  Medians with the 10th and 90th percentiles; `ratio` is hone's median over the best peer's.
- start: in a fresh process each, in turns, the time to create (hone: open the engine file and make a session; peers: read the ONNX
  file and compile it) plus how much longer the first run takes than the median; and the peak resident memory that the
  engine adds to the Python process.
- the engine's build time, its steps on the reference and its converts with the tensors' shapes.
The process is pinned to as many cores as there are threads. Inputs are fresh random numbers; outputs are compared.
Needs the packages of bench/requirements.txt (`make bench` installs them into build/bench-env), and the built tool and
shared library (HONE_BIN, HONE_LIB)."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

try:
    import numpy as np
    import onnx
except ImportError as missing:
    sys.exit(f"compare.py: {missing.name} is not installed: make bench, or pip install -r bench/requirements.txt")

import hone_api
import peers

MODELS = ("mobilenet_v2,mobilenet_v3_large,squeezenet1_1,shufflenet_v2,efficientnet_b0,resnet18,resnet50,densenet121,"
          "unet32,encoder6,lstm2,vit_b_16")


def input_ports(path):
    """Name, shape and dtype of every input of an ONNX file; free dims are 1."""
    graph = onnx.load(path, load_external_data=False).graph
    held = {initializer.name for initializer in graph.initializer}
    return [(port.name, [max(dim.dim_value, 1) for dim in port.type.tensor_type.shape.dim],
             onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type).name)
            for port in graph.input if port.name not in held]


def output_names(path):
    return [port.name for port in onnx.load(path, load_external_data=False).graph.output]


def random_inputs(ports):
    generator = np.random.default_rng()
    return {name: (generator.integers(0, 2, size=shape).astype(dtype) if np.issubdtype(np.dtype(dtype), np.integer)
                   else generator.standard_normal(shape).astype(dtype))  # ids that any table has
            for name, shape, dtype in ports}


def relative_l2(got, want):
    got, want = got.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    return float(np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30))


def pin(threads):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def resident_peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def block(engine, runs):
    """Times of single runs; the first two warm caches and wake threads up."""
    times = []
    for i in range(runs + 2):
        begin = time.perf_counter_ns()
        engine.run()
        if i >= 2:
            times.append((time.perf_counter_ns() - begin) / 1e6)
    time.sleep(0.02)
    return times


def summary(times):
    return {"median_ms": float(np.median(times)), "p10_ms": float(np.percentile(times, 10)),
            "p90_ms": float(np.percentile(times, 90)), "runs": len(times)}


def measure_speed(files, ports, threads, rounds):
    """files: engine name -> file. All engines in this process, in turns."""
    pin(threads)
    inputs = random_inputs(ports)
    engines, refused = {}, {}
    for name, path in files.items():
        if name == "hone":
            continue
        try:
            engines[name] = peers.PEERS[name](path, threads)
        except Exception as error:  # each peer has its own
            refused[name] = str(error).strip().splitlines()[-1]
    if not engines:
        sys.exit(f"compare.py: no peer takes {files}: {refused}")
    hone = hone_api.Hone(files["hone"], threads)
    engines["hone"] = hone
    for engine in engines.values():
        engine.bind(inputs)
        engine.run()
    row = {"versions": {}, "relative_l2": {}, "refused": refused}
    for name, peer in engines.items():
        if name == "hone":
            continue
        want = peer.outputs()
        got = hone.outputs(want)
        row["relative_l2"][name] = max(relative_l2(got[key], value) for key, value in want.items())
        row["versions"][name] = peer.version
    begin = time.perf_counter()
    hone.run()
    runs = max(3, min(20, int(0.1 / max(time.perf_counter() - begin, 1e-6))))
    times = {name: [] for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            times[name] += block(engine, runs)
    row["speed"] = {name: summary(values) for name, values in times.items()}
    return row


def measure_start(name, path, ports, threads):
    """One engine in this fresh process, which has never seen the model before."""
    pin(threads)
    inputs = random_inputs(ports)
    base = resident_peak()
    begin = time.perf_counter()
    engine = hone_api.Hone(path, threads) if name == "hone" else peers.PEERS[name](path, threads)
    create = time.perf_counter() - begin
    engine.bind(inputs)
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        engine.run()
        times.append(time.perf_counter() - begin)
    median = float(np.median(times[1:]))
    return {"create_ms": create * 1e3, "first_ms": times[0] * 1e3, "median_ms": median * 1e3,
            "start_ms": (create + max(times[0] - median, 0)) * 1e3, "peak_bytes": resident_peak() - base}


def touch_memory(amount):
    """Writes and frees memory. A virtual machine gets a page from its host when it is first written, and that took 6 ms
    for 2 MiB where 0.3 ms are usual: whoever starts first would pay for all."""
    np.ones(amount, np.uint8)


def child(job):
    """Runs one measurement in a process of its own, so that affinity, pools and memory start fresh. numpy gets no
    threads: with real-time priority they spin on the cores of what is measured."""
    done = subprocess.run([sys.executable, __file__, "--job", json.dumps(job)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise RuntimeError(f"measuring {job} failed")
    return json.loads(done.stdout.splitlines()[-1])


def run_job(job):
    what = job.pop("what")
    print(json.dumps({"speed": measure_speed, "start": measure_start, "touch": touch_memory}[what](**job)))


def model_file(name, folder):
    """A zoo model's ONNX file, written once."""
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        subprocess.run([hone_api.TOOL, "zoo", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def build(path, engine, threads, level, flags):
    """Builds an engine file; returns seconds and what its steps tell."""
    begin = time.perf_counter()
    command = [hone_api.TOOL, "build", path, "-o", engine, "--threads", str(threads), "--level", str(level), *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   preexec_fn=lambda: pin(threads))
    seconds = time.perf_counter() - begin
    shown = subprocess.run([hone_api.TOOL, "show", engine, "--json"], check=True, stdout=subprocess.PIPE, text=True)
    steps = json.loads(shown.stdout)["schedules"][0]["steps"]
    return {"build_s": seconds, "steps": len(steps), "ref_steps": sum(step.get("provider") == "ref" for step in steps),
            "converts": [f"{step['name']} {step['outputs'][0]['type']}" for step in steps if step["type"] == "convert"]}


def measure(name, path, threads, arguments):
    engine = os.path.join(arguments.folder, f"{name}_{threads}.hone")
    row = {"model": name, "threads": threads, **build(path, engine, threads, arguments.level, arguments.flags.split())}
    files = {peer: path for peer in arguments.peers.split(",")}
    files["hone"] = engine
    ports = input_ports(path)
    row.update(child({"what": "speed", "files": files, "ports": ports, "threads": threads, "rounds": arguments.rounds}))
    row["start"] = {}
    tries = {one: [] for one in files}
    for _ in range(arguments.starts):
        child({"what": "touch", "amount": 1 << 30})
        for one, file in files.items():
            if one in row["refused"]:
                continue
            tries[one].append(child({"what": "start", "name": one, "path": file, "ports": ports, "threads": threads}))
    if arguments.starts:
        row["start"] = {one: sorted(runs, key=lambda run: run["start_ms"])[len(runs) // 2] for one, runs in tries.items() if runs}
    best = min(value["median_ms"] for key, value in row["speed"].items() if key != "hone")
    row["ratio"] = row["speed"]["hone"]["median_ms"] / best
    return row


def name_of(path):
    """A file's name, or its folder's where all are called model.onnx."""
    name = os.path.splitext(os.path.basename(path))[0]
    return os.path.basename(os.path.dirname(os.path.abspath(path))) if name == "model" else name


def text_of(row, peer_names):
    columns = [f"{row['model']:<20} {row['threads']:>2}"]
    for name in ("hone", *peer_names):
        one = row["speed"].get(name)
        text = f"{one['median_ms']:>8.2f} ({one['p10_ms']:.2f}..{one['p90_ms']:.2f})" if one else " refuses it"
        columns.append(text.ljust(26))
    columns.append(f"{row['ratio']:>5.2f} {max(row['relative_l2'].values()):>8.1e} {row['build_s']:>5.1f} {row['ref_steps']:>3}"
                   f" {len(row['converts']):>3}")
    if row["start"]:
        others = [value for key, value in row["start"].items() if key != "hone"]
        ours = row["start"]["hone"]
        columns.append(f"{ours['start_ms']:>7.1f} /{min(o['start_ms'] for o in others):>7.1f}")
        columns.append(f"{ours['peak_bytes'] / 2**20:>6.0f} /{min(o['peak_bytes'] for o in others) / 2**20:>6.0f}")
    return " ".join(columns)


def speed_table(rows):
    """The table of the READMEs; all peers take the zoo's models."""
    names = ("hone", *rows[0]["versions"])
    yield f"| model | threads | {' | '.join(name + ' ms' for name in names)} | hone/best | rel. L2 |"
    yield "|---" * (len(names) + 4) + "|"
    for row in rows:
        times = " | ".join("{median_ms:.2f} ({p10_ms:.2f}..{p90_ms:.2f})".format(**row["speed"][name]) for name in names)
        yield (f"| {row['model']} | {row['threads']} | {times} | {row['ratio']:.2f} "
               f"| {max(row['relative_l2'].values()):.0e} |")


def start_table(rows):
    """The table of docs/PERFORMANCE.md."""
    yield "| model | threads | start ms: hone, best peer | peak MiB: hone, best peer | build s | ref steps | converts |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        ours, peers_start = row["start"]["hone"], [v for k, v in row["start"].items() if k != "hone"]
        yield (f"| {row['model']} | {row['threads']} "
               f"| {ours['start_ms']:.1f}, {min(p['start_ms'] for p in peers_start):.1f} "
               f"| {ours['peak_bytes'] / 2**20:.0f}, {min(p['peak_bytes'] for p in peers_start) / 2**20:.0f} "
               f"| {row['build_s']:.1f} | {row['ref_steps']} | {len(row['converts'])} |")


def mean_ratio(rows):
    return math.exp(np.mean([math.log(row["ratio"]) for row in rows]))


def rewrite(rows):
    """Puts what was measured into the documents, in the place of tables with the same head and of the mean."""
    mean = f"{mean_ratio(rows):.3f}"
    for path, table in (("README.md", speed_table), ("README.zh-CN.md", speed_table), ("docs/PERFORMANCE.md", start_table)):
        path = os.path.join(hone_api.ROOT, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = list(table(rows))
        text, tables = re.subn(re.escape(lines[0]) + r"\n(?:\|.*\|\n)+", lambda _: "\n".join(lines) + "\n", text)
        text, means = re.subn(r"(eometric mean of [^.]*?|几何平均：)0\.\d+", lambda found: found.group(1) + mean, text)
        if tables != 1 or means != 1:
            sys.exit(f"compare.py: {path}: {tables} tables begin with {lines[0]}, {means} means; 1 of each was expected")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def at_least(least):
    def number(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)
    return number


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--files", default="", help="ONNX files instead of zoo models")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default="onnxruntime,openvino")
    parser.add_argument("--rounds", type=at_least(1), default=12)
    parser.add_argument("--flags", default="", help="more flags of hone's builds, e.g. =--bf16")
    parser.add_argument("--level", type=int, default=3, help="tuning level of the builds")
    parser.add_argument("--starts", type=at_least(0), default=3,
                        help="fresh processes an engine; the median counts; 0 leaves creation and memory out")
    parser.add_argument("--no-start", dest="starts", action="store_const", const=0, help="the same as --starts 0")
    parser.add_argument("--json", default="")
    parser.add_argument("--write", action="store_true", help="rewrite the tables of README.md, its translation and docs/PERFORMANCE.md")
    parser.add_argument("--folder", default=os.path.join(hone_api.ROOT, "build/bench"))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.peers.split(",") if name not in peers.PEERS]
    if unknown:
        parser.error(f"--peers: there is no {unknown[0]}; peers: {', '.join(peers.PEERS)}")
    if arguments.write and not arguments.starts:
        parser.error("--write needs the starts, which --starts 0 leaves out")
    return arguments


def main():
    arguments = read_arguments()
    if arguments.job:
        run_job(json.loads(arguments.job))
        return 0
    for name in arguments.peers.split(","):
        try:
            __import__(peers.PEERS[name].package)
        except ImportError:
            sys.exit(f"compare.py: {name} is not installed: make bench, or pip install -r bench/requirements.txt")
    os.makedirs(arguments.folder, exist_ok=True)
    files = [(name_of(f), f) for f in arguments.files.split(",") if f]
    if not files:
        files = [(name, model_file(name, arguments.folder)) for name in arguments.models.split(",") if name]
    heads = "".join(f" {name + ' ms (p10..p90)':<26}" for name in ("hone", *arguments.peers.split(",")))
    print(f"{'model':<20} th{heads} ratio  rel. L2 build ref rfm   start ms / best   peak MiB / best")
    rows = []
    for name, path in files:
        for threads in arguments.threads.split(","):
            rows.append(measure(name, path, int(threads), arguments))
            print(text_of(rows[-1], arguments.peers.split(",")), flush=True)
    print(f"geometric mean of the ratios: {mean_ratio(rows):.3f}"
          f" (hone / the best of {', '.join(f'{k} {v}' for k, v in rows[0]['versions'].items())})")
    for row in rows:
        for name, why in row["refused"].items():
            print(f"{name} refuses {row['model']}: {why}")
        if row["converts"]:
            print(f"converts of {row['model']} at {row['threads']}: {', '.join(row['converts'])}")
    if arguments.write:
        rewrite(rows)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump(rows, out, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
