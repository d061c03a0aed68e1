# SPDX-License-Identifier: Apache-2.0
"""hone_api.py - the few calls of hone's C API that the benchmark needs, through ctypes."""
import ctypes
import os

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOL = os.environ.get("HONE_BIN", os.path.join(ROOT, "build/release/hone"))
LIBRARY = os.environ.get("HONE_LIB", os.path.join(os.path.dirname(TOOL) or os.path.join(ROOT, "build/release"), "libhone.so"))
DTYPES = {1: np.float32, 2: np.float16, 4: np.float64, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64, 9: np.uint8, 13: np.bool_}


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dim", ctypes.c_int64 * 8)]


class Type(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("dtype", ctypes.c_int), ("format", ctypes.c_int), ("shape", Shape)]


class Tensor(ctypes.Structure):
    _fields_ = [("type", Type), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_int), ("cpus", ctypes.c_void_p),
                ("cpu_count", ctypes.c_int), ("spin_microseconds", ctypes.c_int), ("machine", ctypes.c_char_p)]


class Hone:
    """A session on an engine file."""

    name = "hone"

    def __init__(self, path, threads=0, device="cpu", session_options=None):
        if not os.path.exists(LIBRARY):
            raise SystemExit(f"{LIBRARY}: there is no such file; make builds it, or HONE_LIB names another")
        self.lib = lib = ctypes.CDLL(LIBRARY)
        lib.hone_context_message.restype = ctypes.c_char_p
        lib.hone_session_message.restype = ctypes.c_char_p
        lib.hone_context_diagnostics.restype = ctypes.c_void_p
        self.context, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(lib.hone_context_create(None, ctypes.byref(self.context)))
        options = DeviceOptions(struct_size=ctypes.sizeof(DeviceOptions), threads=threads)
        self.device = ctypes.c_void_p()
        self.check(lib.hone_device_open(self.context, device.encode(), 0, ctypes.byref(options), ctypes.byref(self.device)))
        self.engine = ctypes.c_void_p()
        devices = (ctypes.c_void_p * 1)(self.device)
        self.check(lib.hone_engine_load(self.context, path.encode(), devices, 1, ctypes.byref(self.engine)))
        diagnostics = ctypes.c_void_p(lib.hone_context_diagnostics(self.context))
        self.check(lib.hone_session_create(self.engine, session_options, ctypes.byref(self.session), diagnostics))

    def check(self, status):
        if status == 0:
            return
        lib, said = self.lib, []
        for i in range(lib.hone_context_message_count(self.context)):
            said.append(lib.hone_context_message(self.context, i, None).decode())
        for i in range(lib.hone_session_message_count(self.session)):
            said.append(lib.hone_session_message(self.session, i, None).decode())
        raise RuntimeError(f"hone failed with status {status}: {'; '.join(said)}")

    def tensor(self, name):
        """A numpy view of an input's or output's own buffer."""
        view = Tensor()
        self.check(self.lib.hone_session_tensor(self.session, name.encode(), ctypes.byref(view)))
        shape = tuple(view.type.shape.dim[: view.type.shape.rank])
        raw = (ctypes.c_char * view.bytes).from_address(view.data)
        return np.frombuffer(raw, dtype=DTYPES[view.type.dtype]).reshape(shape)

    def bind(self, inputs):
        for name, value in inputs.items():
            self.tensor(name)[...] = value

    def run(self):
        self.check(self.lib.hone_session_run(self.session))

    def outputs(self, names):
        return {name: self.tensor(name).copy() for name in names}
