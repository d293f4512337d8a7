"""A server for all tests of a run, and one for each test that stops it."""

import os
import pathlib
import sys

import numpy as np
import pytest

import mercer

TESTS = pathlib.Path(__file__).resolve().parents[3] / "tests"
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS.parent / "experiments")]
import server_lib  # noqa: E402

os.environ.setdefault("MERCER_SERVER_PROGRAM", str(server_lib.BIN / "mercer-server"))


@pytest.fixture(scope="session")
def client():
    """Of a server that lives as long as the run."""
    with mercer.local() as connected:
        yield connected


@pytest.fixture
def server():
    """A server that a test may stop and start again on the same port."""
    with server_lib.Server("--checkpoint-interval", "0.2") as started:
        yield started


@pytest.fixture(scope="session")
def rings():
    """Points of two classes that no line separates, and their labels."""
    random = np.random.default_rng(7)
    features = random.normal(size=(240, 3))
    return features, np.where((features**2).sum(axis=1) > 2.4, "outer", "inner")


@pytest.fixture(scope="session")
def long_training():
    """Arguments of Client.train that take many seconds, and data for them."""
    random = np.random.default_rng(3)
    features = random.normal(size=(1500, 20))
    labels = np.where(random.normal(size=1500) + features[:, 0] > 0, 1, -1)
    arguments = {
        "learner": "lp_mkl",
        "options": {"C": 1000.0, "p": 1.0},
        "kernels": "gaussian bandwidths=0.1..10:20 per_column",
        "relative_gap": 1e-9,
    }
    return features, labels, arguments
