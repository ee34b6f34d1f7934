"""Every layer against torch's: text, names and shapes of its state, values, gradients, running statistics."""

import numpy as np
import pytest
import torch
from oracle import compare

import mytorch

# name → (builder taking nn, input shapes); the same expression builds both libraries' layer
LAYERS = {
    "identity": (lambda nn: nn.Identity(3, unused=True), [(2, 3)]),
    "linear": (lambda nn: nn.Linear(3, 4), [(2, 5, 3)]),
    "linear-nobias": (lambda nn: nn.Linear(3, 4, bias=False), [(3,)]),
    "conv": (lambda nn: nn.Conv2d(3, 4, 3), [(2, 3, 6, 7)]),
    "conv-all": (
        lambda nn: nn.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 2), dilation=(2, 1), groups=2, bias=False),
        [(2, 4, 8, 9)],
    ),
    "conv-same": (lambda nn: nn.Conv2d(2, 3, 3, padding="same"), [(2, 2, 5, 5)]),
    "conv-transpose": (lambda nn: nn.ConvTranspose2d(4, 3, 4, 2, 1), [(2, 4, 4, 4)]),
    "conv-transpose-all": (
        lambda nn: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
        [(2, 4, 4, 5)],
    ),
    "maxpool": (lambda nn: nn.MaxPool2d(2), [(2, 3, 6, 7)]),
    "maxpool-all": (lambda nn: nn.MaxPool2d((3, 2), stride=2, padding=1, ceil_mode=True), [(2, 3, 6, 7)]),
    "maxpool-indices": (lambda nn: nn.MaxPool2d(2, return_indices=True), [(2, 3, 6, 7)]),
    "avgpool": (lambda nn: nn.AvgPool2d(2), [(2, 3, 6, 6)]),
    "avgpool-all": (lambda nn: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), [(2, 3, 7, 6)]),
    "adaptive": (lambda nn: nn.AdaptiveAvgPool2d((2, 3)), [(2, 3, 7, 6)]),
    "adaptive-one": (lambda nn: nn.AdaptiveAvgPool2d(1), [(2, 3, 7, 6)]),
    "bn1d": (lambda nn: nn.BatchNorm1d(3), [(5, 3)]),
    "bn1d-long": (lambda nn: nn.BatchNorm1d(3, momentum=None), [(5, 3, 4)]),
    "bn2d": (lambda nn: nn.BatchNorm2d(3, eps=1e-3, momentum=0.2), [(4, 3, 3, 2)]),
    "bn2d-plain": (lambda nn: nn.BatchNorm2d(3, affine=False, track_running_stats=False), [(4, 3, 3, 2)]),
    "bn2d-nobias": (lambda nn: nn.BatchNorm2d(3, bias=False), [(4, 3, 3, 2)]),
    "layernorm": (lambda nn: nn.LayerNorm(5), [(2, 3, 5)]),
    "layernorm-all": (lambda nn: nn.LayerNorm([3, 5], eps=1e-3, bias=False), [(2, 3, 5)]),
    "layernorm-plain": (lambda nn: nn.LayerNorm((5,), elementwise_affine=False), [(2, 5)]),
    "groupnorm": (lambda nn: nn.GroupNorm(2, 4), [(2, 4, 3, 3)]),
    "relu": (lambda nn: nn.ReLU(), [(3, 4)]),
    "relu6": (lambda nn: nn.ReLU6(), [(3, 4)]),
    "leaky": (lambda nn: nn.LeakyReLU(0.2), [(3, 4)]),
    "elu": (lambda nn: nn.ELU(0.7), [(3, 4)]),
    "silu": (lambda nn: nn.SiLU(), [(3, 4)]),
    "gelu": (lambda nn: nn.GELU(), [(3, 4)]),
    "gelu-tanh": (lambda nn: nn.GELU("tanh"), [(3, 4)]),
    "softplus": (lambda nn: nn.Softplus(2.0), [(3, 4)]),
    "sigmoid": (lambda nn: nn.Sigmoid(), [(3, 4)]),
    "tanh": (lambda nn: nn.Tanh(), [(3, 4)]),
    "logsigmoid": (lambda nn: nn.LogSigmoid(), [(3, 4)]),
    "softmax": (lambda nn: nn.Softmax(dim=1), [(3, 4)]),
    "logsoftmax": (lambda nn: nn.LogSoftmax(-1), [(3, 4)]),
    "flatten": (lambda nn: nn.Flatten(), [(2, 3, 4)]),
    "unflatten": (lambda nn: nn.Unflatten(1, (2, 3)), [(2, 6, 4)]),
    "zero-pad": (lambda nn: nn.ZeroPad2d(1), [(2, 3, 4, 4)]),
    "zero-pad-sides": (lambda nn: nn.ZeroPad2d((1, 0, 2, 1)), [(2, 3, 4, 4)]),
    "upsample": (lambda nn: nn.Upsample(scale_factor=2), [(2, 3, 2, 3)]),
    "upsample-bilinear": (lambda nn: nn.Upsample(size=(5, 4), mode="bilinear"), [(2, 3, 2, 3)]),
    "dropout-0": (lambda nn: nn.Dropout(0.0), [(2, 3)]),
    "lstm": (lambda nn: nn.LSTM(3, 4), [(5, 2, 3)]),
    "lstm-all": (
        lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True, bias=False),
        [(2, 5, 3)],
    ),
    "lstm-unbatched": (lambda nn: nn.LSTM(3, 4, 2), [(5, 3)]),
    "encoder-layer": (lambda nn: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), [(4, 2, 6)]),
    "encoder-prenorm": (
        lambda nn: nn.TransformerEncoderLayer(
            6, 3, 8, 0.0, activation="gelu", batch_first=True, norm_first=True, layer_norm_eps=1e-3
        ),
        [(2, 4, 6)],
    ),
    "encoder-callable": (
        lambda nn: nn.TransformerEncoderLayer(6, 2, 8, 0.0, activation=nn.GELU(), batch_first=True, bias=False),
        [(2, 4, 6)],
    ),
    "encoder": (
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), num_layers=2, norm=nn.LayerNorm(6)
        ),
        [(2, 4, 6)],
    ),
    "nested": (
        lambda nn: nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1),
            nn.BatchNorm2d(2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.Linear(8, 3)),
        ),
        [(3, 1, 4, 4)],
    ),
}
TEXTS = {  # layers whose text alone is compared
    "dropout": lambda nn: nn.Dropout(),
    "dropout2d": lambda nn: nn.Dropout2d(0.2, inplace=True),
    "embedding": lambda nn: nn.Embedding(5, 3),
    "embedding-padded": lambda nn: nn.Embedding(5, 3, padding_idx=-1),
    "leaky-inplace": lambda nn: nn.LeakyReLU(inplace=True),
    "elu-inplace": lambda nn: nn.ELU(inplace=True),
    "relu6-inplace": lambda nn: nn.ReLU6(inplace=True),
    "lstm-dropout": lambda nn: nn.LSTM(3, 4, num_layers=2, dropout=0.5),
    "attention": lambda nn: nn.MultiheadAttention(6, 2),
    "cross-entropy": lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1),
    "bce": lambda nn: nn.BCEWithLogitsLoss(),
    "module-list": lambda nn: nn.ModuleList([nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2), nn.Flatten()]),
    "module-list-empty": lambda nn: nn.ModuleList(),
    "module-list-blocks": lambda nn: nn.ModuleList([nn.Sequential(nn.Tanh(), nn.Tanh()) for _ in range(3)]),
    "module-dict": lambda nn: nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(2, 3)}),
    "parameter-list": lambda nn: nn.ParameterList([nn.Linear(2, 3).weight]),
    "sequential-empty": lambda nn: nn.Sequential(),
    "upsample-size": lambda nn: nn.Upsample((3, 4)),
}


def pair(build, dtype="float64"):
    """Both libraries' layer, with the same weights, larger than the initial ones, which hide mistakes."""
    theirs = build(torch.nn).to(getattr(torch, dtype))
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.uniform_(-1, 1)
    ours = build(mytorch.nn).to(getattr(mytorch, dtype))
    assert str(ours.load_state_dict(theirs.state_dict())) == "<All keys matched successfully>"
    return ours, theirs


def same_step(ours, theirs, arrays, tolerance, **kwargs):
    """One forward and backward of both; results, gradients and buffers agree."""
    rng = np.random.default_rng(3)
    for lib, model in ((mytorch, ours), (torch, theirs)):
        model.inputs = [lib.from_numpy(array.copy()) for array in arrays]
        for x in model.inputs:
            x.requires_grad_(x.is_floating_point())
        model.outputs = model(*model.inputs, **{name: make(lib) for name, make in kwargs.items()})
    compare(ours.outputs, theirs.outputs, tolerance, tolerance, "output")
    first = theirs.outputs[0] if isinstance(theirs.outputs, tuple) else theirs.outputs
    weight = rng.uniform(-1, 1, tuple(first.shape)).astype(arrays[0].dtype)
    for lib, model in ((mytorch, ours), (torch, theirs)):
        out = model.outputs[0] if isinstance(model.outputs, tuple) else model.outputs
        if out.requires_grad:
            (out * lib.from_numpy(weight)).sum().backward()
    for a, b in zip(ours.inputs, theirs.inputs):
        if b.grad is not None:
            compare(a.grad, b.grad, tolerance, tolerance, "gradient of the input")
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert (a.grad is None) == (b.grad is None), name
        if b.grad is not None:
            compare(a.grad, b.grad, tolerance, tolerance, f"gradient of {name}")
    for (name, a), (_, b) in zip(ours.named_buffers(), theirs.named_buffers()):
        compare(a, b, tolerance, tolerance, f"buffer {name}")


@pytest.mark.parametrize("name", [*LAYERS, *TEXTS])
def test_prints_as_torch_and_names_its_state_as_torch(name):
    build = TEXTS[name] if name in TEXTS else LAYERS[name][0]
    ours, theirs = build(mytorch.nn), build(torch.nn)
    assert repr(ours) == repr(theirs)
    shapes = [(key, tuple(value.shape), str(value.dtype)) for key, value in ours.state_dict().items()]
    assert shapes == [(key, tuple(value.shape), str(value.dtype)) for key, value in theirs.state_dict().items()]
    assert [key for key, _ in ours.named_parameters()] == [key for key, _ in theirs.named_parameters()]
    assert [key for key, _ in ours.named_modules()] == [key for key, _ in theirs.named_modules()]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients(name, training):
    build, shapes = LAYERS[name]
    for dtype, tolerance in (("float64", 1e-8), ("float32", 1e-4)):
        ours, theirs = pair(build, dtype)
        rng = np.random.default_rng(0)
        for _ in range(2):  # twice: running statistics and accumulated gradients
            arrays = [rng.uniform(-2, 2, shape).astype(dtype) for shape in shapes]
            same_step(ours.train(training), theirs.train(training), arrays, tolerance)


def test_embedding_with_padding():
    index = np.array([[0, 2, 4], [4, 2, 2]])
    ours, theirs = pair(lambda nn: nn.Embedding(5, 3, padding_idx=2))
    same_step(ours, theirs, [index], 1e-8)
    fresh = mytorch.nn.Embedding(5, 3, padding_idx=-1)
    assert (fresh.weight.detach().numpy()[-1] == 0).all()


def test_lstm_from_given_states():
    ours, theirs = pair(lambda nn: nn.LSTM(3, 4, 2, bidirectional=True))
    rng = np.random.default_rng(1)
    x, h, c = rng.normal(size=(5, 2, 3)), rng.normal(size=(4, 2, 4)), rng.normal(size=(4, 2, 4))
    same_step(ours, theirs, [x], 1e-8, hx=lambda lib: (lib.from_numpy(h), lib.from_numpy(c)))
    with pytest.raises(RuntimeError, match="Expected 3, got 2"):
        ours(mytorch.zeros(5, 2, 2, dtype=mytorch.float64))


def test_wrong_arguments_are_told_as_torch_does():
    for build in (
        lambda nn: nn.Conv2d(3, 4, 3, groups=2),
        lambda nn: nn.Conv2d(4, 4, 3, stride=2, padding="same"),
        lambda nn: nn.Dropout(1.5),
        lambda nn: nn.GroupNorm(3, 4),
        lambda nn: nn.TransformerEncoderLayer(4, 2, activation="swish"),
        lambda nn: nn.MultiheadAttention(5, 2),
    ):
        with pytest.raises(Exception) as ours:
            build(mytorch.nn)
        with pytest.raises(type(ours.value)) as theirs:
            build(torch.nn)
        assert str(ours.value).startswith(str(theirs.value)[:40])
    with pytest.raises(ValueError, match="expected 4D input"):
        mytorch.nn.BatchNorm2d(3)(mytorch.zeros(2, 3))
