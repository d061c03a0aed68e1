# SPDX-License-Identifier: Apache-2.0
"""hone.InferenceSession: the part of ONNX Runtime's class that programs use, over an engine. Not all of it: where
onnxruntime itself is there, hone's execution provider serves it whole."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

import numpy

from ._build import ModelLike, ShapesLike
from ._engine import Engine, Port, load
from ._session import Session

_TYPES = {"float32": "float", "float64": "double", "bool": "bool", "bfloat16": "bfloat16"}


@dataclass(frozen=True)
class NodeArg:
    """An input or output: free dims are strings, or None."""

    name: str
    type: str  # "tensor(float)"
    shape: list[Union[int, str, None]]


@dataclass(frozen=True)
class ModelMetadata:
    graph_name: str
    producer_name: str
    custom_metadata_map: dict[str, str]


class SessionOptions:
    """Takes every attribute. intra_op_num_threads, free dimensions and enable_profiling count."""

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.enable_profiling = False
        self.profile_file_prefix = "onnxruntime_profile_"
        self.graph_optimization_level: Any = None
        self.free_dimensions: dict[str, int] = {}
        self.config: dict[str, str] = {}

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        self.free_dimensions[name] = value

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept; `hone.level` and `hone.timing_cache` count."""
        self.config[key] = value


def get_available_providers() -> list[str]:
    return ["HoneExecutionProvider"]


def _node_arg(port: Port) -> NodeArg:
    return NodeArg(port.name, f"tensor({_TYPES.get(port.dtype, port.dtype)})", list(port.shape))


def _free_shapes(model: ModelLike, dimensions: Mapping[str, int]) -> ShapesLike:
    """Shapes of the inputs with the free dims that were given; the rest are 1."""
    import onnx
    if isinstance(model, (bytes, bytearray, memoryview)):
        proto = onnx.load_from_string(bytes(model))
    else:
        proto = model if hasattr(model, "SerializeToString") else onnx.load(model, load_external_data=False)
    held = {value.name for value in proto.graph.initializer}
    shapes: dict[str, tuple[int, ...]] = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in held and any(not dim.HasField("dim_value") for dim in dims):
            shapes[value.name] = tuple(dim.dim_value if dim.HasField("dim_value") else dimensions.get(dim.dim_param, 1)
                                       for dim in dims)
    return shapes


class IOBinding:
    """Buffers of a session, by name."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._bound: Any = None

    def bind_cpu_input(self, name: str, array: Any) -> None:
        self._inputs[name] = array
        self._bound = None

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Any = None, buffer_ptr: Any = None) -> None:
        """On the CPU; the memory is the binding's own."""
        if device_type != "cpu" or buffer_ptr is not None:
            raise NotImplementedError("bind_output: memory of the binding's own, on the CPU, is what there is; "
                                      "hone.Session.bind(out=...) takes the caller's")
        self._outputs.setdefault(name, None)
        self._bound = None

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()
        self._bound = None

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._bound = None

    def _run(self) -> None:
        if self._bound is None:
            self._bound = self._session._session.bind(self._inputs)
        self._bound.run()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The results, in the order of bind_output; of all outputs where none was named."""
        names = [port.name for port in self._session._engine.outputs]
        results = self._bound.outputs if len(names) > 1 else (self._bound.outputs,)
        found = dict(zip(names, results))
        return [numpy.copy(found[name]) for name in (self._outputs or names)]


class InferenceSession:
    """InferenceSession(path_or_bytes, sess_options, providers): builds the model, or opens an engine's file."""

    def __init__(self, path_or_bytes: Any, sess_options: Optional[SessionOptions] = None,
                 providers: Optional[Sequence[Any]] = None, provider_options: Optional[Sequence[Any]] = None,
                 **kwargs: Any) -> None:
        from ._build import build
        self._options = sess_options or SessionOptions()
        threads = int(getattr(self._options, "intra_op_num_threads", 0)) or None
        config = getattr(self._options, "config", {})
        free = dict(getattr(self._options, "free_dimensions", {}))
        if isinstance(path_or_bytes, Engine):
            self._engine = path_or_bytes
        elif _is_engine(path_or_bytes):
            self._engine = load(path_or_bytes, threads=threads)
        else:
            level = config.get("hone.level")
            self._engine = build(path_or_bytes, threads=threads, level=None if level is None else int(level),
                                 timing_cache=config.get("hone.timing_cache"),
                                 shapes=_free_shapes(path_or_bytes, free) if free else None)
        self._session = Session(self._engine)

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[Any]:
        results = self._session.run(dict(input_feed))
        for name in output_names or ():
            if name not in results:
                raise ValueError(f'the model has no output "{name}"; its outputs are {", ".join(results)}')
        return [results[name] for name in (output_names or results)]

    def get_inputs(self) -> list[NodeArg]:
        return [_node_arg(port) for port in self._engine.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [_node_arg(port) for port in self._engine.outputs]

    def get_providers(self) -> list[str]:
        return get_available_providers()

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        summary = self._engine.summary
        return ModelMetadata(summary["name"], summary["built_by"], {})

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        iobinding._run()

    def end_profiling(self) -> str:
        """With enable_profiling: profiles the engine now and writes the report's page; its path."""
        from ._profile import profile
        if not self._options.enable_profiling:
            return ""
        path = f"{self._options.profile_file_prefix}{self._engine.name}.html"
        profile(self._engine).html(path)
        return path


def _is_engine(model: Any) -> bool:
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model[:8]) == b"HONEENG\n"
    if hasattr(model, "SerializeToString"):
        return False
    with open(model, "rb") as file:
        return file.read(8) == b"HONEENG\n"
