"""The experiments on several descriptions of the same objects, on tiny data."""

import dataclasses
import gzip

import mixed_norm_mkl
import numpy as np
import pytest
import study_views
import view_trainings
import views
from experiments_lib import cells
from measurements import Measurements
from sklearn.svm import SVC
from study_views import ViewLaboratory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of two sets with three classes of ten rows: histograms with divisions of their own, and columns."""
    random = np.random.default_rng(3)
    labels = np.repeat([1, 2, 3], 10)
    (tmp_path / "words").mkdir()
    for name in ("left", "right"):
        counts = random.poisson(1 + 5 * (labels[:, None] == np.arange(1, 5)))
        lines = [
            f"{label} " + " ".join(f"{c + 1}:{count}" for c, count in enumerate(row) if count)
            for label, row in zip(labels, counts)
        ]
        with gzip.open(tmp_path / f"words/{name}.svm.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    parts = ["train"] * 6 + ["test"] * 3 + ["unused"]
    with gzip.open(tmp_path / "words/index.csv.gz", "wt") as file:
        file.write("row,split1,split2\n")
        file.writelines(f"{i + 1},{parts[i % 10]},{parts[-1 - i % 10]}\n" for i in range(30))
    (tmp_path / "columns").mkdir()
    for name in ("left", "right"):
        table = np.column_stack([random.normal(size=(30, 3)) + 3 * labels[:, None], labels])
        with gzip.open(tmp_path / f"columns/{name}.csv.gz", "wt") as file:
            np.savetxt(file, table, delimiter=",", header="a,b,c,label", comments="")
    names = ("left", "right")
    for name, source in {
        "words": views.Source(names, 2, histograms=True),
        "few words": views.Source(names, 2, histograms=True, rows_per_class=4, cost=10.0, folder="words"),
        "columns": views.Source(names, 2, rows_per_class=5),
        "shares": views.Source(names, 2, share=0.7, folder="columns"),
    }.items():
        monkeypatch.setitem(views.SOURCES, name, source)
    monkeypatch.setattr(study_views, "COSTS", (1.0, 10.0))
    return tmp_path


def test_divisions_are_those_of_the_files_or_drawn(folder):
    words = views.read(folder, "words")
    np.testing.assert_array_equal(words.divisions[0][0], [i for i in range(30) if i % 10 < 6])
    np.testing.assert_array_equal(words.divisions[1][1], [i for i in range(30) if 1 <= i % 10 < 4])
    np.testing.assert_allclose([block.sum(axis=1) for block in words.blocks.values()], 1)
    few = views.read(folder, "few words")
    for (train, test), (all_train, all_test) in zip(few.divisions, words.divisions):
        assert set(train) < set(all_train)
        np.testing.assert_array_equal(test, all_test)
        np.testing.assert_array_equal(np.bincount(few.labels[train]), [0, 4, 4, 4])
    columns = views.read(folder, "columns")
    for train, test in columns.divisions:
        np.testing.assert_array_equal(np.bincount(columns.labels[train]), [0, 5, 5, 5])
        assert sorted([*train, *test]) == list(range(30))
    assert not np.array_equal(columns.divisions[0][0], columns.divisions[1][0])
    assert [len(part) for part in views.read(folder, "shares").divisions[0]] == [21, 9]


def test_distances_are_those_of_their_definitions(folder):
    words, columns = views.read(folder, "words"), views.read(folder, "columns")
    a, b = words.blocks["left"][[4, 17]]
    expected = 0.5 * sum((p - q) ** 2 / (p + q) for p, q in zip(a, b) if p + q > 0)
    assert views.mean_distance(words, np.array([a, b])) == pytest.approx(expected)
    a, b = columns.blocks["left"][[4, 17]]
    assert views.mean_distance(columns, np.array([a, b])) == pytest.approx(((a - b) ** 2).sum())
    train = columns.divisions[0][0]
    for block in views.prepared(columns, train).values():
        np.testing.assert_allclose(
            [block[train].mean(axis=0), block[train].std(axis=0)], [[0] * 3, [1] * 3], atol=1e-12
        )


@pytest.mark.parametrize("name", ["words", "few words", "columns"])
def test_tables_of_tiny_data(client, folder, tmp_path, name):
    path = tmp_path / "results.jsonl"
    peers = study_views.PEERS
    laboratory = ViewLaboratory(folder, client, Measurements(path), mixed_norm_mkl.METHODS, 1)
    table = study_views.accuracy(laboratory, [name], range(2), scalings=("trace",))
    header, _, *rows = cells(table)
    assert [row[1] for row in rows] == [*study_views.METHODS, *peers]
    assert all(len(row) == len(header) and row[3] == "2" and float(row[4].split(" ± ")[0]) > 60 for row in rows)
    mixed, _, uniform = rows[:3]
    assert mixed[6] == uniform[6] == "2.0" and uniform[5] == "0"
    assert all(float(row[7]) <= study_views.GAP for row in rows[:3])
    costs = [line for line in path.read_text().splitlines() if '"held out"' in line]
    assert len(costs) == (0 if name == "few words" else 3 * 2 * 2)
    _, _, *rows = cells(study_views.reference(laboratory, [name], range(2), scalings=("trace",)))
    assert all(row[3] == "2" and float(row[6]) <= 100 / 9 for row in rows)
    assert all(float(row[7]) <= study_views.GAP for row in rows[:2])
    # It stands in the file: nothing is measured again, nor is a server asked.
    laboratory = ViewLaboratory(folder, None, Measurements(path), (), 1)
    assert study_views.accuracy(laboratory, [name], range(2), scalings=("trace",)) == table
    _, _, gain = cells(study_views.gains(laboratory, [name], range(2), scalings=("trace",)))
    assert [sum(map(int, gain[i].split(" / "))) for i in (3, 5, 7, 9)] == [2, 3 * 2, 2, 3 * 2]
    _, _, *rows = cells(study_views.costs(laboratory, [name], range(2), scalings=("trace",)))
    chosen = [sum(int(part.split(": ")[1]) for part in row[-1].split(", ")) for row in rows if row[-1] != "-"]
    assert chosen == ([] if name == "few words" else [2] * 3)


@pytest.mark.parametrize(
    ("accuracies", "chosen"),
    [({1: 60, 10: 70, 100: 70}, 10), ({1: 70, 10: 70}, 1), ({1: 60, 10: 70, 100: 80, 1000: 80}, 100)],
)
def test_larger_costs_are_tried_while_the_largest_is_the_best(folder, accuracies, chosen):
    asked = []

    class Stored(ViewLaboratory):
        def _train(self, name, number, settings, rows, test, part):
            asked.append((part, settings["C"]))
            assert not set(rows) & set(test)
            return {"accuracy": accuracies[settings["C"]]}

    assert Stored(folder, None, Measurements(), (), 1).mercer("words", 0, {})["C"] == chosen
    assert asked == [*(("held out", cost) for cost in accuracies), ("all", chosen)]


def test_gains_are_relative_and_leave_out_classes_without_any_right(folder):
    class Stored(ViewLaboratory):
        def mercer(self, name, number, settings):
            accuracies = {"mixed_norm": [50.0, 40.0, 10.0], "l1": [40.0, 40.0, 0.0], "sum": [100.0, 20.0, 20.0]}
            found = accuracies[settings["regularization"]]
            return {"accuracy": sum(found) / 4, "class_accuracies": found}

    laboratory = Stored(folder, None, Measurements(), (), 1)
    _, _, row = cells(study_views.gains(laboratory, ["words"], [0], scalings=("trace",)))
    over_l1 = ["5.00 (1)", "1 / 0 / 0", "12.50 (1)", "2 / 1 / 0"]
    assert row == ["words", "trace", *over_l1, "-10.00 (1)", "0 / 0 / 1", "0.00 (1)", "1 / 0 / 2"]


def test_kernels_of_peers_are_the_best_and_the_average(folder):
    columns = views.read(folder, "columns")
    train, test = columns.divisions[0]
    shuffled = dict(columns.blocks, right=np.random.default_rng(0).permutation(columns.blocks["right"]))
    found = view_trainings.best_kernel(dataclasses.replace(columns, blocks=shuffled), train, test)
    assert found["description"] == "left"
    alone = dataclasses.replace(columns, blocks={"left": columns.blocks["left"]})
    values = views.prepared(columns, train)["left"]
    gamma = 1 / views.mean_distance(columns, values[train])
    found = view_trainings.average_kernel(alone, train, test)
    machine = SVC(gamma=gamma, C=found["C"]).fit(values[train], columns.labels[train])
    assert found["accuracy"] == pytest.approx(100 * machine.score(values[test], columns.labels[test]))


def test_times_are_those_of_the_first_division(client, folder):
    kept = Measurements()
    laboratory = ViewLaboratory(folder, client, kept, ("mercer",), 1)
    header, _, row = cells(mixed_norm_mkl.EXPERIMENTS["seconds"](laboratory, ["words"], None, scalings=("trace",)))
    assert header[2:] == list(study_views.METHODS)
    assert all(float(part) >= 0 for cell in row[2:] for part in cell.split(" + "))
