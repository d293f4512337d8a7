"""Selection on tasks that are drawn at random: which columns are relevant is known (Figure 2 of the paper)."""

import numpy as np
from measurements import markdown, mean, spread, worst
from study_tasks import DRAWS, GAP, column, measured

COSTS = (0.1, 0.3, 1.0, 3.0, 10.0)
# With a separation of 1 in each relevant column every method's area under the curve is 99: too easy to choose C by it.
BASE = {"rows": 50, "relevant": 4, "columns": 100, "tasks": 4, "separation": 0.4}
SWEEPS = {
    "rows": (25, 50, 100, 200),
    "relevant": (2, 4, 10, 20),
    "columns": (50, 100, 200, 500),
    "tasks": (1, 2, 4, 8),
}
METHODS = {
    "p = 1": ("joint", {"p": 1.0, "gap": GAP}, COSTS),
    "p = 0.5": ("joint", {"p": 0.5, "gap": GAP}, COSTS),
    "LinearSVC, l1": ("linear", {}, (0.003, 0.01, 0.03, *COSTS)),
}


def _settings_of(sweeps):
    """The settings of these sweeps, each once."""
    settings = []
    for name in sweeps:
        for value in SWEEPS[name]:
            if {**BASE, name: value} not in settings:
                settings.append({**BASE, name: value})
    return settings


def _trials(laboratory, number, setting, words):
    """By C what was measured."""
    kind, options, costs = METHODS[words]
    return {cost: laboratory.random(number, setting, kind, {**options, "C": cost}) for cost in costs}


def _chosen(trials):
    """The record of the largest area on the rows held out, the smallest C of equals, with that C."""
    if any(trial is None for trial in trials.values()):
        return None
    cost = max(trials, key=lambda cost: trials[cost]["area_held_out"])
    return {**trials[cost], "C": cost}


def toy(laboratory, names, numbers):
    """A line for each setting and method, C chosen by rows held out."""
    numbers, settings = numbers or range(DRAWS), _settings_of(names or SWEEPS)
    lines, wins = [], 0
    for setting in settings:
        means = {}
        for words in METHODS:
            found = [_chosen(_trials(laboratory, number, setting, words)) for number in numbers]
            means[words] = np.mean([record["selection"] for record in found if record] or [np.nan])
            shown = [value for name, value in setting.items() if name != "separation"]
            lines.append([
                *shown, words, measured(found), spread(column(found, "selection")), spread(column(found, "area"), 1),
                spread(column(found, "variables"), 1), worst(column(found, "gap")),
            ])  # fmt: skip
        wins += bool(means["p = 0.5"] > means["p = 1"])
    header = [
        "rows of a task", "relevant", "columns", "tasks", "method", "draws", "F-measure", "area", "variables",
        "worst accuracy",
    ]  # fmt: skip
    return (
        "Mean ± deviation over the draws; the area under the curve, times 100, is the mean of the tasks:\n\n"
        + markdown(header, lines)
        + f"\n\nThe F-measure of p = 0.5 is above that of p = 1 in {wins} of {len(settings)} settings."
    )


def costs(laboratory, names, numbers):
    """A line for each method and C, averaged over all settings and draws."""
    numbers, settings = numbers or range(DRAWS), _settings_of(names or SWEEPS)
    lines = []
    for words in METHODS:
        trials = [_trials(laboratory, number, setting, words) for setting in settings for number in numbers]
        chosen = [record["C"] for record in map(_chosen, trials) if record]
        for cost in METHODS[words][2]:
            found = [trial[cost] for trial in trials]
            lines.append([
                words, f"{cost:g}", mean(column(found, "selection"), 2), mean(column(found, "area")),
                mean(column(found, "area_held_out"), 2), mean(column(found, "variables")), chosen.count(cost),
            ])  # fmt: skip
    header = ["method", "C", "F-measure", "area", "area on rows held out", "variables", "times chosen"]
    return "Means over all settings and draws:\n\n" + markdown(header, lines)
