"""The model of engine_contract.py, its work and what comes of it, for the tests of all engines."""

from collections import deque

import pytest
from engine_contract import JOBS, in_order, work_of, written

from replab.records.events import Events
from replab.search.engines.in_process import InProcess


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """The folder of orders to the model, in the environment of every process that is started."""
    folder, patch = tmp_path_factory.mktemp("orders"), pytest.MonkeyPatch()
    patch.setenv("DEADLY", str(folder))
    yield folder
    patch.undo()


@pytest.fixture(scope="module")
def model(orders, tmp_path_factory):
    return written(tmp_path_factory.mktemp("net"))


@pytest.fixture(scope="module")
def work(model):
    return work_of(model)


@pytest.fixture(scope="module")
def expected(work):
    return in_order(InProcess(work).run(deque(JOBS), Events()))
