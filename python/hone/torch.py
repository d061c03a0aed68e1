# SPDX-License-Identifier: Apache-2.0
"""Brings torch.compile's backend "hone" where the package is not installed, and so has no entry point. docs/PYTHON.md."""
from torch._dynamo import register_backend

from ._dynamo import FallbackWarning, FixedShapesWarning, compile_backend

try:
    register_backend(compile_backend, name="hone")
except AssertionError:  # it is there: PyTorch found the entry point
    pass

__all__ = ["FallbackWarning", "FixedShapesWarning", "compile_backend"]
