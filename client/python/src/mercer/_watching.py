"""All jobs of a server, as they change."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, cast

from mercer import _proto, errors
from mercer._channel import Connection
from mercer._proto import v1
from mercer._retry import WATCHES, Backoff
from mercer.jobs import KINDS, Job

if TYPE_CHECKING:
    from mercer.client import Client

_STATES = _proto.enum_words(_proto.enum("JobState"))


def job_filter(states: Sequence[str], kinds: Sequence[str]) -> dict[str, list[int]]:
    """The fields of requests for jobs in one of `states` and of `kinds`."""
    found = {}
    for field, words, values in (("kinds", kinds, KINDS), ("states", states, _STATES)):
        unknown = [word for word in words if word not in values]
        if unknown:
            raise ValueError(f"unknown {field} {', '.join(unknown)}; there are {', '.join(values)}")
        found[field] = [values[word] for word in words]
    return found


@dataclasses.dataclass(frozen=True)
class JobChange:
    """What a watch of jobs tells.

    Attributes
    ----------
    kind : str
        ``"existing"``: one of all jobs that match, with which a watch begins. ``"listed"``: these have all come, and
        what is not among them is gone. ``"changed"``: the job is new, or has changed. ``"left"``: it matches no
        longer. ``"deleted"``: somebody has deleted it.
    job : Job or None
        As it is now, or was when it was deleted, without attempts. None of ``"listed"``.
    """

    kind: str
    job: Optional[Job] = None


class WatchCalls:
    """The call of a :class:`mercer.client.Client` that watches jobs."""

    connection: Connection

    def watch_jobs(
        self, states: Sequence[str] = (), labels: Optional[Mapping[str, str]] = None, kinds: Sequence[str] = ()
    ) -> Iterator[JobChange]:
        """First all jobs that match, newest first, then every change of one, without an end.

        When the connection breaks or the server is started again, it goes on: with what has changed meanwhile or, where
        the server does not know that any more, with all jobs again, from ``"existing"`` to ``"listed"``. Closing the
        iterator ends the watch.

        Parameters
        ----------
        states, labels, kinds
            As of :meth:`jobs`.
        """
        request = v1.WatchJobsRequest(labels=labels or {}, **job_filter(states, kinds))
        backoff = Backoff(WATCHES)
        while True:
            try:
                for response in self.connection.stream("WatchJobs", request):
                    backoff.reset()
                    request.after_sequence = response.sequence
                    if not response.HasField("heartbeat"):
                        yield self._change(response)
            except errors.MercerError as error:
                backoff.wait_or_raise(error)

    def _change(self, response: Any) -> JobChange:
        if response.existing_sent:
            return JobChange("listed")
        kind = (
            "deleted"
            if response.deleted
            else "left"
            if response.left
            else "existing"
            if response.existing
            else "changed"
        )
        return JobChange(kind, Job(cast("Client", self), response.job))
