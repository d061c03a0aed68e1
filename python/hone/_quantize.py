# SPDX-License-Identifier: Apache-2.0
"""hone.quantize: from a model in f32 to one in 8 bits, by numbers that it has seen."""
from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from ._build import DeviceLike, ModelLike, Path, open_model, split_device
from ._network import Network
from ._progress import ProgressLike, shown


class Quantized(Network):
    """A network in 8 bits: build it, or save it as ONNX for others. `kept` are the layers that stay in f32, and why."""

    layers: list[tuple[str, str, Optional[str]]]

    @property
    def kept(self) -> dict[str, str]:
        return {name: why for name, _, why in self.layers if why is not None}


def quantize(model: ModelLike, samples: Iterable[Any], *, method: Optional[str] = None, activations: str = "uint8",
             per_tensor: bool = False, keep: Sequence[str] = (), cache: Optional[Path] = None,
             correct_biases: bool = True, device: DeviceLike = "cpu", threads: Optional[int] = None,
             progress: ProgressLike = None) -> Quantized:
    """Quantises convolutions and products with constant weights, and what lies between (docs/QUANTIZING.md).

    samples      arrays for the model's one input, or {name: array} each, some tens to hundreds. They are read more than
                 once: what is no list or tuple is kept in memory
    method       "mse" (default), "minmax", "percentile[:PERCENT]", "entropy"; of 8-bit floats "minmax" or a percentile
    activations  "uint8" with zero points, "int8" without, or "float8_e4m3fn": 8-bit floats
    keep         nodes that stay in f32: names or operators, globs
    cache        ranges in a text file: taken from it where it exists, else written there
    """
    graph = open_model(model)
    kept: Sequence[Any] = samples if isinstance(samples, (list, tuple)) else list(samples)
    names = [port[0] for port in graph.inputs()]

    def sample(index: int) -> Optional[dict[str, Any]]:
        if index >= len(kept):
            return None
        given: Union[Mapping[str, Any], Any] = kept[index]
        if isinstance(given, Mapping):
            return dict(given)
        if len(names) != 1:
            raise TypeError(f"sample {index}: the model has inputs {', '.join(names)}: give a dict")
        return {names[0]: given}

    with shown(progress, "hone.quantize") as tell:
        native, layers = graph.quantize(
            sample, count=len(kept), method=method, activations=activations, per_tensor=per_tensor, keep=list(keep),
            cache=None if cache is None else os.fspath(cache), uncorrected=not correct_biases,
            kind=split_device(device)[0], threads=threads or 0, progress=tell)
    made = Quantized._of(native)
    assert isinstance(made, Quantized)
    made.layers = layers
    return made
