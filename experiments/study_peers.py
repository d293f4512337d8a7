"""Sparse linear models beside scikit-learn's: seconds to the same objective."""

from data_sets import SOURCES
from measurements import markdown
from splits import TRAINING_SHARE
from study_sparse_columns import settings

LAMBDA_SHARES = (0.1, 0.01)
# Of the largest: all weights are 0, and what a training takes is the service around it.
EMPTY_SHARE = 2.0
# Data, what is asked of the learner, and who of scikit-learn does the same.
PROBLEMS = (
    ("spambase", "square", "flat", True, ("Lasso",)),
    ("mfeat", "square", "flat", True, ("Lasso",)),
    ("mfeat", "square", "nested", False, ("MultiTaskLasso",)),
    ("spambase", "logistic", "flat", False, ("LogisticRegression, liblinear", "LogisticRegression, saga")),
    ("mfeat", "logistic", "flat", False, ("LogisticRegression, liblinear", "LogisticRegression, saga")),
)


def peers(laboratory, names, numbers):
    """A line for each problem and solver of scikit-learn, which is measured right after ours."""
    number = (numbers or range(1))[0]
    lines = []
    for name, loss, shape, regression, kinds in PROBLEMS:
        if not names or name in names:
            for share in LAMBDA_SHARES:
                chosen = [_settings(name, loss, shape, regression, of) for of in (share, EMPTY_SHARE)]
                lines += _compare(laboratory, name, number, *chosen, kinds)
    header = [
        "data", "lambda / largest", "outputs", "columns in use", "Mercer, training s", "of it without solving",
        "from request to model s", "gap", "scikit-learn", "its s", "its excess", "its times ours",
    ]  # fmt: skip
    return "Seconds to the same objective, within 1e-6:\n\n" + markdown(header, lines)


def _settings(name, loss, shape, regression, share):
    chosen = {
        "lambda": share, "lambda_unit": "share_of_maximum", "penalty_shape": shape,
        "penalty_q": 2.0 if shape == "nested" else 1.0,
    }  # fmt: skip
    if regression:
        chosen["regression"] = True
    return settings(SOURCES[name].columns, loss, **chosen)


def _compare(laboratory, name, number, chosen, empty, kinds):
    ours = laboratory.sparse_linear(name, number, chosen, TRAINING_SHARE)
    nothing = laboratory.sparse_linear(name, number, empty, TRAINING_SHARE)
    if ours is None or nothing is None:
        return []
    lines = []
    for kind in kinds:
        goal = ours["checked_objective"]
        theirs = laboratory.peer(kind, name, number, chosen, TRAINING_SHARE, goal)
        line = [
            name, f"{chosen['lambda']:g}", ours["outputs"], ours["groups"], f"{ours['seconds']:.3f}",
            f"{nothing['seconds']:.3f}", f"{ours['wall_seconds']:.3f}", f"{ours['gap']:.0e}", kind,
        ]  # fmt: skip
        if theirs:
            seconds = f"{theirs['seconds']:.3f}" + ("" if theirs["reached"] else ", not reached")
            line += [seconds, f"{theirs['excess']:.0e}", f"{theirs['seconds'] / ours['seconds']:.1f}"]
        lines.append(line + [None] * (12 - len(line)))
    return lines
