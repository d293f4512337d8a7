"""What kernels of low rank cost the optimum: the paper's Proposition 2 beside the learner's certificate."""

from measurements import markdown

SETS = ("svmguide1", "magic")
ROWS = 1500
LANDMARKS = (25, 50, 100, 200)
COSTS = (1.0, 1000.0)
KERNELS = 5
GAP = 1e-6


def perturbation(laboratory, names, numbers):
    """Two tables for every data set and cost, of the optima and of the dual variables, on the first split."""
    tables = []
    for name in names or SETS:
        for cost in COSTS:
            records = [laboratory.perturbation(name, numbers[0], _settings(cost, count), ROWS) for count in LANDMARKS]
            tables += [_optima(name, cost, records), _duals(name, cost, records)]
    return "\n\n".join(tables)


def _settings(cost, landmarks):
    return {"p": 2.0, "C": cost, "kernels": KERNELS, "gap": GAP, "landmarks": landmarks}


def _optima(name, cost, records):
    header = ["N", "error of the kernels", "s", "s, spectral norm", "1/2 a''Ea'", "exact_certificate", "difference"]
    fields = ("error", "bound", "spectral_bound", "found_bound", "certificate", "difference")
    title = f"{name}, C = {cost:g}: shares of the exact optimum (of the kernel sum's norm for the error)\n\n"
    return title + _table(header, fields, records)


def _duals(name, cost, records):
    header = ["N", "smallest eigenvalue", "bound (8)", "sharper bound", "distance", "norm", "largest norm of any"]
    fields = ("smallest", "dual_bound", "sharper_bound", "dual_distance", "dual_norm", "most")
    return f"{name}, C = {cost:g}: dual variables at the exact weights\n\n" + _table(header, fields, records)


def _table(header, fields, records):
    return markdown(header, [
        [count, *(_text(record, name) for name in fields)]
        for count, record in zip(LANDMARKS, records, strict=True)
    ])  # fmt: skip


def _text(record, name):
    if record is None:
        return None
    # The smallest eigenvalue is 0 to rounding.
    return "none" if record[name] is None else f"{record[name]:.1e}"
