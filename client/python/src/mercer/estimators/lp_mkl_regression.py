"""lp-norm multiple kernel learning.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._estimator import KernelRegressor

__all__ = ["LpMKLRegressor"]


class LpMKLRegressor(KernelRegressor):
    """lp-norm multiple kernel learning, for numbers.

    Learns a support vector machine together with non-negative weights of its kernels, |weights|_p <= 1. p = 1 selects
    few kernels, p = 2 spreads the weights, p = inf is the plain SVM of the sum. Hinge loss for classes and epsilon-
    insensitive loss for numbers, or squared hinge, logistic and square. Memory grows with the square of the rows; a run
    costs a few SVM solutions. With approximation=nystrom the kernels are of low rank, and memory and time grow with the
    rows. Source: Kloft, Brefeld, Sonnenburg, Zien: lp-norm multiple kernel learning. JMLR 12 (2011) 953-997.

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
    p : float, default=2.0
        Norm of the kernel weights: |weights|_p <= 1. 1 selects few kernels, 2 spreads the weights, inf gives every
        kernel the weight 1. Values near 1 need a few more iterations. In [1, inf].
    C : float, default=1.0
        Cost of one unit of loss at one sample against half the squared norm of the function. Larger fits the training
        rows more closely and takes longer. In (0, inf).
    epsilon : float, default=0.1
        With the loss epsilon_insensitive residuals up to epsilon cost nothing. Larger gives fewer support vectors.
        Unit: standard deviation of the target; with target_scaling NONE that of the target. In [0, inf).
    loss : {'auto', 'hinge', 'squared_hinge', 'logistic', 'epsilon_insensitive', 'square'}, default='auto'
        What a score f costs at a target y. auto: hinge for classes, epsilon_insensitive for numbers. Classes: hinge
        max(0, 1 - y f), squared_hinge max(0, 1 - y f)^2, logistic log(1 + exp(-y f)). Numbers: epsilon_insensitive
        max(0, |y - f| - epsilon), square (y - f)^2. None has a factor 1/2. With squared_hinge, logistic and square most
        rows are support vectors.
    inner_solver : {'auto', 'newton', 'smo', 'interior_point', 'gfb', 'gfb_merged', 'coordinate_descent'}, default='auto'
        How the SVM of fixed weights is solved. auto: SMO within a budget of pair steps, then Newton; with kernels of
        low rank Newton. With kernels of low rank only: interior_point (Mehrotra), gfb (generalized forward-backward,
        one set per kernel), gfb_merged (one set for all) and coordinate_descent; the last three may end at a numerical
        limit for large C. The losses squared_hinge, logistic and square are for auto and newton. Changes time only.
    outer_loop : {'newton', 'over_relaxed', 'alternation', 'smo_mkl', 'interleaved'}, default='newton'
        How weights follow from the SVM's solution. newton: a second-order model of the optimum in the weights;
        over_relaxed: the closed form of the weights with longer steps; alternation: the closed form. smo_mkl: no SVMs
        of fixed weights but pair steps on dual and weights together, a baseline for comparisons, with 1.000001 <= p <
        inf, approximation=none, the losses hinge and epsilon_insensitive, and inner_solver=auto only. interleaved: the
        closed form after every Newton step, with 1 < p < inf, kernels of low rank and the same other options only.
        Changes time only.
    weight_penalty : float, default=0.0
        Smo_mkl: 0 keeps |weights|_p <= 1; above 0 the weights are free and half of this times |weights|_p^2 is added to
        the objective, as in the paper of SMO-MKL. Its solution of the norm t has the function of the constrained form
        with t times the C. In [0, inf).
    approximation : {'none', 'nystrom', 'pivoted_cholesky'}, default='none'
        None: the kernels themselves; memory and time grow with the square of the rows. The others are kernels of low
        rank; memory and time grow with the rows, and the certificate is about these kernels. nystrom: they see the rows
        through landmarks. pivoted_cholesky: each kernel is its own incomplete Cholesky factor, whose pivots, its
        landmarks, are in turn the row of all that those before it represent worst.
    landmarks : int, default=100
        Low rank: number of landmarks, of all kernels together or of each its own; all rows when there are fewer. More
        come closer to the kernels themselves; time grows with the square. In [1, 10000].
    landmark_selection : {'uniform', 'k_means', 'leverage', 'pivoted_cholesky'}, default='uniform'
        Nystrom: uniform draws training rows; k_means takes centres of the rows, which represent them better at a small
        cost; leverage draws rows by approximate leverage scores of all rows; pivoted_cholesky takes in turn the row of
        all that those before it represent worst, well for wide kernels, poorly for narrow ones.
    own_landmarks : bool, default=False
        Nystrom, with landmark_selection leverage or pivoted_cholesky: each kernel has landmarks chosen for it alone, in
        place of those for the mean of all. Closer to each kernel; the kernels have less in common then, so that memory
        and time grow with their number. In true or false.
    rank : int, default=0
        Low rank: the largest rank of each kernel. 0: as many as there are landmarks. In [0, 10000].
    eigenvalue_threshold : float, default=1e-10
        Nystrom: eigenvalues of a kernel among the landmarks are kept above this share of the largest one times the
        number of landmarks, the largest always. pivoted_cholesky: pivots are taken while a row has more than this share
        of the largest value left. In [1e-15, 0.01].
    compression_tolerance : float, default=1e-08
        Low rank: the share of the kernels' traces that their joint basis may leave out; of a kernel that the landmarks
        represent badly, where that is more, 1e5 times the tolerance, and 1e-3 at most, of what they lose of it. At most
        1e-4 times the gap asked for keeps the objective but for a small part of what the landmarks change of it; 0
        keeps all that can be told apart. In [0, 0.01].
    exact_certificate : bool, default=False
        Low rank: also bounds the optimum with the kernels themselves at the solution's dual variables and weights. The
        model's metrics then say how far it is from that optimum. The verification then goes through all pairs of rows
        for every kernel. In true or false.
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

    _learner = "lp_mkl"
    _options = ("p", "C", "epsilon", "loss", "inner_solver", "outer_loop", "weight_penalty", "approximation", "landmarks", "landmark_selection", "own_landmarks", "rank", "eigenvalue_threshold", "compression_tolerance", "exact_certificate",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        p: float = 2.0,
        C: float = 1.0,
        epsilon: float = 0.1,
        loss: str = "auto",
        inner_solver: str = "auto",
        outer_loop: str = "newton",
        weight_penalty: float = 0.0,
        approximation: str = "none",
        landmarks: int = 100,
        landmark_selection: str = "uniform",
        own_landmarks: bool = False,
        rank: int = 0,
        eigenvalue_threshold: float = 1e-10,
        compression_tolerance: float = 1e-08,
        exact_certificate: bool = False,
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
        self.p = p
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.inner_solver = inner_solver
        self.outer_loop = outer_loop
        self.weight_penalty = weight_penalty
        self.approximation = approximation
        self.landmarks = landmarks
        self.landmark_selection = landmark_selection
        self.own_landmarks = own_landmarks
        self.rank = rank
        self.eigenvalue_threshold = eigenvalue_threshold
        self.compression_tolerance = compression_tolerance
        self.exact_certificate = exact_certificate
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
