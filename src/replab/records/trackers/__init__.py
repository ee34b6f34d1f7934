"""Trackers: subscribers that hand a run's numbers to another tool, by name (`--track csv`), one file each.

A tracker is a class under `@tracker`: `Tracker(folder: Path, recipe: dict)`, with `hear(event)` (events.py lists them).
"""
