"""A connection to a server, and what can be done with it."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from mercer._channel import Connection, PathLike
from mercer._images import images_part, patch_spec
from mercer._names import full_name
from mercer._proto import v1
from mercer._tables import make_parts
from mercer._training import ClassWeight, Path, RankingTest, Validation, train_request
from mercer._upload import Upload
from mercer._watching import WatchCalls, job_filter
from mercer._work import WorkCalls
from mercer.datasets import Dataset
from mercer.jobs import Job
from mercer.kernels import Kernels
from mercer.models import Model

DEFAULT_ADDRESS = "127.0.0.1:7345"


def _names_of(data: Union[Dataset, str, Sequence[Union[Dataset, str]]]) -> list[str]:
    many = [data] if isinstance(data, (Dataset, str)) else data
    return [full_name(item, "datasets") for item in many]


class Client(WorkCalls, WatchCalls):
    """What :func:`mercer.connect` returns. Threads may share it; pickles carry the address, never a token."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def address(self) -> str:
        """Of the server."""
        return self.connection.address

    def __repr__(self) -> str:
        return f"<Client {self.address}>"

    def __reduce__(self) -> Any:
        return (Client, (self.connection,))

    def __deepcopy__(self, memo: Any) -> "Client":
        return self  # a handle: copies of what holds it share the connection

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends all calls."""
        self.connection.close()

    # ------------------------------------------------------------------------------------------------------- data

    def upload(
        self,
        data: Any,
        target: Any = None,
        *,
        id: str = "",
        display_name: str = "",
        labels: Optional[Mapping[str, str]] = None,
        on_progress: Optional[Callable[[int], None]] = None,
        **content: Any,
    ) -> Dataset:
        """Stores a data set, unless the server has it: then nothing is sent.

        A data set that was there keeps the labels and the name for people that it has. Large uploads that
        break off go on where they were, also from another process.

        Parameters
        ----------
        data : array, sparse matrix, DataFrame or path of a file
            The features. Columns of a DataFrame that are not numbers are categorical. A file is CSV when its name
            says so (``.csv``, ``.csv.gz``), else in LIBSVM's format.
        target : array or str, optional
            What is to be predicted; of a DataFrame or file the name of its column.
        id : str
            The {id} of ``"datasets/{id}"``. Empty: it follows from the content.
        display_name : str
            For people.
        labels : mapping of str to str, optional
            To be found by.
        on_progress : callable, optional
            Called with the number of bytes sent so far.
        **content
            ``weight`` (array: of each row), ``names`` (of the columns of a matrix), ``roles`` (mapping of columns of
            a DataFrame or file to ``"target"``, ``"weight"``, ``"group"``, ``"split"``, ``"ignored"``, ...),
            ``blocks`` (mapping of names of feature blocks to columns), ``kernels`` and ``distances`` (mappings of
            names to matrices rows x rows), ``allow_missing`` (keep NaN as missing, for the training to impute),
            ``target_name``, ``weight_name``; of CSV files ``delimiter`` (between the cells, a comma unless said),
            ``no_header`` (the first line holds values, columns are c1, c2, ...), and ``categorical`` and ``numeric``
            (lists of columns that are so whatever their cells look like).
        """
        send = Upload(self.connection, make_parts(data, target, **content), on_progress)
        return Dataset(self, send.run(id, display_name, labels))

    def upload_images(
        self,
        images: Any,
        target: Any = None,
        *,
        patch: Union[None, int, tuple[int, int]] = None,
        stride: int = 1,
        count: int = 0,
        seed: int = 0,
        region: Optional[tuple[int, int, int, int]] = None,
        target_name: str = "label",
        group_name: str = "",
        id: str = "",
        display_name: str = "",
        labels: Optional[Mapping[str, str]] = None,
        on_progress: Optional[Callable[[int], None]] = None,
    ) -> Dataset:
        """Stores grayscale images, or patches of them, as a data set, unless the server has it.

        Each row holds the pixels of a patch row by row, in columns ``pixel_1_1``, ``pixel_1_2``, ...: image after
        image, and within an image from left to right and from top to bottom.

        Parameters
        ----------
        images : sequence of arrays or paths, or the path of a folder
            Arrays have two dimensions and are of type uint8 or uint16; files are PGM or PNG. A folder holds a folder
            for each class, named after it, with ``.pgm`` and ``.png`` files, or such files alone.
        target : array, optional
            The class of each image, which its patches have. Of a folder: absent.
        patch : int or (int, int), optional
            Rows and columns of a patch; a single number for both. None: the whole image, or region.
        stride : int
            From one patch to the next, in pixels.
        count : int
            This many patches of each image, at different random places. 0: all.
        seed : int
            Chooses the random places.
        region : (int, int, int, int), optional
            Row, column, rows and columns of the part of each image that patches lie in. 0 rows or columns: up to the
            image's end.
        target_name : str
            Of the column of classes.
        group_name : str
            Of a column of the images' names, by which validations keep the patches of an image together. Empty:
            there is no such column.
        id, display_name, labels, on_progress
            As of :meth:`upload`.
        """
        spec = patch_spec(patch, stride, count, seed, region)
        part = images_part(images, target, spec, target_name, group_name)
        send = Upload(self.connection, [part], on_progress)
        return Dataset(self, send.run(id, display_name, labels))

    def dataset(self, name: str) -> Dataset:
        """The data set ``"datasets/{id}"``, or ``"{id}"``."""
        request = v1.GetDatasetRequest(name=full_name(name, "datasets"), view=v1.DATASET_VIEW_BASIC)
        return Dataset(self, self.connection.call("GetDataset", request))

    def datasets(self, *, filter: str = "", order_by: str = "") -> Iterator[Dataset]:
        """All data sets, newest first.

        Parameters
        ----------
        filter : str
            What they must fulfil: ``"rows >= 1000 AND labels.team:vision"`` (docs/lists.md).
        order_by : str
            As of :meth:`jobs`.
        """
        request = v1.ListDatasetsRequest(filter=filter, order_by=order_by)
        for message in self.connection.pages("ListDatasets", request, "datasets"):
            yield Dataset(self, message)

    # --------------------------------------------------------------------------------------------------- training

    def train(
        self,
        data: Union[Dataset, str, Sequence[Union[Dataset, str]]],
        learner: str,
        options: Optional[Mapping[str, Any]] = None,
        *,
        kernels: Kernels = None,
        target: Optional[str] = None,
        task: Optional[str] = None,
        regression: bool | None = None,
        target_scaling: Optional[str] = None,
        coding: Optional[str] = None,
        validation: Validation = None,
        path: Path = None,
        keep_path: bool = False,
        stability: int = 0,
        ranking_test: RankingTest = None,
        class_weight: ClassWeight = None,
        scaling: Optional[str] = None,
        imputation: Optional[str] = None,
        unseen_category: Optional[str] = None,
        square_repair: Optional[str] = None,
        blocks: Optional[Sequence[str]] = None,
        relative_gap: Optional[float] = None,
        max_iterations: Optional[int] = None,
        time_limit: Optional[float] = None,
        seed: int = 0,
        threads: int = 0,
        priority: int = 0,
        model: str = "",
        labels: Optional[Mapping[str, str]] = None,
        display_name: str = "",
        request_id: str = "",
    ) -> Job:
        """Queues a training and returns at once. What was returned survives crashes of the server.

        Parameters
        ----------
        data : Dataset, str, or a sequence of those
            More than one: each is a task of its own, named after it, of a learner of several tasks.
        learner : str
            ``"lp_mkl"``, ``"svm"``, ``"kernel_ridge"``; :meth:`learners` describes them.
        options : mapping, optional
            Of the learner; absent ones have its defaults.
        kernels : str or sequence of str, optional
            See :mod:`mercer.kernels`: ``["linear", "gaussian median=0.5,1,2"]``.
        target : str, optional
            Name of the target column; not needed when there is only one.
        task : str, optional
            Name of the column that says which task a row is of. None: the only column with the role ``task``, for
            learners of several tasks. Empty: all rows are of one task.
        regression : bool, optional
            True: the target is a number. False: its values are names of classes. None: the server decides; a column
            of more than 20 different numbers, or of more than two that are not all whole, is a number, and the model's
            `warnings` say so.
        target_scaling : str, optional
            Of a regression: ``"standardize"`` (the default), so that C, epsilon and lambda do not depend on the unit
            of the target, or ``"none"``. Predictions and certificates are in its unit either way.
        coding : str, optional
            Of more than two classes: ``"one_vs_all"`` (the default) or ``"one_vs_one"``.
        validation : float, int or str, optional
            A share in (0, 1) of the rows is held out; or so many folds; or ``"hold_out"`` or ``"folds"``
            as the column with the role ``split`` says. None: no metrics are measured.
        path : (str, sequence of float), optional
            An option and values that it takes in turn, ``("lambda", [0.1, 0.03, 0.01])``: each training begins with
            the solution of the one before where the learner can, and the model is the best by `validation`.
            ``Model.metrics`` tell the whole path.
        keep_path : bool
            True: the models of the other values, 100 at most, become versions too, before the best; the label
            ``path.value`` tells which is which.
        stability : int
            So many further trainings, on random halves of the rows (50 is usual): the model's table ``"stability"``
            has the share of them that selects each kernel. 0: none.
        ranking_test : True or sequence of int, optional
            Of learners that rank columns: linear support vector machines on so many of the first ones (True: 1, 2, 4
            and so on, and all), with nearly hard margins, are measured by `validation`: the model's table
            ``"ranking_test"``.
        class_weight : "balanced" or mapping, optional
            Factors of the cost by label.
        scaling : str, optional
            ``"standardize"`` (the default), ``"none"``, ``"min_max"``, ``"unit_norm"``.
        imputation : str, optional
            ``"refuse"`` (the default) or ``"mean_or_most_frequent"``.
        unseen_category : str, optional
            ``"refuse"`` (the default) or ``"all_zeros"``.
        square_repair : str, optional
            What becomes of precomputed kernels with negative eigenvalues between the training rows: ``"none"`` (the
            default) nobody looks, but a learner may refuse them; ``"check"`` they are refused with the size of the
            violation; ``"shift"`` the magnitude of the smallest eigenvalue is added to the diagonal; ``"clip"`` they
            become 0; ``"flip"`` they change their sign. The model tells what was done, as the table
            ``"square_repairs"``, and does the same to rows to predict.
        blocks : sequence of str, optional
            Feature blocks in use; all when absent.
        relative_gap : float, optional
            Certified accuracy to reach; 0.001 when absent.
        max_iterations : int, optional
            Steps of the learner.
        time_limit : float, optional
            Seconds of training.
        seed : int
            The same data, request and seed give the same model.
        threads, priority : int
            Of the job; 0: the server's default.
        model : str
            The model of which the job makes a new version. Empty: a new one named after the job.
        labels : mapping of str to str, optional
            Of job and model.
        display_name : str
            For people.
        request_id : str
            The same request with the same request_id is the same job. Empty: one that is made up, so that a
            call that is made again because its answer was lost starts no second job.
        """
        settings = {k: v for k, v in locals().items() if k not in ("self", "data", "learner", "options", "kernels")}
        request = train_request(_names_of(data), learner, options or {}, kernels, settings)
        return Job(self, self.connection.call("Train", request))

    def estimate(
        self,
        data: Union[Dataset, str, Sequence[Union[Dataset, str]]],
        learner: str,
        options: Optional[Mapping[str, Any]] = None,
        **settings: Any,
    ) -> Any:
        """What a training would cost, without making a job: the message ``EstimateCostResponse``.

        Its ``memory_bytes`` is an upper bound, its ``time`` usually within a factor of 3 of the truth; ``fits`` says
        whether the server has so much memory. A request that :meth:`train` would refuse is refused alike.

        Parameters
        ----------
        data, learner, options, **settings
            As of :meth:`train`.
        """
        settings = {**(Client.train.__kwdefaults__ or {}), **settings}
        training = train_request(_names_of(data), learner, options or {}, settings.pop("kernels"), settings)
        return self.connection.call("EstimateCost", v1.EstimateCostRequest(training=training))

    # ----------------------------------------------------------------------------------------------------------- jobs

    def job(self, name: str) -> Job:
        """The job ``"jobs/{id}"``, or ``"{id}"``."""
        request = v1.GetJobRequest(name=full_name(name, "jobs"))
        return Job(self, self.connection.call("GetJob", request))

    def jobs(
        self,
        states: Sequence[str] = (),
        labels: Optional[Mapping[str, str]] = None,
        kinds: Sequence[str] = (),
        *,
        filter: str = "",
        order_by: str = "",
    ) -> Iterator[Job]:
        """Jobs, newest first: those in one of `states` and of `kinds` (all when empty) that carry all `labels`.

        Parameters
        ----------
        filter : str
            What they must fulfil as well: ``"learner = svm AND create_time > 2026-01-31T00:00:00Z"`` (docs/lists.md).
        order_by : str
            ``"create_time"`` or ``"name"``, with ``" desc"`` behind it for the other direction.
        """
        request = v1.ListJobsRequest(labels=labels or {}, filter=filter, order_by=order_by, **job_filter(states, kinds))
        for message in self.connection.pages("ListJobs", request, "jobs"):
            yield Job(self, message)

    def server_info(self) -> Any:
        """The message ``ServerInfo``: version, start, learners, limits, processors of the server. Any token will do."""
        return self.connection.call("GetServerInfo", v1.GetServerInfoRequest())

    def learners(self) -> list[Any]:
        """The messages ``LearnerDescription``: all learners of the server with their options."""
        return list(self.connection.call("ListLearners", v1.ListLearnersRequest()).learners)

    # ----------------------------------------------------------------------------------------------------- models

    def model(self, name: str) -> Model:
        """The model ``"models/spam"``, ``"spam/versions/3"`` or ``"spam@live"``; no call is made."""
        return Model(self, full_name(name, "models"))

    def models(self, *, filter: str = "", order_by: str = "") -> Iterator[Model]:
        """Every model, by name; each is a handle of its newest version.

        Parameters
        ----------
        filter : str
            What the model itself must fulfil: ``"aliases:* AND create_time > 2026-01-31T00:00:00Z"`` (docs/lists.md).
        order_by : str
            As of :meth:`jobs`.
        """
        request = v1.ListModelsRequest(filter=filter, order_by=order_by)
        for message in self.connection.pages("ListModels", request, "models"):
            yield Model(self, message.name)

    def versions(
        self,
        labels: Optional[Mapping[str, str]] = None,
        learner: str = "",
        *,
        filter: str = "",
        order_by: str = "",
    ) -> Iterator[Model]:
        """The versions of all models, newest first; :meth:`Model.versions` has those of one.

        Parameters
        ----------
        labels, learner
            Those that have them.
        filter : str
            What they must fulfil as well: ``"aliases:* AND size_bytes > 1000"`` (docs/lists.md).
        order_by : str
            As of :meth:`jobs`.
        """
        request = v1.ListModelVersionsRequest(
            model="models/-", labels=labels or {}, learner=learner, filter=filter, order_by=order_by
        )
        for message in self.connection.pages("ListModelVersions", request, "versions"):
            yield Model(self, message.name)


def connect(
    address: Optional[str] = None,
    *,
    token: Optional[str] = None,
    token_file: Optional[PathLike] = None,
    ca: Optional[PathLike] = None,
    certificate: Optional[PathLike] = None,
    key: Optional[PathLike] = None,
    tls: bool = False,
    server_name: Optional[str] = None,
) -> Client:
    """A client of the server at `address`. No connection is made before the first call.

    Parameters
    ----------
    address : str, optional
        ``"host:port"``. None: ``MERCER_SERVER`` of the environment, or ``127.0.0.1:7345``.
    token, token_file : str, optional
        Who calls. None: ``MERCER_TOKEN`` of the environment, if it is set. A token is never sent in plain text
        to another machine.
    ca : str, optional
        PEM file of the authority of the server's certificate.
    certificate, key : str, optional
        PEM files of the client's own certificate.
    tls : bool
        True: TLS with the system's authorities. Any of the files above means it, too.
    server_name : str, optional
        For a server that is reached under another name than its certificate has.
    """
    security: dict[str, Any] = {
        "token": token, "token_file": token_file, "ca": ca, "certificate": certificate, "key": key,
        "tls": tls, "server_name": server_name,
    }  # fmt: skip
    return Client(Connection(address or os.environ.get("MERCER_SERVER") or DEFAULT_ADDRESS, **security))
