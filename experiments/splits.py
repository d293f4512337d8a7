"""Random divisions of a data set into rows to learn from and rows to test on."""

import dataclasses

import numpy as np

TRAINING_SHARE = 0.7


@dataclasses.dataclass(frozen=True)
class Split:
    """Division number `number` of the data set `name`."""

    name: str
    number: int
    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def make_split(data, number, share=TRAINING_SHARE):
    """This share of the rows, drawn with the seed `number`, to learn from; the others to test on."""
    order = np.random.default_rng(number).permutation(len(data.labels))
    count = round(share * len(order))
    first, rest = order[:count], order[count:]
    return Split(
        data.name, number, data.features[first], data.labels[first], data.features[rest], data.labels[rest]
    )  # fmt: skip


def first_rows(split, count):
    """The same test rows, and at most `count` training rows."""
    return dataclasses.replace(split, train=split.train[:count], train_labels=split.train_labels[:count])


def accuracy(predicted, labels):
    """In percent."""
    return 100.0 * float(np.mean(np.asarray(predicted) == labels))
