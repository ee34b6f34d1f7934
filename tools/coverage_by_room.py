"""The share of lines that the tests run, by room, from coverage's JSON report: `make coverage` prints it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path, PurePath


def main() -> None:
    files = json.loads(Path(sys.argv[1]).read_text())["files"]
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, report in files.items():
        package, *inside = PurePath(name).relative_to("src").parts
        room = f"{package}/{inside[0]}" if package == "replab" else package
        for key in (room, "all"):
            rooms[key][0] += report["summary"]["covered_lines"]
            rooms[key][1] += report["summary"]["num_statements"]
    for room, (covered, lines) in sorted(rooms.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{room:<24}{covered:>6} of {lines:>6} lines{100 * covered / max(lines, 1):>8.1f} %")


if __name__ == "__main__":
    main()
