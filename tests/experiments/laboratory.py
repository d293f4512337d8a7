"""Measures one method on one division of a data set, unless that was done before."""

import functools

import baselines
import data_sets
import splits
import trainings

# Of these sets the SVC is fitted on all training rows, of the others on 8000.
SMALL_SETS = ("svmguide1", "mushrooms", "magic")
SVC_ROWS = 8000
SVC_TEST_ROWS = 20_000
# Widths as multiples of one over the number of features.
SVC_COSTS, SVC_MULTIPLES = (1.0, 10.0, 100.0), (0.1, 0.3, 1.0, 3.0, 10.0)
# Searches of these take long where the cost is high or the kernel narrow.
HARD_SETS = ("pokerhand", "ijcnn1")
HARD_COSTS, HARD_MULTIPLES = (1.0, 10.0), (1.0, 3.0)


class Laboratory:
    """What the experiments measure with.

    Parameters
    ----------
    folder : str
        Of the data sets.
    client : mercer.Client
    measurements : Measurements
    methods : collection of str
        Those that may be measured: ``"mercer"``, ``"svc"``, ``"nystroem"``. Of the others only what was measured
        before is known; otherwise they answer None.
    threads : int
    """

    def __init__(self, folder, client, measurements, methods, threads):
        self._folder = folder
        self._client = client
        self._measurements = measurements
        self._methods = methods
        self._threads = threads

    @functools.lru_cache(maxsize=1)  # noqa: B019, one data set is used at a time
    def _data(self, name):
        return data_sets.read(self._folder, name)

    def split(self, name, number):
        """Division `number` of a data set."""
        return splits.make_split(self._data(name), number)

    def _measure(self, method, name, number, settings, call):
        key = {"method": method, "set": name, "split": number, "threads": self._threads, **settings}
        if method not in self._methods:
            return self._measurements.get(key)
        return self._measurements.measure(key, call)

    def mercer(self, name, number, settings):
        """lp_mkl with these settings; see trainings.train."""
        return self._measure(
            "mercer", name, number, settings,
            lambda: trainings.train(self._client, self.split(name, number), settings, self._threads),
        )  # fmt: skip

    def solver(self, name, number, settings, rows=None):
        """The same on the first `rows` training rows, after a rough training, of which the server has the factors."""

        def call():
            split = self.split(name, number)
            used = split if rows is None else splits.first_rows(split, rows)
            rough = {**settings, "inner_solver": "newton", "gap": 0.5}
            trainings.train(self._client, used, rough, self._threads)
            return trainings.train(self._client, used, settings, self._threads)

        return self._measure("mercer", name, number, {**settings, "factors": "kept", "rows": rows}, call)

    def svc(self, name, number):
        """A tuned SVC; C and gamma are searched for on the first division."""
        hard = name in HARD_SETS
        grid = (HARD_COSTS, HARD_MULTIPLES) if hard else (SVC_COSTS, SVC_MULTIPLES)
        best = self._measure(
            "svc", name, 0, {"part": "search"},
            lambda: baselines.search_svc(self.split(name, 0), *grid, self._threads),
        )  # fmt: skip
        if best is None:
            return None
        rows = None if name in SMALL_SETS else SVC_ROWS
        return self._measure(
            "svc", name, number, {"part": "fit"},
            lambda: baselines.fit_svc(self.split(name, number), best, rows, SVC_TEST_ROWS),
        )  # fmt: skip

    def nystroem(self, name, number, landmarks):
        """Nystroem features with the SVC's gamma, and a LinearSVC; its C is searched for on the first division."""
        svc = self.svc(name, number)
        if svc is None:
            return None
        best = self._measure(
            "nystroem", name, 0, {"part": "search", "landmarks": landmarks},
            lambda: baselines.search_linear_cost(self.split(name, 0), svc["gamma"], landmarks),
        )  # fmt: skip
        if best is None:
            return None
        return self._measure(
            "nystroem", name, number, {"part": "fit", "landmarks": landmarks},
            lambda: baselines.fit_nystroem(self.split(name, number), svc["gamma"], landmarks, best["C"]),
        )  # fmt: skip
