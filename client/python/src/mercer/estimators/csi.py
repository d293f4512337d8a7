"""Low-rank kernel with side information.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._estimator import KernelClassifier
from mercer.estimators.csi_regression import CSIRegressor

__all__ = ["CSIClassifier", "CSIRegressor"]


class CSIClassifier(KernelClassifier):
    """Low-rank kernel with side information, for classes.

    Chooses a few training rows by what they say about kernel and targets together (CSI: Cholesky with side
    information), and fits a ridge on their columns: squared hinge loss for classes, square loss for numbers, the same
    rows for all outputs. A small, fast model whose training never forms the kernel matrix: memory grows with the rows
    times the pivots. The certificate is about the problem given the pivots. Source: Bach, Jordan: Predictive low-rank
    decomposition for kernel methods. ICML 2005, 33-40.

    Parameters
    ----------
    kernels : str or sequence of str, default=None
        The candidate kernels, as :mod:`mercer.kernels` explains: ``'gaussian median=0.5,1,2'``. 'precomputed' and
        'distance': `X` holds kernel values or distances, between all training rows in ``fit``, and of rows with the
        training rows in ``predict``; several matrices are a list, or an array with a last axis of kernels, which is
        what cross-validation takes, and `kernels` has one text for all of them or one for each. None: Gaussians whose
        bandwidths are 0.4 (for numbers 0.5), 1 and 2.5 times the median distance of the training rows; where there are
        at least as many columns as rows, also a linear kernel whose diagonal has the mean 1; and of each square block
        the kernel itself, or exp(-d / bandwidth) of its distances d with the same multiples of their median.
    lambda_ : float, default=1.0
        Weight of half the squared norm of the function against the sum (never the mean) of the losses. Larger gives a
        smoother function. In (0, inf).
    max_pivots : int, default=100
        The most training rows that the model is an expansion of, for all outputs together; fewer when the kernel has a
        lower rank. Time grows with its square, memory with it. In [1, 10000].
    kappa : float, default=0.99
        Share of the targets, against the kernel, in what the choice of pivots goes by. 0 looks at the kernel alone, 1
        at the targets alone. In [0, 1].
    look_ahead : int, default=40
        Columns of pivoted Cholesky by which what further pivots are worth is estimated. Few give clearly worse pivots;
        time grows with the square. In [40, 1000].
    tolerance : float, default=0.0
        No further pivots when none would lower the criterion, which is 1 without pivots, by at least this. 0 goes on to
        max_pivots. In [0, 1].
    coding : {'one_vs_all', 'one_vs_one'}, default='one_vs_all'
        How more than two classes become outputs.
    class_weight : 'balanced' or dict, default=None
        Factors of the cost by class. 'balanced': ``n_samples / (n_classes * n_samples_of_the_class)``.
    square_repair : {'none', 'check', 'shift', 'clip', 'flip'}, default='none'
        What becomes of precomputed kernels with negative eigenvalues: ``check`` refuses them and says how large the
        violation is, ``shift`` adds to the diagonal, ``clip`` makes them 0, ``flip`` changes their sign.
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
    kernel_names_ : ndarray of str
        Of all candidate kernels.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_kernels, n_outputs)
        As the learner defines them.
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

    _learner = "csi"
    _options = ("lambda_", "max_pivots", "kappa", "look_ahead", "tolerance",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        lambda_: float = 1.0,
        max_pivots: int = 100,
        kappa: float = 0.99,
        look_ahead: int = 40,
        tolerance: float = 0.0,
        coding: str = "one_vs_all",
        class_weight: Any = None,
        square_repair: str = "none",
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
        self.kernels = kernels
        self.lambda_ = lambda_
        self.max_pivots = max_pivots
        self.kappa = kappa
        self.look_ahead = look_ahead
        self.tolerance = tolerance
        self.coding = coding
        self.class_weight = class_weight
        self.square_repair = square_repair
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
