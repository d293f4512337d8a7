"""Mixed norms by another algorithm than the learner's, so that accuracies may be compared.

An SVC of scikit-learn on the weighted sum of whole Gram matrices, its weights from the closed form of
docs/mathematics/mixed_norm_mkl.md, section 4: lambda_k is multiplied by s_k^p and normalised within its group, gamma_j
is in proportion to the root of W_j = sum lambda_k s_k, and the weight of a kernel is lambda_k / gamma_j.
"""

import itertools

import numpy as np
import views as sets
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

MOST_MACHINES = 300
PATIENCE = 3  # machines without a smaller gap, until the power is halved
LEAST_SHARE = 1e-14  # of a kernel in its group; below it the kernel is out


def train(views, rows, test, settings, multiples):
    """Trains one against one and tests: ``accuracy`` in percent, and ``gap``: the largest of the pairs.

    `settings` has ``regularization``, ``scaling``, ``C`` in its comparable form, and ``gap``; the kernels of each
    description have the `multiples` of its mean distance as widths. The sum has no gap: its weights are not learnt.
    """
    distances = np.array([
        sets.distances(views, values)[:, rows] / sets.mean_distance(views, values[rows])
        for values in sets.prepared(views, rows).values()
    ])  # fmt: skip
    groups = np.repeat(np.arange(len(distances)), len(multiples))
    if settings["regularization"] == "l1":
        groups = np.zeros_like(groups)
    labels = views.labels[rows]
    classes = np.unique(labels)
    votes, sums, gaps = np.zeros((len(test), len(classes))), np.zeros((len(test), len(classes))), []
    for first, second in itertools.combinations(range(len(classes)), 2):
        pair = np.flatnonzero((labels == classes[first]) | (labels == classes[second]))
        signs = np.where(labels[pair] == classes[first], 1.0, -1.0)
        near = distances[:, rows[pair]][:, :, pair]
        kernels = np.exp(-near[:, None] / np.reshape(multiples, (-1, 1, 1))).reshape(-1, len(pair), len(pair))
        scales = np.trace(kernels, axis1=1, axis2=2)
        if settings["scaling"] == "variance":
            scales -= kernels.sum(axis=(1, 2)) / len(pair)
        weights, dual, bias, gap = _solve(kernels / scales[:, None, None], signs, groups, settings)
        gaps.append(gap)
        values = np.full(len(test), bias)
        for k in np.flatnonzero(weights):
            far = distances[k // len(multiples), test][:, pair]
            values += weights[k] / scales[k] * (np.exp(-far / multiples[k % len(multiples)]) @ dual)
        votes[:, first] += values > 0
        votes[:, second] += values <= 0
        sums[:, first] += values
        sums[:, second] -= values
    best = np.where(votes == votes.max(axis=1, keepdims=True), sums, -np.inf).argmax(axis=1)
    return {"accuracy": 100.0 * float(np.mean(classes[best] == views.labels[test])), "gap": max(gaps)}


def _solve(kernels, signs, groups, settings):
    """Weights of the kernels, dual with its signs, bias, and the relative gap of the pair."""
    sizes = np.bincount(groups)
    shares, outer = 1.0 / sizes[groups], np.full(len(sizes), 1.0 / len(sizes))
    fixed = settings["regularization"] == "sum"
    weights = np.ones(len(kernels)) if fixed else shares / outer[groups]
    # The same C is the same regularisation at the start.
    cost = settings["C"] * len(signs) / (weights @ np.trace(kernels, axis1=1, axis2=2))
    power, since, smallest = 2.0, 0, np.inf
    lower, upper, found = -np.inf, np.inf, None
    for _ in range(MOST_MACHINES):
        dual, bias = _machine(np.tensordot(weights, kernels, 1), signs, cost)
        if fixed:
            return weights, dual, bias, 0.0
        images = kernels @ dual
        energies = np.maximum(images @ dual, 0.0)
        lower = max(lower, _lower_bound(energies, dual, signs, groups, cost))
        norm = np.bincount(groups, weights * np.sqrt(energies)).max()
        bound = _upper_bound(weights @ images + bias, norm, signs, cost)
        if bound < upper:
            upper, found = bound, (weights, dual, bias)
        gap = (upper - lower) / upper
        if gap <= settings["gap"]:
            break
        since = 0 if gap < smallest else since + 1
        smallest = min(gap, smallest)
        if since == PATIENCE:
            power, since = max(0.5, power / 2), 0
        averages = np.bincount(groups, shares * energies)
        shares = shares * (energies / energies.max()) ** power
        shares /= np.bincount(groups, shares)[groups]
        shares[shares < LEAST_SHARE] = 0.0
        outer = np.maximum(np.sqrt(averages / averages.sum()), 1e-3 / len(sizes))
        weights = shares / (outer / outer.sum())[groups]
    return *found, gap


def _machine(kernel, signs, cost):
    machine = SVC(kernel="precomputed", C=cost, tol=1e-6).fit(kernel, signs)
    dual = np.zeros(len(signs))
    dual[machine.support_] = machine.dual_coef_[0]
    return dual, machine.intercept_[0]


def _lower_bound(energies, dual, signs, groups, cost):
    """The dual of the whole problem, on the ray of `dual` within its box."""
    largest = np.zeros(groups.max() + 1)
    np.maximum.at(largest, groups, energies)
    linear, square = signs @ dual, np.sqrt(largest).sum() ** 2
    multiple = min(linear / square, cost / np.abs(dual).max())
    return multiple * linear - 0.5 * multiple**2 * square


def _upper_bound(values, norm, signs, cost):
    """The primal at the best multiple of a function with these values, bias included, and largest norm of a group."""

    def primal(multiple):
        return 0.5 * (multiple * norm) ** 2 + cost * np.maximum(0.0, 1.0 - multiple * signs * values).sum()

    return minimize_scalar(primal, bounds=(0.5, 2.0), method="bounded", options={"xatol": 1e-7}).fun
