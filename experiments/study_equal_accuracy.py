"""Whole trainings against the Nystroem features and LinearSVC that reach the same accuracy."""

from measurements import markdown
from study_accuracy import settings

SETS = ("cod-rna", "ijcnn1")
LANDMARKS = (100, 200, 300, 400, 800, 1600)


def equal_accuracy(laboratory, names, numbers):
    """More landmarks for the features until they are as accurate as multiple kernel learning with 100."""
    rows = []
    for name in names or SETS:
        for number in numbers:
            rows += _compare(laboratory, name, number)
    header = ["data", "split", "method", "landmarks", "seconds", "accuracy %", "gap"]
    return "Whole trainings up to equal accuracy:\n\n" + markdown(header, rows)


def _compare(laboratory, name, number):
    ours = laboratory.mercer(name, number, settings())
    if ours is None:
        return []
    rows = [[name, number, "Mercer", 100, ours["seconds"], ours["accuracy"], f"{ours['gap']:.0e}"]]
    for landmarks in LANDMARKS:
        theirs = laboratory.nystroem(name, number, landmarks)
        if theirs is None:
            break
        rows.append([name, number, "Nystroem + LinearSVC", landmarks, theirs["seconds"], theirs["accuracy"], None])
        if theirs["accuracy"] >= ours["accuracy"]:
            break
    return rows
