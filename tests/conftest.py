"""One thread: tests run side by side, and sums in one order repeat bit for bit."""

import os
import shutil

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# A constant rate and test curves; test_protocols.py has the others. Set here, for processes that tests share.
os.environ["REPLAB_PROTOCOL"] = "plain"
# Denormal numbers stay: tests of mytorch, which compare even those, share the process.
os.environ["REPLAB_KEEP_DENORMALS"] = "1"

# Nothing waits for the disk: half of a small run's time. Tests of flushing put their own in its place.
os.fsync = lambda handle: None

from hypothesis import settings  # noqa: E402 (threads are set before anything that starts them)

# The same examples every time: a failure is the change's own. HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeat", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


LONGEST = ("test_readme.py", "test_ray.py", "test_engines.py", "test_ddp.py", "test_packs.py", "test_start.py")


def pytest_collection_modifyitems(items):
    """What takes longest comes first, so that no worker is left with it at the end."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_terminal_summary(terminalreporter):
    """Tests in a browser cannot run without one, and nobody should believe that they did."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if missing:
        text = f"THE BROWSER TESTS WERE NOT RUN: no {' and no '.join(missing)}"
        terminalreporter.write_line(f"{text} (apt-get install chromium chromium-driver)", yellow=True)
