"""The kind of all trackers."""

from __future__ import annotations

from replab.registry import Kind

tracker = Kind("tracker", "replab.records.trackers", "tracker", "known: {names}")
