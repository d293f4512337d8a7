"""A model on its own: evaluated in NumPy, without a server."""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from mercer import _html, _model_tables
from mercer._features import Features, prepare, prepared_names, refused_rows, with_zeros
from mercer._gradient_terms import DifferentiableTerm, GradientTerm, KernelGradient
from mercer._kernel_values import HISTOGRAM_TYPES, SQUARE_TYPES, PairValues, square_values
from mercer._model_file import Basis, KernelSpec, KernelTerm, ModelFile, read_model_file
from mercer._rows import num_rows, slice_rows
from mercer._square_repair import repair_new_rows
from mercer._square_use import square_rows
from mercer._tables import is_frame, task_texts

Array = npt.NDArray[np.float64]

_REGRESSION, _BINARY, _ONE_VS_ALL, _ONE_VS_ONE = range(4)
# Values of a kernel that are computed at a time: they stay in the processor's cache.
_VALUES_AT_A_TIME = 1 << 18
_NAMES_IN_ERRORS = 10
# Metrics, classes and weights in a notebook.
_SHOWN = 10
_UNSEEN = ("model", "zeros", "nan")
_TASK_RULES = ("own", "mean_if_unknown", "mean")


def _outputs_of_coding(file: ModelFile) -> tuple[str, ...]:
    if file.coding == _REGRESSION:
        return ("target",)
    if file.coding == _ONE_VS_ONE:
        return tuple(f"{first} vs {second}" for first, second in itertools.combinations(file.classes, 2))
    return file.classes[1:] if file.coding == _BINARY else file.classes


def _output_names(file: ModelFile) -> tuple[str, ...]:
    """As the server names them."""
    outputs = _outputs_of_coding(file)
    if not file.tasks:
        return outputs
    if len(outputs) == 1:
        return file.tasks
    return tuple(f"{task}: {output}" for task in file.tasks for output in outputs)


def _tables_of(file: ModelFile) -> dict[str, _model_tables.ModelTable]:
    """Those of the file, behind the weights of kernels and features."""
    weights = _model_tables.tables_of_weights(
        file.kernel_names, file.kernel_weights, file.kernel_groups, file.feature_names, file.feature_weights
    )
    return _model_tables.named([*weights, *file.tables], _output_names(file), "tasks" if file.tasks else "outputs")


class LocalModel:
    """What :func:`load_model` returns.

    Its decision values are those of the server to rounding (1e-10 of the sum of the coefficients); pickles
    hold the file that it was read from.

    Attributes
    ----------
    learner : str
        ``"lp_mkl"``.
    options : dict
        Every option of the learner, defaults included.
    classes : tuple of str
        In the order of the server; empty for regression.
    kernel_names : tuple of str
        Of all candidate kernels.
    kernel_groups : tuple of str
        The group of each of them, ``""`` being the one by default; empty: all are in one group.
    kernel_weights : ndarray of shape (kernels, outputs)
        As the learner defines them.
    feature_names : tuple of str
        Of the groups of features that were chosen; empty for learners of kernels.
    feature_weights : ndarray of shape (groups, outputs)
        Euclidean norms of the weights of the groups, as the learner defines them.
    model_tables : dict of str to ModelTable
        What the learner tells beside the function: weights, and what it has of its own.
    bias : ndarray of shape (outputs,)
    tasks : tuple of str
        Of a model of several tasks their names, in the order of the outputs; else empty.
    task_column : str
        Name of the column that says which task a row is of; else empty.
    categories : dict of str to tuple of str
        Of the categorical columns, the categories that training knew.
    squares : tuple of str
        Names of the square matrices that training read: precomputed kernels and distances.
    square_rows : dict of str to ndarray of int
        Those that predictions read, because their kernels have a weight; of each the training rows whose columns are
        read, from 0, ascending.
    certificate_kind : str
        What ``certificate["accuracy"]`` is: ``"gap"``, the proven relative gap to the optimum; ``"stationarity"``, a
        measure that proves no optimum, of problems that are not convex; or ``"none"``.
    certificate, metrics : dict of str to float
    stop_reason : str
        What ended the training: ``"converged"``, ``"iteration_limit"``, ``"time_limit"``, ``"stop_requested"``,
        ``"numerical_limit"`` or ``"objective_zero"``.
    num_support_vectors, num_training_rows : int
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._file = read_model_file(content)
        file = self._file
        self.learner = file.learner
        self.options = file.options
        self.target = file.target
        self.classes = file.classes
        self.kernel_names = file.kernel_names
        self.kernel_groups = file.kernel_groups
        self.kernel_weights = file.kernel_weights
        self.feature_names = file.feature_names
        self.feature_weights = file.feature_weights
        self.model_tables = _tables_of(file)
        self.bias = file.bias
        self.tasks = file.tasks
        self.task_column = file.task_column
        columns = [column for block in file.preprocessing.blocks for column in block.columns]
        self.categories = {column.name: column.categories for column in columns if column.categorical}
        self.squares = file.preprocessing.squares
        self.square_rows = square_rows(file)
        self.certificate_kind = file.certificate_kind
        self.certificate = file.certificate
        self.stop_reason = file.stop_reason
        self.metrics = file.metrics
        self.num_support_vectors = file.num_support_vectors
        self.num_training_rows = file.num_training_rows

    def __reduce__(self) -> Any:
        return (LocalModel, (self.content,))

    def __repr__(self) -> str:
        if self.feature_names:
            return f"<LocalModel {self.learner}, {len(self.feature_names)} features>"
        return (
            f"<LocalModel {self.learner}, {len(self.kernel_names)} kernels, {self.num_support_vectors} support vectors>"
        )

    def _repr_html_(self) -> str:
        weights = self.kernel_weights if self.kernel_names else self.feature_weights
        names = _model_tables.in_groups(self.kernel_names, self.kernel_groups) or self.feature_names
        metrics = list(self.metrics.items())[:_SHOWN]
        measure = "stationarity" if self.certificate_kind == "stationarity" else "relative gap"
        return _html.table(
            f"{self.learner}, a model on its own",
            [
                ("target", _html.text(self.target)),
                ("classes", _html.text(", ".join(self.classes[:_SHOWN]))),
                ("metrics", _html.pairs((name, f"{value:.4g}") for name, value in metrics)),
                (measure, f"{self.certificate['accuracy']:.2g}, {self.stop_reason.replace('_', ' ')}"),
                ("largest weights", _html.largest(names, weights, _SHOWN)),
                ("training rows", f"{self.num_training_rows:,}"),
            ],
        )

    @property
    def tables(self) -> dict[str, Any]:
        """The tables of `model_tables` as pandas DataFrames; without pandas as arrays."""
        return _model_tables.frames(self.model_tables)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the data, in the model's order; empty names where the data had none."""
        return tuple(column.name for block in self._file.preprocessing.blocks for column in block.columns)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the file that the model was read from."""
        pathlib.Path(path).write_bytes(self.content)

    def decision_values(
        self,
        rows: Any,
        squares: Optional[Mapping[str, Any]] = None,
        *,
        task: str = "",
        tasks: Any = None,
        task_rule: str = "own",
        unseen: str = "model",
    ) -> Array:
        """Values rows x outputs; of a regression the predictions; of several tasks those of the task, by `task_rule`.

        Parameters
        ----------
        rows : array, sparse matrix, DataFrame, or mapping of block names to those
            A matrix has the model's columns in their order; those of a DataFrame are found by name. None for a model
            that reads `squares` alone.
        squares : mapping of str to array, optional
            For precomputed kernels and distances: rows x training rows, or of those `square_rows` alone. Matrices that
            are not among `square_rows` may be left out.
        task : str
            Models of several tasks: that of all rows. Empty: `tasks` says it, or a DataFrame's column `task_column`.
        tasks : sequence, optional
            The name of the task of each row.
        task_rule : str
            Models of several tasks: ``"own"``, each row by its task, which must be one of the model's;
            ``"mean_if_unknown"``, rows of other tasks by the mean over all tasks; ``"mean"``, all rows so, which need
            not say their tasks. The mean has the sign, and the order of rows, of the sum.
        unseen : str
            What becomes of rows with a category that training did not know: ``"model"`` as the model says, by default
            an error; ``"zeros"`` all features of the column are 0; ``"nan"`` such rows alone are NaN where the model
            refuses them.
        """
        if unseen not in _UNSEEN:
            raise ValueError(f"unseen must be one of {', '.join(_UNSEEN)}, is {unseen!r}")
        total = num_rows(rows, squares)
        own = self._own_outputs(rows, total, task, tasks, task_rule)
        values = self._all_values(rows, total, squares, unseen)
        if own is None:
            return values
        by_task = values.reshape(total, len(self.tasks), -1)
        return np.where(own[:, None] < 0, by_task.mean(axis=1), by_task[np.arange(total), own])

    def _own_outputs(self, rows: Any, total: int, task: str, tasks: Any, rule: str) -> Optional[npt.NDArray[np.intp]]:
        """For each row the place of its task, -1 for the mean over all; None for models of a single task."""
        if rule not in _TASK_RULES:
            raise ValueError(f"task_rule must be one of {', '.join(_TASK_RULES)}, is {rule!r}")
        if task and tasks is not None:
            raise ValueError("task and tasks exclude each other")
        if not self.tasks:
            if task or tasks is not None or rule != "own":
                raise ValueError("the model is of a single task")
            return None
        has_column = is_frame(rows) and self.task_column in rows.columns
        if tasks is not None:
            if has_column:
                raise ValueError(f"tasks must be absent: the column {self.task_column!r} of the rows says them already")
            tasks = task_texts(tasks, total, may_be_missing=rule != "own")
        if rule == "mean":
            if task:
                raise ValueError("task must be empty: all rows are predicted by the mean")
            return np.full(total, -1, dtype=np.intp)
        if tasks is None and not task:
            if not has_column:
                raise ValueError(
                    f"the model is of several tasks: say which one each row is of ({self._listed_tasks()})"
                )
            tasks = task_texts(rows[self.task_column], total, may_be_missing=rule != "own")
        place = {name: output for output, name in enumerate(self.tasks)}
        names = [task] * total if task else tasks
        for row, name in enumerate(names):
            if name not in place and rule == "own":
                where = "" if task else f"row {row}: "
                raise ValueError(f"{where}the model knows no task {name!r}; its tasks are {self._listed_tasks()}")
        return np.array([place.get(name, -1) for name in names], dtype=np.intp)

    def _listed_tasks(self) -> str:
        more = ", ..." if len(self.tasks) > _NAMES_IN_ERRORS else ""
        return ", ".join(self.tasks[:_NAMES_IN_ERRORS]) + more

    def _gradient_terms(self) -> Iterator[tuple[str, GradientTerm]]:
        names = (self._file.target,) if self._file.coding == _REGRESSION else _output_names(self._file)
        return ((names[term.output], term) for term in self._file.gradients)

    def gradients(
        self, rows: Any, squares: Optional[Mapping[str, Any]] = None, unseen: str = "model"
    ) -> dict[str, tuple[tuple[str, ...], Array]]:
        """The gradients that were learned with the values; arguments as for :meth:`decision_values`.

        Returns
        -------
        gradients : dict of str to (tuple of str, ndarray of shape (rows, columns))
            For each output the names of the prepared columns that it has a gradient in (of a category
            ``"column=category"``), and the gradients, in units of the decision value over units of the prepared
            column. Empty for a model that has learned none, which the server refuses to tell them of.
        """
        total, names = num_rows(rows, squares), prepared_names(self._file.preprocessing)
        return {
            output: (
                tuple(names[column] for column in term.columns),
                self._by_parts(rows, total, squares, unseen, len(term.columns), self._gradient_of(term)),
            )
            for output, term in self._gradient_terms()
        }

    def _gradient_of(self, term: GradientTerm) -> Callable[[Features, Mapping[str, Array]], Array]:
        def evaluate(features: Features, squares: Mapping[str, Array]) -> Array:
            if isinstance(term, DifferentiableTerm):
                return term.evaluate(features.all(), self._points(term))[1]
            values: Array = np.zeros((features.rows, len(term.columns)))
            if isinstance(term, KernelGradient):
                self._add_kernels(term.functions, features, squares, {}, values)
            return values

        return evaluate

    def _points(self, term: DifferentiableTerm) -> Array:
        """The rows of the term's basis, all features."""
        if len(term.anchors) == 0:
            return np.zeros((0, term.num_inputs))
        return np.hstack([block.values for block in self._file.bases[term.basis].blocks])

    def projections(self, rows: Any, unseen: str = "model") -> dict[str, Array]:
        """For each output rows in the coordinates of the leading directions of its gradient, rows x directions."""
        found = {}
        for output, term in self._gradient_terms():
            if term.directions.shape[1] > 0:

                def project(features: Features, _: Mapping[str, Array], term: GradientTerm = term) -> Array:
                    return np.asarray((features.all()[:, term.columns] - term.center) @ term.directions)

                width = term.directions.shape[1]
                found[output] = self._by_parts(
                    rows, num_rows(rows, None), None, unseen, width, project, reads_squares=False
                )
        return found

    def _all_values(self, rows: Any, total: int, squares: Optional[Mapping[str, Any]], unseen: str) -> Array:
        return self._by_parts(rows, total, squares, unseen, len(self.bias), self._evaluate)

    def _by_parts(
        self,
        rows: Any,
        total: int,
        squares: Optional[Mapping[str, Any]],
        unseen: str,
        width: int,
        evaluate: Callable[[Features, Mapping[str, Array]], Array],
        reads_squares: bool = True,
    ) -> Array:
        """What `evaluate` says of the prepared rows, rows x width, of so many at a time."""
        matrices = {name: self._square(name, squares or {}, total) for name in self.square_rows if reads_squares}
        values: Array = np.empty((total, width))
        step = max(1, _VALUES_AT_A_TIME // max([1, *(basis.rows for basis in self._file.bases)]))
        for begin in range(0, total, step):
            end = min(begin + step, total)
            own = self._file.preprocessing
            some = slice_rows(rows, begin, end)
            features = prepare(own if unseen == "model" else with_zeros(own), some, end - begin, begin)
            part = {name: matrix[begin:end] for name, matrix in matrices.items()}
            part = repair_new_rows(own.repairs, own.square_repair, part)
            values[begin:end] = evaluate(features, part)
            if unseen == "nan":
                values[begin:end][refused_rows(own, some, end - begin)] = np.nan
        return values

    def _square(self, name: str, squares: Mapping[str, Any], total: int) -> Array:
        """The matrix with columns for all training rows; where it has none, they are 0, and never read."""
        if name not in squares:
            raise ValueError(f"the model needs the matrix {name!r} between these rows and its training rows")
        matrix = np.asarray(squares[name], dtype=np.float64)
        read, count = self.square_rows[name], self._file.num_square_columns
        if matrix.shape not in ((total, count), (total, len(read))):
            raise ValueError(
                f"matrix {name!r} must have the shape {(total, count)}, or {(total, len(read))} of the training rows "
                f"square_rows[{name!r}], has {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            row, column = divmod(int(np.argmin(np.isfinite(matrix))), matrix.shape[1])
            raise ValueError(f"matrix {name!r}: row {row}, column {column} is not finite")
        if matrix.shape[1] == count:
            return matrix
        whole: Array = np.zeros((total, count))
        whole[:, read] = matrix
        return whole

    def predict(
        self,
        rows: Any,
        squares: Optional[Mapping[str, Any]] = None,
        *,
        task: str = "",
        tasks: Any = None,
        task_rule: str = "own",
        unseen: str = "model",
    ) -> npt.NDArray[Any]:
        """Labels; of a regression numbers. Rows that are NaN in `decision_values` have the empty label."""
        values = self.decision_values(rows, squares, task=task, tasks=tasks, task_rule=task_rule, unseen=unseen)
        if self._file.coding == _REGRESSION:
            return values[:, 0]
        labels = np.asarray(self.classes)[self.class_indices(values)]
        labels[np.isnan(values).any(axis=1)] = ""
        return labels

    def class_indices(self, values: Array) -> npt.NDArray[np.intp]:
        """The position in `classes` that decision values mean."""
        if self._file.coding == _BINARY:
            return (values[:, 0] >= 0).astype(np.intp)
        if self._file.coding == _ONE_VS_ALL:
            return np.asarray(np.argmax(values, axis=1))
        votes, sums = self.votes(values)
        # Equal votes go to the larger sum, equal sums to the first class.
        best = votes == votes.max(axis=1, keepdims=True)
        return np.asarray(np.argmax(np.where(best, sums, -np.inf), axis=1))

    def votes(self, values: Array) -> tuple[Array, Array]:
        """One against one: votes and sums of signed values, rows x classes."""
        shape = (values.shape[0], len(self.classes))
        votes: Array = np.zeros(shape)
        sums: Array = np.zeros(shape)
        pairs = [(i, j) for i in range(shape[1]) for j in range(i + 1, shape[1])]
        for output, (first, second) in enumerate(pairs):
            wins = values[:, output] > 0
            votes[:, first] += wins
            votes[:, second] += ~wins
            sums[:, first] += values[:, output]
            sums[:, second] -= values[:, output]
        return votes, sums

    @property
    def is_calibrated(self) -> bool:
        """Whether the model gives probabilities. Files of the formats so far, 1 to 6, hold no calibration."""
        return False

    @property
    def is_one_vs_one(self) -> bool:
        """Whether there is an output for each pair of classes."""
        return self._file.coding == _ONE_VS_ONE

    def _evaluate(self, features: Features, squares: Mapping[str, Array]) -> Array:
        if self._file.other_terms:
            kinds = ", ".join(self._file.other_terms)
            raise ValueError(
                f"the model has terms of a kind that this package does not evaluate, {kinds}: predict with the server"
            )
        values: Array = np.tile(self.bias, (features.rows, 1))
        pairs: dict[Any, PairValues] = {}
        for term in self._file.terms:
            self._add_kernels(term, features, squares, pairs, values)
        for chosen in self._file.feature_terms:
            inputs = features.all()
            if inputs.shape[1] != chosen.num_inputs:
                raise ValueError(f"the rows have {inputs.shape[1]} features, the model reads {chosen.num_inputs}")
            values[:, chosen.outputs] += chosen.values(inputs)
        for smooth in self._file.differentiable_terms:
            values[:, smooth.output] += smooth.evaluate(features.all(), self._points(smooth))[0]
        return values

    def _add_kernels(
        self,
        term: KernelTerm,
        features: Features,
        squares: Mapping[str, Array],
        pairs: dict[Any, PairValues],
        values: Array,
    ) -> None:
        size = float(np.abs(term.coefficients).sum(axis=0).max(initial=0.0))
        for k, spec in enumerate(term.kernels):
            if not term.weights[k].any():
                continue
            amplification = size * float(np.abs(term.weights[k]).max())
            kernel = self._values(spec, term.basis, features, squares, pairs, amplification)
            values[:, term.outputs] += (kernel @ term.coefficients) * term.weights[k]

    def _only_square(self) -> str:
        """That of kernels that name none; as on the server, of several none is guessed."""
        if len(self.squares) > 1:
            raise ValueError(f"the kernels do not say which they read of the matrices {', '.join(self.squares)}")
        return next(iter(self.squares), "")

    def _values(
        self,
        spec: KernelSpec,
        number: int,
        features: Features,
        squares: Mapping[str, Array],
        pairs: dict[Any, PairValues],
        amplification: float,
    ) -> Array:
        basis = self._file.bases[number]
        if spec.type in SQUARE_TYPES:
            name = spec.block or self._only_square()
            return square_values(spec, name, squares[name], basis.training_rows, features.first)
        if spec.type in HISTOGRAM_TYPES:
            features.check_not_negative(spec)
        key = (number, spec.block, spec.columns)
        if key not in pairs:
            pairs[key] = PairValues(features.gather(spec), _gather(basis, spec), features.first)
        return pairs[key].kernel(spec, amplification)


def _gather(basis: Basis, spec: KernelSpec) -> Array:
    blocks = {block.name: (block.sources, block.values) for block in basis.blocks}
    return Features(basis.rows, blocks).gather(spec)


def load_model(source: Union[bytes, str, os.PathLike[str]]) -> LocalModel:
    """Reads a model file: its bytes, or the path of what ``Model.save`` or ``mercer export`` wrote.

    Raises
    ------
    ValueError
        The file is no model, damaged, or of a newer format.
    """
    return LocalModel(source if isinstance(source, bytes) else pathlib.Path(source).read_bytes())
