"""Names of resources, as people shorten them."""

from __future__ import annotations

from typing import Any


def full_name(resource: Any, collection: str) -> str:
    """``"jobs/a"`` of ``"jobs/a"``, of ``"a"`` and of a thing with that name, when `collection` is ``"jobs"``."""
    name = resource if isinstance(resource, str) else str(resource.name)
    return name if name.startswith(collection + "/") else f"{collection}/{name}"
