"""Files that hold a trained model, one format per file here, each written and read back.

A format is a class under `@file_format` with `write(deployed, config, path)` and `read(path, deployed)`, which gives a
function of arrays: what another program would get from the file.
"""
