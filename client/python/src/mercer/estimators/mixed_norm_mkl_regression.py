"""Mixed-norm multiple kernel learning.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._estimator import KernelRegressor

__all__ = ["MixedNormMKLRegressor"]


class MixedNormMKLRegressor(KernelRegressor):
    """Mixed-norm multiple kernel learning, for numbers.

    Learns a support vector machine together with weights of kernels that come in groups: descriptors of images with
    several bandwidths each, for example. Every group is used, each with the same norm, and few kernels of each group
    are. With one group, or regularization=l1, it is SimpleMKL's problem; with regularization=sum the plain SVM of the
    sum. Hinge loss for classes and epsilon-insensitive loss for numbers, or squared hinge, logistic and square. Memory
    grows with the square of the rows; a run costs 5 to 30 SVM solutions. Source: Nath, Dinesh, Raman, Bhattacharyya,
    Ben-Tal, Ramakrishnan: On the algorithmics and applications of a mixed-norm based kernel learning formulation. NIPS
    22 (2009) 844-852.

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
        Cost of one unit of loss at one sample against half the squared norm of the function; cost_scale says in which
        unit. Larger fits the training rows more closely and takes longer. In (0, inf).
    cost_scale : {'plain', 'comparable'}, default='plain'
        Plain: a row costs C times its weight. comparable: C times the number of rows over the trace of the kernel that
        training begins with, so that the same C regularizes alike whatever the regularization, the number of kernels
        and groups, and their normalization; the useful values are then about 1, 10 and 100.
    epsilon : float, default=0.1
        With the loss epsilon_insensitive residuals up to epsilon cost nothing. Larger gives fewer support vectors.
        Unit: standard deviation of the target; with target_scaling NONE that of the target. In [0, inf).
    loss : {'auto', 'hinge', 'squared_hinge', 'logistic', 'epsilon_insensitive', 'square'}, default='auto'
        What a score f costs at a target y. auto: hinge for classes, epsilon_insensitive for numbers. Classes: hinge
        max(0, 1 - y f), squared_hinge max(0, 1 - y f)^2, logistic log(1 + exp(-y f)). Numbers: epsilon_insensitive
        max(0, |y - f| - epsilon), square (y - f)^2. None has a factor 1/2. With squared_hinge, logistic and square most
        rows are support vectors.
    regularization : {'mixed_norm', 'l1', 'sum'}, default='mixed_norm'
        Mixed_norm: the largest of the groups' sums of norms, which uses every group and few kernels of each. l1: the
        sum of all norms, whatever the groups (SimpleMKL), which uses few kernels of few groups. sum: every kernel with
        the weight 1, a plain SVM.
    method : {'auto', 'newton', 'interior_point', 'closed_form', 'mirror_descent', 'alternating_mirror_descent', 'simple_mkl'}, default='auto'
        How weights are found, together with the dual or from the solutions of SVMs. auto: newton; with more than 300
        kernels on at most 5,000 rows interior_point, at once where all are in one group, and where newton ends above
        the gap with at most 2,000 kernels in groups. newton: the saddle point of a second-order model, on the kernels
        in use and those that would come in. interior_point: weights and dual at once, and newton from there; time grows
        with the cube of the rows; with another loss than the hinge, shared_weights or more than 100 groups it is
        newton. closed_form: block updates. mirror_descent: multiplicative steps, of the groups' weights after every
        SVM; alternating_mirror_descent: after the weights within groups are found, the paper's algorithm. simple_mkl:
        reduced gradient with a line search, for one group or regularization=l1 only. No matter for regularization=sum.
        Changes time only.
    max_svm_solves : int, default=0
        The most SVMs of fixed weights that are solved; the best point then is the result, with its gap. 0: 200 with
        auto, newton and interior_point, else 2000. In [0, 1000000].
    kappa : float, default=5.0
        Mirror_descent and alternating_mirror_descent: the step against the one that the analysis asks for. Larger is
        faster, and oscillates from about 20 on. Without effect with other methods. In (0, 20].
    power : float, default=2.0
        Closed_form: the power of the energies by which weights are multiplied. It is halved, to 0.5 at the least,
        whenever the gap has stalled for three SVMs. 0.5 never raises the optimum of one group; 2 is about four times as
        fast. Without effect with other methods. In [0.5, 2].
    gamma_floor : float, default=0.0
        The least weight of a group among the groups, below 1 over their number. A group of kernels of low rank may need
        the weight 0, which leaves its function undetermined; the floor bends the optimum by at most itself times the
        number of groups, and smaller ones make the SVMs harder. 0: half the gap asked for, at most 0.1 over the number
        of groups; else at least 1e-12. Without effect with one group or regularization=sum. In [0, 0.5].
    weight_threshold : float, default=0.0001
        Kernels with less than this share of the largest weight of their group are taken out at the end, when an SVM
        without them still has the gap asked for. In [0, 0.1].
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

    _learner = "mixed_norm_mkl"
    _options = ("C", "cost_scale", "epsilon", "loss", "regularization", "method", "max_svm_solves", "kappa", "power", "gamma_floor", "weight_threshold",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        cost_scale: str = "plain",
        epsilon: float = 0.1,
        loss: str = "auto",
        regularization: str = "mixed_norm",
        method: str = "auto",
        max_svm_solves: int = 0,
        kappa: float = 5.0,
        power: float = 2.0,
        gamma_floor: float = 0.0,
        weight_threshold: float = 0.0001,
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
        self.cost_scale = cost_scale
        self.epsilon = epsilon
        self.loss = loss
        self.regularization = regularization
        self.method = method
        self.max_svm_solves = max_svm_solves
        self.kappa = kappa
        self.power = power
        self.gamma_floor = gamma_floor
        self.weight_threshold = weight_threshold
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
