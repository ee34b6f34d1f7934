"""Augmentations: what each may do to a batch, and how they are written down."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.data.augment.affine import affine
from replab.data.augment.alternating_flip import alternating_flip
from replab.data.augment.crop import crop
from replab.data.augment.cutmix import cutmix
from replab.data.augment.cutout import cutout
from replab.data.augment.flip import flip
from replab.data.augment.mixup import mixup
from replab.data.augment.reflect_crop import reflect_crop
from replab.data.augment.steps import Step, Turn, apply, augmentation, parse, spell
from replab.data.augmented_copy import with_augmented_copy
from replab.data.batches import Batches
from replab.data.images import Images
from replab.errors import RecipeError

BLACK = torch.tensor([-2.0, -1.0]).view(1, 2, 1, 1)


def batch(n=64, height=9, width=7):
    return torch.rand(n, 2, height, width, generator=torch.Generator().manual_seed(0))


def drawn(function, *args, x=None, seed=0):
    return function(batch() if x is None else x, torch.Generator().manual_seed(seed), BLACK, *args)


def test_flip_mirrors_about_half():
    x, y = batch(), drawn(flip)
    mirrored = [torch.equal(b, a.flip(2)) for a, b in zip(x, y)]
    kept = [torch.equal(b, a) for a, b in zip(x, y)]
    assert all(m != k for m, k in zip(mirrored, kept))
    assert 16 < sum(mirrored) < 48


def test_alternating_flip_shows_each_image_the_other_way_in_the_next_epoch():
    x, coin = batch(), torch.rand(64, generator=torch.Generator().manual_seed(3))
    views = [drawn(partial(alternating_flip, turn=Turn(epoch, coin))) for epoch in (1, 2, 3)]
    assert torch.equal(views[0], views[2])
    assert torch.equal(views[0], views[1].flip(3))
    mirrored = [torch.equal(b, a.flip(2)) for a, b in zip(x, views[0])]
    assert 16 < sum(mirrored) < 48


def test_alternating_flip_follows_the_image_whatever_its_batch():
    pixels = np.random.default_rng(0).integers(0, 256, (40, 1, 4, 4), dtype=np.uint8)
    images = Images(pixels, np.zeros(40, np.int64), ("a",), (0.0,), (1.0,))
    batches = Batches(images, 7, seed=5, shuffle=True, augment="alternating-flip")

    def shown(epoch):
        found = torch.empty(40, 1, 4, 4)
        for one in batches.epoch(epoch):
            found[one.index] = one.x
        return found

    assert torch.equal(shown(1), shown(3))
    assert torch.equal(shown(1), shown(2).flip(3))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 3), st.integers(0, 99))
def test_reflect_crop_is_a_window_of_the_reflected_image(pad, seed):
    x = batch(8, 5, 4)
    y = drawn(reflect_crop, pad, x=x, seed=seed)
    padded = torch.from_numpy(np.pad(x.numpy(), ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="reflect"))
    places = [(t, left) for t in range(2 * pad + 1) for left in range(2 * pad + 1)]
    for whole, window in zip(padded, y):
        assert any(torch.equal(whole[:, t : t + 5, left : left + 4], window) for t, left in places)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(0, 99))
def test_crop_is_a_window_of_the_padded_image(pad, seed):
    x = batch(8, 5, 4)
    y = drawn(crop, pad, x=x, seed=seed)
    padded = BLACK.expand(8, 2, 5 + 2 * pad, 4 + 2 * pad).clone()
    padded[:, :, pad : pad + 5, pad : pad + 4] = x
    places = [(t, left) for t in range(2 * pad + 1) for left in range(2 * pad + 1)]
    for whole, window in zip(padded, y):
        assert any(torch.equal(whole[:, t : t + 5, left : left + 4], window) for t, left in places)


def test_crop_reaches_every_place():
    x = torch.zeros(2000, 2, 3, 3)
    x[:, :, 1, 1] = 1
    y = drawn(crop, 1, x=x)
    assert (y[:, 0] == 1).any(0).all()  # the centre went to each of the 9 places


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.integers(0, 99))
def test_cutout_is_one_square(side, seed):
    x = batch(16)
    y = drawn(cutout, side, x=x, seed=seed)
    for before, after in zip(x, y):
        cut = (after != before).any(0)
        rows, columns = cut.any(1).nonzero().flatten(), cut.any(0).nonzero().flatten()
        assert cut.sum() == len(rows) * len(columns)
        assert len(rows) <= side
        assert len(columns) <= side
        assert len(rows) > 0 or side == 0
        for channel in range(2):
            assert (after[channel][cut] == BLACK[0, channel]).all()


def test_cutout_has_its_full_size_inside():
    y = drawn(cutout, 3, x=torch.ones(200, 2, 20, 20))
    assert (y[:, 0] == BLACK[0, 0]).sum((1, 2)).max() == 9


def test_affine_with_nothing_to_do_changes_nothing():
    torch.testing.assert_close(drawn(affine, 0, 0, 0), batch(), atol=1e-5, rtol=1e-5)


def test_affine_shifts_by_pixels_and_fills_with_black():
    x = torch.zeros(300, 2, 11, 15)
    x[:, :, 5, 7] = 1  # the centre
    y = drawn(affine, 0, 2, 0, x=x)
    mass = y[:, 0].clamp(0)
    rows = (mass.sum(2) * torch.arange(11)).sum(1) / mass.sum((1, 2)) - 5
    columns = (mass.sum(1) * torch.arange(15)).sum(1) / mass.sum((1, 2)) - 7
    for offsets in (rows, columns):
        assert 1.8 < offsets.max() <= 2.001
        assert -2.001 <= offsets.min() < -1.8
    assert y.min() == pytest.approx(-2.0)  # BLACK came in from outside


def test_affine_turns_without_shearing_oblong_images():
    """A point right of the centre stays on its circle, within the angle."""
    x = torch.zeros(300, 2, 21, 41)
    x[:, :, 10, 28] = 1  # 8 pixels right of the centre (20, 10)
    y = drawn(affine, 30, 0, 0, x=x)[:, 0].clamp(0)
    y = y / y.sum((1, 2), keepdim=True)
    down = (y.sum(2) * torch.arange(21)).sum(1) - 10
    right = (y.sum(1) * torch.arange(41)).sum(1) - 20
    np.testing.assert_allclose(torch.hypot(down, right), 8, atol=0.25)
    angles = torch.rad2deg(torch.atan2(down, right))
    assert 25 < angles.max() < 32
    assert -32 < angles.min() < -25


def test_affine_zooms_and_may_only_shrink():
    x = torch.zeros(200, 2, 21, 21)
    x[:, :, 5:16, 5:16] = 1
    area = drawn(affine, 0, 0, 0.2, x=x)[:, 0].clamp(0).sum((1, 2)) / 121
    assert 0.6 < area.min() < 0.7
    assert 1.35 < area.max() < 1.5
    shrunk = drawn(affine, 0, 0, 0.2, 0, x=x)[:, 0].clamp(0).sum((1, 2)) / 121
    assert shrunk.max() < 1.01


numbers = st.floats(0, 0.99).map(lambda f: round(f, 3))
steps = st.one_of(
    st.just(Step("flip")),
    st.builds(lambda n: Step("crop", (n,)), st.integers(0, 40)),
    st.just(Step("crop")),
    st.builds(lambda n: Step("cutout", (n,)), st.integers(0, 40)),
    st.builds(lambda a: Step("affine", tuple(a)), st.lists(numbers, max_size=4)),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, max_size=5))
def test_parse_reads_what_spell_writes(found):
    assert parse(spell(found)) == tuple(found)
    assert parse(found) == tuple(found)


def test_parse():
    assert parse(" flip, crop=4 ,affine=15:2:0.1") == (
        Step("flip"),
        Step("crop", (4,)),
        Step("affine", (15.0, 2.0, 0.1)),
    )
    assert parse("") == parse(()) == ()
    assert parse(("flip", "cutout=8")) == (Step("flip"), Step("cutout", (8,)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("filp", "no augmentation named 'filp'. Did you mean 'flip'?"),
        ("crop=x", "must be numbers, as in crop=4"),
        ("crop=1:2", "at most 1 numbers, got 2"),
        ("flip=1", "at most 0 numbers"),
        ("crop=1.5", "whole number of pixels"),
        ("crop=-1", "from 0 to 10,000"),
        ("affine=nan", "from 0 to 10,000"),
        ("affine=10:3:1", "below 1, got 1"),
    ],
)
def test_bad_augmentations(text, said):
    with pytest.raises(RecipeError) as error:
        parse(f"flip,{text}")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_each_is_described():
    assert all(augmentation.get(name).__doc__ and augmentation.describe(name) for name in augmentation.names())


def test_an_augmented_copy_doubles_the_set():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (30, 1, 8, 8), dtype=np.uint8)
    images = Images(pixels, np.arange(30) % 3, ("a", "b", "c"), (0.1,), (0.2,))
    both = with_augmented_copy(images, "flip", 0)
    assert np.array_equal(both.pixels[:30], pixels)
    assert np.array_equal(both.labels, np.tile(np.arange(30) % 3, 2))
    copies = both.pixels[30:]
    flipped = [np.array_equal(c, p[:, :, ::-1]) for c, p in zip(copies, pixels)]
    assert all(f != np.array_equal(c, p) for f, c, p in zip(flipped, copies, pixels))
    assert any(flipped)
    np.testing.assert_allclose(both.mean, (both.pixels / 255).mean())
    assert np.array_equal(both.pixels, with_augmented_copy(images, "flip", 0).pixels)
    turned = [with_augmented_copy(images, "affine", seed).pixels for seed in (0, 1)]
    assert not np.array_equal(*turned)


def targets(n=64, classes=3):
    return torch.nn.functional.one_hot(torch.arange(n) % classes, classes).float()


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 5), st.integers(0, 99))
def test_mixup_mixes_images_and_labels_by_one_share(alpha, seed):
    x, share_of = batch(), targets()
    y, target = apply(x, [Step("mixup", (alpha,))], torch.Generator().manual_seed(seed), BLACK, share_of)
    mixed = drawn(mixup, alpha, seed=seed)
    assert 0 <= mixed.share <= 1
    torch.testing.assert_close(y, mixed.share * x + (1 - mixed.share) * x[mixed.partner])
    torch.testing.assert_close(target, mixed.share * share_of + (1 - mixed.share) * share_of[mixed.partner])
    assert sorted(mixed.partner.tolist()) == list(range(64))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99))
def test_cutmix_pastes_one_rectangle_whose_area_is_the_label_share(seed):
    x = batch()
    mixed = drawn(cutmix, seed=seed)
    other = x[mixed.partner]
    moved = mixed.partner != torch.arange(64)
    pasted = (mixed.x == other).all(1) & (mixed.x != x).any(1)  # (B, H, W)
    own = (mixed.x == x).all(1)
    assert (pasted | own).all()
    for mask in pasted[moved]:
        rows, columns = mask.any(1), mask.any(0)
        assert torch.equal(mask, rows[:, None] & columns[None, :])
        assert abs(1 - mixed.share - mask.float().mean().item()) < 1e-6


def test_without_mixing_there_are_no_targets():
    _, target = apply(batch(), parse("flip,crop=1"), torch.Generator().manual_seed(0), BLACK)
    assert target is None


def test_color_jitter_stays_between_black_and_white():
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(32, 3, 5, 6)
    mean, std = torch.tensor([0.4, 0.5, 0.6]).view(1, 3, 1, 1), torch.tensor([0.2, 0.3, 0.4]).view(1, 3, 1, 1)
    black, white = -mean / std, (1 - mean) / std
    normalised, plain = (
        apply(x, parse("color-jitter=0.9:0.9:0.9"), torch.Generator().manual_seed(1), b, white=w)[0]
        for x, b, w in (
            ((pixels - mean) / std, black, white),
            (pixels, torch.zeros(1, 3, 1, 1), torch.ones(1, 3, 1, 1)),
        )
    )
    torch.testing.assert_close(normalised * std + mean, plain, atol=1e-5, rtol=1e-5)  # however it is normalised
    assert 0 <= plain.min() <= plain.max() <= 1
    assert not torch.allclose(plain, pixels, atol=0.05)
    none = apply(pixels, parse("color-jitter=0:0:0"), generator, black * 0, white=black * 0 + 1)[0]
    torch.testing.assert_close(none, pixels)


def test_color_jitter_is_torchvisions_by_factor():
    from replab.backends.torchvision_cpu import torchvision
    from replab.data.augment import color_jitter

    functional = torchvision.transforms.functional
    pixels = torch.rand(1, 3, 8, 8)
    torch.testing.assert_close(
        color_jitter._blend(pixels, color_jitter._gray(pixels), torch.tensor(0.3)),
        functional.adjust_saturation(pixels, 0.3), atol=1e-3, rtol=1e-3,
    )  # fmt: skip
    torch.testing.assert_close(
        color_jitter._blend(pixels, color_jitter._gray(pixels).mean((2, 3), keepdim=True), torch.tensor(1.4)),
        functional.adjust_contrast(pixels, 1.4), atol=1e-3, rtol=1e-3,
    )  # fmt: skip


def test_random_erasing_covers_one_rectangle_of_the_asked_area():
    x = torch.full((400, 1, 20, 30), 9.0)
    erased, _ = apply(x, parse("random-erasing=0.5:0.3"), torch.Generator().manual_seed(0), x[:1] * 0)
    changed = (erased != 9).squeeze(1)
    touched = changed.flatten(1).any(1)
    assert 160 < touched.sum() < 240
    for image in changed[touched]:
        rows, columns = image.any(1).nonzero().flatten(), image.any(0).nonzero().flatten()
        assert image.sum() == (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)  # one whole rectangle
        assert image.float().mean() < 0.36  # sides are rounded to pixels
    assert torch.equal(apply(x, parse("random-erasing=0"), torch.Generator(), x[:1] * 0)[0], x)
