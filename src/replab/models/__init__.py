"""Models: registry.py finds those of zoo/ by name, loader.py builds them and a user's own."""
