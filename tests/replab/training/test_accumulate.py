"""A batch in pieces is the same step as the batch in one, and less memory."""

import pytest
import torch

from replab import api
from replab.errors import RecipeError
from replab.training.loop import sliced

SMALL = {"lr": 0.1, "epochs": 1, "limit": 100, "batch_size": 40, "optimizer": "sgd", "params": {"widths": [8]}}


@pytest.mark.parametrize("backend", ["torch", "mytorch"])
def test_pieces_make_the_same_steps(backend):
    def weights(accumulate):
        ready = api.prepare("mlp", accumulate=accumulate, backend=backend, augment="mixup", **SMALL)
        model = ready.model()
        (row, _) = next(iter(ready.fit(model)))
        return row, [p.detach().numpy() for p in model.parameters()]

    one, three = weights(1), weights(3)
    assert one[0] == pytest.approx(three[0], rel=1e-5)
    for a, b in zip(one[1], three[1]):
        assert a == pytest.approx(b, abs=1e-5)


@pytest.mark.parametrize(
    ("limit", "pieces", "sizes"),
    [(100, 3, [13, 14, 13, 13, 14, 13, 7, 6, 7]), (42, 5, [8] * 5 + [1] * 2)],  # batches of 40, the last of 20, of 2
)
def test_the_model_sees_pieces(limit, pieces, sizes):
    seen = []

    def spy(image):
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, image.classes))
        model.register_forward_hook(lambda module, args, output: seen.append(len(args[0])) if module.training else None)
        return model

    ready = api.prepare(spy, accumulate=pieces, **{**SMALL, "params": {}, "limit": limit})
    seen.clear()
    next(iter(ready.fit(ready.model())))
    assert seen == sizes


def test_a_batch_is_cut_as_evenly_as_can_be():
    from replab.data.batches import Batch

    batch = Batch(torch.zeros(5, 1), torch.zeros(5), torch.arange(5))
    assert [len(piece.index) for piece in sliced(batch, 5)] == [1] * 5
    assert [len(piece.index) for piece in sliced(batch, 3)] == [2, 1, 2]


def test_refused():
    with pytest.raises(RecipeError, match="--accumulate must be at most --batch-size, got 41 pieces of 40 images"):
        api.prepare("mlp", accumulate=41, **SMALL)
    with pytest.raises(RecipeError, match="--accumulate is for a model with one optimizer, and dcgan has 2"):
        api.prepare("dcgan", accumulate=2, limit=40)
