#!/usr/bin/env python3
"""The experiments on gradients with weights of the columns, beside what a user would take instead.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python experiments/coordinate_gradients.py DATA errors --results genes.jsonl

DATA is a folder with the files that gene_data.py describes; `ring` reads none. Every measurement is written to the file
of --results at once, and one that stands there is not made again. The tables go to the standard output; `heads` makes
a second one of the measurements of `errors`, `jobs` one of jobs that rank and test their ranking.
"""

import command_line
import gene_data
from study_genes import GeneLaboratory, errors, heads, jobs, ring

EXPERIMENTS = {"errors": errors, "heads": heads, "jobs": jobs, "ring": ring}
METHODS = ("mercer", "scikit-learn")

if __name__ == "__main__":
    command_line.run(__doc__, EXPERIMENTS, GeneLaboratory, METHODS, sources=gene_data.COUNTS)
