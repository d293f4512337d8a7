"""The comparison of default kernels, on tiny data."""

import default_kernels
import numpy as np
import pytest
from experiments_lib import cells
from measurements import Measurements
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


@pytest.fixture
def folder(tmp_path):
    features, codes = load_iris(return_X_y=True)
    (tmp_path / "iris").mkdir()
    lines = ["a,b,c,d,label", *(",".join(map(str, [*row, code])) for row, code in zip(features, codes))]
    (tmp_path / "iris/iris.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_divisions_are_disjoint_and_targets_of_numbers_standardised():
    features, targets = default_kernels.MADE["friedman1"]()
    train, learned, test, asked = default_kernels.split(features, targets, True, 3, 200)
    assert train.shape == (140, 10) and test.shape == (60, 10)
    assert not set(map(tuple, train)) & set(map(tuple, test))
    assert learned.mean() == pytest.approx(0, abs=1e-12) and learned.std() == pytest.approx(1)
    assert asked.std() != pytest.approx(1, abs=1e-6)
    again = default_kernels.split(features, targets, True, 3, 200)
    np.testing.assert_array_equal(again[0], train)


def test_the_report_says_who_is_behind(client, folder):
    kept = Measurements()
    text = default_kernels.report(folder, ["iris", "friedman1"], 2, 90, ["svm"], client, kept)
    header, _, iris, made = cells(text)
    assert header[-2:] == ["scikit-learn", "svm"]
    assert [line[:5] for line in (iris, made)] == [
        ["iris", "accuracy", "90", "4", "2"],
        ["friedman1", "R2", "90", "10", "2"],
    ]
    scores = []
    for number in range(2):
        train, learned, test, asked = default_kernels.split(*default_kernels.read(folder, "iris"), False, number, 90)
        scores.append(100 * make_pipeline(StandardScaler(), SVC()).fit(train, learned).score(test, asked))
    assert float(iris[5]) == pytest.approx(np.mean(scores), abs=0.005)
    assert "svm: behind by more than 1 on " in text
    worse = {"set": "iris", "split": 0, "rows": 90, "method": "svm"}
    kept._found = {key: value - 20 if "iris" in key and '"svm"' in key else value for key, value in kept._found.items()}
    assert kept.get(worse) is not None
    assert "of 2 tables (iris" in default_kernels.report(folder, ["iris", "friedman1"], 2, 90, ["svm"], client, kept)
