"""The sparse linear problems that infinite_features solves with the family ``columns``, written anew in NumPy.

min over weights W and biases b of    sum_t sum_i l(y_it, f_it) + lambda sum_j |W_j|,    f = Z W + 1 b',

Z the standardised columns, l without a factor 1/2, |W_j| the Euclidean norm (shape ``nested``, q = 2) or the sum of the
absolute values (``flat``, q = 1) of the weights of column j over the outputs t.
"""

import dataclasses

import numpy as np
from scipy.special import expit, xlogy


def squared_hinge(targets, scores):
    """Value and slopes."""
    margins = np.maximum(0.0, 1.0 - targets * scores)
    return np.sum(margins**2), -2.0 * targets * margins


def square(targets, scores):
    """Value and slopes."""
    return np.sum((targets - scores) ** 2), 2.0 * (scores - targets)


def logistic(targets, scores):
    """Value and slopes."""
    return np.sum(np.logaddexp(0.0, -targets * scores)), -targets * expit(-targets * scores)


LOSSES = {"squared_hinge": squared_hinge, "square": square, "logistic": logistic}


def _bound(loss, targets, dual, largest):
    """The best value of the dual, minus the sum of the conjugates, at a multiple of at most `largest` of `dual`."""
    if loss == "logistic":
        shares = -targets * dual * min(1.0, largest)
        return -np.sum(xlogy(shares, shares) + xlogy(1.0 - shares, 1.0 - shares))
    gain = -np.sum(targets * dual)
    curvature = np.sum(dual**2)
    scale = min(2.0 * gain / curvature, largest) if curvature > 0 else 0.0
    return scale * gain - scale**2 * curvature / 4.0


def _balanced(loss, targets, slopes):
    """Slopes whose sum over the rows is 0 for every output: then the biases are free."""
    if loss == "square":
        return slopes - slopes.mean(axis=0)
    sums = [np.sum(np.abs(slopes) * (targets * sign > 0), axis=0) for sign in (1, -1)]
    least = np.minimum(*sums)
    factors = [least / np.where(total > 0, total, 1.0) for total in sums]
    return slopes * np.where(targets > 0, *factors)


@dataclasses.dataclass(frozen=True)
class SparseLinearProblem:
    """See above.

    Attributes
    ----------
    features : ndarray of shape (rows, columns)
        Z, in Fortran's order.
    targets : ndarray of shape (rows, outputs)
        -1 and +1, or numbers.
    loss : str
        Of LOSSES.
    together : bool
        Euclidean norms of the weights of a column, in place of sums of absolute values.
    penalty : float
        lambda.
    """

    features: np.ndarray
    targets: np.ndarray
    loss: str
    together: bool
    penalty: float

    @classmethod
    def of_settings(cls, split, settings):
        """The problem that these options of the learner pose on the training rows of a split."""
        features = np.asfortranarray(_standardised(split.train))
        targets = _targets(split.train_labels, settings.get("regression", False))
        loss, together = settings["loss"], settings["penalty_shape"] == "nested"
        problem = cls(features, targets, loss, together, settings["lambda"])
        if settings["lambda_unit"] == "share_of_maximum":
            return dataclasses.replace(problem, penalty=settings["lambda"] * problem.largest_penalty())
        return problem

    def objective(self, model):
        """At `model.weights`, columns x outputs, and `model.bias`."""
        value, _ = LOSSES[self.loss](self.targets, self.features @ model.weights + model.bias)
        return float(value + self.penalty * np.sum(self._norms(model.weights)))

    def lower_bound(self, model):
        """Of the optimum over all columns: the dual at the slopes of the model."""
        _, slopes = LOSSES[self.loss](self.targets, self.features @ model.weights + model.bias)
        dual = _balanced(self.loss, self.targets, slopes)
        violation = self._dual_norm(dual) / self.penalty
        return float(_bound(self.loss, self.targets, dual, 1.0 / violation if violation > 0 else np.inf))

    def largest_penalty(self):
        """The least lambda at which all weights are 0, for classes with the losses square and logistic."""
        means = self.targets.mean(axis=0)
        bias = means if self.loss == "square" else np.log((1.0 + means) / (1.0 - means))
        _, slopes = LOSSES[self.loss](self.targets, np.broadcast_to(bias, self.targets.shape))
        return self._dual_norm(slopes)

    def _norms(self, weights):
        return np.linalg.norm(weights, axis=1) if self.together else np.abs(weights).sum(axis=1)

    def _dual_norm(self, dual):
        products = self.features.T @ dual
        return float(np.max(np.linalg.norm(products, axis=1) if self.together else np.abs(products)))


def _standardised(features):
    deviations = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)


def _targets(labels, regression):
    """Columns of outputs: one of numbers or of two classes, one per class of more."""
    classes = np.unique(labels)
    if regression:
        return labels[:, None]
    if len(classes) == 2:
        return np.where(labels == classes[1], 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == classes, 1.0, -1.0)
