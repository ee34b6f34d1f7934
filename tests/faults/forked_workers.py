"""Workers that are forked from the coordinator, which has everything imported, in place of new interpreters."""

import os
import signal
import subprocess
import sys
import traceback


class Forked:
    """As much of subprocess.Popen as search/engines/processes.py uses."""

    def __init__(self, command, env, **ignored):
        own_in, to_child = os.pipe()
        from_child, own_out = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.setsid()
                os.dup2(own_in, 0)
                os.dup2(own_out, 1)
                os.closerange(3, 1000)  # the pipes of others too: each closes when its coordinator is gone
                os.environ.clear()
                os.environ.update(env)
                sys.stdin = os.fdopen(0, encoding="utf-8")
                from replab.search.engines import worker

                worker.main()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        os.close(own_in)
        os.close(own_out)
        self.stdin = os.fdopen(to_child, "w", encoding="utf-8")
        self.stdout = os.fdopen(from_child, encoding="utf-8")
        self.code = None

    def kill(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code


class Stand:
    """The module subprocess, with that in Popen's place."""

    Popen, PIPE = Forked, subprocess.PIPE


def fork_workers():
    from replab.search.engines import processes

    processes.subprocess = Stand
