"""A kernel of low rank on pivots chosen with the labels, CSI, beside learnt Fourier features (Table 4)."""

from measurements import field, markdown, mean, spread, worst
from significance import accuracy_differences, mean_difference, wilcoxon_p
from study_budgets import TUNED_GROUPS, VARIANTS, tuned_candidates
from study_budgets import settings as feature_settings

PIVOTS = {"adult-documented": (10, 50, 100, 500), "ijcnn1": (10, 50, 100)}
SPLITS = 10
SHARES = (0.1, 0.3, 0.5)
SHARE_PIVOTS = 100
FULL_SHARE = 0.7
SQUARED_BANDWIDTHS = (2.5, 5.0, 10.0, 15.0)
RIDGES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# The last fifth of at most so many training rows is held out.
SEARCHED_ROWS = 12_500
GAP = 1e-3
# The paper's accuracies of CSI, by pivots, and by share of the rows that is learnt from.
PAPER = {
    "adult-documented": {10: 83.38, 50: 84.58, 100: 84.84, 500: 85.04, 0.1: 84.54, 0.3: 84.72, 0.5: 84.74},
    "ijcnn1": {10: 91.03, 50: 92.19, 100: 93.29, 0.1: 93.38, 0.3: 93.23, 0.5: 93.32},
}


def candidates(pivots):
    """All bandwidths and ridges."""
    return [{"pivots": pivots, "squared_bandwidth": squared, "ridge": ridge, "gap": GAP}
            for squared in SQUARED_BANDWIDTHS for ridge in RIDGES]  # fmt: skip


def pivots(laboratory, names, numbers):
    """A line for each data set, number of pivots and share of the rows."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or PIVOTS:
        lines += [_line(laboratory, name, count, FULL_SHARE, count, numbers) for count in PIVOTS[name]]
        lines += [_line(laboratory, name, SHARE_PIVOTS, share, share, numbers) for share in SHARES]
    header = [
        "data", "pivots", "training share", "splits", "bandwidth^2, ridge", "paper's CSI, accuracy %", "accuracy %",
        "GrFL, as many groups, accuracy %", "above CSI", "Wilcoxon's p", "training s", "worst gap",
    ]  # fmt: skip
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)


def tuned_pivots(laboratory, names, numbers):
    """A line for each data set, number of groups and variant of the experiment `tuned`, beside as many pivots."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or PIVOTS:
        for count in TUNED_GROUPS:
            chosen = laboratory.chosen("csi", name, candidates(count), SEARCHED_ROWS)
            theirs = [chosen and laboratory.training("csi", name, number, chosen) for number in numbers]
            for variant in VARIANTS:
                chosen = laboratory.chosen("mercer", name, tuned_candidates(count, variant), None)
                ours = [chosen and laboratory.mercer(name, number, chosen) for number in numbers]
                differences = accuracy_differences(ours, theirs)
                lines.append([
                    name, count, variant, len(differences), spread(field(ours, "accuracy")),
                    spread(field(theirs, "accuracy")), mean_difference(differences), wilcoxon_p(differences),
                ])  # fmt: skip
    header = ["data", "groups, or pivots", "method", "splits", "accuracy %", "CSI's", "above CSI", "Wilcoxon's p"]
    return "All tuned, mean ± deviation over the splits:\n\n" + markdown(header, lines)


def _line(laboratory, name, count, share, of, numbers):
    chosen = laboratory.chosen("csi", name, candidates(count), SEARCHED_ROWS, share)
    records = [chosen and laboratory.training("csi", name, number, chosen, share) for number in numbers]
    known = [record for record in records if record]
    # Measured by the experiments of study_budgets.
    ours = [laboratory.mercer(name, number, feature_settings(count), share) for number in numbers]
    differences = accuracy_differences(ours, records)
    return [
        name, count, share, len(known), chosen and f"{chosen['squared_bandwidth']:g}, {chosen['ridge']:.0e}",
        PAPER.get(name, {}).get(of), spread(field(known, "accuracy")), spread(field(ours, "accuracy")),
        mean_difference(differences), wilcoxon_p(differences), mean(field(known, "seconds")),
        worst(field(known, "gap")),
    ]  # fmt: skip
