"""Gabor filters of texture patches: learnt, drawn once, and fixed in advance (the paper's second experiment)."""

from measurements import field, markdown, mean, spread, worst

SPLITS = 3
PATCHES = (100, 1000, 4000)
CANDIDATES = 81
MOST_FILTERS = 3000  # as many as the paper selects among: the penalty alone says how many are in use
GAP = 1e-3
SELECTIONS = {"learnt": "generated", "selected of 3000": "selected", "fixed grid": "fixed"}
SELECTED_PATCHES = 1000  # the number of patches at which filters are also selected
# Where lambda is varied: draws for each number of patches, and the penalties, l1 of each class or one norm of all.
DRAWS = {100: 10, 1000: 1, 10_000: 1}
LAMBDAS = (1.0, 2.0, 5.0, 10.0)
PENALTIES = {"per class": ("flat", 1.0), "shared": ("nested", 2.0)}


def settings(selection, subtract_mean, penalty=1.0, shape=PENALTIES["per class"]):
    """Columns of norm 1, lambda for each of them."""
    return {
        "family": "gabor", "selection": selection, "subtract_patch_mean": subtract_mean, "candidates": CANDIDATES,
        "max_groups": MOST_FILTERS, "loss": "squared_hinge", "penalty_shape": shape[0], "penalty_q": shape[1],
        "lambda": penalty, "lambda_unit": "absolute", "gap": GAP,
    }  # fmt: skip


def textures(laboratory, names, numbers):
    """A line for each number of patches and way to choose filters."""
    numbers = numbers or range(SPLITS)
    lines = []
    for patches in PATCHES:
        for subtract_mean, words, selection in _ways(patches):
            records = [laboratory.textures(number, patches, settings(selection, subtract_mean)) for number in numbers]
            lines.append([
                patches, _mean_words(subtract_mean), words, spread(field(records, "accuracy")),
                mean(field(records, "groups"), 0), mean(field(records, "seconds")), worst(field(records, "gap")),
            ])  # fmt: skip
    header = ["patches per texture", "patch mean", "filters", "accuracy %", "filters in use", "training s", "worst gap"]
    return "Mean ± deviation over the splits:\n\n" + markdown(header, lines)


def texture_penalties(laboratory, names, numbers):
    """A line for each number of patches, way to choose filters and penalty, with a column for each lambda."""
    lines = []
    for patches, draws in DRAWS.items():
        for subtract_mean, words, selection in _ways(patches):
            for title, shape in PENALTIES.items():
                found = []  # records by lambda
                for penalty in LAMBDAS:
                    chosen = settings(selection, subtract_mean, penalty, shape)
                    records = [laboratory.textures(number, patches, chosen) for number in numbers or range(draws)]
                    found.append([record for record in records if record])
                lines.append([
                    patches, _mean_words(subtract_mean), words, title, max(map(len, found)),
                    *(spread(field(records, "accuracy")) for records in found),
                    *(_by_lambda(found, of, digits) for of, digits in (("groups", 0), ("seconds", 1))),
                    worst(field(sum(found, []), "gap")),
                ])  # fmt: skip
    header = [
        "patches per texture", "patch mean", "filters", "penalty", "draws",
        *(f"accuracy %, lambda {penalty:g}" for penalty in LAMBDAS), "filters in use", "training s", "worst gap",
    ]  # fmt: skip
    return "Mean ± deviation over the draws; filters and seconds for each lambda:\n\n" + markdown(header, lines)


def _ways(patches):
    return [(subtract_mean, words, selection) for subtract_mean in (False, True)
            for words, selection in SELECTIONS.items()
            if selection != "selected" or patches == SELECTED_PATCHES]  # fmt: skip


def _mean_words(subtract_mean):
    return "subtracted" if subtract_mean else "kept"


def _by_lambda(found, name, digits):
    return " / ".join(mean(field(records, name), digits) or "-" for records in found)
