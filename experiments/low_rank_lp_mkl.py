#!/usr/bin/env python3
"""The experiments on lp-norm multiple kernel learning with kernels of low rank, beside what scikit-learn offers.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/low_rank_lp_mkl.py DATA accuracy --results accuracy.jsonl

DATA is a folder with the files that data_sets.py names. Every measurement is written to the file of --results at
once, and one that stands there is not made again. The tables go to the standard output.
"""

import command_line
from kernel_laboratory import KernelLaboratory
from study_accuracy import accuracy
from study_costs import costs
from study_equal_accuracy import equal_accuracy
from study_kernels import kernels
from study_landmarks import landmarks
from study_perturbation import perturbation
from study_smo_mkl import smo_mkl
from study_solvers import solvers
from study_stopping import stopping

EXPERIMENTS = {
    "accuracy": accuracy, "kernels": kernels, "landmarks": landmarks, "costs": costs, "equal_accuracy": equal_accuracy,
    "solvers": solvers, "perturbation": perturbation, "smo_mkl": smo_mkl,
    "stopping": stopping,
}  # fmt: skip

if __name__ == "__main__":
    command_line.run(__doc__, EXPERIMENTS, KernelLaboratory, ("mercer", "svc", "nystroem"), splits=2)
