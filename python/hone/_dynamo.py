# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="hone"): the captured graph goes through torch.onnx.export into an engine. What cannot be
exported or built runs as it was, and a warning says why. torch is imported only here."""
from __future__ import annotations

import io
import warnings
from typing import Any, Callable, Sequence

from ._build import build
from ._errors import HoneError
from ._session import Session


def _export(module: Any, inputs: Sequence[Any]) -> bytes:
    import torch
    file = io.BytesIO()
    program = torch.onnx.export(module, tuple(inputs), dynamo=True, optimize=True, verbose=False)
    program.save(file)
    return file.getvalue()


def _fixed(tensor: Any) -> bool:
    return all(isinstance(dim, int) for dim in tensor.shape)


def compile_backend(module: Any, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """A backend of torch.compile: options (torch.compile(options={...})) are those of hone.build()."""
    import torch
    chosen = dict(options.get("options") or {})
    reason = None
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in module.parameters()):
        reason = "gradients are asked for: call it under torch.no_grad()"
    elif any(not isinstance(x, torch.Tensor) or not _fixed(x) for x in example_inputs):
        reason = "its shapes are symbolic: torch.compile(dynamic=False)"
    elif any(x.device.type != "cpu" for x in example_inputs):
        reason = "its inputs are not on the CPU"
    if reason is None:
        try:
            session = Session(build(_export(module, example_inputs), **chosen))
        except (HoneError, ImportError, RuntimeError) as error:
            reason = str(error)
    if reason is not None:
        warnings.warn(f"hone: this part runs in PyTorch: {reason}", stacklevel=2)
        forward: Callable[..., Any] = module.forward
        return forward
    single = len(session.engine.outputs) == 1

    def run(*inputs: Any) -> tuple[Any, ...]:
        results = session(*(x.detach().contiguous() for x in inputs))
        return tuple(torch.from_numpy(y) for y in ((results,) if single else results))

    return run
