"""Kernels, in the words of the command line.

>>> parse("gaussian bandwidths=1..100:12").count
12

A kernel, or a family of them, is a text: a type and words ``name=value`` in any order::

    linear
    gaussian bandwidth=0.5 per_column
    gaussian bandwidths=1,2,4
    gaussian bandwidths=1..100:12            12 widths from 1 to 100 with equal ratios
    gaussian median                          the median distance of the rows
    gaussian                                 the same
    gaussian median=0.5,1,2                  multiples of it
    gaussian median=0.1..10:20               20 multiples from 0.1 to 10 with equal ratios
    polynomial degree=2 offset=1 columns=age,"first name" unit_diagonal scaling=trace
    distance block=video bandwidth=10
    gaussian bandwidths=0.1..10:5 group=colour name="hue, saturation"

``name`` is what the kernel is called in the place of ``gaussian(bandwidth=0.5)``; of several kernels each has what
tells it from the others behind it. Learners that weigh groups of kernels read ``group``. The types are linear,
polynomial, gaussian, laplacian, chi_square, hellinger, intersection, euclidean, precomputed and distance.
"""

from __future__ import annotations

import csv
import difflib
import math
from typing import Any, Callable, Sequence, Union

from mercer import _proto
from mercer._proto import v1

TYPES = _proto.enum_words(_proto.enum("KernelType"))
_WIDTHS = "one of bandwidth=W, bandwidths=W,W, bandwidths=A..B:N, median, median=M,M, median=A..B:N"

Kernels = Union[None, str, Sequence[str]]


class KernelError(ValueError):
    """A kernel text that means nothing."""


#: What other programs call the types and words.
_ELSEWHERE = {
    "rbf": "gaussian",
    "squared_exponential": "gaussian",
    "poly": "polynomial",
    "chi2": "chi_square",
    "bhattacharyya": "hellinger",
    "histogram_intersection": "intersection",
    "min": "intersection",
    "custom": "precomputed",
    "coef0": "offset",
    "sigma": "bandwidth",
    "width": "bandwidth",
    "length_scale": "bandwidth",
}


def _did_you_mean(wrong: str, known: Sequence[str]) -> str:
    near = (
        [_ELSEWHERE[wrong]]
        if _ELSEWHERE.get(wrong) in known
        else difflib.get_close_matches(wrong, known, n=3, cutoff=0.7)
    )
    return f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""


#: Bandwidths in terms of the gamma of other programs; that of a kernel which they do not have is the Gaussian's.
_OF_GAMMA: dict[int, tuple[str, Callable[[float], float]]] = {
    v1.KERNEL_TYPE_GAUSSIAN: ("1 / sqrt(2 gamma)", lambda gamma: 1 / math.sqrt(2 * gamma)),
    v1.KERNEL_TYPE_LAPLACIAN: ("here 1 / gamma", lambda gamma: 1 / gamma),
    v1.KERNEL_TYPE_CHI_SQUARE: ("here 1 / (2 gamma)", lambda gamma: 0.5 / gamma),
}


def _gamma_in_words(text: str, kind: int) -> str:
    """What exp(-gamma |x-z|^2) of other programs is here."""
    if kind == v1.KERNEL_TYPE_POLYNOMIAL:
        return f"is called scale here: scale={text or 'S'}"
    try:
        gamma = float(text)
    except ValueError:
        gamma = math.nan
    formula, bandwidth = _OF_GAMMA.get(kind, _OF_GAMMA[v1.KERNEL_TYPE_GAUSSIAN])
    value = f": bandwidth={bandwidth(gamma):.6g}" if gamma > 0 else "; 'median' takes it from the data"
    return f"kernels have a bandwidth, {formula}{value}"


def _split(text: str) -> list[str]:
    """Words separated by spaces outside double quotes; the quotes stay."""
    words: list[str] = []
    quoted = inside = False
    for character in text:
        if not quoted and character in " \t":
            inside = False
            continue
        quoted = (character == '"') != quoted
        if not inside:
            words.append("")
        inside = True
        words[-1] += character
    if quoted:
        raise KernelError("a quote is not closed")
    return words


def _range(name: str, text: str) -> tuple[float, float, int]:
    try:
        first, rest = text.split("..")
        last, count = rest.split(":")
        return float(first), float(last), int(count)
    except ValueError:
        raise KernelError(f"{name}: must be FIRST..LAST:COUNT, is {text!r}") from None


def _scalar(field: Any, text: str) -> Any:
    if field.enum_type is not None:
        words = _proto.enum_words(field.enum_type)
        if text not in words:
            raise KernelError(f"{field.name}: must be one of {', '.join(words)}, is {text!r}")
        return words[text]
    if field.type == field.TYPE_BOOL:
        if text not in ("", "true", "false"):
            raise KernelError(f"{field.name}: must be true or false, is {text!r}")
        return text != "false"
    if field.type == field.TYPE_STRING:
        plain = text.replace('"', "")
        if not plain:
            raise KernelError(f"{field.name}: is empty")
        return plain
    try:
        return int(text) if field.type == field.TYPE_INT32 else float(text)
    except ValueError:
        raise KernelError(f"{field.name}: must be a number, is {text!r}") from None


def _set(message: Any, field: Any, text: str) -> None:
    repeated = bool(getattr(message, field.name) is not None) and hasattr(getattr(message, field.name), "extend")
    if repeated and field.type != field.TYPE_STRING:
        getattr(message, field.name).extend(_scalar(field, cell) for cell in text.split(","))
    elif repeated:
        getattr(message, field.name).extend(next(csv.reader([text])))
    else:
        setattr(message, field.name, _scalar(field, text))


def _set_word(grid: Any, name: str, text: str) -> None:
    fields = grid.DESCRIPTOR.fields_by_name
    normalization = v1.KernelNormalization.DESCRIPTOR.fields_by_name
    if name in ("median", "bandwidths") and ".." in text:
        median = name == "median"
        grid.rule = v1.BANDWIDTH_RULE_MEDIAN_MULTIPLES if median else v1.BANDWIDTH_RULE_LOG_SPACED
        grid.min_bandwidth, grid.max_bandwidth, grid.count = _range(name, text)
    elif name == "median":
        grid.rule = v1.BANDWIDTH_RULE_MEDIAN_MULTIPLES
        if text:
            _set(grid, fields["bandwidths"], text)
    elif name in fields and name not in ("type", "normalization"):
        _set(grid, fields[name], text)
        if name in ("min_bandwidth", "max_bandwidth", "count"):
            grid.rule = v1.BANDWIDTH_RULE_LOG_SPACED
    elif name in normalization:
        _set(grid.normalization, normalization[name], text)
    else:
        known = ["median", *(n for n in (*fields, *normalization) if n not in ("type", "normalization"))]
        if name == "gamma":
            raise KernelError(f"gamma: {_gamma_in_words(text, grid.type)}")
        raise KernelError(f"{name}: unknown word; allowed are {', '.join(known)}{_did_you_mean(name, known)}")


def parse(text: str) -> Any:
    """The message KernelGrid that a text means.

    Raises
    ------
    KernelError
        Naming the word, and what is allowed.
    """
    try:
        return _parse(text)
    except KernelError as error:
        raise KernelError(f"kernel {text!r}: {error}") from None


def _parse(text: str) -> Any:
    words = _split(text)
    if not words or words[0] not in TYPES:
        wrong = words[0] if words else ""
        raise KernelError(f"must begin with one of {', '.join(TYPES)}{_did_you_mean(wrong, list(TYPES))}")
    grid = v1.KernelGrid(type=TYPES[words[0]])
    seen: set[str] = set()
    for word in words[1:]:
        name, _, value = word.partition("=")
        name = name.replace("-", "_")
        if name in seen:
            raise KernelError(f"{name}: is given twice")
        seen.add(name)
        if name in ("median", "bandwidth", "bandwidths") and seen & ({"median", "bandwidth", "bandwidths"} - {name}):
            raise KernelError(f"{name}: another word has said which bandwidths already; give {_WIDTHS}")
        _set_word(grid, name, value)
    return grid


def parse_all(kernels: Kernels) -> list[Any]:
    """The messages of a text, several texts, or None (an empty list)."""
    if kernels is None:
        return []
    texts = [kernels] if isinstance(kernels, str) else list(kernels)
    for text in texts:
        if not isinstance(text, str):
            raise KernelError(f"kernels are texts such as 'gaussian median=0.5,1,2', not {text!r}")
    return [parse(text) for text in texts]
