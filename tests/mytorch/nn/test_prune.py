"""nn.utils.prune beside torch's."""

import numpy as np
import pytest
import torch
import torch.nn.utils.prune as theirs

import mytorch
import mytorch.nn.utils.prune as ours

BOTH = [(mytorch, ours), (torch, theirs)]
WEIGHT = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def layer(lib):
    made = lib.nn.Linear(3, 4)
    made.load_state_dict({"weight": lib.tensor(WEIGHT), "bias": lib.zeros(4)})
    return made


def compare(change):
    """The state, the value and the gradients after `change(module, prune, lib)`, on both."""
    results = []
    for lib, prune in BOTH:
        module = layer(lib)
        change(module, prune, lib)
        module(lib.ones(2, 3)).square().sum().backward()
        parts = {name: p.grad.numpy() for name, p in module.named_parameters()}
        parts |= {f"state {name}": value.numpy() for name, value in module.state_dict().items()}
        results.append(parts | {"value": module.weight.detach().numpy(), "pruned": np.array(prune.is_pruned(module))})
    assert sorted(results[0]) == sorted(results[1])
    for name in results[0]:
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("amount", [0, 2, 0.3, 1.0])
def test_the_smallest_go(amount):
    compare(lambda m, prune, lib: prune.l1_unstructured(m, "weight", amount))


def test_pruning_twice_is_among_what_is_left():
    def change(m, prune, lib):
        prune.l1_unstructured(m, "weight", 0.5)
        prune.l1_unstructured(m, "weight", 0.5)
        prune.ln_structured(m, "weight", 1, n=2, dim=0)
        prune.ln_structured(m, "weight", 1, n=float("inf"), dim=1)

    compare(change)


def test_by_mask_by_importance_and_not_at_all():
    def change(m, prune, lib):
        prune.identity(m, "bias")
        prune.l1_unstructured(m, "weight", 3, importance_scores=lib.tensor(-WEIGHT.round(1) + np.float32(10)))
        prune.custom_from_mask(m, "weight", lib.tensor(np.eye(4, 3, dtype=np.float32)))

    compare(change)


def test_removing_keeps_the_value_as_the_parameter():
    def change(m, prune, lib):
        weight = m.weight
        prune.l1_unstructured(m, "weight", 0.5)
        prune.remove(m, "weight")
        assert m.weight is weight  # an optimiser made before still has it
        with pytest.raises(ValueError, match="has to be pruned"):
            prune.remove(m, "weight")

    compare(change)


def test_several_as_one():
    results = []
    for lib, prune in BOTH:
        net = lib.nn.Sequential(layer(lib), lib.nn.ReLU(), lib.nn.Linear(4, 2))
        net[2].load_state_dict({"weight": lib.tensor(WEIGHT.reshape(2, 6)[:, :4] / 2), "bias": lib.zeros(2)})
        prune.l1_unstructured(net[0], "weight", 2)
        pairs = [(net[0], "weight"), (net[2], "weight")]
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
        results.append([m.weight_mask.numpy() for m, _ in pairs])
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("lib", BOTH)
def test_random_ones_and_a_method_of_ones_own(lib):
    lib, prune = lib
    module = layer(lib)
    prune.random_unstructured(module, "weight", 0.5)
    assert int((module.weight_mask == 0).sum()) == 6
    other = layer(lib)
    prune.random_structured(other, "weight", 2, dim=0)
    assert sorted(other.weight_mask.sum(1).tolist()) == [0, 0, 3, 3]

    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    EveryOther.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="amount"):
        prune.l1_unstructured(module, "weight", 1.5)
    assert not prune.is_pruned(layer(lib))


@pytest.mark.parametrize("lib", [mytorch, torch], ids=["mytorch", "torch"])
def test_the_history_of_pruning_can_be_read(lib):
    prune = lib.nn.utils.prune
    layer = lib.nn.Linear(4, 3)
    prune.l1_unstructured(layer, "weight", 3)
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    prune.identity(layer, "bias")
    (hook,) = [h for h in layer._forward_pre_hooks.values() if h._tensor_name == "weight"]
    assert isinstance(hook, prune.PruningContainer)
    assert len(hook) == 2
    assert [type(method).__name__ for method in hook] == ["L1Unstructured", "LnStructured"]
    assert prune.is_pruned(layer)
