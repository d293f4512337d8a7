"""Solvers of the SVM of fixed weights, to the same certified gap."""

from measurements import markdown

SOLVERS = ("newton", "interior_point", "gfb_merged", "gfb", "coordinate_descent")
SETS = ("svmguide1", "magic", "adult")
KERNELS = 10
COSTS = (1000.0, 1.0)
GAP = 1e-4
LIMIT_SECONDS = 10.0
# Of the last set also these numbers of rows, at the first cost.
ROWS = (2000, 8000)


def solvers(laboratory, names, numbers):
    """Seconds of trainings on the first split.

    The norm p = inf gives each kernel the weight 1; the sum of m kernels at the cost C / m is the problem of their mean
    at the cost C.
    """
    runs = [(name, cost, None) for cost in COSTS for name in names or SETS]
    runs += [(name, COSTS[0], rows) for name in names or SETS[-1:] for rows in ROWS]
    lines = []
    for name, cost, rows in runs:
        records = [_run(laboratory, name, numbers[0], cost, solver, rows) for solver in SOLVERS]
        learnt = next((record["rows"] for record in records if record), rows)
        lines.append([name, learnt, f"{cost:g}", *(_cell(record) for record in records)])
    title = (
        f"Training seconds without the factors of {KERNELS} kernels of fixed weights 1/{KERNELS}, 100 landmarks, to a "
        f"relative gap of {GAP:g}; where {LIMIT_SECONDS:g} seconds or the precision did not suffice, the gap reached:"
    )
    return title + "\n\n" + markdown(["data", "training rows", "C", *SOLVERS], lines)


def _run(laboratory, name, number, cost, solver, rows):
    chosen = {
        "approximation": "nystrom", "p": "inf", "C": cost / KERNELS, "kernels": KERNELS, "gap": GAP,
        "landmarks": 100, "inner_solver": solver, "time_limit": LIMIT_SECONDS,
    }  # fmt: skip
    return laboratory.solver(name, number, chosen, rows)


def _cell(record):
    if record is None:
        return None
    seconds = f"{record['seconds']:.1f}"
    return seconds if record["gap"] <= GAP else f"{seconds}, gap {record['gap']:.0e}"
