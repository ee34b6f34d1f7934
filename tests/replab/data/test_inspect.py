"""What a look at a data set says, on sets made to have it."""

import numpy as np

from replab.data.images import Dataset, Images
from replab.data.inspect import look, sample
from replab.data.load import load


def made(train, test, labels=True):
    def images(pixels):
        y = np.arange(len(pixels)) % 2 if labels else None
        return Images(pixels, y, ("a", "b") if labels else (), (0.5,), (0.5,))

    return Dataset("made", images(train), images(test), "made")


def test_counts_balance_and_moments():
    seen = look(load("digits"))
    assert seen.train + seen.test == 1797
    assert sum(a + b for a, b in seen.counts.values()) == 1797
    pixels = load("digits").train.pixels / 255
    assert np.allclose(seen.mean, pixels.mean((0, 2, 3)), atol=1e-4)
    assert np.allclose(seen.std, pixels.std((0, 2, 3)), atol=1e-4)


def test_duplicates_within_and_across():
    rng = np.random.default_rng(0)
    train = rng.integers(0, 256, (20, 1, 4, 4), dtype=np.uint8)
    train[7] = train[3]
    test = np.concatenate([rng.integers(0, 256, (5, 1, 4, 4), dtype=np.uint8), train[:2]])
    seen = look(made(train, test))
    assert (seen.shared, seen.repeated) == (2, 1)
    almost = test.copy()
    almost[-1, 0, 0, 0] ^= 1
    assert look(made(train, almost)).shared == 1


def test_unlabelled_sets_are_looked_at_too():
    seen = look(made(np.zeros((4, 3, 2, 2), np.uint8), np.ones((2, 3, 2, 2), np.uint8), labels=False))
    assert seen.counts == {}
    assert ("classes", "none: unlabelled") in seen.lines()


def test_the_sample_is_seeded_and_captioned():
    data = load("digits").train
    pixels, captions = sample(data, 12, seed=1)
    again, _ = sample(data, 12, seed=1)
    assert (pixels == again).all()
    assert len(captions) == 12
    for image, caption in zip(pixels, captions):
        where = np.flatnonzero((data.pixels == image).all((1, 2, 3)))
        assert caption in {data.classes[data.labels[i]] for i in where}


def test_the_command_prints_and_draws(in_tmp, replab):
    code, out, _ = replab("data", "digits", "--out", "grid.png")
    assert code == 0
    assert "1,438 training, 359 test" in out
    assert (in_tmp / "grid.png").stat().st_size > 5000
