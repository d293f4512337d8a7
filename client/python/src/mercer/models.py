"""Models: versions, aliases, predictions, certificates."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import os
import pathlib
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Union

import numpy as np
import numpy.typing as npt

from mercer import _html, _model_tables, errors
from mercer._channel import Connection, Requests
from mercer._proto import v1
from mercer._registry import RegistryCalls
from mercer._retry import call_with_retries
from mercer._rows import batches, num_rows, rows_of_a_message
from mercer.datasets import Dataset

if TYPE_CHECKING:
    from mercer.client import Client

Array = npt.NDArray[np.float64]

# Metrics and weights in a notebook.
_SHOWN = 10
_UNSEEN = {
    "model": v1.UNSEEN_ROWS_UNSPECIFIED,
    "zeros": v1.UNSEEN_ROWS_ZEROS,
    "nan": v1.UNSEEN_ROWS_ROW_ERROR,
}
_TASK_RULES = {
    "own": v1.TASK_RULE_OWN,
    "mean_if_unknown": v1.TASK_RULE_MEAN_IF_UNKNOWN,
    "mean": v1.TASK_RULE_MEAN,
}


def read_unseen(name: str) -> Any:
    """The value of the API."""
    if name not in _UNSEEN:
        raise ValueError(f"unseen must be one of {', '.join(_UNSEEN)}, is {name!r}")
    return _UNSEEN[name]


def read_task_rule(name: str) -> Any:
    """The value of the API."""
    if name not in _TASK_RULES:
        raise ValueError(f"task_rule must be one of {', '.join(_TASK_RULES)}, is {name!r}")
    return _TASK_RULES[name]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a model says about rows.

    Attributes
    ----------
    model : str
        The version that answered.
    outputs : tuple of str
        A name for each output.
    decision_values : ndarray of shape (rows, outputs)
        Regression: the predictions.
    labels : ndarray of str, or None
        Classification: the predicted label of each row.
    contributions : dict of str to ndarray
        On request: each kernel's share of the decision values, and that of the bias. Of equal names all but the first
        are numbered, as those of :meth:`Model.kernel_weights`.
    probabilities : ndarray of shape (rows, classes), or None
        On request.
    classes : tuple of str
        Columns of `probabilities`.
    row_errors : dict of int to str
        With ``unseen="nan"``: why rows, counted from 0, were not predicted. Their numbers are NaN, their labels empty.
    rows_by_mean : int
        Of a model of several tasks: how many rows were predicted by the mean over all tasks.
    gradients : dict of str to (tuple of str, ndarray of shape (rows, columns))
        On request: for each output the columns that the model has learned a gradient in, and the gradients, in units
        of the decision value over units of the prepared column.
    projections : dict of str to ndarray of shape (rows, directions)
        On request: for each output the rows in the coordinates of the leading directions of these gradients.
    """

    model: str
    outputs: tuple[str, ...]
    decision_values: Array
    labels: Optional[npt.NDArray[Any]]
    contributions: dict[str, Array]
    probabilities: Optional[Array] = None
    classes: tuple[str, ...] = ()
    row_errors: dict[int, str] = dataclasses.field(default_factory=dict)
    rows_by_mean: int = 0
    gradients: dict[str, tuple[tuple[str, ...], Array]] = dataclasses.field(default_factory=dict)
    projections: dict[str, Array] = dataclasses.field(default_factory=dict)


def _matrix(message: Any) -> Array:
    values = np.array(message.values, dtype=np.float64)
    return values.reshape(message.rows, message.columns)


def join_responses(responses: list[Any]) -> Prediction:
    """Answers of one call, put together."""
    first = responses[0]
    values = np.concatenate([_matrix(r.decision_values) for r in responses])
    has_labels = any(len(r.labels) > 0 for r in responses)
    labels = np.array([label for r in responses for label in r.labels]) if has_labels else None
    contributions = {
        name: np.concatenate([_matrix(r.contributions[i].values) for r in responses])
        for i, name in enumerate(_model_tables.keys_of([c.name for c in first.contributions]))
    }
    probabilities = None
    if first.HasField("probabilities"):
        probabilities = np.concatenate([_matrix(r.probabilities) for r in responses])
    outputs, classes = tuple(first.outputs), tuple(first.classes)
    row_errors: dict[int, str] = {}
    before = 0
    for response in responses:
        row_errors.update({before + error.row - 1: error.message for error in response.row_errors})
        before += response.decision_values.rows
    by_mean = sum(response.rows_by_mean for response in responses)
    gradients = {}
    projections = {}
    for i, of_output in enumerate(first.gradients):
        parts = [r.gradients[i] for r in responses]
        if of_output.HasField("values"):
            gradients[of_output.output] = (tuple(of_output.columns), np.concatenate([_matrix(p.values) for p in parts]))
        if of_output.HasField("projections"):
            projections[of_output.output] = np.concatenate([_matrix(p.projections) for p in parts])
    return Prediction(
        first.model,
        outputs,
        values,
        labels,
        contributions,
        probabilities,
        classes,
        row_errors,
        by_mean,
        gradients,
        projections,
    )


class Model(RegistryCalls):
    """A handle of a version of a model: ``"models/spam/versions/3"``.

    ``"models/spam"`` is the newest version, ``"models/spam/aliases/live"`` the one that the alias points to; each call
    then asks anew which one that is.
    """

    def __init__(self, client: "Client", name: str) -> None:
        self._client = client
        self.name = name

    @property
    def connection(self) -> Connection:
        """To the server that has the model."""
        return self._client.connection

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    def _repr_html_(self) -> str:
        try:
            message = self.get()
        except errors.MercerError as error:  # a notebook shows what is left, not a traceback
            return _html.table(self.name, [("not shown", _html.text(error))])
        certificate = message.certificate
        measure, bounds = "relative gap", f"{certificate.accuracy:.2g}; objective {certificate.primal:.6g}"
        if certificate.kind == v1.CERTIFICATE_KIND_STATIONARITY:  # its dual bounds no optimum
            measure = "stationarity"
        else:
            bounds += f", optimum at least {certificate.dual:.6g}"
        kernels, features = message.kernel_weights, message.feature_weights
        weights = kernels.weights if kernels.kernels else features.weights
        names = _model_tables.in_groups(kernels.kernels, kernels.groups) or features.features
        return _html.table(
            message.name,
            [
                ("aliases", _html.text(", ".join(message.aliases))),
                ("learner", _html.text(message.learner)),
                ("target", _html.text(message.target)),
                ("metrics", _html.pairs((metric.name, f"{metric.value:.4g}") for metric in message.metrics[:_SHOWN])),
                (measure, bounds),
                ("largest weights", _html.largest(names, _matrix(weights), _SHOWN)),
                ("training rows", f"{message.num_training_rows:,}"),
                ("labels", _html.pairs(sorted(message.labels.items()))),
            ],
        )

    def get(self, full: bool = False) -> Any:
        """The message ``ModelVersion``: certificate, metrics, kernel weights, lineage.

        Parameters
        ----------
        full : bool
            Also preprocessing and function; models beyond the message limit need :meth:`export`.
        """
        view = v1.MODEL_VERSION_VIEW_FULL if full else v1.MODEL_VERSION_VIEW_BASIC
        return self._client.connection.call("GetModelVersion", v1.GetModelVersionRequest(name=self.name, view=view))

    def metrics(self) -> dict[str, float]:
        """Those measured on held-out rows: ``{"held_out.accuracy": 0.94, ...}``."""
        return {metric.name: metric.value for metric in self.get().metrics}

    @property
    def warnings(self) -> list[Any]:
        """What its user should know: messages with a ``code``, a ``message`` for people, and its ``values``."""
        return list(self.get().warnings)

    def kernel_weights(self) -> dict[str, Array]:
        """The weights of every candidate kernel, one for each output, in the order of the kernels.

        Where kernels have the same name, all but the first are numbered: ``"linear"``, ``"linear (2)"``.
        """
        weights = self.get().kernel_weights
        return dict(zip(_model_tables.keys_of(weights.kernels), _matrix(weights.weights)))

    def feature_weights(self) -> dict[str, Array]:
        """Norms of the weights of chosen groups of features, one for each output; empty for learners of kernels.

        Where groups have the same name, all but the first are numbered, as those of :meth:`kernel_weights`.
        """
        weights = self.get().feature_weights
        return dict(zip(_model_tables.keys_of(weights.features), _matrix(weights.weights)))

    @property
    def tables(self) -> dict[str, Any]:
        """What the learner tells beside the function, by name: weights, and what it has of its own. Asks the server.

        Each is a pandas DataFrame, whose `attrs` have ``title``, ``unit`` and ``drawing``; without pandas an array.
        """
        return _model_tables.frames(self.model_tables)

    @property
    def model_tables(self) -> dict[str, _model_tables.ModelTable]:
        """The same with names, axes and unit also where pandas is missing. Asks the server."""
        message = self.get()
        kernels, features = message.kernel_weights, message.feature_weights
        weights = _model_tables.tables_of_weights(
            kernels.kernels, _matrix(kernels.weights), kernels.groups, features.features, _matrix(features.weights)
        )
        axis = "tasks" if message.tasks.names else "outputs"
        told = [_model_tables.from_message(table) for table in message.tables]
        # Large weights, and those of a server of before, are in their own fields alone.
        return {**_model_tables.named(weights, message.coding.output_names, axis), **{one.name: one for one in told}}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, in the order of the outputs; empty for models of a single task. Asks the server."""
        return tuple(self.get().tasks.names)

    def versions(self, *, filter: str = "", order_by: str = "") -> Iterator["Model"]:
        """All versions of the model, newest first; `filter` and `order_by` as of :meth:`Client.versions`."""
        request = v1.ListModelVersionsRequest(model=self.model, filter=filter, order_by=order_by)
        for message in self._client.connection.pages("ListModelVersions", request, "versions"):
            yield Model(self._client, message.name)

    def at(self, when: datetime.datetime) -> "Model":
        """The version that an alias pointed to then. A time without a zone is local."""
        request = v1.GetModelVersionRequest(name=self.name)
        request.as_of_time.FromDatetime(when.astimezone(datetime.timezone.utc).replace(tzinfo=None))
        return Model(self._client, self._client.connection.call("GetModelVersion", request).name)

    def evaluate(self, dataset: Union[Dataset, str], task: str = "", task_rule: str = "own") -> dict[str, float]:
        """Metrics on a stored data set that has the target column.

        Parameters
        ----------
        dataset : Dataset or str
            ``"datasets/{id}"``.
        task : str
            Of all rows, for models of several tasks. Empty: the data set's column of the tasks says it.
        task_rule : str
            As in :meth:`predict_all`.
        """
        name = dataset if isinstance(dataset, str) else dataset.name
        request = v1.EvaluateModelRequest(name=self.name, dataset=name, task=task, task_rule=read_task_rule(task_rule))
        response = self._client.connection.call("EvaluateModel", request, timeout=None)
        return {metric.name: metric.value for metric in response.metrics}

    def verify(self) -> Any:
        """Recomputes the certificate from data and witness; the answer's ``matches`` says whether it is true."""
        request = v1.VerifyModelRequest(name=self.name)
        return self._client.connection.call("VerifyModel", request, timeout=None)

    def predict_all(
        self,
        rows: Any,
        *,
        contributions: bool = False,
        probabilities: bool = False,
        gradients: bool = False,
        projections: bool = False,
        squares: Optional[Mapping[str, Any]] = None,
        task: str = "",
        tasks: Any = None,
        task_rule: str = "own",
        unseen: str = "model",
    ) -> Prediction:
        """Decision values, labels and shares of the kernels, from one version of the model.

        A model of several tasks answers for each row with one value, that of its task or the mean over all tasks.

        Parameters
        ----------
        rows : array, sparse matrix, DataFrame, mapping of block names to those, or Dataset
            A matrix has the model's columns in their order; those of a DataFrame are found by name. None for a model
            that reads `squares` alone.
        contributions : bool
            Also each kernel's share of each decision value.
        probabilities : bool
            Also probabilities of the classes; the model must be calibrated.
        gradients : bool
            Also the gradients that the model has learned beside its values; only of models that have.
        projections : bool
            Also the rows in the coordinates of the leading directions of these gradients.
        squares : mapping of str to array, optional
            For precomputed kernels and distances: rows x training rows; or ``(matrix, training_rows)``, whose columns
            are these training rows alone, numbered from 0 (`square_rows` of the exported model says which are read).
        task : str
            Models of several tasks: that of all rows. Empty: `tasks` says it, or the column of the tasks of a data
            set or a DataFrame.
        tasks : sequence, optional
            The name of the task of each row.
        task_rule : str
            Models of several tasks: ``"own"``, each row by its task, which must be one of the model's;
            ``"mean_if_unknown"``, rows of other tasks by the mean over all tasks; ``"mean"``, all rows so, which need
            not say their tasks. The mean has the sign, and the order of rows, of the sum.
        unseen : str
            What becomes of rows with a category that training did not know: ``"model"`` as the model says, by default
            an error; ``"zeros"`` all features of the column are 0; ``"nan"`` such rows alone are NaN, and named in
            `row_errors`, where the model refuses them.
        """
        header = v1.PredictHeader(model=self.name, contributions=contributions, probabilities=probabilities)
        header.gradients = gradients
        header.projections = projections
        header.unseen = read_unseen(unseen)
        header.task = task
        header.task_rule = read_task_rule(task_rule)
        if task and tasks is not None:
            raise ValueError("task and tasks exclude each other")
        if isinstance(rows, Dataset):
            if tasks is not None:
                raise ValueError("tasks are those of rows that are sent; a stored data set has a column of them")
            header.dataset = rows.name
            return call_with_retries(lambda: self._predict_once(header, rows, squares, tasks, 0))
        if num_rows(rows, squares) == 0:
            raise ValueError("there are no rows to predict")
        step = min(num_rows(rows, squares), rows_of_a_message(rows, squares))
        while True:
            try:
                return call_with_retries(functools.partial(self._predict_once, header, rows, squares, tasks, step))
            except errors.LimitError as error:
                if error.reason != "RESPONSE_TOO_LARGE" or step == 1:
                    raise
                step = max(1, step // 4)  # contributions and gradients are more numbers than the rows

    def _predict_once(
        self, header: Any, rows: Any, squares: Optional[Mapping[str, Any]], tasks: Any, step: int
    ) -> Prediction:
        def requests() -> Iterator[Any]:
            yield v1.PredictStreamRequest(header=header)
            if not isinstance(rows, Dataset):
                for batch in batches(rows, squares, tasks, header.task_rule != v1.TASK_RULE_OWN, step):
                    yield v1.PredictStreamRequest(rows=batch)

        return join_responses(list(self._client.connection.stream("PredictStream", Requests(requests()))))

    def decision_function(self, rows: Any, **options: Any) -> Array:
        """The decision values, rows x outputs; of a single output rows alone."""
        values = self.predict_all(rows, **options).decision_values
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, rows: Any, **options: Any) -> npt.NDArray[Any]:
        """The labels of rows, or of a regression the predictions."""
        prediction = self.predict_all(rows, **options)
        return prediction.decision_values[:, 0] if prediction.labels is None else prediction.labels

    def export(self) -> bytes:
        """The stored file, checked against its digest."""
        return call_with_retries(self._export_once)

    def _export_once(self) -> bytes:
        digest = ""
        chunks: list[bytes] = []
        request = v1.ExportModelRequest(name=self.name)
        for response in self._client.connection.stream("ExportModel", request):
            if response.WhichOneof("content") == "header":
                digest = response.header.digest
            else:
                chunks.append(response.chunk)
        content = b"".join(chunks)
        received = hashlib.sha256(content).hexdigest()
        if received != digest:
            text = f"the received bytes have the SHA-256 {received}, those of the server {digest}"
            raise errors.DataLossError(text, code="DATA_LOSS")
        return content

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the stored file; :func:`mercer.load_model` reads it."""
        target = pathlib.Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            partial.write_bytes(self.export())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
