#!/usr/bin/env python3
"""The experiments on learning with infinitely many features, beside what scikit-learn offers.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/infinite_features.py DATA budgets --results budgets.jsonl

DATA is a folder with the files that data_sets.py names. Every measurement is written to the file of --results at
once, and one that stands there is not made again. The tables go to the standard output.
"""

import command_line
from feature_laboratory import FeatureLaboratory
from study_budgets import budgets, shares, tuned
from study_continuous import continuous
from study_curves import curves
from study_equal_budgets import equal_accuracies, equal_budgets
from study_infinite_kernels import infinite_kernels
from study_many_groups import groups_per_round, many_groups
from study_peers import peers
from study_pivots import pivots, tuned_pivots
from study_scales import scales
from study_sparse_columns import solvers, values
from study_textures import texture_penalties, textures

EXPERIMENTS = {
    "budgets": budgets,
    "shares": shares,
    "tuned": tuned,
    "equal_budgets": equal_budgets,
    "equal_accuracies": equal_accuracies,
    "sparse_values": values,
    "sparse_solvers": solvers,
    "curves": curves,
    "peers": peers,
    "continuous": continuous,
    "infinite_kernels": infinite_kernels,
    "scales": scales,
    "pivots": pivots,
    "tuned_pivots": tuned_pivots,
    "many_groups": many_groups,
    "groups_per_round": groups_per_round,
    "textures": textures,
    "texture_penalties": texture_penalties,
}

METHODS = ("mercer", "csi", "ikl", "svc", "nystroem", "fourier", "scikit-learn")

if __name__ == "__main__":
    command_line.run(__doc__, EXPERIMENTS, FeatureLaboratory, METHODS)
