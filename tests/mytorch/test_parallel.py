"""Work in pieces: every part is done once, in order, on its own thread, and leaves no trace."""

import os
import threading

import numpy as np
import pytest

import mytorch
from mytorch import parallel, threads
from mytorch.ops import pointwise
from mytorch.optim import optimizer


@pytest.fixture
def two_threads():
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    yield
    threads.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_pieces_cover_the_whole_in_order(count):
    pieces = parallel.in_pieces(lambda piece: list(range(piece.start, piece.stop)), count, parallel.WORTH)
    assert [number for piece in pieces for number in piece] == list(range(count))
    assert len(pieces) == max(1, min(2, count))


@pytest.mark.usefixtures("two_threads")
def test_pieces_run_at_the_same_time_and_small_work_stays_here(monkeypatch):
    monkeypatch.setattr(parallel, "_blas_threads", True)
    meeting = threading.Barrier(2, timeout=20)  # breaks unless both are there at once
    parallel.in_pieces(lambda piece: meeting.wait(), 2, parallel.WORTH)
    here = parallel.in_pieces(lambda piece: threading.get_ident(), 2, parallel.WORTH - 1)
    assert here == [threading.get_ident()]


@pytest.mark.usefixtures("two_threads")
def test_products_in_pieces_use_one_thread_and_the_number_comes_back():
    inside = parallel.in_pieces(lambda piece: threads.get_num_threads(), 2, parallel.WORTH)
    assert inside == [1, 1]
    with pytest.raises(ZeroDivisionError):
        parallel.in_pieces(lambda piece: 1 // piece.start, 2, parallel.WORTH)
    assert threads.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_threads_keep_the_error_settings():
    with np.errstate(divide="raise"):
        settings = parallel.in_pieces(lambda piece: np.geterr()["divide"], 2, parallel.WORTH)
    assert settings == ["raise", "raise"]


@pytest.mark.usefixtures("two_threads")
def test_one_and_two_threads_give_the_same(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH", 0)
    for module in (parallel, pointwise):
        monkeypatch.setattr(module, "BLOCK", 16)
    monkeypatch.setattr(optimizer, "PIECE", 16)
    nn = mytorch.nn

    def results():
        mytorch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.LayerNorm(4), nn.Flatten(), nn.Linear(512, 5),
        ).double()  # fmt: skip
        steps = mytorch.optim.Adam(model.parameters(), lr=0.01)
        x = mytorch.randn(3, 3, 8, 8, dtype=mytorch.float64, requires_grad=True)
        out = model(x)
        out.square().sum().backward()
        steps.step()
        return [out.detach().numpy(), x.grad.numpy(), *(p.detach().numpy() for p in model.parameters())]

    two = results()
    threads.set_num_threads(1)
    for a, b in zip(two, results()):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_has_threads_of_its_own():
    parallel.in_pieces(lambda piece: None, 2, parallel.WORTH)
    child = os.fork()
    if child == 0:
        done = parallel.in_pieces(lambda piece: piece.start, 2, parallel.WORTH)
        os._exit(0 if done == [0, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.usefixtures("two_threads")
def test_work_for_later_is_done_by_a_helper_or_by_who_asks_first():
    busy, free = threading.Event(), threading.Event()

    def long():
        busy.set()
        assert free.wait(20)
        return threading.get_ident()

    with parallel.team():
        first = parallel.later(long, parallel.WORTH)
        assert busy.wait(20)
        second = parallel.later(threading.get_ident, parallel.WORTH)
        assert second.result() == threading.get_ident()  # the only helper is busy
        free.set()
        assert first.result() != threading.get_ident()
        failing = parallel.later(lambda: 1 // 0, parallel.WORTH)
        with pytest.raises(ZeroDivisionError):
            failing.result()
        assert parallel.later(lambda: 3, parallel.WORTH - 1) == 3
    assert parallel.later(lambda: 3, parallel.WORTH) == 3  # no team, no helper


@pytest.mark.usefixtures("two_threads")
def test_not_much_is_left_for_later():
    free = threading.Event()
    with parallel.team():
        waiting = [parallel.later(lambda: free.wait(20), parallel.WORTH) for _ in range(parallel.UNFINISHED)]
        assert parallel.later(lambda: "now", parallel.WORTH) == "now"
        free.set()
        assert all(each.result() for each in waiting)


@pytest.mark.usefixtures("two_threads")
def test_gradients_left_for_later_arrive_whatever_uses_the_weight(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH", 0)

    def gradients(lib):
        kernel = lib.linspace(-1, 1, 144, dtype=lib.float64).reshape(4, 4, 3, 3).requires_grad_()
        other = lib.linspace(1, 2, 144, dtype=lib.float64).reshape(4, 4, 3, 3).requires_grad_()
        seen = []
        other.register_hook(lambda g: seen.append(g.sum().item()))
        conv = lib.nn.functional.conv2d
        x = lib.linspace(-2, 2, 288, dtype=lib.float64).reshape(2, 4, 6, 6)
        x = conv(conv(x, kernel, padding=1), kernel, padding=1)  # the same leaf twice
        x = conv(x, other * 2, padding=1) + conv(x, other, padding=1)  # and one behind another operation
        x.square().mean().backward()
        return [kernel.grad.numpy(), other.grad.numpy(), np.array(seen)]

    import torch

    for ours, theirs in zip(gradients(mytorch), gradients(torch)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)
