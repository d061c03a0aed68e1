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

import copy
import operator
import warnings
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from ._build import build, open_model
from ._errors import HoneError
from ._session import Session

_MOST_ENGINES = 16  # of one graph, for shapes outside the ranges of those that are there
_place = operator.methodcaller("data_ptr")
_version = operator.attrgetter("_version")  # how often it was changed in place
Shapes = list[tuple[int, ...]]
_Entry = list[tuple[list[int], list[int]]]  # of each free tensor the least and the largest shape


class FallbackWarning(UserWarning):
    """A part of a model runs in PyTorch; the message says why."""


class FixedShapesWarning(UserWarning):
    """A part of a model with free dims cannot be exported with them, so that an engine is built for each shape that comes; the
    message says why."""


class _Unfit(Exception):
    """Why a graph is left to PyTorch."""


def _is_state(node: Any, x: Any) -> bool:
    """A parameter or a buffer: Dynamo hands them in as inputs."""
    return (isinstance(x, torch.nn.Parameter) or hasattr(x, "_dynamo_static_input_type")
            or "_dynamo_static_input_type" in node.meta.get("tensor_dict", {}))


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Those of a call's inputs that have these numbers."""
    if len(numbers) > 1:
        return operator.itemgetter(*numbers)
    return lambda inputs: tuple(inputs[number] for number in numbers)


def _facts(states: Sequence[Any]) -> list[int]:
    """Of parameters and buffers, while they live, what is another number after they were changed or replaced."""
    try:
        return [*map(id, states), *map(_place, states), *map(_version, states)]
    except RuntimeError:  # tensors of the inference mode count no changes
        return [*map(id, states), *map(_place, states), *(0 if x.is_inference() else _version(x) for x in states)]


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
        # Numbers of the program (an eps), which Dynamo hands in as tensors when they may vary.
        self.numbers = [number for number, x in enumerate(inputs)
                        if isinstance(x, torch.Tensor) and x.dim() == 0 and nodes[number].users
                        and all(user.op == "call_method" and user.target == "item" for user in nodes[number].users)]
        self.free = [number for number, x in enumerate(inputs)
                     if isinstance(x, torch.Tensor) and number not in self.state and number not in self.numbers]
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
        if any(inputs[number].is_complex() for number in (*self.free, *self.state)):
            raise _Unfit("its tensors are complex, which the exporter makes pairs of real numbers")


class _Frozen(torch.nn.Module):  # type: ignore[misc]
    """The graph as a function of its free tensors alone, and with its tensors alone as results."""

    def __init__(self, module: Any, given: _Inputs, inputs: Sequence[Any], kept: list[int]) -> None:
        super().__init__()
        graph = copy.deepcopy(module.graph)
        nodes = [node for node in graph.nodes if node.op == "placeholder"]
        for number in given.numbers:
            for item in list(nodes[number].users):
                item.replace_all_uses_with(inputs[number].item())
                graph.erase_node(item)
        self.module = torch.fx.GraphModule(module, graph)
        self.given = given
        self.kept = kept
        for number in given.state:
            self.register_buffer(f"state_{number}", inputs[number].detach())

    def forward(self, *free: Any) -> Any:
        by_number = dict(zip(self.given.free, free))
        by_number.update((number, getattr(self, f"state_{number}")) for number in self.given.state)
        by_number.update((number, None) for number in self.given.numbers)
        by_number.update((number, by_number[tensor].shape[axis])
                         for number, (tensor, axis) in self.given.sizes.items())
        results = self.module(*(by_number[number] for number in range(self.given.count)))
        return tuple(results[index] for index in self.kept)


def _attend(query: Any, key: Any, value: Any, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any,
            mask: Any) -> tuple[Any, Any]:
    """What nn.MultiheadAttention computes: the result, and the weights."""
    if mask is not None:
        raise _Unfit("it has a mask in a fused attention: torch.backends.mha.set_fastpath_enabled(False) takes it apart")
    size = query.shape[-1] // heads
    q, k, v = (torch.nn.functional.linear(x, w, b).unflatten(-1, (heads, size)).transpose(1, 2)
               for x, w, b in zip((query, key, value), qkv.chunk(3), qkv_bias.chunk(3)))
    weights = torch.softmax(q @ k.transpose(-1, -2) * size**-0.5, -1)
    return torch.nn.functional.linear((weights @ v).transpose(1, 2).flatten(2), out, out_bias), weights


def _encoder_layer(x: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any, gelu: bool,
                   norm_first: bool, eps: float, norm_1: Any, norm_1_bias: Any, norm_2: Any, norm_2_bias: Any, up: Any,
                   up_bias: Any, down: Any, down_bias: Any, mask: Any = None, mask_type: Any = None) -> Any:
    functional = torch.nn.functional

    def feed(y: Any) -> Any:
        y = functional.linear(y, up, up_bias)
        return functional.linear(functional.gelu(y) if gelu else functional.relu(y), down, down_bias)

    def attend(y: Any) -> Any:
        return _attend(y, y, y, heads, qkv, qkv_bias, out, out_bias, mask)[0]

    def norm(y: Any, weight: Any, bias: Any) -> Any:
        return functional.layer_norm(y, (width,), weight, bias, eps)

    if norm_first:
        x = x + attend(norm(x, norm_1, norm_1_bias))
        return x + feed(norm(x, norm_2, norm_2_bias))
    x = norm(x + attend(x), norm_1, norm_1_bias)
    return norm(x + feed(x), norm_2, norm_2_bias)


def _attention_layer(query: Any, key: Any, value: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, out: Any,
                     out_bias: Any, mask: Any = None, need_weights: bool = True, average: bool = True,
                     mask_type: Any = None) -> tuple[Any, Any]:
    result, weights = _attend(query, key, value, heads, qkv, qkv_bias, out, out_bias, mask)
    return result, weights.mean(1) if average else weights


def _decompositions() -> Any:
    """PyTorch's, and those of its fused layers, which eval() brings and the exporter does not know."""
    table = torch.export.default_decompositions()
    table[torch.ops.aten._transformer_encoder_layer_fwd.default] = _encoder_layer
    table[torch.ops.aten._native_multi_head_attention.default] = _attention_layer
    return table


def _check_program(program: Any) -> None:
    """Of one that is taken apart: dropout that drops nothing is gone by then."""
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise _Unfit("it changes a tensor in place that it was given")
    for node in program.graph.nodes:
        if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
            continue
        names = [argument.name for argument in node.target._schema.arguments]
        given = {**dict(zip(names, node.args)), **node.kwargs}
        if "dropout_p" not in names or given.get("dropout_p", 0) != 0:  # attention without dropout draws none
            raise _Unfit(f"{node.target} draws random numbers")


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _covers(entry: _Entry, shapes: Shapes) -> bool:
    return all(len(low) == len(shape) and all(a <= dim <= b for a, dim, b in zip(low, shape, high))
               for (low, high), shape in zip(entry, shapes))


class _Part:
    """One captured graph and its engines. Shapes that none takes are built for when they come: a range around what is free,
    from 2 (Dynamo compiles 0 and 1 apart) to twice what came. The first is built by the first call: while Dynamo captures, its
    own guesses of shapes would get into the export."""

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
            if results[index].meta["example_value"].is_complex():
                raise _Unfit(f"its result {results[index].name} is complex, which the exporter makes pairs of real numbers")
        self.is_single = len(self.kept) == 1
        self.free_of, self.states_of = _picker(self.given.free), _picker(self.given.state)
        self.engines: list[tuple[_Entry, Session]] = []
        self.model: Optional[bytes] = None  # with free dims, from which further engines are built
        self.states: tuple[Any, ...] = ()  # that are the engines' constants; held, so that no other gets their places
        self.facts: list[int] = []  # of these
        self.right: set[tuple[tuple[int, ...], ...]] = set()  # shapes at which an export with free dims was PyTorch's
        self.numbers: list[float] = []  # that are the engines' constants, too
        self.last: Optional[tuple[Shapes, Session]] = None  # the shapes of the last call, and what took them
        self.reason: Optional[BaseException] = None  # why PyTorch runs it

    # ---- building ----

    def export(self, inputs: Sequence[Any], varying: bool) -> bytes:
        frozen = _Frozen(self.module, self.given, inputs, self.kept).eval()
        dims = tuple({axis: torch.export.Dim.AUTO for axis in axes} for axes in self.given.varying)
        with torch.no_grad():
            program = torch.export.export(frozen, tuple(inputs[number] for number in self.given.free),
                                          dynamic_shapes=(dims,) if varying else None, strict=False)
            program = program.run_decompositions(_decompositions())
            _check_program(program)
            exported = torch.onnx.export(program, dynamo=True, verbose=False)
        model: bytes = exported.model_proto.SerializeToString()
        return model

    def fix_shapes(self, why: str) -> None:
        """From now on an engine for each shape, since an export with free dims is not to be had, or is wrong."""
        self.engines, self.model, self.last = [], None, None
        self.given.varying = [[] for _ in self.given.varying]
        _warn(FixedShapesWarning, f"this part has free dims and cannot be exported with them, so an engine is built for each "
              f"of its shapes, {_MOST_ENGINES} at most: {why}")

    def export_free(self, inputs: Sequence[Any]) -> Optional[bytes]:
        """With its free dims; None where the exporter takes one of them for a constant."""
        try:
            model = self.export(inputs, True)
        except _Unfit:
            raise
        except Exception as error:
            self.fix_shapes(_first_line(error))
            return None
        for port, axes in zip(open_model(model).inputs(), self.given.varying):
            for axis in axes:
                if port[2] is not None and port[2][axis] >= 0:
                    self.fix_shapes(f'dim {axis} of input "{port[0]}" is {port[2][axis]} in what was exported')
                    return None
        return model

    def is_right(self, session: Session, inputs: Sequence[Any], free: Sequence[Any], shapes: Shapes) -> bool:
        """Are an engine's results with free dims PyTorch's at these shapes? Exporters make constants of what hangs on sizes
        (the windows of adaptive pooling), and nothing else tells. Looked at once for each of the first shapes."""
        key = tuple(shapes)
        if key in self.right or len(self.right) >= _MOST_ENGINES:
            return True
        with torch.no_grad():
            want = self.module(*inputs)
            got = self.run(session, free)
            if not all(_is_near(got[index], want[index]) for index in self.kept):
                return False
        self.right.add(key)
        return True

    def build(self, inputs: Sequence[Any], shapes: Shapes) -> Session:
        if len(self.engines) >= _MOST_ENGINES:
            raise _Unfit(f"it was built for {_MOST_ENGINES} ranges of shapes, and others come")
        if self.model is None and any(self.given.varying):
            self.model = self.export_free(inputs)
        model = self.model or self.export(inputs, False)
        ports = open_model(model).inputs()
        entry: _Entry = [([2 if dim < 0 and size > 1 else size for dim, size in zip(port[2] or (), shape)],
                          [2 * size if dim < 0 else size for dim, size in zip(port[2] or (), shape)])
                         for port, shape in zip(ports, shapes)]
        if len(ports) != len(shapes):
            raise _Unfit(f"the exported model has {len(ports)} inputs, not {len(shapes)}")
        ranges = {port[0]: (low, shape, high) for port, (low, high), shape in zip(ports, entry, shapes) if low != high}
        session = Session(build(model, **{"shapes": ranges, "progress": False, **self.options}))
        self.engines.append((entry, session))
        return session

    def session(self, inputs: Sequence[Any], free: Sequence[Any]) -> Session:
        states = self.states_of(inputs)
        facts, numbers = _facts(states), [inputs[number].item() for number in self.given.numbers]
        if facts != self.facts or numbers != self.numbers:  # somebody trained, or loaded other weights
            self.engines, self.model, self.last = [], None, None
            self.right.clear()
            self.states, self.facts, self.numbers = states, facts, numbers
        shapes: Shapes = [x.shape for x in free]
        last = self.last
        if last is not None and last[0] == shapes:
            return last[1]
        session = next((session for entry, session in self.engines if _covers(entry, shapes)), None) or self.build(inputs, shapes)
        if self.model is not None and not self.is_right(session, inputs, free, shapes):
            self.fix_shapes(f"its results at {', '.join(str(list(shape)) for shape in shapes)} are not PyTorch's")
            session = self.build(inputs, shapes)
        self.last = shapes, session
        return session

    # ---- running ----

    def session_or_none(self, inputs: Sequence[Any], free: Sequence[Any]) -> Optional[Session]:
        if self.reason is None:
            try:
                return self.session(inputs, free)
            except Exception as error:  # the exporter's are of many kinds, and none may end the program
                self.reason = error
                _warn_of_fallback(error)
        return None

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Called by what Dynamo made, which keeps its own eyes off it."""
        free = self.free_of(inputs)
        session = self.session_or_none(inputs, free)
        if session is None:
            left: tuple[Any, ...] = self.module(*inputs)
            return left
        return tuple(self.run(session, free))

    def run(self, session: Session, free: Sequence[Any]) -> list[Any]:
        got = session(*map(_array, free))
        tensors = map(_tensor, (got,) if self.is_single else got)
        results = list(self.results)
        for index in self.kept:
            results[index] = next(tensors)
        return results


def _is_near(got: Any, want: Any) -> bool:
    """Of one computation, by whatever types an engine may use (a relative L2 below a tenth, nine of ten integers equal)? What a
    wrong constant makes is far from that."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if not want.is_floating_point():
        return want.numel() == 0 or float((got == want).double().mean()) >= 0.9
    want, got = (torch.nan_to_num(x.double()) for x in (want, got))
    return bool((got - want).norm() <= 0.1 * want.norm() + 1e-6)


def _array(x: Any) -> Any:
    """The tensor's memory as NumPy's, whose buffer is taken in a fraction of the time of DLPack's capsule."""
    if not x.is_contiguous():
        x = x.contiguous()
    try:
        return x.numpy()
    except TypeError:  # bfloat16 and others that are none of NumPy's own types
        return x.detach()
    except RuntimeError:  # it asks for gradients, or is the negative of its memory
        return x.detach().resolve_neg().numpy()


def _tensor(array: Any) -> Any:
    """The array's memory as a tensor."""
    try:
        return torch.from_numpy(array)
    except TypeError:  # bfloat16 and others that are none of NumPy's own types
        return torch.from_numpy(array.view(f"int{8 * array.itemsize}")).view(getattr(torch, array.dtype.name))


def _warn(kind: type[Warning], text: str) -> None:
    warnings.warn(f"hone: {text}", kind, stacklevel=3)


def _warn_of_fallback(error: BaseException) -> None:
    reason = str(error) if isinstance(error, (_Unfit, HoneError)) else _first_line(error)
    _warn(FallbackWarning, f"this part runs in PyTorch: {reason}")


def _tensors(module: Any, inputs: Sequence[Any]) -> Iterator[Any]:
    yield from module.parameters()
    yield from (x for x in inputs if isinstance(x, torch.Tensor))


def compile_backend(module: Any, example_inputs: Sequence[Any], **settings: Any) -> Callable[..., Any]:
    """A backend of torch.compile."""
    try:
        if torch.is_grad_enabled() and any(x.requires_grad for x in _tensors(module, example_inputs)):
            raise _Unfit("gradients are asked for: call it under torch.no_grad()")
        return _Part(module, example_inputs, dict(settings.get("options") or {}))
    except _Unfit as reason:
        _warn_of_fallback(reason)
        forward: Callable[..., Any] = module.forward
        return forward
