"""utils.data: datasets, splits, samplers, collation and the loader, beside torch's where order is fixed."""

import itertools
from collections import namedtuple

import numpy as np
import pytest
import torch
import torch.utils.data
from hypothesis import given, settings
from hypothesis import strategies as st

import mytorch
from mytorch.utils import data

Point = namedtuple("Point", "x y")


def plain(value):
    """Tensors of either library as lists, with their dtype."""
    if hasattr(value, "detach"):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    return value


class Squares:
    """A map-style dataset of either library: no base class is needed."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"n": index, "root": index**0.5, "name": str(index)}, [index * index, np.float32(index)]


@given(
    count=st.integers(1, 23),
    batch=st.integers(1, 7),
    drop=st.booleans(),
    kind=st.sampled_from(["tensors", "subset", "items", "sum"]),
)
@settings(max_examples=30, deadline=None)
def test_batches_in_order_are_torchs(count, batch, drop, kind):
    results = []
    for lib, tools in ((mytorch, data), (torch, torch.utils.data)):
        x = lib.from_numpy(np.arange(2 * count, dtype=np.float32).reshape(count, 2))
        tensors = tools.TensorDataset(x, lib.arange(count))
        dataset = {
            "tensors": tensors,
            "subset": tools.Subset(tools.Subset(tensors, range(count)[::-1]), list(range(0, count, 2))),
            "items": Squares(count),
            "sum": tools.ConcatDataset([tensors, tensors]),
        }[kind]
        loader = tools.DataLoader(dataset, batch_size=batch, drop_last=drop, num_workers=0, pin_memory=False)
        results.append([len(loader), *[plain(each) for each in loader]])
    assert results[0] == results[1]


@pytest.mark.parametrize("make", [lambda t: t, lambda t: data.Subset(t, range(37))])
def test_shuffled_batches_hold_each_row_once_and_change(make):
    tensors = data.TensorDataset(mytorch.arange(37), mytorch.arange(37) * 2)
    mytorch.manual_seed(0)
    loader = data.DataLoader(make(tensors), batch_size=5, shuffle=True)
    orders = []
    for _ in range(2):
        rows = [row for x, y in loader for row in zip(x.tolist(), y.tolist())]
        assert sorted(rows) == [(i, 2 * i) for i in range(37)]
        orders.append(rows)
    assert orders[0] != orders[1]
    mytorch.manual_seed(0)
    assert [row for x, y in loader for row in zip(x.tolist(), y.tolist())] == orders[0]


def test_a_generator_of_ones_own_decides_the_order():
    tensors = data.TensorDataset(mytorch.arange(20))

    def order(seed):
        generator = mytorch.Generator().manual_seed(seed)
        return [x.tolist() for (x,) in data.DataLoader(tensors, 4, shuffle=True, generator=generator)]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_gathered_batches_do_not_share_memory_with_the_data():
    x = mytorch.zeros(4, 2)
    for (batch,) in data.DataLoader(data.TensorDataset(x), batch_size=4):
        batch += 1
    assert x.sum().item() == 0


def test_split():
    whole = data.TensorDataset(mytorch.arange(11))
    parts = data.random_split(whole, [0.5, 0.3, 0.2], generator=mytorch.Generator().manual_seed(0))
    theirs = torch.utils.data.random_split(range(11), [0.5, 0.3, 0.2])
    assert [len(part) for part in parts] == [len(part) for part in theirs]
    assert sorted(i for part in parts for i in part.indices) == list(range(11))
    assert [len(part) for part in data.random_split(whole, [4, 7])] == [4, 7]
    for tools, dataset in ((data, whole), (torch.utils.data, range(11))):
        with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
            tools.random_split(dataset, [4, 4])


def test_datasets():
    x = mytorch.arange(6).reshape(3, 2)
    tensors = data.TensorDataset(x, x * 2)
    assert [part.tolist() for part in tensors[1]] == [[2, 3], [4, 6]]
    joined = tensors + data.Subset(tensors, [2])
    assert len(joined) == 4
    assert joined[3][0].tolist() == [4, 5]
    assert joined[-4][0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="within the 4 items"):
        joined[4]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(x, mytorch.zeros(2))
    with pytest.raises(NotImplementedError, match="Empty"):
        type("Empty", (data.Dataset,), {})()[0]


def test_samplers():
    assert list(data.SequentialSampler(range(4))) == [0, 1, 2, 3]
    assert sorted(data.RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    assert set(data.RandomSampler(range(3), replacement=True, num_samples=50)) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    for drop, batches in ((True, [[0, 1]]), (False, [[0, 1], [2]])):
        sampler = data.BatchSampler(data.SequentialSampler(range(3)), 2, drop)
        assert list(sampler) == batches
        assert [batch.tolist() for batch in sampler.arrays()] == batches
        assert len(sampler) == len(batches)
    tensors = data.TensorDataset(mytorch.arange(6))
    own = data.DataLoader(tensors, batch_sampler=[[5, 0], [3]])
    assert [x.tolist() for (x,) in own] == [[5, 0], [3]]
    reverse = data.DataLoader(tensors, batch_size=4, sampler=[5, 4, 3, 2, 1, 0])
    assert [x.tolist() for (x,) in reverse] == [[5, 4, 3, 2], [1, 0]]
    with pytest.raises(ValueError, match="batch_size=0"):
        data.DataLoader(tensors, batch_size=0)


def test_collation_of_every_kind():
    batches = [
        [1, 2],
        [1.5, 2.0],
        [True, False],
        ["a", "b"],
        [Point(1, 2.0), Point(3, 4.0)],
        [{"a": (1, "x")}, {"a": (2, "y")}],
        [np.ones(2), np.zeros(2)],
    ]
    for batch in batches:
        assert plain(data.default_collate(batch)) == plain(torch.utils.data.default_collate(batch))
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1, 2], [1]])
    with pytest.raises(TypeError, match="give a collate_fn"):
        data.default_collate([object()])
    own = data.DataLoader(data.TensorDataset(mytorch.arange(3)), 2, collate_fn=lambda samples: len(samples))
    assert list(own) == [2, 1]


def test_streams_and_single_items():
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [batch.tolist() for batch in data.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in data.DataLoader(Stream(), batch_size=2, drop_last=True)] == [
        [0, 1],
        [2, 3],
    ]
    assert list(data.DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    single = data.DataLoader([(np.zeros(2), 1)], batch_size=None)
    assert plain(next(iter(single))) == ["tuple", ["torch.float64", [0.0, 0.0]], 1]
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(), shuffle=True)
    with pytest.raises(ValueError, match="mutually exclusive"):
        data.DataLoader([1], shuffle=True, sampler=[0])
    assert list(data.ChainDataset([Stream(), Stream()])) == [*range(5), *range(5)]
    with pytest.raises(NotImplementedError, match="IterDataPipe"):
        _ = data.IterDataPipe


def test_a_dataset_may_give_whole_batches():
    class Batched:
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [mytorch.tensor(index * 10) for index in indices]

    assert [batch.tolist() for batch in data.DataLoader(Batched(), batch_size=3)] == [[0, 10, 20], [30]]


def test_any_number_of_samples_with_replacement_is_drawn_piece_by_piece():
    sampler = data.RandomSampler(range(7), replacement=True, num_samples=10**12)
    first = list(itertools.islice(sampler, 100_000))
    assert len(sampler) == 10**12
    assert set(first) == set(range(7))
    batches = data.DataLoader(
        data.TensorDataset(mytorch.arange(7)), batch_size=1000, sampler=data.RandomSampler(range(7), True, 70_500)
    )
    assert [len(batch[0]) for batch in batches] == [1000] * 70 + [500]
    more = list(data.RandomSampler(range(3), num_samples=7))
    assert sorted(more[:3]) == sorted(more[3:6]) == [0, 1, 2]
    assert len(more) == 7


def test_weighted_and_distributed_samplers():
    drawn = list(data.WeightedRandomSampler([0.0, 3.0, 1.0], 4000))
    assert 0 not in drawn
    assert 0.72 < drawn.count(1) / 4000 < 0.78
    assert sorted(data.WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    shares = [data.DistributedSampler(range(10), num_replicas=3, rank=rank) for rank in range(3)]
    assert {i for share in shares for i in share} == set(range(10))
    assert {len(share) for share in shares} == {len(list(share)) for share in shares} == {4}
    before = list(shares[0])
    shares[0].set_epoch(1)
    assert list(shares[0]) != before
    both = data.StackDataset([1, 2], ["a", "b"])
    assert (len(both), both[1]) == (2, (2, "b"))
    assert data.StackDataset(x=[1], y=[2])[0] == {"x": 1, "y": 2}
    assert data.get_worker_info() is None


@pytest.mark.parametrize(
    "line",
    """DataLoader(data, num_workers=-1)
    DataLoader(data, timeout=-1)
    DataLoader(data, prefetch_factor=2)
    DataLoader(data, num_workers=1, prefetch_factor=-1)
    DataLoader(data, persistent_workers=True)
    DataLoader(data, multiprocessing_context="spawn")
    DataLoader([], shuffle=True)
    RandomSampler([])
    RandomSampler(data, num_samples=0)
    RandomSampler(data, replacement=3)
    BatchSampler([1], 1, 3)""".splitlines(),
)
def test_settings_that_torch_refuses(line):
    errors = []
    for lib in (mytorch, torch):
        names = {**vars(lib.utils.data), "data": lib.utils.data.TensorDataset(lib.arange(5.0))}
        with pytest.raises((ValueError, TypeError)) as error:
            eval(line.strip(), names)
        errors.append((type(error.value), str(error.value)))
    assert errors[0] == errors[1]


def test_a_pass_over_a_loader_has_a_length():
    for lib in (mytorch, torch):
        loader = lib.utils.data.DataLoader(lib.utils.data.TensorDataset(lib.arange(5.0)), 2)
        batches = iter(loader)
        assert (len(batches), len(next(batches)), len(list(batches)), len(batches)) == (3, 1, 2, 3)
