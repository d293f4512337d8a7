"""How much the Python package adds to the server's own time.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python client/python/bench/client_bench.py

Prints the best of several runs of each, against the goals: an upload at 300 MB/s, predictions within 1.5 times of the
server's own time, a grid search with an overhead below 5 %.
"""

import time

import numpy as np
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import _base_estimator, _upload
from mercer.estimators import LpMKLClassifier

RUNS = 5


def seconds(message):
    """Of a Duration or Timestamp."""
    return message.seconds + message.nanos * 1e-9


def timed(call):
    """(seconds, result)."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def bench_upload(client):
    """100 MB of doubles: hashing, sending, and what the server does behind the last byte."""
    random = np.random.default_rng(1)
    rows = []
    for _ in range(RUNS):
        features = random.normal(size=(250_000, 50))
        last = [0.0]
        begin = time.perf_counter()

        def sent(_, last=last):
            last[0] = time.perf_counter()

        dataset = client.upload(features, on_progress=sent)
        end = time.perf_counter()
        rows.append((end - begin, last[0] - begin, end - last[0]))
        again, _ = timed(lambda features=features: client.upload(features))
        dataset.delete()
    total, sending, storing = min(rows)
    print(f"upload 100 MB: {100 / total:.0f} MB/s; until the last byte is sent {sending:.3f} s "
          f"({100 / sending:.0f} MB/s), then the server reads, checks and stores for {storing:.3f} s")  # fmt: skip
    print(f"the same again: {again:.3f} s, nothing is sent")


def bench_predict(client):
    """100,000 x 50 rows."""
    random = np.random.default_rng(2)
    features = random.normal(size=(2000, 50))
    labels = np.where(features[:, 0] * features[:, 1] > 0, "a", "b")
    model = client.train(client.upload(features, labels), "svm", kernels="gaussian median").wait()
    rows = random.normal(size=(100_000, 50))
    stored = client.upload(rows)
    # The server's own time: the same rows, of which it already has the bytes.
    sent, own = [], []
    for _ in range(RUNS):
        own.append(timed(lambda: model.predict_all(stored))[0])
        sent.append(timed(lambda: model.predict_all(rows))[0])
    local = mercer.load_model(model.export())
    in_numpy, _ = timed(lambda: local.decision_values(rows[:10_000]))
    print(f"predict 100,000 x 50, {local.num_support_vectors} support vectors: {min(sent):.3f} s; the server alone, "
          f"with rows that it has, {min(own):.3f} s, ratio {min(sent) / min(own):.2f}; "
          f"NumPy {10 * in_numpy:.2f} s")  # fmt: skip


def bench_grid_search(client):
    """20 settings, 5 folds, 2000 rows: what is not the server's training is overhead, but for scoring."""
    random = np.random.default_rng(3)
    features = random.normal(size=(2000, 20))
    labels = np.where(features[:, 0] * features[:, 1] + 0.3 * random.normal(size=2000) > 0, 1, 0)
    sends, original = [], _upload.Upload._send
    fits, follow = [], _base_estimator.KernelEstimator._fit

    def counted(self, header, begin):
        sends.append(header.dataset_id)
        return original(self, header, begin)

    def timed_fit(self, *arguments):
        fits.append(timed(lambda: follow(self, *arguments))[0])
        return self

    _upload.Upload._send, _base_estimator.KernelEstimator._fit = counted, timed_fit
    grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "p": [1.0, 1.33, 2.0, 4.0]}
    try:
        search = GridSearchCV(LpMKLClassifier(server=client), grid, cv=5)
        wall, _ = timed(lambda: search.fit(features, labels))
    finally:
        _upload.Upload._send, _base_estimator.KernelEstimator._fit = original, follow
    jobs = [job.message for job in client.jobs(["succeeded"]) if job.message.display_name == "LpMKLClassifier"]
    training = sum(seconds(job.end_time) - seconds(job.start_time) for job in jobs)
    overhead = sum(fits) - training
    print(f"grid search, {len(jobs)} trainings: {wall:.1f} s, of which training {training:.1f} s, "
          f"RPCs and fetching the models {overhead:.2f} s ({100 * overhead / wall:.1f} %, "
          f"{1e3 * overhead / len(jobs):.0f} ms each), scoring in NumPy {wall - sum(fits):.1f} s; "
          f"{len(sends)} uploads")  # fmt: skip


if __name__ == "__main__":
    with mercer.local() as connected:
        bench_upload(connected)
        bench_predict(connected)
        bench_grid_search(connected)
