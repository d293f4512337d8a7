"""Measures multiple kernel learning with lp norms, and what it is compared with."""

import baselines
import hold_out
import kernel_trainings
import paper_stopping
import perturbation
import splits
from laboratory import Laboratory
from mercer.errors import JobFailedError


class KernelLaboratory(Laboratory):
    """Its methods are ``"mercer"``, ``"svc"`` and ``"nystroem"``."""

    def mercer(self, name, number, settings):
        """lp_mkl with these settings; see kernel_trainings.train."""
        return self._measure(
            "mercer", name, number, settings,
            lambda: kernel_trainings.train(self._client, self.split(name, number), settings, self._threads),
        )  # fmt: skip

    def limited(self, name, number, settings):
        """The same within a time limit that may end before there is a model: then only ``stop`` is known, no_model."""

        def call():
            try:
                return kernel_trainings.train(self._client, self.split(name, number), settings, self._threads)
            except JobFailedError as error:
                if error.reason != "NO_MODEL":
                    raise
                return {"stop": "no_model"}

        return self._measure("mercer", name, number, settings, call)

    def held_out(self, name, number, settings):
        """The same on a part of the training rows, and tested on the others."""
        return self._measure(
            "mercer", name, number, {**settings, "held_out": hold_out.HELD_OUT},
            lambda: kernel_trainings.train(
                self._client, hold_out.hold_out(self.split(name, number)), settings, self._threads
            ),
        )  # fmt: skip

    def solver(self, name, number, settings, rows=None):
        """The same on the first `rows` training rows, after a rough training, of which the server has the factors."""

        def call():
            split = self.split(name, number)
            used = split if rows is None else splits.first_rows(split, rows)
            rough = {**settings, "inner_solver": "newton", "gap": 0.5}
            kernel_trainings.train(self._client, used, rough, self._threads)
            return kernel_trainings.train(self._client, used, settings, self._threads)

        return self._measure("mercer", name, number, {**settings, "factors": "kept", "rows": rows}, call)

    def penalised(self, name, number, settings):
        """SMO-MKL's penalised form of the same problem; see kernel_trainings.train_penalised."""
        return self._measure(
            "mercer", name, number, {**settings, "form": "penalised"},
            lambda: kernel_trainings.train_penalised(
                self._client, self.split(name, number), settings, self._threads
            ),
        )  # fmt: skip

    def stopping(self, name, number, settings, rows=None):
        """Splitting with the paper's stopping rule on the first `rows` training rows; see paper_stopping.compare."""

        def call():
            split = self.split(name, number)
            used = split if rows is None else splits.first_rows(split, rows)
            return paper_stopping.compare(self._client, used, settings, self._threads)

        return self._measure("mercer", name, number, {**settings, "study": "stopping", "rows": rows}, call)

    def perturbation(self, name, number, settings, rows):
        """What Nystrom kernels change on the first `rows` training rows; see perturbation.compare."""
        return self._measure(
            "mercer", name, number, {**settings, "study": "perturbation", "rows": rows},
            lambda: perturbation.compare(
                self._client, splits.first_rows(self.split(name, number), rows), settings, self._threads
            ),
        )  # fmt: skip

    def nystroem(self, name, number, landmarks):
        """Nystroem features with the SVC's gamma, and a LinearSVC; its C is searched for on the first division."""
        svc = self.svc(name, number)
        if svc is None:
            return None
        return self._linear("nystroem", name, number, landmarks, baselines.LinearSearch(gammas=(svc["gamma"],)))
