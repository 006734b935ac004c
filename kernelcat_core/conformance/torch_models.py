"""Whole PyTorch models on generated kernels, compared with eager: written here in plain torch, weights from a seed.

Architectures follow the papers named at each; sizes are theirs unless the name says small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.torch_module import Options, TorchNetwork

RTOL = 2e-4
"""How far outputs may be off, relative to the largest value: sums of thousands of f32 products in another order."""


@dataclass(frozen=True)
class Outcome:
    """`error` is the largest difference relative to the largest value of eager's output."""

    name: str
    passed: bool
    error: float = 0.0
    reason: str = ""


def run(only: str = "", progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Every model whose name holds `only`."""
    outcomes = []
    for name in MODELS:
        if only in name:
            outcomes.append(compare(name))
            if progress is not None:
                progress(f"{name}: {f'ok, {outcomes[-1].error:.1g}' if outcomes[-1].passed else outcomes[-1].reason}")
    return {"suite": "torch models", "passed": sum(o.passed for o in outcomes), "failed": sum(not o.passed for o in outcomes),
            "total": len(outcomes), "outcomes": [asdict(o) for o in outcomes]}


def compare(name: str, options: Options | None = None) -> Outcome:
    """One model on generated kernels against eager, on every of its inputs."""
    import torch
    from torch.utils import _pytree as pytree

    torch.manual_seed(11)
    module, inputs = MODELS[name]()
    module.eval()
    network = TorchNetwork(module, options or Options())
    worst = 0.0
    try:
        for args in inputs:
            with torch.no_grad():
                wanted = pytree.tree_leaves(module(*args))
            made = pytree.tree_leaves(network(*args))
            for a, b in zip(made, wanted, strict=True):
                worst = max(worst, float((a - b).abs().max() / b.abs().max()))
    except KernelcatError as error:
        return Outcome(name, False, reason=f"{error.code}: {error.message}")
    passed = worst <= RTOL
    return Outcome(name, passed, worst, "" if passed else f"outputs differ by {worst:.2g} of the largest value")


def text(report: dict[str, Any]) -> str:
    """A line a model."""
    return "\n".join(f"{o['name']}: {'ok' if o['passed'] else o['reason']} ({o['error']:.1g})" for o in report["outcomes"])


Model = tuple[Any, Sequence[tuple[Any, ...]]]


def resnet(blocks: Sequence[int], width: int, size: int) -> Model:
    """A bottleneck ResNet (K. He et al., 2015): 3 convolutions a block, widths doubled every stage."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, into: int, inner: int, stride: int) -> None:
            super().__init__()
            out = 4*inner
            self.path = nn.Sequential(
                nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
                nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
                nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
            self.short = nn.Identity() if into == out and stride == 1 else nn.Sequential(
                nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.path(x) + self.short(x))

    layers: list[Any] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    into = width
    for stage, count in enumerate(blocks):
        for k in range(count):
            layers.append(Block(into, width << stage, 2 if stage and not k else 1))
            into = 4*(width << stage)
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, 10))
    return module, [(torch.randn(b, 3, size, size),) for b in (1, 2)]


def mobilenet(width: int, stages: Sequence[tuple[int, int, int, int]], size: int) -> Model:
    """Inverted residuals with depthwise convolutions (M. Sandler et al., 2018): (expansion, width, count, stride) a stage."""
    import torch
    from torch import nn

    class Inverted(nn.Module):
        def __init__(self, into: int, out: int, stride: int, expansion: int) -> None:
            super().__init__()
            inner = into*expansion
            wide = [] if expansion == 1 else [nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6()]
            self.path = nn.Sequential(*wide, nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
                                      nn.BatchNorm2d(inner),
                                      nn.ReLU6(), nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
            self.same = stride == 1 and into == out

        def forward(self, x: Any) -> Any:
            return x + self.path(x) if self.same else self.path(x)

    layers: list[Any] = [nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU6()]
    into = width
    for expansion, out, count, stride in stages:
        for k in range(count):
            layers.append(Inverted(into, out, stride if not k else 1, expansion))
            into = out
    module = nn.Sequential(*layers, nn.Conv2d(into, 4*into, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                           nn.Linear(4*into, 10))
    return module, [(torch.randn(1, 3, size, size),)]


def vit(dim: int, depth: int, heads: int, size: int, patch: int) -> Model:
    """A vision transformer (A. Dosovitskiy et al., 2020), norm first, class token."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.out = nn.Linear(dim, 3*dim), nn.Linear(dim, dim)
            self.mlp = nn.Sequential(nn.Linear(dim, 4*dim), nn.GELU(), nn.Linear(4*dim, dim))

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            q, k, v = self.qkv(self.first(x)).reshape(b, t, 3, heads, dim//heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, dim))
            return x + self.mlp(self.second(x))

    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, dim, patch, patch)
            self.token = nn.Parameter(torch.randn(1, 1, dim))
            self.places = nn.Parameter(torch.randn(1, (size//patch)**2 + 1, dim)*0.02)
            self.layers = nn.Sequential(*(Layer() for _ in range(depth)))
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 10)

        def forward(self, x: Any) -> Any:
            t = self.patches(x).flatten(2).transpose(1, 2)
            t = torch.cat([self.token.expand(t.shape[0], -1, -1), t], 1) + self.places
            return self.head(self.norm(self.layers(t))[:, 0])

    return Vit(), [(torch.randn(2, 3, size, size),)]


def unet3d(width: int, levels: int, size: int) -> Model:
    """A 3D U-Net (O. Cicek et al., 2016) with group norm and transposed convolutions."""
    import torch
    from torch import nn

    def double(into: int, out: int) -> Any:
        return nn.Sequential(nn.Conv3d(into, out, 3, padding=1), nn.GroupNorm(4, out), nn.ReLU(),
                             nn.Conv3d(out, out, 3, padding=1), nn.GroupNorm(4, out), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [width << k for k in range(levels)]
            self.down = nn.ModuleList(double(a, b) for a, b in zip([1, *widths], widths))
            self.up = nn.ModuleList(nn.ConvTranspose3d(2*w, w, 2, 2) for w in widths[:-1])
            self.merge = nn.ModuleList(double(2*w, w) for w in widths[:-1])
            self.head = nn.Conv3d(width, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for k, block in enumerate(self.down):
                x = block(nn.functional.max_pool3d(x, 2) if k else x)
                kept.append(x)
            for k in reversed(range(levels - 1)):
                x = self.merge[k](torch.cat([kept[k], self.up[k](x)], 1))
            return self.head(x)

    return UNet(), [(torch.randn(1, 1, size, size, size),)]


def lstm(dim: int, layers: int, time: int) -> Model:
    """A tagger: embedding, LSTM in both directions, a score a tag and token."""
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(50, dim)
            self.lstm = nn.LSTM(dim, dim, layers, bidirectional=True, batch_first=True)
            self.head = nn.Linear(2*dim, 7)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.lstm(self.table(tokens))[0]).log_softmax(-1)

    return Tagger(), [(torch.randint(0, 50, (2, time)),)]


def decoder(dim: int, depth: int, heads: int, words: int, prompt: int, steps: int) -> Model:
    """A GPT-2 decoder (A. Radford et al., 2019) that takes new tokens and the keys and values of those before."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.out = nn.Linear(dim, 3*dim), nn.Linear(dim, dim)
            self.mlp = nn.Sequential(nn.Linear(dim, 4*dim), nn.GELU("tanh"), nn.Linear(4*dim, dim))

        def forward(self, x: Any, past: Any) -> Any:
            b, t, _ = x.shape
            q, k, v = (p.reshape(b, t, heads, dim//heads).transpose(1, 2) for p in self.qkv(self.first(x)).split(dim, -1))
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            mask = torch.ones(t, k.shape[2], dtype=torch.bool).tril(k.shape[2] - t)
            y = nn.functional.scaled_dot_product_attention(q, k, v, mask)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, dim))
            return x + self.mlp(self.second(x)), torch.stack([k, v])

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.places = nn.Embedding(words, dim), nn.Embedding(1024, dim)
            self.layers = nn.ModuleList(Layer() for _ in range(depth))
            self.norm = nn.LayerNorm(dim)

        def forward(self, tokens: Any, past: Any) -> Any:
            start = past.shape[4]
            x = self.table(tokens) + self.places(torch.arange(start, start + tokens.shape[1]))
            kept = []
            for k, layer in enumerate(self.layers):
                x, own = layer(x, past[k])
                kept.append(own)
            return self.norm(x) @ self.table.weight.T, torch.stack(kept)

    module = Decoder()
    tokens = torch.randint(0, words, (1, prompt))
    inputs = [(tokens, torch.zeros(depth, 2, 1, heads, 0, dim//heads))]
    with torch.no_grad():
        for _ in range(steps):  # what eager keeps goes into both
            scores, past = module.eval()(*inputs[-1])
            inputs.append((scores[:, -1:].argmax(-1), past))
    return module, inputs


_MOBILE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
MODELS: dict[str, Callable[[], Model]] = {
    "resnet_small": lambda: resnet((1, 1), 8, 32),
    "mobilenet_small": lambda: mobilenet(8, ((1, 8, 1, 1), (4, 12, 2, 2)), 24),
    "vit_small": lambda: vit(32, 2, 4, 16, 4),
    "unet3d_small": lambda: unet3d(4, 2, 8),
    "lstm_small": lambda: lstm(8, 1, 5),
    "decoder_small": lambda: decoder(32, 2, 4, 40, 5, 1),
    "resnet50": lambda: resnet((3, 4, 6, 3), 64, 128),
    "mobilenet_v2": lambda: mobilenet(32, _MOBILE, 96),
    "vit_base": lambda: vit(384, 12, 6, 64, 8),
    "unet3d": lambda: unet3d(16, 3, 32),
    "lstm": lambda: lstm(64, 2, 20),
    "gpt2": lambda: decoder(768, 12, 12, 50257, 16, 2),
}
SMALL = tuple(n for n in MODELS if n.endswith("_small"))
