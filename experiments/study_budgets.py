"""Accuracy against the number of groups of Fourier features and the share of the rows that is learnt from (Table 4)."""

import math

from measurements import field, markdown, mean, spread, worst
from significance import accuracy_differences, mean_difference, wilcoxon_p

GROUPS = {"adult-documented": (10, 50, 100, 500), "ijcnn1": (10, 50, 100)}
SPLITS = 10
SHARES = (0.1, 0.3, 0.5)
SHARE_GROUPS = 100
GAP = 1e-3
# Squared bandwidths of the Gaussian kernel and lambda: one kernel, and several.
VARIANTS = {"GrFL": ((15.0,), 10.0), "GrFL-M": ((2.5, 5.0, 10.0, 15.0), 100.0)}
CANDIDATES = 50
# What is searched where both variants are tuned: GrFL has one of the bandwidths of GrFL-M.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
TUNED_GROUPS = (10, 50, 100)
# The paper's accuracies, by groups, and by share of the rows that is learnt from.
PAPER = {
    ("adult-documented", "GrFL"): {10: 83.82, 50: 84.76, 100: 84.98, 500: 85.24, 0.1: 84.23, 0.3: 84.78, 0.5: 84.91},
    ("adult-documented", "GrFL-M"): {10: 83.77, 50: 84.86, 100: 85.00, 500: 85.30, 0.1: 84.34, 0.3: 84.87, 0.5: 84.95},
    ("ijcnn1", "GrFL"): {10: 92.06, 50: 97.05, 100: 97.97, 0.1: 96.27, 0.3: 97.40, 0.5: 97.75},
    ("ijcnn1", "GrFL-M"): {10: 91.96, 50: 96.97, 100: 98.02, 0.1: 96.67, 0.3: 97.77, 0.5: 97.96},
}


def settings(groups, variant="GrFL"):
    """Of a training with the bandwidths and the lambda of a variant."""
    return settings_of(groups, *VARIANTS[variant])


def settings_of(groups, squared_bandwidths, penalty):
    """Features as they are, cos and sin of each direction together."""
    return {
        "lambda": penalty, "lambda_unit": "absolute", "normalization": "none", "loss": "squared_hinge",
        "bandwidths": [math.sqrt(squared) for squared in squared_bandwidths], "candidates": CANDIDATES,
        "max_groups": groups, "groups_per_round": 1, "gap": GAP,
    }  # fmt: skip


def budgets(laboratory, names, numbers):
    """A line for each data set, number of groups and variant."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or GROUPS:
        for groups in GROUPS[name]:
            for variant in VARIANTS:
                records = [laboratory.mercer(name, number, settings(groups, variant)) for number in numbers]
                lines.append(_line(name, groups, variant, records))
    return "Mean ± deviation over the splits:\n\n" + _table("groups", lines)


def shares(laboratory, names, numbers):
    """A line for each data set, share of the rows and variant."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or GROUPS:
        for share in SHARES:
            for variant in VARIANTS:
                chosen = settings(SHARE_GROUPS, variant)
                records = [laboratory.mercer(name, number, chosen, share) for number in numbers]
                lines.append(_line(name, share, variant, records))
    return f"With {SHARE_GROUPS} groups, mean ± deviation over the splits:\n\n" + _table("training share", lines)


def tuned(laboratory, names, numbers):
    """A line for each data set, number of groups and variant, both tuned by the same search.

    On the held-out part of the training rows of the first division: lambda of both, and of GrFL the bandwidth.
    """
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or GROUPS:
        for groups in TUNED_GROUPS:
            of_one = None  # records of GrFL
            for variant in VARIANTS:
                candidates = tuned_candidates(groups, variant)
                chosen = laboratory.chosen("mercer", name, candidates, None)
                if chosen is None:
                    continue
                found = [laboratory.mercer(name, number, chosen) for number in numbers]
                differences = accuracy_differences(found, of_one) if of_one else ()
                of_one = of_one or found
                records = [record for record in found if record]
                squares = ", ".join(f"{width**2:g}" for width in chosen["bandwidths"])
                lines.append([
                    name, groups, variant, len(candidates), squares, f"{chosen['lambda']:g}", len(records),
                    spread(field(records, "accuracy")), mean_difference(differences), wilcoxon_p(differences),
                    mean(field(records, "groups"), 0), mean(field(records, "seconds")), worst(field(records, "gap")),
                ])  # fmt: skip
    header = [
        "data", "groups", "method", "settings searched", "bandwidth^2", "lambda", "splits", "accuracy %", "above GrFL",
        "Wilcoxon's p", "groups in use", "training s", "worst gap",
    ]  # fmt: skip
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)


def tuned_candidates(groups, variant):
    """One of the bandwidths, or all of them, and one of the lambdas."""
    several = VARIANTS["GrFL-M"][0]
    choices = [several] if variant == "GrFL-M" else [(squared,) for squared in several]
    return [settings_of(groups, squares, penalty) for squares in choices for penalty in PENALTIES]


def _line(name, of, variant, records):
    known = [record for record in records if record]
    return [
        name, of, variant, next((record["rows"] for record in known), None), len(known),
        PAPER[name, variant].get(of), spread(field(known, "accuracy")), mean(field(known, "groups"), 0),
        mean(field(known, "seconds")), mean(field(known, "wall_seconds")), worst(field(known, "gap")),
        mean([record["memory_estimate"] / 2**20 for record in known], 0),
    ]  # fmt: skip


def _table(what, lines):
    header = [
        "data", what, "method", "training rows", "splits", "paper, accuracy %", "accuracy %", "groups in use",
        "training s", "with verification s", "worst gap", "memory estimate, MiB",
    ]  # fmt: skip
    return markdown(header, lines)
