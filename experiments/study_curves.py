"""The objective against the time of the solvers of the restricted problem (Figure 1)."""

from measurements import markdown
from study_sparse_columns import BATCH, COLUMNS, LAMBDAS, LIMIT_SECONDS, SHARE

SETS = ("wine", "mfeat")
GAP = 1e-6
OPTIMUM_GAP = 1e-9
# Distances of the objective from the optimum, as shares of it.
DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
# All columns from the start, which is the restricted problem of the paper, or those that break its conditions of
# optimality most, so many at a time: how Newton's method is used.
WAYS = {"newton": ("newton", "fixed"), "admm": ("admm", "fixed"), "fista": ("fista", "fixed"),
        "newton, columns in turns": ("newton", "generated")}  # fmt: skip
# Trainings that end sooner than the server tells of their steps are made anew, each with so many steps at most.
STEPS = {"wine": (*range(1, 11), *(round(10 * 1.25**k) for k in range(1, 19)))}


def settings(columns, penalty, way, gap=GAP, **more):
    """Of one of WAYS; lambda is that of an objective with half the squared hinge."""
    solver, selection = WAYS[way]
    turns = {"groups_per_round": min(columns, BATCH), "violation": 0.0} if selection == "generated" else {}
    return {
        "family": "columns", "selection": selection, "loss": "squared_hinge", "normalization": "none",
        "max_groups": columns, "penalty_shape": "flat", "penalty_q": 1.0, "lambda": 2 * penalty,
        "lambda_unit": "absolute", "solver": solver, "gap": gap, **turns, **more,
    }  # fmt: skip


def curves(laboratory, names, numbers):
    """A line for each data set, lambda and solver: seconds until the objective is so close to the optimum."""
    number = (numbers or range(1))[0]
    lines = []
    for name in names or SETS:
        for penalty in LAMBDAS[name]:
            optimum = laboratory.curve(name, number, settings(COLUMNS[name], penalty, "newton", OPTIMUM_GAP), SHARE)
            for way in WAYS:
                ended, points = curve(laboratory, name, number, penalty, way)
                if optimum and ended:
                    lines.append([
                        name, f"{penalty:g}", way,
                        *(_first(points, optimum["objective"] * (1 + distance)) for distance in DISTANCES),
                        f"{ended['seconds']:.2f}", f"{max(0.0, ended['objective'] / optimum['objective'] - 1):.0e}",
                        f"{ended['gap']:.0e}", ended["stop"],
                    ])  # fmt: skip
    header = [
        "data", "lambda", "solver", *(f"within {distance:.0e}" for distance in DISTANCES), "training s",
        "distance then", "gap", "end",
    ]  # fmt: skip
    return f"Seconds until the objective is so close to its optimum, of {LIMIT_SECONDS:g} at most:\n\n" + markdown(
        header, lines
    )


def curve(laboratory, name, number, penalty, way):
    """The whole training, and seconds and objectives, in the order of the seconds."""
    chosen = settings(COLUMNS[name], penalty, way, time_limit=LIMIT_SECONDS)
    whole = laboratory.curve(name, number, chosen, SHARE)
    if whole is None:
        return None, []
    points = [*map(tuple, whole["curve"]), (whole["seconds"], whole["objective"])]
    for steps in STEPS.get(name, ()):
        part = laboratory.curve(name, number, {**chosen, "max_iterations": steps}, SHARE)
        if part is None or part["stop"] != "iteration_limit":
            break
        points.append((part["seconds"], part["objective"]))
    return whole, sorted(points)


def _first(points, goal):
    seconds = [second for second, objective in points if objective <= goal]
    return f"{min(seconds):.3g}" if seconds else None
