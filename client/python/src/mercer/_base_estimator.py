"""What estimators of classes and of numbers share: how they train, and what they read."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
import warnings
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer import errors
from mercer._content import Part
from mercer._proto import v1
from mercer._shared_server import find_client
from mercer._square_kernels import SquareKernels, check_square, refuse_leading_kernels, square_texts, stacked
from mercer._tables import (
    Column,
    dense_part,
    encode_categories,
    frame_columns,
    has_categories,
    is_frame,
    is_sparse,
    matrix_column,
    sparse_part,
    task_texts,
    way_out,
)
from mercer._temporary import delete_with
from mercer._upload import Upload
from mercer.client import Client
from mercer.jobs import Job, Progress
from mercer.local_model import load_model
from mercer.models import Model

Array = npt.NDArray[np.float64]

# What the user of an estimator is warned of; the model's own page tells all.
_OF_DATA = (v1.WARNING_CODE_TEXT_COLUMN, v1.WARNING_CODE_UNBALANCED_CLASSES, v1.WARNING_CODE_SIMILAR_CATEGORIES)
WARNINGS = {
    v1.WARNING_CODE_LIMIT_REACHED: ConvergenceWarning,
    v1.WARNING_CODE_VALIDATION_ENDED: ConvergenceWarning,
    v1.WARNING_CODE_CONSTANT_FUNCTION: UserWarning,
    v1.WARNING_CODE_EXACT_IS_CHEAPER: UserWarning,
    **dict.fromkeys(_OF_DATA, UserWarning),
}

_FEWEST_ROWS = 2
# A sparse matrix with weights or tasks is sent dense, because its format has no place for them.
_MOST_DENSE_NUMBERS = 1 << 27


def _by_output(weights: Array) -> Array:
    return weights[:, 0] if weights.shape[1] == 1 else weights


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Trains on a server, predicts without one.

    Subclasses say the learner and have a constructor whose parameters are the learner's options, besides those
    that this class reads.
    """

    _learner = ""
    _options: tuple[str, ...] = ()
    _uses_kernels = True
    _regression = False
    _squares: Optional[SquareKernels]  # of fit; what the parameter kernels says may have changed since

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()  # splits then take rows and columns of X alike
        tags.input_tags.categorical = not tags.input_tags.pairwise
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.imputation != "refuse" and not tags.input_tags.pairwise
        return tags

    def _is_precomputed(self) -> bool:
        """Whether `X` is made of matrices of kernel values or distances."""
        return bool(square_texts(getattr(self, "kernels", None)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # ------------------------------------------------------------------------------------------------------ training

    def _fit(self, features: Any, target: Column, weight: Any, class_weight: Any, tasks: Any) -> Any:
        client = find_client(self.server)
        roles = [target]
        if weight is not None:
            roles.append(Column((self._free_name("weight"),), _weights(weight, features), "weight"))
        if tasks is not None:
            codes, names = encode_categories(np.asarray(task_texts(tasks, features.shape[0]), dtype=object))
            roles.append(Column((self._free_name("task"),), codes, "task", names))
        dataset = Upload(client.connection, self._parts(features, roles)).run(labels={"client": "python"})
        try:
            self._follow(self._start(client, dataset.name, target.names[0], class_weight))
        except errors.JobFailedError as error:
            if error.code != "INVALID_ARGUMENT":
                raise
            raise ValueError(str(error)) from error  # the data are what is wrong
        return self

    def _start(self, client: Client, dataset: str, target: str, class_weight: Any) -> Job:
        settings = {
            "kernels": self._kernel_texts() if self._uses_kernels else None,
            "target": target,
            "regression": self._regression,
            "target_scaling": getattr(self, "target_scaling", None),
            "coding": getattr(self, "coding", None),
            "class_weight": class_weight,
            "scaling": self.scaling,
            "imputation": self.imputation,
            "unseen_category": self.unseen_category,
            "square_repair": getattr(self, "square_repair", None),
            "relative_gap": self.tol,
            "max_iterations": self.max_iter,
            "time_limit": self.time_limit,
            "seed": self._seed(),
            "model": self.model or "",
            "display_name": type(self).__name__,
            "labels": {"client": "python"},
            "request_id": uuid.uuid4().hex,
        }
        options = {name: getattr(self, name) for name in self._options}
        try:
            return client.train(dataset, self._learner, options, **settings)
        except KeyboardInterrupt:
            # The answer may be lost and the job made: the same request says which it is.
            with contextlib.suppress(errors.MercerError):
                client.train(dataset, self._learner, options, **settings).cancel()
            raise

    def _kernel_texts(self) -> Any:
        return self.kernels if self._squares is None else self._squares.texts

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _parts(self, features: Any, roles: list[Column]) -> list[Part]:
        missing = self.imputation != "refuse"
        if self._squares is not None:
            return [dense_part(roles, allow_missing=False), *self._squares.parts(features)]
        if is_frame(features):
            return [dense_part([*frame_columns(features, {}), *roles], allow_missing=missing)]
        if is_sparse(features) and len(roles) == 1 and not roles[0].categories:
            return [sparse_part(features, roles[0].values, roles[0].names[0])]
        if is_sparse(features):
            if features.shape[0] * features.shape[1] > _MOST_DENSE_NUMBERS:
                raise ValueError(
                    "sparse features with labels, weights or tasks are sent dense, and these are too large for that"
                )
            features = features.toarray()
        columns = [matrix_column(features, list(self._input_names())), *roles]
        return [dense_part(columns, allow_missing=missing)]

    def _free_name(self, name: str) -> str:
        """A name that no feature has."""
        taken = set(self._input_names())
        while name in taken:
            name += "_"
        return name

    def _follow(self, job: Job) -> None:
        """Waits for the model; cancels the job when it is interrupted."""
        history: list[Progress] = []
        try:
            for event in self._shown(job):
                history.append(dataclasses.replace(event, message=None))
        except BaseException:
            # It may have ended, or the server be gone; what interrupted us is what the caller should see.
            with contextlib.suppress(errors.MercerError):
                job.cancel()
            raise
        model = job.result()
        self._forget_model()
        if self.model is None:
            self._deletion = delete_with(self, model)
        self.model_ = load_model(model.export())
        self.model_name_ = model.name
        self.job_name_ = job.name
        self.history_ = history
        self.n_iter_ = max(1, max(event.iteration for event in history))
        if self._uses_kernels:
            self.kernel_names_ = np.asarray(self.model_.kernel_names, dtype=object)
            self.kernel_weights_ = _by_output(self.model_.kernel_weights)
        else:
            self.chosen_features_ = np.asarray(self.model_.feature_names, dtype=object)
            self.chosen_weights_ = _by_output(self.model_.feature_weights)
        self.intercept_ = self.model_.bias
        self.certificate_ = self.model_.certificate
        self._warn(model)

    def _warn(self, model: Model) -> None:
        """Warns of texts that are no categories, of unbalanced classes, of a constant function, and of an early end."""
        for warning in model.warnings:
            kind = WARNINGS.get(warning.code)
            if kind is not None:
                text = f"{type(self).__name__}: {warning.message}"
                warnings.warn(text, kind, stacklevel=6)  # that of the caller of fit
        why = {
            "iteration_limit": f"at max_iter={self.max_iter}; raise it",
            "time_limit": f"at time_limit={self.time_limit}; raise it",
            "stop_requested": "because it was stopped",
            "numerical_limit": "because floating point allows no further progress",
        }.get(self.model_.stop_reason)
        if why is None:
            return
        measure = "stationarity measure" if self.model_.certificate_kind == "stationarity" else "relative gap"
        found = f"{measure} {self.certificate_['accuracy']:.2g}"
        warnings.warn(
            f"{type(self).__name__}: training ended with the {found} instead of tol={self.tol:g}, {why}",
            ConvergenceWarning,
            stacklevel=6,  # that of the caller of fit
        )

    def _forget_model(self) -> None:
        """Has the model that an earlier ``fit`` left on the server deleted, unless it has a name."""
        deletion = self.__dict__.pop("_deletion", None)
        if deletion is not None:
            deletion()

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_deletion", None)  # a copy does not own the model on the server
        return state

    def _shown(self, job: Job) -> Iterator[Progress]:
        return job.progress_bar() if self.verbose else job.progress()

    # ---------------------------------------------------------------------------------------------------- prediction

    def _decision_values(self, X: Any, tasks: Any = None, task_rule: str = "own") -> Array:
        check_is_fitted(self)
        return self.model_.decision_values(*self._rows_of_model(X), tasks=tasks, task_rule=task_rule)

    def _rows_of_model(self, X: Any) -> tuple[Any, Any]:
        """Features, or None and the matrices that the model reads."""
        squares = self._squares_of_fit()
        if squares is not None:
            X = squares.completed(X, self.model_.square_rows, self.n_features_in_)
        features = self._read_rows(X, squares is not None)
        return (features, None) if squares is None else (None, squares.of_rows(features))

    def _squares_of_fit(self) -> Optional[SquareKernels]:
        """Which matrices ``fit`` read, whatever `kernels` has become since; None: features."""
        if "_squares" in self.__dict__:
            return self._squares
        # Pickles of versions that knew one matrix at most say nothing but what the model reads.
        return SquareKernels(["precomputed"], 1) if self.model_.squares else None

    def _read_training(self, X: Any, y: Any, y_numeric: bool) -> tuple[Any, Any]:
        """Features and targets of ``fit``, checked; errors of scikit-learn end with what helps here."""
        try:
            X, y = self._check_training(X, y, y_numeric)
            return X, np.asarray(y, dtype=np.float64) if y_numeric else y
        except ValueError as error:
            advice = "" if self._is_precomputed() else way_out(str(error), y if y_numeric else None)
            if not advice:
                raise
            raise ValueError(f"{error}{advice}") from error

    def _check_training(self, X: Any, y: Any, y_numeric: bool) -> tuple[Any, Any]:
        """A matrix, or a frame where there are categories, and the targets."""
        precomputed = self._is_precomputed()
        if has_categories(X) and not precomputed:
            y = validate_data(self, y=y, y_numeric=y_numeric)
            check_consistent_length(X, y)
            if len(X) < _FEWEST_ROWS:
                raise ValueError(f"X has {len(X)} sample(s), {type(self).__name__} needs {_FEWEST_ROWS} or more")
            X, y = validate_data(self, X, y, skip_check_array=True)
            self._squares = None
            return self._named(X), y
        if precomputed:
            refuse_leading_kernels(X)
            X = stacked(X, square_texts(self.kernels))
        checks = self._checks(precomputed)
        X, y = validate_data(self, X, y, y_numeric=y_numeric, ensure_min_samples=_FEWEST_ROWS, **checks)
        if precomputed:
            check_square(X)
            self._squares = SquareKernels(square_texts(self.kernels), X.shape[2] if X.ndim == 3 else 1)
        else:
            self._squares = None
        return X, y

    def _read_rows(self, X: Any, squares: bool) -> Any:
        """Rows to predict, checked: a matrix, or a frame for a model that knows categories."""
        if not self.model_.categories:
            return validate_data(self, X, reset=False, **self._checks(squares))
        if not is_frame(X):
            raise ValueError("fit saw a DataFrame with categories: what is to be predicted must be one, too")
        return self._named(validate_data(self, X, reset=False, skip_check_array=True))

    def _named(self, frame: Any) -> Any:
        """A frame whose columns have the names that the server knows."""
        return frame.set_axis(list(self._input_names()), axis=1)

    def _checks(self, squares: bool) -> dict[str, Any]:
        if squares:
            return {"dtype": [np.float64, np.float32], "allow_nd": True}
        finite: Any = True if self.imputation == "refuse" else "allow-nan"
        return {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": finite}

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the features that the model reads.

        Parameters
        ----------
        input_features : array-like of str, optional
            Must be those of ``fit``, if they are given.

        Returns
        -------
        names : ndarray of str
            Of the columns that ``fit`` saw; ``x0``, ``x1``, ... where they had no names.
        """
        check_is_fitted(self, "n_features_in_")
        names = self._input_names()
        if input_features is not None and list(input_features) != list(names):
            raise ValueError("input_features is not equal to feature_names_in_")
        return names

    def _input_names(self) -> npt.NDArray[Any]:
        """Names of the columns that ``fit`` saw."""
        default = [f"x{i}" for i in range(self.n_features_in_)]
        return np.asarray(getattr(self, "feature_names_in_", default), dtype=object)


def _weights(sample_weight: Any, features: Any) -> Array:
    return np.asarray(_check_sample_weight(sample_weight, features, dtype=np.float64, ensure_non_negative=True))
