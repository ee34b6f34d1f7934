"""Sparse tensors are kept dense: the numbers are torch's."""

import pytest
import torch

import mytorch
import mytorch.sparse

PLACES = [[0, 1, 1, 0], [2, 0, 0, 1]]


@pytest.mark.parametrize("size", [(), ((2, 3),), ((3, 4),)])
def test_entries_of_one_place_add_up(size):
    ours = mytorch.sparse_coo_tensor(mytorch.tensor(PLACES), mytorch.tensor([1.0, 2.0, 3.0, 4.0]), *size)
    theirs = torch.sparse_coo_tensor(
        torch.tensor(PLACES), torch.tensor([1.0, 2.0, 3.0, 4.0]), *size, check_invariants=True
    )
    assert ours.tolist() == theirs.to_dense().tolist()


def test_gradients_reach_the_entries_and_products_are_those_of_the_whole():
    grads = []
    for lib in (mytorch, torch):
        entries = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        matrix = lib.sparse_coo_tensor(lib.tensor(PLACES), entries, (2, 3))
        lib.sparse.mm(matrix, lib.arange(6.0).reshape(3, 2)).pow(2).sum().backward()
        grads.append(entries.grad.tolist())
    assert grads[0] == grads[1]


def test_what_a_sparse_tensor_is_asked_for():
    matrix = mytorch.tensor([[0.0, 5.0], [7.0, 0.0]]).to_sparse().coalesce()
    theirs = torch.tensor([[0.0, 5.0], [7.0, 0.0]]).to_sparse().coalesce()
    assert matrix.indices().tolist() == theirs.indices().tolist()
    assert matrix.values().tolist() == theirs.values().tolist()
    assert (matrix._nnz(), matrix.to_dense().tolist()) == (2, [[0.0, 5.0], [7.0, 0.0]])


def test_a_place_outside_the_size_is_refused():
    for lib in (mytorch, torch):
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            lib.sparse_coo_tensor([[3], [0]], [1.0], (2, 2), check_invariants=True)
