"""Names of resources, as people shorten them."""

from __future__ import annotations

from typing import Any


def full_name(resource: Any, collection: str) -> str:
    """``"jobs/a"`` of ``"jobs/a"``, of ``"a"`` and of a thing with that name, when `collection` is ``"jobs"``.

    Of models, ``"a@live"`` is ``"models/a/aliases/live"``.
    """
    name = resource if isinstance(resource, str) else str(resource.name)
    full = name if name.startswith(collection + "/") else f"{collection}/{name}"
    return full.replace("@", "/aliases/", 1) if collection == "models" else full
