"""trace(): the layers, MACs and dataflow of a forward pass, the table and the chart drawn from them."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from replab.data.images import ImageSpec
from replab.explain.structure.trace import Structure, trace
from replab.models.registry import MODELS

CIFAR = ImageSpec(3, 32, 32, 10)
MNIST = ImageSpec(1, 28, 28, 10)
SMALL = ImageSpec(3, 8, 8, 10)

NODE = re.compile(r'^\s+(n\d+)(?:\(\["|\(\("|\[")([^"]*)"[\])]{1,2}$')
EDGE = re.compile(r'^  (n\d+) (-->|-\.->)\|"([^"]+)"\| (n\d+)$')
GROUP = re.compile(r'^\s+subgraph g\d+ \["([^"]+) ×(\d+)"\]$')


class Chart:
    """A Mermaid text read back: every line must be a node, an edge or the bounds of a subgraph."""

    def __init__(self, text: str):
        first, *lines = text.splitlines()
        assert first == "flowchart TD"
        self.nodes: dict[str, str] = {}
        self.times: dict[str, int] = {}
        self.edges: list[tuple[str, str, str, str]] = []
        self.groups: list[tuple[str, int]] = []
        open_groups: list[int] = []
        for line in lines:
            if group := GROUP.match(line):
                self.groups.append((group[1], int(group[2])))
                open_groups.append(int(group[2]))
            elif line.strip() == "end":
                open_groups.pop()
            elif node := NODE.match(line):
                assert node[1] not in self.nodes
                self.nodes[node[1]] = node[2]
                self.times[node[1]] = torch.Size([1, *open_groups]).numel()
            else:
                edge = EDGE.match(line)
                assert edge, line
                self.edges.append((edge[1], edge[2], edge[3], edge[4]))
        assert not open_groups
        assert all(end in self.nodes for edge in self.edges for end in (edge[0], edge[3]))

    def skips(self) -> int:
        """Skip edges, those of a block drawn once counted as often as it stands for."""
        found = [edge for edge in self.edges if edge[1] == "-.->"]
        assert all(edge[2].startswith("skip ") and self.nodes[edge[3]] == "⊕" for edge in found)
        return sum(self.times[edge[3]] for edge in found)

    def into(self, label: str) -> list[set[str]]:
        """For each node of that label, the labels of what feeds it."""
        nodes = [node for node, text in self.nodes.items() if text == label]
        return [{self.nodes[edge[0]] for edge in self.edges if edge[3] == node} for node in nodes]


def structure(name: str, image: ImageSpec, **parameters) -> Structure:
    torch.manual_seed(0)
    return trace(MODELS.get(name)(image, **parameters), image)


@pytest.mark.parametrize("name", MODELS.names())
def test_every_model_gives_a_whole_table_and_a_connected_chart(name):
    image = MNIST if name in ("airbench94", "conv2", "lenet", "vit-mnist") else SMALL
    model = MODELS.get(name)(image)
    found = trace(model, image)
    assert found.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert f"{found.parameters:,}" in found.table().splitlines()[-1]
    assert len(found.table().splitlines()) == len(found.layers) + 4
    chart = Chart(found.mermaid())
    fed = {edge[3] for edge in chart.edges}
    reads = {edge[0] for edge in chart.edges}
    inputs = {"n0", "n1"} if name == "ddpm" else {"n0"}  # the image, and the level of noise it has
    assert set(chart.nodes) - fed == inputs  # only they have no arrow into them
    ends = {chart.nodes[node] for node in set(chart.nodes) - reads}
    assert "output" in ends
    if MODELS.get(name).__dict__["task"] == "classify":  # an autoencoder's variance leads to no picture
        assert ends == {"output"}


def test_table_of_a_known_network():
    assert structure("cnn", SMALL, channels=[4], hidden=16).table() == (
        "layer                output shape  parameters   MACs\n"
        "----------------------------------------------------\n"
        "Sequential           10\n"
        "  0 Conv2d 3×3, 3→4  4×8×8                112  6,912\n"
        "  1 BatchNorm2d      4×8×8                  8      0\n"
        "  2 MaxPool2d 2×2    4×4×4                  0      0\n"
        "  3 ReLU             4×4×4                  0      0\n"
        "  4 Flatten          64                     0      0\n"
        "  5 Linear 64→16     16                 1,040  1,024\n"
        "  6 ReLU             16                     0      0\n"
        "  7 Dropout 0.5      16                     0      0\n"
        "  8 Linear 16→10     10                   170    160\n"
        "----------------------------------------------------\n"
        "total                                   1,330  8,096"
    )


def test_chart_of_a_known_network():
    chart = Chart(structure("cnn", SMALL, channels=[4], hidden=16).mermaid())
    assert list(chart.nodes.values()) == [
        "input<br/>3×8×8",
        "Conv2d 3×3, 3→4<br/>BatchNorm2d",
        "MaxPool2d 2×2<br/>ReLU<br/>Flatten",
        "Linear 64→16<br/>ReLU<br/>Dropout 0.5",
        "Linear 16→10",
        "output",
    ]
    assert [edge[2] for edge in chart.edges] == ["3×8×8", "4×8×8", "64", "16", "10"]


def test_resnet18_has_eight_skips_and_folds_what_repeats():
    found = structure("resnet18", CIFAR)
    assert found.macs == 555_422_720  # of the usual CIFAR variant: 0.56 G
    chart = Chart(found.mermaid())
    assert chart.skips() == 8
    assert chart.groups == [("layer1.0 … 1", 2)]
    assert all(len(sources) == 2 for sources in chart.into("⊕"))


def test_transformers_fold_their_layers_and_show_both_skips_of_each():
    drawn, coded = (structure("nanovit", CIFAR, norm_first=first) for first in (True, False))
    for found in (drawn, coded):
        chart = Chart(found.mermaid())
        assert chart.groups == [("encoder.layers.0 … 3", 4)]
        assert chart.skips() == 8
    # Post-norm normalises the sum; pre-norm normalises what goes into attention.
    assert {"⊕"} in Chart(coded.mermaid()).into("LayerNorm")
    assert {"LayerNorm"} in Chart(drawn.mermaid()).into("MultiheadAttention 192, heads 8<br/>Dropout 0.1")
    assert Chart(structure("vit-mnist", MNIST).mermaid()).skips() == 12


def test_attention_macs_are_the_same_fused_and_by_hand():
    tokens, width = 17, 64
    expected = 4 * tokens * width * width + 2 * tokens * tokens * width
    by_hand = structure("vit-mnist", MNIST, depth=1).layers
    assert sum(layer.macs for layer in by_hand if ".attention" in layer.name) == expected
    fused = structure("nanovit", MNIST, patch=7, width=width, depth=1).layers
    assert [layer.macs for layer in fused if layer.kind == "MultiheadAttention"] == [expected]


@pytest.mark.parametrize("name", ["cnn", "resnet8", "nanovit", "vit-mnist"])
def test_macs_agree_with_torchs_own_counter(name):
    model = MODELS.get(name)(MNIST).eval()
    # With gradients on, the fused encoder layer, which the counter does not know, is not taken.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(torch.zeros(2, 1, 28, 28))
    assert trace(model, MNIST).macs == counter.get_total_flops() // 2 // 2  # two operations a MAC, two images


def test_lstm_counts_its_weights_once_a_step():
    found = structure("patch-lstm", SMALL, width=6, hidden=5)
    [lstm] = [layer for layer in found.layers if layer.kind == "LSTM"]
    weights = 2 * 4 * 5 * (6 + 5) + 2 * 4 * 5 * (10 + 5)  # two directions, two layers, four gates
    assert (lstm.shape, lstm.macs) == ((16, 10), 16 * weights)


class Free(nn.Module):
    """Free functions, parameters without a layer, a layer used twice, one never used, and an in-place sum."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(4, 3, 3, 3))
        self.up = nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1, groups=2)
        self.twice = nn.Linear(6, 6)
        self.never = nn.Linear(2, 2)
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.up(F.relu(F.conv2d(x, self.kernel, padding=1)))
        x = x.mean(dim=(2, 3))
        y = self.twice(torch.relu(self.twice(x)))
        y += x
        y = torch.einsum("bi,bj->bij", y, y).sum(2) * 0.5
        return self.head(torch.cat([y, torch.zeros(y.shape[0], 6)], dim=1))


def test_free_functions_shared_layers_and_unused_ones():
    found = trace(Free(), SMALL)
    rows = {layer.name: layer for layer in found.layers}
    assert found.parameters == 108 + (4 * 3 * 16 + 6) + 42 + 6 + 130
    assert rows[""].macs == 4 * 64 * 27 + 36  # conv2d and the outer product
    assert rows["up"].macs == 4 * 64 * 3 * 16  # each input meets 3 output channels of 4x4
    assert rows["twice"].macs == 2 * 36
    assert rows["never"].shape is None
    chart = Chart(found.mermaid())
    assert chart.skips() == 1
    assert sorted(chart.into("⊕")[0]) == ["Linear 6→6", "mean"]
    assert "conv2d kernel<br/>relu" in chart.nodes.values()


class ThroughNumpy(nn.Module):
    """The dataflow breaks: nobody sees the way through NumPy."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(192, 4), nn.Linear(4, 10)

    def forward(self, x):
        return self.second(torch.from_numpy(self.first(x.flatten(1)).numpy().copy()))


class Unwatchable(ThroughNumpy):
    def forward(self, x):
        if torch.overrides._get_current_function_mode() is not None:
            raise RuntimeError("not while somebody watches")
        return self.second(F.relu(self.first(x.flatten(1))))


@pytest.mark.parametrize("kind", [ThroughNumpy, Unwatchable])
def test_what_cannot_be_followed_is_a_chain_in_call_order(kind):
    chart = Chart(trace(kind(), SMALL).mermaid())
    assert chart.into("Linear 4→10") == [{"Linear 192→4"}]
    assert chart.into("output") == [{"Linear 4→10"}]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_a_scripted_part_is_counted_though_its_inside_is_unseen():
    scripted = torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(192, 4)))
    found = trace(nn.Sequential(scripted, nn.Linear(4, 10)), SMALL)
    assert found.parameters == 772 + 50
    assert Chart(found.mermaid()).into("Linear 4→10") == [{"input<br/>3×8×8"}]


def test_a_model_that_fails_says_so_itself():
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        trace(nn.Sequential(nn.Flatten(), nn.Linear(3, 10)), SMALL)


class Dense(nn.Module):
    """Equal blocks, but the end reads the first one's result too: folding them would lose that."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(192, 192), nn.ReLU()) for _ in range(3))

    def forward(self, x):
        first = self.blocks[0](x.flatten(1))
        return torch.cat([first, self.blocks[2](self.blocks[1](first))], dim=1)


def test_blocks_whose_results_are_used_elsewhere_are_not_folded_away():
    chart = Chart(trace(Dense(), SMALL).mermaid())
    assert chart.groups == [("blocks.1 … 2", 2)]
    assert len(chart.into("cat")) == 1
    assert sum(edge[3] == node for node, label in chart.nodes.items() if label == "cat" for edge in chart.edges) == 2


def test_labels_with_quotes_stay_inside_their_quotes():
    odd = type('Say "hi" <now> #1', (nn.Module,), {"forward": lambda self, x: x.flatten(1)})
    chart = Chart(trace(nn.Sequential(odd()), SMALL).mermaid())
    assert "Say #quot;hi#quot; &lt;now&gt; #35;1" in chart.nodes.values()


def test_tracing_leaves_no_trace():
    model = MODELS.get("resnet8")(MNIST).train()
    model[4].eval()  # a frozen part stays frozen
    modes = [module.training for module in model.modules()]
    before = {key: value.clone() for key, value in model.state_dict().items()}
    fast, state = torch.backends.mha.get_fastpath_enabled(), torch.get_rng_state()
    noisy = nn.Sequential(model, type("Noise", (nn.Module,), {"forward": lambda self, x: x + torch.randn(10)})())
    trace(noisy, MNIST)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.backends.mha.get_fastpath_enabled() == fast
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_mytorch_models_have_a_structure_too():
    import mytorch

    layers = mytorch.nn
    model = layers.Sequential(layers.Conv2d(3, 4, 3), layers.ReLU(), layers.Flatten(), layers.Linear(144, 10)).train()
    found = trace(model, SMALL)
    assert [layer.shape for layer in found.layers] == [(10,), (4, 6, 6), (4, 6, 6), (144,), (10,)]
    assert (found.parameters, found.macs) == (112 + 1450, 36 * 4 * 27 + 1440)
    assert list(Chart(found.mermaid()).nodes.values())[1] == "Conv2d 3×3, 3→4<br/>ReLU<br/>Flatten"
    assert model.training
