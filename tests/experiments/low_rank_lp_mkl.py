#!/usr/bin/env python3
"""The experiments on lp-norm multiple kernel learning with kernels of low rank, beside what scikit-learn offers.

    export MERCER_SERVER_PROGRAM=build/release/bin/mercer-server
    build/python/venv/bin/python tests/experiments/low_rank_lp_mkl.py DATA accuracy --results accuracy.jsonl

DATA is a folder with the files that data_sets.py names. Every measurement is written to the file of --results at
once, and one that stands there is not made again. The tables go to the standard output.
"""

import argparse

import mercer
from threadpoolctl import threadpool_limits

from data_sets import SOURCES
from laboratory import Laboratory
from measurements import Measurements
from study_accuracy import accuracy
from study_equal_accuracy import equal_accuracy
from study_kernels import kernels
from study_solvers import solvers

METHODS = ("mercer", "svc", "nystroem")
EXPERIMENTS = {"accuracy": accuracy, "kernels": kernels, "equal_accuracy": equal_accuracy, "solvers": solvers}


def parse_arguments():
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="folder of the data sets")
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--sets", nargs="+", choices=SOURCES, help="data sets; those of the experiment when absent")
    parser.add_argument("--splits", type=int, default=2, help="random divisions of each data set")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS,
                        help="what to measure; tables show all that the file of results has")  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, help="of a training, and of scikit-learn")
    parser.add_argument("--server", help="address; a server is started when absent")
    parser.add_argument("--results", help="file of the measurements")
    return parser.parse_args()


def connect(arguments):
    """A client of the server that is named, or of one of its own."""
    if arguments.server:
        return mercer.connect(arguments.server)
    return mercer.local(flags=["--workers", "1", "--threads", str(arguments.threads)])


def main():
    """Measures what is missing, and prints the tables."""
    arguments = parse_arguments()
    with connect(arguments) as client, threadpool_limits(arguments.threads):
        laboratory = Laboratory(
            arguments.data, client, Measurements(arguments.results), arguments.methods, arguments.threads
        )  # fmt: skip
        print(EXPERIMENTS[arguments.experiment](laboratory, arguments.sets, range(arguments.splits)))


if __name__ == "__main__":
    main()
