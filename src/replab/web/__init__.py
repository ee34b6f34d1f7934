"""The live page: a local server over a folder of runs. It reads; nothing of a run is imported or executed."""
