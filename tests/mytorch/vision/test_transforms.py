"""transforms.functional beside torchvision's, on pictures, tensors of bytes and tensors of floats."""

import numpy as np
import pytest
import torch
from PIL import Image

import mytorch
import replab.backends.torchvision_cpu  # noqa: F401
from mytorch import transforms
from mytorch.transforms import augment
from mytorch.transforms import functional as F

import torchvision.transforms  # isort: skip
import torchvision.transforms.functional as TF  # isort: skip
from torchvision.transforms import v2  # isort: skip

InterpolationMode = torchvision.transforms.InterpolationMode

PICTURE = np.random.default_rng(0).integers(0, 256, (28, 31, 3)).astype(np.uint8)
BYTES = PICTURE.transpose(2, 0, 1).copy()
KINDS = {
    "picture": (PICTURE, Image.fromarray(PICTURE)),
    "Pillow": (Image.fromarray(PICTURE), Image.fromarray(PICTURE)),
    "bytes": (mytorch.from_numpy(BYTES), torch.from_numpy(BYTES)),
    "floats": (mytorch.from_numpy(BYTES).float() / 255, torch.from_numpy(BYTES).float() / 255),
}


def compare(name, kind, *args, off_by=0.0, **kwargs):
    ours, theirs = KINDS[kind]
    made = getattr(F, name)(ours, *args, **kwargs)
    assert isinstance(made, Image.Image if kind == "Pillow" else type(ours))
    a, b = np.asarray(made), np.asarray(getattr(TF, name)(theirs, *args, **kwargs))
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    worst = np.abs(a.astype(float) - b.astype(float)).max()
    assert worst <= (2e-6 if kind == "floats" else off_by), worst


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("resize", ([14, 20],)),
        ("resize", (40,)),
        ("resize", ([64, 64],)),
        ("resize", ([40, 17], torchvision.transforms.InterpolationMode.BICUBIC)),
        ("resize", ([13, 50], torchvision.transforms.InterpolationMode.NEAREST)),
    ],
)
def test_resizing(kind, name, args):
    compare(name, kind, *args, off_by=1)  # Pillow rounds its weights, torchvision once less


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("center_crop", ([20, 20],), {}),
        ("center_crop", ([40, 41],), {}),
        ("crop", (-2, 3, 10, 40), {}),
        ("pad", (2,), {}),
        ("pad", ([1, 2],), {"fill": 7}),
        ("pad", ([1, 2, 3, 4],), {"padding_mode": "reflect"}),
        ("hflip", (), {}),
        ("vflip", (), {}),
        ("rotate", (30.0,), {}),
        ("rotate", (-75.0,), {"expand": True}),
        ("affine", (20.0, [2, 3], 1.2, [5.0, 3.0]), {}),
        ("invert", (), {}),
        ("autocontrast", (), {}),
        ("rgb_to_grayscale", (), {}),
        ("gaussian_blur", ([5, 3], [1.2, 0.7]), {}),
    ],
)
def test_pixels_are_moved_and_changed_alike(kind, name, args, kwargs):
    compare(name, kind, *args, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.4, 1.9])
def test_colours(kind, factor):
    for name in ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_gamma", "adjust_sharpness"):
        compare(name, kind, factor)
    compare("adjust_hue", kind, factor / 4 - 0.2, off_by=int(kind == "bytes"))


@pytest.mark.parametrize("kind", ["picture", "Pillow", "bytes"])
def test_bytes_by_their_values(kind):
    compare("equalize", kind)
    compare("posterize", kind, 3)
    compare("solarize", kind, 100.0)


@pytest.mark.parametrize("kind", KINDS)
def test_perspective(kind):
    # no new pixel falls between two old ones, where the last digit decides
    corners = [[0, 0], [30, 0], [30, 27], [0, 27]], [[4, 5], [30, 4], [25, 23], [4, 25]]
    compare("perspective", kind, *corners, InterpolationMode.NEAREST)
    if kind in ("picture", "Pillow"):  # of tensors, torchvision mixes the border with 0
        compare("perspective", kind, *corners, off_by=1)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "F", "I"])
def test_a_pillow_image_keeps_its_mode(mode):
    image = Image.fromarray(PICTURE).convert(mode)
    for name, args in (("hflip", ()), ("crop", (2, 3, 10, 12)), ("pad", (2,))):
        ours, theirs = getattr(F, name)(image, *args), getattr(TF, name)(image, *args)
        assert (ours.mode, ours.size, ours.getpalette()) == (theirs.mode, theirs.size, theirs.getpalette())
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_tensors_and_back():
    ours, theirs = KINDS["picture"]
    np.testing.assert_array_equal(F.to_tensor(ours).numpy(), TF.to_tensor(theirs).numpy())
    np.testing.assert_array_equal(F.to_tensor(theirs).numpy(), TF.to_tensor(theirs).numpy())
    back = transforms.ToPILImage()(F.to_tensor(ours))
    np.testing.assert_array_equal(np.asarray(back), np.asarray(TF.to_pil_image(TF.to_tensor(theirs))))
    floats = F.convert_image_dtype(mytorch.from_numpy(BYTES), mytorch.float32)
    np.testing.assert_allclose(floats.numpy(), TF.convert_image_dtype(torch.from_numpy(BYTES)).numpy())
    again = F.convert_image_dtype(floats, mytorch.uint8)
    np.testing.assert_array_equal(again.numpy(), BYTES)


def test_random_transforms_keep_shape_type_and_range():
    size = (16, 16)
    chain: list = [
        transforms.RandomResizedCrop(20),
        transforms.RandomCrop(size, padding=2, padding_mode="reflect"),
        transforms.RandomRotation(15),
        transforms.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1), shear=5),
        transforms.RandomHorizontalFlip(),
        transforms.RandomVerticalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.RandomGrayscale(0.5),
        transforms.RandomPerspective(),
        transforms.RandomAdjustSharpness(1.5),
        transforms.RandomAutocontrast(),
        transforms.GaussianBlur(3),
        transforms.RandomApply([transforms.RandomInvert(1.0)], p=0.5),
        transforms.RandomChoice([transforms.RandomVerticalFlip(1.0), transforms.RandomHorizontalFlip(1.0)]),
        transforms.RandomOrder([transforms.RandomVerticalFlip(), transforms.RandomHorizontalFlip()]),
    ]
    for kind in KINDS:
        first = KINDS[kind][0]
        for seed in range(4):
            mytorch.manual_seed(seed)
            out = np.asarray(transforms.Compose(chain)(first))
            assert out.shape == ((16, 16, 3) if kind in ("picture", "Pillow") else (3, 16, 16))
            assert out.dtype == np.asarray(first).dtype
            assert out.min() >= 0
            assert out.max() <= (1 + 1e-6 if kind == "floats" else 255)
    erased = transforms.RandomErasing(p=1.0)(KINDS["floats"][0])
    assert (erased.numpy() == 0).mean() > (KINDS["floats"][0].numpy() == 0).mean()


@pytest.mark.parametrize(
    "line",
    """Resize(32)|CenterCrop(5)|ToTensor()|Normalize((0.5,), (0.5,))|RandomHorizontalFlip()|Pad(2)|Grayscale()
    FiveCrop(3)|ColorJitter(0.4, 0.1, 0, 0.2)|ColorJitter(1.5, (1, 2))|GaussianBlur(3)|RandomErasing(0.1)
    RandomRotation(10)|TenCrop(3)|RandomRotation((1, 3), fill=(1, 2, 3), center=(1, 2))
    RandomAffine(10, (0.1, 0.2))|RandomResizedCrop(8)|RandomEqualize()
    RandomAffine(10, (0.1, 0.2), (0.5, 1), 5, fill=3)|RandomChoice([ToTensor()])|RandAugment()
    RandomOrder([ToTensor()])|RandomApply([ToTensor(), RandomCrop(3)])|RandomSolarize(128)
    RandomPosterize(2, p=1)|RandomAdjustSharpness(2)|RandomPerspective()|RandomAutocontrast(0.2)|AutoAugment()
    TrivialAugmentWide()""".replace("\n", "|").split("|"),
)
def test_they_print_as_torchvisions(line):
    ours, theirs = (eval(line.strip(), vars(lib)) for lib in (transforms, torchvision.transforms))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("kind", ["picture", "Pillow", "bytes"])
def test_named_changes_of_every_magnitude(kind):
    image, theirs = KINDS[kind]
    apply, autoaugment = torchvision.transforms.autoaugment._apply_op, torchvision.transforms
    spaces = [
        (transforms.RandAugment()._space(image, 31), autoaugment.RandAugment()._augmentation_space(31, (28, 31))),
        (transforms.TrivialAugmentWide()._space(image, 31), autoaugment.TrivialAugmentWide()._augmentation_space(31)),
    ]
    for ours, expected in spaces:
        assert list(ours) == list(expected)
        for name, (magnitudes, signed) in ours.items():
            assert signed == expected[name][1]
            np.testing.assert_allclose(magnitudes, np.atleast_1d(expected[name][0]), rtol=1e-5, atol=1e-6)
            for magnitude in magnitudes[:: 1 if name in ("Solarize", "Posterize") else 7]:
                made = augment._CHANGES[name](image, float(magnitude), InterpolationMode.NEAREST, None)
                wanted = apply(theirs, name, float(magnitude), InterpolationMode.NEAREST, None)
                differ = np.asarray(made) != np.asarray(wanted)
                assert differ.mean() < 0.04, (name, magnitude)  # a row that falls between two may take either


def test_auto_augments_policies():
    for policy in transforms.AutoAugmentPolicy:
        made = transforms.AutoAugment(policy)
        theirs = torchvision.transforms.AutoAugmentPolicy(policy.value)
        for ours, expected in zip(made.policies, torchvision.transforms.AutoAugment(theirs).policies, strict=True):
            words = [[name, f"{p:g}"] + ([] if level is None else [str(level)]) for name, p, level in expected]
            assert ours == words
        for seed in range(10):
            mytorch.manual_seed(seed)
            assert made(KINDS["bytes"][0]).shape == BYTES.shape


def test_linear_transformation():
    matrix, mean = np.random.default_rng(3).normal(size=(12, 12)), np.arange(12.0)
    image = np.random.default_rng(4).normal(size=(3, 2, 2))
    ours, theirs = (
        lib.LinearTransformation(make(matrix), make(mean))(make(image)).numpy()
        for lib, make in ((transforms, mytorch.from_numpy), (torchvision.transforms, torch.from_numpy))
    )
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("hflip", ()),
        ("vflip", ()),
        ("crop", (-1, 2, 5, 6)),
        ("center_crop", ([5, 4],)),
        ("pad", ([1, 2, 0, 1], 0.5)),
        ("pad", ([1, 2, 2, 1], 0, "reflect")),
        ("resize", ([5, 12],)),
        ("resized_crop", (1, 1, 5, 6, [4, 4])),
        ("rotate", (35.0,)),
        ("gaussian_blur", ([3, 5], [0.8, 1.5])),
        ("normalize", ([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])),
        ("adjust_brightness", (0.7,)),
        ("adjust_contrast", (0.6,)),
        ("adjust_saturation", (0.6,)),
        ("adjust_gamma", (1.7,)),
        ("rgb_to_grayscale", (3,)),
        ("invert", ()),
    ],
)
def test_a_tensor_that_needs_a_gradient_gets_one(name, args):
    pixels = np.random.default_rng(1).uniform(0.1, 0.9, (2, 3, 8, 9))
    results = []
    for lib, functional in ((mytorch, F), (torch, TF)):
        leaf = lib.from_numpy(pixels).requires_grad_()
        out = getattr(functional, name)(leaf, *args)
        weights = np.random.default_rng(2).normal(size=tuple(out.shape))
        (out * lib.from_numpy(weights)).sum().backward()
        results.append((out.detach().numpy(), leaf.grad.numpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-6)
    plain = getattr(F, name)(mytorch.from_numpy(pixels), *args)
    np.testing.assert_allclose(results[0][0], plain.numpy(), atol=1e-6)


def test_a_transform_without_a_gradient_says_so():
    leaf = mytorch.rand(3, 4, 4).requires_grad_()
    with pytest.raises(NotImplementedError, match="adjust_hue of a tensor that needs a gradient"):
        F.adjust_hue(leaf, 0.1)
    with mytorch.no_grad():
        F.adjust_hue(leaf, 0.1)


def test_normalize_takes_tensors_and_crops_can_be_shared():
    mean, std = mytorch.tensor([0.5, 0.4, 0.3]), mytorch.tensor([0.2, 0.3, 0.4])
    image = mytorch.rand(3, 6, 7)
    both = [transforms.Normalize(*args)(image) for args in ((mean, std), (mean.tolist(), std.tolist()))]
    assert mytorch.equal(*both)
    top, left, height, width = transforms.RandomCrop.get_params(image, (4, 5))
    assert F.crop(image, top, left, height, width).shape == (3, 4, 5)


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_batches_are_mixed_with_their_labels(name):
    """The drawn numbers differ from torchvision's; its rule is that labels mix as pixels do."""
    images, labels = mytorch.arange(3.0).reshape(3, 1, 1, 1).expand(3, 2, 8, 10), mytorch.tensor([0, 1, 2])
    for seed in range(5):
        mytorch.manual_seed(seed)
        mixed, shares = getattr(transforms, name)(alpha=1.0, num_classes=3)(images, labels)
        assert mixed.shape == images.shape
        np.testing.assert_allclose(shares.sum(1).numpy(), 1.0, rtol=1e-6)
        expected = (shares * mytorch.arange(3.0)).sum(1)  # the pixels of an image are its label
        np.testing.assert_allclose(mixed.mean((1, 2, 3)).numpy(), expected.numpy(), rtol=1e-5)
    for kind, batch in ((transforms, (images, labels)), (v2, (torch.ones(3, 2, 8, 10), torch.arange(3)))):
        with pytest.raises(ValueError, match="num_classes"):
            getattr(kind, name)()(*batch)
