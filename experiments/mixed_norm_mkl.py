#!/usr/bin/env python3
"""The experiments on mixed-norm multiple kernel learning, beside what a user would take instead.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/mixed_norm_mkl.py DATA accuracy --results views.jsonl

DATA is a folder with the files that views.py describes, and says where they come from. Every measurement is written to
the file of --results at once, and one that stands there is not made again. The tables go to the standard output;
`gains` makes a second one of the measurements of `accuracy`, `costs` one of those that chose C; `seconds` one of times,
`reference` one of the same trainings by a program without any line of the server's.
"""

import command_line

import views
from study_views import PEERS, ViewLaboratory, accuracy, costs, gains, reference, seconds

EXPERIMENTS = {"accuracy": accuracy, "gains": gains, "costs": costs, "seconds": seconds, "reference": reference}
METHODS = ("mercer", *PEERS.values(), "closed_form")

if __name__ == "__main__":
    command_line.run(__doc__, EXPERIMENTS, ViewLaboratory, METHODS, sources=views.SOURCES)
