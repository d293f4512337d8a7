"""From NumPy, SciPy, pandas and files to the parts of an upload."""

from __future__ import annotations

import dataclasses
import numbers
import pathlib
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from mercer import _proto
from mercer._content import Part, read_columns, read_file, read_svmlight
from mercer._proto import v1

Roles = Mapping[str, str]
_ROLES = _proto.enum_words(_proto.enum("ColumnRole"))


@dataclasses.dataclass(frozen=True)
class Column:
    """One or more columns side by side, as numbers."""

    names: tuple[str, ...]
    values: npt.NDArray[Any]
    role: str = "feature"
    categories: tuple[str, ...] = ()


def role_number(word: str) -> int:
    """The enumerator of a role: ``"target"``."""
    if word not in _ROLES:
        raise ValueError(f"unknown role {word!r}; there are {', '.join(_ROLES)}")
    return _ROLES[word]


def is_frame(data: Any) -> bool:
    """Whether `data` looks like a pandas DataFrame, without importing pandas."""
    return hasattr(data, "columns") and hasattr(data, "dtypes") and hasattr(data, "iloc")


def is_sparse(data: Any) -> bool:
    """Whether `data` looks like a SciPy sparse matrix or array, without importing SciPy."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def category_text(value: Any) -> str:
    """A category as the server writes it: whole numbers without a point."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_missing(value: Any) -> bool:
    return bool(value is None or value != value or value == "")


def task_texts(tasks: Any, rows: int, may_be_missing: bool = False) -> list[str]:
    """The name of the task of each row, empty where it has none."""
    values = np.asarray(tasks, dtype=object)
    if values.shape != (rows,):
        raise ValueError(f"tasks must name one for each of the {rows} rows, has the shape {values.shape}")
    for row, value in enumerate(values):
        if is_missing(value) and not may_be_missing:
            raise ValueError(f"tasks: row {row} has none")
    return ["" if is_missing(value) else category_text(value) for value in values.tolist()]


def encode_categories(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Positions in a sorted list of categories; None and NaN become NaN."""
    texts = [None if value is None or value != value else category_text(value) for value in values.tolist()]
    categories = sorted({text for text in texts if text is not None})
    place = {text: float(i) for i, text in enumerate(categories)}
    codes = [np.nan if text is None else place[text] for text in texts]
    return np.asarray(codes, dtype=np.float64), tuple(categories)


def make_column(name: str, values: Any, role: str = "feature") -> Column:
    """A single column; what is not a number is categorical."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, has {array.ndim}")
    if array.dtype.kind in "buif":
        return Column((name,), array, role)
    codes, categories = encode_categories(array.astype(object))
    return Column((name,), codes, role, categories)


def frame_columns(frame: Any, roles: Roles) -> list[Column]:
    """The columns of a pandas DataFrame, those with a role last."""
    columns = []
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        if getattr(series.dtype, "kind", "O") in "mMc":
            kind = "neither numbers nor categories; make numbers or texts of it"
            raise ValueError(f"column {str(name)!r} is of type {series.dtype}, {kind}")
        values = category_values(series) if is_categorical(series) else number_values(series)
        columns.append(make_column(str(name), values, roles.get(str(name), "feature")))
    unknown = [name for name in roles if name not in map(str, frame.columns)]
    if unknown:
        raise ValueError(f"roles name columns that are not there: {', '.join(unknown)}")
    return columns


def is_categorical(series: Any) -> bool:
    """Whether a column of a pandas DataFrame holds categories: by its type, or as it has a value that is no number."""
    dtype = series.dtype
    if getattr(dtype, "kind", "O") in "buif":
        return False
    if hasattr(dtype, "categories"):
        return True
    if getattr(dtype, "_is_numeric", False) or getattr(dtype, "_is_boolean", False):  # nullable numbers
        return False
    return not all(value is None or isinstance(value, (numbers.Real, np.bool_)) for value in category_values(series))


def has_categories(data: Any) -> bool:
    """Whether `data` is a DataFrame with a categorical column."""
    return is_frame(data) and any(is_categorical(data.iloc[:, i]) for i in range(data.shape[1]))


def category_values(series: Any) -> npt.NDArray[Any]:
    """The values of a column of a DataFrame as objects; None where one is missing, or, as in a CSV file, empty."""
    values = series.astype(object).where(series.notna(), None).to_numpy(dtype=object)
    return np.array([None if isinstance(value, str) and value == "" else value for value in values], dtype=object)


def number_values(series: Any) -> npt.NDArray[Any]:
    """The values of a column of a DataFrame as numbers, NaN where one is missing."""
    if getattr(series.dtype, "kind", "O") in "buif" and isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def matrix_column(matrix: Any, names: Optional[Sequence[str]]) -> Column:
    """All columns of a matrix of numbers."""
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise ValueError(f"the features must have two dimensions, rows and columns; have {array.ndim}")
    if array.dtype.kind not in "buif":
        raise ValueError(f"the features must be real numbers, are {array.dtype}; use a DataFrame for categories")
    shown = tuple(names) if names is not None else tuple(f"x{i}" for i in range(array.shape[1]))
    if len(shown) != array.shape[1]:
        raise ValueError(f"{len(shown)} names for {array.shape[1]} columns")
    return Column(shown, array)


def dense_part(
    columns: Sequence[Column],
    allow_missing: bool,
    blocks: Optional[Mapping[str, Sequence[str]]] = None,
) -> Part:
    """The table of an upload, as numbers row by row."""
    rows = {column.values.shape[0] for column in columns}
    if len(rows) != 1:
        sizes = ", ".join(f"{c.names[0] if c.names else '?'}: {c.values.shape[0]}" for c in columns)
        raise ValueError(f"the columns have different numbers of rows ({sizes})")
    if rows == {0}:
        raise ValueError("the data have 0 rows, at least 1 is needed")
    description = v1.DenseFormat(rows=rows.pop(), allow_missing=allow_missing)
    for column in columns:
        role = role_number(column.role)
        for name in column.names:
            description.columns.add(name=name, role=role, categories=column.categories)
    for name, members in (blocks or {}).items():
        description.blocks.add(name=name, columns=members)
    return Part(v1.UploadPart(dense=description), read_columns([c.values for c in columns]))


def sparse_part(matrix: Any, target: Any, target_name: str) -> Part:
    """The table of an upload, from a sparse matrix and a numeric target."""
    csr = matrix.tocsr()
    csr.sum_duplicates()
    values = np.zeros(csr.shape[0]) if target is None else np.asarray(target)
    if values.shape != (csr.shape[0],):
        raise ValueError(f"the target must have shape ({csr.shape[0]},), has {values.shape}")
    if values.dtype.kind not in "buif":
        raise ValueError("the target of sparse features must be numbers")
    description = v1.SvmlightFormat(num_columns=csr.shape[1], target_name=target_name)
    return Part(v1.UploadPart(svmlight=description), read_svmlight(csr, values))


def _refuse_csv_fields(fields: Mapping[str, Any]) -> None:
    for name in fields:
        raise ValueError(f"{name} is for CSV files")


def square_part(name: str, matrix: Any, kind: int) -> Part:
    """A square matrix beside the table; one of float32 is sent as it is."""
    array = np.asarray(matrix)
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    array = array.astype("<f4" if single else "<f8", copy=False)
    if array.ndim != 2:
        raise ValueError(f"matrix {name!r} must have two dimensions, has {array.ndim}")
    square = v1.SquareFormat(name=name, kind=kind, columns=array.shape[1], single_precision=single)
    return Part(v1.UploadPart(square=square), read_columns([array], "<f4" if single else "<f8"))


def file_part(
    path: Union[str, pathlib.Path],
    target: Optional[str],
    roles: Roles,
    allow_missing: bool,
    csv_fields: Mapping[str, Any],
) -> Part:
    """A CSV file (``.csv``, ``.csv.gz``) or one in LIBSVM's format (any other name)."""
    path = pathlib.Path(path)
    if ".csv" in path.suffixes or ".tsv" in path.suffixes:
        named: dict[str, int] = {name: role_number(role) for name, role in roles.items()}
        if target is not None:
            named[target] = v1.COLUMN_ROLE_TARGET
        csv = v1.CsvFormat(roles=named, allow_missing=allow_missing, **csv_fields)
        if ".tsv" in path.suffixes and not csv.delimiter:
            csv.delimiter = "\t"
        return Part(v1.UploadPart(csv=csv), read_file(path))
    _refuse_csv_fields(csv_fields)
    if roles:
        raise ValueError("files in LIBSVM's format have no columns with roles but the target")
    svmlight = v1.SvmlightFormat(target_name=target or "")
    return Part(v1.UploadPart(svmlight=svmlight), read_file(path))


def make_parts(
    data: Any,
    target: Any = None,
    *,
    weight: Any = None,
    names: Optional[Sequence[str]] = None,
    roles: Optional[Roles] = None,
    target_name: str = "target",
    weight_name: str = "weight",
    blocks: Optional[Mapping[str, Sequence[str]]] = None,
    kernels: Optional[Mapping[str, Any]] = None,
    distances: Optional[Mapping[str, Any]] = None,
    allow_missing: bool = False,
    delimiter: str = "",
    no_header: bool = False,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> list[Part]:
    """The parts of an upload; :meth:`mercer.Client.upload` explains the arguments."""
    given = {"delimiter": delimiter, "no_header": no_header, "categorical": categorical, "numeric": numeric}
    csv_fields = {name: value for name, value in given.items() if value}
    is_file = isinstance(data, (str, pathlib.Path))
    if not is_file:
        _refuse_csv_fields(csv_fields)
    if is_file:
        if not isinstance(target, (str, type(None))):
            raise ValueError("the target of a file is the name of a column")
        parts = [file_part(data, target, roles or {}, allow_missing, csv_fields)]
    elif is_sparse(data):
        if weight is not None or roles or blocks:
            raise ValueError("sparse features take no weights, roles or blocks")
        parts = [sparse_part(data, target, target_name)]
    else:
        columns = _table_columns(data, target, weight, names, dict(roles or {}), target_name, weight_name)
        parts = [dense_part(columns, allow_missing, blocks)]
    squares = [*((n, m, v1.SQUARE_KIND_KERNEL) for n, m in (kernels or {}).items()),
               *((n, m, v1.SQUARE_KIND_DISTANCE) for n, m in (distances or {}).items())]  # fmt: skip
    return parts + [square_part(*square) for square in squares]


def _table_columns(
    data: Any,
    target: Any,
    weight: Any,
    names: Optional[Sequence[str]],
    roles: dict[str, str],
    target_name: str,
    weight_name: str,
) -> list[Column]:
    if is_frame(data):
        if isinstance(target, str):
            roles[target] = "target"
            target = None
        columns = frame_columns(data, roles)
    else:
        if roles or isinstance(target, str):
            raise ValueError("columns of a matrix have no names that roles could use; use a DataFrame")
        columns = [matrix_column(data, names)]
    if target is not None:
        columns.append(make_column(getattr(target, "name", None) or target_name, target, "target"))
    if weight is not None:
        columns.append(make_column(weight_name, weight, "weight"))
    return columns


def way_out(message: str, target: Any) -> str:
    """What helps against an error of scikit-learn's checks; `target` is one that has to be some."""
    if "Input X contains NaN" in message:
        return "\n\nHere imputation='mean_or_most_frequent' fills them in."
    if "could not convert string to float" not in message:
        return ""
    try:
        np.asarray(0 if target is None else target, dtype=np.float64)
    except (TypeError, ValueError):
        return "; the target must be numbers, without commas and units"
    return "; columns of texts need a DataFrame"
