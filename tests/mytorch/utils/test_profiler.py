"""torch.profiler as a context: what was named is counted as torch counts it."""

import pytest
import torch

import mytorch


@pytest.mark.parametrize("lib", [mytorch, torch])
def test_named_blocks_are_counted_and_nested(lib):
    seen = []
    tools = lib.profiler
    with tools.profile(activities=[tools.ProfilerActivity.CPU], on_trace_ready=seen.append) as profiler:
        for _ in range(3):
            with tools.record_function("outer"), tools.record_function("inner"):
                lib.ones(4).sum()
            profiler.step()
    rows = {event.key: event for event in profiler.key_averages()}
    assert seen == [profiler]
    assert rows["outer"].count == rows["inner"].count == 3
    assert rows["outer"].cpu_time_total >= rows["inner"].cpu_time_total > 0
    assert rows["outer"].self_cpu_time_total <= rows["outer"].cpu_time_total
    table = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    assert "outer" in table


def test_outside_a_profiler_nothing_is_measured_and_errors_pass():
    with mytorch.profiler.record_function("before"):
        pass
    profiler = mytorch.profiler.profile()
    with pytest.raises(ZeroDivisionError), profiler, mytorch.profiler.record_function("failing"):
        raise ZeroDivisionError
    assert {event.key for event in profiler.events()} == {"failing", "profiled block"}
    with pytest.raises(NotImplementedError):
        mytorch.profiler.tensorboard_trace_handler("runs")
