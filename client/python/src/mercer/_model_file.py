"""Reads the model file that ``ExportModel`` sends; ``docs/formats/model.md`` describes it."""

from __future__ import annotations

import dataclasses
import math
import struct
import zlib
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from mercer._feature_maps import ColumnMap, FeatureMap, FourierMap, GaborMap, grid_positions
from mercer._gradient_terms import DifferentiableTerm, GradientTerm, KernelGradient, read_gradients
from mercer._model_reader import ModelFileError, Reader
from mercer._model_tables import DRAWINGS, ModelTable
from mercer._square_repair import SquareRepair, fits

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_MAGIC = b"MRCRMODL"
_VERSION = 6
_VERSION_WITHOUT_FEATURES = 1
_VERSION_WITHOUT_TASKS = 2
_VERSION_WITHOUT_HELD_OUT = 3
_VERSION_WITHOUT_TABLES = 4
_VERSION_WITHOUT_REPAIRS = 5
_FOURIER, _GABOR, _COLUMNS = 0, 1, 2
# In the order of ``core/training/model/stop_reason.h``.
_CERTIFICATE_KINDS = ("gap", "stationarity", "none")
_STOP_REASONS = (
    "converged", "iteration_limit", "time_limit", "stop_requested", "numerical_limit", "objective_zero",
)  # fmt: skip
_FRAME_BYTES = 24
_CHECKSUM_BYTES = 8


@dataclasses.dataclass(frozen=True)
class ColumnTransform:
    """What one column of the data becomes: ``(x - offset) * factor``, or a 0/1 feature for each category."""

    name: str
    categorical: bool
    categories: tuple[str, ...]
    fill: float
    offset: float
    factor: float


@dataclasses.dataclass(frozen=True)
class BlockTransform:
    """The columns of a block."""

    name: str
    columns: tuple[ColumnTransform, ...]


@dataclasses.dataclass(frozen=True)
class PreprocessingFile:
    """From columns to features. The numbers are those of ``core/data/preprocess/preprocessing.h``."""

    scaling: int
    imputation: int
    unseen_category: int
    used_blocks: tuple[str, ...]
    blocks: tuple[BlockTransform, ...]
    squares: tuple[str, ...]
    square_repair: int = 0
    repairs: tuple[SquareRepair, ...] = ()


@dataclasses.dataclass(frozen=True)
class BasisBlock:
    """Preprocessed rows, and for each of their columns the column of the data that it comes from."""

    name: str
    sources: tuple[str, ...]
    values: Array


@dataclasses.dataclass(frozen=True)
class Basis:
    """Rows that kernel terms refer to."""

    training_rows: Indices
    rows: int
    blocks: tuple[BasisBlock, ...]


@dataclasses.dataclass(frozen=True)
class KernelSpec:
    """One kernel. The numbers of `type` are the places in ``core/kernels/formulas/kernels.inc``."""

    type: int
    bandwidth: float
    degree: int
    scale: float
    offset: float
    block: str
    columns: tuple[str, ...]
    unit_diagonal: bool
    scaling: int


@dataclasses.dataclass(frozen=True)
class KernelTerm:
    """Kernels with one basis: weights (kernels x outputs) and coefficients (basis rows x outputs)."""

    basis: int
    kernels: tuple[KernelSpec, ...]
    outputs: Indices
    weights: Array
    coefficients: Array


@dataclasses.dataclass(frozen=True)
class FeatureTerm:
    """Features of a family, which read all blocks side by side, and their coefficients (features x outputs)."""

    num_inputs: int
    map: FeatureMap
    outputs: Indices
    coefficients: Array

    def values(self, inputs: Array) -> Array:
        """Values rows x outputs of the term at rows of the features of all blocks."""
        return self.map.values(inputs, self.coefficients)


@dataclasses.dataclass(frozen=True)
class ModelFile:
    """All that a model file says."""

    learner: str
    options: dict[str, Any]
    target: str
    preprocessing: PreprocessingFile
    coding: int
    classes: tuple[str, ...]
    bases: tuple[Basis, ...]
    terms: tuple[KernelTerm, ...]
    bias: Array
    kernel_names: tuple[str, ...]
    kernel_weights: Array
    num_support_vectors: int
    certificate_kind: str
    certificate: dict[str, float]
    stop_reason: str
    metrics: dict[str, float]
    num_training_rows: int
    num_square_columns: int
    seed: int
    code_version: str
    feature_terms: tuple[FeatureTerm, ...] = ()
    feature_names: tuple[str, ...] = ()
    feature_weights: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))
    task_column: str = ""
    tasks: tuple[str, ...] = ()
    kernel_groups: tuple[str, ...] = ()  # of each of the names; empty: all are in one
    tables: tuple[ModelTable, ...] = ()  # those without columns have one for each output
    gradients: tuple[GradientTerm, ...] = ()
    other_terms: tuple[str, ...] = ()  # the kinds of terms that only the server evaluates

    @property
    def differentiable_terms(self) -> tuple[DifferentiableTerm, ...]:
        """Those gradients that belong to values of the function."""
        return tuple(term for term in self.gradients if isinstance(term, DifferentiableTerm))


def _unframe(content: bytes) -> tuple[int, bytes]:
    if len(content) < _FRAME_BYTES + _CHECKSUM_BYTES or content[:8] != _MAGIC:
        raise ModelFileError("this is not a model file")
    version, size = struct.unpack("<QQ", content[8:_FRAME_BYTES])
    if size != len(content) - _FRAME_BYTES - _CHECKSUM_BYTES:
        raise ModelFileError("the model file is damaged: it has another length than it says")
    if struct.unpack("<Q", content[-_CHECKSUM_BYTES:])[0] != zlib.crc32(content[:-_CHECKSUM_BYTES]):
        raise ModelFileError("the model file is damaged: its checksum is wrong")
    if version > _VERSION:
        raise ModelFileError(f"the model file has format {version}, this package knows {_VERSION}")
    return version, content[_FRAME_BYTES:-_CHECKSUM_BYTES]


def _option(reader: Reader) -> tuple[str, Any]:
    name = reader.string()
    kind = reader.byte()
    readers: list[Callable[[], Any]] = [
        lambda: bool(reader.byte()),
        reader.integer,
        reader.double,
        reader.string,
        reader.doubles,
    ]
    if kind >= len(readers):
        raise ModelFileError(f"the model file is inconsistent: option {name!r} has the unknown type {kind}")
    return name, readers[kind]()


def _column(reader: Reader) -> ColumnTransform:
    name, categorical, categories = reader.string(), bool(reader.byte()), reader.strings()
    return ColumnTransform(name, categorical, categories, reader.double(), reader.double(), reader.double())


def _preprocessing(reader: Reader) -> PreprocessingFile:
    scaling, imputation, unseen = reader.byte(), reader.byte(), reader.byte()
    used = reader.strings()
    blocks = reader.many(lambda: BlockTransform(reader.string(), reader.many(lambda: _column(reader))))
    return PreprocessingFile(scaling, imputation, unseen, used, blocks, reader.strings())


def _repair(reader: Reader) -> SquareRepair:
    block, rows, eigenvalues = reader.string(), reader.ints(), reader.doubles()
    return SquareRepair(block, rows, eigenvalues, reader.double(), reader.double(), reader.matrix(by_rows=True))


def _with_repairs(model: ModelFile, reader: Reader) -> ModelFile:
    rule, repairs = reader.byte(), reader.many(lambda: _repair(reader))
    if not all(fits(repair, rule, model.num_square_columns) for repair in repairs):
        raise ModelFileError("the model file is inconsistent: a repair does not fit its matrix")
    preprocessing = dataclasses.replace(model.preprocessing, square_repair=rule, repairs=repairs)
    return dataclasses.replace(model, preprocessing=preprocessing)


def _basis(reader: Reader) -> Basis:
    training_rows, rows = reader.ints(), reader.integer()
    blocks = reader.many(lambda: BasisBlock(reader.string(), reader.strings(), reader.matrix(by_rows=True)))
    return Basis(training_rows, rows, blocks)


def _kernel(reader: Reader) -> KernelSpec:
    return KernelSpec(
        type=reader.byte(),
        bandwidth=reader.double(),
        degree=reader.integer(),
        scale=reader.double(),
        offset=reader.double(),
        block=reader.string(),
        columns=reader.strings(),
        unit_diagonal=bool(reader.byte()),
        scaling=reader.byte(),
    )


def _term(reader: Reader) -> KernelTerm:
    basis, kernels = reader.integer(), reader.many(lambda: _kernel(reader))
    return KernelTerm(basis, kernels, reader.ints(), reader.matrix(), reader.sparse())


def _feature_term(reader: Reader) -> FeatureTerm:
    family = reader.byte()
    reader.byte(), reader.byte()  # kernel, rule of the bandwidths
    reader.doubles(), reader.double(), reader.double()  # bandwidths, ends of their range
    reader.integer(), reader.integer()  # bandwidths per round, candidates of each
    size, per_side = reader.integer(), reader.integer()
    numbers, subtract_mean = reader.ints(), bool(reader.byte())
    for _ in range(4):
        reader.double()  # ranges of scales and frequencies
    reader.integer()  # candidates
    num_inputs = reader.integer()
    groups = reader.many(reader.doubles)
    outputs, coefficients = reader.ints(), reader.matrix()
    length = {_FOURIER: num_inputs + 1, _GABOR: 4, _COLUMNS: 1}.get(family)
    if length is None:
        raise ModelFileError(f"the model file has the unknown family of features {family}")
    if num_inputs < 1 or not groups or any(len(group) != length for group in groups):
        raise ModelFileError("the model file is inconsistent: a feature has another number of parameters")
    parameters = np.stack(groups)
    if family == _FOURIER:
        return FeatureTerm(num_inputs, FourierMap(parameters[:, 1:]), outputs, coefficients)
    if family == _GABOR:
        side = size or math.isqrt(num_inputs)
        places = (
            grid_positions(side, per_side) if len(numbers) == 0 else numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
        )
        if side * side != num_inputs or not len(places) or places.min() < 0 or places.max() >= side:
            raise ModelFileError("the model file is inconsistent: filters do not fit the patch")
        return FeatureTerm(num_inputs, GaborMap(side, places, subtract_mean, parameters), outputs, coefficients)
    columns = parameters[:, 0].astype(np.int64)
    if columns.min() < 0 or columns.max() >= num_inputs:
        raise ModelFileError("the model file is inconsistent: a feature reads a column that does not exist")
    return FeatureTerm(num_inputs, ColumnMap(columns), outputs, coefficients)


def _with_features(model: ModelFile, reader: Reader) -> ModelFile:
    return dataclasses.replace(
        model,
        feature_terms=reader.many(lambda: _feature_term(reader)),
        feature_names=reader.strings(),
        feature_weights=reader.matrix(),
    )


def _skip_held_out(reader: Reader) -> None:
    """What was said of rows that were held out, which no evaluation reads."""
    for _ in range(3):  # rows, folds, sampled rows
        reader.integer()
    reader.strings(), reader.ints()  # confusion of the classes
    for _ in range(reader.integer()):  # curves of each class
        reader.string(), reader.integer(), reader.integer()
        for _ in range(4):  # thresholds, rates of true and of false positives, precisions
            reader.doubles()
        reader.double(), reader.double()  # area under the ROC, average precision
    for _ in range(3):  # residuals: predicted, actual, bounds of the bins
        reader.doubles()
    reader.ints()  # counts of the bins
    reader.many(lambda: (reader.string(), reader.double(), reader.integer()))  # spreads over folds


def _table(reader: Reader) -> ModelTable:
    return ModelTable(
        name=reader.string(),
        title=reader.string(),
        row_axis=reader.string(),
        column_axis=reader.string(),
        rows=reader.strings(),
        columns=reader.strings(),
        values=reader.matrix(),
        unit=reader.string(),
        drawing=DRAWINGS[reader.byte()],
    )


def _certificate(reader: Reader) -> dict[str, float]:
    reader.byte()  # scope
    found = {name: reader.double() for name in ("primal", "dual", "accuracy", "worst_accuracy")}
    reader.many(lambda: (reader.double(), reader.double()))  # bounds of each output
    return found


def _check(model: ModelFile) -> None:
    if model.tasks and len(model.bias) % len(model.tasks) != 0:
        raise ModelFileError("the model file is inconsistent: its outputs are not those of its tasks")
    told = sorted(gradient.output for gradient in model.gradients)
    if len(set(told)) != len(told) or not all(0 <= output < len(model.bias) for output in told):
        raise ModelFileError("the model file is inconsistent: its gradients are not of one output each")
    transforms = [column for block in model.preprocessing.blocks for column in block.columns]
    width = sum(len(column.categories) if column.categorical else 1 for column in transforms)
    if any(gradient.num_inputs != width for gradient in model.gradients):
        raise ModelFileError("the model file is inconsistent: a gradient is of other columns than the model reads")
    of_kernels = [(term, len(model.bias)) for term in model.terms]
    of_kernels += [(term.functions, len(term.columns)) for term in model.gradients if isinstance(term, KernelGradient)]
    for smooth in model.differentiable_terms:
        points = model.bases[smooth.basis] if 0 <= smooth.basis < len(model.bases) else None
        fits = points is not None and sum(block.values.shape[1] for block in points.blocks) == smooth.num_inputs
        if len(smooth.anchors) and (points is None or not fits or smooth.anchors.max() >= points.rows):
            raise ModelFileError("the model file is inconsistent: a function names rows that do not exist")
    for term, outputs in of_kernels:
        fits = (
            0 <= term.basis < len(model.bases)
            and term.weights.shape == (len(term.kernels), len(term.outputs))
            and term.coefficients.shape == (model.bases[term.basis].rows, len(term.outputs))
            and all(0 <= output < outputs for output in term.outputs)
        )
        if not fits:
            raise ModelFileError("the model file is inconsistent: a kernel term does not fit its basis")
    for features in model.feature_terms:
        fits = features.coefficients.shape == (features.map.columns, len(features.outputs))
        if not fits or not all(0 <= output < len(model.bias) for output in features.outputs):
            raise ModelFileError("the model file is inconsistent: a feature term does not fit its outputs")
    if model.kernel_groups and len(model.kernel_groups) != len(model.kernel_names):
        raise ModelFileError("the model file is inconsistent: groups of kernels do not fit their names")
    for table in model.tables:
        if table.values.shape != (len(table.rows), len(table.columns) or len(model.bias)):
            raise ModelFileError("the model file is inconsistent: a table does not fit its rows and columns")


def read_model_file(content: bytes) -> ModelFile:
    """Reads and checks a model file.

    Raises
    ------
    ModelFileError
    """
    version, payload = _unframe(content)
    reader = Reader(payload)
    try:
        model = ModelFile(
            learner=reader.string(),
            options=dict(reader.many(lambda: _option(reader))),
            target=reader.string(),
            preprocessing=_preprocessing(reader),
            coding=reader.byte(),
            classes=reader.strings(),
            bases=reader.many(lambda: _basis(reader)),
            terms=reader.many(lambda: _term(reader)),
            bias=reader.doubles(),
            kernel_names=reader.strings(),
            kernel_weights=reader.matrix(),
            num_support_vectors=reader.integer(),
            certificate_kind=_CERTIFICATE_KINDS[reader.byte()],
            certificate=_certificate(reader),
            stop_reason=_STOP_REASONS[reader.byte()],
            metrics=dict(reader.many(lambda: (reader.string(), reader.double()))),
            num_training_rows=reader.integer(),
            num_square_columns=reader.integer(),
            seed=reader.uint(),
            code_version=reader.string(),
        )
        if version > _VERSION_WITHOUT_FEATURES:
            model = _with_features(model, reader)
        if version > _VERSION_WITHOUT_TASKS:
            model = dataclasses.replace(model, task_column=reader.string(), tasks=reader.strings())
        if version > _VERSION_WITHOUT_HELD_OUT:
            _skip_held_out(reader)
        if version > _VERSION_WITHOUT_TABLES:
            model = dataclasses.replace(
                model, tables=reader.many(lambda: _table(reader)), kernel_groups=reader.strings()
            )
            for _ in range(sum(len(term.kernels) for term in model.terms)):
                reader.string(), reader.string()  # name and group of each kernel, which no evaluation reads
            named = reader.many(lambda: (reader.string(), reader.blob()))
            gradients, others = read_gradients(named, _term)
            model = dataclasses.replace(model, gradients=gradients, other_terms=others)
        if version > _VERSION_WITHOUT_REPAIRS:
            model = _with_repairs(model, reader)
    except (UnicodeDecodeError, IndexError) as error:
        raise ModelFileError(f"the model file is inconsistent: {error}") from None
    if not reader.at_end():
        raise ModelFileError("the model file is inconsistent: it goes on behind its end")
    _check(model)
    return model
