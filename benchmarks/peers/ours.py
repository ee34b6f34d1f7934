"""One epoch of replab's fit() on the peers' images: the second of two, batches of 128, Adam. Prints a line of JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> None:
    from training_epoch import ours

    from replab.data.images import Images

    name, path = sys.argv[1:]
    found = np.load(path)
    grey = found["x"].shape[1] * (0.5,)
    epoch = ours(name, Images(found["x"], found["y"], tuple(map(str, range(10))), grey, grey))
    epoch()
    began = time.perf_counter()
    epoch()
    print(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
