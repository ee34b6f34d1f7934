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


CSR = ([0, 1, 1, 3], [2, 0, 1], [5.0, 6.0, 7.0])


def made_both_ways():
    for lib in (mytorch, torch):
        dense = lib.tensor([[0.0, 2.0, -1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
        csr = lib.sparse_csr_tensor(*map(lib.tensor, CSR), size=(3, 4))
        csc = lib.sparse_csc_tensor(*map(lib.tensor, CSR), size=(4, 3))
        yield lib, dense, csr, csc


@pytest.mark.filterwarnings("ignore")
def test_layouts_and_their_parts():
    rows = []
    for lib, dense, csr, csc in made_both_ways():
        matrices = [dense, dense.to_sparse(), dense.to_sparse().coalesce().clone(), dense.to_sparse_csr(), csr, csc]
        matrices += [lib.sparse_coo_tensor([[0], [1]], [1.0], (2, 2)).detach(), csr.to_sparse_coo(), csr.to_dense()]
        row = [(m.is_sparse, m.is_sparse_csr, str(m.layout), m.to_dense().tolist()) for m in matrices]
        row += [csr.crow_indices().tolist(), csr.col_indices().tolist(), csr.values().tolist()]
        row += [csc.ccol_indices().tolist(), csc.row_indices().tolist(), csc.values().tolist()]
        rows.append(row)
    assert rows[0] == rows[1]


@pytest.mark.filterwarnings("ignore")
def test_products_and_softmax_with_gradients():
    rows = []
    for lib, dense, _, _ in made_both_ways():
        leaf = dense.clone().requires_grad_()
        sparse, other = leaf.to_sparse(), lib.arange(6.0).reshape(3, 2)
        results = [lib.spmm(sparse, other), lib.smm(sparse.detach(), other), lib.sparse.mm(sparse, sparse)]
        results += [lib.sparse.softmax(sparse, 1), lib.sparse.log_softmax(sparse, 0)]
        weights = lib.arange(9.0).reshape(3, 3)
        (results[3].to_dense() * weights).sum().backward()
        numbers = [[round(each, 5) for each in made.to_dense().flatten().tolist()] for made in (*results, leaf.grad)]
        rows.append((numbers, [made.is_sparse for made in results]))
    assert rows[0] == rows[1]


def test_a_saved_sparse_tensor_is_read_as_what_it_is_here(tmp_path):
    mytorch.save(mytorch.eye(2).to_sparse(), tmp_path / "x.pt")
    assert (
        mytorch.load(tmp_path / "x.pt").tolist() == torch.load(tmp_path / "x.pt").tolist() == [[1.0, 0.0], [0.0, 1.0]]
    )
