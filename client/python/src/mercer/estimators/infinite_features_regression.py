"""Learning with infinitely many features.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._task_estimator import TaskRegressor

__all__ = ["InfiniteFeaturesRegressor"]


class InfiniteFeaturesRegressor(TaskRegressor):
    """Learning with infinitely many features, for numbers.

    Chooses the few features that pay from a family that is given by continuous parameters, the frequencies of Fourier
    features above all, by column generation, and yields a small, fast model. Takes no kernels and no Gram matrix: time
    and memory grow with the rows times the features in the model. With the family of the data's own columns it is a
    sparse linear model. The certificate is about the features that are listed. Source: Rakotomamonjy, Flamary, Yger:
    Learning with infinitely many features. Machine Learning 91 (2013) 43-66.

    Parameters
    ----------
    loss : {'auto', 'squared_hinge', 'logistic', 'square', 'hinge'}, default='auto'
        What a score f costs at a target y. auto: squared_hinge for classes, square for numbers. Classes: squared_hinge
        max(0, 1 - y f)^2, logistic log(1 + exp(-y f)), square (y - f)^2 with y = -1 or +1, hinge max(0, 1 - y f), which
        solver admm alone takes. Numbers: square. None has a factor 1/2.
    lambda_ : float, default=None
        Weight of the penalty against the sum of the losses, in the unit of lambda_unit. Larger chooses fewer features;
        from the maximum on, none. Without it, lambda_shared, lambda_unit and a path: a path chooses it, unless the rows
        are too few. In (0, inf]. None: the best of 0.3, 0.1, 0.03, 0.01, 0.003 by cross-validation (with `time_limit`
        on rows held out); of very few rows 0.003.
    lambda_shared : float, default=None
        Weight of the penalty of a part of the weights that all outputs share, in the unit of lambda_unit; inf leaves it
        out. With lambda inf there is that part alone. In (0, inf]. None: inf.
    lambda_unit : {'share_of_maximum', 'absolute'}, default=None
        Share_of_maximum: lambda is a share of the least value at which no candidate of the first round enters the
        model, so that it means the same whatever the number of rows and the normalization. absolute: lambda itself.
        None: share_of_maximum.
    family : {'fourier', 'columns', 'gabor'}, default='fourier'
        What the features are drawn from. fourier: cosine and sine of a random direction, the pairs that a kernel is the
        mean of. columns: the columns of the data themselves, which makes it a sparse linear model. gabor: how strongly
        a square patch of an image, the columns of a row being its pixels row by row, answers to an oriented wave.
    kernel : {'gaussian', 'laplacian'}, default='gaussian'
        Fourier: the kernel whose directions are drawn. gaussian exp(-|x-z|^2 / (2 bandwidth^2)), laplacian exp(-|x-z|_1
        / bandwidth).
    bandwidths : sequence of float, default=()
        Fourier: bandwidths of the kernel; with bandwidth_rule list each of them, else the two ends of the range that
        they are drawn from. Empty: the median distance of the training rows (1 where that is 0), or a range from a
        quarter of it to four times it. Unit: that of the distance. In (0, inf).
    bandwidth_rule : {'list', 'linear', 'logarithmic'}, default='list'
        Fourier: list draws candidates for each bandwidth. linear and logarithmic draw bandwidths anew in every round,
        uniformly between the two ends, or their logarithms.
    bandwidths_per_round : int, default=20
        Fourier: number of bandwidths that a round draws, with bandwidth_rule linear or logarithmic. In [1, 1000].
    candidates : int, default=50
        Features that a round draws, fourier: for each bandwidth. The best of 59 lies, with probability 0.95, in the
        best 5 % of the family. Time of the search grows with it. The family columns is searched whole. In [1, 10000].
    normalization : {'column', 'group', 'none'}, default='column'
        What the features are divided by before they are penalised. column: the norm of each column over the training
        rows; group: one number for the columns of a group, which keeps the result independent of the phase of a pair;
        none.
    normalization_scope : {'task', 'pooled'}, default='task'
        Several tasks: whose rows a feature is normalised over. task: those of each task, so that every task has a scale
        of its own; pooled: one scale for all, the root mean square of theirs, so that the part that the tasks share is
        one function.
    positions_per_side : int, default=4
        Gabor: a filter looks at the patch from the middle of each cell of a grid with so many cells per side, at most
        as many as pixels; the feature is the sum of its absolute answers. In [1, 64].
    subtract_patch_mean : bool, default=True
        Gabor: each patch less its mean is filtered, so that its brightness has no influence. In true or false.
    min_scale : float, default=1.0
        Gabor: the least of a filter's two widths, whose logarithms are uniform. Unit: pixels. In (0, inf).
    max_scale : float, default=0.0
        Gabor: the largest width. 0: half the patch. Unit: pixels. In [0, inf).
    min_frequency : float, default=0.02
        Gabor: the least frequency of a filter's wave; frequencies are uniform. Unit: 1/pixel. In [0, inf).
    max_frequency : float, default=0.5
        Gabor: the largest frequency. Unit: 1/pixel. In [0, inf).
    selection : {'generated', 'selected', 'fixed'}, default='generated'
        Generated: candidates are drawn in every round, and those that break the conditions of optimality most enter the
        model (groups_per_round). selected: all candidates are drawn once. fixed: the features are given in advance and
        enter at once: gabor a grid, fourier the first max_groups that are drawn, columns all. The last two are
        baselines.
    values_per_parameter : int, default=3
        Gabor, fixed: values of each of the four parameters; the grid has every combination. In [1, 10].
    dictionary_size : int, default=3000
        Selected: number of candidates in all. In [1, 100000].
    max_groups : int, default=100
        Groups of features (for fourier: pairs) that the model may have. Time grows with the square, memory with the
        number. In [1, 10000].
    groups_per_round : int, default=0
        Groups that enter the model in one round. More save rounds and choose worse features. 0: one; fourier with a
        list of bandwidths and without ascent_steps: another with every 50 groups in the model; columns, where all may
        enter: as many as the model has, at least 16 and at most 100. In [0, 100].
    ascent_steps : int, default=0
        Fourier: steps uphill that the best candidate of a round makes before it enters, in its direction and, with
        bandwidths from a range, in its bandwidth. It takes the place of most draws. The model fits more closely at the
        same lambda, so that a larger one, with fewer features, is as accurate. 0: none, as in the paper. In [0, 1000].
    patience : int, default=3
        Rounds without any candidate that breaks the conditions of optimality, one after the other, after which the
        search ends. In [1, 100].
    violation : float, default=0.001
        A candidate enters only when it breaks the conditions of optimality by more than this share. In [0, 1].
    max_rounds : int, default=100000
        Rounds of the search, at most. In [1, 1000000].
    min_decrease : float, default=0.0
        The search ends when what entered in a round has lowered the objective by less than this share of it. 0: it goes
        on. In [0, 1).
    master_gap : float, default=1e-06
        Relative gap to which the problem of the features in the model is solved between two rounds, unless what is left
        is sure to be less than the next one brings. After the search it is solved to the gap asked for. In [1e-12,
        0.1].
    penalty_shape : {'nested', 'flat'}, default='nested'
        The norm of a group's weights. nested: the penalty_q norm, over the outputs, of their Euclidean norms; the
        features of a group then enter or leave together. flat: the penalty_q norm of all of them; with penalty_q 1 each
        enters alone.
    penalty_q : float, default=2.0
        Exponent of the norm, 1, inf, or between 1.01 and 100. Several outputs: 1 lets each choose its own features, 2
        and above share them. In [1, inf].
    group_weights : sequence of float, default=()
        Columns: factors of the penalty, one for each column of the data after preprocessing, in their order; a larger
        one makes a column enter later. Empty: 1 for all. In (0, inf).
    solver : {'auto', 'newton', 'admm', 'fista'}, default='auto'
        How the weights of the features in the model are found. newton: quadratic models of the risk, solved by descent
        in groups and Newton steps on the weights that are not 0. admm (alternating directions) and fista (accelerated
        proximal gradients): baselines. auto: newton, for the loss hinge admm. Changes time only.
    target_scaling : {'standardize', 'none'}, default='standardize'
        Whether the target has mean 0 and deviation 1 in training, so that C, epsilon and lambda do not depend on its
        unit. Predictions and the certificate are in its unit either way.
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

    _learner = "infinite_features"
    _options = ("loss", "lambda_", "lambda_shared", "lambda_unit", "family", "kernel", "bandwidths", "bandwidth_rule", "bandwidths_per_round", "candidates", "normalization", "normalization_scope", "positions_per_side", "subtract_patch_mean", "min_scale", "max_scale", "min_frequency", "max_frequency", "selection", "values_per_parameter", "dictionary_size", "max_groups", "groups_per_round", "ascent_steps", "patience", "violation", "max_rounds", "min_decrease", "master_gap", "penalty_shape", "penalty_q", "group_weights", "solver",)
    _uses_kernels = False

    def __init__(
        self,
        *,
        loss: str = "auto",
        lambda_: Any = None,
        lambda_shared: Any = None,
        lambda_unit: Any = None,
        family: str = "fourier",
        kernel: str = "gaussian",
        bandwidths: Any = (),
        bandwidth_rule: str = "list",
        bandwidths_per_round: int = 20,
        candidates: int = 50,
        normalization: str = "column",
        normalization_scope: str = "task",
        positions_per_side: int = 4,
        subtract_patch_mean: bool = True,
        min_scale: float = 1.0,
        max_scale: float = 0.0,
        min_frequency: float = 0.02,
        max_frequency: float = 0.5,
        selection: str = "generated",
        values_per_parameter: int = 3,
        dictionary_size: int = 3000,
        max_groups: int = 100,
        groups_per_round: int = 0,
        ascent_steps: int = 0,
        patience: int = 3,
        violation: float = 0.001,
        max_rounds: int = 100000,
        min_decrease: float = 0.0,
        master_gap: float = 1e-06,
        penalty_shape: str = "nested",
        penalty_q: float = 2.0,
        group_weights: Any = (),
        solver: str = "auto",
        target_scaling: str = "standardize",
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
        self.loss = loss
        self.lambda_ = lambda_
        self.lambda_shared = lambda_shared
        self.lambda_unit = lambda_unit
        self.family = family
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.bandwidth_rule = bandwidth_rule
        self.bandwidths_per_round = bandwidths_per_round
        self.candidates = candidates
        self.normalization = normalization
        self.normalization_scope = normalization_scope
        self.positions_per_side = positions_per_side
        self.subtract_patch_mean = subtract_patch_mean
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_frequency = min_frequency
        self.max_frequency = max_frequency
        self.selection = selection
        self.values_per_parameter = values_per_parameter
        self.dictionary_size = dictionary_size
        self.max_groups = max_groups
        self.groups_per_round = groups_per_round
        self.ascent_steps = ascent_steps
        self.patience = patience
        self.violation = violation
        self.max_rounds = max_rounds
        self.min_decrease = min_decrease
        self.master_gap = master_gap
        self.penalty_shape = penalty_shape
        self.penalty_q = penalty_q
        self.group_weights = group_weights
        self.solver = solver
        self.target_scaling = target_scaling
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
