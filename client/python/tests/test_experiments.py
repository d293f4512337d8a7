"""What all experiments read, divide, keep and print, and those on kernels of low rank, on tiny data."""

import dataclasses
import gzip

import data_sets
import gaussian_factors
import numpy as np
import pytest
import splitting
import study_accuracy
import study_equal_accuracy
import study_perturbation
import study_smo_mkl
import study_solvers
import study_stopping
from experiments_lib import cells
from kernel_laboratory import KernelLaboratory
from measurements import Measurements, markdown, spread
from sklearn.svm import SVC
from splits import accuracy, first_rows, make_split

ALL_METHODS = ("mercer", "svc", "nystroem")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of two sets: a table of 150 rows, and two files of LIBSVM's format."""
    path = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(5)
    features = random.normal(size=(150, 10))
    features[:, 0] *= 10
    labels = np.where(features[:, 0] > 0, 1, -1)
    features[:, 1] += 3 * labels
    (path / "magic").mkdir()
    with gzip.open(path / "magic/magic.csv.gz", "wt") as file:
        rows = np.column_stack([features, labels])
        np.savetxt(file, rows, delimiter=",", header="a,b,c,d,e,f,g,h,i,j,label", comments="")
    (path / "svmguide1").mkdir()
    (path / "svmguide1/svmguide1_train.svm").write_text("+1 1:2.5 3:1\n-1 2:4\n")
    (path / "svmguide1/svmguide1_test.svm").write_text("-1 4:-3\n")
    return path


@pytest.fixture
def small(monkeypatch):
    """Few settings, so that all are tried in a moment."""
    monkeypatch.setattr(study_accuracy, "LANDMARKS", (5, 20))
    monkeypatch.setattr(study_accuracy, "BASELINE_LANDMARKS", (20,))
    monkeypatch.setattr(study_accuracy, "NORMS", {2.0: 4, 1.1: 3})
    monkeypatch.setattr(study_equal_accuracy, "LANDMARKS", (5, 10, 20))
    monkeypatch.setattr(study_solvers, "SOLVERS", ("newton",))
    monkeypatch.setattr(study_solvers, "ROWS", (40,))
    monkeypatch.setattr(study_perturbation, "LANDMARKS", (5, 20, 60))
    monkeypatch.setattr(study_perturbation, "ROWS", 60)
    monkeypatch.setattr(study_smo_mkl, "LANDMARKS", (5, 105))
    monkeypatch.setattr(study_smo_mkl, "NORMS", study_accuracy.NORMS)
    monkeypatch.setattr(study_stopping, "KERNELS", 3)
    monkeypatch.setattr(study_stopping, "RUNS", (("magic", 60, 20), ("adult", None, 20)))
    monkeypatch.setattr(study_stopping, "OF_RANK", (("magic", None, 40),))


def test_files_are_joined_and_labels_are_signs(folder):
    data = data_sets.read(folder, "svmguide1")
    np.testing.assert_array_equal(data.features, [[2.5, 0, 1, 0], [0, 4, 0, 0], [0, 0, 0, -3]])
    np.testing.assert_array_equal(data.labels, [1, -1, -1])
    table = data_sets.read(folder, "magic")
    assert table.features.shape == (150, 10)
    assert set(table.labels) == {-1.0, 1.0}


def test_files_side_by_side_keep_their_classes(folder, monkeypatch):
    (folder / "left.csv").write_text("a,b,label\n1,2,7\n3,4,9\n")
    (folder / "right.csv").write_text("c,label\n0,7\n1,9\n")
    source = data_sets.Source(("left.csv", "right.csv"), 3, positive=None, side_by_side=True)
    monkeypatch.setitem(data_sets.SOURCES, "two", source)
    data = data_sets.read(folder, "two")
    np.testing.assert_array_equal(data.features, [[1, 2, 0], [3, 4, 1]])
    np.testing.assert_array_equal(data.labels, [7, 9])
    monkeypatch.setitem(data_sets.SOURCES, "two", dataclasses.replace(source, logarithm=True))
    np.testing.assert_allclose(np.expm1(data_sets.read(folder, "two").features), data.features)
    monkeypatch.setitem(data_sets.SOURCES, "two", dataclasses.replace(source, columns=4))
    with pytest.raises(ValueError, match="two has 3 features; 4 were expected"):
        data_sets.read(folder, "two")


def test_categories_have_the_numbers_of_their_description(folder):
    header = "split,age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex"
    header += ",capital_gain,capital_loss,hours_per_week,native_country,income"
    first = "train,39,State-gov,77516,Bachelors,13,Divorced,?,Husband,White,Male,2174,0,40,?,<=50K"
    second = "test,20,?,5,Preschool,1,Never-married,Armed-Forces,Wife,Black,Female,0,7,1,Holand-Netherlands,>50K"
    (folder / "adult").mkdir()
    (folder / "adult/adult_raw.csv").write_text("\n".join([header, first, second, ""]))
    data = data_sets.read(folder, "adult-documented")
    np.testing.assert_array_equal(data.features[0], [39, 6, 77516, 1, 13, 2, 0, 3, 1, 2, 2174, 0, 40, 0])
    np.testing.assert_array_equal(data.features[1], [20, 0, 5, 16, 1, 3, 14, 1, 5, 1, 0, 7, 1, 41])
    np.testing.assert_array_equal(data.labels, [-1, 1])


def test_splits_divide_the_rows_and_are_the_same_again(folder):
    data = data_sets.read(folder, "magic")
    split = make_split(data, 0)
    assert len(split.train) == 105 and len(split.test) == 45
    rows = np.concatenate([split.train, split.test])
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(data.features, axis=0))
    np.testing.assert_array_equal(make_split(data, 0).train, split.train)
    assert not np.array_equal(make_split(data, 1).train, split.train)
    fewer = first_rows(split, 10)
    np.testing.assert_array_equal(fewer.train, split.train[:10])
    assert len(fewer.train_labels) == 10 and len(fewer.test) == 45
    assert len(make_split(data, 0, share=0.1).train) == 15
    assert accuracy([1, -1, 1, 1], np.array([1, -1, -1, 1])) == 75.0


def test_measurements_are_made_once_and_survive(tmp_path):
    path = tmp_path / "results.jsonl"
    calls = []

    def call():
        calls.append(1)
        return {"seconds": 0.5}

    for _ in range(2):
        kept = Measurements(path)
        assert kept.measure({"set": "a", "split": 0}, call) == {"seconds": 0.5}
        assert kept.get({"split": 0, "set": "a"}) == {"seconds": 0.5}
        assert kept.get({"split": 1, "set": "a"}) is None
    assert len(calls) == 1


def test_tables():
    assert markdown(["a", "b"], [[1.234, None], ["x", 3]]) == "| a | b |\n| --- | --- |\n| 1.23 | - |\n| x | 3 |"
    assert spread([1.0, 3.0, None]) == "2.00 ± 1.41"
    assert spread([1.0]) == "1.00 (1)"
    assert spread([None]) is None


def test_accuracy_table_of_tiny_data(client, folder, small, tmp_path):
    path = tmp_path / "results.jsonl"
    laboratory = KernelLaboratory(folder, client, Measurements(path), ALL_METHODS, 1)
    table = study_accuracy.accuracy(laboratory, ["magic"], range(2))
    lines = cells(table)
    for header, _, row in (lines[0:3], lines[3:6]):
        assert row[0] == "magic" and len(row) == len(header)
        assert all(80 < float(cell.split(" ± ")[0]) <= 100 for cell in row[1:])
    for header, _, row in (lines[6:9], lines[9:12]):
        assert row[:2] == ["magic", "105"] and len(row) == len(header)
        assert all(float(gap) <= study_accuracy.GAP for gap in row[4::3])
    # All of it stands in the file: nothing is measured again, nor is a server asked.
    laboratory = KernelLaboratory(folder, None, Measurements(path), (), 1)
    assert study_accuracy.accuracy(laboratory, ["magic"], range(2)) == table


def test_what_was_not_measured_is_left_open(folder, small):
    table = study_accuracy.accuracy(KernelLaboratory(folder, None, Measurements(), (), 1), ["magic"], range(2))
    assert set(cells(table)[2][1:]) == {"-"}


def test_equal_accuracy_ends_where_it_is_reached(client, folder, small):
    laboratory = KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1)
    rows = cells(study_equal_accuracy.equal_accuracy(laboratory, ["magic"], range(1)))[2:]
    ours, theirs = float(rows[0][5]), [float(row[5]) for row in rows[1:]]
    assert all(value < ours for value in theirs[:-1])
    assert theirs[-1] >= ours or len(theirs) == 3


def test_solvers_learn_from_as_many_rows_as_they_are_given(client, folder, small):
    table = study_solvers.solvers(KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1), ["magic"], range(1))
    lines = cells(table)
    few, of_rank, many = lines[2:5], lines[7:8], lines[10:]
    whole, part = ["magic", "105"], ["magic", "40"]
    assert [row[:3] for row in few] == [[*whole, "1000"], [*whole, "1"], [*part, "1000"]]
    assert [row[:3] for row in of_rank] == [[*whole, "1000"]]
    assert [row[:3] for row in many] == [[*part, "1000"], [*part, "1"]]
    assert all("gap" not in row[3] for row in few + of_rank + many)


def test_bounds_of_low_rank_hold(client, folder, small):
    laboratory = KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1)
    lines = cells(study_perturbation.perturbation(laboratory, ["magic"], range(1)))
    tables = [lines[first : first + 5] for first in range(0, len(lines), 5)]
    assert len(tables) == 4
    for table in tables[::2]:
        values = np.array([[float(cell) for cell in row[1:]] for row in table[2:]])
        _, bound, spectral, found, certificate, difference = values.T
        assert np.all(difference > -3 * study_perturbation.GAP)
        assert np.all(difference <= 1.01 * found + 3 * study_perturbation.GAP)
        assert np.all(found <= spectral) and np.all(spectral <= bound)
        assert np.all((certificate >= 0) & (certificate <= 1))
        assert np.all(values[-1, [0, 4, 5]] < 1e-4)  # every row is a landmark
    for table in tables[1::2]:
        values = np.array([[float(cell) for cell in row[1:]] for row in table[2:4]])
        _, bound, sharper, distance, norm, most = values.T
        assert np.all(distance <= 1.01 * np.minimum(bound, sharper))
        assert np.all(norm <= most)


def test_penalised_smo_mkl_solves_the_same_problem(client, folder, small):
    laboratory = KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1)
    for line in cells(study_smo_mkl.smo_mkl(laboratory, ["magic"], range(1))):
        if line[0] != "magic":
            continue
        exact, constrained, penalised = line[3:]
        assert exact.split(";")[0] == constrained.split(";")[0] == penalised.split(";")[0]
        assert float(penalised.split("norm ")[1]) == pytest.approx(1, abs=0.02)


def test_no_model_in_time_is_told(client, folder, small, monkeypatch):
    monkeypatch.setattr(study_smo_mkl, "MANY", 5)
    monkeypatch.setattr(study_smo_mkl, "MANY_LIMIT_SECONDS", 1e-6)
    laboratory = KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1)
    rows = [line for line in cells(study_smo_mkl.smo_mkl(laboratory, ["magic"], range(1))) if line[0] == "magic"]
    assert len(rows) == 2
    assert all(row[1:3] == ["none in 1e-06 s"] * 2 and float(row[3].split(";")[0]) > 80 for row in rows)


@pytest.mark.parametrize("merged", [False, True])
def test_splitting_finds_the_machine_and_the_paper_ends_it_before(monkeypatch, merged):
    random = np.random.default_rng(7)
    rows = random.normal(size=(60, 2))
    labels = np.where(rows[:, 0] + rows[:, 1] ** 2 + 0.5 * random.normal(size=60) > 1, 1.0, -1.0)
    features = [labels[:, None] * gaussian_factors.factor(rows, rows[:20], bandwidth) for bandwidth in (1.0, 3.0)]
    values = sum(block @ block.T for block in features)
    machine = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(values * np.outer(labels, labels), labels)
    dual = np.zeros(60)
    dual[machine.support_] = np.abs(machine.dual_coef_[0])
    optimum = dual.sum() - 0.5 * dual @ values @ dual
    early = splitting.solve(features, labels, 10.0, merged, 60.0)
    assert early["ended"] == "change"
    assert early["dual"] < optimum * (1 - 1e-3) and early["primal"] > optimum * (1 + 1e-3)
    monkeypatch.setattr(splitting, "CHANGE", 0.0)
    late = splitting.solve(features, labels, 10.0, merged, 60.0)
    assert late["ended"] == "iterations"
    assert late["dual"] <= optimum * (1 + 1e-9) and late["primal"] >= optimum * (1 - 1e-9)
    np.testing.assert_allclose([late["dual"], late["primal"], late["objective"]], optimum, rtol=1e-4)
    assert splitting.solve(features, labels, 10.0, merged, 0.0)["iterations"] == splitting.CLOCK_EVERY


def test_stopping_tells_how_each_form_ended(client, folder, small):
    laboratory = KernelLaboratory(folder, client, Measurements(), ALL_METHODS, 1)
    rows = cells(study_stopping.stopping(laboratory, ["magic"], range(1)))[2:]
    assert [row[:3] for row in rows] == [["magic", "60", "20"], ["magic", "60", "20"], ["magic", "105", "40"]]
    for row in rows:
        assert row[5].startswith(("change", "3000")) and row[9].startswith(("change", "3000"))
        assert all(0 < float(row[column]) for column in (7, 8, 11, 12))
