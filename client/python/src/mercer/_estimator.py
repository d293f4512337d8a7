"""What all estimators share; :mod:`mercer.estimators` has the estimators themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from mercer._base_estimator import KernelEstimator
from mercer._shared_server import find_client
from mercer._tables import Column

Array = npt.NDArray[np.float64]

_LONGEST_LABEL = 200


def _is_calibrated(estimator: Any) -> bool:
    return estimator.__sklearn_is_fitted__() and bool(estimator.model_.is_calibrated)


class KernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """A learner that learns classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains on the server, and fetches the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the cost of the rows.

        Returns
        -------
        self : object
        """
        return self._fit_classes(X, y, sample_weight)

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any, tasks: Any = None) -> Any:
        features, y = self._read_training(X, y, y_numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}; a classifier needs two or more")
        labels = _label_texts(self.classes_)
        target = Column((self._free_name("target"),), codes.astype(np.float64), "target", labels)
        self._labels = labels
        return self._fit(features, target, sample_weight, self._class_weight(labels), tasks)

    def _class_weight(self, labels: tuple[str, ...]) -> Any:
        if self.class_weight is None or isinstance(self.class_weight, str):
            return self.class_weight
        return {label: self.class_weight.get(cls, 1.0) for label, cls in zip(labels, self.classes_.tolist())}

    def _positions(self) -> list[int]:
        """For each class of the model its position in `classes_`."""
        return [self._labels.index(label) for label in self.model_.classes]

    def decision_function(self, X: Any) -> Array:
        """How far rows are on the side of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for ``classes_[1]``. More: the largest is that of the predicted class; one against
            one, votes and bounded sums of the pairs' values.
        """
        return self._class_values(self._decision_values(X))

    def _class_values(self, values: Array) -> Array:
        positions = self._positions()
        if len(positions) == 2 and values.shape[1] == 1:
            return values[:, 0] if positions == [0, 1] else -values[:, 0]
        if self.model_.is_one_vs_one:
            votes, sums = self.model_.votes(values)
            values = votes + sums / (3.0 * (np.abs(sums) + 1.0))
            if len(positions) == 2:
                return np.asarray(values[:, positions.index(1)] - values[:, positions.index(0)])
        return np.asarray(values[:, np.argsort(positions)])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decide(self._decision_values(X))

    def _decide(self, values: Array) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.asarray(self._positions())[self.model_.class_indices(values)]])

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes; absent unless the model is calibrated. Asks the server.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        features, squares = self._rows_of_model(X)
        model = find_client(self.server).model(self.model_name_)
        prediction = model.predict_all(features, squares=squares, probabilities=True)
        order = [prediction.classes.index(label) for label in self._labels]
        return np.asarray(prediction.probabilities)[:, order]


class KernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """A learner that learns numbers."""

    _regression = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains on the server, and fetches the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the cost of the rows.

        Returns
        -------
        self : object
        """
        return self._fit_numbers(X, y, sample_weight)

    def _fit_numbers(self, X: Any, y: Any, sample_weight: Any, tasks: Any = None) -> Any:
        features, y = self._read_training(X, y, y_numeric=True)
        target = Column((self._free_name("target"),), y, "target")
        return self._fit(features, target, sample_weight, None, tasks)

    def predict(self, X: Any) -> Array:
        """Numbers of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories. Kernel values with the training rows
            where ``kernels`` is 'precomputed'.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decision_values(X)[:, 0]


def _label_texts(classes: npt.NDArray[Any]) -> tuple[str, ...]:
    """The classes' names on the server: as they are written, or their numbers when that would not tell them apart."""
    texts = tuple(str(cls) for cls in classes.tolist())
    usable = len(set(texts)) == len(texts) and all(t.strip() == t and 0 < len(t) <= _LONGEST_LABEL for t in texts)
    return texts if usable else tuple(str(i) for i in range(len(texts)))
