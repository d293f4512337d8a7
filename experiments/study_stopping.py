"""The paper's stopping rule: how far splitting is from the optimum where the rule ends it, in both of its forms."""

from measurements import markdown

KERNELS = 20
COSTS = (1000.0, 1.0)
LIMIT_SECONDS = 60.0
# Data, its first rows or all, and landmarks.
RUNS = (("svmguide1", None, 100), ("magic", None, 100), ("adult", 2000, 100))
# The rank that the paper's comparison gives each kernel, at the first cost.
OF_RANK = (("svmguide1", None, 500), ("adult", 2000, 500))
SPLITTING = {"gfb": "one set per kernel", "gfb_merged": "one set"}
ENDS = {"change": "change below 1e-4", "iterations": "3000 iterations", "time": f"{LIMIT_SECONDS:g} s"}


def stopping(laboratory, names, numbers):
    """One table of the first split."""
    runs = [(run, cost) for cost in COSTS for run in RUNS] + [(run, COSTS[0]) for run in OF_RANK]
    rows = []
    for (name, count, landmarks), cost in runs:
        if names is None or name in names:
            settings = {"kernels": KERNELS, "landmarks": landmarks, "C": cost, "time_limit": LIMIT_SECONDS}
            rows.append(_row(name, landmarks, cost, laboratory.stopping(name, numbers[0], settings, count)))
    header = ["data", "rows", "N", "rank", "C"]
    for form in SPLITTING.values():
        header += [f"{form}: ended by", "seconds", "objective / optimum", "gap"]
    return (f"One SVM of {KERNELS} kernels with weights 1/{KERNELS}, splitting stopped by the paper's rule:\n\n"
            + markdown([*header, "newton to 1e-4: s", "interior_point to 1e-3: s"], rows))  # fmt: skip


def _row(name, landmarks, cost, record):
    if record is None:
        return [name, None, landmarks, None, f"{cost:g}", *[None] * (4 * len(SPLITTING) + 2)]
    row = [name, record["rows"], landmarks, record["rank"], f"{cost:g}"]
    optimum = 0.5 * (record["newton"]["primal"] + record["newton"]["dual"])
    for form in SPLITTING:
        run = record[form]
        gap = 1 - run["dual"] / run["primal"]
        ended = ENDS[run["ended"]] + ("" if run["ended"] == "iterations" else f" ({run['iterations']} iterations)")
        row += [ended, f"{run['seconds']:.1f}", f"{run['objective'] / optimum:.3g}", f"{gap:.0e}"]
    for solver, asked in (("newton", 1e-4), ("interior_point", 1e-3)):
        run = record[solver]
        row.append(f"{run['seconds']:.1f}" + ("" if run["gap"] <= asked else f", gap {run['gap']:.0e}"))
    return row
