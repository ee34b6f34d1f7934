"""Module: what it finds, how it is saved and loaded, hooks, copies and conversions, beside torch's."""

import copy
import warnings

import numpy as np
import pytest
import torch

import mytorch


def net(lib):
    """The same small model in either library: shared weights, both kinds of buffer, a list, an empty slot."""
    nn = lib.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(lib.ones(2))
            self.register_parameter("none", None)
            self.register_buffer("kept", lib.zeros(3))
            self.register_buffer("passing", lib.zeros(1), persistent=False)
            self.first = nn.Linear(2, 3)
            self.layers = nn.ModuleList([nn.Linear(3, 3), nn.BatchNorm1d(3)])
            self.again = self.first
            self.named = nn.ModuleDict({"head": nn.Linear(3, 2, bias=False)})
            self.nothing = None

        def forward(self, x):
            x = self.first(x * self.scale)
            for layer in self.layers:
                x = layer(x)
            return self.named["head"](x)

    return Net()


@pytest.fixture
def both():
    return net(mytorch), net(torch)


def test_finds_everything_torch_finds(both):
    def names(model):
        found = {
            "parameters": [name for name, _ in model.named_parameters()],
            "all": [name for name, _ in model.named_parameters(prefix="p", remove_duplicate=False)],
            "own": [name for name, _ in model.named_parameters(recurse=False)],
            "buffers": [name for name, _ in model.named_buffers()],
            "modules": [name for name, _ in model.named_modules()],
            "all modules": [name for name, _ in model.named_modules(prefix="p", remove_duplicate=False)],
            "children": [name for name, _ in model.named_children()],
            "state": list(model.state_dict(prefix="x.")),
            "counts": [len(list(each())) for each in (model.parameters, model.buffers, model.modules)],
            "text": repr(model),
        }
        return found

    ours, theirs = names(both[0]), names(both[1])
    assert ours == theirs


def test_state_shares_memory_and_keep_vars_gives_the_parameters(both):
    model = both[0]
    state = model.state_dict()
    state["first.weight"][0, 0] = 7.0
    assert model.first.weight[0, 0].item() == 7.0
    assert not state["first.weight"].requires_grad
    assert model.state_dict(keep_vars=True)["first.weight"] is model.first.weight


@pytest.mark.parametrize("strict", [True, False])
def test_load_reports_as_torch(both, strict):
    """Missing, unexpected and mis-shaped keys: the same message, or the same result."""

    def broken(model):
        state = dict(model.state_dict())
        del state["layers.0.bias"], state["scale"]
        state["extra"] = state["first.extra"] = state["kept"]
        state["first.weight.deep"] = state["kept"]
        return state

    results = []
    for model in both:
        try:
            results.append(str(model.load_state_dict(broken(model), strict=strict)))
        except RuntimeError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_load_reports_sizes_and_kinds_as_torch(both):
    messages = []
    for model in both:
        state = dict(model.state_dict())
        state["first.weight"] = state["kept"]
        with pytest.raises(RuntimeError) as error:
            model.load_state_dict(state, strict=False)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    with pytest.raises(TypeError, match="dict-like"):
        both[0].load_state_dict([1])
    with pytest.raises(RuntimeError, match="received <class 'str'>"):
        both[0].load_state_dict({**both[0].state_dict(), "scale": "text"})


def test_weights_move_both_ways_between_the_libraries(both):
    ours, theirs = both
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_allclose(
        ours.eval()(mytorch.from_numpy(x)).detach().numpy(),
        theirs.eval()(torch.from_numpy(x)).detach().numpy(),
        rtol=1e-5,
        atol=1e-6,
    )
    other = net(mytorch)
    theirs.load_state_dict(mytorch.serialization.to_torch(other.state_dict()))
    for name, value in theirs.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), other.state_dict()[name].numpy())
    arrays = {name: value.numpy() for name, value in other.state_dict().items()}
    assert str(ours.load_state_dict(arrays)) == "<All keys matched successfully>"
    np.testing.assert_array_equal(ours.first.weight.detach().numpy(), arrays["first.weight"])


def test_load_copies_into_the_same_tensors_or_assigns(both):
    model = both[0]
    weight, memory = model.first.weight, model.first.weight._array
    state = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    assert model.first.weight is weight
    assert weight._array is memory
    model.load_state_dict(state, assign=True)
    assert model.first.weight._array is state["again.weight"]._array
    assert isinstance(model.first.weight, mytorch.nn.Parameter)


def test_attributes_move_between_tables():
    for lib in (mytorch, torch):
        model = lib.nn.Module()
        model.x = 1
        model.x = lib.nn.Parameter(lib.ones(1))
        assert list(model._parameters) == ["x"]
        assert "x" not in vars(model)
        with pytest.raises(TypeError, match=r"ReLU' as parameter 'x' \(torch.nn.Parameter or None expected\)"):
            model.x = lib.nn.ReLU()
        del model.x
        model.register_buffer("x", lib.ones(1))
        model.x = lib.nn.ReLU()
        assert list(model._modules) == ["x"]
        assert not model._buffers
        with pytest.raises(TypeError, match=r"as child module 'x' \(torch.nn.Module or None expected\)"):
            model.x = 3
        model.x = None
        assert model.x is None
        del model.x
        assert not hasattr(model, "x")
        model.p = lib.nn.Parameter(lib.ones(2))
        with pytest.raises(TypeError, match=r"cannot assign 'torch\.FloatTensor' as parameter 'p'"):
            model.p = lib.ones(2)
        model.register_buffer("b", None)
        model.b = lib.ones(2)
        assert [name for name, _ in model.named_buffers()] == ["b"]
        with pytest.raises(TypeError, match="as buffer 'b'"):
            model.b = "text"
        with pytest.raises(KeyError, match="t contain"):
            model.register_buffer("a.b", lib.ones(1))
        with pytest.raises(KeyError, match="already exists"):
            model.register_parameter("forward", None)
        with pytest.raises(TypeError, match="not a Module subclass"):
            model.add_module("m", 3)
        with pytest.raises(AttributeError, match="has no attribute 'missing'"):
            _ = model.missing
        assert "p" in dir(model)


def test_init_must_be_called_first():
    for lib in (mytorch, torch):

        class Forgetful(lib.nn.Module):
            def __init__(self):
                self.layer = self.made(lib.nn)  # noqa: B023

        for made, what in (
            (lambda nn: nn.ReLU(), "module"),
            (lambda nn: nn.Linear(1, 1).weight, "parameters"),
        ):
            Forgetful.made = staticmethod(made)
            with pytest.raises(AttributeError, match=f"cannot assign {what} before Module.__init__\\(\\) call"):
                Forgetful()
        with pytest.raises(NotImplementedError, match="forward"):
            lib.nn.Module()(1)


def test_reaching_inside_by_dotted_names(both):
    for model in both:
        assert model.get_submodule("layers.0") is model.layers[0]
        assert model.get_submodule("") is model
        assert model.get_parameter("named.head.weight") is model.named["head"].weight
        assert model.get_buffer("layers.1.running_mean") is model.layers[1].running_mean
        for wrong in ("layers.7", "first.weight"):
            with pytest.raises(AttributeError, match=r"has no attribute|is not an nn\.Module"):
                model.get_submodule(wrong)
        with pytest.raises(AttributeError):
            model.get_parameter("first.missing")


def test_modes_gradients_and_apply(both):
    for lib, model in zip((mytorch, torch), both):
        model.eval()
        assert not any(module.training for module in model.modules())
        model.train()
        assert model.layers[1].training
        with pytest.raises(ValueError, match="boolean"):
            model.train("yes")
        model(lib.ones(4, 2)).sum().backward()
        assert model.first.weight.grad is not None
        model.zero_grad(set_to_none=False)
        assert float(model.first.weight.grad.abs().sum()) == 0
        model.zero_grad()
        assert model.first.weight.grad is None
        model.requires_grad_(False)
        assert not any(p.requires_grad for p in model.parameters())
        visited = []
        assert model.apply(lambda module, visited=visited: visited.append(type(module).__name__)) is model
        assert visited == ["Linear", "Linear", "BatchNorm1d", "ModuleList", "Linear", "ModuleDict", "Net"]


def test_hooks_see_and_change_what_goes_through(both):
    seen = []
    for lib, model in zip((mytorch, torch), both):
        model.eval()
        calls = []
        handles = [
            model.first.register_forward_pre_hook(lambda m, args: (args[0] * 2,)),
            model.first.register_forward_hook(
                lambda m, args, out, calls=calls: calls.append(("after", tuple(args[0].shape), tuple(out.shape)))
            ),
            model.first.register_forward_hook(lambda m, args, kwargs, out: out + 1, with_kwargs=True, prepend=True),
            model.named["head"].register_forward_pre_hook(
                lambda m, args, kwargs, calls=calls: calls.append(("before", sorted(kwargs))),
                with_kwargs=True,
            ),
        ]
        x = lib.ones(3, 2)
        with_hooks = model.first(x)
        model(x)
        for handle in handles:
            handle.remove()
        np.testing.assert_allclose(with_hooks.detach().numpy(), (model.first(x * 2) + 1).detach().numpy(), rtol=1e-6)
        assert not model.first._forward_hooks
        seen.append(calls)
    assert seen[0] == seen[1]


def test_deep_copies_are_apart_and_keep_sharing(both):
    model = both[0]
    model(mytorch.ones(4, 2)).sum().backward()
    twin = copy.deepcopy(model)
    assert twin.first is twin.again
    assert twin.first.weight is not model.first.weight
    assert isinstance(twin.first.weight, mytorch.nn.Parameter)
    assert twin.first.weight.requires_grad
    assert twin.first.weight.is_leaf
    np.testing.assert_array_equal(twin.layers[1].running_mean.numpy(), model.layers[1].running_mean.numpy())
    mytorch.nn.init.zeros_(twin.first.weight)
    twin.layers[1].running_mean.zero_()
    assert float(model.first.weight.abs().sum()) > 0
    assert float(model.layers[1].running_mean.abs().sum()) > 0
    assert list(twin.state_dict()) == list(model.state_dict())


def test_parameters_share_memory_print_and_refuse_integers():
    for lib in (mytorch, torch):
        source = lib.tensor([1.5, -2.0])
        parameter = lib.nn.Parameter(source)
        source[0] = 3.0
        assert repr(parameter) == "Parameter containing:\ntensor([ 3., -2.], requires_grad=True)"
        assert not lib.nn.Parameter(source, requires_grad=False).requires_grad
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
            lib.nn.Parameter(lib.tensor([1, 2]))


def test_what_is_missing_is_named():
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.CrossMapLRN2d'"):
        _ = mytorch.nn.CrossMapLRN2d
    assert not hasattr(mytorch.nn, "CrossMapLRN2d")


def test_no_warning_on_an_ordinary_step(both):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both[0](mytorch.ones(4, 2)).sum().backward()


@pytest.mark.parametrize("scale", [None, 3.0])
def test_backward_hooks(scale):
    """As Grad-CAM uses them: gradients of a layer's inputs and outputs, and a replaced one."""
    rows = []
    for lib in (mytorch, torch):
        net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 2)).double()
        for number, p in enumerate(net.parameters()):
            p.data = lib.linspace(-1, 1 + number, p.numel(), dtype=lib.float64).reshape(p.shape)
        seen = []

        def hook(module, grad_input, grad_output, seen=seen):
            seen.append([g.tolist() for g in (*grad_input, *grad_output)])
            return None if scale is None else (grad_input[0] * scale,)

        handle = net[1].register_full_backward_hook(hook)
        net[2].register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
        x = lib.ones(2, 3, dtype=lib.float64, requires_grad=True)
        net(x).square().sum().backward()
        handle.remove()
        rows.append([seen, x.grad.tolist(), [p.grad.tolist() for p in net.parameters()]])
    flat = [np.concatenate([np.ravel(part) for part in _leaves(row)]) for row in rows]
    np.testing.assert_allclose(flat[0], flat[1], rtol=1e-10)


def _leaves(value):
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]
