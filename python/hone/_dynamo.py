# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="hone"): the captured graph goes through torch.onnx.export into an engine. What cannot be
exported or built runs as it was, and a warning says why. torch is imported only here."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Optional, Sequence

from ._build import build
from ._errors import HoneError
from ._session import Session


def _freeze(module: Any, inputs: Sequence[Any]) -> tuple[Any, list[int]]:
    """Dynamo hands parameters in as inputs: they become constants again. The module, and the numbers of what stays free."""
    import torch
    fixed = {number: x for number, x in enumerate(inputs) if isinstance(x, torch.nn.Parameter)}

    class Frozen(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module
            for number, parameter in fixed.items():
                self.register_parameter(f"fixed_{number}", parameter)

        def forward(self, *free: Any) -> Any:
            rest = iter(free)
            return self.module(*(getattr(self, f"fixed_{number}") if number in fixed else next(rest)
                                 for number in range(len(inputs))))

    return Frozen(), [number for number in range(len(inputs)) if number not in fixed]


def _reason_against(module: Any, inputs: Sequence[Any]) -> Optional[str]:
    import torch
    if torch.is_grad_enabled() and any(x.requires_grad for x in (*module.parameters(), *inputs)
                                       if isinstance(x, torch.Tensor)):
        return "gradients are asked for: call it under torch.no_grad()"
    if any(not isinstance(x, torch.Tensor) or any(not isinstance(dim, int) for dim in x.shape) for x in inputs):
        return "its shapes are symbolic: torch.compile(dynamic=False)"
    if any(x.device.type != "cpu" for x in inputs):
        return "its inputs are not on the CPU"
    return None


def compile_backend(module: Any, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """A backend of torch.compile: options (torch.compile(options={...})) are those of hone.build()."""
    import torch
    free: list[int] = []
    reason = _reason_against(module, example_inputs)
    if reason is None:
        try:
            frozen, free = _freeze(module, example_inputs)
            program = torch.onnx.export(frozen.eval(), tuple(example_inputs[number] for number in free), dynamo=True,
                                        verbose=False)
            session = Session(build(program.model_proto, **dict(options.get("options") or {})))
        except (HoneError, ImportError, RuntimeError) as error:
            reason = str(error)
    if reason is not None:
        warnings.warn(f"hone: this part runs in PyTorch: {reason}", stacklevel=2)
        forward: Callable[..., Any] = module.forward
        return forward
    single = len(session.engine.outputs) == 1

    def run(*inputs: Any) -> tuple[Any, ...]:
        results = session(*(inputs[number].detach().contiguous() for number in free))
        return tuple(torch.from_numpy(y) for y in ((results,) if single else results))

    return run
