"""Mercer from Python: kernel learning on a server, watched live, with certificates.

>>> import mercer
>>> client = mercer.connect("127.0.0.1:7345")               # doctest: +SKIP
>>> dataset = client.upload(X, y)                           # doctest: +SKIP
>>> job = client.train(dataset, "svm", {"C": 10})           # doctest: +SKIP
>>> model = job.bar()                                       # doctest: +SKIP
>>> model.predict(X)                                        # doctest: +SKIP

:func:`local` starts a server of its own; :mod:`mercer.estimators` has scikit-learn estimators.
"""

import pkgutil

# Stubs that somebody generates from the protos are modules mercer.v1.*, in a folder of their own: they stay importable.
__path__ = pkgutil.extend_path(__path__, __name__)

from mercer._model_tables import ModelTable
from mercer._retry import RetryPolicy
from mercer._watching import JobChange
from mercer.client import Client, connect
from mercer.datasets import Dataset
from mercer.errors import (
    AccessError,
    AlreadyExistsError,
    DataLossError,
    FieldViolation,
    InvalidRequestError,
    JobCancelledError,
    JobFailedError,
    LimitError,
    MercerError,
    NotFoundError,
    StateError,
    UnavailableError,
)
from mercer.jobs import Job, Progress
from mercer.local import LocalClient, find_server, local
from mercer.local_model import LocalModel, load_model
from mercer.models import Model, Prediction

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "AlreadyExistsError",
    "Client",
    "DataLossError",
    "Dataset",
    "FieldViolation",
    "InvalidRequestError",
    "Job",
    "JobCancelledError",
    "JobChange",
    "JobFailedError",
    "LimitError",
    "LocalClient",
    "LocalModel",
    "MercerError",
    "Model",
    "ModelTable",
    "NotFoundError",
    "Prediction",
    "Progress",
    "RetryPolicy",
    "StateError",
    "UnavailableError",
    "connect",
    "find_server",
    "load_model",
    "local",
]
