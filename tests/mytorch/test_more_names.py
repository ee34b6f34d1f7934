"""Names for what is there under another: in-place forms, functionals at the top, Jacobians, normed weights, folders."""

import numpy as np
import pytest
import torch
from oracle import check
from PIL import Image

import mytorch
import mytorch.autograd
from mytorch import datasets, more_names

BOTH = (mytorch, torch)


def test_in_place_forms_and_functionals_are_torchs():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.9, (3, 4))
    for name in ("cosh", "cumsum", "tril", "erf", "eq", "atan2", "logit", "lgamma", "hypot", "nan_to_num"):
        rows = []
        for lib in BOTH:
            args = {"cumsum": (1,), "eq": (0.5,), "atan2": (lib.ones(4).double(),), "hypot": (lib.ones(4).double(),)}
            tensor = lib.from_numpy(x.copy())
            assert getattr(tensor, f"{name}_")(*args.get(name, ())) is tensor
            rows.append(tensor.numpy())
        np.testing.assert_allclose(*rows, rtol=1e-7, err_msg=name)
    for lib in BOTH:
        tensor = lib.ones(1, 3, 1)
        assert tensor.squeeze_().unsqueeze_(1).t_().shape == (1, 3)
        leaf = lib.ones(2, requires_grad=True)
        doubled = leaf * 2
        doubled.unsqueeze_(0).sum().backward()
        assert leaf.grad.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="leaf"):
            leaf.unsqueeze_(0)
        assert lib.ones(2).apply_(lambda v: v + 1).tolist() == [2.0, 2.0]
        assert lib.relu_(lib.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
        assert lib.promote_types(lib.int32, lib.float32) is lib.float32
        assert lib.can_cast(lib.int64, lib.float32)
        assert not lib.can_cast(lib.float32, lib.int64)
        assert lib.frombuffer(bytearray(b"\1\2"), dtype=lib.uint8).tolist() == [1, 2]
        with lib.random.fork_rng():
            lib.manual_seed(3)
        assert lib.zeros(2)[lib.newaxis].shape == (1, 2)
    for name in more_names.FUNCTIONS:
        assert hasattr(torch, name), name


def test_jacobians_and_hessians():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=3), rng.normal(size=2)
    rows = []
    for lib in BOTH:
        functional = lib.autograd.functional
        x, y, v = lib.from_numpy(a), lib.from_numpy(b), lib.ones(3).double()

        def f(x, y, lib=lib):
            return lib.sin(x).unsqueeze(1) * y * x.sum()

        def g(x, y):
            return (x.exp().sum() * y.pow(2).sum()) + (x**3).sum()

        first = functional.jacobian(f, (x, y))
        second = functional.hessian(g, (x, y))
        rows.append(
            [
                *first,
                *[part for row in second for part in row],
                functional.vjp(lambda x: x.sin(), x, v)[1],
                functional.jvp(lambda x: x.sin() * x.sum(), x, v)[1],
                functional.hvp(lambda x: (x**3).prod(), x, v)[1],
                functional.hessian(lambda x: (x * x).sum(), x),
            ]
        )
    for mine, theirs in zip(*rows):
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-8, atol=1e-10)
    with mytorch.autograd.set_detect_anomaly(True), mytorch.autograd.detect_anomaly():
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("layer", [("Linear", 4, 3), ("Conv2d", 4, 3, 2), ("ConvTranspose2d", 4, 3, 2)])
def test_normed_weights(kind, layer):
    name, *sizes = layer
    theirs = getattr(torch.nn.utils, kind)(getattr(torch.nn, name)(*sizes).double())
    ours = getattr(mytorch.nn.utils, kind)(getattr(mytorch.nn, name)(*sizes).double())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(2, 4) if name == "Linear" else (2, 4, 5, 5))
    for _ in range(2):
        a, b = ours(mytorch.from_numpy(x)), theirs(torch.from_numpy(x))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)
    a.square().sum().backward()
    b.square().sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-9)
    getattr(mytorch.nn.utils, f"remove_{kind}")(ours)
    assert sorted(ours.state_dict()) == ["bias", "weight"]
    again = ours(mytorch.from_numpy(x)).detach().numpy()
    if kind == "weight_norm":
        np.testing.assert_allclose(again, a.detach().numpy(), rtol=1e-8)


def test_folders_of_pictures_and_noise(tmp_path):
    rng = np.random.default_rng(0)
    for name, count in (("cat", 2), ("ant", 1)):
        (tmp_path / name).mkdir()
        for i in range(count):
            Image.fromarray(rng.integers(0, 255, (4, 5, 3)).astype(np.uint8)).save(tmp_path / name / f"{i}.png")
    (tmp_path / "ant" / "notes.txt").write_text("not a picture")
    data = datasets.ImageFolder(tmp_path, transform=mytorch.transforms.ToTensor())
    assert (data.classes, data.targets, len(data)) == (["ant", "cat"], [0, 1, 1], 3)
    assert data[1][0].shape == (3, 4, 5)
    assert data.class_to_idx == {"ant": 0, "cat": 1}
    fake = datasets.FakeData(5, (3, 6, 7), 4)
    assert len(list(fake)) == 5
    assert fake[1][0].shape == (6, 7, 3)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="class folder"):
        datasets.ImageFolder(tmp_path / "empty")
    with pytest.raises(NotImplementedError, match=r"torchvision\.datasets\.CelebA"):
        datasets.CelebA("data")


@pytest.mark.filterwarnings("ignore")
def test_initialisations_of_old_and_rare_ones():
    for lib in BOTH:
        weight = lib.zeros(4, 3, 3)
        assert lib.nn.init.dirac_(weight, 2)[:, :, 1].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
        sparse = lib.nn.init.sparse_(lib.ones(10, 4), 0.3)
        assert (sparse == 0).sum(0).tolist() == [3, 3, 3, 3]
        assert lib.nn.init.xavier_normal(lib.zeros(30, 30)).std().item() > 0.1


def test_trees_come_apart_and_together_as_in_torch():
    from torch.utils import _pytree as theirs

    from mytorch.utils import pytree

    tree = {"a": [1, (2, 3)], "b": {"c": 4}}
    leaves, shape = pytree.tree_flatten(tree)
    assert leaves == theirs.tree_flatten(tree)[0]
    assert pytree.tree_unflatten(leaves, shape) == tree
    assert pytree.tree_map(lambda x, y: x + y, tree, tree) == theirs.tree_map(lambda x, y: x + y, tree, tree)
    assert pytree.tree_map_only(int, str, [1, "x"]) == ["1", "x"]
    assert pytree.tree_any(lambda x: x > 3, tree)


@pytest.mark.parametrize(
    ("a", "b"),
    [([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 2.00001]), ([1.0], [1.001]), ([1.0], [[1.0]]), ([float("nan")],) * 2],
)
def test_assert_close_agrees_with_torch(a, b):
    answers = []
    for lib in (mytorch, torch):
        try:
            lib.testing.assert_close(lib.tensor(a), lib.tensor(b))
            lib.testing.assert_close({"x": [lib.tensor(a)]}, {"x": [lib.tensor(b)]}, rtol=1e-2, atol=0.0)
            answers.append(None)
        except AssertionError:
            answers.append("different")
    assert answers[0] == answers[1]


def test_numpy_of_a_tensor_with_a_history_under_no_grad():
    for lib in (mytorch, torch):
        x = lib.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="requires grad"):
            x.numpy()
        with lib.no_grad():
            assert x.numpy().tolist() == [2.0, 2.0]


def test_a_backward_that_can_be_differentiated_once():
    for lib in (mytorch, torch):
        once = lib.autograd.function.once_differentiable if lib is torch else mytorch.function.once_differentiable

        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            @once
            def backward(ctx, grad):
                return 2 * grad

        x, g = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        (first,) = lib.autograd.grad(Double.apply(x), x, g, create_graph=True)
        assert first.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="once_differentiable"):
            first.sum().backward()


def test_small_functions_beside_torch():
    check(lambda lib, x: lib.vander(x, 3), (4,), grad=False)
    check(lambda lib, x: lib.vander(x, increasing=True), (3,), grad=False)
    check(lambda lib, x, y: lib.chain_matmul(x, y), (2, 3), (3, 4))
    check(lambda lib, x: [lib.fill(x, 2.0), lib.adjoint(x)], (2, 3))
    check(lambda lib, x: x.clone().sgn_(), (2, 3), grad=False)
    check(lambda lib, x, y: y.clone().addmm_(x, x), (3, 3), (3, 3))


def test_results_of_linalg_can_be_put_into_a_tensor():
    for lib in (mytorch, torch):
        matrix, place, info = lib.eye(2) * 4, lib.empty(2, 2), lib.empty((), dtype=lib.int32)
        assert lib.linalg.inv(matrix, out=place) is place
        assert place.tolist() == [[0.25, 0.0], [0.0, 0.25]]
        lib.linalg.cholesky_ex(matrix, out=(place, info))
        assert place.tolist() == [[2.0, 0.0], [0.0, 2.0]]
        lib.testing.assert_close(lib.linalg.matrix_exp(lib.zeros(2, 2)), lib.eye(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x, y: x.clone().add_(0.5, y),
        lambda lib, x, y: x.clone().sub_(0.5, y),
        lambda lib, x, y: lib.add(x, 0.5, y),
        lambda lib, x, y: x.clone().addcmul_(0.5, x, y),
        lambda lib, x, y: x.clone().addcdiv_(-0.5, x, y + 3),
        lambda lib, x, y: [lib.add(1.5, x), lib.sub(1, x), lib.mul(2, x), lib.div(1.0, y + 3), lib.multiply(2, y)],
        lambda lib, x, y: lib.where(lib.tensor([[1, 0, 1]], dtype=lib.uint8), x, y),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_older_ways_to_call(call):
    check(call, (2, 3), (2, 3))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_numbers_first_keep_types_and_made_tensors_go_where_told():
    for lib in (mytorch, torch):
        assert str(lib.mul(2, lib.arange(3)).dtype) == "torch.int64"
        assert str(lib.mul(0.5, lib.arange(3)).dtype) == "torch.float32"
        assert lib.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
        place = lib.empty(2, 2)
        assert lib.eye(2, out=place) is place
        assert place.tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert lib.arange(3, out=lib.empty(3)).tolist() == [0.0, 1.0, 2.0]
        assert not isinstance(lib.nn.Linear(1, 1), lib.jit.ScriptModule)


def test_a_function_of_ones_own_may_write_into_its_result_before_it_is_returned():
    for lib in (mytorch, torch):

        class Share(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                share = x.exp()
                share /= share.sum()
                ctx.save_for_backward(share)
                return share

            @staticmethod
            def backward(ctx, grad):
                (share,) = ctx.saved_tensors
                return share * (grad - (share * grad).sum())

        x = lib.tensor([0.0, 1.0], requires_grad=True)
        Share.apply(x)[0].backward()
        lib.testing.assert_close(x.grad, lib.tensor([0.19661193, -0.19661193]))
        out = Share.apply(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            (out * 1).add_(out.mul_(2)).sum().backward()


def test_a_gradient_of_ones_own_that_is_too_wide_is_added_up():
    for lib in (mytorch, torch):

        class Spread(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, shape):
                return x.expand(shape).clone()

            @staticmethod
            def backward(ctx, grad):
                return (grad[:, :2], None) if grad.shape[1] == 4 else (grad, None)

        x = lib.ones(1, 3, requires_grad=True)
        Spread.apply(x, (2, 3)).sum().backward()
        assert x.grad.tolist() == [[2.0, 2.0, 2.0]]
        wrong = lib.ones(1, 4, requires_grad=True)
        with pytest.raises(RuntimeError, match="invalid gradient"):
            Spread.apply(wrong, (2, 4)).sum().backward()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_numbers_behind_a_tensor():
    for lib in (mytorch, torch):
        x = lib.arange(6.0).view(2, 3)
        numbers = x.t().storage()
        assert (list(numbers), len(numbers), numbers[4]) == ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 6, 4.0)
        numbers[0] = 9.0
        assert x[0, 0].item() == 9.0
        assert x[1:].storage().data_ptr() == x.storage().data_ptr() == x.data_ptr()
