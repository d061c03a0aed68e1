# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="hone"): each graph that Dynamo captures goes through torch.onnx.export into an engine.

    with torch.no_grad():
        fast = torch.compile(model, backend="hone", options={"level": 3, "timing_cache": "times"})
        y = fast(x)

Tensors are read and written where they are. What cannot be exported or built runs in PyTorch as it was, and a FallbackWarning
says why. Parameters and buffers become constants of the engine; after they were changed it is built again. PyTorch finds the
backend by itself where the package is installed, and else by `import hone.torch`. options are those of hone.build().
"""
from __future__ import annotations

import warnings
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from ._build import build, open_model
from ._errors import HoneError
from ._session import Session

_MOST_ENGINES = 16  # of one graph, for shapes outside the ranges of those that are there
Shapes = tuple[tuple[int, ...], ...]


class FallbackWarning(UserWarning):
    """A part of a model runs in PyTorch; the message says why."""


class _Unfit(Exception):
    """Why a graph is left to PyTorch."""


def _is_state(node: Any, x: Any) -> bool:
    """A parameter or a buffer: Dynamo hands them in as inputs."""
    return (isinstance(x, torch.nn.Parameter) or hasattr(x, "_dynamo_static_input_type")
            or "_dynamo_static_input_type" in node.meta.get("tensor_dict", {}))


def _symbol(size: Any) -> Optional[str]:
    return str(size.node.expr) if isinstance(size, torch.SymInt) else None


class _Inputs:
    """What the inputs of a captured graph are, by their numbers."""

    def __init__(self, module: Any, inputs: Sequence[Any]) -> None:
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        facts = [node.meta.get("example_value", x) for node, x in zip(nodes, inputs)]
        self.count = len(inputs)
        self.state = [number for number, x in enumerate(inputs)
                      if isinstance(x, torch.Tensor) and _is_state(nodes[number], x)]
        self.free = [number for number, x in enumerate(inputs)
                     if isinstance(x, torch.Tensor) and number not in self.state]
        # Of each free tensor the axes that vary; where in it another input is found that is a size.
        self.varying = [[axis for axis, size in enumerate(facts[number].shape) if _symbol(size)] for number in self.free]
        places = {_symbol(facts[number].shape[axis]): (number, axis)
                  for number, axes in zip(self.free, self.varying) for axis in axes}
        self.sizes: dict[int, tuple[int, int]] = {}
        for number, fact in enumerate(facts):
            if isinstance(inputs[number], torch.Tensor):
                continue
            if _symbol(fact) not in places:
                raise _Unfit(f"its input {nodes[number].name} is no tensor and no tensor's size")
            self.sizes[number] = places[_symbol(fact)]
        if any(inputs[number].device.type != "cpu" for number in (*self.free, *self.state)):
            raise _Unfit("its tensors are not on the CPU")


class _Frozen(torch.nn.Module):  # type: ignore[misc]
    """The graph as a function of its free tensors alone, and with its tensors alone as results."""

    def __init__(self, module: Any, given: _Inputs, inputs: Sequence[Any], kept: list[int]) -> None:
        super().__init__()
        self.module = module
        self.given = given
        self.kept = kept
        for number in given.state:
            self.register_buffer(f"state_{number}", inputs[number].detach())

    def forward(self, *free: Any) -> Any:
        by_number = dict(zip(self.given.free, free))
        by_number.update((number, getattr(self, f"state_{number}")) for number in self.given.state)
        by_number.update((number, by_number[tensor].shape[axis])
                         for number, (tensor, axis) in self.given.sizes.items())
        results = self.module(*(by_number[number] for number in range(self.given.count)))
        return tuple(results[index] for index in self.kept)


def _check_program(program: Any) -> None:
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise _Unfit("it changes a tensor in place that it was given")
    for node in program.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise _Unfit(f"{node.target} draws random numbers")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _covers(entry: Sequence[tuple[Sequence[int], Sequence[int]]], shapes: Shapes) -> bool:
    return all(len(low) == len(shape) and all(a <= dim <= b for a, dim, b in zip(low, shape, high))
               for (low, high), shape in zip(entry, shapes))


class _Part:
    """One captured graph and its engines. Shapes that none takes are built for when they come: a range around what is free,
    from 2 (Dynamo compiles 0 and 1 apart) to twice what came."""

    def __init__(self, module: Any, inputs: Sequence[Any], options: dict[str, Any]) -> None:
        self.module = module
        self.options = options
        self.given = _Inputs(module, inputs)
        if not self.given.free:
            raise _Unfit("it has no input")
        results = next(node for node in module.graph.nodes if node.op == "output").args[0]
        self.results = [None if isinstance(result, torch.fx.Node) else result for result in results]
        self.kept = [index for index, result in enumerate(results) if isinstance(result, torch.fx.Node)]
        for index in self.kept:
            if not isinstance(results[index].meta.get("example_value"), torch.Tensor):
                raise _Unfit(f"its result {results[index].name} is no tensor")
        self.engines: list[tuple[list[tuple[Sequence[int], Sequence[int]]], Session]] = []
        self.model: Optional[bytes] = None  # with free dims, from which further engines are built
        self.versions: Optional[list[int]] = None
        self.session(inputs)

    # ---- building ----

    def export(self, inputs: Sequence[Any], varying: bool) -> bytes:
        frozen = _Frozen(self.module, self.given, inputs, self.kept).eval()
        dims = tuple({axis: torch.export.Dim.DYNAMIC for axis in axes} for axes in self.given.varying)
        with torch.no_grad():
            program = torch.export.export(frozen, tuple(inputs[number] for number in self.given.free),
                                          dynamic_shapes=(dims,) if varying else None, strict=False)
        _check_program(program)
        exported = torch.onnx.export(program.run_decompositions(), dynamo=True, verbose=False)
        model: bytes = exported.model_proto.SerializeToString()
        return model

    def build(self, inputs: Sequence[Any], shapes: Shapes) -> Session:
        if len(self.engines) >= _MOST_ENGINES:
            raise _Unfit(f"it was built for {_MOST_ENGINES} ranges of shapes, and others come")
        model = self.model
        if model is None and any(self.given.varying):
            try:
                model = self.model = self.export(inputs, True)
            except _Unfit:
                raise
            except Exception:  # a size that the exporter takes for a constant: an engine for these shapes alone
                self.given.varying = [[] for _ in self.given.varying]
        if model is None:
            model = self.export(inputs, False)
        ports = open_model(model).inputs()
        entry = [([2 if dim < 0 and size > 1 else size for dim, size in zip(port[2], shape)],
                  [2 * size if dim < 0 else size for dim, size in zip(port[2], shape)])
                 for port, shape in zip(ports, shapes)]
        if len(ports) != len(shapes):
            raise _Unfit(f"the exported model has {len(ports)} inputs, not {len(shapes)}")
        ranges = {port[0]: (low, shape, high) for port, (low, high), shape in zip(ports, entry, shapes) if low != high}
        session = Session(build(model, **{"shapes": ranges, "progress": False, **self.options}))
        self.engines.append((entry, session))
        return session

    def session(self, inputs: Sequence[Any]) -> Session:
        versions = [0 if x.is_inference() else x._version for x in (inputs[number] for number in self.given.state)]
        if versions != self.versions:  # somebody trained, or loaded other weights
            self.engines, self.model, self.versions = [], None, versions
        shapes: Shapes = tuple(tuple(inputs[number].shape) for number in self.given.free)
        for entry, session in self.engines:
            if _covers(entry, shapes):
                return session
        return self.build(inputs, shapes)

    # ---- running ----

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        try:
            session = self.session(inputs)
        except Exception as error:
            _warn(error)
            found: tuple[Any, ...] = self.module(*inputs)
            return found
        got = session(*(inputs[number].detach().contiguous() for number in self.given.free))
        tensors = iter((got,) if len(self.kept) == 1 else got)
        results = list(self.results)
        for index in self.kept:
            results[index] = _tensor(next(tensors))
        return tuple(results)


def _tensor(array: Any) -> Any:
    """The array's memory as a tensor. bfloat16 is none of NumPy's own types."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def _warn(error: BaseException) -> None:
    reason = str(error) if isinstance(error, (_Unfit, HoneError)) else _first_line(error)
    warnings.warn(f"hone: this part runs in PyTorch: {reason}", FallbackWarning, stacklevel=3)


def _tensors(module: Any, inputs: Sequence[Any]) -> Iterator[Any]:
    yield from module.parameters()
    yield from (x for x in inputs if isinstance(x, torch.Tensor))


def compile_backend(module: Any, example_inputs: Sequence[Any], **settings: Any) -> Callable[..., Any]:
    """A backend of torch.compile."""
    try:
        if torch.is_grad_enabled() and any(x.requires_grad for x in _tensors(module, example_inputs)):
            raise _Unfit("gradients are asked for: call it under torch.no_grad()")
        return _Part(module, example_inputs, dict(settings.get("options") or {}))
    except Exception as error:  # the exporter's are of many kinds, and none may end the program
        _warn(error)
        forward: Callable[..., Any] = module.forward
        return forward
