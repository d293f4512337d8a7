"""What estimators of learners that rank the columns add: they select, and transform to, the columns that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._estimator import KernelClassifier


class RankingClassifier(SelectorMixin, KernelClassifier):  # type: ignore[misc]
    """A learner of classes whose model says in a table how the columns rank."""

    def _fit(self, *args: Any, **settings: Any) -> Any:
        super()._fit(*args, **settings)
        self._read_ranking()
        return self

    def _read_ranking(self) -> None:
        """Ranks of features; one that became several columns, as categories do, has that of its best column."""
        table = self.model_.model_tables["ranking"]
        places = [table.columns.index(name) for name in ("column", "selected")]
        numbers, selected = np.asarray(table.values)[:, places].astype(int).T
        if self.model_.categories:
            of_name = {name: i for i, name in enumerate(self._input_names())}
            features = np.array([of_name[name] for name in table.rows])
        else:
            features = numbers - 1
        self.ranking_ = np.full(self.n_features_in_, len(numbers) + 1)
        np.minimum.at(self.ranking_, features, np.arange(1, len(numbers) + 1))
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[features[selected == 1]] = True
        self.n_features_ = int(self.support_.sum())

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_
