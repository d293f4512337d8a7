"""The command line that the programs of experiments share."""

import argparse

import mercer
from threadpoolctl import threadpool_limits

from data_sets import SOURCES
from measurements import Measurements


def run(description, experiments, laboratory, methods, splits=None, sources=SOURCES):
    """Measures what is missing, and prints the tables of one experiment.

    Parameters
    ----------
    description : str
        Of the program.
    experiments : mapping of str to callable
        Each makes its tables from a laboratory, names of data sets, and numbers of divisions; None means its own.
    laboratory : type
        Subclass of Laboratory.
    methods : sequence of str
        What it can measure.
    splits : int, optional
        Divisions of each data set when the command line does not say how many. None: as many as the experiment has.
    sources : mapping
        The names of the data sets.
    """
    arguments = _parse_arguments(description, experiments, methods, splits, sources)
    numbers = None if arguments.splits is None else range(arguments.splits)
    with _connect(arguments) as client, threadpool_limits(arguments.threads):
        used = laboratory(
            arguments.data, client, Measurements(arguments.results), arguments.methods, arguments.threads
        )  # fmt: skip
        print(experiments[arguments.experiment](used, arguments.sets, numbers))


def _parse_arguments(description, experiments, methods, splits, sources):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="folder of the data sets")
    parser.add_argument("experiment", choices=experiments)
    parser.add_argument("--sets", nargs="+", choices=sources, help="data sets; those of the experiment when absent")
    parser.add_argument("--splits", type=int, default=splits, help="random divisions of each data set")
    parser.add_argument("--methods", nargs="*", choices=methods, default=methods,
                        help="what to measure; tables show all that the file of results has")  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, help="of a training, and of scikit-learn")
    parser.add_argument("--server", help="address; a server is started when absent")
    parser.add_argument("--results", help="file of the measurements")
    return parser.parse_args()


def _connect(arguments):
    if arguments.server:
        return mercer.connect(arguments.server)
    return mercer.local(flags=["--workers", "1", "--threads", str(arguments.threads)])
