"""Reads data sets of two classes from a folder of files, compressed or not, as their publishers give them."""

import dataclasses
import gzip
import pathlib

import numpy as np
from sklearn.datasets import load_svmlight_file


@dataclasses.dataclass(frozen=True)
class DataSet:
    """Features and labels -1 and +1."""

    name: str
    features: np.ndarray
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a data set is.

    Attributes
    ----------
    files : tuple of str
        Paths within the folder, without ``.gz``; their rows follow one another. ``.csv`` has a header and the label
        last; the others are in LIBSVM's format.
    columns : int
        Number of features.
    positive : float
        The label that becomes +1; all others become -1.
    """

    files: tuple
    columns: int
    positive: float = 1.0


SOURCES = {
    "svmguide1": Source(("svmguide1/svmguide1_train.svm", "svmguide1/svmguide1_test.svm"), 4),
    "mushrooms": Source(("mushrooms/mushrooms.svm",), 112),
    "magic": Source(("magic/magic.csv",), 10),
    "pokerhand": Source(("pokerhand/pokerhand.csv",), 10, positive=0.0),
    "cod-rna": Source(("cod-rna/cod-rna.svm",), 8),
    "adult": Source(("adult/adult14.csv",), 14),
    "ijcnn1": Source(("ijcnn1/ijcnn1_train.svm", "ijcnn1/ijcnn1_test.svm"), 22),
}


def read(folder, name):
    """The data set `name` of SOURCES."""
    source = SOURCES[name]
    parts = [_read_file(pathlib.Path(folder), file, source.columns) for file in source.files]
    features = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    return DataSet(name, features, np.where(labels == source.positive, 1.0, -1.0))


def _read_file(folder, file, columns):
    compressed = folder / (file + ".gz")
    path = compressed if compressed.exists() else folder / file
    with (gzip.open if path == compressed else open)(path, "rb") as stream:
        if not file.endswith(".csv"):
            features, labels = load_svmlight_file(stream, n_features=columns)
            return features.toarray(), labels
        table = np.loadtxt(stream, delimiter=",", skiprows=1, ndmin=2)
    if table.shape[1] != columns + 1:
        raise ValueError(f"{path} has {table.shape[1]} columns; {columns} features and a label were expected")
    return table[:, :columns], table[:, columns]
