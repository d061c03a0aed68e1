#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""behaviour.py - the ONNX Runtime provider on small models: what it claims and leaves, shapes that change, threads, the
cache, compiled models (embedded, in files, damaged, of another machine), options, and unregistering.
usage: tests/ort/behaviour.py [PART_OF_A_NAME]"""
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

import nets
import numpy
import onnx
import onnxruntime
import provider
from provider import Session, cpu, distance

BOUND = 1e-4
failures = []


def check(true, what):
    if not true:
        failures.append(what)
        print(f"  FAILED: {what}", flush=True)


def refused(what, words, call):
    try:
        call()
    except Exception as error:  # the runtime's exceptions have no common base
        check(words in str(error), f"{what}: no \"{words}\" in: {error}")
        return
    check(False, f"{what}: was not refused")


def feeds(batch=1, width=32, seed=0):
    return {"x": numpy.random.default_rng(seed).standard_normal((batch, width)).astype(numpy.float32)}


def same(session, model, given, what):
    error = distance(session.run(given), cpu(model).run(None, given))
    check(error <= BOUND, f"{what}: distance {error:.2e}")


def claims_all():
    model = nets.mlp(3)
    session = Session(model)
    check(session.claimed == session.nodes > 0, f"{session.claimed} of {session.nodes} nodes")
    same(session, model, feeds(3), "mlp")


def leaves_small_sets():
    model = nets.mlp(1, layers=2)
    check(Session(model).claimed == 0, "a set of 4 nodes was taken")
    check(Session(model, min_nodes=1).claimed > 0, "min_nodes=1 took nothing")


def leaves_strings():
    model = nets.around_strings()
    session = Session(model)
    check(0 < session.claimed < session.nodes, f"{session.claimed} of {session.nodes}")
    check(session.says("2 Cast, first \"to_text\""), "the log does not say what was left")
    same(session, model, {"x": numpy.ones((2, 3), numpy.float32)}, "strings")


def keeps_sets_convex():
    model = nets.looped()
    session = Session(model, min_nodes=1)
    check(session.claimed == 7, f"{session.claimed} claimed")
    check(session.says("in 2 partitions"), "not two partitions")
    same(session, model, {"x": numpy.full((2, 3), 0.3, numpy.float32)}, "looped")


def leaves_bodies():
    model = nets.branch()
    session = Session(model)
    check(session.claimed == 5, f"{session.claimed} claimed")
    for flag in (False, True):
        same(session, model, {"x": feeds(2, 3)["x"], "flag": numpy.array(flag)}, f"branch {flag}")


def leaves_odd_attributes():
    model = nets.type_attribute()
    session = Session(model)
    check(5 <= session.claimed < session.nodes, f"{session.claimed} of {session.nodes}")
    same(session, model, feeds(2, 3), "beside an optional")


def takes_data_dependent_outputs():
    model = nets.data_dependent()
    session = Session(model)
    check(session.claimed == session.nodes, f"{session.claimed} of {session.nodes}")
    for seed in range(3):
        same(session, model, feeds(4, 5, seed), f"seed {seed}")
    same(session, model, {"x": numpy.full((4, 5), -1, numpy.float32)}, "nothing above zero")


def batches_change():
    model = nets.mlp("n")
    session = Session(model)
    with provider.log() as lines:
        for batch in (1, 4, 2, 7, 1, 3, 8, 5):
            same(session, model, feeds(batch), f"batch {batch}")
    built = sum("building the engine" in line for line in lines)
    check(1 < built <= 3, f"{built} engines were built for 7 batches")
    same(session, model, feeds(0), "an empty batch")


def profiles_bound():
    model = nets.mlp("n")
    shapes = dict(profile_min_shapes="x:1x32", profile_opt_shapes="x:4x32", profile_max_shapes="x:8x32")
    session = Session(model, **shapes)
    check(session.says("building the engine"), "the engine was not built with the session")
    for batch in (1, 4, 8):
        same(session, model, feeds(batch), f"batch {batch}")
    with provider.log():
        refused("batch 9", "[9,32]", lambda: session.run(feeds(9)))
    refused("two of three", "go together", lambda: Session(model, profile_min_shapes="x:1x32"))
    refused("min over max", "min <= opt <= max", lambda: Session(model, **{**shapes, "profile_max_shapes": "x:2x32"}))
    refused("no shape", "NAME:1x3", lambda: Session(model, **{**shapes, "profile_max_shapes": "x"}))


def two_profiles():
    model = nets.mlp("n")
    session = Session(model, profile_min_shapes="x:1x32,x:8x32", profile_opt_shapes="x:1x32,x:16x32",
                      profile_max_shapes="x:1x32,x:32x32")
    for batch in (1, 8, 32):
        same(session, model, feeds(batch), f"batch {batch}")
    with provider.log():
        refused("between the profiles", "no engine takes", lambda: session.run(feeds(4)))


def options_are_checked():
    model = nets.mlp(1)
    refused("an unknown option", "did you mean \"level\"", lambda: Session(model, levle=1))
    refused("a wrong level", "allowed: -1 to 5", lambda: Session(model, level=9))
    refused("a wrong flag", "allowed: 0, 1", lambda: Session(model, fp16="maybe"))
    refused("a device", "cannot be opened", lambda: Session(model, device="toaster"))


def many_threads():
    model = nets.mlp("n")
    session = Session(model)
    want = {batch: cpu(model).run(None, feeds(batch)) for batch in range(1, 5)}
    wrong = []

    def work(first):
        for i in range(100):
            batch = 1 + (first + i) % 4
            if distance(session.run(feeds(batch)), want[batch]) > BOUND:
                wrong.append(batch)

    with provider.log():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check(not wrong, f"{len(wrong)} runs of 600 were wrong")


def bindings():
    model = nets.mlp(4)
    session = Session(model).session
    binding = session.io_binding()
    given, got = feeds(4)["x"], numpy.zeros((4, 32), numpy.float32)
    binding.bind_input("x", "cpu", 0, numpy.float32, given.shape, given.ctypes.data)
    binding.bind_output("y", "cpu", 0, numpy.float32, got.shape, got.ctypes.data)
    session.run_with_iobinding(binding)
    check(distance([got], cpu(model).run(None, {"x": given})) <= BOUND, "bound output")


def cache_is_used():
    model = nets.mlp(2)
    with tempfile.TemporaryDirectory() as folder:
        first = Session(model, cache_dir=folder)
        files = {path.suffix for path in pathlib.Path(folder).iterdir()}
        check({".hone", ".claims"} <= files, f"the cache has {files}")
        second = Session(model, cache_dir=folder)
        check(first.says("building the engine") and second.says("engine from the cache"), "built again")
        check(second.claimed == first.claimed, "other claims")
        same(second, model, feeds(2), "from the cache")
        check(Session(nets.mlp(2, layers=5), cache_dir=folder).says("building"), "another model's engine was taken")
        check(Session(model, cache_dir=folder, bf16=1).says("building"), "another precision's engine was taken")
        for path in pathlib.Path(folder).iterdir():
            path.write_bytes(path.read_bytes()[:-9] + b"\xff" * 9)
        third = Session(model, cache_dir=folder)
        check(third.says("is built again") and third.says("is made again"), "damage was not seen")
        same(third, model, feeds(2), "after damage")
    check(Session(model, cache_dir="/nonexistent/folder").says("could not be kept"), "no word about a cache that is no folder")


def compile_model(model, path, embed=1, **hone):
    entries = {"ep.context_enable": "1", "ep.context_file_path": str(path), "ep.context_embed_mode": str(embed)}
    return Session(model, entries, **hone)


def compiled_models():
    model = nets.around_strings()
    given = {"x": numpy.full((2, 3), 0.7, numpy.float32)}
    for embed in (1, 0):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net_ctx.onnx"
            same(compile_model(model, path, embed), model, given, "the session that compiles")
            nodes = [node for node in onnx.load(path).graph.node if node.op_type == "EPContext"]
            check(len(nodes) == 2, f"{len(nodes)} EPContext nodes")
            loaded = Session(str(path))
            check(not loaded.says("building the engine"), "a compiled model was built")
            same(loaded, model, given, f"compiled, embed {embed}")


def damaged_compiled_models():
    model = nets.mlp(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "net_ctx.onnx"
        compile_model(model, path)
        made = onnx.load(path)
        node = made.graph.node[0]
        whole = {a.name: a for a in node.attribute}["ep_cache_context"].s
        for what, content, words in (("cut", whole[: len(whole) // 2], "malformed"), ("empty", b"", "no ep_cache_context"),
                                     ("other bytes", bytes(len(whole)), "malformed"),
                                     ("one byte", whole[:4000] + b"\xaa" + whole[4001:], "malformed")):
            {a.name: a for a in node.attribute}["ep_cache_context"].s = content
            with provider.log():
                refused(what, words, lambda: Session(made.SerializeToString()))
        {a.name: a for a in node.attribute}["embed_mode"].i = 0
        for name, words in (("../escape.hone", "not beside the model"), ("/etc/passwd", "not beside the model"),
                            ("missing.hone", "missing.hone")):
            {a.name: a for a in node.attribute}["ep_cache_context"].s = name.encode()
            onnx.save(made, path)
            with provider.log():
                refused(name, words, lambda: Session(str(path)))
        {a.name: a for a in node.attribute}["ep_cache_context"].s = whole
        {a.name: a for a in node.attribute}["embed_mode"].i = 1
        del node.input[0]
        with provider.log():
            refused("without its input", "input", lambda: Session(made.SerializeToString()))


def free_dims_need_profiles_to_compile():
    model = nets.mlp("n")
    with tempfile.TemporaryDirectory() as folder, provider.log():
        path = pathlib.Path(folder) / "net_ctx.onnx"
        refused("without", "needs profile_min_shapes", lambda: compile_model(model, path))
        compile_model(model, path, profile_min_shapes="x:1x32", profile_opt_shapes="x:2x32", profile_max_shapes="x:4x32")
        loaded = Session(str(path))
        same(loaded, model, feeds(3), "batch 3")
        refused("batch 5", "no engine takes", lambda: loaded.run(feeds(5)))


def compatibility_is_told():
    told = getattr(onnxruntime, "get_model_compatibility_for_ep_devices", None)
    kinds = getattr(onnxruntime, "OrtCompiledModelCompatibility", None)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "net_ctx.onnx"
        compile_model(nets.mlp(1), path)
        metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    texts = [value for value in metadata.values() if value.startswith("hone ")]
    check(len(texts) == 1, f"the compiled model's metadata: {metadata}")
    if told and kinds and texts:
        check(told(provider.devices(), texts[0]) == kinds.EP_SUPPORTED_OPTIMAL, "its own model is not optimal")
        check(told(provider.devices(), "hone 0.0.1; c") == kinds.EP_UNSUPPORTED, "an old model is not refused")


def sessions_end_in_any_order():
    model = nets.mlp(1)
    sessions = [Session(model) for _ in range(4)]
    for i in (2, 0, 3):
        sessions[i] = None
    same(sessions[1], model, feeds(1), "the last one")


def unregisters():
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import provider, nets, onnxruntime\n"
            "for i in range(3):\n"
            "    provider.register(); s = provider.Session(nets.mlp(1)); s.run({'x': __import__('numpy').ones((1, 32), 'f4')})\n"
            "    del s; onnxruntime.unregister_execution_provider_library('hone'); assert not provider.devices()\n"
            "print('done')")
    got = subprocess.run([sys.executable, "-c", code, str(pathlib.Path(__file__).parent)], capture_output=True, text=True,
                         timeout=300)
    check(got.returncode == 0 and "done" in got.stdout, f"exit {got.returncode}: {got.stderr[-500:]}")


def wheel_installs():
    """The Python package, made and installed into a folder, in a process of its own."""
    maker = pathlib.Path(__file__).resolve().parents[2] / "ort" / "python" / "make_wheel.py"
    with tempfile.TemporaryDirectory() as folder:
        made = [subprocess.run([sys.executable, str(maker), str(provider.LIBRARY), f"{folder}/{i}"], check=True, text=True,
                               capture_output=True, timeout=300).stdout.strip() for i in range(2)]
        wheels = [pathlib.Path(path) for path in made]
        check(wheels[0].read_bytes() == wheels[1].read_bytes(), "two wheels of the same differ")
        check("-py3-none-" in wheels[0].name, wheels[0].name)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", "--target", f"{folder}/site", str(wheels[0])], check=True, timeout=300)
        code = ("import sys; sys.path[:0] = sys.argv[1:3]\n"
                "import nets, numpy, onnxruntime, onnxruntime_ep_hone as hone\n"
                "options = onnxruntime.SessionOptions(); options.log_severity_level = 1\n"
                "hone.add_to(options, level=0, bf16=False); hone.register()\n"
                "session = onnxruntime.InferenceSession(nets.mlp(1), options, enable_fallback=0)\n"
                "session.run(None, {'x': numpy.ones((1, 32), 'f4')})\n"
                "del session; hone.unregister(); assert not hone.get_devices(); print(hone.get_ep_name())\n")
        got = subprocess.run([sys.executable, "-c", code, f"{folder}/site", str(pathlib.Path(__file__).resolve().parent)],
                             capture_output=True, text=True, timeout=300)
        check(got.stdout.strip() == provider.NAME and "nodes run on" in got.stderr, f"exit {got.returncode}: {got.stderr[-500:]}")


def open_by_package(path, folder, **hone):
    """onnxruntime_ep_hone.session() in a process of its own, as it is meant: what it logged, and how far its outputs are."""
    code = ("import json, sys; sys.path[:0] = sys.argv[1:3]\n"
            "import numpy, onnxruntime, onnxruntime_ep_hone as hone\n"
            "hone.get_library_path = lambda: sys.argv[3]\n"
            "options = onnxruntime.SessionOptions(); options.log_severity_level = 1\n"
            "session = hone.session(sys.argv[4], options, cache_dir=sys.argv[5], level=0, **json.loads(sys.argv[6]))\n"
            "y = session.run(None, {'x': numpy.full((2, 32), 0.25, 'f4')})[0]\n"
            "z = onnxruntime.InferenceSession(sys.argv[4]).run(None, {'x': numpy.full((2, 32), 0.25, 'f4')})[0]\n"
            "print(float(abs(y - z).max()))\n")
    here = pathlib.Path(__file__).resolve()
    got = subprocess.run([sys.executable, "-c", code, str(here.parents[2] / "ort/python"), str(here.parent), str(provider.LIBRARY),
                          str(path), str(folder), json.dumps(hone)], capture_output=True, text=True, timeout=300)
    check(got.returncode == 0 and float(got.stdout) <= BOUND, f"exit {got.returncode}: {got.stdout}{got.stderr[-800:]}")
    return got.stderr


def package_sessions_come_back():
    """The second one opens the compiled model; one of a model that changed, or whose engine is damaged, is built."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = pathlib.Path(name), pathlib.Path(name) / "net.onnx"
        built, compiled = "building the engine", "EPContext"
        path.write_bytes(nets.mlp(2))
        check(built in open_by_package(path, folder), "the first session did not build")
        check(len(list(folder.glob("*.session"))) == 1, "no notes are kept")
        second = open_by_package(path, folder)
        check(built not in second and "engine from the cache" not in second, "the second session read the model")
        check(compiled in second or "of 1 nodes" in second or "nodes run on" not in second, f"what it opened: {second[-300:]}")
        check(built in open_by_package(path, folder, bf16=True), "other options took the same engine")
        for engine in folder.glob("*.onnx_*.hone"):
            engine.write_bytes(engine.read_bytes()[:-9] + bytes(9))
        open_by_package(path, folder)  # builds again, or reads the engine's own cache
        path.write_bytes(nets.mlp(2, layers=5))
        check(built in open_by_package(path, folder), "a model that changed ran by the former's engine")
        path.write_bytes(nets.mlp("n"))
        for _ in range(2):
            open_by_package(path, folder)  # free dims without profiles: no compiled model, and no failure
        with_profiles = {f"profile_{end}_shapes": f"x:{rows}x32" for end, rows in (("min", 1), ("opt", 2), ("max", 4))}
        open_by_package(path, folder, **with_profiles)
        check(built not in open_by_package(path, folder, **with_profiles), "profiles: built twice")


def package_sees_external_data():
    """Tensors in a file beside the model: when that file changes, the session is made again."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = onnx.load_from_string(nets.mlp(2))
        onnx.save_model(made, folder / "net.onnx", save_as_external_data=True, location="net.weights", size_threshold=0)
        open_by_package(folder / "net.onnx", folder)
        whole = (folder / "net.weights").read_bytes()
        (folder / "net.weights").write_bytes(whole[:4] + whole[:-4])
        check("building the engine" in open_by_package(folder / "net.onnx", folder), "other weights ran by the former's engine")


def providers_argument():
    """As for built-in providers, where the runtime knows that way (1.25 and later)."""
    if tuple(int(part) for part in onnxruntime.__version__.split(".")[:2]) < (1, 25):
        return
    model = nets.mlp(1)
    with provider.log():
        session = onnxruntime.InferenceSession(model, providers=[(provider.NAME, {"level": "0"}), "CPUExecutionProvider"],
                                               enable_fallback=0)
    check(provider.NAME in session.get_providers(), f"{session.get_providers()}")
    check(distance(session.run(None, feeds(1)), cpu(model).run(None, feeds(1))) <= BOUND, "outputs")


TESTS = [claims_all, leaves_small_sets, leaves_strings, keeps_sets_convex, leaves_bodies, leaves_odd_attributes, takes_data_dependent_outputs,
         batches_change, profiles_bound, two_profiles, options_are_checked, many_threads, bindings, cache_is_used,
         compiled_models, damaged_compiled_models, free_dims_need_profiles_to_compile, compatibility_is_told,
         sessions_end_in_any_order, unregisters, wheel_installs, package_sessions_come_back, package_sees_external_data,
         providers_argument]


def main(only):
    if not provider.usable():
        return 77
    provider.register()
    chosen = [test for test in TESTS if only in test.__name__]
    for test in chosen:
        print(test.__name__, flush=True)
        try:
            test()
        except Exception as error:
            check(False, f"{test.__name__}: {type(error).__name__}: {error}")
    print(f"onnxruntime {onnxruntime.__version__}: {len(chosen)} tests, {len(failures)} failures")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
