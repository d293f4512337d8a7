"""Infinite kernel learning where one bandwidth does not suffice, beside the best single one and Fourier features."""

import numpy as np

from measurements import field, markdown, mean, spread, worst
from significance import accuracy_differences, mean_difference, wilcoxon_p
from study_continuous import settings as range_settings

# The first training rows of a split are used, at most so many.
ROWS = {"two-scales": 1000, "two-regions": 1000, "svmguide1": 1000, "magic": 1000}
SPLITS = 10
BANDWIDTHS = (0.05, 100.0)
SINGLE_BANDWIDTHS = 12  # of the interval, with equal ratios
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
LAMBDAS = (1.0, 3.0, 10.0, 30.0, 100.0)
MOST_GROUPS = 200
GAP = 1e-3


def kernel_candidates():
    """Of ikl."""
    low, high = BANDWIDTHS
    return [{"C": cost, "min_bandwidth": low, "max_bandwidth": high, "gap": GAP} for cost in COSTS]


def single_candidates():
    """Of an SVC with one Gaussian kernel."""
    return [{"C": cost, "bandwidth": float(bandwidth)} for cost in COSTS
            for bandwidth in np.geomspace(*BANDWIDTHS, SINGLE_BANDWIDTHS)]  # fmt: skip


def feature_candidates():
    """Bandwidths of the same interval, with uniform logarithms."""
    drawn = {"bandwidths": list(BANDWIDTHS), "bandwidth_rule": "logarithmic", "max_groups": MOST_GROUPS}
    return [range_settings(penalty) | drawn for penalty in LAMBDAS]


def scales(laboratory, names, numbers):
    """A line for each data set and method, all tuned on the held-out part of the rows of the first division."""
    numbers = numbers or range(SPLITS)
    methods = (
        ("SVC, one bandwidth", "svc", single_candidates(), "support_vectors"),
        ("IKL", "ikl", kernel_candidates(), "support_vectors"),
        ("GrFL", "mercer", feature_candidates(), "groups"),
    )
    lines = []
    for name in names or ROWS:
        single = None  # records of the first method
        for title, method, candidates, size in methods:
            chosen = laboratory.chosen(method, name, candidates, ROWS[name])
            found = [chosen and laboratory.training(method, name, number, chosen, rows=ROWS[name])
                     for number in numbers]  # fmt: skip
            differences = accuracy_differences(found, single) if single else ()
            single = single or found
            known = [record for record in found if record]
            lines.append([
                name, next((record["rows"] for record in known), None), title, len(candidates),
                chosen and _words(chosen), len(known), spread(field(known, "accuracy")),
                mean_difference(differences), wilcoxon_p(differences),
                spread(field(known, "kernels"), 1) if method == "ikl" else None, mean(field(known, size), 0),
                mean(field(known, "seconds")), None if method == "svc" else worst(field(known, "gap")),
            ])  # fmt: skip
    header = [
        "data", "training rows", "method", "settings searched", "chosen", "splits", "accuracy %", "above the SVC",
        "Wilcoxon's p", "kernels in use", "support vectors, or groups", "training s", "worst gap",
    ]  # fmt: skip
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)


def _words(chosen):
    if "lambda" in chosen:
        return f"lambda {chosen['lambda']:g}"
    return f"C {chosen['C']:g}" + (f", bandwidth {chosen['bandwidth']:.2g}" if "bandwidth" in chosen else "")
