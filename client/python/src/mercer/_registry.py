"""What the registry knows of a model beside what it has learned: words, labels, aliases, how many versions stay."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from mercer._channel import Connection
from mercer._proto import v1
from mercer._words import changes


class RegistryCalls:
    """The calls of a :class:`mercer.models.Model` that change none of its versions' functions."""

    name: str

    @property
    def connection(self) -> Connection:
        """To the server that has the model."""
        raise NotImplementedError

    @property
    def model(self) -> str:
        """``"models/{model}"``, without the version."""
        return "/".join(self.name.split("/")[:2])

    def about(self) -> Any:
        """The message ``Model``, of all versions together: display_name, labels, owner, aliases, how many there are."""
        return self.connection.call("GetModel", v1.GetModelRequest(name=self.model))

    def update(
        self,
        *,
        labels: Optional[Mapping[str, str]] = None,
        description: Optional[str] = None,
        display_name: Optional[str] = None,
        etag: str = "",
    ) -> Any:
        """Changes what is said of this version, or of the model as a whole when the name has no version.

        Parameters
        ----------
        labels : mapping of str to str, optional
            None of those that are there stay; an empty one removes all. None: they stay as they are.
        description : str, optional
            For people, at most 4096 bytes. None: it stays as it is.
        display_name : str, optional
            For people, at most 200 bytes; only a model as a whole has one. None: it stays as it is.
        etag : str
            That of the message of which the caller has made the new words (:meth:`about`, or :meth:`get` of a version).
            Empty: they replace those that are there, whoever has changed them since.

        Returns
        -------
        The message ``Model`` or ``ModelVersion`` as it is now, with its new ``etag``.

        Raises
        ------
        StateError
            With the reason ``STALE_ETAG``: somebody has changed it since it had that `etag`.
        AccessError
            With the reason ``NOT_OWNER``: the model is somebody else's.
        ValueError
            Nothing is to be changed, or the display_name of a single version.
        """
        changed, mask = changes(labels=labels, description=description, display_name=display_name)
        if self.name == self.model:
            model = v1.Model(name=self.name, etag=etag, **changed)
            return self.connection.call("UpdateModel", v1.UpdateModelRequest(model=model, update_mask=mask))
        if display_name is not None:
            raise ValueError(f"only a model as a whole has a display_name, and {self.name} is a version")
        version = v1.ModelVersion(name=self.name, etag=etag, **changed)
        request = v1.UpdateModelVersionRequest(model_version=version, update_mask=mask)
        return self.connection.call("UpdateModelVersion", request)

    def retain(self, keep_newest: int, validate_only: bool = False) -> list[str]:
        """Sets how many versions of the model are kept, deletes the others at once, and returns their names.

        Parameters
        ----------
        keep_newest : int
            The newest so many, and those with an alias. 0: all.
        validate_only : bool
            Only says what would be deleted.
        """
        request = v1.SetRetentionRequest(name=self.model, keep_newest=keep_newest, validate_only=validate_only)
        return list(self.connection.call("SetRetention", request).deleted)

    def aliases(self) -> dict[str, str]:
        """The aliases of the model and their versions: ``{"live": "models/spam/versions/3"}``."""
        found = self.connection.pages("ListAliases", v1.ListAliasesRequest(model=self.model), "aliases")
        return {alias.name.rpartition("/")[2]: alias.version for alias in found}

    def alias_history(self, alias: str) -> Iterator[Any]:
        """Every move of an alias, newest first: messages ``AliasChange`` with from, to, time and caller."""
        request = v1.ListAliasHistoryRequest(name=self._alias(alias))
        return self.connection.pages("ListAliasHistory", request, "changes")

    def set_alias(self, alias: str, etag: str = "") -> Any:
        """Points an alias to this version, which must be named by its number; returns the message ``Alias``."""
        request = v1.SetAliasRequest(name=self._alias(alias), version=self.name, etag=etag)
        return self.connection.call("SetAlias", request)

    def remove_alias(self, alias: str, etag: str = "") -> Any:
        """Removes an alias of the model."""
        return self.connection.call("SetAlias", v1.SetAliasRequest(name=self._alias(alias), etag=etag))

    def rollback_alias(self, alias: str, etag: str = "") -> Any:
        """Points an alias to the version before its last change; returns the message ``Alias``."""
        request = v1.RollbackAliasRequest(name=self._alias(alias), etag=etag)
        return self.connection.call("RollbackAlias", request)

    def _alias(self, alias: str) -> str:
        return f"{self.model}/aliases/{alias}"

    def delete(self) -> None:
        """Deletes this version, or all of them when the name has no version; that of an alias is refused."""
        if self.name == self.model:
            self.connection.call("DeleteModel", v1.DeleteModelRequest(name=self.name))
        else:
            self.connection.call("DeleteModelVersion", v1.DeleteModelVersionRequest(name=self.name))
