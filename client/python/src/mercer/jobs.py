"""Jobs: a training each, or other work that takes long, from the queue to what it makes."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import time
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from mercer import _html, _proto, errors
from mercer._bars import open_bar
from mercer._proto import v1
from mercer._retry import WATCHES, Backoff
from mercer._words import changes

if TYPE_CHECKING:
    from mercer.client import Client

_KINDS = _proto.enum("JobKind")
KINDS = _proto.enum_words(_KINDS)  # the values of the API, by word
_STATES = _proto.enum("JobState")
_FINAL = ("succeeded", "failed", "cancelled")


def _optional(message: Any, field: str) -> Optional[float]:
    return float(getattr(message, field)) if message.HasField(field) else None


@dataclasses.dataclass(frozen=True)
class Progress:
    """A stored event of a job.

    Attributes
    ----------
    sequence : int
        1, 2, 3, ... without gaps within a job.
    kind : str
        ``"progress"``, ``"state_change"`` or ``"resumed"``.
    state : str
        Of a state change: ``"queued"``, ``"running"``, ``"verifying"``, ``"succeeded"``, ...
    iteration : int
        Steps of the learner done so far.
    from_iteration : int
        Of ``"resumed"``: the iteration of the checkpoint; what came after it is done again.
    phase, stage : str
        ``"train"`` or ``"fold 2 of 5"``; what the learner is doing, one word.
    stage_fraction : float or None
        Share of the stage that is done, in [0, 1]; None when the stage has no end that is known.
    fraction : float
        Share of the whole training that is done, an estimate in [0, 1].
    primal, dual : float or None
        Best bounds of the optimum so far.
    relative_gap : float or None
        The accuracy that is certified so far.
    active_kernels, active_groups, support_vectors : int
        How many have a weight other than 0, a kernel with one, or a coefficient other than 0. Kernels in no groups: no
        groups.
    elapsed, remaining : float or None
        Seconds; the remaining ones are an estimate.
    message : object
        The ``ProgressEvent`` as it came.
    """

    sequence: int
    time: datetime.datetime
    kind: str
    attempt: int
    iteration: int
    state: str = ""
    from_iteration: int = 0
    phase: str = ""
    stage: str = ""
    stage_fraction: Optional[float] = None
    fraction: float = 0.0
    primal: Optional[float] = None
    dual: Optional[float] = None
    relative_gap: Optional[float] = None
    active_kernels: int = 0
    active_groups: int = 0
    support_vectors: int = 0
    elapsed: Optional[float] = None
    remaining: Optional[float] = None
    message: Any = dataclasses.field(default=None, repr=False, compare=False)


def read_event(event: Any) -> Progress:
    """A ProgressEvent message as a Progress."""
    kind = event.WhichOneof("kind") or ""
    fields: dict[str, Any] = {}
    if kind == "state_change":
        fields["state"] = _proto.enum_word(_STATES, event.state_change.state)
    elif kind == "resumed":
        fields["from_iteration"] = event.resumed.from_iteration
    elif kind == "progress":
        progress = event.progress
        fields = {name: getattr(progress, name) for name in
                  ("phase", "stage", "fraction", "active_kernels", "active_groups", "support_vectors")}  # fmt: skip
        for name in ("primal", "dual", "relative_gap", "stage_fraction"):
            fields[name] = _optional(progress, name)
        for name in ("elapsed", "remaining"):
            duration = getattr(progress, name)
            present = progress.HasField(name)
            fields[name] = duration.seconds + duration.nanos * 1e-9 if present else None
    when = event.time.ToDatetime(tzinfo=datetime.timezone.utc)
    return Progress(event.sequence, when, kind, event.attempt, event.iteration, message=event, **fields)


def _show(shown: Any, event: Progress) -> None:
    """Tells a bar of an event."""
    if event.kind == "progress":
        gap = "" if event.relative_gap is None else f" gap {event.relative_gap:.1e}"
        shown.show(event.fraction, f"{event.phase} iteration {event.iteration}{gap}")
    elif event.kind == "state_change":
        shown.show(1.0 if event.state == "succeeded" else 0.0, event.state)


class Job:
    """A handle of a job. It holds no connection open; what it knows is as of the last call."""

    def __init__(self, client: "Client", message: Any) -> None:
        self._client = client
        self.message = message

    @property
    def name(self) -> str:
        """``"jobs/{id}"``."""
        return str(self.message.name)

    @property
    def state(self) -> str:
        """As last seen: ``"queued"``, ``"running"``, ..., ``"succeeded"``, ``"failed"`` or ``"cancelled"``."""
        return _proto.enum_word(_STATES, self.message.state)

    @property
    def kind(self) -> str:
        """``"training"``, ``"prediction"``, ``"evaluation"`` or ``"verification"``."""
        return _proto.enum_word(_KINDS, self.message.kind)

    @property
    def _datasets(self) -> list[str]:
        """Names of the data sets that the request names."""
        chosen = self.message.WhichOneof("other_request")
        if chosen is None:
            return [data.dataset for data in self.message.request.data]
        name = getattr(getattr(self.message, chosen), "dataset", "")
        return [name] if name else []

    @property
    def done(self) -> bool:
        """Whether the last seen state is final."""
        return self.state in _FINAL

    def _repr_html_(self) -> str:
        message, rows = self.message, []
        if message.HasField("progress"):
            event = read_event(message.progress)
            shown = f"{_html.meter(event.fraction)} {_html.text(event.phase)} iteration {event.iteration}"
            gap = "" if event.relative_gap is None else f"{event.relative_gap:.2g}"
            rows = [("progress", shown), ("relative gap", gap)]
        why = message.error.message or message.reason
        return _html.table(
            self.name,
            [
                ("name", _html.text(message.display_name)),
                ("state", _html.text(self.state)),
                *rows,
                ("why", _html.text(why)),
                ("kind", _html.text(self.kind)),
                ("learner", _html.text(message.learner)),
                ("data", _html.text(", ".join(self._datasets))),
                ("model", _html.text(message.model)),
                ("new data set", _html.text(message.prediction.dataset)),
                ("labels", _html.pairs(sorted(message.labels.items()))),
            ],
        )

    def __repr__(self) -> str:
        return f"<Job {self.name} {self.state}>"

    def refresh(self) -> "Job":
        """Asks the server how the job is now."""
        self.message = self._client.connection.call("GetJob", v1.GetJobRequest(name=self.name))
        return self

    def cancel(self) -> "Job":
        """Ends the job without a model. Harmless when it is being cancelled already."""
        self.message = self._client.connection.call("CancelJob", v1.CancelJobRequest(name=self.name))
        return self

    def stop(self) -> "Job":
        """Ends the job now and keeps the best model so far."""
        self.message = self._client.connection.call("StopJob", v1.StopJobRequest(name=self.name))
        return self

    @property
    def labels(self) -> dict[str, str]:
        """As last seen."""
        return dict(self.message.labels)

    def update(
        self,
        *,
        labels: Optional[Mapping[str, str]] = None,
        display_name: Optional[str] = None,
        etag: str = "",
    ) -> "Job":
        """Changes what is said of the job.

        Parameters
        ----------
        labels : mapping of str to str, optional
            None of those that are there stay; an empty one removes all. None: they stay as they are.
        display_name : str, optional
            For people, at most 200 bytes. None: it stays as it is.
        etag : str
            That of the message of which the caller has made the new words (``message.etag``). Empty: they replace those
            that are there, whoever has changed them since.

        Raises
        ------
        StateError
            With the reason ``STALE_ETAG``: somebody has changed it since it had that `etag`.
        AccessError
            With the reason ``NOT_OWNER``: it is somebody else's.
        ValueError
            Nothing is to be changed.
        """
        changed, mask = changes(labels=labels, display_name=display_name)
        job = v1.Job(name=self.name, etag=etag, **changed)
        request = v1.UpdateJobRequest(job=job, update_mask=mask)
        self.message = self._client.connection.call("UpdateJob", request)
        return self

    def set_labels(self, labels: Mapping[str, str]) -> "Job":
        """Replaces all labels of the job.

        Parameters
        ----------
        labels : mapping
            None of those that are there stay; an empty one removes all.
        """
        return self.update(labels=labels)

    def delete(self) -> None:
        """Deletes the job, which must have ended, with its events. Its model stays."""
        self._client.connection.call("DeleteJob", v1.DeleteJobRequest(name=self.name))

    def progress(self, after: int = 0) -> Iterator[Progress]:
        """Every event of the job once, in order, to its final state.

        Works on finished jobs too. When the connection breaks or the server is started again, it goes on behind
        the last event.

        Parameters
        ----------
        after : int
            Only events with a larger sequence number.
        """
        backoff = Backoff(WATCHES)
        last = after
        while True:
            try:
                request = v1.StreamProgressRequest(job=self.name, after_sequence=last)
                for response in self._client.connection.stream("StreamProgress", request):
                    backoff.reset()
                    if response.WhichOneof("message") == "event" and response.event.sequence > last:
                        last = response.event.sequence
                        yield read_event(response.event)
                return
            except errors.MercerError as error:
                backoff.wait_or_raise(error)

    def progress_bar(self, **options: Any) -> Iterator[Progress]:
        """As :meth:`progress`, and shows a bar of the package tqdm; without the package it prints lines.

        Parameters
        ----------
        **options
            For tqdm.
        """
        with open_bar(self.message.display_name or self.name, options) as shown:
            for event in self.progress():
                _show(shown, event)
                yield event

    def bar(self, **options: Any) -> Any:
        """Waits as :meth:`wait` does, and shows a bar of the package tqdm; without the package it prints lines.

        Parameters
        ----------
        **options
            For tqdm.
        """
        for _ in self.progress_bar(**options):
            pass
        return self.result()

    def wait(self, timeout: Optional[float] = None, progress: bool = False) -> Any:
        """Waits for the end and returns what :meth:`result` does.

        Parameters
        ----------
        timeout : float, optional
            Seconds; after them TimeoutError, and the job goes on.
        progress : bool
            Whether to show how far it is, as :meth:`bar` does.

        Raises
        ------
        JobFailedError, JobCancelledError
        """
        if timeout is None:
            for _ in self.progress_bar() if progress else self.progress():
                pass
            return self.result()
        with open_bar(self.message.display_name or self.name, {}) if progress else contextlib.nullcontext() as shown:
            self._poll(timeout, shown)
        return self.result()

    def _poll(self, timeout: float, shown: Any) -> None:
        """Asks again and again until the job has ended."""
        deadline = time.monotonic() + timeout
        delay = 0.01
        while not self.refresh().done:
            if shown is not None and self.message.HasField("progress"):
                _show(shown, read_event(self.message.progress))
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{self.name} is {self.state} after {timeout} seconds")
            time.sleep(min(delay, left))
            delay = min(delay * 1.5, 1.0)
        if shown is not None:
            shown.show(1.0 if self.state == "succeeded" else 0.0, self.state)

    def result(self) -> Any:
        """What a job that has ended has made.

        Of a training the :class:`Model`, of a prediction the new :class:`Dataset`, of an evaluation the metrics by
        name, of a verification the message ``VerifyModelResponse``.

        Raises
        ------
        JobFailedError, JobCancelledError
        StateError
            The job has not ended.
        """
        from mercer.models import Model

        if not self.done:
            self.refresh()
        if self.state == "succeeded":
            made = self.message.WhichOneof("result")
            if made == "prediction":
                return self._client.dataset(self.message.prediction.dataset)
            if made == "evaluation":
                return {metric.name: metric.value for metric in self.message.evaluation.metrics}
            return Model(self._client, self.message.model) if made is None else self.message.verification
        error: errors.MercerError
        if self.state == "failed":
            error = errors.from_status(self.message.error, errors.JobFailedError)
        elif self.state == "cancelled":
            why = self.message.reason
            text = f"{self.name} was cancelled" + (f": {why}" if why else "")
            error = errors.JobCancelledError(text, code="CANCELLED", reason=why or "CANCELLED")
        else:
            text = f"{self.name} is {self.state}"
            raise errors.StateError(text, code="FAILED_PRECONDITION", reason="JOB_NOT_DONE")
        error.job = self.name  # type: ignore[attr-defined]
        raise error
