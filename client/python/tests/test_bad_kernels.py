"""What is wrong with matrices and groups of kernels is said with the kernel, its group, row and column."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVC

from mercer.estimators import MixedNormMKLClassifier

TEXTS = ["precomputed name=shape group=forms", "precomputed name=hue group=colours", "distance median group=places"]


@pytest.fixture(scope="module")
def clouds():
    """Two kernels and distances of 60 rows, of 15 new ones with them, and labels of two classes."""
    random = np.random.default_rng(2)
    x, new = random.normal(size=(60, 4)), random.normal(size=(15, 4))

    def of(rows):
        return [rows @ x.T, rbf_kernel(rows, x, gamma=0.3), euclidean_distances(rows, x) ** 2]

    return of(x), of(new), np.where(x[:, 0] + x[:, 1] ** 2 > 0.7, "up", "down")


def changed(matrices, place, row, column, value):
    copies = [np.array(matrix) for matrix in matrices]
    copies[place][row, column] = value
    return copies


def fitted(matrices, labels, kernels=None, **parameters):
    return MixedNormMKLClassifier(kernels=kernels or TEXTS, **parameters).fit(matrices, labels)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("place", "who"), [(1, r"kernels\[1\] 'hue' of group 'colours'"), (2, r"kernels\[2\] of group 'places'")]
)
def test_values_that_are_no_numbers(clouds, place, who, value):
    matrices, new, labels = clouds
    with pytest.raises(ValueError, match=rf"{who}: row 12, column 4 is {value}; .* no NaN and no inf"):
        fitted(changed(matrices, place, 11, 3, value), labels)
    with pytest.raises(ValueError, match=rf"{who}: row 3, column 4 is {value}"):
        fitted(matrices, labels).predict(changed(new, place, 2, 3, value))


def test_asymmetric_and_ragged_matrices(clouds):
    matrices, _, labels = clouds
    with pytest.raises(ValueError, match=r"kernels\[1\] 'hue' of group 'colours'.*not symmetric: row 4, column 12"):
        fitted(changed(matrices, 1, 11, 3, 9.0), labels)
    with pytest.raises(ValueError, match=r"X\[0\] has \(60, 60\), X\[2\] has \(60, 59\)"):
        fitted([*matrices[:2], matrices[2][:, :59]], labels)
    ragged = matrices[2].tolist()
    ragged[7].pop()
    with pytest.raises(ValueError, match=r"X\[2\] is no matrix: its rows have different lengths"):
        fitted([*matrices[:2], ragged], labels)


def test_indefinite_matrices(clouds):
    matrices, _, labels = clouds
    bad = [matrices[0], matrices[1] - 0.5 * np.eye(60), matrices[2]]
    with pytest.raises(ValueError, match=r"kernels\[1\] 'hue' of group 'colours': .*an eigenvalue of -0") as failed:
        fitted(bad, labels, C=100.0)
    assert "see the argument square_repair" in str(failed.value)
    with pytest.raises(ValueError, match="block 'kernel1' is not positive semidefinite: .* the smallest is -0"):
        fitted(bad, labels, square_repair="check")
    repaired = fitted(bad, labels, square_repair="shift")
    table = repaired.model_.model_tables["square_repairs"]
    assert list(table.rows) == ["kernel1"]
    assert table.values[0, 0] == pytest.approx(np.linalg.eigvalsh(bad[1])[0])


def test_new_rows_that_lack_something(clouds):
    matrices, new, labels = clouds
    model = fitted(matrices, labels)
    with pytest.raises(ValueError, match="X has 2 matrices, fit saw 3"):
        model.predict(new[:2])
    with pytest.raises(ValueError, match="59 features, but MixedNormMKLClassifier is expecting 60"):
        model.predict([matrix[:, :59] for matrix in new])


def test_groups(clouds):
    matrices, new, labels = clouds
    with pytest.raises(ValueError, match="group: is given twice"):
        fitted(matrices, labels, ["precomputed group=a group=b", *TEXTS[1:]])
    for bad, why in [("x" * 101, "has 101 bytes, may have 100"), (" ", "blanks"), ("a\tb", "control characters")]:
        with pytest.raises(ValueError, match=why):
            fitted(matrices, labels, [TEXTS[0], f'precomputed group="{bad}"', TEXTS[2]])
    names = ["Größe", "größe", "x" * 100]
    model = fitted(matrices, labels, [f"{text.split()[0]} group={name}" for text, name in zip(TEXTS, names)])
    assert model.model_.kernel_groups == tuple(names)
    assert list(model.model_.model_tables["kernel_groups"].rows) == names
    assert set(model.predict(new)) <= {"up", "down"}
    with pytest.raises(ValueError, match="every kernel of the group .colours. is 0"):
        fitted([matrices[0], np.zeros((60, 60)), matrices[2]], labels)


@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one"])
def test_a_class_of_one_row(clouds, coding):
    matrices, new, labels = clouds
    three = np.array(labels, dtype=object)
    three[8] = "alone"
    model = fitted(matrices, three, coding=coding, C=100.0)
    assert model.predict(matrices)[8] == "alone"
    assert len(model.predict(new)) == 15


def test_one_kernel_is_the_plain_machine(clouds):
    matrices, new, labels = clouds
    ours = MixedNormMKLClassifier(C=3.0, kernels="precomputed", tol=1e-8).fit(matrices[1], labels)
    theirs = SVC(C=3.0, kernel="precomputed", tol=1e-8).fit(matrices[1], labels)
    np.testing.assert_allclose(ours.decision_function(new[1]), theirs.decision_function(new[1]), atol=2e-4)
