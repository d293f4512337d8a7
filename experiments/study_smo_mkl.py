"""Accuracy and seconds against the number of landmarks, beside exact kernels and SMO-MKL in both of its forms."""

from measurements import markdown
from study_accuracy import NORMS, settings

SETS = ("svmguide1", "mushrooms", "magic")
LANDMARKS = (25, 50, 100, 500)
# Many landmarks take longer than the kernels themselves, and SMO-MKL may not end.
MANY, MANY_LIMIT_SECONDS = 500, 120
LIMIT_SECONDS = 60
SMO = {"outer_loop": "smo_mkl", "time_limit": LIMIT_SECONDS}


def smo_mkl(laboratory, names, numbers):
    """A table for each norm, of the first split."""
    return "\n\n".join(_table(laboratory, names or SETS, numbers[0], p) for p in NORMS)


def _table(laboratory, names, number, p):
    rows = [[name, *(_cell(record) for record in _records(laboratory, name, number, p))] for name in names]
    header = ["data", *(f"N={count}" for count in LANDMARKS), "exact", "SMO-MKL", "SMO-MKL, penalised"]
    title = (
        f"Accuracy in % and training seconds at p = {p:g}, {NORMS[p]} kernels; where {LIMIT_SECONDS} seconds "
        f"({MANY_LIMIT_SECONDS} with N={MANY}) did not suffice, the gap reached; penalised: also the weights' norm\n\n"
    )
    return title + markdown(header, rows)


def _records(laboratory, name, number, p):
    for count in LANDMARKS:
        limit = {"time_limit": MANY_LIMIT_SECONDS} if count >= MANY else {}
        yield laboratory.limited(name, number, settings(p, count, **limit))
    exact = {key: value for key, value in settings(p).items() if key not in ("approximation", "landmarks")}
    yield laboratory.mercer(name, number, exact)
    yield laboratory.mercer(name, number, {**exact, **SMO})
    yield laboratory.penalised(name, number, {**exact, **SMO})


def _cell(record):
    if record is None:
        return None
    if record["stop"] == "no_model":
        return f"none in {MANY_LIMIT_SECONDS} s"
    text = f"{record['accuracy']:.2f}; {record['seconds']:.1f} s"
    text += "" if record["stop"] == "converged" else f", gap {record['gap']:.1e}"
    return text + (f", norm {record['norm']:.2f}" if "norm" in record else "")
