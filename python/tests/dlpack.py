# SPDX-License-Identifier: Apache-2.0
"""A producer of DLPack that is no library's: memory of any device by its address, and what was asked of it."""
import ctypes

import numpy


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_index", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
CPU, CUDA = 1, 2


class Producer:
    """`address` in the memory of a device; deleted counts how many capsules their consumers let go."""

    def __init__(self, address, shape, dtype="float32", device=(CPU, 0)):
        kind = numpy.dtype(dtype)
        self.device = device
        self.deleted = 0
        self.streams = []  # that consumers named
        self._delete = _DELETER(self._count)
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        code = {"i": 0, "u": 1, "f": 2}[kind.kind]
        self._fields = (address, *device, len(shape), code, kind.itemsize * 8, 1, self._shape, None, 0, None,
                        ctypes.cast(self._delete, ctypes.c_void_p))
        self._made = []

    def _count(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        self._made.append(_Tensor(*self._fields))
        return _new_capsule(ctypes.addressof(self._made[-1]), b"dltensor", None)
