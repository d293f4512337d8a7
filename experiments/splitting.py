"""The paper's Algorithm 2 in NumPy with its own stopping rule, and a certificate of the point where it stopped.

    min over gamma, a of  1/2 sum |gamma_k|^2 - 1'a,   gamma_k = B_k'a,  y'a = 0,  0 <= a <= C,   B_k = Y sqrt(d_k) V_k

by generalized forward-backward splitting with unit steps, from 0, the box step with the auxiliary variable that the
printed one lacks. A relative change of the objective below 1e-4 in one iteration ends it, or 3000 iterations.
"""

import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

CHANGE = 1e-4
MOST_ITERATIONS = 3000
CLOCK_EVERY = 10


class _Affine:
    """The set gamma = B'a of some of the gammas; merged: also y'a = 0."""

    def __init__(self, features, labels, merged):
        self._features, self._labels = features, labels
        system = np.eye(features.shape[1]) + features.T @ features
        if merged:
            border = -(features.T @ labels)[:, None]
            system = np.block([[system, border], [border.T, np.full((1, 1), float(len(labels)))]])
        self._merged = merged
        self._factor = cho_factor(system)

    def project(self, gamma, dual):
        residual = gamma - self._features.T @ dual
        if not self._merged:
            moved = cho_solve(self._factor, residual)
            return gamma - moved, dual + self._features @ moved
        moved = cho_solve(self._factor, np.append(residual, self._labels @ dual))
        return gamma - moved[:-1], dual + self._features @ moved[:-1] - moved[-1] * self._labels


def solve(features, labels, cost, merged, limit_seconds):
    """Runs it to the end of the paper's rule, or for so many seconds.

    Parameters
    ----------
    features : list of ndarray
        B_k of every kernel.
    labels : ndarray
        -1 and +1.
    cost : float
    merged : bool
        All equalities are one set, not one for each kernel and one for y'a = 0.
    limit_seconds : float

    Returns
    -------
    dict
        ``iterations``; ``ended``: ``"change"``, ``"iterations"`` or ``"time"``; ``seconds``, those of factoring
        included; ``objective``: what the rule looks at, with the sign of a maximum; ``primal`` and ``dual``: bounds of
        the optimum by the feasible point next to the iterate.
    """
    begin = time.perf_counter()
    blocks = [np.hstack(features)] if merged else features
    sets = [_Affine(block, labels, merged) for block in blocks]
    gammas = [np.zeros(block.shape[1]) for block in blocks]
    others = 1 if merged else 2
    copies = np.zeros((len(sets) + others, len(labels)))
    dual, before, objective, ended, iterations = np.zeros(len(labels)), None, 0.0, "iterations", 0
    for iterations in range(1, MOST_ITERATIONS + 1):
        points = 2.0 * dual - copies + 1.0
        means = [gamma / len(copies) for gamma in gammas]
        for k, affine in enumerate(sets):
            # The copies of gamma_k in the sets of others stay 0.
            projected, points[k] = affine.project(means[k] - gammas[k], points[k])
            gammas[k] = gammas[k] + projected - means[k]
        if not merged:
            points[-2] -= labels * (labels @ points[-2]) / len(labels)
        points[-1] = np.clip(points[-1], 0.0, cost)
        copies += points - dual
        dual = copies.mean(axis=0)
        objective = dual.sum() - 0.5 * sum(gamma @ gamma for gamma in gammas) / len(copies) ** 2
        if before is not None and abs(objective - before) < CHANGE * abs(before):
            ended = "change"
            break
        if iterations % CLOCK_EVERY == 0 and time.perf_counter() - begin > limit_seconds:
            ended = "time"
            break
        before = objective
    seconds = time.perf_counter() - begin
    primal, lower = certify(features, labels, cost, dual)
    return {"iterations": iterations, "ended": ended, "seconds": seconds, "objective": float(objective),
            "primal": primal, "dual": lower}  # fmt: skip


def certify(features, labels, cost, dual):
    """Upper and lower bound of the optimum, by the feasible point next to `dual` on the best of its ray."""
    dual = np.clip(dual, 0.0, cost)
    sides = {sign: dual[labels == sign].sum() for sign in (-1.0, 1.0)}
    least = min(sides.values())
    for sign, total in sides.items():
        dual[labels == sign] *= least / total if total > 0 else 0.0
    parts = [block.T @ dual for block in features]
    energy = sum(float(part @ part) for part in parts)
    if energy == 0:
        return float(2 * cost * min(np.sum(labels > 0), np.sum(labels < 0))), 0.0
    step = min(dual.sum() / energy, cost / dual.max())
    lower = step * dual.sum() - 0.5 * step**2 * energy
    scores = step * labels * sum(block @ part for block, part in zip(features, parts, strict=True))
    # Every bias between these two of the sorted places where a loss begins has the least sum of losses.
    places = np.sort(labels - scores)
    positive = int(np.sum(labels > 0))
    bias = 0.5 * (places[positive - 1] + places[positive])
    losses = np.maximum(0.0, 1.0 - labels * (scores + bias)).sum()
    return float(0.5 * step**2 * energy + cost * losses), float(lower)
