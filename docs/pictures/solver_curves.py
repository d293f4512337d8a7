#!/usr/bin/env python3
"""Makes solver-curves.png beside this file with matplotlib, from the lines of the experiment `curves`."""

import gzip
import itertools
import json
import pathlib

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

LINES = "../results/lines/infinite-features-curves.jsonl.gz"
PANELS = {("wine", 5): "wine, lambda 5", ("wine", 0.1): "wine, lambda 0.1",
          ("mfeat", 5): "mfeat, lambda 5", ("mfeat", 1): "mfeat, lambda 1"}  # fmt: skip
# By solver and where its columns come from.
STYLES = {("newton", "fixed"): ("newton", "C0o-"), ("admm", "fixed"): ("admm", "C1s-"),
          ("fista", "fixed"): ("fista", "C2^-"),
          ("newton", "generated"): ("newton, columns in turns", "C3v-")}  # fmt: skip
GAP = 1e-6  # asked for; the optimum is that of a training to a smaller one
LEAST = 1e-8  # distances below are drawn here

here = pathlib.Path(__file__).parent
with gzip.open(here / LINES, "rt", encoding="utf-8") as lines:
    records = [json.loads(line) for line in lines]
figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), sharey=True, layout="constrained")
for axis, ((name, penalty), title) in zip(axes, PANELS.items(), strict=True):
    # The program's lambda and objective are twice those of half the squared hinge.
    found = [record for record in records
             if (record["settings"]["set"], record["settings"]["lambda"]) == (name, 2 * penalty)]  # fmt: skip
    optimum = min(record["measured"]["objective"] for record in found)
    for way, (label, style) in STYLES.items():
        points = []
        for record in found:
            settings, measured = record["settings"], record["measured"]
            if (settings["solver"], settings["selection"]) == way and settings["gap"] == GAP:
                points.append((measured["seconds"], measured["objective"]))
                points += [] if "max_iterations" in settings else map(tuple, measured["curve"])
        seconds, objectives = zip(*sorted(points), strict=True)
        distances = [max(objective / optimum - 1, LEAST) for objective in itertools.accumulate(objectives, min)]
        axis.loglog(seconds, distances, style, markersize=3, linewidth=1, label=label)
    axis.set_title(title)
    axis.set_xlabel("seconds")
axes[0].set_ylabel("objective above its optimum, relative")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(STYLES))
figure.savefig(here / "solver-curves.png", dpi=80)
