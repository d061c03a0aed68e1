# SPDX-License-Identifier: Apache-2.0
"""torch_models.py - networks of hone's zoo in PyTorch, for bench/compare_gpu.py: the same layers and extents with random
weights; batch norms behind a convolution are folded into it, as a user who wants speed does. Attention is
scaled_dot_product_attention, activations are one call each."""
import torch
from torch import nn
from torch.nn import functional as F


def conv(cin, cout, kernel, stride=1, groups=1, act=None):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups)]
    return nn.Sequential(*layers, act()) if act else layers[0]


class Residual(nn.Module):
    """act(x + body(x)), or with a shortcut of its own."""

    def __init__(self, body, shortcut=None, act=None):
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut, act() if act else None

    def forward(self, x):
        y = self.body(x) + (self.shortcut(x) if self.shortcut else x)
        return self.act(y) if self.act else y


class Pooled(nn.Module):
    """Features, their mean, and a linear layer."""

    def __init__(self, features, channels):
        super().__init__()
        self.features, self.head = features, nn.Linear(channels, 1000)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def mobilenet_v2():
    def block(cin, cout, stride, factor):
        hidden = cin * factor
        layers = [conv(cin, hidden, 1, act=nn.ReLU6)] if factor > 1 else []
        body = nn.Sequential(*layers, conv(hidden, hidden, 3, stride, hidden, nn.ReLU6), conv(hidden, cout, 1))
        return Residual(body) if stride == 1 and cin == cout else body

    layers, cin = [conv(3, 32, 3, 2, act=nn.ReLU6)], 32
    for factor, cout, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                        (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(block(cin, cout, stride if i == 0 else 1, factor))
            cin = cout
    return Pooled(nn.Sequential(*layers, conv(320, 1280, 1, act=nn.ReLU6)), 1280)


def resnet50():
    layers, cin = [conv(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        mid = 64 << stage
        for i in range(count):
            stride = 2 if i == 0 and stage else 1
            body = nn.Sequential(conv(cin, mid, 1, act=nn.ReLU), conv(mid, mid, 3, stride, act=nn.ReLU), conv(mid, mid * 4, 1))
            layers.append(Residual(body, conv(cin, mid * 4, 1, stride) if i == 0 else None, nn.ReLU))
            cin = mid * 4
    return Pooled(nn.Sequential(*layers), 2048)


class Squeeze(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


def efficientnet_b0():
    def block(cin, cout, kernel, stride, factor):
        hidden = cin * factor
        layers = [conv(cin, hidden, 1, act=nn.SiLU)] if factor > 1 else []
        body = nn.Sequential(*layers, conv(hidden, hidden, kernel, stride, hidden, nn.SiLU), Squeeze(hidden, max(1, cin // 4)),
                             conv(hidden, cout, 1))
        return Residual(body) if stride == 1 and cin == cout else body

    layers, cin = [conv(3, 32, 3, 2, act=nn.SiLU)], 32
    for factor, cout, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for i in range(count):
            layers.append(block(cin, cout, kernel, stride if i == 0 else 1, factor))
            cin = cout
    return Pooled(nn.Sequential(*layers, conv(320, 1280, 1, act=nn.SiLU)), 1280)


class Dense(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.norm, self.body = nn.BatchNorm2d(cin), nn.Sequential(conv(cin, 128, 1, act=nn.ReLU), conv(128, 32, 3))

    def forward(self, x):
        return torch.cat([x, self.body(F.relu(self.norm(x)))], 1)


def densenet121():
    layers, channels = [conv(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            layers.append(Dense(channels))
            channels += 32
        if stage < 3:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), conv(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    return Pooled(nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU()), channels)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        two = lambda cin, cout: nn.Sequential(conv(cin, cout, 3, act=nn.ReLU), conv(cout, cout, 3, act=nn.ReLU))
        sizes = [32, 64, 128, 256, 512]
        self.down = nn.ModuleList(two(cin, cout) for cin, cout in zip([3] + sizes, sizes))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in sizes[-2::-1])
        self.up = nn.ModuleList(two(2 * c, c) for c in sizes[-2::-1])
        self.last = conv(32, 1, 1)

    def forward(self, x):
        kept = []
        for i, layer in enumerate(self.down):
            x = layer(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for widen, up, skip in zip(self.widen, self.up, kept[-2::-1]):
            x = up(torch.cat([skip, widen(x)], 1))
        return torch.sigmoid(self.last(x))


class Layer(nn.Module):
    """A transformer layer; the norms before (ViT) or behind (BERT) the parts."""

    def __init__(self, width, heads, first):
        super().__init__()
        self.heads, self.first = heads, first
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x, mask):
        b, n, width = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, n, width))

    def feed(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x, mask=None):
        if self.first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed(x))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.types = nn.Embedding(30522, 768), nn.Embedding(512, 768), nn.Embedding(2, 768)
        self.norm, self.layers = nn.LayerNorm(768), nn.ModuleList(Layer(768, 12, False) for _ in range(12))
        self.pooler = nn.Linear(768, 768)

    def forward(self, ids, attention_mask, types):
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]] + self.types(types))
        mask = ((1 - attention_mask[:, None, None, :]) * -10000.0).to(x.dtype)
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 768, 16, 16), nn.Parameter(torch.randn(1, 1, 768))
        self.places, self.layers = nn.Parameter(torch.randn(1, 197, 768) * 0.02), nn.Sequential(*(Layer(768, 12, True) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 80)

    def forward(self, x):
        return self.head(self.layers(x)[0])


MODELS = {
    "mobilenet_v2": mobilenet_v2, "resnet50": resnet50, "efficientnet_b0": efficientnet_b0, "densenet121": densenet121,
    "unet32": UNet, "bert_base": Bert, "vit_b_16": Vit, "lstm2": Lstm,
    "encoder6": lambda: nn.Sequential(*(Layer(384, 12, False) for _ in range(6))),
}


def inputs(name, batch, device):
    if name == "bert_base":
        return (torch.randint(0, 30522, (batch, 128), device=device), torch.ones(batch, 128, dtype=torch.long, device=device),
                torch.zeros(batch, 128, dtype=torch.long, device=device))
    shape = {"unet32": (3, 256, 256), "encoder6": (128, 384), "lstm2": (64, 128)}.get(name, (3, 224, 224))
    return (torch.randn(batch, *shape, device=device),)
