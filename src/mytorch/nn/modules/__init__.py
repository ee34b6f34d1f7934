"""Every layer, one topic per file; each file lists its layers in __all__."""

# ruff: noqa: F403
from . import (
    activation,
    adaptive,
    attention,
    container,
    conv,
    distance,
    dropout,
    embedding,
    lazy,
    linear,
    loss,
    margin,
    normalization,
    padding,
    pooling,
    rnn,
    rnn_cell,
    shape,
    transformer,
)
from .activation import *
from .adaptive import *
from .attention import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .embedding import *
from .lazy import *
from .linear import *
from .loss import *
from .margin import *
from .module import Module
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .rnn_cell import *
from .shape import *
from .transformer import *

_FILES = (
    *(activation, adaptive, attention, container, conv, distance, dropout, embedding, lazy, linear, loss, margin),
    *(normalization, padding, pooling, rnn, rnn_cell, shape, transformer),
)
__all__ = ["Module", *(name for file in _FILES for name in file.__all__)]
