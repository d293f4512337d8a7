"""Charts show the numbers of the training and of the model."""

import datetime

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

from mercer import Progress, plots  # noqa: E402
from mercer.estimators import LpMKLClassifier  # noqa: E402


@pytest.fixture(scope="module")
def fitted(client, rings):
    return LpMKLClassifier(server=client).fit(*rings)


def test_progress(client, fitted):
    gaps = [e.relative_gap for e in fitted.history_ if e.relative_gap is not None]
    for training in (fitted, client.job(fitted.job_name_), fitted.history_):
        axes = plots.plot_progress(training, plt.figure().gca())
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), gaps)
        assert axes.get_yscale() == "log"
    assert plots.plot_progress(fitted, plt.figure().gca(), "elapsed").get_xlabel() == "seconds"
    with pytest.raises(ValueError, match="against"):
        plots.plot_progress(fitted, against="time")
    plt.close("all")


def test_what_is_done_again_is_drawn_once():
    now = datetime.datetime.now(datetime.timezone.utc)
    points = [(1, "progress", 1, 0.5), (2, "progress", 2, 0.4), (3, "resumed", 0, None), (4, "progress", 2, 0.3)]
    events = [Progress(n, now, kind, 1, i, relative_gap=gap, from_iteration=1) for n, kind, i, gap in points]
    axes = plots.plot_progress(events, plt.figure().gca())
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [2, 0.3]])


def test_weights(client, fitted):
    largest = np.sort(np.abs(fitted.kernel_weights_))[::-1]
    for model in (fitted, fitted.model_, client.model(fitted.model_name_)):
        axes = plots.plot_weights(model, plt.figure().gca(), most=3)
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], largest[:3])
        assert axes.get_yticklabels()[0].get_text() == fitted.kernel_names_[fitted.kernel_weights_.argmax()]
    plt.close("all")
