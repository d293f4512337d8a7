"""Data sets with several descriptions of the same objects, read from a folder of files.

Each set has a folder of its name, and each description a file, with the same rows in the same order.

mfeat, proteinfold, leaves100
    ``mfeat/mfeat_fac.csv.gz``, ...: a header, then the numbers of a row and its label last. They are the views of
    ``Handwritten.mat``, ``ProteinFold.mat`` and ``100Leaves.mat`` of github.com/ChuanbinZhang/Multi-view-datasets
    (commit 03ead31); those of mfeat are also UCI's Multiple Features.
flowers17, caltech5, caltech101
    ``flowers17/colour.svm.gz``, ...: in LIBSVM's format the label and how often a row has each visual word, and
    ``index.csv.gz`` with a line for each row, whose columns ``split1``, ``split2``, ... say ``train``, ``test`` or
    ``unused``. The pictures are Oxford's 17 flowers (80 of each kind; 60 of them train) and Caltech-101 (30 of each
    category; 15 train; caltech5: 120 of each of five; 50 train). Words are the nearest of 200 or 300 means (k-means,
    without labels) of local descriptions: of caltech gradient-orientation histograms of 4 x 4 x 8 bins on a dense grid
    of pictures of 160 pixels, at two scales, on the channels that the names say; of flowers17 pixels in two colour
    spaces, answers of a filter bank, and such histograms on a fine and a coarse grid and at edges; hog is a histogram
    of 9 orientations in 8 x 8 cells. Any such histograms can take their place.
"""

import csv
import dataclasses
import gzip
import pathlib

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import additive_chi2_kernel


@dataclasses.dataclass(frozen=True)
class Views:
    """The descriptions of the same rows, their labels, and for each division which rows train and test.

    Attributes
    ----------
    blocks : dict of str to ndarray of shape (rows, columns)
    labels : ndarray of int
    histograms : bool
        The descriptions are shares that sum to 1, which the chi-square distance compares.
    divisions : list of (ndarray, ndarray)
        Numbers of the training rows and of the test rows.
    """

    blocks: dict
    labels: np.ndarray
    histograms: bool
    divisions: list


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the files are, and how random divisions are drawn where the files name none.

    Attributes
    ----------
    names : tuple of str
        Files of the folder, without their extension, one for each description.
    rows_per_class : int, optional
        Training rows of each class; all others test, or those that the files name.
    share : float, optional
        Or the share of all rows that trains.
    cost : float, optional
        C, where it is not chosen: too few training rows to hold some out, or 5050 pairs to train for each choice.
    folder : str, optional
        Where it has not the name of the data set.
    """

    names: tuple
    divisions: int
    histograms: bool = False
    rows_per_class: int | None = None
    share: float | None = None
    cost: float | None = None
    folder: str | None = None


_SIFTS = ("sift", "opponentsift", "rgsift", "csift", "transformedcolorsift")
SOURCES = {
    "caltech5": Source(_SIFTS, 10, histograms=True),
    "caltech5-few": Source(_SIFTS, 10, histograms=True, rows_per_class=5, cost=10.0, folder="caltech5"),
    "flowers17": Source(("colour", "shape", "texture", "hog", "hsv", "siftint", "siftbdy"), 3, histograms=True),
    "caltech101": Source(_SIFTS, 3, histograms=True, cost=10.0),
    "mfeat": Source(
        tuple(f"mfeat_{name}" for name in ("fac", "fou", "kar", "mor", "pix", "zer")), 5, rows_per_class=30
    ),
    "leaves100": Source(("view1", "view2", "view3"), 3, rows_per_class=8),
    "proteinfold": Source(tuple(f"view{number:02}" for number in range(1, 13)), 3, share=0.7),
}


def _read_csv(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        table = np.array(list(csv.reader(file))[1:], dtype=float)
    return table[:, :-1], table[:, -1].astype(int)


def _read_histograms(path):
    features, labels = load_svmlight_file(str(path))
    counts = features.toarray()
    return counts / counts.sum(axis=1, keepdims=True), labels.astype(int)


def _some_of_each_class(labels, rows, count, random):
    return np.sort(np.concatenate([
        random.permutation(of_class)[:count]
        for of_class in (rows[labels[rows] == label] for label in np.unique(labels))
    ]))  # fmt: skip


def _named_divisions(path, source, labels):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number in range(source.divisions):
        part = np.array([row[f"split{number + 1}"] for row in rows])
        train, test = np.flatnonzero(part == "train"), np.flatnonzero(part == "test")
        if source.rows_per_class is not None:
            train = _some_of_each_class(labels, train, source.rows_per_class, np.random.default_rng(number))
        yield train, test


def _random_division(labels, source, number):
    random = np.random.default_rng(number)
    if source.share is not None:
        order = random.permutation(len(labels))
        return tuple(np.sort(part) for part in np.split(order, [round(source.share * len(labels))]))
    train = _some_of_each_class(labels, np.arange(len(labels)), source.rows_per_class, random)
    return train, np.setdiff1d(np.arange(len(labels)), train)


def read(folder, name):
    """The data set of this name."""
    source = SOURCES[name]
    folder = pathlib.Path(folder) / (source.folder or name)
    blocks, labels = {}, None
    for block in source.names:
        blocks[block], labels = (
            _read_histograms(folder / f"{block}.svm.gz") if source.histograms else _read_csv(folder / f"{block}.csv.gz")
        )
    index = folder / "index.csv.gz"
    divisions = (
        list(_named_divisions(index, source, labels))
        if index.exists()
        else [_random_division(labels, source, number) for number in range(source.divisions)]
    )
    return Views(blocks, labels, source.histograms, divisions)


def prepared(views, train):
    """The descriptions as kernels read them: histograms as they are, others standardised on the training rows."""
    if views.histograms:
        return views.blocks
    result = {}
    for name, values in views.blocks.items():
        deviation = values[train].std(axis=0)
        result[name] = (values - values[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result


def distances(views, values):
    """Between all pairs of rows what the kernels divide by their widths: chi-square, or squared Euclidean."""
    if views.histograms:
        # That kernel is -sum (x - z)^2 / (x + z); the server's distance has the factor 1/2.
        return -0.5 * additive_chi2_kernel(values)
    return cdist(values, values, "sqeuclidean")


def mean_distance(views, rows):
    """Their mean over the pairs of different rows."""
    return float(distances(views, rows).sum() / (len(rows) * (len(rows) - 1)))
