"""Recursive feature elimination.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._ranking_estimator import RankingClassifier

__all__ = ["SVMRFE"]


class SVMRFE(RankingClassifier):
    """Recursive feature elimination, for classes.

    Ranks the columns: a linear support vector machine is trained on all of them, those of the smallest weights leave,
    and so on until one is left. The model is the machine on the best columns, half of them unless it is said how many;
    its certificate is that machine's. Several classes are ranked together. Takes no kernels; for tables of few rows and
    many columns, such as genes. Source: Guyon, Weston, Barnhill, Vapnik: Gene selection for cancer classification using
    support vector machines. Machine Learning 46 (2002) 389-422.

    Parameters
    ----------
    C : float, default=100.0
        Cost of one unit of loss at one sample against half the squared norm of the weights, for the machine of every
        round and for the final one. Larger fits the training rows more closely. In (0, inf).
    columns : int, default=0
        How many columns the model keeps: the best of the ranking, which is of all columns whatever is kept. 0: half of
        them, at least one. More than there are is refused. In [0, 1000000000].
    schedule : {'power_of_two', 'half_up', 'one'}, default='power_of_two'
        How many columns a round leaves. power_of_two: the largest power of two below their number at first, then half.
        half_up: half, rounded up. one: one less, the most careful and slowest. Without effect where counts are given.
    counts : sequence of float, default=()
        The numbers of columns that the rounds leave, in place of a schedule: whole numbers below the number of columns,
        each less than the one before; a last 1 need not be given. Empty: by the schedule. In [1, 1000000000].
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
    ranking_ : ndarray of shape (n_features,)
        The place of each feature, 1 being the best; no two are alike.
    support_ : ndarray of shape (n_features,)
        Whether the model keeps each feature.
    n_features_ : int
        How many it keeps.
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

    _learner = "svm_rfe"
    _options = ("C", "columns", "schedule", "counts",)
    _uses_kernels = False

    def __init__(
        self,
        *,
        C: float = 100.0,
        columns: int = 0,
        schedule: str = "power_of_two",
        counts: Any = (),
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
        self.columns = columns
        self.schedule = schedule
        self.counts = counts
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
