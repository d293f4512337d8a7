#!/usr/bin/env python3
"""The experiments on jointly sparse multi-task support vector machines, beside what a user would take instead.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/sparse_multitask_svm.py DATA channels --results tasks.jsonl

DATA is a folder with the files that task_data.py describes, and says where they come from; `toy` reads none. Every
measurement is written to the file of --results at once, and one that stands there is not made again. The tables go to
the standard output; `costs` makes a second one of the measurements of `toy`, and --sets are what these two vary;
`gaps` makes one of those of `channels` and of others with the server's relative gap.
"""

import command_line
from study_random_tasks import SWEEPS, costs, toy
from study_same_problem import same_problem
from study_tasks import TaskLaboratory, channels, digits, gaps, genes

EXPERIMENTS = {
    "channels": channels,
    "gaps": gaps,
    "digits": digits,
    "genes": genes,
    "same": same_problem,
    "toy": toy,
    "costs": costs,
}
METHODS = ("mercer", "scikit-learn", "scipy")

if __name__ == "__main__":
    command_line.run(__doc__, EXPERIMENTS, TaskLaboratory, METHODS, sources=SWEEPS)
