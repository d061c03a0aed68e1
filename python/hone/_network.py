# SPDX-License-Identifier: Apache-2.0
"""hone.Network: models built by hand, node by node, and the zoo of standard ones."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy

from . import _native

if TYPE_CHECKING:
    from ._engine import Engine

Dim = Union[int, str, None]


class Value:
    """A value of a network: an input, a constant, or what a node makes. Operators make nodes: x + y, x * 2, x @ w."""

    __slots__ = ("_number", "network")
    __array_ufunc__ = None  # so that array + value asks the value

    def __init__(self, network: Network, number: int) -> None:
        self.network = network
        self._number = number

    @property
    def name(self) -> str:
        return self.network._native.value_info(self._number)[0]

    @property
    def dtype(self) -> str:
        return self.network._native.value_info(self._number)[1]

    @property
    def shape(self) -> Optional[tuple[int, ...]]:
        """Free dims are -1; None: not known."""
        return self.network._native.value_info(self._number)[2]

    def _node(self, op: str, other: Any, swapped: bool = False) -> Value:
        value = self.network._value(other, self.dtype)
        made: Value = self.network.node(op, *((value, self) if swapped else (self, value)))
        return made

    def __add__(self, other: Any) -> Value:
        return self._node("add", other)

    def __radd__(self, other: Any) -> Value:
        return self._node("add", other, True)

    def __sub__(self, other: Any) -> Value:
        return self._node("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._node("sub", other, True)

    def __mul__(self, other: Any) -> Value:
        return self._node("mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self._node("mul", other, True)

    def __truediv__(self, other: Any) -> Value:
        return self._node("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._node("div", other, True)

    def __matmul__(self, other: Any) -> Value:
        return self._node("matmul", other)

    def __neg__(self) -> Value:
        made: Value = self.network.node("neg", self)
        return made

    def __repr__(self) -> str:
        return f"<hone.Value {self.name}: {self.dtype}{list(self.shape) if self.shape is not None else ''}>"


class Network:
    """A model, to be built by hone.build().

        net = hone.Network("mlp")
        x = net.input("x", (1, 784))
        h = net.relu(net.linear(x, w1, b1))     # any operator by its name: net.OP(values, attribute=...)
        net.output("y", net.softmax(net.linear(h, w2, b2), axis=-1))
        engine = hone.build(net)

    Arrays become constants where values are wanted. One thread at a time works with a network.
    """

    def __init__(self, name: str = "network") -> None:
        self._native: _native.Graph = _native.create(name)

    @classmethod
    def _of(cls, native: _native.Graph) -> Network:
        self = object.__new__(cls)
        self._native = native
        return self

    @classmethod
    def from_onnx(cls, model: Any) -> Network:
        """Reads a model: a file, bytes or an onnx.ModelProto."""
        from ._build import open_model
        return cls._of(open_model(model))

    # ---- building ----

    def input(self, name: str, shape: Sequence[Dim], dtype: Any = "float32") -> Value:
        """Dims that are names are free, and equal where names are; None is a free dim of its own."""
        kind = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
        return Value(self, self._native.add_input(name, kind, tuple(shape)))

    def constant(self, array: Any, name: Optional[str] = None) -> Value:
        """The elements are copied."""
        return Value(self, self._native.add_constant(name, numpy.ascontiguousarray(array)))

    def _value(self, given: Any, dtype: Optional[str] = None) -> Optional[Value]:
        if given is None or isinstance(given, Value):
            return given
        if dtype is not None and isinstance(given, (bool, int, float)):
            given = numpy.asarray(given, dtype)
        return self.constant(given)

    def node(self, op: str, *inputs: Any, name: Optional[str] = None, outputs: int = 1, **attributes: Any) -> Any:
        """Any operator by its name (`hone check --operators` lists them): values or arrays, None for absent ones. A value,
        or a list of several."""
        values = [self._value(given) for given in inputs]
        for value in values:
            if value is not None and value.network is not self:
                raise ValueError(f"node {name or op}: a value of another network")
        made = self._native.add_node(op, name, [None if value is None else value._number for value in values],
                                     attributes, outputs)
        return Value(self, made[0]) if outputs == 1 else [Value(self, number) for number in made]

    def linear(self, x: Value, weight: Any, bias: Any = None, *, name: Optional[str] = None) -> Value:
        """x times a matrix of [inputs, outputs], plus a bias of [outputs]."""
        made: Value = self.node("linear", x, weight, *(() if bias is None else (bias,)), name=name)
        return made

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)

        def node(*inputs: Any, name: Optional[str] = None, outputs: int = 1, **attributes: Any) -> Any:
            return self.node(op, *inputs, name=name, outputs=outputs, **attributes)

        node.__name__ = op
        return node

    def output(self, name: str, value: Value) -> None:
        if value.network is not self:
            raise ValueError(f"output {name}: a value of another network")
        self._native.add_output(name, value._number)

    # ---- looking and keeping ----

    @property
    def inputs(self) -> list[tuple[str, str, Optional[tuple[int, ...]]]]:
        """(name, dtype, shape) each; free dims are -1."""
        return self._native.inputs()

    @property
    def outputs(self) -> list[tuple[str, str, Optional[tuple[int, ...]]]]:
        return self._native.outputs()

    def __len__(self) -> int:
        return self._native.node_count()

    def __bool__(self) -> bool:
        return True

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """As an ONNX model."""
        self._native.save_onnx(os.fspath(path))

    def build(self, *args: Any, **kwargs: Any) -> Engine:
        """hone.build(self, ...)"""
        from ._build import build
        return build(self, *args, **kwargs)

    def __str__(self) -> str:
        return self._native.text()


def zoo(name: str, *, batch: int = 1, dynamic: bool = False, seed: int = 0) -> Network:
    """A standard network with seeded weights, for trials and speed: hone.zoo("mobilenet_v2"). dynamic: the batch is free,
    as N."""
    return Network._of(_native.zoo(name, batch, dynamic, seed))


def zoo_names() -> list[tuple[str, str, str]]:
    """(name, what it is, its inputs) of each."""
    return _native.zoo_list()
