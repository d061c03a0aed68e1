# SPDX-License-Identifier: Apache-2.0
"""What the tests share: small networks with known results."""
import numpy
import pytest

import hone

RANDOM = numpy.random.default_rng(3)
W1 = RANDOM.uniform(-1, 1, (8, 16)).astype(numpy.float32)
B1 = RANDOM.uniform(-1, 1, (16,)).astype(numpy.float32)
W2 = RANDOM.uniform(-1, 1, (16, 4)).astype(numpy.float32)


def mlp_of(x):
    """What mlp_network() computes."""
    return numpy.maximum(x @ W1 + B1, 0) @ W2


def mlp_network(batch=2):
    net = hone.Network("mlp")
    x = net.input("x", (batch, 8))
    net.output("y", net.linear(net.relu(net.linear(x, W1, B1)), W2))
    return net


@pytest.fixture(scope="session")
def mlp():
    return hone.build(mlp_network(), level=0, threads=1)


@pytest.fixture(scope="session")
def free_mlp():
    """Batches of 1 to 8."""
    return hone.build(mlp_network("batch"), level=0, threads=1, shapes={"x": ((1, 8), (2, 8), (8, 8))})


@pytest.fixture(scope="session")
def two_ports():
    """a + b and a - b."""
    net = hone.Network("two")
    a, b = net.input("a", (3,)), net.input("b", (3,))
    net.output("sum", a + b)
    net.output("difference", a - b)
    return hone.build(net, level=0, threads=1)


@pytest.fixture
def x():
    return numpy.random.default_rng(1).uniform(-1, 1, (2, 8)).astype(numpy.float32)
