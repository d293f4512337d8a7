"""Stored data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from mercer import _html, _proto
from mercer._proto import v1
from mercer._upload import CONTENT_LABEL
from mercer._words import changes

if TYPE_CHECKING:
    from mercer.client import Client

_ROLES = _proto.enum("ColumnRole")


class Dataset:
    """A handle of a stored data set, of which only labels and display name ever change."""

    def __init__(self, client: "Client", message: Any) -> None:
        self._client = client
        self.message = message

    @property
    def name(self) -> str:
        """``"datasets/{id}"``."""
        return str(self.message.name)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.message.rows)

    @property
    def num_columns(self) -> int:
        """Number of feature columns in all blocks."""
        return int(self.message.num_columns)

    @property
    def labels(self) -> dict[str, str]:
        """What was said of it when it was uploaded, or last."""
        return dict(self.message.labels)

    def describe(self) -> Any:
        """The message ``Dataset`` with its schema, statistics, class counts and what may be wrong with the data."""
        request = v1.GetDatasetRequest(name=self.name, view=v1.DATASET_VIEW_FULL)
        return self._client.connection.call("GetDataset", request)

    def update(
        self,
        *,
        labels: Optional[Mapping[str, str]] = None,
        display_name: Optional[str] = None,
        etag: str = "",
    ) -> "Dataset":
        """Changes what is said of the data set.

        Parameters
        ----------
        labels : mapping of str to str, optional
            None of those that are there stay, ``content`` neither, by which an upload of the same data finds the
            data set (:meth:`set_labels` keeps it); an empty one removes all. None: they stay as they are.
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
        dataset = v1.Dataset(name=self.name, etag=etag, **changed)
        request = v1.UpdateDatasetRequest(dataset=dataset, update_mask=mask)
        self.message = self._client.connection.call("UpdateDataset", request)
        return self

    def set_labels(self, labels: Mapping[str, str]) -> "Dataset":
        """Replaces the labels of the data set.

        Parameters
        ----------
        labels : mapping
            Of those that are there only ``content`` stays, by which an upload of the same data finds the data set.
        """
        kept = {key: value for key, value in self.labels.items() if key == CONTENT_LABEL}
        return self.update(labels={**labels, **kept})

    def delete(self, when_unused: bool = False) -> None:
        """Deletes it.

        Parameters
        ----------
        when_unused : bool
            True: while a job needs it, it is only hidden, and deleted when the last such job has ended. False:
            that is an error.
        """
        request = v1.DeleteDatasetRequest(name=self.name, when_unused=when_unused)
        self._client.connection.call("DeleteDataset", request)

    def _repr_html_(self) -> str:
        message = self.message
        roles = [(_proto.enum_word(_ROLES, column.role), column.name) for column in message.role_columns]
        return _html.table(
            self.name,
            [
                ("name", _html.text(message.display_name)),
                ("rows", f"{self.rows:,}"),
                ("features", f"{self.num_columns:,}"),
                ("columns with a role", _html.pairs(roles)),
                ("matrices", _html.text(", ".join(square.name for square in message.squares))),
                ("bytes", f"{message.size_bytes:,}"),
                ("labels", _html.pairs(sorted(self.labels.items()))),
            ],
        )

    def __repr__(self) -> str:
        return f"<Dataset {self.name} {self.rows} x {self.num_columns}>"
