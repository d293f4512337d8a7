"""500 groups, or as many pivots, on adult: all methods tuned by the same search, and several groups in a round."""

import math

from measurements import field, markdown, mean, spread, worst
from study_budgets import CANDIDATES, VARIANTS
from study_budgets import settings as fixed_settings
from study_pivots import PAPER as PAPER_OF_PIVOTS
from study_pivots import candidates as pivot_candidates

SETS = ("adult-documented",)
GROUPS = 500
SPLITS = 2
# The last fifth of so many training rows is held out.
SEARCHED_ROWS = 12_500
# With all 34,189 training rows lambda is 1 to 340.
PENALTIES_PER_ROW = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
# Those that were the best with 100 groups or pivots, of the bandwidths of one kernel and of csi's ridges.
SQUARED_BANDWIDTHS = (10.0, 15.0)
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3)
GAP = 1e-3
# Groups that enter in one round: where three methods are tuned, and where rounds are compared.
TUNED_ROUND = 5
ROUNDS = {1: "1", 5: "5", 10: "10", 0: "more as the model grows (default)"}
PAPER = {"GrFL": 85.24, "GrFL-M": 85.30, "CSI": PAPER_OF_PIVOTS["adult-documented"][500]}


def settings(squared_bandwidths, penalty_per_row):
    """As in study_budgets, but for lambda, which grows with the rows, and the groups of a round."""
    return {
        "lambda_per_row": penalty_per_row, "normalization": "none", "loss": "squared_hinge",
        "bandwidths": [math.sqrt(squared) for squared in squared_bandwidths], "candidates": CANDIDATES,
        "max_groups": GROUPS, "groups_per_round": TUNED_ROUND, "gap": GAP,
    }  # fmt: skip


def many_groups(laboratory, names, numbers):
    """A line for each data set and method."""
    numbers = numbers or range(SPLITS)
    one = [settings((squared,), penalty) for squared in SQUARED_BANDWIDTHS for penalty in PENALTIES_PER_ROW]
    several = [settings(VARIANTS["GrFL-M"][0], penalty) for penalty in PENALTIES_PER_ROW]
    pivots = [chosen for chosen in pivot_candidates(GROUPS)
              if chosen["squared_bandwidth"] in SQUARED_BANDWIDTHS and chosen["ridge"] in RIDGES]  # fmt: skip
    methods = {"GrFL": ("mercer", one), "GrFL-M": ("mercer", several), "CSI": ("csi", pivots)}
    lines = []
    for name in names or SETS:
        for title, (method, candidates) in methods.items():
            chosen = laboratory.chosen(method, name, candidates, SEARCHED_ROWS)
            records = [chosen and laboratory.training(method, name, number, chosen) for number in numbers]
            known = [record for record in records if record]
            lines.append([
                name, title, len(candidates), chosen and _words(chosen), len(known), PAPER[title],
                spread(field(known, "accuracy")), mean(field(known, "pivots" if title == "CSI" else "groups"), 0),
                mean(field(known, "seconds")), worst(field(known, "gap")),
            ])  # fmt: skip
    header = [
        "data", "method", "settings searched", "chosen", "splits", "paper, accuracy %", "accuracy %",
        "groups or pivots in use", "training s", "worst gap",
    ]  # fmt: skip
    return f"{GROUPS} groups or pivots, mean ± deviation over the splits:\n\n" + markdown(header, lines)


def groups_per_round(laboratory, names, numbers):
    """A line for each data set and number of groups that enter in one round, with the fixed settings."""
    lines = []
    for name in names or SETS:
        for count, words in ROUNDS.items():
            chosen = {**fixed_settings(GROUPS), "groups_per_round": count}
            records = [laboratory.mercer(name, number, chosen) for number in numbers or range(SPLITS)]
            known = [record for record in records if record]
            lines.append([
                name, words, len(known), spread(field(known, "accuracy")), mean(field(known, "groups"), 0),
                mean(field(known, "rounds"), 0), mean(field(known, "objective"), 2), mean(field(known, "seconds")),
                worst(field(known, "gap")),
            ])  # fmt: skip
    header = [
        "data", "groups per round", "splits", "accuracy %", "groups in use", "rounds", "objective", "training s",
        "worst gap",
    ]  # fmt: skip
    return f"{GROUPS} groups, mean ± deviation over the splits:\n\n" + markdown(header, lines)


def _words(chosen):
    if "ridge" in chosen:
        return f"bandwidth^2 {chosen['squared_bandwidth']:g}, ridge {chosen['ridge']:.0e}"
    squares = ", ".join(f"{width**2:g}" for width in chosen["bandwidths"])
    return f"bandwidth^2 {squares}; lambda / rows {chosen['lambda_per_row']:.0e}"
