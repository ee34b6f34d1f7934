"""Augmentations: one file each; steps.py parses their names and applies them."""
