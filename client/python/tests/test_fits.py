"""What a fit says when a limit ended it, what it leaves on the server, and what it shows meanwhile."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import _bars, _base_estimator
from mercer.estimators import InfiniteFeaturesClassifier, KernelSVC, LpMKLClassifier
from mercer.local_model import load_model


@pytest.fixture(autouse=True)
def default_server(client, monkeypatch):
    """Estimators without a server use that of the run."""
    monkeypatch.setenv("MERCER_SERVER", client.address)


# -------------------------------------------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    "estimator",
    [LpMKLClassifier(max_iter=1, tol=1e-9), InfiniteFeaturesClassifier(max_iter=1, tol=1e-9)],
)
def test_a_limit_of_steps_warns(rings, estimator):
    with pytest.warns(ConvergenceWarning, match=r"relative gap .* instead of tol=.*max_iter=") as caught:
        estimator.fit(*rings)
    assert caught[0].filename == __file__
    assert estimator.model_.stop_reason == "iteration_limit"


def test_a_limit_of_time_warns(rings, monkeypatch):
    """How far a training comes in a time depends on the machine, so the model only says that time ended it."""

    def load_ended(content):
        model = load_model(content)
        model.stop_reason = "time_limit"
        return model

    monkeypatch.setattr(_base_estimator, "load_model", load_ended)
    with pytest.warns(ConvergenceWarning, match="time_limit=60.0"):
        LpMKLClassifier(time_limit=60.0).fit(*rings)


def test_what_converged_does_not_warn(rings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KernelSVC().fit(*rings).model_.stop_reason == "converged"


# ------------------------------------------------------------------------------------------------ temporary models


def exists(client, name):
    try:
        client.model(name).get()
    except mercer.NotFoundError:
        return False
    return True


def wait_until_deleted(client, name):
    """Deletions are made by a thread of their own."""
    while exists(client, name):
        pass


def test_a_model_goes_with_its_estimator(client, rings):
    fitted = KernelSVC().fit(*rings)
    name = fitted.model_name_
    assert exists(client, name)
    del fitted
    gc.collect()
    wait_until_deleted(client, name)


def test_the_next_fit_replaces_it(client, rings):
    fitted = KernelSVC().fit(*rings)
    first = fitted.model_name_
    fitted.set_params(C=2.0).fit(*rings)
    wait_until_deleted(client, first)
    assert exists(client, fitted.model_name_)


def test_a_model_with_a_name_stays(client, rings):
    named = KernelSVC(model="stays").fit(*rings)
    watched = KernelSVC().fit(*rings)  # deletions are made in turn: when this one is done, so are all before
    names = named.model_name_, watched.model_name_
    del named
    gc.collect()
    del watched
    gc.collect()
    wait_until_deleted(client, names[1])
    assert exists(client, names[0])
    client.model("stays").delete()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda fitted: pickle.loads(pickle.dumps(fitted))])
def test_copies_and_pickles_own_nothing(client, rings, copied):
    fitted, watched = KernelSVC().fit(*rings), KernelSVC(C=2.0).fit(*rings)
    names = fitted.model_name_, watched.model_name_
    twin = copied(fitted)
    np.testing.assert_array_equal(twin.predict(rings[0]), fitted.predict(rings[0]))
    del twin
    gc.collect()
    del watched
    gc.collect()
    wait_until_deleted(client, names[1])
    assert exists(client, names[0])


SCRIPT = """
import sys, numpy as np
from mercer.estimators import KernelSVC
X = np.random.default_rng(0).normal(size=(60, 3))
kept = [KernelSVC(C=c).fit(X, X[:, 0] > 0) for c in (1, 2, 3)]
print(*[fitted.model_name_ for fitted in kept], flush=True)
sys.stdin.read()
"""


def start(server):
    """A program that has fitted three estimators, and ends when its input does."""
    environment = {
        **os.environ,
        "MERCER_SERVER": server.address,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def test_the_end_of_the_program_deletes_them(server):
    process = start(server)
    names = process.stdout.readline().split()
    client = mercer.connect(server.address)
    assert len(names) == 3
    assert all(exists(client, name) for name in names)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert list(client.models()) == []


def test_a_server_that_is_gone_does_not_keep_a_program(server):
    process = start(server)
    process.stdout.readline()
    server.stop()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


# ----------------------------------------------------------------------------------------------------------- bars


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(_bars, "_hinted", set())


def test_lines_where_there_is_no_tqdm(rings, without_tqdm, capsys):
    LpMKLClassifier(verbose=True).fit(*rings)
    first = capsys.readouterr().err
    assert first.startswith("hint: with the package tqdm")
    assert "LpMKLClassifier 100% succeeded" in first
    LpMKLClassifier(verbose=True).fit(*rings)
    second = capsys.readouterr().err
    assert "hint" not in second
    assert "LpMKLClassifier 100% succeeded" in second
    assert len(second.splitlines()) < 30


@pytest.mark.parametrize("timeout", [None, 100.0])
def test_wait_shows_progress(client, rings, without_tqdm, capsys, timeout):
    job = client.train(client.upload(*rings), "svm", display_name="rings")
    model = job.wait(timeout, progress=True)
    assert model.metrics() == {}
    assert capsys.readouterr().err.splitlines()[-1] == "rings 100% succeeded"


def test_wait_shows_a_bar(client, rings, capsys):
    client.train(client.upload(*rings), "svm", display_name="rings").wait(progress=True)
    assert "rings 100%" in capsys.readouterr().err
    client.train(client.upload(*rings), "svm", display_name="rings").wait()
    assert capsys.readouterr().err == ""
