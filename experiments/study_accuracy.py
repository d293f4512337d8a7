"""Accuracy and time of whole trainings against the number of landmarks, beside an SVC and Nystroem features."""

from measurements import field, markdown, mean, spread, worst

SETS = ("svmguide1", "mushrooms", "magic", "pokerhand", "cod-rna", "adult", "ijcnn1")
LANDMARKS = (25, 50, 100)
BASELINE_LANDMARKS = (25, 50, 100, 200)
# Kernels for each norm.
NORMS = {2.0: 50, 1.1: 20}
COST = 1000.0
GAP = 1e-3


def settings(p=2.0, landmarks=100, **more):
    """Of a training with kernels of low rank."""
    return {
        "approximation": "nystrom", "p": p, "C": COST, "kernels": NORMS[p], "gap": GAP, "landmarks": landmarks, **more,
    }  # fmt: skip


def accuracy(laboratory, names, numbers):
    """Tables of all data sets."""
    names = names or SETS
    trained = {(name, variant): [laboratory.mercer(name, number, chosen) for number in numbers]
               for name in names for variant, chosen in _variants().items()}  # fmt: skip
    nystroem = {(name, landmarks): [laboratory.nystroem(name, number, landmarks) for number in numbers]
                for name in names for landmarks in BASELINE_LANDMARKS}  # fmt: skip
    svc = {name: [laboratory.svc(name, number) for number in numbers] for name in names}
    tables = [_ours(names, trained), _beside(names, trained, nystroem, svc)]
    tables += [_times(names, trained, p) for p in NORMS]
    return "\n\n".join(tables)


def _variants():
    variants = {(p, landmarks): settings(p, landmarks) for p in NORMS for landmarks in LANDMARKS}
    return {**variants, "k_means": settings(landmark_selection="k_means")}


def _ours(names, trained):
    header = ["data", *(f"p={p:g}, N={n}" for p in NORMS for n in LANDMARKS), "p=2, N=100 of k-means"]
    rows = [[name, *(spread(field(trained[name, variant], "accuracy")) for variant in _variants())] for name in names]
    title = "Multiple kernel learning with N landmarks: accuracy in %, mean ± deviation over the splits\n\n"
    return title + markdown(header, rows)


def _beside(names, trained, nystroem, svc):
    most = LANDMARKS[-1]
    header = ["data", f"p=2, N={most}", *(f"Nystroem + LinearSVC, N={n}" for n in BASELINE_LANDMARKS), "SVC"]
    rows = []
    for name in names:
        theirs = [spread(field(nystroem[name, landmarks], "accuracy")) for landmarks in BASELINE_LANDMARKS]
        ours = spread(field(trained[name, (2.0, most)], "accuracy"))
        rows.append([name, ours, *theirs, spread(field(svc[name], "accuracy"))])
    return "Beside scikit-learn: accuracy in %\n\n" + markdown(header, rows)


def _times(names, trained, p):
    header = ["data", "training rows"]
    for landmarks in LANDMARKS:
        header += [f"N={landmarks}: training s", "with verification s", "gap"]
    rows = []
    for name in names:
        rows.append([name, next((record["rows"] for record in trained[name, (p, LANDMARKS[0])] if record), None)])
        for landmarks in LANDMARKS:
            records = trained[name, (p, landmarks)]
            rows[-1] += [mean(field(records, time)) for time in ("seconds", "wall_seconds")]
            rows[-1].append(worst(field(records, "gap")))
        rows[-1].append(mean(field(trained[name, (p, LANDMARKS[-1])], "weights"), 0))
    title = f"Seconds (mean) and certified relative gap (worst) at p = {p:g}, {NORMS[p]} kernels\n\n"
    return title + markdown([*header, f"kernels in use, N={LANDMARKS[-1]}"], rows)
