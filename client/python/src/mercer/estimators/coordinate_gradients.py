"""Gradient learning with weights of the columns.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from __future__ import annotations

from typing import Any

from mercer._ranking_estimator import RankingClassifier
from mercer.estimators.coordinate_gradients_regression import CoordinateGradientsRegressor

__all__ = ["CoordinateGradients", "CoordinateGradientsRegressor"]


class CoordinateGradients(RankingClassifier):
    """Gradient learning with weights of the columns, for classes.

    Learns a function and its gradient from pairs of rows that are near each other, and with it which columns the target
    changes with, and how they vary together: a ranking of all columns, of which few have a weight. For tables of few
    rows and many columns, such as genes: take a linear kernel there, else a Gaussian. No bias. Memory grows with the
    square of the rows. Source: Ying, Wu, Campbell: Learning the coordinate gradients. Adv. Comput. Math. 37 (2012)
    355-378.

    Parameters
    ----------
    kernels : str or sequence of str, default=None
        The candidate kernels, as :mod:`mercer.kernels` explains: ``'gaussian median=0.5,1,2'``. 'precomputed' and
        'distance': `X` holds kernel values or distances, between all training rows in ``fit``, and of rows with the
        training rows in ``predict``; several matrices are a list, or an array with a last axis of kernels, which is
        what cross-validation takes, and `kernels` has one text for all of them or one for each. None: a Gaussian whose
        bandwidth is the median distance of the training rows.
    C : float, default=100.0
        Weight of the losses of the pairs against the norms. The weights of the pairs add up to 1, whatever the rows:
        with a Gaussian kernel try 1, 10, 100 and 1000; the paper has 1. In (0, inf).
    loss : {'auto', 'square', 'hinge', 'squared_hinge'}, default='auto'
        What a prediction t costs at a target y; that of a class is -1 or +1. square: (y - t)^2. hinge: max(0, 1 - y t);
        squared_hinge: its square; both for classes. auto: squared_hinge for classes, square for numbers.
    column_weights : {'learned', 'fixed'}, default='learned'
        Learned: the columns have weights of the sum 1, and few are above 0: GradKL of the paper. fixed: all are 1, the
        paper's Grad.
    pairs : {'neighbors', 'gaussian'}, default='neighbors'
        Which pairs of rows are compared. neighbors: each row and its nearest ones, all alike. gaussian: more of them,
        with weights that fall with the distance.
    neighbors : int, default=0
        How many rows a row is compared with, the nearest ones. With include_self, and of gaussian pairs always, it is
        one of them. 0: 8, of gaussian pairs 50, or as many as there are. In [0, 1000000].
    include_self : bool, default=True
        Whether a row is its own first neighbour, which ties the function at the row to its target. In true or false.
    pair_width : float, default=0.0
        Width of the weights of gaussian pairs, in the unit of the distance of prepared rows. 0: the median distance.
        Without effect for other pairs. In [0, inf).
    method : {'newton', 'alternation', 'silp'}, default='newton'
        How weights are learned. newton: second-order steps among the columns in use and the best of the others.
        alternation: the paper's steps, each to the shares of the norms of the last one; slow, and after few steps the
        ranking of a function that is not the optimum. silp: the paper's linear programs of cutting planes, with short
        steps to where they lead; 4 to 80 times the time of newton. Changes the time alone, unless max_steps ends it.
    max_steps : int, default=0
        The most changes of the weights; the best function so far is then the result, with its certificate. 0: 100 of
        newton, 1000 of alternation, 500 of silp. In [0, 1000000].
    columns : int, default=0
        How many columns are selected, the first of the ranking; the function does not depend on it. 0: those that have
        a weight. In [0, 10000000].
    covariance_columns : int, default=20
        Of how many columns, the first of the ranking, the model tells how they vary together. 0: of none. In [0, 1000].
    directions : int, default=2
        On how many leading directions of the gradient the model projects rows, at most. 0: on none. In [0, 1000].
    symmetric : bool, default=False
        Whether two rows are compared both ways where one is a neighbour of the other. Without effect for gaussian
        pairs. In true or false.
    own_gradient : bool, default=False
        Whether the gradient is that of the function itself, and not a function of its own in each column: of one
        Gaussian kernel by its derivatives, of one linear kernel its slopes. Columns then have no weights, so that none
        is left out; column_weights, method and max_steps are without effect. In true or false.
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

    _learner = "coordinate_gradients"
    _options = ("C", "loss", "column_weights", "pairs", "neighbors", "include_self", "pair_width", "method", "max_steps", "columns", "covariance_columns", "directions", "symmetric", "own_gradient",)

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 100.0,
        loss: str = "auto",
        column_weights: str = "learned",
        pairs: str = "neighbors",
        neighbors: int = 0,
        include_self: bool = True,
        pair_width: float = 0.0,
        method: str = "newton",
        max_steps: int = 0,
        columns: int = 0,
        covariance_columns: int = 20,
        directions: int = 2,
        symmetric: bool = False,
        own_gradient: bool = False,
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
        self.loss = loss
        self.column_weights = column_weights
        self.pairs = pairs
        self.neighbors = neighbors
        self.include_self = include_self
        self.pair_width = pair_width
        self.method = method
        self.max_steps = max_steps
        self.columns = columns
        self.covariance_columns = covariance_columns
        self.directions = directions
        self.symmetric = symmetric
        self.own_gradient = own_gradient
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
