"""Accuracy and time by where landmarks come from: all kernels together, each alone, or as factors of their own."""

from measurements import field, markdown, mean, spread
from study_accuracy import settings

SETS = ("svmguide1", "magic", "pokerhand", "adult")
LANDMARKS = (25, 100)
CHOICES = {
    "uniform": {},
    "k-means": {"landmark_selection": "k_means"},
    "leverage": {"landmark_selection": "leverage"},
    "pivots": {"landmark_selection": "pivoted_cholesky"},
    "leverage, each kernel": {"landmark_selection": "leverage", "own_landmarks": True},
    "pivoted Cholesky, each kernel": {"approximation": "pivoted_cholesky"},
}


def landmarks(laboratory, names, numbers):
    """A table of accuracies and seconds for each number of landmarks."""
    return "\n\n".join(_table(laboratory, names or SETS, numbers, count) for count in LANDMARKS)


def _table(laboratory, names, numbers, count):
    rows = []
    for name in names:
        trained = {title: [laboratory.mercer(name, number, {**settings(1.1, count), **choice}) for number in numbers]
                   for title, choice in CHOICES.items()}  # fmt: skip
        rows.append([name, *(_cell(records) for records in trained.values())])
    title = f"Accuracy in %, mean ± deviation, and training seconds: p = 1.1, 20 kernels, N = {count}\n\n"
    return title + markdown(["data", *CHOICES], rows)


def _cell(records):
    accuracy, seconds = spread(field(records, "accuracy")), mean(field(records, "seconds"))
    return None if accuracy is None else f"{accuracy}; {seconds} s"
