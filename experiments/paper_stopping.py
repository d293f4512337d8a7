"""The paper's splitting with its own stopping rule, beside solvers of the learner with certified gaps."""

import gaussian_factors
import numpy as np
import splitting
import trainings
from kernel_trainings import kernels_text

ROUGH_GAP = 0.5
NEWTON_GAP = 1e-4
# The paper ends interior points at an objective within 0.1 % of that of splitting.
INTERIOR_GAP = 1e-3


def compare(client, split, settings, threads):
    """One machine of fixed weights 1/m, by the splitting on the landmarks that the learner drew, and by the learner.

    Parameters
    ----------
    client : mercer.Client
    split : Split
    settings : mapping
        ``kernels``, ``landmarks``, ``C``, ``time_limit`` of each solver.
    threads : int

    Returns
    -------
    dict of str to dict
        For ``gfb`` and ``gfb_merged`` what `splitting.solve` tells, for ``newton`` and ``interior_point`` ``seconds``,
        ``gap``, ``primal`` and ``dual``; ``rank`` of all kernels; ``rows``.
    """
    split = gaussian_factors.standardized(split)
    rows = split.train
    count, cost = settings["kernels"], settings["C"]

    def train(solver, gap):
        # p = inf gives each kernel the weight 1; the sum at the cost C / m has the optimum of the mean at C, over m.
        options = {"approximation": "nystrom", "p": "inf", "C": cost / count, "landmarks": settings["landmarks"]}
        model, _, measured = trainings.train(
            client, split, "lp_mkl", {**options, "inner_solver": solver}, kernels=kernels_text(count),
            relative_gap=gap, scaling="none", time_limit=settings["time_limit"], threads=threads,
        )  # fmt: skip
        certificate = model.get().certificate
        bounds = {"primal": count * certificate.primal, "dual": count * certificate.dual}
        return model, {"seconds": measured["seconds"], "gap": measured["gap"], **bounds}

    # The first training leaves factors in the server's cache, which the seconds of none include.
    first, _ = train("newton", ROUGH_GAP)
    found = {"newton": train("newton", NEWTON_GAP)[1], "interior_point": train("interior_point", INTERIOR_GAP)[1]}
    landmarks = rows[list(first.get(full=True).function.bases[0].training_rows)]
    labels = split.train_labels
    features = [
        labels[:, None] * gaussian_factors.factor(rows, landmarks, bandwidth) / np.sqrt(count)
        for bandwidth in gaussian_factors.bandwidths(count)
    ]
    for name, merged in (("gfb", False), ("gfb_merged", True)):
        found[name] = splitting.solve(features, labels, cost, merged, settings["time_limit"])
    return {**found, "rank": sum(block.shape[1] for block in features), "rows": len(labels)}
