"""The zoo: one file an architecture. registry.py finds them by name."""
