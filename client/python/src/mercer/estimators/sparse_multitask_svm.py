"""Jointly sparse multi-task support vector machine.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._task_estimator import TaskClassifier

__all__ = ["SparseMultiTaskSVM"]


class SparseMultiTaskSVM(TaskClassifier):
    """Jointly sparse multi-task support vector machine, for classes.

    Learns a support vector machine for each of several tasks that share which blocks they use: variables, groups of
    them such as channels, or kernels. A block is selected for all tasks or for none, and each task has weights of its
    own. Linear kernels of columns are solved and predicted as columns, in memory that grows with the table. For one
    task it is a machine with group selection. Source: Flamary, Rakotomamonjy, Gasso, Canu: Selection de variables pour
    l'apprentissage simultane de taches. CAp 2009, 109-120.

    Parameters
    ----------
    kernels : str or sequence of str, default=None
        The candidate kernels, as :mod:`mercer.kernels` explains: ``'gaussian median=0.5,1,2'``. 'precomputed' and
        'distance': `X` holds kernel values or distances, between all training rows in ``fit``, and of rows with the
        training rows in ``predict``; several matrices are a list, or an array with a last axis of kernels, which is
        what cross-validation takes, and `kernels` has one text for all of them or one for each. None: a linear kernel
        of each column, and of each square block the kernel itself, or exp(-d / bandwidth) of its distances d with 0.4,
        1 and 2.5 times their median as bandwidths.
    C : float, default=1.0
        Weight of the losses against the penalty. Larger fits the training rows more closely and selects more blocks. In
        (0, inf).
    sharing : {'joint', 'separate'}, default='joint'
        Joint: tasks share which blocks they use. separate: each task is a problem of its own, with its own norm as the
        penalty, and selects for itself; q is then 2. What joint selection is compared with.
    form : {'squared', 'plain'}, default='squared'
        Squared: half the square of the norm is the penalty, as of a support vector machine. plain: the norm itself; C
        then means something else, and up to some C no block is selected. Both have the same solutions at values of C
        that belong together. plain is for p at most 1 and q=2.
    p : float, default=1.0
        Exponent over the blocks. 1: few blocks are selected; 2: all are used. Below 1: fewer still, by a penalty that
        is not convex: the result is a stationary point, found from the solution of p=1, and the certificate tells a
        measure of stationarity in place of a gap. Below 1 is for q=2. In [0.1, 100].
    q : float, default=2.0
        Exponent over the tasks. 2: a block is selected for all tasks or for none; 1: each task selects its own. In [1,
        4].
    block_weights : sequence of float, default=()
        Factors of the norms of the blocks, one for each kernel in their order; a larger one makes a block enter later.
        Empty: all are 1. For p from 1 on. In [1e-06, 1000000].
    normalization_scope : {'task', 'pooled'}, default='task'
        The rows by which the scaling of kernels, where they ask for one, measures a block. task: in each task its own
        rows, so that a block counts as much in each. pooled: all rows together, so that a block which varies little in
        a task counts little there.
    smoothing : float, default=0.001
        P below 1: what is added to norms under the power, as a share of the largest norm of the solution of p=1.
        Smaller makes it harder for a block to come back. Without effect for p from 1 on. In [1e-06, 0.1].
    task_weighting : {'rows', 'equal'}, default='rows'
        Rows: a row counts as much as any other, and a task with more rows more than one with few. equal: tasks count
        alike; the costs of a task's rows are divided by their sum and multiplied by the mean sum of all tasks.
    allow_one_class : bool, default=False
        Whether a task may have rows of one class alone: it then has the constant function of that class. Otherwise it
        is refused. In true or false.
    method : {'auto', 'interior_point', 'newton', 'closed_form', 'reduced_gradient', 'coordinate_descent'}, default='auto'
        Interior_point: all tasks and weights at once, on a working set of blocks, for q=2 and p up to 1. newton:
        machines of fixed weights, and second-order steps of the weights, in turn, for p=1, q=2 and form=squared.
        closed_form: machines and weights in turn, for p and q from 1 on. reduced_gradient: the algorithm of the paper,
        for what newton is for. coordinate_descent: steps in pairs of dual variables, which bring machines nearer to
        their solutions, and weights in closed form, in turn, for p and q from 1 on; of columns it forms no kernel
        matrix. auto: interior_point where it is possible, else closed_form. Changes time only.
    max_steps : int, default=0
        The most convex problems for p below 1, and of newton, closed_form, reduced_gradient and coordinate_descent the
        most weights that machines are solved for; the best point then is the result, with its certificate; of separate
        tasks for each. 0: 100 for p below 1, else 2000. In [0, 1000000].
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

    _learner = "sparse_multitask_svm"
    _options = ("C", "sharing", "form", "p", "q", "block_weights", "normalization_scope", "smoothing", "task_weighting", "allow_one_class", "method", "max_steps",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        sharing: str = "joint",
        form: str = "squared",
        p: float = 1.0,
        q: float = 2.0,
        block_weights: Any = (),
        normalization_scope: str = "task",
        smoothing: float = 0.001,
        task_weighting: str = "rows",
        allow_one_class: bool = False,
        method: str = "auto",
        max_steps: int = 0,
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
        self.C = C
        self.sharing = sharing
        self.form = form
        self.p = p
        self.q = q
        self.block_weights = block_weights
        self.normalization_scope = normalization_scope
        self.smoothing = smoothing
        self.task_weighting = task_weighting
        self.allow_one_class = allow_one_class
        self.method = method
        self.max_steps = max_steps
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
