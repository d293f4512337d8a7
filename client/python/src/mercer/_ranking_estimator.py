"""What estimators of learners that rank the columns add: they select, and transform to, the columns that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import KernelClassifier, KernelRegressor


class _Ranking(SelectorMixin):  # type: ignore[misc]
    """A learner whose model says in a table how the columns rank."""

    def _fit(self, *args: Any, **settings: Any) -> Any:
        super()._fit(*args, **settings)
        self._read_ranking()
        return self

    def _read_ranking(self) -> None:
        """Ranks features by their best places.

        One that became several columns, as categories do, has that of its best column, and where there are several
        outputs that of the best output.
        """
        tables = self.model_.model_tables
        rankings = [table for name, table in tables.items() if name.split(".")[0] == "ranking"]
        if len(rankings) not in (1, len(self.model_.bias)):
            raise ValueError(f"the model tells {len(rankings)} rankings of {len(self.model_.bias)}: it is too large")
        best = np.full(self.n_features_in_, np.inf)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        for output, table in enumerate(rankings):
            places = [table.columns.index(name) for name in ("column", "selected")]
            numbers, selected = np.asarray(table.values)[:, places].astype(int).T
            if self.model_.categories:
                of_name = {name: i for i, name in enumerate(self._input_names())}
                features = np.array([of_name[name] for name in table.rows])
            else:
                features = numbers - 1
            # Of equal places the earlier output's is better.
            np.minimum.at(best, features, np.arange(1, len(numbers) + 1) + output / len(rankings))
            self.support_[features[selected == 1]] = True
        order = np.argsort(best, kind="stable")
        self.ranking_ = np.empty(self.n_features_in_, dtype=int)
        self.ranking_[order] = np.arange(1, self.n_features_in_ + 1)
        self.n_features_ = int(self.support_.sum())

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_


class RankingClassifier(_Ranking, KernelClassifier):
    """A learner of classes whose model says how the columns rank."""


class RankingRegressor(_Ranking, KernelRegressor):
    """A learner of numbers whose model says how the columns rank."""
