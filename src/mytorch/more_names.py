"""Other names that scripts use: in-place spellings, functionals in the torch namespace, settings.

Imported last by the package: it only adds what is not there yet.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import creation, dtypes, ops
from .naming import public
from .nn import functional as F
from .ops.inplace import apply
from .random import default_generator, randperm
from .tensor import Tensor

# in-place: the plain operation, written back

_VALUES = """
    absolute acos acosh addbmm addmm addmv addr arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
    atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    conj_physical copysign cosh cumprod cumsum deg2rad digamma eq erf erfc erfinv exp2 fix float_power gcd ge
    greater greater_equal gt heaviside hypot i0 igamma igammac lcm ldexp le less less_equal lgamma logical_and
    logical_not logical_or logical_xor logit lt mvlgamma nan_to_num ne negative nextafter not_equal polygamma
    rad2deg renorm sgn sinc sinh tril triu true_divide xlogy
"""
_SHAPES = ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims")


def _in_place(name: str) -> Any:
    plain = getattr(Tensor, name)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        def same_type(x: Tensor, *a: Any, **k: Any) -> Tensor:  # x.eq_(y) keeps x's type
            out = plain(x, *a, **k)
            return out if out._array.dtype == x._array.dtype else out.to(x.dtype)

        return apply(self, same_type, args, kwargs)

    method.__name__ = f"{name}_"
    return method


def _reshaped_in_place(name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self.requires_grad and self._node is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        out = getattr(self, name)(*args, **kwargs)
        self._array, self._node = out._array, out._node
        return self

    method.__name__ = f"{name}_"
    return method


for _name in _VALUES.split():
    if _name in Tensor.__dict__ and f"{_name}_" not in Tensor.__dict__:
        setattr(Tensor, f"{_name}_", _in_place(_name))
for _name in _SHAPES:
    if f"{_name}_" not in Tensor.__dict__:
        setattr(Tensor, f"{_name}_", _reshaped_in_place(_name))


def _apply_function(self: Tensor, callable: Any) -> Tensor:
    """A Python function of each number."""
    flat = [callable(value) for value in self._array.reshape(-1).tolist()]
    self._array[...] = np.asarray(flat, self._array.dtype).reshape(self._array.shape)
    self._version[0] += 1
    return self


_METHODS = {
    "apply_": _apply_function,
    "bfloat16": lambda self, *_, **__: self.to(dtypes.bfloat16),
    "is_signed": lambda self: self._array.dtype.kind in "fi",
    "is_inference": lambda self: False,
    "is_shared": lambda self: False,
    "is_same_size": lambda self, other: self._array.shape == other._array.shape,
    "is_set_to": lambda self, tensor: self._array is tensor._array,
    "storage_offset": lambda self: 0,
    "resize": lambda self, *sizes: self.reshape(*sizes),
    "hardshrink": F.hardshrink,
    "prelu": F.prelu,
    "is_cpu": property(lambda self: True),
    "retains_grad": property(lambda self: self._node is not None and self.grad is not None),
    "volatile": property(lambda self: False),
}
for _name, _method in _METHODS.items():
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, _method)

# functionals that torch has at its top as well

_FUNCTIONALS = """adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d batch_norm bilinear
binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d cosine_embedding_loss cosine_similarity ctc_loss group_norm hardshrink
hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss max_pool1d max_pool2d max_pool3d
pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu rms_norm rrelu selu threshold
triplet_margin_loss""".split()  # noqa: SIM905
_IN_PLACE_FUNCTIONS = """abs ceil clamp clamp_max clamp_min clip cos cosh exp expm1 floor frac log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sin sqrt square tan tanh trunc zero fill acos acosh arccos arccosh arcsin arcsinh arctan
arctanh asin asinh atan atanh deg2rad detach erf erfc exp2 fix gcd i0 lcm ldexp logit nan_to_num negative rad2deg sinc
sinh xlogy index_put resize_as""".split()  # noqa: SIM905


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return F.dropout(input, p, train)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return F.alpha_dropout(input, p, train)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """F.embedding with the table first; -1 stands for no padding."""
    padding = None if padding_idx < 0 else padding_idx
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def relu_(input: Tensor) -> Tensor:
    return F.relu(input, inplace=True)


def detach(input: Tensor) -> Tensor:
    return input.detach()


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like the input, all of one value."""
    return input.clone().fill_(value)


def adjoint(input: Tensor) -> Tensor:
    return input.adjoint()


def chain_matmul(*matrices: Tensor) -> Tensor:
    return functools.reduce(lambda a, b: a @ b, matrices)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """A matrix whose columns are powers of x."""
    powers = np.arange(x._array.shape[0] if N is None else N)
    return x.unsqueeze(-1) ** Tensor(powers if increasing else powers[::-1].copy())


def is_same_size(input: Tensor, other: Tensor) -> bool:
    return input._array.shape == other._array.shape


def _assert(condition: Any, message: str) -> None:
    """A plain assertion; torch has a function for it because its tracers cannot see `assert`."""
    assert condition, message


def _method_function(name: str) -> Any:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = name
    return function


# settings and questions


def are_deterministic_algorithms_enabled() -> bool:
    return True


def get_float32_matmul_precision() -> str:
    return "highest"


def get_default_device() -> dtypes.device:
    return dtypes.CPU


def get_num_interop_threads() -> int:
    return 1


def set_num_interop_threads(count: int) -> None:
    """Operations run one after the other."""


def set_flush_denormal(mode: bool) -> bool:
    return False


def set_warn_always(b: bool) -> None:
    """Warnings follow Python's own filters."""


def is_inference_mode_enabled() -> bool:
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    return False


def get_autocast_dtype(device_type: str = "cuda") -> dtypes.dtype:
    return dtypes.float32  # nothing is computed in another type


def is_storage(obj: Any) -> bool:
    return False


def is_signed(input: Tensor) -> bool:
    return input._array.dtype.kind in "fi"


def is_conj(input: Tensor) -> bool:
    return False


def typename(obj: Any) -> str:
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    order = "b", "u", "i", "f", "c"
    return order.index(from_.numpy.kind) <= order.index(to.numpy.kind) or {from_.numpy.kind, to.numpy.kind} == {
        "i",
        "u",
    }


def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    one, two = np.zeros(1, type1.numpy), np.zeros(1, type2.numpy)
    return dtypes.OF_NUMPY[dtypes.common(one, two)]


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    return Tensor(array if array.flags.writeable else array.copy(), requires_grad=requires_grad)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    drawn = (default_generator if generator is None else generator).numpy.poisson(input._array)
    return Tensor(np.asarray(drawn, input._array.dtype))


version = SimpleNamespace(__version__="2.13.0", cuda=None, hip=None, git_version="mytorch", debug=False)
newaxis = None
channels_last_3d = "channels_last_3d"

# older ways to call: x.add_(0.5, y) for x.add_(y, alpha=0.5), and a number before a tensor, torch.mul(2, x)

_OLDER = {"add": ("alpha", 2), "sub": ("alpha", 2), "addcmul": ("value", 3), "addcdiv": ("value", 3)}


def _older_order(function: Any) -> Any:
    keyword, count = _OLDER[function.__name__.rstrip("_")]

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == count and not isinstance(args[0], Tensor):
            return function(input, *args[1:], **{keyword: args[0]}, **kwargs)
        return function(input, *args, **kwargs)

    return call


def _number_first(function: Any) -> Any:
    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(input, (int, float)) and args and isinstance(args[0], Tensor):
            input = Tensor(np.asarray(input, dtypes.default() if isinstance(input, float) else None))
        return function(input, *args, **kwargs)

    return call


def range(start: float = 0, end: float | None = None, step: float = 1, *, dtype: Any = None, **where: Any) -> Tensor:
    """Like arange, but the end is included; floats unless a dtype is given."""
    start, end = (0, start) if end is None else (start, end)
    count = int((end - start) / step) + 1
    return creation.arange(count, dtype=dtype or dtypes.get_default_dtype(), **where) * step + start


for _name in (*_OLDER, *(f"{name}_" for name in _OLDER)):
    setattr(Tensor, _name, _older_order(getattr(Tensor, _name)))

REPLACED: dict[str, Any] = {
    **{name: _older_order(ops.FUNCTIONS[name]) for name in ("addcmul", "addcdiv")},
    **{name: _number_first(_older_order(ops.FUNCTIONS[name])) for name in ("add", "sub")},
    **{name: _number_first(ops.FUNCTIONS[name]) for name in ("mul", "div")},
    **{name: public(getattr(creation, name)) for name in ("arange", "eye", "full", "linspace")},  # with out=
    "randperm": public(randperm),
    "range": range,
}
REPLACED |= {"subtract": REPLACED["sub"], "multiply": REPLACED["mul"]}
REPLACED |= dict.fromkeys(("divide", "true_divide"), REPLACED["div"])

FUNCTIONS: dict[str, Any] = {
    **{name: getattr(F, name) for name in _FUNCTIONALS if hasattr(F, name)},
    **{f"{name}_": _method_function(f"{name}_") for name in _IN_PLACE_FUNCTIONS},
    **{
        function.__name__: function
        for function in (
            *(alpha_dropout, embedding),
            *(dropout, relu_, detach, are_deterministic_algorithms_enabled, get_float32_matmul_precision),
            *(get_default_device, get_num_interop_threads, set_num_interop_threads, set_flush_denormal),
            *(set_warn_always, is_inference_mode_enabled, is_storage, is_signed, is_conj, typename, can_cast),
            *(promote_types, frombuffer, poisson, fill, adjoint, chain_matmul, vander, is_same_size, _assert),
            *(is_autocast_enabled, get_autocast_dtype),
        )
    },
    **{
        "version": version,
        "cfloat": dtypes.complex64,
        "cdouble": dtypes.complex128,
        "is_autocast_cpu_enabled": is_autocast_enabled,
        "get_autocast_gpu_dtype": get_autocast_dtype,
        "get_autocast_cpu_dtype": get_autocast_dtype,
        "newaxis": newaxis,
        "channels_last_3d": channels_last_3d,
        "layout": str,
        "memory_format": str,
    },
}
