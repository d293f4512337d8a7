"""Labels and texts that change: those that were given, and the mask that names them."""

from __future__ import annotations

from typing import Any, Optional


def changes(**words: Optional[Any]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The fields of `words` that are not None, and their mask.

    Parameters
    ----------
    words
        The new value of each field, or None where it stays as it is.

    Raises
    ------
    ValueError
        Nothing is to be changed.
    """
    changed = {field: value for field, value in words.items() if value is not None}
    if not changed:
        raise ValueError(f"nothing to change: give {', '.join(words)}")
    return changed, {"paths": list(changed)}
