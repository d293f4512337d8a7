"""Accuracy of exact kernels and of low rank against the cost C and the norm p, and with C chosen by held-out rows."""

import hold_out
from measurements import field, markdown, spread, worst

SETS = ("magic",)
COSTS = (1.0, 10.0, 100.0, 1000.0)
NORMS = (2.0, 1.1)
KINDS = {"100 landmarks": {"approximation": "nystrom", "landmarks": 100}, "exact": {}}
KERNELS = 20
GAP = 1e-3


def costs(laboratory, names, numbers):
    """For each data set a table of all costs and norms, and one of the costs that held-out rows choose."""
    return "\n\n".join(_of_set(laboratory, name, numbers) for name in names or SETS)


def _of_set(laboratory, name, numbers):
    rows, chosen = [], []
    for p in NORMS:
        for title, kind in KINDS.items():
            candidates = [{**kind, "p": p, "C": cost, "kernels": KERNELS, "gap": GAP} for cost in COSTS]
            trained = [[laboratory.mercer(name, number, candidate) for number in numbers] for candidate in candidates]
            rows += [_row(title, candidate, records) for candidate, records in zip(candidates, trained, strict=True)]
            best = hold_out.best(candidates, lambda candidate: laboratory.held_out(name, numbers[0], candidate))
            if best is not None:
                chosen.append(_row(title, best, trained[candidates.index(best)]))
    header = ["kernels", "p", "C", "accuracy %", "kernels in use", "worst gap"]
    return (f"{name}: {KERNELS} kernels, accuracy in % on the rows to test on\n\n{markdown(header, rows)}\n\n"
            f"With the C of the best accuracy on held-out training rows\n\n{markdown(header, chosen)}")  # fmt: skip


def _row(title, settings, records):
    return [title, f"{settings['p']:g}", f"{settings['C']:g}", spread(field(records, "accuracy")),
            spread(field(records, "weights"), 0), worst(field(records, "gap"))]  # fmt: skip
