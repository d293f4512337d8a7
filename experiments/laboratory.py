"""Measures methods on divisions of data sets, unless that was done before."""

import functools

import baselines
import data_sets
import splits

# Of these sets the SVC is fitted on all training rows, of the others on 8000.
SMALL_SETS = ("svmguide1", "mushrooms", "magic", "spambase", "spambase-log")
SVC_ROWS = 8000
SVC_TEST_ROWS = 20_000
# Widths as multiples of one over the number of features.
SVC_COSTS, SVC_MULTIPLES = (1.0, 10.0, 100.0), (0.1, 0.3, 1.0, 3.0, 10.0)
# Searches of these take long where the cost is high or the kernel narrow.
HARD_SETS = ("pokerhand", "ijcnn1")
HARD_COSTS, HARD_MULTIPLES = (1.0, 10.0), (1.0, 3.0)


class Laboratory:
    """What all experiments measure with.

    Parameters
    ----------
    folder : str
        Of the data sets.
    client : mercer.Client
    measurements : Measurements
    methods : collection of str
        Those that may be measured. Of the others only what was measured before is known; otherwise they answer None.
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

    def split(self, name, number, share=splits.TRAINING_SHARE):
        """Division `number` of a data set."""
        return splits.make_split(self._data(name), number, share)

    def _measure(self, method, name, number, settings, call):
        key = {"method": method, "set": name, "split": number, "threads": self._threads, **settings}
        if method not in self._methods:
            return self._measurements.get(key)
        return self._measurements.measure(key, call)

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

    def _linear(self, kind, name, number, components, search, searched=None):
        """A LinearSVC on features of a Gaussian kernel; gamma and C are searched for on the first division.

        The search is made with as many features, or with `searched` of them.
        """
        searched = searched or components
        count = "landmarks" if kind == "nystroem" else "components"
        best = self._measure(
            kind, name, 0, {"part": "search", count: searched},
            lambda: baselines.search_linear(kind, self.split(name, 0), searched, search),
        )  # fmt: skip
        if best is None:
            return None
        best = {"gamma": best["gamma"], "C": best["C"]}
        return self._measure(
            kind, name, number, {"part": "fit", count: components},
            lambda: baselines.fit_linear(kind, self.split(name, number), components, best),
        )  # fmt: skip
