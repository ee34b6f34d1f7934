"""torch.nn.functional on NumPy: one file per topic, every function's backward beside its forward.

Each file lists its public functions in __all__. Some have the name of their file (linear, pad, dropout): here, the name
is the function.
"""

# ruff: noqa: F403
from typing import Any

import mytorch.memory  # noqa: F401  importing it makes the process keep freed arrays
from mytorch.dtypes import unsupported

from .activation import *
from .attention import *
from .conv import *
from .convnd import *
from .distance import *
from .dropout import *
from .embedding import *
from .likelihood import *
from .linear import *
from .loss import *
from .margin import *
from .nonlinear import *
from .norm import *
from .pad import *
from .pool import *
from .poolnd import *
from .rearrange import *
from .resize import *
from .sampling import *


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.nn.functional.{name}")
