"""Fourier features of bandwidths drawn from a range, beside an SVC of one bandwidth (Figures 3 and 4)."""

from measurements import field, markdown, mean, spread, worst

SETS = ("spambase-log", "spambase")
SPLITS = 10
LAMBDAS = (10.0, 50.0)
GAP = 1e-3
# More than any of these trainings needs.
MOST_GROUPS = 1000


def settings(penalty):
    """59 directions for each of 20 bandwidths, drawn anew in every round."""
    return {
        "lambda": penalty, "lambda_unit": "absolute", "normalization": "none", "loss": "squared_hinge",
        "bandwidths": [5.0, 100.0], "bandwidth_rule": "linear", "bandwidths_per_round": 20, "candidates": 59,
        "max_groups": MOST_GROUPS, "gap": GAP,
    }  # fmt: skip


def continuous(laboratory, names, numbers):
    """A line for each data set and method."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or SETS:
        for penalty in LAMBDAS:
            records = [laboratory.mercer(name, number, settings(penalty)) for number in numbers]
            lines.append([
                name, f"GrFL, lambda {penalty:g}", spread(field(records, "accuracy")),
                mean(field(records, "groups"), 0), mean(field(records, "seconds")), worst(field(records, "gap")),
            ])  # fmt: skip
        records = [laboratory.svc(name, number) for number in numbers]
        lines.append([
            name, "SVC", spread(field(records, "accuracy")), mean(field(records, "support_vectors"), 0),
            mean(field(records, "seconds")), None,
        ])  # fmt: skip
    header = ["data", "method", "accuracy %", "groups, or support vectors", "training s", "worst gap"]
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)
