# SPDX-License-Identifier: Apache-2.0
"""DLPack: memory that is read and written where it is, and let go. What lies on a GPU: tests/gpu/python."""
import numpy
import pytest
from conftest import mlp_of
from dlpack import CPU, CUDA, Producer

import hone


def test_host_memory(mlp, x):
    given, result = Producer(x.ctypes.data, x.shape), numpy.empty((2, 4), numpy.float32)
    numpy.testing.assert_allclose(mlp(given), mlp_of(x), atol=1e-5)
    mlp(given, out=Producer(result.ctypes.data, result.shape))
    numpy.testing.assert_allclose(result, mlp_of(x), atol=1e-5)
    assert given.deleted == 2 and given.streams == [None, None]


def test_a_binding_holds_it(mlp, x):
    given = Producer(x.ctypes.data, x.shape)
    bound = hone.Session(mlp).bind(given)
    numpy.testing.assert_allclose(bound(), mlp_of(x), atol=1e-5)
    x *= -1
    numpy.testing.assert_allclose(bound(), mlp_of(x), atol=1e-5)
    assert given.deleted == 0
    del bound
    assert given.deleted == 1


@pytest.mark.parametrize("producer, words", [
    (lambda x: Producer(x.ctypes.data, x.shape, device=(CUDA, 0)), r"pass x.cpu\(\), or build the engine with .*device_io=True"),
    (lambda x: Producer(x.ctypes.data, x.shape, device=(8, 0)), "lies in a device's memory"),
    (lambda x: Producer(x.ctypes.data, x.shape, "int32", device=(CPU, 0)), "its elements are int32"),
])
def test_what_does_not_fit(mlp, x, producer, words):
    given = producer(x)
    with pytest.raises(hone.InvalidError, match=words):
        mlp(given)


def test_an_error_survives_what_lets_memory_go(mlp, x):
    given = Producer(x.ctypes.data, (1, 9))  # its deleter is Python, and runs while the error is raised
    with pytest.raises(hone.InvalidError, match="x"):
        mlp(given)
    assert given.deleted == 1


def test_device_io_wants_a_device(x):
    with pytest.raises(hone.InvalidError, match="device"):
        from conftest import mlp_network
        hone.build(mlp_network(), level=0, threads=1, device_io=True)
    with pytest.raises(ValueError, match="device_io is"):
        from conftest import mlp_network
        hone.build(mlp_network(), level=0, threads=1, device_io="half-ish")
