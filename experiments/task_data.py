"""Problems of several tasks: one that is drawn at random, and data sets read from a folder of files.

p300_muse
    ``p300_muse/p300_muse.csv.gz``: a header; the task, the recording, 70 columns ``TP9_t01``, ... and the label, 1 for
    the stimulus that the subject waits for and -1 for others. Epochs of 14 frames of 5 channels, from the recordings of
    the visual oddball in the history of github.com/alexandrebarachant/muse-lsl (commit 797d01c, data/visual/P300):
    band-pass 0.5 to 10 Hz, 0 to 667 ms after a stimulus. Tasks 1 to 3 are sessions of one subject, 4 is another one.
mfeat
    As views.py describes it; each digit against the others is a task, and all tasks have the same rows.
leukemia
    ``leukemia/leukemia_train.csv.gz`` and ``leukemia_test.csv.gz``: a header; the sample, 7129 columns of genes, and
    the label, 1 for ALL and -1 for AML. Golub et al. 1999, from github.com/tkhan11/Gene-Expression-Classification
    (commit e6a1d8b). One task.
"""

import csv
import dataclasses
import gzip
import pathlib

import numpy as np
import views

CHANNEL_ROWS = 180  # to train, of each task, as in the paper
ROWS_PER_DIGIT = 20
TEST_ROWS = 500  # of each task of `random_tasks`
MOST_VALIDATION_ROWS = 200


@dataclasses.dataclass(frozen=True)
class TaskProblem:
    """Rows of several tasks, the columns standardised by statistics of training rows.

    Attributes
    ----------
    train : list of ndarray
        Training rows of each task.
    train_labels : list of ndarray
        -1 and 1.
    test : ndarray
        Rows to test on.
    test_labels : ndarray
        -1 and 1; of mfeat the digits.
    test_tasks : ndarray of int
        The task of each test row; of mfeat, whose rows are of all tasks, empty.
    groups : dict of str to list of int
        Columns that belong together.
    relevant : int
        The classes differ in so many first columns; 0: nobody knows.
    held_out : ndarray of bool
        Test rows that choose C; empty: none.
    """

    train: list
    train_labels: list
    test: np.ndarray
    test_labels: np.ndarray
    test_tasks: np.ndarray
    groups: dict
    relevant: int = 0
    held_out: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, bool))


def standardize(train, *others):
    """All of them, by mean and deviation of the columns of the first."""
    deviation = train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return [(rows - train.mean(axis=0)) / deviation for rows in (train, *others)]


def _read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = csv.reader(file)
        names = next(lines)
        return names, np.array(list(lines), dtype=float)


def channels(folder, number, pooled=False):
    """Draw `number` of 180 training rows of each task of p300_muse, all others test.

    Every task is standardised by its own training rows, its test rows too; `pooled`: all are one task.
    """
    names, table = _read(pathlib.Path(folder) / "p300_muse" / "p300_muse.csv.gz")
    names, features, labels, tasks = names[2:-1], table[:, 2:-1], table[:, -1], table[:, 0].astype(int) - 1
    random = np.random.default_rng(number)
    orders = [random.permutation(np.flatnonzero(tasks == task)) for task in range(tasks.max() + 1)]
    train, test = [order[:CHANNEL_ROWS] for order in orders], [order[CHANNEL_ROWS:] for order in orders]
    tested = np.concatenate(test)
    if pooled:
        train = [np.concatenate(train)]
        test = [tested]
    pairs = [standardize(features[rows], features[others]) for rows, others in zip(train, test)]
    groups = {}
    for column, name in enumerate(names):
        groups.setdefault(name.split("_")[0], []).append(column)
    return TaskProblem(
        [pair[0] for pair in pairs], [labels[rows] for rows in train],
        np.vstack([pair[1] for pair in pairs]), labels[tested], tasks[tested], groups,
    )  # fmt: skip


def digits(folder, number):
    """Draw `number` of 20 training rows of each digit of mfeat, all others test."""
    data = views.read(folder, "mfeat")
    random = np.random.default_rng(number)
    features, groups = np.hstack(list(data.blocks.values())), {}
    for name, values in data.blocks.items():
        begin = sum(len(columns) for columns in groups.values())
        groups[name] = list(range(begin, begin + values.shape[1]))
    names = np.unique(data.labels)
    rows = np.concatenate([random.permutation(np.flatnonzero(data.labels == d))[:ROWS_PER_DIGIT] for d in names])
    others = np.setdiff1d(np.arange(len(features)), rows)
    train, test = standardize(features[rows], features[others])
    return TaskProblem(
        [train] * len(names), [np.where(data.labels[rows] == digit, 1.0, -1.0) for digit in names],
        test, data.labels[others], np.zeros(0, int), groups,
    )  # fmt: skip


def genes(folder):
    """The training and the test part of leukemia."""
    folder = pathlib.Path(folder) / "leukemia"
    (_, train), (_, test) = (_read(folder / f"leukemia_{part}.csv.gz") for part in ("train", "test"))
    features, others = standardize(train[:, 1:-1], test[:, 1:-1])
    return TaskProblem([features], [train[:, -1]], others, test[:, -1], np.zeros(len(others), int), {})


def random_tasks(rows, relevant, columns, tasks, separation, seed):
    """Tasks whose classes differ in the same first columns, but in each by a mean of its own.

    A row of task t with the label y has in the relevant columns the normal distribution with the mean s y mu_t and the
    covariance A_t A_t' / r, in the others the standard one; mu_t has the absolute values of one mu with entries -1 and
    1, and each sign is that of mu or the other with equal odds. Classes are balanced.
    """
    random = np.random.default_rng(seed)
    counts = rows, min(rows, MOST_VALIDATION_ROWS), TEST_ROWS
    common = random.choice([-1.0, 1.0], relevant)
    train, train_labels, test, test_labels = [], [], [], []
    for _ in range(tasks):
        mean = common * random.choice([-1.0, 1.0], relevant)
        factor = random.standard_normal((relevant, relevant)) / np.sqrt(relevant)
        parts, labels = [], []
        for count in counts:
            label = random.permutation(np.where(np.arange(count) % 2 == 0, 1.0, -1.0))
            part = random.standard_normal((count, columns))
            part[:, :relevant] = separation * label[:, None] * mean + part[:, :relevant] @ factor.T
            parts.append(part)
            labels.append(label)
        parts = standardize(*parts)
        train.append(parts[0])
        train_labels.append(labels[0])
        test.append(np.vstack(parts[1:]))
        test_labels.append(np.concatenate(labels[1:]))
    held_out = np.arange(counts[1] + counts[2]) < counts[1]
    return TaskProblem(
        train, train_labels, np.vstack(test), np.concatenate(test_labels),
        np.repeat(np.arange(tasks), len(held_out)), {}, relevant, np.tile(held_out, tasks),
    )  # fmt: skip
