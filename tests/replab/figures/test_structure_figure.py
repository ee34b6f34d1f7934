import pytest
from torch import nn

from replab.data.images import ImageSpec
from replab.explain.structure.trace import trace
from replab.figures.structure import arrange, boxes_of, draw_structure, fold


def layer(name, kind, shape, parameters=0, macs=0):
    return {"name": name, "type": kind, "shape": shape, "parameters": parameters, "macs": macs}


def block(i):
    return [
        layer(f"{i}.conv", "Conv2d", (8, 4, 4), 100, 1000),
        layer(f"{i}.norm", "BatchNorm2d", (8, 4, 4), 16),
        layer(f"{i}.relu", "ReLU", (8, 4, 4)),
    ]


NET = [
    *block(0),
    *block(1),
    *block(2),
    layer("pool", "AvgPool2d", (8, 1, 1)),
    layer("fc", "Linear", (10,), 90, 80),
]


def test_shapes_on_arrows_repetitions_folded_totals_in_the_title(look):
    text = look(draw_structure(NET, "tiny", (3, 4, 4))).split("\n")
    assert {"×3", "3 × 4 × 4", "8 × 4 × 4", "8 × 1 × 1", "10"} <= set(text)
    assert "Conv2d · BatchNorm2d · ReLU" in text
    assert "438 parameters, 3,080 multiply-adds per image" in text
    assert any("348 (79.5 %)" in line for line in text)  # three blocks together


def test_folding_keeps_every_parameter():
    groups = fold(boxes_of(NET))
    assert [(len(group.boxes), group.times) for group in groups] == [(1, 3), (1, 1), (1, 1)]
    assert sum(box.parameters for group in groups for box in group.boxes) == 438


def test_patterns_of_several_boxes_fold():
    pair = [layer("a", "Linear", (20,), 5), layer("b", "Linear", (10,), 7)]
    (group,) = fold(boxes_of(pair * 6))
    assert group.times == 6
    assert [box.parameters for box in group.boxes] == [30, 42]


def test_a_long_net_goes_into_columns_of_a_page(look):
    net = [layer(f"l{i}", "Linear", (i,), i) for i in range(1, 41)]
    columns = arrange(fold(boxes_of(net)))
    assert [len(column) for column in columns] == [14, 14, 12]
    figure = draw_structure(net)
    assert "l40" in look(figure)
    assert figure.get_figheight() < 12


class Scaled(nn.Module):
    """A module with a parameter of its own around its children, and a layer that never runs."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(64, 10)
        self.scale = nn.Parameter(nn.init.ones_(nn.Linear(1, 10).weight[:, 0]).detach().clone())
        self.unused = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x.flatten(1)) * self.scale


@pytest.mark.parametrize(
    "model",
    [nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)), Scaled()],
)
def test_traced_models_are_drawn_with_all_their_parameters(look, model):
    image = ImageSpec(1, 8, 8, 10)
    traced = trace(model, image)
    text = look(draw_structure(traced.layers, "net", (1, 8, 8)))
    assert f"{sum(p.numel() for p in model.parameters()):,} parameters" in text


def test_own_parameters_come_after_the_children(look):
    kinds = look(draw_structure(trace(Scaled(), ImageSpec(1, 8, 8, 10)).layers)).split("\n")
    assert kinds.index("Linear 64→10") < kinds.index("Scaled")
    assert "Linear 3→3" not in kinds


def test_no_layers(look):
    assert "no layers" in look(draw_structure([]))


def test_a_thousand_layers_are_the_first_the_last_and_a_summary(look):
    kinds = ("Linear", "Conv2d", "LSTM")
    layers = [
        {"name": f"l{i}", "kind": kinds[i * i % 3], "description": str(i), "shape": [i], "parameters": 1, "macs": 0}
        for i in range(1000)
    ]
    figure = draw_structure(layers, "deep", (3, 4, 4))
    text = look(figure)
    assert "… 902 more …" in text
    assert "1,000 parameters" in text
    assert max(figure.get_size_inches()) < 45
