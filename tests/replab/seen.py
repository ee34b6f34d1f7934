"""What a person sees: a command in a real terminal of a given width (a pty), its screen as pyte draws it."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

import pyte


def seen(words: list[str], columns: int, cwd, lines: int = 400, code: str = "", timeout: float = 120) -> list[str]:
    """The lines left on the screen by `replab WORDS`, or by Python `code`; no line is longer than the terminal."""
    screen = pyte.Screen(columns, lines)
    pyte.ByteStream(screen).feed(sent(words, columns, cwd, lines, code, timeout))
    return [line.rstrip() for line in "\n".join(screen.display).rstrip().split("\n")]


def raw(words: list[str], columns: int, cwd) -> str:
    """What was sent to the terminal, colours included."""
    return sent(words, columns, cwd, 400, "", 120).decode()


def sent(words: list[str], columns: int, cwd, lines: int, code: str, timeout: float) -> bytes:
    received = b""
    run = code or "import sys; from replab.cli import main; main()"
    pid, terminal = pty.fork()
    if pid == 0:  # the child: its terminal is the pty
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.chdir(cwd)
        # COLUMNS, which readline sets behind Python's back, would win over the size of the terminal
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
        os.execve(sys.executable, [sys.executable, "-c", run, *words], environment)
    end = time.monotonic() + timeout
    while time.monotonic() < end and select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux: the child has closed it
            break
        if not data:
            break
        received += data
    os.waitpid(pid, 0)
    return received
