"""What estimators of learners of several tasks add: which task each row is of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, r2_score

from mercer._estimator import KernelClassifier, KernelRegressor

Array = npt.NDArray[np.float64]


class TaskClassifier(KernelClassifier):
    """A learner that learns classes in several tasks together."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> Any:
        """Trains on the server, and fetches the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        y : array-like of shape (n_samples,)
            Classes, the same ones in each task.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the cost of the rows.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row. None: all rows are of one task.

        Returns
        -------
        self : object
        """
        return self._fit_classes(X, y, sample_weight, tasks)

    def decision_function(self, X: Any, tasks: Any = None, task_rule: str = "own") -> Array:
        """How far rows are on the side of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row; needed where ``fit`` had any, unless the rule is ``"mean"``.
        task_rule : str
            ``"own"``: each row by its task; ``"mean_if_unknown"``: rows of other tasks by the mean over all tasks;
            ``"mean"``: all rows so.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for ``classes_[1]``. More: the largest is that of the predicted class.
        """
        return self._class_values(self._decision_values(X, tasks, task_rule))

    def predict(self, X: Any, tasks: Any = None, task_rule: str = "own") -> npt.NDArray[Any]:
        """Classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row; needed where ``fit`` had any, unless the rule is ``"mean"``.
        task_rule : str
            ``"own"``: each row by its task; ``"mean_if_unknown"``: rows of other tasks by the mean over all tasks;
            ``"mean"``: all rows so.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decide(self._decision_values(X, tasks, task_rule))

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None, task_rule: str = "own") -> float:
        """Share of rows whose class is right.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row; needed where ``fit`` had any, unless the rule is ``"mean"``.
        task_rule : str
            ``"own"``: each row by its task; ``"mean_if_unknown"``: rows of other tasks by the mean over all tasks;
            ``"mean"``: all rows so.

        Returns
        -------
        score : float
        """
        return float(accuracy_score(y, self.predict(X, tasks, task_rule), sample_weight=sample_weight))


class TaskRegressor(KernelRegressor):
    """A learner that learns numbers in several tasks together."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> Any:
        """Trains on the server, and fetches the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the cost of the rows.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row. None: all rows are of one task.

        Returns
        -------
        self : object
        """
        return self._fit_numbers(X, y, sample_weight, tasks)

    def predict(self, X: Any, tasks: Any = None, task_rule: str = "own") -> Array:
        """Numbers of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row; needed where ``fit`` had any, unless the rule is ``"mean"``.
        task_rule : str
            ``"own"``: each row by its task; ``"mean_if_unknown"``: rows of other tasks by the mean over all tasks;
            ``"mean"``: all rows so.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decision_values(X, tasks, task_rule)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None, task_rule: str = "own") -> float:
        """The coefficient of determination R^2.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Features; columns of a DataFrame that are no numbers are categories.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        tasks : array-like of shape (n_samples,), optional
            The name of the task of each row; needed where ``fit`` had any, unless the rule is ``"mean"``.
        task_rule : str
            ``"own"``: each row by its task; ``"mean_if_unknown"``: rows of other tasks by the mean over all tasks;
            ``"mean"``: all rows so.

        Returns
        -------
        score : float
        """
        return float(r2_score(y, self.predict(X, tasks, task_rule), sample_weight=sample_weight))
