"""The pullback of `np.einsum`: for each operand another einsum, of the cotangent and of all other operands."""

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import eye, like_of, ones
from adcompiler.runtime.shapes import Shape, fit, ndim, shape

# Above this many multiplications it pays to search for an order of contraction, and to use matrix products.
_WORTH_A_SEARCH = 20_000


# NumPy's letters for the numbers in a list of axes.
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def einsum_bars(c: Any, subscripts: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The cotangents of all `operands` of ``np.einsum(subscripts, *operands)``, None for a list of axes."""
    if not isinstance(subscripts, str):
        text, arrays = _in_letters(subscripts, operands)
        bars = einsum_bars(c, text, arrays)
        return tuple(bars[(i + 1) // 2] if i % 2 and i + 1 < len(operands) else None for i in range(len(operands)))
    terms, out = einsum_terms(subscripts, tuple(ndim(operand) for operand in operands))
    return tuple(_operand_bar(c, position, terms, out, operands) for position in range(len(operands)))


def first_operand_bar(c: Any, first: Any, others: Sequence[Any]) -> Any:
    """The cotangent of `first` in ``np.einsum(first, axes, second, axes, ...)``, None if it is the subscripts."""
    return None if isinstance(first, str) else einsum_bars(c, *_in_letters(first, others))[0]


def _in_letters(first: Any, others: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts and operands of ``np.einsum(first, axes, second, axes, ..., [axes of the result])``."""
    axes = [_named(entry) for entry in others[::2]]
    out = f"->{_named(others[-1])}" if len(others) % 2 == 0 else ""
    arrays = [first, *others[1 : len(others) - 1 : 2]]
    return ",".join(axes[: len(arrays)]) + out, arrays


def _named(axes: Sequence[Any]) -> str:
    return "".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes)


@lru_cache(maxsize=256)
def einsum_terms(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """The subscripts of each operand and of the result, in letters only and with the result always given.

    >>> einsum_terms("ij,j", (2, 1))
    (['ij', 'j'], 'i')
    >>> einsum_terms("...i->...", (3,))
    (['abi'], 'ab')
    """
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    extra = [rank - len(term) + 3 if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    pool = [letter for letter in string.ascii_letters if letter not in subscripts][: max(extra)]
    terms = [term.replace("...", "".join(pool[len(pool) - n :])) for term, n in zip(terms, extra, strict=True)]
    if arrow:
        return terms, out.replace("...", "".join(pool))
    letters = "".join(terms)
    single = sorted(letter for letter in letters if letters.count(letter) == 1 and letter not in pool)
    return terms, "".join(pool + single)


def _operand_bar(c: Any, position: int, terms: list[str], out: str, operands: Sequence[Any]) -> Any:
    term, lengths = terms[position], shape(operands[position])
    named = [other for i, other in enumerate(terms) if i != position]
    factors = [np.conj(operand) for i, operand in enumerate(operands) if i != position]
    if out:
        named, factors = [out, *named], [c, *factors]
    named, factors, target = _complete(named, factors, term, lengths, like_of(c, *factors))
    if not factors:
        return c
    search = len(factors) > 1 and _loops(named, factors) > _WORTH_A_SEARCH
    product = np.einsum(_subscripts(named, target), *factors, optimize=search)
    return fit(product if out else c * product, lengths)


def _complete(
    named: list[str], factors: list[Any], term: str, lengths: Shape, like: Any
) -> tuple[list[str], list[Any], str]:
    """Factors that make `term` a possible result: ones for axes that were only summed, a unit matrix for a diagonal."""
    free = [letter for letter in string.ascii_letters if letter not in "".join([*named, term])]
    target, count = "", 0
    for letter, n in zip(term, lengths, strict=True):
        if letter in target:
            again, count = free[count], count + 1
            named, factors, letter = [*named, letter + again], [*factors, eye(n, bool, like)], again
        elif not any(letter in name for name in named):
            named, factors = [*named, letter], [*factors, ones((n,), bool, like)]
        target += letter
    return named, factors, target


def _subscripts(named: list[str], target: str) -> str:
    return f"{','.join(named)}->{target}"


def _loops(named: list[str], factors: list[Any]) -> int:
    """The number of multiplications without an order of contraction."""
    return math.prod(dict(pair for name, f in zip(named, factors, strict=True) for pair in _sizes(name, f)).values())


def _sizes(name: str, factor: Any) -> Any:
    # Equal letters have equal lengths, except that a length of 1 broadcasts: it must not hide the longer one.
    return ((letter, n) for letter, n in zip(name, shape(factor), strict=True) if n != 1)
