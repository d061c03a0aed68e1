# SPDX-License-Identifier: Apache-2.0
"""hone.load_plugin and hone.op: operators that hone does not have."""
from __future__ import annotations

import functools
import inspect
import os
from typing import Any, Callable, Optional, Union

import numpy

from . import _native
from ._errors import InvalidError
from ._network import Network, Value

# What every context of the process is given: (path,) of a shared object, or a definition as python/ext/plugged.c reads it.
_rows = _native.plugged()
_SAMPLES = (0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, 7.5, -7.5, 20, -20)


def _add(row: tuple[Any, ...], instead_of: Optional[tuple[Any, ...]] = None) -> None:
    before = list(_rows)
    if instead_of is not None:
        _rows.remove(instead_of)
    _rows.append(row)
    try:
        _native.try_plugged()
    except BaseException:
        _rows[:] = before
        raise


def load_plugin(path: Union[str, os.PathLike[str]]) -> None:
    """Loads a shared object with operators, kernels, rewrites or backends (docs/PLUGINS.md), for all that is built, read or
    loaded in this process from now on. Loading it twice is loading it once."""
    row = (os.path.abspath(os.fspath(path)),)
    if row not in _rows:
        _add(row)


class Operator:
    """An elementwise operator of the program's own. Called with arrays it is the function it was made of; called with
    values of a network it makes a node there, like net.NAME(...)."""

    def __init__(self, function: Callable[..., Any], expression: str, onnx: Optional[str]) -> None:
        functools.update_wrapper(self, function)
        parameters = inspect.signature(function).parameters.values()
        self.name = function.__name__
        self.expression = expression
        self.reference = function
        self.inputs = tuple(p.name for p in parameters if p.default is p.empty)
        self.attributes = {p.name: p.default for p in parameters if p.default is not p.empty}
        domain, _, onnx_name = (onnx or "").rpartition(".")
        doc = (inspect.getdoc(function) or expression).splitlines()[0]
        self._row = (self.name, expression, self.inputs, self.attributes, onnx_name or None, domain or None, doc)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        for given in inputs:
            if isinstance(given, Value):
                return given.network.node(self.name, *inputs, **attributes)
        return self.reference(*inputs, **attributes)

    def __repr__(self) -> str:
        return f"<hone.op {self.name}: {self.expression}>"

    def _compare(self, attributes: dict[str, Any]) -> None:
        """The expression against the function, on samples."""
        from ._build import build
        net = Network(self.name)
        count = len(_SAMPLES)
        arrays = [numpy.roll(numpy.asarray(_SAMPLES, numpy.float32), 3 * i) for i in range(len(self.inputs))]
        values = [net.input(name, (count,)) for name in self.inputs]
        net.output("what it makes", net.node(self.name, *values, **attributes))  # no input has that name
        with numpy.errstate(all="ignore"):
            want = numpy.asarray(self.reference(*(a.astype(numpy.float64) for a in arrays), **attributes), numpy.float64)
        if want.shape != (count,):
            raise InvalidError(f"operator {self.name} is elementwise, but its function makes {list(want.shape)} of inputs "
                               f"of [{count}]")
        got = numpy.asarray(build(net, device="ref", progress=False)(*arrays)[...], numpy.float64)
        equal = numpy.isclose(got, want, rtol=1e-4, atol=1e-4, equal_nan=True)
        if not equal.all():
            at = int(numpy.argmin(equal))
            given = ", ".join(f"{name} is {array[at]:g}" for name, array in zip(self.inputs, arrays))
            raise InvalidError(f"operator {self.name}: where {given}, its expression gives {got[at]:g} and its function "
                               f"{want[at]:g}; they must say the same")


def op(expression: str, *, onnx: Optional[str] = None) -> Callable[[Callable[..., Any]], Operator]:
    """Makes an elementwise operator of a function on NumPy arrays, which is what it is held against, and of the expression
    that hone makes vector code (and kernels of GPUs) of:

        @hone.op("div(x, add(1, exp(neg(mul($beta, x)))))", onnx="com.example.ScaledSwish")
        def scaled_swish(x, beta=1.0):
            return x / (1 + numpy.exp(-beta * x))

    Parameters without a default are inputs, those with a number are attributes ($beta). Models name the operator as
    `onnx` says, networks as the function is named. Engines hold the expression itself: they run where nobody defined it.
    Defining a name again replaces it. InvalidError: the expression cannot be read, or says something else than the
    function."""

    def define(function: Callable[..., Any]) -> Operator:
        made = Operator(function, expression, onnx)
        before = next((row for row in _rows if len(row) > 1 and row[0] == made.name), None)
        rows = list(_rows)
        _add(made._row, before)
        try:
            made._compare({})
            if made.attributes:
                made._compare({name: type(value)(0.75 * value + 1) for name, value in made.attributes.items()})
        except BaseException:
            _rows[:] = rows
            raise
        return made

    return define
