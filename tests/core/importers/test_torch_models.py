"""Small models of every kind against eager, and training through torch.compile.

The full sizes: `kernelcat conformance torch-models`.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import kernelcat  # noqa: E402
from kernelcat_core.conformance import torch_models  # noqa: E402
from kernelcat_core.pipeline.network.torch_module import Options  # noqa: E402


@pytest.mark.parametrize("name", torch_models.SMALL)
def test_a_model_gives_what_eager_gives(name: str) -> None:
    outcome = torch_models.compare(name, Options(1, "O1"))
    assert outcome.passed, outcome.reason


def net() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                               torch.nn.MaxPool2d(2),
                               torch.nn.Conv2d(4, 6, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(54, 3))


def losses(module: Any, called: Any, steps: int) -> list[float]:
    torch.manual_seed(4)
    x, y = torch.randn(16, 1, 16, 16), torch.randint(0, 3, (16,))
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    found = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(called(x), y)
        loss.backward()
        optimiser.step()
        found.append(float(loss))
    return found


def test_training_follows_the_loss_curve_of_eager() -> None:
    eager, own = net(), net()
    compiled = torch.compile(own, backend="kernelcat", options={"threads": 1, "opt_level": "O1"})
    wanted, got = losses(eager, eager, 50), losses(own, compiled, 50)
    assert wanted[-1] < wanted[0]/4, "eager learns"
    assert got == pytest.approx(wanted, rel=2e-3, abs=2e-4)
    assert torch.allclose(own[1].running_mean, eager[1].running_mean, atol=1e-4)


def test_compile_keeps_structure_and_keywords_and_new_shapes() -> None:
    def f(x: Any, *, scale: Any) -> Any:
        return {"double": x*scale, "both": (x.sum(0), [x + 1])}

    network = kernelcat.compile(f, threads=1, opt_level="O1")
    for rows in (2, 3):
        x, scale = torch.randn(rows, 4), torch.tensor(2.0)
        made = network(x, scale=scale)
        assert torch.equal(made["double"], x*2)
        assert torch.allclose(made["both"][0], x.sum(0))
        assert torch.equal(made["both"][1][0], x + 1)


def test_changed_weights_are_compiled_again() -> None:
    layer = torch.nn.Linear(3, 2)
    network = kernelcat.compile(layer, [torch.zeros(1, 3)], threads=1, opt_level="O1")
    with torch.no_grad():
        layer.bias.add_(1)
    x = torch.randn(2, 3)
    assert torch.allclose(network(x), layer(x), atol=1e-6)


def test_an_operator_without_a_formula_is_named() -> None:
    with pytest.raises(kernelcat.KernelcatError, match="linalg_eig") as caught:
        kernelcat.compile(lambda x: torch.linalg.eig(x)[0].real, [torch.randn(3, 3)])
    assert caught.value.code in ("KC-I002", "KC-I004")


def test_bf16_and_strided_inputs() -> None:
    x = torch.randn(4, 6).to(torch.bfloat16)
    network = kernelcat.compile(lambda a: torch.relu(a.T) * 2, [x], threads=1, opt_level="O1")
    assert torch.equal(network(x[:, ::2]), torch.relu(x[:, ::2].T)*2)
