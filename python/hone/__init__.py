# SPDX-License-Identifier: Apache-2.0
"""hone: optimises, runs and profiles trained neural networks on this machine.

    engine = hone.build("model.onnx")   # tuned here; hone.load("model.hone") later
    y = engine(x)                       # NumPy in, NumPy out
    print(hone.profile(engine))         # where the time goes, layer by layer

docs/PYTHON.md says the rest.
"""
import os as _os

from . import _native
from ._batcher import Batcher
from ._build import DeviceLike, ModelLike, ShapesLike, TimingInterrupted, build
from ._engine import Engine, Port, Step, load
from ._errors import (CancelledError, DeviceError, FileError, HoneError, IncompatibleError, InternalError,
                      InvalidError, LimitError, MalformedError, OutOfMemoryError, UnsupportedError)
from ._network import Network, Value, zoo, zoo_names
from ._onnxruntime import (InferenceSession, IOBinding, NodeArg, SessionOptions, get_available_providers)
from ._plugged import Operator, load_plugin, op
from ._profile import Diff, Page, Profile, profile
from ._quantize import Quantized, quantize
from ._session import Binding, Run, Session, empty, random_inputs

__version__ = _native.version()

# Threads do not survive a fork: what was opened before is opened anew in the child when it is used there.
_os.register_at_fork(after_in_child=_native.forked)

__all__ = [
    "Batcher", "Binding", "CancelledError", "DeviceError", "DeviceLike", "Diff", "Engine", "FileError", "HoneError", "IOBinding",
    "IncompatibleError", "InferenceSession", "InternalError", "InvalidError", "LimitError", "MalformedError",
    "ModelLike", "Network", "NodeArg", "Operator", "OutOfMemoryError", "Page", "Port", "Profile", "Quantized", "Run", "Session",
    "SessionOptions", "ShapesLike", "Step", "TimingInterrupted", "UnsupportedError", "Value", "build", "empty",
    "get_available_providers", "load", "load_plugin", "op", "profile", "quantize", "random_inputs", "zoo", "zoo_names",
]
