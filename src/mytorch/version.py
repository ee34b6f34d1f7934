"""torch.version: the torch whose interface this is, and that it was built for no other device."""

__version__ = "2.13.0+mytorch"
cuda = hip = xpu = git_version = None
debug = False
