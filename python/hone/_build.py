# SPDX-License-Identifier: Apache-2.0
"""hone.build: from a model to an engine."""
from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import _native
from ._network import Network
from ._progress import ProgressLike, shown

if TYPE_CHECKING:
    from ._engine import Engine

Path = Union[str, "os.PathLike[str]"]
# A file of ONNX, its bytes, an onnx.ModelProto, or a network that was built by hand.
ModelLike = Union[Path, bytes, bytearray, memoryview, Network, Any]
Shape = Sequence[int]
# Of each input with free dims: one shape, or (min, opt, max); several mappings make several schedules.
ShapesLike = Union[None, Mapping[str, Any], Sequence[Mapping[str, Any]]]
DeviceLike = str

_F16, _BF16, _TF32 = 1 << 2, 1 << 3, 1 << 31  # HONE_BIT of hone_dtype


class TimingInterrupted(UserWarning):
    """Ctrl-C ended a build's timing; layers that were not timed yet were chosen by estimates."""


def split_device(device: DeviceLike) -> tuple[str, int]:
    """"gpu:1" is the second GPU."""
    kind, colon, index = device.partition(":")
    if colon and not index.isdigit():
        raise ValueError(f'device is "{device}"; it may be cpu, gpu, gpu:N or ref')
    return kind, int(index) if colon else 0


def _range(name: str, given: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    parts = tuple(given)
    if parts and all(isinstance(part, (tuple, list)) for part in parts):
        if len(parts) != 3:
            raise ValueError(f'shapes: "{name}" has {len(parts)} shapes; give one, or three: (min, opt, max)')
        return tuple(parts[0]), tuple(parts[1]), tuple(parts[2])
    shape = tuple(int(dim) for dim in parts)
    return shape, shape, shape


def _shapes(shapes: ShapesLike) -> list[tuple[str, Any, Any, Any, int]]:
    if shapes is None:
        return []
    profiles = [shapes] if isinstance(shapes, Mapping) else list(shapes)
    return [(name, *_range(name, given), number)
            for number, profile in enumerate(profiles) for name, given in profile.items()]


def open_model(model: ModelLike, *, cache_dir: Optional[Path] = None, memory_limit: int = 0,
               allow_external_links: bool = False) -> _native.Graph:
    """The model as the library's graph. Bytes and ModelProto are read where they are."""
    if isinstance(model, Network):
        return model._native
    limits: dict[str, Any] = {"cache_dir": None if cache_dir is None else os.fspath(cache_dir),
                              "memory_limit": memory_limit, "allow_external_links": allow_external_links}
    if hasattr(model, "SerializeToString"):
        return _native.load_model(None, model.SerializeToString(), **limits)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _native.load_model(None, model, **limits)
    return _native.load_model(os.fspath(model), **limits)


def build(model: ModelLike, out: Optional[Path] = None, *, shapes: ShapesLike = None, device: DeviceLike = "cpu",
          threads: Optional[int] = None, level: Optional[int] = None, lock: Optional[Path] = None,
          timing_cache: Optional[Path] = None, budget: Optional[float] = None, fp16: bool = False, bf16: bool = False,
          tf32: bool = False, best: bool = False, max_error: Optional[float] = None,
          inputs: Optional[Mapping[str, Any]] = None,
          layer_types: Sequence[tuple[str, Optional[str], Optional[str]]] = (), tactics: Sequence[str] = (),
          tactic_sources: Sequence[str] = (), disable_passes: Sequence[str] = (), timing_runs: int = 0,
          max_tactics: int = 0, scratch_limit: int = 0, memory_limit: int = 0, seed: int = 0,
          reference_only: bool = False, timing_cache_only: bool = False, keep_subnormals: bool = False,
          allow_external_links: bool = False, cache_dir: Optional[Path] = None, device_io: Union[bool, str] = False,
          progress: ProgressLike = None) -> Engine:
    """Builds an engine that is tuned on this machine: seconds to minutes.

    model         an ONNX file, its bytes, an onnx.ModelProto, or a hone.Network
    out           also saved here, with its ledger beside it
    shapes        {input: shape} or {input: (min, opt, max)} of inputs with free dims; a list of them: several schedules
    device        "cpu", "gpu", "gpu:1", "ref" (slow and plain)
    threads       of the CPU; None: as many as affinity and the container's quota allow
    level         tuning effort, 0 (estimates, nothing is timed) to 5; None: 3
    lock          a text file: choices are taken from it where it exists, else written there
    timing_cache  times that were measured before; read, and written back
    budget        seconds of timing at most; the rest by estimates
    fp16, bf16    layers may be held and computed in it where that is faster
    tf32          a GPU's layers may multiply f32 with ten bits behind the point; best: all three
    max_error     bounds the outputs' relative L2 distance from f32, on `inputs` where given
    layer_types   (node or glob, compute type, output type), as trtexec's --layerPrecisions and --layerOutputTypes
    device_io     on a GPU: inputs and outputs stay in its memory, where torch.Tensors on it go in and, by `out=`, come out
                  without a copy; "float16" or "bfloat16": floats are of that type there
    progress      None: a line on terminals and in notebooks; True, False, or a function of (what, done, total)

    Ctrl-C ends the timing, and the engine is what was best so far (TimingInterrupted is warned of); twice, and
    KeyboardInterrupt ends the build. Other arguments are as in hone_build_options (include/hone/engine.h).
    """
    from ._engine import Engine
    if level is not None and not 0 <= level <= 5:
        raise ValueError(f"level is {level}; allowed: 0 to 5")
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; allowed: 1 or more")
    kind, index = split_device(device)
    graph = open_model(model, cache_dir=cache_dir, memory_limit=memory_limit,
                       allow_external_links=allow_external_links)
    with shown(progress, "hone.build") as tell:
        native, interrupted = graph.build(
            kind=kind, index=index, threads=threads or 0, shapes=_shapes(shapes),
            level=0 if level is None else -1 if level == 0 else level,
            lock=None if lock is None else os.fspath(lock),
            timing_cache=None if timing_cache is None else os.fspath(timing_cache),
            time_budget_ms=0 if budget is None else max(1, int(budget * 1000)),
            precisions=(_F16 if fp16 or best else 0) | (_BF16 if bf16 or best else 0) | (_TF32 if tf32 or best else 0),
            max_error=max_error or 0.0,
            inputs=None if inputs is None else dict(inputs),
            layer_types=[(node, compute, output, False) for node, compute, output in layer_types],
            tactics=list(tactics), tactic_sources=list(tactic_sources), disable_passes=list(disable_passes),
            timing_runs=timing_runs, max_tactics=max_tactics, scratch_limit_bytes=scratch_limit, seed=seed,
            reference_only=reference_only, timing_cache_only=timing_cache_only, keep_subnormals=keep_subnormals,
            device_io=None if device_io is False else "" if device_io is True else str(device_io), progress=tell)
    engine = Engine._of(native)
    if interrupted:
        warnings.warn("the timing was interrupted: layers that were not timed are chosen by estimates",
                      TimingInterrupted, stacklevel=2)
    if out is not None:
        engine.save(out)
    return engine
