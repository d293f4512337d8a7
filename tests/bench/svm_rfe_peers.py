#!/usr/bin/env python3
"""The learner svm_rfe beside scikit-learn's RFE on one table, by the same schedule: seconds and the best columns.

    tests/bench/svm_rfe_peers.py build/bench/bin/bench/svm_rfe_bench TABLE.csv.gz [--skip 1] [--step 0.1] [--C 100]

RFE removes the same number of columns in each round, `step` of all of them; one column a round where step is 1. `svm_rfe` is given
these rounds as counts. SVC solves the same machines; those of LinearSVC penalise the bias, and are solved in the primal.
"""

import argparse
import subprocess
import time

import numpy as np
import pandas as pd
from sklearn.feature_selection import RFE
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

HEAD = 16


def counts_of(columns, step):
    """The numbers of columns that RFE leaves, but for the last, which is 1."""
    removed = int(max(1, step * columns)) if step < 1 else int(step)
    return list(range(columns - removed, 1, -removed))


def ours(options, counts, columns):
    """(seconds, the best columns) of the learner."""
    command = [options.program, options.table, "--skip", str(options.skip), "--C", str(options.C)]
    rounds = ["--schedule", "one"] if len(counts) == columns - 2 else ["--counts", ",".join(map(str, counts))]
    words = subprocess.run([*command, *rounds], check=True, capture_output=True, text=True).stdout.split()
    return float(words[1]), [int(word) for word in words[5:]]


def theirs(machine, features, labels, step):
    """(seconds, the best columns, all ranks) of scikit-learn, which ranks the columns of a round alike."""
    start = time.perf_counter()
    fitted = RFE(machine, n_features_to_select=1, step=step).fit(features, labels)
    return time.perf_counter() - start, list(np.argsort(fitted.ranking_, kind="stable")[:HEAD]), fitted.ranking_


def main():
    """Prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--skip", type=int, default=0, help="columns before the features")
    parser.add_argument("--step", type=float, default=0.01)
    parser.add_argument("--C", type=float, default=100.0)
    options = parser.parse_args()
    table = pd.read_csv(options.table)
    features = StandardScaler().fit_transform(table.iloc[:, options.skip : -1].to_numpy(float))
    labels = table.iloc[:, -1].to_numpy()
    step = options.step if options.step < 1 else int(options.step)
    seconds, head = ours(options, counts_of(features.shape[1], step), features.shape[1])
    print(f"{'svm_rfe':12} {seconds:9.3f} s  head {' '.join(map(str, head))}")
    machines = {
        "RFE(SVC)": SVC(kernel="linear", C=options.C, tol=1e-6),
        "RFE(LinearSVC)": LinearSVC(C=options.C, loss="hinge", max_iter=100000),
    }
    for name, machine in machines.items():
        peer_seconds, best, ranking = theirs(machine, features, labels, step)
        rounds = [int(ranking[column]) for column in head]
        print(f"{name:12} {peer_seconds:9.3f} s  {peer_seconds / seconds:.0f} times  head {' '.join(map(str, best))}")
        print(f"{'':12} rounds of the columns above: {' '.join(map(str, rounds))}")


if __name__ == "__main__":
    main()
