"""Work that takes long, but is no training, as jobs of the server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union, cast

from mercer._channel import Connection
from mercer._names import full_name
from mercer._proto import v1
from mercer._training import set_time_limit
from mercer.datasets import Dataset
from mercer.jobs import Job
from mercer.models import Model, read_task_rule, read_unseen

if TYPE_CHECKING:
    from mercer.client import Client


class WorkCalls:
    """The calls of a :class:`mercer.client.Client` that begin such jobs."""

    connection: Connection

    def predict_dataset(
        self,
        model: Union[Model, str],
        dataset: Union[Dataset, str],
        *,
        keep: Sequence[str] = (),
        probabilities: bool = False,
        task: str = "",
        task_rule: str = "own",
        unseen: str = "model",
        display_name: str = "",
        dataset_labels: Optional[Mapping[str, str]] = None,
        labels: Optional[Mapping[str, str]] = None,
        priority: int = 0,
        request_id: str = "",
        time_limit: Optional[float] = None,
    ) -> Job:
        """Predicts a whole stored data set into a new one, as a job, whose :meth:`Job.wait` returns the new data set.

        Parameters
        ----------
        model : Model or str
            ``"models/{model}"``, with a version or alias; what it means now.
        dataset : Dataset or str
            ``"datasets/{id}"``.
        keep : sequence of str
            Columns that the new data set repeats.
        probabilities, task, task_rule, unseen
            As in :meth:`Model.predict_all`; with ``unseen="nan"`` the values of such rows are missing.
        display_name : str
            Of job and new data set, for people.
        dataset_labels, labels : mapping of str to str, optional
            Of the new data set, and of the job.
        priority : int
            Of the job.
        request_id : str
            As in :meth:`train`.
        time_limit : float, optional
            Seconds of running time, after which the job fails.
        """
        request = v1.PredictDatasetRequest(
            model=full_name(model, "models"),
            dataset=full_name(dataset, "datasets"),
            keep_columns=keep,
            probabilities=probabilities,
            task=task,
            task_rule=read_task_rule(task_rule),
            unseen=read_unseen(unseen),
            display_name=display_name,
            dataset_labels=dataset_labels or {},
        )
        return self._start("PredictDataset", request, labels, priority, request_id, time_limit)

    def start_evaluation(
        self,
        model: Union[Model, str],
        dataset: Union[Dataset, str],
        *,
        task: str = "",
        task_rule: str = "own",
        display_name: str = "",
        labels: Optional[Mapping[str, str]] = None,
        priority: int = 0,
        request_id: str = "",
        time_limit: Optional[float] = None,
    ) -> Job:
        """:meth:`Model.evaluate` as a job, whose :meth:`Job.wait` returns the metrics.

        Parameters
        ----------
        model, dataset
            As in :meth:`predict_dataset`.
        task, task_rule : str
            As in :meth:`Model.evaluate`.
        display_name, labels, priority, request_id
            Of the job, as in :meth:`train`.
        time_limit : float, optional
            As in :meth:`predict_dataset`.
        """
        request = v1.EvaluateModelRequest(
            name=full_name(model, "models"),
            dataset=full_name(dataset, "datasets"),
            task=task,
            task_rule=read_task_rule(task_rule),
            display_name=display_name,
        )
        return self._start("StartEvaluation", request, labels, priority, request_id, time_limit)

    def start_verification(
        self,
        model: Union[Model, str],
        *,
        display_name: str = "",
        labels: Optional[Mapping[str, str]] = None,
        priority: int = 0,
        request_id: str = "",
        time_limit: Optional[float] = None,
    ) -> Job:
        """:meth:`Model.verify` as a job, whose :meth:`Job.wait` returns the message ``VerifyModelResponse``.

        Parameters
        ----------
        model : Model or str
            As in :meth:`predict_dataset`.
        display_name, labels, priority, request_id
            Of the job, as in :meth:`train`.
        time_limit : float, optional
            As in :meth:`predict_dataset`.
        """
        request = v1.VerifyModelRequest(name=full_name(model, "models"), display_name=display_name)
        return self._start("StartVerification", request, labels, priority, request_id, time_limit)

    def _start(
        self,
        method: str,
        request: Any,
        labels: Optional[Mapping[str, str]],
        priority: int,
        request_id: str,
        time_limit: Optional[float],
    ) -> Job:
        request.labels.update(labels or {})
        request.priority = priority
        set_time_limit(request, time_limit)
        request.request_id = request_id or str(uuid.uuid4())
        return Job(cast("Client", self), self.connection.call(method, request))
