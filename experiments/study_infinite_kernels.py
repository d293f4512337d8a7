"""Infinite kernel learning beside Fourier features of bandwidths from the same range (Figures 3 and 4)."""

from measurements import field, markdown, mean, spread, worst
from study_continuous import settings as feature_settings

# Training rows; the last number is all of a share of 70 % (spambase), or as many as the paper has (adult).
ROWS = {"spambase-log": (250, 500, 1000, 2000, 3221), "adult-documented": (500, 1000, 2000, 5000, 10_000)}
SPLITS = 10
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
LAMBDAS = (1.0, 10.0, 50.0, 100.0)
# More rows take the cost and the lambda of so many.
SEARCHED_ROWS = 2500
BANDWIDTHS = (5.0, 100.0)
GAP = 1e-3
# Seconds after which a training ends where it is.
TIME_LIMIT = 900.0


def settings(cost):
    """Of ikl."""
    low, high = BANDWIDTHS
    return {"C": cost, "min_bandwidth": low, "max_bandwidth": high, "gap": GAP, "time_limit": TIME_LIMIT}


def infinite_kernels(laboratory, names, numbers):
    """A line for each data set, number of training rows and method."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or ROWS:
        for rows in ROWS[name]:
            lines.append(_kernel_line(laboratory, name, rows, numbers))
            lines.append(_feature_line(laboratory, name, rows, numbers))
    header = [
        "data", "training rows", "method", "C, or lambda", "splits", "accuracy %",
        "support vectors, or groups", "kernels", "training s", "with verification s", "worst gap",
    ]  # fmt: skip
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)


def _kernel_line(laboratory, name, rows, numbers):
    candidates = [settings(cost) for cost in COSTS]
    chosen = laboratory.chosen("ikl", name, candidates, min(rows, SEARCHED_ROWS))
    records = [chosen and laboratory.training("ikl", name, number, chosen, rows=rows) for number in numbers]
    return _line([name, rows, "IKL", chosen and f"{chosen['C']:g}"], records, "support_vectors", "kernels")


def _feature_line(laboratory, name, rows, numbers):
    candidates = [feature_settings(penalty) for penalty in LAMBDAS]
    chosen = laboratory.chosen("mercer", name, candidates, min(rows, SEARCHED_ROWS))
    records = [chosen and laboratory.mercer(name, number, chosen, rows=rows) for number in numbers]
    return _line([name, rows, "GrFL", chosen and f"{chosen['lambda']:g}"], records, "groups", None)


def _line(begin, records, size, kernels):
    known = [record for record in records if record]
    return [
        *begin, len(known), spread(field(known, "accuracy")), mean(field(known, size), 0),
        mean(field(known, kernels)) if kernels else None, mean(field(known, "seconds")),
        mean(field(known, "wall_seconds")), worst(field(known, "gap")),
    ]  # fmt: skip
