"""Classification's losses and metrics against torch, scikit-learn and figures worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.metrics
import torch
from torch.nn import functional

import mytorch
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.records.values.answers import confusion_matrix, log_softmax
from replab.tasks.classify import Classify
from replab.tasks.metrics.accuracy import accuracy
from replab.tasks.metrics.ece import ece


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, 5, generator=generator)
    return SimpleNamespace(x=x, y=torch.arange(12) % 5, index=torch.arange(12), target=None)


def losses(task, batch):
    ((part, loss, logs),) = task.losses(lambda x: x, batch)
    assert part == "model"
    return loss, logs


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_cross_entropy_of_each_sample(batch, smoothing):
    loss, logs = losses(Classify(torch, 5, label_smoothing=smoothing), batch)
    assert loss.shape == (12,)
    expected = [
        functional.cross_entropy(batch.x[i : i + 1], batch.y[i : i + 1], label_smoothing=smoothing) for i in range(12)
    ]
    torch.testing.assert_close(loss, torch.stack(expected))
    assert logs["accuracy"].tolist() == (batch.x.argmax(1) == batch.y).tolist()


def test_squared_error_by_hand(batch):
    batch.x = torch.tensor([[1.0, 0.0], [0.5, 2.0]])
    batch.y = torch.tensor([0, 0])
    loss, _ = losses(Classify(torch, 2, "squared-error"), batch)
    assert loss.tolist() == [0.0, (0.25 + 4) / 2]


@pytest.mark.parametrize(("loss", "smoothing"), [("cross-entropy", 0.0), ("cross-entropy", 0.2), ("squared-error", 0)])
def test_losses_and_gradients_are_the_same_on_mytorch(batch, loss, smoothing):
    x = batch.x.clone().requires_grad_()
    theirs, _ = losses(Classify(torch, 5, loss, smoothing), SimpleNamespace(x=x, y=batch.y, target=None))
    theirs.mean().backward()
    mine_x = mytorch.tensor(batch.x.numpy(), requires_grad=True)
    mine, logs = losses(
        Classify(mytorch, 5, loss, smoothing), SimpleNamespace(x=mine_x, y=mytorch.tensor(batch.y.numpy()), target=None)
    )
    mine.mean().backward()
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mine_x.grad.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-6)
    assert logs["accuracy"].detach().numpy().tolist() == (batch.x.argmax(1) == batch.y).tolist()


@pytest.mark.parametrize("loss", ["cross-entropy", "squared-error"])
def test_mixed_targets_are_learned_and_accuracy_is_against_the_labels(batch, loss):
    one_hot = functional.one_hot(batch.y, 5).float()
    task = Classify(torch, 5, loss, label_smoothing=0.1 if loss == "cross-entropy" else 0.0)
    plain, _ = losses(task, batch)
    batch.target = one_hot
    same, _ = losses(task, batch)
    torch.testing.assert_close(same, plain)
    batch.target = 0.3 * one_hot + 0.7 * one_hot.roll(1, 0)
    mixed, logs = losses(task, batch)
    other, _ = losses(task, SimpleNamespace(x=batch.x, y=batch.y.roll(1), target=None))
    if loss == "cross-entropy":  # linear in the target
        torch.testing.assert_close(mixed, 0.3 * plain + 0.7 * other)
    else:
        torch.testing.assert_close(mixed, ((batch.x - batch.target) ** 2).mean(1))
    assert logs["accuracy"].tolist() == (batch.x.argmax(1) == batch.y).tolist()


def test_gradient_of_cross_entropy_is_softmax_minus_one_hot(batch):
    x = batch.x.clone().requires_grad_()
    loss, _ = losses(Classify(torch, 5), SimpleNamespace(x=x, y=batch.y, target=None))
    loss.sum().backward()
    torch.testing.assert_close(x.grad, batch.x.softmax(1) - functional.one_hot(batch.y, 5))


def test_measured_against_scikit_learn():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(200, 7)) * 3, rng.integers(0, 7, 200)
    found = Classify(torch, 7, label_smoothing=0.3).measure({"logits": logits.astype(np.float32)}, labels)
    shares = np.exp(log_softmax(logits))
    assert found["loss"] == pytest.approx(sklearn.metrics.log_loss(labels, shares, labels=range(7)), rel=1e-5)
    assert found["accuracy"] == sklearn.metrics.accuracy_score(labels, logits.argmax(1))
    expected = sklearn.metrics.confusion_matrix(labels, logits.argmax(1), labels=range(7))
    np.testing.assert_array_equal(confusion_matrix(labels, logits.argmax(1), 7), expected)


def test_measured_squared_error_is_that_of_training():
    logits = np.array([[1.0, 0.0], [0.5, 2.0]], np.float32)
    found = Classify(torch, 2, "squared-error").measure({"logits": logits}, np.array([0, 0]))
    assert found["loss"] == pytest.approx((0 + (0.25 + 4) / 2) / 2)


def test_huge_logits_give_finite_losses():
    logits = np.array([[1e4, -1e4, 0.0], [0.0, 1e30, 0.0]], np.float32)
    found = Classify(torch, 3).measure({"logits": logits}, np.array([0, 1]))
    assert (found["loss"], found["accuracy"], found["ece"]) == (0.0, 1.0, 0.0)


def test_calibration_error_by_hand():
    # two answers of 0.8 confidence, one right: |1.6 - 1|; one of 0.6, right: |0.6 - 1|; over 3 images
    shares = np.array([[0.8, 0.2], [0.8, 0.2], [0.6, 0.4]])
    labels = np.array([0, 1, 0])
    assert ece(np.log(shares), labels) == pytest.approx((0.6 + 0.4) / 3)
    # certain and right: in the last bin, and no error
    assert ece(np.array([[100.0, 0.0]]), np.array([0])) == pytest.approx(0.0)
    # certain and wrong: all error
    assert ece(np.array([[100.0, 0.0]]), np.array([1])) == pytest.approx(1.0)


def test_accuracy_by_hand():
    assert accuracy(np.array([[1, 2], [3, 1], [0, 1], [5, 4]]), np.array([1, 0, 0, 1])) == 0.5


@pytest.mark.parametrize(
    ("output", "got"), [(torch.zeros(4, 9), r"shape \(4, 9\)"), (torch.zeros(4), r"shape \(4,\)"), ("logits", "str")]
)
def test_an_output_that_is_no_logit_a_class_is_refused(output, got):
    batch = SimpleNamespace(index=torch.arange(4))
    with pytest.raises(ModelError, match=rf"net must give logits of shape \(4, 10\) .* got {got}"):
        Classify(torch, 10).check_output("net", output, batch, ImageSpec(1, 8, 8, 10))


def test_frozen_parameters_are_not_trained():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2))
    model[0].requires_grad_(False)
    assert [p is q for p, q in zip(Classify(torch, 2).parts(model)["model"], model[1].parameters())] == [True, True]
