"""Models that go with the object that they were trained for."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import queue
import threading
import weakref
from typing import Any, Optional

from mercer._proto import v1
from mercer.models import Model

# Of one deletion: a server that has gone must not keep a program from ending.
_CALL_SECONDS = 2.0
# Of all deletions that are left at the end of the program.
_LAST_SECONDS = 5.0


class _Deleter:
    """A thread that deletes models.

    An object's end may come anywhere, also where its thread holds a lock of gRPC; so nothing is called there.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self._queue: queue.SimpleQueue[Optional[Model]] = queue.SimpleQueue()
        self._kept: dict[int, Model] = {}
        self._keys = itertools.count()
        self._thread = threading.Thread(target=self._run, name="mercer-deleter", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def delete_with(self, owner: Any, model: Model) -> Any:
        """A finalizer of `owner` that has `model` deleted."""
        key = next(self._keys)
        self._kept[key] = model
        finalizer = weakref.finalize(owner, self._delete, key)
        finalizer.atexit = False  # _end sees to those that are left
        return finalizer

    def _delete(self, key: int) -> None:
        model = self._kept.pop(key, None)
        if model is not None and os.getpid() == self.process:  # a fork has copies, which own nothing
            self._queue.put(model)

    def _run(self) -> None:
        while (model := self._queue.get()) is not None:
            # The server may have gone, the model have got an alias, the channel be closed; the next one's may be not.
            with contextlib.suppress(Exception):
                request = v1.DeleteModelVersionRequest(name=model.name)
                model.connection.once("DeleteModelVersion", request, timeout=_CALL_SECONDS)

    def _end(self) -> None:
        if os.getpid() != self.process:
            return
        for key in list(self._kept):
            self._delete(key)
        self._queue.put(None)
        self._thread.join(_LAST_SECONDS)


_lock = threading.Lock()
_deleter: Optional[_Deleter] = None


def _unlock_in_fork() -> None:
    """The thread that held the lock does not live on in a fork."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_fork)


def delete_with(owner: Any, model: Model) -> Any:
    """Has a version of a model deleted when `owner` ends, or the program; copies and pickles of it do not count.

    Returns
    -------
    finalizer : callable
        Called, it has the model deleted now.
    """
    global _deleter
    with _lock:
        if _deleter is None or _deleter.process != os.getpid():  # threads do not live on in a fork
            _deleter = _Deleter()
        return _deleter.delete_with(owner, model)
