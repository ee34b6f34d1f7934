"""Matrix products of any rank."""

from __future__ import annotations

import math
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from ..autograd import linear, record
from ..naming import attach, named
from ..tensor import Tensor
from . import either
from .broadcast import unbroadcast
from .elementwise import add, mul
from .reduce import axis_of
from .shape import permute, reshape, unsqueeze


def matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array, other._array
    na, nb = a.ndim, b.ndim
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_word(input)} != {_word(other)}")
    if na == 0 or nb == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {na}D and {nb}D")
    try:
        out = a @ b
    except ValueError:
        raise _matmul_mismatch(a.shape, b.shape) from None
    need_a, need_b = input._requires_grad, other.requires_grad

    def matmul_backward(g: np.ndarray, *read: np.ndarray) -> tuple:
        a, b = read[0], read[-1]
        ga = gb = None
        if na == 2 and nb == 2:  # the common case, with no reshaping
            return g @ b.T if need_a else None, a.T @ g if need_b else None
        # a vector is a matrix with one row (left) or one column (right)
        left = a[None] if na == 1 else a
        right = b[:, None] if nb == 1 else b
        if nb == 1:
            g = np.expand_dims(g, -1)
        if na == 1:
            g = np.expand_dims(g, -2)
        if need_a:
            ga = unbroadcast(g @ np.swapaxes(right, -1, -2), sa if na > 1 else (1, *sa)).reshape(sa)
        if need_b:
            if nb <= 2 and left.ndim > 2 and left.size:  # one product over all leading dims, not one each and a sum
                rows = math.prod(left.shape[:-1])  # not -1, which NumPy cannot work out where a size is 0
                gb = left.reshape(rows, left.shape[-1]).T @ g.reshape(rows, g.shape[-1])
            else:
                gb = unbroadcast(np.swapaxes(left, -1, -2) @ g, sb if nb > 1 else (*sb, 1))
            gb = gb.reshape(sb)
        return ga, gb

    def matmul_again(g: Tensor, *read: Tensor) -> tuple:
        a, b = read[0], read[-1]
        left, right = a.unsqueeze(0) if na == 1 else a, b.unsqueeze(1) if nb == 1 else b
        g = g.unsqueeze(-1) if nb == 1 else g
        g = g.unsqueeze(-2) if na == 1 else g
        ga = unbroadcast(g @ right.transpose(-1, -2), sa if na > 1 else (1, *sa)).reshape(sa) if need_a else None
        gb = unbroadcast(left.transpose(-1, -2) @ g, sb if nb > 1 else (*sb, 1)).reshape(sb) if need_b else None
        return ga, gb

    sa, sb = a.shape, b.shape
    saved = (input, other) if need_a and need_b else (other,) if need_a else (input,)
    return record(out, (input, other), matmul_backward, saved, again=matmul_again)


def _word(t: Tensor) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int"}.get(t.dtype.name, t.dtype.name)


def _matmul_mismatch(a: tuple, b: tuple) -> RuntimeError:
    if len(a) == 1 and len(b) == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same "
            f"number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(a) == 2 and len(b) == 1:
        return RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    if len(b) <= 2 or len(a) <= 2 or a[:-2] == b[:-2]:
        if len(a) > 2 and len(b) > 2:
            return RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"[{int(np.prod(a[:-2]))}, {a[-1]}] but got: [{int(np.prod(b[:-2]))}, {b[-2]}]."
            )
        rows = int(np.prod(a[:-1])) if len(a) > 1 else 1
        return RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[-2] if len(b) > 1 else b[0]}x{b[-1]})"
        )
    for i, (x, y) in enumerate(zip(a[-3::-1], b[-3::-1])):
        if x != y and 1 not in (x, y):
            where = max(len(a), len(b)) - 3 - i
            return RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {where}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} cannot be multiplied")


def rmatmul(input: Tensor, other: Any) -> Tensor:
    return matmul(other if isinstance(other, Tensor) else Tensor(np.asarray(other)), input)


def _other_ranks(words: str, a: Tensor, b: Tensor) -> RuntimeError:
    return RuntimeError(f"{words}, but got {a._array.ndim}D and {b._array.ndim}D (use matmul for others)")


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    if input._array.ndim != 2 or mat2._array.ndim != 2:
        raise _other_ranks("mm takes two matrices: self must be a matrix", input, mat2)
    return matmul(input, mat2)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if input._array.ndim != 3 or mat2._array.ndim != 3:
        raise _other_ranks("batch1 must be a 3D tensor", input, mat2)
    return matmul(input, mat2)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise _other_ranks("mv takes a matrix and a vector: vector + matrix @ vector expected", input, vec)
    return matmul(input, vec)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    if input._array.ndim != 1 or tensor._array.ndim != 1:
        raise _other_ranks("1D tensors expected", input, tensor)
    return matmul(input, tensor)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    if input._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input._array.ndim}-D and {vec2._array.ndim}-D")
    return mul(unsqueeze(input, 1), unsqueeze(vec2, 0))


def _scaled(x: Tensor, by: Any) -> Tensor:
    return x if by == 1 else mul(x, by)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return add(_scaled(input, beta), _scaled(mm(mat1, mat2), alpha))


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return add(_scaled(input, beta), _scaled(mv(mat, vec), alpha))


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return add(_scaled(input, beta), _scaled(bmm(batch1, batch2), alpha))


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products by index letters; each operand's gradient is an einsum too."""
    if isinstance(equation, Tensor):
        equation, operands = _spelled(equation, *operands)
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    arrays = [t._array for t in tensors]
    inputs, output = _letters(equation.replace(" ", ""), [a.ndim for a in arrays])
    try:
        out = np.einsum(",".join(inputs) + "->" + output, *arrays, optimize=len(arrays) > 1)
    except ValueError as fault:
        raise RuntimeError(f"einsum(): operands do not fit '{equation}': {fault}") from None
    sizes = {c: n for term, a in zip(inputs, arrays) for c, n in zip(term, a.shape) if n != 1}

    shapes = [a.shape for a in arrays]

    def einsum_backward(g: Any, *operands: Any) -> list:
        grads = []
        contract = np.einsum if isinstance(g, (np.ndarray, np.generic)) else einsum
        for i, (term, shape) in enumerate(zip(inputs, shapes)):
            others = [x for j, x in enumerate(operands) if j != i]
            terms = [output, *[x for j, x in enumerate(inputs) if j != i]]
            # letters only this operand has were summed over: their gradient is the same at each place
            distinct = "".join(dict.fromkeys(term))
            kept = "".join(c for c in distinct if any(c in x for x in terms))
            part = contract(",".join(terms) + "->" + kept, g, *others)
            part = part.reshape([part.shape[kept.index(c)] if c in kept else 1 for c in distinct])
            part = either.expand(part, tuple([sizes.get(c, 1) for c in distinct]))
            if len(distinct) < len(term):  # a repeated letter takes a diagonal
                part = _on_diagonal(part, distinct, term, shape)
            grads.append(unbroadcast(part, shape))
        return grads

    return record(out, tensors, einsum_backward, tensors, again=True)


LETTERS = ascii_uppercase + ascii_lowercase  # in the order of their codes, which decides an output that is not given


def _spelled(*parts: Any) -> tuple[str, tuple]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]), where numbers stand for letters, as an equation and its operands."""
    tensors, lists = parts[: len(parts) // 2 * 2 : 2], [*parts[1::2], *parts[len(parts) // 2 * 2 :]]
    terms = ["".join("..." if n is ... else LETTERS[n] for n in numbers) for numbers in lists]
    equation = ",".join(terms[: len(tensors)])
    return (f"{equation}->{terms[-1]}" if len(parts) % 2 else equation), tensors


def _on_diagonal(part: Any, distinct: str, term: str, shape: tuple) -> Any:
    """Zeros of `shape`, and where the dims of a repeated letter agree, `part`, which has each letter once."""
    grid = dict(zip(distinct, np.ogrid[tuple(slice(n) for n in part.shape)]))
    places = tuple(grid[c] for c in term)

    def put(values: Any) -> np.ndarray:
        full = np.zeros(shape, values.dtype)
        full[places] = values
        return full

    return put(part) if isinstance(part, (np.ndarray, np.generic)) else linear(part, put, lambda full: full[places])


def _letters(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """Terms with `...` written out as letters, and the output (by torch's rule if it is not given)."""
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(f"einsum(): more operands were provided than specified in the equation '{equation}'")
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation]
    hidden = [n - len(t.replace("...", "")) if "..." in t else 0 for n, t in zip(ranks, terms)]
    dots = "".join(free[: max(hidden)])
    terms = [t.replace("...", dots[len(dots) - h :]) for t, h in zip(terms, hidden)]
    if not arrow:
        letters = "".join(terms)
        output = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    return terms, output.replace("...", dots)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum over pairs of dims: the last `dims` of a with the first of b, or two lists of dims."""
    na, nb = a._array.ndim, b._array.ndim
    if isinstance(dims, Tensor):
        dims = int(dims) if dims._array.size == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(na, nb):
            raise RuntimeError(f"tensordot expects 0 <= dims <= {min(na, nb)}, but got dims={dims}")
        over_a, over_b = list(range(na - dims, na)), list(range(dims))
    else:
        over_a, over_b = ([axis_of(int(d), n) for d in np.atleast_1d(_plain(ds))] for ds, n in zip(dims, (na, nb)))
        if len(over_a) != len(over_b):
            raise RuntimeError(f"both dimension lists should have same length, got {over_a} and {over_b}")
    left = [i for i in range(na) if i not in over_a]
    right = [i for i in range(nb) if i not in over_b]
    shape_a, shape_b = a._array.shape, b._array.shape
    for i, j in zip(over_a, over_b):
        n, m = shape_a[i], shape_b[j]
        if n != m and 1 not in (n, m):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {i} and second {m}")
        if n != m:  # a dim of size 1 is repeated: the other side is summed over it
            a, b = (a.sum(i, keepdim=True), b) if m == 1 else (a, b.sum(j, keepdim=True))
    shape_a, shape_b = a._array.shape, b._array.shape
    n, rows, columns = (
        math.prod(sizes)
        for sizes in ([shape_a[i] for i in over_a], [shape_a[i] for i in left], [shape_b[i] for i in right])
    )
    product = matmul(reshape(permute(a, left + over_a), rows, n), reshape(permute(b, over_b + right), n, columns))
    return reshape(product, [shape_a[i] for i in left] + [shape_b[i] for i in right])


def _plain(dims: Any) -> Any:
    return dims._array if isinstance(dims, Tensor) else dims


def trace(input: Tensor) -> Tensor:
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    return input.diagonal().sum()


METHODS = attach(
    matmul, mm, bmm, mv, dot, outer, addmm, addmv, baddbmm, trace, ger=outer, __matmul__=matmul,
    __rmatmul__=rmatmul,
)  # fmt: skip
FUNCTIONS = named(einsum, tensordot)
