"""torch.version: which torch has this interface, and that there is no support for GPUs."""

__version__ = "2.13.0+mytorch"
cuda = hip = xpu = git_version = None
debug = False
