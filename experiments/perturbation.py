"""How far the optimum with Nystrom kernels is from that with the kernels themselves, and what bounds it beforehand.

The paper's Proposition 2 is about one machine of fixed weights d, K = sum d_k K_k and E = sum d_k (K_k - V_k V_k'):

    s = 1/2 max |a|^2 |E|_F  over 0 <= a <= C, y'a = 0,      |a* - a'| <= sqrt(2 s / lambda_min(K))

Its s bounds the difference of the optima as well. Here K - E has smaller values than K, so that the optimum J'(d) of
its machine has J(d) <= J'(d) <= J(d) + s(d), and at the exact weights d*, since both optima of multiple kernel
learning are the least over d, P* <= P'* <= J'(d*) <= P* + s(d*). The largest |a|^2 is 2 C^2 times the smaller class.
With the a' of the approximate machine, J'(d) - J(d) <= 1/2 a''E a', which is what its own solution tells afterwards.
Rows that stand there twice are left out: with them K is singular.
"""

import dataclasses

import gaussian_factors
import numpy as np
import trainings
from kernel_trainings import kernels_text
from sklearn.svm import SVC

SVC_TOLERANCE = 1e-6


def compare(client, split, settings, threads):
    """Trains with low rank and exactly, and evaluates the bounds at the exact weights.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``kernels``, ``gap``, and options of the learner, ``landmarks`` among them.
    threads : int

    Returns
    -------
    dict
        ``certificate``: the gap of exact_certificate, a share of its own upper bound; ``low_rank`` and ``exact``:
        bounds of the optima; ``difference`` of their means, ``bound``: s, ``spectral_bound``: s with the spectral
        norm, and ``found_bound``: 1/2 a''E a', as shares of the exact optimum; ``error``: |E|_F / |K|_F; ``smallest``
        and ``largest`` eigenvalue of K; ``dual_bound`` as the Proposition has it, ``sharper_bound``
        |E a'| / lambda_min(K), ``dual_distance`` of two machines of scikit-learn, and ``dual_norm`` |a*|; ``most``:
        the largest |a| of any a; ``gap``: of the trainings.
    """
    first = np.sort(np.unique(split.train, axis=0, return_index=True)[1])
    split = dataclasses.replace(split, train=split.train[first], train_labels=split.train_labels[first])
    split = gaussian_factors.standardized(split)
    rows = split.train
    options = {name: value for name, value in settings.items() if name not in ("kernels", "gap")}
    request = {"kernels": kernels_text(settings["kernels"]), "relative_gap": settings["gap"], "scaling": "none"}
    own = {"approximation": "nystrom", "exact_certificate": True, "compression_tolerance": 0.0}
    low_rank, _, _ = trainings.train(client, split, "lp_mkl", {**options, **own}, threads=threads, **request)
    shared = {name: value for name, value in options.items() if name != "landmarks"}
    exact, _, _ = trainings.train(client, split, "lp_mkl", shared, threads=threads, **request)
    landmarks = rows[list(low_rank.get(full=True).function.bases[0].training_rows)]
    weights = np.ravel(list(exact.kernel_weights().values()))
    bounds = {name: _bounds(model) for name, model in (("low_rank", low_rank), ("exact", exact))}
    optimum = np.mean(bounds["exact"])
    metrics = low_rank.metrics()
    return {
        **bounds,
        "gap": max(model.get().certificate.accuracy for model in (low_rank, exact)),
        "certificate": metrics["exact_kernels.relative_gap"],
        "difference": float(np.mean(bounds["low_rank"]) / optimum - 1),
        **_of_fixed_weights(rows, split.train_labels, landmarks, weights, settings["C"], optimum),
    }


def _bounds(model):
    certificate = model.get().certificate
    return [certificate.dual, certificate.primal]


def _of_fixed_weights(rows, labels, landmarks, weights, cost, optimum):
    summed, near = np.zeros((len(rows), len(rows))), np.zeros((len(rows), len(rows)))
    for weight, bandwidth in zip(weights, gaussian_factors.bandwidths(len(weights)), strict=True):
        factor = gaussian_factors.factor(rows, landmarks, bandwidth)
        summed += weight * gaussian_factors.kernel(rows, rows, bandwidth)
        near += weight * (factor @ factor.T)
    error = summed - near
    eigenvalues = np.linalg.eigvalsh(summed)
    smallest, most = float(eigenvalues[0]), 2 * cost**2 * min(np.sum(labels > 0), np.sum(labels < 0))
    bound = 0.5 * most * np.linalg.norm(error)
    dual, other = _dual(summed, labels, cost), _dual(near, labels, cost)
    known = smallest > len(rows) * np.finfo(float).eps * eigenvalues[-1]
    return {
        "bound": float(bound / optimum),
        "spectral_bound": float(0.5 * most * np.linalg.norm(error, 2) / optimum),
        "found_bound": float(0.5 * other @ error @ other / optimum),
        "error": float(np.linalg.norm(error) / np.linalg.norm(summed)),
        "smallest": smallest,
        "largest": float(eigenvalues[-1]),
        "dual_bound": float(np.sqrt(2 * bound / smallest)) if known else None,
        "sharper_bound": float(np.linalg.norm(error @ other) / smallest) if known else None,
        "dual_distance": float(np.linalg.norm(dual - other)),
        "dual_norm": float(np.linalg.norm(dual)),
        "most": float(np.sqrt(most)),
    }


def _dual(values, labels, cost):
    """Dual variables with the signs of the labels."""
    machine = SVC(C=cost, kernel="precomputed", tol=SVC_TOLERANCE, cache_size=1000).fit(values, labels)
    dual = np.zeros(len(labels))
    dual[machine.support_] = machine.dual_coef_[0]
    return dual
