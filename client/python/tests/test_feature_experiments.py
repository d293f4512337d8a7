"""The experiments on learning with infinitely many features, on tiny data."""

import data_sets
import feature_laboratory
import hold_out
import numpy as np
import peers
import pytest
import significance
import study_budgets
import study_continuous
import study_curves
import study_equal_budgets
import study_infinite_kernels
import study_many_groups
import study_peers
import study_pivots
import study_scales
import study_sparse_columns
import study_textures
import textures
from baselines import LinearSearch
from data_sets import SOURCES, Source
from experiments_lib import cells
from feature_laboratory import FeatureLaboratory
from measurements import Measurements
from sparse_linear import SparseLinearProblem
from splits import Split

ALL_METHODS = ("mercer", "csi", "ikl", "svc", "nystroem", "fourier", "scikit-learn")
FEATURES = 6
CLASSES = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A set of two classes that no line separates, and one of three classes."""
    path = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(11)
    features = random.normal(size=(240, FEATURES))
    squares = (features[:, :2] ** 2).sum(axis=1)
    _write(path / "two.csv", features, np.where(squares > np.median(squares), 1, -1))
    noisy = features[:, :CLASSES] + 0.5 * random.normal(size=(240, CLASSES))
    _write(path / "three.csv", features, np.argmax(noisy, axis=1))
    return path


def _write(path, features, labels):
    header = ",".join([*(f"x{i}" for i in range(features.shape[1])), "label"])
    np.savetxt(path, np.column_stack([features, labels]), delimiter=",", header=header, comments="")


@pytest.fixture
def small(monkeypatch):
    """The sets of the folder, and few settings."""
    monkeypatch.setitem(SOURCES, "two", Source(("two.csv",), FEATURES))
    monkeypatch.setitem(SOURCES, "three", Source(("three.csv",), FEATURES, positive=None))
    paper = dict.fromkeys([("two", "GrFL"), ("two", "GrFL-M")], {2: 83.25})
    for name, value in {"GROUPS": {"two": (2, 12)}, "SHARES": (0.4,), "SHARE_GROUPS": 5, "PAPER": paper}.items():
        monkeypatch.setattr(study_budgets, name, value)
    monkeypatch.setattr(study_budgets, "VARIANTS", {"GrFL": ((4.0,), 0.5), "GrFL-M": ((2.5, 4.0), 0.5)})
    monkeypatch.setattr(study_equal_budgets, "GROUPS", (2, 12))
    monkeypatch.setattr(study_equal_budgets, "MORE_COLUMNS", (4, 60))
    monkeypatch.setattr(feature_laboratory, "LINEAR_SEARCH", LinearSearch(gammas=(0.1, 0.3), costs=(1.0, 10.0)))
    for name, value in {"COLUMNS": FEATURES, "LAMBDAS": (1.0,), "SPLITS": 2}.items():
        monkeypatch.setattr(study_sparse_columns, name, {"three": value})
    monkeypatch.setattr(study_sparse_columns, "PAPER", {("three", 1.0): ("1 s, 2", "3 s, 4")})
    problems = [(*problem, ("Lasso",)) for problem in (("two", "square", "flat", True),)]
    problems.append(("three", "logistic", "flat", False, ("LogisticRegression, liblinear",)))
    monkeypatch.setattr(study_peers, "PROBLEMS", problems)


def laboratory(folder, client, measurements=None, methods=ALL_METHODS):
    return FeatureLaboratory(folder, client, measurements or Measurements(), methods, 1)


def linear_problem(loss, shape, share, classes=CLASSES):
    random = np.random.default_rng(3)
    features = random.normal(size=(60, FEATURES)) * np.arange(1, FEATURES + 1)
    labels = np.argmax(features[:, :classes] + random.normal(size=(60, classes)), axis=1).astype(float)
    settings = {"loss": loss, "penalty_shape": shape, "lambda": share, "lambda_unit": "share_of_maximum"}
    return SparseLinearProblem.of_settings(Split("", 0, features, labels, features, labels), settings)


def test_the_objective_is_that_of_the_definition():
    features, targets = np.array([[1.0, 0.0], [-1.0, 2.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    model = peers.Fitted(np.array([[0.5, -3.0], [0.0, 4.0]]), np.array([0.25, 0.0]))
    # Scores: (0.75, -3), (-0.25, 11).
    losses = {
        "squared_hinge": 0.25**2 + 0.75**2,
        "square": 0.25**2 + 0.75**2 + 2**2 + 10**2,
        "logistic": np.log1p(np.exp([-0.75, -0.25, -3.0, -11.0])).sum(),
    }
    for loss, value in losses.items():
        apart = SparseLinearProblem(features, targets, loss, False, 2.0)
        together = SparseLinearProblem(features, targets, loss, True, 2.0)
        assert apart.objective(model) == pytest.approx(value + 2 * 7.5)
        assert together.objective(model) == pytest.approx(value + 2 * (np.hypot(0.5, 3) + 4))


@pytest.mark.parametrize(
    ("loss", "shape", "kinds"),
    [
        ("square", "nested", ["MultiTaskLasso"]),
        ("logistic", "flat", ["LogisticRegression, saga", "LogisticRegression, liblinear"]),
    ],
)
def test_peers_solve_the_same_problem(loss, shape, kinds):
    problem = linear_problem(loss, shape, 0.1)
    fit, settings = peers.PEERS[kinds[0]]
    model = fit(problem, settings[8])
    objective, bound = problem.objective(model), problem.lower_bound(model)
    # The bound proves that the solution of this peer is that of our problem.
    assert objective * (1 - 1e-7) < bound <= objective * (1 + 1e-12)
    for kind in kinds:
        reached = peers.reach(kind, problem, objective)
        assert reached["reached"] and reached["seconds"] > 0 and reached["excess"] <= 1e-6


def test_a_goal_below_the_optimum_is_not_reached():
    problem = linear_problem("square", "flat", 0.1, classes=2)
    optimum = problem.objective(peers.PEERS["Lasso"][0](problem, 1e-12))
    reached = peers.reach("Lasso", problem, 0.99 * optimum)
    assert not reached["reached"] and reached["excess"] == pytest.approx(1 / 0.99 - 1)


@pytest.mark.parametrize("loss", ["squared_hinge", "square", "logistic"])
@pytest.mark.parametrize("shape", ["flat", "nested"])
def test_bounds_lie_below_every_value(loss, shape):
    problem = linear_problem(loss, shape, 0.3)
    random = np.random.default_rng(2)
    models = [peers.Fitted(scale * random.normal(size=(FEATURES, CLASSES)), random.normal(size=CLASSES))
              for scale in (0.0, 0.01, 0.1, 1.0)]  # fmt: skip
    least = min(problem.objective(model) for model in models)
    assert all(problem.lower_bound(model) <= least for model in models)


@pytest.mark.parametrize(("loss", "shape"), [("square", "nested"), ("logistic", "flat")])
def test_the_largest_penalty_is_where_weights_begin(loss, shape):
    kind = "MultiTaskLasso" if shape == "nested" else "LogisticRegression, liblinear"
    fit, settings = peers.PEERS[kind]
    above, below = (fit(linear_problem(loss, shape, share), settings[8]).weights for share in (1.001, 0.98))
    assert not above.any() and below.any()


def test_budgets_on_tiny_data(client, folder, small, tmp_path):
    path = tmp_path / "results.jsonl"
    tables = cells(study_budgets.budgets(laboratory(folder, client, Measurements(path)), ["two"], range(2)))
    header, rows = tables[0], tables[2:]
    assert [row[:6] for row in rows] == [
        ["two", str(groups), variant, "168", "2", "83.25" if groups == 2 else "-"]
        for groups in (2, 12) for variant in study_budgets.VARIANTS
    ]  # fmt: skip
    accuracies = [float(row[header.index("accuracy %")].split(" ± ")[0]) for row in rows]
    assert accuracies[2] > accuracies[0] and accuracies[2] > 85
    assert all(float(row[header.index("worst gap")]) <= study_budgets.GAP for row in rows)
    assert [int(row[header.index("groups in use")]) for row in rows[:2]] == [2, 2]
    again = laboratory(folder, None, Measurements(path), ())
    assert cells(study_budgets.budgets(again, ["two"], range(2))) == tables
    assert cells(study_budgets.budgets(laboratory(folder, None, None, ()), ["two"], range(2)))[2][6] == "-"


def test_shares_learn_from_fewer_rows(client, folder, small):
    rows = cells(study_budgets.shares(laboratory(folder, client), ["two"], range(1)))[2:]
    assert [row[1:4] for row in rows] == [["0.40", variant, "96"] for variant in study_budgets.VARIANTS]


def test_both_variants_are_tuned_by_one_search(client, folder, small, monkeypatch):
    monkeypatch.setattr(study_budgets, "PENALTIES", (0.5, 1e4))
    monkeypatch.setattr(study_budgets, "TUNED_GROUPS", (12,))
    rows = cells(study_budgets.tuned(laboratory(folder, client), ["two"], range(2)))[2:]
    # One of two bandwidths and lambdas, or both bandwidths and one of two lambdas; the larger lambda leaves a constant.
    assert [row[2:6] for row in rows] == [["GrFL", "4", rows[0][4], "0.5"], ["GrFL-M", "2", "2.5, 4", "0.5"]]
    assert rows[0][4] in ("2.5", "4") and [row[6] for row in rows] == ["2", "2"]
    assert rows[0][8:10] == ["-", "-"] and float(rows[1][9]) >= 0.5  # two differences never say more


def test_wilcoxon_is_that_of_its_tables():
    # Ranks 1 to 8, of which 3 are those of differences below 0: both tails of W <= 3 have 5 of 256 sums.
    of_signs = np.array([-1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    assert significance.wilcoxon_p(of_signs) == f"{2 * 5 / 256:.3f}"
    assert significance.wilcoxon_p(np.zeros(8)) == "1.000" and significance.wilcoxon_p(of_signs[:1]) is None
    assert significance.mean_difference(np.array([1.0, 3.0])) == "+2.00 ± 1.00"


def test_differences_are_those_of_the_divisions_that_both_have():
    ours, others = [{"accuracy": 80.1}, {"accuracy": 70.0}, None], [{"accuracy": 80.0}, None, {"accuracy": 5.0}]
    np.testing.assert_array_equal(significance.accuracy_differences(ours, others), [0.1])


def test_equal_budgets_and_equal_accuracies(client, folder, small):
    used = laboratory(folder, client)
    rows = cells(study_equal_budgets.equal_budgets(used, ["two"], range(2)))[2:]
    assert [row[1] for row in rows] == ["4"] * 3 + ["24"] * 3
    assert all(50 < float(row[3].split(" ± ")[0]) <= 100 for row in rows)
    rows = cells(study_equal_budgets.equal_accuracies(used, ["two"], range(1)))[2:]
    ours = float(rows[0][4])
    for title in study_equal_budgets.KINDS.values():
        theirs = [float(row[4]) for row in rows if row[2] == title]
        assert all(value < ours for value in theirs[:-1])
        assert theirs[-1] >= ours or len(theirs) == 2


def test_sparse_values_are_checked_over_all_columns(client, folder, small):
    used = laboratory(folder, client)
    header, _, row = cells(study_sparse_columns.values(used, ["three"], range(2)))
    assert row[:5] == ["three", "1", "2", "1 s, 2", "3 s, 4"]
    assert all(float(row[i]) <= 1.001e-6 for i, title in enumerate(header) if "gap" in title)
    settings = study_sparse_columns.settings(FEATURES, penalty_shape="flat", penalty_q=1.0, lambda_unit="absolute",
                                             **{"lambda": 2.0})  # fmt: skip
    record = used.sparse_linear("three", 0, settings, study_sparse_columns.SHARE)
    assert record["checked_objective"] == pytest.approx(record["objective"], rel=1e-9)
    assert f"{record['checked_objective'] / 2:.2f}"[:2] == row[5][:2]


def test_solvers_find_the_same_objective(client, folder, small):
    header, _, *rows = cells(study_sparse_columns.solvers(laboratory(folder, client), ["three"], range(1)))
    assert [row[2] for row in rows] == list(study_sparse_columns.SOLVERS)
    objectives = [float(row[header.index("objective")]) for row in rows]
    np.testing.assert_allclose(objectives, objectives[0], rtol=2e-6)


def test_curves_fall_to_one_optimum(client, folder, small, monkeypatch, tmp_path):
    monkeypatch.setattr(study_curves, "COLUMNS", {"three": FEATURES})
    monkeypatch.setattr(study_curves, "LAMBDAS", {"three": (1.0,)})
    monkeypatch.setattr(study_curves, "STEPS", {"three": (1, 2, 3)})
    path = tmp_path / "results.jsonl"
    tables = study_curves.curves(laboratory(folder, client, Measurements(path)), ["three"], range(1))
    used = laboratory(folder, None, Measurements(path), ())
    assert study_curves.curves(used, ["three"], range(1)) == tables
    header, _, *rows = cells(tables)
    assert [row[2] for row in rows] == list(study_curves.WAYS)
    assert all(abs(float(row[header.index("distance then")])) <= study_curves.GAP for row in rows)
    for row in rows:
        seconds = [float(cell) for cell in row[3:8]]
        assert 0 < seconds[0] and seconds == sorted(seconds)
    # The first step searches; the weights are still those of the constant.
    _, points = study_curves.curve(used, "three", 0, 1.0, "fista")
    assert max(objective for _, objective in points) > 1.1 * min(objective for _, objective in points)


def test_peers_stand_beside_our_time(client, folder, small):
    rows = cells(study_peers.peers(laboratory(folder, client), None, range(1)))[2:]
    assert [(row[0], row[1], row[2], row[8]) for row in rows] == [
        ("two", "0.1", "1", "Lasso"), ("two", "0.01", "1", "Lasso"),
        ("three", "0.1", "3", "LogisticRegression, liblinear"), ("three", "0.01", "3", "LogisticRegression, liblinear"),
    ]  # fmt: skip
    assert all("not" not in row[9] and float(row[10]) <= 1e-6 for row in rows)


def test_continuous_bandwidths_beside_an_svc(client, folder, small):
    header, _, *rows = cells(study_continuous.continuous(laboratory(folder, client), ["two"], range(2)))
    drawn = ["GrFL, lambda 10", "GrFL, lambda 50"]
    climbing = [f"GrFL that climbs, lambda {penalty}" for penalty in (50, 100, 200)]
    assert [row[1] for row in rows] == [*drawn, *climbing, "SVC"]
    assert float(rows[-1][header.index("accuracy %")].split(" ± ")[0]) > 80
    assert int(rows[-1][header.index("groups, or support vectors")]) > 0


def test_held_out_rows_are_the_last_training_rows():
    features, labels = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    part = hold_out.hold_out(Split("", 0, features, labels, features, labels), 0.3)
    np.testing.assert_array_equal(part.train_labels, labels[:7])
    np.testing.assert_array_equal(part.test_labels, labels[7:])
    np.testing.assert_array_equal(np.concatenate([part.train, part.test]), features)


def test_the_first_of_the_best_settings_is_chosen():
    accuracies = {"a": 70.0, "b": 80.0, "c": 80.0, "d": None}
    records = {name: value and {"accuracy": value} for name, value in accuracies.items()}
    assert hold_out.best(["a", "b", "c"], records.get) == "b"
    assert hold_out.best(["a", "d"], records.get) is None


def test_pivots_beside_groups(client, folder, small, monkeypatch):
    sizes = {"PIVOTS": {"two": (2, 20)}, "SHARES": (0.4,), "SHARE_PIVOTS": 5, "PAPER": {"two": {2: 80.25}}}
    for name, value in {**sizes, "SQUARED_BANDWIDTHS": (0.01, 4.0), "RIDGES": (1e-4, 10.0)}.items():
        monkeypatch.setattr(study_pivots, name, value)
    header, _, *rows = cells(study_pivots.pivots(laboratory(folder, client), ["two"], range(2)))
    assert [row[1:4] for row in rows] == [["2", "0.70", "2"], ["20", "0.70", "2"], ["5", "0.40", "2"]]
    assert [row[header.index("paper's CSI, accuracy %")] for row in rows] == ["80.25", "-", "-"]
    # A narrow kernel knows its pivots alone, and a large ridge nothing.
    assert rows[1][header.index("bandwidth^2, ridge")] == "4, 1e-04"
    accuracies = [float(row[header.index("accuracy %")].split(" ± ")[0]) for row in rows]
    assert accuracies[1] > accuracies[0] and accuracies[1] > 85
    assert all(0 < float(row[header.index("Wilcoxon's p")]) <= 1 for row in rows)
    monkeypatch.setattr(study_pivots, "TUNED_GROUPS", (20,))
    monkeypatch.setattr(study_budgets, "PENALTIES", (0.5,))
    header, _, *both = cells(study_pivots.tuned_pivots(laboratory(folder, client), ["two"], range(2)))
    assert [row[1:4] for row in both] == [["20", variant, "2"] for variant in study_budgets.VARIANTS]
    assert [row[header.index("CSI's")] for row in both] == [rows[1][6]] * 2
    for row in both:
        above = float(row[4].split(" ± ")[0]) - float(row[5].split(" ± ")[0])
        assert float(row[6].split(" ± ")[0]) == pytest.approx(above, abs=0.02)


def test_many_groups_are_tuned_alike(client, folder, small, monkeypatch):
    few = {"GROUPS": 12, "PENALTIES_PER_ROW": (3e-3, 10.0), "SQUARED_BANDWIDTHS": (0.01, 4.0)}
    for name, value in {**few, "RIDGES": (1e-4, 10.0), "ROUNDS": {1: "1", 4: "4"}}.items():
        monkeypatch.setattr(study_many_groups, name, value)
    monkeypatch.setattr(study_pivots, "SQUARED_BANDWIDTHS", (0.001, 0.01, 4.0))
    monkeypatch.setattr(study_pivots, "RIDGES", (1e-9, 1e-4, 10.0))
    used = laboratory(folder, client)
    rows = cells(study_many_groups.many_groups(used, ["two"], range(2)))[2:]
    # A large lambda leaves a constant, a narrow kernel knows its pivots alone.
    assert [row[1:4] for row in rows[1:]] == [
        ["GrFL-M", "2", "bandwidth^2 2.5, 5, 10, 15; lambda / rows 3e-03"], ["CSI", "4", "bandwidth^2 4, ridge 1e-04"],
    ]  # fmt: skip
    assert rows[0][1:3] == ["GrFL", "4"] and rows[0][3].endswith("lambda / rows 3e-03")
    assert all(float(row[6].split(" ± ")[0]) > 70 for row in rows)
    header, _, *rows = cells(study_many_groups.groups_per_round(used, ["two"], range(1)))
    assert [row[header.index("rounds")] for row in rows] == ["12", "3"]


def test_lambda_grows_with_the_rows(client, folder, small):
    used = laboratory(folder, client)
    chosen = study_many_groups.settings((4.0,), 1e-2)
    few, all_rows = (used.mercer("two", 0, chosen, rows=rows) for rows in (60, None))
    assert few["lambda"] == pytest.approx(0.6) and all_rows["lambda"] == pytest.approx(1.68)


def test_infinite_kernels_beside_groups(client, folder, small, monkeypatch):
    for name, value in {"ROWS": {"two": (60, 168)}, "COSTS": (0.01, 100.0), "LAMBDAS": (0.5, 500.0)}.items():
        monkeypatch.setattr(study_infinite_kernels, name, value)
    monkeypatch.setattr(study_infinite_kernels, "BANDWIDTHS", (0.5, 10.0))
    tables = study_infinite_kernels.infinite_kernels(laboratory(folder, client), ["two"], range(2))
    header, _, *rows = cells(tables)
    assert [row[1:3] for row in rows] == [["60", "IKL"], ["60", "GrFL"], ["168", "IKL"], ["168", "GrFL"]]
    assert {row[3] for row in rows[::2]} <= {"0.01", "100"} and rows[3][3] == "0.5"
    accuracies = [float(row[header.index("accuracy %")].split(" ± ")[0]) for row in rows]
    assert accuracies[2] > accuracies[0] and accuracies[2] > 85
    assert all(int(row[header.index("support vectors, or groups")]) > 0 for row in rows)
    assert all(float(row[header.index("worst gap")]) <= study_infinite_kernels.GAP for row in rows)


def test_several_bandwidths_beside_one(client, folder, small, monkeypatch):
    few = {"ROWS": {"two": 168}, "COSTS": (0.01, 10.0), "LAMBDAS": (0.5, 500.0), "SINGLE_BANDWIDTHS": 3}
    for name, value in {**few, "BANDWIDTHS": (0.1, 40.0)}.items():
        monkeypatch.setattr(study_scales, name, value)
    header, _, *rows = cells(study_scales.scales(laboratory(folder, client), ["two"], range(2)))
    assert [row[2:4] for row in rows] == [["SVC, one bandwidth", "6"], ["IKL", "2"], ["GrFL", "2"]]
    # Bandwidths of 0.1 and 40 know too little and too much; a large lambda leaves a constant.
    assert rows[0][4] == "C 10, bandwidth 2" and rows[1][4] == "C 10" and rows[2][4] == "lambda 0.5"
    assert all(float(row[header.index("accuracy %")].split(" ± ")[0]) > 80 for row in rows)
    assert [row[header.index("above the SVC")] == "-" for row in rows] == [True, False, False]
    assert float(rows[1][header.index("kernels in use")].split(" ± ")[0]) >= 1


def test_made_sets_have_both_scales():
    data = data_sets.read("", "two-regions")
    first = data.features[:, 0] > 0.3
    slow = np.sign(np.sin(np.pi * data.features[:, 1]))
    # The noise turns few classes; where they vary fast, the slow wave says nothing.
    assert np.mean(slow[~first] == data.labels[~first]) > 0.9
    assert 0.4 < np.mean(slow[first] == data.labels[first]) < 0.6
    again = data_sets.read("", "two-regions")
    np.testing.assert_array_equal(data.features, again.features)


def test_textures(client, tmp_path, monkeypatch):
    (tmp_path / "brodatz").mkdir()
    random = np.random.default_rng(5)
    for name, along in (("rows", 0), ("columns", 1)):
        wave = 60 * np.cos(np.pi / 2 * np.indices((40, 40))[along]) + 10 * random.normal(size=(40, 40))
        pixels = np.clip(128 + wave, 0, 255).astype(np.uint8)
        (tmp_path / "brodatz" / f"{name}.pgm").write_bytes(b"P5 40 40 255\n" + pixels.tobytes())
    monkeypatch.setattr(textures, "FILES", ("brodatz/rows.pgm", "brodatz/columns.pgm"))
    monkeypatch.setattr(textures, "PATCH", 8)
    monkeypatch.setattr(textures, "TEST_PATCHES", 50)
    monkeypatch.setattr(textures, "LEFT", (0, 0, 40, 20))
    monkeypatch.setattr(textures, "RIGHT", (0, 20, 40, 20))
    monkeypatch.setattr(study_textures, "PATCHES", (40,))
    monkeypatch.setattr(study_textures, "MOST_FILTERS", 100)
    monkeypatch.setattr(study_textures, "DRAWS", {40: 2})
    monkeypatch.setattr(study_textures, "LAMBDAS", (0.5, 1.0))
    laboratory = FeatureLaboratory(tmp_path, client, Measurements(), ("mercer",), 1)
    lines = cells(study_textures.textures(laboratory, None, range(1)))[2:]
    assert [line[2] for line in lines] == ["learnt", "fixed grid"] * 2
    for line in lines:
        assert float(line[3].split()[0]) >= 95
    header, _, *lines = cells(study_textures.texture_penalties(laboratory, None, None))
    assert [line[2:5] for line in lines] == [
        [filters, penalty, "2"] for filters in ("learnt", "fixed grid") for penalty in ("per class", "shared")
    ] * 2  # fmt: skip
    for line in lines:
        assert all(float(line[header.index(f"accuracy %, lambda {of:g}")].split()[0]) >= 90 for of in (0.5, 1.0))
        assert len(line[header.index("filters in use")].split(" / ")) == 2
