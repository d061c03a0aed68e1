# SPDX-License-Identifier: Apache-2.0
"""provider.py - what the tests of the ONNX Runtime provider share: sessions on it that never fall back, what it says in the
runtime's log, and inputs for models."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile

import numpy
import onnxruntime

NAME = "HoneExecutionProvider"
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", "build/release")).resolve()
DATA = pathlib.Path(os.environ.get("HONE_TEST_DATA", pathlib.Path(__file__).parents[3] / "shared")).resolve()
LIBRARY = BUILD / "libhone_ort.so"


def usable():
    """Can this process open the provider? Else says why not: the test is skipped."""
    if not LIBRARY.exists():
        print(f"no {LIBRARY}: skipped")
        return False
    text = LIBRARY.read_bytes()
    preloaded = os.environ.get("LD_PRELOAD", "")
    for name in ("asan", "tsan", "ubsan"):
        if f"__{name}_".encode() in text and name not in preloaded:
            print(f"{LIBRARY.name} is built with a sanitizer, whose runtime Python does not have: skipped")
            return False
    return True


def register(name="hone"):
    onnxruntime.register_execution_provider_library(name, str(LIBRARY))


@contextlib.contextmanager
def log():
    """What the runtime writes to standard error, as a list of its lines, filled when the block ends."""
    lines = []
    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()


def devices():
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def options(entries=None, severity=1, hone=None):
    made = onnxruntime.SessionOptions()
    made.log_severity_level = severity
    for key, value in (entries or {}).items():
        made.add_session_config_entry(key, value)
    made.add_provider_for_devices(devices(), {"level": "0", **(hone or {})})
    return made


class Session:
    """A session on the provider, the lines that it logged, and how many nodes of the model it took."""

    def __init__(self, model, entries=None, **hone):
        text = {key: str(value) for key, value in hone.items()}
        with log() as self.lines:
            self.session = onnxruntime.InferenceSession(model, options(entries, 1, text), enable_fallback=0)
        self.session.disable_fallback()
        found = [re.search(r"hone: (\d+) of (\d+) nodes run on", line) for line in self.lines]
        counts = [match for match in found if match]
        self.claimed, self.nodes = (int(n) for n in counts[-1].groups()) if counts else (0, 0)

    def run(self, feeds):
        return self.session.run(None, feeds)

    def says(self, text):
        return any(text in line for line in self.lines)


def cpu(model, threads=0):
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, made, providers=["CPUExecutionProvider"])


def read_tensor(path):
    import onnx
    from onnx import numpy_helper

    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def recorded(folder):
    """Inputs that a model of the test data comes with, and its outputs."""
    import onnx

    model = onnx.load(folder / "model.onnx", load_external_data=False)
    initial = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initial]
    sets = folder / "test_data_set_0"
    if not sets.exists():
        sets = folder.parent / folder.name.rsplit("_", 1)[0] / "test_data_set_0"
    feeds = {name: read_tensor(sets / f"input_{i}.pb") for i, name in enumerate(names)}
    return feeds, [read_tensor(sets / f"output_{j}.pb") for j in range(len(model.graph.output))]


TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
         "tensor(float16)": numpy.float16, "tensor(bool)": numpy.bool_}


def drawn(session, batch=1, seed=0):
    """Seeded numbers for the inputs of a session; free dims are the batch."""
    random = numpy.random.default_rng(seed)
    feeds = {}
    for value in session.get_inputs():
        shape = [dim if isinstance(dim, int) else batch for dim in value.shape]
        kind = TYPES[value.type]
        if numpy.issubdtype(kind, numpy.integer):
            feeds[value.name] = random.integers(0, 2, shape).astype(kind)
        else:
            feeds[value.name] = random.standard_normal(shape).astype(kind)
    return feeds


def distance(got, want):
    """The largest difference over the largest magnitude, of all outputs; infinite where types or shapes differ."""
    worst = 0.0
    for a, b in zip(got, want, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return numpy.inf
        if a.size == 0:
            continue
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
            return numpy.inf
        ok = numpy.isfinite(b)
        scale = max(float(numpy.abs(b[ok]).max(initial=0)), 1e-6)
        worst = max(worst, float(numpy.abs(a[ok] - b[ok]).max(initial=0)) / scale)
    return worst
