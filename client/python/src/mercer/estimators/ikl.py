"""Infinite kernel learning.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._estimator import KernelClassifier

__all__ = ["IKLClassifier"]


class IKLClassifier(KernelClassifier):
    """Infinite kernel learning, for classes.

    A support vector machine on the best combination of Gaussian kernels whose bandwidths may be anywhere in an
    interval: bandwidths are found one by one, each where the present machine gains most. Needs no list of kernels. The
    certificate is about the kernels that were found; the metrics bound what others could add. Memory grows with the
    square of the rows. Source: Gehler, Nowozin: Infinite kernel learning. NIPS Workshop on Kernel Learning (2008).

    Parameters
    ----------
    C : float, default=1.0
        Cost of one unit of loss at one row, multiplied by its weight. Larger fits the training rows more closely and
        takes more iterations. In (0, inf).
    min_bandwidth : float, default=0.0
        Lower end of the interval in which bandwidths are looked for. 0: a tenth of the median distance of the training
        rows, or max_bandwidth if that is smaller. Unit: that of the distance of two rows. In [0, 1e+100].
    max_bandwidth : float, default=0.0
        Upper end of that interval. 0: ten times the median distance. Unit: that of the distance of two rows. In [0,
        1e+100].
    violation : float, default=0.0001
        The search ends when no bandwidth of the interval would lower the objective's bound by more than this share of
        it. In [1e-06, 1].
    max_kernels : int, default=20
        The most kernels that are at work at a time. More take memory and time in proportion. In [1, 1000].
    coding : {'one_vs_all', 'one_vs_one'}, default='one_vs_all'
        How more than two classes become outputs.
    class_weight : 'balanced' or dict, default=None
        Factors of the cost by class. 'balanced': ``n_samples / (n_classes * n_samples_of_the_class)``.
    scaling : {'standardize', 'none', 'min_max', 'unit_norm'}, default='standardize'
        What is done to the columns first, with statistics of the training rows.
    imputation : {'refuse', 'mean_or_most_frequent'}, default='refuse'
        Whether NaN is an error, or replaced by the mean of the column, a missing category by the most frequent one.
    unseen_category : {'refuse', 'all_zeros'}, default='refuse'
        A category that ``fit`` did not see is an error in ``predict``, or has 0 for all categories.
    tol : float, default=0.001
        Relative duality gap to reach, in (0, 1): the certified accuracy of the optimum.
    max_iter : int, default=None
        Steps of the learner. None: a million.
    time_limit : float, default=None
        Seconds of training, after which the best model so far is taken.
    random_state : int, RandomState instance or None, default=None
        Of what is random. None: the same each time.
    server : mercer.Client or str, default=None
        Where to train; a text is an address. None: ``MERCER_SERVER`` of the environment, else one that is started for
        this process and those that it starts for parallel work (``n_jobs``).
    model : str, default=None
        Name of the model on the server, of which ``fit`` makes a new version that stays. None: one that is deleted with
        the estimator.
    verbose : bool, default=False
        Whether to show progress: a bar of the package tqdm, or lines without it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    model_ : LocalModel
        The model itself, which needs no server.
    model_name_ : str
        Its name on the server.
    job_name_ : str
        Of the job that trained it.
    chosen_features_ : ndarray of str
        The groups of features that were chosen.
    chosen_weights_ : ndarray of shape (n_groups,) or (n_groups, n_outputs)
        Euclidean norms of their weights, as the learner defines them.
    intercept_ : ndarray of shape (n_outputs,)
        Biases.
    certificate_ : dict of str to float
        Bounds of the optimum, recomputed by the server after the training; where the problem is not convex (``p`` below
        1) ``accuracy`` is a measure of stationarity, and ``dual`` no bound.
    history_ : list of Progress
        The events of the job.
    n_iter_ : int
        Steps of the learner.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where ``X`` had any.
    """

    _learner = "ikl"
    _options = ("C", "min_bandwidth", "max_bandwidth", "violation", "max_kernels",)
    _uses_kernels = False

    def __init__(
        self,
        *,
        C: float = 1.0,
        min_bandwidth: float = 0.0,
        max_bandwidth: float = 0.0,
        violation: float = 0.0001,
        max_kernels: int = 20,
        coding: str = "one_vs_all",
        class_weight: Any = None,
        scaling: str = "standardize",
        imputation: str = "refuse",
        unseen_category: str = "refuse",
        tol: float = 0.001,
        max_iter: Any = None,
        time_limit: Any = None,
        random_state: Any = None,
        server: Any = None,
        model: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.min_bandwidth = min_bandwidth
        self.max_bandwidth = max_bandwidth
        self.violation = violation
        self.max_kernels = max_kernels
        self.coding = coding
        self.class_weight = class_weight
        self.scaling = scaling
        self.imputation = imputation
        self.unseen_category = unseen_category
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.server = server
        self.model = model
        self.verbose = verbose
