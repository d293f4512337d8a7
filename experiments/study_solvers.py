"""Solvers of the SVM of fixed weights, to the same certified gap."""

from measurements import markdown

SOLVERS = ("newton", "interior_point", "gfb_merged", "gfb", "coordinate_descent")
SETS = ("svmguide1", "magic", "adult")
KERNELS = 10
COSTS = (1000.0, 1.0)
GAP = 1e-4
LANDMARKS = 100
LIMIT_SECONDS = 10.0
# Of the last set also these numbers of rows, at the first cost.
ROWS = (2000, 8000)
# The rank that the paper's comparison gives each kernel, at the first cost.
PAPER_RANK = 500
PAPER_RANK_LIMIT_SECONDS = 60.0


def solvers(laboratory, names, numbers):
    """Seconds of trainings on the first split.

    The norm p = inf gives each kernel the weight 1; the sum of m kernels at the cost C / m is the problem of their mean
    at the cost C.
    """
    runs = [(name, cost, None) for cost in COSTS for name in names or SETS]
    runs += [(name, COSTS[0], rows) for name in names or SETS[-1:] for rows in ROWS]
    few = [_line(laboratory, run, numbers[0], LANDMARKS, LIMIT_SECONDS) for run in runs]
    of_rank = [(name, COSTS[0], None) for name in names or SETS]
    many = [_line(laboratory, run, numbers[0], PAPER_RANK, PAPER_RANK_LIMIT_SECONDS) for run in of_rank]
    return _table(few, LANDMARKS, LIMIT_SECONDS) + "\n\n" + _table(many, PAPER_RANK, PAPER_RANK_LIMIT_SECONDS)


def _line(laboratory, run, number, landmarks, limit):
    name, cost, rows = run
    records = [_run(laboratory, run, number, solver, landmarks, limit) for solver in SOLVERS]
    learnt = next((record["rows"] for record in records if record), rows)
    return [name, learnt, f"{cost:g}", *(_cell(record) for record in records)]


def _table(lines, landmarks, limit):
    title = (
        f"Training seconds without the factors of {KERNELS} kernels of fixed weights 1/{KERNELS}, {landmarks} landmarks, "
        f"to a relative gap of {GAP:g}; where {limit:g} seconds or the precision did not suffice, the gap reached:"
    )
    return title + "\n\n" + markdown(["data", "training rows", "C", *SOLVERS], lines)


def _run(laboratory, run, number, solver, landmarks, limit):
    name, cost, rows = run
    chosen = {
        "approximation": "nystrom", "p": "inf", "C": cost / KERNELS, "kernels": KERNELS, "gap": GAP,
        "landmarks": landmarks, "inner_solver": solver, "time_limit": limit,
    }  # fmt: skip
    return laboratory.solver(name, number, chosen, rows)


def _cell(record):
    if record is None:
        return None
    seconds = f"{record['seconds']:.1f}"
    return seconds if record["gap"] <= GAP else f"{seconds}, gap {record['gap']:.0e}"
