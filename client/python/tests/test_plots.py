"""Charts show the numbers of the training and of the model, where they are asked for, whole, and as text if need be."""

import datetime
import sys

import matplotlib
import numpy as np
import pandas
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

from mercer import ModelTable, Progress, _bars, plots  # noqa: E402
from mercer._model_tables import grid_of  # noqa: E402
from mercer.estimators import (  # noqa: E402
    InfiniteFeaturesClassifier,
    LpMKLClassifier,
    MixedNormMKLClassifier,
    SparseMultiTaskSVM,
)


@pytest.fixture(scope="module")
def fitted(client, rings):
    return LpMKLClassifier(server=client).fit(*rings)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def events(*points):
    now = datetime.datetime.now(datetime.timezone.utc)
    return [
        Progress(n, now, kind, 1, i, relative_gap=gap, from_iteration=1, phase=phase)
        for n, (kind, i, gap, phase) in enumerate(points)
    ]


def test_progress(client, fitted):
    gaps = [e.relative_gap for e in fitted.history_ if e.relative_gap is not None]
    for training in (fitted, client.job(fitted.job_name_), fitted.history_):
        axes = plots.plot_progress(training, plt.figure().gca())
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), gaps)
        assert axes.get_yscale() == "log"
    assert plots.plot_progress(fitted, plt.figure().gca(), "elapsed").get_xlabel() == "seconds"
    with pytest.raises(ValueError, match="against"):
        plots.plot_progress(fitted, against="time")


def test_what_is_done_again_is_drawn_once():
    history = events(
        ("progress", 1, 0.5, ""), ("progress", 2, 0.4, ""), ("resumed", 0, None, ""), ("progress", 2, 0.3, "")
    )
    axes = plots.plot_progress(history, plt.figure().gca())
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [2, 0.3]])


def test_weights(client, fitted):
    largest = np.sort(np.abs(fitted.kernel_weights_))[::-1]
    for model in (fitted, fitted.model_, client.model(fitted.model_name_)):
        axes = plots.plot_weights(model, plt.figure().gca(), most=3)
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], largest[:3])
        assert axes.get_yticklabels()[0].get_text() == fitted.kernel_names_[fitted.kernel_weights_.argmax()]


def test_displays_are_those_of_scikit_learn(fitted):
    figure, (left, right) = plt.subplots(1, 2)
    weights = plots.KernelWeightsDisplay.from_estimator(fitted, ax=left)
    progress = plots.TrainingProgressDisplay.from_estimator(fitted, ax=right)
    assert (weights.ax_, progress.ax_) == (left, right)
    assert weights.figure_ is progress.figure_ is figure
    assert len(weights.bars_) == len(fitted.kernel_names_)
    again = weights.plot()
    assert again is weights
    assert again.figure_ is not figure


def test_weights_of_features(client, rings):
    model = InfiniteFeaturesClassifier(max_groups=5, server=client).fit(*rings)
    for shown in (model, client.model(model.model_name_)):
        display = plots.KernelWeightsDisplay.from_estimator(shown)
        np.testing.assert_allclose([bar.get_width() for bar in display.bars_], np.sort(model.chosen_weights_)[::-1])


NAMES = ("linear", "wide", "narrow", "tiny", "huge")
WEIGHTS = (0.2, 0.5, 0.0, 0.3, 0.0)
GROUPS = ("images", "images", "", "words", "images")
NORMS = (1.0, 2.5, 0.0, 0.5, 0.0)


def lines(display):
    """The names to the left, from the top down, each with the width of its bar; NaN where there is none."""
    widths = {round(bar.get_y() + bar.get_height() / 2, 6): bar.get_width() for bar in display.ax_.patches}
    labels = sorted(zip(display.ax_.get_yticks(), display.ax_.get_yticklabels()), key=lambda pair: pair[0])
    return [(label.get_text(), widths.get(round(place, 6), np.nan)) for place, label in labels]


def test_kernels_stand_below_their_groups():
    display = plots.KernelWeightsDisplay(NAMES, WEIGHTS, GROUPS, NORMS).plot()
    assert lines(display) == [
        ("images · 2 of 3 selected", 0.7),
        ("wide", 0.5),
        ("linear", 0.2),
        ("huge", 0.0),
        ("words · 1 of 1 selected", 0.3),
        ("tiny", 0.3),
        ("without group · 0 of 1 selected", 0.0),
        ("narrow", 0.0),
    ]
    assert [bar.get_width() for bar in display.bars_] == [0.5, 0.2, 0.0, 0.3, 0.0]
    assert [bar.get_width() for bar in display.group_bars_] == [0.7, 0.3, 0.0]
    (rings,) = display.ax_.lines
    shown = {label.get_text(): place for place, label in zip(display.ax_.get_yticks(), display.ax_.get_yticklabels())}
    assert sorted(rings.get_ydata()) == sorted([shown["huge"], shown["narrow"]])
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts[:6] == ["0.7", "0.3", "0.5", "0.2", "0.3", "norm"]
    # All groups first, and then the kernels, as the names are.
    assert texts[6:] == ["3.5", "0.5", "", "2.5", "1", "", "0.5", ""]
    without = plots.KernelWeightsDisplay(NAMES, WEIGHTS, GROUPS).plot()
    assert [text.get_text() for text in without.ax_.texts] == ["0.7", "0.3", "0.5", "0.2", "0.3"]


def test_of_many_kernels_the_selected_ones_are_shown():
    names = [f"kernel {k}" for k in range(63)]
    weights = np.zeros(63)
    weights[[3, 12, 13, 62]] = 0.1, 0.4, 0.2, 0.3
    groups = [f"group {k // 9}" for k in range(63)]
    display = plots.KernelWeightsDisplay(names, weights, groups).plot()
    assert [name for name, _ in lines(display)][:8] == [
        "group 1 · 2 of 9 selected", "kernel 12", "kernel 13", "7 more, not selected",
        "group 6 · 1 of 9 selected", "kernel 62", "8 more, not selected", "group 0 · 1 of 9 selected",
    ]  # fmt: skip
    few = [name for name, _ in lines(plots.KernelWeightsDisplay(names, weights, groups).plot(most=2))]
    assert few == [
        "group 1 · 2 of 9 selected", "kernel 12", "8 more, 1 of them selected",
        "group 6 · 1 of 9 selected", "kernel 62", "8 more, not selected", "5 more groups · 1 of 45 selected",
    ]  # fmt: skip
    assert len(plots.KernelWeightsDisplay(names, weights, groups).plot(most=None).bars_) == 63
    for one in (weights, np.zeros(63)):  # a single group, and nothing selected
        display = plots.KernelWeightsDisplay(names, one, ["all"] * 63).plot()
        assert lines(display)[0] == (f"all · {np.count_nonzero(one)} of 63 selected", pytest.approx(one.sum()))
        assert lines(display)[-1][0] == ("59 more, not selected" if one.any() else "all · 0 of 63 selected")
        assert display.ax_.get_xlim()[0] == 0


def test_long_names_of_groups_are_not_cut_off():
    names = [f"gaussian(bandwidth=0.5, columns=capital_run_length_{'very_' * i}total)" for i in range(8)]
    groups = ["bags of words of the whole picture and of its quarters"] * 4 + ["colours"] * 4
    display = plots.KernelWeightsDisplay(names, np.arange(8.0), groups, np.arange(8.0)).plot()
    display.figure_.canvas.draw()
    inside = display.figure_.bbox
    for label in (*display.ax_.get_yticklabels(), *(text for text in display.ax_.texts if text.get_text())):
        box = label.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1
    assert display.ax_.get_window_extent().width > 0.2 * inside.width


@pytest.fixture(scope="module", params=[2, 3])
def of_groups(request, client, rings):
    """Of as many classes, so that the outputs are learnt apart or there is one."""
    features, labels = rings
    labels = np.where((request.param == 3) & (features[:, 0] > 1), "right", labels)
    kernels = ["gaussian median=0.5,1,2 group=near", "linear group=far", "polynomial degree=2 scaling=trace group=far"]
    return MixedNormMKLClassifier(kernels=kernels, server=client).fit(features, labels)


def test_weights_and_norms_of_groups(client, of_groups):
    outputs = of_groups.model_.kernel_weights.shape[1]
    for model in (of_groups, of_groups.model_, client.model(of_groups.model_name_)):
        for output in range(outputs):
            display = plots.KernelWeightsDisplay.from_estimator(model, output=output)
            weights = of_groups.model_.kernel_weights[:, output]
            sums = sorted([weights[:3].sum(), weights[3:].sum()], reverse=True)
            np.testing.assert_allclose([bar.get_width() for bar in display.group_bars_], sums)
            suffix = f".{output + 1}" if outputs > 1 else ""
            told = of_groups.model_.model_tables["kernel_groups" + suffix]
            np.testing.assert_allclose(np.sort(told.values[:, 0]), np.sort(sums))
            norm = told.values[np.argmax(told.values[:, 0]), 1]
            assert f"{norm:.3g}" in [text.get_text() for text in display.ax_.texts]
            assert display.norms.sum() == pytest.approx(told.values[:, 1].sum())


def test_a_table_of_rows_in_groups():
    told = ModelTable("n", "title", "kernels", "outputs", NAMES, ("one",), np.array([WEIGHTS]).T, "cm", "bars", GROUPS)
    display = plots.ModelTableDisplay(told).plot()
    assert lines(display) == lines(plots.KernelWeightsDisplay(NAMES, WEIGHTS, GROUPS).plot())
    assert (display.ax_.get_title(), display.ax_.get_xlabel()) == ("title", "cm")


def test_groups_without_matplotlib(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    names = ["linear", "wide(bandwidth=1.5199110829529339, columns=c1234567)", *NAMES[2:]]
    assert plots.KernelWeightsDisplay(names, WEIGHTS, GROUPS, NORMS).plot().ax_ is None
    head, wide, linear, huge, *_, last = capsys.readouterr().out.splitlines()
    assert head == f"images · 2 of 3 selected                   {'█' * 25} 0.7      norm 3.5"
    assert wide == f"  ● wide(bandwidth=1.52, columns=c1234567) {'█' * 18}{' ' * 7} 0.5      norm 2.5"
    assert linear.startswith("  ● linear ") and huge.startswith("  ○ huge ") and huge.endswith(" 0")
    assert last.startswith("  ○ narrow ")
    plots.KernelWeightsDisplay(names, WEIGHTS, GROUPS).plot(most=1)
    assert capsys.readouterr().out.endswith("    2 more, 1 of them selected\n2 more groups · 1 of 2 selected\n")


def test_a_table_of_rows_in_groups_without_matplotlib(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    told = ModelTable("n", "title", "kernels", "outputs", NAMES, ("one",), np.array([WEIGHTS]).T, "cm", "bars", GROUPS)
    assert plots.ModelTableDisplay(told).plot().ax_ is None
    shown = capsys.readouterr().out
    plots.KernelWeightsDisplay(NAMES, WEIGHTS, GROUPS).plot()
    assert shown == "title, in cm\n" + capsys.readouterr().out


def table(drawing, values, rows=("x1", "x2"), columns=("ann", "bob"), unit="cm"):
    return ModelTable("name", "what it says", "variables", "tasks", rows, columns, np.array(values), unit, drawing)


def test_a_table_of_weights_is_that_of_the_weights(client, fitted):
    for model in (fitted, fitted.model_, client.model(fitted.model_name_)):
        axes = plots.plot_table(model, "kernel_weights", plt.figure().gca(), most=3)
        expected = plots.plot_weights(model, plt.figure().gca(), most=3)
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [b.get_width() for b in expected.patches])
        assert [t.get_text() for t in axes.get_yticklabels()] == [t.get_text() for t in expected.get_yticklabels()]
    with pytest.raises(ValueError, match="no table 'weights'; it has kernel_weights"):
        plots.plot_table(fitted, "weights")


def test_bars_of_a_table(fitted):
    display = plots.ModelTableDisplay(table("bars", [[1.0, 2.0], [3.0, -4.0]])).plot()
    assert [[bar.get_width() for bar in bars] for bars in display.marks_] == [[3.0, 1.0], [-4.0, 2.0]]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["x2", "x1"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["ann", "bob"]
    assert (display.ax_.get_title(), display.ax_.get_xlabel()) == ("what it says", "cm")
    many = tuple(f"task {i}" for i in range(20))
    display = plots.ModelTableDisplay(table("bars", [[-2.0] * 20, [1.0] * 20], columns=many)).plot()
    assert [[bar.get_width() for bar in bars] for bars in display.marks_] == [[2.0, 1.0]]


def test_rows_that_are_the_cells_of_a_grid():
    rows = ("Fz_t1", "Fz_t2", "Fz_t3", "Cz_t1", "Cz_t3", "Cz_t2")
    told = table("bars", [[1.0, 7.0], [2.0, 8.0], [3.0, 9.0], [4.0, 10.0], [6.0, 12.0], [5.0, 11.0]], rows)
    grid = grid_of(told, 1)
    assert (grid.rows, grid.columns, grid.drawing) == (("Fz", "Cz"), ("t1", "t2", "t3"), "heat_map")
    np.testing.assert_array_equal(grid.values, [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]])
    kernels = ModelTable(
        "n", "t", "k", "o", tuple(f"linear(columns={r})" for r in rows), ("a",), told.values[:, :1], "", "bars"
    )
    np.testing.assert_array_equal(grid_of(kernels).values, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    indexed = grid_of(table("bars", told.values, tuple(row.replace("_t", "[") + "]" for row in rows)))
    assert (indexed.rows, indexed.columns) == (("Fz", "Cz"), ("1", "2", "3"))
    for none in (
        rows[:5],
        ("Fz_t1",) * 6,
        tuple("abcdef"),
        tuple(f"Fz_t{i}" for i in range(6)),
        ("_1", "_2", "a_1", "a_2"),
    ):
        assert grid_of(table("bars", [[1.0, 2.0]] * len(none), none)) is None


def test_a_grid_is_drawn_as_a_heat_map(client, fitted):
    model = fitted.model_
    with pytest.raises(ValueError, match="no grid"):
        plots.plot_weights(model, plt.figure().gca(), grid=True)
    features = np.random.default_rng(1).normal(size=(60, 4))
    frame = pandas.DataFrame(features, columns=["Fz_t1", "Fz_t2", "Cz_t1", "Cz_t2"])
    machine = SparseMultiTaskSVM(C=1.0).fit(frame, np.where(features[:, 0] + features[:, 3] > 0, "yes", "no"))
    for draw in (
        plots.plot_weights,
        lambda *given, **options: plots.plot_table(given[0], "blocks", *given[1:], **options),
    ):
        axes = draw(machine, plt.figure().gca(), grid=True)
        assert [text.get_text() for text in axes.get_yticklabels()] == ["Fz", "Cz"]
        assert [text.get_text() for text in axes.get_xticklabels()] == ["t1", "t2"]
        assert axes.images[0].get_array().argsort(axis=None)[-2:].tolist() in ([0, 3], [3, 0])


@pytest.mark.parametrize("rows", [("0.5", "2"), ("first", "second")])
def test_curves_of_a_table(rows):
    display = plots.ModelTableDisplay(table("curve", [[1.0, 2.0], [3.0, 4.0]], rows=rows)).plot()
    places = [0.5, 2.0] if rows[0] == "0.5" else [0, 1]
    for line, values in zip(display.marks_, [[1, 3], [2, 4]]):
        np.testing.assert_array_equal(line.get_xdata(), places)
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("variables", "cm")


@pytest.mark.parametrize("drawing", ["heat_map", "numbers"])
def test_heat_maps_of_a_table(drawing):
    display = plots.ModelTableDisplay(table(drawing, [[1.0, 2.0], [3.0, -4.0]])).plot()
    (image,) = display.marks_
    np.testing.assert_array_equal(image.get_array(), [[1, 2], [3, -4]])
    assert image.get_clim() == (-4, 4)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["ann", "bob"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["x1", "x2"]
    (image,) = plots.ModelTableDisplay(table(drawing, [[1.0, 2.0]], rows=("x1",))).plot().marks_
    assert image.get_clim() == (0, 2)


@pytest.mark.parametrize("draw", [plots.plot_weights, plots.plot_progress])
def test_nothing_is_drawn_over(fitted, draw):
    _, mine = plt.subplots()
    mine.plot([1, 2, 3])
    axes = draw(fitted)
    assert axes is not mine
    assert len(mine.lines) == 1
    assert len(mine.patches) == 0


@pytest.mark.parametrize("own", [True, False])
def test_long_names_are_not_cut_off(own):
    names = [f"gaussian(bandwidth=0.5, columns=capital_run_length_{'very_' * i}total)" for i in range(30)]
    display = plots.KernelWeightsDisplay(names, np.arange(30.0)).plot(None if own else plt.subplots()[1], most=None)
    figure = display.figure_
    figure.canvas.draw()
    inside = figure.bbox
    for label in (*display.ax_.get_yticklabels(), display.ax_.xaxis.label):
        box = label.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1
    assert len(display.bars_) == len({bar.get_y() for bar in display.bars_}) == 30
    assert display.ax_.get_window_extent().width > 0.2 * inside.width
    if own:
        boxes = sorted((label.get_window_extent() for label in display.ax_.get_yticklabels()), key=lambda box: box.y0)
        assert all(low.y1 <= high.y0 + 1 for low, high in zip(boxes, boxes[1:]))


@pytest.mark.parametrize("phases", [2, 10, 11, 40])
def test_a_legend_has_at_most_ten_entries(phases):
    history = events(*(("progress", i, 0.5 / (i + 1), f"fold {p}") for p in range(phases) for i in range(3)))
    display = plots.TrainingProgressDisplay.from_job(history)
    assert len(display.ax_.lines) == phases
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(texts) == min(phases, 10)
    if phases > 10:
        assert texts[-1] == f"{phases - 9} more"


def test_text_without_matplotlib(fitted, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(_bars, "_hinted", set())
    assert plots.plot_weights(fitted) is None
    assert plots.plot_progress(fitted) is None
    assert plots.plot_table(fitted, "kernel_weights") is None
    plots.ModelTableDisplay(table("heat_map", [[1.0, 2.0], [3.0, -4.0]])).plot()
    shown = capsys.readouterr()
    assert "kernel weights\n" in shown.out
    assert shown.out.endswith("what it says, in cm\n   ann bob\nx1   1   2\nx2   3  -4\n")
    assert fitted.kernel_names_[0] in shown.out
    assert f"{fitted.kernel_weights_.max():.3g}" in shown.out
    assert f"relative gap {fitted.history_[-3].relative_gap or fitted.certificate_['accuracy']:.1e}" in shown.out
    assert shown.err.count("hint: with the package matplotlib") == 1
