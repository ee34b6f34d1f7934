"""Sequential, ModuleList, ModuleDict and ParameterList as lists and dicts, beside torch's."""

from collections import OrderedDict

import pytest
import torch

import mytorch


def test_containers_behave_as_lists_and_dicts():
    for lib in (mytorch, torch):
        nn = lib.nn
        a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
        chain = nn.Sequential(a, b)
        assert chain.append(c) is chain
        assert [*chain] == [a, b, c]
        assert chain[-1] is c
        assert [*chain[1:]] == [b, c]
        chain[0] = c
        del chain[1]
        chain.insert(1, b)
        assert [*chain] == [c, b, c]
        assert list(dict(chain.named_children())) == ["0", "1"]
        assert len(chain.extend([a])) == 4
        assert chain.pop(0) is c
        with pytest.raises(IndexError, match="index 5 is out of range"):
            chain[5]
        several = nn.ModuleList([a, b])
        several += [c]
        several.insert(0, c)
        del several[1]
        several[-1] = a
        assert [*several] == [c, b, a]
        assert [*several.__add__([b])] == [c, b, a, b]
        assert [*several[:2]] == [c, b]
        assert several.pop(0) is c
        named = nn.ModuleDict([("x", a)])
        named["y"] = b
        named.update({"z": c})
        assert list(named.keys()) == ["x", "y", "z"]
        assert named.pop("x") is a
        assert "y" in named
        assert len(named) == 2
        assert [name for name, _ in named.items()] == ["y", "z"]
        assert [*named.values()] == [b, c]
        values = nn.ParameterList([lib.ones(2), nn.Parameter(lib.zeros(1))])
        values.append(lib.zeros(3))
        assert [tuple(value.shape) for value in values] == [(2,), (1,), (3,)]
        assert values[0].requires_grad
        assert [name for name, _ in values.named_parameters()] == ["0", "1", "2"]
        assert list(nn.Sequential(OrderedDict(first=a, second=b)).state_dict()) == []


def test_sequences_are_added_and_repeated():
    rows = []
    for lib in (mytorch, torch):
        nn = lib.nn
        first, second = nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), nn.Sequential(nn.Tanh())
        both, twice = first + second, 2 * first
        row = [repr(both), both[1] is first[1], len(twice), twice[3] is first[1]]
        for wrong in (lambda a: a + "x", lambda a: a * 0, lambda a: a * 1.5):
            with pytest.raises((ValueError, TypeError)) as error:
                wrong(first)
            row.append((type(error.value), str(error.value).replace("mytorch", "torch")))
        first += second
        first *= 2
        rows.append([*row, repr(first)])
    assert rows[0] == rows[1]
