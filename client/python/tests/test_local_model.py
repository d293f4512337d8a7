"""A model evaluated in NumPy says what the server says."""

import json
import pathlib
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import _model_file, _proto

KERNELS = [
    "linear",
    "linear unit_diagonal",
    "polynomial degree=3 scale=0.5 offset=1",
    "polynomial degree=2 unit_diagonal scaling=trace",
    "gaussian bandwidth=1.5",
    "gaussian bandwidth=0.01",
    "gaussian bandwidths=0.1..10:5 per_column scaling=variance",
    "laplacian median=0.5,1",
    "euclidean bandwidth=2 scaling=centred_trace",
    "gaussian median columns=b,c",
]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(11)
    features = random.normal(size=(150, 4)) * [1, 10, 0.1, 1000] + [0, 5, 0, 100]
    signal = np.sin(features[:, 0]) + features[:, 1] / 10 + features[:, 2]
    new = random.normal(size=(333, 4)) * [1, 10, 0.1, 1000] + [0, 5, 0, 100]
    return features, signal, new


def assert_equal_to_server(model, rows, **squares):
    expected = model.predict_all(rows, **squares)
    local = mercer.load_model(model.export())
    assert_same_tables(model, local)
    values = local.decision_values(rows, **squares)
    np.testing.assert_allclose(values, expected.decision_values, rtol=1e-10, atol=1e-10)
    if expected.labels is not None:
        np.testing.assert_array_equal(local.predict(rows, **squares), expected.labels)
    return local


def assert_same_tables(model, local):
    found = model.tables
    assert list(local.tables) == list(found) != []
    for name, frame in local.tables.items():
        pd.testing.assert_frame_equal(frame, found[name])
        assert frame.attrs == found[name].attrs
    weights = local.kernel_weights if local.kernel_names else local.feature_weights
    np.testing.assert_array_equal(next(iter(found.values())).to_numpy(), weights)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaling", ["standardize", "none", "min_max", "unit_norm"])
def test_every_kernel_and_scaling(client, data, kernel, scaling):
    features, signal, new = data
    if scaling in ("none", "unit_norm"):  # else the last column would drown the others
        features, new = features / [1, 10, 0.1, 1000], new / [1, 10, 0.1, 1000]
    dataset = client.upload(features, signal > 0.5, names=list("abcd"))
    model = client.train(dataset, "svm", kernels=kernel, scaling=scaling, relative_gap=1e-2, max_iterations=20).wait()
    assert_equal_to_server(model, new)


@pytest.mark.parametrize(
    "kernel", ["chi_square bandwidth=3", "hellinger bandwidth=0.5", "intersection", "intersection unit_diagonal"]
)
def test_histograms(client, data, kernel):
    features, signal, new = data
    dataset = client.upload(np.abs(features), signal)
    job = client.train(dataset, "kernel_ridge", kernels=kernel, regression=True, scaling="min_max")
    assert_equal_to_server(job.wait(), np.abs(features[::2]))


@pytest.mark.parametrize("kernel", ["chi_square bandwidth=3", "hellinger bandwidth=0.5", "intersection"])
def test_negative_entries_are_no_histograms(client, data, kernel):
    features, signal, _ = data
    features = np.abs(features) / [1, 10, 0.1, 1000]
    dataset = client.upload(features, signal, names=list("abcd"))
    kernels = ["linear", f"{kernel} columns=b,c"]
    model = client.train(dataset, "kernel_ridge", kernels=kernels, regression=True, scaling="none").wait()
    rows = np.tile(features, (30, 1))
    rows[4000, 0] = -1.0  # which this kernel does not read
    local = assert_equal_to_server(model, rows)
    rows[4000, 2] = -0.25
    words = "column 'c' is -0.25: a kernel of histograms needs entries >= 0"
    with pytest.raises(ValueError, match=re.escape(f"row 4000, {words}")):
        local.predict(rows)
    with pytest.raises(mercer.errors.InvalidRequestError, match=re.escape(words)):
        model.predict(rows)
    with pytest.raises(ValueError, match=r"row 0, column 'b' is -\S+: a kernel of histograms"):
        local.predict(-features)


@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one"])
def test_several_classes(client, data, coding):
    features, signal, new = data
    labels = np.digitize(signal, [-0.5, 0.2, 1.0])
    job = client.train(
        client.upload(features, labels),
        "lp_mkl",
        {"p": 1.1},
        kernels=["linear", "gaussian median=0.5,1,2", "polynomial degree=2"],
        coding=coding,
    )
    local = assert_equal_to_server(job.wait(), new)
    assert local.classes == ("0", "1", "2", "3")
    assert local.kernel_weights.shape == (5, len(local.bias))
    assert local.is_one_vs_one == (coding == "one_vs_one")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "laplacian", "bandwidths": [1.0, 4.0]},
        {"family": "columns"},
        {"family": "gabor", "positions_per_side": 2},
        {"family": "gabor", "positions_per_side": 1, "selection": "fixed", "values_per_parameter": 1},
        {"normalization": "none", "lambda_shared": 0.01},
    ],
)
@pytest.mark.parametrize("coding", ["one_vs_all", "one_vs_one"])
def test_chosen_features(client, data, options, coding):
    features, signal, new = data
    labels = np.digitize(signal, [-0.5, 0.5])
    job = client.train(
        client.upload(features, labels, names=list("abcd")),
        "infinite_features",
        {"max_groups": 12, "lambda": 0.02, **options},
        coding=coding,
    )
    local = assert_equal_to_server(job.wait(), new)
    assert len(local.feature_names) > 0
    assert local.feature_weights.shape == (len(local.feature_names), len(local.bias))
    assert local.kernel_names == ()


def test_categories_and_missing_values(client, data):
    features, signal, new = data
    frame = pd.DataFrame(features.copy(), columns=list("abcd"))
    frame["town"] = np.where(features[:, 0] > 0.5, "Riga", np.where(features[:, 0] > -0.3, "Tartu", "Vilnius"))
    frame.loc[::9, "b"] = np.nan
    frame.loc[::11, "town"] = None
    dataset = client.upload(frame, signal, allow_missing=True)
    job = client.train(
        dataset,
        "kernel_ridge",
        regression=True,
        imputation="mean_or_most_frequent",
        unseen_category="all_zeros",
    )
    rows = frame.assign(town=frame["town"].replace("Riga", "Oslo")).sample(frac=1.0, random_state=2)
    local = assert_equal_to_server(job.wait(), rows)
    assert local.columns == ("a", "b", "c", "d", "town")
    with pytest.raises(ValueError, match="no column 'town'"):
        local.predict(rows.drop(columns="town"))


def test_rows_with_unknown_categories(client, data):
    features, signal, _ = data
    frame = pd.DataFrame({"a": features[:, 0], "town": np.where(features[:, 1] > 0, "Riga", "Tartu")})
    model = client.train(client.upload(frame, signal > 0.5), "kernel_ridge").wait()
    rows = frame.head(8).assign(unrelated="x")  # which a model on its own does not look at
    rows.loc[[2, 5], "town"] = "Oslo"
    local = mercer.load_model(model.export())
    with pytest.raises(ValueError, match="did not know the category"):
        local.predict(rows)
    known = frame.head(8)
    values = local.decision_values(rows, unseen="nan")
    assert np.flatnonzero(np.isnan(values[:, 0])).tolist() == [2, 5]
    kept = ~np.isnan(values[:, 0])
    np.testing.assert_array_equal(values[kept], local.decision_values(known)[kept])
    assert local.predict(rows, unseen="nan")[[2, 5]].tolist() == ["", ""]
    assert np.isfinite(local.decision_values(rows, unseen="zeros")).all()
    remote = model.predict_all(rows.drop(columns="unrelated"), unseen="nan")
    np.testing.assert_allclose(remote.decision_values, values, rtol=1e-9)
    assert sorted(remote.row_errors) == [2, 5]
    assert "'Oslo'" in remote.row_errors[2]
    assert remote.labels.tolist() == local.predict(rows, unseen="nan").tolist()
    with pytest.raises(ValueError, match="unseen must be"):
        local.predict(rows, unseen="skip")


def test_squares(client, data):
    features, signal, new = data
    scaled, new_scaled = features / features.std(axis=0), new / features.std(axis=0)
    distances = np.abs(scaled[:, None] - scaled[None]).sum(axis=2)
    new_distances = np.abs(new_scaled[:, None] - scaled[None]).sum(axis=2)
    dataset = client.upload(features, signal > 0.5, kernels={"gram": scaled @ scaled.T}, distances={"far": distances})
    kernels = ["precomputed block=gram", "distance block=far bandwidth=4", "gaussian median"]
    model = client.train(dataset, "lp_mkl", kernels=kernels).wait()
    squares = {"gram": new_scaled @ scaled.T, "far": new_distances}
    local = assert_equal_to_server(model, new, squares=squares)
    with pytest.raises(ValueError, match="needs the matrix 'gram'"):
        local.predict(new)
    with pytest.raises(ValueError, match="must have the shape"):
        local.predict(new, {"gram": np.zeros((333, 3)), "far": new_distances})


def test_negative_distances_are_those_of_rounding_or_refused(client, data):
    """By the size of their row, and only in columns of rows that the model reads."""
    features, signal, new = data
    scaled, new_scaled = features / features.std(axis=0), new / features.std(axis=0)
    far = np.abs(scaled[:, None] - scaled[None]).sum(axis=2)
    new_far = np.abs(new_scaled[:, None] - scaled[None]).sum(axis=2)
    dataset = client.upload(features, signal > 0.5, distances={"far": far})
    model = client.train(dataset, "svm", kernels="distance block=far bandwidth=4").wait()
    local = mercer.load_model(model.export())
    column = int(local._file.bases[0].training_rows[0])
    limit = 4e-8 * np.abs(np.delete(new_far[5], column)).max()
    for below in (0.0, 0.99 * limit):
        new_far[5, column] = -below
        values = local.decision_values(new, {"far": new_far})
        np.testing.assert_allclose(values, model.predict_all(new, squares={"far": new_far}).decision_values, rtol=1e-10)
    new_far[5, column] = -1.01 * limit
    with pytest.raises(ValueError, match=f"'far': row 5, column {column} is -.*, a distance must be >= 0"):
        local.decision_values(new, {"far": new_far})
    with pytest.raises(mercer.InvalidRequestError, match=f"row 6, column {column + 1} is -.*, a distance must be >= 0"):
        model.predict_all(new, squares={"far": new_far})


def test_matrices_are_read_as_the_server_reads_them(client, data):
    features, signal, new = data
    far = np.abs(features[:, :1] - features[:, 0])
    new_far = np.abs(new[:, :1] - features[:, 0])
    alone = client.upload(features, signal > 0.5, distances={"far": far})
    model = client.train(alone, "svm", kernels="distance").wait()
    assert_equal_to_server(model, new, squares={"far": new_far})
    local = mercer.load_model(model.export())
    for value in (np.nan, np.inf, -np.inf):
        new_far[7, 3] = value
        with pytest.raises(ValueError, match="'far': row 7, column 3 is not finite"):
            local.decision_values(new, {"far": new_far})
        with pytest.raises(mercer.InvalidRequestError, match="row 8, column 'far.4.': the value is not finite"):
            model.predict_all(new, squares={"far": new_far})
    gram = features[:, :2] @ features[:, :2].T
    both = client.upload(features, signal > 0.5, distances={"far": far}, kernels={"gram": gram})
    model = client.train(both, "svm", kernels=["distance", "precomputed"]).wait()
    squares = {"far": np.abs(new[:, :1] - features[:, 0]), "gram": new[:, :2] @ features[:, :2].T}
    assert_equal_to_server(model, new, squares=squares)
    assert set(mercer.load_model(model.export()).square_rows) == {"far", "gram"}


def test_pickles_and_files_are_the_model(client, data, tmp_path):
    features, signal, new = data
    model = client.train(client.upload(features, signal), "kernel_ridge", regression=True).wait()
    model.save(tmp_path / "ridge.model")
    local = mercer.load_model(tmp_path / "ridge.model")
    copy = pickle.loads(pickle.dumps(local))
    np.testing.assert_array_equal(copy.predict(new), local.predict(new))
    assert local.options["lambda"] == 1.0
    assert local.certificate["accuracy"] == model.get().certificate.accuracy
    np.testing.assert_allclose(model.predict(new), copy.predict(new), rtol=1e-10)


@pytest.mark.parametrize("validation", [0.25, 3])
@pytest.mark.parametrize("regression", [False, True])
def test_models_with_a_validation(client, data, validation, regression):
    features, signal, new = data
    dataset = client.upload(features, signal if regression else np.digitize(signal, [-0.5, 0.5]))
    job = client.train(dataset, "kernel_ridge", regression=regression, validation=validation)
    local = assert_equal_to_server(job.wait(), new)
    assert any(name.startswith(("held_out.", "folds.")) for name in local.metrics)


def test_the_newest_format_is_known():
    """That of ``core/training/model/model.h``."""
    header = pathlib.Path(__file__).resolve().parents[3] / "core/training/model/model.h"
    (version,) = re.findall(r"kModelFormatVersion = (\d+);", header.read_text(encoding="utf-8"))
    assert int(version) == _model_file._VERSION


def test_tables_are_read(monkeypatch):
    """From a file with two of them, which has not been written by this program."""
    saved = pathlib.Path(__file__).resolve().parents[3] / "tests/core/training/saved_models.json"
    content = bytes.fromhex(json.loads(saved.read_text(encoding="utf-8"))["tables"])
    ranking, covariance = _model_file.read_model_file(content).tables
    assert (ranking.name, ranking.row_axis, ranking.rows) == ("ranking", "variables", ("x1", "x2", "x3"))
    assert (ranking.columns, ranking.unit, ranking.drawing) == ((), "", "bars")
    np.testing.assert_array_equal(ranking.values, [[1, -2], [0.5, 4], [0, 0.25]])
    assert (covariance.columns, covariance.unit, covariance.drawing) == (("x1", "x2"), "m^2", "heat_map")
    np.testing.assert_array_equal(covariance.values, [[2, -0.5], [-0.5, 1]])
    local = mercer.LocalModel(content)
    assert list(local.tables) == ["feature_weights", "ranking", "covariance"]
    assert local.tables["ranking"].loc["x2", "bob"] == 4
    assert local.tables["ranking"].columns.name == "tasks"
    assert local.tables["covariance"].attrs["unit"] == "m^2"
    monkeypatch.setitem(sys.modules, "pandas", None)
    np.testing.assert_array_equal(local.tables["covariance"], [[2, -0.5], [-0.5, 1]])
    assert local.model_tables["covariance"].columns == ("x1", "x2")


def test_names_and_groups_of_kernels_are_read(monkeypatch):
    """From a file that has not been written by this program."""
    saved = pathlib.Path(__file__).resolve().parents[3] / "tests/core/training/saved_models.json"
    files = json.loads(saved.read_text(encoding="utf-8"))
    local = mercer.LocalModel(bytes.fromhex(files["labels"]))
    plain = mercer.LocalModel(bytes.fromhex(files["kinds"]))
    assert local.kernel_groups == ("Grün", "")
    assert plain.kernel_groups == ()
    assert local.kernel_names == plain.kernel_names
    weights = local.tables["kernel_weights"]
    assert list(weights.index.get_level_values("group")) == ["Grün", ""]
    assert list(weights.index.get_level_values("kernels")) == list(plain.tables["kernel_weights"].index)
    np.testing.assert_array_equal(weights, plain.tables["kernel_weights"])
    assert local.model_tables["kernel_weights"].row_groups == ("Grün", "")
    monkeypatch.setitem(sys.modules, "pandas", None)
    np.testing.assert_array_equal(local.tables["kernel_weights"], local.kernel_weights)


def test_bad_rows_are_named(client, data):
    features, signal, new = data
    model = client.train(client.upload(features, signal), "kernel_ridge", regression=True).wait()
    local = mercer.load_model(model.export())
    holes = new.copy()
    holes[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 'x2': the value is missing"):
        local.predict(holes)
    many = np.tile(new, (20, 1))  # more than are computed at a time
    many[6000, 2] = np.nan
    with pytest.raises(ValueError, match="row 6000, column 'x2': the value is missing"):
        local.predict(many)
    holes[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        local.predict(holes)
    with pytest.raises(ValueError, match="3 columns, the model has 4"):
        local.predict(new[:, :3])
    with pytest.raises(ValueError, match="two dimensions"):
        local.predict(new[0])


def test_reasons_are_those_of_the_api():
    """Files count them from 0, messages from 1."""
    words = _proto.enum_words(_proto.enum("StopReason"))
    assert [words[reason] for reason in _model_file._STOP_REASONS] == list(range(1, len(words) + 1))


def test_every_change_of_a_file_is_damage(client, rings):
    features, labels = rings
    content = client.train(client.upload(features[:20], labels[:20]), "svm").wait().export()
    for at in range(0, len(content), 7):
        with pytest.raises(ValueError, match="model"):
            mercer.load_model(content[:at])
        changed = content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :]
        with pytest.raises(ValueError, match="model"):
            mercer.load_model(changed)
