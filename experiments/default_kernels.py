#!/usr/bin/env python3
"""Mercer's default kernels beside scikit-learn's SVC and SVR with their defaults, on public and made-up tables.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/default_kernels.py DATA --results results.jsonl

DATA is a folder with the files of TABLES, compressed or not. Every learner sees standardised columns; the targets of
regressions are standardised by this program. Differences are in points of accuracy (of R2 times 100 for numbers), a
mean over the divisions of a table with its standard error; a division draws at most --rows rows at random and learns
from 70 % of them. Every measurement is written to the file of --results at once, and one that stands there is not
made again.
"""

import argparse
import dataclasses
import functools
import gzip
import pathlib

import mercer
import numpy as np
from mercer.estimators import KernelSVC, KernelSVR, LpMKLClassifier, LpMKLRegressor
from sklearn.datasets import load_svmlight_file, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from measurements import Measurements, markdown

TEST_SHARE = 0.3
SMALL_ROWS, MANY_SPLITS, FEW_SPLITS = 900, 20, 8  # tables of few rows have more divisions, as they vary more
ALLOWED_POINTS = 1.0
MADE_ROWS = 2000


@dataclasses.dataclass(frozen=True)
class Table:
    """A data set: files without ``.gz``; ``.csv`` with a header and the target last, others in LIBSVM's format."""

    files: tuple
    regression: bool = False
    columns: int | None = None  # of LIBSVM's format
    side_by_side: bool = False  # the files have the same rows; otherwise their rows follow one another
    dropped: int = 0  # first columns that are no features


def _mfeat(part):
    return Table((f"mfeat/mfeat_{part}.csv",))


TABLES = {
    "dna": Table(("dna/dna.csv",)),
    "mushrooms": Table(("mushrooms/mushrooms.svm",), columns=112),
    "a9a": Table(("adult/a9a_train.svm",), columns=123),
    "adult14": Table(("adult/adult14.csv",)),
    "ijcnn1": Table(("ijcnn1/ijcnn1_train.svm",), columns=22),
    "spambase": Table(("spambase/spambase.csv",)),
    "wine": Table(("wine/wine.csv",)),
    "svmguide1": Table(("svmguide1/svmguide1_train.svm",), columns=4),
    "magic": Table(("magic/magic.csv",)),
    "pokerhand": Table(("pokerhand/pokerhand.csv",)),
    "cod-rna": Table(("cod-rna/cod-rna.svm",), columns=8),
    "leukemia": Table(("leukemia/leukemia_train.csv", "leukemia/leukemia_test.csv"), dropped=1),
    "prostate": Table(("prostate/prostate_train.csv",)),
    "p300_muse": Table(("p300_muse/p300_muse.csv",)),
    "proteinfold": Table(tuple(f"proteinfold/view{v:02}.csv" for v in range(1, 13)), side_by_side=True),
    "leaves100": Table(tuple(f"leaves100/view{v}.csv" for v in range(1, 4)), side_by_side=True),
    "breast_cancer": Table(("breast_cancer/breast_cancer.csv",)),
    "digits": Table(("digits/digits.csv",)),
    "glass": Table(("glass/glass.csv",)),
    "ionosphere": Table(("ionosphere/ionosphere.csv",)),
    "iris": Table(("iris/iris.csv",)),
    "letter": Table(("letter/letter.csv",)),
    "musk": Table(("musk/musk.csv",)),
    "pima": Table(("pima/pima.csv",)),
    "satimage": Table(("satimage/satimage.csv",)),
    "shuttle": Table(("shuttle/shuttle.csv",)),
    "sonar": Table(("sonar/sonar.csv",)),
    "vehicle": Table(("vehicle/vehicle.csv",)),
    "vowel": Table(("vowel/vowel.csv",)),
    "flowers17 colour": Table(("flowers17/colour.svm",), columns=200),
    "caltech5 sift": Table(("caltech5/sift.svm",), columns=300),
    "mfeat fac": _mfeat("fac"),
    "mfeat fou": _mfeat("fou"),
    "mfeat kar": _mfeat("kar"),
    "mfeat mor": _mfeat("mor"),
    "mfeat pix": _mfeat("pix"),
    "mfeat zer": _mfeat("zer"),
    "diabetes": Table(("diabetes/diabetes.csv",), regression=True),
    "abalone": Table(("abalone/abalone.csv",), regression=True),
    "cpusmall": Table(("cpusmall/cpusmall.csv",), regression=True),
}


def robot_arm(rows, noise):
    """Angles of eight joints, and how far the end of the arm is from a point, as in the family of tables kin8."""
    random = np.random.default_rng(0)
    angles = random.uniform(-np.pi / 2, np.pi / 2, (rows, 8))
    turned, end = np.tile(np.eye(3), (rows, 1, 1)), np.zeros((rows, 3))
    for joint in range(8):
        cosine, sine = np.cos(angles[:, joint]), np.sin(angles[:, joint])
        other = 1 if joint % 2 == 0 else 2  # joints turn about two axes in turn
        rotation = np.tile(np.eye(3), (rows, 1, 1))
        rotation[:, 0, 0] = rotation[:, other, other] = cosine
        rotation[:, other, 0], rotation[:, 0, other] = sine, -sine
        turned = turned @ rotation
        end += 0.2 * turned[:, :, 0]
    distances = np.linalg.norm(end - 0.1, axis=1)
    return angles, distances + noise * distances.std() * random.standard_normal(rows)


MADE = {
    "arm, noise 0.1": lambda: robot_arm(MADE_ROWS, 0.1),
    "arm, noise 0.35": lambda: robot_arm(MADE_ROWS, 0.35),
    "friedman1": lambda: make_friedman1(MADE_ROWS, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(MADE_ROWS, noise=50.0, random_state=0),
    "friedman3": lambda: make_friedman3(MADE_ROWS, noise=0.1, random_state=0),
}  # numbers, all of them

# What is compared with scikit-learn: for classes, for numbers, and with which parameters other than the defaults.
METHODS = {
    "svm": (KernelSVC, KernelSVR, {}),
    "lp_mkl": (LpMKLClassifier, LpMKLRegressor, {}),
    "svm, median alone": (KernelSVC, KernelSVR, {"kernels": "gaussian median"}),
    "svm, median alone, C = 10": (KernelSVC, KernelSVR, {"kernels": "gaussian median", "C": 10.0}),
    "svm, half the median": (KernelSVC, KernelSVR, {"kernels": "gaussian median=0.5"}),
}
# Measured only where they are asked for: of columns of 0 and 1, and of several classes, which SVC learns in pairs.
OTHER_METHODS = {
    "svm, columns as they are": (KernelSVC, KernelSVR, {"scaling": "none"}),
    "svm, one against one": (KernelSVC, None, {"coding": "one_vs_one"}),
}


def _read_file(path, table):
    path = path if path.exists() else path.with_name(path.name + ".gz")
    if ".svm" in path.name:
        features, target = load_svmlight_file(str(path), n_features=table.columns)
        return features.toarray(), target
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        rows = [line.rstrip("\n").split(",") for line in file]
    # A column beside the features that says where a row comes from is none of them.
    kept = [i for i, name in enumerate(names[:-1]) if i >= table.dropped and name not in ("task", "recording")]
    cells = np.array(rows)
    return cells[:, kept].astype(float), cells[:, -1].astype(float)


def read(folder, name):
    """Features and targets."""
    if name in MADE:
        return MADE[name]()
    table = TABLES[name]
    parts = [_read_file(pathlib.Path(folder) / file, table) for file in table.files]
    if table.side_by_side:
        return np.hstack([features for features, _ in parts]), parts[0][1]
    return np.vstack([features for features, _ in parts]), np.concatenate([target for _, target in parts])


def split(features, targets, regression, number, rows):
    """Training and test part of division `number`; the targets of a regression are standardised."""
    chosen = np.random.default_rng(number).permutation(len(targets))[:rows]
    counts = np.unique(targets[chosen], return_counts=True)[1]
    strata = None if regression or counts.min() < 2 else targets[chosen]
    first, rest = train_test_split(chosen, test_size=TEST_SHARE, random_state=number, stratify=strata)
    learned, asked = targets[first], targets[rest]
    if regression:
        mean, deviation = learned.mean(), learned.std()
        learned, asked = (learned - mean) / deviation, (asked - mean) / deviation
    return features[first], learned, features[rest], asked


def _score(estimator, part):
    train, learned, test, asked = part
    return 100.0 * estimator.fit(train, learned).score(test, asked)


def compare(folder, name, numbers, rows, methods, client, measurements):
    """Scores of scikit-learn, and for each method the differences from them, in points."""
    regression = name in MADE or TABLES[name].regression
    features, targets = read(folder, name)
    many = min(len(targets), rows) < SMALL_ROWS
    theirs, ours = [], {method: [] for method in methods}
    for number in range(numbers or (MANY_SPLITS if many else FEW_SPLITS)):
        part = split(features, targets, regression, number, rows)
        key = {"set": name, "split": number, "rows": rows}
        peer = make_pipeline(StandardScaler(), SVR() if regression else SVC())
        theirs.append(measurements.measure({**key, "method": "scikit-learn"}, functools.partial(_score, peer, part)))
        for method in methods:
            *kinds, changed = (METHODS | OTHER_METHODS)[method]
            estimator = kinds[int(regression)](**changed, server=client)
            found = measurements.measure({**key, "method": method}, functools.partial(_score, estimator, part))
            ours[method].append(found - theirs[-1])
    return features.shape, regression, theirs, ours


def _difference(values):
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.2f} ± {error:.2f}"


def report(folder, names, numbers, rows, methods, client, measurements):
    """The table, and who is behind by more than a point."""
    lines, behind = [], {method: [] for method in methods}
    for name in names:
        (count, columns), regression, theirs, ours = compare(
            folder, name, numbers, rows, methods, client, measurements
        )  # fmt: skip
        lines.append(
            [name, "R2" if regression else "accuracy", min(count, rows), columns, len(theirs), f"{np.mean(theirs):.2f}"]
            + [_difference(ours[method]) for method in methods]
        )
        for method in methods:
            if np.mean(ours[method]) < -ALLOWED_POINTS:
                behind[method].append(name)
    header = ["data", "score", "rows", "columns", "divisions", "scikit-learn", *methods]
    said = [
        f"{method}: behind by more than {ALLOWED_POINTS:g} on {len(found)} of {len(names)} tables"
        + (f" ({', '.join(found)})" if found else "")
        for method, found in behind.items()
    ]
    return markdown(header, lines) + "\n\n" + "\n".join(said)


def main():
    """Reads the command line and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="folder of the data sets")
    every = [*TABLES, *MADE]
    parser.add_argument("--sets", nargs="+", choices=every, default=every, metavar="SET")
    parser.add_argument("--splits", type=int, help="divisions of each table")
    parser.add_argument("--rows", type=int, default=1000, help="the most rows of a division")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS | OTHER_METHODS, default=list(METHODS), metavar="METHOD"
    )
    parser.add_argument("--server", help="address; a server is started when absent")
    parser.add_argument("--results", help="file of the measurements")
    a = parser.parse_args()
    with mercer.connect(a.server) if a.server else mercer.local() as client:
        print(report(a.data, a.sets, a.splits, a.rows, a.methods, client, Measurements(a.results)))


if __name__ == "__main__":
    main()
