"""Runs that are killed: functions for processes of their own, started by test_kill.py."""

import os
import signal


def quietly(function, *args, **settings):
    """A run without pictures: drawing them takes most of a tiny run's time and is repeated from the record."""
    from replab.report import write as report

    report.draw = lambda *args: []
    function(*args, **settings)


def killed_at(rename, before, function, *args, **settings):
    """Run, and SIGKILL the process at its n-th rename of a file, just before or just after it."""
    count = 0
    real = os.replace

    def replace(source, target):
        nonlocal count
        count += 1
        if count == rename and before:
            os.kill(os.getpid(), signal.SIGKILL)
        real(source, target)
        if count == rename:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace
    quietly(function, *args, **settings)
