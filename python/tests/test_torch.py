# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, and torch.compile. Skipped where torch is not installed."""
import numpy
import pytest
from conftest import mlp_of

import hone

torch = pytest.importorskip("torch")


def test_tensors(mlp, x):
    tensor = torch.from_numpy(x.copy())
    numpy.testing.assert_allclose(mlp(tensor), mlp_of(x), atol=1e-5)
    result = torch.zeros((2, 4))
    mlp(tensor, out=result)
    numpy.testing.assert_allclose(result.numpy(), mlp_of(x), atol=1e-5)
    with pytest.raises(hone.InvalidError, match="float64"):
        mlp(tensor.double())
    with pytest.raises(hone.InvalidError, match="row-major"):
        mlp(torch.zeros((8, 2)).T)


def test_compile(x):
    pytest.importorskip("onnxscript")
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
    tensor = torch.from_numpy(x.copy())
    with torch.no_grad():
        compiled = torch.compile(module, backend="hone", dynamic=False)
        torch.testing.assert_close(compiled(tensor), module(tensor), rtol=1e-4, atol=1e-5)
