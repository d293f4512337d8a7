"""Fourier features that are learnt, beside as many that are drawn and as many of landmarks."""

from measurements import field, markdown, mean, spread
from study_budgets import settings

SETS = ("ijcnn1", "adult-documented")
GROUPS = (10, 50, 100)
COLUMNS_PER_GROUP = 2
SPLITS = 3
KINDS = {"nystroem": "Nystroem + LinearSVC", "fourier": "RBFSampler + LinearSVC"}
# Columns of the baselines until they are as accurate as the learnt features.
MORE_COLUMNS = (100, 200, 300, 400, 600, 800, 1200, 1600)


def equal_budgets(laboratory, names, numbers):
    """Accuracy and seconds at the same numbers of columns."""
    numbers = numbers or range(SPLITS)
    lines = []
    for name in names or SETS:
        for groups in GROUPS:
            columns = groups * COLUMNS_PER_GROUP
            ours = [laboratory.mercer(name, number, settings(groups)) for number in numbers]
            lines.append(_line(name, columns, "GrFL", ours))
            for kind, title in KINDS.items():
                theirs = [laboratory.linear(kind, name, number, columns) for number in numbers]
                lines.append(_line(name, columns, title, theirs))
    return "Equal columns:\n\n" + markdown(["data", "columns", "method", "accuracy %", "training s"], lines)


def equal_accuracies(laboratory, names, numbers):
    """More columns for the baselines until they are as accurate as the learnt features, on each split alone."""
    lines = []
    for name in names or SETS:
        for number in numbers or range(1):
            for groups in GROUPS[1:]:
                lines += _reach(laboratory, name, number, groups)
    header = ["data", "split", "method", "columns", "accuracy %", "training s"]
    return "Whole trainings up to equal accuracy:\n\n" + markdown(header, lines)


def _line(name, columns, method, records):
    return [name, columns, method, spread(field(records, "accuracy")), mean(field(records, "seconds"))]


def _reach(laboratory, name, number, groups):
    ours = laboratory.mercer(name, number, settings(groups))
    if ours is None:
        return []
    lines = [[name, number, "GrFL", groups * COLUMNS_PER_GROUP, ours["accuracy"], ours["seconds"]]]
    for kind, title in KINDS.items():
        for columns in MORE_COLUMNS:
            theirs = laboratory.linear(kind, name, number, columns)
            if theirs is None:
                break
            lines.append([name, number, title, columns, theirs["accuracy"], theirs["seconds"]])
            if theirs["accuracy"] >= ours["accuracy"]:
                break
    return lines
