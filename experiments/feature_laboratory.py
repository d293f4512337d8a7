"""Measures learning with infinitely many features, and what it is compared with."""

import functools

import baselines
import feature_trainings
import hold_out
import kernel_machine_trainings
import peers
import splits
import textures
from laboratory import Laboratory
from sparse_linear import SparseLinearProblem

# Widths of the Gaussian kernel and how they are searched for, as in the paper: on a fifth of at most 25,000 rows.
SQUARED_BANDWIDTHS = (2.5, 5.0, 10.0, 15.0)
LINEAR_SEARCH = baselines.LinearSearch(
    gammas=tuple(1 / (2 * squared) for squared in SQUARED_BANDWIDTHS),
    costs=(0.1, 1.0, 10.0, 100.0, 1000.0), rows=25_000, held_out=0.2,
)  # fmt: skip
# More features take the gamma and C of so many.
MOST_SEARCHED = 200
# By method; each takes a client, a split, settings and a number of threads.
TRAININGS = {
    "mercer": feature_trainings.train,
    "csi": kernel_machine_trainings.train_csi,
    "ikl": kernel_machine_trainings.train_ikl,
    "svc": kernel_machine_trainings.train_svc,
}


class FeatureLaboratory(Laboratory):
    """Its methods are those of TRAININGS, ``"nystroem"``, ``"fourier"`` and ``"scikit-learn"``."""

    def mercer(self, name, number, settings, share=splits.TRAINING_SHARE, rows=None):
        """infinite_features with these settings and this share of the rows; see feature_trainings.train.

        With `rows`, at most so many of them.
        """
        return self.training("mercer", name, number, settings, share, rows)

    def training(self, method, name, number, settings, share=splits.TRAINING_SHARE, rows=None):
        """One of TRAININGS with these settings, this share of the rows, and with `rows` at most so many of them."""
        limited = {} if rows is None else {"limited_rows": rows}
        return self._measure(
            method, name, number, {**settings, "share": share, **limited},
            lambda: TRAININGS[method](self._client, self._rows_of(name, number, share, rows), settings, self._threads),
        )  # fmt: skip

    def chosen(self, method, name, candidates, rows, share=splits.TRAINING_SHARE):
        """The settings that are best on the held-out part of at most so many training rows of the first division."""

        def measure(settings):
            return self._measure(
                method, name, 0, {**settings, "share": share, "limited_rows": rows, "part": "search"},
                lambda: TRAININGS[method](
                    self._client, hold_out.hold_out(self._rows_of(name, 0, share, rows)), settings, self._threads
                ),
            )  # fmt: skip

        return hold_out.best(candidates, measure)

    def _rows_of(self, name, number, share, rows):
        split = self.split(name, number, share)
        return split if rows is None else splits.first_rows(split, rows)

    def textures(self, number, patches, settings):
        """infinite_features on patches of textures; see textures.train."""
        return self._measure(
            "mercer", "brodatz", number, {**settings, "patches": patches},
            lambda: textures.train(
                self._client, self._patches(number, patches), self._patches(number), number, settings, self._threads
            ),
        )  # fmt: skip

    @functools.cache  # noqa: B019, one laboratory is used, and the patches themselves are on the server
    def _patches(self, number, count=None):
        if count is None:
            return textures.tested_on(self._client, self._folder, number)
        return textures.learnt_from(self._client, self._folder, number, count)

    def linear(self, kind, name, number, components):
        """A LinearSVC on so many features of baselines.FEATURES, gamma and C by held-out rows of the first division."""
        return self._linear(kind, name, number, components, LINEAR_SEARCH, min(components, MOST_SEARCHED))

    def sparse_linear(self, name, number, settings, share):
        """infinite_features on the columns; besides, ``checked_objective`` and ``checked_gap`` over all columns."""

        def call():
            split = self.split(name, number, share)
            model, measured = feature_trainings.train_model(self._client, split, settings, self._threads)
            problem = SparseLinearProblem.of_settings(split, settings)
            found = feature_trainings.linear_model(model, split.train.shape[1])
            objective, bound = problem.objective(found), problem.lower_bound(found)
            return {**measured, "checked_objective": objective, "checked_gap": (objective - bound) / objective}

        return self._measure("mercer", name, number, {**settings, "share": share}, call)

    def curve(self, name, number, settings, share):
        """infinite_features with the course of its objective; see feature_trainings.train_curve."""
        return self._measure(
            "mercer", name, number, {**settings, "share": share, "part": "curve"},
            lambda: feature_trainings.train_curve(
                self._client, self.split(name, number, share), settings, self._threads
            ),
        )  # fmt: skip

    def peer(self, kind, name, number, settings, share, goal):
        """Seconds in which scikit-learn's `kind` comes within 1e-6 of this objective; see peers.reach."""

        def call():
            problem = SparseLinearProblem.of_settings(self.split(name, number, share), settings)
            return peers.reach(kind, problem, goal)

        return self._measure("scikit-learn", name, number, {**settings, "share": share, "kind": kind}, call)
