"""Random tensors: repeatable, of the right distribution, and from separate streams."""

import numpy as np
import pytest

import mytorch as t


def test_a_seed_repeats():
    def drawn():
        return [
            t.rand(3),
            t.randn(2, 2),
            t.randint(0, 9, (4,)),
            t.randperm(5),
            t.bernoulli(t.full((3,), 0.5)),
            t.normal(0, 1, (2,)),
        ]

    t.manual_seed(3)
    first = drawn()
    t.manual_seed(3)
    for a, b in zip(first, drawn()):
        assert t.equal(a, b)
    assert not t.equal(first[0], t.rand(3))
    assert t.initial_seed() == 3


def test_the_state_can_be_put_back():
    t.manual_seed(1)
    t.rand(5)
    state = t.get_rng_state()
    assert state.dtype is t.uint8
    a = t.rand(3)
    t.set_rng_state(state)
    assert t.equal(a, t.rand(3))


def test_generators_have_streams_of_their_own():
    t.manual_seed(0)
    expected = t.rand(3)
    t.manual_seed(0)
    g = t.Generator().manual_seed(7)
    a = t.rand(3, generator=g)
    assert t.equal(expected, t.rand(3))
    assert t.equal(a, t.rand(3, generator=t.Generator().manual_seed(7)))
    assert g.initial_seed() == 7
    other = t.Generator()
    other.set_state(g.get_state())
    assert t.equal(t.randperm(9, generator=g), t.randperm(9, generator=other))
    assert t.Generator().seed() != t.Generator().seed()


def test_distributions():
    t.manual_seed(0)
    u, n = t.rand(20_000), t.randn(20_000)
    assert 0 <= u.min() < u.max() < 1
    assert u.mean().item() == pytest.approx(0.5, abs=0.02)
    assert (n.mean().item(), n.std().item()) == pytest.approx((0, 1), abs=0.03)
    assert t.bernoulli(t.full((20_000,), 0.3)).mean().item() == pytest.approx(0.3, abs=0.02)
    i = t.randint(2, 5, (1000,))
    assert i.unique().tolist() == [2, 3, 4]
    assert sorted(t.randperm(50).tolist()) == list(range(50))
    x = t.empty(20_000)
    assert x.uniform_(-1, 3).mean().item() == pytest.approx(1, abs=0.05)
    assert x.normal_(2, 0.5).std().item() == pytest.approx(0.5, abs=0.02)
    assert x.bernoulli_(0.25).mean().item() == pytest.approx(0.25, abs=0.02)
    assert x.exponential_(2).mean().item() == pytest.approx(0.5, abs=0.03)
    assert set(t.empty(200).random_(3).tolist()) == {0, 1, 2}
    assert t.normal(t.tensor([100.0, 0.0]), 0.1).round().tolist() == pytest.approx([100, 0], abs=1)
    drawn = t.multinomial(t.tensor([0.0, 3.0, 1.0]), 4000, replacement=True)
    assert drawn.bincount().float().div(4000).tolist() == pytest.approx([0, 0.75, 0.25], abs=0.04)
    assert sorted(t.multinomial(t.ones(2, 4), 4)[1].tolist()) == [0, 1, 2, 3]


def test_dtypes_and_shapes():
    assert t.rand(2, 3).dtype is t.randn((2,)).dtype is t.float32
    assert t.rand(2, dtype=t.float64).dtype is t.float64
    assert t.randint(5, (2,)).dtype is t.randperm(3).dtype is t.int64
    assert t.rand_like(t.ones(2, 3).double()).dtype is t.float64
    assert t.randn_like(t.ones(2, 3)).shape == (2, 3)
    assert t.randint_like(t.ones(4), 3).dtype is t.float32
    assert t.rand(()).shape == ()
    assert np.isfinite(t.randn(5, dtype=t.float16).numpy()).all()


def test_errors():
    with pytest.raises(RuntimeError, match="random_ expects 'from' to be less than 'to', but got from=5 >= to=5"):
        t.randint(5, 5, (1,))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        t.ones(2, requires_grad=True).normal_()
    with pytest.raises(RuntimeError, match="without replacement"):
        t.multinomial(t.tensor([1.0, 0.0]), 2)
