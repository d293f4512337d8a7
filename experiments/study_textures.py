"""Gabor filters of texture patches: learnt, drawn once, and fixed in advance (the paper's second experiment)."""

from measurements import field, markdown, mean, spread, worst

SPLITS = 3
PATCHES = (100, 1000, 4000)
CANDIDATES = 81
MOST_FILTERS = 3000  # as many as the paper selects among: the penalty alone says how many are in use
GAP = 1e-3
SELECTIONS = {"learnt": "generated", "selected of 3000": "selected", "fixed grid": "fixed"}


def settings(selection, subtract_mean):
    """l1 per class, lambda 1, columns of norm 1."""
    return {
        "family": "gabor", "selection": selection, "subtract_patch_mean": subtract_mean, "candidates": CANDIDATES,
        "max_groups": MOST_FILTERS, "loss": "squared_hinge", "penalty_shape": "flat", "penalty_q": 1.0,
        "lambda": 1.0, "lambda_unit": "absolute", "gap": GAP,
    }  # fmt: skip


def textures(laboratory, names, numbers):
    """A line for each number of patches and way to choose filters."""
    numbers = numbers or range(SPLITS)
    lines = []
    for patches in PATCHES:
        for subtract_mean in (False, True):
            for words, selection in SELECTIONS.items():
                if selection == "selected" and patches != 1000:
                    continue
                chosen = settings(selection, subtract_mean)
                records = [laboratory.textures(number, patches, chosen) for number in numbers]
                lines.append([
                    patches, "subtracted" if subtract_mean else "kept", words, spread(field(records, "accuracy")),
                    mean(field(records, "groups"), 0), mean(field(records, "seconds")), worst(field(records, "gap")),
                ])  # fmt: skip
    header = ["patches per texture", "patch mean", "filters", "accuracy %", "filters in use", "training s", "worst gap"]
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)
