"""Layers beside torch's with the same weights: values, gradients of inputs and parameters, names, shapes and repr."""

import numpy as np
import pytest
import torch

import mytorch

LINE, PLANE, SPACE = (2, 4, 9), (2, 4, 6, 7), (2, 4, 5, 4, 6)
SHAPES = {1: LINE, 2: PLANE, 3: SPACE}

# (name, arguments, keyword arguments, shapes of the inputs)
CASES = [
    *[(f"Conv{n}d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, SHAPES[n]) for n in SHAPES],
    *[(f"Conv{n}d", (4, 2, 3), {"padding": "same", "padding_mode": "circular"}, SHAPES[n]) for n in SHAPES],
    ("Conv2d", (4, 2, 3), {"padding": (1, 2), "padding_mode": "reflect", "bias": False}, PLANE),
    ("Conv1d", (4, 2, 3), {"padding": 2, "padding_mode": "replicate", "dilation": 2}, LINE),
    *[(f"ConvTranspose{n}d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, SHAPES[n]) for n in SHAPES],
    *[(f"MaxPool{n}d", (2,), {"padding": 1, "stride": 2}, SHAPES[n]) for n in SHAPES],
    *[(f"AvgPool{n}d", (2,), {"padding": 1, "count_include_pad": False}, SHAPES[n]) for n in SHAPES],
    *[(f"AdaptiveAvgPool{n}d", (3,), {}, SHAPES[n]) for n in SHAPES],
    *[(f"AdaptiveMaxPool{n}d", (2,), {}, SHAPES[n]) for n in SHAPES],
    *[(f"LPPool{n}d", (2, 2), {}, SHAPES[n]) for n in SHAPES],
    *[(f"{k}Pad{n}d", (1,), {}, SHAPES[n]) for k in ("Zero", "Reflection", "Replication", "Circular") for n in SHAPES],
    *[(f"ConstantPad{n}d", (tuple(range(2 * n)), 1.5), {}, SHAPES[n]) for n in SHAPES],
    *[(f"BatchNorm{n}d", (4,), {}, SHAPES[n]) for n in SHAPES],
    *[(f"InstanceNorm{n}d", (4,), {"affine": True, "track_running_stats": True}, SHAPES[n]) for n in SHAPES],
    *[(f"InstanceNorm{n}d", (4,), {}, SHAPES[n][1:]) for n in SHAPES],
    ("RMSNorm", (7,), {}, PLANE),
    ("LocalResponseNorm", (3,), {}, PLANE),
    ("GroupNorm", (2, 4), {}, PLANE),
    ("PReLU", (4,), {}, PLANE),
    *[
        (name, (), {}, PLANE)
        for name in ("SELU", "CELU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "Softsign", "Tanhshrink")
    ],
    *[(name, (), {}, PLANE) for name in ("Softshrink", "Hardshrink", "Softmax2d", "ReLU6")],
    ("Threshold", (0.1, 2.0), {}, PLANE),
    ("GLU", (1,), {}, PLANE),
    ("Softmin", (1,), {}, LINE),
    ("PixelShuffle", (2,), {}, PLANE),
    ("PixelUnshuffle", (2,), {}, (1, 2, 4, 6)),
    ("ChannelShuffle", (2,), {}, PLANE),
    ("Unfold", (3,), {"padding": 1, "stride": 2}, PLANE),
    ("Fold", ((5, 6), 2), {}, (2, 8, 20)),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, PLANE),
    ("UpsamplingBilinear2d", (), {"size": (9, 9)}, PLANE),
    ("Upsample", (), {"scale_factor": 2, "mode": "linear", "align_corners": True}, LINE),
    ("Bilinear", (4, 3, 2), {}, (5, 4), (5, 3)),
    ("CosineSimilarity", (), {}, (5, 4), (5, 4)),
    ("PairwiseDistance", (), {}, (5, 4), (5, 4)),
    ("TransformerDecoderLayer", (8, 2, 16, 0.0), {}, (5, 3, 8), (4, 3, 8)),
    ("TransformerDecoderLayer", (8, 2, 16, 0.0), {"norm_first": True, "batch_first": True}, (3, 5, 8), (3, 4, 8)),
    ("Transformer", (8, 2, 1, 2, 16, 0.0), {"batch_first": True}, (3, 5, 8), (3, 4, 8)),
    ("TripletMarginLoss", (), {}, (5, 4), (5, 4), (5, 4)),
    ("HuberLoss", (), {}, (5, 4), (5, 4)),
    ("PoissonNLLLoss", (), {}, (5, 4), (5, 4)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(map(str, case[2]))}")
def test_as_torchs(case):
    name, args, kwargs, *shapes = case
    theirs, ours = (getattr(lib.nn, name)(*args, **kwargs).double() for lib in (torch, mytorch))
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    ours.load_state_dict(theirs.state_dict())
    if name != "Transformer":  # its layers print their settings
        assert repr(ours) == repr(theirs)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    leaves = [[lib.from_numpy(x).requires_grad_() for x in arrays] for lib in (mytorch, torch)]
    a, b = ours(*leaves[0]), theirs(*leaves[1])
    assert tuple(a.shape) == tuple(b.shape)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-9)
    (a * a.cos()).sum().backward()
    (b * b.cos()).sum().backward()
    pairs = [*zip(leaves[0], leaves[1]), *zip(ours.parameters(), theirs.parameters())]
    for mine, other in pairs:
        assert (mine.grad is None) == (other.grad is None)
        if mine.grad is not None:
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-6, atol=1e-8)
    for key, buffer in ours.named_buffers():
        np.testing.assert_allclose(buffer.numpy(), dict(theirs.named_buffers())[key].numpy(), rtol=1e-7)


LAZY = [
    ("LazyLinear", (3,), (5, 4)),
    *[(f"LazyConv{n}d", (3, 2), SHAPES[n]) for n in SHAPES],
    *[(f"LazyConvTranspose{n}d", (3, 2), SHAPES[n]) for n in SHAPES],
    *[(f"LazyBatchNorm{n}d", (), SHAPES[n]) for n in SHAPES],
    *[(f"LazyInstanceNorm{n}d", (), SHAPES[n]) for n in SHAPES],
]


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(("name", "args", "shape"), LAZY)
def test_lazy_layers_become_the_ordinary_ones(name, args, shape):
    ours, theirs = getattr(mytorch.nn, name)(*args), getattr(torch.nn, name)(*args)
    held = list(ours.parameters())
    out = ours(mytorch.ones(shape))
    assert tuple(out.shape) == tuple(theirs(torch.ones(shape)).shape)
    assert type(ours).__name__ == type(theirs).__name__ == name.removeprefix("Lazy")
    assert repr(ours) == repr(theirs)
    assert [id(p) for p in ours.parameters()] == [id(p) for p in held]  # an optimiser's are still these
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(("name", "args", "shape"), LAZY)
def test_lazy_layers_load_what_was_saved(name, args, shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    made = getattr(torch.nn, name)(*args).eval()
    wanted = made(torch.from_numpy(x))  # the first input, by position; by name below
    ours = getattr(mytorch.nn, name)(*args).eval()
    empty = ours.state_dict()
    assert [repr(v) for v in empty.values()] == [repr(v) for v in getattr(torch.nn, name)(*args).state_dict().values()]
    assert not ours.load_state_dict(empty).missing_keys
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        print(next(iter(empty.values())).shape)
    ours.load_state_dict(made.state_dict())
    np.testing.assert_allclose(ours(input=mytorch.from_numpy(x)).detach(), wanted.detach(), atol=1e-5)
    assert repr(ours) == repr(made)


def test_parameter_dicts_and_bags():
    values = {"a": mytorch.ones(2), "b": mytorch.nn.Parameter(mytorch.zeros(3, 1))}
    made = mytorch.nn.ParameterDict(values)
    assert list(made) == ["a", "b"]
    assert "a" in made
    assert len(list(made.parameters())) == 2
    made["c"] = mytorch.ones(1)
    assert made.pop("a").requires_grad
    assert list(made.keys()) == ["b", "c"]
    for lib in (mytorch, torch):
        bag = lib.nn.EmbeddingBag(5, 2, mode="sum", _weight=lib.arange(10.0).reshape(5, 2))
        assert bag(lib.tensor([0, 1, 4]), lib.tensor([0, 2])).tolist() == [[2.0, 4.0], [8.0, 9.0]]
        mask = lib.nn.Transformer.generate_square_subsequent_mask(2)
        assert mask.tolist() == [[0.0, -np.inf], [0.0, 0.0]]
        layer = lib.nn.ConvTranspose2d(1, 1, 3, stride=2)
        assert layer(lib.ones(1, 1, 4, 4), output_size=(10, 9)).shape == (1, 1, 10, 9)
        with pytest.raises(ValueError, match="requested an output size"):
            layer(lib.ones(1, 1, 4, 4), output_size=(12, 9))


def test_windows_at_random_places():
    samples = np.random.default_rng(0).random((2, 4, 2))
    for options in ({"output_size": 3}, {"output_ratio": 0.5}):
        rows = []
        for lib in (mytorch, torch):
            layer = lib.nn.FractionalMaxPool2d(2, **options, _random_samples=lib.from_numpy(samples))
            rows.append(layer(lib.from_numpy(np.random.default_rng(1).normal(size=(2, 4, 8, 8)))).numpy())
        np.testing.assert_array_equal(*rows)
    with pytest.raises(ValueError, match="either an output size, or a pooling ratio"):
        mytorch.nn.FractionalMaxPool3d(2)
