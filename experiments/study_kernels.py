"""Time against the number of kernels, of low rank and, on a small set, exact."""

from measurements import markdown, worst
from study_accuracy import COST, GAP

COUNTS = (5, 10, 20, 50, 100)
SETS = ("svmguide1", "magic", "cod-rna", "ijcnn1")
# Exact kernels take memory and time that grow with the square of the rows.
EXACT_SETS = ("svmguide1", "magic")


def kernels(laboratory, names, numbers):
    """Seconds of trainings on the first split."""
    number = numbers[0]
    rows = []
    for name in names or SETS:
        shared = {"p": 2.0, "C": COST, "gap": GAP}
        low_rank = {**shared, "approximation": "nystrom", "landmarks": 100}
        rows.append(_row(name, "100 landmarks", [laboratory.mercer(name, number, {**low_rank, "kernels": count})
                                                 for count in COUNTS]))  # fmt: skip
        if name in EXACT_SETS:
            rows.append(_row(name, "exact", [laboratory.mercer(name, number, {**shared, "kernels": count})
                                             for count in COUNTS]))  # fmt: skip
    header = ["data", "kernels", *(f"m={count}" for count in COUNTS), "worst gap", "accuracy %, first and last"]
    return "Training seconds against the number of kernels m:\n\n" + markdown(header, rows)


def _row(name, kind, records):
    known = [record for record in records if record]
    ends = f"{known[0]['accuracy']:.2f}, {known[-1]['accuracy']:.2f}" if known else None
    seconds = [f"{record['seconds']:.1f}" if record else None for record in records]
    return [name, kind, *seconds, worst([record["gap"] for record in known]), ends]
