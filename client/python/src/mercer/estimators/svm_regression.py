"""Support vector machine.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._estimator import KernelRegressor

__all__ = ["KernelSVR"]


class KernelSVR(KernelRegressor):
    """Support vector machine, for numbers.

    Support vector classification and regression (C-SVC, epsilon-SVR) on a fixed sum of kernels, by sequential minimal
    optimisation to a certified duality gap. The baseline for everything that learns kernel weights. Memory grows with
    the square of the rows. Source: Fan, Chen, Lin: Working set selection using second order information for training
    SVM. JMLR 6 (2005) 1889-1918.

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
    C : float, default=1.0
        Cost of one unit of loss at one sample against half the squared norm of the function; the box of the dual is [0,
        C]. Larger fits the training rows more closely and takes longer. In (0, inf).
    epsilon : float, default=0.1
        Residuals up to epsilon cost nothing. Larger gives fewer support vectors. Unit: standard deviation of the
        target; with target_scaling NONE that of the target. In [0, inf).
    target_scaling : {'standardize', 'none'}, default='standardize'
        Whether the target has mean 0 and deviation 1 in training, so that C, epsilon and lambda do not depend on its
        unit. Predictions and the certificate are in its unit either way.
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

    _learner = "svm"
    _options = ("C", "epsilon",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        target_scaling: str = "standardize",
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
        self.C = C
        self.epsilon = epsilon
        self.target_scaling = target_scaling
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
