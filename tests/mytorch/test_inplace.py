"""In-place operations, recorded and not, on tensors and through views of them, against torch."""

import numpy as np
import pytest
import torch
from oracle import check

import mytorch

CHANGES = {
    "arithmetic": lambda t, x, b: x.add_(b).mul_(b).sub_(1).div_(b * b + 1),
    "operators": lambda t, x, b: exec("x += b; x *= 2; x -= b; x /= 3; x **= 2", {"x": x, "b": b}),
    "alpha": lambda t, x, b: x.add_(b, alpha=2).sub_(b, alpha=0.5),
    "functions": lambda t, x, b: x.square_().add_(1).log_().neg_().sigmoid_(),
    "clamp": lambda t, x, b: x.clamp_(-1, 1).add_(0.5).relu_(),
    "addc": lambda t, x, b: x.addcmul_(b, b, value=0.5).addcdiv_(b, b * b + 1),
    "lerp": lambda t, x, b: x.lerp_(b.expand_as(x), 0.25),
    "fill": lambda t, x, b: x[0].fill_(3.0),
    "zero": lambda t, x, b: x[:, 1].zero_(),
    "copy": lambda t, x, b: x.copy_(b),
    "masked": lambda t, x, b: x.masked_fill_(x > 0, -1.0),
    "row": lambda t, x, b: x[1].mul_(b),
    "column of a transpose": lambda t, x, b: x.T[2].add_(b[0]),
    "view of a view": lambda t, x, b: x[:2][1].mul_(b).add_(1),
    "reshaped": lambda t, x, b: x.view(-1)[::2].mul_(2),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("before", [lambda x: x * 1, lambda x: x.detach().clone()], ids=["recorded", "constant"])
def test_against_torch(name, before):
    def changed(t, a, b):
        x = before(a)
        y = x * 3
        CHANGES[name](t, x, b)
        return x, y

    check(changed, (3, 4), (4,))


def test_unrecorded_changes_write_into_the_same_memory():
    x = mytorch.ones(3)
    array = x.numpy()
    x.add_(1).mul_(2).sub_(mytorch.ones(3)).div_(3).clamp_(max=0.9)
    x.addcmul_(x, x).addcdiv_(x, x, value=2).lerp_(x * 0, 0.5)
    assert x.numpy() is array
    assert x._version[0] == 8
    x.zero_()
    assert array.tolist() == [0.0, 0.0, 0.0]


def test_a_view_taken_before_the_change_follows_it():
    def followed(t, a):
        x = a * 1
        early = x[0]
        x.mul_(2)
        early_again = x[1]
        early_again.add_(a[0])
        return early * 3, x, early_again

    check(followed, (3, 4))


def test_through_views_of_transposed_memory():
    def changed(t, a, b):
        x = a.permute(2, 0, 1) * 2  # NumPy keeps the order of the memory
        x[1] += b
        x.transpose(0, 2)[0].mul_(3)
        return x

    check(changed, (2, 3, 4), (3,), layout="transposed")


def test_a_running_result():
    def accumulated(t, a):
        total = t.zeros(4, dtype=a.dtype)
        for row in a:
            total += row * row
        return total

    check(accumulated, (3, 4))


def test_integers():
    x = np.arange(6).reshape(2, 3)
    check(
        lambda t, a: (
            a.add_(1),
            a.mul_(2),
            a.floor_divide_(3),
            a.remainder_(2),
            a.fill_(7),
            a.clone().zero_(),
        ),
        x,
    )


def test_errors():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        mytorch.arange(3).add_(0.5)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        mytorch.arange(3).div_(2)
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        mytorch.ones(3).add_(mytorch.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(2\)"):
        mytorch.ones(3).mul_(mytorch.ones(2))
    scale = mytorch.ones(1, requires_grad=True)
    strided = mytorch.from_numpy(np.ones((3, 4), np.float32)[:, ::2])
    with pytest.raises(NotImplementedError, match=r"call contiguous\(\) first"):
        strided[0].mul_(scale)
    for change in (lambda x: x.add_(1), lambda x: x.fill_(1), lambda x: x.zero_(), lambda x: x.__setitem__(0, 2.0)):
        with pytest.raises(RuntimeError, match=r"more than one element of the written-to tensor"):
            change(mytorch.ones(1, 3).expand(2, 3))


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[0], lambda x: x.T[1]], ids=["whole", "row", "column"])
def test_activations_in_place(part):
    def changed(t, a):
        x, y = a * 2, a * 3
        t.nn.functional.relu(part(x), inplace=True)
        t.nn.functional.leaky_relu(part(y), 0.1, inplace=True)
        return x, y

    check(changed, (3, 4))
    w = mytorch.ones(2, requires_grad=True)
    with mytorch.no_grad():
        mytorch.nn.functional.relu(w, inplace=True)
    assert w.requires_grad


@pytest.mark.parametrize("lib", [mytorch, torch])
def test_a_retained_gradient_is_that_of_the_new_value(lib):
    def setitem(b):
        b[0] = 3.0

    for change in (lambda b: b.mul_(3), setitem, lambda b: b[0].mul_(3)):
        b = lib.ones(2, requires_grad=True) * 2
        b.retain_grad()
        change(b)
        b.sum().backward()
        assert b.grad.tolist() == [1, 1]
    b = lib.ones(2, requires_grad=True) * 2
    part = b[:1]
    part.retain_grad()
    b.mul_(3)
    (b.sum() + part.sum()).backward()
    assert part.grad.tolist() == [1]
