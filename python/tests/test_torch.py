# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, and torch.compile by ONNX export. Skipped where torch is not installed; `make test-torch` installs
it."""
import warnings

import numpy
import pytest
from conftest import mlp_of

import hone

torch = pytest.importorskip("torch")
OPTIONS = {"level": 0, "threads": 1}


def compiled(module, dynamic=False):
    import hone.torch  # noqa: F401  the entry point, where the package is not installed
    torch._dynamo.reset()
    return torch.compile(module, backend="hone", dynamic=dynamic, options=OPTIONS)


def seeded(*shape):
    return torch.from_numpy(numpy.random.default_rng(5).uniform(-1, 1, shape).astype(numpy.float32))


def check(module, *inputs, dynamic=False, others=()):
    """Runs by hone, without a part left to PyTorch, and as PyTorch does."""
    module = module.eval()
    fast = compiled(module, dynamic)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", category=hone.torch.FallbackWarning)
        for given in (inputs, *others):
            got, want = fast(*given), module(*given)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.Conv2d(8, 8, 3, padding=1, groups=8), torch.nn.Hardswish(), torch.nn.Conv2d(8, 16, 1),
            torch.nn.MaxPool2d(2))
        self.head = torch.nn.Linear(16, 5)
        with torch.no_grad():  # as after training
            self.body[1].running_mean.uniform_(-1, 1)
            self.body[1].running_var.uniform_(0.5, 2)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3))).softmax(-1)


class TwoOfEach(torch.nn.Module):
    def forward(self, a, b):
        return {"sum": a + b, "large": (a > b, [a * 2])}, 7


def mlp_module():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()


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


# ---- modules ----

@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)


@pytest.fixture(scope="module", autouse=True)
def exporter():
    pytest.importorskip("onnxscript")


def test_mlp():
    check(mlp_module(), seeded(2, 8))


def test_cnn():
    check(Cnn(), seeded(2, 3, 32, 32))


def test_transformer_block():
    check(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), seeded(2, 10, 64))


@pytest.mark.parametrize("options", [{"norm_first": True, "activation": "gelu"}, {"dropout": 0.0, "batch_first": False}])
def test_other_transformer_blocks(options):
    check(torch.nn.TransformerEncoderLayer(**{"d_model": 32, "nhead": 2, "dim_feedforward": 64, "batch_first": True, **options}),
          seeded(3, 5, 32))


def test_attention_layer():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.MultiheadAttention(32, 4, batch_first=True)

        def forward(self, x):
            return self.layer(x, x, x)

    check(Attention(), seeded(2, 6, 32))


def test_attention_by_hand():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32), torch.nn.LayerNorm(32)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return x + self.out(y.transpose(1, 2).reshape(x.shape))

    check(Attention(), seeded(2, 6, 32))


def test_resnet18():
    torchvision = pytest.importorskip("torchvision")
    check(torchvision.models.resnet18(weights=None), seeded(1, 3, 64, 64))


def test_mobilenet():
    torchvision = pytest.importorskip("torchvision")
    check(torchvision.models.mobilenet_v3_small(weights=None), seeded(1, 3, 64, 64))


def test_embedding_of_integers():
    check(torch.nn.Sequential(torch.nn.Embedding(11, 8), torch.nn.Flatten(), torch.nn.Linear(24, 3)),
          torch.tensor([[1, 2, 10], [0, 5, 3]]))


def test_structures():
    check(TwoOfEach(), seeded(3, 4), seeded(3, 4).flip(0))


def test_functions_with_a_graph_break():
    def broken(x):
        y = torch.relu(x) + 1
        torch._dynamo.graph_break()
        return y @ y.T

    fast = compiled(broken)
    with torch.no_grad():
        torch.testing.assert_close(fast(seeded(3, 5)), broken(seeded(3, 5)))


# ---- shapes ----

@pytest.mark.parametrize("module, shape", [(mlp_module, (8,)), (Cnn, (3, 32, 32))])
def test_a_free_batch(module, shape):
    check(module(), seeded(4, *shape), dynamic=True, others=[(seeded(batch, *shape),) for batch in (5, 2, 8, 9, 40, 1)])


def test_free_dims_of_several_inputs():
    class Scores(torch.nn.Module):
        def forward(self, a, b):
            return (a @ b.transpose(1, 2)).softmax(-1) * a.shape[1]

    check(Scores(), seeded(2, 5, 8), seeded(2, 7, 8), dynamic=True,
          others=[(seeded(3, 6, 8), seeded(3, 9, 8)), (seeded(2, 30, 8), seeded(2, 4, 8))])


def test_fixed_shapes_that_change():
    """Dynamo captures the second one with free dims by itself."""
    check(mlp_module(), seeded(2, 8), dynamic=None, others=[(seeded(3, 8),), (seeded(4, 8),), (seeded(64, 8),)])


def test_dims_that_the_export_makes_constant():
    """Nothing is left to PyTorch, but it is said that each shape has an engine of its own: once."""
    class Pool(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.adaptive_avg_pool2d(x, (3, 3))

    module = Pool()
    fast = compiled(module, dynamic=True)
    with torch.no_grad(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for size in (9, 12, 9, 21):
            x = seeded(2, 3, size, size + 3)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
    ours = [one for one in told if issubclass(one.category, (hone.torch.FixedShapesWarning, hone.torch.FallbackWarning))]
    assert [one.category for one in ours] == [hone.torch.FixedShapesWarning], [str(one.message) for one in ours]
    assert "free dims" in str(ours[0].message)


# ---- memory and weights ----

def test_nothing_is_copied():
    fast = compiled(mlp_module())
    with torch.no_grad():
        y = fast(seeded(2, 8))
        kept = y.clone()
        fast(-seeded(2, 8))
    assert torch.equal(y, kept)  # results are the caller's


def test_strided_and_narrow_tensors():
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x + 1, x.to(torch.bfloat16)

    check(Sum(), seeded(4, 6).T)


def test_weights_that_change():
    module = mlp_module()
    fast = compiled(module)
    x = seeded(2, 8)
    with torch.no_grad():
        fast(x)
        module[0].weight.mul_(2)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)


def test_weights_that_are_replaced():
    """Other objects, and other memory of the same object: neither counts as a change in place."""
    module = mlp_module()
    fast = compiled(module)
    x = seeded(2, 8)
    with torch.no_grad():
        fast(x)
        module[0].weight = torch.nn.Parameter(module[0].weight * 2)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
        module.load_state_dict({name: value * 3 for name, value in module.state_dict().items()}, assign=True)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
        module[2].bias.data = module[2].bias + 1
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)


def test_weights_of_the_inference_mode():
    with torch.inference_mode():
        check(mlp_module(), seeded(2, 8))


def test_negatives_of_memory():
    """The imaginary part of a conjugate is a view whose numbers have the other sign in memory."""
    x = torch.complex(seeded(3, 4), seeded(3, 4)).conj().imag
    assert x.is_neg()
    check(torch.nn.ReLU(), x.T.contiguous().T, others=[(x,)])


# ---- what is left to PyTorch, and why ----

def check_fallback(module, reason, *inputs):
    fast = compiled(module)
    with torch.no_grad(), pytest.warns(hone.torch.FallbackWarning, match=reason):
        torch.testing.assert_close(fast(*inputs), module(*inputs))


def test_gradients():
    module = mlp_module()
    with pytest.warns(hone.torch.FallbackWarning, match="no_grad"):
        y = compiled(module)(seeded(2, 8))
    y.sum().backward()
    assert module[0].weight.grad is not None


def test_random_numbers():
    fast = compiled(torch.nn.Dropout(0.5).train())
    with torch.no_grad(), pytest.warns(hone.torch.FallbackWarning, match="random"):
        assert (fast(torch.ones(1000)) == 0).any()


def test_random_numbers_of_an_attention():
    class Attention(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    with torch.no_grad(), pytest.warns(hone.torch.FallbackWarning, match="random"):
        compiled(Attention())(seeded(2, 6, 32))


def test_changes_in_place():
    class Count(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count.add_(1)
            return x * self.count

    module = Count()
    fast = compiled(module)
    with torch.no_grad(), pytest.warns(hone.torch.FallbackWarning, match="in place"):
        assert [float(fast(torch.ones(1))) for _ in range(3)] == [1, 2, 3]


def test_complex_numbers():
    class Spectrum(torch.nn.Module):
        def forward(self, x):
            return torch.fft.rfft(x)

    class Parts(torch.nn.Module):
        def forward(self, x):
            return torch.view_as_real(x) + 1

    check_fallback(Spectrum(), "complex", seeded(3, 8))
    check_fallback(Parts(), "complex", torch.complex(seeded(3, 4), seeded(3, 4)))


def test_what_cannot_be_exported():
    class Solve(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvalsh(x @ x.T)

    check_fallback(Solve(), "runs in PyTorch: .+", seeded(4, 4))
