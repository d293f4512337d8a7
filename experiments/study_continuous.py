"""Fourier features of bandwidths drawn from a range, beside an SVC of one bandwidth (Figures 3 and 4)."""

from measurements import field, markdown, mean, spread, worst

SETS = ("spambase-log", "spambase")
SPLITS = 10
LAMBDAS = (10.0, 50.0)
# Of features that climb, which fit more closely at the same lambda.
ASCENT_LAMBDAS = (50.0, 100.0, 200.0)
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


def climbing(penalty):
    """6 directions for each of 10 bandwidths; the best one is moved uphill before it enters."""
    return settings(penalty) | {"bandwidths_per_round": 10, "candidates": 6, "ascent_steps": 20}


def continuous(laboratory, names, numbers):
    """A line for each data set and method."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or SETS:
        trainings = [(f"GrFL, lambda {penalty:g}", settings(penalty)) for penalty in LAMBDAS]
        trainings += [(f"GrFL that climbs, lambda {penalty:g}", climbing(penalty)) for penalty in ASCENT_LAMBDAS]
        for method, chosen in trainings:
            records = [laboratory.mercer(name, number, chosen) for number in numbers]
            lines.append([
                name, method, spread(field(records, "accuracy")),
                mean(field(records, "groups"), 0), mean(field(records, "seconds")), worst(field(records, "gap")),
            ])  # fmt: skip
        records = [laboratory.svc(name, number) for number in numbers]
        lines.append([
            name, "SVC", spread(field(records, "accuracy")), mean(field(records, "support_vectors"), 0),
            mean(field(records, "seconds")), None,
        ])  # fmt: skip
    header = ["data", "method", "accuracy %", "groups, or support vectors", "training s", "worst gap"]
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)
