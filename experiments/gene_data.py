"""The gene expressions of the experiments on coordinate gradients, and the rings that they draw.

The folder of the data has

leukemia
    ``leukemia/leukemia_train.csv.gz`` and ``leukemia_test.csv.gz``: a header; the sample, 7129 columns of genes, and
    the class, 1 or -1: 38 and 34 rows (Golub et al., Science 1999).
prostate
    ``prostate/prostate_train.csv.gz`` and ``prostate_test.csv.gz``: a header; 12600 columns of genes and the class:
    102 rows, and 34 of another experiment (Singh et al., Cancer Cell 2002).
"""

import dataclasses
import pathlib

import numpy as np
import pandas as pd

# How many of the first columns of a ranking are tried: the rows of the paper's tables.
COUNTS = {
    "leukemia": (1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 7129),
    "prostate": (1, 2, 3, 4, 5, 6, 13, 25, 50, 99, 197, 394, 788, 1575, 3150, 6300, 12600),
}
TEST_FACTOR = 0.12  # of prostate, whose test part is about ten times brighter


@dataclasses.dataclass(frozen=True)
class Genes:
    """Standardised rows to train and to test, rows x genes, classes -1 and 1, and the names of the genes."""

    train: np.ndarray
    train_classes: np.ndarray
    test: np.ndarray
    test_classes: np.ndarray
    names: list[str]


def _part(folder, name, part):
    frame = pd.read_csv(pathlib.Path(folder) / name / f"{name}_{part}.csv.gz")
    genes = frame.drop(columns=["label", "sample"], errors="ignore")
    return genes.to_numpy(float), frame["label"].to_numpy(int), list(genes.columns)


def _standardised(values, by):
    deviation = by.std(axis=0)
    return (values - by.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def read(folder, name):
    """A data set, prepared as the tables say.

    leukemia: every gene by the mean and the deviation of the training rows. prostate: values (of the test part times
    0.12) kept within 16 .. 16000, their logarithms, every row and then every gene of each part by its own mean and
    deviation.
    """
    (train, train_classes, names), (test, test_classes, _) = (_part(folder, name, part) for part in ("train", "test"))
    if name == "prostate":
        logs = [np.log10(np.clip(values, 16, 16000)) for values in (train, TEST_FACTOR * test)]
        rows = [_standardised(values.T, values.T).T for values in logs]
        train, test = (_standardised(values, values) for values in rows)
    else:
        train, test = _standardised(train, train), _standardised(test, train)
    return Genes(train, train_classes, test, test_classes, names)


def draw_ring(seed, rows=60, noise_columns=20):
    """A disc in a ring in the first two columns, and columns of small noise; half of the rows are of each class."""
    random = np.random.default_rng(seed)
    inner = np.arange(rows) % 2 == 0
    radius = np.where(inner, random.uniform(0, 0.8, rows), random.uniform(1.2, 2, rows))
    angle = random.uniform(0, 2 * np.pi, rows)
    noise = 0.1 * random.normal(size=(rows, noise_columns))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), noise]), np.where(inner, 1, -1)
