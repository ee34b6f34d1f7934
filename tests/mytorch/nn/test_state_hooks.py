"""What a module adds to its state dict, and hooks around saving and loading, beside torch's."""

import pytest
import torch

import mytorch

BOTH = pytest.mark.parametrize("lib", [mytorch, torch], ids=["mytorch", "torch"])


def renamed(lib):
    class Renamed(lib.nn.Module):
        """Reads files in which `weight` was still called `kernel`, and saves a word beside it."""

        _version = 2

        def __init__(self):
            super().__init__()
            self.weight = lib.nn.Parameter(lib.zeros(2))
            self.word = "new"

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if prefix + "kernel" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

        def get_extra_state(self):
            return self.word

        def set_extra_state(self, state):
            self.word = state

    return lib.nn.Sequential(Renamed(), lib.nn.Linear(1, 1))


@BOTH
def test_a_module_reads_older_names_and_keeps_more_than_tensors(lib):
    model = renamed(lib)
    state = model.state_dict()
    assert list(state) == ["0.weight", "0._extra_state", "1.weight", "1.bias"]
    state["0.kernel"] = state.pop("0.weight") + 3
    state["0._extra_state"] = "old"
    model.load_state_dict(state)
    assert model[0].weight.tolist() == [3.0, 3.0]
    assert model[0].word == "old"
    del state["0._extra_state"]
    assert model.load_state_dict(state, strict=False).missing_keys == ["0._extra_state"]


@BOTH
def test_hooks_run_in_torchs_order(lib):
    model, calls = lib.nn.Sequential(lib.nn.Linear(1, 1)), []
    model.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(("before", prefix)))
    model.register_state_dict_post_hook(lambda module, state, prefix, meta: calls.append(("after", sorted(state))))
    model[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: calls.append(("load", prefix)))
    handle = model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = model.state_dict()
    del state["0.bias"]
    assert model.load_state_dict(state).missing_keys == []
    assert calls == [("before", ""), ("after", ["0.bias", "0.weight"]), ("load", "0.")]
    handle.remove()
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict(state)


@BOTH
def test_apply_reaches_every_tensor_and_may_be_overridden(lib):
    class Table(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = [lib.zeros(2)]

        def _apply(self, fn, recurse=True):
            self.rows = [fn(row) for row in self.rows]
            return super()._apply(fn)

    model = lib.nn.Sequential(Table(), lib.nn.BatchNorm1d(2)).double()
    assert model[0].rows[0].dtype == model[1].weight.dtype == model[1].running_mean.dtype == lib.float64
    assert model[1].num_batches_tracked.dtype == lib.int64


@BOTH
def test_hooks_lie_in_the_module_as_torch_keeps_them(lib):
    layer = lib.nn.Linear(1, 1)

    def hook(module, args):
        return None

    layer.register_forward_pre_hook(hook)
    assert list(layer._forward_pre_hooks.values()) == [hook]


@BOTH
def test_a_backward_hook_sees_the_memory_of_the_layer_before(lib):
    first, second, seen = lib.nn.Linear(2, 2), lib.nn.Linear(2, 1), []
    second.register_full_backward_hook(lambda *args: None)
    first.register_forward_hook(lambda module, args, out: seen.append(out.data_ptr()))
    second.register_forward_hook(lambda module, args, out: seen.append(args[0].data_ptr()))
    second(first(lib.ones(1, 2))).sum().backward()
    assert seen[0] == seen[1]


def test_buffers_versions_and_layers_without_values():
    rows = []
    for lib in (mytorch, torch):

        class Held(lib.nn.Module):
            def __init__(self, lib=lib):
                super().__init__()
                self.kept = lib.nn.Buffer(lib.ones(2))
                self.dropped = lib.nn.Buffer(lib.ones(1), persistent=False)
                self.norm = lib.nn.Sequential(lib.nn.BatchNorm1d(2))

        held = Held()
        state = held.state_dict()
        row = [list(state), [name for name, _ in held.named_buffers()], dict(state._metadata)]
        held.kept = lib.zeros(2)
        row.append(held.state_dict()["kept"].tolist())
        del state["norm.0.num_batches_tracked"]
        with pytest.raises(RuntimeError, match="num_batches_tracked"):
            held.load_state_dict(state)
        held.load_state_dict(dict(state))  # without versions it counts as old
        row.append(list(lib.nn.utils.skip_init(lib.nn.Linear, 2, 3).to_empty(device="cpu").weight.shape))
        rows.append(row)
    assert rows[0] == rows[1]


def test_versions_are_saved_for_torch_and_read_from_it(tmp_path):
    for a, b in ((mytorch, torch), (torch, mytorch)):
        a.save(a.nn.BatchNorm1d(2).state_dict(), tmp_path / "x.pt")
        assert dict(b.load(tmp_path / "x.pt")._metadata) == {"": {"version": 2}}
