"""Time against the number of kernels, of low rank and, on small sets, exact, by two methods."""

from measurements import markdown, worst
from study_accuracy import COST, GAP

COUNTS = (5, 10, 20, 50, 100)
SETS = ("svmguide1", "magic", "cod-rna", "ijcnn1")
# Exact kernels take memory and time that grow with the square of the rows.
EXACT_SETS = ("svmguide1", "magic")
# SMO-MKL steps through all kernels at once; it may not end.
SMO_SECONDS = 60
EXACT = {"exact": {}, "exact, SMO-MKL": {"outer_loop": "smo_mkl", "time_limit": SMO_SECONDS}}


def kernels(laboratory, names, numbers):
    """Seconds of trainings on the first split."""
    number = numbers[0]
    rows = []
    for name in names or SETS:
        shared = {"p": 2.0, "C": COST, "gap": GAP}
        low_rank = {**shared, "approximation": "nystrom", "landmarks": 100}
        rows.append(_row(name, "100 landmarks", [laboratory.mercer(name, number, {**low_rank, "kernels": count})
                                                 for count in COUNTS]))  # fmt: skip
        for kind, exact in EXACT.items() if name in EXACT_SETS else ():
            rows.append(_row(name, kind, [laboratory.mercer(name, number, {**shared, **exact, "kernels": count})
                                          for count in COUNTS]))  # fmt: skip
    header = ["data", "kernels", *(f"m={count}" for count in COUNTS), "worst gap", "accuracy %, first and last"]
    return "Training seconds against the number of kernels m:\n\n" + markdown(header, rows)


def _row(name, kind, records):
    known = [record for record in records if record]
    ends = f"{known[0]['accuracy']:.2f}, {known[-1]['accuracy']:.2f}" if known else None
    return [name, kind, *map(_seconds, records), worst([record["gap"] for record in known]), ends]


def _seconds(record):
    if record is None:
        return None
    ended = "" if record["stop"] == "converged" else f", gap {record['gap']:.0e}"
    return f"{record['seconds']:.1f}{ended}"
