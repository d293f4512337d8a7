"""Reads data sets from a folder of files, compressed or not, as their publishers give them."""

import dataclasses
import gzip
import pathlib
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_svmlight_file

from adult import read_adult
from two_scales import two_regions, two_scales


@dataclasses.dataclass(frozen=True)
class DataSet:
    """Features and labels: -1 and +1, or numbers of more classes."""

    name: str
    features: np.ndarray
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a data set is.

    Attributes
    ----------
    files : tuple of str
        Paths within the folder, without ``.gz``. ``.csv`` has a header and the label last; the others are in LIBSVM's
        format.
    columns : int
        Number of features.
    positive : float, optional
        The label that becomes +1; all others become -1. None: labels stay as they are.
    side_by_side : bool
        The files have the same rows, each with some of the features. False: their rows follow one another.
    words : bool
        The file is that of `adult.read_adult`.
    logarithm : bool
        Features x become log(1 + x).
    made : callable, optional
        Makes features and labels; then there are no files.
    """

    files: tuple
    columns: int
    positive: float | None = 1.0
    side_by_side: bool = False
    words: bool = False
    logarithm: bool = False
    made: Callable | None = None


SOURCES = {
    "svmguide1": Source(("svmguide1/svmguide1_train.svm", "svmguide1/svmguide1_test.svm"), 4),
    "mushrooms": Source(("mushrooms/mushrooms.svm",), 112),
    "magic": Source(("magic/magic.csv",), 10),
    "pokerhand": Source(("pokerhand/pokerhand.csv",), 10, positive=0.0),
    "cod-rna": Source(("cod-rna/cod-rna.svm",), 8),
    "adult": Source(("adult/adult14.csv",), 14),
    "ijcnn1": Source(("ijcnn1/ijcnn1_train.svm", "ijcnn1/ijcnn1_test.svm"), 22),
    # The same rows as adult, with the categories in another order.
    "adult-documented": Source(("adult/adult_raw.csv",), 14, words=True),
    "wine": Source(("wine/wine.csv",), 13, positive=None),
    "mfeat": Source(
        tuple(f"mfeat/mfeat_{part}.csv" for part in ("fac", "fou", "kar", "mor", "pix", "zer")),
        649, positive=None, side_by_side=True,
    ),
    "spambase": Source(("spambase/spambase.csv",), 57),
    "spambase-log": Source(("spambase/spambase.csv",), 57, logarithm=True),
    "two-scales": Source((), 2, made=two_scales),
    "two-regions": Source((), 2, made=two_regions),
}  # fmt: skip


def read(folder, name):
    """The data set `name` of SOURCES."""
    source = SOURCES[name]
    if source.made:
        return DataSet(name, *source.made())
    parts = [_read_file(pathlib.Path(folder) / file, source) for file in source.files]
    features = np.concatenate([part[0] for part in parts], axis=1 if source.side_by_side else 0)
    labels = parts[0][1] if source.side_by_side else np.concatenate([part[1] for part in parts])
    if features.shape[1] != source.columns:
        raise ValueError(f"{name} has {features.shape[1]} features; {source.columns} were expected")
    if source.positive is not None:
        labels = np.where(labels == source.positive, 1.0, -1.0)
    return DataSet(name, np.log1p(features) if source.logarithm else features, labels)


def _read_file(path, source):
    compressed = path.with_name(path.name + ".gz")
    with gzip.open(compressed, "rb") if compressed.exists() else path.open("rb") as stream:
        if source.words:
            return read_adult(stream)
        if path.suffix != ".csv":
            features, labels = load_svmlight_file(stream, n_features=source.columns)
            return features.toarray(), labels
        table = np.loadtxt(stream, delimiter=",", skiprows=1, ndmin=2)
    return table[:, :-1], table[:, -1]
