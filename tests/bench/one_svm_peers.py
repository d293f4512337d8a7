#!/usr/bin/env python3
"""The learner svm beside LIBSVM (scikit-learn's SVC) where both compute a Gaussian kernel from the columns.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    OPENBLAS_NUM_THREADS=1 tests/bench/one_svm_peers.py FOLDER LINES.jsonl [--sets spambase adult magic pictures]

One thread each, in turn. SVC has its tolerance 1e-3 and a cache of 2000 MB; its solution is certified here, in NumPy,
and the learner runs to the same relative duality gap. For each C, then for ten C from 0.1 to 100: SVC from zero, the
learner as one job with a path, once all of it to the smallest of the ten gaps and once to the largest, at most 1e-3;
the 100 rows that such a job holds out are further ones, not read by SVC. A line of LINES.jsonl for each: seconds of
SVC.fit; of the job from the request until its last step ("training": reading, kernel, solving) and until the model is
stored ("job": its verification as well); "cpu" is user and system time of the process, of ours in ticks of 10 ms.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import resource
import time

import mercer
import numpy as np
import pandas as pd

COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
PATH = tuple(0.1 * 1000 ** (k / 9) for k in range(10))
TABLES = {
    "spambase": ("spambase/spambase.csv.gz", 4000),
    "adult": ("adult/adult14.csv.gz", 10_000),
    "magic": ("magic/magic.csv.gz", 13_314),
}
HELD_OUT = 100
LARGEST_GAP = 1e-3  # of a path
REPEATS = 3
LONG_SECONDS = 5.0  # what takes as long is not repeated
LIMIT_SECONDS = 300.0
ROWS_AT_A_TIME = 1000
TICK = os.sysconf("SC_CLK_TCK")


def read(folder, name):
    """Standardised columns, and labels; the last HELD_OUT rows are not trained on."""
    if name == "pictures":
        features, labels = pictures(4000 + HELD_OUT)
    else:
        path, most = TABLES[name]
        table = pd.read_csv(pathlib.Path(folder, path)).sample(frac=1, random_state=1).head(most + HELD_OUT)
        features, labels = table.iloc[:, :-1].to_numpy(float), np.where(table.iloc[:, -1] > 0, 1.0, -1.0)
    deviations = features[:-HELD_OUT].std(axis=0)
    return (features - features[:-HELD_OUT].mean(axis=0)) / np.where(deviations > 0, deviations, 1.0), labels


def pictures(count, side=28, shapes=10, blobs=15):
    """Made as those of smo_bench: shapes of strokes, three blobs each, moved and bent; even shapes against odd ones."""
    random = np.random.default_rng(11)
    centres = random.uniform(6, 22, size=(shapes, blobs, 2))
    for b in range(blobs):
        if b % 3:
            centres[:, b] = centres[:, b - 1] + 2.5 * random.uniform(-1, 1, size=(shapes, 2))
    shape = np.arange(count) % shapes
    moved = centres[shape] + 1.5 * random.normal(size=(count, 1, 2)) + 0.7 * random.normal(size=(count, blobs, 2))
    down, right = (np.exp(-0.5 * (moved[:, :, k, None] - np.arange(side)) ** 2) for k in (0, 1))
    images = np.minimum(np.einsum("nbr,nbc->nrc", down, right), 1.0)
    images[images < 0.1] = 0.0
    return images.reshape(count, -1), np.where(shape % 2 == 0, 1.0, -1.0)


def squared_distances(rows, others):
    distances = -2 * rows @ others.T + (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    return np.maximum(distances, 0.0)


def certify(features, labels, gamma, cost, support, dual):
    """(primal, dual value) of signed dual variables, with the best bias."""
    scores = np.concatenate([
        np.exp(-gamma * squared_distances(features[i : i + ROWS_AT_A_TIME], features[support])) @ dual
        for i in range(0, len(labels), ROWS_AT_A_TIME)
    ])  # fmt: skip
    norm = dual @ scores[support]
    # The slope in the bias is -(positive rows) at first, and rises by 1 at each y - f.
    bias = np.sort(labels - scores)[int((labels > 0).sum()) - 1]
    loss = np.maximum(0.0, 1.0 - labels * (scores + bias)).sum()
    return float(0.5 * norm + cost * loss), float(labels[support] @ dual - 0.5 * norm)


def serve_svc(connection, features, labels, gamma):
    """Fits what is asked for, in a process of its own, which can be ended."""
    from sklearn.svm import SVC  # noqa: PLC0415

    while True:
        model = SVC(C=connection.recv(), kernel="rbf", gamma=gamma, tol=1e-3, cache_size=2000)
        before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        model.fit(features, labels)
        wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        connection.send((model.support_, model.dual_coef_[0], {"wall": wall, "cpu": cpu}))


class Svc:
    """scikit-learn's SVC, within LIMIT_SECONDS."""

    def __init__(self, *problem):
        self._problem = problem
        self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=serve_svc, args=(other, *self._problem), daemon=True)
        self._process.start()

    def fit(self, cost):
        """(support, dual, seconds), or None when it was too long."""
        self._connection.send(cost)
        if self._connection.poll(LIMIT_SECONDS):
            return self._connection.recv()
        self.close()
        self._start()
        return None

    def close(self):
        self._process.terminate()
        self._process.join()


def server_process():
    """The server's number, of the processes below this one."""
    waiting = [os.getpid()]
    while waiting:
        number = waiting.pop()
        if pathlib.Path(f"/proc/{number}/comm").read_text().startswith("mercer-server"):
            return number
        for task in pathlib.Path(f"/proc/{number}/task").iterdir():
            waiting += map(int, (task / "children").read_text().split())
    raise RuntimeError("no server runs")


def cpu_of(number):
    fields = pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def train(client, server, dataset, bandwidth, gap, **request):
    """(model, seconds) of one job."""
    before, begin = cpu_of(server), time.perf_counter()
    job = client.train(
        dataset, "svm", kernels=f"gaussian bandwidth={bandwidth!r}", scaling="none", relative_gap=gap, threads=1,
        **request,
    )  # fmt: skip
    seconds = {}
    for event in job.progress():
        if event.kind == "state_change" and event.state == "verifying":
            seconds["training_wall"], seconds["training_cpu"] = time.perf_counter() - begin, cpu_of(server) - before
    model = job.result()
    seconds["job_wall"], seconds["job_cpu"] = time.perf_counter() - begin, cpu_of(server) - before
    return model, seconds


def bounds(model):
    """What a model of ours is certified to be."""
    certificate = mercer.load_model(model.export()).certificate
    return {name: certificate[name] for name in ("primal", "dual", "accuracy")}


def least(records):
    return {name: min(record[name] for record in records) for name in records[0]}


class Comparison:
    """Of one data set; writes lines."""

    def __init__(self, client, server, name, features, labels, lines):
        self._client, self._server, self._name, self._lines = client, server, name, lines
        frame = pd.DataFrame(features, columns=[f"x{c}" for c in range(features.shape[1])])
        frame["class"] = np.where(labels > 0, "b", "a")
        self._dataset = client.upload(frame[:-HELD_OUT], "class")
        frame["part"] = np.where(np.arange(len(labels)) < len(labels) - HELD_OUT, "train", "validation")
        self._divided = client.upload(frame, "class", roles={"part": "split"})
        features, labels = features[:-HELD_OUT], labels[:-HELD_OUT]
        self._features, self._labels = features, labels
        sample = squared_distances(features[::4], features[::4])
        self._bandwidth = float(np.sqrt(np.median(sample[np.tril_indices(len(sample), -1)])))
        self._gamma = 1 / (2 * self._bandwidth**2)
        self._svc = Svc(features, labels, self._gamma)

    def run(self):
        for cost in COSTS:
            self._compare(cost)
        self._compare_path()
        self._svc.close()

    def _write(self, **record):
        record = {"set": self._name, "rows": len(self._labels), "columns": self._features.shape[1], **record}
        self._lines.write(json.dumps(record) + "\n")
        self._lines.flush()
        print(record, flush=True)

    def _certified(self, cost, fitted):
        primal, dual = certify(self._features, self._labels, self._gamma, cost, *fitted[:2])
        return {"primal": primal, "dual": dual, "gap": (primal - dual) / abs(primal)}

    def _train(self, dataset, gap, **request):
        return train(self._client, self._server, dataset, self._bandwidth, gap, **request)

    def _compare(self, cost):
        theirs, ours = [], []
        while len(theirs) < REPEATS and (not theirs or theirs[-1]["cpu"] < LONG_SECONDS):
            fitted = self._svc.fit(cost)
            if fitted is None:
                self._write(C=cost, svc=None, limit=LIMIT_SECONDS)
                return
            if not theirs:
                certified = self._certified(cost, fitted)
            theirs.append(fitted[2])
            model, seconds = self._train(self._dataset, certified["gap"], options={"C": cost})
            ours.append(seconds)
        found = bounds(model)
        self._write(
            C=cost, svc={**certified, **least(theirs)}, svm={**found, **least(ours)},
            dual_difference=found["dual"] / certified["dual"] - 1,
        )  # fmt: skip

    def _compare_path(self):
        fits = [self._svc.fit(cost) for cost in PATH]
        if None in fits:
            self._write(C="path", svc=None, limit=LIMIT_SECONDS)
            return
        certified = [self._certified(cost, fitted) for cost, fitted in zip(PATH, fits)]
        gaps = [each["gap"] for each in certified]
        theirs = {"gaps": gaps, **{name: sum(fit[2][name] for fit in fits) for name in ("wall", "cpu")}}
        # A job has one gap for all values.
        for gap in (min(gaps), min(max(gaps), LARGEST_GAP)):
            model, ours = self._train(
                self._divided, gap, path=("C", list(PATH)), keep_path=True, validation="hold_out"
            )  # fmt: skip
            found = sorted((bounds(version) for version in model.versions()), key=lambda each: each["dual"])
            differences = [each["dual"] / their["dual"] - 1 for each, their in zip(found, certified, strict=True)]
            self._write(
                C="path", svc=theirs, svm={"gap": gap, "accuracies": [each["accuracy"] for each in found], **ours},
                dual_difference=max(differences, key=abs),
            )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("lines")
    parser.add_argument("--sets", nargs="+", choices=[*TABLES, "pictures"], default=[*TABLES, "pictures"])
    options = parser.parse_args()
    with mercer.local(flags=["--workers", "1", "--threads", "1"]) as client, open(options.lines, "a") as lines:
        for name in options.sets:
            Comparison(client, server_process(), name, *read(options.folder, name), lines).run()


if __name__ == "__main__":
    main()
